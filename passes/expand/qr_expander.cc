#include "passes/expand/qr_expander.h"

#include <algorithm>

#include "lib/linalg/signature.h"
#include "passes/expand/reflectors.h"
#include "passes/util/matrices.h"

namespace hlo {
namespace {

constexpr std::string_view kQr = "Qr";
constexpr std::string_view kProduct = "ProductOfElementaryHouseholderReflectors";

std::string_view TargetOf(const Instruction& call) {
  return call.attrs<CustomCallAttrs>().custom_call_target;
}

// taus[batch…, k] with a dimension of size 1 before the last one, and back.
Instruction* AsRow(Builder& b, Instruction* taus) {
  std::vector<int64_t> sizes(taus->shape().dims().begin(), taus->shape().dims().end());
  sizes.insert(sizes.end() - 1, 1);
  return b.Reshape(taus, sizes);
}
Instruction* FromRow(Builder& b, Instruction* row) {
  std::vector<int64_t> sizes(row->shape().dims().begin(), row->shape().dims().end());
  sizes.erase(sizes.end() - 2);
  return b.Reshape(row, sizes);
}

}  // namespace

bool QrExpander::Matches(const Instruction& call) const {
  const std::string_view target = TargetOf(call);
  return (target == kQr || target == kProduct) && !call.shape().has_dynamic_dims() &&
         linalg::MatchSignature(call).ok();
}

std::string QrExpander::Name(const Instruction& call) const {
  const Shape a = call.operand(0)->shape();
  if (TargetOf(call) == kQr) return fmt::format("xla.qr_{}", NamePart(a));
  return fmt::format("xla.householder_product_{}_{}", NamePart(a),
                     call.operand(1)->shape().dims().back());
}

absl::StatusOr<Instruction*> QrExpander::Build(const Instruction& call,
                                               const std::vector<Instruction*>& operands,
                                               Builder& b) const {
  if (TargetOf(call) == kQr) return Factor(operands[0], &call, b);
  return Product(operands[0], operands[1], &call, b);
}

absl::StatusOr<Instruction*> QrExpander::Factor(Instruction* a, const Instruction* origin,
                                                Builder& b) const {
  const int64_t m = RowsOf(a), n = ColumnsOf(a), k = std::min(m, n);
  Instruction* taus =
      b.Broadcast(b.ScalarConstant(a->shape().element_type(), 0), SizesWithMatrix(a, 1, k), {});
  if (a->shape().IsZeroSized()) return b.Tuple({a, FromRow(b, taus)});
  for (int64_t i = 0; i < k; i += options_.block_size) {
    const int64_t width = std::min(options_.block_size.value, k - i);
    const int64_t right = n - i - width;
    Instruction* panel = TakeBlock(b, a, {i, i, m - i, width});
    ASSIGN_OR_RETURN(const PackedReflectors reflectors, ReduceColumns(b, panel, origin));
    a = PutBlock(b, a, reflectors.packed, i, i);
    taus = PutBlock(b, taus, reflectors.taus, 0, i);
    if (right == 0) continue;
    ASSIGN_OR_RETURN(const BlockReflector block, MakeBlockReflector(b, reflectors, origin));
    Instruction* rest = TakeBlock(b, a, {i, i + width, m - i, right});
    a = PutBlock(b, a, Apply(b, block, Adjoint::kYes, rest), i, i + width);
  }
  return b.Tuple({a, FromRow(b, taus)});
}

absl::StatusOr<Instruction*> QrExpander::Product(Instruction* a, Instruction* taus,
                                                 const Instruction* origin, Builder& b) const {
  if (a->shape().IsZeroSized()) return a;
  const int64_t m = RowsOf(a), n = ColumnsOf(a), k = taus->shape().dims().back();
  Instruction* product = b.Select(CompareRowAndColumn(b, a, ComparisonDirection::kEq),
                                  b.ConstantLike(a, 1), b.ZeroLike(a));
  if (k == 0) return product;
  Instruction* row = AsRow(b, taus);
  // Columns left of a block are those of the identity still.
  for (int64_t i = (k - 1) / options_.block_size * options_.block_size; i >= 0;
       i -= options_.block_size) {
    const int64_t width = std::min(options_.block_size.value, k - i);
    const PackedReflectors reflectors = {TakeBlock(b, a, {i, i, m - i, width}),
                                         TakeBlock(b, row, {0, i, 1, width})};
    ASSIGN_OR_RETURN(const BlockReflector block, MakeBlockReflector(b, reflectors, origin));
    Instruction* rest = TakeBlock(b, product, {i, i, m - i, n - i});
    product = PutBlock(b, product, Apply(b, block, Adjoint::kNo, rest), i, i);
  }
  return product;
}

HLO_DEFINE_PASS(QrExpander)

}  // namespace hlo
