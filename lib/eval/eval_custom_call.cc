// Custom calls whose meaning is fixed by the compiler: annotations, TopK, dynamic-shape helpers;
// and linear algebra (lib/linalg).
// All others are refused by name.
#include "lib/eval/custom_calls.h"
#include "lib/eval/eval_internal.h"
#include "lib/linalg/call.h"

namespace hlo {

Literal TopKOf(const Literal& operand, int64_t k, bool largest);

namespace {

constexpr std::string_view kIdentities[] = {"Sharding",
                                            "SPMDFullToShardShape",
                                            "SPMDShardToFullShape",
                                            "LocalToGlobalShape",
                                            "GlobalToLocalShape",
                                            "MoveToHost",
                                            "MoveToDevice",
                                            "PinToDevice",
                                            "PinToDeviceSram",
                                            "LayoutConstraint",
                                            "Pin",
                                            "Unpin",
                                            "SetBound",
                                            "AssumeGatherIndicesInBound",
                                            "annotate_device_placement"};

// The comparator says whether the largest come first; without one they do.
bool TakesLargest(const Instruction& call) {
  if (call.call_count() == 0) return true;
  const Instruction* root = call.call(0)->root();
  if (root->opcode() != Opcode::kCompare) return true;
  const ComparisonDirection direction = root->attrs<CompareAttrs>().direction;
  const bool is_greater =
      direction == ComparisonDirection::kGt || direction == ComparisonDirection::kGe;
  const bool in_order =
      root->operand(0)->opcode() != Opcode::kParameter || root->operand(0)->parameter_number() == 0;
  return is_greater == in_order;
}

// (data, size of each dimension): dimensions are padded to their bounds.
Literal PadToStatic(const Literal& data, Shape bounds) {
  std::vector<Literal> parts = {Resized(data, bounds.dims())};
  for (int64_t size : data.shape().dims())
    parts.push_back(Literal::Scalar<int64_t>(ElementType::kS32, size));
  return Literal::Tuple(std::move(parts));
}

}  // namespace

bool IsIdentityCustomCall(std::string_view target) {
  for (std::string_view identity : kIdentities) {
    if (target == identity) return true;
  }
  return target.starts_with("xla.sdy.");
}

bool IsPureCustomCall(std::string_view target) {
  return IsIdentityCustomCall(target) || target == "TopK" || target == "mhlo.topk" ||
         linalg::IsLinalgTarget(target);
}

static EvalResult EvalKnownCustomCall(EvalContext& c) {
  const std::string_view target = c.attrs<CustomCallAttrs>().custom_call_target;
  if (linalg::IsLinalgTarget(target)) return EvalLinalgCall(c);
  const Shape shape = c.instruction.shape();
  if (IsIdentityCustomCall(target) && c.operand_count() >= 1) {
    const Literal& operand = c.operand(0);
    if (!operand.shape().IsArray() || !shape.IsArray() ||
        operand.element_count() == shape.element_count() || shape.has_dynamic_dims()) {
      return EvalIdentity(c);
    }
    return Unsupported(c.loc(), "custom call `{}` from `{}` to `{}` needs the other devices",
                       target, operand.shape(), shape);
  }
  if ((target == "TopK" || target == "mhlo.topk") && c.operand_count() == 1 && shape.IsTuple()) {
    const Shape values = shape.element(0), operand = c.operand(0).shape();
    if (!operand.IsArray() || !values.IsArray() || operand.rank() == 0 ||
        operand.rank() != values.rank() ||
        values.dim(values.rank() - 1) > operand.dim(operand.rank() - 1))
      return Error(c.loc(), "custom call `{}` yields the last dimension of `{}` cut, not `{}`",
                   target, operand, values);
    return TopKOf(c.operand(0), values.dim(values.rank() - 1), TakesLargest(c.instruction));
  }
  if (target == "GetRngSeed") {
    return Literal::Scalar<int64_t>(ElementType::kU64,
                                    static_cast<int64_t>(c.evaluator.options().seed));
  }
  if ((target == "AllocateBuffer" || target == "CreateBuffer") && !shape.IsTuple()) {
    return Literal(shape.IsBuffer() ? shape.element(0) : shape);
  }
  if (target == "PadToStatic" && c.operand_count() == 1 && shape.IsTuple())
    return PadToStatic(c.operand(0), shape.element(0));
  if (target == "SliceToDynamic" && c.operand_count() >= 1) {
    DimVec dims = Dims(c.operand(0));
    for (size_t d = 0; d < dims.size() && static_cast<int>(d) + 1 < c.operand_count(); ++d) {
      dims[d] = std::clamp<int64_t>(ScalarIndex(c.operand(static_cast<int>(d) + 1)), 0, dims[d]);
    }
    return Resized(c.operand(0), dims);
  }
  return Unsupported(c.loc(), "there is no implementation of custom call `{}`", target);
}

EvalResult EvalCustomCall(EvalContext& c) {
  const Shape shape = c.instruction.shape();
  ASSIGN_OR_RETURN(Literal result, EvalKnownCustomCall(c));
  if (CompatibleIgnoringDynamic(result.shape(), shape) || shape.has_dynamic_dims() ||
      shape.IsBuffer())
    return result;
  return Error(c.loc(), "custom call `{}` yields `{}`, not `{}`",
               c.attrs<CustomCallAttrs>().custom_call_target, result.shape(), shape);
}

}  // namespace hlo
