// When each value is needed.
//
// What may happen at the same time is a partial order: between a start and its done anything else
// runs, and so does the computation of an async-start, on its own thread. It is laid on one time
// line (program_order.h: a tick for each instruction, and for the ends of what it calls) such that
// two values that may be needed at the same time have ranges that meet:
//
//   - what a start reads and makes is needed until its done,
//   - all values of the computation of an async-start are needed from the start to the done,
//   - the state of a loop is needed from its beginning to its end, what a branch reads until the
//     last branch has ended,
//   - values of a computation with several calls are needed from the first to the last of them.
//
// A range is closed: a value is made and read at one time by one instruction, which may then write
// the one over the other. Passing a value on is no reading. O(leaves read).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lib/analysis/values.h"
#include "lib/ir/module.h"

namespace hlo {

struct LiveRange {
  int start = 0;
  int end = 0;
  bool Meets(const LiveRange& other) const { return start <= other.end && other.start <= end; }
  friend bool operator==(const LiveRange&, const LiveRange&) = default;
};

class LiveRanges {
 public:
  static constexpr std::string_view kName = "live-range";
  using Over = Values;

  // `values` must outlive it.
  explicit LiveRanges(const Values& values);

  const LiveRange& Of(ValueId value) const { return ranges_[static_cast<size_t>(value)]; }
  // When the instruction runs, or begins.
  int TimeOf(const Instruction& instruction) const { return times_.at(&instruction); }
  // When the body of a loop has run.
  int EndOfBody(const Instruction& loop) const { return body_ends_.at(&loop); }
  // The time at which everything is over; results are read then.
  int end() const { return time_; }

  // The largest number of bytes of values that are needed at one time, arguments and constants
  // included.
  int64_t PeakBytes() const;

  void AskAll(const Module&) {}  // knows all it can
  std::string Mistake(const Module& module) const;

  // A line per value.
  static std::string ToString(const Module& module);

 private:
  // The values of a computation: those made while it was walked.
  struct Extent {
    ValueId first = 0, last = 0;
    int begin = 0;
  };

  void Visit(const Instruction& instruction);
  void Begin(const Instruction& instruction);
  void Leave(const ProgramStep& step);
  void End(const Instruction& instruction);
  void VisitDone(const Instruction& done);

  void Define(const Instruction& instruction);
  void Read(ValueId value);
  void ReadAll(const Instruction& instruction);
  void Extend(const Extent& extent, int begin);

  const Values& values_;
  int time_ = 0;
  ValueId defined_ = 0;  // values below are made
  std::vector<LiveRange> ranges_;
  std::vector<Extent> extents_;                             // by serial
  absl::flat_hash_map<const Instruction*, int> times_;      // looked up only
  absl::flat_hash_map<const Instruction*, int> body_ends_;  // looked up only
};

}  // namespace hlo
