// Operations that make or move elements.
#include "absl/algorithm/container.h"
#include "lib/types/shape_util.h"
#include "passes/spmd/halo.h"
#include "passes/spmd/rules.h"
#include "passes/spmd/running_dims.h"

namespace hlo {
namespace {

// ---- out of nothing ----

// One value in all places is that in every tile; of others, each device takes its part.
absl::StatusOr<Parts> DivideConstant(Partitioner& partitioner, const Instruction& old) {
  const Placement* placement = partitioner.wanted(0);
  const Shape shape = old.shape();
  if (!shape.IsArray() || placement->IsWhole() || old.literal().is_elided() ||
      !old.literal().IsUniform())
    return RunWhole(partitioner, old);
  SpmdCode& code = partitioner.code();
  Instruction* value = code.Constant(old.literal().ElementAt(0));
  return partitioner.Made(code.Filled(placement->TileShape(shape), value), placement);
}

// Counted from where the tile begins; in integers, so that nothing rounds twice.
absl::StatusOr<Parts> DivideIota(Partitioner& partitioner, const Instruction& old) {
  const Placement* placement = partitioner.wanted(0);
  const int64_t d = old.attrs<IotaAttrs>().iota_dimension;
  const Shape tile = placement->TileShape(old.shape());
  if (placement->tiles(d) == 1)
    return partitioner.Made(partitioner.Clone(old, tile, {}), placement);
  SpmdCode& code = partitioner.code();
  Instruction* start = code.TileStart(*placement, old.shape(), d);
  const Shape numbers = Shape::Array(start->shape().element_type(), tile.dims());
  Instruction* value = code.Add(code.Iota(numbers, d), code.Filled(numbers, start));
  return partitioner.Made(code.Convert(value, old.shape().element_type()), placement);
}

// ---- dimension by dimension ----

absl::StatusOr<Parts> DivideBroadcast(Partitioner& partitioner, const Instruction& old) {
  const DimVec& map = old.attrs<BroadcastAttrs>().dimensions;
  RunningOp op;
  for (int64_t d = 0; d < old.shape().rank(); ++d) {
    const auto in = absl::c_find(map, d);
    op.dims.push_back(RunsAlong(old, 0, in == map.end() ? -1 : in - map.begin(), d));
  }
  return DivideRuns(partitioner, old, std::move(op));
}

absl::StatusOr<Parts> DivideTranspose(Partitioner& partitioner, const Instruction& old) {
  const DimVec& order = old.attrs<TransposeAttrs>().dimensions;
  RunningOp op;
  for (int64_t d = 0; d < old.shape().rank(); ++d)
    op.dims.push_back(RunsAlong(old, 0, order[static_cast<size_t>(d)], d));
  return DivideRuns(partitioner, old, std::move(op));
}

// What a tile of the result has along `d`, turned round: tiles are counted from the other end, but
// those that are not full stay there.
TileRanges TurnedRanges(const Placement& placement, Shape whole, int64_t d) {
  const int64_t size = placement.TileSize(whole, d);
  TileRanges ranges;
  for (int64_t device = 0; device < placement.devices(); ++device) {
    ranges.first.push_back(whole.dim(static_cast<int>(d)) -
                           (placement.tile_of(device, d) + 1) * size);
  }
  ranges.size = size;
  return ranges;
}

// Tiles of a dimension that is turned round change places, and neighbours see to uneven ones.
absl::StatusOr<Parts> DivideReverse(Partitioner& partitioner, const Instruction& old) {
  const DimVec& reversed = old.attrs<ReverseAttrs>().dimensions;
  const Shape whole = old.shape();
  const Placement* placement = partitioner.wanted(0);
  Placement turned = *placement;
  for (const int64_t d : reversed) turned = turned.WithReversedTiles(d);
  const auto needs_all = [&](int64_t d) {
    return placement->IsUneven(whole, d) &&
           !AreNear(turned, whole, d, TurnedRanges(*placement, whole, d));
  };
  if (absl::c_any_of(reversed, needs_all)) {
    return DivideRuns(partitioner, old, RunsWhere(old, 1, [&](int64_t dim) {
                        return !absl::c_linear_search(reversed, dim);
                      }));
  }
  const Placement* source = partitioner.Keep(std::move(turned));
  Instruction* tile = partitioner.OperandAs(old, 0, source);
  SpmdCode& code = partitioner.code();
  for (const int64_t d : reversed) {
    if (!placement->IsUneven(whole, d)) continue;
    tile = TakeRanges(code, tile, *source, whole, d, TurnedRanges(*placement, whole, d),
                      code.Zero(whole.element_type()));
  }
  return partitioner.Made(partitioner.Clone(old, placement->TileShape(whole), {tile}), placement);
}

// Zero of the element type of operand i.
Instruction* ZeroLikeOperand(SpmdCode& code, const Instruction& old, int i) {
  return code.Zero(old.operand(i)->shape().element_type());
}

// Parts of a slice are slices of what lies around the tiles.
absl::StatusOr<Parts> DivideSlice(Partitioner& partitioner, const Instruction& old) {
  const SliceRanges& slice = old.attrs<SliceAttrs>().slice;
  const Shape whole = old.operand(0)->shape();
  RunningOp op = RunsWhere(old, 1, [](int64_t) { return true; });
  for (size_t d = 0; d < slice.size(); ++d) {
    const SliceRange& range = slice[d];
    if (range.start != 0 || range.limit != whole.dim(static_cast<int>(d)) || range.stride != 1)
      op.dims[d].reads = {.first = range.start, .stride = range.stride};
  }
  op.filler = [&](SpmdCode& code, int i) { return ZeroLikeOperand(code, old, i); };
  op.build = [&](Partitioner& p, std::vector<Instruction*> operands, Shape part,
                 const DividedRun& run) {
    SliceAttrs attrs = old.attrs<SliceAttrs>();
    for (int d = 0; d < whole.rank(); ++d) {
      if (run.result().tiles(d) == 1) continue;
      SliceRange& range = attrs.slice[static_cast<size_t>(d)];
      range = {0, operands[0]->shape().dim(d), range.stride};
    }
    Instruction* made = p.Clone(old, part, std::move(operands));
    made->SetAttrs(std::move(attrs));
    return made;
  };
  return DivideRuns(partitioner, old, std::move(op));
}

// What is put around an array is what stands outside of it.
absl::StatusOr<Parts> DividePad(Partitioner& partitioner, const Instruction& old) {
  const PaddingConfig& padding = old.attrs<PadAttrs>().padding;
  RunningOp op = RunsWhere(old, 1, [](int64_t) { return true; });
  for (RunningDim& dim : op.dims) {
    const PaddingDim& around = padding[static_cast<int>(dim.out)];
    if (around != PaddingDim()) dim.reads = {.first = -around.low, .dilation = around.interior + 1};
  }
  op.filler = [&](SpmdCode&, int) { return partitioner.OperandAs(old, 1, partitioner.Scalar()); };
  op.build = [&, op_dims = op.dims](Partitioner& p, std::vector<Instruction*> operands, Shape part,
                                    const DividedRun& run) {
    PadAttrs attrs = old.attrs<PadAttrs>();
    for (const RunningDim& dim : op_dims) {
      if (run.result().tiles(dim.out) == 1 || !dim.reads.has_value()) continue;
      const ReadEdges edges = EdgesOf(*dim.reads, part.dim(static_cast<int>(dim.out)));
      PaddingDim& around = attrs.padding.dims[static_cast<size_t>(dim.out)];
      around.low = edges.low;
      around.high = edges.high;
    }
    Instruction* made = p.Clone(old, part, std::move(operands));
    made->SetAttrs(std::move(attrs));
    return made;
  };
  return DivideRuns(partitioner, old, std::move(op));
}

// Arrays one after the other, along a dimension that the result divides: each device takes what is
// in its tile of every one of them, from the neighbours or from the whole.
class TilewiseConcatenate {
 public:
  TilewiseConcatenate(Partitioner& partitioner, const Instruction& old, int64_t along)
      : partitioner_(partitioner), old_(old), along_(along), placement_(partitioner.wanted(0)) {
    int64_t first = 0;
    for (int i = 0; i < old.operand_count(); ++i) {
      if (!old.operand(i)->shape().IsZeroSized()) AddPiece(i, first);
      first += old.operand(i)->shape().dim(static_cast<int>(along));
    }
  }

