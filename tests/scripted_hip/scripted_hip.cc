// SPDX-License-Identifier: Apache-2.0
#include "scripted_hip/scripted_hip.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <utility>

namespace scripted_hip {
namespace {

// What HIP keeps for each thread.
struct ThreadState {
  uint64_t generation = 0;
  int device = 0;
  hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  hipError_t last_error = hipSuccess;
};
thread_local ThreadState thread_state;

}  // namespace

// A thread that runs the probe on demand.
class ScriptedHip::LockProbe {
 public:
  explicit LockProbe(std::function<void()> probe)
      : probe_(std::move(probe)), thread_([this] { Loop(); }) {}
  ~LockProbe() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  bool Returns() {
    std::unique_lock<std::mutex> lock(mutex_);
    const uint64_t wanted = ++asked_;
    wake_.notify_all();
    return wake_.wait_for(lock, std::chrono::seconds(2),
                          [&] { return answered_ >= wanted; });
  }

 private:
  void Loop() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stop_ || answered_ < asked_; });
      if (stop_) return;
      const uint64_t asked = asked_;
      lock.unlock();
      probe_();
      lock.lock();
      answered_ = asked;
      wake_.notify_all();
    }
  }

  std::function<void()> probe_;
  std::mutex mutex_;
  std::condition_variable wake_;
  uint64_t asked_ = 0;
  uint64_t answered_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

ScriptedHip& ScriptedHip::Get() {
  static ScriptedHip& hip = *new ScriptedHip;
  return hip;
}

void ScriptedHip::Reset(int devices, Behavior behavior) {
  std::lock_guard<std::mutex> lock(mutex_);
  devices_ = devices;
  behavior_ = behavior;
  least_ = 1;
  greatest_ = -1;
  ++generation_;
  streams_.clear();
  events_.clear();
  callbacks_.clear();
  freed_.clear();
  reuse_handles_ = false;
  recording_ = true;
  late_queries_ = 0;
  global_capture_ = capture_invalidated_ = false;
  failures_.clear();
  during_.clear();
  calls_.clear();
  faults_.clear();
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
  return AddStream(device, flags, priority);
}

void ScriptedHip::DestroyElsewhere(hipStream_t stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  RemoveStream(stream);
}

void ScriptedHip::ResetDevice(int device) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto next = streams_.begin(); next != streams_.end();) {
    const auto stream = next++;
    if (stream->second.device == device) RemoveStream(stream->first);
  }
}

void ScriptedHip::ReuseHandles() {
  std::lock_guard<std::mutex> lock(mutex_);
  reuse_handles_ = true;
}

void ScriptedHip::StopRecording() {
  std::lock_guard<std::mutex> lock(mutex_);
  recording_ = false;
}

void ScriptedHip::SetBusy(hipStream_t stream, bool for_ever) {
  std::lock_guard<std::mutex> lock(mutex_);
  streams_.at(stream).busy = true;
  streams_.at(stream).busy_for_ever = for_ever;
}

void ScriptedHip::SetIdle(hipStream_t stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  streams_.at(stream).busy = false;
}

void ScriptedHip::SetLateQueries(hipStream_t stream, int busy) {
  std::lock_guard<std::mutex> lock(mutex_);
  streams_.at(stream).late_queries = busy;
}

void ScriptedHip::SetCaptureStatus(hipStream_t stream,
                                   hipStreamCaptureStatus status) {
  std::lock_guard<std::mutex> lock(mutex_);
  streams_.at(stream).capture = status;
}

void ScriptedHip::SetReadsAs(hipStream_t stream, unsigned int flags,
                             int priority) {
  std::lock_guard<std::mutex> lock(mutex_);
  streams_.at(stream).flags = flags;
  streams_.at(stream).priority = priority;
}

void ScriptedHip::SetPriorityRange(int least, int greatest) {
  std::lock_guard<std::mutex> lock(mutex_);
  least_ = least;
  greatest_ = greatest;
}

void ScriptedHip::SetGlobalCapture(bool active) {
  std::lock_guard<std::mutex> lock(mutex_);
  global_capture_ = active;
}

void ScriptedHip::RunHostCallbacks() {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto callbacks = std::exchange(callbacks_, {});
  lock.unlock();
  for (const auto& [function, argument] : callbacks) function(argument);
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
  return faults_;
}

