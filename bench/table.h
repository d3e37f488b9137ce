// SPDX-License-Identifier: Apache-2.0
//
// Prints the benchmarks' results as a table that a person reads at a glance.
#ifndef HIP_STREAM_POOL_BENCH_TABLE_H_
#define HIP_STREAM_POOL_BENCH_TABLE_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"

namespace hip_stream_pool {

// The counter of a benchmark that the table shows; absent on a real GPU. Behind
// the name of a counter that a row shows, it is the calls of that part.
inline constexpr char kDriverCalls[] = "driver_calls";

class Table : public benchmark::BenchmarkReporter {
 public:
  enum class Unit { kTime, kNumber, kMillions, kRatio };

  // Two benchmarks side by side.
  struct Row {
    std::string name;
    std::string left;  // the benchmarks' names, as registered
    std::string right;
    // What the row shows of them: this counter, or their time if it is empty.
    std::string counter = {};
    Unit unit = Unit::kTime;
  };
  // Rows that belong together.
  struct Section {
    std::string title;
    std::string note = {};  // printed below the title, if not empty
    std::string row_heading = "streams";
    std::string left_heading = "raw";
    std::string right_heading = "pooled";
    // Whether to print left/right, and how often each calls the driver.
    bool compares = true;
    std::vector<Row> rows = {};
    // The closing line tells this row's cost, and where it was had.
    std::optional<size_t> headline_row = std::nullopt;
    std::string headline_where = {};
  };

  // Words, or a counter of a benchmark.
  struct Cell {
    static Cell Text(std::string text) { return {std::move(text)}; }
    static Cell Time(std::string benchmark, std::string counter) {
      return {"", std::move(benchmark), std::move(counter), Unit::kTime};
    }
    static Cell Of(std::string benchmark, std::string counter, Unit unit) {
      return {"", std::move(benchmark), std::move(counter), unit};
    }

    std::string text;
    std::string benchmark = {};
    std::string counter = {};
    Unit unit = Unit::kTime;
  };
  // More than two benchmarks side by side. A row is left out if one of its
  // benchmarks has not been run.
  struct Grid {
    std::string title;
    std::string note = {};
    std::vector<std::string> headings = {};
    std::vector<std::vector<Cell>> rows = {};
  };

  Table(std::string heading, std::string headline,
        std::vector<Section> sections, std::vector<Grid> grids);

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  struct Result {
    double seconds = 0;
    std::map<std::string, double> counters;
  };
  static std::string Format(double number, Unit unit);
  static std::string CellOf(const Row& row, const Result& result);
  static std::string Ratio(const Row& row, const Result& left,
                           const Result& right);
  static std::string DriverCalls(const Row& row, const Result& result);
  const Result* Find(const std::string& benchmark) const;
  void Print(const Section& section, std::vector<std::string>& headlines);
  void Print(const Grid& grid);

  const std::string heading_;
  const std::string headline_;
  const std::vector<Section> sections_;
  const std::vector<Grid> grids_;
  std::map<std::string, Result> results_;  // medians, by benchmark
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_BENCH_TABLE_H_
