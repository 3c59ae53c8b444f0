// Arguments made from a seed: the same for a module on all machines and in all tools.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/ir/module.h"
#include "lib/types/literal.h"
#include "tools/support/leaves.h"

namespace hlo {

// What is used where nobody names a seed.
inline constexpr uint64_t kDefaultSeed = 42;

// A value of this shape from a seed: floats in [-1, 1), integers small and, where the parameter is
// an index, in range.
Literal RandomLeaf(Shape shape, std::optional<int64_t> index_limit, uint64_t seed, int64_t number);

// Adds random values for the leaves that `arrays` has none for; `leaves` are those of the module's
// entry.
void AppendRandomLeaves(const Module& module, const std::vector<ParameterLeaf>& leaves,
                        uint64_t seed, std::vector<Literal>& arrays);

// The array leaves as values of the entry's parameters.
std::vector<Literal> AssembleArguments(const Module& module, const std::vector<Literal>& leaves);

// A random value for each parameter of the entry.
std::vector<Literal> RandomArguments(const Module& module, uint64_t seed);

}  // namespace hlo
