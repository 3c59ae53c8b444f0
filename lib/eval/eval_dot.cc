// dot, ragged-dot and scaled-dot.
//
// Operands become the compute type (f32 for narrow floats, 64 bits or the exact width for
// integers), are laid out as [batch, rows, k] and [batch, k, columns], and each result element is
// the sum over ascending k of rounded products, in rounded sums. Columns run in vectors, which
// changes no order.
#include <fmt/format.h>

#include <complex>
#include <cstring>

#include "absl/algorithm/container.h"
#include "lib/eval/contraction.h"
#include "lib/eval/eval_internal.h"
#include "lib/eval/strided.h"
#include "lib/types/dim_lists.h"

namespace hlo {
namespace {

// The dimensions of an operand by their role.
struct Roles {
  DimVec batch, contracting, free;
};
Roles RolesOf(Shape shape, absl::Span<const int64_t> batch, absl::Span<const int64_t> contracting) {
  Roles roles{
      DimVec(batch.begin(), batch.end()), DimVec(contracting.begin(), contracting.end()), {}};
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (!absl::c_linear_search(batch, d) && !absl::c_linear_search(contracting, d))
      roles.free.push_back(d);
  }
  return roles;
}

int64_t SizeOf(Shape shape, absl::Span<const int64_t> list) {
  int64_t size = 1;
  for (int64_t d : list) size *= shape.dim(static_cast<int>(d));
  return size;
}

Literal Transposed(const Literal& literal, const DimVec& order) {
  const DimVec dims = Permute(literal.shape().dims(), order);
  Literal result(Shape::Array(literal.element_type(), dims));
  RunStridedCopy(
      {dims, Permute(RowMajorStrides(literal.shape().dims()), order), RowMajorStrides(dims)},
      ByteSize(literal.element_type()), literal.data(), result.mutable_data());
  return result;
}

// Run-time sizes of the contracted dimensions may differ when one of them is dynamic: the smaller
// counts.
void CutToCommon(EvalContext& c, const DotAttrs& attrs) {
  DimVec lhs = Dims(c.operand(0)), rhs = Dims(c.operand(1));
  const auto cut = [&](const DimVec& l, const DimVec& r) {
    for (size_t i = 0; i < l.size(); ++i) {
      int64_t& a = lhs[static_cast<size_t>(l[i])];
      int64_t& b = rhs[static_cast<size_t>(r[i])];
      a = b = std::min(a, b);
    }
  };
  cut(attrs.lhs_contracting_dims, attrs.rhs_contracting_dims);
  cut(attrs.lhs_batch_dims, attrs.rhs_batch_dims);
  c.operands[0] = Resized(c.operands[0], lhs);
  c.operands[1] = Resized(c.operands[1], rhs);
}

}  // namespace

EvalResult EvalDot(EvalContext& c) {
  const DotAttrs& attrs = c.attrs<DotAttrs>();
  CutToCommon(c, attrs);
  const Shape lhs = c.operand(0).shape(), rhs = c.operand(1).shape();
  const Roles l = RolesOf(lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims);
  const Roles r = RolesOf(rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims);
  const ElementType result = c.instruction.shape().element_type();
  const ElementType type = ProductType(lhs.element_type(), rhs.element_type(), result);
  DimVec dims;
  for (int64_t d : l.batch) dims.push_back(lhs.dim(static_cast<int>(d)));
  for (int64_t d : l.free) dims.push_back(lhs.dim(static_cast<int>(d)));
  for (int64_t d : r.free) dims.push_back(rhs.dim(static_cast<int>(d)));
  const MatMul sizes{SizeOf(lhs, l.batch), SizeOf(lhs, l.free), SizeOf(lhs, l.contracting),
                     SizeOf(rhs, r.free), !l.contracting.empty()};
  RETURN_IF_ERROR(c.evaluator.Spend(sizes.batch * sizes.rows * sizes.k * sizes.columns));
  const Literal a =
      Transposed(AsFactor(c.operand(0), type), Joined({l.batch, l.free, l.contracting}));
  const Literal b =
      Transposed(AsFactor(c.operand(1), type), Joined({r.batch, r.contracting, r.free}));
  Literal sums(Shape::Array(MatMulType(type), dims));
  RunMatMul(sizes, MatMulType(type), a.data(), b.data(), sums.mutable_data());
  return ConvertLiteral(ConvertLiteral(sums, type), result).WithShapeLayout(c.ResultShape(dims));
}

