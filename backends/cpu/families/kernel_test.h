// backends/cpu/families/kernel_test.h
//
// For tests of the kernel families: one HLO module whose entry root is a fusion (or a single
// instruction) of the parameters. The kernel is compiled and run, as a whole and task by task, and
// interpreted by the tile evaluator; all must agree with the interpreter of lib/eval.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/families/family.h"
#include "lib/ir/module.h"
#include "lib/types/literal.h"

namespace hlo::cpu {

struct KernelCase {
  std::string_view hlo;
  double tolerance = 0;  // relative and absolute; 0: bits equal (NaN equals NaN)
  FamilyOptions options;
  std::vector<Literal> arguments;  // random when empty
};

// Runs the case; "" when everything agrees, else what does not, with the kernel's text.
std::string RunKernelCase(const KernelCase& test);

// The kernel of the entry root as text.
std::string KernelText(std::string_view hlo, const FamilyOptions& options = {});

// Assembly of the kernel of the entry root for another processor ("x86-64-v4"), or the error.
std::string KernelAssembly(std::string_view hlo, std::string_view cpu, int vector_bytes);

// Seeded values: floats of both signs around 1, integers of a small range.
Literal RandomLiteral(Shape shape, uint64_t seed, int64_t largest_integer = 100);

}  // namespace hlo::cpu
