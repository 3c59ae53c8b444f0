#include "passes/spmd/running_dims.h"

#include <map>

#include "absl/algorithm/container.h"
#include "lib/analysis/leaves.h"
#include "lib/support/round.h"
#include "lib/support/saturate.h"
#include "passes/spmd/halo.h"

namespace hlo {
namespace {

// Work of one element of the loops, in bytes moved.
constexpr int64_t kElementsPerByte = 64;
// What devices could receive while a collective gets under way.
constexpr int64_t kBytesPerCollective = 1 << 20;
// More operands are not asked how they would like it.
constexpr int kMostAsked = 4;

struct Way {
  DividedRun run;
  int64_t cost = 0;  // bytes moved, and the work
  int64_t collectives = 0;

  int64_t CostWithStarts() const { return cost + collectives * kBytesPerCollective; }
};

// Elements of the operand that a part of `part` elements reads.
int64_t SizeOfRange(const RunningDim::Reads& reads, int64_t part) {
  const int64_t last = reads.first + (part - 1) * reads.stride + reads.count - 1;
  return FloorDiv(last, reads.dilation) - CeilDiv(reads.first, reads.dilation) + 1;
}

// What the tiles of the loop, `part` elements each, need: all of them begin at the same place
// between two elements.
TileRanges RangesOf(const RunningDim::Reads& reads, const Placement& loops, int64_t loop,
                    int64_t part) {
  TileRanges ranges;
  for (int64_t device = 0; device < loops.devices(); ++device) {
    const int64_t first = reads.first + loops.tile_of(device, loop) * part * reads.stride;
    ranges.first.push_back(CeilDiv(first, reads.dilation));
  }
  ranges.size = SizeOfRange(reads, part);
  return ranges;
}

int64_t PartSize(int64_t size, int64_t tiles) { return CeilDiv(size, tiles); }

// ---- sums whose parts are wanted ----

struct ScatteredSum {
  int64_t dim = 0;
  GroupsOfDevices groups;  // in the order of the parts
  Placement placement;
};

// Where each of those that sum `placement` wants another part along one dimension; none if it is
// not so.
std::optional<ScatteredSum> ScatteredSumOf(const Placement& placement, const Placement& wanted,
                                           Shape whole, GroupsOfDevices groups) {
  const auto count = static_cast<int64_t>(groups[0].size());
  for (int64_t d = 0; d < placement.rank(); ++d) {
    if (wanted.tiles(d) % (placement.tiles(d) * count) != 0) continue;
    // Parts that are cut further are cut afterwards.
    const Placement parts = wanted.WithMergedTiles(d, wanted.tiles(d) / placement.tiles(d) / count);
    if (!Refines(wanted, parts, whole, d) || !Refines(parts, placement, whole, d)) continue;
    const auto part_of = [&](int64_t device) { return parts.tile_of(device, d) % count; };
    bool has_each = true;
    for (std::vector<int64_t>& group : groups) {
      absl::c_sort(group, [&](int64_t a, int64_t b) { return part_of(a) < part_of(b); });
      for (size_t i = 0; i < group.size(); ++i)
        has_each &= part_of(group[i]) == static_cast<int64_t>(i);
    }
    ScatteredSum sum{d, std::move(groups), placement.WithDim(d, parts)};
    if (has_each && sum.placement.IsSound()) return sum;
    groups = std::move(sum.groups);
  }
  return std::nullopt;
}

// Of one array: else there is none.
std::optional<ScatteredSum> ScatteredSumOf(Partitioner& partitioner, const Instruction& old,
                                           const RunningOp& op, const DividedRun& run) {
  if (op.combine || !old.shape().IsArray()) return std::nullopt;
  return ScatteredSumOf(run.result(), *partitioner.wanted(0), old.shape(),
                        run.loops.Groups(run.summed));
}

// ---- the choice ----

class Chooser {
 public:
  Chooser(Partitioner& partitioner, const Instruction& old, const RunningOp& op)
      : partitioner_(partitioner), old_(old), op_(op) {
    result_shape_ = old.shape().IsTuple() ? old.shape().element(0) : old.shape();
    for (const RunningDim& dim : op.dims) sizes_.push_back(SizeOf(dim));
  }

