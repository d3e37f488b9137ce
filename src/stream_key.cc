// SPDX-License-Identifier: Apache-2.0
#include "hip_stream_pool/stream_key.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace hip_stream_pool {

std::string ToString(const StreamKey& key) {
  return absl::StrCat("device ", key.device_ordinal, ", flags ", key.flags,
                      ", priority ", key.priority);
}

}  // namespace hip_stream_pool
