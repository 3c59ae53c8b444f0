#include "passes/util/origins.h"

#include <algorithm>

#include "lib/ir/module.h"

namespace hlo {

const OriginalValue::Node* OriginOf(const Instruction& instruction) {
  const Extras* extras = instruction.extras();
  if (extras == nullptr || !extras->origin || extras->origin->synthetic_call) return nullptr;
  const OriginalValue::Node& tree = extras->origin->tree;
  return tree.is_tuple && tree.children.empty() ? nullptr : &tree;  // `origin={}` says nothing
}

void SetOrigin(Instruction* instruction, const OriginalValue::Node* origin) {
  if (origin != nullptr) {
    OriginalValue value;
    value.tree = *origin;
    instruction->mutable_extras().origin = std::move(value);
  } else if (instruction->extras() != nullptr) {
    instruction->mutable_extras().origin.reset();
  }
}

OriginalValue::Node UnknownOrigin(Shape shape) {
  OriginalValue::Node node;
  node.is_tuple = shape.IsTuple();
  if (!node.is_tuple) return node;
  for (const Shape& element : shape.elements()) node.children.push_back(UnknownOrigin(element));
  return node;
}

void SetOriginOfOperands(Instruction* tuple) {
  OriginalValue::Node origin;
  origin.is_tuple = true;
  bool known = false;
  for (const Instruction* operand : tuple->operands()) {
    const OriginalValue::Node* element = OriginOf(*operand);
    known = known || element != nullptr;
    origin.children.push_back(element != nullptr ? *element : UnknownOrigin(operand->shape()));
  }
  SetOrigin(tuple, known ? &origin : nullptr);
}

}  // namespace hlo
