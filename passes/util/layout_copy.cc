#include "passes/util/layout_copy.h"

#include "lib/support/check.h"

namespace hlo {
namespace {

// Whether a bitcast reads where the elements of `value` lie.
bool IsLayoutRead(const Instruction& value) {
  for (const Use& use : value.uses()) {
    if (use.user->opcode() == Opcode::kBitcast ||
        (use.user->opcode() == Opcode::kGetTupleElement && IsLayoutRead(*use.user)))
      return true;
  }
  return false;
}

}  // namespace

Instruction* CopyWithLayouts(Instruction* value, Shape shape) {
  HLO_DCHECK(Compatible(value->shape(), shape));
  if (value->shape().WithMissingLayoutsFilled() == shape.WithMissingLayoutsFilled()) return value;
  Builder b(value);
  if (shape.IsArray()) {
    Instruction* copy = b.Copy(value);
    copy->set_shape(shape);
    return copy;
  }
  if (!shape.IsTuple()) return value;
  std::vector<Instruction*> elements;
  for (int i = 0; i < shape.element_count_of_tuple(); ++i)
    elements.push_back(CopyWithLayouts(b.GetTupleElement(value, i), shape.element(i)));
  return b.Tuple(elements);
}

Instruction* CopyIfLayoutIsRead(Instruction* value, const Instruction& old) {
  const bool is_read = old.parent()->MayHold(Opcode::kBitcast) && IsLayoutRead(old) &&
                       Compatible(old.shape(), value->shape());
  return is_read ? CopyWithLayouts(value, old.shape()) : value;
}

}  // namespace hlo
