// Entry point of shape inference, the checks of ShapeArgs, and the helpers that all families share.
#include <cmath>
#include <tuple>

#include "lib/ops/shape_helpers.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

// Largest exponent e such that some value is at least 2^(e-1), and number of significant bits.
struct FloatReach {
  int exponent = 0;
  int digits = 0;
};

FloatReach ReachOf(ElementType type) {
  if (!IsFloat(type)) return {};
  return WithNativeType(type, []<class T>() -> FloatReach {
    if constexpr (kIsSmallFloat<T>) {
      int exponent = 0;
      std::frexp(T::Max().ToDouble(), &exponent);
      return {exponent, T::kMantissaBits + 1};
    } else if constexpr (std::is_floating_point_v<T>) {
      return {std::numeric_limits<T>::max_exponent, std::numeric_limits<T>::digits};
    } else {
      return {};
    }
  });
}

template <class LeafFn>
bool AllLeavesMatch(Shape a, Shape b, LeafFn&& types_match) {
  if (a == b) return true;
  if (a.IsTuple() || b.IsTuple()) {
    if (!a.IsTuple() || !b.IsTuple() || a.element_count_of_tuple() != b.element_count_of_tuple())
      return false;
    for (int i = 0; i < a.element_count_of_tuple(); ++i) {
      if (!AllLeavesMatch(a.element(i), b.element(i), types_match)) return false;
    }
    return true;
  }
  if (a.IsBuffer() || b.IsBuffer()) {
    return a.IsBuffer() && b.IsBuffer() && AllLeavesMatch(a.element(0), b.element(0), types_match);
  }
  if (!types_match(a.element_type(), b.element_type())) return false;
  return !a.IsArray() || SameSizes(a, b);
}

}  // namespace

absl::Status ShapeArgs::MakeShapeError(std::string message) const {
  return hlo::Error("`{}`: {}", Text(opcode_), message);
}

std::string ShapeArgs::name(int i) const {
  const OperandSpec& spec = Info(opcode_).operands;
  if (spec.name_count == 2 && spec.names[1] == "init_values") {
    const int inputs = operand_count() / 2;
    return i < inputs ? fmt::format("inputs[{}]", i) : fmt::format("init_values[{}]", i - inputs);
  }
  const bool has_further = operand_count() > spec.name_count || spec.min < spec.name_count;
  if (i == spec.name_count - 1 && !has_further)
    return std::string(spec.names[static_cast<size_t>(i)]);
  return OperandName(opcode_, i);
}

absl::Status ShapeArgs::CheckArray(int i) const {
  if (operand(i).IsArray()) return absl::OkStatus();
  return Error("`{}` has shape `{}`, expected an array", name(i), operand(i));
}

absl::Status ShapeArgs::CheckScalar(int i) const {
  if (operand(i).IsScalar()) return absl::OkStatus();
  return Error("`{}` has shape `{}`, expected a scalar", name(i), operand(i));
}

absl::Status ShapeArgs::CheckRank(int i, int rank) const {
  RETURN_IF_ERROR(CheckArray(i));
  if (operand(i).rank() == rank) return absl::OkStatus();
  return Error("`{}` has shape `{}` of rank {}, expected rank {}", name(i), operand(i),
               operand(i).rank(), rank);
}

absl::Status ShapeArgs::CheckSameElementType(int i, int j) const {
  RETURN_IF_ERROR(CheckArray(i));
  RETURN_IF_ERROR(CheckArray(j));
  if (operand(i).element_type() == operand(j).element_type()) return absl::OkStatus();
  return Error("`{}` has element type `{}`, but `{}` has `{}`", name(j),
               hlo::Text(operand(j).element_type()), name(i), hlo::Text(operand(i).element_type()));
}

absl::Status ShapeArgs::CheckSameDimensions(int i, int j) const {
  RETURN_IF_ERROR(CheckArray(i));
  RETURN_IF_ERROR(CheckArray(j));
  if (SameSizes(operand(i), operand(j))) return absl::OkStatus();
  return Error("`{}` has shape `{}`, but `{}` has `{}`", name(j), operand(j), name(i), operand(i));
}

absl::Status ShapeArgs::CheckIntegerScalar(int i) const {
  if (operand(i).IsScalar() && IsInteger(operand(i).element_type())) return absl::OkStatus();
  return Error("`{}` has shape `{}`, expected an integer scalar", name(i), operand(i));
}

absl::Status ShapeArgs::CheckDimension(std::string_view what, int64_t dimension,
                                       int64_t rank) const {
  if (dimension >= 0 && dimension < rank) return absl::OkStatus();
  return Error("`{}` names dimension {}, expected one in [0, {})", what, dimension, rank);
}

