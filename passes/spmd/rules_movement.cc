// Operations that make or move elements.
#include "absl/algorithm/container.h"
#include "lib/types/shape_util.h"
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

// The dimensions of which `runs` holds, in the operands below `operands`.
template <class F>
RunningOp RunsWhere(const Instruction& old, int operands, F&& runs) {
  RunningOp op;
  for (int64_t d = 0; d < old.operand(0)->shape().rank(); ++d) {
    if (!runs(static_cast<int>(d))) continue;
    op.dims.push_back(RunsAlong(old, 0, d, d));
    for (int i = 1; i < operands; ++i) op.dims.back().in[static_cast<size_t>(i)] = d;
  }
  return op;
}

// Where tiles are even, those of a dimension that is turned round change places.
absl::StatusOr<Parts> DivideReverse(Partitioner& partitioner, const Instruction& old) {
  const DimVec& reversed = old.attrs<ReverseAttrs>().dimensions;
  const Placement* placement = partitioner.wanted(0);
  Placement source = *placement;
  for (const int64_t d : reversed) {
    if (placement->IsUneven(old.shape(), d)) {
      return DivideRuns(partitioner, old, RunsWhere(old, 1, [&](int64_t dim) {
                          return !absl::c_linear_search(reversed, dim);
                        }));
    }
    source = source.WithReversedTiles(d);
  }
  Instruction* operand = partitioner.OperandAs(old, 0, partitioner.Keep(std::move(source)));
  return partitioner.Made(partitioner.Clone(old, placement->TileShape(old.shape()), {operand}),
                          placement);
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
                 const Placement& result) {
    SliceAttrs attrs = old.attrs<SliceAttrs>();
    for (int d = 0; d < whole.rank(); ++d) {
      if (result.tiles(d) == 1) continue;
      SliceRange& range = attrs.slice[static_cast<size_t>(d)];
      range = {0, operands[0]->shape().dim(d), range.stride};
    }
    Instruction* made = p.Clone(old, part, std::move(operands));
    made->SetAttrs(std::move(attrs));
    return made;
  };
  return DivideRuns(partitioner, old, std::move(op));
}

// What is put around an array is what stands outside of it; between its elements, it is whole.
absl::StatusOr<Parts> DividePad(Partitioner& partitioner, const Instruction& old) {
  const PaddingConfig& padding = old.attrs<PadAttrs>().padding;
  RunningOp op = RunsWhere(old, 1, [&](int d) { return padding[d].interior == 0; });
  for (RunningDim& dim : op.dims) {
    const PaddingDim& around = padding[static_cast<int>(dim.out)];
    if (around != PaddingDim()) dim.reads = {.first = -around.low};
  }
  op.filler = [&](SpmdCode&, int) { return partitioner.OperandAs(old, 1, partitioner.Scalar()); };
  op.build = [&](Partitioner& p, std::vector<Instruction*> operands, Shape part,
                 const Placement& result) {
    PadAttrs attrs = old.attrs<PadAttrs>();
    for (int d = 0; d < part.rank(); ++d) {
      if (result.tiles(d) > 1) attrs.padding.dims[static_cast<size_t>(d)] = PaddingDim();
    }
    Instruction* made = p.Clone(old, part, std::move(operands));
    made->SetAttrs(std::move(attrs));
    return made;
  };
  return DivideRuns(partitioner, old, std::move(op));
}

absl::StatusOr<Parts> DivideConcatenate(Partitioner& partitioner, const Instruction& old) {
  const int64_t along = old.attrs<ConcatenateAttrs>().dimensions.value;
  return DivideRuns(partitioner, old,
                    RunsWhere(old, old.operand_count(), [&](int64_t d) { return d != along; }));
}

absl::StatusOr<Parts> DivideDynamicSlice(Partitioner& partitioner, const Instruction& old) {
  const Shape whole = old.operand(0)->shape();
  RunningOp op = RunsWhere(old, 1, [&](int d) { return old.shape().dim(d) == whole.dim(d); });
  op.build = [&](Partitioner& p, std::vector<Instruction*> operands, Shape part, const Placement&) {
    Instruction* slice = p.Clone(old, part, std::move(operands));
    slice->SetAttrs(DynamicSliceAttrs{DimVec(part.dims().begin(), part.dims().end())});
    return slice;
  };
  return DivideRuns(partitioner, old, std::move(op));
}

