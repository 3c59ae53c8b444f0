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

void PassOnOrigin(const Instruction& old, Instruction* replacement) {
  const Extras* extras = old.extras();
  if (extras == nullptr || !extras->origin || extras->origin->synthetic_call ||
      !Compatible(old.shape(), replacement->shape()))
    return;
  replacement->mutable_extras().origin = extras->origin;
}

OriginalValue::Node UnknownOrigin(Shape shape) {
  OriginalValue::Node node;
  node.is_tuple = shape.IsTuple();
  if (!node.is_tuple) return node;
  for (const Shape& element : shape.elements()) node.children.push_back(UnknownOrigin(element));
  return node;
}

std::vector<OriginalArray> OriginLeaves(const OriginalValue::Node& node) {
  if (!node.is_tuple) return {node.leaf};
  std::vector<OriginalArray> leaves;
  for (const OriginalValue::Node& child : node.children) {
    for (OriginalArray& leaf : OriginLeaves(child)) leaves.push_back(std::move(leaf));
  }
  return leaves;
}

namespace {

OriginalValue::Node TakeLeaves(Shape shape, absl::Span<const OriginalArray> leaves, size_t& next) {
  OriginalValue::Node node;
  node.is_tuple = shape.IsTuple();
  if (!node.is_tuple) {
    if (next < leaves.size()) node.leaf = leaves[next];
    ++next;
    return node;
  }
  for (const Shape element : shape.elements())
    node.children.push_back(TakeLeaves(element, leaves, next));
  return node;
}

bool IsWholeOf(const OriginalValue::Node& node, std::string& name, ShapeIndex& index) {
  if (!node.is_tuple) {
    if (node.leaf.name.empty() || node.leaf.index != index) return false;
    if (name.empty()) name = node.leaf.name;
    return name == node.leaf.name;
  }
  for (size_t i = 0; i < node.children.size(); ++i) {
    index.push_back(static_cast<int64_t>(i));
    if (!IsWholeOf(node.children[i], name, index)) return false;
    index.pop_back();
  }
  return true;
}

void PrefixLeaves(OriginalValue::Node& node, std::string_view call) {
  if (!node.is_tuple && !node.leaf.name.empty())
    node.leaf.name = fmt::format("{}/{}", call, node.leaf.name);
  for (OriginalValue::Node& child : node.children) PrefixLeaves(child, call);
}

}  // namespace

OriginalValue::Node OriginOfLeaves(Shape shape, absl::Span<const OriginalArray> leaves) {
  size_t next = 0;
  return TakeLeaves(shape, leaves, next);
}

std::optional<std::string> OriginalCall(const Instruction& call) {
  const Extras* extras = call.extras();
  if (extras != nullptr && extras->origin && extras->origin->synthetic_call) return "";
  const OriginalValue::Node* origin = OriginOf(call);
  std::string name;
  ShapeIndex index;
  if (origin == nullptr || !IsWholeOf(*origin, name, index) || name.empty()) return std::nullopt;
  return name;
}

void PrefixOrigin(Instruction* instruction, std::string_view call) {
  if (OriginOf(*instruction) != nullptr)
    PrefixLeaves(instruction->mutable_extras().origin->tree, call);
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
