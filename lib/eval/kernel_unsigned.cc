#include "lib/eval/kernel_templates.h"

namespace hlo {

ElementwiseKernel FindUnsignedKernel(Opcode opcode, int arity, int bytes) {
  if (bytes == 1) return FindIntKernelOf<uint8_t>(opcode, arity);
  if (bytes == 2) return FindIntKernelOf<uint16_t>(opcode, arity);
  if (bytes == 4) return FindIntKernelOf<uint32_t>(opcode, arity);
  return FindIntKernelOf<uint64_t>(opcode, arity);
}

}  // namespace hlo
