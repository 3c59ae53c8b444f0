#include "backends/gpu/emit/core/fusion_emitter.h"

#include <algorithm>
#include <utility>

#include "backends/codegen/scalar_region.h"
#include "backends/gpu/emit/core/reducer.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::gpu {

absl::InlinedVector<int64_t, 6> KeptDims(absl::Span<const int64_t> dims,
                                         absl::Span<const int64_t> removed) {
  absl::InlinedVector<int64_t, 6> kept;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (std::find(removed.begin(), removed.end(), static_cast<int64_t>(d)) == removed.end())
      kept.push_back(dims[d]);
  }
  return kept;
}

// ---- values made before ----

const GpuFusionEmitter::Memo* GpuFusionEmitter::FindMemo(const Instruction* i,
                                                         const ArrayIndex& index,
                                                         int result) const {
  const auto it = memo_.find(i);
  if (it == memo_.end()) return nullptr;
  for (const Memo& memo : it->second) {
    if (memo.result != result || !(memo.index == index)) continue;
    for (int s = 0; s < k_.scope_count(); ++s) {
      if (k_.scope_id(s) == memo.scope) return &memo;
    }
  }
  return nullptr;
}

absl::StatusOr<Emitted> GpuFusionEmitter::Emit(const Instruction* instruction,
                                               const ArrayIndex& index, int result) {
  const ArrayIndex& place = PlaceOf(instruction, index);
  if (const Memo* memo = FindMemo(instruction, place, result)) return memo->value;
  const uint64_t scope = k_.scope_id(k_.scope_count() - 1);
  ASSIGN_OR_RETURN(const Emitted value, EmitUncached(instruction, place, result));
  memo_[instruction].push_back({scope, place, result, value});
  return value;
}

Emitted GpuFusionEmitter::LoadElement(int buffer, const ArrayIndex& index) {
  llvm::Value* const linear = index.linear(k_);
  for (Vector& vector : vectors_) {
    const auto lane = std::find(vector.lanes.begin(), vector.lanes.end(), linear);
    if (lane == vector.lanes.end() || k_.buffer(buffer).elements != vector.elements) continue;
    EmittedList& loaded = vector.loaded[buffer];
    if (loaded.empty()) {
      // Conditions may hide the place where it is first wanted from later ones: not worth a vector.
      if (k_.scope_count() > lane_scopes_) break;
      loaded = k_.LoadVector(buffer, vector.lanes[0], static_cast<int>(vector.lanes.size()));
    }
    return loaded[static_cast<size_t>(lane - vector.lanes.begin())];
  }
  return k_.Load(buffer, linear);
}

absl::StatusOr<Emitted> GpuFusionEmitter::EmitUncached(const Instruction* i,
                                                       const ArrayIndex& index, int result) {
  if (const auto it = buffers_.find(i); it != buffers_.end())
    return LoadElement(it->second + result, index);
  if (IsFusibleElementwise(*i)) return EmitElementwise(i, index);
  if (i->opcode() == Opcode::kReduce) return EmitReduce(i, index, result);
  if (i->opcode() == Opcode::kReduceWindow) return EmitReduceWindow(i, index, result);
  if (const auto rule = Movement<GpuFusionEmitter>::RuleOf(i->opcode()))
    return rule(*this, *i, index);
  static constexpr std::pair<Opcode, Method> kMethods[] = {
      {Opcode::kConstant, &GpuFusionEmitter::EmitConstant},
      {Opcode::kReshape, &GpuFusionEmitter::EmitReshape},
      {Opcode::kBitcast, &GpuFusionEmitter::EmitReshape},
      {Opcode::kIota, &GpuFusionEmitter::EmitIota},
      {Opcode::kBitcastConvert, &GpuFusionEmitter::EmitBitPieces},
      {Opcode::kStochasticConvert, &GpuFusionEmitter::EmitStochasticConvert},
      {Opcode::kGetTupleElement, &GpuFusionEmitter::EmitElementOfTuple},
      {Opcode::kGetDimensionSize, &GpuFusionEmitter::EmitDimensionSize},
  };
  for (const auto& [opcode, method] : kMethods) {
    if (i->opcode() == opcode) return (this->*method)(i, index);
  }
  return Unsupported(i->loc(), "platform `gpu` cannot run `{}` inside a kernel yet",
                     i->opcode_text());
}

// ---- arithmetic ----