absl::Status ShapeArgs::CheckDistinctDimensions(std::string_view what,
                                                absl::Span<const int64_t> dims,
                                                int64_t rank) const {
  absl::InlinedVector<bool, 64> seen(static_cast<size_t>(rank), false);
  for (const int64_t dim : dims) {
    RETURN_IF_ERROR(CheckDimension(what, dim, rank));
    if (seen[static_cast<size_t>(dim)]) return Error("`{}` names dimension {} twice", what, dim);
    seen[static_cast<size_t>(dim)] = true;
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> ShapeArgs::RequireDeclared() const {
  if (declared_.has_value()) return *declared_;
  return Error("the result shape cannot be inferred and must be written");
}

absl::Status CheckOperandCount(Opcode opcode, int count) {
  const OperandSpec& spec = Info(opcode).operands;
  if (count >= spec.min && (spec.max < 0 || count <= spec.max)) return absl::OkStatus();
  const std::string_view at_least = spec.max < 0 ? "at least " : "";
  const auto names = std::span(spec.names).first(static_cast<size_t>(spec.name_count));
  const std::string list = spec.name_count == 0 ? "" : fmt::format(" ({})", Join(names, ", "));
  return Error("`{}` expects {}{} operand{}{}, found {}", Text(opcode), at_least, spec.min,
               spec.min == 1 ? "" : "s", list, count);
}

absl::StatusOr<Shape> InferShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(CheckOperandCount(args.opcode(), args.operand_count()));
  return Info(args.opcode()).shape_rule(args);
}

ElementType HigherPrecision(ElementType a, ElementType b) {
  const auto rank = [](ElementType type) {
    const FloatReach reach = ReachOf(ComponentType(type));
    return std::tuple(IsComplex(type), reach.exponent, reach.digits, BitWidth(type),
                      IsSigned(type));
  };
  return rank(b) > rank(a) ? b : a;
}

bool SameSizes(Shape a, Shape b) {
  if (!a.IsArray() || !b.IsArray() || a.rank() != b.rank()) return false;
  for (int d = 0; d < a.rank(); ++d) {
    if (!SameSize(a.dim(d), b.dim(d))) return false;
  }
  return true;
}

bool Matches(Shape a, Shape b) {
  return AllLeavesMatch(a, b, [](ElementType x, ElementType y) { return x == y; });
}

bool MatchesUpToFloatWidth(Shape a, Shape b) {
  return AllLeavesMatch(a, b, SameTypeUpToFloatWidth);
}

Shape MergeDynamic(Shape shape, Shape other) {
  for (int d = 0; d < shape.rank(); ++d) {
    if (other.is_dynamic(d) && other.dim(d) != Shape::kUnbounded && !shape.is_dynamic(d))
      shape = shape.WithDynamic(d, true);
  }
  return shape;
}

absl::StatusOr<Shape> AgreeWithDeclared(const ShapeArgs& args, Shape expected) {
  if (!args.declared().has_value()) return expected;
  const Shape declared = *args.declared();
  if (Matches(declared, expected)) return declared;
  if (!MatchesUpToFloatWidth(declared, expected)) {
    return args.Error("the result is declared as `{}`, expected `{}`", declared, expected);
  }
  if (declared.IsArray() && declared.has_layout()) return expected.WithLayout(declared.layout());
  return expected;
}

absl::StatusOr<const Signature*> Callee(const ShapeArgs& args, size_t i) {
  if (i < args.calls().size()) return &args.calls()[i];
  const CallSpec& spec = Info(args.opcode()).calls;
  return args.Error("computation {} of `{}` is missing", i, spec.names[spec.is_list ? 0 : i]);
}

std::string CalleeName(const ShapeArgs& args, size_t i) {
  const CallSpec& spec = Info(args.opcode()).calls;
  const std::string name = i < args.calls().size() ? args.calls()[i].name : std::string();
  if (spec.is_list) return fmt::format("computation {} of `{}`, `{}`,", i, spec.names[0], name);
  return fmt::format("the `{}` computation `{}`", spec.names[i], name);
}

absl::Status CheckParameterCount(const ShapeArgs& args, size_t callee, size_t count) {
  ASSIGN_OR_RETURN(const Signature* signature, Callee(args, callee));
  if (signature->parameters.size() == count) return absl::OkStatus();
  return args.Error("{} has {} parameters, expected {}", CalleeName(args, callee),
                    signature->parameters.size(), count);
}

absl::Status CheckToken(const ShapeArgs& args, int i) {
  if (args.operand(i).IsToken()) return absl::OkStatus();
  return args.Error("`{}` has shape `{}`, expected `token[]`", args.name(i), args.operand(i));
}

absl::Status CheckAscending(const ShapeArgs& args, std::string_view what, const DimVec& dims) {
  for (size_t i = 1; i < dims.size(); ++i) {
    if (dims[i] <= dims[i - 1]) {
      return args.Error("`{}` must ascend, but {} follows {}", what, dims[i], dims[i - 1]);
    }
  }
  return absl::OkStatus();
}

}  // namespace hlo
