// SPDX-License-Identifier: Apache-2.0
//
// StreamContext with a real library that keeps a stream: rocSPARSE, which tells
// which it is.
#include "rocsparse/rocsparse.h"

#include <memory>
#include <stdexcept>

#include "gpu/hip_testing.h"
#include "gtest/gtest.h"
#include "hip/hip_runtime_api.h"
#include "hip_stream_pool/stream_context.h"

namespace hip_stream_pool {
namespace {

absl::Status ToStatus(rocsparse_status status) {
  return status == rocsparse_status_success
             ? absl::OkStatus()
             : absl::InternalError("rocsparse_set_stream");
}

class RocsparseTest : public ::testing::Test {
 protected:
  RocsparseTest() {
    EXPECT_HIP(hipSetDevice(0));
    EXPECT_HIP(hipStreamCreateWithFlags(&callers_, 0));
    EXPECT_EQ(rocsparse_status_success, rocsparse_create_handle(&library_));
    context_ = *StreamContext::Create({0, hipStreamNonBlocking, 0});
    EXPECT_TRUE(context_
                    ->AddLibrary("rocSPARSE",
                                 [this](hipStream_t stream) {
                                   return ToStatus(
                                       rocsparse_set_stream(library_, stream));
                                 })
                    .ok());
  }
  ~RocsparseTest() override {
    context_.reset();
    EXPECT_EQ(rocsparse_status_success, rocsparse_destroy_handle(library_));
    EXPECT_HIP(hipStreamDestroy(callers_));
  }

  hipStream_t LibrarysStream() {
    hipStream_t stream = nullptr;
    EXPECT_EQ(rocsparse_status_success,
              rocsparse_get_stream(library_, &stream));
    return stream;
  }

  hipStream_t callers_ = nullptr;
  rocsparse_handle library_ = nullptr;
  std::unique_ptr<StreamContext> context_;
};

TEST_F(RocsparseTest, FollowsTheContextToTheCallersStreamAndBack) {
  const hipStream_t internal = context_->stream();
  EXPECT_EQ(LibrarysStream(), internal);
  ASSERT_TRUE(context_
                  ->RunAsync(callers_,
                             [&](hipStream_t) {
                               EXPECT_EQ(LibrarysStream(), callers_);
                               return absl::OkStatus();
                             })
                  .ok());
  EXPECT_EQ(LibrarysStream(), internal);
}

TEST_F(RocsparseTest, IsBackAfterAnErrorAndAnException) {
  const hipStream_t internal = context_->stream();
  EXPECT_FALSE(context_
                   ->RunAsync(callers_,
                              [&](hipStream_t) {
                                EXPECT_EQ(LibrarysStream(), callers_);
                                return absl::AbortedError("work");
                              })
                   .ok());
  EXPECT_EQ(LibrarysStream(), internal);
#ifdef __cpp_exceptions
  EXPECT_THROW((void)context_->RunAsync(callers_,
                                        [&](hipStream_t) -> absl::Status {
                                          throw std::runtime_error("work");
                                        }),
               std::runtime_error);
#endif
  EXPECT_EQ(LibrarysStream(), internal);
}

TEST_F(RocsparseTest, IsOnNoPooledStreamWhenTheContextIsGone) {
  const hipStream_t internal = context_->stream();
  ASSERT_NE(internal, nullptr);
  context_.reset();
  EXPECT_EQ(LibrarysStream(), nullptr);
}

}  // namespace
}  // namespace hip_stream_pool
