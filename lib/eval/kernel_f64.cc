#include "lib/eval/kernel_templates.h"

namespace hlo {

ElementwiseKernel FindF64Kernel(Opcode opcode, int arity) {
  return FindFloatKernelOf<double>(opcode, arity);
}

}  // namespace hlo
