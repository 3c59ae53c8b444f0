// Shape rules of reduce, reduce-window, select-and-scatter, map and scan: opcodes that apply a
// computation over dimensions.
#include "lib/ops/shape_helpers.h"

namespace hlo {
namespace {

// The values that a computation returns: the elements of a tuple, or the one array.
std::vector<Shape> Results(const Signature& signature) {
  if (!signature.result.IsTuple()) return {signature.result};
  return {signature.result.elements().begin(), signature.result.elements().end()};
}

// One value as it is, several as a tuple; `like` decides about a tuple of one.
Shape Together(const std::vector<Shape>& values, Shape like) {
  return like.IsTuple() ? Shape::Tuple(values) : values[0];
}

// Inputs and initial values of equal number, the inputs arrays of equal dimensions, the initial
// values scalars.
absl::StatusOr<int> CheckInputsAndInits(const ShapeArgs& args) {
  const int count = args.operand_count();
  if (count == 0 || count % 2 != 0) {
    return args.Error(
        "found {} operands, expected as many inputs as initial values, at least one of each",
        count);
  }
  const int n = count / 2;
  for (int i = 0; i < n; ++i) {
    RETURN_IF_ERROR(args.CheckSameDimensions(0, i));
    RETURN_IF_ERROR(args.CheckScalar(n + i));
    if (!SameTypeUpToFloatWidth(args.operand(i).element_type(),
                                args.operand(n + i).element_type())) {
      RETURN_IF_ERROR(args.CheckSameElementType(i, n + i));
    }
  }
  return n;
}

// A reducer of n values: 2n scalar parameters, accumulators first; it returns n scalars of the
// accumulators' types, which are those of the inputs up to float width. Gives the element types of
// the results.
absl::StatusOr<std::vector<ElementType>> CheckReducer(const ShapeArgs& args, int n) {
  RETURN_IF_ERROR(CheckParameterCount(args, 0, static_cast<size_t>(2 * n)));
  const Signature& reducer = args.calls()[0];
  const std::string name = CalleeName(args, 0);
  const std::vector<Shape> results = Results(reducer);
  if (static_cast<int>(results.size()) != n) {
    return args.Error("{} returns {} values, expected {}", name, results.size(), n);
  }
  std::vector<ElementType> types;
  for (int i = 0; i < n; ++i) {
    const Shape result = results[static_cast<size_t>(i)];
    const Shape accumulator = reducer.parameters[static_cast<size_t>(i)];
    const Shape element = reducer.parameters[static_cast<size_t>(n + i)];
    if (!result.IsScalar()) return args.Error("{} returns `{}`, expected a scalar", name, result);
    if (accumulator != result && !Matches(accumulator, result)) {
      return args.Error("parameter {} of {} has shape `{}`, but the result it receives has `{}`", i,
                        name, accumulator, result);
    }
    if (!element.IsScalar() ||
        !SameTypeUpToFloatWidth(element.element_type(), result.element_type())) {
      return args.Error("parameter {} of {} has shape `{}`, but it combines values of `{}`", n + i,
                        name, element, result);
    }
    if (!SameTypeUpToFloatWidth(args.operand(i).element_type(), result.element_type())) {
      return args.Error("`{}` has element type `{}`, but {} works on `{}`", args.name(i),
                        Text(args.operand(i).element_type()), name, Text(result.element_type()));
    }
    types.push_back(result.element_type());
  }
  return types;
}

// (T,T) -> `result` for select-and-scatter.
absl::Status CheckBinaryCallee(const ShapeArgs& args, size_t callee, ElementType type,
                               ElementType result) {
  RETURN_IF_ERROR(CheckParameterCount(args, callee, 2));
  const Signature& signature = args.calls()[callee];
  for (size_t p = 0; p < 2; ++p) {
    const Shape parameter = signature.parameters[p];
    if (!parameter.IsScalar() || !SameTypeUpToFloatWidth(parameter.element_type(), type)) {
      return args.Error("parameter {} of {} has shape `{}`, expected `{}[]`", p,
                        CalleeName(args, callee), parameter, Text(type));
    }
  }
  if (!signature.result.IsScalar() ||
      !SameTypeUpToFloatWidth(signature.result.element_type(), result)) {
    return args.Error("{} returns `{}`, expected `{}[]`", CalleeName(args, callee),
                      signature.result, Text(result));
  }
  if (type == result && !Matches(signature.parameters[0], signature.result)) {
    return args.Error("parameter 0 of {} has shape `{}`, but the result it receives has `{}`",
                      CalleeName(args, callee), signature.parameters[0], signature.result);
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> WindowedShape(const ShapeArgs& args, Shape base, const Window& window,
                                    ElementType type) {
  if (static_cast<int>(window.dims.size()) != base.rank()) {
    return args.Error("`window` has {} dimensions, but `{}` has rank {}", window.dims.size(),
                      args.name(0), base.rank());
  }
  DimList dims;
  for (int d = 0; d < base.rank(); ++d) {
    const WindowDim& w = window.dims[static_cast<size_t>(d)];
    if (w.size < 1 || w.stride < 1 || w.base_dilation < 1 || w.window_dilation < 1) {
      return args.Error(
          "window dimension {} has size {}, stride {}, dilations {} and {}; all must be at least 1",
          d, w.size, w.stride, w.base_dilation, w.window_dilation);
    }
    const int64_t size = base.dim(d);
    dims.Add(size == Shape::kUnbounded ? size : w.OutputSize(size), base.is_dynamic(d));
  }
  return dims.ToShape(type);
}

Shape WithoutDimension(Shape shape, int64_t dimension) {
  DimList dims;
  for (int d = 0; d < shape.rank(); ++d) {
    if (d != dimension) dims.Add(shape, d);
  }
  return dims.ToShape(shape.element_type());
}

Shape WithInsertedDimension(Shape shape, int64_t dimension, int64_t size, bool dynamic) {
  DimList dims;
  for (int d = 0; d <= shape.rank(); ++d) {
    if (d == dimension) dims.Add(size, dynamic);
    if (d < shape.rank()) dims.Add(shape, d);
  }
  return dims.ToShape(shape.element_type());
}

// The length of a scan: that of the inputs or, without inputs, of the first stacked output in the
// declared shape. Text without a shape is read by the first input alone.
struct ScanLength {
  int64_t size = 0;
  bool dynamic = false;
};

absl::StatusOr<ScanLength> LengthOfScan(const ShapeArgs& args, int inputs, int outputs,
                                        int64_t dimension) {
  if (inputs == 0) {
    if (outputs == 0) return args.Error("there is neither an input nor an output to scan over");
    ASSIGN_OR_RETURN(const Shape declared, args.RequireDeclared());
    const Shape first = declared.IsTuple() && declared.element_count_of_tuple() > 0
                            ? declared.element(0)
                            : declared;
    if (!first.IsArray())
      return args.Error("output 0 is declared as `{}`, expected an array", first);
    RETURN_IF_ERROR(args.CheckDimension("dimensions", dimension, first.rank()));
    return ScanLength{first.dim(static_cast<int>(dimension)),
                      first.is_dynamic(static_cast<int>(dimension))};
  }
  ScanLength length;
  for (int i = 0; i < (args.declared().has_value() ? inputs : 1); ++i) {
    RETURN_IF_ERROR(args.CheckArray(i));
    const Shape input = args.operand(i);
    RETURN_IF_ERROR(args.CheckDimension("dimensions", dimension, input.rank()));
    const int64_t size = input.dim(static_cast<int>(dimension));
    if (i == 0) length.size = size;
    if (!SameSize(size, length.size)) {
      return args.Error("dimension {} of `{}` has size {}, but that of `{}` has {}", dimension,
                        args.name(i), size, args.name(0), length.size);
    }
    length.dynamic = length.dynamic || input.is_dynamic(static_cast<int>(dimension));
  }
  return length;
}

}  // namespace

absl::StatusOr<Shape> ReduceShape(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const int n, CheckInputsAndInits(args));
  const Shape input = args.operand(0);
  const DimVec& dimensions = args.attrs<ReduceAttrs>().dimensions;
  RETURN_IF_ERROR(args.CheckDistinctDimensions("dimensions", dimensions, input.rank()));
  ASSIGN_OR_RETURN(const std::vector<ElementType> types, CheckReducer(args, n));
  DimList dims;
  const NamedDims reduced(input.rank(), {&dimensions});
  for (int d = 0; d < input.rank(); ++d) {
    if (!reduced[d]) dims.Add(input, d);
  }
  std::vector<Shape> results;
  for (const ElementType type : types) results.push_back(dims.ToShape(type));
  return Together(results, args.calls()[0].result);
}

absl::StatusOr<Shape> ReduceWindowShape(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const int n, CheckInputsAndInits(args));
  RETURN_IF_ERROR(CheckReducer(args, n).status());
  const Window& window = args.attrs<ReduceWindowAttrs>().window;
  std::vector<Shape> results;
  for (int i = 0; i < n; ++i) {
    const ElementType type = args.operand(n + i).element_type();  // of the initial value
    ASSIGN_OR_RETURN(const Shape result, WindowedShape(args, args.operand(0), window, type));
    results.push_back(result);
  }
  return Together(results, args.calls()[0].result);
}

absl::StatusOr<Shape> SelectAndScatterShape(const ShapeArgs& args) {
  const Shape operand = args.operand(0);
  const Shape source = args.operand(1);
  RETURN_IF_ERROR(args.CheckArray(0));
  RETURN_IF_ERROR(args.CheckArray(1));
  RETURN_IF_ERROR(args.CheckScalar(2));
  for (const int i : {1, 2}) {
    if (!SameTypeUpToFloatWidth(operand.element_type(), args.operand(i).element_type())) {
      RETURN_IF_ERROR(args.CheckSameElementType(0, i));
    }
  }
  RETURN_IF_ERROR(CheckBinaryCallee(args, 0, operand.element_type(), ElementType::kPred));
  RETURN_IF_ERROR(CheckBinaryCallee(args, 1, operand.element_type(), operand.element_type()));
  const Window& window = args.attrs<SelectAndScatterAttrs>().window;
  ASSIGN_OR_RETURN(const Shape windowed,
                   WindowedShape(args, operand, window, source.element_type()));
  if (!SameSizes(windowed, source)) {
    return args.Error("`{}` has shape `{}`, expected `{}`, one element per window of `{}`",
                      args.name(1), source, windowed, args.name(0));
  }
  return operand;
}

absl::StatusOr<Shape> MapShape(const ShapeArgs& args) {
  if (args.operand_count() == 0) return args.Error("expected at least one operand");
  RETURN_IF_ERROR(CheckParameterCount(args, 0, static_cast<size_t>(args.operand_count())));
  const Signature& function = args.calls()[0];
  for (int i = 0; i < args.operand_count(); ++i) {
    RETURN_IF_ERROR(args.CheckSameDimensions(0, i));
    const Shape parameter = function.parameters[static_cast<size_t>(i)];
    const ElementType type = args.operand(i).element_type();
    if (!parameter.IsScalar() || !SameTypeUpToFloatWidth(parameter.element_type(), type)) {
      return args.Error("parameter {} of {} has shape `{}`, expected `{}[]`, an element of `{}`", i,
                        CalleeName(args, 0), parameter, Text(type), args.name(i));
    }
  }
  if (!function.result.IsScalar()) {
    return args.Error("{} returns `{}`, expected a scalar", CalleeName(args, 0), function.result);
  }
  const DimVec& dimensions = args.attrs<MapAttrs>().dimensions;
  const Shape operand = args.operand(0);
  bool all = dimensions.empty() || static_cast<int>(dimensions.size()) == operand.rank();
  for (size_t d = 0; all && d < dimensions.size(); ++d)
    all = dimensions[d] == static_cast<int64_t>(d);
  if (!all) return args.Error("`dimensions` must list all {} dimensions in order", operand.rank());
  DimList dims;
  dims.AddAll(operand);
  return dims.ToShape(function.result.element_type());
}

absl::StatusOr<Shape> ScanShape(const ShapeArgs& args) {
  const ScanAttrs& attrs = args.attrs<ScanAttrs>();
  const int64_t dimension = attrs.dimensions.value;
  const int carries = static_cast<int>(attrs.num_carries);
  const int inputs = args.operand_count() - carries;
  if (carries < 0 || inputs < 0) {
    return args.Error("`num_carries` is {}, but there are {} operands", carries,
                      args.operand_count());
  }
  RETURN_IF_ERROR(CheckParameterCount(args, 0, static_cast<size_t>(args.operand_count())));
  const Signature& body = args.calls()[0];
  const std::vector<Shape> results = Results(body);
  const int outputs = static_cast<int>(results.size()) - carries;
  if (outputs < 0) {
    return args.Error("{} returns {} values, expected at least the {} carries", CalleeName(args, 0),
                      results.size(), carries);
  }
  ASSIGN_OR_RETURN(const ScanLength length, LengthOfScan(args, inputs, outputs, dimension));
  for (int i = 0; i < inputs + carries; ++i) {
    const Shape passed =
        i < inputs ? WithoutDimension(args.operand(i), dimension) : args.operand(i);
    const Shape parameter = body.parameters[static_cast<size_t>(i)];
    if (!Matches(parameter, passed)) {
      return args.Error("parameter {} of {} has shape `{}`, expected `{}`", i, CalleeName(args, 0),
                        parameter, passed);
    }
  }
  std::vector<Shape> values;
  for (int i = 0; i < outputs + carries; ++i) {
    const Shape value = results[static_cast<size_t>(i)];
    if (i >= outputs) {
      const Shape carry = args.operand(inputs + i - outputs);
      if (!Matches(value, carry)) {
        return args.Error("value {} that {} returns is `{}`, but the carry starts as `{}`", i,
                          CalleeName(args, 0), value, carry);
      }
      values.push_back(value);
      continue;
    }
    if (!value.IsArray()) {
      return args.Error("value {} that {} returns is `{}`, expected an array", i,
                        CalleeName(args, 0), value);
    }
    if (dimension < 0 || dimension > value.rank()) {
      return args.Error("outputs of shape `{}` cannot be stacked along dimension {}", value,
                        dimension);
    }
    values.push_back(WithInsertedDimension(value, dimension, length.size, length.dynamic));
  }
  // One value stands alone or in a tuple of one, whichever way the computation returns it.
  const std::optional<Shape>& declared = args.declared();
  const bool either = values.size() == 1 && declared.has_value() &&
                      (!declared->IsTuple() || declared->element_count_of_tuple() == 1);
  const Shape result = Together(values, either ? *declared : body.result);
  // All else that differs is said of every operation.
  if (declared.has_value() && !Matches(result, *declared) &&
      MatchesUpToFloatWidth(result, *declared))
    return args.Error("the result is declared as `{}`, expected `{}`", *declared, result);
  return result;
}

}  // namespace hlo
