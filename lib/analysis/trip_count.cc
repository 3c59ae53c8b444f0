#include "lib/analysis/trip_count.h"

#include <fmt/core.h>

#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/eval/evaluator.h"

namespace hlo {
namespace {

constexpr size_t kMaxConeSize = 256;             // instructions that one evaluation looks at
constexpr int64_t kMaxEvaluationWork = 1 << 16;  // elements of one evaluation

// What a value depends on.
struct Cone {
  std::vector<const Instruction*> order;  // operands first
  bool reads_state = false;
  int64_t state_index = -1;  // the one element of the parameter that is read
};

bool IsStateElement(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kGetTupleElement &&
         instruction.operand(0)->opcode() == Opcode::kParameter;
}

// The cone of `root`; none if it is large, cannot be evaluated, or reads several elements of the
// state.
std::optional<Cone> ConeOf(const Instruction* root) {
  Cone cone;
  absl::flat_hash_set<const Instruction*> done;
  std::vector<const Instruction*> stack = {root};
  while (!stack.empty()) {
    const Instruction* top = stack.back();
    if (done.contains(top)) {
      stack.pop_back();
      continue;
    }
    if (IsStateElement(*top)) {
      if (cone.reads_state && cone.state_index != top->tuple_index()) return std::nullopt;
      cone.reads_state = true;
      cone.state_index = top->tuple_index();
    } else if (top->IsConstant() ? top->literal().is_elided() : !IsEvaluable(*top)) {
      return std::nullopt;
    } else {
      const size_t before = stack.size();
      for (const Instruction* operand : top->operands()) {
        if (!done.contains(operand)) stack.push_back(operand);
      }
      if (stack.size() > before) {
        if (stack.size() > 4 * kMaxConeSize) return std::nullopt;
        continue;
      }
    }
    done.insert(top);
    cone.order.push_back(top);
    stack.pop_back();
    if (cone.order.size() > kMaxConeSize) return std::nullopt;
  }
  return cone;
}

std::optional<Literal> EvaluateCone(const Cone& cone, const Literal& state) {
  EvalOptions options;
  options.max_work = kMaxEvaluationWork;
  options.max_loop_iterations = kMaxTriedIterations;
  Evaluator evaluator(options);
  absl::flat_hash_map<const Instruction*, Literal> values;
  for (const Instruction* instruction : cone.order) {
    if (IsStateElement(*instruction)) {
      values[instruction] = state;
      continue;
    }
    if (instruction->IsConstant()) {
      values[instruction] = instruction->literal();
      continue;
    }
    std::vector<Literal> operands;
    for (const Instruction* operand : instruction->operands())
      operands.push_back(values.at(operand));
    absl::StatusOr<Literal> value = evaluator.EvaluateInstruction(*instruction, operands);
    if (!value.ok()) return std::nullopt;
    values[instruction] = *std::move(value);
  }
  return values.at(cone.order.back());
}

// Element `index` of a tuple-shaped value, through tuples.
const Instruction* ElementOf(const Instruction& value, int64_t index) {
  return value.opcode() == Opcode::kTuple ? value.operand(static_cast<int>(index)) : nullptr;
}

bool IsElement(const Instruction& instruction, int64_t index) {
  return IsStateElement(instruction) && instruction.tuple_index() == index;
}

// The constant c of `element + c`.
std::optional<int64_t> StepOf(const Instruction& next, int64_t index) {
  if (next.opcode() != Opcode::kAdd) return std::nullopt;
  if (IsElement(*next.operand(0), index)) return KnownInteger(*next.operand(1));
  if (IsElement(*next.operand(1), index)) return KnownInteger(*next.operand(0));
  return std::nullopt;
}

// The largest value for which the condition holds, of `element < bound` in any spelling.
std::optional<int64_t> LastAllowed(const Instruction& condition, int64_t index) {
  if (condition.opcode() != Opcode::kCompare) return std::nullopt;
  ComparisonDirection direction = condition.attrs<CompareAttrs>().direction;
  const Instruction* bound = condition.operand(1);
  if (!IsElement(*condition.operand(0), index)) {
    if (!IsElement(*condition.operand(1), index)) return std::nullopt;
    bound = condition.operand(0);
    if (direction == ComparisonDirection::kGt) {
      direction = ComparisonDirection::kLt;
    } else if (direction == ComparisonDirection::kGe) {
      direction = ComparisonDirection::kLe;
    } else {
      return std::nullopt;
    }
  }
  if (direction != ComparisonDirection::kLt && direction != ComparisonDirection::kLe)
    return std::nullopt;
  const std::optional<int64_t> value = KnownInteger(*bound);
  if (!value) return std::nullopt;
  if (direction == ComparisonDirection::kLe) return value;
  if (*value == std::numeric_limits<int64_t>::min()) return std::nullopt;
  return *value - 1;
}

int64_t LargestOf(ElementType type) {
  const int bits = BitWidth(type) - (IsSigned(type) ? 1 : 0);
  return bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
}

}  // namespace

std::optional<Literal> KnownValue(const Instruction& instruction) {
  if (instruction.IsConstant()) {
    if (instruction.literal().is_elided()) return std::nullopt;
    return instruction.literal();
  }
  if (instruction.opcode() == Opcode::kParameter) return std::nullopt;
  const std::optional<Cone> cone = ConeOf(&instruction);
  if (!cone || cone->reads_state) return std::nullopt;
  return EvaluateCone(*cone, Literal());
}

std::optional<int64_t> KnownInteger(const Instruction& instruction) {
  if (!instruction.shape().IsArray() || !instruction.shape().IsEffectiveScalar() ||
      !IsInteger(instruction.shape().element_type()))
    return std::nullopt;
  const std::optional<Literal> value = KnownValue(instruction);
  if (!value) return std::nullopt;
  const int64_t result = value->GetInt();
  if (IsUnsigned(value->element_type()) && result < 0) return std::nullopt;  // beyond 2^63
  return result;
}

std::optional<int64_t> InductionIndex(const Instruction& loop) {
  if (!loop.shape().IsTuple()) return std::nullopt;
  const std::optional<Cone> condition = ConeOf(loop.while_condition()->root());
  if (!condition || !condition->reads_state) return std::nullopt;
  const Instruction* next = ElementOf(*loop.while_body()->root(), condition->state_index);
  if (next == nullptr || !next->shape().IsArray() || !next->shape().IsEffectiveScalar())
    return std::nullopt;
  const std::optional<Cone> update = ConeOf(next);
  if (!update || !update->reads_state || update->state_index != condition->state_index)
    return std::nullopt;
  return condition->state_index;
}

std::optional<CountedLoop> MatchCountedLoop(const Instruction& loop, int64_t index) {
  const Instruction* start = ElementOf(*loop.operand(0), index);
  const Instruction* next = ElementOf(*loop.while_body()->root(), index);
  if (start == nullptr || next == nullptr) return std::nullopt;
  const std::optional<int64_t> init = KnownInteger(*start);
  const std::optional<int64_t> step = StepOf(*next, index);
  const std::optional<int64_t> last = LastAllowed(*loop.while_condition()->root(), index);
  if (!init || !step || !last || *step <= 0) return std::nullopt;
  if (*init > *last) return CountedLoop{*init, *step, 0};
  int64_t distance;
  if (__builtin_sub_overflow(*last, *init, &distance)) return std::nullopt;
  const int64_t trip_count = distance / *step + 1;
  // The value that ends the loop must not wrap around.
  int64_t final_value;
  if (__builtin_mul_overflow(trip_count, *step, &final_value) ||
      __builtin_add_overflow(final_value, *init, &final_value) ||
      final_value > LargestOf(start->shape().element_type()))
    return std::nullopt;
  return CountedLoop{*init, *step, trip_count};
}

std::optional<int64_t> TripCount(const Instruction& loop, int64_t max_tried) {
  const std::optional<int64_t> index = InductionIndex(loop);
  if (!index) return std::nullopt;
  if (const std::optional<CountedLoop> counted = MatchCountedLoop(loop, *index))
    return counted->trip_count;
  const Instruction* start = ElementOf(*loop.operand(0), *index);
  if (start == nullptr) return std::nullopt;
  std::optional<Literal> value = KnownValue(*start);
  if (!value) return std::nullopt;
  const std::optional<Cone> condition = ConeOf(loop.while_condition()->root());
  const std::optional<Cone> update = ConeOf(ElementOf(*loop.while_body()->root(), *index));
  for (int64_t tried = 0; tried <= max_tried; ++tried) {
    const std::optional<Literal> goes_on = EvaluateCone(*condition, *value);
    if (!goes_on) return std::nullopt;
    if (goes_on->GetInt() == 0) return tried;
    value = EvaluateCone(*update, *value);
    if (!value) return std::nullopt;
  }
  return std::nullopt;
}

bool RunsAtMostOnce(const Instruction& loop) {
  if (const std::optional<int64_t> count = TripCount(loop, /*max_tried=*/2)) return *count <= 1;
  const std::optional<Cone> condition = ConeOf(loop.while_condition()->root());
  if (!condition || !condition->reads_state) return false;
  const Instruction* const next = ElementOf(*loop.while_body()->root(), condition->state_index);
  const std::optional<Literal> value = next == nullptr ? std::nullopt : KnownValue(*next);
  if (!value) return false;
  const std::optional<Literal> goes_on = EvaluateCone(*condition, *value);
  return goes_on && goes_on->GetInt() == 0;
}

std::string TripCountsToString(const Module& module) {
  std::string text;
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* loop : computation->PostOrder()) {
      if (loop->opcode() != Opcode::kWhile) continue;
      const std::optional<int64_t> count = TripCount(*loop);
      text += fmt::format("{}: {}", loop->name(), count ? fmt::format("{}", *count) : "unknown");
      if (const std::optional<int64_t> index = InductionIndex(*loop)) {
        text += fmt::format("; counts in element {}", *index);
        if (const std::optional<CountedLoop> counted = MatchCountedLoop(*loop, *index)) {
          text += fmt::format(" from {} by {} to {}", counted->init, counted->step,
                              counted->final_value());
        }
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace hlo
