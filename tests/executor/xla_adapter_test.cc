// SPDX-License-Identifier: Apache-2.0
//
// "Use it in your executor" of README.md, over AMD's own HIP runtime. An
// executor shaped like XLA's has one function that creates a stream, one that
// destroys it, and a wrapper that calls both; what changes is between the two
// marks below, which README.md quotes word for word.
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu/hip_testing.h"
#include "gtest/gtest.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/create_stream.h"
#include "hip_stream_pool/stream_handle_cache.h"
#include "readme_testing.h"

namespace xla_like {

// What XLA's has of that name, as far as streams need it.
class StreamExecutor {
 public:
  explicit StreamExecutor(int device_ordinal)
      : device_ordinal_(device_ordinal) {}
  int device_ordinal() const { return device_ordinal_; }

 private:
  const int device_ordinal_;
};

// [README: Use it in your executor]
absl::StatusOr<hipStream_t> CreateStream(StreamExecutor* executor,
                                         int priority) {
  return hip_stream_pool::CreateStream(
      {executor->device_ordinal(), hipStreamDefault, priority});
}

absl::Status DestroyStream(StreamExecutor* executor, hipStream_t stream) {
  return hip_stream_pool::DestroyStream(executor->device_ordinal(), stream);
}

class RocmStream {
 public:
  static absl::StatusOr<std::unique_ptr<RocmStream>> Create(
      StreamExecutor* executor, int priority) {
    absl::StatusOr<hipStream_t> stream = CreateStream(executor, priority);
    if (!stream.ok()) return stream.status();
    return std::unique_ptr<RocmStream>(new RocmStream(executor, *stream));
  }

  // DestroyStream waits for the stream's work. A callback of that work may use
  // the executor: it outlives its streams.
  ~RocmStream() {
    absl::Status destroyed = DestroyStream(executor_, stream_);
    if (!destroyed.ok()) {
      std::fprintf(stderr, "%s\n", destroyed.ToString().c_str());
    }
  }

  hipStream_t stream() const { return stream_; }

 private:
  RocmStream(StreamExecutor* executor, hipStream_t stream)
      : executor_(executor), stream_(stream) {}

  StreamExecutor* const executor_;
  const hipStream_t stream_;
};
// [README: end]

}  // namespace xla_like

namespace {

using xla_like::RocmStream;
using xla_like::StreamExecutor;

TEST(XlaAdapterTest, AStreamGoesToTheNextUserOfItsPriority) {
  StreamExecutor executor(/*device_ordinal=*/0);
  auto urgent = RocmStream::Create(&executor, /*priority=*/-1);
  auto plain = RocmStream::Create(&executor, /*priority=*/0);
  ASSERT_TRUE(urgent.ok() && plain.ok());
  const hipStream_t first_urgent = (*urgent)->stream();
  const hipStream_t first_plain = (*plain)->stream();
  urgent->reset();
  plain->reset();

  plain = RocmStream::Create(&executor, /*priority=*/0);
  urgent = RocmStream::Create(&executor, /*priority=*/-1);
  ASSERT_TRUE(urgent.ok() && plain.ok());
  EXPECT_EQ((*urgent)->stream(), first_urgent);
  EXPECT_EQ((*plain)->stream(), first_plain);
}

TEST(XlaAdapterTest, TheStreamIsParkedWhenItsWorkIsDone) {
  StreamExecutor executor(/*device_ordinal=*/0);
  const int64_t parked =
      hip_stream_pool::StreamHandleCache::Get().GetStats().parked_total;
  void* memory = nullptr;
  unsigned int value = 0;
  ASSERT_HIP(hipMalloc(&memory, sizeof(value)));
  {
    auto stream = RocmStream::Create(&executor, /*priority=*/0);
    ASSERT_TRUE(stream.ok()) << stream.status();
    ASSERT_HIP(
        hipMemsetAsync(memory, 0x7e, sizeof(value), (*stream)->stream()));
  }
  ASSERT_HIP(hipMemcpy(&value, memory, sizeof(value), hipMemcpyDeviceToHost));
  EXPECT_EQ(value, 0x7e7e7e7eu);
  EXPECT_EQ(hip_stream_pool::StreamHandleCache::Get().GetStats().parked_total,
            parked + 1);
  EXPECT_HIP(hipFree(memory));
}

TEST(XlaAdapterTest, AnErrorNamesTheDevice) {
  StreamExecutor executor(/*device_ordinal=*/64);
  auto stream = RocmStream::Create(&executor, /*priority=*/0);
  EXPECT_EQ(stream.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(stream.status().message().find("64"), std::string::npos);
}

TEST(XlaAdapterTest, ReadmeQuotesTheCodeWordForWord) {
  EXPECT_TRUE(hip_stream_pool::ReadmeQuotes(
      SOURCE_FOLDER, "tests/executor/xla_adapter_test.cc",
      "Use it in your executor"));
}

}  // namespace
