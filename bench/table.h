// SPDX-License-Identifier: Apache-2.0
//
// Prints the benchmarks' results as a table that a person reads at a glance.
#ifndef HIP_STREAM_POOL_BENCH_TABLE_H_
#define HIP_STREAM_POOL_BENCH_TABLE_H_

#include <map>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"

namespace hip_stream_pool {

// The counter of a benchmark that the table shows; absent on a real GPU.
inline constexpr char kDriverCalls[] = "driver_calls";

class Table : public benchmark::BenchmarkReporter {
 public:
  struct Row {
    std::string name;
    std::string raw;  // the benchmarks' names, as registered
    std::string pooled;
  };
  // The rows under one setting of the driver's costs.
  struct Section {
    std::string title;
    std::string note;  // printed below the title, if not empty
    std::vector<Row> rows;
    // The closing line tells this row's cost, and where it was had.
    size_t headline_row;
    std::string headline_where;
  };

  Table(std::string heading, std::string headline,
        std::vector<Section> sections);

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  struct Result {
    double seconds = 0;
    double driver_calls = -1;  // less than 0: not known
  };
  const Result* Find(const std::string& benchmark) const;

  const std::string heading_;
  const std::string headline_;
  const std::vector<Section> sections_;
  std::map<std::string, Result> results_;  // medians, by benchmark
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_TABLE_H_
