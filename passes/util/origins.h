// What values of the source program (`origin={…}`) values stand for that passes put together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "lib/ir/instruction.h"

namespace hlo {

// Null when nothing is said of `instruction`.
const OriginalValue::Node* OriginOf(const Instruction& instruction);

void SetOrigin(Instruction* instruction, const OriginalValue::Node* origin);

// `replacement` stands for `old` from now on, and is known by what `old` was known by, whatever it
// was before: of several values that are one the last counts, as in XLA.
void PassOnOrigin(const Instruction& old, Instruction* replacement);

// Says of a tuple, which is built here, what is said of its operands.
void SetOriginOfOperands(Instruction* tuple);

// A node of the form of `shape` that says nothing.
OriginalValue::Node UnknownOrigin(Shape shape);

// The arrays of a node, tuples flattened, and the node of the form of `shape` that has these.
std::vector<OriginalArray> OriginLeaves(const OriginalValue::Node& node);
OriginalValue::Node OriginOfLeaves(Shape shape, absl::Span<const OriginalArray> leaves);

// The name by which values inside the computations of `call` (a loop, …) are known: that of the one
// instruction of the source program which `call` is, all of it. Empty for a synthetic call, which
// is none there; nothing when it is unknown.
std::optional<std::string> OriginalCall(const Instruction& call);

// Says that `instruction` stands for values inside a call: "x" becomes "`call`/x".
void PrefixOrigin(Instruction* instruction, std::string_view call);

}  // namespace hlo
