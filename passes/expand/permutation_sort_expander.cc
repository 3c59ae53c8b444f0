#include "passes/expand/permutation_sort_expander.h"

#include <numeric>

namespace hlo {
namespace {

// Whether the comparator says key < key.
bool IsLess(const Computation& comparator) {
  const Instruction& root = *comparator.root();
  return root.opcode() == Opcode::kCompare &&
         root.attrs<CompareAttrs>().direction == ComparisonDirection::kLt &&
         root.operand(0) == comparator.parameter(0) && root.operand(1) == comparator.parameter(1);
}

// Whether 0 … size - 1 are different numbers of the type.
bool CanCount(ElementType type, int64_t size) {
  if (!IsInteger(type)) return false;
  return BitWidth(type) >= 64 || size - 1 <= Literal::MaxValue(type).GetInt();
}

// Whether `key` is a sort's result that holds 0, 1, 2, … along `dim` in another order.
bool IsPermutation(const Instruction& key, int64_t dim) {
  if (key.opcode() != Opcode::kGetTupleElement || key.operand(0)->opcode() != Opcode::kSort)
    return false;
  const Instruction& sort = *key.operand(0);
  const Instruction& sorted = *sort.operand(static_cast<int>(key.tuple_index()));
  return sort.attrs<SortAttrs>().dimensions.value == dim && sorted.opcode() == Opcode::kIota &&
         sorted.attrs<IotaAttrs>().iota_dimension == dim &&
         CanCount(key.shape().element_type(), key.shape().dim(static_cast<int>(dim)));
}

// (old, update) -> update
Computation* Overwrite(Module& module, ElementType type) {
  Computation* const overwrite = module.AddComputation("overwrite");
  Builder b(overwrite);
  b.Parameter(0, Shape::Scalar(type), "old");
  overwrite->set_root(b.Parameter(1, Shape::Scalar(type), "update"));
  return overwrite;
}

// For each element of `key` the place where it belongs: its own along `dim`, where it stands along
// the others. The vectors are in one more dimension, the last.
Instruction* Places(Instruction* key, int64_t dim, Rewriter& b) {
  DimVec dims(key->shape().dims().begin(), key->shape().dims().end());
  dims.push_back(1);
  Instruction* const along = b.Reshape(key, dims);
  const int64_t rank = key->shape().rank();
  if (rank == 1) return along;
  std::vector<Instruction*> coordinates;
  for (int64_t d = 0; d < rank; ++d)
    coordinates.push_back(d == dim ? along : b.Iota(along->shape(), d));
  return b.Concatenate(coordinates, rank);
}

}  // namespace

bool PermutationSortExpander::Matches(const Instruction& instruction) const {
  return instruction.operand_count() == 2 && !instruction.shape().has_dynamic_dims() &&
         IsLess(*instruction.to_apply()) &&
         IsPermutation(*instruction.operand(0), instruction.attrs<SortAttrs>().dimensions.value);
}

absl::StatusOr<Instruction*> PermutationSortExpander::Expand(Instruction* sort, Rewriter& b) {
  Instruction *const key = sort->operand(0), *const values = sort->operand(1);
  const int64_t dim = sort->attrs<SortAttrs>().dimensions.value;
  const int64_t rank = key->shape().rank();
  ScatterAttrs attrs;
  attrs.index_vector_dim = rank;
  attrs.unique_indices = true;
  attrs.inserted_window_dims.resize(static_cast<size_t>(rank));
  absl::c_iota(attrs.inserted_window_dims, 0);
  attrs.scatter_dims_to_operand_dims = attrs.inserted_window_dims;
  // All of it is overwritten.
  Instruction* const target = b.ZeroLike(values);
  Instruction* const placed = b.OpWithShape(
      Opcode::kScatter, values->shape(), {target, Places(key, dim, b), values},
      AttrsPtr::Make(std::move(attrs)), {Overwrite(b.module(), values->shape().element_type())});
  return b.Tuple({b.Iota(key->shape(), dim), placed});
}

HLO_DEFINE_PASS(PermutationSortExpander)

}  // namespace hlo
