// Rules rooted at slice, concatenate and pad.
#include <algorithm>

#include "passes/algsimp/moves.h"
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

const SliceRanges& Ranges(const Instruction* slice) { return slice->attrs<SliceAttrs>().slice; }

bool IsUnstrided(const Instruction* slice) {
  return std::all_of(Ranges(slice).begin(), Ranges(slice).end(),
                     [](const SliceRange& range) { return range.stride == 1; });
}

// Whether `ranges` take all of `shape`.
bool IsWhole(Shape shape, const SliceRanges& ranges) {
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!(ranges[i] == SliceRange{0, shape.dim(static_cast<int>(i)), 1})) return false;
  }
  return true;
}

// ---- slice ----

Instruction* SliceOfWhole(Instruction* slice, Rewriter&) {
  return Compatible(slice->operand(0)->shape(), slice->shape()) && IsUnstrided(slice)
             ? slice->operand(0)
             : nullptr;
}

// A stride that takes one element  =>  stride 1
Instruction* SliceRedundantStride(Instruction* slice, Rewriter& rewriter) {
  SliceRanges ranges = Ranges(slice);
  bool changed = false;
  for (SliceRange& range : ranges) {
    if (range.stride == 1 || range.start + range.stride < range.limit || range.start >= range.limit)
      continue;
    range.limit = range.start + 1;
    range.stride = 1;
    changed = true;
  }
  return changed ? SliceLike(rewriter, slice->operand(0), ranges) : nullptr;
}

// slice(slice(x))  =>  slice(x)
Instruction* SliceOfSlice(Instruction* slice, Rewriter& rewriter) {
  Instruction* inner = slice->operand(0);
  if (inner->opcode() != Opcode::kSlice || !IsUnstrided(slice) || !IsUnstrided(inner))
    return nullptr;
  SliceRanges ranges = Ranges(slice);
  for (size_t i = 0; i < ranges.size(); ++i) {
    ranges[i].start += Ranges(inner)[i].start;
    ranges[i].limit += Ranges(inner)[i].start;
  }
  return SliceLike(rewriter, inner->operand(0), ranges);
}

// slice(pad(x, v))  =>  broadcast(v) in the padding, x where it takes back the padding, slice(x)
//     where there is none
Instruction* SliceOfPad(Instruction* slice, Rewriter& rewriter) {
  Instruction* pad = slice->operand(0);
  if (pad->opcode() != Opcode::kPad || slice->shape().has_dynamic_dims()) return nullptr;
  const PaddingConfig& padding = pad->attrs<PadAttrs>().padding;
  Instruction* x = pad->operand(0);
  SliceRanges ranges = Ranges(slice);
  bool inside = true;
  bool undone = Compatible(x->shape(), slice->shape());
  for (size_t i = 0; i < ranges.size(); ++i) {
    SliceRange& range = ranges[i];
    const PaddingDim& dim = padding.dims[i];
    const int64_t last = pad->shape().dim(static_cast<int>(i)) - dim.high;
    if (range.limit <= dim.low || range.start >= last)
      return BroadcastTo(rewriter, pad->operand(1), slice->shape(), {});
    undone = undone && range.start == dim.low && range.stride == dim.interior + 1;
    inside = inside && dim.interior == 0 && range.stride == 1 && range.start >= dim.low &&
             range.limit <= last;
    range.start -= dim.low;
    range.limit -= dim.low;
  }
  if (undone) return x;
  return inside ? SliceLike(rewriter, x, ranges) : nullptr;
}

// slice(broadcast(x))  =>  broadcast(slice(x))
Instruction* SliceOfBroadcast(Instruction* slice, Rewriter& rewriter) {
  Instruction* broadcast = slice->operand(0);
  if (broadcast->opcode() != Opcode::kBroadcast || slice->shape().has_dynamic_dims())
    return nullptr;
  const DimVec& dims = BroadcastDims(broadcast);
  Instruction* x = broadcast->operand(0);
  SliceRanges ranges;
  for (int64_t dim : dims) ranges.push_back(Ranges(slice)[static_cast<size_t>(dim)]);
  if (!IsWhole(x->shape(), ranges)) x = SliceLike(rewriter, x, ranges);
  return BroadcastTo(rewriter, x, slice->shape(), dims);
}