Emitted GpuFusionEmitter::Element(Opcode opcode, ElementType result,
                                  absl::Span<const ElementType> types,
                                  absl::Span<const Emitted> operands) {
  return EmitElement(k_.b(), kGpuConversions, {opcode, result}, types, operands);
}

Emitted GpuFusionEmitter::Convert(const Emitted& value, ElementType from, ElementType to) {
  return from == to ? value : Element(Opcode::kConvert, to, {from}, {value});
}

absl::StatusOr<Emitted> GpuFusionEmitter::ApplyElementwise(const Instruction& i,
                                                           absl::Span<const Emitted> x) {
  if (i.opcode() == Opcode::kCopy || i.opcode() == Opcode::kOptimizationBarrier) return x[0];
  absl::InlinedVector<ElementType, 3> types;
  for (const Instruction* operand : i.operands()) types.push_back(operand->shape().element_type());
  return EmitElement(k_.b(), kGpuConversions,
                     {i.opcode(), i.shape().element_type(), ElementAttrsOf(i)}, types, x);
}

absl::StatusOr<Emitted> GpuFusionEmitter::EmitElementwise(const Instruction* i,
                                                          const ArrayIndex& index) {
  EmittedList operands;
  for (const Instruction* operand : i->operands()) {
    // A scalar predicate or limit goes with every element.
    const bool is_scalar = operand->shape().rank() == 0;
    ASSIGN_OR_RETURN(const Emitted value, Emit(operand, is_scalar ? ArrayIndex() : index));
    operands.push_back(value);
  }
  return ApplyElementwise(*i, operands);
}

absl::StatusOr<EmittedList> GpuFusionEmitter::EmitRegion(const Computation& computation,
                                                         absl::Span<const Emitted> arguments) {
  return ScalarRegion<GpuFusionEmitter>(*this, computation, arguments).Results();
}

absl::StatusOr<Emitted> GpuFusionEmitter::EmitConstant(const Instruction* i,
                                                       const ArrayIndex& index) {
  const Literal& literal = i->literal();
  if (literal.is_elided()) return Error(i->loc(), "the value of `{}` is elided", i->name());
  if (literal.element_count() == 1 || literal.IsUniform())
    return k_.Constant(literal.element_type(), literal.data());
  return k_.LoadConstant(literal.element_type(),
                         {literal.data(), static_cast<size_t>(literal.byte_size())},
                         index.linear(k_));
}

absl::StatusOr<Emitted> GpuFusionEmitter::EmitDimensionSize(const Instruction* i,
                                                            const ArrayIndex& /*index*/) {
  const int64_t d = i->attrs<DimensionAttrs>().dimensions.value;
  const auto size = static_cast<int32_t>(i->operand(0)->shape().dim(static_cast<int>(d)));
  return Emitted{k_.b().getInt32(static_cast<uint32_t>(size)), nullptr};
}

absl::StatusOr<Emitted> GpuFusionEmitter::EmitElementOfTuple(const Instruction* i,
                                                             const ArrayIndex& index) {
  const Instruction* const tuple = i->operand(0);
  const auto element = static_cast<int>(i->tuple_index());
  if (const auto it = buffers_.find(tuple); it != buffers_.end())
    return LoadElement(it->second + element, index);
  if (tuple->opcode() == Opcode::kTuple) return Emit(tuple->operand(element), index);
  return Emit(tuple, index, element);
}

// ---- reductions by one thread ----

absl::StatusOr<EmittedList> GpuFusionEmitter::EmitReduceInputs(const Instruction* reduce,
                                                               const ArrayIndex& index) {
  EmittedList values;
  for (int o = 0; o < reduce->operand_count() / 2; ++o) {
    ASSIGN_OR_RETURN(const Emitted value, Emit(reduce->operand(o), index));
    values.push_back(value);
  }
  return values;
}

absl::StatusOr<EmittedList> GpuFusionEmitter::EmitReduceInit(const Instruction* reduce) {
  EmittedList values;
  const int count = reduce->operand_count() / 2;
  for (int o = 0; o < count; ++o) {
    ASSIGN_OR_RETURN(const Emitted value, Emit(reduce->operand(count + o), ArrayIndex()));
    values.push_back(value);
  }
  return values;
}

