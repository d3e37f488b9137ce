// SPDX-License-Identifier: Apache-2.0
//
// Prints the benchmarks' results as a table that a person reads at a glance.
#ifndef HIP_STREAM_POOL_BENCH_TABLE_H_
#define HIP_STREAM_POOL_BENCH_TABLE_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"

namespace hip_stream_pool {

// The counter that holds how often a benchmark calls the driver, on a simulated
// GPU. Behind another counter's name, it is the calls of that part.
inline constexpr char kDriverCalls[] = "driver_calls";

class Table : public benchmark::BenchmarkReporter {
 public:
  enum class Unit { kTime, kNumber, kMillions, kRatio };

  // Words, or a number that a benchmark has found: a counter, or the
  // benchmark's own time if the counter has no name.
  struct Cell {
    static Cell Text(std::string text) { return {std::move(text)}; }
    static Cell Time(std::string benchmark, std::string counter = "") {
      return {"", std::move(benchmark), std::move(counter)};
    }
    static Cell Of(std::string benchmark, std::string counter, Unit unit) {
      return {"", std::move(benchmark), std::move(counter), unit};
    }
    // How many times as long as `other` it takes.
    static Cell Times(std::string benchmark, std::string other,
                      std::string counter = "") {
      return {"", std::move(benchmark), std::move(counter), Unit::kTime,
              std::move(other)};
    }

    std::string text;
    std::string benchmark = {};  // its name, as registered
    std::string counter = {};
    Unit unit = Unit::kTime;
    std::string other = {};  // the benchmark that it is divided by
  };
  using Row = std::vector<Cell>;

  // Rows that belong together. Those of which no number is known are left out,
  // and so are such columns.
  struct Section {
    std::string title;
    std::string note = {};  // printed below the title, if not empty
    std::vector<std::string> headings = {};
    std::vector<Row> rows = {};
    Row headline = {};  // for the closing line
  };

  Table(std::string heading, std::string headline,
        std::vector<Section> sections);

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  std::string Format(const Cell& cell) const;
  // Empty if no number is known.
  std::vector<std::string> Format(const Row& row) const;

  const std::string heading_;
  const std::string headline_;
  const std::vector<Section> sections_;
  // Medians, by benchmark and counter.
  std::map<std::pair<std::string, std::string>, double> numbers_;
};

// What two benchmarks take, or a counter of theirs; how many times as long the
// first does; and how often each calls the driver. `rows` is what the rows are.
std::vector<std::string> RawAndPooledHeadings(const std::string& rows);
Table::Row RawAndPooled(const std::string& name, const std::string& raw,
                        const std::string& pooled,
                        const std::string& counter = "");

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_TABLE_H_
