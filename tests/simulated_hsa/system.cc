// SPDX-License-Identifier: Apache-2.0
//
// The runtime as a whole: start and stop, system facts, extensions.

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "answer.h"
#include "event_loop.h"
#include "runtime.h"

using simulated_hsa::Answer;
using simulated_hsa::Clock;
using simulated_hsa::Runtime;

namespace {

constexpr int kSystemInfoVirtualMemory = 0x205;  // HIP 6.0

// Kernel objects are host addresses.
hsa_status_t QueryHostAddress(const void* device_address,
                              const void** host_address) {
  *host_address = device_address;
  return HSA_STATUS_SUCCESS;
}

}  // namespace

hsa_status_t hsa_init() {
  return Runtime::Get().Start() ? HSA_STATUS_SUCCESS
                                : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

hsa_status_t hsa_shut_down() {
  return Runtime::Get().Stop() ? HSA_STATUS_SUCCESS
                               : HSA_STATUS_ERROR_NOT_INITIALIZED;
}

hsa_status_t hsa_status_string(hsa_status_t status, const char** text) {
  *text = status == HSA_STATUS_SUCCESS
              ? "HSA_STATUS_SUCCESS"
              : "an error of the simulated HSA runtime";
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_system_get_info(hsa_system_info_t attribute, void* value) {
  switch (static_cast<int>(attribute)) {
    case HSA_SYSTEM_INFO_VERSION_MAJOR:
    case HSA_SYSTEM_INFO_VERSION_MINOR:
      return Answer(value, uint16_t{1});
    case HSA_SYSTEM_INFO_TIMESTAMP:
      return Answer(value,
                    static_cast<uint64_t>(
                        std::chrono::duration_cast<std::chrono::nanoseconds>(
                            Clock::now().time_since_epoch())
                            .count()));
    case HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY:
      return Answer(value, uint64_t{1'000'000'000});
    case HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED:
    case HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT:
      return Answer(value, false);
    case kSystemInfoVirtualMemory:
      return Answer(value, true);
    default:
      return simulated_hsa::Unknown("system info", attribute);
  }
}

hsa_status_t hsa_system_extension_supported(uint16_t, uint16_t, uint16_t,
                                            bool* result) {
  *result = false;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_agent_extension_supported(uint16_t, hsa_agent_t, uint16_t,
                                           uint16_t, bool* result) {
  *result = false;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_system_get_major_extension_table(uint16_t extension, uint16_t,
                                                  size_t table_length,
                                                  void* table) {
  if (extension != HSA_EXTENSION_AMD_LOADER) return HSA_STATUS_ERROR;
  hsa_ven_amd_loader_1_00_pfn_t loader = {};
  loader.hsa_ven_amd_loader_query_host_address = QueryHostAddress;
  std::memset(table, 0, table_length);
  std::memcpy(table, &loader, std::min(table_length, sizeof(loader)));
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_profiling_async_copy_enable(bool) {
  return HSA_STATUS_SUCCESS;  // every copy is timed
}

// No event comes: memory faults and resets are not simulated.
hsa_status_t hsa_amd_register_system_event_handler(
    hsa_amd_system_event_callback_t, void*) {
  return HSA_STATUS_SUCCESS;
}

// Older headers do not declare these: from HIP 6.2, and from HIP 7.
extern "C" hsa_status_t hsa_amd_enable_logging(uint8_t*, void*) {
  return HSA_STATUS_SUCCESS;
}
extern "C" hsa_status_t hsa_amd_agent_set_async_scratch_limit(hsa_agent_t,
                                                              size_t) {
  return HSA_STATUS_SUCCESS;
}
