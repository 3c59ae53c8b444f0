// Which values cannot lie in one place, because both are needed at some time.
//
// Finer than ranges of time (live_range.h), which have no holes: the state of a loop and what its
// body makes of it may lie in one place when the body has read the state before.
//
//   body: y = exp(x)  z = sin(y)  returns z      x and z do not interfere, although the state x is
//                                                needed at the beginning and at the end of the loop
//   body: y = exp(x)  z = sin(x)  returns y      x and y do: z reads x when y is made
//
// Two values do not interfere when one is over before the other is made: each of its readings
// happens before, or is by the instruction that makes the other and may write over what it reads.
// Handing a value on, to the next iteration, out of a branch, to the caller, is a reading at the
// end of the computation. Branches of one conditional never meet. What an asynchronous computation
// touches is needed until its done.
//
// "Before" is the order in which the program stands, or, where no order is fixed yet, what operands
// and control edges say. Each called computation has one call site. O(readings * depth of
// calls) for a pair.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lib/analysis/alias.h"
#include "lib/analysis/reachability.h"
#include "lib/analysis/values.h"
#include "lib/ir/dense_map.h"

namespace hlo {

class Interference {
 public:
  static constexpr std::string_view kName = "interference";

  enum class Order : uint8_t { kProgram, kDependency };
  // Whether an instruction may write a leaf of its result over what it reads there.
  using MayShare = std::function<bool(const Instruction& instruction, const InPlacePair& pair)>;

  // `values` must outlive it. Without `may_share` nothing is written over what is read.
  Interference(const Values& values, Order order, MayShare may_share = nullptr);

  bool Interfere(ValueId a, ValueId b) const { return !IsOver(a, b) && !IsOver(b, a); }

  // What a copy makes becomes another name of what it reads: its readers read that, and the copy
  // itself reads no more. Undone by Restore, last first.
  void Join(ValueId copy, ValueId source);
  void Restore(ValueId copy, ValueId source);
  // Itself, or what it was joined to.
  ValueId Resolve(ValueId value) const;

  // The pairs of each set of values with one place (alias.h) that interfere.
  static std::string ToString(const Module& module);

 private:
  // When something happens: in a computation, at an instruction (before what that calls, or after
  // it), or at the end.
  struct Point {
    const Computation* in = nullptr;
    const Instruction* at = nullptr;  // null: the end
    bool begins = false;
    friend bool operator==(const Point&, const Point&) = default;
  };
  // Where a computation is called.
  struct Place {
    const Instruction* caller = nullptr;
    int call = 0;
    int depth = 0;
    bool is_async = false;
  };

  void Collect(const ProgramStep& step);
  void CollectVisit(const Instruction& instruction);
  void CollectBodyEnd(const Instruction& loop);
  void Read(ValueId value, Point at) { reads_[static_cast<size_t>(value)].push_back(at); }
  void ReadAll(const Instruction& instruction, Point at);

  const Place& PlaceOf(const Computation* computation) const;
  Point MadeAt(ValueId value) const;
  bool IsInside(const Computation* computation, const Computation* of) const;
  bool IsInLoop(const Computation* computation, const Instruction* loop) const;
  bool StandsBefore(const Instruction* a, const Instruction* b) const;
  bool IsBefore(Point a, Point b) const;
  bool IsOver(ValueId value, ValueId other) const;
  bool IsGone(const Point& read) const;
  bool IsReadBefore(ValueId value, const Point& read, ValueId other, const Point& made) const;
  bool MayWriteOver(const Instruction& instruction, ValueId value, int64_t leaf) const;
  bool SpansIterations(ValueId value, const Point& read, const Point& made) const;

  const Values& values_;
  const Order order_;
  const MayShare may_share_;
  std::vector<std::vector<Point>> reads_;  // by value
  std::vector<ValueId> joined_;            // by value
  std::vector<Place> places_;              // by serial
  InstructionMap<int> positions_;          // within computations; kProgram
  mutable Reachabilities reachabilities_;  // kDependency
};

}  // namespace hlo
