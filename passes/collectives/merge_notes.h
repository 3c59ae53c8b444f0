// What several instructions note about their origin, and what programs tell passes about them, as
// one that stands for all of them says it. In XLA's form, which tools read.
#pragma once

#include <vector>

#include "lib/ir/instruction.h"

namespace hlo {

// That of the first, but for
//   op_name      "a/f", "a/g"     =>   "a/(f:g)"
//   source_file  "x.py" source_line=3, "y.py" source_line=4   =>   "x.py:3,y.py:4", without lines
OpMetadata MergedMetadata(const std::vector<Instruction*>& instructions);

// The keys of all; values that differ are sorted and separated by commas.
FrontendAttributes MergedFrontendAttributes(const std::vector<Instruction*>& instructions);

}  // namespace hlo
