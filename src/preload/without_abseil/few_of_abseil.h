// SPDX-License-Identifier: Apache-2.0
//
// What the pool's sources use of Abseil, and no more, for the library that is
// preloaded. That one must need nothing but libc: Abseil's shared libraries
// need the C++ library, and a program that brings an older one (a conda
// environment) would not even start. The archives that distributions have can't
// be linked into a shared library.
#ifndef HIP_STREAM_POOL_SRC_PRELOAD_WITHOUT_ABSEIL_FEW_OF_ABSEIL_H_
#define HIP_STREAM_POOL_SRC_PRELOAD_WITHOUT_ABSEIL_FEW_OF_ABSEIL_H_

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace absl {

using std::string_view;

template <typename Key, typename Value>
using flat_hash_map = std::unordered_map<Key, Value>;

template <typename T>
class Span;

namespace internal {
inline std::string ToText(string_view text) { return std::string(text); }
template <typename Number>
auto ToText(Number number) -> decltype(std::to_string(number)) {
  return std::to_string(number);
}
}  // namespace internal

template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  return (std::string() + ... + internal::ToText(parts));
}

enum class StatusCode {
  kOk = 0,
  kInvalidArgument = 3,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kInternal = 13,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, string_view message)
      : code_(code), message_(message) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  void Update(const Status& other) {
    if (ok()) *this = other;
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return {}; }
inline Status InvalidArgumentError(string_view message) {
  return {StatusCode::kInvalidArgument, message};
}
inline Status FailedPreconditionError(string_view message) {
  return {StatusCode::kFailedPrecondition, message};
}

template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(T value) : value_(std::move(value)) {}          // NOLINT: as there
  StatusOr(Status status) : status_(std::move(status)) {}  // NOLINT: as there

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  T& operator*() { return *value_; }
  T* operator->() { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace absl

#endif  // HIP_STREAM_POOL_SRC_PRELOAD_WITHOUT_ABSEIL_FEW_OF_ABSEIL_H_
