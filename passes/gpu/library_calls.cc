#include "passes/gpu/library_calls.h"

#include <algorithm>

#include "lib/ir/any_instruction.h"
#include "lib/support/diagnostic.h"
#include "passes/gpu/library_call_expander.h"
#include "passes/gpu/library_config.h"
#include "passes/gpu/ptx_call.h"

namespace hlo {
namespace {

std::string_view TargetOf(const Instruction& call) {
  return call.attrs<CustomCallAttrs>().custom_call_target;
}

// ---- batch normalisations: (…, epsilon, feature index) ----

struct NormAttrs {
  BatchNormAttrs attrs;
  Instruction* epsilon;
};

absl::StatusOr<NormAttrs> NormAttrsOf(const Instruction& call) {
  const int last = call.operand_count() - 1;
  Instruction *const epsilon = call.operand(last - 1), *const feature = call.operand(last);
  if (!epsilon->IsConstant() || !feature->IsConstant() || epsilon->shape().rank() != 0 ||
      feature->shape().rank() != 0 || !IsInteger(feature->shape().element_type()))
    return Error(call.loc(), "`{}` and `{}`, the last operands of `{}`, are no scalar constants",
                 epsilon->name(), feature->name(), call.name());
  NormAttrs result;
  result.attrs.epsilon = static_cast<float>(epsilon->literal().GetDouble());
  result.attrs.feature_index = feature->literal().GetInt();
  result.epsilon = epsilon;
  return result;
}

Instruction* Everywhere(Instruction* scalar, const Instruction* like, Rewriter& b) {
  return b.Broadcast(b.Convert(scalar, like->shape().element_type()), like->shape().dims(), {});
}

// Statistics are f32 where the array is narrower.
Instruction* InTypeOf(const Instruction* scale, Instruction* x, Rewriter& b) {
  const ElementType type = scale->shape().element_type();
  return x->shape().element_type() == type ? x : b.Convert(x, type);
}

absl::StatusOr<std::vector<Instruction*>> Inference(const Instruction& call, Rewriter& b) {
  ASSIGN_OR_RETURN(const NormAttrs norm, NormAttrsOf(call));
  std::vector<Instruction*> operands = call.operand_vector();
  operands.resize(5);
  operands[0] = InTypeOf(operands[1], operands[0], b);
  return std::vector{
      b.Op(Opcode::kBatchNormInference, operands, AttrsPtr::Make(BatchNormAttrs(norm.attrs)))};
}

// The third value is 1 / sqrt(variance + epsilon).
absl::StatusOr<std::vector<Instruction*>> Training(const Instruction& call, Rewriter& b) {
  ASSIGN_OR_RETURN(const NormAttrs norm, NormAttrsOf(call));
  std::vector<Instruction*> operands = call.operand_vector();
  operands.resize(3);
  operands[0] = InTypeOf(operands[1], operands[0], b);
  Instruction* const all =
      b.Op(Opcode::kBatchNormTraining, operands, AttrsPtr::Make(BatchNormAttrs(norm.attrs)));
  RETURN_IF_ERROR(b.status());
  Instruction* const variance = b.GetTupleElement(all, 2);
  return std::vector{b.GetTupleElement(all, 0), b.GetTupleElement(all, 1),
                     b.Rsqrt(b.Add(variance, Everywhere(norm.epsilon, variance, b)))};
}

// Takes 1 / sqrt(variance + epsilon) for the variance.
absl::StatusOr<std::vector<Instruction*>> Grad(const Instruction& call, Rewriter& b) {
  ASSIGN_OR_RETURN(const NormAttrs norm, NormAttrsOf(call));
  std::vector<Instruction*> operands = call.operand_vector();
  operands.resize(5);
  for (const size_t i : {0, 4}) operands[i] = InTypeOf(operands[1], operands[i], b);
  Instruction* const inverse = operands[3];
  operands[3] = b.Subtract(b.Divide(b.ConstantLike(inverse, 1), b.Multiply(inverse, inverse)),
                           Everywhere(norm.epsilon, inverse, b));
  Instruction* const all =
      b.Op(Opcode::kBatchNormGrad, operands, AttrsPtr::Make(BatchNormAttrs(norm.attrs)));
  RETURN_IF_ERROR(b.status());
  return std::vector{b.GetTupleElement(all, 0), b.GetTupleElement(all, 1),
                     b.GetTupleElement(all, 2)};
}

absl::StatusOr<std::vector<Instruction*>> Cholesky(const Instruction& call, Rewriter& b) {
  ASSIGN_OR_RETURN(const CholeskyConfig config, ReadWholeConfig<CholeskyConfig>(call));
  return std::vector{DeclaredOp(Opcode::kCholesky, ValueShape(call), {call.operand(0)},
                                AttrsPtr::Make(CholeskyAttrs{config.lower}), b)};
}

absl::StatusOr<std::vector<Instruction*>> TriangularSolve(const Instruction& call, Rewriter& b) {
  ASSIGN_OR_RETURN(const TriangularSolveConfig config,
                   ReadWholeConfig<TriangularSolveConfig>(call));
  const TriangularSolveAttrs attrs = {config.left_side, config.lower, config.unit_diagonal,
                                      config.transpose_a};
  return std::vector{DeclaredOp(Opcode::kTriangularSolve, ValueShape(call),
                                {call.operand(0), call.operand(1)},
                                AttrsPtr::Make(TriangularSolveAttrs(attrs)), b)};
}

// Rows of the last dimension: keys, in total order, and values that follow them. XLA asks CUB late
// what it works in; until then the call has a target of its own, and scratch of any size.
absl::StatusOr<std::vector<Instruction*>> RadixSort(const Instruction& call, Rewriter& b) {
  ASSIGN_OR_RETURN(const RadixSortConfig config, ReadWholeConfig<RadixSortConfig>(call));
  const Shape keys = call.operand(0)->shape();
  for (const Instruction* operand : call.operands()) {
    if (!operand->shape().IsArray() || operand->shape().rank() == 0)
      return Error(call.loc(), "`{}` sorts rows, found `{}`", TargetOf(call), operand->shape());
  }
  Computation* const order = call.module().AddComputation("radix-order");
  Builder region(order);
  std::vector<Instruction*> pair;
  for (int i = 0; i < 2 * call.operand_count(); ++i)
    pair.push_back(region.Parameter(i, Shape::Scalar(call.operand(i / 2)->shape().element_type()),
                                    fmt::format("p.{}.{}", i / 2, i % 2 == 0 ? "lhs" : "rhs")));
  CompareAttrs attrs;
  attrs.direction = config.descending ? ComparisonDirection::kGt : ComparisonDirection::kLt;
  if (IsFloat(keys.element_type())) attrs.type = ComparisonType::kTotalOrder;
  order->set_root(
      region.Op(Opcode::kCompare, {pair[0], pair[1]}, AttrsPtr::Make(std::move(attrs))));
  RETURN_IF_ERROR(region.status());
  SortAttrs sort_attrs;
  sort_attrs.dimensions = BracedDim{keys.rank() - 1};
  sort_attrs.is_stable = true;
  Instruction* const sort =
      b.Op(Opcode::kSort, call.operand_vector(), AttrsPtr::Make(std::move(sort_attrs)), {order});
  RETURN_IF_ERROR(b.status());
  if (call.operand_count() == 1) return std::vector{sort};
  return std::vector{b.GetTupleElement(sort, 0), b.GetTupleElement(sort, 1)};
}

constexpr LibraryCall kCalls[] = {
#define HLO_LIBRARY_TARGET(Name, text, config, ...) {k##Name, __VA_ARGS__},
#include "lib/eval/library_targets.def"
};

// An output that is no value, of any contents.
Instruction* Anything(Shape shape, Rewriter& b) {
  return b.Broadcast(b.ScalarConstant(shape.element_type(), 0), shape.dims(), {});
}

}  // namespace

std::span<const LibraryCall> AllLibraryCalls() { return kCalls; }

const LibraryCall* FindLibraryCall(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kCustomCall) return nullptr;
  const auto* const entry =
      std::find_if(std::begin(kCalls), std::end(kCalls),
                   [&](const LibraryCall& row) { return row.target == TargetOf(instruction); });
  return entry == std::end(kCalls) ? nullptr : entry;
}

