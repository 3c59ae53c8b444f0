// Shardings through dot and convolution, both ways.
#include <algorithm>

#include "lib/ops/attrs.h"
#include "lib/types/shape_util.h"
#include "passes/sharding/dimension_maps.h"
#include "passes/sharding/propagation_rules.h"

namespace hlo {
namespace {

using Context = PropagationContext;
using Role = ProductDims::Role;

constexpr ProductSide kSides[] = {ProductSide::kLeft, ProductSide::kRight};
constexpr Role kFreeRoles[] = {Role::kLeft, Role::kRight};
// Chains of users are looked at as far as this.
constexpr int kLookAhead = 256;

// What operand `number` says of the result, if that is better than what the result has.
std::optional<TiledSharding> BetterFromOperand(const Instruction& product, const ProductDims& dims,
                                               int number, const Context& context) {
  const Instruction& operand = *product.operand(number);
  if (!IsSpread(operand)) return std::nullopt;
  const DimMap map =
      dims.Map(kSides[number], ProductSide::kResult, {Role::kBatch, kFreeRoles[number]});
  return Improved(MapDims(*LeafSharding(operand), map, product.shape().rank()),
                  LeafSharding(product), product.shape(), context.Keeping());
}

// What the only user of the only user … that has a sharding would like `instruction` to have.
std::optional<TiledSharding> LookAhead(Instruction& instruction, const Context& context) {
  std::vector<Instruction*> chain = {&instruction};
  do {
    if (!chain.back()->has_one_user() || chain.size() == kLookAhead) return std::nullopt;
    chain.push_back(chain.back()->uses()[0].user);
  } while (chain.back()->sharding() == nullptr);
  Context bold = context;
  bold.level = kBoldestLevel;
  std::optional<Sharding> wish;
  std::vector<Instruction*> lent;  // rules read the sharding of the user
  for (size_t i = chain.size() - 1; i > 0; --i) {
    wish = ShardingFromUser(*chain[i - 1], *chain[i], bold);
    if (!wish.has_value() || i == 1) break;
    chain[i - 1]->set_sharding(*wish);
    lent.push_back(chain[i - 1]);
  }
  for (Instruction* step : lent) step->clear_sharding();
  if (!wish.has_value() || wish->is_tuple) return std::nullopt;
  return LeafAt(*wish, 0);
}

// Which of two proposals for a result goes first: the one that the users want, or else the one of
// the larger operand.
bool SecondGoesFirst(Instruction& product, const TiledSharding& first, const TiledSharding& second,
                     const Context& context) {
  if (const std::optional<TiledSharding> wish = LookAhead(product, context)) {
    const bool fits_first = RefinesTiles(product.shape(), *wish, first);
    const bool fits_second = RefinesTiles(product.shape(), *wish, second);
    if (fits_first != fits_second) return fits_second;
  }
  return product.operand(0)->shape().byte_size() < product.operand(1)->shape().byte_size();
}

bool ImproveProduct(Instruction& product, const ProductDims& dims, const Context& context) {
  std::optional<TiledSharding> left = BetterFromOperand(product, dims, 0, context);
  std::optional<TiledSharding> right = BetterFromOperand(product, dims, 1, context);
  if (!left.has_value()) std::swap(left, right);
  if (!left.has_value()) return false;
  if (right.has_value() && SecondGoesFirst(product, *left, *right, context)) std::swap(left, right);
  product.set_sharding(Sharding::Of(*std::move(left)));
  if (right.has_value()) Improve(product, *right, context.Keeping());
  return true;
}

std::optional<Sharding> OperandOfProduct(const Instruction& operand, const Instruction& product,
                                         const ProductDims& dims, const Context& context) {
  const int number = OperandNumber(product, operand);
  if (number > 1) return std::nullopt;
  const int64_t rank = operand.shape().rank();
  const ProductSide side = kSides[number], other_side = kSides[1 - number];
  TiledSharding wish =
      MapDims(*LeafSharding(product),
              dims.Map(ProductSide::kResult, side, {Role::kBatch, kFreeRoles[number]}), rank);
  const Instruction& other = *product.operand(1 - number);
  if (!IsSpread(other)) return Sharding::Of(std::move(wish));
  // Contracted dimensions are best split in the same way on both sides.
  TiledSharding from_other = MapDims(
      *LeafSharding(other), dims.Map(other_side, side, {Role::kBatch, Role::kContracting}), rank);
  if (MergeBetter(wish, from_other, context.may_combine())) wish = std::move(from_other);
  return Sharding::Of(std::move(wish));
}

// ---- convolutions with windows ----

// Smaller than the result in every spatial dimension, small ones from the third on excepted: the
// result is what should be split then.
bool IsKernelSmall(const Instruction& convolution) {
  const ConvDimNumbers& labels = convolution.attrs<ConvolutionAttrs>().dim_labels;
  int64_t kernel = 1, result = 1;
  for (size_t i = 0; i < labels.kernel_spatial.size(); ++i) {
    const int64_t size =
        convolution.operand(1)->shape().dim(static_cast<int>(labels.kernel_spatial[i]));
    const int64_t windows = convolution.shape().dim(static_cast<int>(labels.output_spatial[i]));
    kernel *= size;
    result *= windows;
    if (size >= windows && (i < 2 || size > 3 || kernel >= result)) return false;
  }
  return true;
}

// Tiles of an operand along dimensions that windows slide over.
int64_t SpatialTiles(const Instruction& convolution, const ProductDims& dims, int number) {
  const TiledSharding* sharding = LeafSharding(*convolution.operand(number));
  if (sharding == nullptr) return 1;
  int64_t tiles = 1;
  for (const ProductDims::Row& row : dims.rows) {
    if (row.role == Role::kSpatial) tiles *= TilesAlong(*sharding, row.dim[number]);
  }
  return tiles;
}

// The dimensions of the result that are those of the input; with `batch_only` the one of its batch,
// at its place (as XLA has it, also where the batch of the result is elsewhere).
DimMap InputToResult(const Instruction& convolution, bool batch_only) {
  const ConvDimNumbers& labels = convolution.attrs<ConvolutionAttrs>().dim_labels;
  DimMap map(static_cast<size_t>(convolution.shape().rank()), -1);
  map[labels.input_batch] = batch_only ? labels.input_batch : labels.output_batch;
  if (batch_only) return map;
  map[labels.input_feature] = labels.output_feature;
  for (size_t i = 0; i < labels.input_spatial.size(); ++i)
    map[labels.input_spatial[i]] = labels.output_spatial[i];
  return map;
}

}  // namespace

bool ImproveDot(Instruction& dot, const PropagationContext& context) {
  return ImproveProduct(dot, DimsOfDot(dot), context);
}

bool ImproveConvolution(Instruction& convolution, const PropagationContext& context) {
  const ConvolutionAttrs& attrs = convolution.attrs<ConvolutionAttrs>();
  const ProductDims dims = DimsOfConvolution(convolution);
  const bool has_groups = attrs.feature_group_count != 1 || attrs.batch_group_count != 1;
  if (!dims.Has(Role::kSpatial) || (!has_groups && SpatialTiles(convolution, dims, 0) == 1 &&
                                    SpatialTiles(convolution, dims, 1) == 1))
    return ImproveProduct(convolution, dims, context);
  const Instruction& input = *convolution.operand(0);
  if (!IsSpread(input)) return false;
  const TiledSharding& sharding = *LeafSharding(input);
  const bool is_small = IsKernelSmall(convolution);
  if (is_small && TilesAlong(sharding, attrs.dim_labels.input_feature) > 1) return false;
  return Improve(convolution,
                 MapDims(sharding, InputToResult(convolution, /*batch_only=*/!is_small),
                         convolution.shape().rank()),
                 context.Keeping());
}

std::optional<Sharding> OperandOfDot(const Instruction& operand, const Instruction& dot,
                                     const PropagationContext& context) {
  return OperandOfProduct(operand, dot, DimsOfDot(dot), context);
}

std::optional<Sharding> OperandOfConvolution(const Instruction& operand,
                                             const Instruction& convolution,
                                             const PropagationContext& context) {
  const ProductDims dims = DimsOfConvolution(convolution);
  if (dims.Has(Role::kSpatial)) return std::nullopt;
  return OperandOfProduct(operand, convolution, dims, context);
}

}  // namespace hlo