  int64_t cost() const { return cost_; }

  Parts Make() {
    SpmdCode& code = partitioner_.code();
    Instruction* result = nullptr;
    for (const Piece& piece : pieces_) {
      const Shape whole = old_.operand(piece.operand)->shape();
      Instruction* operand = partitioner_.OperandAs(old_, piece.operand, piece.placement);
      Instruction* tile = TakeRanges(code, operand, *piece.placement, whole, along_, piece.ranges,
                                     code.Zero(whole.element_type()));
      result =
          result == nullptr ? tile : code.Select(IsFrom(piece.ranges, tile->shape()), tile, result);
    }
    return partitioner_.Made(result, placement_);
  }

 private:
  struct Piece {
    int operand;
    const Placement* placement;
    TileRanges ranges;
  };

  void AddPiece(int i, int64_t first) {
    const ArrayPart operand = partitioner_.Operand(old_, i);
    TileRanges ranges;
    ranges.size = placement_->TileSize(old_.shape(), along_);
    for (int64_t device = 0; device < placement_->devices(); ++device)
      ranges.first.push_back(placement_->tile_of(device, along_) * ranges.size - first);
    const Placement* whole = partitioner_.Keep(placement_->WithWhole(along_));
    const int64_t whole_bytes = MoveBytes(*operand.placement, *whole, operand.whole);
    const int64_t near_bytes = MoveBytes(*operand.placement, *placement_, operand.whole) +
                               NeighbourBytes(*placement_, operand.whole, along_, ranges);
    const bool is_near =
        near_bytes < whole_bytes && AreNear(*placement_, operand.whole, along_, ranges);
    cost_ += is_near ? near_bytes : whole_bytes;
    pieces_.push_back({i, is_near ? placement_ : whole, std::move(ranges)});
  }

