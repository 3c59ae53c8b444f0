// What an instruction makes of the order in which its operands lie, and what it wants of them for
// the order of its result.
//
// Orders of dimensions are minor to major, as in Layout::minor_to_major.
#pragma once

#include <optional>

#include "lib/ir/instruction.h"

namespace hlo {

using DimOrder = DimVec;

// Dimensions of other sizes than 1.
int EffectiveRank(Shape shape);

// The order in which a reshape to `to` moves no bytes; dimensions of size 1 are major. None if
// there is no such order.
std::optional<DimOrder> OrderAfterReshape(Shape from, const DimOrder& order, Shape to);

// The order of the result, of its leaf `leaf`, that goes with an operand in `order`; none where the
// instruction does not say. Requires an array as operand.
std::optional<DimOrder> ResultOrder(const Instruction& instruction, int operand,
                                    const DimOrder& order, Shape leaf);

// The order of an operand that goes with a result in `order`; none where the instruction does not
// say. Requires arrays.
std::optional<DimOrder> OperandOrder(const Instruction& instruction, int operand,
                                     const DimOrder& order);

// The order of the operand of a reduction to one array in which it goes along rows: reduced
// dimensions are minor, the others lie as those of the result.
DimOrder RowReductionOrder(const Instruction& reduce, const DimOrder& result);

// Whether the result has to lie as its operands make it.
bool FollowsOperands(const Instruction& instruction);

// Whether what follows from the operands of the instruction is found out before all else.
bool IsFollowedFirst(const Instruction& instruction);

}  // namespace hlo
