// Shape rules of the elementwise opcodes: which element types they take, and that nothing is
// broadcast implicitly.
#include <algorithm>

#include "lib/ops/shape_helpers.h"
#include "lib/ops/type_sets.h"

namespace hlo {
namespace {

// "integer, float or complex"
std::string Describe(TypeSet types) {
  std::string_view words[4];
  int count = 0;
  if ((types & kPredTypes) != 0) words[count++] = "pred";
  if ((types & kIntTypes) == kIntTypes) words[count++] = "integer";
  if ((types & kIntTypes) == kSignedTypes) words[count++] = "signed integer";
  if ((types & kFloatTypes) != 0) words[count++] = "float";
  if ((types & kComplexTypes) != 0) words[count++] = "complex";
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += i + 1 == count ? " or " : ", ";
    text += words[i];
  }
  return text;
}

// Operand i has a type that the opcode's row names.
absl::Status CheckTypes(const ShapeArgs& args, int i) {
  RETURN_IF_ERROR(args.CheckArray(i));
  const TypeSet types = Info(args.opcode()).types;
  const ElementType type = args.operand(i).element_type();
  if ((TypeSetOf(type) & types) != 0) return absl::OkStatus();
  return args.Error("`{}` has element type `{}`, expected {}", args.name(i), Text(type),
                    Describe(types));
}

absl::Status CheckSameTypeUpToFloatWidth(const ShapeArgs& args, int i, int j) {
  RETURN_IF_ERROR(args.CheckArray(i));
  RETURN_IF_ERROR(args.CheckArray(j));
  if (SameTypeUpToFloatWidth(args.operand(i).element_type(), args.operand(j).element_type()))
    return absl::OkStatus();
  return args.CheckSameElementType(i, j);
}

// The dimensions of `shape`; a dimension that is dynamic in `other` is dynamic, one that is
// unbounded takes the size there.
Shape Merged(Shape shape, Shape other) {
  DimList dims;
  for (int d = 0; d < shape.rank(); ++d) {
    const bool unbounded = shape.dim(d) == Shape::kUnbounded;
    const int64_t size = unbounded ? other.dim(d) : shape.dim(d);
    const bool bounded_there = other.is_dynamic(d) && other.dim(d) != Shape::kUnbounded;
    dims.Add(size, bounded_there || (!unbounded && shape.is_dynamic(d)));
  }
  const Shape result = dims.ToShape(shape.element_type());
  return shape.has_layout() ? result.WithLayout(shape.layout()) : result;
}

// The common shape of two operands, element types aside. Only text without a shape may broadcast
// implicitly (a scalar, or dimensions of size 1): a declared shape means that the operands have it.
absl::StatusOr<Shape> CommonDimensions(const ShapeArgs& args) {
  const Shape lhs = args.operand(0);
  const Shape rhs = args.operand(1);
  if (SameSizes(lhs, rhs)) return Merged(lhs, rhs);
  const absl::Status mismatch = args.CheckSameDimensions(0, 1);
  if (args.declared().has_value()) return mismatch;
  if (lhs.rank() == 0) return rhs;
  if (rhs.rank() == 0) return lhs;
  if (lhs.rank() != rhs.rank()) return mismatch;
  DimList dims;
  for (int d = 0; d < lhs.rank(); ++d) {
    if (lhs.dim(d) != rhs.dim(d) && lhs.dim(d) != 1 && rhs.dim(d) != 1) return mismatch;
    dims.Add(lhs.dim(d) == 1 ? rhs : lhs, d);
  }
  return dims.ToShape(lhs.element_type());
}

absl::StatusOr<Shape> InferBinary(const ShapeArgs& args) {
  RETURN_IF_ERROR(CheckTypes(args, 0));
  RETURN_IF_ERROR(CheckTypes(args, 1));
  RETURN_IF_ERROR(CheckSameTypeUpToFloatWidth(args, 0, 1));
  ASSIGN_OR_RETURN(const Shape common, CommonDimensions(args));
  return common.WithElementType(
      HigherPrecision(args.operand(0).element_type(), args.operand(1).element_type()));
}

}  // namespace

absl::StatusOr<Shape> UnaryShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(CheckTypes(args, 0));
  const Shape operand = args.operand(0);
  const Opcode opcode = args.opcode();
  if (opcode == Opcode::kIsFinite) return operand.WithElementType(ElementType::kPred);
  if (opcode == Opcode::kAbs || opcode == Opcode::kReal || opcode == Opcode::kImag) {
    return operand.WithElementType(ComponentType(operand.element_type()));
  }
  return operand;
}

absl::StatusOr<Shape> BinaryShape(const ShapeArgs& args) { return InferBinary(args); }