namespace {

// Operand values times the scale of their block, in f32 (f64 for f64).
EvalResult Scaled(const EvalContext& c, const Literal& operand, const Literal& scale,
                  ElementType compute) {
  Literal values = ConvertLiteral(operand, compute);
  if (scale.shape().IsEffectiveScalar() && scale.shape().rank() == 0) return values;
  const DimVec dims = Dims(operand);
  if (scale.shape().rank() != operand.shape().rank()) {
    return Error(c.loc(),
                 "`{}` scales blocks of `{}` by `{}`, expected an array of as many dimensions",
                 c.instruction.name(), operand.shape(), scale.shape());
  }
  DimVec ratio;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t blocks = scale.shape().dim(static_cast<int>(d));
    if (blocks == 0 ? dims[d] != 0 : dims[d] % blocks != 0) {
      return Error(c.loc(), "dimension {} of size {} is no multiple of the {} blocks of its scale",
                   d, dims[d], blocks);
    }
    ratio.push_back(blocks == 0 ? 1 : dims[d] / blocks);
  }
  const Literal scales = ConvertLiteral(scale, compute);
  const DimVec strides = RowMajorStrides(scale.shape().dims());
  DimVec index(dims.size(), 0);
  int64_t linear = 0;
  if (values.element_count() == 0) return values;
  do {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] / ratio[d] * strides[d];
    if (compute == ElementType::kF64) {
      values.mutable_values<double>()[static_cast<size_t>(linear)] *=
          scales.values<double>()[static_cast<size_t>(at)];
    } else {
      values.mutable_values<float>()[static_cast<size_t>(linear)] *=
          scales.values<float>()[static_cast<size_t>(at)];
    }
    ++linear;
  } while (NextIndex(absl::MakeSpan(index), dims));
  return values;
}

// The product of operands in the type of their sums, of the dimensions of the result.
Literal ProductOf(const EvalContext& c, const Literal& lhs, const Literal& rhs,
                  const DotAttrs& attrs) {
  const Roles l = RolesOf(lhs.shape(), attrs.lhs_batch_dims, attrs.lhs_contracting_dims);
  const Roles r = RolesOf(rhs.shape(), attrs.rhs_batch_dims, attrs.rhs_contracting_dims);
  const MatMul sizes{SizeOf(lhs.shape(), l.batch), SizeOf(lhs.shape(), l.free),
                     SizeOf(lhs.shape(), l.contracting), SizeOf(rhs.shape(), r.free)};
  const Literal a = Transposed(lhs, Joined({l.batch, l.free, l.contracting}));
  const Literal b = Transposed(rhs, Joined({r.batch, r.contracting, r.free}));
  Literal sums(Shape::Array(lhs.element_type(), c.instruction.shape().dims()));
  RunMatMul(sizes, lhs.element_type(), a.data(), b.data(), sums.mutable_data());
  return sums;
}

}  // namespace

EvalResult EvalScaledDot(EvalContext& c) {
  const DotAttrs& attrs = c.attrs<DotAttrs>();
  const ElementType type = c.instruction.shape().element_type();
  const ElementType compute = MatMulType(type);
  if (!IsFloat(type))
    return Unsupported(c.loc(), "`scaled-dot` with result `{}` is not defined", Text(type));
  ASSIGN_OR_RETURN(const Literal lhs, Scaled(c, c.operand(0), c.operand(2), compute));
  ASSIGN_OR_RETURN(const Literal rhs, Scaled(c, c.operand(1), c.operand(3), compute));
  const Literal sums = ProductOf(c, lhs, rhs, attrs);
  return ConvertLiteral(sums, type).WithShapeLayout(c.instruction.shape());
}

