// SPDX-License-Identifier: Apache-2.0
#include "scripted_hip/scripted_hip.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "hip/functions.h"

namespace scripted_hip {

// NOLINTBEGIN(google-runtime-int): HIP's types.
// What an older header does not declare, under the names of HIP's library.
#define EVERY(function)
#define NEWER(function, parameters, version) \
  hipError_t Newer_##function parameters asm(#function);
HIP_STREAM_POOL_FUNCTIONS(EVERY, NEWER)
#undef EVERY
#undef NEWER
// NOLINTEND(google-runtime-int)

namespace {

struct KnownVersion {
  const char* name;
  HipVersion version;
  int number;
};

const KnownVersion& ThisVersion() {
  static constexpr KnownVersion kAll[] = {{"5.2", HipVersion::k52, 50200000},
                                          {"5.7", HipVersion::k57, 50700000},
                                          {"6.4", HipVersion::k64, 60400000},
                                          {"7.2", HipVersion::k72, 70200000}};
  static const KnownVersion* const version = [] {
    const char* name = std::getenv("SCRIPTED_HIP_VERSION");
    for (const KnownVersion& known : kAll) {
      if (std::strcmp(known.name, name == nullptr ? "7.2" : name) == 0) {
        return &known;
      }
    }
    std::fprintf(stderr, "SCRIPTED_HIP_VERSION is none of 5.2 5.7 6.4 7.2\n");
    std::abort();
  }();
  return *version;
}

// How often there was a Reset: threads start over with each.
std::atomic<uint64_t> generation{0};

// What HIP keeps for each thread.
struct ThreadState {
  uint64_t generation = 0;
  int device = 0;
  hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  hipError_t last_error = hipSuccess;
};

ThreadState& ThisThread() {
  thread_local ThreadState thread;
  if (thread.generation != generation) thread = {generation};
  return thread;
}

// Handles are never used again unless ReuseHandles says so, not even after
// Reset: a handle that outlives its test is then seen to be dead.
uintptr_t NewHandle() {
  static std::atomic<uintptr_t> last{0x10000};
  return last += 0x100;
}

}  // namespace

// A thread that runs the probe on demand. Both sides look for a while before
// they sleep: to be woken up can take a hundred microseconds.
class ScriptedHip::LockProbe {
 public:
  explicit LockProbe(std::function<void()> probe)
      : probe_(std::move(probe)), thread_([this] { Loop(); }) {}
  ~LockProbe() {
    stop_ = true;
    Wake();
    thread_.join();
  }

  bool Returns() {
    const uint64_t wanted = ++asked_;
    Wake();
    return Wait(std::chrono::seconds(2), [&] { return answered_ >= wanted; });
  }

 private:
  void Loop() {
    for (;;) {
      while (!Wait(std::chrono::seconds(60),
                   [&] { return stop_ || answered_ < asked_; })) {
      }
      if (stop_) return;
      const uint64_t asked = asked_;
      probe_();
      answered_ = asked;
      Wake();
    }
  }

  void Wake() {
    std::lock_guard<std::mutex> lock(mutex_);
    wake_.notify_all();
  }

  template <typename Condition>
  bool Wait(std::chrono::seconds at_most, Condition condition) {
    for (int i = 0; i < 200; ++i) {
      if (condition()) return true;
      std::this_thread::yield();
    }
    std::unique_lock<std::mutex> lock(mutex_);
    return wake_.wait_for(lock, at_most, condition);
  }

