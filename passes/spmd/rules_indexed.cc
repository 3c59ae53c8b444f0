// Operations that find their elements by numbers they read.
#include "absl/algorithm/container.h"
#include "lib/analysis/region.h"
#include "passes/spmd/rules.h"
#include "passes/spmd/running_dims.h"

namespace hlo {
namespace {

Instruction* WideScalar(SpmdCode& code, int64_t value) {
  return code.Constant(Literal::Scalar(ElementType::kS64, value));
}

// Numbers that 64 bits with a sign do not hold are left alone.
bool AreWide(const Instruction& numbers) {
  return numbers.shape().element_type() == ElementType::kU64;
}

// Whether devices may give what they have of elements that are found by operand i.
bool MayPick(const Instruction& old, int i) {
  return !AreWide(*old.operand(i)) && SpmdCode::HasNothing(old.shape().element_type());
}

// ---- one part of an array ----

// The part of the slice that the device has, along dimensions that are divided: the tile with room
// for the whole slice on both sides, where nothing is. `start` becomes where that begins.
Instruction* WithNothingAround(SpmdCode& code, Instruction* tile, const Placement& placement,
                               Shape whole, int64_t d, int64_t size, Instruction*& start) {
  const int64_t last = whole.dim(static_cast<int>(d)) - size;
  start = code.Clamp(WideScalar(code, 0), start, WideScalar(code, last));
  Instruction* tile_start = code.Convert(code.TileStart(placement, whole, d), ElementType::kS64);
  start = code.Add(code.Subtract(start, tile_start), WideScalar(code, size));
  start =
      code.Clamp(WideScalar(code, 0), start, WideScalar(code, placement.TileSize(whole, d) + size));
  PaddingConfig padding;
  padding.dims.resize(static_cast<size_t>(placement.rank()));
  padding.dims[static_cast<size_t>(d)] = {size, size, 0};
  return code.Pad(tile, code.Nothing(tile->shape().element_type()), padding);
}

// Along a divided dimension every device gives what it has of the slice.
absl::StatusOr<Parts> DivideDynamicSlice(Partitioner& partitioner, const Instruction& old) {
  const Shape whole = old.operand(0)->shape();
  const auto is_full = [&](int64_t d) {
    return old.shape().dim(static_cast<int>(d)) == whole.dim(static_cast<int>(d));
  };
  RunningOp op;
  for (int64_t d = 0; d < whole.rank(); ++d) {
    if (is_full(d) || MayPick(old, 1)) op.dims.push_back(RunsAlong(old, 0, d, is_full(d) ? d : -1));
  }
  op.combiner = partitioner.code().Union(whole.element_type());
  op.build = [&](Partitioner& p, std::vector<Instruction*> operands, Shape part,
                 const DividedRun& run) {
    const Placement& placement = *run.operands[0];
    for (int64_t d = 0; d < whole.rank(); ++d) {
      if (is_full(d) || placement.tiles(d) == 1) continue;
      for (size_t i = 1; i < operands.size(); ++i)
        operands[i] = p.code().Convert(operands[i], ElementType::kS64);
      operands[0] =
          WithNothingAround(p.code(), operands[0], placement, whole, d,
                            part.dim(static_cast<int>(d)), operands[static_cast<size_t>(d) + 1]);
    }
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
  const int64_t last = whole.dim(static_cast<int>(d)) - update;
  start = code.Clamp(WideScalar(code, 0), start, WideScalar(code, last));
  Instruction* tile_start = code.Convert(code.TileStart(placement, whole, d), ElementType::kS64);
  start = code.Add(code.Subtract(start, tile_start), WideScalar(code, update));
  start = code.Clamp(WideScalar(code, 0), start,
                     WideScalar(code, placement.TileSize(whole, d) + update));
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
  const bool fits = old.operand_count() > 2 && !AreWide(*old.operand(2));
  for (int64_t d = 0; d < whole.rank() && fits; ++d) {
    if (!is_full(d)) op.dims.push_back(RunsAlong(old, 0, d, d));
  }
  op.build = [&](Partitioner& p, std::vector<Instruction*> operands, Shape part,
                 const DividedRun& run) {
    const Placement& result = run.result();
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

// ---- gather and scatter ----

DimVec Without(int64_t rank, std::initializer_list<const DimVec*> lists) {
  DimVec rest;
  for (int64_t d = 0; d < rank; ++d) {
    if (absl::c_none_of(lists, [&](const DimVec* list) { return absl::c_linear_search(*list, d); }))
      rest.push_back(d);
  }
  return rest;
}

// Start indices, as one array for each component of their vectors, in a type in which they can be
// moved along dimensions of these sizes.
class Components {
 public:
  Components(SpmdCode& code, Instruction* indices, int64_t vector_dim, Shape indexed)
      : code_(code), vector_dim_(vector_dim), batch_(Without(indices->shape().rank(), {})) {
    constexpr int64_t kSafe = int64_t{1} << 30;
    const bool is_safe = indices->shape().element_type() == ElementType::kS32 &&
                         absl::c_all_of(indexed.dims(), [](int64_t n) { return n <= kSafe; });
    if (!is_safe) indices = code.Convert(indices, ElementType::kS64);
    const Shape shape = indices->shape();
    if (vector_dim == shape.rank()) {
      parts_ = {indices};
      return;
    }
    batch_.erase(batch_.begin() + vector_dim);
    const auto d = static_cast<size_t>(vector_dim);
    for (int64_t i = 0; i < shape.dim(static_cast<int>(vector_dim)); ++i) {
      DimVec starts(static_cast<size_t>(shape.rank()), 0);
      DimVec limits(shape.dims().begin(), shape.dims().end());
      starts[d] = i;
      limits[d] = i + 1;
      parts_.push_back(code.Slice(indices, starts, limits));
    }
  }

  Instruction*& operator[](size_t i) { return parts_[i]; }
  size_t size() const { return parts_.size(); }
  // In all places of a component.
  Instruction* Number(int64_t value) {
    const Shape shape = parts_[0]->shape();
    return code_.Filled(shape, code_.Constant(Literal::Scalar(shape.element_type(), value)));
  }
  // As numbers of the tile along dimension `d`, instead of the whole.
  void MoveIntoTile(size_t i, const Placement& placement, Shape whole, int64_t d) {
    const Shape shape = parts_[i]->shape();
    Instruction* start = code_.Convert(code_.TileStart(placement, whole, d), shape.element_type());
    parts_[i] = code_.Subtract(parts_[i], code_.Filled(shape, start));
  }
  // Without the dimension of the vectors.
  Instruction* WithoutVectors(Instruction* x) {
    DimVec dims;
    for (const int64_t d : batch_) dims.push_back(x->shape().dim(static_cast<int>(d)));
    return code_.Reshape(x, dims);
  }
  Instruction* Joined() {
    return parts_.size() == 1 ? parts_[0] : code_.Concatenate(parts_, vector_dim_);
  }

 private:
  SpmdCode& code_;
  int64_t vector_dim_;
  DimVec batch_;
  std::vector<Instruction*> parts_;
};

// The dimension of start indices along which a component counts 0, 1, 2, …; -1: it does not.
int64_t CountsAlong(const Instruction& indices, int64_t vector_dim, int64_t component) {
  const Instruction* piece = &indices;
  if (piece->opcode() == Opcode::kConcatenate &&
      piece->attrs<ConcatenateAttrs>().dimensions.value == vector_dim) {
    int i = 0;
    for (; component >= piece->operand(i)->shape().dim(static_cast<int>(vector_dim)); ++i)
      component -= piece->operand(i)->shape().dim(static_cast<int>(vector_dim));
    piece = piece->operand(i);
  }
  int64_t d = -1;
  if (piece->opcode() == Opcode::kIota) {
    d = piece->attrs<IotaAttrs>().iota_dimension;
  } else if (piece->opcode() == Opcode::kBroadcast &&
             piece->operand(0)->opcode() == Opcode::kIota) {
    const int64_t counted = piece->operand(0)->attrs<IotaAttrs>().iota_dimension;
    d = piece->attrs<BroadcastAttrs>().dimensions[static_cast<size_t>(counted)];
  }
  if (d < 0 || d == vector_dim) return -1;
  // Not if the numbers begin again, because their type holds no more.
  const int64_t bits = BitWidth(piece->shape().element_type());
  const bool fits = bits > 31 || indices.shape().dim(static_cast<int>(d)) < int64_t{1}
                                                                                << (bits - 1);
  return fits ? d : -1;
}

// The component of the start indices that, for dimension `b` of them, counts the elements along a
// dimension of the operand; -1 if there is none.
int64_t CountingComponent(const Instruction& indices, int64_t vector_dim, int64_t b,
                          const DimVec& dims, Shape operand) {
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto component = static_cast<int64_t>(i);
    if (CountsAlong(indices, vector_dim, component) == b &&
        operand.dim(static_cast<int>(dims[i])) == indices.shape().dim(static_cast<int>(b)))
      return component;
  }
  return -1;
}

// Whether slices have one element along dimension `d` of the operand, at a place that is read.
bool PicksAlong(const GatherAttrs& attrs, Shape operand, int64_t d) {
  return attrs.slice_sizes[static_cast<size_t>(d)] == 1 && operand.dim(static_cast<int>(d)) > 1 &&
         absl::c_linear_search(attrs.start_index_map, d);
}

// Whether component `i` counts the elements of the tile, because indices are divided like the
// operand.
bool CountsInTile(const Placement& operand, const Placement& indices, const Instruction& gather,
                  size_t i) {
  const auto& attrs = gather.attrs<GatherAttrs>();
  const int64_t d = attrs.start_index_map[i];
  const int64_t b =
      CountsAlong(*gather.operand(1), attrs.index_vector_dim, static_cast<int64_t>(i));
  if (b < 0 || gather.operand(0)->shape().dim(static_cast<int>(d)) !=
                   gather.operand(1)->shape().dim(static_cast<int>(b)))
    return false;
  return Placement::Join({{&operand, d}}, operand) == Placement::Join({{&indices, b}}, operand);
}

// Of divided dimensions along which slices have one element, each device gives those slices that
// are in its tile.
Instruction* GatherFromTile(Partitioner& partitioner, const Instruction& old, GatherAttrs attrs,
                            std::vector<Instruction*> operands, Shape part, const DividedRun& run) {
  const Shape whole = old.operand(0)->shape();
  const Placement& placement = *run.operands[0];
  SpmdCode& code = partitioner.code();
  Components components(code, operands[1], attrs.index_vector_dim, whole);
  Instruction* is_here = nullptr;
  bool has_moved = false;
  for (size_t i = 0; i < components.size(); ++i) {
    const int64_t d = attrs.start_index_map[i];
    if (placement.tiles(d) == 1 || !PicksAlong(old.attrs<GatherAttrs>(), whole, d)) continue;
    has_moved = true;
    if (CountsInTile(placement, *run.operands[1], old, i)) {
      components.MoveIntoTile(i, placement, whole, d);
      continue;
    }
    components[i] = code.Clamp(components.Number(0), components[i],
                               components.Number(whole.dim(static_cast<int>(d)) - 1));
    components.MoveIntoTile(i, placement, whole, d);
    Instruction* is_along =
        code.And(code.Compare(components[i], components.Number(0), ComparisonDirection::kGe),
                 code.Compare(components[i], components.Number(placement.TileSize(whole, d)),
                              ComparisonDirection::kLt));
    is_here = is_here == nullptr ? is_along : code.And(is_here, is_along);
  }
  if (has_moved) operands[1] = components.Joined();
  const DimVec batch = Without(old.shape().rank(), {&attrs.offset_dims});
  Instruction* gather = partitioner.Clone(old, part, std::move(operands));
  gather->SetAttrs(std::move(attrs));
  if (is_here == nullptr) return gather;
  return code.Select(code.Broadcast(components.WithoutVectors(is_here), part.dims(), batch), gather,
                     code.Filled(part, code.Nothing(part.element_type())));
}

// Slices that are as long as the operand are cut with it; indices with what they give; dimensions
// along which slices have one element in any way.
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
      continue;
    }
    const int64_t counting = CountingComponent(*old.operand(1), attrs.index_vector_dim, d,
                                               attrs.start_index_map, operand);
    if (counting < 0 || AreWide(*old.operand(1))) continue;
    const int64_t counted = attrs.start_index_map[static_cast<size_t>(counting)];
    if (PicksAlong(attrs, operand, counted)) op.dims.back().in[0] = counted;
  }
  for (const int64_t d : attrs.start_index_map) {
    if (PicksAlong(attrs, operand, d) && MayPick(old, 1))
      op.dims.push_back(RunsAlong(old, 0, d, -1));
  }
  op.combiner = partitioner.code().Union(operand.element_type());
  op.build = [&](Partitioner& p, std::vector<Instruction*> operands, Shape part,
                 const DividedRun& run) {
    GatherAttrs own = attrs;
    for (const int64_t d : cut)
      own.slice_sizes[static_cast<size_t>(d)] = operands[0]->shape().dim(static_cast<int>(d));
    return GatherFromTile(p, old, std::move(own), std::move(operands), part, run);
  };
  return DivideRuns(partitioner, old, std::move(op));
}

// What a scatter can be divided along.
class ScatterRuns {
 public:
  explicit ScatterRuns(const Instruction& old)
      : old_(old), attrs_(old.attrs<ScatterAttrs>()), inputs_(old.operand_count() / 2) {
    const Shape input = old.operand(0)->shape(), updates = old.operand(inputs_ + 1)->shape();
    const DimVec window =
        Without(input.rank(), {&attrs_.inserted_window_dims, &attrs_.input_batching_dims});
    for (size_t i = 0; i < window.size(); ++i) {
      const int64_t at = attrs_.update_window_dims[i], d = window[i];
      const int64_t size = updates.dim(static_cast<int>(at));
      if (size == input.dim(static_cast<int>(d))) {
        Add(d, -1, at, d);
      } else if (size == 1) {
        AddPicked(d);
      }
    }
    for (const int64_t d : attrs_.inserted_window_dims) {
      if (input.dim(static_cast<int>(d)) > 1) AddPicked(d);
    }
    AddBatches();
  }

