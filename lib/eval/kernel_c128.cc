#include "lib/eval/kernel_complex.h"

namespace hlo {

Kernel FindC128Kernel(Opcode opcode, int arity) {
  return FindComplexKernelOf<double>(opcode, arity);
}

}  // namespace hlo
