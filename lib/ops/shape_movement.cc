// Shape rules of the opcodes that move elements: broadcast, reshape, transpose, pad, slices,
// concatenate, reverse, iota, bitcasts.
#include <fmt/format.h>

#include <algorithm>

#include "lib/ops/shape_helpers.h"
#include "lib/support/round.h"
#include "lib/support/saturate.h"

namespace hlo {
namespace {

// The number of elements when all sizes are known; bounds count for dynamic dimensions.
std::optional<int64_t> KnownCount(Shape shape) {
  for (const int64_t size : shape.dims()) {
    if (size == Shape::kUnbounded) return std::nullopt;
  }
  return CheckedProduct(shape.dims());
}

absl::Status CheckSameCount(const ShapeArgs& args, Shape result) {
  const std::optional<int64_t> from = KnownCount(args.operand(0));
  const std::optional<int64_t> to = KnownCount(result);
  if (!from.has_value() || !to.has_value() || *from == *to) return absl::OkStatus();
  return args.Error("the result `{}` has {} elements, but `{}` has {}: `{}`", result, *to,
                    args.name(0), *from, args.operand(0));
}

absl::StatusOr<Shape> DeclaredArray(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const Shape declared, args.RequireDeclared());
  if (!declared.IsArray())
    return args.Error("the result is declared as `{}`, expected an array", declared);
  return declared;
}

// The declared dimensions with the operand's element type; a float of another width is the
// verifier's to judge, which compares.
absl::StatusOr<Shape> DeclaredArrayOfOperandType(const ShapeArgs& args) {
  RETURN_IF_ERROR(args.CheckArray(0));
  ASSIGN_OR_RETURN(const Shape declared, DeclaredArray(args));
  const ElementType type = args.operand(0).element_type();
  if (!SameTypeUpToFloatWidth(declared.element_type(), type)) {
    return args.Error("the result has element type `{}`, but `{}` has `{}`",
                      Text(declared.element_type()), args.name(0), Text(type));
  }
  return declared.WithElementType(type);
}

// The start indices of dynamic-slice and dynamic-update-slice: operands from `first` on.
absl::Status CheckStartIndices(const ShapeArgs& args, int first) {
  const int rank = args.operand(0).rank();
  const int count = args.operand_count() - first;
  if (count == 1 && args.operand(first).IsArray() &&
      args.operand(first).rank() == 1) {  // one vector: the older form
    const Shape vector = args.operand(first);
    if (!IsInteger(vector.element_type()) || vector.dim(0) != rank) {
      return args.Error("`{}` has shape `{}`, expected {} integers, one per dimension of `{}`",
                        args.name(first), vector, rank, args.name(0));
    }
    return absl::OkStatus();
  }
  if (count != rank) {
    return args.Error("found {} start indices, expected {}, one per dimension of `{}`", count, rank,
                      args.name(0));
  }
  for (int i = first; i < args.operand_count(); ++i) {
    RETURN_IF_ERROR(args.CheckIntegerScalar(i));
    RETURN_IF_ERROR(args.CheckSameElementType(first, i));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> BroadcastShape(const ShapeArgs& args) {
  const Shape operand = args.operand(0);
  const DimVec& dimensions = args.attrs<BroadcastAttrs>().dimensions;
  RETURN_IF_ERROR(args.CheckArray(0));
  if (!args.declared().has_value() && dimensions.empty()) return operand;
  if (static_cast<int>(dimensions.size()) != operand.rank()) {
    return args.Error("`dimensions` has {} entries, but `{}` has rank {}", dimensions.size(),
                      args.name(0), operand.rank());
  }
  ASSIGN_OR_RETURN(const Shape result, DeclaredArrayOfOperandType(args));
  for (int d = 0; d < operand.rank(); ++d) {
    RETURN_IF_ERROR(args.CheckDimension("dimensions", dimensions[d], result.rank()));
    const int to = static_cast<int>(dimensions[d]);
    if (!SameSize(operand.dim(d), result.dim(to))) {
      return args.Error(
          "dimension {} of `{}` has size {}, but dimension {} of the result, which it feeds, has "
          "{}",
          d, args.name(0), operand.dim(d), to, result.dim(to));
    }
  }
  return result;
}

absl::StatusOr<Shape> ReshapeShape(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const Shape result, DeclaredArrayOfOperandType(args));
  RETURN_IF_ERROR(CheckSameCount(args, result));
  const std::optional<int64_t>& inferred = args.attrs<ReshapeAttrs>().inferred_dimension;
  if (inferred.has_value()) {
    RETURN_IF_ERROR(args.CheckDimension("inferred_dimension", *inferred, result.rank()));
  }
  return result;
}

absl::StatusOr<Shape> DynamicReshapeShape(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const Shape result, DeclaredArrayOfOperandType(args));
  RETURN_IF_ERROR(CheckSameCount(args, result));
  if (args.operand_count() != result.rank() + 1) {
    return args.Error("found {} size operands, expected {}, one per dimension of the result `{}`",
                      args.operand_count() - 1, result.rank(), result);
  }
  for (int i = 1; i < args.operand_count(); ++i) {
    const Shape size = args.operand(i);
    if (!size.IsArray() || size.element_type() != ElementType::kS32) {
      return args.Error("`{}` has shape `{}`, expected `s32[]`", args.name(i), size);
    }
  }
  return result;
}

absl::StatusOr<Shape> TransposeShape(const ShapeArgs& args) {
  const Shape operand = args.operand(0);
  const DimVec& dimensions = args.attrs<TransposeAttrs>().dimensions;
  RETURN_IF_ERROR(args.CheckArray(0));
  if (!IsPermutation(dimensions, operand.rank())) {
    return args.Error(
        "`dimensions` must be a permutation of the {} dimensions of `{}`, found {} entries: {{{}}}",
        operand.rank(), args.name(0), dimensions.size(), fmt::join(dimensions, ","));
  }
  DimList dims;
  for (const int64_t d : dimensions) dims.Add(operand, d);
  const Shape result = dims.ToShape(operand.element_type());
  if (!operand.has_layout()) return result;
  // The layout that makes the transpose a bitcast.
  const DimVec inverse = InversePermutation(dimensions);
  Layout layout = operand.layout();
  for (int64_t& d : layout.minor_to_major) d = inverse[d];
  return result.WithLayout(layout);
}

absl::StatusOr<Shape> PadShape(const ShapeArgs& args) {
  const Shape operand = args.operand(0);
  const PaddingConfig& padding = args.attrs<PadAttrs>().padding;
  RETURN_IF_ERROR(args.CheckArray(0));
  RETURN_IF_ERROR(args.CheckScalar(1));
  const ElementType type = HigherPrecision(operand.element_type(), args.operand(1).element_type());
  if (!SameTypeUpToFloatWidth(operand.element_type(), args.operand(1).element_type())) {
    RETURN_IF_ERROR(args.CheckSameElementType(0, 1));
  }
  if (padding.rank() != operand.rank()) {
    return args.Error("`padding` has {} entries, but `{}` has rank {}", padding.rank(),
                      args.name(0), operand.rank());
  }
  DimList dims;
  for (int d = 0; d < operand.rank(); ++d) {
    if (padding[d].interior < 0) {
      return args.Error("interior padding of dimension {} is {}, expected at least 0", d,
                        padding[d].interior);
    }
    const int64_t size = operand.dim(d);
    const int64_t padded = size == Shape::kUnbounded ? size : padding[d].PaddedSize(size);
    if (padded < 0 && padded != Shape::kUnbounded) {
      return args.Error("dimension {} of `{}` has size {} and would have {} after padding", d,
                        args.name(0), size, padded);
    }
    dims.Add(padded, operand.is_dynamic(d));
  }
  return dims.ToShape(type);
}

absl::StatusOr<Shape> ConcatenateShape(const ShapeArgs& args) {
  if (args.operand_count() == 0) return args.Error("expected at least one operand");
  const int64_t dimension = args.attrs<ConcatenateAttrs>().dimensions.value;
  for (int i = 0; i < args.operand_count(); ++i) RETURN_IF_ERROR(args.CheckArray(i));
  const Shape first = args.operand(0);
  RETURN_IF_ERROR(args.CheckDimension("dimensions", dimension, first.rank()));
  ElementType type = first.element_type();
  DimList dims;
  for (int d = 0; d < first.rank(); ++d) {
    int64_t size = first.dim(d);
    bool dynamic = first.is_dynamic(d);
    for (int i = 1; i < args.operand_count(); ++i) {
      const Shape other = args.operand(i);
      if (d == 0) {
        RETURN_IF_ERROR(args.CheckRank(i, first.rank()));
        if (!SameTypeUpToFloatWidth(type, other.element_type()))
          RETURN_IF_ERROR(args.CheckSameElementType(0, i));
        type = HigherPrecision(type, other.element_type());
      }
      dynamic = dynamic || other.is_dynamic(d);
      if (d == dimension) {
        size = size == Shape::kUnbounded || other.dim(d) == Shape::kUnbounded
                   ? Shape::kUnbounded
                   : SaturatingAdd(size, other.dim(d));
      } else if (!SameSize(first.dim(d), other.dim(d))) {
        return args.Error(
            "dimension {} of `{}` has size {}, but that of `{}` has {}; only dimension {} may "
            "differ",
            d, args.name(i), other.dim(d), args.name(0), first.dim(d), dimension);
      }
    }
    dims.Add(size, dynamic);
  }
  return dims.ToShape(type);
}

absl::StatusOr<Shape> ReverseShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(args.CheckArray(0));
  RETURN_IF_ERROR(args.CheckDistinctDimensions("dimensions", args.attrs<ReverseAttrs>().dimensions,
                                               args.operand(0).rank()));
  return args.operand(0);
}