int ScriptedHip::LiveStreams() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return streams_.size();
}

int ScriptedHip::LiveEvents() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return events_.size();
}

bool ScriptedHip::IsLive(hipStream_t stream) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return streams_.count(stream) != 0;
}

ScriptedHip::Stream ScriptedHip::Look(hipStream_t stream) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = streams_.find(stream);
  return found == streams_.end() ? Stream{-1, 0, 0, 0} : found->second;
}

// Handles are never used again unless ReuseHandles says so, not even after
// Reset: a handle that outlives its test is then seen to be dead.
hipStream_t ScriptedHip::AddStream(int device, unsigned int flags,
                                   int priority) {
  hipStream_t handle;
  if (reuse_handles_ && !freed_.empty()) {
    handle = freed_.back();
    freed_.pop_back();
  } else {
    handle = reinterpret_cast<hipStream_t>(0x10000 + 0x100 * ++next_handle_);
  }
  streams_[handle] = {device, flags, priority, ++next_id_};
  return handle;
}

void ScriptedHip::RemoveStream(hipStream_t stream) {
  streams_.erase(stream);
  freed_.push_back(stream);
}

template <typename Effect>
hipError_t ScriptedHip::Do(const char* name, hipStream_t stream,
                           Effect effect) {
  std::unique_lock<std::mutex> lock(mutex_);
  ThreadState& thread = thread_state;
  if (thread.generation != generation_) thread = {generation_};
  std::function<void()> action;
  if (const auto during = during_.find(name); during != during_.end()) {
    action = during->second;
  }
  const std::shared_ptr<LockProbe> probe = lock_probe_;
  lock.unlock();
  const bool lock_held = probe != nullptr && !probe->Returns();
  if (action) action();
  lock.lock();
  const int device = thread.device;
  const hipStreamCaptureMode mode = thread.mode;

  const auto fault = [&](const std::string& what) {
    faults_.push_back(std::string(name) + ": " + what);
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
      const auto found = streams_.find(stream);
      const bool by_id = strcmp(name, "hipStreamGetId") == 0;
      if (found == streams_.end()) {
        if (behavior_ == Behavior::kHip70 && !by_id &&
            strcmp(name, "hipStreamGetDevice") != 0) {
          fault("undefined behavior: the stream does not exist");
        }
        return by_id ? hipErrorInvalidHandle : hipErrorContextIsDestroyed;
      }
      entry = &found->second;
      if (entry->device != thread.device && !by_id &&
          strcmp(name, "hipStreamGetDevice") != 0) {
        fault("called with the wrong device current");
      }
    }
    return effect(entry, thread);
  }();
  if (recording_) {
    calls_.push_back(
        {name, std::this_thread::get_id(), device, mode, stream, answer});
  }
  const bool sticky = behavior_ == Behavior::kHip70;
  if (!sticky || (answer != hipSuccess && answer != hipErrorNotReady)) {
    thread.last_error = answer;
  }
  return answer;
}

hipError_t LastError() { return thread_state.last_error; }
void SetLastError(hipError_t error) {
  (void)hipGetLastError();  // brings the thread up to date
  thread_state.last_error = error;
}
int CurrentDevice() { return thread_state.device; }
void SetCurrentDevice(int device) {
  (void)hipGetLastError();
  thread_state.device = device;
}
hipStreamCaptureMode CurrentMode() { return thread_state.mode; }
void SetCurrentMode(hipStreamCaptureMode mode) {
  (void)hipGetLastError();
  thread_state.mode = mode;
}

// What the functions of HIP need of the class.
struct Functions {
  using Stream = ScriptedHip::Stream;

  static ScriptedHip& Hip() { return ScriptedHip::Get(); }

  // What versions of HIP do not say, or do, while there is a global capture.
  static bool RefusedForACapture(const ThreadState& thread) {
    ScriptedHip& hip = Hip();
    if (!hip.global_capture_) return false;
    if (hip.behavior_ == Behavior::kHip57) return true;
    if (hip.behavior_ < Behavior::kHip62 ||
        thread.mode == hipStreamCaptureModeRelaxed) {
      return false;
    }
    hip.capture_invalidated_ = true;
    return true;
  }