const char* WhyNoMeaning(const Instruction& instruction) {
  struct Reason {
    std::string_view target;
    const char* why;
  };
  constexpr Reason kReasons[] = {
      {kPtxCall,
       "is a kernel in PTX, the assembly language of NVIDIA's GPUs: only platform `gpu` runs it"}};
  for (const Reason& reason : kReasons) {
    if (IsCustomCall(instruction, reason.target)) return reason.why;
  }
  return nullptr;
}

absl::Status RefuseCall(const Instruction& call) {
  return Unsupported(call.loc(), "`{}` {}", call.name(), WhyNoMeaning(call));
}

absl::Status CheckLibraryCall(const LibraryCall& entry, const Instruction& call) {
  if (call.operand_count() < entry.least_operands || call.operand_count() > entry.most_operands)
    return Error(call.loc(), "`{}` takes {} to {} operands, found {}", entry.target,
                 entry.least_operands, entry.most_operands, call.operand_count());
  for (const OutputOperandAlias& alias : call.attrs<CustomCallAttrs>().output_to_operand_aliasing) {
    const bool is_first =
        alias.output.empty() || (alias.output.size() == 1 && alias.output[0] == 0);
    if (alias.operand != entry.overwritten || !is_first)
      return Error(call.loc(), "`{}` does not write output {} over operand {}", entry.target,
                   ToString(alias.output), alias.operand);
  }
  const Shape shape = call.shape();
  const int count = shape.IsTuple() ? shape.element_count_of_tuple() : 1;
  if (count < entry.values)
    return Error(call.loc(), "`{}` yields {} values, found `{}`", entry.target, entry.values,
                 shape);
  for (int i = 0; i < count; ++i) {
    if (!ValueShape(call, i).IsArray() || ValueShape(call, i).has_dynamic_dims())
      return Error(call.loc(), "`{}` yields static arrays, found `{}`", entry.target, shape);
  }
  return absl::OkStatus();
}

