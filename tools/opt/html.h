// A module as a page for browsers: no network, no other files.
#pragma once

#include <string>

#include "lib/ir/module.h"
#include "tools/opt/node_colors.h"

namespace hlo {

// One part per computation, folded but for the entry; a line per instruction, coloured,
// with links to operands and called computations. A field searches, a click on a name
// marks its users.
std::string ToHtml(const Module& module, const NodeColors& colors);

}  // namespace hlo
