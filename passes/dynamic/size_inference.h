// What the rules of dynamic_dimension_inference.h share. A rule tells the sizes of an instruction's
// result by those of its operands.
#pragma once

#include <string_view>

#include "lib/ir/custom_call.h"
#include "passes/dynamic/dynamic_dimension_inference.h"
#include "passes/dynamic/size_math.h"

namespace hlo {

// A dynamic dimension of an operand.
struct OperandSize {
  int operand;
  int64_t leaf;
  int64_t dim;
  Instruction* size;
};

// Whether the elements of a leaf are looked at by something that takes whole arrays, or its sizes
// are asked for; through tuples, loops, branches and calls. With `by_control_flow` the latter three
// need it themselves.
bool IsNeededWhole(const Instruction& value, int64_t leaf, const SupportOf& support,
                   bool by_control_flow);

class SizeInference {
 public:
  SizeInference(Module& module, const InferenceOptions& options, DynamicSizes& sizes,
                std::vector<Computation*>& seen);

  // Walks a computation; the sizes of its parameters are known.
  absl::Status Infer(Computation& computation);

  // For rules.
  Module& module() { return module_; }
  Instruction* Size(const Instruction* value, int64_t leaf, int64_t dim) const {
    return sizes_.Get(value, leaf, dim);
  }
  void Set(Instruction* value, int64_t leaf, int64_t dim, Instruction* size) {
    sizes_.Set(value, leaf, dim, size);
  }
  void Note(Instruction* value, int64_t leaf, int64_t dim, Instruction* size) {
    sizes_.Note(value, leaf, dim, size);
  }
  std::vector<DynamicSize> SizesOf(const Instruction* value) const {
    return {sizes_.Of(value).begin(), sizes_.Of(value).end()};
  }
  // In order.
  std::vector<OperandSize> OperandSizes(const Instruction& instruction) const;
  // The two have to be one number for `at` to make sense.
  absl::Status CheckEqual(Instruction* a, Instruction* b, const Instruction& at);
  bool IsNeeded(const Instruction& value, int64_t leaf) const {
    return IsNeededWhole(value, leaf, options_.support, sizes_travel_);
  }
  // Puts PadToStatic after the dynamic leaves of `value` that somebody needs whole.
  absl::Status PadToStatic(Instruction* value);
  DynamismSupport Support(const Instruction& instruction) const {
    return options_.support ? options_.support(instruction) : DynamismSupport::kNone;
  }

 private:
  absl::Status Visit(Instruction* instruction);
  bool SizesOfOperandsKnown(const Instruction& instruction) const;
  void MakeRestStatic(Instruction* instruction);
  Instruction* PaddedPart(Instruction* part, int64_t& leaf, const std::vector<bool>& pads);

  Module& module_;
  const InferenceOptions& options_;
  DynamicSizes& sizes_;
  std::vector<Computation*>& seen_;
  // Loops, branches and calls carry sizes: then all dynamic arrays that they carry have one.
  bool sizes_travel_ = false;
  Instruction* assertion_ = nullptr;  // of the computation being walked
};

using SizeRule = absl::Status (*)(SizeInference& in, Instruction* instruction);

// The rule of an opcode; null when it has no meaning for dynamic dimensions.
SizeRule SizeRuleFor(const Instruction& instruction);

// Rules that others use or that stand in files of their own.
absl::Status InferTuple(SizeInference& in, Instruction* tuple);
absl::Status InferTupleElement(SizeInference& in, Instruction* element);
absl::Status InferReshape(SizeInference& in, Instruction* reshape);
absl::Status InferDot(SizeInference& in, Instruction* dot);
absl::Status InferConvolution(SizeInference& in, Instruction* convolution);
absl::Status InferReduce(SizeInference& in, Instruction* reduce);
absl::Status InferReduceWindow(SizeInference& in, Instruction* reduce_window);
absl::Status InferSelectAndScatter(SizeInference& in, Instruction* select_and_scatter);
absl::Status InferDynamicSlice(SizeInference& in, Instruction* slice);
absl::Status InferDynamicUpdateSlice(SizeInference& in, Instruction* update);
absl::Status InferGather(SizeInference& in, Instruction* gather);
absl::Status InferScatter(SizeInference& in, Instruction* scatter);
absl::Status InferWhile(SizeInference& in, Instruction* loop);
absl::Status InferConditional(SizeInference& in, Instruction* conditional);
absl::Status InferCall(SizeInference& in, Instruction* call);
absl::Status InferCustomCall(SizeInference& in, Instruction* call);

}  // namespace hlo