Shape ValueShape(const Instruction& call, int value) {
  return call.shape().IsTuple() ? call.shape().element(value) : call.shape();
}

Instruction* DeclaredOp(Opcode opcode, Shape declared, absl::Span<Instruction* const> operands,
                        AttrsPtr attrs, Rewriter& b) {
  Instruction* const x = b.Op(opcode, operands, std::move(attrs));
  if (b.status().ok() && SameDimensions(x->shape(), declared)) x->set_shape(declared);
  return x;
}

absl::StatusOr<Instruction*> PlainHloOf(const LibraryCall& entry, const Instruction& call,
                                        Rewriter& rewriter) {
  RETURN_IF_ERROR(CheckLibraryCall(entry, call));
  ASSIGN_OR_RETURN(std::vector<Instruction*> values, entry.meaning(call, rewriter));
  if (!rewriter.status().ok())
    return Error(call.loc(), "`{}` is no call of `{}`: {}", call.name(), entry.target,
                 DiagnosticsOf(rewriter.status()).front().message);
  const Shape shape = call.shape();
  if (shape.IsTuple() && std::ssize(values) > shape.element_count_of_tuple())
    return Error(call.loc(), "`{}` yields {} values of its operands, found `{}`", entry.target,
                 values.size(), shape);
  for (size_t i = 0; i < values.size(); ++i) {
    const Shape declared = ValueShape(call, static_cast<int>(i));
    if (!SameDimensions(values[i]->shape(), declared))
      return Error(call.loc(), "`{}` yields `{}` of its operands, not `{}`", entry.target,
                   values[i]->shape(), declared);
    if (values[i]->shape().element_type() != declared.element_type())
      values[i] = rewriter.Convert(values[i], declared.element_type());
  }
  if (!shape.IsTuple()) return values[0];
  for (int i = static_cast<int>(values.size()); i < shape.element_count_of_tuple(); ++i)
    values.push_back(Anything(shape.element(i), rewriter));
  return rewriter.Tuple(values);
}

void ReplaceWithOperands(Instruction* old, Instruction* with, uint32_t first_new) {
  Computation& computation = *old->parent();
  const std::vector<Instruction*> operands = old->operand_vector();
  ReplaceKeepingExtras(old, with, first_new);
  for (Instruction* operand : operands) {
    if (!operand->is_dead() && !operand->is_used() && !operand->has_control_edges() &&
        operand->opcode() != Opcode::kParameter)
      computation.RemoveUnused(operand);
  }
}

absl::StatusOr<std::unique_ptr<Module>> WithoutLibraryCalls(const Module& module) {
  bool has_calls = false;
  for (const Instruction* i : AllInstructions(module))
    has_calls = has_calls || FindLibraryCall(*i) != nullptr || WhyNoMeaning(*i) != nullptr;
  if (!has_calls) return nullptr;
  std::unique_ptr<Module> plain = module.Clone();
  PassContext context;
  ASSIGN_OR_RETURN(const bool changed, LibraryCallExpander().Run(*plain, context));
  if (!changed) return nullptr;
  plain->ClearSchedule();  // what is new has no place in it
  return plain;
}

}  // namespace hlo
