// Which values share memory: what owns none, what must and what may lie where something else does.
//
//   forwarded leaves   parts of a result that are an operand's under another name: nothing is made
//   in-place pairs     parts of a result that may, or must, be written over an operand's memory
//   alias sets         values that must have one place: a loop's state with what it starts with and
//                      what its body returns, a conditional's result with its branches', what entry
//                      aliases and custom calls declare
//
// Sets say where values lie if no copy is made. Whether that is safe is for live_range.h to say; a
// copy splits a set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/analysis/disjoint_values.h"
#include "lib/analysis/values.h"
#include "lib/ir/module.h"

namespace hlo {

// Whether the result is the operands, or parts of them, under another name wherever arrays lie:
// tuple, get-tuple-element, bitcast, … (the trait kAlias of ops.def).
inline bool IsAlias(const Instruction& instruction) {
  return HasTrait(instruction.opcode(), kAlias);
}

// The same where arrays are dense and row-major whatever their layouts say, as the back ends store
// them: also reshapes, not bitcasts that reorder elements. A copy is one. Arrays with dynamic
// dimensions have their sizes beside them, so that a reshape of one makes something new.
bool IsAliasWhenDense(const Instruction& instruction);

// A part of a result that may be written over a part of an operand.
struct InPlacePair {
  int operand = 0;
  int64_t operand_leaf = 0;
  int64_t leaf = 0;
  bool must = false;  // declared: the text says that it happens
  friend bool operator==(const InPlacePair&, const InPlacePair&) = default;
};
// Of one instruction, loops and calls aside: dynamic-update-slice, scatter, fusions that end with
// them, all-reduce-start, collective-permute of slices, elementwise operations on operands of the
// result's size, and what custom calls and fusions declare.
std::vector<InPlacePair> InPlacePairs(const Instruction& instruction);

class AliasSets {
 public:
  static constexpr std::string_view kName = "alias";
  using Over = Values;

  // O(values).
  explicit AliasSets(const Values& values);

  // The representative of the values that share memory with `value`: the one made first.
  ValueId SetOf(ValueId value) const { return sets_.SetOf(value); }

  void AskAll(const Module&) {}  // knows all it can
  std::string Mistake(const Module& module) const;

  // The sets of more than one value, then the in-place pairs.
  static std::string ToString(const Module& module);

 private:
  DisjointValues sets_;
};

}  // namespace hlo
