// Shared memory of more than 48 KiB. A kernel cannot declare so much: it names memory that comes
// with its launch (KernelEntry::shared_bytes), which the driver must be told of beforehand.
#pragma once

#include <llvm/IR/Module.h>

#include <cstdint>

namespace hlo::gpu {

inline constexpr int64_t kMostDeclaredShared = 48 * 1024;

// Bytes of shared memory that the launch of a module's only kernel brings; 0 where the kernel
// declares what it has.
int64_t LaunchSharedBytes(llvm::Module& module);

// Puts the arrays in shared memory of such a kernel into what the launch brings, one after the
// other. Others stay as they are.
void MoveSharedToLaunch(llvm::Module& module);

}  // namespace hlo::gpu
