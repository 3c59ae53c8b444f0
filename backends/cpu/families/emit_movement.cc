// Emission of opcodes that move elements: mostly arithmetic on the index.
#include <algorithm>
#include <utility>

#include "backends/cpu/families/fusion_emitter.h"
#include "lib/support/status.h"
#include "passes/cpu/fusible.h"

namespace hlo::cpu {

absl::StatusOr<Value> FusionEmitter::EmitUncached(const Instruction* instruction, int result,
                                                  const Index& index) {
  if (const auto it = buffers_.find(instruction); it != buffers_.end()) {
    return LoadElement(it->second + result, Linear(index, instruction->shape().dims()));
  }
  if (IsFusibleElementwise(*instruction)) return EmitElementwise(instruction, index);
  if (instruction->opcode() == Opcode::kReduce) return EmitReduce(instruction, result, index);
  if (instruction->opcode() == Opcode::kReduceWindow)
    return EmitReduceWindow(instruction, result, index);
  using Method = absl::StatusOr<Value> (FusionEmitter::*)(const Instruction*, const Index&);
  static constexpr std::pair<Opcode, Method> kMethods[] = {
      {Opcode::kConstant, &FusionEmitter::EmitConstant},
      {Opcode::kBroadcast, &FusionEmitter::EmitBroadcast},
      {Opcode::kReshape, &FusionEmitter::EmitReshape},
      {Opcode::kBitcast, &FusionEmitter::EmitReshape},
      {Opcode::kTranspose, &FusionEmitter::EmitTranspose},
      {Opcode::kReverse, &FusionEmitter::EmitReverse},
      {Opcode::kSlice, &FusionEmitter::EmitSlice},
      {Opcode::kConcatenate, &FusionEmitter::EmitConcatenate},
      {Opcode::kPad, &FusionEmitter::EmitPad},
      {Opcode::kIota, &FusionEmitter::EmitIota},
      {Opcode::kDynamicSlice, &FusionEmitter::EmitDynamicSlice},
      {Opcode::kDynamicUpdateSlice, &FusionEmitter::EmitDynamicUpdateSlice},
      {Opcode::kGather, &FusionEmitter::EmitGather},
      {Opcode::kMap, &FusionEmitter::EmitMap},
      {Opcode::kGetTupleElement, &FusionEmitter::EmitElementOfTuple},
  };
  for (const auto& [opcode, method] : kMethods) {
    if (instruction->opcode() == opcode) return (this->*method)(instruction, index);
  }
  return Unsupported(instruction->loc(), "platform `cpu` cannot run `{}` yet",
                     instruction->opcode_text());
}

absl::StatusOr<Value> FusionEmitter::EmitReshape(const Instruction* instruction,
                                                 const Index& index) {
  const Instruction* operand = instruction->operand(0);
  while (!buffers_.contains(operand) &&
         (operand->opcode() == Opcode::kReshape || operand->opcode() == Opcode::kBitcast))
    operand = operand->operand(0);
  // In memory the place is that of the result, without any division.
  const auto dims = instruction->shape().dims();
  if (const auto it = buffers_.find(operand); it != buffers_.end())
    return LoadElement(it->second, Linear(index, dims));
  return Emit(operand, MapReshape(dims, operand->shape().dims(), index));
}

absl::StatusOr<Value> FusionEmitter::EmitTranspose(const Instruction* instruction,
                                                   const Index& index) {
  const DimVec& order = instruction->attrs<TransposeAttrs>().dimensions;
  Index inner(index.size());
  for (size_t d = 0; d < order.size(); ++d) inner[static_cast<size_t>(order[d])] = index[d];
  return Emit(instruction->operand(0), inner);
}

absl::StatusOr<Value> FusionEmitter::EmitReverse(const Instruction* instruction,
                                                 const Index& index) {
  Index inner = index;
  for (const int64_t d : instruction->attrs<ReverseAttrs>().dimensions) {
    Affine& from_end = inner[static_cast<size_t>(d)];
    from_end = Affine::Constant(instruction->shape().dim(static_cast<int>(d)) - 1);
    from_end.Add(index[static_cast<size_t>(d)], -1);
  }
  return Emit(instruction->operand(0), inner);
}

absl::StatusOr<Value> FusionEmitter::EmitMap(const Instruction* instruction, const Index& index) {
  Values values;
  for (const Instruction* operand : instruction->operands()) {
    ASSIGN_OR_RETURN(const Value value, Emit(operand, index));
    values.push_back(value);
  }
  ASSIGN_OR_RETURN(const Values results, EmitRegion(*instruction->to_apply(), values));
  return results[0];
}

absl::StatusOr<Value> FusionEmitter::EmitElementOfTuple(const Instruction* instruction,
                                                        const Index& index) {
  const Instruction* const tuple = instruction->operand(0);
  const auto element = static_cast<int>(instruction->tuple_index());
  if (const auto it = buffers_.find(tuple); it != buffers_.end()) {
    return LoadElement(it->second + element, Linear(index, instruction->shape().dims()));
  }
  if (tuple->opcode() == Opcode::kTuple) return Emit(tuple->operand(element), index);
  return EmitResult(tuple, element, index);
}

absl::StatusOr<Value> FusionEmitter::EmitBroadcast(const Instruction* instruction,
                                                   const Index& index) {
  Index inner;
  for (const int64_t d : instruction->attrs<BroadcastAttrs>().dimensions) {
    // A size-1 operand dimension is spread, too.
    const bool spread = instruction->operand(0)->shape().dim(static_cast<int>(inner.size())) == 1;
    inner.push_back(spread ? Affine() : index[static_cast<size_t>(d)]);
  }
  return Emit(instruction->operand(0), inner);
}

absl::StatusOr<Value> FusionEmitter::EmitSlice(const Instruction* instruction, const Index& index) {
  const SliceRanges& ranges = instruction->attrs<SliceAttrs>().slice;
  Index inner(index.size());
  for (size_t d = 0; d < index.size(); ++d) {
    inner[d] = Affine::Constant(ranges[d].start);
    inner[d].Add(index[d], ranges[d].stride);
  }
  return Emit(instruction->operand(0), inner);
}

absl::StatusOr<Value> FusionEmitter::EmitConcatenate(const Instruction* instruction,
                                                     const Index& index) {
  const auto dim = static_cast<size_t>(instruction->attrs<ConcatenateAttrs>().dimensions.value);
  const std::function<absl::StatusOr<Value>(int, int64_t)> from =
      [&](int i, int64_t start) -> absl::StatusOr<Value> {
    const Instruction* const operand = instruction->operand(i);
    const int64_t end = start + operand->shape().dim(static_cast<int>(dim));
    const auto inside = [&] {
      Index inner = index;
      inner[dim].Add(Affine::Constant(-start));
      return Emit(operand, inner);
    };
    if (i + 1 == instruction->operand_count()) return inside();
    return Guarded(
        {{index[dim], start, end}}, inside, [&] { return from(i + 1, end); }, Outside::kMasked);
  };
  return from(0, 0);
}

absl::StatusOr<Value> FusionEmitter::EmitPad(const Instruction* instruction, const Index& index) {
  const PaddingConfig& padding = instruction->attrs<PadAttrs>().padding;
  const Instruction* const operand = instruction->operand(0);
  std::vector<Condition> conditions;
  Index inner(index.size());
  for (size_t d = 0; d < index.size(); ++d) {
    const PaddingDim& pad = padding[static_cast<int>(d)];
    const int64_t size = operand->shape().dim(static_cast<int>(d));
    inner[d] = index[d];
    inner[d].Add(Affine::Constant(-pad.low));
    if (pad.interior > 0) {
      const int64_t step = pad.interior + 1;
      conditions.push_back({inner[d], 0, (size - 1) * step + 1});
      auto [quotient, remainder] = DivRem(inner[d], step);
      conditions.push_back({remainder, 0, 1});
      inner[d] = quotient;
    } else {
      conditions.push_back({inner[d], 0, size});
    }
  }
  return Guarded(
      conditions, [&] { return Emit(operand, inner); },
      [&] { return Emit(instruction->operand(1), {}); });
}

absl::StatusOr<Value> FusionEmitter::EmitIota(const Instruction* instruction, const Index& index) {
  const ElementType type = instruction->shape().element_type();
  const Affine& affine = index[static_cast<size_t>(instruction->attrs<IotaAttrs>().iota_dimension)];
  const Range range = RangeOf(affine);
  const Address address = ToAddress(affine);
  // 32 bits where they are enough: vectors of 64-bit integers convert slowly.
  const bool narrow = range.lo >= INT32_MIN && range.hi <= INT32_MAX;
  const ElementType wide = narrow ? ElementType::kS32 : ElementType::kS64;
  Value value = b_.Convert(address.base, wide);
  if (address.lanes > 1 && !address.per_lane) {
    const Value lanes = b_.Convert(b_.Scale(b_.Iota(address.lanes), address.step), wide);
    value = b_.Element(Opcode::kAdd, wide, {value, lanes});
  }
  return b_.Convert(value, type);
}

// ---- starts known at run time ----

absl::StatusOr<Affine> FusionEmitter::ClampedStart(const Instruction* instruction,
                                                   const Index& index, int64_t limit) {
  if (limit == 0) return Affine();
  ASSIGN_OR_RETURN(Value start, Emit(instruction, index));
  const ElementType type = instruction->shape().element_type();
  if (type == ElementType::kU64) {
    // Before the conversion, which would make large numbers negative.
    const Value most = b_.Constant(type, {static_cast<uint64_t>(limit), 0});
    start = b_.Element(Opcode::kMinimum, type, {start, most});
  }
  start = b_.Convert(start, ElementType::kS64);
  if (!IsUnsigned(type) || type == ElementType::kU64) start = b_.Max(start, b_.Index(0));
  return Opaque(b_.Min(start, b_.Index(limit)), {0, limit});
}

absl::StatusOr<Value> FusionEmitter::EmitDynamicSlice(const Instruction* instruction,
                                                      const Index& index) {
  const Instruction* const operand = instruction->operand(0);
  Index inner = index;
  for (int d = 0; d < operand->shape().rank(); ++d) {
    const int64_t limit = operand->shape().dim(d) - instruction->shape().dim(d);
    ASSIGN_OR_RETURN(const Affine start, ClampedStart(instruction->operand(1 + d), {}, limit));
    inner[static_cast<size_t>(d)].Add(start);
  }
  return Emit(operand, inner);
}

absl::StatusOr<Value> FusionEmitter::EmitDynamicUpdateSlice(const Instruction* instruction,
                                                            const Index& index) {
  const Instruction* const update = instruction->operand(1);
  std::vector<Condition> conditions;
  Index inner = index;
  for (int d = 0; d < update->shape().rank(); ++d) {
    const int64_t size = update->shape().dim(d);
    ASSIGN_OR_RETURN(const Affine start, ClampedStart(instruction->operand(2 + d), {},
                                                      instruction->shape().dim(d) - size));
    inner[static_cast<size_t>(d)].Add(start, -1);
    conditions.push_back({inner[static_cast<size_t>(d)], 0, size});
  }
  return Guarded(
      conditions, [&] { return Emit(update, inner); },
      [&] { return Emit(instruction->operand(0), index); });
}

absl::StatusOr<Value> FusionEmitter::EmitGather(const Instruction* instruction,
                                                const Index& index) {
  const auto& attrs = instruction->attrs<GatherAttrs>();
  const Instruction* const operand = instruction->operand(0);
  const Instruction* const indices = instruction->operand(1);
  const auto contains = [](const DimVec& list, int64_t d) {
    return std::find(list.begin(), list.end(), d) != list.end();
  };
  // The result's dimensions: those of the batch, and those inside the slice.
  Index batch, offset;
  for (size_t d = 0; d < index.size(); ++d) {
    (contains(attrs.offset_dims, static_cast<int64_t>(d)) ? offset : batch).push_back(index[d]);
  }
  Index inner(static_cast<size_t>(operand->shape().rank()));
  size_t next = 0;
  for (size_t d = 0; d < inner.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    if (!contains(attrs.collapsed_slice_dims, dim) && !contains(attrs.operand_batching_dims, dim))
      inner[d] = offset[next++];
  }
  // Position `k` of the start vector of this batch element.
  const auto start_index = [&](int64_t k) {
    Index at;
    size_t b = 0;
    for (int64_t d = 0; d < indices->shape().rank(); ++d) {
      at.push_back(d == attrs.index_vector_dim ? Affine::Constant(k) : batch[b++]);
    }
    return at;
  };
  for (size_t i = 0; i < attrs.operand_batching_dims.size(); ++i) {
    const int64_t d = attrs.start_indices_batching_dims[i];
    inner[static_cast<size_t>(attrs.operand_batching_dims[i])] =
        batch[static_cast<size_t>(d < attrs.index_vector_dim ? d : d - 1)];
  }
  for (size_t k = 0; k < attrs.start_index_map.size(); ++k) {
    const int64_t d = attrs.start_index_map[k];
    const int64_t limit =
        operand->shape().dim(static_cast<int>(d)) - attrs.slice_sizes[static_cast<size_t>(d)];
    ASSIGN_OR_RETURN(const Affine start,
                     ClampedStart(indices, start_index(static_cast<int64_t>(k)), limit));
    inner[static_cast<size_t>(d)].Add(start);
  }
  return Emit(operand, inner);
}

}  // namespace hlo::cpu
