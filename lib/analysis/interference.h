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
// touches is needed until its done; its own values follow each other like those of the program.
//
// "Before" is the order in which the program stands, or, where no order is fixed yet, what operands
// and control edges say. Each called computation has one call site. O(readings * depth of
// calls) for a pair.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
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
  // Whether `value` is not needed any more when `other` is made.
  bool IsOver(ValueId value, ValueId other) const;

  // Made and read in one computation. Of such values, being over is transitive along the order in
  // which they are made: where each is over before the next one, none interfere.
  bool IsLocal(ValueId value) const { return is_local_[static_cast<size_t>(value)]; }
  // What is made later has a larger place.
  int PlaceInOrder(ValueId value) const { return positions_.Get(values_[value].def); }

  // What a copy makes becomes another name of what it reads: its readers read that, and the copy
  // itself reads no more. Undone by Restore, last first.
  void Join(ValueId copy, ValueId source);
  void Restore(ValueId copy, ValueId source);
  // Where dependencies do not say which of two comes first, an edge can: with Assume, what stands
  // first does. TakeAssumed gives the edges that answers since then rely on.
  using Edge = std::pair<const Instruction*, const Instruction*>;  // first, second
  void Assume(bool assumes) { assumes_ = assumes; }
  std::vector<Edge> TakeAssumed() { return std::exchange(assumed_, {}); }
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
    const Instruction* async_start = nullptr;  // innermost; null: in the main sequence
    // What is called from within it is entered after it and before it is left; -1: never called.
    int entered = -1, left = -1;
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
  bool DependsOn(const Instruction* user, const Instruction* producer) const;
  bool IsBefore(Point a, Point b) const;
  bool FindLocal(ValueId value) const;
  bool IsGone(const Point& read) const;
  bool AreReadsBefore(ValueId value, ValueId other, const Point& made, bool is_own_loop) const;
  bool IsReadBefore(ValueId value, const Point& read, ValueId other, const Point& made) const;
  bool MayWriteOver(const Instruction& instruction, ValueId value, int64_t leaf) const;
  bool SpansIterations(ValueId value, const Point& read, const Point& made) const;

  const Values& values_;
  const Order order_;
  const MayShare may_share_;
  std::vector<std::vector<Point>> reads_;  // by value
  std::vector<ValueId> joined_;            // by value
  std::vector<bool> is_local_;             // by value
  std::vector<Place> places_;              // by serial
  int entered_count_ = 0;
  InstructionMap<int> positions_;          // within computations; kProgram
  mutable Reachabilities reachabilities_;  // kDependency
  // Of few producers, in large computations; looked up only.
  mutable absl::flat_hash_map<const Instruction*, Reachability::Dependents> dependents_;
  bool assumes_ = false;  // kDependency
  mutable std::vector<Edge> assumed_;
};

}  // namespace hlo
