#include "passes/simplify/scatter_simplifier.h"

#include <numeric>

#include "absl/algorithm/container.h"
#include "passes/control_flow/call_inliner.h"
#include "passes/util/start_vectors.h"

namespace hlo {
namespace {

DimVec CountedFrom(int64_t first, size_t size) {
  DimVec dims(size);
  absl::c_iota(dims, first);
  return dims;
}

bool IsSimpleScatter(const Instruction& scatter) {
  const auto& attrs = scatter.attrs<ScatterAttrs>();
  const int indices = scatter.operand_count() / 2;
  return scatter.operand(indices)->shape().rank() == 2 && attrs.index_vector_dim == 1 &&
         attrs.inserted_window_dims.empty() &&
         attrs.update_window_dims ==
             CountedFrom(1, static_cast<size_t>(scatter.operand(0)->shape().rank()));
}

// What happens to scalars with one update is what the computation says.
bool IsOneUpdateOfScalars(const Instruction& scatter) {
  const int count = scatter.operand_count() / 2;
  return scatter.operand(0)->shape().IsScalar() && scatter.operand(count + 1)->shape().IsScalar() &&
         Compatible(scatter.to_apply()->root()->shape(), scatter.shape());
}

Instruction* OrderedBy(Builder& builder, Instruction* x, const DimVec& order) {
  return absl::c_is_sorted(order) ? x : builder.Transpose(x, order);
}

}  // namespace

bool ScatterSimplifier::Matches(const Instruction& instruction) const {
  if (IsSimpleScatter(instruction) ||
      !instruction.attrs<ScatterAttrs>().input_batching_dims.empty())
    return false;
  return absl::c_none_of(instruction.operands(), [](const Instruction* operand) {
    return operand->shape().has_dynamic_dims();
  });
}

absl::StatusOr<Instruction*> ScatterSimplifier::Expand(Instruction* scatter, Rewriter& rewriter) {
  const auto& attrs = scatter->attrs<ScatterAttrs>();
  const int count = scatter->operand_count() / 2;
  if (IsOneUpdateOfScalars(*scatter)) {
    std::vector<Instruction*> arguments = scatter->operand_vector();
    arguments.erase(arguments.begin() + count);
    return InlineBody(rewriter.Call(arguments, scatter->to_apply()));
  }
  const int64_t rank = scatter->operand(0)->shape().rank();
  StartVectors vectors = StartVectors::Of(scatter->operand(count)->shape(), attrs.index_vector_dim);
  vectors.index_map = attrs.scatter_dims_to_operand_dims;
  std::vector<Instruction*> operands;
  for (int k = 0; k < count; ++k) operands.push_back(scatter->operand(k));
  operands.push_back(
      vectors.Canonical(rewriter, vectors.WithVectorDimension(rewriter, scatter->operand(count))));
  for (int k = 0; k < count; ++k) {
    Instruction* updates = scatter->operand(count + 1 + k);
    // Scatter dimensions first, then those of the window with the inserted ones.
    DimVec places, joined = {vectors.count()}, sizes = joined;
    for (int64_t dim = 0; dim < updates->shape().rank(); ++dim) {
      if (!absl::c_linear_search(attrs.update_window_dims, dim)) places.push_back(dim);
    }
    size_t next = 0;
    for (int64_t dim = 0; dim < rank; ++dim) {
      const bool inserted = absl::c_linear_search(attrs.inserted_window_dims, dim);
      if (!inserted) {
        places.push_back(attrs.update_window_dims[next++]);
        joined.push_back(updates->shape().dim(static_cast<int>(places.back())));
      }
      sizes.push_back(inserted ? 1 : joined.back());
    }
    updates = OrderedBy(rewriter, updates, places);
    for (const DimVec& wanted : {joined, sizes}) {
      if (!absl::c_equal(updates->shape().dims(), wanted))
        updates = rewriter.Reshape(updates, wanted);
    }
    operands.push_back(updates);
  }
  ScatterAttrs simple = attrs;
  simple.update_window_dims = CountedFrom(1, static_cast<size_t>(rank));
  simple.inserted_window_dims.clear();
  simple.index_vector_dim = 1;
  return rewriter.Op(Opcode::kScatter, operands, AttrsPtr::Make(std::move(simple)),
                     {scatter->to_apply()});
}

HLO_DEFINE_PASS(ScatterSimplifier)

}  // namespace hlo
