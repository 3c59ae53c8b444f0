#include "lib/eval/kernel_complex.h"

namespace hlo {

ElementwiseKernel FindC64Kernel(Opcode opcode, int arity) {
  return FindComplexKernelOf<float>(opcode, arity);
}

}  // namespace hlo
