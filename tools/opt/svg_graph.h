// A module as a picture: SVG, which browsers show as it is.
#pragma once

#include <string>

#include "lib/ir/module.h"
#include "tools/opt/node_colors.h"

namespace hlo {

// A box for each computation, callers first; in it the instructions from operands down to users,
// with name, opcode and shape. Solid lines are operands, dashed ones control edges; the name of a
// called computation is a link to it, and a tooltip has the whole instruction. In O(instructions
// and operands), but for sorting.
std::string ToSvg(const Module& module, const NodeColors& colors);

}  // namespace hlo
