#include "lib/eval/kernel_templates.h"

namespace hlo {

ElementwiseKernel FindF32Kernel(Opcode opcode, int arity) {
  return FindFloatKernelOf<float>(opcode, arity);
}

}  // namespace hlo
