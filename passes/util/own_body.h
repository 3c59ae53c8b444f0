// Copies of fusions: a fusion keeps its body to itself.
#pragma once

#include "lib/ir/module.h"

namespace hlo {

// Gives `fusion`, a clone that has the body of its original, a copy of that.
inline void TakeOwnBody(Instruction* fusion) {
  fusion->SetCall(0, fusion->module().CloneComputation(*fusion->fused_computation(), ".clone",
                                                       /*deep=*/false));
}

}  // namespace hlo
