// Passes whose random numbers are others than the interpreter's, and as good.
#pragma once

#include "lib/ir/module.h"
#include "passes/pipeline.h"

namespace hlo {

// Whether what `pass` made of `before` may draw other numbers: rng-expander's are XLA's, from a
// generator whose state goes from instruction to instruction, and rng-bit-generator-expander may be
// told which generator stands for rng_default, which is philox to the interpreter.
bool DrawsOtherNumbers(const PipelineItem& pass, const Module& before);

}  // namespace hlo