  static hipError_t GetDeviceCount(int* count) {
    return Hip().Do("hipGetDeviceCount", nullptr, [&](Stream*, ThreadState&) {
      *count = Hip().devices_;
      return hipSuccess;
    });
  }
  static hipError_t GetDevice(int* device) {
    return Hip().Do("hipGetDevice", nullptr, [&](Stream*, ThreadState& thread) {
      *device = thread.device;
      return hipSuccess;
    });
  }
  static hipError_t SetDevice(int device) {
    return Hip().Do("hipSetDevice", nullptr, [&](Stream*, ThreadState& thread) {
      if (device < 0 || device >= Hip().devices_) {
        return hipErrorInvalidDevice;
      }
      thread.device = device;
      return hipSuccess;
    });
  }
  static hipError_t ExchangeMode(hipStreamCaptureMode* mode) {
    return Hip().Do("hipThreadExchangeStreamCaptureMode", nullptr,
                    [&](Stream*, ThreadState& thread) {
                      std::swap(*mode, thread.mode);
                      return hipSuccess;
                    });
  }
  static hipError_t PriorityRange(int* least, int* greatest) {
    return Hip().Do("hipDeviceGetStreamPriorityRange", nullptr,
                    [&](Stream*, ThreadState&) {
                      *least = Hip().least_;
                      *greatest = Hip().greatest_;
                      return hipSuccess;
                    });
  }
  static hipError_t Create(hipStream_t* stream, unsigned int flags,
                           int priority) {
    return Hip().Do("hipStreamCreateWithPriority", nullptr,
                    [&](Stream*, ThreadState& thread) {
                      if (flags > 1) return hipErrorInvalidValue;
                      *stream = Hip().AddStream(
                          thread.device, flags,
                          std::clamp(priority, Hip().greatest_, Hip().least_));
                      return hipSuccess;
                    });
  }
  static hipError_t Destroy(hipStream_t stream) {
    return Hip().Do("hipStreamDestroy", stream, [&](Stream*, ThreadState&) {
      Hip().RemoveStream(stream);
      return hipSuccess;
    });
  }
  static hipError_t Query(hipStream_t stream) {
    return Hip().Do("hipStreamQuery", stream,
                    [&](Stream* entry, ThreadState& thread) {
                      if (RefusedForACapture(thread)) {
                        return hipErrorStreamCaptureUnsupported;
                      }
                      if (entry == nullptr) return hipSuccess;
                      if (entry->capture != hipStreamCaptureStatusNone) {
                        Hip().capture_invalidated_ = true;
                        return hipErrorStreamCaptureUnsupported;
                      }
                      if (entry->late_queries > 0) {
                        --entry->late_queries;
                        return hipErrorNotReady;
                      }
                      return entry->busy ? hipErrorNotReady : hipSuccess;
                    });
  }
  static hipError_t Synchronize(hipStream_t stream) {
    return Hip().Do("hipStreamSynchronize", stream,
                    [&](Stream* entry, ThreadState&) {
                      if (entry == nullptr) return hipSuccess;
                      if (entry->capture != hipStreamCaptureStatusNone) {
                        Hip().capture_invalidated_ = true;
                        return hipErrorStreamCaptureUnsupported;
                      }
                      entry->busy = entry->busy_for_ever;
                      entry->late_queries = Hip().late_queries_;
                      return hipSuccess;
                    });
  }
  static hipError_t IsCapturing(hipStream_t stream,
                                hipStreamCaptureStatus* status) {
    return Hip().Do(
        "hipStreamIsCapturing", stream, [&](Stream* entry, ThreadState&) {
          *status =
              entry == nullptr ? hipStreamCaptureStatusNone : entry->capture;
          return hipSuccess;
        });
  }
  static hipError_t GetFlags(hipStream_t stream, unsigned int* flags) {
    return Hip().Do("hipStreamGetFlags", stream,
                    [&](Stream* entry, ThreadState&) {
                      *flags = entry->flags;
                      return hipSuccess;
                    });
  }
  static hipError_t GetPriority(hipStream_t stream, int* priority) {
    return Hip().Do("hipStreamGetPriority", stream,
                    [&](Stream* entry, ThreadState&) {
                      *priority = entry->priority;
                      return hipSuccess;
                    });
  }
  static hipError_t GetStreamDevice(hipStream_t stream, hipDevice_t* device) {
    return Hip().Do("hipStreamGetDevice", stream,
                    [&](Stream* entry, ThreadState&) {
                      *device = entry->device;
                      return hipSuccess;
                    });
  }
  static hipError_t GetId(hipStream_t stream, uint64_t* id) {
    return Hip().Do("hipStreamGetId", stream, [&](Stream* entry, ThreadState&) {
      *id = entry->id;
      return hipSuccess;
    });
  }
  static hipError_t GetSyncPolicy(hipStream_t stream, int* policy) {
    return Hip().Do("hipStreamGetAttribute", stream,
                    [&](Stream* entry, ThreadState&) {
                      *policy = entry->sync_policy;
                      return hipSuccess;
                    });
  }
  static hipError_t SetSyncPolicy(hipStream_t stream, int policy) {
    return Hip().Do("hipStreamSetAttribute", stream,
                    [&](Stream* entry, ThreadState&) {
                      entry->sync_policy = policy;
                      return hipSuccess;
                    });
  }
  static hipError_t EnqueueCallback(const char* name, hipStream_t stream,
                                    hipHostFn_t function, void* argument) {
    return Hip().Do(name, stream, [&](Stream*, ThreadState&) {
      Hip().callbacks_.emplace_back(function, argument);
      return hipSuccess;
    });
  }
  static hipError_t EventCreate(hipEvent_t* event) {
    return Hip().Do(
        "hipEventCreateWithFlags", nullptr, [&](Stream*, ThreadState& thread) {
          *event = reinterpret_cast<hipEvent_t>(0x10000 +
                                                0x100 * ++Hip().next_handle_);
          Hip().events_[*event] = {thread.device};
          return hipSuccess;
        });
  }
  static hipError_t EventDestroy(hipEvent_t event) {
    return Hip().Do("hipEventDestroy", nullptr, [&](Stream*, ThreadState&) {
      return Hip().events_.erase(event) == 1 ? hipSuccess
                                             : hipErrorInvalidHandle;
    });
  }
  static hipError_t EventRecord(hipEvent_t event, hipStream_t stream) {
    return Hip().Do("hipEventRecord", stream,
                    [&](Stream*, ThreadState& thread) {
                      const auto found = Hip().events_.find(event);
                      if (found == Hip().events_.end() ||
                          found->second.device != thread.device) {
                        return hipErrorInvalidHandle;
                      }
                      found->second.stream = stream;
                      return hipSuccess;
                    });
  }
  // Of whatever device is current, as in HIP.
  static hipError_t EventQuery(hipEvent_t event) {
    return Hip().Do("hipEventQuery", nullptr, [&](Stream*, ThreadState&) {
      const auto found = Hip().events_.find(event);
      if (found == Hip().events_.end()) return hipErrorInvalidHandle;
      const auto stream = Hip().streams_.find(found->second.stream);
      return stream != Hip().streams_.end() && stream->second.busy
                 ? hipErrorNotReady
                 : hipSuccess;
    });
  }
  static hipError_t EventSynchronize(hipEvent_t event) {
    return Hip().Do(
        "hipEventSynchronize", nullptr, [&](Stream*, ThreadState& thread) {
          const auto found = Hip().events_.find(event);
          if (found == Hip().events_.end()) return hipErrorInvalidHandle;
          if (RefusedForACapture(thread)) {
            return hipErrorStreamCaptureUnsupported;
          }
          const auto stream = Hip().streams_.find(found->second.stream);
          if (stream != Hip().streams_.end()) {
            stream->second.busy = stream->second.busy_for_ever;
          }
          return hipSuccess;
        });
  }
  static hipError_t Copy(hipStream_t stream) {
    return Hip().Do("hipMemcpyAsync", stream,
                    [&](Stream*, ThreadState&) { return hipSuccess; });
  }
  static hipError_t WaitEvent(hipStream_t stream, hipEvent_t event) {
    return Hip().Do("hipStreamWaitEvent", stream, [&](Stream*, ThreadState&) {
      return Hip().events_.count(event) == 1 ? hipSuccess
                                             : hipErrorInvalidHandle;
    });
  }
  static hipError_t GetLastError() {
    ThreadState& thread = thread_state;
    {
      std::lock_guard<std::mutex> lock(Hip().mutex_);
      if (thread.generation != Hip().generation_) {
        thread = {Hip().generation_};
      }
    }
    return std::exchange(thread.last_error, hipSuccess);
  }
};

}  // namespace scripted_hip

