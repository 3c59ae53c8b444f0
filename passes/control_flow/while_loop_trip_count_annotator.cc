#include "passes/control_flow/while_loop_trip_count_annotator.h"

#include <set>

#include "absl/container/flat_hash_set.h"
#include "lib/analysis/trip_count.h"
#include "lib/ir/custom_call.h"
#include "lib/types/memory_space.h"

namespace hlo {
namespace {

bool IsInHostMemory(const Instruction& value) {
  return MemorySpaceOf(value.shape()) == kHostMemorySpace;
}

// Whether an update takes what `value` is, arranged anew.
bool IsWrittenInto(const Instruction& value) {
  return absl::c_any_of(value.uses(), [](const Use& use) {
    const Opcode opcode = use.user->opcode();
    if (opcode == Opcode::kDynamicUpdateSlice) return true;
    return (opcode == Opcode::kReshape || opcode == Opcode::kBroadcast ||
            opcode == Opcode::kTranspose) &&
           IsWrittenInto(*use.user);
  });
}

// Whether it is a slice, arranged anew.
bool IsSliced(const Instruction& value) {
  const Opcode opcode = value.opcode();
  if (opcode == Opcode::kDynamicSlice) return true;
  return (opcode == Opcode::kReshape || opcode == Opcode::kBroadcast ||
          opcode == Opcode::kTranspose) &&
         IsSliced(*value.operand(0));
}

// Whether the body takes slices from the host, or writes some there, by calls that say so.
bool MovesSlices(const Computation& body) {
  for (const Instruction* call : body.instructions()) {
    if ((IsCustomCall(*call, "MoveToHost") && IsWrittenInto(*call)) ||
        (IsCustomCall(*call, "MoveToDevice") && IsSliced(*call->operand(0))))
      return true;
  }
  return false;
}

// Elements of the state that `start` is computed from by arithmetic.
void CollectElements(const Instruction& start, std::set<int64_t>& elements) {
  constexpr OpcodeSet kArithmetic = {Opcode::kCopy, Opcode::kAdd, Opcode::kSubtract,
                                     Opcode::kMultiply, Opcode::kDivide};
  std::vector<const Instruction*> stack = {&start};
  absl::flat_hash_set<const Instruction*> seen;
  while (!stack.empty()) {
    const Instruction* value = stack.back();
    stack.pop_back();
    if (!seen.insert(value).second) continue;
    if (value->opcode() == Opcode::kGetTupleElement &&
        value->operand(0)->opcode() == Opcode::kParameter) {
      elements.insert(value->tuple_index());
    } else if (kArithmetic.Has(value->opcode())) {
      stack.insert(stack.end(), value->operands().begin(), value->operands().end());
    }
  }
}

// Elements of the state that choose slices of what lies in host memory.
std::set<int64_t> DynamicVariables(const Computation& body) {
  const bool moves = MovesSlices(body);
  std::set<int64_t> result;
  for (const Instruction* slice : body.instructions()) {
    const bool update = slice->opcode() == Opcode::kDynamicUpdateSlice;
    if (!update && slice->opcode() != Opcode::kDynamicSlice) continue;
    if (!moves && !IsInHostMemory(*slice->operand(0))) continue;
    for (int i = update ? 2 : 1; i < slice->operand_count(); ++i)
      CollectElements(*slice->operand(i), result);
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

// element + offset; without an element, a number.
struct Linear {
  std::optional<int64_t> element;
  int64_t offset = 0;
};

// `value` of a body as such a sum, if it is one of few terms.
std::optional<Linear> LinearOf(const Instruction& value, int depth = 0) {
  constexpr int kDeepest = 10;
  if (depth > kDeepest) return std::nullopt;
  if (value.opcode() == Opcode::kGetTupleElement) {
    if (value.operand(0)->opcode() != Opcode::kParameter) return std::nullopt;
    return Linear{value.tuple_index(), 0};
  }
  if (const std::optional<int64_t> number = ConstantInteger(value))
    return Linear{std::nullopt, *number};
  const bool is_difference = value.opcode() == Opcode::kSubtract;
  if (value.opcode() != Opcode::kAdd && !is_difference) return std::nullopt;
  const std::optional<Linear> lhs = LinearOf(*value.operand(0), depth + 1);
  const std::optional<Linear> rhs = LinearOf(*value.operand(1), depth + 1);
  if (!lhs || !rhs || (rhs->element && (lhs->element || is_difference))) return std::nullopt;
  Linear sum{lhs->element ? lhs->element : rhs->element};
  const bool is_too_large = is_difference
                                ? __builtin_sub_overflow(lhs->offset, rhs->offset, &sum.offset)
                                : __builtin_add_overflow(lhs->offset, rhs->offset, &sum.offset);
  return is_too_large ? std::nullopt : std::optional(sum);
}

// `"init":…,"step":…` of element `index` of the state, when it starts with a constant and grows by
// one; else empty. It may also follow the induction variable, element `primary`, at a constant
// distance from the first iteration on.
std::string AffineText(const Instruction& loop, int64_t index, int64_t primary,
                       const std::optional<CountedLoop>& counted) {
  const Instruction* init = loop.operand(0);
  const Instruction* root = loop.while_body()->root();
  if (init->opcode() != Opcode::kTuple || root->opcode() != Opcode::kTuple) return "";
  const std::optional<int64_t> start = ConstantInteger(*init->operand(static_cast<int>(index)));
  const std::optional<Linear> next = LinearOf(*root->operand(static_cast<int>(index)));
  if (!start || !next || !next->element) return "";
  if (*next->element == index) return InitStepText(*start, next->offset);
  const bool follows = *next->element == primary && counted &&
                       *start == counted->init - counted->step + next->offset;
  return follows ? InitStepText(*start, counted->step) : "";
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
