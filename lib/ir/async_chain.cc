#include "lib/ir/async_chain.h"

#include <algorithm>

#include "lib/ir/computation.h"
#include "lib/ir/custom_call.h"
#include "lib/ops/async_pairs.h"

namespace hlo {
namespace {

constexpr int kMostSteps = 10000;

// Finds the instruction that makes a value, through what only passes it on.
class Tracer {
 public:
  // Null when the value cannot be followed.
  static const Instruction* Trace(const Instruction* value) { return Tracer().From(value, {}); }

 private:
  using Path = std::vector<int64_t>;  // indices into tuples, outermost last

  const Instruction* From(const Instruction* value, Path path) {
    while (value != nullptr && ++steps_ < kMostSteps) {
      const Opcode opcode = value->opcode();
      if (opcode == Opcode::kGetTupleElement) {
        path.push_back(value->tuple_index());
        value = value->operand(0);
      } else if (opcode == Opcode::kTuple && !path.empty()) {
        const int64_t index = path.back();  // of an element that may not exist
        if (index < 0 || index >= value->operand_count()) return nullptr;
        value = value->operand(static_cast<int>(index));
        path.pop_back();
      } else if (PassesOperandOn(*value)) {
        value = value->operand_count() > 0 ? value->operand(0) : nullptr;
      } else if (opcode == Opcode::kWhile) {
        return Either(value->while_body()->root(), value->operand(0), path);
      } else if (opcode == Opcode::kParameter) {
        return FromParameter(*value, path);
      } else {
        return path.empty() ? value : nullptr;
      }
    }
    return nullptr;
  }

  // What a loop gives is what its body returns, if that can be followed, else what it starts with;
  // what the body takes is what it starts with, if that can be followed.
  const Instruction* Either(const Instruction* first, const Instruction* second, const Path& path) {
    if (++depth_ > kMostLoops) return nullptr;
    const Instruction* found = From(first, path);
    if (found == nullptr) found = From(second, path);
    --depth_;
    return found;
  }

  // The value of the one caller, as far as callers pass operands on.
  const Instruction* FromParameter(const Instruction& parameter, const Path& path) {
    const auto callers = parameter.parent()->callers();
    if (callers.empty()) return nullptr;
    const CallSite& site = callers[0];
    const Instruction& caller = *site.caller;
    if (caller.opcode() == Opcode::kWhile && caller.operand_count() > 0)
      return Either(caller.operand(0), caller.while_body()->root(), path);
    int operand = -1;
    if (caller.opcode() == Opcode::kConditional) operand = site.call_index + 1;
    if (caller.opcode() == Opcode::kCall) operand = static_cast<int>(parameter.parameter_number());
    // The caller may be unsound itself.
    if (operand < 0 || operand >= caller.operand_count()) return nullptr;
    return From(caller.operand(operand), path);
  }

  static constexpr int kMostLoops = 100;  // one inside the other
  int steps_ = 0;
  int depth_ = 0;
};

}  // namespace

bool PassesOperandOn(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  return opcode == Opcode::kCopy || opcode == Opcode::kOptimizationBarrier ||
         opcode == Opcode::kDomain ||
         (opcode == Opcode::kCustomCall && instruction.operand_count() > 0 &&
          HandsOperandOn(instruction));
}

const Instruction* TraceValue(const Instruction* value) { return Tracer::Trace(value); }

bool IsUnderWay(const Instruction& value) {
  const Instruction* const origin = TraceValue(&value);
  return origin != nullptr && YieldsUnderWay(origin->opcode());
}

const Instruction* AsyncStartOf(const Instruction& step) {
  const Instruction* at = &step;
  for (int i = 0; i < kMostSteps && at->operand_count() > 0; ++i) {
    at = TraceValue(at->operand(0));
    if (at == nullptr || at->opcode() == Opcode::kAsyncStart) return at;
    if (at->opcode() != Opcode::kAsyncUpdate) return nullptr;
  }
  return nullptr;
}

bool IsAsyncBody(const Computation& computation) {
  const auto callers = computation.callers();
  return std::any_of(callers.begin(), callers.end(), [](const CallSite& site) {
    return site.caller->opcode() == Opcode::kAsyncStart;
  });
}

}  // namespace hlo