absl::StatusOr<Shape> IotaShape(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const Shape result, DeclaredArray(args));
  if (result.rank() == 0)
    return args.Error("the result is the scalar `{}`, expected rank 1 or more", result);
  if (IsPred(result.element_type())) {
    return args.Error("the result has element type `pred`, expected integer, float or complex");
  }
  RETURN_IF_ERROR(
      args.CheckDimension("iota_dimension", args.attrs<IotaAttrs>().iota_dimension, result.rank()));
  return result;
}

absl::StatusOr<Shape> SliceShape(const ShapeArgs& args) {
  const Shape operand = args.operand(0);
  const SliceRanges& slice = args.attrs<SliceAttrs>().slice;
  RETURN_IF_ERROR(args.CheckArray(0));
  if (static_cast<int>(slice.size()) != operand.rank()) {
    return args.Error("`slice` has {} ranges, but `{}` has rank {}", slice.size(), args.name(0),
                      operand.rank());
  }
  DimList dims;
  for (int d = 0; d < operand.rank(); ++d) {
    const SliceRange& range = slice[static_cast<size_t>(d)];
    if (range.stride <= 0)
      return args.Error("range {} has stride {}, expected at least 1", d, range.stride);
    if (range.start < 0 || range.limit < range.start) {
      return args.Error("range {} is [{}:{}], expected 0 <= start <= limit", d, range.start,
                        range.limit);
    }
    if (operand.dim(d) != Shape::kUnbounded && range.limit > operand.dim(d)) {
      return args.Error("range {} ends at {}, but dimension {} of `{}` has size {}", d, range.limit,
                        d, args.name(0), operand.dim(d));
    }
    dims.Add(CeilDiv(range.limit - range.start, range.stride), operand.is_dynamic(d));
  }
  return AgreeWithDeclared(args, dims.ToShape(operand.element_type()));
}