  std::function<void()> probe_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<uint64_t> asked_{0};
  std::atomic<uint64_t> answered_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

ScriptedHip& ScriptedHip::Get() {
  static ScriptedHip& hip = *new ScriptedHip;
  return hip;
}

HipVersion Version() { return ThisVersion().version; }
int VersionNumber() { return ThisVersion().number; }

void ScriptedHip::Reset(int devices) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++generation;
  state_ = State();
  state_.devices = devices;
  recording_ = true;
  failures_.clear();
  during_.clear();
  calls_.clear();
}

void ScriptedHip::Fail(const std::string& name, hipError_t error, int after,
                       int times) {
  std::lock_guard<std::mutex> lock(mutex_);
  failures_[name] = {error, after, times};
}

void ScriptedHip::FailNothing() {
  std::lock_guard<std::mutex> lock(mutex_);
  failures_.clear();
}

void ScriptedHip::During(const std::string& name,
                         std::function<void()> action) {
  std::lock_guard<std::mutex> lock(mutex_);
  during_[name] = std::move(action);
}

void ScriptedHip::SetLockProbe(std::function<void()> probe) {
  auto made = probe ? std::make_shared<LockProbe>(std::move(probe)) : nullptr;
  std::unique_lock<std::mutex> lock(mutex_);
  std::swap(lock_probe_, made);
  lock.unlock();  // the old probe may take a while to go
}

hipStream_t ScriptedHip::CreateElsewhere(int device, unsigned int flags,
                                         int priority) {
  std::lock_guard<std::mutex> lock(mutex_);
  return state_.AddStream(device, flags, priority);
}

void ScriptedHip::DestroyElsewhere(hipStream_t stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  state_.RemoveStream(stream);
}

void ScriptedHip::ResetDevice(int device) {
  std::lock_guard<std::mutex> lock(mutex_);
  state_.RemoveStreamsOf(device);
}

void ScriptedHip::State::RemoveStreamsOf(int device) {
  for (auto next = streams.begin(); next != streams.end();) {
    const auto stream = next++;
    if (stream->second.device == device) RemoveStream(stream->first);
  }
}

void ScriptedHip::ReuseHandles() {
  std::lock_guard<std::mutex> lock(mutex_);
  state_.reuse_handles = true;
}

void ScriptedHip::StopRecording() {
  std::lock_guard<std::mutex> lock(mutex_);
  recording_ = false;
}

void ScriptedHip::SetBusy(hipStream_t stream, bool for_ever) {
  std::lock_guard<std::mutex> lock(mutex_);
  state_.streams.at(stream).busy = true;
  state_.streams.at(stream).busy_for_ever = for_ever;
}

void ScriptedHip::SetIdle(hipStream_t stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  state_.streams.at(stream).busy = false;
}

void ScriptedHip::SetLateQueries(hipStream_t stream, int busy) {
  std::lock_guard<std::mutex> lock(mutex_);
  state_.streams.at(stream).late_queries = busy;
}

void ScriptedHip::SetCaptureStatus(hipStream_t stream,
                                   hipStreamCaptureStatus status) {
  std::lock_guard<std::mutex> lock(mutex_);
  state_.streams.at(stream).capture = status;
}

void ScriptedHip::SetReadsAs(hipStream_t stream, unsigned int flags,
                             int priority) {
  std::lock_guard<std::mutex> lock(mutex_);
  state_.streams.at(stream).flags = flags;
  state_.streams.at(stream).priority = priority;
}

void ScriptedHip::SetPriorityRange(int least, int greatest) {
  std::lock_guard<std::mutex> lock(mutex_);
  state_.least = least;
  state_.greatest = greatest;
}

void ScriptedHip::SetGlobalCapture(bool active) {
  std::lock_guard<std::mutex> lock(mutex_);
  state_.global_capture = active;
}

void ScriptedHip::RunHostCallbacks() {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto callbacks = std::exchange(state_.callbacks, {});
  lock.unlock();
  for (const auto& callback : callbacks) callback();
}

std::vector<Call> ScriptedHip::Calls() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return calls_;
}

void ScriptedHip::ClearCalls() {
  std::lock_guard<std::mutex> lock(mutex_);
  calls_.clear();
}

int ScriptedHip::Count(const std::string& name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::count_if(calls_.begin(), calls_.end(),
                       [&](const Call& call) { return call.name == name; });
}

std::string ScriptedHip::CallNames() const {
  std::string names;
  for (const Call& call : Calls()) {
    names += (names.empty() ? "" : " ") + call.name.substr(strlen("hip"));
  }
  return names;
}