  int64_t size(int64_t loop) const { return sizes_[static_cast<size_t>(loop)]; }

  Way Choose() {
    std::vector<int> askers = {-1};  // the result, then operands
    for (int i = 0; i < old_.operand_count() && i < kMostAsked; ++i) {
      if (old_.operand(i)->shape().IsArray()) askers.push_back(i);
    }
    Offer({}, false);
    for (const int first : askers) {
      for (const int second : askers) {
        if (second != first || askers.size() == 1) Offer({first, second}, false);
      }
      Offer({first}, false);
    }
    for (const int asker : askers) Offer({asker}, true);
    const auto costs_less = [](const auto& a, const auto& b) {
      return a.second.cost < b.second.cost;
    };
    auto chosen = absl::c_min_element(best_, costs_less);
    // Who shares more of the work by fewer collectives may move more.
    for (auto other = std::next(chosen); other != best_.end(); ++other) {
      if (other->second.collectives < chosen->second.collectives &&
          other->second.CostWithStarts() < chosen->second.CostWithStarts())
        chosen = other;
    }
    return std::move(chosen->second);
  }

  // Operand i, divided like the loops.
  const Placement* OperandFor(const Placement& loops, int i) const {
    return ArrayFor(loops, old_.operand(i)->shape().rank(),
                    [&](const RunningDim& dim) { return dim.in[static_cast<size_t>(i)]; });
  }

 private:
  struct Source {
    size_t loop;
    const Placement* like;
    int64_t dim;
  };

  int64_t SizeOf(const RunningDim& dim) const {
    if (dim.out >= 0) return result_shape_.dim(static_cast<int>(dim.out));
    for (size_t i = dim.reads.has_value() ? static_cast<size_t>(dim.reads->operands) : 0;
         i < dim.in.size(); ++i) {
      if (dim.in[i] >= 0)
        return old_.operand(static_cast<int>(i))->shape().dim(static_cast<int>(dim.in[i]));
    }
    return 1;
  }

  const Placement& PlacementOf(int asker) const {
    return asker < 0 ? *partitioner_.wanted(0) : *partitioner_.Operand(old_, asker).placement;
  }
  static int64_t DimOf(const RunningDim& dim, int asker) {
    return asker < 0 ? dim.out : dim.in[static_cast<size_t>(asker)];
  }

  // Each loop is divided as the first of these divides it. If `moves`, what they divide otherwise
  // is exchanged for loops that nobody divides.
  void Offer(const std::vector<int>& order, bool moves) {
    std::vector<Source> sources;
    for (const int asker : order) {
      const Placement& placement = PlacementOf(asker);
      for (size_t loop = 0; loop < op_.dims.size(); ++loop)
        Add({loop, &placement, DimOf(op_.dims[loop], asker)}, sources);
      if (moves && !AddMoved(asker, sources)) return;
    }
    Placement loops = Joined(sources);
    if (!loops.IsSound()) {
      // As many of them, from the first one on, as can be together.
      std::vector<Source> kept;
      for (const Source& source : sources) {
        kept.push_back(source);
        if (!Joined(kept).IsSound()) kept.pop_back();
      }
      loops = Joined(kept);
    }
    const int64_t tiles = loops.tile_count();
    Way way = WayFor(std::move(loops));
    const auto [best, is_first] = best_.try_emplace(tiles);
    if (is_first || way.CostWithStarts() < best->second.CostWithStarts())
      best->second = std::move(way);
  }

  void Add(Source source, std::vector<Source>& sources) const {
    if (source.dim >= 0 && source.like->tiles(source.dim) > 1 && MayAdd(source, sources))
      sources.push_back(source);
  }