absl::StatusOr<Emitted> GpuFusionEmitter::EmitReduce(const Instruction* i, const ArrayIndex& index,
                                                     int result) {
  const absl::Span<const int64_t> dims = i->operand(0)->shape().dims();
  const Reducer reducer(*this, i);
  DimVec reduced = i->attrs<ReduceAttrs>().dimensions;
  std::sort(reduced.begin(), reduced.end());  // elements are combined as they stand in memory
  ASSIGN_OR_RETURN(EmittedList init, EmitReduceInit(i));
  const ArrayIndex::Positions kept = index.positions(k_);
  absl::InlinedVector<int64_t, 6> reduced_dims;
  int64_t count = 1;
  for (const int64_t d : reduced) {
    reduced_dims.push_back(dims[static_cast<size_t>(d)]);
    count *= reduced_dims.back();
  }
  const auto body = [&](llvm::Value* at, const EmittedList& before) -> absl::StatusOr<EmittedList> {
    const auto inner = ArrayIndex::Linear(reduced_dims, at).positions(k_);
    ArrayIndex::Positions positions(dims.size(), nullptr);
    for (size_t r = 0; r < reduced.size(); ++r)
      positions[static_cast<size_t>(reduced[r])] = inner[r];
    size_t next = 0;
    for (auto& position : positions) {
      if (position == nullptr) position = kept[next++];
    }
    ASSIGN_OR_RETURN(EmittedList values,
                     EmitReduceInputs(i, ArrayIndex::At(dims, std::move(positions))));
    return reducer.Combine(before, reducer.Widen(std::move(values)));
  };
  ASSIGN_OR_RETURN(EmittedList done, k_.Loop(k_.Index(0), k_.Index(count), k_.Index(1),
                                             reducer.Widen(std::move(init)), body));
  done = reducer.Narrow(std::move(done));
  const uint64_t scope = k_.scope_id(k_.scope_count() - 1);
  for (size_t r = 0; r < done.size(); ++r) {
    if (static_cast<int>(r) != result)
      memo_[i].push_back({scope, index, static_cast<int>(r), done[r]});
  }
  return done[static_cast<size_t>(result)];
}

absl::StatusOr<Emitted> GpuFusionEmitter::EmitReduceWindow(const Instruction* i,
                                                           const ArrayIndex& index, int result) {
  const absl::Span<const int64_t> dims = i->operand(0)->shape().dims();
  const Window& window = i->attrs<ReduceWindowAttrs>().window;
  const Reducer reducer(*this, i);
  ASSIGN_OR_RETURN(EmittedList initial, EmitReduceInit(i));
  const ArrayIndex::Positions outer = index.positions(k_);
  absl::InlinedVector<int64_t, 6> sizes;
  int64_t count = 1;
  for (const WindowDim& dim : window.dims) {
    sizes.push_back(dim.size);
    count *= dim.size;
  }
  const auto body = [&](llvm::Value* at, const EmittedList& before) -> absl::StatusOr<EmittedList> {
    const auto inner = ArrayIndex::Linear(sizes, at).positions(k_);
    ArrayIndex::Positions positions(dims.size(), nullptr);
    llvm::Value* inside = k_.b().getTrue();
    for (size_t d = 0; d < dims.size(); ++d) {
      const WindowDim& dim = window.dims[d];
      llvm::Value* place =
          k_.Add(k_.Scale(outer[d], dim.stride), k_.Scale(inner[d], dim.window_dilation));
      place = k_.Offset(place, -dim.pad_low);
      inside = And(inside, InRange(place, 0, (dims[d] - 1) * dim.base_dilation + 1));
      if (dim.base_dilation > 1) {
        // Unsigned remainders of negative numbers do not matter: `inside` is false for them.
        llvm::Value* const hit = k_.b().CreateICmpEQ(k_.Rem(place, dim.base_dilation), k_.Index(0));
        inside = And(inside, hit);
        place = k_.Div(place, dim.base_dilation);
      }
      positions[d] = place;
    }
    const auto combine = [&]() -> absl::StatusOr<EmittedList> {
      ASSIGN_OR_RETURN(EmittedList values, EmitReduceInputs(i, ArrayIndex::At(dims, positions)));
      return reducer.Combine(before, reducer.Widen(std::move(values)));
    };
    return k_.Guarded(inside, combine, [&]() -> absl::StatusOr<EmittedList> { return before; });
  };
  ASSIGN_OR_RETURN(EmittedList done, k_.Loop(k_.Index(0), k_.Index(count), k_.Index(1),
                                             reducer.Widen(std::move(initial)), body));
  return reducer.Narrow(std::move(done))[static_cast<size_t>(result)];
}

}  // namespace hlo::gpu
