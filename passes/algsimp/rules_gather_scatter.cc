// Rules rooted at gather and scatter, and sums of scatters.
#include <algorithm>

#include "lib/analysis/region.h"
#include "passes/algsimp/moves.h"
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

const GatherAttrs& Gathered(const Instruction* gather) { return gather->attrs<GatherAttrs>(); }

// A gather from nothing  =>  0
Instruction* GatherOfNothing(Instruction* gather, Rewriter& rewriter) {
  if (!gather->operand(0)->shape().IsZeroSized() || gather->shape().has_dynamic_dims())
    return nullptr;
  return rewriter.ZeroLike(gather);
}

// A gather from one element  =>  broadcast(x); slices of no elements leave zeros
Instruction* GatherOfScalar(Instruction* gather, Rewriter& rewriter) {
  Instruction* x = gather->operand(0);
  if (!x->shape().IsEffectiveScalar() || gather->shape().has_dynamic_dims()) return nullptr;
  if (Contains(Gathered(gather).slice_sizes, 0)) return nullptr;
  if (!x->shape().IsScalar()) x = rewriter.Reshape(x, {});
  return BroadcastTo(rewriter, x, gather->shape(), {});
}

// A gather of single elements of a short vector  =>  select(i >= n-1, x[n-1], … select(i
//     >= 0, x[0], x[0]))
template <int kSize>
Instruction* GatherOfFew(Instruction* gather, Rewriter& rewriter) {
  Instruction* x = gather->operand(0);
  Instruction* indices = gather->operand(1);
  const GatherAttrs& attrs = Gathered(gather);
  if (x->shape().rank() != 1 || x->shape().dim(0) > kSize || x->shape().IsZeroSized() ||
      attrs.collapsed_slice_dims != DimVec{0} || attrs.start_index_map != DimVec{0} ||
      attrs.slice_sizes != DimVec{1} || attrs.index_vector_dim != indices->shape().rank() ||
      gather->shape().has_dynamic_dims() || x->shape().has_dynamic_dims() ||
      gather->shape().WithElementType(indices->shape().element_type()) != indices->shape())
    return nullptr;
  const auto element = [&](int64_t i) {
    return BroadcastTo(rewriter, rewriter.Reshape(SliceLike(rewriter, x, {{i, i + 1, 1}}), {}),
                       gather->shape(), {});
  };
  // Elements that no index reaches are out: their numbers are others in its type.
  const int64_t largest = Literal::MaxValue(indices->shape().element_type()).GetInt();
  const int64_t count =
      largest < 0 ? x->shape().dim(0) : std::min(x->shape().dim(0) - 1, largest) + 1;
  Instruction* result = element(0);
  for (int64_t i = 0; i < count; ++i) {
    Instruction* number = rewriter.ConstantLike(indices, static_cast<double>(i));
    result = rewriter.Select(rewriter.Compare(indices, number, ComparisonDirection::kGe),
                             element(i), result);
  }
  return result;
}

// The dimension of the result in which a gather has batching dimension `k`.
int64_t ResultOfBatching(const Instruction* gather, size_t k) {
  const GatherAttrs& attrs = Gathered(gather);
  int64_t before = 0;  // dimensions of the indices that count before it
  for (int64_t i = 0; i < attrs.start_indices_batching_dims[k]; ++i)
    before += i == attrs.index_vector_dim ? 0 : 1;
  for (int64_t i = 0; i < gather->shape().rank(); ++i) {
    if (!Contains(attrs.offset_dims, i) && before-- == 0) return i;
  }
  return -1;
}

// Which dimension of the result has each dimension of the operand as a whole; -1 for others.
DimVec WholeDims(const Instruction* gather) {
  const GatherAttrs& attrs = Gathered(gather);
  const Shape operand = gather->operand(0)->shape();
  DimVec result(static_cast<size_t>(operand.rank()), -1);
  size_t next = 0;
  for (int64_t dim = 0; dim < operand.rank(); ++dim) {
    if (Contains(attrs.collapsed_slice_dims, dim) || Contains(attrs.operand_batching_dims, dim) ||
        next == attrs.offset_dims.size())
      continue;
    const int64_t place = attrs.offset_dims[next++];
    if (attrs.slice_sizes[static_cast<size_t>(dim)] == operand.dim(static_cast<int>(dim)))
      result[static_cast<size_t>(dim)] = place;
  }
  return result;
}

