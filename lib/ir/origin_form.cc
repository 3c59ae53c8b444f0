#include "lib/ir/origin_form.h"

namespace hlo {
namespace {

// `origin={}` says nothing.
bool SaysNothing(const OriginalValue::Node& tree) { return tree.is_tuple && tree.children.empty(); }

bool SameForm(Shape shape, const OriginalValue::Node& node) {
  if (shape.IsTuple() != node.is_tuple) return false;
  if (!node.is_tuple) return true;
  if (shape.elements().size() != node.children.size()) return false;
  for (size_t i = 0; i < node.children.size(); ++i) {
    if (!SameForm(shape.elements()[i], node.children[i])) return false;
  }
  return true;
}

}  // namespace

bool HasFormOf(Shape shape, const OriginalValue& origin) {
  return origin.synthetic_call || SaysNothing(origin.tree) || SameForm(shape, origin.tree);
}

}  // namespace hlo
