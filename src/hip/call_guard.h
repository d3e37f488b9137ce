// SPDX-License-Identifier: Apache-2.0
//
// Whether this process may still call HIP. HIP tears itself down while the
// process exits, and does not work in a child that was forked after HIP had
// started. In both, a handle is nothing but a number.
#ifndef HIP_STREAM_POOL_SRC_HIP_CALL_GUARD_H_
#define HIP_STREAM_POOL_SRC_HIP_CALL_GUARD_H_

namespace hip_stream_pool {

// False from the moment that this thread, as the main thread, or the process
// begins to exit, and in a forked child. When another thread calls exit, its
// thread-local objects are destroyed before that moment.
bool MayCallHip();

bool IsForkedChild();

// From 1 up, this thread's alone while it runs; 0 when it has ended. As many
// are in use as threads have called the library at one time.
int ThreadNumber();

// The calls in flight of a thread.
struct CallCount;

// While a guard that may call HIP exists, the exit of the process waits for it,
// for one second at most, before HIP is torn down. Every HIP call of the
// library is made under one. Threads share nothing in it, but those whose
// thread-local objects are gone.
//
// The first guard of a thread also has the thread watched, once HIP was used on
// it: the main thread's end is then noticed before HIP's thread-local objects
// go.
class HipCallGuard {
 public:
  HipCallGuard() noexcept;
  ~HipCallGuard();
  HipCallGuard(const HipCallGuard&) = delete;
  HipCallGuard& operator=(const HipCallGuard&) = delete;

  bool may_call() const { return may_call_; }

 private:
  CallCount& count_;
  bool may_call_;
};

// To be called before HIP is started: a child that is forked from then on knows
// that it is one.
void WatchForks();

// To be called when HIP has started: from then on, exit is noticed. Exit
// handlers and the destructors of thread-local objects run last in, first out,
// so ours then come before those of HIP.
void WatchProcess();

// To be called after a stream was created, the first of which makes HIP load a
// compiler with exit handlers of its own: ours then come before those too.
void WatchProcessBehindFirstStream();

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_HIP_CALL_GUARD_H_