using scripted_hip::Functions;

extern "C" {

hipError_t hipGetDeviceCount(int* count) {
  return Functions::GetDeviceCount(count);
}
hipError_t hipGetDevice(int* device) { return Functions::GetDevice(device); }
hipError_t hipSetDevice(int device) { return Functions::SetDevice(device); }
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return Functions::ExchangeMode(mode);
}
hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return Functions::PriorityRange(least, greatest);
}
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned int flags,
                                       int priority) {
  return Functions::Create(stream, flags, priority);
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  return Functions::Destroy(stream);
}
hipError_t hipStreamQuery(hipStream_t stream) {
  return Functions::Query(stream);
}
hipError_t hipStreamSynchronize(hipStream_t stream) {
  return Functions::Synchronize(stream);
}
hipError_t hipStreamIsCapturing(hipStream_t stream,
                                hipStreamCaptureStatus* status) {
  return Functions::IsCapturing(stream, status);
}
hipError_t hipStreamGetFlags(hipStream_t stream, unsigned int* flags) {
  return Functions::GetFlags(stream, flags);
}
hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
  return Functions::GetPriority(stream, priority);
}
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device) {
  return Functions::GetStreamDevice(stream, device);
}
hipError_t hipStreamGetId(
    hipStream_t stream,
    unsigned long long* id) {  // NOLINT(google-runtime-int)
  uint64_t value = 0;
  const hipError_t error = Functions::GetId(stream, &value);
  *id = value;
  return error;
}
#ifdef SCRIPTED_HIP_IS_7_1
hipError_t hipStreamGetAttribute(hipStream_t stream, hipStreamAttrID,
                                 hipStreamAttrValue* value) {
  int policy = 0;
  const hipError_t error = Functions::GetSyncPolicy(stream, &policy);
  value->syncPolicy = static_cast<hipSynchronizationPolicy>(policy);
  return error;
}
hipError_t hipStreamSetAttribute(hipStream_t stream, hipStreamAttrID,
                                 const hipStreamAttrValue* value) {
  return Functions::SetSyncPolicy(stream, value->syncPolicy);
}
#endif
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function,
                             void* argument) {
  return Functions::EnqueueCallback("hipLaunchHostFunc", stream, function,
                                    argument);
}
hipError_t hipStreamAddCallback(hipStream_t stream,
                                hipStreamCallback_t function, void* argument,
                                unsigned int) {
  struct Bound {
    hipStream_t stream;
    hipStreamCallback_t function;
    void* argument;
  };
  auto bound = std::make_unique<Bound>(Bound{stream, function, argument});
  const hipError_t error = Functions::EnqueueCallback(
      "hipStreamAddCallback", stream,
      [](void* pointer) {
        std::unique_ptr<Bound> callback(static_cast<Bound*>(pointer));
        callback->function(callback->stream, hipSuccess, callback->argument);
      },
      bound.get());
  if (error == hipSuccess) (void)bound.release();
  return error;
}
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned int) {
  return Functions::EventCreate(event);
}
hipError_t hipEventDestroy(hipEvent_t event) {
  return Functions::EventDestroy(event);
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return Functions::EventRecord(event, stream);
}
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event,
                              unsigned int) {
  return Functions::WaitEvent(stream, event);
}
hipError_t hipEventQuery(hipEvent_t event) {
  return Functions::EventQuery(event);
}
hipError_t hipEventSynchronize(hipEvent_t event) {
  return Functions::EventSynchronize(event);
}
hipError_t hipMemcpyAsync(void*, const void*, size_t, hipMemcpyKind,
                          hipStream_t stream) {
  return Functions::Copy(stream);
}
hipError_t hipGetLastError() { return Functions::GetLastError(); }
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
const char* hipGetErrorString(hipError_t error) {
  return hipGetErrorName(error);
}

}  // extern "C"
