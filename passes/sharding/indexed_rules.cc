// Shardings through gather and scatter, both ways: along batch dimensions (named, or found because
// the indices count along them), along dimensions that slices have whole, and from the indices to
// what is read or written with them.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "lib/ops/attrs.h"
#include "lib/types/shape_util.h"
#include "passes/sharding/dimension_maps.h"
#include "passes/sharding/propagation_rules.h"

namespace hlo {
namespace {

using Context = PropagationContext;

// A sharding along some dimensions, given to those of another array.
TiledSharding AlongPairs(const TiledSharding& sharding, const DimVec& from, const DimVec& to,
                         Shape target) {
  if (!IsTiled(sharding)) return sharding;
  return MapDims(sharding, MapOfPairs(from, to, sharding.data_rank()), target.rank());
}

TiledSharding AlongMap(const TiledSharding& sharding, const DimMap& map, Shape target) {
  return MapDims(sharding, map, target.rank());
}

// What there is to say of another array; nothing if that is that nothing is split.
std::optional<TiledSharding> IfSplit(TiledSharding sharding) {
  if (IsWhole(sharding)) return std::nullopt;
  return sharding;
}

// Both together, or the first one.
std::optional<TiledSharding> Joined(std::optional<TiledSharding> first,
                                    std::optional<TiledSharding> second) {
  if (!second.has_value()) return first;
  if (!first.has_value()) return second;
  TiledSharding merged = *second;
  if (MergeBetter(*first, merged, /*may_combine=*/true)) return merged;
  MergeBetter(*second, *first, /*may_combine=*/true);
  return first;
}

ParallelDims AllParallel(const IndexedDims& dims) {
  ParallelDims all = ExplicitBatch(dims);
  const ParallelDims counted = CountedBatch(dims);
  all.operand.insert(all.operand.end(), counted.operand.begin(), counted.operand.end());
  all.indices.insert(all.indices.end(), counted.indices.begin(), counted.indices.end());
  all.result.insert(all.result.end(), counted.result.begin(), counted.result.end());
  return all;
}

// ---- gather ----

bool ImproveAlong(Instruction& gather, const ParallelDims& parallel, const Context& context) {
  if (parallel.empty()) return false;
  bool changed = false;
  const auto improve = [&](const Instruction& source, const DimVec& dims) {
    if (!IsSpread(source)) return;
    changed |=
        Improve(gather, AlongPairs(*LeafSharding(source), dims, parallel.result, gather.shape()),
                context.Keeping());
  };
  improve(*gather.operand(0), parallel.operand);
  improve(*gather.operand(1), parallel.indices);
  return changed;
}

// ---- scatter ----

struct ScatterParts {
  explicit ScatterParts(const Instruction& of) : count(of.operand_count() / 2), scatter(of) {}
  int count;
  const Instruction& scatter;
  const Instruction& operand(int i) const { return *scatter.operand(i); }
  const Instruction& indices() const { return *scatter.operand(count); }
  const Instruction& updates(int i) const { return *scatter.operand(count + 1 + i); }
  bool HasSpreadUpdates() const {
    for (int i = 0; i < count; ++i) {
      if (IsSpread(updates(i))) return true;
    }
    return false;
  }
  Sharding ResultSharding(int i) const {
    const Sharding& sharding = *scatter.sharding();
    return sharding.is_tuple ? ElementSharding(sharding, scatter.shape(), i) : sharding;
  }
};

bool ImproveAlong(Instruction& scatter, const ScatterParts& parts, const ParallelDims& parallel,
                  const Context& context) {
  if (parallel.empty()) return false;
  bool changed = false;
  const auto improve = [&](const Instruction& source, const DimVec& dims, int element) {
    if (!IsSpread(source)) return;
    changed |= ImproveElement(
        scatter, element,
        AlongPairs(*LeafSharding(source), dims, parallel.operand, parts.operand(element).shape()),
        context.Keeping());
  };
  for (int i = 0; i < parts.count; ++i) improve(parts.operand(i), parallel.operand, i);
  for (int i = 0; i < parts.count; ++i) improve(parts.indices(), parallel.indices, i);
  for (int i = 0; i < parts.count; ++i) improve(parts.updates(i), parallel.result, i);
  return changed;
}

bool ImproveFromUpdates(Instruction& scatter, const ScatterParts& parts, const IndexedDims& dims,
                        const Context& context) {
  bool changed = false;
  for (int i = 0; i < parts.count; ++i) {
    if (!IsSpread(parts.updates(i))) continue;
    const Shape shape = parts.operand(i).shape();
    const DimMap back = InverseMap(dims.OperandToResult(), dims.result.rank());
    const TiledSharding& given = *LeafSharding(parts.updates(i));
    TiledSharding sharding = AlongMap(given, back, shape);
    if (!IsTiled(given) || !IsWhole(sharding))
      changed |= ImproveElement(scatter, i, std::move(sharding), context.Keeping());
  }
  return changed;
}

std::optional<Sharding> IndicesOfScatter(const ScatterParts& parts, const IndexedDims& dims) {
  std::vector<TiledSharding> wishes;
  const Shape shape = parts.indices().shape();
  const DimMap back = InverseMap(dims.IndicesToResult(), dims.result.rank());
  for (int i = 0; i < parts.count; ++i) {
    if (IsSpread(parts.updates(i)))
      wishes.push_back(AlongMap(*LeafSharding(parts.updates(i)), back, shape));
  }
  if (wishes.empty()) return std::nullopt;
  return Sharding::Of(CommonSharding(wishes, wishes[0]));
}

// Updates as the result says, together with what the indices say.
std::optional<Sharding> UpdatesOfScatter(const ScatterParts& parts, const IndexedDims& dims, int i,
                                         const Context& context) {
  TiledSharding from_indices;
  if (IsSpread(parts.indices()))
    from_indices = AlongMap(*LeafSharding(parts.indices()), dims.IndicesToResult(), dims.result);
  if (context.is_spmd) {
    const Sharding result = parts.ResultSharding(i);
    const TiledSharding& given = LeafAt(result, 0);
    std::optional<TiledSharding> wish;
    if (!IsTiled(given)) wish = given;
    if (const ParallelDims parallel = AllParallel(dims); !wish && !parallel.empty())
      wish = AlongPairs(given, parallel.operand, parallel.result, dims.result);
    if (IsTiled(given))
      wish = Joined(wish, IfSplit(AlongMap(given, dims.OperandToResult(), dims.result)));
    if (wish.has_value()) {
      if (!IsManual(from_indices) && !IsManual(*wish)) MergeIfCompatible(from_indices, *wish);
      if (!IsWhole(*wish)) return Sharding::Of(*std::move(wish));
    }
  }
  if (IsWhole(from_indices)) return std::nullopt;
  return Sharding::Of(std::move(from_indices));
}

}  // namespace

bool ImproveGather(Instruction& gather, const PropagationContext& context) {
  const IndexedDims dims = DimsOfGather(gather);
  bool changed = ImproveAlong(gather, ExplicitBatch(dims), context);
  if (IsSpread(*dims.indices)) {
    changed |=
        Improve(gather, AlongMap(*LeafSharding(*dims.indices), dims.IndicesToResult(), dims.result),
                context.Keeping());
  }
  if (!context.is_spmd) return changed;
  const ParallelDims counted = CountedBatch(dims);
  changed |= ImproveAlong(gather, counted, context);
  if (!IsSpread(*dims.operand) || !IsTiled(*LeafSharding(*dims.operand))) return changed;
  const TiledSharding others = ReplicateDims(*LeafSharding(*dims.operand), counted.operand);
  if (const auto through = IfSplit(AlongMap(others, dims.OperandToResult(), dims.result)))
    changed |= IsTiled(others) && Improve(gather, *through, context.Keeping());
  return changed;
}

std::optional<Sharding> OperandOfGather(const Instruction& operand, const Instruction& gather,
                                        const PropagationContext& context) {
  const IndexedDims dims = DimsOfGather(gather);
  const TiledSharding& result = *LeafSharding(gather);
  if (&operand == dims.indices) {
    return Sharding::Of(
        AlongMap(result, InverseMap(dims.IndicesToResult(), dims.result.rank()), operand.shape()));
  }
  if (!context.is_spmd) return std::nullopt;
  if (!IsTiled(result)) return Sharding::Of(result);
  std::optional<TiledSharding> wish;
  if (const ParallelDims parallel = AllParallel(dims); !parallel.empty())
    wish = AlongPairs(result, parallel.result, parallel.operand, operand.shape());
  const DimMap back = InverseMap(dims.OperandToResult(), dims.result.rank());
  wish = Joined(std::move(wish), IfSplit(AlongMap(result, back, operand.shape())));
  if (!wish.has_value()) return std::nullopt;
  return Sharding::Of(*std::move(wish));
}

bool ImproveScatter(Instruction& scatter, const PropagationContext& context) {
  const IndexedDims dims = DimsOfScatter(scatter);
  const ScatterParts parts(scatter);
  bool changed = ImproveAlong(scatter, parts, ExplicitBatch(dims), context);
  if (!context.is_spmd) return Improve(scatter, TiledSharding(), context.Keeping()) || changed;
  for (int i = 0; i < parts.count; ++i) {
    if (IsSpread(parts.operand(i)))
      changed |= ImproveElement(scatter, i, *LeafSharding(parts.operand(i)), context.Keeping());
  }
  if (!IsSpread(parts.indices()) && !parts.HasSpreadUpdates()) return changed;
  changed |= ImproveAlong(scatter, parts, CountedBatch(dims), context);
  return ImproveFromUpdates(scatter, parts, dims, context) || changed;
}

std::optional<Sharding> OperandOfScatter(const Instruction& operand, const Instruction& scatter,
                                         const PropagationContext& context) {
  const ScatterParts parts(scatter);
  const int number = OperandNumber(scatter, operand);
  if (number < parts.count) return parts.ResultSharding(number);
  const IndexedDims dims = DimsOfScatter(scatter);
  if (number == parts.count) return IndicesOfScatter(parts, dims);
  return UpdatesOfScatter(parts, dims, number - parts.count - 1, context);
}

}  // namespace hlo