std::vector<std::string> ScriptedHip::Faults() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return state_.faults;
}

int ScriptedHip::LiveStreams() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return state_.streams.size();
}

int ScriptedHip::LiveEvents() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return state_.events.size();
}

bool ScriptedHip::IsLive(hipStream_t stream) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return state_.streams.count(stream) != 0;
}

ScriptedHip::Stream ScriptedHip::Look(hipStream_t stream) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = state_.streams.find(stream);
  return found == state_.streams.end() ? Stream{-1, 0, 0, 0} : found->second;
}

hipStream_t ScriptedHip::State::AddStream(int device, unsigned int flags,
                                          int priority) {
  static std::atomic<uint64_t> last_id{0};
  hipStream_t handle;
  if (reuse_handles && !freed.empty()) {
    handle = freed.back();
    freed.pop_back();
  } else {
    handle = reinterpret_cast<hipStream_t>(NewHandle());
  }
  streams[handle] = {device, flags, priority, ++last_id};
  return handle;
}

void ScriptedHip::State::RemoveStream(hipStream_t stream) {
  streams.erase(stream);
  freed.push_back(stream);
}

template <typename Effect>
hipError_t ScriptedHip::Do(const char* name, hipStream_t stream,
                           Effect effect) {
  std::unique_lock<std::mutex> lock(mutex_);
  std::function<void()> action;
  if (const auto during = during_.find(name); during != during_.end()) {
    action = during->second;
  }
  const std::shared_ptr<LockProbe> probe = lock_probe_;
  lock.unlock();
  const bool lock_held = probe != nullptr && !probe->Returns();
  if (action) action();
  lock.lock();
  ThreadState& thread = ThisThread();
  const int device = thread.device;
  const hipStreamCaptureMode mode = thread.mode;

  const auto fault = [&](const std::string& what) {
    state_.faults.push_back(std::string(name) + ": " + what);
  };
  if (lock_held) fault("called with a lock held");

  const auto answer = [&]() -> hipError_t {
    if (const auto failure = failures_.find(name); failure != failures_.end()) {
      Failure& f = failure->second;
      if (f.after > 0) {
        --f.after;
      } else if (f.times != 0) {
        if (f.times > 0) --f.times;
        return f.error;
      }
    }
    Stream* entry = nullptr;
    if (stream != nullptr) {
      const auto found = state_.streams.find(stream);
      const bool by_id = strcmp(name, "hipStreamGetId") == 0;
      if (found == state_.streams.end()) {
        if (Version() == HipVersion::k72 && !by_id &&
            strcmp(name, "hipStreamGetDevice") != 0) {
          fault("undefined behavior: the stream does not exist");
        }
        return by_id ? hipErrorInvalidHandle : hipErrorContextIsDestroyed;
      }
      entry = &found->second;
      // Where HIP does not look at the current device.
      static const std::set<std::string> kOfAnyDevice = {
          "hipStreamGetId",        "hipStreamGetDevice",
          "hipStreamGetPriority",  "hipStreamGetFlags",
          "hipStreamGetAttribute", "hipStreamSetAttribute",
          "hipStreamIsCapturing",  "hipStreamQuery",
          "hipStreamSynchronize",  "hipStreamDestroy",
          "hipEventRecord"};
      const bool of_any_device = kOfAnyDevice.count(name) != 0;
      if (entry->device != thread.device && !of_any_device) {
        fault("called with the wrong device current");
      }
    }
    return effect(state_, entry, thread);
  }();
  if (recording_) {
    calls_.push_back({name, std::this_thread::get_id(), device, mode});
  }
  const bool sticky = Version() == HipVersion::k72;
  if (!sticky || (answer != hipSuccess && answer != hipErrorNotReady)) {
    thread.last_error = answer;
  }
  return answer;
}

hipError_t LastError() { return ThisThread().last_error; }
void SetLastError(hipError_t error) { ThisThread().last_error = error; }
int CurrentDevice() { return ThisThread().device; }
void SetCurrentDevice(int device) { ThisThread().device = device; }
hipStreamCaptureMode CurrentMode() { return ThisThread().mode; }
void SetCurrentMode(hipStreamCaptureMode mode) { ThisThread().mode = mode; }

