// `input_output_alias` by leaves.
#pragma once

#include "lib/ir/module.h"

namespace hlo {

// Leaf `to` of the result may, or must, be in the memory of leaf `from` of a parameter.
struct EntryAlias {
  const Instruction* parameter;
  size_t from;
  size_t to;
  bool must_alias;
};
std::vector<EntryAlias> EntryAliases(const Module& module);

}  // namespace hlo
