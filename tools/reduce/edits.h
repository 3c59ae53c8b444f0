// Edits of modules that the steps are made of. None of them keeps the meaning of the module:
// that is the point.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "lib/ir/module.h"

namespace hlo {

// Names of all instructions; they live as long as the module.
std::set<std::string_view> InstructionNames(const Module& module);

// Whether everything is laid out in row-major order, the entry's parameters and result included.
bool HasOnlyPlainLayouts(const Module& module);

// Removes instructions without users, effects and control edges, in all computations.
void RemoveDead(Module& module);
// Removes parameters of the entry that nobody reads, and what the configuration says about them.
void RemoveUnusedParameters(Module& module);
// Makes the entry layout that of the entry's shapes where they do not fit any more.
void FitEntryLayout(Module& module);

// An operand of the same shape, or null. Inside called computations a parameter will do, too.
Instruction* SameShapeOperand(const Instruction& instruction);
// A value of this shape in `computation` that depends on nothing: zeros. Null for shapes that have
// none.
Instruction* MakeZero(Computation& computation, Shape shape);

// Puts `value` in the place of `instruction` and removes that, effects or not. Parameters stay.
void Substitute(Instruction* instruction, Instruction* value);
// Substitutes a new parameter of the entry. The instruction is one of the entry's.
Instruction* SubstituteParameter(Instruction* instruction);

// Puts a copy of the called computation's body, applied to `operands`, in the place of
// `instruction`; the shapes must fit.
bool SubstituteBody(Instruction* instruction, Computation* callee,
                    const std::vector<Instruction*>& operands);

// Elements of tuples that are made in the same computation are read directly. False:
// there was none.
bool ForwardTupleElements(Module& module);

}  // namespace hlo
