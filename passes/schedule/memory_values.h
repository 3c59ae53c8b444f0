// One computation in numbers, for `hlo-memory-scheduler`: who waits for whom, which values each
// instruction makes and uses, and how much memory a sequence needs at its peak.
//
// Values are the leaves of results (lib/analysis/values.h) and the tables of tuples, of a pointer
// for each element:
//
//   t = tuple(x, y)        makes a table of 16 bytes; x and y are its leaves
//   u = tuple(t, x)        makes another one; that of t is a part of u, too
//   g = u{0}               makes none; its table is that of t
//
// What comes from outside, and constants, need no memory here; what a call returns does. What calls
// and conditionals are given, constants and arguments of the entry apart, counts as freed where it
// is used last, though.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "lib/analysis/values.h"
#include "lib/ir/dense_map.h"

namespace hlo {

// Lists of numbers, in one vector.
class NumberLists {
 public:
  using Number = uint32_t;
  explicit NumberLists(size_t count = 0) : ranges_(count) {}
  std::span<const Number> operator[](Number i) const {
    return std::span(items_).subspan(ranges_[i].first, ranges_[i].second - ranges_[i].first);
  }
  // The list of `i` is what has been added since the last call.
  void Close(Number i) {
    ranges_[i] = {open_, static_cast<Number>(items_.size())};
    open_ = ranges_[i].second;
  }
  void Add(Number item) { items_.push_back(item); }
  // How many of the list of `i` there are; they stand first from now on.
  template <class Is>
  Number MoveToFront(Number i, const Is& is) {
    const auto begin = items_.begin() + ranges_[i].first;
    return static_cast<Number>(
        std::stable_partition(begin, items_.begin() + ranges_[i].second, is) - begin);
  }
  // The lists turned around: j is in the list of i, of `count`, where i was in that of j; in
  // ascending order.
  NumberLists Inverse(size_t count) const;

 private:
  std::vector<std::pair<Number, Number>> ranges_;
  std::vector<Number> items_;
  Number open_ = 0;
};

// What is known of the module.
struct MemoryFacts {
  const Values& values;
  const std::vector<bool>& is_alone;      // by value: it shares its memory with no other by need
  const InstructionMap<uint32_t>& place;  // of each instruction in its computation
};

class MemoryValues {
 public:
  using Number = uint32_t;  // of an instruction, its place in the computation, or of a value
  static constexpr Number kUnknown = ~Number{0};

  // `numbers`: by value, of those that are made here; they are filled in.
  MemoryValues(const Computation& computation, std::vector<Number> post_order,
               const MemoryFacts& facts, std::vector<Number>& numbers);

  // The largest number of bytes that are live at a time. `peak_of`: bytes that a called computation
  // needs. What may be written over an operand that ends there takes its memory.
  int64_t Peak(std::span<const Number> sequence,
               const std::function<int64_t(const Computation&)>& peak_of) const;

  std::vector<Instruction*> instructions;
  std::vector<Number> order;  // after their operands
  Number root;
  NumberLists operands, users;  // distinct
  // Operands, then control predecessors; users, then control successors. Who is both stands twice.
  NumberLists needs, waiting;

  std::vector<int64_t> bytes;          // by value
  std::vector<int64_t> defined_bytes;  // by instruction, of what it makes itself
  // By instruction: all values of its operands, distinct. Elements of a tuple have all of it in
  // common, so this stands once: by tuple.
  NumberLists touches;
  NumberLists elements_of;
  std::vector<int64_t> element_counts;  // by instruction: its get-tuple-elements
  NumberLists tuples_of;                // by value: where it is among elements_of
  std::vector<int64_t> touch_counts;    // by value, the end included

  bool IsElement(Number i) const { return instructions[i]->opcode() == Opcode::kGetTupleElement; }
  static bool IsGiven(const Instruction& instruction) {
    return instruction.opcode() == Opcode::kParameter || instruction.IsConstant();
  }

 private:
  static constexpr Number kOutside = kUnknown - 1;
  using Leaves = absl::Span<const ValueId>;

  void FindNeeds();
  Number& NumberOf(ValueId id);
  Number NewValue(int64_t size);
  void FindMade();
  bool IsStateHere(const Value& value) const;
  bool IsLoopPart() const;
  void FindLeaves(Number i);
  void FindTables(Number i);
  void FindReads();
  void FindTouches();
  void FindInPlace(Number i);
  // Calls `f` for each value of the result once since NewStamp.
  template <class F>
  void ForEachNew(Number i, const F& f);

  // Tells apart what comes for the first time since NewStamp.
  void NewStamp() { ++last_stamp_; }
  bool IsNew(Number i) { return std::exchange(stamp_[i], last_stamp_) != last_stamp_; }

  const MemoryFacts& facts_;
  std::vector<Number>& numbers_;
  const Computation* const here_;
  absl::flat_hash_map<ValueId, Number> foreign_;  // made elsewhere; looked up only
  std::vector<Leaves> leaves_;                    // by instruction
  std::vector<std::vector<Number>> tables_;       // by instruction, in pre-order

  std::vector<bool> is_lent_;  // by value: it is the caller's memory

  std::vector<std::pair<Number, Number>> makes_;  // by instruction: from, to
  std::vector<int64_t> made_bytes_;               // by instruction
  NumberLists reads_;                             // by instruction, distinct
  std::vector<Number> handed_;  // by instruction: how many reads, the first, become its state
  NumberLists in_place_;        // by instruction: whose memory its result may take
  std::vector<int64_t> reader_counts_;  // by value, the end included
  std::vector<uint32_t> stamp_;
  uint32_t last_stamp_ = 0;
};

}  // namespace hlo
