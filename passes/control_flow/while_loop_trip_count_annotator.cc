#include "passes/control_flow/while_loop_trip_count_annotator.h"

#include <algorithm>
#include <set>

#include "lib/analysis/trip_count.h"

namespace hlo {
namespace {

constexpr int64_t kHostSpace = 5;

bool IsInHostMemory(const Instruction& value) {
  const Layout* layout = value.shape().layout_or_null();
  return layout != nullptr && layout->memory_space == kHostSpace;
}

// Elements of the state that are start indices of slices in host memory.
std::set<int64_t> DynamicVariables(const Computation& body) {
  std::set<int64_t> result;
  for (const Instruction* slice : body.instructions()) {
    const bool update = slice->opcode() == Opcode::kDynamicUpdateSlice;
    if (!update && slice->opcode() != Opcode::kDynamicSlice) continue;
    if (!IsInHostMemory(*slice->operand(0))) continue;
    for (int i = update ? 2 : 1; i < slice->operand_count(); ++i) {
      const Instruction* start = slice->operand(i);
      if (start->opcode() == Opcode::kGetTupleElement &&
          start->operand(0)->opcode() == Opcode::kParameter)
        result.insert(start->tuple_index());
    }
  }
  return result;
}

std::string InitStepText(int64_t init, int64_t step) {
  return fmt::format(R"("init":"{}","step":"{}")", init, step);
}

std::optional<int64_t> ConstantInteger(const Instruction& value) {
  if (!value.IsConstant() || !value.shape().IsEffectiveScalar() ||
      !IsInteger(value.shape().element_type()) || value.literal().is_elided())
    return std::nullopt;
  return value.literal().GetInt();
}

// `"init":…,"step":…` of element `index` of the state, when it starts with a constant and grows by
// one; else empty. It may also follow the induction variable, element `primary`, at a constant
// distance from the first iteration on.
std::string AffineText(const Instruction& loop, int64_t index, int64_t primary,
                       const std::optional<CountedLoop>& counted) {
  const Instruction* init = loop.operand(0);
  const Instruction* root = loop.while_body()->root();
  if (init->opcode() != Opcode::kTuple || root->opcode() != Opcode::kTuple) return "";
  const Instruction* next = root->operand(static_cast<int>(index));
  const std::optional<int64_t> start = ConstantInteger(*init->operand(static_cast<int>(index)));
  if (!start || next->opcode() != Opcode::kAdd) return "";
  for (int side = 0; side < 2; ++side) {
    const Instruction* from = next->operand(side);
    const std::optional<int64_t> delta = ConstantInteger(*next->operand(1 - side));
    if (!delta || from->opcode() != Opcode::kGetTupleElement ||
        from->operand(0)->opcode() != Opcode::kParameter)
      continue;
    if (from->tuple_index() == index) return InitStepText(*start, *delta);
    if (from->tuple_index() == primary && counted &&
        *start == counted->init - counted->step + *delta)
      return InitStepText(*start, counted->step);
  }
  return "";
}

struct Knowledge {
  std::string config;
  std::optional<CountedLoop> counted;  // counts up from a start >= 0
};

Knowledge Describe(const Instruction& loop, int64_t index) {
  Knowledge result;
  std::string text = "{";
  if (const std::optional<int64_t> trip_count = TripCount(loop)) {
    text += fmt::format(R"("known_trip_count":{{"n":"{}"}},)", *trip_count);
    result.counted = MatchCountedLoop(loop, index);
    if (result.counted && (result.counted->init < 0 || result.counted->trip_count == 0))
      result.counted.reset();
  }
  if (result.counted)
    text += fmt::format(R"("known_init_step":{{{}}},)",
                        InitStepText(result.counted->init, result.counted->step));
  text += fmt::format(R"("known_induction_variable":{{"tuple_index":"{}"}},"dynamic_variables":[)",
                      index);
  bool first = true;
  for (int64_t variable : DynamicVariables(*loop.while_body())) {
    if (variable == index) continue;
    const std::string affine = AffineText(loop, variable, index, result.counted);
    text += fmt::format(R"({}{{"tuple_index":"{}"{}{}}})", first ? "" : ",", variable,
                        affine.empty() ? "" : ",", affine);
    first = false;
  }
  result.config = text + "]}";
  return result;
}

// Readers of the induction variable after the loop get its final value.
bool ForwardFinalValue(Instruction& loop, int64_t index, int64_t value) {
  bool changed = false;
  for (Instruction* user : loop.users()) {
    if (user->opcode() != Opcode::kGetTupleElement || user->tuple_index() != index) continue;
    if (!user->is_used()) continue;
    Literal literal(user->shape());
    for (int64_t i = 0; i < literal.element_count(); ++i) literal.SetInt(i, value);
    Instruction* constant = loop.parent()->AddConstant(std::move(literal));
    constant->set_loc(user->loc());
    user->ReplaceAllUsesWith(constant);
    if (user->is_root()) loop.parent()->set_root(constant);
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> WhileLoopTripCountAnnotator::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : module.computations()) {
    if (!computation->MayHold(Opcode::kWhile)) continue;
    for (Instruction* loop : computation->instruction_vector()) {
      if (loop->opcode() != Opcode::kWhile) continue;
      const std::optional<int64_t> index = InductionIndex(*loop);
      if (!index) {
        context.Missed(*loop, "no single element of the loop state decides when it ends");
        continue;
      }
      if (!context.MayRewrite()) return changed;
      Knowledge known = Describe(*loop, *index);
      if (known.counted) changed |= ForwardFinalValue(*loop, *index, known.counted->final_value());
      if (loop->backend_config() == known.config) continue;
      if (!loop->backend_config().empty())
        context.Passed(*loop, "an earlier backend config is replaced");
      context.Found(*loop, "{}", known.config);
      loop->mutable_extras().backend_config = std::move(known.config);
      context.Count("annotated");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(WhileLoopTripCountAnnotator)

}  // namespace hlo
