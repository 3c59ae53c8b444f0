// dot, ragged-dot and scaled-dot.
//
// Operands become the compute type (f32 for narrow floats, 64 bits or the exact width for
// integers), are laid out as [batch, rows, k] and [batch, k, columns], and each result element is
// the sum over ascending k of rounded products, in rounded sums. Columns run in vectors, which
// changes no order.
#include <complex>
#include <cstring>

#include "absl/algorithm/container.h"
#include "lib/eval/contraction.h"
#include "lib/eval/eval_internal.h"
#include "lib/eval/strided.h"

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

DimVec Joined(std::initializer_list<absl::Span<const int64_t>> lists) {
  DimVec all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
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

// The literal as accumulator values. (Floats wider than the result keep their digits up to f32:
// XLA's CPU does not round them first.)
Literal Prepare(const Literal& operand, ElementType result, const DimVec& order) {
  return Transposed(ConvertLiteral(operand, AccumulatorType(result)), order);
}

}  // namespace

EvalResult EvalDot(EvalContext& c) {
  const DotAttrs& attrs = c.attrs<DotAttrs>();
  CutToCommon(c, attrs);
  const Shape lhs = c.operand(0).shape(), rhs = c.operand(1).shape();
  const Roles l = RolesOf(lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims);
  const Roles r = RolesOf(rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims);
  const ElementType type = c.instruction.shape().element_type();
  DimVec dims;
  for (int64_t d : l.batch) dims.push_back(lhs.dim(static_cast<int>(d)));
  for (int64_t d : l.free) dims.push_back(lhs.dim(static_cast<int>(d)));
  for (int64_t d : r.free) dims.push_back(rhs.dim(static_cast<int>(d)));
  const MatMul sizes{SizeOf(lhs, l.batch), SizeOf(lhs, l.free), SizeOf(lhs, l.contracting),
                     SizeOf(rhs, r.free)};
  RETURN_IF_ERROR(c.evaluator.Spend(sizes.batch * sizes.rows * sizes.k * sizes.columns));
  const Literal a = Prepare(c.operand(0), type, Joined({l.batch, l.free, l.contracting}));
  const Literal b = Prepare(c.operand(1), type, Joined({r.batch, r.contracting, r.free}));
  Literal sums(Shape::Array(AccumulatorType(type), dims));
  RunMatMul(sizes, AccumulatorType(type), a.data(), b.data(), sums.mutable_data());
  return ConvertLiteral(sums, type).WithShapeLayout(c.ResultShape(dims));
}

