// SPDX-License-Identifier: Apache-2.0
//
// A model of who owns which stream, and random calls of the pool that are
// checked against it: from several threads (pool_soak_test.cc), or on one as a
// fuzzer says (fuzz/pool_fuzz.cc). What the pool did wrong is collected.
#ifndef HIP_STREAM_POOL_TESTS_POOL_MODEL_H_
#define HIP_STREAM_POOL_TESTS_POOL_MODEL_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip_stream_pool/create_stream.h"
#include "hip_stream_pool/rocm_stream.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "hip_stream_pool/stream_key.h"
#include "scripted_hip/scripted_hip.h"
#include "scripted_pool.h"

namespace hip_stream_pool {

class PoolModel {
 public:
  // Without identities, a pool that is not told of a reset can't know.
  static bool AlwaysInvalidates() {
    return scripted_hip::Version() < scripted_hip::HipVersion::k72;
  }

  struct Owned {
    hipStream_t stream;
    StreamKey key;
    std::unique_ptr<RocmStream> owner;  // nullptr: made by CreateStream
  };

  // One for each thread. `below(n)` makes its choices: a number from 0 up.
  struct Owner {
    int id = 0;
    std::function<int(int n)> below;
    std::vector<Owned> streams;
    uint64_t last_lease = 0;

    bool OneIn(int n) { return below(n) == 0; }
  };

  enum class Operation {
    kCreate,
    kDestroy,
    kBorrow,
    kDestroyForeign,
    kMisuse,
    kResetDevice,
    kTrim,
    kTrimAll,
    kPrewarm,
    kSetLimit,
    kGlobalCapture,
    kFail,
    kCount,
  };

  // With `failures`, HIP calls fail at times; less is promised then.
  PoolModel(bool failures, int owners) : failures_(failures), owners_(owners) {
    pool_.StartOver();
    hip_.ReuseHandles();
    hip_.StopRecording();
    for (int i = 0; i < owners; ++i) owners_[i].id = i;
  }

  Owner& owner(int i) { return owners_[i]; }

  // How many streams that is; a reset of the device can take them from it.
  size_t OwnedBy(const Owner& owner) {
    std::shared_lock<std::shared_mutex> with_others(quiet_);
    return owner.streams.size();
  }

  void Do(Operation operation, Owner& owner) {
    scripted_hip::SetCurrentDevice(ScriptedPool::kCallersDevice);
    scripted_hip::SetCurrentMode(hipStreamCaptureModeGlobal);
    if (operation == Operation::kMisuse ||
        operation == Operation::kResetDevice) {
      // What would be a race of the program's own with others in the pool.
      std::unique_lock<std::shared_mutex> alone(quiet_);
      operation == Operation::kMisuse ? Misuse(owner) : ResetDevice(owner);
    } else {
      std::shared_lock<std::shared_mutex> with_others(quiet_);
      DoAmongOthers(operation, owner);
    }
    if (scripted_hip::CurrentDevice() != ScriptedPool::kCallersDevice &&
        !failures_) {
      Fault("the caller's device was not given back");
    }
    if (scripted_hip::CurrentMode() != hipStreamCaptureModeGlobal) {
      Fault("the caller's capture mode was not given back");
    }
  }

  // Gives all streams back; then nothing may be left. Only from one thread.
  void Finish() {
    hip_.FailNothing();
    hip_.SetGlobalCapture(false);
    int64_t owned = 0;
    for (const Owner& owner : owners_) {
      owned += static_cast<int64_t>(owner.streams.size());
    }
    if (!failures_ && cache_.GetStats().leased_now != owned) {
      Fault("the number of streams that are given out");
    }
    for (Owner& owner : owners_) {
      while (!owner.streams.empty()) (void)GiveBack(GiveUpOwnership(owner));
    }
    if (!cache_.TrimAll().ok()) Fault("TrimAll");
    const StreamCacheStats stats = cache_.GetStats();
    if (stats.leased_now != 0 || stats.parked_now != 0) {
      Fault("streams are left: " + stats.ToString());
    }
    if (!failures_ && hip_.LiveStreams() != 0) Fault("a stream was lost");
    if (!hip_.GlobalCaptureSurvived()) Fault("a capture was broken");
    for (const std::string& fault : hip_.Faults()) Fault(fault);
    scripted_hip::SetCurrentDevice(ScriptedPool::kCallersDevice);
  }

