#include "tools/fuzz/turned_outcomes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/algorithm/container.h"
#include "lib/ir/builder.h"
#include "lib/ops/attrs.h"
#include "lib/support/status.h"
#include "tools/fuzz/noisy_run.h"

namespace hlo {
namespace {

// A divisor that is that much smaller in one run than in another may be nothing in a third.
constexpr double kLargeFactor = 8;

bool IsEqualityTest(const Instruction& i) {
  if (i.opcode() != Opcode::kCompare || !IsInteger(i.operand(0)->shape().element_type()))
    return false;
  const ComparisonDirection direction = i.attrs<CompareAttrs>().direction;
  return direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe;
}

bool IsQuotient(const Instruction& i) {
  const ElementType type = i.shape().element_type();
  return i.opcode() == Opcode::kDivide && IsFloat(type) && HasNoise(type);
}

// The two operands of one operation in the calm run and in the noisy ones.
class Operands {
 public:
  Operands(const Literal& calm, const std::vector<Literal>& noisy, size_t operation)
      : calm_(calm), noisy_(noisy), first_(static_cast<int>(2 * operation) + 1) {}

  bool Move(int64_t i) const {
    return absl::c_any_of(noisy_, [&](const Literal& run) {
      return !SameInt(run, first_, i) || !SameInt(run, first_ + 1, i);
    });
  }

  bool MayDivideByNothing(int64_t i) const {
    const double here = std::abs(calm_.element(first_ + 1).GetDouble(i));
    double least = here, most = here;
    for (const Literal& run : noisy_) {
      const double there = std::abs(run.element(first_ + 1).GetDouble(i));
      least = std::min(least, there);
      most = std::max(most, there);
    }
    return most > kLargeFactor * least;
  }

 private:
  bool SameInt(const Literal& run, int element, int64_t i) const {
    return run.element(element).GetInt(i) == calm_.element(element).GetInt(i);
  }

  const Literal& calm_;
  const std::vector<Literal>& noisy_;
  int first_;
};

void TurnTest(Instruction& test, Literal where) {
  const std::vector<Use> uses(test.uses().begin(), test.uses().end());
  Computation& computation = *test.parent();
  const bool is_root = test.is_root();
  Builder b(&computation);
  Instruction* const other = b.Op(Opcode::kXor, {&test, b.Constant(std::move(where))});
  for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, other);
  if (is_root) computation.set_root(other);
}

void DivideByNothing(Instruction& quotient, Literal where, double zero) {
  Builder b(quotient.parent());
  Instruction* const divisor = quotient.operand(1);
  quotient.ReplaceOperand(
      1, b.Select(b.Constant(std::move(where)), b.ConstantLike(divisor, zero), divisor));
}

}  // namespace

std::vector<std::string> MayTurn(const Module& module) {
  std::vector<std::string> names;
  for (const Instruction* i : module.entry()->instructions()) {
    if (i->shape().IsArray() && !i->shape().has_dynamic_dims() &&
        (IsEqualityTest(*i) || IsQuotient(*i)))
      names.emplace_back(i->name());
  }
  return names;
}

absl::StatusOr<Literal> WithOperands(std::unique_ptr<Module> module, const EvalOptions& eval,
                                     const std::vector<Literal>& arguments,
                                     const std::vector<std::string>& names) {
  Builder b(module->entry());
  std::vector<Instruction*> all = {module->entry()->root()};
  for (const std::string& name : names) {
    const Instruction* const operation = module->FindInstruction(name);
    all.insert(all.end(), {operation->operand(0), operation->operand(1)});
  }
  module->entry()->set_root(b.Tuple(all));
  RETURN_IF_ERROR(b.status());
  return Evaluator(eval).Run(*module, arguments);
}

std::optional<Literal> WithTurned(const Module& module, const EvalOptions& eval,
                                  const std::vector<Literal>& arguments,
                                  const std::vector<std::string>& names,
                                  const std::vector<Literal>& noisy, double zero) {
  std::unique_ptr<Module> copy = module.Clone();
  copy->ClearSchedule();
  const absl::StatusOr<Literal> calm = WithOperands(std::move(copy), eval, arguments, names);
  if (!calm.ok()) return std::nullopt;
  const std::unique_ptr<Module> turned = module.Clone();
  bool any = false;
  for (size_t n = 0; n < names.size(); ++n) {
    Instruction& operation = *turned->FindInstruction(names[n]);
    const bool is_test = operation.opcode() == Opcode::kCompare;
    const Operands operands(*calm, noisy, n);
    Literal where(Shape::Array(ElementType::kPred, operation.shape().dims()));
    bool here = false;
    for (int64_t i = 0; i < where.element_count(); ++i) {
      const bool turns = is_test ? operands.Move(i) : operands.MayDivideByNothing(i);
      where.SetInt(i, turns ? 1 : 0);
      here |= turns;
    }
    if (!here) continue;
    any = true;
    if (is_test) {
      TurnTest(operation, std::move(where));
    } else {
      DivideByNothing(operation, std::move(where), zero);
    }
  }
  if (!any) return std::nullopt;
  turned->ClearSchedule();
  absl::StatusOr<Literal> result = Evaluator(eval).Run(*turned, arguments);
  return result.ok() ? std::optional<Literal>(*std::move(result)) : std::nullopt;
}

}  // namespace hlo
