// backends/codegen/movement.h
//
// Operations that move elements, for every emitter of fused code: an element of the result is an
// element of an operand at another index, so each rule here is arithmetic on the index. What an
// index is made of is the emitter's: sums of loop variables on the CPU, LLVM values on the GPU.
//
//   if (const auto rule = Movement<MyEmitter>::RuleOf(opcode)) return rule(emitter, *i, index);
//
// An emitter E has these types and members; a position is one along a dimension of an array.
//
//   E::ValueType, E::ValueList             elements
//   E::IndexType                           the place of an element in an array
//   E::PositionType, E::PositionList       along one dimension, along all of them
//   Emit(i, index)                         an element of `i`, of type StatusOr<ValueType>
//   EmitRegion(computation, values)        a scalar computation, of type StatusOr<ValueList>
//   PositionsOf(index), IndexAt(i, positions)
//   Zero(type)                             an element of that type, as Emit returns it
//   Number(n), Plus(a, b), Minus(a, b), Times(a, n), DivRem(a, n)   DivRem: {quotient, remainder}
//   ClampedStart(i, index, limit)          an element of the integers `i`, cut to [0, limit]
//   Guarded(ranges, on_true, on_false, outside)
//       `on_true` where all ranges hold, else `on_false`, which may run anywhere or, Outside::kMasked,
//       must not touch memory where the ranges hold.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/ir/computation.h"
#include "lib/ir/instruction.h"
#include "lib/ops/shape_helpers.h"
#include "lib/support/contains.h"
#include "lib/support/status.h"

namespace hlo {

// lo <= value < hi.
template <class Position>
struct PositionRange {
  Position value;
  int64_t lo = 0, hi = 0;
  bool is_above = false;  // lo <= value is known
};

enum class Outside { kAnywhere, kMasked };

template <class E>
struct Movement {
  using Value = typename E::ValueType;
  using Index = typename E::IndexType;
  using Position = typename E::PositionType;
  using Positions = typename E::PositionList;
  using Ranges = std::vector<PositionRange<Position>>;
  using Result = absl::StatusOr<Value>;
  using Rule = Result (*)(E&, const Instruction&, const Index&);

  // Null where the opcode is none of these.
  static Rule RuleOf(Opcode opcode) {
    static constexpr std::pair<Opcode, Rule> kRules[] = {
        {Opcode::kBroadcast, Broadcast},
        {Opcode::kTranspose, Transpose},
        {Opcode::kReverse, Reverse},
        {Opcode::kSlice, Slice},
        {Opcode::kConcatenate, Concatenate},
        {Opcode::kPad, Pad},
        {Opcode::kDynamicSlice, DynamicSlice},
        {Opcode::kDynamicUpdateSlice, DynamicUpdateSlice},
        {Opcode::kGather, Gather},
        {Opcode::kMap, Map},
    };
    for (const auto& [key, rule] : kRules) {
      if (key == opcode) return rule;
    }
    return nullptr;
  }

 private:
  // An array without elements is read nowhere: what is padded, or one of many that are joined.
  static Result At(E& e, const Instruction* operand, Positions positions) {
    if (operand->shape().element_count() == 0) return e.Zero(operand->shape().element_type());
    return e.Emit(operand, e.IndexAt(*operand, std::move(positions)));
  }
  static Position Shifted(E& e, const Position& position, int64_t by) {
    return e.Plus(position, e.Number(by));
  }

  static Result Broadcast(E& e, const Instruction& i, const Index& index) {
    const Instruction* const operand = i.operand(0);
    const Positions outer = e.PositionsOf(index);
    Positions inner;
    for (const int64_t d : i.attrs<BroadcastAttrs>().dimensions) {
      // A size-1 operand dimension is spread, too.
      const bool spread = operand->shape().dim(static_cast<int>(inner.size())) == 1;
      inner.push_back(spread ? e.Number(0) : outer[static_cast<size_t>(d)]);
    }
    return At(e, operand, std::move(inner));
  }

  static Result Transpose(E& e, const Instruction& i, const Index& index) {
    const DimVec& order = i.attrs<TransposeAttrs>().dimensions;
    const Positions outer = e.PositionsOf(index);
    Positions inner(outer.size());
    for (size_t d = 0; d < order.size(); ++d) inner[static_cast<size_t>(order[d])] = outer[d];
    return At(e, i.operand(0), std::move(inner));
  }

  static Result Reverse(E& e, const Instruction& i, const Index& index) {
    Positions positions = e.PositionsOf(index);
    for (const int64_t d : i.attrs<ReverseAttrs>().dimensions) {
      Position& position = positions[static_cast<size_t>(d)];
      position = e.Minus(e.Number(i.shape().dim(static_cast<int>(d)) - 1), position);
    }
    return At(e, i.operand(0), std::move(positions));
  }

  static Result Slice(E& e, const Instruction& i, const Index& index) {
    const SliceRanges& ranges = i.attrs<SliceAttrs>().slice;
    Positions positions = e.PositionsOf(index);
    for (size_t d = 0; d < positions.size(); ++d)
      positions[d] = Shifted(e, e.Times(positions[d], ranges[d].stride), ranges[d].start);
    return At(e, i.operand(0), std::move(positions));
  }

  static Result Concatenate(E& e, const Instruction& i, const Index& index) {
    const auto dim = static_cast<size_t>(i.attrs<ConcatenateAttrs>().dimensions.value);
    const Positions outer = e.PositionsOf(index);
    const std::function<Result(int, int64_t)> from = [&](int o, int64_t start) -> Result {
      const Instruction* const operand = i.operand(o);
      const int64_t end = start + operand->shape().dim(static_cast<int>(dim));
      const auto inside = [&] {
        Positions inner = outer;
        inner[dim] = Shifted(e, outer[dim], -start);
        return At(e, operand, std::move(inner));
      };
      if (o + 1 == i.operand_count()) return inside();
      return e.Guarded(
          {{outer[dim], start, end, /*is_above=*/true}}, inside, [&] { return from(o + 1, end); },
          Outside::kMasked);
    };
    return from(0, 0);
  }

