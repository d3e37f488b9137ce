/* SPDX-License-Identifier: Apache-2.0
 *
 * For constructor_waits.c.
 */
extern void WaitForJob(void);
__attribute__((constructor)) static void Wait(void) { WaitForJob(); }
