// Shape rules of sort and topk.
#include "lib/ops/shape_helpers.h"

namespace hlo {

absl::StatusOr<Shape> SortShape(const ShapeArgs& args) {
  const int n = args.operand_count();
  if (n == 0) return args.Error("expected at least one operand");
  for (int i = 0; i < n; ++i) RETURN_IF_ERROR(args.CheckSameDimensions(0, i));
  RETURN_IF_ERROR(args.CheckDimension("dimensions", args.attrs<SortAttrs>().dimensions.value,
                                      args.operand(0).rank()));
  RETURN_IF_ERROR(CheckParameterCount(args, 0, static_cast<size_t>(2 * n)));
  const Signature& comparator = args.calls()[0];
  for (int p = 0; p < 2 * n; ++p) {
    const Shape parameter = comparator.parameters[static_cast<size_t>(p)];
    const ElementType type = args.operand(p / 2).element_type();
    if (!parameter.IsScalar() || !SameTypeUpToFloatWidth(parameter.element_type(), type)) {
      return args.Error("parameter {} of {} has shape `{}`, expected `{}[]`, an element of `{}`", p,
                        CalleeName(args, 0), parameter, Text(type), args.name(p / 2));
    }
  }
  if (!comparator.result.IsScalarOf(ElementType::kPred)) {
    return args.Error("{} returns `{}`, expected `pred[]`", CalleeName(args, 0), comparator.result);
  }
  if (n == 1) return args.operand(0);
  return Shape::Tuple(args.operands());
}

absl::StatusOr<Shape> TopKShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(args.CheckArray(0));
  const Shape operand = args.operand(0);
  const int64_t k = args.attrs<TopKAttrs>().k;
  const int last = operand.rank() - 1;
  if (last < 0)
    return args.Error("`{}` has shape `{}`, expected rank 1 or more", args.name(0), operand);
  if (k < 0 || (operand.dim(last) != Shape::kUnbounded && k > operand.dim(last))) {
    return args.Error("`k` is {}, expected at most {}, the last dimension of `{}`", k,
                      operand.dim(last), args.name(0));
  }
  DimList dims;
  for (int d = 0; d < last; ++d) dims.Add(operand, d);
  dims.Add(k);
  return Shape::Tuple({dims.ToShape(operand.element_type()), dims.ToShape(ElementType::kS32)});
}

}  // namespace hlo
