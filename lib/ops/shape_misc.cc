// Shape rules of the remaining opcodes: parameters, constants, custom calls, batch normalisation,
// random numbers, dynamic sizes.
#include "lib/ops/shape_helpers.h"

namespace hlo {
namespace {

// The statistics and factors of batch normalisation: vectors over the features, of the operand's
// type.
absl::Status CheckFeatureVectors(const ShapeArgs& args, std::initializer_list<int> operands) {
  RETURN_IF_ERROR(args.CheckArray(0));
  const Shape operand = args.operand(0);
  const int64_t feature = args.attrs<BatchNormAttrs>().feature_index;
  if (!IsFloat(operand.element_type())) {
    return args.Error("`{}` has element type `{}`, expected float", args.name(0),
                      Text(operand.element_type()));
  }
  RETURN_IF_ERROR(args.CheckDimension("feature_index", feature, operand.rank()));
  const int64_t features = operand.dim(static_cast<int>(feature));
  for (const int i : operands) {
    RETURN_IF_ERROR(args.CheckRank(i, 1));
    const Shape vector = args.operand(i);
    if (!IsFloat(vector.element_type())) RETURN_IF_ERROR(args.CheckSameElementType(0, i));
    if (!SameSize(vector.dim(0), features)) {
      return args.Error("`{}` has size {}, but feature dimension {} of `{}` is {}", args.name(i),
                        vector.dim(0), feature, args.name(0), features);
    }
  }
  return absl::OkStatus();
}

// (operand, feature vector, feature vector)
Shape WithTwoFeatureVectors(const ShapeArgs& args) {
  const Shape operand = args.operand(0);
  DimList features;
  features.Add(operand, args.attrs<BatchNormAttrs>().feature_index);
  const Shape vector = features.ToShape(operand.element_type());
  return Shape::Tuple({operand, vector, vector});
}

}  // namespace

absl::StatusOr<Shape> ParameterShape(const ShapeArgs& args) {
  const ParameterAttrs& attrs = args.attrs<ParameterAttrs>();
  if (attrs.number < 0)
    return args.Error("the parameter number is {}, expected at least 0", attrs.number);
  ASSIGN_OR_RETURN(const Shape declared, args.RequireDeclared());
  if (attrs.parameter_replication.has_value()) {
    const auto leaves = static_cast<size_t>(LeafCount(declared));
    if (attrs.parameter_replication->size() != leaves) {
      return args.Error("`parameter_replication` has {} entries, but `{}` has {} leaves",
                        attrs.parameter_replication->size(), declared, leaves);
    }
  }
  return declared;
}

absl::StatusOr<Shape> ConstantShape(const ShapeArgs& args) {
  const Shape literal = args.attrs<ConstantAttrs>().literal.shape();
  if (!args.declared().has_value()) return literal;
  if (!Matches(*args.declared(), literal)) {
    return args.Error("the result is declared as `{}`, but the literal has shape `{}`",
                      *args.declared(), literal);
  }
  return *args.declared();
}

absl::StatusOr<Shape> CustomCallShape(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const Shape declared, args.RequireDeclared());
  const auto& constraints = args.attrs<CustomCallAttrs>().operand_layout_constraints;
  if (!constraints.has_value()) return declared;
  if (constraints->size() != static_cast<size_t>(args.operand_count())) {
    return args.Error("`operand_layout_constraints` has {} entries, but there are {} operands",
                      constraints->size(), args.operand_count());
  }
  for (int i = 0; i < args.operand_count(); ++i) {
    const Shape constraint = (*constraints)[static_cast<size_t>(i)];
    if (!Matches(constraint, args.operand(i))) {
      return args.Error("layout constraint {} is `{}`, but `{}` has shape `{}`", i, constraint,
                        args.name(i), args.operand(i));
    }
    if (constraint.IsArray() && !constraint.has_layout()) {
      return args.Error("layout constraint {} is `{}`, expected a shape with a layout", i,
                        constraint);
    }
  }
  return declared;
}