int64_t ConcatDim(const Instruction* concat) {
  return concat->attrs<ConcatenateAttrs>().dimensions.value;
}

// A concatenation of other parts along the same dimension, laid out as `concat` is.
Instruction* ConcatLike(Rewriter& rewriter, const Instruction* concat,
                        absl::Span<Instruction* const> parts) {
  const auto dim = static_cast<int>(ConcatDim(concat));
  int64_t size = 0;
  for (const Instruction* part : parts) size += part->shape().dim(dim);
  return rewriter.OpWithShape(Opcode::kConcatenate, concat->shape().WithDim(dim, size), parts,
                              concat->attrs_ptr());
}

// The operands of a concatenation that elements in `range` of its dimension are of, and where the
// first of them begins.
std::pair<std::vector<Instruction*>, int64_t> OperandsIn(const Instruction* concat,
                                                         const SliceRange& range) {
  const auto dim = static_cast<int>(ConcatDim(concat));
  std::vector<Instruction*> touched;
  int64_t at = 0;
  int64_t first = 0;
  for (Instruction* part : concat->operands()) {
    const int64_t end = at + part->shape().dim(dim);
    if (end > range.start && at < range.limit) {
      if (touched.empty()) first = at;
      touched.push_back(part);
    }
    at = end;
  }
  return {std::move(touched), first};
}

// slice(concatenate(…)) that touches fewer operands  =>  slice of those
Instruction* SliceOfConcat(Instruction* slice, Rewriter& rewriter) {
  Instruction* concat = slice->operand(0);
  if (concat->opcode() != Opcode::kConcatenate || !IsUnstrided(slice)) return nullptr;
  const auto dim = static_cast<size_t>(ConcatDim(concat));
  SliceRanges ranges = Ranges(slice);
  SliceRange& cut = ranges[dim];
  const auto [touched, first] = OperandsIn(concat, cut);
  if (touched.empty() || static_cast<int>(touched.size()) == concat->operand_count())
    return nullptr;
  cut.start -= first;
  cut.limit -= first;
  Instruction* x = touched.size() == 1 ? touched[0] : ConcatLike(rewriter, concat, touched);
  return Compatible(x->shape(), slice->shape()) ? x : SliceLike(rewriter, x, ranges);
}

// The same, unless it makes one array more: what several slices of a padded image read is one.
Instruction* SliceOfOwnConcat(Instruction* slice, Rewriter& rewriter) {
  const Instruction* concat = slice->operand(0);
  if (concat->opcode() != Opcode::kConcatenate) return nullptr;
  const SliceRange& cut = Ranges(slice)[static_cast<size_t>(ConcatDim(concat))];
  if (!concat->has_one_user() && OperandsIn(concat, cut).first.size() > 1) return nullptr;
  return SliceOfConcat(slice, rewriter);
}

// The corner of `x` that has its first `count` elements and no others; none where they are none.
std::optional<SliceRanges> FirstElements(Shape x, int64_t count) {
  SliceRanges ranges(static_cast<size_t>(x.rank()));
  for (int d = x.rank(); d-- > 0;) {
    const int64_t size = std::min(count, x.dim(d));
    if (count % size != 0) return std::nullopt;
    count /= size;
    ranges[static_cast<size_t>(d)] = {0, size, 1};
  }
  return ranges;
}

// slice(reshape(x)) of the first rows of dimension 0, which are a corner of x
//     =>  reshape(slice(x))
Instruction* SliceOfReshape(Instruction* slice, Rewriter& rewriter) {
  const Instruction* reshape = slice->operand(0);
  if (reshape->opcode() != Opcode::kReshape || !IsUnstrided(slice) ||
      reshape->shape().has_dynamic_dims() || slice->shape().IsZeroSized() ||
      reshape->shape().rank() == 0)
    return nullptr;
  const SliceRange rows = Ranges(slice)[0];
  if (rows.start != 0 || rows.limit == reshape->shape().dim(0)) return nullptr;
  for (int i = 1; i < reshape->shape().rank(); ++i) {
    if (slice->shape().dim(i) != reshape->shape().dim(i)) return nullptr;
  }
  Instruction* x = reshape->operand(0);
  const std::optional<SliceRanges> corner =
      FirstElements(x->shape(), slice->shape().element_count());
  if (!corner) return nullptr;
  return ReshapeTo(rewriter, SliceLike(rewriter, x, *corner), slice->shape());
}

