#include "passes/spmd/running_dims.h"

#include "absl/algorithm/container.h"
#include "lib/analysis/leaves.h"
#include "lib/support/round.h"
#include "lib/support/saturate.h"
#include "passes/spmd/halo.h"

namespace hlo {
namespace {

// Work of one element of the loops, in bytes moved.
constexpr int64_t kElementsPerByte = 64;
// More operands are not asked how they would like it.
constexpr int kMostAsked = 4;

// What one way to divide the loops asks of operands, and gives.
struct Way {
  Placement loops;      // over the running dimensions
  Placements operands;  // null: no array
  const Placement* result = nullptr;
  std::vector<int64_t> summed;  // loops that are divided and summed
  int64_t cost = 0;
};

// What the tiles of the result, `part` elements each, need.
TileRanges RangesOf(const RunningDim::Reads& reads, const Placement& loops, int64_t loop,
                    int64_t part) {
  TileRanges ranges;
  for (int64_t device = 0; device < loops.devices(); ++device)
    ranges.first.push_back(reads.first + loops.tile_of(device, loop) * part * reads.stride);
  ranges.size = part == 0 ? 0 : (part - 1) * reads.stride + reads.count;
  return ranges;
}

int64_t PartSize(int64_t size, int64_t tiles) { return CeilDiv(size, tiles); }

class Chooser {
 public:
  Chooser(Partitioner& partitioner, const Instruction& old, const RunningOp& op)
      : partitioner_(partitioner), old_(old), op_(op) {
    result_shape_ = old.shape().IsTuple() ? old.shape().element(0) : old.shape();
    for (const RunningDim& dim : op.dims) sizes_.push_back(SizeOf(dim));
  }

  Way Choose() {
    std::vector<int> askers = {-1};  // the result, then operands
    for (int i = 0; i < old_.operand_count() && i < kMostAsked; ++i) {
      if (old_.operand(i)->shape().IsArray()) askers.push_back(i);
    }
    std::optional<Way> best;
    const auto offer = [&](const std::vector<int>& order) {
      Placement loops = LoopsAs(order);
      if (!loops.IsSound() || NeedsAll(loops)) return;
      Way way = WayFor(std::move(loops));
      if (!best.has_value() || way.cost < best->cost) best = std::move(way);
    };
    offer({});
    for (const int first : askers) {
      for (const int second : askers) {
        if (second != first || askers.size() == 1) offer({first, second});
      }
      offer({first});
    }
    return *std::move(best);
  }

 private:
  int64_t SizeOf(const RunningDim& dim) const {
    if (dim.out >= 0) return result_shape_.dim(static_cast<int>(dim.out));
    for (size_t i = 0; i < dim.in.size(); ++i) {
      if (dim.in[i] >= 0)
        return old_.operand(static_cast<int>(i))->shape().dim(static_cast<int>(dim.in[i]));
    }
    return 1;
  }

  // Each loop is divided as the first of these divides it.
  Placement LoopsAs(const std::vector<int>& order) const {
    std::vector<Placement::Source> sources;
    for (const RunningDim& dim : op_.dims) {
      Placement::Source source;
      for (const int asker : order) {
        const Placement* placement =
            asker < 0 ? partitioner_.wanted(0) : partitioner_.Operand(old_, asker).placement;
        const int64_t d = asker < 0 ? dim.out : dim.in[static_cast<size_t>(asker)];
        if (source.like == nullptr && d >= 0 && placement->tiles(d) > 1) source = {placement, d};
      }
      sources.push_back(source);
    }
    return Placement::Join(sources, *partitioner_.regions());
  }

  // Whether some device would have to ask so many others that all may be gathered.
  bool NeedsAll(const Placement& loops) const {
    for (size_t loop = 0; loop < op_.dims.size(); ++loop) {
      const RunningDim& dim = op_.dims[loop];
      const auto l = static_cast<int64_t>(loop);
      if (!dim.reads.has_value() || loops.tiles(l) == 1) continue;
      const int64_t part = PartSize(sizes_[loop], loops.tiles(l));
      const TileRanges ranges = RangesOf(*dim.reads, loops, l, part);
      const Shape whole = old_.operand(0)->shape();
      DimVec loop_of(static_cast<size_t>(whole.rank()), -1);
      loop_of[static_cast<size_t>(dim.in[0])] = l;
      if (part == 0 ||
          NeighboursNeeded(loops.Dims(loop_of), whole, dim.in[0], ranges) >= loops.tiles(l))
        return true;
    }
    return false;
  }

  // An array whose dimension dims[d] is the one of the loops.
  const Placement* ArrayFor(const Placement& loops, int rank,
                            const std::function<int64_t(const RunningDim&)>& dim_of) const {
    DimVec loop_of(static_cast<size_t>(rank), -1);
    for (size_t loop = 0; loop < op_.dims.size(); ++loop) {
      const int64_t d = dim_of(op_.dims[loop]);
      if (d >= 0) loop_of[static_cast<size_t>(d)] = static_cast<int64_t>(loop);
    }
    return partitioner_.Keep(loops.Dims(loop_of));
  }

