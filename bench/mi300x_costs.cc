// SPDX-License-Identifier: Apache-2.0
#include "mi300x_costs.h"

#include <chrono>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_format.h"

namespace hip_stream_pool {
namespace {

using Clock = std::chrono::steady_clock;
using simulated_hsa::Counters;
using std::chrono::nanoseconds;

constexpr nanoseconds kMi300xCreate = nanoseconds(385'000'000) / 112;
constexpr nanoseconds kMi300xDestroy = nanoseconds(375'000'000) / 112;

double Us(nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

struct RawCost {
  nanoseconds create;  // of one stream
  nanoseconds destroy;
  int64_t allocations;  // of all streams
  int64_t frees;
};

absl::StatusOr<RawCost> MeasureRaw(simulated_hsa::Control& gpu,
                                   Client& client) {
  const Counters before = gpu.ReadCounters();
  const Clock::time_point start = Clock::now();
  absl::Status status = client.CreateAll(kRaw);
  const Clock::time_point created = Clock::now();
  const Counters between = gpu.ReadCounters();
  if (!status.ok()) return status;

  status = client.DestroyAll(kRaw);
  const Clock::time_point destroyed = Clock::now();
  const Counters after = gpu.ReadCounters();
  if (!status.ok()) return status;

  return RawCost{(created - start) / client.streams(),
                 (destroyed - created) / client.streams(),
                 between.allocations - before.allocations,
                 after.frees - between.frees};
}

bool IsNear(nanoseconds measured, nanoseconds target) {
  return std::abs(Us(measured - target)) < 0.05 * Us(target);
}

}  // namespace

absl::StatusOr<DriverCosts> FindMi300xCosts(simulated_hsa::Control& gpu,
                                            Client& client) {
  gpu.SetModel({});
  absl::StatusOr<RawCost> raw = MeasureRaw(gpu, client);
  if (!raw.ok()) return raw.status();
  if (raw->allocations == 0 || raw->frees == 0) {
    return absl::FailedPreconditionError(
        "HIP creates or destroys these streams without allocating or freeing "
        "memory: there is nothing to put the cost on");
  }
  // What HIP itself takes is not taken off: it is about 1%, and on a busy
  // machine it cannot be measured.
  DriverCosts costs;
  costs.model.allocate = kMi300xCreate * client.streams() / raw->allocations;
  costs.model.free = kMi300xDestroy * client.streams() / raw->frees;

  gpu.SetModel(costs.model);
  raw = MeasureRaw(gpu, client);
  gpu.SetModel({});
  if (!raw.ok()) return raw.status();

  costs.name = "mi300x";
  costs.title =
      "Driver costs set so that raw streams cost what they did on 8 MI300X";
  costs.where = " with driver costs set to what was measured on 8 MI300X";
  costs.description = absl::StrFormat(
      "model: allocate %.0f us, free %.0f us, all else 0; a raw stream then "
      "costs %.0f + %.0f us, measured there: %.0f + %.0f us%s",
      Us(costs.model.allocate), Us(costs.model.free), Us(raw->create),
      Us(raw->destroy), Us(kMi300xCreate), Us(kMi300xDestroy),
      IsNear(raw->create, kMi300xCreate) && IsNear(raw->destroy, kMi300xDestroy)
          ? ""
          : " (MORE THAN 5% OFF: is the machine busy?)");
  return costs;
}

}  // namespace hip_stream_pool
