#include "passes/gpu/all_to_all_products.h"

#include "lib/analysis/device_groups.h"
#include "lib/support/decision.h"
#include "lib/types/shape_util.h"
#include "passes/gpu/operation_queues.h"
#include "passes/rewrite.h"
#include "passes/util/channels.h"

namespace hlo {
namespace {

constexpr OpcodeSet kExchangeMoves = {Opcode::kTranspose, Opcode::kReshape, Opcode::kCopy};

bool IsReadOnce(const Instruction& value) { return value.use_count() == 1 && !value.is_root(); }

// What stands between a value and what it is made of, the last one first.
struct MovedValue {
  Instruction* source;
  std::vector<Instruction*> moves;
};

MovedValue WithoutMoves(Instruction* value) {
  MovedValue moved = {value, {}};
  for (; kExchangeMoves.Has(moved.source->opcode()) && IsReadOnce(*moved.source) &&
         moved.source->shape().IsArray() && !moved.source->has_control_edges();
       moved.source = moved.source->operand(0))
    moved.moves.push_back(moved.source);
  return moved;
}

// Does to `value` what `moves` do to the value that they start with.
Instruction* MoveAgain(Instruction* value, const std::vector<Instruction*>& moves) {
  for (size_t i = moves.size(); i-- > 0;)
    value = value->parent()->AddClone(*moves[i], moves[i]->shape(), {value});
  return value;
}

// The dimension of the result of a reshape that is dimension `dim` of its operand; -1: none.
int64_t ReshapedDim(Shape from, Shape to, int64_t dim) {
  const auto factors = CommonFactors(from.dims(), to.dims());
  for (size_t i = 0; i + 1 < factors.size(); ++i) {
    if (factors[i].first == dim && factors[i + 1].first == dim + 1 &&
        factors[i + 1].second == factors[i].second + 1)
      return factors[i].second;
  }
  return -1;
}

// Where dimension `dim` of the operand of `move` is in its result; -1: nowhere.
int64_t DimAfter(const Instruction& move, int64_t dim) {
  if (move.opcode() == Opcode::kReshape)
    return ReshapedDim(move.operand(0)->shape(), move.shape(), dim);
  if (move.opcode() != Opcode::kTranspose) return dim;
  const DimVec& dims = move.attrs<TransposeAttrs>().dimensions;
  return absl::c_find(dims, dim) - dims.begin();
}

// Where dimension `dim` of its result is in the operand; -1: nowhere.
int64_t DimBefore(const Instruction& move, int64_t dim) {
  if (move.opcode() == Opcode::kReshape)
    return ReshapedDim(move.shape(), move.operand(0)->shape(), dim);
  if (move.opcode() != Opcode::kTranspose) return dim;
  return move.attrs<TransposeAttrs>().dimensions[static_cast<size_t>(dim)];
}

Decision IsPlainExchange(const Instruction& exchange) {
  const auto& attrs = exchange.attrs<AllToAllAttrs>();
  if (!attrs.dimensions || exchange.operand_count() != 1 || !exchange.shape().IsArray())
    return No("it exchanges several arrays");
  if (attrs.constrain_layout) return No("it constrains its layout");
  if (exchange.has_control_edges()) return No("it has control edges");
  if (exchange.shape().has_dynamic_dims()) return No("its size is known at run time only");
  const ReplicaGroups::Lists groups = attrs.replica_groups.Flatten();
  if (groups.empty()) return No("it has no groups");
  const std::optional<int64_t> size = GroupSize(exchange);
  if (!size) return No("its groups have different sizes");
  return *size > 1 ? Yes() : No("its groups are of one device");
}

// A product and an exchange, in parts.
struct SplitPlan {
  Instruction* exchange = nullptr;
  Instruction* dot = nullptr;
  Instruction* lhs = nullptr;  // of the product, not exchanged yet
  int64_t exchanged_dim = 0;   // of lhs, or of the product
  int64_t parts = 0;
  bool is_moved = false;  // something stands between the product and the exchange
};

Decision CanSplitProduct(const Instruction& dot, int64_t parts) {
  const auto& attrs = dot.attrs<DotAttrs>();
  if (dot.has_control_edges()) return No("it has control edges");
  if (dot.shape().has_dynamic_dims() || dot.operand(0)->shape().has_dynamic_dims() ||
      dot.operand(1)->shape().has_dynamic_dims())
    return No("its size is known at run time only");
  if (dot.shape().element_type() == ElementType::kPred) return No("it is of predicates");
  if (attrs.lhs_contracting_dims.size() != 1 || attrs.rhs_contracting_dims.size() != 1 ||
      dot.operand_count() != 2)
    return No("it does not contract one dimension");
  const int64_t size = dot.operand(1)->shape().dim(static_cast<int>(attrs.rhs_contracting_dims[0]));
  if (size == 0 || size % parts != 0)
    return No("{} devices cannot share the contracted dimension of {}", parts, size);
  return Yes();
}

// Part `i` of `parts` of `x` along `dim`.
Instruction* PartAlong(Builder& builder, Instruction* x, int64_t dim, int64_t i, int64_t parts) {
  DimVec starts(static_cast<size_t>(x->shape().rank()), 0);
  DimVec limits(x->shape().dims().begin(), x->shape().dims().end());
  const auto d = static_cast<size_t>(dim);
  const int64_t size = limits[d] / parts;
  starts[d] = i * size;
  limits[d] = (i + 1) * size;
  return builder.Slice(x, starts, limits);
}

enum class ExchangedSide { kOperand, kProduct };

// The sum of the products of all parts.
absl::StatusOr<Instruction*> SumOfParts(const SplitPlan& plan, ExchangedSide exchanged) {
  const Instruction& dot = *plan.dot;
  const auto& dot_attrs = dot.attrs<DotAttrs>();
  AllToAllAttrs attrs = plan.exchange->attrs<AllToAllAttrs>();
  attrs.dimensions->value = plan.exchanged_dim;
  // XLA first makes an exchange without anything between the two, which takes a channel.
  const int64_t first = NextChannelId(dot.module()) + (plan.is_moved ? 1 : 0);
  Builder builder(dot.parent(), plan.exchange);
  const auto exchange = [&](Instruction* part, int64_t i) {
    if (attrs.channel_id) attrs.channel_id = first + i;
    return builder.OpWithShape(Opcode::kAllToAll, part->shape(), {part}, AttrsPtr::Make(attrs));
  };
  Instruction* sum = builder.ZeroLike(&dot);
  for (int64_t i = 0; i < plan.parts; ++i) {
    Instruction* lhs =
        PartAlong(builder, plan.lhs, dot_attrs.lhs_contracting_dims[0], i, plan.parts);
    Instruction* const rhs =
        PartAlong(builder, dot.operand(1), dot_attrs.rhs_contracting_dims[0], i, plan.parts);
    if (exchanged == ExchangedSide::kOperand) lhs = exchange(lhs, i);
    builder.set_origin(&dot);
    Instruction* const product =
        builder.OpWithShape(Opcode::kDot, dot.shape(), {lhs, rhs}, dot.attrs_ptr());
    builder.set_origin(plan.exchange);
    sum = builder.Add(exchanged == ExchangedSide::kProduct ? exchange(product, i) : product, sum);
    RETURN_IF_ERROR(builder.status());
    RETURN_IF_ERROR(RunOnQueue(product, first + i));
  }
  return sum;
}

}  // namespace

absl::StatusOr<bool> SplitProductOfExchange(Instruction* dot, PassContext& context) {
  const MovedValue moved = WithoutMoves(dot->operand(0));
  Instruction* const exchange = moved.source;
  if (exchange->opcode() != Opcode::kAllToAll || !IsReadOnce(*exchange)) return false;
  Decision decision = IsPlainExchange(*exchange);
  if (!context.Allowed(*exchange, decision)) return false;
  SplitPlan plan = {exchange, dot, exchange->operand(0), 0, *GroupSize(*exchange)};
  plan.exchanged_dim = exchange->attrs<AllToAllAttrs>().dimensions->value;
  plan.is_moved = !moved.moves.empty();
  for (size_t i = moved.moves.size(); i-- > 0 && plan.exchanged_dim >= 0;)
    plan.exchanged_dim = DimAfter(*moved.moves[i], plan.exchanged_dim);
  decision = CanSplitProduct(*dot, plan.parts);
  if (decision && plan.exchanged_dim < 0) decision = No("a reshape changes what is exchanged");
  // Parts of what is exchanged are no parts of the operand then.
  if (decision && plan.exchanged_dim == dot->attrs<DotAttrs>().lhs_contracting_dims[0])
    decision = No("it is exchanged along the contracted dimension");
  if (!context.Allowed(*dot, decision)) return false;
  if (!context.MayRewrite()) return false;
  context.Passed(*dot, "{} parts of what it reads are exchanged by themselves", plan.parts);
  context.Count("product-of-exchange");
  const uint32_t first_new = dot->module().id_limit();
  plan.lhs = MoveAgain(plan.lhs, moved.moves);
  ASSIGN_OR_RETURN(Instruction * sum, SumOfParts(plan, ExchangedSide::kOperand));
  Computation* const computation = dot->parent();
  ReplaceKeepingExtras(dot, sum, first_new);
  for (Instruction* move : moved.moves) computation->Remove(move);
  computation->RemoveUnused(exchange);
  return true;
}

absl::StatusOr<bool> SplitExchangeOfProduct(Instruction* exchange, PassContext& context) {
  const MovedValue moved = WithoutMoves(exchange->operand(0));
  Instruction* const dot = moved.source;
  if (dot->opcode() != Opcode::kDot || !IsReadOnce(*dot)) return false;
  Decision decision = IsPlainExchange(*exchange);
  if (!context.Allowed(*exchange, decision)) return false;
  SplitPlan plan = {exchange, dot, dot->operand(0), 0, *GroupSize(*exchange)};
  plan.exchanged_dim = exchange->attrs<AllToAllAttrs>().dimensions->value;
  plan.is_moved = !moved.moves.empty();
  for (const Instruction* move : moved.moves) {
    if (plan.exchanged_dim >= 0) plan.exchanged_dim = DimBefore(*move, plan.exchanged_dim);
  }
  decision = CanSplitProduct(*dot, plan.parts);
  if (decision && plan.exchanged_dim < 0) decision = No("a reshape changes what is exchanged");
  if (!context.Allowed(*exchange, decision)) return false;
  if (!context.MayRewrite()) return false;
  context.Passed(*exchange, "{} parts of the product are exchanged by themselves", plan.parts);
  context.Count("exchange-of-product");
  const uint32_t first_new = exchange->module().id_limit();
  ASSIGN_OR_RETURN(Instruction * sum, SumOfParts(plan, ExchangedSide::kProduct));
  Computation* const computation = exchange->parent();
  ReplaceKeepingExtras(exchange, MoveAgain(sum, moved.moves), first_new);
  for (Instruction* move : moved.moves) computation->Remove(move);
  computation->RemoveUnused(dot);
  return true;
}

}  // namespace hlo
