#include "lib/eval/kernel_complex.h"

namespace hlo {

ElementwiseKernel FindC128Kernel(Opcode opcode, int arity) {
  return FindComplexKernelOf<double>(opcode, arity);
}

}  // namespace hlo
