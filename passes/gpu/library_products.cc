#include "passes/gpu/library_products.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace hlo {
namespace {

// Operations: 2^27 take 4 us where nothing but multiply-add instructions is used.
constexpr double kLeastWork = 134'217'728;
constexpr int64_t kLeastSide = 16;

enum class Group : uint8_t { kBatch, kFree, kDepth };

// The non-trivial dimensions of an operand, as at most one dimension for each group.
struct Merged {
  int64_t size[3] = {1, 1, 1};
  int64_t stride[3] = {0, 0, 0};  // of groups that are there
  Group minor = Group::kFree;     // the last of them
  bool is_strided = true;         // no group lies in several pieces
};

Merged Merge(Shape shape, const DimVec& batch, const DimVec& depth) {
  Merged merged;
  int64_t stride = 1;
  bool seen[3] = {};
  int last = -1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    const auto is_in = [d](const DimVec& list) { return absl::c_linear_search(list, d); };
    const Group group = is_in(batch) ? Group::kBatch : is_in(depth) ? Group::kDepth : Group::kFree;
    const auto g = static_cast<int>(group);
    if (shape.dim(d) != 1) {
      if (last < 0) merged.minor = group;
      if (last != g) {
        merged.is_strided = merged.is_strided && !seen[g];
        merged.stride[g] = stride;
      }
      seen[g] = true;
      last = g;
      merged.size[g] *= shape.dim(d);
    }
    stride *= shape.dim(d);
  }
  return merged;
}

// Whether the non-trivial dimensions of two lists ascend in both.
bool AscendTogether(Shape lhs, const DimVec& lhs_dims, const DimVec& rhs_dims) {
  int64_t last_lhs = -1, last_rhs = -1;
  for (size_t i = 0; i < lhs_dims.size(); ++i) {
    if (lhs.dim(static_cast<int>(lhs_dims[i])) == 1) continue;
    if (lhs_dims[i] < last_lhs || rhs_dims[i] < last_rhs) return false;
    last_lhs = lhs_dims[i];
    last_rhs = rhs_dims[i];
  }
  return true;
}

// None where neighbours in memory are of different batches.
std::optional<LibraryProduct::Side> SideOf(const Merged& merged) {
  if (!merged.is_strided || merged.minor == Group::kBatch) return std::nullopt;
  LibraryProduct::Side side;
  side.free_is_minor = merged.minor == Group::kFree;
  const Group other = side.free_is_minor ? Group::kDepth : Group::kFree;
  const auto minor = static_cast<int>(merged.minor), major = static_cast<int>(other);
  side.stride = merged.stride[major];
  if (side.stride == 0) side.stride = merged.size[minor];  // there is one row
  side.batch_stride = merged.stride[static_cast<int>(Group::kBatch)];
  return side;
}

bool TakesTypes(ElementType factor, ElementType result) {
  if (factor == ElementType::kBF16 || factor == ElementType::kF16)
    return result == factor || result == ElementType::kF32;
  if (factor == ElementType::kF32 || factor == ElementType::kF64) return result == factor;
  return factor == ElementType::kS8 && result == ElementType::kS32;
}

// Whether the sums are those that the algorithm asks for; sets `may_cut`.
bool TakesAlgorithm(const DotAttrs& attrs, ElementType factor, bool& may_cut) {
  if (attrs.algorithm == DotAlgorithm::kUnset) {
    may_cut = factor == ElementType::kF32 && MayCut(attrs.operand_precision);
    return true;
  }
  constexpr std::pair<DotAlgorithm, ElementType> kTaken[] = {
      {DotAlgorithm::kTF32TF32F32, ElementType::kF32},
      {DotAlgorithm::kF32F32F32, ElementType::kF32},
      {DotAlgorithm::kF64F64F64, ElementType::kF64},
      {DotAlgorithm::kF16F16F32, ElementType::kF16},
      {DotAlgorithm::kBF16BF16F32, ElementType::kBF16}};
  may_cut = attrs.algorithm == DotAlgorithm::kTF32TF32F32;
  return std::any_of(std::begin(kTaken), std::end(kTaken), [&](const auto& taken) {
    return taken.first == attrs.algorithm && taken.second == factor;
  });
}

}  // namespace

bool MayCut(const PrecisionConfig& precision) {
  return absl::c_all_of(precision.values, [](Precision p) { return p == Precision::kDefault; });
}

std::optional<LibraryProduct> AsLibraryProduct(const Instruction& dot) {
  if (dot.opcode() != Opcode::kDot || dot.operand_count() != 2) return std::nullopt;
  const Shape lhs = dot.operand(0)->shape(), rhs = dot.operand(1)->shape();
  if (lhs.has_dynamic_dims() || rhs.has_dynamic_dims() || !dot.shape().IsArray())
    return std::nullopt;
  const auto& attrs = dot.attrs<DotAttrs>();
  LibraryProduct product;
  product.factor = lhs.element_type();
  product.result = dot.shape().element_type();
  if (rhs.element_type() != product.factor || !TakesTypes(product.factor, product.result))
    return std::nullopt;
  if (!TakesAlgorithm(attrs, product.factor, product.may_cut)) return std::nullopt;
  if (!AscendTogether(lhs, attrs.lhs_batch_dims, attrs.rhs_batch_dims) ||
      !AscendTogether(lhs, attrs.lhs_contracting_dims, attrs.rhs_contracting_dims))
    return std::nullopt;
  const Merged left = Merge(lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims);
  const Merged right = Merge(rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims);
  const auto left_side = SideOf(left), right_side = SideOf(right);
  if (!left_side || !right_side) return std::nullopt;
  product.lhs = *left_side;
  product.rhs = *right_side;
  product.batch = left.size[static_cast<int>(Group::kBatch)];
  product.rows = left.size[static_cast<int>(Group::kFree)];
  product.columns = right.size[static_cast<int>(Group::kFree)];
  product.depth = left.size[static_cast<int>(Group::kDepth)];
  return product;
}

bool IsForLibrary(const LibraryProduct& product) {
  const double work = 2.0 * static_cast<double>(product.batch) * static_cast<double>(product.rows) *
                      static_cast<double>(product.columns) * static_cast<double>(product.depth);
  return work >= kLeastWork &&
         std::min({product.rows, product.columns, product.depth}) >= kLeastSide;
}

}  // namespace hlo
