// SPDX-License-Identifier: Apache-2.0
#include "client.h"

#include <utility>

#include "executor/hip_status.h"

namespace hip_stream_pool {
namespace {

absl::StatusOr<hipStream_t> CreateRaw(const StreamKey& key) {
  absl::Status status =
      HipStatus("hipSetDevice", hipSetDevice(key.device_ordinal));
  if (!status.ok()) return status;
  hipStream_t stream = nullptr;
  status =
      HipStatus("hipStreamCreateWithPriority",
                hipStreamCreateWithPriority(&stream, key.flags, key.priority));
  if (!status.ok()) return status;
  return stream;
}

absl::Status DestroyRaw(int device_ordinal, hipStream_t stream) {
  absl::Status status = HipStatus("hipSetDevice", hipSetDevice(device_ordinal));
  if (!status.ok()) return status;
  return HipStatus("hipStreamDestroy", hipStreamDestroy(stream));
}

}  // namespace

const StreamCalls kRaw = {CreateRaw, DestroyRaw};

Client::Client(int streams, int devices) : streams_(streams) {
  for (int i = 0; i < streams; ++i) {
    keys_.push_back({/*device_ordinal=*/i * devices / streams});
  }
}

Client::Client(std::vector<StreamKey> keys)
    : keys_(std::move(keys)), streams_(keys_.size()) {}

absl::Status Client::CreateAll(const StreamCalls& calls) {
  for (size_t i = 0; i < keys_.size(); ++i) {
    absl::StatusOr<hipStream_t> stream = calls.create(keys_[i]);
    if (!stream.ok()) return stream.status();
    streams_[i] = *stream;
  }
  return absl::OkStatus();
}

absl::Status Client::DestroyAll(const StreamCalls& calls) {
  for (size_t i = 0; i < keys_.size(); ++i) {
    absl::Status status = calls.destroy(keys_[i].device_ordinal, streams_[i]);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Client::Cycle(const StreamCalls& calls) {
  absl::Status status = CreateAll(calls);
  if (status.ok()) status = DestroyAll(calls);
  return status;
}

}  // namespace hip_stream_pool
