#include "passes/gpu/matrix_products.h"

#include <algorithm>

#include "lib/support/contains.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

using enum ElementType;

constexpr int64_t kMostBatches = 65535, kMostColumns = 4194240;
constexpr CudaCapability kAmpere = {8, 0};
constexpr ElementType kEpilogueTypes[] = {kF8E4M3FN, kF8E5M2, kF16, kBF16, kF32, kF64};

// Types of both operands, and of results.
struct ProductTypes {
  ElementType operands;
  ElementType results[2];
};
constexpr ProductTypes kProductTypes[] = {
    {kF16, {kF16, kF32}}, {kBF16, {kBF16, kF32}}, {kF32, {kF32, kF32}},   {kS8, {kS32, kF32}},
    {kC64, {kC64, kC64}}, {kF64, {kF64, kF64}},   {kC128, {kC128, kC128}}};

// The size of the one dimension that is neither contracted nor of the batch; 1 without any.
int64_t FreeSize(Shape shape, const DimVec& batch, const DimVec& contracted) {
  for (int d = 0; d < shape.rank(); ++d) {
    if (!Contains(batch, d) && !Contains(contracted, d)) return shape.dim(d);
  }
  return 1;
}

Decision IsMatrix(const Instruction& operand, const DimVec& batch, const DimVec& contracted) {
  const int rank = operand.shape().rank();
  if (operand.shape().has_dynamic_dims()) return No("`{}` is dynamic", operand.name());
  if (contracted.size() != 1) return No("{} dimensions are contracted", contracted.size());
  if (Contains(batch, rank - 1))
    return No("the minor dimension of `{}` is a batch", operand.name());
  if (rank - std::ssize(batch) > 2) return No("`{}` has several free dimensions", operand.name());
  return Yes();
}

}  // namespace

MatrixProduct MatrixProductOf(const Instruction& dot) {
  const auto& attrs = dot.attrs<DotAttrs>();
  const Shape lhs = dot.operand(0)->shape(), rhs = dot.operand(1)->shape();
  MatrixProduct product;
  product.batch_dims = static_cast<int>(attrs.lhs_batch_dims.size());
  for (const int64_t d : attrs.lhs_batch_dims) product.batches *= lhs.dim(static_cast<int>(d));
  product.rows = FreeSize(lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims);
  product.columns = FreeSize(rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims);
  if (!attrs.lhs_contracting_dims.empty())
    product.contracted = lhs.dim(static_cast<int>(attrs.lhs_contracting_dims[0]));
  return product;
}

Decision IsMatrixProduct(const Instruction& dot, bool allow_vectors) {
  const auto& attrs = dot.attrs<DotAttrs>();
  if (dot.operand_count() != 2) return No("it has {} operands", dot.operand_count());
  if (Decision lhs = IsMatrix(*dot.operand(0), attrs.lhs_batch_dims, attrs.lhs_contracting_dims);
      !lhs)
    return lhs;
  if (Decision rhs = IsMatrix(*dot.operand(1), attrs.rhs_batch_dims, attrs.rhs_contracting_dims);
      !rhs)
    return rhs;
  const MatrixProduct product = MatrixProductOf(dot);
  const int matrices = (product.rows != 1 ? 1 : 0) + (product.columns != 1 ? 1 : 0);
  const bool may_be_vector = allow_vectors && dot.shape().element_type() != kC128;
  return matrices < (may_be_vector ? 1 : 2) ? No("it is no product of matrices") : Yes();
}

Decision IsLibraryProduct(const Instruction& dot, bool allow_vectors) {
  if (Decision may = IsMatrixProduct(dot, allow_vectors); !may) return may;
  const auto& attrs = dot.attrs<DotAttrs>();
  const ElementType type = dot.shape().element_type();
  const ElementType lhs = dot.operand(0)->shape().element_type();
  const ElementType rhs = dot.operand(1)->shape().element_type();
  if (IsFloat(lhs) && BitWidth(lhs) <= 8) return No("products of f8 need dtype=fp8");
  if (IsInteger(lhs) && lhs != kS8) return No("integers other than s8 are multiplied");
  const bool in_bf16 = attrs.algorithm == DotAlgorithm::kBF16BF16F32 && IsFloat(lhs) && lhs == rhs;
  if (!(in_bf16 ? IsProductType(kBF16, kBF16, type) : IsProductType(lhs, rhs, type)))
    return No("the library has no products of {} and {} that are {}", Text(lhs), Text(rhs),
              Text(type));
  return Yes();
}

bool IsProductType(ElementType lhs, ElementType rhs, ElementType result) {
  return lhs == rhs && absl::c_any_of(kProductTypes, [&](const ProductTypes& types) {
           return lhs == types.operands && Contains(types.results, result);
         });
}

Decision FitsLt(const Instruction& dot, CudaCapability compute_capability) {
  const MatrixProduct product = MatrixProductOf(dot);
  if (product.batches > kMostBatches) return No("it has {} batches", product.batches);
  const bool may_be_wide = dot.shape().element_type() != kC64 || compute_capability >= kAmpere;
  return may_be_wide || product.columns <= kMostColumns ? Yes()
                                                        : No("it has {} columns", product.columns);
}

bool IsEpilogueType(ElementType type) { return Contains(kEpilogueTypes, type); }

}  // namespace hlo