  Way WayFor(Placement loops) const {
    Way way;
    int64_t work = 1;
    for (size_t loop = 0; loop < op_.dims.size(); ++loop) {
      const auto l = static_cast<int64_t>(loop);
      work = SaturatingMul(work, sizes_[loop] / loops.tiles(l) + 1);
      if (op_.dims[loop].out < 0 && loops.tiles(l) > 1) way.summed.push_back(l);
    }
    way.cost = work / kElementsPerByte;
    for (int i = 0; i < old_.operand_count(); ++i) {
      const Shape shape = old_.operand(i)->shape();
      if (!shape.IsArray()) {
        way.operands.push_back(nullptr);
        continue;
      }
      const Placement* placement = ArrayFor(loops, shape.rank(), [&](const RunningDim& dim) {
        return dim.in[static_cast<size_t>(i)];
      });
      way.operands.push_back(placement);
      way.cost += MoveBytes(*partitioner_.Operand(old_, i).placement, *placement, shape);
    }
    way.result =
        ArrayFor(loops, result_shape_.rank(), [](const RunningDim& dim) { return dim.out; });
    const std::vector<Shape> results = LeafShapes(old_.shape());
    for (size_t i = 0; i < results.size(); ++i) {
      way.cost += MoveBytes(*way.result, *partitioner_.wanted(i), results[i]);
      if (!way.summed.empty())
        way.cost += 2 * way.result->TileShape(results[i].WithoutLayout()).byte_size();
    }
    way.loops = std::move(loops);
    return way;
  }

  Partitioner& partitioner_;
  const Instruction& old_;
  const RunningOp& op_;
  Shape result_shape_;
  std::vector<int64_t> sizes_;
};

// Operand i in this way, with nothing but fillers beyond its ends.
Instruction* TakeOperand(Partitioner& partitioner, const Instruction& old, const RunningOp& op,
                         const Way& way, int i) {
  const Placement* placement = way.operands[static_cast<size_t>(i)];
  Instruction* tile = partitioner.OperandAs(old, i, placement);
  for (const int64_t loop : way.summed) {
    const int64_t d = op.dims[static_cast<size_t>(loop)].in[static_cast<size_t>(i)];
    const Shape whole = old.operand(i)->shape();
    if (d < 0 || !placement->IsUneven(whole, d)) continue;
    SpmdCode& code = partitioner.code();
    tile = code.Masked(tile, *placement, whole, d, op.filler(code, i));
  }
  for (size_t loop = 0; loop < op.dims.size(); ++loop) {
    const RunningDim& dim = op.dims[loop];
    const auto l = static_cast<int64_t>(loop);
    const int64_t d = dim.in[static_cast<size_t>(i)];
    if (!dim.reads.has_value() || way.loops.tiles(l) == 1 || d < 0 || i >= dim.reads->operands)
      continue;
    const Shape result = old.shape().IsTuple() ? old.shape().element(0) : old.shape();
    const int64_t part = PartSize(result.dim(static_cast<int>(dim.out)), way.loops.tiles(l));
    SpmdCode& code = partitioner.code();
    tile = TakeRanges(code, tile, *placement, old.operand(i)->shape(), d,
                      RangesOf(*dim.reads, way.loops, l, part), op.filler(code, i));
  }
  return tile;
}

}  // namespace

RunningDim RunsAlong(const Instruction& old, int operand, int64_t in, int64_t out) {
  RunningDim dim{std::vector<int64_t>(static_cast<size_t>(old.operand_count()), -1), out, {}};
  dim.in[static_cast<size_t>(operand)] = in;
  return dim;
}

absl::StatusOr<Parts> DivideRuns(Partitioner& partitioner, const Instruction& old, RunningOp op) {
  const Way way = Chooser(partitioner, old, op).Choose();
  std::vector<Instruction*> operands;
  for (int i = 0; i < old.operand_count(); ++i) {
    operands.push_back(way.operands[static_cast<size_t>(i)] == nullptr
                           ? partitioner.parts(old.operand(i)).value
                           : TakeOperand(partitioner, old, op, way, i));
  }
  Shape part = old.shape();
  if (part.IsTuple()) {
    std::vector<Shape> elements;
    for (const Shape element : part.elements()) elements.push_back(way.result->TileShape(element));
    part = Shape::Tuple(elements);
  } else {
    part = way.result->TileShape(part);
  }
  Instruction* value = op.build ? op.build(partitioner, std::move(operands), part, *way.result)
                                : partitioner.Clone(old, part, std::move(operands));
  if (!way.summed.empty())
    value = partitioner.code().AllReduce(value, way.loops.Groups(way.summed), op.combiner);
  return Parts{value, Placements(LeafShapes(old.shape()).size(), way.result)};
}

}  // namespace hlo
