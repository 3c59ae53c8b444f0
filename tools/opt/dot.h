// A module as a graph for Graphviz.
#pragma once

#include <string>

#include "lib/ir/module.h"
#include "tools/opt/node_colors.h"

namespace hlo {

// One cluster per computation, one node per instruction with its shape; solid edges are operands,
// dashed ones control edges, dotted ones calls.
std::string ToDot(const Module& module, const NodeColors& colors);

}  // namespace hlo
