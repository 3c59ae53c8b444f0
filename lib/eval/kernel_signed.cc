#include "lib/eval/kernel_templates.h"

namespace hlo {

ElementwiseKernel FindSignedKernel(Opcode opcode, int arity, int bytes) {
  if (bytes == 1) return FindIntKernelOf<int8_t>(opcode, arity);
  if (bytes == 2) return FindIntKernelOf<int16_t>(opcode, arity);
  if (bytes == 4) return FindIntKernelOf<int32_t>(opcode, arity);
  return FindIntKernelOf<int64_t>(opcode, arity);
}

}  // namespace hlo