  static Result Pad(E& e, const Instruction& i, const Index& index) {
    const PaddingConfig& padding = i.attrs<PadAttrs>().padding;
    const Instruction* const operand = i.operand(0);
    Positions positions = e.PositionsOf(index);
    Ranges ranges;
    for (size_t d = 0; d < positions.size(); ++d) {
      const PaddingDim& pad = padding[static_cast<int>(d)];
      if (pad.low == 0 && pad.high == 0 && pad.interior == 0) continue;
      const int64_t step = pad.interior + 1;
      const int64_t size = operand->shape().dim(static_cast<int>(d));
      positions[d] = Shifted(e, positions[d], -pad.low);
      ranges.push_back({positions[d], 0, (size - 1) * step + 1});
      if (step == 1) continue;
      auto [quotient, remainder] = e.DivRem(positions[d], step);
      ranges.push_back({remainder, 0, 1});
      positions[d] = quotient;
    }
    return e.Guarded(
        ranges, [&] { return At(e, operand, positions); }, [&] { return At(e, i.operand(1), {}); },
        Outside::kAnywhere);
  }

  // ---- starts known at run time ----

  static Result DynamicSlice(E& e, const Instruction& i, const Index& index) {
    const Instruction* const operand = i.operand(0);
    Positions positions = e.PositionsOf(index);
    for (int d = 0; d < operand->shape().rank(); ++d) {
      const int64_t limit = operand->shape().dim(d) - i.shape().dim(d);
      ASSIGN_OR_RETURN(const Position start, e.ClampedStart(i.operand(1 + d), Index(), limit));
      Position& position = positions[static_cast<size_t>(d)];
      position = e.Plus(start, position);
    }
    return At(e, operand, std::move(positions));
  }

  static Result DynamicUpdateSlice(E& e, const Instruction& i, const Index& index) {
    const Instruction* const update = i.operand(1);
    Positions positions = e.PositionsOf(index);
    Ranges ranges;
    for (int d = 0; d < update->shape().rank(); ++d) {
      const int64_t size = update->shape().dim(d);
      ASSIGN_OR_RETURN(const Position start,
                       e.ClampedStart(i.operand(2 + d), Index(), i.shape().dim(d) - size));
      Position& position = positions[static_cast<size_t>(d)];
      position = e.Minus(position, start);
      if (size != i.shape().dim(d)) ranges.push_back({position, 0, size});
    }
    return e.Guarded(
        ranges, [&] { return At(e, update, positions); },
        [&] { return e.Emit(i.operand(0), index); }, Outside::kAnywhere);
  }

  static Result Gather(E& e, const Instruction& i, const Index& index) {
    const auto& attrs = i.attrs<GatherAttrs>();
    // Slices of nothing where a dimension collapses: the result has elements, the slices none.
    if (Contains(attrs.slice_sizes, 0)) return e.Zero(i.shape().element_type());
    const Instruction* const operand = i.operand(0);
    const Instruction* const indices = i.operand(1);
    const Positions outer = e.PositionsOf(index);
    // The result's dimensions: those of the batch, and those inside the slice.
    Positions batch, offset;
    for (size_t d = 0; d < outer.size(); ++d)
      (Contains(attrs.offset_dims, static_cast<int64_t>(d)) ? offset : batch).push_back(outer[d]);
    Positions inner(static_cast<size_t>(operand->shape().rank()), e.Number(0));
    size_t next = 0;
    for (size_t d = 0; d < inner.size(); ++d) {
      const auto dim = static_cast<int64_t>(d);
      if (!Contains(attrs.collapsed_slice_dims, dim) && !Contains(attrs.operand_batching_dims, dim))
        inner[d] = offset[next++];
    }
    for (size_t n = 0; n < attrs.operand_batching_dims.size(); ++n) {
      const int64_t d = attrs.start_indices_batching_dims[n];
      inner[static_cast<size_t>(attrs.operand_batching_dims[n])] =
          batch[static_cast<size_t>(d < attrs.index_vector_dim ? d : d - 1)];
    }
    // Position `n` of the start vector of this batch element.
    const auto start_index = [&](size_t n) {
      Positions at;
      size_t b = 0;
      for (int64_t d = 0; d < indices->shape().rank(); ++d)
        at.push_back(d == attrs.index_vector_dim ? e.Number(static_cast<int64_t>(n)) : batch[b++]);
      return e.IndexAt(*indices, std::move(at));
    };
    for (size_t n = 0; n < attrs.start_index_map.size(); ++n) {
      const auto d = static_cast<size_t>(attrs.start_index_map[n]);
      const int64_t limit = operand->shape().dim(static_cast<int>(d)) - attrs.slice_sizes[d];
      ASSIGN_OR_RETURN(const Position start, e.ClampedStart(indices, start_index(n), limit));
      inner[d] = e.Plus(inner[d], start);
    }
    return At(e, operand, std::move(inner));
  }

  static Result Map(E& e, const Instruction& i, const Index& index) {
    typename E::ValueList values;
    for (const Instruction* operand : i.operands()) {
      ASSIGN_OR_RETURN(const Value value, e.Emit(operand, index));
      values.push_back(value);
    }
    ASSIGN_OR_RETURN(const typename E::ValueList results, e.EmitRegion(*i.to_apply(), values));
    return results[0];
  }
};

}  // namespace hlo