// Every element of the result is read somewhere, and all sizes are fixed. Slices of no elements
// leave zeros.
bool ReadsAll(const Instruction* gather) {
  return !gather->shape().has_dynamic_dims() && !gather->shape().IsZeroSized() &&
         !Contains(Gathered(gather).slice_sizes, 0) &&
         !gather->operand(0)->shape().has_dynamic_dims() &&
         !gather->operand(1)->shape().has_dynamic_dims();
}

// gather(pad(x), i) that takes the padded dimensions as a whole  =>  pad(gather(x, i))
// gather(pad(x), pad(i)) that pads batching dimensions, all alike  =>  pad(gather(x, i))
// Whatever the indices are there, all that can be read is what was padded with.
Instruction* GatherOfPad(Instruction* gather, Rewriter& rewriter) {
  const Instruction* pad = gather->operand(0);
  Instruction* indices = gather->operand(1);
  if (pad->opcode() != Opcode::kPad || !ReadsAll(gather) || pad->operand(0)->shape().IsZeroSized())
    return nullptr;
  const PaddingConfig& padding = pad->attrs<PadAttrs>().padding;
  const DimVec whole = WholeDims(gather);
  GatherAttrs smaller = Gathered(gather);
  PaddingConfig after;
  after.dims.resize(static_cast<size_t>(gather->shape().rank()));
  int batches = 0;
  for (int i = 0; i < padding.rank(); ++i) {
    const auto dim = static_cast<size_t>(i);
    if (padding[i] == PaddingDim{}) continue;
    if (whole[dim] >= 0) {
      after.dims[static_cast<size_t>(whole[dim])] = padding[i];
      smaller.slice_sizes[dim] = pad->operand(0)->shape().dim(i);
      continue;
    }
    const auto& batching = smaller.operand_batching_dims;
    const auto k = static_cast<size_t>(absl::c_find(batching, i) - batching.begin());
    if (k == batching.size() || indices->opcode() != Opcode::kPad ||
        !(indices->attrs<PadAttrs>()
              .padding[static_cast<int>(smaller.start_indices_batching_dims[k])] == padding[i]))
      return nullptr;
    after.dims[static_cast<size_t>(ResultOfBatching(gather, k))] = padding[i];
    ++batches;
  }
  if (batches > 0) {
    const auto& dims = indices->attrs<PadAttrs>().padding.dims;
    if (static_cast<int64_t>(dims.size()) - absl::c_count(dims, PaddingDim{}) != batches)
      return nullptr;
    indices = indices->operand(0);
    if (indices->shape().IsZeroSized()) return nullptr;
  }
  Instruction* slices =
      rewriter.Op(Opcode::kGather, {pad->operand(0), indices}, AttrsPtr::Make(std::move(smaller)));
  return rewriter.Pad(slices, pad->operand(1), std::move(after));
}

// gather(reshape(pad(x))) that takes the padded dimensions as a whole, the reshape leaving them
//     alone  =>  pad(gather(reshape(x)))
Instruction* GatherOfReshapedPad(Instruction* gather, Rewriter& rewriter) {
  const Instruction* reshape = gather->operand(0);
  if (reshape->opcode() != Opcode::kReshape || reshape->operand(0)->opcode() != Opcode::kPad ||
      !ReadsAll(gather) || reshape->shape().IsZeroSized() ||
      reshape->operand(0)->operand(0)->shape().IsZeroSized())
    return nullptr;
  const Instruction* pad = reshape->operand(0);
  const PaddingConfig& padding = pad->attrs<PadAttrs>().padding;
  const DimVec moved = UnmodifiedDims(pad->shape(), reshape->shape());
  const DimVec whole = WholeDims(gather);
  GatherAttrs smaller = Gathered(gather);
  PaddingConfig after;
  after.dims.resize(static_cast<size_t>(gather->shape().rank()));
  DimVec sizes(reshape->shape().dims().begin(), reshape->shape().dims().end());
  for (int i = 0; i < padding.rank(); ++i) {
    if (padding[i] == PaddingDim{}) continue;
    const int64_t dim = moved[static_cast<size_t>(i)];
    if (dim < 0 || whole[static_cast<size_t>(dim)] < 0) return nullptr;
    sizes[static_cast<size_t>(dim)] = pad->operand(0)->shape().dim(i);
    smaller.slice_sizes[static_cast<size_t>(dim)] = pad->operand(0)->shape().dim(i);
    after.dims[static_cast<size_t>(whole[static_cast<size_t>(dim)])] = padding[i];
  }
  Instruction* slices =
      rewriter.Op(Opcode::kGather, {rewriter.Reshape(pad->operand(0), sizes), gather->operand(1)},
                  AttrsPtr::Make(std::move(smaller)));
  return rewriter.Pad(slices, pad->operand(1), std::move(after));
}

