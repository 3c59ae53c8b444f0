#include "passes/simplify/add_original_value.h"

#include "passes/util/origins.h"

namespace hlo {
namespace {

// The tree of a value that `instruction` makes itself.
OriginalValue::Node NodeOf(const Instruction& instruction, Shape shape, ShapeIndex& index) {
  OriginalValue::Node node;
  if (!shape.IsTuple()) {
    node.leaf = {std::string(instruction.name()), index};
    return node;
  }
  node.is_tuple = true;
  for (int i = 0; i < shape.element_count_of_tuple(); ++i) {
    index.push_back(i);
    node.children.push_back(NodeOf(instruction, shape.element(i), index));
    index.pop_back();
  }
  return node;
}

OriginalValue::Node MakeNode(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kTuple) {
    OriginalValue::Node node;
    node.is_tuple = true;
    for (const Instruction* element : instruction.operands()) {
      const OriginalValue::Node* origin = OriginOf(*element);
      node.children.push_back(origin != nullptr ? *origin : UnknownOrigin(element->shape()));
    }
    return node;
  }
  if (instruction.opcode() == Opcode::kGetTupleElement) {
    const OriginalValue::Node* origin = OriginOf(*instruction.operand(0));
    const auto i = static_cast<size_t>(instruction.tuple_index());
    if (origin != nullptr && i < origin->children.size()) return origin->children[i];
  }
  ShapeIndex index;
  return NodeOf(instruction, instruction.shape(), index);
}

}  // namespace

absl::StatusOr<bool> AddOriginalValue::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->extras() != nullptr && instruction->extras()->origin) continue;
      if (!context.MayRewrite()) return changed;
      OriginalValue origin;
      origin.tree = MakeNode(*instruction);
      instruction->mutable_extras().origin = std::move(origin);
      context.Count("named");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(AddOriginalValue)

}  // namespace hlo
