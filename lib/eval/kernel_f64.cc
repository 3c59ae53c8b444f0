#include "lib/eval/kernel_templates.h"

namespace hlo {

Kernel FindF64Kernel(Opcode opcode, int arity) { return FindFloatKernelOf<double>(opcode, arity); }

}  // namespace hlo