// Along a divided dimension every device writes the update where it would be relative to its tile,
// into the tile with room for the whole update on both sides, and keeps the tile. `start` becomes
// where that is.
Instruction* MakeRoom(SpmdCode& code, Instruction* tile, const Placement& placement, Shape whole,
                      int64_t d, int64_t update, Instruction*& start) {
  const auto scalar = [&](int64_t value) {
    return code.Constant(Literal::Scalar(ElementType::kS64, value));
  };
  const int64_t last = whole.dim(static_cast<int>(d)) - update;
  start = code.Clamp(scalar(0), start, scalar(last));
  Instruction* tile_start = code.Convert(code.TileStart(placement, whole, d), ElementType::kS64);
  start = code.Add(code.Subtract(start, tile_start), scalar(update));
  start = code.Clamp(scalar(0), start, scalar(placement.TileSize(whole, d) + update));
  PaddingConfig padding;
  padding.dims.resize(static_cast<size_t>(placement.rank()));
  padding.dims[static_cast<size_t>(d)] = {update, update, 0};
  return code.Pad(tile, code.Zero(tile->shape().element_type()), padding);
}

absl::StatusOr<Parts> DivideDynamicUpdateSlice(Partitioner& partitioner, const Instruction& old) {
  const Shape whole = old.shape(), update = old.operand(1)->shape();
  const auto is_full = [&](int64_t d) {
    return update.dim(static_cast<int>(d)) == whole.dim(static_cast<int>(d));
  };
  RunningOp op = RunsWhere(old, 2, is_full);
  // Starts that 64 bits with a sign do not hold are left alone.
  const bool fits =
      old.operand_count() > 2 && old.operand(2)->shape().element_type() != ElementType::kU64;
  for (int64_t d = 0; d < whole.rank() && fits; ++d) {
    if (!is_full(d)) op.dims.push_back(RunsAlong(old, 0, d, d));
  }
  op.build = [&](Partitioner& p, std::vector<Instruction*> operands, Shape part,
                 const Placement& result) {
    SpmdCode& code = p.code();
    Instruction* tile = operands[0];
    for (int64_t d = 0; d < whole.rank(); ++d) {
      if (is_full(d) || result.tiles(d) == 1) continue;
      for (size_t i = 2; i < operands.size(); ++i)
        operands[i] = code.Convert(operands[i], ElementType::kS64);
      tile = MakeRoom(code, tile, result, whole, d, update.dim(static_cast<int>(d)),
                      operands[static_cast<size_t>(d) + 2]);
    }
    operands[0] = tile;
    const Shape shape = tile->shape();
    Instruction* made = p.Clone(old, shape, std::move(operands));
    DimVec starts(static_cast<size_t>(whole.rank()), 0), limits = starts;
    for (int d = 0; d < whole.rank(); ++d) {
      const int64_t room = (shape.dim(d) - part.dim(d)) / 2;
      starts[static_cast<size_t>(d)] = room;
      limits[static_cast<size_t>(d)] = room + part.dim(d);
    }
    return SameDimensions(shape, part) ? made : code.Slice(made, starts, limits);
  };
  return DivideRuns(partitioner, old, std::move(op));
}

// ---- reshape ----

