// backends/codegen/scalar_region.h
//
// What a computation of scalars makes of some, for every emitter of fused code: what a reduce, a
// scatter, a sort applies to elements.
//
//   return ScalarRegion<MyEmitter>(emitter, computation, arguments).Results();
//
// An emitter E has these types and members:
//
//   E::ValueType, E::ValueList         elements
//   E::kPlatform                       its name, for errors
//   E::kTakesArrays                    a computation may as well work on arrays, on each element for
//                                      itself: the values are one element of each
//   ScalarConstant(i)                  of type StatusOr<ValueType>
//   ApplyElementwise(i, operands)      of an elementwise instruction; of the same type
//   EmitRegion(computation, values)    of type StatusOr<ValueList>
#pragma once

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/ir/computation.h"
#include "lib/ir/instruction.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"

namespace hlo {

template <class E>
class ScalarRegion {
 public:
  using Value = typename E::ValueType;
  using Values = typename E::ValueList;

  ScalarRegion(E& emitter, const Computation& computation, absl::Span<const Value> arguments)
      : emitter_(emitter), root_(*computation.root()) {
    for (int i = 0; i < computation.parameter_count(); ++i)
      known_.emplace(computation.parameter(i), arguments[static_cast<size_t>(i)]);
  }

  // One, or the elements of a tuple.
  absl::StatusOr<Values> Results() {
    Values results;
    const bool is_tuple = root_.opcode() == Opcode::kTuple;
    for (int i = 0; i < (is_tuple ? root_.operand_count() : 1); ++i) {
      ASSIGN_OR_RETURN(const Value value, Of(is_tuple ? *root_.operand(i) : root_));
      results.push_back(value);
    }
    return results;
  }

 private:
  absl::StatusOr<Value> Of(const Instruction& i) {
    if (const auto it = known_.find(&i); it != known_.end()) return it->second;
    ASSIGN_OR_RETURN(Value value, Compute(i));
    known_.emplace(&i, value);
    return value;
  }

  absl::StatusOr<Value> Compute(const Instruction& i) {
    const Opcode opcode = i.opcode();
    if (opcode == Opcode::kConstant) return emitter_.ScalarConstant(i);
    if (opcode == Opcode::kGetTupleElement && i.operand(0)->opcode() == Opcode::kTuple)
      return Of(*i.operand(0)->operand(static_cast<int>(i.tuple_index())));
    const bool is_element = i.shape().IsArray() && (E::kTakesArrays || i.shape().rank() == 0);
    const bool is_call = kElementCallers.Has(opcode);
    if (!is_element || (!kScalarKeepers.Has(opcode) && !is_call && !IsFusibleElementwise(i))) {
      return Unsupported(i.loc(), "platform `{}` cannot run `{}` inside a scalar computation yet",
                         E::kPlatform, i.opcode_text());
    }
    Values operands;
    for (const Instruction* operand : i.operands()) {
      ASSIGN_OR_RETURN(const Value value, Of(*operand));
      operands.push_back(value);
    }
    if (kScalarKeepers.Has(opcode)) return operands[0];
    if (!is_call) return emitter_.ApplyElementwise(i, operands);
    ASSIGN_OR_RETURN(const Values results, emitter_.EmitRegion(*i.call(0), operands));
    return results[0];
  }

  E& emitter_;
  const Instruction& root_;
  absl::flat_hash_map<const Instruction*, Value> known_;
};

}  // namespace hlo
