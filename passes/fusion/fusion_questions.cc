#include "passes/fusion/fusion_questions.h"

#include <iterator>

#include "lib/analysis/cost.h"
#include "lib/ir/elementwise.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/contains.h"

namespace hlo {
namespace {

constexpr Opcode kExpensiveIfComplex[] = {Opcode::kAbs, Opcode::kCos, Opcode::kSign, Opcode::kSin,
                                          Opcode::kTan};

constexpr Opcode kMovesInLoop[] = {
    Opcode::kBitcast,  Opcode::kBroadcast, Opcode::kConcatenate, Opcode::kDynamicSlice,
    Opcode::kGather,   Opcode::kIota,      Opcode::kPad,         Opcode::kDynamicUpdateSlice,
    Opcode::kReduce,   Opcode::kReshape,   Opcode::kReverse,     Opcode::kSlice,
    Opcode::kTranspose};

constexpr Opcode kReadsEachOnce[] = {Opcode::kBitcast, Opcode::kConcatenate, Opcode::kReshape,
                                     Opcode::kReverse, Opcode::kSlice,       Opcode::kTranspose};

}  // namespace

int TrueRank(Shape shape) {
  return static_cast<int>(absl::c_count_if(shape.dims(), [](int64_t size) { return size != 1; }));
}

bool IsElementwiseOrConstant(const Instruction& instruction) {
  return WorksByElement(instruction) || instruction.IsConstant();
}

bool CanBeInLoop(const Instruction& instruction) {
  return IsElementwiseOrConstant(instruction) || Contains(kMovesInLoop, instruction.opcode());
}

bool HasSeveralUsers(const Instruction& x) { return x.is_used() && !x.has_one_user(); }

bool CanBeFused(const Instruction& x) {
  const Opcode opcode = x.opcode();
  if (opcode == Opcode::kDomain || opcode == Opcode::kParameter || opcode == Opcode::kWhile ||
      opcode == Opcode::kConditional || opcode == Opcode::kCall || x.has_control_edges() ||
      x.shape().IsBuffer())
    return false;
  if (opcode == Opcode::kFusion || opcode == Opcode::kMap || opcode == Opcode::kReduce ||
      opcode == Opcode::kReduceWindow)
    return true;
  if (opcode == Opcode::kRng) return !HasSeveralUsers(x);
  return !x.HasSideEffect();
}

bool IsExpensiveOnCpu(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kConvert)
    return instruction.shape().element_type() == ElementType::kBF16 &&
           instruction.operand(0)->shape().element_type() == ElementType::kF32;
  if (Contains(kExpensiveIfComplex, opcode))
    return IsComplex(instruction.operand(0)->shape().element_type());
  if (CostClassOf(opcode) != CostClass::kLong || kFeeds.Has(opcode)) return false;
  if (opcode == Opcode::kDivide || opcode == Opcode::kRemainder) {
    const Instruction* dividend = instruction.operand(0);
    if (dividend->opcode() == Opcode::kBroadcast) dividend = dividend->operand(0);
    return !IsInteger(instruction.shape().element_type()) || !dividend->IsConstant();
  }
  return true;
}

bool ElementReads::Reuses(const Instruction& user, int i) {
  const Opcode opcode = user.opcode();
  if (HasTrait(opcode, kElementwise) || opcode == Opcode::kBitcastConvert)
    return !SameDimensions(user.operand(i)->shape(), user.shape());
  if (Contains(kReadsEachOnce, opcode) || opcode == Opcode::kGather) return false;
  if (opcode == Opcode::kPad) return i > 0;
  if (opcode == Opcode::kReduce) return i >= user.operand_count() / 2;
  if (opcode == Opcode::kDynamicUpdateSlice) return i > 1;
  if (opcode == Opcode::kDot) return TrueRank(user.operand(1 - i)->shape()) > 1;
  if (opcode == Opcode::kFusion) return ReusedInFusion(*user.fused_computation()->parameter(i));
  return true;
}

// On some way to the root of the fusion. That there are several ways does not count.
bool ElementReads::ReusedInFusion(const Instruction& value) {
  if (const auto it = inside_.find(&value); it != inside_.end()) return it->second;
  const bool is_reused = absl::c_any_of(value.uses(), [&](const Use& use) {
    return Reuses(*use.user, use.operand_index) || ReusedInFusion(*use.user);
  });
  if (value.opcode() != Opcode::kParameter) inside_[&value] = is_reused;
  return is_reused;
}

bool ReusesElements(const Instruction& user, int i) { return ElementReads().Reuses(user, i); }

}  // namespace hlo
