// The order of computations along calls, for walks that must not recurse: text may nest calls as
// deep as it likes.
#pragma once

#include <vector>

#include "lib/ir/module.h"

namespace hlo {

// What `root` calls, directly or not, each once and callees first; `root` itself is not in it.
// Computations that call the same things from the same places in the same order get the same order.
std::vector<const Computation*> CalleesOf(const Computation& root);

// The computations in the order given; called ones go before their callers wherever that order says
// otherwise. Module::PostOrder, which is XLA's, does where one is called at two levels, as the
// condition of a loop and of a loop in its body.
std::vector<Computation*> CalleesFirst(std::vector<Computation*> given);

}  // namespace hlo
