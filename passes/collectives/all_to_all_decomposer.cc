#include "passes/collectives/all_to_all_decomposer.h"

#include "lib/analysis/device_groups.h"

namespace hlo {
namespace {

// One array of parts, each of which goes to one device.
Instruction* ByRank(Instruction* exchange, int64_t dim, int64_t group, int64_t min_rank,
                    Rewriter& rewriter) {
  const Shape shape = exchange->shape();
  DimVec sizes(shape.dims().begin(), shape.dims().end());
  sizes[static_cast<size_t>(dim)] /= group;
  sizes.insert(sizes.begin() + dim, group);
  const auto missing = min_rank - static_cast<int64_t>(sizes.size());
  if (missing > 0) sizes.insert(sizes.begin() + dim + 2, static_cast<size_t>(missing), 1);
  Instruction* const operand = rewriter.Reshape(exchange->operand(0), sizes);
  Instruction* const all =
      rewriter.OpWithShape(Opcode::kAllToAll, Shape::Array(shape.element_type(), sizes), {operand},
                           exchange->attrs_ptr());
  PassOnFrontendAttributes(*exchange, operand);
  PassOnWork(*exchange, all);
  return rewriter.Reshape(all, shape.dims());
}

Instruction* ByParts(Instruction* exchange, int64_t dim, int64_t group, Rewriter& rewriter) {
  Instruction* const operand = exchange->operand(0);
  const int64_t size = operand->shape().dim(static_cast<int>(dim)) / group;
  DimVec starts(static_cast<size_t>(operand->shape().rank()), 0);
  DimVec limits(operand->shape().dims().begin(), operand->shape().dims().end());
  // The parts have the order in memory that the whole has.
  Shape part = exchange->shape();
  DimVec sizes(part.dims().begin(), part.dims().end());
  sizes[static_cast<size_t>(dim)] = size;
  part = Shape::Array(part.element_type(), sizes);
  if (exchange->shape().has_layout()) part = part.WithLayout(exchange->shape().layout());
  std::vector<Instruction*> parts;
  for (int64_t i = 0; i < group; ++i) {
    starts[static_cast<size_t>(dim)] = i * size;
    limits[static_cast<size_t>(dim)] = (i + 1) * size;
    parts.push_back(rewriter.Slice(operand, starts, limits));
    parts.back()->set_shape(part);
    PassOnFrontendAttributes(*exchange, parts.back());
  }
  AllToAllAttrs attrs = exchange->attrs<AllToAllAttrs>();
  attrs.dimensions.reset();
  const std::vector<Shape> shapes(static_cast<size_t>(group), part);
  Instruction* const all = rewriter.OpWithShape(Opcode::kAllToAll, Shape::Tuple(shapes), parts,
                                                AttrsPtr::Make(std::move(attrs)));
  PassOnWork(*exchange, all);
  std::vector<Instruction*> received;
  for (int64_t i = 0; i < group; ++i) received.push_back(rewriter.GetTupleElement(all, i));
  return rewriter.Concatenate(received, dim);
}

}  // namespace

bool AllToAllDecomposer::Matches(const Instruction& exchange) const {
  const auto& attrs = exchange.attrs<AllToAllAttrs>();
  if (!attrs.dimensions || attrs.constrain_layout || exchange.operand_count() != 1 ||
      !exchange.shape().IsArray() || exchange.shape().has_dynamic_dims())
    return false;
  const std::optional<int64_t> group = GroupSize(exchange);
  const int64_t size = exchange.shape().dim(static_cast<int>(attrs.dimensions->value));
  return group.has_value() && *group > 0 && size % *group == 0 &&
         (options_.decompose_to_tuple || exchange.shape().rank() < options_.min_array_rank);
}

absl::StatusOr<Instruction*> AllToAllDecomposer::Expand(Instruction* exchange, Rewriter& rewriter) {
  const int64_t dim = exchange->attrs<AllToAllAttrs>().dimensions->value;
  const int64_t group = *GroupSize(*exchange);
  return options_.decompose_to_tuple
             ? ByParts(exchange, dim, group, rewriter)
             : ByRank(exchange, dim, group, options_.min_array_rank, rewriter);
}

HLO_DEFINE_PASS(AllToAllDecomposer)

}  // namespace hlo