// slice(reverse(x))  =>  reverse(slice(x))
Instruction* SliceOfReverse(Instruction* slice, Rewriter& rewriter) {
  Instruction* reverse = slice->operand(0);
  if (reverse->opcode() != Opcode::kReverse) return nullptr;
  const DimVec& dims = reverse->attrs<ReverseAttrs>().dimensions;
  SliceRanges ranges = Ranges(slice);
  for (int64_t dim : dims) {
    SliceRange& range = ranges[static_cast<size_t>(dim)];
    const int64_t size = reverse->shape().dim(static_cast<int>(dim));
    const int64_t taken = slice->shape().dim(static_cast<int>(dim));
    if (taken == 0) return nullptr;
    const int64_t last = range.start + (taken - 1) * range.stride;
    range.limit = size - range.start;
    range.start = size - 1 - last;
  }
  return rewriter.OpWithShape(Opcode::kReverse, slice->shape(),
                              {SliceLike(rewriter, reverse->operand(0), ranges)},
                              reverse->attrs_ptr());
}

// ---- concatenate ----

// One operand  =>  it; operands without elements go
Instruction* ConcatOfOne(Instruction* concat, Rewriter& rewriter) {
  if (concat->operand_count() == 1)
    return Compatible(concat->operand(0)->shape(), concat->shape()) ? concat->operand(0) : nullptr;
  std::vector<Instruction*> parts;
  for (Instruction* part : concat->operands()) {
    if (!part->shape().IsZeroSized() || part->shape().has_dynamic_dims()) parts.push_back(part);
  }
  if (static_cast<int>(parts.size()) == concat->operand_count()) return nullptr;
  if (parts.empty()) return concat->operand(0);
  return parts.size() == 1 ? parts[0] : ConcatLike(rewriter, concat, parts);
}

// concatenate(concatenate(x, y), z)  =>  concatenate(x, y, z)
Instruction* ConcatOfConcat(Instruction* concat, Rewriter& rewriter) {
  const auto nested = [&](const Instruction* part) {
    return part->opcode() == Opcode::kConcatenate && ConcatDim(part) == ConcatDim(concat);
  };
  if (absl::c_none_of(concat->operands(), nested)) return nullptr;
  std::vector<Instruction*> parts;
  for (Instruction* part : concat->operands()) {
    if (nested(part)) {
      for (Instruction* inner : part->operands()) parts.push_back(inner);
    } else {
      parts.push_back(part);
    }
  }
  return ConcatLike(rewriter, concat, parts);
}

// Whether b starts where a ends, both slices of the same value.
bool Touches(const Instruction* a, const Instruction* b, int64_t dim) {
  if (a->opcode() != Opcode::kSlice || b->opcode() != Opcode::kSlice ||
      a->operand(0) != b->operand(0) || !IsUnstrided(a) || !IsUnstrided(b))
    return false;
  for (size_t i = 0; i < Ranges(a).size(); ++i) {
    const SliceRange& x = Ranges(a)[i];
    const SliceRange& y = Ranges(b)[i];
    if (static_cast<int64_t>(i) == dim ? x.limit != y.start : !(x == y)) return false;
  }
  return true;
}

// concatenate(x[1:3], x[3:7], y)  =>  concatenate(x[1:7], y)
Instruction* ConcatOfSlices(Instruction* concat, Rewriter& rewriter) {
  const int64_t dim = ConcatDim(concat);
  std::vector<Instruction*> parts;
  bool changed = false;
  for (int i = 0; i < concat->operand_count();) {
    int end = i + 1;
    while (end < concat->operand_count() &&
           Touches(concat->operand(end - 1), concat->operand(end), dim))
      ++end;
    Instruction* part = concat->operand(i);
    if (end > i + 1) {
      SliceRanges ranges = Ranges(part);
      ranges[static_cast<size_t>(dim)].limit =
          Ranges(concat->operand(end - 1))[static_cast<size_t>(dim)].limit;
      part = SliceLike(rewriter, part->operand(0), ranges);
      changed = true;
    }
    parts.push_back(part);
    i = end;
  }
  if (!changed) return nullptr;
  return parts.size() == 1 ? parts[0] : ConcatLike(rewriter, concat, parts);
}

