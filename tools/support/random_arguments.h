// Arguments made from a seed: the same for a module on all machines and in all tools.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/ir/module.h"
#include "lib/types/literal.h"
#include "tools/support/input_demands.h"
#include "tools/support/leaves.h"

namespace hlo {

// What is used where nobody names a seed.
inline constexpr uint64_t kDefaultSeed = 42;

// A value of this shape from a seed: floats in [-1, 1), or [1/16, 1) where they are to be positive;
// integers small, and in range where they are indices; what a reduction starts with; Hermitian
// matrices with a dominant diagonal where they are to be positive definite.
Literal RandomLeaf(Shape shape, const InputDemand& demand, uint64_t seed, int64_t number);

// Adds random values for the leaves that `arrays` has none for; `leaves` are those of the module's
// entry.
void AppendRandomLeaves(const Module& module, const std::vector<ParameterLeaf>& leaves,
                        uint64_t seed, std::vector<Literal>& arrays);

// The array leaves as values of the entry's parameters.
std::vector<Literal> AssembleArguments(const Module& module, const std::vector<Literal>& leaves);

// A random value for each parameter of the entry.
std::vector<Literal> RandomArguments(const Module& module, uint64_t seed);

}  // namespace hlo
