// Which opcodes compute something of which element types, found out by the interpreter: the opcode
// table says what a module may hold, and that is more (shifts of floats, powers of small integers).
#pragma once

#include <vector>

#include "lib/ops/ops.h"

namespace hlo {

// The elementwise opcodes of one or two operands of this type that need nothing else to be said
// about them. Those that a processor computes in one step stand twice, as programs hold more of
// them.
const std::vector<Opcode>& UnaryOpcodes(ElementType type);
const std::vector<Opcode>& BinaryOpcodes(ElementType type);

// Whether the table and, of the opcodes above, the interpreter take the type.
bool Computes(Opcode opcode, ElementType type);

// All element types of arrays, in the order of their table.
const std::vector<ElementType>& ArrayTypes();

}  // namespace hlo