  std::vector<RunningDim>& dims() { return dims_; }
  // Updates have one element along dimension `d` of the inputs, at a place that is read.
  bool Picks(int64_t d) const { return absl::c_linear_search(picked_, d); }

 private:
  void Add(int64_t in, int64_t at_indices, int64_t at_updates, int64_t out) {
    RunningDim dim = RunsAlong(old_, inputs_, at_indices, out);
    for (int i = 0; i < inputs_; ++i) {
      dim.in[static_cast<size_t>(i)] = in;
      dim.in[static_cast<size_t>(inputs_ + 1 + i)] = at_updates;
    }
    dims_.push_back(std::move(dim));
  }

  void AddPicked(int64_t d) {
    if (!absl::c_linear_search(attrs_.scatter_dims_to_operand_dims, d)) return;
    picked_.push_back(d);
    Add(d, -1, -1, d);
  }

  // Updates that belong to one place of the inputs each; others are combined, if that is possible.
  void AddBatches() {
    const Shape indices = old_.operand(inputs_)->shape();
    const DimVec batch =
        Without(old_.operand(inputs_ + 1)->shape().rank(), {&attrs_.update_window_dims});
    size_t next = 0;
    for (int64_t d = 0; d < indices.rank(); ++d) {
      if (d == attrs_.index_vector_dim) continue;
      const int64_t at_updates = batch[next++];
      const auto along = absl::c_find(attrs_.scatter_indices_batching_dims, d);
      if (along != attrs_.scatter_indices_batching_dims.end()) {
        const int64_t in = attrs_.input_batching_dims[static_cast<size_t>(
            along - attrs_.scatter_indices_batching_dims.begin())];
        Add(in, d, at_updates, in);
        continue;
      }
      AddCounted(d, at_updates);
      if (MayAddUpdates()) Add(-1, d, at_updates, -1);
    }
  }