  // At most ten.
  std::vector<std::string> faults() {
    std::lock_guard<std::mutex> lock(mutex_);
    return faults_;
  }

 private:
  void Fault(const std::string& what) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (faults_.size() < 10) faults_.push_back(what);
  }

  // Two owners of one stream would meet here.
  void TakeOwnership(Owner& owner, Owned owned) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!owner_of_.emplace(owned.stream, owner.id).second) {
        faults_.push_back("a stream with two owners");
      }
    }
    owner.streams.push_back(std::move(owned));
  }

  Owned GiveUpOwnership(Owner& owner) {
    const int count = static_cast<int>(owner.streams.size());
    std::swap(owner.streams[owner.below(count)], owner.streams.back());
    Owned owned = std::move(owner.streams.back());
    owner.streams.pop_back();
    std::lock_guard<std::mutex> lock(mutex_);
    owner_of_.erase(owned.stream);
    return owned;
  }

  static absl::Status GiveBack(const Owned& owned) {
    if (owned.owner != nullptr) return owned.owner->Release();
    return DestroyStream(owned.key.device_ordinal, owned.stream);
  }

  static StreamKey RandomKey(Owner& owner) {
    const int device = owner.below(ScriptedPool::kDevices);
    const auto flags = static_cast<unsigned int>(owner.below(2));
    return {device, flags, owner.below(5) - 2};
  }

  void DoAmongOthers(Operation operation, Owner& owner) {
    switch (operation) {
      case Operation::kCreate:
        Create(owner);
        break;
      case Operation::kDestroy:
        if (!owner.streams.empty()) Destroy(owner);
        break;
      case Operation::kBorrow:
        if (!owner.streams.empty()) Borrow(owner);
        break;
      case Operation::kDestroyForeign:
        DestroyForeign(owner);
        break;
      case Operation::kTrim:
        (void)cache_.Trim(owner.below(ScriptedPool::kDevices));
        break;
      case Operation::kTrimAll:
        (void)cache_.TrimAll();
        break;
      case Operation::kPrewarm: {
        const StreamKey key = RandomKey(owner);
        (void)cache_.Prewarm({key, RandomKey(owner), key});
        break;
      }
      case Operation::kSetLimit:
        cache_.SetMaxParkedPerKey(owner.below(8));
        break;
      case Operation::kGlobalCapture:
        capture_ = owner.OneIn(2);
        hip_.SetGlobalCapture(capture_);
        break;
      case Operation::kFail:
        if (failures_) FailSomething(owner);
        break;
      case Operation::kMisuse:
      case Operation::kResetDevice:
      case Operation::kCount:
        break;
    }
  }

  void Create(Owner& owner) {
    Owned owned{nullptr, RandomKey(owner), nullptr};
    const StreamKey& key = owned.key;
    absl::Status status;
    if (owner.OneIn(4)) {
      absl::StatusOr<RocmStream> made = RocmStream::Create(key);
      status = made.status();
      if (made.ok()) {
        owned.owner = std::make_unique<RocmStream>(*std::move(made));
        owned.stream = owned.owner->handle();
        if (owned.owner->id() <= owner.last_lease) Fault("an id used before");
        owner.last_lease = owned.owner->id();
      }
    } else {
      absl::StatusOr<hipStream_t> made = CreateStream(key);
      status = made.status();
      if (made.ok()) owned.stream = *made;
    }
    if (!status.ok()) {
      if (!failures_) Fault("create: " + status.ToString());
      return;
    }
    const scripted_hip::ScriptedHip::Stream stream = hip_.Look(owned.stream);
    if (stream.device != key.device_ordinal || stream.flags != key.flags ||
        stream.priority != std::clamp(key.priority, -1, 1)) {
      Fault("a stream that is dead or not of its key: asked for " +
            ToString(key) + ", got " +
            ToString({stream.device, stream.flags, stream.priority}));
    }
    if (stream.busy || stream.capture != hipStreamCaptureStatusNone) {
      Fault("a stream with work or a capture on it");
    }
    if (owners_.size() == 1) returned_.erase(owned.stream);
    CheckEarliest(key, stream.id);
    TakeOwnership(owner, std::move(owned));
  }

  // The earliest created of what is parked is to be leased first. Only where
  // nothing else can come between: on one thread, without failures and
  // captures.
  void CheckEarliest(const StreamKey& key, uint64_t lent_id) {
    if (owners_.size() != 1 || failures_ || capture_) return;
    for (const auto& [stream, id] : returned_) {
      const scripted_hip::ScriptedHip::Stream now = hip_.Look(stream);
      if (now.id == id && now.device == key.device_ordinal &&
          now.flags == key.flags &&
          now.priority == std::clamp(key.priority, -1, 1) && id < lent_id) {
        Fault("not the stream that was created earliest");
      }
    }
  }

  void Destroy(Owner& owner) {
    Owned owned = GiveUpOwnership(owner);
    const hipStream_t stream = owned.stream;
    const uint64_t id = hip_.Look(stream).id;
    bool capturing = false;
    switch (owner.below(8)) {
      case 0:
        hip_.SetBusy(stream);
        break;
      case 1:
        hip_.SetCaptureStatus(stream, hipStreamCaptureStatusActive);
        capturing = true;
        break;
      case 2:
        hip_.SetReadsAs(stream, 1 - owned.key.flags, 0);
        break;
      default:
        break;
    }
    absl::Status status;
    if (owned.owner == nullptr) {
      status = GiveBack(owned);
    } else {
      status = GiveBackSomehow(owner, *owned.owner, capturing);
    }
    if (!status.ok() && !failures_) Fault("destroy: " + status.ToString());
    if (owners_.size() == 1) returned_[stream] = id;
  }

  // Every way for a RocmStream to lose its stream.
  absl::Status GiveBackSomehow(Owner& owner, RocmStream& stream,
                               bool capturing) {
    const hipStream_t handle = stream.handle();
    // A hook makes Release wait, which it can't for a stream in a capture.
    if (!capturing && owner.OneIn(2)) {
      stream.OnRelease([this, handle](hipStream_t released) {
        if (released != handle) Fault("a hook with another stream");
        std::lock_guard<std::mutex> lock(mutex_);
        if (owner_of_.count(handle) != 0) {
          faults_.push_back("leased again before its hook ran");
        }
      });
    }
    RocmStream moved(std::move(stream));
    if (moved.handle() != handle || stream.id() != 0) Fault("a bad move");
    switch (owner.below(3)) {
      case 0:
        return moved.Release();
      case 1:
        moved = std::move(stream);  // which owns nothing
        if (moved.id() != 0) Fault("a bad move assignment");
        return absl::OkStatus();
      default:
        return absl::OkStatus();  // the destructor
    }
  }

  void Borrow(Owner& owner) {
    const int count = static_cast<int>(owner.streams.size());
    const Owned& owned = owner.streams[owner.below(count)];
    absl::StatusOr<RocmStream> borrowed =
        RocmStream::Borrow(owned.key.device_ordinal, owned.stream);
    if (!borrowed.ok()) {
      if (!failures_) Fault("borrow: " + borrowed.status().ToString());
      return;
    }
    if (!borrowed->Release().ok()) Fault("release of a borrowed stream");
    if (!hip_.IsLive(owned.stream)) Fault("a borrowed stream was destroyed");
  }

  void DestroyForeign(Owner& owner) {
    const int device = owner.below(ScriptedPool::kDevices);
    const hipStream_t foreign = hip_.CreateElsewhere(device, 0, 0);
    const absl::StatusCode code = DestroyStream(device, foreign).code();
    if (code == absl::StatusCode::kFailedPrecondition ||
        code == absl::StatusCode::kInvalidArgument) {
      // Refused, and still this thread's: its handle is one that died parked,
      // in a reset that the pool was not told of.
      if (AlwaysInvalidates() && !failures_) Fault("a refused stream");
      hip_.DestroyElsewhere(foreign);
    }
  }

  void Misuse(Owner& owner) {
    for (const uintptr_t special : {0, 1, 2}) {
      if (DestroyStream(owner.below(ScriptedPool::kDevices),
                        reinterpret_cast<hipStream_t>(special))
              .ok()) {
        Fault("a special stream was not refused");
      }
    }
    const StreamKey no_such_keys[] = {{ScriptedPool::kDevices}, {-1}, {0, 2}};
    if (CreateStream(no_such_keys[owner.below(3)]).ok()) {
      Fault("a stream of no such key");
    }
    if (owner.streams.empty()) return;
    const Owned owned = GiveUpOwnership(owner);
    const int device = owned.key.device_ordinal;
    if (DestroyStream((device + 1) % ScriptedPool::kDevices, owned.stream)
            .ok()) {
      Fault("another device's stream was not refused");
    }
    if (owner.OneIn(2)) hip_.DestroyElsewhere(owned.stream);
    (void)GiveBack(owned);
    if (DestroyStream(device, owned.stream).ok() && !failures_) {
      Fault("a second destroy was not refused");
    }
  }

  void ResetDevice(Owner& resetter) {
    const int device = resetter.below(ScriptedPool::kDevices);
    hip_.ResetDevice(device);
    const bool invalidate = AlwaysInvalidates() || resetter.OneIn(2);
    if (invalidate) cache_.Invalidate(device);
    for (Owner& owner : owners_) {
      std::vector<Owned> kept;
      for (Owned& owned : owner.streams) {
        if (owned.key.device_ordinal != device) {
          kept.push_back(std::move(owned));
          continue;
        }
        owner_of_.erase(owned.stream);
        if (GiveBack(owned).ok() != invalidate && !failures_) {
          Fault("destroy of a stream that died with its device");
        }
      }
      owner.streams = std::move(kept);
    }
  }

  void FailSomething(Owner& owner) {
    static constexpr const char* kCalls[] = {"hipStreamCreateWithPriority",
                                             "hipStreamDestroy",
                                             "hipStreamQuery",
                                             "hipStreamSynchronize",
                                             "hipStreamGetFlags",
                                             "hipSetDevice",
                                             "hipGetDevice",
                                             "hipStreamIsCapturing"};
    static constexpr hipError_t kErrors[] = {
        hipErrorOutOfMemory, hipErrorLaunchFailure, hipErrorUnknown,
        hipErrorStreamCaptureUnsupported};
    const std::string call = kCalls[owner.below(8)];
    // These two say nothing of a stream.
    const bool of_device = call == "hipSetDevice" || call == "hipGetDevice";
    hip_.Fail(call, of_device ? hipErrorUnknown : kErrors[owner.below(4)]);
  }

  ScriptedPool pool_;
  scripted_hip::ScriptedHip& hip_ = pool_.hip;
  StreamHandleCache& cache_ = pool_.cache;
  const bool failures_;
  std::vector<Owner> owners_;
  std::shared_mutex quiet_;
  std::mutex mutex_;
  std::unordered_map<hipStream_t, int> owner_of_;
  // With one owner: what it gave back last under each handle, and the stream's
  // identity. It is parked if a stream of that identity still exists.
  std::unordered_map<hipStream_t, uint64_t> returned_;
  std::atomic<bool> capture_{false};
  std::vector<std::string> faults_;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_TESTS_POOL_MODEL_H_