  // Which elements of the tile come from the piece that has these ranges, or from a later one.
  Instruction* IsFrom(const TileRanges& ranges, Shape tile) {
    SpmdCode& code = partitioner_.code();
    std::vector<int64_t> firsts;
    for (const int64_t first : ranges.first)
      firsts.push_back(std::clamp<int64_t>(-first, 0, ranges.size));
    Instruction* first = code.Table(firsts);
    const Shape numbers = Shape::Array(first->shape().element_type(), tile.dims());
    return code.Compare(code.Iota(numbers, along_), code.Filled(numbers, first),
                        ComparisonDirection::kGe);
  }

  Partitioner& partitioner_;
  const Instruction& old_;
  int64_t along_;
  const Placement* placement_;
  std::vector<Piece> pieces_;
  int64_t cost_ = 0;
};

absl::StatusOr<Parts> DivideConcatenate(Partitioner& partitioner, const Instruction& old) {
  const int64_t along = old.attrs<ConcatenateAttrs>().dimensions.value;
  RunningOp op = RunsWhere(old, old.operand_count(), [&](int64_t d) { return d != along; });
  if (partitioner.wanted(0)->tiles(along) > 1 && !old.shape().IsZeroSized()) {
    TilewiseConcatenate tilewise(partitioner, old, along);
    if (tilewise.cost() < CostOfRuns(partitioner, old, op)) return tilewise.Make();
  }
  return DivideRuns(partitioner, old, std::move(op));
}

// ---- reshape ----

// The tiles of some dimensions of an array, as the array lies in memory.
struct Blocks {
  bool are_whole = false;  // each tile is one block, of equal size
  int64_t count = 1;
  std::vector<int64_t> number;  // of the block that a device has
};

Blocks BlocksOf(const Placement& placement, Shape shape, int64_t begin, int64_t end) {
  Blocks blocks;
  blocks.number.assign(static_cast<size_t>(placement.devices()), 0);
  bool is_last = false;
  blocks.are_whole = true;
  for (int64_t d = begin; d < end; ++d) {
    const int64_t tiles = placement.tiles(d), size = shape.dim(static_cast<int>(d));
    blocks.are_whole &= size % tiles == 0 && (tiles == 1 || !is_last);
    is_last |= tiles != size;
    blocks.count *= tiles;
    for (int64_t device = 0; device < placement.devices(); ++device) {
      int64_t& number = blocks.number[static_cast<size_t>(device)];
      number = number * tiles + placement.tile_of(device, d);
    }
  }
  return blocks;
}

// The dimensions from `begin` on, divided into these blocks; `result` is whole along them. False if
// blocks would begin within rows.
bool DivideIntoBlocks(Blocks blocks, Shape shape, int64_t begin, int64_t end, Placement& result) {
  int64_t rest = blocks.count;
  Placement divided = result;
  for (int64_t d = begin; d < end && rest > 1; ++d) {
    const int64_t size = shape.dim(static_cast<int>(d));
    const int64_t tiles = rest % size == 0 ? size : rest;
    if (size % tiles != 0) return false;
    rest /= tiles;
    std::vector<int64_t> tile_of;
    for (const int64_t number : blocks.number) tile_of.push_back(number / rest % tiles);
    divided = divided.WithSplitTiles(d, tiles, tile_of);
  }
  if (rest > 1) return false;
  result = std::move(divided);
  return true;
}

// The array whose elements `to` is made of, in the placement that `placement` of `to` needs: where
// dimensions are merged or split, tiles on both sides are blocks of memory, or the first dimension
// keeps its size. Dimensions of which this is not true are whole; false if there were some.
bool PlacementThroughReshape(const Placement& placement, Shape to, Shape from, Placement& result) {
  const auto factors = CommonFactors(to.dims(), from.dims());
  result = placement.AllWhole(from.rank());
  bool has_all = true;
  for (size_t i = 0; i + 1 < factors.size(); ++i) {
    const auto [to_begin, from_begin] = factors[i];
    const auto [to_end, from_end] = factors[i + 1];
    const Blocks blocks = BlocksOf(placement, to, to_begin, to_end);
    if (blocks.count == 1) continue;
    if (blocks.are_whole && DivideIntoBlocks(blocks, from, from_begin, from_end, result)) continue;
    const auto first_of = [](Shape shape, int64_t begin, int64_t end) {
      while (begin < end && shape.dim(static_cast<int>(begin)) == 1) ++begin;
      return begin < end ? begin : -1;
    };
    const int64_t first_to = first_of(to, to_begin, to_end);
    const int64_t first_from = first_of(from, from_begin, from_end);
    const bool keeps_first =
        first_to >= 0 && first_from >= 0 &&
        to.dim(static_cast<int>(first_to)) == from.dim(static_cast<int>(first_from));
    if (keeps_first) {
      std::vector<int64_t> tile_of;
      for (int64_t device = 0; device < placement.devices(); ++device)
        tile_of.push_back(placement.tile_of(device, first_to));
      result = result.WithSplitTiles(first_from, placement.tiles(first_to), tile_of);
    }
    has_all &= keeps_first && blocks.count == placement.tiles(first_to);
  }
  return has_all;
}

absl::StatusOr<Parts> DivideReshape(Partitioner& partitioner, const Instruction& old) {
  const Shape from = old.operand(0)->shape(), to = old.shape();
  if (to.IsZeroSized()) return RunWhole(partitioner, old);
  const ArrayPart operand = partitioner.Operand(old, 0);
  Placement source, target;
  if (PlacementThroughReshape(*partitioner.wanted(0), to, from, source)) {
    target = *partitioner.wanted(0);
  } else {
    PlacementThroughReshape(*operand.placement, from, to, target);
    PlacementThroughReshape(target, to, from, source);
    if (!source.IsSoundIn(*partitioner.regions())) return RunWhole(partitioner, old);
  }
  const Placement* result = partitioner.Keep(target.InRegionsOf(*partitioner.regions()));
  const Placement* needed = partitioner.Keep(source.InRegionsOf(*partitioner.regions()));
  Instruction* tile = partitioner.As(operand, needed).value;
  return partitioner.Made(partitioner.Clone(old, result->TileShape(to), {tile}), result);
}

// To elements of another width: the dimension that holds the parts of an element is whole.
absl::StatusOr<Parts> DivideBitcastConvert(Partitioner& partitioner, const Instruction& old) {
  const int rank = std::min(old.shape().rank(), old.operand(0)->shape().rank());
  RunningOp op;
  for (int64_t d = 0; d < rank; ++d) op.dims.push_back(RunsAlong(old, 0, d, d));
  return DivideRuns(partitioner, old, std::move(op));
}

// What a bitcast gives depends on how its operand lies in memory.
absl::StatusOr<Parts> KeepBitcast(Partitioner& partitioner, const Instruction& old) {
  const Shape from = old.operand(0)->shape();
  const Placement* whole = partitioner.Keep(partitioner.regions()->AllWhole(from.rank()));
  Instruction* operand = partitioner.OperandAs(old, 0, whole);
  if (operand->shape() != from)
    operand = partitioner.code().OpWithShape(Opcode::kCopy, from, {operand});
  return partitioner.Made(partitioner.Clone(old, old.shape(), {operand}),
                          partitioner.Keep(partitioner.regions()->AllWhole(old.shape().rank())));
}

constexpr SpmdRow kMovementRows[] = {
    {Opcode::kConstant, DivideConstant},
    {Opcode::kIota, DivideIota},
    {Opcode::kBroadcast, DivideBroadcast},
    {Opcode::kTranspose, DivideTranspose},
    {Opcode::kReverse, DivideReverse},
    {Opcode::kSlice, DivideSlice},
    {Opcode::kPad, DividePad},
    {Opcode::kConcatenate, DivideConcatenate},
    {Opcode::kReshape, DivideReshape},
    {Opcode::kBitcastConvert, DivideBitcastConvert},
    {Opcode::kBitcast, KeepBitcast},
};

}  // namespace

std::span<const SpmdRow> SpmdMovementRows() { return kMovementRows; }

}  // namespace hlo
