// SPDX-License-Identifier: Apache-2.0

#include "agents.h"

#include <hsa/hsa_ext_amd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "answer.h"
#include "runtime.h"

namespace simulated_hsa {
namespace {

constexpr uint64_t kHostHandle = 1;
constexpr uint64_t kFirstGpuHandle = 2;
constexpr std::string_view kIsa = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";
constexpr uint32_t kComputeUnits = 104;

// Questions that newer HIP runtimes ask and older headers do not name.
constexpr int kAgentInfoMemoryAvailable = 0xA015;     // HIP 5.3, hipMemGetInfo
constexpr int kAgentInfoTimestampFrequency = 0xA016;  // HIP 5.5
constexpr int kAgentInfoSdmaEngines = 0xA10A;         // HIP 5.7
constexpr int kAgentInfoSdmaXgmiEngines = 0xA10B;     // HIP 5.7
constexpr int kAgentInfoIommuSupport = 0xA110;        // HIP 5.7
constexpr int kAgentInfoXccCount = 0xA111;            // HIP 6.0
constexpr int kAgentInfoNearestCpu = 0xA113;          // HIP 6.1
constexpr int kAgentInfoMemoryProperties = 0xA114;    // HIP 6.1
constexpr int kAgentInfoAqlExtensions = 0xA115;       // HIP 7
constexpr int kAgentInfoScratchLimitMax = 0xA116;     // HIP 7
constexpr int kAgentInfoScratchLimit = 0xA117;        // HIP 7
constexpr int kAgentInfoClockCounters = 0xA118;       // HIP 7

constexpr uint64_t kTimestampFrequency = 100'000'000;

// An hsa_amd_clock_counters_t.
struct ClockCounters {
  uint64_t gpu = 0;
  uint64_t cpu = 0;
  uint64_t system = 0;
  uint64_t system_frequency = 0;
};

ClockCounters ReadClocks() {
  const auto ns = static_cast<uint64_t>(
      std::chrono::nanoseconds(Clock::now().time_since_epoch()).count());
  constexpr uint64_t kNsPerTick = 1'000'000'000 / kTimestampFrequency;
  return ClockCounters{ns / kNsPerTick, ns, ns, 1'000'000'000};
}

// Names have a fixed size of 64 bytes.
hsa_status_t AnswerName(void* to, const char* name) {
  std::snprintf(static_cast<char*>(to), 64, "%s", name);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t GetCommonInfo(hsa_agent_t agent, int attribute, void* value) {
  switch (attribute) {
    case HSA_AGENT_INFO_NAME:
      return AnswerName(value, IsGpu(agent) ? "gfx90a" : "Host");
    case HSA_AGENT_INFO_DEVICE:
      return Answer(value,
                    IsGpu(agent) ? HSA_DEVICE_TYPE_GPU : HSA_DEVICE_TYPE_CPU);
    case HSA_AGENT_INFO_PROFILE:
      return Answer(value, HSA_PROFILE_BASE);
    case HSA_AGENT_INFO_NODE:
    case HSA_AMD_AGENT_INFO_DRIVER_NODE_ID:
      return Answer(value, static_cast<uint32_t>(agent.handle - kHostHandle));
    case HSA_AGENT_INFO_EXTENSIONS:
      std::memset(value, 0, 128);
      return HSA_STATUS_SUCCESS;
    default:
      return Unknown("agent info", attribute);
  }
}

hsa_status_t GetGpuInfo(int ordinal, int attribute, void* value) {
  switch (attribute) {
    case HSA_AMD_AGENT_INFO_PRODUCT_NAME:
      return AnswerName(value, "Simulated gfx90a");
    case HSA_AMD_AGENT_INFO_UUID:
      std::snprintf(static_cast<char*>(value), 21, "GPU-%016d", ordinal);
      return HSA_STATUS_SUCCESS;
    case HSA_AMD_AGENT_INFO_CHIP_ID:
      return Answer(value, uint32_t{0x740c});
    case HSA_AMD_AGENT_INFO_ASIC_REVISION:
      return Answer(value, uint32_t{1});
    case HSA_AMD_AGENT_INFO_BDFID:
      return Answer(value, static_cast<uint32_t>((ordinal + 1) << 8));
    case HSA_AMD_AGENT_INFO_DOMAIN:
      return Answer(value, uint32_t{0});

    case HSA_AGENT_INFO_VERSION_MAJOR:
    case HSA_AGENT_INFO_VERSION_MINOR:
      return Answer(value, uint16_t{1});
    case HSA_AGENT_INFO_WAVEFRONT_SIZE:
      return Answer(value, uint32_t{64});
    case HSA_AGENT_INFO_WORKGROUP_MAX_SIZE:
      return Answer(value, uint32_t{1024});
    case HSA_AGENT_INFO_WORKGROUP_MAX_DIM: {
      constexpr uint16_t kMost[3] = {1024, 1024, 1024};
      std::memcpy(value, kMost, sizeof(kMost));
      return HSA_STATUS_SUCCESS;
    }
    case HSA_AGENT_INFO_GRID_MAX_SIZE:
      return Answer(value, UINT32_MAX);
    case HSA_AGENT_INFO_QUEUE_MAX_SIZE:
      return Answer(value, uint32_t{128 << 10});
    case HSA_AGENT_INFO_QUEUES_MAX:
      return Answer(value, uint32_t{128});
    case HSA_AGENT_INFO_CACHE_SIZE: {
      constexpr uint32_t kBytes[4] = {16 << 10, 8 << 20, 0, 0};
      std::memcpy(value, kBytes, sizeof(kBytes));
      return HSA_STATUS_SUCCESS;
    }
    case HSA_AMD_AGENT_INFO_CACHELINE_SIZE:
      return Answer(value, uint32_t{64});

    case HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT:
    case HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT:
      return Answer(value, kComputeUnits);
    case HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU:
      return Answer(value, uint32_t{4});
    case HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU:
      return Answer(value, uint32_t{32});
    case HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES:
    case HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE:
    case kAgentInfoXccCount:
      return Answer(value, uint32_t{1});
    case HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY:
      return Answer(value, uint32_t{1700});  // MHz
    case HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY:
      return Answer(value, uint32_t{1600});  // MHz
    case HSA_AMD_AGENT_INFO_MEMORY_WIDTH:
      return Answer(value, uint32_t{4096});  // bits
    case kAgentInfoMemoryAvailable:
      return Answer(value, uint64_t{60} << 30);
    case kAgentInfoTimestampFrequency:
      return Answer(value, kTimestampFrequency);
    case kAgentInfoSdmaEngines:
      return Answer(value, uint32_t{2});
    case kAgentInfoSdmaXgmiEngines:
    case kAgentInfoIommuSupport:
      return Answer(value, uint32_t{0});
    case kAgentInfoNearestCpu:
      return Answer(value, HostAgent());
    case kAgentInfoMemoryProperties:
    case kAgentInfoAqlExtensions:
      return Answer(value, uint64_t{0});  // bits: none
    case kAgentInfoScratchLimitMax:
    case kAgentInfoScratchLimit:
      return Answer(value, uint64_t{1} << 30);
    case kAgentInfoClockCounters:
      return Answer(value, ReadClocks());

    // Without these two a GPU is not accepted.
    case HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES:
      return Answer(value, false);
    case HSA_AMD_AGENT_INFO_HDP_FLUSH: {
      static uint32_t registers[2];  // written to, to no effect
      return Answer(value, hsa_amd_hdp_flush_t{&registers[0], &registers[1]});
    }
    case HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS:
      return Answer(value, false);
    default:
      return GetCommonInfo(GpuAgent(ordinal), attribute, value);
  }
}

}  // namespace

hsa_agent_t HostAgent() { return hsa_agent_t{kHostHandle}; }

hsa_agent_t GpuAgent(int device_ordinal) {
  return hsa_agent_t{kFirstGpuHandle + static_cast<uint64_t>(device_ordinal)};
}

bool IsGpu(hsa_agent_t agent) { return agent.handle >= kFirstGpuHandle; }

int DeviceOrdinal(hsa_agent_t gpu) {
  return static_cast<int>(gpu.handle - kFirstGpuHandle);
}

}  // namespace simulated_hsa

using simulated_hsa::Answer;

hsa_status_t hsa_iterate_agents(hsa_status_t (*callback)(hsa_agent_t, void*),
                                void* data) {
  // The HIP runtime counts on the host to come first.
  hsa_status_t status = callback(simulated_hsa::HostAgent(), data);
  const int devices = simulated_hsa::Runtime::Get().settings().device_count();
  for (int i = 0; i < devices && status == HSA_STATUS_SUCCESS; ++i) {
    status = callback(simulated_hsa::GpuAgent(i), data);
  }
  return status;
}

hsa_status_t hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute,
                                void* value) {
  const int number = static_cast<int>(attribute);
  return simulated_hsa::IsGpu(agent)
             ? simulated_hsa::GetGpuInfo(simulated_hsa::DeviceOrdinal(agent),
                                         number, value)
             : simulated_hsa::GetCommonInfo(agent, number, value);
}

hsa_status_t hsa_agent_iterate_isas(hsa_agent_t agent,
                                    hsa_status_t (*callback)(hsa_isa_t, void*),
                                    void* data) {
  return callback(hsa_isa_t{agent.handle}, data);
}

hsa_status_t hsa_isa_get_info_alt(hsa_isa_t, hsa_isa_info_t attribute,
                                  void* value) {
  constexpr std::string_view isa = simulated_hsa::kIsa;
  switch (attribute) {
    case HSA_ISA_INFO_NAME_LENGTH:
      return Answer(value, static_cast<uint32_t>(isa.size()));
    case HSA_ISA_INFO_NAME:
      isa.copy(static_cast<char*>(value), isa.size());
      return HSA_STATUS_SUCCESS;
    default:
      return simulated_hsa::Unknown("ISA info", static_cast<int>(attribute));
  }
}
