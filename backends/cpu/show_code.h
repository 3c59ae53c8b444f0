// `--emit=llvm|asm`: a kernel as text, in the form that is compiled.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "backends/backend.h"
#include "backends/llvm/jit.h"

namespace hlo::cpu {

// Gives kernel `number` (of instruction `name`) to the sink of `options`, as far as its stages are
// wanted.
absl::Status ShowKernelCode(const Jit& jit, int number, const std::string& name,
                            const std::function<absl::Status(int, llvm::Module&)>& build,
                            const CompileOptions& options);

}  // namespace hlo::cpu
