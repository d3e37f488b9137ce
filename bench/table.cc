// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace hip_stream_pool {
namespace {

// Three digits, which is more than the measurements are good for.
std::string Digits(double number) {
  const double size = std::abs(number);
  return absl::StrFormat("%.*f", size < 10 ? 2 : size < 100 ? 1 : 0, number);
}

std::string Time(double seconds) {
  const double size = std::abs(seconds);
  if (size < 1e-6) return absl::StrCat(Digits(seconds * 1e9), " ns");
  if (size < 1e-3) return absl::StrCat(Digits(seconds * 1e6), " us");
  return absl::StrCat(Digits(seconds * 1e3), " ms");
}

std::string Number(double number) { return absl::StrFormat("%.0f", number); }

using Line = std::vector<std::string>;

// The first column to the left, the others to the right.
void PrintColumns(std::ostream& out, const std::vector<Line>& lines) {
  std::vector<size_t> widths(lines[0].size());
  for (const Line& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  for (const Line& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string padding(widths[i] - line[i].size(), ' ');
      out << "  " << (i == 0 ? line[i] + padding : padding + line[i]);
    }
    out << "\n";
  }
}

void PrintTitled(std::ostream& out, const std::string& title,
                 const std::string& note, const std::vector<Line>& lines) {
  if (lines.size() == 1) return;  // none of it has been run
  out << "\n" << title << "\n";
  if (!note.empty()) out << "  (" << note << ")\n";
  PrintColumns(out, lines);
}

}  // namespace

Table::Table(std::string heading, std::string headline,
             std::vector<Section> sections, std::vector<Grid> grids)
    : heading_(std::move(heading)),
      headline_(std::move(headline)),
      sections_(std::move(sections)),
      grids_(std::move(grids)) {}

bool Table::ReportContext(const Context&) {
  // At once, so that the person who waits knows for what.
  GetOutputStream() << heading_ << std::endl;
  return true;
}

void Table::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    // A single repetition has no aggregates and is its own median.
    if (run.run_type == Run::RT_Aggregate ? run.aggregate_name != "median"
                                          : run.repetitions > 1) {
      continue;
    }
    if (run.real_accumulated_time <= 0) continue;  // it failed
    Result result;
    result.seconds = run.GetAdjustedRealTime() /
                     benchmark::GetTimeUnitMultiplier(run.time_unit);
    for (const auto& [name, counter] : run.counters) {
      result.counters[name] = counter;
    }
    results_[run.run_name.function_name] = result;
  }
}

std::string Table::Format(double number, Unit unit) {
  switch (unit) {
    case Unit::kTime:
      return Time(number);
    case Unit::kNumber:
      return Number(number);
    case Unit::kMillions:
      return absl::StrCat(Digits(number / 1e6), " M");
    case Unit::kRatio:
      return absl::StrFormat("%.2f", number);
  }
  return "";
}

std::string Table::CellOf(const Row& row, const Result& result) {
  if (row.counter.empty()) return Time(result.seconds);
  auto counter = result.counters.find(row.counter);
  if (counter == result.counters.end()) return "not known";
  return Format(counter->second, row.unit);
}

std::string Table::Ratio(const Row& row, const Result& left,
                         const Result& right) {
  const auto seconds = [&row](const Result& result) {
    auto counter = result.counters.find(row.counter);
    return counter == result.counters.end() ? result.seconds : counter->second;
  };
  return absl::StrCat(Digits(seconds(left) / seconds(right)), "x");
}

std::string Table::DriverCalls(const Row& row, const Result& result) {
  auto calls = result.counters.find(row.counter + kDriverCalls);
  return calls == result.counters.end() ? "not known" : Number(calls->second);
}

const Table::Result* Table::Find(const std::string& benchmark) const {
  auto found = results_.find(benchmark);
  return found == results_.end() ? nullptr : &found->second;
}

void Table::Finalize() {
  std::ostream& out = GetOutputStream();
  std::vector<std::string> headlines;
  for (const Section& section : sections_) Print(section, headlines);
  for (const Grid& grid : grids_) Print(grid);
  out << "\n"
      << headline_ << ": " << absl::StrJoin(headlines, "; ") << "."
      << std::endl;
}

void Table::Print(const Section& section, std::vector<std::string>& headlines) {
  std::vector<Line> lines = {
      {section.row_heading, section.left_heading, section.right_heading}};
  if (section.compares) {
    lines[0].push_back(
        absl::StrCat(section.left_heading, "/", section.right_heading));
    lines[0].push_back(absl::StrCat("driver calls: ", section.left_heading));
    lines[0].push_back(section.right_heading);
  }
  for (size_t i = 0; i < section.rows.size(); ++i) {
    const Row& row = section.rows[i];
    const Result* left = Find(row.left);
    const Result* right = Find(row.right);
    if (left == nullptr || right == nullptr) continue;
    Line line = {row.name, CellOf(row, *left), CellOf(row, *right)};
    if (section.compares) {
      line.push_back(Ratio(row, *left, *right));
      line.push_back(DriverCalls(row, *left));
      line.push_back(DriverCalls(row, *right));
    }
    if (i == section.headline_row) {
      headlines.push_back(absl::StrCat(
          section.left_heading, " ", line[1], ", ", section.right_heading, " ",
          line[2], " (", line[3], ")", section.headline_where));
    }
    lines.push_back(std::move(line));
  }

  PrintTitled(GetOutputStream(), section.title, section.note, lines);
}

void Table::Print(const Grid& grid) {
  std::vector<Line> lines = {grid.headings};
  for (const std::vector<Cell>& row : grid.rows) {
    Line line;
    for (const Cell& cell : row) {
      if (cell.benchmark.empty()) {
        line.push_back(cell.text);
        continue;
      }
      const Result* result = Find(cell.benchmark);
      if (result == nullptr) break;
      auto counter = result->counters.find(cell.counter);
      line.push_back(counter == result->counters.end()
                         ? "not known"
                         : Format(counter->second, cell.unit));
    }
    if (line.size() == row.size()) lines.push_back(std::move(line));
  }
  PrintTitled(GetOutputStream(), grid.title, grid.note, lines);
}

}  // namespace hip_stream_pool
