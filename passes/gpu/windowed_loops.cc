#include "passes/gpu/windowed_loops.h"

#include "lib/match/pattern.h"
#include "passes/gpu/operation_queues.h"
#include "passes/rewrite.h"
#include "passes/util/carry_more.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

constexpr std::pair<std::string_view, WindowedKind> kWindowedBodies[] = {
    {"windowed_dot_general_body_ag", WindowedKind::kOperand},
    {"windowed_dot_general_body_rs", WindowedKind::kResult}};
constexpr int kFewestProducts = 2;
constexpr int kProductElement = 2;  // the element of the state that is the product

bool HasProducts(const Computation& body) {
  int products = 0;
  for (const Instruction* instruction : body.instructions())
    products += instruction->opcode() == Opcode::kDot ? 1 : 0;
  return products >= kFewestProducts;
}

// The products that `sum` adds to what element 2 of the state was, the first that is added first;
// none where it adds anything else.
std::vector<Instruction*> AddedProducts(Instruction* sum) {
  std::vector<Instruction*> products;
  for (sum = ThroughTuples(sum); sum->opcode() == Opcode::kAdd;) {
    Instruction *one = ThroughTuples(sum->operand(0)), *other = ThroughTuples(sum->operand(1));
    if (other->opcode() != Opcode::kDot) std::swap(one, other);
    if (other->opcode() != Opcode::kDot || other->shape() != sum->shape()) return {};
    products.push_back(other);
    sum = one;
  }
  if (!IsParameterElement(*sum, kProductElement)) return {};
  absl::c_reverse(products);
  return products;
}

// Adds up after the loop what `products` are, whose sum is read as `results`.
absl::Status AddAfterLoop(Instruction* loop, const std::vector<Instruction*>& products,
                          const std::vector<Instruction*>& results) {
  const Shape shape = products[0]->shape();
  const auto count = static_cast<int64_t>(products.size());
  DimVec one(shape.dims().begin(), shape.dims().end());
  one.insert(one.begin(), 1);
  DimVec all = one;
  all[0] = count;

  Builder outside(loop->parent(), results[0]);
  Instruction* const zero = outside.ScalarConstant(shape.element_type(), 0);
  Instruction* const none = outside.Broadcast(zero, all, {});
  RETURN_IF_ERROR(outside.status());
  const int64_t index = loop->shape().element_count_of_tuple();
  RETURN_IF_ERROR(CarryMore(loop, {none}).status());

  Builder inside(loop->while_body());
  std::vector<Instruction*> rows;
  for (Instruction* product : products) {
    inside.set_origin(product);
    rows.push_back(inside.Reshape(product, one));
  }
  Instruction* const root = loop->while_body()->root();
  Instruction* const read = root->operand(static_cast<int>(index));
  root->ReplaceOperand(static_cast<int>(index), inside.Concatenate(rows, 0));
  RETURN_IF_ERROR(inside.status());
  loop->while_body()->RemoveUnused(read);

  const uint32_t first_new = loop->module().id_limit();
  Instruction* const sum =
      outside.Reduce(outside.GetTupleElement(loop, index), zero, {0},
                     ScalarComputation(loop->module(), Opcode::kAdd, shape.element_type()));
  RETURN_IF_ERROR(outside.status());
  for (Instruction* result : results) ReplaceKeepingExtras(result, sum, first_new);
  return absl::OkStatus();
}

absl::Status MoveWindowedSum(Instruction* loop, PassContext& context) {
  const Instruction& init = *loop->operand(0);
  if (!CanCarryMore(*loop) || init.opcode() != Opcode::kTuple || !init.has_one_user() ||
      loop->shape().element_count_of_tuple() <= kProductElement ||
      !Match(ThroughTuples(init.operand(kProductElement)), m::Zero()))
    return absl::OkStatus();
  const std::vector<Instruction*> products =
      AddedProducts(loop->while_body()->root()->operand(kProductElement));
  if (products.empty() || products[0]->shape().has_dynamic_dims() ||
      products[0]->shape().element_type() == ElementType::kPred)
    return absl::OkStatus();
  std::vector<Instruction*> results;
  for (Instruction* user : loop->users()) {
    if (user->opcode() == Opcode::kGetTupleElement && user->tuple_index() == kProductElement &&
        !user->has_control_edges())
      results.push_back(user);
  }
  if (results.empty() || !context.MayRewrite()) return absl::OkStatus();
  context.Passed(*loop, "{} products are added up after it", products.size());
  context.Count("sum-moved");
  return AddAfterLoop(loop, products, results);
}

}  // namespace

bool IsPlainSend(const Instruction& value) {
  return value.opcode() == Opcode::kCollectivePermute && value.operand_count() == 1 &&
         value.shape().IsArray() && value.attrs<CollectivePermuteAttrs>().slice_sizes.empty();
}

std::vector<WindowedLoop> FindWindowedLoops(const Module& module, PassContext& context) {
  std::vector<WindowedLoop> loops;
  for (const Computation* body : context.NonFusionComputations(module)) {
    for (const auto& [name, kind] : kWindowedBodies) {
      if (!body->name().starts_with(name) || !HasProducts(*body)) continue;
      Instruction* const caller = body->callers().size() == 1 ? body->callers()[0].caller : nullptr;
      if (caller == nullptr || caller->opcode() != Opcode::kWhile || caller->while_body() != body)
        continue;
      loops.push_back({caller, kind});
    }
  }
  return loops;
}

absl::Status FinishWindowedLoop(const WindowedLoop& windowed, int64_t first_queue,
                                PassContext& context) {
  int64_t queue = first_queue;
  for (Instruction* instruction : windowed.loop->while_body()->PostOrder()) {
    if (instruction->opcode() == Opcode::kCollectivePermute &&
        IsParameterElement(*instruction->operand(0), 0))
      RETURN_IF_ERROR(ScheduleFirst(instruction));
    if (instruction->opcode() == Opcode::kDot) RETURN_IF_ERROR(RunOnQueue(instruction, queue++));
  }
  if (windowed.kind != WindowedKind::kOperand) return absl::OkStatus();
  return MoveWindowedSum(windowed.loop, context);
}

}  // namespace hlo