absl::StatusOr<Shape> CompareShape(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const Shape common, InferBinary(args));
  const CompareAttrs& attrs = args.attrs<CompareAttrs>();
  const ElementType type = common.element_type();
  const ComparisonType standard = IsFloat(type) || IsComplex(type) ? ComparisonType::kFloat
                                  : IsSigned(type)                 ? ComparisonType::kSigned
                                                                   : ComparisonType::kUnsigned;
  const ComparisonType asked = attrs.type.value_or(standard);
  // What the operation cannot do is the verifier's to refuse, which passes the declared shape: the
  // text may say it.
  if (args.declared().has_value() && asked != standard &&
      !(IsFloat(type) && asked == ComparisonType::kTotalOrder)) {
    return args.Error("`type` is `{}`, but operands of type `{}` are compared as `{}`", Text(asked),
                      Text(type), Text(standard));
  }
  return common.WithElementType(ElementType::kPred);
}

absl::StatusOr<Shape> ComplexShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(args.CheckSameElementType(0, 1));
  const ElementType type = args.operand(0).element_type();
  if (type != ElementType::kF32 && type != ElementType::kF64) {
    return args.Error("`{}` has element type `{}`, expected `f32` or `f64`", args.name(0),
                      Text(type));
  }
  ASSIGN_OR_RETURN(const Shape common, CommonDimensions(args));
  return common.WithElementType(ComplexTypeOf(type));
}

absl::StatusOr<Shape> ClampShape(const ShapeArgs& args) {
  const Shape operand = args.operand(1);
  RETURN_IF_ERROR(args.CheckArray(1));
  for (const int bound : {0, 2}) {
    RETURN_IF_ERROR(CheckSameTypeUpToFloatWidth(args, 1, bound));
    if (!args.operand(bound).IsScalar()) RETURN_IF_ERROR(args.CheckSameDimensions(1, bound));
  }
  return operand;
}

absl::StatusOr<Shape> SelectShape(const ShapeArgs& args) {
  const Shape pred = args.operand(0);
  const Shape on_true = args.operand(1);
  RETURN_IF_ERROR(CheckSameTypeUpToFloatWidth(args, 1, 2));
  RETURN_IF_ERROR(args.CheckSameDimensions(1, 2));
  if (!IsPred(pred.element_type())) {
    return args.Error("`{}` has shape `{}`, expected element type `pred`", args.name(0), pred);
  }
  const ElementType type = HigherPrecision(on_true.element_type(), args.operand(2).element_type());
  const Shape values = Merged(on_true, args.operand(2)).WithElementType(type);
  if (pred.IsScalar()) return values;
  if (!SameSizes(pred, on_true)) {
    return args.Error(
        "`{}` has shape `{}`, but `{}` has `{}`; expected equal dimensions or a scalar",
        args.name(0), pred, args.name(1), on_true);
  }
  const Shape result = Merged(pred.WithElementType(type), values);
  if (!result.has_layout() || !on_true.has_layout()) return result;
  // The predicate's layout, but values packed as they are.
  Layout layout = result.layout();
  layout.element_size_in_bits = on_true.layout().element_size_in_bits;
  return result.WithLayout(layout);
}

absl::StatusOr<Shape> CopyShape(const ShapeArgs& args) { return args.operand(0); }

absl::StatusOr<Shape> ConvertShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(args.CheckArray(0));
  ASSIGN_OR_RETURN(const Shape declared, args.RequireDeclared());
  if (!declared.IsArray())
    return args.Error("the result is declared as `{}`, expected an array", declared);
  return AgreeWithDeclared(args, args.operand(0).WithElementType(declared.element_type()));
}

absl::StatusOr<Shape> ReducePrecisionShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(CheckTypes(args, 0));
  const ReducePrecisionAttrs& attrs = args.attrs<ReducePrecisionAttrs>();
  if (attrs.exponent_bits < 1) {
    return args.Error("`exponent_bits` is {}, expected at least 1", attrs.exponent_bits);
  }
  if (attrs.mantissa_bits < 0) {
    return args.Error("`mantissa_bits` is {}, expected at least 0", attrs.mantissa_bits);
  }
  return AgreeWithDeclared(args, args.operand(0));
}

absl::StatusOr<Shape> StochasticConvertShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(CheckTypes(args, 0));
  RETURN_IF_ERROR(args.CheckSameDimensions(0, 1));
  if (args.operand(0).has_dynamic_dims() != args.operand(1).has_dynamic_dims()) {
    return args.Error("`{}` has shape `{}`, but `{}` has `{}`", args.name(1), args.operand(1),
                      args.name(0), args.operand(0));
  }
  const ElementType random = args.operand(1).element_type();
  if (!IsUnsigned(random) || BitWidth(random) != BitWidth(args.operand(0).element_type())) {
    return args.Error(
        "`{}` has element type `{}`, expected an unsigned integer of {} bits, as wide as `{}`",
        args.name(1), Text(random), BitWidth(args.operand(0).element_type()), args.name(0));
  }
  ASSIGN_OR_RETURN(const Shape declared, args.RequireDeclared());
  if (!declared.IsArray())
    return args.Error("the result is declared as `{}`, expected an array", declared);
  return AgreeWithDeclared(args, args.operand(0).WithElementType(declared.element_type()));
}

}  // namespace hlo