// ---- scatter ----

// A scatter of nothing  =>  its operands
Instruction* ScatterOfNothing(Instruction* scatter, Rewriter& rewriter) {
  const int count = scatter->operand_count() / 2;
  for (int k = 0; k < count; ++k) {
    if (!scatter->operand(count + 1 + k)->shape().IsZeroSized()) return nullptr;
  }
  if (count == 1) return scatter->operand(0);
  std::vector<Instruction*> operands = scatter->operand_vector();
  operands.resize(static_cast<size_t>(count));
  return rewriter.Tuple(operands);
}

// A scatter of one update that is the whole operand  =>  map(operand, update)
Instruction* ScatterOfWhole(Instruction* scatter, Rewriter& rewriter) {
  const auto& attrs = scatter->attrs<ScatterAttrs>();
  if (scatter->operand_count() != 3 || !scatter->operand(1)->shape().IsZeroSized() ||
      !Compatible(scatter->operand(0)->shape(), scatter->operand(2)->shape()) ||
      !attrs.inserted_window_dims.empty() || !attrs.input_batching_dims.empty() ||
      static_cast<int>(attrs.update_window_dims.size()) != scatter->shape().rank() ||
      scatter->shape().has_dynamic_dims() || !scatter->to_apply()->root()->shape().IsScalar())
    return nullptr;
  MapAttrs map;
  for (int64_t i = 0; i < scatter->shape().rank(); ++i) map.dimensions.push_back(i);
  return rewriter.Op(Opcode::kMap, {scatter->operand(0), scatter->operand(2)},
                     AttrsPtr::Make(std::move(map)), {scatter->to_apply()});
}

bool IsScatterAdd(const Instruction* scatter) {
  return scatter->opcode() == Opcode::kScatter && scatter->operand_count() == 3 &&
         scatter->use_count() == 1 && !scatter->is_root() && !scatter->has_control_edges() &&
         !scatter->shape().has_dynamic_dims() &&
         CombinerOpcode(*scatter->to_apply()) == Opcode::kAdd;
}

Instruction* ScatterInto(Rewriter& rewriter, const Instruction* scatter, Instruction* operand) {
  return rewriter.OpWithShape(Opcode::kScatter, scatter->shape(),
                              {operand, scatter->operand(1), scatter->operand(2)},
                              scatter->attrs_ptr(), {scatter->to_apply()});
}

// The dimension along which the indices of two scatters are put together: the one that differs,
// else the last one that may. None if they differ in several.
std::optional<int64_t> JoinedDim(const Instruction* a, const Instruction* b) {
  const Shape x = a->operand(1)->shape();
  const Shape y = b->operand(1)->shape();
  if (x.rank() != y.rank()) return std::nullopt;
  const auto& attrs = a->attrs<ScatterAttrs>();
  std::optional<int64_t> joined;
  bool differs = false;
  for (int dim = 0; dim < x.rank(); ++dim) {
    const bool equal = x.dim(dim) == y.dim(dim);
    if (dim == attrs.index_vector_dim || Contains(attrs.scatter_indices_batching_dims, dim)) {
      if (!equal) return std::nullopt;
      continue;
    }
    if (!equal && differs) return std::nullopt;
    if (!equal || !differs) joined = dim;
    differs = differs || !equal;
  }
  return joined;
}

// Whether both differ only in the values of their indices and updates, and in how many there are.
bool CanJoin(const Instruction* a, const Instruction* b) {
  const auto& x = a->attrs<ScatterAttrs>();
  const auto& y = b->attrs<ScatterAttrs>();
  return a->attrs_ptr() == b->attrs_ptr() && !x.unique_indices && !y.unique_indices &&
         !x.indices_are_sorted && !y.indices_are_sorted &&
         a->operand(1)->shape().element_type() == b->operand(1)->shape().element_type() &&
         a->operand(2)->shape().rank() == b->operand(2)->shape().rank() &&
         absl::c_all_of(x.update_window_dims, [&](int64_t dim) {
           return a->operand(2)->shape().dim(static_cast<int>(dim)) ==
                  b->operand(2)->shape().dim(static_cast<int>(dim));
         });
}