// The array whose elements `to` is made of, in the placement that `placement` of `to` needs: where
// dimensions are merged or split, the first one of each side may be divided, evenly or where it
// keeps its size. Dimensions of
// which this is not true are whole; false if there were some.
bool PlacementThroughReshape(const Placement& placement, Shape to, Shape from, Placement& result) {
  const auto factors = CommonFactors(to.dims(), from.dims());
  std::vector<int64_t> source(static_cast<size_t>(from.rank()), -1);
  bool has_all = true;
  for (size_t i = 0; i + 1 < factors.size(); ++i) {
    const auto [to_begin, from_begin] = factors[i];
    const auto [to_end, from_end] = factors[i + 1];
    const auto first_of = [](Shape shape, int64_t begin, int64_t end) {
      while (begin < end && shape.dim(static_cast<int>(begin)) == 1) ++begin;
      return begin < end ? begin : -1;
    };
    const int64_t first_to = first_of(to, to_begin, to_end);
    const int64_t first_from = first_of(from, from_begin, from_end);
    for (int64_t d = to_begin; d < to_end; ++d) {
      const int64_t tiles = placement.tiles(d);
      if (tiles == 1) continue;
      const bool fits = d == first_to && first_from >= 0 &&
                        (to.dim(static_cast<int>(d)) == from.dim(static_cast<int>(first_from)) ||
                         (to.dim(static_cast<int>(d)) % tiles == 0 &&
                          from.dim(static_cast<int>(first_from)) % tiles == 0));
      if (fits) {
        source[static_cast<size_t>(first_from)] = d;
      } else {
        has_all = false;
      }
    }
  }
  result = placement.Dims(source);
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

// ---- gather and scatter ----

DimVec Without(int64_t rank, std::initializer_list<const DimVec*> lists) {
  DimVec rest;
  for (int64_t d = 0; d < rank; ++d) {
    if (absl::c_none_of(lists, [&](const DimVec* list) { return absl::c_linear_search(*list, d); }))
      rest.push_back(d);
  }
  return rest;
}

// Slices that are as long as the operand are cut with it; indices with what they give.
absl::StatusOr<Parts> DivideGather(Partitioner& partitioner, const Instruction& old) {
  const auto& attrs = old.attrs<GatherAttrs>();
  const Shape operand = old.operand(0)->shape(), indices = old.operand(1)->shape();
  RunningOp op;
  const DimVec window =
      Without(operand.rank(), {&attrs.collapsed_slice_dims, &attrs.operand_batching_dims});
  DimVec cut;  // of the operand
  for (size_t i = 0; i < window.size(); ++i) {
    const int64_t d = window[i];
    if (attrs.slice_sizes[static_cast<size_t>(d)] != operand.dim(static_cast<int>(d))) continue;
    op.dims.push_back(RunsAlong(old, 0, d, attrs.offset_dims[i]));
    cut.push_back(d);
  }
  const DimVec batch = Without(old.shape().rank(), {&attrs.offset_dims});
  size_t next = 0;
  for (int64_t d = 0; d < indices.rank(); ++d) {
    if (d == attrs.index_vector_dim) continue;
    op.dims.push_back(RunsAlong(old, 1, d, batch[next++]));
    const auto along = absl::c_find(attrs.start_indices_batching_dims, d);
    if (along != attrs.start_indices_batching_dims.end()) {
      const auto i = static_cast<size_t>(along - attrs.start_indices_batching_dims.begin());
      op.dims.back().in[0] = attrs.operand_batching_dims[i];
    }
  }
  op.build = [&](Partitioner& p, std::vector<Instruction*> operands, Shape part, const Placement&) {
    GatherAttrs own = attrs;
    for (const int64_t d : cut)
      own.slice_sizes[static_cast<size_t>(d)] = operands[0]->shape().dim(static_cast<int>(d));
    Instruction* gather = p.Clone(old, part, std::move(operands));
    gather->SetAttrs(std::move(own));
    return gather;
  };
  return DivideRuns(partitioner, old, std::move(op));
}

// Updates that are as long as what they update are cut with it, and batches with their indices.
absl::StatusOr<Parts> DivideScatter(Partitioner& partitioner, const Instruction& old) {
  const auto& attrs = old.attrs<ScatterAttrs>();
  const int inputs = old.operand_count() / 2;
  const Shape input = old.operand(0)->shape();
  const Shape updates = old.operand(inputs + 1)->shape();
  const DimVec window =
      Without(input.rank(), {&attrs.inserted_window_dims, &attrs.input_batching_dims});
  RunningOp op;
  const auto add = [&](int64_t in, int64_t at_indices, int64_t at_updates) {
    RunningDim dim{std::vector<int64_t>(static_cast<size_t>(old.operand_count()), -1), in, {}};
    for (int i = 0; i < inputs; ++i) {
      dim.in[static_cast<size_t>(i)] = in;
      dim.in[static_cast<size_t>(inputs + 1 + i)] = at_updates;
    }
    dim.in[static_cast<size_t>(inputs)] = at_indices;
    op.dims.push_back(std::move(dim));
  };
  for (size_t i = 0; i < window.size(); ++i) {
    const int64_t at = attrs.update_window_dims[i];
    if (updates.dim(static_cast<int>(at)) == input.dim(static_cast<int>(window[i])))
      add(window[i], -1, at);
  }
  const DimVec batch = Without(updates.rank(), {&attrs.update_window_dims});
  for (size_t i = 0; i < attrs.input_batching_dims.size(); ++i) {
    const int64_t at_indices = attrs.scatter_indices_batching_dims[i];
    const int64_t place = at_indices - (at_indices > attrs.index_vector_dim ? 1 : 0);
    add(attrs.input_batching_dims[i], at_indices, batch[static_cast<size_t>(place)]);
  }
  return DivideRuns(partitioner, old, std::move(op));
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
    {Opcode::kDynamicSlice, DivideDynamicSlice},
    {Opcode::kDynamicUpdateSlice, DivideDynamicUpdateSlice},
    {Opcode::kReshape, DivideReshape},
    {Opcode::kBitcastConvert, DivideBitcastConvert},
    {Opcode::kBitcast, KeepBitcast},
    {Opcode::kGather, DivideGather},
    {Opcode::kScatter, DivideScatter},
};

}  // namespace

std::span<const SpmdRow> SpmdMovementRows() { return kMovementRows; }

}  // namespace hlo