absl::StatusOr<Shape> DynamicSliceShape(const ShapeArgs& args) {
  const Shape operand = args.operand(0);
  const DimVec& sizes = args.attrs<DynamicSliceAttrs>().dynamic_slice_sizes;
  RETURN_IF_ERROR(args.CheckArray(0));
  RETURN_IF_ERROR(CheckStartIndices(args, 1));
  if (static_cast<int>(sizes.size()) != operand.rank()) {
    return args.Error("`dynamic_slice_sizes` has {} entries, but `{}` has rank {}", sizes.size(),
                      args.name(0), operand.rank());
  }
  DimList dims;
  for (int d = 0; d < operand.rank(); ++d) {
    const int64_t size = operand.dim(d);
    if (sizes[d] < 0 || (size != Shape::kUnbounded && sizes[d] > size)) {
      return args.Error("slice size {} of dimension {} is not in [0, {}], the size of `{}`",
                        sizes[d], d, size, args.name(0));
    }
    dims.Add(sizes[d], operand.is_dynamic(d) && sizes[d] == size);
  }
  return AgreeWithDeclared(args, dims.ToShape(operand.element_type()));
}

absl::StatusOr<Shape> DynamicUpdateSliceShape(const ShapeArgs& args) {
  // A buffer may be updated in place; its array shape decides.
  const Shape target = args.operand(0);
  const Shape operand = target.IsBuffer() ? target.element(0) : target;
  const Shape update = args.operand(1);
  if (!operand.IsArray()) RETURN_IF_ERROR(args.CheckArray(0));
  RETURN_IF_ERROR(args.CheckRank(1, operand.rank()));
  if (target.IsBuffer()) {
    if (args.operand_count() != operand.rank() + 2) {
      return args.Error("found {} start indices, expected {}, one per dimension of `{}`",
                        args.operand_count() - 2, operand.rank(), args.name(0));
    }
    for (int i = 2; i < args.operand_count(); ++i) RETURN_IF_ERROR(args.CheckIntegerScalar(i));
  } else {
    RETURN_IF_ERROR(CheckStartIndices(args, 2));
  }
  if (!SameTypeUpToFloatWidth(operand.element_type(), update.element_type())) {
    return args.Error("`{}` has element type `{}`, but `{}` has `{}`", args.name(1),
                      Text(update.element_type()), args.name(0), Text(operand.element_type()));
  }
  for (int d = 0; d < operand.rank(); ++d) {
    if (operand.dim(d) != Shape::kUnbounded && update.dim(d) > operand.dim(d)) {
      return args.Error("dimension {} of `{}` has size {}, but `{}` has only {}", d, args.name(1),
                        update.dim(d), args.name(0), operand.dim(d));
    }
  }
  return AgreeWithDeclared(args, target);
}

