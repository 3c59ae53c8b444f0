// lib/eval/region.h
//
// A small scalar computation (the to_apply of reduce, sort, scatter, map …) compiled to a list of
// kernels over blocks of lanes, so that an array operation pays for its region by the block and not
// by the element.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/eval/elementwise.h"
#include "lib/ir/module.h"

namespace hlo {

// What its result needs, and what has effects, in an order to compute it in: the rest of a region
// does not change how it is run.
std::vector<const Instruction*> NeededInstructions(const Computation& region);

class RegionProgram {
 public:
  static constexpr int64_t kLanes = 256;

  // Null when the computation holds anything but elementwise operations on scalars (calls and
  // fusions of such are inlined).
  static absl::StatusOr<std::unique_ptr<RegionProgram>> Compile(const Computation& computation);

  int parameter_count() const { return parameter_count_; }
  int result_count() const { return static_cast<int>(results_.size()); }
  ElementType result_type(int i) const { return registers_[results_[static_cast<size_t>(i)]].type; }

  // results[k][i] for i < lanes <= kLanes. A result may lie over a parameter: results are written
  // last.
  void Run(const uint8_t* const* parameters, uint8_t* const* results, int64_t lanes) const;

  // The computation is `opcode(parameter 0, parameter 1)`, or, for commutative opcodes, the other
  // way round.
  std::optional<Opcode> simple_binary() const { return simple_binary_; }
  // The result is this parameter, unchanged.
  std::optional<int> forwarded_parameter() const { return forwarded_; }
  // The computation is `compare(parameter a, parameter b)`.
  struct SimpleCompare {
    int lhs, rhs;
    ComparisonDirection direction;
    ComparisonType order;
  };
  const std::optional<SimpleCompare>& simple_compare() const { return simple_compare_; }

 private:
  struct Register {
    ElementType type;
    int parameter = -1;  // the value of a parameter, read in place
    int64_t offset = 0;  // otherwise in the slab
  };
  struct Step {
    ElementwiseOp op;
    int inputs[ElementwiseOp::kMaxArity];
    int output;
  };
  struct Compiler;

  int parameter_count_ = 0;
  std::vector<Register> registers_;
  std::vector<Step> steps_;
  std::vector<int> results_;
  std::optional<Opcode> simple_binary_;
  std::optional<int> forwarded_;
  std::optional<SimpleCompare> simple_compare_;
  mutable std::vector<uint8_t> slab_;             // one run at a time
  mutable std::vector<const uint8_t*> pointers_;  // of the registers, in a run
};

}  // namespace hlo
