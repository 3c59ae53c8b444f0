// `%tuple#0` stands for a get-tuple-element without a line of its own. A reader makes one and calls
// it `tuple_0`, and an instruction further down that has this name gets another.
#pragma once

#include "absl/container/flat_hash_set.h"
#include "lib/ir/module.h"

namespace hlo {

// The get-tuple-elements that have to keep their lines for every name in the text to stay with its
// instruction. One with control edges keeps its line anyway.
absl::flat_hash_set<const Instruction*> ElementsThatTakeNames(const Module& module);

}  // namespace hlo
