// What values of the source program (`origin={…}`) values stand for that passes put together.
#pragma once

#include "lib/ir/instruction.h"

namespace hlo {

// Null when nothing is said of `instruction`.
const OriginalValue::Node* OriginOf(const Instruction& instruction);

void SetOrigin(Instruction* instruction, const OriginalValue::Node* origin);

// Says of a tuple, which is built here, what is said of its operands.
void SetOriginOfOperands(Instruction* tuple);

// A node of the form of `shape` that says nothing.
OriginalValue::Node UnknownOrigin(Shape shape);

}  // namespace hlo
