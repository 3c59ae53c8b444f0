#include "lib/analysis/cost.h"

#include <fmt/core.h>

#include <algorithm>

#include "lib/analysis/alias.h"

namespace hlo {
namespace {

constexpr double kPointerBytes = 8;  // of an element of a tuple

// Neither reads nor writes memory.
bool IsFree(const Instruction& x) {
  return IsAlias(x) || x.opcode() == Opcode::kConstant || x.opcode() == Opcode::kParameter;
}

bool TakesSlice(Opcode opcode) {
  return opcode == Opcode::kSlice || opcode == Opcode::kDynamicSlice || opcode == Opcode::kGather;
}

double MemoryBytes(Shape shape) {
  if (shape.IsArray()) return static_cast<double>(shape.byte_size());
  return shape.IsTuple() ? kPointerBytes * shape.element_count_of_tuple() : 0;
}

double ElementsOf(Shape shape) {
  return static_cast<double>((shape.IsTuple() ? shape.element(0) : shape).element_count());
}

// What computing on one element costs.
Cost CostOfBody(const Computation& body) {
  Cost sum;
  for (const Instruction* inside : body.instructions()) {
    const Cost cost = CostOf(*inside);
    sum.flops += cost.flops;
    sum.transcendentals += cost.transcendentals;
  }
  return sum;
}

// What is read of a parameter of a fusion.
double BytesReadOf(const Instruction& parameter) {
  const double whole = MemoryBytes(parameter.shape());
  double read = 0;
  for (const Use& use : parameter.uses()) {
    const Opcode opcode = use.user->opcode();
    if (use.operand_index == 0 && opcode == Opcode::kDynamicUpdateSlice) continue;  // in place
    if (use.operand_index != 0 || !TakesSlice(opcode)) return whole;
    read += MemoryBytes(use.user->shape());
  }
  return std::min(read, whole);
}

double BytesWrittenTo(const Instruction& output) {
  return MemoryBytes(output.opcode() == Opcode::kDynamicUpdateSlice ? output.operand(1)->shape()
                                                                    : output.shape());
}

double FusionBytes(const Computation& body) {
  double bytes = 0;
  for (int i = 0; i < body.parameter_count(); ++i) bytes += BytesReadOf(*body.parameter(i));
  const Instruction* root = body.root();
  if (root->opcode() != Opcode::kTuple) return bytes + BytesWrittenTo(*root);
  for (const Instruction* output : root->operands()) bytes += BytesWrittenTo(*output);
  return bytes;
}

double MemoryOf(const Instruction& x) {
  if (IsFree(x)) return 0;
  if (x.IsFusion()) return FusionBytes(*x.fused_computation());
  double bytes = MemoryBytes(x.shape());
  if (TakesSlice(x.opcode()) || x.opcode() == Opcode::kDynamicUpdateSlice) {
    const int first_index = x.opcode() == Opcode::kDynamicUpdateSlice ? 2 : 1;
    bytes = 2 * (first_index == 2 ? MemoryBytes(x.operand(1)->shape()) : bytes);
    for (int i = first_index; i < x.operand_count(); ++i)
      bytes += MemoryBytes(x.operand(i)->shape());
    return bytes;
  }
  for (const Instruction* operand : x.operands()) bytes += MemoryBytes(operand->shape());
  return bytes;
}

// How often the computation of a reduction runs.
double Combinations(const Instruction& x) {
  const double results = ElementsOf(x.shape());
  if (x.opcode() == Opcode::kReduce) return ElementsOf(x.operand(0)->shape()) - results;
  double window = 1;
  for (const WindowDim& dim : x.attrs<ReduceWindowAttrs>().window.dims)
    window *= static_cast<double>(dim.size);
  return results * (window - 1);
}

// A multiplication and an addition for each element of the contracted dimensions.
double DotFlops(const Instruction& x) {
  double contracted = 1;
  for (const int64_t d : x.attrs<DotAttrs>().lhs_contracting_dims)
    contracted *= static_cast<double>(x.operand(0)->shape().dim(static_cast<int>(d)));
  return 2 * ElementsOf(x.shape()) * contracted;
}

// A multiplication and an addition for each element of the window and each input feature.
double ConvolutionFlops(const Instruction& x) {
  const Shape kernel = x.operand(1)->shape();
  const int64_t outputs =
      kernel.dim(static_cast<int>(x.attrs<ConvolutionAttrs>().dim_labels.kernel_output_feature));
  return outputs == 0
             ? 0
             : 2 * ElementsOf(x.shape()) * ElementsOf(kernel) / static_cast<double>(outputs);
}

}  // namespace

Cost CostOf(const Instruction& x) {
  Cost cost;
  if (x.IsFusion()) {
    cost = CostOfBody(*x.fused_computation());
  } else if (x.opcode() == Opcode::kReduce || x.opcode() == Opcode::kReduceWindow) {
    cost = CostOfBody(*x.to_apply());
    const double times = Combinations(x);
    cost.flops *= times;
    cost.transcendentals *= times;
  } else if (x.opcode() == Opcode::kDot) {
    cost.flops = DotFlops(x);
  } else if (x.opcode() == Opcode::kConvolution) {
    cost.flops = ConvolutionFlops(x);
  } else if (HasTrait(x.opcode(), kTranscendental)) {
    cost.transcendentals = ElementsOf(x.shape());
  } else if (HasTrait(x.opcode(), kElementwise) && x.operand_count() > 0) {
    cost.flops = ElementsOf(x.shape());
  }
  cost.bytes = MemoryOf(x);
  return cost;
}

std::string CostsToString(const Module& module) {
  std::string text;
  for (const Computation* computation : module.NonFusionComputations()) {
    text += fmt::format("{}:\n", computation->name());
    for (const Instruction* instruction : computation->SequenceOrPostOrder()) {
      const Cost cost = CostOf(*instruction);
      text += fmt::format("  {}: {} flops, {} transcendentals, {} bytes\n", instruction->name(),
                          cost.flops, cost.transcendentals, cost.bytes);
    }
  }
  return text;
}

}  // namespace hlo
