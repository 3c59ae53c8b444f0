// Rules about chains of transposes, reshapes and bitcasts that come back to where they started.
#include <numeric>

#include "passes/algsimp/moves.h"
#include "passes/algsimp/rules.h"

namespace hlo::algsimp {
namespace {

bool HasAtMostOneOne(Shape shape) {
  const auto dims = shape.dims();
  return absl::c_count(dims, 1) <= 1;
}

// A reshape, or a bitcast that is one, that only moves the one dimension of size 1.
bool MovesOneDim(const Instruction* step) {
  const Shape from = step->operand(0)->shape();
  if (step->opcode() == Opcode::kBitcast) {
    if (from.element_type() != step->shape().element_type() || !from.IsArray() ||
        !ReshapeIsBitcast(from, step->shape()))
      return false;
  } else if (step->opcode() != Opcode::kReshape) {
    return false;
  }
  return HasAtMostOneOne(from) && HasAtMostOneOne(step->shape()) && !from.has_dynamic_dims() &&
         !step->shape().has_dynamic_dims() && MatchDegenerate(step).has_value();
}

bool Permutes(const Instruction* step) {
  return step->opcode() == Opcode::kTranspose && !IsAscending(TransposeOrder(step)) &&
         HasAtMostOneOne(step->shape()) && !step->shape().has_dynamic_dims();
}

// Which dimension of the operand, of those larger than 1, is each of the result's.
DimVec LargerDimsOrder(const Instruction* transpose) {
  const Shape from = transpose->operand(0)->shape();
  DimVec places;
  int64_t next = 0;
  for (int64_t size : from.dims()) places.push_back(size == 1 ? -1 : next++);
  DimVec order;
  for (int64_t dim : TransposeOrder(transpose)) {
    if (places[static_cast<size_t>(dim)] >= 0) order.push_back(places[static_cast<size_t>(dim)]);
  }
  return order;
}

// The value from which the chain that ends in `last` starts, if its transposes undo each other;
// null otherwise. Bitcasts are links where layouts are fixed.
Instruction* StartOfChain(Instruction* last, bool fixed_layouts) {
  const auto is_link = [&](const Instruction* x) {
    return x->opcode() == Opcode::kReshape || x->opcode() == Opcode::kTranspose ||
           x->opcode() == Opcode::kBitcast;
  };
  DimVec order;
  int links = 0;
  Instruction* at = last;
  for (; is_link(at); at = at->operand(0), ++links) {
    if (at->opcode() == Opcode::kBitcast && !fixed_layouts) return nullptr;
    if (!MovesOneDim(at) && !Permutes(at)) return nullptr;
    if (at->opcode() != Opcode::kTranspose) continue;
    const DimVec step = LargerDimsOrder(at);
    order = order.empty() ? step : Permute(step, order);
  }
  return links > 1 && IsAscending(order) ? at : nullptr;
}

// A chain of transposes and reshapes of one dimension of size 1 that comes back to where it
//     started  =>  its start
Instruction* ChainToStart(Instruction* last, Rewriter&) {
  Instruction* start = StartOfChain(last, false);
  return start != nullptr && Compatible(start->shape(), last->shape()) ? start : nullptr;
}

// The same where layouts are fixed: its start, or a bitcast of it
Instruction* LaidOutChainToStart(Instruction* last, Rewriter& rewriter) {
  Instruction* start = StartOfChain(last, true);
  if (start == nullptr) return nullptr;
  if (start->shape() == last->shape()) return start;
  if (!IsDense(start) || !IsDense(last) || !ReshapeIsBitcast(start->shape(), last->shape()))
    return nullptr;
  return rewriter.Bitcast(start, last->shape());
}

constexpr Rule kMoveChainRules[] = {
    {"reshape-chain", Opcode::kReshape, kExact, ChainToStart},
    {"transpose-chain", Opcode::kTranspose, kExact, ChainToStart},
};
constexpr Rule kLaidOutMoveChainRules[] = {
    {"reshape-chain", Opcode::kReshape, kExact, LaidOutChainToStart},
    {"transpose-chain", Opcode::kTranspose, kExact, LaidOutChainToStart},
    {"bitcast-chain", Opcode::kBitcast, kExact, LaidOutChainToStart},
};

}  // namespace

std::span<const Rule> MoveChainRules() { return kMoveChainRules; }
std::span<const Rule> LaidOutMoveChainRules() { return kLaidOutMoveChainRules; }

}  // namespace hlo::algsimp
