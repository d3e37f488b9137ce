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

using Line = std::vector<std::string>;

// The first column to the left, the others to the right. Columns that have a
// heading and nothing else are left out.
void PrintColumns(std::ostream& out, const std::vector<Line>& lines) {
  std::vector<size_t> widths(lines[0].size());
  for (size_t i = 0; i < widths.size(); ++i) {
    for (size_t row = 1; row < lines.size(); ++row) {
      widths[i] = std::max(widths[i], lines[row][i].size());
    }
    if (widths[i] > 0) widths[i] = std::max(widths[i], lines[0][i].size());
  }
  for (const Line& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      if (widths[i] == 0) continue;
      const std::string padding(widths[i] - line[i].size(), ' ');
      out << "  " << (i == 0 ? line[i] + padding : padding + line[i]);
    }
    out << "\n";
  }
}

}  // namespace

Table::Table(std::string heading, std::string headline,
             std::vector<Section> sections)
    : heading_(std::move(heading)),
      headline_(std::move(headline)),
      sections_(std::move(sections)) {}

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
    numbers_[{run.run_name.function_name, ""}] =
        run.GetAdjustedRealTime() /
        benchmark::GetTimeUnitMultiplier(run.time_unit);
    for (const auto& [name, counter] : run.counters) {
      numbers_[{run.run_name.function_name, name}] = counter;
    }
  }
}

std::string Table::Format(const Cell& cell) const {
  if (cell.benchmark.empty()) return cell.text;
  const auto found = numbers_.find({cell.benchmark, cell.counter});
  if (found == numbers_.end()) return "";
  const double number = found->second;
  if (!cell.other.empty()) {
    const auto other = numbers_.find({cell.other, cell.counter});
    if (other == numbers_.end()) return "";
    return absl::StrCat(Digits(number / other->second), "x");
  }
  switch (cell.unit) {
    case Unit::kTime:
      return Time(number);
    case Unit::kNumber:
      return absl::StrFormat("%.0f", number);
    case Unit::kMillions:
      return absl::StrCat(Digits(number / 1e6), " M");
    case Unit::kRatio:
      return absl::StrFormat("%.2f", number);
  }
  return "";
}

Line Table::Format(const Row& row) const {
  Line line;
  bool is_known = false;
  for (const Cell& cell : row) {
    line.push_back(Format(cell));
    is_known |= !cell.benchmark.empty() && !line.back().empty();
  }
  return is_known ? line : Line();
}

void Table::Finalize() {
  std::ostream& out = GetOutputStream();
  std::vector<std::string> headlines;
  for (const Section& section : sections_) {
    std::vector<Line> lines = {section.headings};
    for (const Row& row : section.rows) {
      Line line = Format(row);
      if (!line.empty()) lines.push_back(std::move(line));
    }
    if (lines.size() == 1) continue;  // none of it has been run
    out << "\n" << section.title << "\n";
    if (!section.note.empty()) out << "  (" << section.note << ")\n";
    PrintColumns(out, lines);
    const Line headline = Format(section.headline);
    if (!headline.empty()) headlines.push_back(absl::StrJoin(headline, ""));
  }
  if (headlines.empty()) return;
  out << "\n"
      << headline_ << ": " << absl::StrJoin(headlines, "; ") << "."
      << std::endl;
}

std::vector<std::string> RawAndPooledHeadings(const std::string& rows) {
  return {rows, "raw", "pooled", "raw/pooled", "driver calls: raw", "pooled"};
}

Table::Row RawAndPooled(const std::string& name, const std::string& raw,
                        const std::string& pooled, const std::string& counter) {
  using Cell = Table::Cell;
  const auto driver_calls = [&](const std::string& benchmark) {
    return Cell::Of(benchmark, counter + kDriverCalls, Table::Unit::kNumber);
  };
  return {Cell::Text(name),
          Cell::Time(raw, counter),
          Cell::Time(pooled, counter),
          Cell::Times(raw, pooled, counter),
          driver_calls(raw),
          driver_calls(pooled)};
}

}  // namespace hip_stream_pool