namespace {

using State = ScriptedHip::State;
using Stream = ScriptedHip::Stream;
using Event = ScriptedHip::Event;

template <typename Effect>
hipError_t Do(const char* name, hipStream_t stream, Effect effect) {
  return ScriptedHip::Get().Do(name, stream, effect);
}

// What versions of HIP do not say, or do, while there is a global capture.
bool RefusedForACapture(State& hip, const ThreadState& thread) {
  if (!hip.global_capture) return false;
  if (Version() == HipVersion::k57) return true;
  if (Version() < HipVersion::k64 ||
      thread.mode == hipStreamCaptureModeRelaxed) {
    return false;
  }
  hip.capture_invalidated = true;
  return true;
}

// What HIP answers about an event before anything else. It looks at the stream
// that the event was recorded on, which nobody may have destroyed, and whose
// capture, begun since, the question would break (from 6.2) or be refused for.
hipError_t LookAtEvent(State& hip, const char* name, hipEvent_t event,
                       Event** found) {
  const auto known = hip.events.find(event);
  if (known == hip.events.end()) return hipErrorInvalidHandle;
  *found = &known->second;
  if ((*found)->stream == nullptr || (*found)->captured) return hipSuccess;
  const auto stream = hip.streams.find((*found)->stream);
  if (stream == hip.streams.end() || stream->second.id != (*found)->stream_id) {
    hip.faults.push_back(std::string(name) +
                         ": the event's stream does not exist any more");
    return hipSuccess;
  }
  if (stream->second.capture == hipStreamCaptureStatusNone) return hipSuccess;
  hip.faults.push_back(std::string(name) +
                       ": the event's stream is in a capture by now");
  return hipErrorCapturedEvent;
}

}  // namespace

