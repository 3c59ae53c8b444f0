#include "passes/dynamic/dynamic_dimension_inference.h"

#include "lib/analysis/leaves.h"
#include "lib/ops/opcode_groups.h"
#include "passes/dynamic/size_inference.h"

namespace hlo {
namespace {

// What makes arrays whose sizes are known to nobody but the run time.
constexpr OpcodeSet kDynamicSources = {Opcode::kInfeed, Opcode::kAsyncDone};
// What runs elsewhere: its arrays keep their dynamic dimensions.
constexpr OpcodeSet kRunsElsewhere = {Opcode::kAsyncStart, Opcode::kAsyncUpdate};
// What knows the sizes of some leaves without those of others.
constexpr OpcodeSet kTakesLeaves = {Opcode::kDomain, Opcode::kGetTupleElement,
                                    Opcode::kOptimizationBarrier, Opcode::kTuple};

bool HasDynamicLeaf(const Instruction& instruction) {
  return instruction.shape().has_dynamic_dims();
}

// Constants are whole.
void MakeConstantStatic(DynamicSizes& sizes, Instruction* constant) {
  if (!HasDynamicLeaf(*constant) || !constant->shape().IsArray()) return;
  sizes.MakeStatic(constant);
  constant->SetAttrs(ConstantAttrs{constant->literal().Reshaped(constant->shape())});
}

void Answer(DynamicSizes& sizes, Instruction* get, Instruction* size) {
  get->ReplaceAllUsesWith(size);
  if (get->is_root()) get->parent()->set_root(size);
  sizes.ReplaceSize(get, size);
}

// What is declared static is as long as it says, even where what it is made of ends earlier. Asked
// before any shape is changed.
void AnswerOfStatic(Module& module, DynamicSizes& sizes) {
  for (Computation* computation : module.computations()) {
    if (!computation->MayHoldAny({Opcode::kGetDimensionSize})) continue;
    for (Instruction* get : computation->instruction_vector()) {
      if (get->opcode() != Opcode::kGetDimensionSize) continue;
      const Shape shape = get->operand(0)->shape();
      const auto dim = static_cast<int>(get->attrs<DimensionAttrs>().dimensions.value);
      if (shape.is_dynamic(dim)) continue;
      Builder builder = BuilderFor(*get);
      Answer(sizes, get, SizeConstant(builder, shape.dim(dim)));
    }
  }
}

// The dimension's size takes the place of the question.
absl::Status AnswerSize(SizeInference& in, DynamicSizes& sizes, Instruction* get) {
  const Instruction* operand = get->operand(0);
  const int64_t dim = get->attrs<DimensionAttrs>().dimensions.value;
  Instruction* size = in.Size(operand, 0, dim);
  if (size == nullptr) {
    if (operand->shape().is_dynamic(static_cast<int>(dim))) return absl::OkStatus();
    Builder builder = BuilderFor(*get);
    size = SizeConstant(builder, operand->shape().dim(static_cast<int>(dim)));
  }
  Answer(sizes, get, size);
  return absl::OkStatus();
}

}  // namespace

SizeInference::SizeInference(Module& module, const InferenceOptions& options, DynamicSizes& sizes,
                             std::vector<Computation*>& seen)
    : module_(module), options_(options), sizes_(sizes), seen_(seen) {
  for (const Computation* computation : module.computations())
    sizes_travel_ |= computation->MayHoldAny({Opcode::kSetDimensionSize, Opcode::kDynamicReshape});
  for (const Instruction* parameter : module.entry()->parameters()) {
    if (!HasDynamicLeaf(*parameter)) continue;
    const std::vector<Shape> leaves = LeafShapes(parameter->shape());
    for (size_t i = 0; i < leaves.size(); ++i) {
      sizes_travel_ = sizes_travel_ || (leaves[i].IsArray() && leaves[i].has_dynamic_dims() &&
                                        IsNeeded(*parameter, static_cast<int64_t>(i)));
    }
  }
}

std::vector<OperandSize> SizeInference::OperandSizes(const Instruction& instruction) const {
  std::vector<OperandSize> found;
  for (int i = 0; i < instruction.operand_count(); ++i) {
    for (const DynamicSize& known : sizes_.Of(instruction.operand(i)))
      found.push_back({i, known.leaf, known.dim, known.size});
  }
  return found;
}

absl::Status SizeInference::CheckEqual(Instruction* a, Instruction* b, const Instruction& at) {
  if (a == b || options_.shape_checks == ShapeCheckMode::kIgnore) return absl::OkStatus();
  if (options_.shape_checks == ShapeCheckMode::kCompileTime) {
    return Error(at.loc(),
                 "`{}` needs two sizes that are equal, but `{}` and `{}` cannot be proved to be",
                 at.name(), a->name(), b->name());
  }
  Builder builder = BuilderFor(at);
  Instruction* holds = builder.Compare(a, b, ComparisonDirection::kEq);
  assertion_ = assertion_ == nullptr ? holds : builder.And(assertion_, holds);
  return builder.status();
}

bool SizeInference::SizesOfOperandsKnown(const Instruction& instruction) const {
  for (const Instruction* operand : instruction.operands()) {
    if (!HasDynamicLeaf(*operand)) continue;
    const std::vector<Shape> leaves = LeafShapes(operand->shape());
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      if (!leaves[leaf].IsArray()) continue;
      for (int dim = 0; dim < leaves[leaf].rank(); ++dim) {
        if (leaves[leaf].is_dynamic(dim) &&
            Size(operand, static_cast<int64_t>(leaf), dim) == nullptr)
          return false;
      }
    }
  }
  return true;
}

