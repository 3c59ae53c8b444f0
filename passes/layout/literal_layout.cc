#include "passes/layout/literal_layout.h"

#include <vector>

namespace hlo {

Literal LiteralWithLayouts(const Literal& literal, Shape shape) {
  if (literal.is_elided()) return Literal::Elided(shape);
  if (!shape.IsTuple()) return literal.WithShapeLayout(shape);
  std::vector<Literal> elements;
  for (int i = 0; i < shape.element_count_of_tuple(); ++i)
    elements.push_back(LiteralWithLayouts(literal.element(i), shape.element(i)));
  return Literal::Tuple(std::move(elements));
}

}  // namespace hlo