// (lhs [batch, m, k], rhs [batch, n, k], scales of lhs, scales of rhs, scale of the result): the
// last two may be left out, and so may the batch dimension.
EvalResult EvalBlockScaledDot(EvalContext& c) {
  const Shape shape = c.instruction.shape();
  const int rank = c.operand(0).shape().rank();
  if (!shape.IsArray() || !IsFloat(shape.element_type()) || rank < 2 || rank > 3 ||
      c.operand(1).shape().rank() != rank || shape.rank() != rank)
    return Error(c.loc(), "`__op$block_scaled_dot` of `{}` and `{}` is not defined",
                 c.operand(0).shape(), c.operand(1).shape());
  const Shape x = c.operand(0).shape(), y = c.operand(1).shape();
  DimVec product = {x.dim(rank - 2), y.dim(rank - 2)};
  if (rank == 3) product.insert(product.begin(), x.dim(0));
  if (shape.dims() != absl::MakeConstSpan(product) || (rank == 3 && x.dim(0) != y.dim(0)))
    return Error(c.loc(), "`__op$block_scaled_dot` of `{}` and `{}` has {} elements, not `{}`", x,
                 y, fmt::join(product, " x "), shape);
  DotAttrs attrs;
  attrs.lhs_contracting_dims = attrs.rhs_contracting_dims = {rank - 1};
  if (rank == 3) attrs.lhs_batch_dims = attrs.rhs_batch_dims = {0};
  const ElementType compute = MatMulType(shape.element_type());
  ASSIGN_OR_RETURN(const Literal lhs, Scaled(c, c.operand(0), c.operand(2), compute));
  Literal rhs = ConvertLiteral(c.operand(1), compute);
  if (c.operand_count() > 3) {
    ASSIGN_OR_RETURN(rhs, Scaled(c, c.operand(1), c.operand(3), compute));
  }
  if (SizeOf(lhs.shape(), attrs.lhs_contracting_dims) !=
      SizeOf(rhs.shape(), attrs.rhs_contracting_dims))
    return Error(c.loc(), "`__op$block_scaled_dot` contracts `{}` and `{}`", lhs.shape(),
                 rhs.shape());
  Literal sums = ProductOf(c, lhs, rhs, attrs);
  if (c.operand_count() > 4) {
    if (!c.operand(4).shape().IsEffectiveScalar()) {
      return Error(c.loc(), "`{}` scales its result by `{}`, expected one number",
                   c.instruction.name(), c.operand(4).shape());
    }
    const double factor = c.operand(4).GetDouble();
    for (int64_t i = 0; i < sums.element_count(); ++i)
      sums.SetDouble(i, sums.GetDouble(i) * factor);
  }
  return ConvertLiteral(sums, shape.element_type()).WithShapeLayout(shape);
}

