#include "passes/expand/scatter_expander.h"

#include <limits>

#include "lib/analysis/region.h"
#include "lib/support/contains.h"
#include "passes/util/counted_loop.h"
#include "passes/util/start_vectors.h"

namespace hlo {
namespace {

int OperandsOf(const Instruction& scatter) { return scatter.operand_count() / 2; }

StartVectors ScatterVectors(const Instruction& scatter) {
  const auto& attrs = scatter.attrs<ScatterAttrs>();
  StartVectors vectors =
      StartVectors::Of(scatter.operand(OperandsOf(scatter))->shape(), attrs.index_vector_dim);
  vectors.rank = scatter.operand(0)->shape().rank();
  vectors.index_map = attrs.scatter_dims_to_operand_dims;
  vectors.operand_batching = attrs.input_batching_dims;
  vectors.indices_batching = attrs.scatter_indices_batching_dims;
  return vectors;
}

// One update as a slice of the operand.
DimVec SliceSizes(const Instruction& scatter) {
  const auto& attrs = scatter.attrs<ScatterAttrs>();
  const Shape updates = scatter.operand(OperandsOf(scatter) + 1)->shape();
  DimVec sizes;
  size_t next = 0;
  for (int64_t dim = 0; dim < scatter.operand(0)->shape().rank(); ++dim) {
    const bool degenerate =
        Contains(attrs.inserted_window_dims, dim) || Contains(attrs.input_batching_dims, dim);
    sizes.push_back(degenerate ? 1
                               : updates.dim(static_cast<int>(attrs.update_window_dims[next++])));
  }
  return sizes;
}

// Updates as [count, window…].
Instruction* CanonicalUpdates(Builder& builder, Instruction* updates, const ScatterAttrs& attrs,
                              int64_t count) {
  DimVec order, sizes = {count};
  for (int64_t dim = 0; dim < updates->shape().rank(); ++dim) {
    if (!Contains(attrs.update_window_dims, dim)) order.push_back(dim);
  }
  for (int64_t dim : attrs.update_window_dims) {
    order.push_back(dim);
    sizes.push_back(updates->shape().dim(static_cast<int>(dim)));
  }
  if (!absl::c_is_sorted(order)) updates = builder.Transpose(updates, order);
  return builder.Reshape(updates, sizes);
}

// Whether the slice of `sizes` at `start` lies inside `operand`, as a predicate.
Instruction* IsInside(Builder& b, Instruction* start, Shape operand, const DimVec& sizes) {
  Literal last(start->shape());
  for (int i = 0; i < operand.rank(); ++i)
    last.SetInt(i, operand.dim(i) - sizes[static_cast<size_t>(i)]);
  Instruction* zeros = b.Broadcast(b.Constant(Literal::Zero(start->shape().element_type())),
                                   start->shape().dims(), {});
  Instruction* both =
      b.And(b.Compare(zeros, start, ComparisonDirection::kLe),
            b.Compare(b.Constant(std::move(last)), start, ComparisonDirection::kGe));
  Instruction* yes = b.Constant(Literal::One(ElementType::kPred));
  return b.Reduce(both, yes, {0},
                  ScalarComputation(b.computation()->module(), Opcode::kAnd, ElementType::kPred));
}

// The combiner, giving element `k` of its result.
Computation* CombinerElement(Computation* combiner, int64_t k) {
  if (!combiner->root()->shape().IsTuple()) return combiner;
  Computation* copy = combiner->module().CloneComputation(*combiner, ".element", /*deep=*/false);
  Builder b(copy);
  Instruction* root = copy->root();
  copy->set_root(root->opcode() == Opcode::kTuple ? root->operand(static_cast<int>(k))
                                                  : b.GetTupleElement(root, k));
  return copy;
}

Instruction* CombineAll(Builder& b, Computation* combiner, std::vector<Instruction*> values) {
  if (values[0]->shape().rank() == 0) return b.Call(values, combiner);
  MapAttrs attrs;
  for (int64_t i = 0; i < values[0]->shape().rank(); ++i) attrs.dimensions.push_back(i);
  return b.Op(Opcode::kMap, values, AttrsPtr::Make(std::move(attrs)), {combiner});
}

}  // namespace

bool ScatterExpander::Matches(const Instruction& instruction) const {
  for (const Instruction* operand : instruction.operands()) {
    if (operand->shape().has_dynamic_dims()) return false;
  }
  // A computation may be valid and return no elements.
  if (OperandsOf(instruction) == 1 && !instruction.to_apply()->root()->shape().IsScalar())
    return false;
  if (options_.simple && ScatterVectors(instruction).count() > 1) return false;
  if (!options_.indeterministic || instruction.attrs<ScatterAttrs>().unique_indices)
    return !options_.indeterministic;
  const std::optional<Opcode> opcode = CombinerOpcode(*instruction.to_apply());
  if (!opcode || !HasTrait(*opcode, kAssociative)) return true;
  const ElementType type = instruction.operand(0)->shape().element_type();
  return !IsInteger(type) && !IsPred(type) && !IsIdempotent(*opcode);
}

absl::StatusOr<Instruction*> ScatterExpander::Expand(Instruction* scatter, Rewriter& rewriter) {
  const int count = OperandsOf(*scatter);
  const auto& attrs = scatter->attrs<ScatterAttrs>();
  const StartVectors vectors = ScatterVectors(*scatter);
  std::vector<Instruction*> state;
  for (int k = 0; k < count; ++k) state.push_back(scatter->operand(k));
  if (scatter->operand(count + 1)->shape().IsZeroSized())
    return count == 1 ? state[0] : rewriter.Tuple(state);
  if (vectors.count() > std::numeric_limits<int32_t>::max()) {
    return Unsupported(scatter->loc(), "`{}` scatters {} updates, a loop can count to {}",
                       scatter->name(), vectors.count(), std::numeric_limits<int32_t>::max());
  }
  state.push_back(vectors.WideCanonical(rewriter, scatter->operand(count)));
  for (int k = 0; k < count; ++k)
    state.push_back(
        CanonicalUpdates(rewriter, scatter->operand(count + 1 + k), attrs, vectors.count()));
  RETURN_IF_ERROR(rewriter.status());
  const DimVec sizes = SliceSizes(*scatter);
  const Shape shape = scatter->operand(0)->shape();
  const auto n = static_cast<size_t>(count);
  std::vector<Computation*> combiners;
  for (int k = 0; k < count; ++k) {
    combiners.push_back(CombinerElement(scatter->to_apply(), k));
    if (combiners.back() != scatter->to_apply())
      rewriter.module().MoveToFront(combiners.back(), scatter->parent());
  }
  const CountedLoopBody body = [&](Builder& b, Instruction* i,
                                   const std::vector<Instruction*>& values) {
    std::vector<Instruction*> next = values;
    Instruction* start = vectors.Start(b, values[n], i);
    const std::vector<Instruction*> starts = ElementsOfVector(b, start);
    Instruction* inside = start == nullptr ? nullptr : IsInside(b, start, shape, sizes);
    std::vector<Instruction*> slices, operands;
    for (size_t k = 0; k < n; ++k) {
      slices.push_back(start == nullptr ? values[k] : b.DynamicSlice(values[k], starts, sizes));
      operands.push_back(slices.back());
    }
    for (size_t k = 0; k < n; ++k) {
      Instruction* updates = values[n + 1 + k];
      std::vector<Instruction*> place = {i};
      DimVec row(updates->shape().dims().begin(), updates->shape().dims().end());
      row[0] = 1;
      while (place.size() < row.size())
        place.push_back(b.Constant(Literal::Zero(ElementType::kS32)));
      operands.push_back(b.Reshape(b.DynamicSlice(updates, place, row), sizes));
    }
    for (size_t k = 0; k < n; ++k) {
      Instruction* combined = CombineAll(b, combiners[k], operands);
      if (start == nullptr) {
        next[k] = combined;
        continue;
      }
      Instruction* chosen = b.Select(b.Broadcast(inside, sizes, {}), combined, slices[k]);
      next[k] = b.DynamicUpdateSlice(values[k], chosen, starts);
    }
    return next;
  };
  ASSIGN_OR_RETURN(std::vector<Instruction*> after,
                   MakeCountedLoop(rewriter, static_cast<int32_t>(vectors.count()), state, body,
                                   "scatter", scatter));
  after.resize(n);
  return n == 1 ? after[0] : rewriter.Tuple(after);
}

HLO_DEFINE_PASS(ScatterExpander)

}  // namespace hlo