// concatenate(x, broadcast(scalar))  =>  pad(x, scalar)
Instruction* ConcatToPad(Instruction* concat, Rewriter& rewriter) {
  if (concat->operand_count() != 2 || concat->shape().has_dynamic_dims()) return nullptr;
  for (int side = 0; side < 2; ++side) {
    Instruction* splat = concat->operand(side);
    Instruction* x = concat->operand(1 - side);
    if (splat->opcode() != Opcode::kBroadcast || !splat->operand(0)->shape().IsScalar()) continue;
    PaddingConfig padding;
    padding.dims.resize(static_cast<size_t>(concat->shape().rank()));
    const int64_t dim = ConcatDim(concat);
    const int64_t amount = splat->shape().dim(static_cast<int>(dim));
    (side == 1 ? padding.dims[static_cast<size_t>(dim)].high
               : padding.dims[static_cast<size_t>(dim)].low) = amount;
    return rewriter.Pad(x, splat->operand(0), padding);
  }
  return nullptr;
}

// concatenate(x, x, x) along a dimension of size 1  =>  broadcast(reshape(x))
// Two operands stay as they are.
Instruction* ConcatOfSame(Instruction* concat, Rewriter& rewriter) {
  Instruction* x = concat->operand(0);
  const int64_t dim = ConcatDim(concat);
  if (concat->operand_count() < 3 || x->shape().dim(static_cast<int>(dim)) != 1 ||
      concat->shape().has_dynamic_dims())
    return nullptr;
  for (const Instruction* part : concat->operands()) {
    if (part != x) return nullptr;
  }
  DimVec dims;
  for (int64_t i = 0; i < concat->shape().rank(); ++i) {
    if (i != dim) dims.push_back(i);
  }
  return BroadcastTo(rewriter, rewriter.Reshape(x, DimsWithout(x->shape().dims(), {dim})),
                     concat->shape(), dims);
}

// ---- pad ----

// pad of nothing  =>  broadcast(v);  pad by nothing  =>  x
Instruction* PadOfNothing(Instruction* pad, Rewriter& rewriter) {
  if (pad->operand(0)->shape().IsZeroSized() && !pad->shape().has_dynamic_dims())
    return BroadcastTo(rewriter, pad->operand(1), pad->shape(), {});
  const auto& dims = pad->attrs<PadAttrs>().padding.dims;
  const bool nothing =
      absl::c_all_of(dims, [](const PaddingDim& dim) { return dim == PaddingDim(); });
  return nothing ? pad->operand(0) : nullptr;
}

// Interior padding of dimensions of size 1  =>  0
Instruction* PadInterior(Instruction* pad, Rewriter& rewriter) {
  PaddingConfig padding = pad->attrs<PadAttrs>().padding;
  bool changed = false;
  for (size_t i = 0; i < padding.dims.size(); ++i) {
    if (padding.dims[i].interior == 0 || pad->operand(0)->shape().dim(static_cast<int>(i)) != 1)
      continue;
    padding.dims[i].interior = 0;
    changed = true;
  }
  return changed ? PadLike(rewriter, pad->operand(0), pad->operand(1), padding, pad) : nullptr;
}

// pad(broadcast(x), v) where all dimensions of x are padded and some other is not
//     =>  broadcast(pad(x, v))
Instruction* PadOfBroadcast(Instruction* pad, Rewriter& rewriter) {
  Instruction* broadcast = pad->operand(0);
  if (broadcast->opcode() != Opcode::kBroadcast || !broadcast->has_one_user() ||
      pad->shape().has_dynamic_dims())
    return nullptr;
  const PaddingConfig& padding = pad->attrs<PadAttrs>().padding;
  DimVec padded, sizes, places;  // the padded dimensions, and where x's are among them
  PaddingConfig small;
  for (int i = 0; i < padding.rank(); ++i) {
    if (padding[i] == PaddingDim()) continue;
    padded.push_back(i);
    sizes.push_back(broadcast->shape().dim(i));
    small.dims.push_back(padding[i]);
  }
  if (padded.empty() || static_cast<int>(padded.size()) == padding.rank()) return nullptr;
  for (int64_t dim : BroadcastDims(broadcast)) {
    const auto place = absl::c_find(padded, dim);
    if (place == padded.end()) return nullptr;
    places.push_back(place - padded.begin());
  }
  Instruction* x = broadcast->operand(0);
  if (places.size() != padded.size() || !IsAscending(places))
    x = rewriter.Broadcast(x, sizes, places);
  return BroadcastTo(rewriter, PadLike(rewriter, x, pad->operand(1), small, pad), pad->shape(),
                     padded);
}

