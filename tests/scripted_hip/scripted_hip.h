// SPDX-License-Identifier: Apache-2.0
//
// A HIP that does what a test says. Linked into a test, it is the table of HIP
// functions that the library calls (hip/functions.h): streams are entries in
// a table, any call can be made to fail, and each call is recorded with the
// thread, device and capture mode that it was made with. What no caller of HIP
// may ever do is collected as a fault, whether or not a test looks for it.
#ifndef HIP_STREAM_POOL_TESTS_SCRIPTED_HIP_SCRIPTED_HIP_H_
#define HIP_STREAM_POOL_TESTS_SCRIPTED_HIP_SCRIPTED_HIP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hip/hip_runtime_api.h"

namespace scripted_hip {

struct Call {
  std::string name;
  std::thread::id thread;
  int device;                 // current on the thread
  hipStreamCaptureMode mode;  // of the thread
};

// The version that this HIP is: what SCRIPTED_HIP_VERSION in the environment
// says (5.2, 5.7, 6.4 or 7.2), or 7.2. It has that version's functions, and
// differs where that matters to a pool.
enum class HipVersion {
  k52,  // a query knows nothing of captures; every call sets the last error
  k57,  // a query of a stream answers 900 while a global capture is active,
        // anywhere; one of an event does not
  k64,  // so it does, and invalidates the capture; not in relaxed mode
  k72,  // also: only failures set the last error; a stream that does not exist
        // is not checked for, but in GetDevice and GetId
};
HipVersion Version();
int VersionNumber();  // as HIP_VERSION

class ScriptedHip {
 public:
  static constexpr int kForever = -1;

  static ScriptedHip& Get();

  // Back to the start, but for the lock probe: no streams, no script, nothing
  // recorded; `devices` devices with priorities -1 to 1, device 0 current on
  // every thread.
  void Reset(int devices = 4);

  // The call of that name fails with `error`, after succeeding `after` times,
  // `times` times over. A failed call has no effect.
  void Fail(const std::string& name, hipError_t error, int after = 0,
            int times = 1);
  void FailNothing();

  // Runs in every call of that name, before it takes effect, with no lock of
  // this class held. Empty to stop.
  void During(const std::string& name, std::function<void()> action);

  // Runs on another thread in every call; a call for which it does not return
  // within two seconds was made with a lock held that it needs: a fault.
  void SetLockProbe(std::function<void()> probe);

  // A stream that the library did not create.
  hipStream_t CreateElsewhere(int device, unsigned int flags, int priority);
  // Destroyed, but not by the library.
  void DestroyElsewhere(hipStream_t stream);
  // As hipDeviceReset: all streams of the device are gone.
  void ResetDevice(int device);
  // From now on, a new stream gets the handle that was freed last.
  void ReuseHandles();

  // The stream has work: until it is synchronized or destroyed, or for ever.
  void SetBusy(hipStream_t stream, bool for_ever = false);
  void SetIdle(hipStream_t stream);
  // The next so many queries of the stream say busy.
  void SetLateQueries(hipStream_t stream, int busy);
  // HIP >= 6.2: so many queries behind a synchronize still say busy.
  void SetQueriesBehindSynchronize(int busy) { state_.late_queries = busy; }
  void SetCaptureStatus(hipStream_t stream, hipStreamCaptureStatus status);
  void SetReadsAs(hipStream_t stream, unsigned int flags, int priority);
  void SetPriorityRange(int least, int greatest);
  // A capture in global mode is active on some other thread.
  void SetGlobalCapture(bool active);
  bool GlobalCaptureSurvived() const { return !state_.capture_invalidated; }
  // Runs the host callbacks that were enqueued, once each.
  void RunHostCallbacks();

  // Calls are not kept from now on, until Reset.
  void StopRecording();

  // What happened since Reset or ClearCalls.
  std::vector<Call> Calls() const;
  void ClearCalls();
  int Count(const std::string& name) const;
  // The names of the calls, in order, with the "hip" taken off.
  std::string CallNames() const;
  std::vector<std::string> Faults() const;

  int LiveStreams() const;
  int LiveEvents() const;
  bool IsLive(hipStream_t stream) const;

  struct Stream {
    int device;
    unsigned int flags;
    int priority;
    uint64_t id;
    hipStreamCaptureStatus capture = hipStreamCaptureStatusNone;
    bool busy = false;
    bool busy_for_ever = false;
    int late_queries = 0;
    int sync_policy = 1;  // hipSyncPolicyAuto
  };
  // The stream as it is now; device -1 if there is none.
  Stream Look(hipStream_t stream) const;

  // Busy while the stream is that it was recorded on, if any.
  struct Event {
    int device;
    hipStream_t stream = nullptr;
    uint64_t stream_id = 0;
    bool captured = false;
  };
  // What the functions of HIP act on.
  struct State {
    hipStream_t AddStream(int device, unsigned int flags, int priority);
    void RemoveStream(hipStream_t stream);
    void RemoveStreamsOf(int device);

    int devices = 0;
    int least = 1;
    int greatest = -1;
    std::map<hipStream_t, Stream> streams;
    std::map<hipEvent_t, Event> events;
    std::vector<std::function<void()>> callbacks;
    std::vector<hipStream_t> freed;
    bool reuse_handles = false;
    int late_queries = 0;
    bool global_capture = false;
    bool capture_invalidated = false;
    std::vector<std::string> faults;
  };
  // For the functions of HIP alone: a call of that name. `effect` is what it
  // does if it does not fail, and answers; its Stream is that of the handle.
  template <typename Effect>
  hipError_t Do(const char* name, hipStream_t stream, Effect effect);

 private:
  struct Failure {
    hipError_t error;
    int after;
    int times;
  };
  class LockProbe;

  mutable std::mutex mutex_;
  State state_;
  bool recording_ = true;
  std::map<std::string, Failure> failures_;
  std::map<std::string, std::function<void()>> during_;
  std::vector<Call> calls_;
  std::shared_ptr<LockProbe> lock_probe_;
};

// What hipGetLastError would say on this thread, without clearing it.
hipError_t LastError();
// Leaves an error behind on this thread, as a failed call of the program would.
void SetLastError(hipError_t error);
// This thread's device, without a call being recorded.
int CurrentDevice();
void SetCurrentDevice(int device);
hipStreamCaptureMode CurrentMode();
void SetCurrentMode(hipStreamCaptureMode mode);

}  // namespace scripted_hip

#endif  // HIP_STREAM_POOL_TESTS_SCRIPTED_HIP_SCRIPTED_HIP_H_