// What fits is a matter of layouts, and so the verifier's.
absl::StatusOr<Shape> BitcastShape(const ShapeArgs& args) { return args.RequireDeclared(); }

absl::StatusOr<Shape> BitcastConvertShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(args.CheckArray(0));
  ASSIGN_OR_RETURN(const Shape result, DeclaredArray(args));
  const Shape operand = args.operand(0);
  const ElementType from = operand.element_type();
  const ElementType to = result.element_type();
  if (IsComplex(from) != IsComplex(to)) {
    return args.Error("cannot reinterpret `{}` as `{}`: only one of them is complex", Text(from),
                      Text(to));
  }
  // pred fills a byte here.
  const int from_bits = IsPred(from) ? 8 : BitWidth(from);
  const int to_bits = IsPred(to) ? 8 : BitWidth(to);
  const int wide = std::max(from_bits, to_bits);
  const int narrow = std::min(from_bits, to_bits);
  if (wide % narrow != 0) {
    return args.Error("{} bits of `{}` and {} bits of `{}` are no multiple of each other",
                      from_bits, Text(from), to_bits, Text(to));
  }
  const int64_t ratio = wide / narrow;
  DimList dims;
  if (from_bits >= to_bits) {
    dims.AddAll(operand);
    if (ratio > 1) dims.Add(ratio);
  } else {
    const int last = operand.rank() - 1;
    if (last < 0 || operand.dim(last) != ratio || operand.is_dynamic(last)) {
      return args.Error(
          "`{}` has shape `{}`; the last dimension must have the static size {} to form `{}`",
          args.name(0), operand, ratio, Text(to));
    }
    for (int d = 0; d < last; ++d) dims.Add(operand, d);
  }
  return AgreeWithDeclared(args, dims.ToShape(to));
}

}  // namespace hlo
