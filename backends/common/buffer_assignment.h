// Where every value lives. Each array leaf of each instruction's result gets a slice of an
// allocation: an argument, a result, a constant, or the one arena of temporaries, where slices are
// reused once their values are dead.
//
// Values, not instructions, own memory. Instructions that only rearrange names (tuple,
// get-tuple-element, bitcast, reshape, call, …) share the value of their operand; arrays are dense
// row-major, so a reshape moves nothing (lib/analysis/values.h). Each value has a range of time in
// which it is needed (lib/analysis/live_range.h). Two values share memory when
//   - their ranges do not meet, or
//   - an operation may write over an operand that dies there (AssignmentHooks::can_share), or
//   - they have to: the state of a loop lies where it starts and where the body leaves it, what
//     branches return where the conditional's result does.
// Nothing is copied here. The pass copy-insertion has put copies where values that have to share
// would overwrite each other; that this is so is checked. A copy whose two ends may lie in one
// place is left without work to do. Arguments that `input_output_alias` donates take part in
// this like temporaries. Results of the entry are computed into the result allocations.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "backends/common/buffer_slice.h"
#include "lib/analysis/values.h"
#include "lib/ir/module.h"

namespace hlo {

struct Allocation {
  enum class Kind { kArgument, kResult, kConstant, kTemp };
  Kind kind = Kind::kTemp;
  int64_t size = 0;
  int leaf = 0;  // number of the argument's or result's leaf over all parameters / the root
  const Instruction* constant = nullptr;  // kConstant
  const Literal* value = nullptr;         // kConstant: the array, or the whole when it is elided
  bool donated = false;                   // kArgument: overwritten by the run (input_output_alias)
  Shape shape = {};                       // kArgument: of the leaf
};

inline bool IsConstant(const Allocation& a) { return a.kind == Allocation::Kind::kConstant; }
// Each run has its own.
inline bool IsOfState(const Allocation& a) { return !IsConstant(a); }

struct AssignmentHooks {
  // Whether the result leaf may be written over operand `operand` (an array), which dies there and
  // has the same size in bytes.
  std::function<bool(const Instruction& instruction, int operand, int leaf)> can_share;
};

class BufferAssignment {
 public:
  static constexpr int64_t kAlignment = 64;

  // Assigns the entry computation of `module` and everything that it calls. Each called computation
  // (but regions of reduce, sort, fusion and the like) has one call site: run `flatten-call-graph`
  // and `copy-insertion{dense}` before.
  static absl::StatusOr<std::unique_ptr<BufferAssignment>> Make(const Module& module,
                                                                const AssignmentHooks& hooks);

  const std::vector<Allocation>& allocations() const { return allocations_; }
  // Sum of all sizes: what one run needs.
  int64_t total_size() const;

  // One slice per leaf of the shape, depth first.
  std::vector<BufferSlice> slices(const Instruction& instruction) const;
  // The slice of an array-shaped instruction.
  BufferSlice slice(const Instruction& instruction) const { return slices(instruction).at(0); }

  // The values that were given memory, and the slice of each.
  const Values& values() const { return *values_; }
  BufferSlice slice_of(ValueId value) const { return value_slices_[static_cast<size_t>(value)]; }

  // Where the leaves of the entry's result are after a run: result allocations, or arguments given
  // away.
  const std::vector<BufferSlice>& results() const { return results_; }

  // Whether the value of array `operand` is the same at every execution of its reader between two
  // calls of Thunk::ForgetOperands: a constant, an argument that is not overwritten, or, inside a
  // loop, what the loop passes on as it is.
  bool IsUnchanging(const Instruction& operand) const { return unchanging_.contains(&operand); }

  // A readable list: allocations, then each value with its slice and interval.
  std::string ToString() const;

 private:
  friend class BufferAssigner;

  struct ValueText {
    std::string name;
    int start, end;
    int value;
  };
  std::vector<Allocation> allocations_;
  std::vector<BufferSlice> value_slices_;
  std::optional<Values> values_;
  std::vector<BufferSlice> results_;
  absl::flat_hash_set<const Instruction*> unchanging_;
  std::vector<ValueText> texts_;
};

// Whether nothing is to be done at run time for the instruction: it is there from the start, or its
// result is its operand's value under another name.
bool NeedsNoCode(const Instruction& instruction);

}  // namespace hlo