  // False if there is nothing to exchange.
  bool AddMoved(int asker, std::vector<Source>& sources) const {
    const Placement& placement = PlacementOf(asker);
    bool has_moved = false;
    for (int64_t d = 0; d < placement.rank(); ++d) {
      const int64_t tiles = placement.tiles(d);
      const bool is_taken = absl::c_any_of(
          sources, [&](const Source& source) { return DimOf(op_.dims[source.loop], asker) == d; });
      if (tiles == 1 || is_taken) continue;
      for (size_t loop = 0; loop < op_.dims.size(); ++loop) {
        const RunningDim& dim = op_.dims[loop];
        const Source source{loop, &placement, d};
        if (dim.out < 0 || dim.reads.has_value() || DimOf(dim, asker) < 0 ||
            sizes_[loop] % tiles != 0 || !MayAdd(source, sources))
          continue;
        sources.push_back(source);
        has_moved = true;
        break;
      }
    }
    return has_moved;
  }

  bool MayAdd(const Source& source, const std::vector<Source>& sources) const {
    const RunningDim& dim = op_.dims[source.loop];
    const int64_t tiles = source.like->tiles(source.dim);
    if (dim.groups > 0 && dim.groups % tiles != 0) return false;
    if (PartSize(sizes_[source.loop], tiles) < dim.least) return false;
    for (const Source& other : sources) {
      if (other.loop == source.loop) return false;
      // Loops along one dimension of an operand exclude each other.
      const RunningDim& there = op_.dims[other.loop];
      for (size_t i = 0; i < dim.in.size(); ++i) {
        if (dim.in[i] >= 0 && dim.in[i] == there.in[i]) return false;
      }
    }
    return !dim.reads.has_value() || CanRead(dim, source);
  }

  // Not where parts begin at other places between elements, or where there is nothing to read.
  bool CanRead(const RunningDim& dim, const Source& source) const {
    const RunningDim::Reads& reads = *dim.reads;
    if (old_.operand(0)->shape().IsZeroSized()) return false;
    const int64_t part = PartSize(sizes_[source.loop], source.like->tiles(source.dim));
    return part > 0 && part * reads.stride % reads.dilation == 0 && SizeOfRange(reads, part) > 0;
  }

  Placement Joined(const std::vector<Source>& sources) const {
    std::vector<Placement::Source> by_loop(op_.dims.size());
    for (const Source& source : sources) by_loop[source.loop] = {source.like, source.dim};
    return Placement::Join(by_loop, *partitioner_.regions());
  }

  // An array whose dimension dims[d] is the one of the loops.
  const Placement* ArrayFor(const Placement& loops, int rank,
                            const std::function<int64_t(const RunningDim&)>& dim_of) const {
    DimVec loop_of(static_cast<size_t>(rank), -1);
    for (size_t loop = 0; loop < op_.dims.size(); ++loop) {
      const int64_t d = dim_of(op_.dims[loop]);
      const auto l = static_cast<int64_t>(loop);
      if (d >= 0 && loops.tiles(l) > 1) loop_of[static_cast<size_t>(d)] = l;
    }
    return partitioner_.Keep(loops.Dims(loop_of));
  }

  Way WayFor(Placement loops) const {
    Way way;
    DividedRun& run = way.run;
    int64_t work = 1;
    for (size_t loop = 0; loop < op_.dims.size(); ++loop) {
      const auto l = static_cast<int64_t>(loop);
      work = SaturatingMul(work, sizes_[loop] / loops.tiles(l) + 1);
      if (op_.dims[loop].out < 0 && loops.tiles(l) > 1) run.summed.push_back(l);
    }
    for (int i = 0; i < old_.operand_count(); ++i) {
      const Shape shape = old_.operand(i)->shape();
      if (!shape.IsArray()) {
        run.operands.push_back(nullptr);
        continue;
      }
      const Placement* placement = OperandFor(loops, i);
      const Placement& now = *partitioner_.Operand(old_, i).placement;
      MoveWork move = WorkOfMove(now, *placement, shape);
      for (size_t loop = 0; loop < op_.dims.size(); ++loop) {
        if (IsRead(loop, i) && loops.tiles(static_cast<int64_t>(loop)) > 1)
          placement = ReadPlacement(loops, loop, i, placement, move);
      }
      work = std::max(work, placement->TileShape(shape).element_count());
      run.operands.push_back(placement);
      way.cost += move.bytes;
      way.collectives += move.collectives;
    }
    way.cost += work / kElementsPerByte;
    run.results = ResultsFor(loops);
    run.loops = std::move(loops);
    const MoveWork result = WorkOfResult(run);
    way.cost += result.bytes;
    way.collectives += result.collectives;
    return way;
  }

