// SPDX-License-Identifier: Apache-2.0
#include "few_of_abseil.h"
