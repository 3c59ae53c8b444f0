#include "passes/precision/float_support.h"

#include "lib/analysis/region.h"

namespace hlo {
namespace {

// What passes values on, whatever their type.
constexpr OpcodeSet kPassesOn = {
    Opcode::kCall,   Opcode::kConditional, Opcode::kGetTupleElement,
    Opcode::kDomain, Opcode::kCustomCall,  Opcode::kOptimizationBarrier,
    Opcode::kTuple,  Opcode::kWhile,       Opcode::kConvert};

// Of all operands, the result has elements.
constexpr OpcodeSet kKeepsAll = {Opcode::kAbs,         Opcode::kAllGather,
                                 Opcode::kAllToAll,    Opcode::kBroadcast,
                                 Opcode::kClamp,       Opcode::kCollectiveBroadcast,
                                 Opcode::kConcatenate, Opcode::kCollectivePermute,
                                 Opcode::kConvert,     Opcode::kCopy,
                                 Opcode::kDomain,      Opcode::kGetTupleElement,
                                 Opcode::kMaximum,     Opcode::kMinimum,
                                 Opcode::kPad,         Opcode::kRaggedAllToAll,
                                 Opcode::kReshape,     Opcode::kOptimizationBarrier,
                                 Opcode::kReverse,     Opcode::kSlice,
                                 Opcode::kSort,        Opcode::kTranspose,
                                 Opcode::kTuple,       Opcode::kNegate};

}  // namespace

FloatSupport::FloatSupport(const FloatSupportOptions& options)
    : narrow_(options.narrow.set()), mixed_(options.mixed.set()), rounded_(options.rounded.set()) {}

bool FloatSupport::TakesNarrow(const Instruction& instruction) const {
  return kPassesOn.Has(instruction.opcode()) || narrow_.Has(instruction.opcode()) ||
         mixed_.Has(instruction.opcode());
}

bool FloatSupport::Mixes(const Instruction& instruction) const {
  return kPassesOn.Has(instruction.opcode()) || mixed_.Has(instruction.opcode());
}

bool KeepsPrecision(const Instruction& instruction, int i) {
  const Opcode opcode = instruction.opcode();
  if (kKeepsAll.Has(opcode)) return true;
  if (opcode == Opcode::kBitcast)
    return instruction.shape().element_type() == instruction.operand(0)->shape().element_type();
  if (opcode == Opcode::kDynamicSlice || opcode == Opcode::kGather) return i == 0;
  if (opcode == Opcode::kDynamicUpdateSlice) return i <= 1;
  if (opcode == Opcode::kSelect) return i >= 1;
  if (opcode == Opcode::kReduce || opcode == Opcode::kReduceWindow ||
      opcode == Opcode::kAllReduce) {
    const std::optional<Opcode> combine = CombinerOpcode(*instruction.to_apply());
    return combine == Opcode::kMaximum || combine == Opcode::kMinimum;
  }
  return false;
}

}  // namespace hlo