  Placements ResultsFor(const Placement& loops) const {
    Placements results;
    for (const Shape shape : LeafShapes(old_.shape())) {
      const bool is_like_first = !results.empty() && results[0]->rank() == shape.rank();
      results.push_back(is_like_first ? results[0]
                                      : ArrayFor(loops, shape.rank(),
                                                 [](const RunningDim& dim) { return dim.out; }));
    }
    return results;
  }

  bool IsRead(size_t loop, int i) const {
    const RunningDim& dim = op_.dims[loop];
    return dim.reads.has_value() && i < dim.reads->operands && dim.in[static_cast<size_t>(i)] >= 0;
  }

  // Of operand i, which is read over the borders of `placement`: this, or whole, if that is
  // cheaper or nearly all others would have to be asked. `move`: to get there, then all that it
  // takes; what neighbours send is no collective of its own.
  const Placement* ReadPlacement(const Placement& loops, size_t loop, int i,
                                 const Placement* placement, MoveWork& move) const {
    const RunningDim& dim = op_.dims[loop];
    const int64_t d = dim.in[static_cast<size_t>(i)], l = static_cast<int64_t>(loop);
    const Shape shape = old_.operand(i)->shape();
    const TileRanges ranges =
        RangesOf(*dim.reads, loops, l, PartSize(sizes_[loop], loops.tiles(l)));
    const Placement* whole = partitioner_.Keep(placement->WithWhole(d));
    const int64_t near_bytes = move.bytes + NeighbourBytes(*placement, shape, d, ranges);
    const MoveWork all = WorkOfMove(*partitioner_.Operand(old_, i).placement, *whole, shape);
    const bool is_near = AreNear(*placement, shape, d, ranges) && near_bytes < all.bytes;
    move = is_near ? MoveWork{near_bytes, move.collectives} : all;
    return is_near ? placement : whole;
  }

  MoveWork WorkOfResult(const DividedRun& run) const {
    const std::vector<Shape> results = LeafShapes(old_.shape());
    const auto partial_bytes = [&](Shape whole) {
      return run.result().TileShape(whole.WithoutLayout()).byte_size();
    };
    if (!run.summed.empty()) {
      if (const auto scattered = ScatteredSumOf(partitioner_, old_, op_, run)) {
        MoveWork work = WorkOfMove(scattered->placement, *partitioner_.wanted(0), results[0]);
        work.Add({partial_bytes(results[0]), 1});
        return work;
      }
    }
    MoveWork work;
    for (size_t i = 0; i < results.size(); ++i) {
      work.Add(WorkOfMove(*run.results[i], *partitioner_.wanted(i), results[i]));
      if (!run.summed.empty()) work.Add({2 * partial_bytes(results[i]), 1});
    }
    return work;
  }