// scatter-add(a, i, u) + scatter-add(b, j, v)  =>  scatter-add(a + b, concatenate(i, j),
//     concatenate(u, v))
// x + scatter-add(o, i, u)  =>  scatter-add(x + o, i, u)
Instruction* AddOfScatters(Instruction* add, Rewriter& rewriter) {
  Instruction* lhs = add->operand(0);
  Instruction* rhs = add->operand(1);
  const bool both = IsScatterAdd(lhs) && IsScatterAdd(rhs) && lhs != rhs;
  if (!both) {
    if (IsScatterAdd(rhs)) return ScatterInto(rewriter, rhs, rewriter.Add(lhs, rhs->operand(0)));
    if (IsScatterAdd(lhs)) return ScatterInto(rewriter, lhs, rewriter.Add(lhs->operand(0), rhs));
    return nullptr;
  }
  const std::optional<int64_t> dim = JoinedDim(lhs, rhs);
  if (!dim || lhs->operand(2)->shape().element_count() + rhs->operand(2)->shape().element_count() >=
                  add->shape().element_count())
    return nullptr;
  Instruction* sum = rewriter.Add(lhs->operand(0), rhs->operand(0));
  if (!CanJoin(lhs, rhs)) return ScatterInto(rewriter, lhs, ScatterInto(rewriter, rhs, sum));
  const auto& attrs = lhs->attrs<ScatterAttrs>();
  // The scatter dimension of the updates that belongs to `dim` of the indices.
  const int64_t number = *dim - (*dim > attrs.index_vector_dim ? 1 : 0);
  int64_t updates_dim = -1;
  int64_t seen = 0;
  for (int64_t i = 0; i < lhs->operand(2)->shape().rank(); ++i) {
    if (Contains(attrs.update_window_dims, i)) continue;
    if (seen++ == number) updates_dim = i;
  }
  Instruction* indices = rewriter.Concatenate({lhs->operand(1), rhs->operand(1)}, *dim);
  Instruction* updates = rewriter.Concatenate({lhs->operand(2), rhs->operand(2)}, updates_dim);
  return rewriter.OpWithShape(Opcode::kScatter, add->shape().WithDefaultLayout(),
                              {sum, indices, updates}, lhs->attrs_ptr(), {lhs->to_apply()});
}

constexpr Rule kGatherScatterRules[] = {
    {"gather-of-nothing", Opcode::kGather, kExact, GatherOfNothing},
    {"gather-of-scalar", Opcode::kGather, kExact, GatherOfScalar},
    {"gather-of-pad", Opcode::kGather, kExact, GatherOfPad},
    {"gather-of-reshaped-pad", Opcode::kGather, kExact, GatherOfReshapedPad},
    {"scatter-of-nothing", Opcode::kScatter, kExact, ScatterOfNothing},
    {"scatter-of-whole", Opcode::kScatter, kExact, ScatterOfWhole},
};
constexpr Rule kSumOfScattersRules[] = {
    {"add-of-scatters", Opcode::kAdd, kReassociate, AddOfScatters},
};

// One table per size.
constexpr Rule FewRule(Instruction* (*apply)(Instruction*, Rewriter&)) {
  return {"gather-of-few", Opcode::kGather, kExact, apply};
}
constexpr Rule kGatherOfFewRules[] = {FewRule(GatherOfFew<1>), FewRule(GatherOfFew<2>),
                                      FewRule(GatherOfFew<3>), FewRule(GatherOfFew<4>),
                                      FewRule(GatherOfFew<5>), FewRule(GatherOfFew<6>),
                                      FewRule(GatherOfFew<7>), FewRule(GatherOfFew<8>)};

}  // namespace

std::span<const Rule> GatherScatterRules() { return kGatherScatterRules; }
std::span<const Rule> SumOfScattersRules() { return kSumOfScattersRules; }
std::span<const Rule> SmallGatherRules(int64_t size) {
  if (size < 1) return {};
  const auto last = std::min<int64_t>(size, std::size(kGatherOfFewRules)) - 1;
  return std::span<const Rule>(kGatherOfFewRules).subspan(static_cast<size_t>(last), 1);
}

}  // namespace hlo::algsimp