namespace {

// Operand values times the scale of their block, in f32 (f64 for f64).
EvalResult Scaled(const EvalContext& c, const Literal& operand, const Literal& scale,
                  ElementType compute) {
  Literal values = ConvertLiteral(operand, compute);
  if (scale.shape().IsEffectiveScalar() && scale.shape().rank() == 0) return values;
  const DimVec dims = Dims(operand);
  DimVec ratio;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t blocks = scale.shape().dim(static_cast<int>(d));
    if (blocks == 0 || dims[d] % blocks != 0) {
      return Error(c.loc(), "dimension {} of size {} is no multiple of the {} blocks of its scale",
                   d, dims[d], blocks);
    }
    ratio.push_back(dims[d] / blocks);
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

}  // namespace

EvalResult EvalScaledDot(EvalContext& c) {
  const DotAttrs& attrs = c.attrs<DotAttrs>();
  const ElementType type = c.instruction.shape().element_type();
  const ElementType compute = AccumulatorType(type);
  if (!IsFloat(type))
    return Unsupported(c.loc(), "`scaled-dot` with result `{}` is not defined", Text(type));
  ASSIGN_OR_RETURN(const Literal lhs, Scaled(c, c.operand(0), c.operand(2), compute));
  ASSIGN_OR_RETURN(const Literal rhs, Scaled(c, c.operand(1), c.operand(3), compute));
  const Roles l = RolesOf(lhs.shape(), attrs.lhs_batch_dims, attrs.lhs_contracting_dims);
  const Roles r = RolesOf(rhs.shape(), attrs.rhs_batch_dims, attrs.rhs_contracting_dims);
  const MatMul sizes{SizeOf(lhs.shape(), l.batch), SizeOf(lhs.shape(), l.free),
                     SizeOf(lhs.shape(), l.contracting), SizeOf(rhs.shape(), r.free)};
  const Literal a = Transposed(lhs, Joined({l.batch, l.free, l.contracting}));
  const Literal b = Transposed(rhs, Joined({r.batch, r.contracting, r.free}));
  Literal sums(Shape::Array(compute, c.instruction.shape().dims()));
  RunMatMul(sizes, compute, a.data(), b.data(), sums.mutable_data());
  return ConvertLiteral(sums, type).WithShapeLayout(c.instruction.shape());
}

namespace {

// Which rows, contracted positions or batches belong to which group: the interval of group g, from
// running sums.
struct GroupInterval {
  int64_t begin, end;
};
GroupInterval IntervalOf(absl::Span<const int64_t> sizes, int64_t g, int64_t limit) {
  int64_t begin = 0;
  for (int64_t i = 0; i < g; ++i) begin += sizes[static_cast<size_t>(i)];
  const int64_t end = begin + sizes[static_cast<size_t>(g)];
  return {std::clamp<int64_t>(begin, 0, limit), std::clamp<int64_t>(end, 0, limit)};
}

// Zeroes the elements of `literal` whose index along `ragged` lies outside the interval of the
// group that their prefix selects. `prefix` lists the dimensions that pick a row of group_sizes,
// `sizes` is [prefix…, groups] or [groups].
void KeepInterval(Literal& literal, int64_t ragged, const DimVec& prefix, const Literal& sizes,
                  int64_t first_group, int64_t last_group) {
  const DimVec dims = Dims(literal);
  const int64_t groups = sizes.shape().dim(sizes.shape().rank() - 1);
  const bool has_prefix = sizes.shape().rank() > 1;
  const int bytes = ByteSize(literal.element_type());
  uint8_t* data = literal.mutable_data();
  if (literal.element_count() == 0) return;
  DimVec index(dims.size(), 0);
  int64_t linear = 0;
  do {
    int64_t row = 0;
    if (has_prefix) {
      for (size_t i = 0; i < prefix.size(); ++i) {
        row = row * dims[static_cast<size_t>(prefix[i])] + index[static_cast<size_t>(prefix[i])];
      }
    }
    std::vector<int64_t> own;
    for (int64_t g = 0; g < groups; ++g) own.push_back(ScalarIndex(sizes, row * groups + g));
    const int64_t limit = dims[static_cast<size_t>(ragged)];
    const int64_t begin = IntervalOf(own, first_group, limit).begin,
                  end = IntervalOf(own, last_group, limit).end;
    const int64_t at = index[static_cast<size_t>(ragged)];
    if (at < begin || at >= end) std::memset(data + linear * bytes, 0, static_cast<size_t>(bytes));
    ++linear;
  } while (NextIndex(absl::MakeSpan(index), dims));
}

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

// The matrices of group g of rhs [batch, k, columns]; all of rhs when it has no group dimension.
Literal GroupOfRhs(const RaggedDotAttrs& attrs, const RaggedPlan& plan, const Literal& rhs,
                   int64_t g) {
  if (plan.is_batch || plan.is_contracting)
    return Transposed(rhs, Joined({plan.rhs.batch, plan.rhs.contracting, plan.rhs.free}));
  const Literal all = Transposed(
      rhs, Joined({attrs.rhs_group_dims, plan.rhs.batch, plan.rhs.contracting, plan.rhs.free}));
  const int64_t size = all.element_count() / all.shape().dim(0);
  Literal part(Shape::Array(rhs.element_type(), {size}));
  if (size > 0)
    std::memcpy(part.mutable_data(), ElementPtr(all, g * size),
                static_cast<size_t>(part.byte_size()));
  return part;
}

// Copies the rows of `product` that belong to group g: where ones along the ragged dimension
// survive its interval.
void CopyRowsOfGroup(const RaggedPlan& plan, Shape lhs, int64_t ragged, const Literal& group_sizes,
                     int64_t g, const MatMul& sizes, const Literal& product, Literal& sums) {
  Literal marks(Shape::Array(ElementType::kU8, lhs.dims()));
  const uint8_t one = 1;
  FillElements(&one, 1, marks.mutable_data(), marks.element_count());
  KeepInterval(marks, ragged, plan.prefix, group_sizes, g, g);
  const Literal ordered =
      Transposed(marks, Joined({plan.lhs.batch, plan.lhs.free, plan.lhs.contracting}));
  const int64_t row_bytes = sizes.columns * ByteSize(sums.element_type());
  for (int64_t row = 0; row < sizes.batch * sizes.rows && sizes.k > 0; ++row) {
    if (ordered.data()[row * sizes.k] == 0) continue;
    std::memcpy(sums.mutable_data() + row * row_bytes, product.data() + row * row_bytes,
                static_cast<size_t>(row_bytes));
  }
}

}  // namespace

// Each group is a dot of its own in which the elements of the other groups are zero. Its results
// stand beside those of the other groups (contracted dimension), are rows among theirs (free
// dimension), or are all there is (batch dimension).
EvalResult EvalRaggedDot(EvalContext& c) {
  const RaggedDotAttrs& attrs = c.attrs<RaggedDotAttrs>();
  const Literal& group_sizes = c.operand(2);
  const int64_t groups = group_sizes.shape().dim(group_sizes.shape().rank() - 1);
  const int64_t ragged = attrs.lhs_ragged_dims[0];
  const ElementType type = c.instruction.shape().element_type(), compute = AccumulatorType(type);
  const Literal lhs = ConvertLiteral(c.operand(0), compute),
                rhs = ConvertLiteral(c.operand(1), compute);
  const RaggedPlan plan = PlanOf(attrs, lhs.shape(), rhs.shape());
  const MatMul sizes{SizeOf(lhs.shape(), plan.lhs.batch), SizeOf(lhs.shape(), plan.lhs.free),
                     SizeOf(lhs.shape(), plan.lhs.contracting), SizeOf(rhs.shape(), plan.rhs.free)};
  Literal sums(Shape::Array(compute, c.instruction.shape().dims()));
  for (int64_t g = 0; g < (plan.is_batch ? std::min<int64_t>(1, groups) : groups); ++g) {
    RETURN_IF_ERROR(c.evaluator.Spend(sizes.batch * sizes.rows * sizes.k * sizes.columns));
    Literal own = lhs;
    KeepInterval(own, ragged, plan.prefix, group_sizes, plan.is_batch ? 0 : g,
                 plan.is_batch ? groups - 1 : g);
    const Literal left =
        Transposed(own, Joined({plan.lhs.batch, plan.lhs.free, plan.lhs.contracting}));
    const Literal right = GroupOfRhs(attrs, plan, rhs, g);
    Literal product(Shape::Array(compute, {sizes.batch * sizes.rows * sizes.columns}));
    RunMatMul(sizes, compute, left.data(), right.data(), product.mutable_data());
    if (plan.is_batch || plan.is_contracting) {
      std::memcpy(sums.mutable_data() + g * product.byte_size(), product.data(),
                  static_cast<size_t>(product.byte_size()));
    } else {
      CopyRowsOfGroup(plan, lhs.shape(), ragged, group_sizes, g, sizes, product, sums);
    }
  }
  return ConvertLiteral(sums, type).WithShapeLayout(c.instruction.shape());
}

}  // namespace hlo
