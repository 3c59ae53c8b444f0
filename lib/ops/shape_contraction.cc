// Shape rules of dot, ragged-dot and scaled-dot (convolution: shape_convolution.cc), and of fft,
// cholesky and triangular-solve.
#include <algorithm>

#include "lib/ops/shape_helpers.h"

namespace hlo {
namespace {

// The dimension lists of a dot, whatever struct holds them.
struct DotDims {
  const DimVec& lhs_batch;
  const DimVec& lhs_contracting;
  const DimVec& rhs_batch;
  const DimVec& rhs_contracting;
};

template <class A>
DotDims DimsOf(const A& attrs) {
  return {attrs.lhs_batch_dims, attrs.lhs_contracting_dims, attrs.rhs_batch_dims,
          attrs.rhs_contracting_dims};
}

absl::Status CheckPairs(const ShapeArgs& args, std::string_view kind, const DimVec& lhs,
                        const DimVec& rhs) {
  if (lhs.size() != rhs.size()) {
    return args.Error("found {} {} dimensions of `lhs`, but {} of `rhs`", lhs.size(), kind,
                      rhs.size());
  }
  for (size_t i = 0; i < lhs.size(); ++i) {
    const int64_t left = args.operand(0).dim(static_cast<int>(lhs[i]));
    const int64_t right = args.operand(1).dim(static_cast<int>(rhs[i]));
    if (!SameSize(left, right)) {
      return args.Error("{} dimension {} of `lhs` is {}, {} of `rhs` {}", kind, lhs[i], left,
                        rhs[i], right);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSide(const ShapeArgs& args, int i, const DimVec& batch,
                       const DimVec& contracting) {
  RETURN_IF_ERROR(args.CheckArray(i));
  const int rank = args.operand(i).rank();
  const std::string side = i == 0 ? "lhs" : "rhs";
  RETURN_IF_ERROR(args.CheckDistinctDimensions(side + "_batch_dims", batch, rank));
  RETURN_IF_ERROR(args.CheckDistinctDimensions(side + "_contracting_dims", contracting, rank));
  for (const int64_t d : batch) {
    if (Contains(contracting, d)) {
      return args.Error("dimension {} of `{}` is both a batch and a contracting dimension", d,
                        side);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDotDims(const ShapeArgs& args, const DotDims& dims) {
  RETURN_IF_ERROR(CheckSide(args, 0, dims.lhs_batch, dims.lhs_contracting));
  RETURN_IF_ERROR(CheckSide(args, 1, dims.rhs_batch, dims.rhs_contracting));
  RETURN_IF_ERROR(CheckPairs(args, "batch", dims.lhs_batch, dims.rhs_batch));
  return CheckPairs(args, "contracting", dims.lhs_contracting, dims.rhs_contracting);
}

// Adds batch dimensions, free dimensions of lhs and those of rhs but `rhs_skipped`.
void AddDotDims(const ShapeArgs& args, const DotDims& dims, const DimVec& rhs_skipped,
                DimList& result) {
  const Shape lhs = args.operand(0);
  const Shape rhs = args.operand(1);
  for (size_t i = 0; i < dims.lhs_batch.size(); ++i) {
    const int l = static_cast<int>(dims.lhs_batch[i]);
    const int r = static_cast<int>(dims.rhs_batch[i]);
    result.Add(lhs.dim(l) == Shape::kUnbounded ? rhs.dim(r) : lhs.dim(l),
               lhs.is_dynamic(l) || rhs.is_dynamic(r));
  }
  const NamedDims lhs_named(lhs.rank(), {&dims.lhs_batch, &dims.lhs_contracting});
  for (int d = 0; d < lhs.rank(); ++d) {
    if (!lhs_named[d]) result.Add(lhs, d);
  }
  const NamedDims rhs_named(rhs.rank(), {&dims.rhs_batch, &dims.rhs_contracting, &rhs_skipped});
  for (int d = 0; d < rhs.rank(); ++d) {
    if (!rhs_named[d]) result.Add(rhs, d);
  }
}

absl::StatusOr<Shape> InferDot(const ShapeArgs& args, const DotDims& dims) {
  RETURN_IF_ERROR(CheckDotDims(args, dims));
  const ElementType type = ContractionType(args);
  DimList result;
  AddDotDims(args, dims, {}, result);
  return result.ToShape(type);
}

// A scale that stands for "not scaled": one bf16 of any rank beside a bf16 operand.
bool IsNoScale(Shape operand, Shape scale) {
  return operand.element_type() == ElementType::kBF16 &&
         scale.element_type() == ElementType::kBF16 && scale.element_count() == 1;
}

absl::Status CheckScale(const ShapeArgs& args, int i, const DimVec& contracting) {
  RETURN_IF_ERROR(args.CheckArray(i + 2));
  const Shape operand = args.operand(i);
  const Shape scale = args.operand(i + 2);
  if (IsNoScale(operand, scale)) return absl::OkStatus();
  if (contracting.size() != 1) {
    return args.Error("`{}` is scaled and has {} contracting dimensions, expected 1", args.name(i),
                      contracting.size());
  }
  RETURN_IF_ERROR(args.CheckRank(i + 2, operand.rank()));
  for (int d = 0; d < operand.rank(); ++d) {
    const bool divides =
        scale.dim(d) == operand.dim(d) || (scale.dim(d) > 0 && operand.dim(d) % scale.dim(d) == 0);
    if (!divides) {
      return args.Error("dimension {} of `{}` has size {}, which does not divide {}, that of `{}`",
                        d, args.name(i + 2), scale.dim(d), operand.dim(d), args.name(i));
    }
  }
  return absl::OkStatus();
}

// The sizes that must precede the groups in `group_sizes`, when it is not just [groups].
DimVec GroupSizesPrefix(const ShapeArgs& args, const RaggedDotAttrs& attrs, int64_t ragged) {
  const Shape lhs = args.operand(0);
  DimVec prefix;
  const auto add_before = [&](const DimVec& dims) {
    for (const int64_t d : dims) {
      if (d == ragged) return;
      prefix.push_back(lhs.dim(static_cast<int>(d)));
    }
  };
  add_before(attrs.lhs_batch_dims);
  if (Contains(attrs.lhs_batch_dims, ragged)) return prefix;
  if (Contains(attrs.lhs_contracting_dims, ragged)) {
    add_before(attrs.lhs_contracting_dims);
    return prefix;
  }
  for (int64_t d = 0; d < ragged; ++d) {
    if (!Contains(attrs.lhs_batch_dims, d) && !Contains(attrs.lhs_contracting_dims, d)) {
      prefix.push_back(lhs.dim(static_cast<int>(d)));
    }
  }
  return prefix;
}

absl::Status CheckGroupSizes(const ShapeArgs& args, const DimVec& prefix) {
  RETURN_IF_ERROR(args.CheckArray(2));
  const Shape sizes = args.operand(2);
  if (!IsInteger(sizes.element_type())) {
    return args.Error("`{}` has element type `{}`, expected integer", args.name(2),
                      Text(sizes.element_type()));
  }
  if (sizes.rank() == 1) return absl::OkStatus();
  const bool fits = sizes.rank() == static_cast<int>(prefix.size()) + 1 &&
                    std::equal(prefix.begin(), prefix.end(), sizes.dims().begin(), SameSize);
  if (fits) return absl::OkStatus();
  return args.Error(
      "`{}` has shape `{}`, expected [groups] or the {} dimensions before the ragged one and "
      "[groups]",
      args.name(2), sizes, prefix.size());
}

}  // namespace

ElementType ContractionType(const ShapeArgs& args) {
  if (args.declared().has_value() && args.declared()->IsArray())
    return args.declared()->element_type();
  return HigherPrecision(args.operand(0).element_type(), args.operand(1).element_type());
}

absl::StatusOr<Shape> DotShape(const ShapeArgs& args) {
  return InferDot(args, DimsOf(args.attrs<DotAttrs>()));
}

absl::StatusOr<Shape> ScaledDotShape(const ShapeArgs& args) {
  const DotAttrs& attrs = args.attrs<DotAttrs>();
  ASSIGN_OR_RETURN(const Shape result, InferDot(args, DimsOf(attrs)));
  RETURN_IF_ERROR(CheckScale(args, 0, attrs.lhs_contracting_dims));
  RETURN_IF_ERROR(CheckScale(args, 1, attrs.rhs_contracting_dims));
  if (args.operand(2).rank() == 0 && args.operand(3).rank() == 0) {
    return args.Error("`{}` and `{}` are both scalars, so nothing is scaled", args.name(2),
                      args.name(3));
  }
  return result;
}

absl::StatusOr<Shape> RaggedDotShape(const ShapeArgs& args) {
  const RaggedDotAttrs& attrs = args.attrs<RaggedDotAttrs>();
  const DotDims dims = DimsOf(attrs);
  RETURN_IF_ERROR(CheckDotDims(args, dims));
  if (attrs.lhs_ragged_dims.size() != 1) {
    return args.Error("`lhs_ragged_dims` has {} entries, expected 1", attrs.lhs_ragged_dims.size());
  }
  const int64_t ragged = attrs.lhs_ragged_dims[0];
  RETURN_IF_ERROR(args.CheckDimension("lhs_ragged_dims", ragged, args.operand(0).rank()));
  RETURN_IF_ERROR(CheckGroupSizes(args, GroupSizesPrefix(args, attrs, ragged)));
  const Shape rhs = args.operand(1);
  const Shape sizes = args.operand(2);
  const int64_t groups = sizes.dim(sizes.rank() - 1);
  const bool contracting = Contains(attrs.lhs_contracting_dims, ragged);
  const bool free = !contracting && !Contains(attrs.lhs_batch_dims, ragged);
  const DimVec& group_dims = attrs.rhs_group_dims;
  if (group_dims.size() != (free ? 1 : 0)) {
    return args.Error(
        "`rhs_group_dims` has {} entries, expected {}: the ragged dimension {} of `lhs` is {}",
        group_dims.size(), free ? 1 : 0, ragged,
        free          ? "free"
        : contracting ? "contracting"
                      : "a batch dimension");
  }
  if (free) {
    const int64_t d = group_dims[0];
    RETURN_IF_ERROR(args.CheckDimension("rhs_group_dims", d, rhs.rank()));
    if (Contains(attrs.rhs_batch_dims, d) || Contains(attrs.rhs_contracting_dims, d)) {
      return args.Error("group dimension {} of `rhs` is a batch or contracting dimension as well",
                        d);
    }
    if (!SameSize(rhs.dim(static_cast<int>(d)), groups)) {
      return args.Error("group dimension {} of `rhs` is {}, but `{}` has {} groups", d,
                        rhs.dim(static_cast<int>(d)), args.name(2), groups);
    }
  }
  const ElementType type = ContractionType(args);
  DimList result;
  if (contracting) result.Add(groups);
  AddDotDims(args, dims, group_dims, result);
  return result.ToShape(type);
}

absl::StatusOr<Shape> FftShape(const ShapeArgs& args) {
  const Shape operand = args.operand(0);
  const FftAttrs& attrs = args.attrs<FftAttrs>();
  const int length_rank = static_cast<int>(attrs.fft_length.size());
  RETURN_IF_ERROR(args.CheckArray(0));
  if (length_rank < 1 || length_rank > 3) {
    return args.Error("`fft_length` has {} entries, expected 1 to 3", length_rank);
  }
  if (operand.rank() < length_rank) {
    return args.Error("`{}` has rank {}, but `fft_length` has {} entries", args.name(0),
                      operand.rank(), length_rank);
  }
  const ElementType type = operand.element_type();
  const bool from_real = attrs.fft_type == FftType::kRfft;
  const bool fits =
      from_real ? type == ElementType::kF32 || type == ElementType::kF64 : IsComplex(type);
  if (!fits) {
    return args.Error("`{}` has element type `{}`, expected {} for `{}`", args.name(0), Text(type),
                      from_real ? "`f32` or `f64`" : "`c64` or `c128`", Text(attrs.fft_type));
  }
  // Of these the result is as large as the operand, whatever the length; whether the two agree
  // matters when the operation runs.
  if (attrs.fft_type == FftType::kFft || attrs.fft_type == FftType::kIfft) return operand;
  const int last = operand.rank() - 1;
  const int64_t length = attrs.fft_length.back();
  const int64_t half = length == 0 ? 0 : length / 2 + 1;
  for (int i = 0; i < length_rank; ++i) {
    const int d = operand.rank() - length_rank + i;
    if (attrs.fft_length[i] < 0)
      return args.Error("entry {} of `fft_length` is {}, expected at least 0", i,
                        attrs.fft_length[i]);
    const bool halved = d == last && !from_real;
    const int64_t expected = halved ? half : attrs.fft_length[i];
    const bool empty = halved && length == 0 && operand.dim(d) == 1;  // 0 / 2 + 1
    if (!empty && !SameSize(operand.dim(d), expected)) {
      return args.Error(
          "dimension {} of `{}` has size {}, but entry {} of `fft_length` is {}, which needs {}", d,
          args.name(0), operand.dim(d), i, attrs.fft_length[i], expected);
    }
  }
  return from_real ? operand.WithDim(last, half).WithElementType(ComplexTypeOf(type))
                   : operand.WithDim(last, length).WithElementType(ComponentType(type));
}

namespace {

// Error unless operand `i` holds floats or complex numbers and its last two dimensions are equal.
absl::Status CheckSquareMatrices(const ShapeArgs& args, int i) {
  RETURN_IF_ERROR(args.CheckArray(i));
  const Shape shape = args.operand(i);
  if (!IsFloat(shape.element_type()) && !IsComplex(shape.element_type())) {
    return args.Error("`{}` has element type `{}`, expected float or complex", args.name(i),
                      Text(shape.element_type()));
  }
  if (shape.rank() < 2) {
    return args.Error("`{}` has shape `{}`, expected rank 2 or more", args.name(i), shape);
  }
  if (!SameSize(shape.dim(shape.rank() - 1), shape.dim(shape.rank() - 2))) {
    return args.Error("`{}` has shape `{}`, expected square matrices", args.name(i), shape);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> CholeskyShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(CheckSquareMatrices(args, 0));
  return args.operand(0);
}

absl::StatusOr<Shape> TriangularSolveShape(const ShapeArgs& args) {
  if (args.attrs<TriangularSolveAttrs>().transpose_a == TransposeKind::kInvalid) {
    return args.Error("`transpose_a` is `{}`, expected one of the others",
                      Text(TransposeKind::kInvalid));
  }
  RETURN_IF_ERROR(CheckSquareMatrices(args, 0));
  const Shape a = args.operand(0);
  const Shape b = args.operand(1);
  const int rank = a.rank();
  RETURN_IF_ERROR(args.CheckRank(1, rank));
  RETURN_IF_ERROR(args.CheckSameElementType(0, 1));
  for (int d = 0; d < rank - 2; ++d) {
    if (!SameSize(a.dim(d), b.dim(d))) {
      return args.Error("batch dimension {} of `a` is {}, of `b` {}", d, a.dim(d), b.dim(d));
    }
  }
  const int shared = args.attrs<TriangularSolveAttrs>().left_side ? rank - 2 : rank - 1;
  if (!SameSize(a.dim(rank - 1), b.dim(shared))) {
    return args.Error("the matrices in `a` have {} rows, but dimension {} of `b` is {}",
                      a.dim(rank - 1), shared, b.dim(shared));
  }
  return b;
}

}  // namespace hlo