namespace {

// What a ragged-dot is about, from its attributes and shapes.
struct RaggedPlan {
  bool is_batch = false,
       is_contracting = false;  // the ragged dimension; neither: a free dimension of lhs
  DimVec prefix;                // dimensions of lhs that pick a row of group_sizes
  Roles lhs, rhs;               // rhs without its group dimension
};
RaggedPlan PlanOf(const RaggedDotAttrs& attrs, Shape lhs, Shape rhs) {
  const int64_t ragged = attrs.lhs_ragged_dims[0];
  RaggedPlan plan;
  plan.is_batch = absl::c_linear_search(attrs.lhs_batch_dims, ragged);
  plan.is_contracting = absl::c_linear_search(attrs.lhs_contracting_dims, ragged);
  plan.lhs = RolesOf(lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims);
  plan.rhs = RolesOf(rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims);
  const auto add_up_to_ragged = [&](const DimVec& dims) {
    for (int64_t d : dims) {
      if (d == ragged) return;
      plan.prefix.push_back(d);
    }
  };
  add_up_to_ragged(attrs.lhs_batch_dims);
  if (plan.is_contracting) add_up_to_ragged(attrs.lhs_contracting_dims);
  if (!plan.is_batch && !plan.is_contracting) {
    add_up_to_ragged(plan.lhs.free);
    auto& free = plan.rhs.free;
    free.erase(std::find(free.begin(), free.end(), attrs.rhs_group_dims[0]));
  }
  return plan;
}

// For each index of `dims` (dimensions of lhs, the first slowest): the group whose interval along
// the ragged dimension it lies in, -1 for none. The intervals follow from the running sums of a row
// of group_sizes, which the dimensions `prefix` pick when there are several.
std::vector<int64_t> GroupsOf(Shape lhs, const DimVec& dims, int64_t ragged, const DimVec& prefix,
                              const Literal& sizes) {
  const int64_t groups = sizes.shape().dim(sizes.shape().rank() - 1);
  std::vector<int64_t> ends(static_cast<size_t>(sizes.element_count()));
  for (size_t i = 0; i < ends.size(); ++i) {
    const int64_t before = i % static_cast<size_t>(groups) == 0 ? 0 : ends[i - 1];
    ends[i] = before + std::max<int64_t>(0, ScalarIndex(sizes, static_cast<int64_t>(i)));
  }
  DimVec extents;
  for (int64_t d : dims) extents.push_back(lhs.dim(static_cast<int>(d)));
  std::vector<int64_t> result;
  if (Product(extents) == 0) return result;
  result.reserve(static_cast<size_t>(Product(extents)));
  DimVec index(dims.size(), 0);
  const auto at = [&](int64_t d) {
    return index[static_cast<size_t>(absl::c_find(dims, d) - dims.begin())];
  };
  do {
    int64_t row = 0;
    if (sizes.shape().rank() > 1) {
      for (int64_t d : prefix) row = row * lhs.dim(static_cast<int>(d)) + at(d);
    }
    const auto begin = ends.begin() + row * groups;
    const auto found = std::upper_bound(begin, begin + groups, at(ragged));
    result.push_back(found == begin + groups ? -1 : found - begin);
  } while (NextIndex(absl::MakeSpan(index), extents));
  return result;
}

// A ragged-dot with its operands in the order of a matrix product, batches one after the other.
struct RaggedDot {
  MatMul sizes;
  ElementType type;
  const Literal& lhs;  // [batch, rows, k]
  const Literal& rhs;  // [groups, batch, k, columns], or without groups
  const std::vector<int64_t>& groups;
  Literal& sums;
  int bytes = ByteSize(type);

  const uint8_t* Lhs(int64_t batch, int64_t row) const {
    return lhs.data() + (batch * sizes.rows + row) * sizes.k * bytes;
  }
  const uint8_t* Rhs(int64_t batch) const {
    return rhs.data() + batch * sizes.k * sizes.columns * bytes;
  }
  uint8_t* Sums(int64_t batch, int64_t row) {
    return sums.mutable_data() + (batch * sizes.rows + row) * sizes.columns * bytes;
  }

  // Rows of lhs belong to groups, each with a matrix of its own.
  void RunByRows() {
    for (int64_t b = 0; b < sizes.batch; ++b) {
      const int64_t* const own = groups.data() + b * sizes.rows;
      for (int64_t row = 0, end; row < sizes.rows; row = end) {
        for (end = row + 1; end < sizes.rows && own[end] == own[row];) ++end;
        if (own[row] < 0) continue;
        RunMatMul({1, end - row, sizes.k, sizes.columns}, type, Lhs(b, row),
                  Rhs(own[row] * sizes.batch + b), Sums(b, row));
      }
    }
  }

  // Batches belong to groups or to none.
  void RunByBatches() {
    for (int64_t b = 0; b < sizes.batch; ++b) {
      if (groups[static_cast<size_t>(b)] < 0) continue;
      RunMatMul({1, sizes.rows, sizes.k, sizes.columns}, type, Lhs(b, 0), Rhs(b), Sums(b, 0));
    }
  }