  // Updates of the tile that the device has. (Those beyond the end of an array could be of any.)
  void AddCounted(int64_t at_indices, int64_t at_updates) {
    const Instruction& indices = *old_.operand(inputs_);
    const DimVec& dims = attrs_.scatter_dims_to_operand_dims;
    const int64_t counting = CountingComponent(indices, attrs_.index_vector_dim, at_indices, dims,
                                               old_.operand(0)->shape());
    if (counting < 0 || !Picks(dims[static_cast<size_t>(counting)])) return;
    const int64_t in = dims[static_cast<size_t>(counting)];
    Add(in, at_indices, at_updates, in);
    dims_.back().groups = indices.shape().dim(static_cast<int>(at_indices));
  }

  // Indices that are not there are -1.
  bool MayAddUpdates() const {
    if (inputs_ != 1 || attrs_.scatter_dims_to_operand_dims.empty() ||
        !IsSigned(old_.operand(1)->shape().element_type()))
      return false;
    // Sums of narrow floats are rounded to as little on each device.
    const ElementType type = old_.shape().element_type();
    if (IsFloat(type) && ByteSize(type) == 1) return false;
    const std::optional<Opcode> opcode = CombinerOpcode(*old_.to_apply());
    return opcode.has_value() && HasTrait(*opcode, kAssociative) &&
           IdentityOf(*opcode, type).has_value();
  }

