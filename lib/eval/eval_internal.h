// lib/eval/eval_internal.h
//
// What the files eval_<family>.cc share: one function per opcode, and small helpers on literals.
// Not for use outside lib/eval.
//
// A function gets the instruction and the values of its operands, which it may take apart or
// overwrite. Dimensions are taken from the operand literals, not from their shapes in the module:
// dynamic dimensions have their run-time sizes there.
#pragma once

#include <vector>

#include "lib/eval/accumulation.h"
#include "lib/eval/evaluator.h"
#include "lib/support/status.h"

namespace hlo {

struct EvalContext {
  Evaluator& evaluator;
  const Instruction& instruction;
  std::vector<Literal>& operands;

  const Literal& operand(int i) const { return operands[static_cast<size_t>(i)]; }
  Literal Take(int i) { return std::move(operands[static_cast<size_t>(i)]); }
  int operand_count() const { return static_cast<int>(operands.size()); }
  Opcode opcode() const { return instruction.opcode(); }
  SourceLoc loc() const { return instruction.loc(); }
  template <class A>
  const A& attrs() const {
    return instruction.attrs<A>();
  }
  // The shape of an array result of these dimensions: as declared, or smaller where a dimension is
  // dynamic.
  Shape ResultShape(absl::Span<const int64_t> dims) const;
};

using EvalResult = absl::StatusOr<Literal>;
using EvalFn = EvalResult (*)(EvalContext&);

EvalResult EvalElementwise(EvalContext& c);
#define HLO_EVAL(Name, function) EvalResult function(EvalContext& c);
#include "lib/eval/eval_functions.def"
// Custom calls: __op$block_scaled_dot, and those of lib/linalg.
EvalResult EvalBlockScaledDot(EvalContext& c);
EvalResult EvalLinalgCall(EvalContext& c);

// ---- helpers ----

// Before an opcode is evaluated whose operands have dynamic dimensions (dynamic_sizes.cc).
absl::Status FitRuntimeSizes(EvalContext& c);

// A scalar integer, mathematically; u64 beyond 2^63 gives the largest int64.
int64_t ScalarIndex(const Literal& literal, int64_t linear = 0);
// The literal converted as `convert` does.
Literal ConvertLiteral(const Literal& literal, ElementType type);
// The corner [0, dims) of a literal; larger dimensions are filled with zeros.
Literal Resized(const Literal& literal, absl::Span<const int64_t> dims);
// What both have: a dynamic dimension may end before an attribute says.
DimVec CommonCorner(absl::Span<const int64_t> sizes, absl::Span<const int64_t> dims);
// Pointer to element `linear`.
inline const uint8_t* ElementPtr(const Literal& literal, int64_t linear) {
  return literal.data() + linear * ByteSize(literal.element_type());
}
// Dimensions as an owned vector.
inline DimVec Dims(const Literal& literal) {
  const auto dims = literal.shape().dims();
  return DimVec(dims.begin(), dims.end());
}

// What Evaluator::Pairs keeps (eval_transfers.cc).
absl::StatusOr<SendRecvPairs> FindSendRecvPairs(const Instruction& transfer);

// Whether EvalCustomCall computes calls to `target` from their operands alone.
bool IsPureCustomCall(std::string_view target);

// Whether reductions whose region is this one operation are sums or products that carry f64.
inline bool IsCarriedInDouble(std::optional<Opcode> plain, ElementType type) {
  return (plain == Opcode::kAdd || plain == Opcode::kMultiply) &&
         CarriedType(plain, type, math::Carrier::kInterpreter) == ElementType::kF64;
}

}  // namespace hlo
