#include "tools/fuzz/programs/computed_types.h"

#include <array>

#include "lib/eval/evaluator.h"
#include "lib/ir/builder.h"
#include "lib/ops/type_sets.h"

namespace hlo {
namespace {

using ByType = std::array<std::vector<Opcode>, kElementTypeCount>;

// Elementwise, of so many operands, and with no attributes and no shape of its own.
bool IsPlain(Opcode opcode, int operands) {
  const OpInfo& info = Info(opcode);
  return IsElementwise(opcode) && info.operands.min == operands && info.operands.max == operands &&
         info.types != kByRule && !info.default_attrs() && !HasTrait(opcode, kExplicitShape);
}

bool Evaluates(Opcode opcode, ElementType type, int operands) {
  if (!RowTakes(opcode, type)) return false;
  Module module("one");
  Builder b(module.AddEntry("main"));
  std::vector<Instruction*> parameters;
  for (int i = 0; i < operands; ++i) parameters.push_back(b.Parameter(i, Shape::Scalar(type)));
  Instruction* result = b.Op(opcode, parameters);
  if (!b.status().ok()) return false;
  module.entry()->set_root(result);
  const std::vector<Literal> ones(parameters.size(), Literal::One(type));
  return Evaluator().Run(module, ones).ok();
}

ByType Ask(int operands) {
  ByType found;
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    if (!IsPlain(opcode, operands)) continue;
    for (const ElementType type : ArrayTypes()) {
      if (Evaluates(opcode, type, operands))
        found[static_cast<size_t>(type)].insert(found[static_cast<size_t>(type)].end(),
                                                HasTrait(opcode, kTranscendental) ? 1 : 2, opcode);
    }
  }
  return found;
}

const ByType& Opcodes(int operands) {
  static const std::array<ByType, 2> kFound = {Ask(1), Ask(2)};
  return kFound[static_cast<size_t>(operands - 1)];
}

}  // namespace

const std::vector<Opcode>& UnaryOpcodes(ElementType type) {
  return Opcodes(1)[static_cast<size_t>(type)];
}

const std::vector<Opcode>& BinaryOpcodes(ElementType type) {
  return Opcodes(2)[static_cast<size_t>(type)];
}

bool Computes(Opcode opcode, ElementType type) {
  for (const int operands : {1, 2}) {
    if (!IsPlain(opcode, operands)) continue;
    const std::vector<Opcode>& all = Opcodes(operands)[static_cast<size_t>(type)];
    return std::find(all.begin(), all.end(), opcode) != all.end();
  }
  return RowTakes(opcode, type);
}

const std::vector<ElementType>& ArrayTypes() {
  static const std::vector<ElementType> kTypes = [] {
    std::vector<ElementType> types;
    for (int i = 0; i < kElementTypeCount; ++i) {
      const auto type = static_cast<ElementType>(i);
      if (IsArrayType(type)) types.push_back(type);
    }
    return types;
  }();
  return kTypes;
}

}  // namespace hlo