// Of HIP's functions, each is its name, its stream if it has one, and what it
// does if it does not fail.
extern "C" {

hipError_t hipGetDeviceCount(int* count) {
  return Do(__func__, nullptr, [&](State& hip, Stream*, ThreadState&) {
    *count = hip.devices;
    return hipSuccess;
  });
}
hipError_t hipRuntimeGetVersion(int* version) {
  return Do(__func__, nullptr, [&](State&, Stream*, ThreadState&) {
    *version = VersionNumber();
    return hipSuccess;
  });
}
hipError_t hipGetDevice(int* device) {
  return Do(__func__, nullptr, [&](State&, Stream*, ThreadState& thread) {
    *device = thread.device;
    return hipSuccess;
  });
}
hipError_t hipSetDevice(int device) {
  return Do(__func__, nullptr, [&](State& hip, Stream*, ThreadState& thread) {
    if (device < 0 || device >= hip.devices) return hipErrorInvalidDevice;
    thread.device = device;
    return hipSuccess;
  });
}
hipError_t hipDeviceReset() {
  return Do(__func__, nullptr, [&](State& hip, Stream*, ThreadState& thread) {
    hip.RemoveStreamsOf(thread.device);
    return hipSuccess;
  });
}
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return Do(__func__, nullptr, [&](State&, Stream*, ThreadState& thread) {
    std::swap(*mode, thread.mode);
    return hipSuccess;
  });
}
hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return Do(__func__, nullptr, [&](State& hip, Stream*, ThreadState&) {
    *least = hip.least;
    *greatest = hip.greatest;
    return hipSuccess;
  });
}
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned int flags,
                                       int priority) {
  return Do(__func__, nullptr, [&](State& hip, Stream*, ThreadState& thread) {
    if (flags > 1) return hipErrorInvalidValue;
    *stream = hip.AddStream(thread.device, flags,
                            std::clamp(priority, hip.greatest, hip.least));
    return hipSuccess;
  });
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  return Do(__func__, stream, [&](State& hip, Stream*, ThreadState&) {
    hip.RemoveStream(stream);
    return hipSuccess;
  });
}
hipError_t hipStreamQuery(hipStream_t stream) {
  return Do(__func__, stream, [&](State& hip, Stream* s, ThreadState& thread) {
    if (RefusedForACapture(hip, thread)) {
      return hipErrorStreamCaptureUnsupported;
    }
    if (s == nullptr) return hipSuccess;
    if (s->capture != hipStreamCaptureStatusNone) {
      hip.capture_invalidated = true;
      return hipErrorStreamCaptureUnsupported;
    }
    if (s->late_queries > 0) {
      --s->late_queries;
      return hipErrorNotReady;
    }
    return s->busy ? hipErrorNotReady : hipSuccess;
  });
}
hipError_t hipStreamSynchronize(hipStream_t stream) {
  return Do(__func__, stream, [&](State& hip, Stream* s, ThreadState&) {
    if (s == nullptr) return hipSuccess;
    if (s->capture != hipStreamCaptureStatusNone) {
      hip.capture_invalidated = true;
      return hipErrorStreamCaptureUnsupported;
    }
    s->busy = s->busy_for_ever;
    s->late_queries = hip.late_queries;
    return hipSuccess;
  });
}
hipError_t hipStreamIsCapturing(hipStream_t stream,
                                hipStreamCaptureStatus* status) {
  return Do(__func__, stream, [&](State& hip, Stream* s, ThreadState&) {
    *status = s == nullptr ? hipStreamCaptureStatusNone : s->capture;
    const bool legacy_is_in_the_way =
        s == nullptr && Version() >= HipVersion::k57 &&
        std::any_of(hip.streams.begin(), hip.streams.end(), [](const auto& o) {
          return o.second.flags == hipStreamDefault &&
                 o.second.capture == hipStreamCaptureStatusActive;
        });
    return legacy_is_in_the_way ? hipErrorStreamCaptureImplicit : hipSuccess;
  });
}
hipError_t hipStreamGetFlags(hipStream_t stream, unsigned int* flags) {
  return Do(__func__, stream, [&](State&, Stream* s, ThreadState&) {
    *flags = s->flags;
    return hipSuccess;
  });
}
hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
  return Do(__func__, stream, [&](State&, Stream* s, ThreadState&) {
    *priority = s->priority;
    return hipSuccess;
  });
}
hipError_t hipStreamAddCallback(hipStream_t stream,
                                hipStreamCallback_t function, void* argument,
                                unsigned int) {
  return Do(__func__, stream, [&](State& hip, Stream*, ThreadState&) {
    hip.callbacks.emplace_back([=] { function(stream, hipSuccess, argument); });
    return hipSuccess;
  });
}
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned int) {
  return Do(__func__, nullptr, [&](State& hip, Stream*, ThreadState& thread) {
    *event = reinterpret_cast<hipEvent_t>(NewHandle());
    hip.events[*event] = {thread.device};
    return hipSuccess;
  });
}
hipError_t hipEventDestroy(hipEvent_t event) {
  return Do(__func__, nullptr, [&](State& hip, Stream*, ThreadState&) {
    return hip.events.erase(event) == 1 ? hipSuccess : hipErrorInvalidHandle;
  });
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return Do(__func__, stream, [&](State& hip, Stream* s, ThreadState& thread) {
    const auto found = hip.events.find(event);
    const int device = s == nullptr ? thread.device : s->device;
    if (found == hip.events.end() || found->second.device != device) {
      return hipErrorInvalidHandle;
    }
    found->second.stream = stream;
    found->second.stream_id = s == nullptr ? 0 : s->id;
    found->second.captured =
        s != nullptr && s->capture == hipStreamCaptureStatusActive;
    return hipSuccess;
  });
}
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event,
                              unsigned int) {
  return Do(__func__, stream, [&](State& hip, Stream* s, ThreadState&) {
    Event* found = nullptr;
    const hipError_t answer =
        LookAtEvent(hip, "hipStreamWaitEvent", event, &found);
    if (answer == hipSuccess && s != nullptr && !found->captured &&
        s->capture == hipStreamCaptureStatusActive) {
      hip.faults.push_back("the graph would not wait for the event");
    }
    return answer;
  });
}
// Of whatever device is current, as in HIP.
hipError_t hipEventQuery(hipEvent_t event) {
  return Do(__func__, nullptr, [&](State& hip, Stream*, ThreadState&) {
    Event* found = nullptr;
    const hipError_t answer = LookAtEvent(hip, "hipEventQuery", event, &found);
    if (answer != hipSuccess) return answer;
    const auto stream = hip.streams.find(found->stream);
    return stream != hip.streams.end() && stream->second.busy ? hipErrorNotReady
                                                              : hipSuccess;
  });
}
hipError_t hipMemcpyAsync(void*, const void*, size_t, hipMemcpyKind,
                          hipStream_t stream) {
  return Do(__func__, stream,
            [](State&, Stream*, ThreadState&) { return hipSuccess; });
}
hipError_t hipGetLastError() {
  return std::exchange(ThisThread().last_error, hipSuccess);
}
const char* hipGetErrorName(hipError_t error) {
  switch (error) {
    case hipSuccess:
      return "hipSuccess";
    case hipErrorInvalidValue:
      return "hipErrorInvalidValue";
    case hipErrorOutOfMemory:
      return "hipErrorOutOfMemory";
    case hipErrorNoDevice:
      return "hipErrorNoDevice";
    case hipErrorInvalidDevice:
      return "hipErrorInvalidDevice";
    case hipErrorInvalidHandle:
      return "hipErrorInvalidHandle";
    case hipErrorContextIsDestroyed:
      return "hipErrorContextIsDestroyed";
    case hipErrorLaunchFailure:
      return "hipErrorLaunchFailure";
    case hipErrorStreamCaptureUnsupported:
      return "hipErrorStreamCaptureUnsupported";
    default:
      return "hipErrorUnknown";
  }
}

}  // extern "C"