absl::StatusOr<Shape> BatchNormTrainingShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(CheckFeatureVectors(args, {1, 2}));
  return WithTwoFeatureVectors(args);
}

absl::StatusOr<Shape> BatchNormInferenceShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(CheckFeatureVectors(args, {1, 2, 3, 4}));
  return args.operand(0);
}

absl::StatusOr<Shape> BatchNormGradShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(CheckFeatureVectors(args, {1, 2, 3}));
  RETURN_IF_ERROR(args.CheckSameDimensions(0, 4));
  if (!IsFloat(args.operand(4).element_type())) RETURN_IF_ERROR(args.CheckSameElementType(0, 4));
  return WithTwoFeatureVectors(args);
}

absl::StatusOr<Shape> RngShape(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const Shape declared, args.RequireDeclared());
  if (!declared.IsArray())
    return args.Error("the result is declared as `{}`, expected an array", declared);
  if (args.operand_count() != 2) {
    return args.Error("found {} operands, expected 2, the parameters of the distribution",
                      args.operand_count());
  }
  const ElementType type = declared.element_type();
  for (const int i : {0, 1}) {
    RETURN_IF_ERROR(args.CheckScalar(i));
    RETURN_IF_ERROR(args.CheckSameElementType(0, i));
    if (!SameTypeUpToFloatWidth(args.operand(i).element_type(), type)) {
      return args.Error("`{}` has element type `{}`, but the result has `{}`", args.name(i),
                        Text(args.operand(i).element_type()), Text(type));
    }
  }
  switch (args.attrs<RngAttrs>().distribution) {
    case RngDistribution::kInvalid:
      return args.Error("`distribution` is `rng_invalid`, expected `rng_uniform` or `rng_normal`");
    case RngDistribution::kUniform:
      if (IsComplex(type))
        return args.Error("a uniform distribution of `{}` is not defined", Text(type));
      return declared;
    case RngDistribution::kNormal:
      if (!IsFloat(type))
        return args.Error("a normal distribution has a float type, found `{}`", Text(type));
      return declared;
  }
  return Internal("unknown distribution");
}

absl::StatusOr<Shape> RngBitGeneratorShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(args.CheckArray(0));
  ASSIGN_OR_RETURN(const Shape declared, args.RequireDeclared());
  if (!declared.IsTuple()) {  // the older form, bits only
    if (declared.IsArray()) return declared;
    return args.Error("the result is declared as `{}`, expected (state, bits)", declared);
  }
  if (declared.element_count_of_tuple() != 2 || !declared.element(1).IsArray()) {
    return args.Error("the result is declared as `{}`, expected (state, bits)", declared);
  }
  if (!Matches(declared.element(0), args.operand(0))) {
    return args.Error("the new state has shape `{}`, but `{}` has `{}`", declared.element(0),
                      args.name(0), args.operand(0));
  }
  return declared;
}

absl::StatusOr<Shape> RngGetAndUpdateStateShape(const ShapeArgs& args) {
  return AgreeWithDeclared(args, Shape::Array(ElementType::kU64, {2}));
}

absl::StatusOr<Shape> GetDimensionSizeShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(args.CheckArray(0));
  RETURN_IF_ERROR(args.CheckDimension("dimensions", args.attrs<DimensionAttrs>().dimensions.value,
                                      args.operand(0).rank()));
  return Shape::Scalar(ElementType::kS32);
}

absl::StatusOr<Shape> SetDimensionSizeShape(const ShapeArgs& args) {
  const int64_t dimension = args.attrs<DimensionAttrs>().dimensions.value;
  RETURN_IF_ERROR(args.CheckArray(0));
  RETURN_IF_ERROR(args.CheckDimension("dimensions", dimension, args.operand(0).rank()));
  if (!args.operand(1).IsScalarOf(ElementType::kS32)) {
    return args.Error("`{}` has shape `{}`, expected `s32[]`", args.name(1), args.operand(1));
  }
  return args.operand(0).WithDynamic(static_cast<int>(dimension), true);
}

}  // namespace hlo