// All sizes of the operands are known, so what got none is as long as its bound.
void SizeInference::MakeRestStatic(Instruction* instruction) {
  if (!HasDynamicLeaf(*instruction) || instruction->opcode() == Opcode::kSetDimensionSize) return;
  sizes_.MakeStatic(instruction);
}

absl::Status SizeInference::Visit(Instruction* instruction) {
  const Opcode opcode = instruction->opcode();
  if (opcode == Opcode::kParameter)
    return instruction->parent()->is_entry() ? PadToStatic(instruction) : absl::OkStatus();
  if (kDynamicSources.Has(opcode)) return PadToStatic(instruction);
  if (kRunsElsewhere.Has(opcode)) return absl::OkStatus();
  if (opcode == Opcode::kConstant) MakeConstantStatic(sizes_, instruction);
  if (opcode == Opcode::kGetDimensionSize) return AnswerSize(*this, sizes_, instruction);
  if (opcode == Opcode::kCustomCall) {
    return SizesOfOperandsKnown(*instruction) ? InferCustomCall(*this, instruction)
                                              : PadToStatic(instruction);
  }
  // Callers may have to hand sizes to computations, whatever their results are.
  if (!HasDynamicLeaf(*instruction) && !kProgramCallers.Has(opcode)) return absl::OkStatus();
  const bool all_known = SizesOfOperandsKnown(*instruction);
  if (!all_known && !kTakesLeaves.Has(opcode)) return absl::OkStatus();
  const SizeRule rule = SizeRuleFor(*instruction);
  if (rule != nullptr) {
    RETURN_IF_ERROR(rule(*this, instruction));
  } else if (!OperandSizes(*instruction).empty()) {
    return Unsupported(instruction->loc(), "`{}` has no meaning for dynamic dimensions yet",
                       instruction->opcode_text());
  }
  if (all_known) MakeRestStatic(instruction);
  return absl::OkStatus();
}

absl::Status SizeInference::Infer(Computation& computation) {
  seen_.push_back(&computation);
  Instruction* outer = std::exchange(assertion_, nullptr);
  for (Instruction* instruction : computation.PostOrder()) {
    if (!instruction->is_dead()) RETURN_IF_ERROR(Visit(instruction));
  }
  if (assertion_ != nullptr) {
    CustomCallAttrs attrs;
    attrs.custom_call_target = {"__xla__assert"};
    attrs.custom_call_has_side_effect = true;
    attrs.api_version = ApiVersion::kStatusReturning;
    Instruction* assertion = computation.Add(Opcode::kCustomCall, Shape::Token(), {assertion_},
                                             AttrsPtr::Make(std::move(attrs)));
    assertion->mutable_extras().backend_config = "Buffers have different size at runtime";
  }
  assertion_ = outer;
  return absl::OkStatus();
}

absl::Status InferDynamicSizes(Module& module, const InferenceOptions& options, DynamicSizes& sizes,
                               std::vector<Computation*>& seen) {
  AnswerOfStatic(module, sizes);
  return SizeInference(module, options, sizes, seen).Infer(*module.entry());
}

}  // namespace hlo