  const Instruction& old_;
  const ScatterAttrs& attrs_;
  int inputs_;
  std::vector<RunningDim> dims_;
  DimVec picked_;
};

// The input on one device of those that share the updates; on the others, what changes nothing.
Instruction* InputOnce(SpmdCode& code, const Instruction& old, Instruction* input,
                       const DividedRun& run) {
  std::vector<int64_t> is_first;
  for (int64_t device = 0; device < run.loops.devices(); ++device) {
    is_first.push_back(absl::c_all_of(
        run.summed, [&](int64_t loop) { return run.loops.tile_of(device, loop) == 0; }));
  }
  Instruction* first = code.Convert(code.Table(is_first), ElementType::kPred);
  const Literal identity =
      *IdentityOf(*CombinerOpcode(*old.to_apply()), input->shape().element_type());
  return code.Select(code.Filled(Shape::Array(ElementType::kPred, input->shape().dims()), first),
                     input, code.Filled(input->shape(), code.Constant(identity)));
}

// Updates that are as long as what they update are cut with it, and batches with their indices.
// Where they have one element, every device takes those that are for its tile. Else each makes its
// updates to nothing, and all of that is combined.
absl::StatusOr<Parts> DivideScatter(Partitioner& partitioner, const Instruction& old) {
  const auto& attrs = old.attrs<ScatterAttrs>();
  const int inputs = old.operand_count() / 2;
  const Shape whole = old.operand(0)->shape();
  ScatterRuns runs(old);
  RunningOp op;
  op.dims = std::move(runs.dims());
  op.combiner = old.to_apply();
  op.filler = [&](SpmdCode& code, int i) {
    const ElementType type = old.operand(i)->shape().element_type();
    return i == inputs ? code.Constant(Literal::Scalar(type, int64_t{-1})) : code.Zero(type);
  };
  op.build = [&](Partitioner& p, std::vector<Instruction*> operands, Shape part,
                 const DividedRun& run) {
    const Placement& placement = *run.operands[0];
    SpmdCode& code = p.code();
    const bool has_picked = absl::c_any_of(attrs.scatter_dims_to_operand_dims, [&](int64_t d) {
      return placement.tiles(d) > 1 && runs.Picks(d);
    });
    if (has_picked) {
      Instruction*& indices = operands[static_cast<size_t>(inputs)];
      Components components(code, indices, attrs.index_vector_dim, whole);
      for (size_t i = 0; i < components.size(); ++i) {
        const int64_t d = attrs.scatter_dims_to_operand_dims[i];
        if (placement.tiles(d) > 1 && runs.Picks(d))
          components.MoveIntoTile(i, placement, whole, d);
      }
      indices = components.Joined();
    }
    if (!run.summed.empty()) operands[0] = InputOnce(code, old, operands[0], run);
    Instruction* made = p.Clone(old, part, std::move(operands));
    if (!run.summed.empty()) {
      // Those that are not there come last, more than once.
      ScatterAttrs own = attrs;
      own.indices_are_sorted = own.unique_indices = false;
      made->SetAttrs(std::move(own));
    }
    return made;
  };
  return DivideRuns(partitioner, old, std::move(op));
}

constexpr SpmdRow kIndexedRows[] = {
    {Opcode::kDynamicSlice, DivideDynamicSlice},
    {Opcode::kDynamicUpdateSlice, DivideDynamicUpdateSlice},
    {Opcode::kGather, DivideGather},
    {Opcode::kScatter, DivideScatter},
};

}  // namespace

std::span<const SpmdRow> SpmdIndexedRows() { return kIndexedRows; }

}  // namespace hlo