// Negative padding  =>  slice(pad with the rest)
Instruction* PadNegative(Instruction* pad, Rewriter& rewriter) {
  PaddingConfig padding = pad->attrs<PadAttrs>().padding;
  const Shape result = pad->shape();
  if (result.has_dynamic_dims()) return nullptr;
  SliceRanges ranges;
  bool negative = false;
  bool any_left = false;
  for (size_t i = 0; i < padding.dims.size(); ++i) {
    PaddingDim& dim = padding.dims[i];
    const int64_t start = std::max<int64_t>(0, -dim.low);
    negative = negative || dim.low < 0 || dim.high < 0;
    dim.low = std::max<int64_t>(0, dim.low);
    dim.high = std::max<int64_t>(0, dim.high);
    any_left = any_left || !(dim == PaddingDim());
    ranges.push_back({start, start + result.dim(static_cast<int>(i)), 1});
  }
  if (!negative) return nullptr;
  Instruction* x = pad->operand(0);
  if (any_left) x = PadLike(rewriter, x, pad->operand(1), padding, pad);
  return SliceLike(rewriter, x, ranges);
}

constexpr Rule kMovementRules[] = {
    {"slice-of-whole", Opcode::kSlice, kExact, SliceOfWhole},
    {"slice-redundant-stride", Opcode::kSlice, kExact, SliceRedundantStride},
    {"slice-of-pad", Opcode::kSlice, kExact, SliceOfPad},
    {"slice-of-slice", Opcode::kSlice, kExact, SliceOfSlice},
    {"slice-of-broadcast", Opcode::kSlice, kExact, SliceOfBroadcast},
    {"slice-of-reverse", Opcode::kSlice, kExact, SliceOfReverse},
    {"concatenate-of-one", Opcode::kConcatenate, kExact, ConcatOfOne},
    {"pad-of-nothing", Opcode::kPad, kExact, PadOfNothing},
    {"pad-interior", Opcode::kPad, kExact, PadInterior},
    {"pad-of-broadcast", Opcode::kPad, kExact, PadOfBroadcast},
};
constexpr Rule kSliceOfConcatRules[] = {
    {"slice-of-concatenate", Opcode::kSlice, kExact, SliceOfConcat}};
constexpr Rule kSliceOfOwnConcatRules[] = {
    {"slice-of-concatenate", Opcode::kSlice, kExact, SliceOfOwnConcat}};
constexpr Rule kFreeConcatRules[] = {
    {"concatenate-of-concatenate", Opcode::kConcatenate, kExact, ConcatOfConcat},
    {"concatenate-of-slices", Opcode::kConcatenate, kExact, ConcatOfSlices},
    {"concatenate-to-pad", Opcode::kConcatenate, kExact, ConcatToPad},
    {"concatenate-of-same", Opcode::kConcatenate, kExact, ConcatOfSame},
};
constexpr Rule kSliceOfReshapeRules[] = {
    {"slice-of-reshape", Opcode::kSlice, kExact, SliceOfReshape}};
constexpr Rule kNegativePaddingRules[] = {{"pad-negative", Opcode::kPad, kExact, PadNegative}};

}  // namespace

std::span<const Rule> MovementRules() { return kMovementRules; }
std::span<const Rule> SliceOfConcatRules(bool keeps_shared) {
  return keeps_shared ? std::span<const Rule>(kSliceOfOwnConcatRules) : kSliceOfConcatRules;
}
std::span<const Rule> FreeConcatRules() { return kFreeConcatRules; }
std::span<const Rule> SliceOfReshapeRules() { return kSliceOfReshapeRules; }
std::span<const Rule> NegativePaddingRules() { return kNegativePaddingRules; }

}  // namespace hlo::algsimp
