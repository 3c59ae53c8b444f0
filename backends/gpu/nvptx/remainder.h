// The remainder of floats as integer arithmetic: what NVPTX makes of `frem` loses digits.
#pragma once

#include <llvm/IR/Module.h>

namespace hlo::gpu {

// Replaces every `frem` of f32 and f64 by exact code.
void LowerRemainders(llvm::Module& module);

}  // namespace hlo::gpu
