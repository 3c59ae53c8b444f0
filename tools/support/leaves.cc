#include "tools/support/leaves.h"

#include <fmt/format.h>

namespace hlo {
namespace {

void Append(const Literal& value, std::vector<Literal>& out) {
  if (value.shape().IsArray()) out.push_back(value);
  for (const Literal& element : value.elements()) Append(element, out);
}

}  // namespace

std::vector<ParameterLeaf> ParameterLeaves(const Computation& computation) {
  std::vector<ParameterLeaf> leaves;
  for (const Instruction* parameter : computation.parameters()) {
    ForEachLeaf(parameter->shape(), [&](Shape shape, const ShapeIndex& index) {
      if (!shape.IsArray()) return;
      std::string name(parameter->name());
      if (!index.empty()) name += ToString(index);
      leaves.push_back(
          {static_cast<int>(parameter->parameter_number()), index, shape, std::move(name)});
    });
  }
  return leaves;
}

std::vector<Literal> ArrayLeaves(const Literal& value) {
  std::vector<Literal> leaves;
  Append(value, leaves);
  return leaves;
}

Literal FromLeaves(Shape shape, const std::vector<Literal>& leaves, size_t& at) {
  if (shape.IsArray()) return leaves[at++];
  if (!shape.IsTuple()) return Literal(shape);
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) elements.push_back(FromLeaves(element, leaves, at));
  return Literal::Tuple(std::move(elements));
}

}  // namespace hlo