hipError_t Newer_hipStreamGetDevice(hipStream_t stream, int* device) {
  return Do("hipStreamGetDevice", stream, [&](State&, Stream* s, ThreadState&) {
    *device = s->device;
    return hipSuccess;
  });
}
// NOLINTNEXTLINE(google-runtime-int): HIP's type
hipError_t Newer_hipStreamGetId(hipStream_t stream, unsigned long long* id) {
  return Do("hipStreamGetId", stream, [&](State&, Stream* s, ThreadState&) {
    *id = s->id;
    return hipSuccess;
  });
}
hipError_t Newer_hipStreamGetAttribute(hipStream_t stream, int, void* value) {
  return Do("hipStreamGetAttribute", stream,
            [&](State&, Stream* s, ThreadState&) {
              *static_cast<int*>(value) = s->sync_policy;
              return hipSuccess;
            });
}
hipError_t Newer_hipStreamSetAttribute(hipStream_t stream, int,
                                       const void* value) {
  return Do("hipStreamSetAttribute", stream,
            [&](State&, Stream* s, ThreadState&) {
              s->sync_policy = *static_cast<const int*>(value);
              return hipSuccess;
            });
}
hipError_t Newer_hipLaunchHostFunc(hipStream_t stream, void (*function)(void*),
                                   void* argument) {
  return Do("hipLaunchHostFunc", stream,
            [&](State& hip, Stream*, ThreadState&) {
              hip.callbacks.emplace_back([=] { function(argument); });
              return hipSuccess;
            });
}

}  // namespace scripted_hip

namespace hip_stream_pool {

bool FindHipFunctions(HipFunctions& functions) {
#define EVERY(function) functions.function.call = &::function;
#define NEWER(function, parameters, version)                   \
  if (scripted_hip::VersionNumber() >= (version)) {            \
    functions.function.call = &scripted_hip::Newer_##function; \
  }
  HIP_STREAM_POOL_FUNCTIONS(EVERY, NEWER)
#undef EVERY
#undef NEWER
  return true;
}

}  // namespace hip_stream_pool
