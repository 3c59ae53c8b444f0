// A module as a graph for Graphviz.
#pragma once

#include <string>
#include <string_view>

#include "lib/ir/module.h"

namespace hlo {

// One cluster per computation, one node per instruction with its shape; solid edges are operands,
// dashed ones control edges, dotted ones calls.
std::string ToDot(const Module& module);

// The colour of an instruction by what kind it is, `#rrggbb`.
std::string_view NodeColor(const Instruction& instruction);

}  // namespace hlo
