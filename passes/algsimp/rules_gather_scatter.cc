// Rules rooted at gather and scatter, and sums of scatters.
#include <algorithm>

#include "lib/analysis/region.h"
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
  return rewriter.Broadcast(x, gather->shape().dims(), {});
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
      !SameDimensions(gather->shape(), indices->shape()))
    return nullptr;
  const auto element = [&](int64_t i) {
    return rewriter.Broadcast(rewriter.Reshape(rewriter.Slice(x, {i}, {i + 1}), {}),
                              gather->shape().dims(), {});
  };
  // Elements that no index reaches are out: their numbers are others in its type.
  const int64_t largest = Literal::MaxValue(indices->shape().element_type()).GetInt();
  const int64_t count =
      largest < 0 ? x->shape().dim(0) : std::min(x->shape().dim(0) - 1, largest) + 1;
  Instruction* result = element(0);
  for (int64_t i = 0; i < count; ++i) {
    Instruction* number =
        SplatOf(rewriter, indices->shape().element_type(), static_cast<double>(i), indices);
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

// gather(pad(x), pad(i)) that pads batching dimensions, all alike  =>  pad(gather(x, i))
// Whatever the indices are there, all that can be read is what was padded with.
Instruction* GatherOfPads(Instruction* gather, Rewriter& rewriter) {
  Instruction* x = gather->operand(0);
  Instruction* indices = gather->operand(1);
  if (x->opcode() != Opcode::kPad || indices->opcode() != Opcode::kPad ||
      x->shape().has_dynamic_dims() || indices->shape().has_dynamic_dims() ||
      x->operand(0)->shape().IsZeroSized() || indices->operand(0)->shape().IsZeroSized())
    return nullptr;
  const GatherAttrs& attrs = Gathered(gather);
  const PaddingConfig& padding = x->attrs<PadAttrs>().padding;
  const PaddingConfig& index_padding = indices->attrs<PadAttrs>().padding;
  PaddingConfig after;
  after.dims.resize(static_cast<size_t>(gather->shape().rank()));
  int padded = 0, accounted = 0;
  for (const PaddingConfig* config : {&padding, &index_padding}) {
    for (const PaddingDim& dim : config->dims) padded += dim == PaddingDim{} ? 0 : 1;
  }
  for (size_t k = 0; k < attrs.operand_batching_dims.size(); ++k) {
    const PaddingDim& dim = padding.dims[static_cast<size_t>(attrs.operand_batching_dims[k])];
    if (dim == PaddingDim{}) continue;
    if (!(dim == index_padding.dims[static_cast<size_t>(attrs.start_indices_batching_dims[k])]) ||
        gather->shape().IsZeroSized() || Contains(attrs.slice_sizes, 0))
      return nullptr;
    after.dims[static_cast<size_t>(ResultOfBatching(gather, k))] = dim;
    accounted += 2;
  }
  if (accounted == 0 || accounted != padded) return nullptr;
  Instruction* slices =
      rewriter.Op(Opcode::kGather, {x->operand(0), indices->operand(0)}, gather->attrs_ptr());
  return rewriter.Pad(slices, x->operand(1), std::move(after));
}

// gather(pad(x)), or gather(reshape(pad(x))), that takes the padded dimensions as a whole
//     =>  pad(gather(x))
Instruction* GatherOfPad(Instruction* gather, Rewriter& rewriter) {
  Instruction* operand = gather->operand(0);
  const bool reshaped = operand->opcode() == Opcode::kReshape;
  Instruction* pad = reshaped ? operand->operand(0) : operand;
  const GatherAttrs& attrs = Gathered(gather);
  if (pad->opcode() != Opcode::kPad || operand->shape().has_dynamic_dims() ||
      pad->operand(0)->shape().IsZeroSized() || operand->shape().IsZeroSized() ||
      !attrs.operand_batching_dims.empty())
    return nullptr;
  const PaddingConfig& padding = pad->attrs<PadAttrs>().padding;
  const DimVec moved = UnmodifiedDims(pad->shape(), operand->shape());
  // Which dimension of the result has each dimension of the operand.
  std::vector<int64_t> in_result(static_cast<size_t>(operand->shape().rank()), -1);
  size_t next = 0;
  for (int64_t dim = 0; dim < operand->shape().rank(); ++dim) {
    if (!Contains(attrs.collapsed_slice_dims, dim))
      in_result[static_cast<size_t>(dim)] = attrs.offset_dims[next++];
  }
  GatherAttrs smaller = attrs;
  PaddingConfig after;
  after.dims.resize(static_cast<size_t>(gather->shape().rank()));
  DimVec sizes(operand->shape().dims().begin(), operand->shape().dims().end());
  bool pads = false;
  for (int i = 0; i < padding.rank(); ++i) {
    if (padding[i] == PaddingDim{}) continue;
    const int64_t dim = reshaped ? moved[static_cast<size_t>(i)] : i;
    if (dim < 0) return nullptr;
    const auto at = static_cast<size_t>(dim);
    if (in_result[at] < 0 || attrs.slice_sizes[at] != operand->shape().dim(static_cast<int>(dim)) ||
        Contains(attrs.start_index_map, dim))
      return nullptr;
    sizes[at] = pad->operand(0)->shape().dim(i);
    smaller.slice_sizes[at] = sizes[at];
    after.dims[static_cast<size_t>(in_result[at])] = padding[i];
    pads = true;
  }
  if (!pads) return nullptr;
  Instruction* x = pad->operand(0);
  if (reshaped) x = rewriter.Reshape(x, sizes);
  Instruction* slices =
      rewriter.Op(Opcode::kGather, {x, gather->operand(1)}, AttrsPtr::Make(std::move(smaller)));
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
      scatter->shape().rank() == 0 || scatter->shape().has_dynamic_dims())
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
         std::all_of(x.update_window_dims.begin(), x.update_window_dims.end(), [&](int64_t dim) {
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
    {"gather-of-pads", Opcode::kGather, kExact, GatherOfPads},
    {"scatter-of-nothing", Opcode::kScatter, kExact, ScatterOfNothing},
    {"scatter-of-whole", Opcode::kScatter, kExact, ScatterOfWhole},
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
std::span<const Rule> SmallGatherRules(int64_t size) {
  if (size < 1) return {};
  const auto last = std::min<int64_t>(size, std::size(kGatherOfFewRules)) - 1;
  return std::span<const Rule>(kGatherOfFewRules).subspan(static_cast<size_t>(last), 1);
}

}  // namespace hlo::algsimp