  Partitioner& partitioner_;
  const Instruction& old_;
  const RunningOp& op_;
  Shape result_shape_;
  std::vector<int64_t> sizes_;
  // Of the ways with this number of tiles: among them, which share the work alike, few collectives
  // are better than many small ones.
  std::map<int64_t, Way> best_;
};

// Operand i in this way, with nothing but fillers beyond its ends.
Instruction* TakeOperand(Partitioner& partitioner, const Instruction& old, const RunningOp& op,
                         const Chooser& chooser, const DividedRun& run, int i) {
  const Placement* placement = run.operands[static_cast<size_t>(i)];
  const Shape whole = old.operand(i)->shape();
  SpmdCode& code = partitioner.code();
  Instruction* tile = partitioner.OperandAs(old, i, placement);
  for (size_t loop = 0; loop < op.dims.size(); ++loop) {
    const RunningDim& dim = op.dims[loop];
    const auto l = static_cast<int64_t>(loop);
    const int64_t d = dim.in[static_cast<size_t>(i)];
    if (run.loops.tiles(l) == 1 || d < 0) continue;
    if (dim.reads.has_value() && i < dim.reads->operands) {
      // Devices that read other ranges along other dimensions are no neighbours.
      const Placement& all = *chooser.OperandFor(run.loops, i);
      const Placement reads = placement->tiles(d) == 1 ? all.WithWhole(d) : all;
      const int64_t part = PartSize(chooser.size(l), run.loops.tiles(l));
      tile = TakeRanges(code, tile, reads, whole, d, RangesOf(*dim.reads, run.loops, l, part),
                        op.filler(code, i));
    } else if (dim.out < 0 && op.filler && placement->IsUneven(whole, d)) {
      tile = code.Masked(tile, *placement, whole, d, op.filler(code, i));
    }
  }
  return tile;
}

// Partial results of those that share the sum together.
Parts Summed(Partitioner& partitioner, const Instruction& old, const RunningOp& op,
             const DividedRun& run, Instruction* partial) {
  SpmdCode& code = partitioner.code();
  const auto scattered = ScatteredSumOf(partitioner, old, op, run);
  if (scattered.has_value()) {
    const int64_t d = scattered->dim;
    const auto count = static_cast<int64_t>(scattered->groups[0].size());
    partial = code.Resized(partial, d, count * scattered->placement.TileSize(old.shape(), d));
    return partitioner.Made(code.ReduceScatter(partial, d, scattered->groups, op.combiner),
                            partitioner.Keep(scattered->placement));
  }
  const GroupsOfDevices groups = run.loops.Groups(run.summed);
  Instruction* sum = op.combine ? op.combine(partitioner, partial, groups)
                                : code.AllReduce(partial, groups, op.combiner);
  return {sum, run.results};
}

}  // namespace

ReadEdges EdgesOf(const RunningDim::Reads& reads, int64_t part) {
  const int64_t last = reads.first + (part - 1) * reads.stride + reads.count - 1;
  return {CeilDiv(reads.first, reads.dilation) * reads.dilation - reads.first,
          last - FloorDiv(last, reads.dilation) * reads.dilation};
}

RunningDim RunsAlong(const Instruction& old, int operand, int64_t in, int64_t out) {
  RunningDim dim{std::vector<int64_t>(static_cast<size_t>(old.operand_count()), -1), out, {}};
  dim.in[static_cast<size_t>(operand)] = in;
  return dim;
}

RunningOp RunsWhere(const Instruction& old, int operands,
                    const std::function<bool(int64_t)>& runs) {
  RunningOp op;
  for (int64_t d = 0; d < old.operand(0)->shape().rank(); ++d) {
    if (!runs(d)) continue;
    op.dims.push_back(RunsAlong(old, 0, d, d));
    for (int i = 1; i < operands; ++i) op.dims.back().in[static_cast<size_t>(i)] = d;
  }
  return op;
}

int64_t CostOfRuns(Partitioner& partitioner, const Instruction& old, const RunningOp& op) {
  return Chooser(partitioner, old, op).Choose().cost;
}

absl::StatusOr<Parts> DivideRuns(Partitioner& partitioner, const Instruction& old, RunningOp op) {
  Chooser chooser(partitioner, old, op);
  const DividedRun run = chooser.Choose().run;
  std::vector<Instruction*> operands;
  for (int i = 0; i < old.operand_count(); ++i) {
    operands.push_back(run.operands[static_cast<size_t>(i)] == nullptr
                           ? partitioner.parts(old.operand(i)).value
                           : TakeOperand(partitioner, old, op, chooser, run, i));
  }
  Shape part = old.shape();
  if (part.IsTuple()) {
    std::vector<Shape> elements;
    for (size_t i = 0; i < run.results.size(); ++i)
      elements.push_back(run.results[i]->TileShape(old.shape().element(static_cast<int>(i))));
    part = Shape::Tuple(elements);
  } else {
    part = run.result().TileShape(part);
  }
  Instruction* value = op.build ? op.build(partitioner, std::move(operands), part, run)
                                : partitioner.Clone(old, part, std::move(operands));
  if (!run.summed.empty()) return Summed(partitioner, old, op, run, value);
  return Parts{value, run.results};
}

}  // namespace hlo
