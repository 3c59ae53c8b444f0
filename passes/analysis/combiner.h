// What the computation of a reduction does, where that is one operation.
#pragma once

#include <optional>

#include "lib/ir/module.h"

namespace hlo {

// The opcode of a combiner `(x, y) -> op(x, y)` with a commutative operation; none for others.
std::optional<Opcode> CombinerOpcode(const Computation& combiner);
// Whether `init`, a constant or a broadcast of one, changes nothing when combined by `opcode`.
bool IsIdentityOf(Opcode opcode, const Instruction& init);
// Whether combining a value with itself gives that value.
bool IsIdempotent(Opcode opcode);

}  // namespace hlo
