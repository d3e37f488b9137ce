// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace hip_stream_pool {
namespace {

// Three digits, which is more than the measurements are good for.
std::string Digits(double number) {
  return absl::StrFormat("%.*f",
                         number < 10    ? 2
                         : number < 100 ? 1
                                        : 0,
                         number);
}

std::string Time(double seconds) {
  if (seconds < 1e-6) return absl::StrCat(Digits(seconds * 1e9), " ns");
  if (seconds < 1e-3) return absl::StrCat(Digits(seconds * 1e6), " us");
  return absl::StrCat(Digits(seconds * 1e3), " ms");
}

std::string Calls(double calls) {
  return calls < 0 ? "not known" : absl::StrFormat("%.0f", calls);
}

void PrintLine(std::ostream& out, const std::array<std::string, 6>& cells) {
  out << absl::StrFormat("  %-18s%10s%10s%12s%19s%11s\n", cells[0], cells[1],
                         cells[2], cells[3], cells[4], cells[5]);
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
    Result result;
    result.seconds = run.GetAdjustedRealTime() /
                     benchmark::GetTimeUnitMultiplier(run.time_unit);
    auto calls = run.counters.find(kDriverCalls);
    if (calls != run.counters.end()) result.driver_calls = calls->second;
    results_[run.run_name.function_name] = result;
  }
}

const Table::Result* Table::Find(const std::string& benchmark) const {
  auto found = results_.find(benchmark);
  return found == results_.end() ? nullptr : &found->second;
}

void Table::Finalize() {
  std::ostream& out = GetOutputStream();
  std::vector<std::string> headlines;
  for (const Section& section : sections_) {
    out << "\n" << section.title << "\n";
    if (!section.note.empty()) out << "  (" << section.note << ")\n";
    PrintLine(out, {"streams", "raw", "pooled", "raw/pooled",
                    "driver calls: raw", "pooled"});
    for (size_t i = 0; i < section.rows.size(); ++i) {
      const Row& row = section.rows[i];
      const Result* raw = Find(row.raw);
      const Result* pooled = Find(row.pooled);
      if (raw == nullptr || pooled == nullptr) continue;
      const std::string ratio =
          absl::StrCat(Digits(raw->seconds / pooled->seconds), "x");
      PrintLine(out,
                {row.name, Time(raw->seconds), Time(pooled->seconds), ratio,
                 Calls(raw->driver_calls), Calls(pooled->driver_calls)});
      if (i == section.headline_row) {
        headlines.push_back(absl::StrCat(
            "raw ", Time(raw->seconds), ", pooled ", Time(pooled->seconds),
            " (", ratio, ")", section.headline_where));
      }
    }
  }
  out << "\n"
      << headline_ << ": " << absl::StrJoin(headlines, "; ") << "."
      << std::endl;
}

}  // namespace hip_stream_pool
