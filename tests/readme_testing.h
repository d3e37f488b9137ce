// SPDX-License-Identifier: Apache-2.0
//
// Keeps README.md's code true: what it shows is part of a test, between
//   // [README: the heading that it is under]
// and
//   // [README: end]
#ifndef HIP_STREAM_POOL_TESTS_README_TESTING_H_
#define HIP_STREAM_POOL_TESTS_README_TESTING_H_

#include <fstream>
#include <sstream>
#include <string>

namespace hip_stream_pool {

// Whether README.md has, under that heading, the code between the marks in the
// source, word for word. Both are read from the project's folder.
inline bool ReadmeQuotes(const std::string& folder, const std::string& source,
                         const std::string& heading) {
  const auto read = [](const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  const std::string readme = read(folder + "/README.md");
  const std::string code = read(folder + "/" + source);
  const std::string mark = "// [README: " + heading + "]\n";
  const size_t start = code.find(mark) + mark.size();
  const size_t end = code.find("// [README: end]\n", start);
  const size_t section = readme.find("\n## " + heading + "\n");
  return code.find(mark) != std::string::npos && end != std::string::npos &&
         section != std::string::npos &&
         readme.find("```cpp\n" + code.substr(start, end - start) + "```",
                     section) != std::string::npos;
}

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_TESTS_README_TESTING_H_