  // Contracted positions belong to groups, each with a result of its own: [groups, batch, rows,
  // columns].
  void RunByContracted(int64_t group_count) {
    for (int64_t b = 0; b < sizes.batch; ++b) {
      std::vector<std::vector<int64_t>> members(static_cast<size_t>(group_count));
      for (int64_t z = 0; z < sizes.k; ++z) {
        const int64_t group = groups[static_cast<size_t>(b * sizes.k + z)];
        if (group >= 0) members[static_cast<size_t>(group)].push_back(z);
      }
      for (int64_t g = 0; g < group_count; ++g)
        RunOn(b, members[static_cast<size_t>(g)], Sums(g * sizes.batch + b, 0));
    }
  }
  void RunOn(int64_t batch, const std::vector<int64_t>& members, uint8_t* out) const {
    const int64_t k = std::ssize(members);
    const auto size = static_cast<size_t>(bytes);
    std::vector<uint8_t> left(static_cast<size_t>(sizes.rows * k) * size);
    std::vector<uint8_t> right(static_cast<size_t>(k * sizes.columns) * size);
    uint8_t* to = left.data();
    for (int64_t row = 0; row < sizes.rows; ++row) {
      for (const int64_t z : members) {
        std::memcpy(to, Lhs(batch, row) + z * bytes, size);
        to += bytes;
      }
    }
    to = right.data();
    const int64_t row_bytes = sizes.columns * bytes;
    for (const int64_t z : members) {
      std::memcpy(to, Rhs(batch) + z * row_bytes, static_cast<size_t>(row_bytes));
      to += row_bytes;
    }
    RunMatMul({1, sizes.rows, k, sizes.columns}, type, left.data(), right.data(), out);
  }
};

}  // namespace

// Each group is a dot of its own over its rows (free dimension), its positions (contracted
// dimension; results stand beside those of the other groups) or its batches (batch dimension). What
// no group has is zero.
EvalResult EvalRaggedDot(EvalContext& c) {
  const RaggedDotAttrs& attrs = c.attrs<RaggedDotAttrs>();
  const Literal& group_sizes = c.operand(2);
  const ElementType type = c.instruction.shape().element_type(), compute = MatMulType(type);
  const Shape lhs = c.operand(0).shape(), rhs = c.operand(1).shape();
  const RaggedPlan plan = PlanOf(attrs, lhs, rhs);
  const MatMul sizes{SizeOf(lhs, plan.lhs.batch), SizeOf(lhs, plan.lhs.free),
                     SizeOf(lhs, plan.lhs.contracting), SizeOf(rhs, plan.rhs.free)};
  const Literal left = Transposed(AsFactor(c.operand(0), type),
                                  Joined({plan.lhs.batch, plan.lhs.free, plan.lhs.contracting}));
  const DimVec none;
  const bool has_groups = !plan.is_batch && !plan.is_contracting;
  const Literal right = Transposed(AsFactor(c.operand(1), type),
                                   Joined({has_groups ? attrs.rhs_group_dims : none, plan.rhs.batch,
                                           plan.rhs.contracting, plan.rhs.free}));
  Literal sums(Shape::Array(compute, c.instruction.shape().dims()));
  const int64_t group_count = group_sizes.shape().dim(group_sizes.shape().rank() - 1);
  if (sums.element_count() == 0 || group_count == 0)
    return ConvertLiteral(sums, type).WithShapeLayout(c.instruction.shape());
  RETURN_IF_ERROR(c.evaluator.Spend(sizes.batch * sizes.rows * sizes.k * sizes.columns));
  const DimVec& members = plan.is_batch         ? none
                          : plan.is_contracting ? plan.lhs.contracting
                                                : plan.lhs.free;
  const std::vector<int64_t> groups = GroupsOf(lhs, Joined({plan.lhs.batch, members}),
                                               attrs.lhs_ragged_dims[0], plan.prefix, group_sizes);
  RaggedDot dot{sizes, compute, left, right, groups, sums};
  if (plan.is_batch) {
    dot.RunByBatches();
  } else if (plan.is_contracting) {
    dot.RunByContracted(group_count);
  } else {
    dot.RunByRows();
  }
  return ConvertLiteral(sums, type).WithShapeLayout(c.instruction.shape());
}

}  // namespace hlo
