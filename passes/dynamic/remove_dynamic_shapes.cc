#include "passes/dynamic/remove_dynamic_shapes.h"

#include "lib/analysis/leaves.h"
#include "passes/dynamic/size_inference.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// What hands dynamic arrays on or takes them as they are.
constexpr OpcodeSet kTakesDynamicShapes = {Opcode::kAsyncDone,       Opcode::kAsyncStart,
                                           Opcode::kAsyncUpdate,     Opcode::kCall,
                                           Opcode::kConditional,     Opcode::kCustomCall,
                                           Opcode::kDomain,          Opcode::kGetDimensionSize,
                                           Opcode::kGetTupleElement, Opcode::kOptimizationBarrier,
                                           Opcode::kTuple,           Opcode::kWhile};

// data (f32[6], of size n)  =>  f32[<=6] custom-call(data, n), custom_call_target="SliceToDynamic"
Instruction* SlicedArray(Builder& b, Instruction* data, const std::vector<DynamicSize>& sizes) {
  if (sizes.empty()) return data;
  Shape shape = data->shape().WithoutDynamic();
  std::vector<Instruction*> operands = {data};
  for (int dim = 0; dim < shape.rank(); ++dim) {
    const auto known =
        absl::c_find_if(sizes, [&](const DynamicSize& size) { return size.dim == dim; });
    operands.push_back(known != sizes.end() ? known->size : SizeConstant(b, shape.dim(dim)));
  }
  for (const DynamicSize& size : sizes) shape = shape.WithDynamic(static_cast<int>(size.dim), true);
  CustomCallAttrs attrs;
  attrs.custom_call_target = {"SliceToDynamic"};
  return b.OpWithShape(Opcode::kCustomCall, shape, operands, AttrsPtr::Make(std::move(attrs)));
}

// The dynamic form of the part of a value from leaf `leaf` on, which is counted up.
Instruction* SlicedPart(Builder& b, Instruction* part, absl::Span<const DynamicSize> sizes,
                        int64_t& leaf) {
  if (!part->shape().IsTuple()) {
    std::vector<DynamicSize> own;
    for (const DynamicSize& size : sizes) {
      if (size.leaf == leaf) own.push_back(size);
    }
    ++leaf;
    return SlicedArray(b, part, own);
  }
  std::vector<Instruction*> elements;
  for (int i = 0; i < part->shape().element_count_of_tuple(); ++i)
    elements.push_back(SlicedPart(b, b.GetTupleElement(part, i), sizes, leaf));
  return b.Tuple(elements);
}

absl::StatusOr<Instruction*> Sliced(Instruction* value, const DynamicSizes& sizes) {
  Builder b = BuilderFor(*value);
  int64_t leaf = 0;
  Instruction* result = SlicedPart(b, value, sizes.Of(value), leaf);
  RETURN_IF_ERROR(b.status());
  return result;
}

bool HasUnknownSize(const Instruction& value, const DynamicSizes& sizes) {
  if (!value.shape().has_dynamic_dims()) return false;
  const std::vector<Shape> leaves = LeafShapes(value.shape());
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    if (!leaves[leaf].IsArray()) continue;
    for (int dim = 0; dim < leaves[leaf].rank(); ++dim) {
      if (leaves[leaf].is_dynamic(dim) &&
          sizes.Get(&value, static_cast<int64_t>(leaf), dim) == nullptr)
        return true;
    }
  }
  return false;
}

absl::StatusOr<bool> FitOperands(Instruction* instruction, const SupportOf& support,
                                 const DynamicSizes& sizes) {
  const DynamismSupport own = support ? support(*instruction) : DynamismSupport::kNone;
  bool changed = false;
  for (int i = 0; i < instruction->operand_count(); ++i) {
    Instruction* operand = instruction->operand(i);
    if (own == DynamismSupport::kRequired || instruction->opcode() == Opcode::kAsyncStart) {
      if (!sizes.HasAny(operand)) continue;
      ASSIGN_OR_RETURN(Instruction* const sliced, Sliced(operand, sizes));
      instruction->ReplaceOperand(i, sliced);
      changed = true;
    } else if (own == DynamismSupport::kNone && !kTakesDynamicShapes.Has(instruction->opcode()) &&
               HasUnknownSize(*operand, sizes)) {
      return Unsupported(instruction->loc(),
                         "`{}` reads `{}`, whose size is known to the run time only",
                         instruction->name(), operand->name());
    }
  }
  return changed;
}

// What only says a size, when all questions are answered.
bool OnlyTellsSize(const Instruction& instruction, const DynamicSizes& sizes) {
  if (instruction.opcode() == Opcode::kSetDimensionSize)
    return !HasUnknownSize(instruction, sizes) && !HasUnknownSize(*instruction.operand(0), sizes);
  if (IsCustomCall(instruction, "SetBound"))
    return instruction.operand_count() > 0 &&
           Compatible(instruction.shape(), instruction.operand(0)->shape());
  return (IsCustomCall(instruction, "SliceToDynamic") && sizes.HasAny(&instruction));
}

absl::StatusOr<bool> AnswerRest(Computation& computation, DynamicSizes& sizes) {
  bool changed = false;
  for (Instruction* get : computation.instruction_vector()) {
    if (get->opcode() != Opcode::kGetDimensionSize || !get->is_used()) continue;
    const int64_t dim = get->attrs<DimensionAttrs>().dimensions.value;
    const uint32_t first_new = computation.module().id_limit();
    Instruction* size = sizes.Get(get->operand(0), dim);
    if (size == nullptr && HasUnknownSize(*get->operand(0), sizes)) {
      return Unsupported(get->loc(), "the size that `{}` asks for is known to the run time only",
                         get->name());
    }
    if (size == nullptr) {
      Builder b = BuilderFor(*get);
      size = SizeConstant(b, get->operand(0)->shape().dim(static_cast<int>(dim)));
    }
    sizes.ReplaceSize(get, size);
    ReplaceKeepingExtras(get, size, first_new);
    changed = true;
  }
  return changed;
}

bool RemoveTellers(Computation& computation, const DynamicSizes& sizes) {
  bool changed = false;
  for (Instruction* teller : computation.instruction_vector()) {
    if (!OnlyTellsSize(*teller, sizes)) continue;
    const uint32_t first_new = teller->module().id_limit();
    Builder b = BuilderFor(*teller);
    Instruction* array = teller->operand(0);
    // Floats of two widths may meet here.
    if (teller->shape().IsArray()) array = b.Convert(array, teller->shape().element_type());
    ReplaceKeepingExtras(teller, array, first_new);
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> RemoveDynamicShapes(Module& module, const std::vector<Computation*>& seen,
                                         const SupportOf& support, bool slice_output,
                                         DynamicSizes& sizes) {
  bool changed = false;
  for (Computation* computation : seen) {
    for (Instruction* instruction : computation->PostOrder()) {
      ASSIGN_OR_RETURN(const bool fitted, FitOperands(instruction, support, sizes));
      changed |= fitted;
    }
  }
  Computation* entry = module.entry();
  if (slice_output && sizes.HasAny(entry->root())) {
    ASSIGN_OR_RETURN(Instruction* const sliced, Sliced(entry->root(), sizes));
    entry->set_root(sliced);
    changed = true;
  }
  for (Computation* computation : seen) {
    ASSIGN_OR_RETURN(const bool answered, AnswerRest(*computation, sizes));
    changed |= answered;
  }
  for (Computation* computation : seen) changed |= RemoveTellers(*computation, sizes);
  return changed;
}

}  // namespace hlo
