#include "backends/gpu/nvptx/shared_memory.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/support/round.h"

namespace hlo::gpu {
namespace {

constexpr unsigned kSharedSpace = 3;

// Where each array in shared memory lies, of all together.
struct SharedLayout {
  std::vector<std::pair<llvm::GlobalVariable*, int64_t>> arrays;
  int64_t bytes = 0;
  uint64_t align = 1;
};

SharedLayout LayOut(llvm::Module& module) {
  SharedLayout layout;
  for (llvm::GlobalVariable& global : module.globals()) {
    if (global.getAddressSpace() != kSharedSpace || global.isDeclaration()) continue;
    const uint64_t align = global.getAlign().valueOrOne().value();
    const int64_t at = RoundUp(layout.bytes, static_cast<int64_t>(align));
    layout.arrays.emplace_back(&global, at);
    layout.bytes =
        at + static_cast<int64_t>(module.getDataLayout().getTypeAllocSize(global.getValueType()));
    layout.align = std::max(layout.align, align);
  }
  return layout;
}

}  // namespace

int64_t LaunchSharedBytes(llvm::Module& module) {
  const int64_t bytes = LayOut(module).bytes;
  return bytes > kMostDeclaredShared ? bytes : 0;
}

void MoveSharedToLaunch(llvm::Module& module) {
  const SharedLayout layout = LayOut(module);
  if (layout.bytes <= kMostDeclaredShared) return;
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* const byte = llvm::Type::getInt8Ty(context);
  // An array of no known size that nobody here defines: `.extern .shared` in PTX.
  auto* const memory =
      new llvm::GlobalVariable(module, llvm::ArrayType::get(byte, 0), /*isConstant=*/false,
                               llvm::GlobalValue::ExternalLinkage, nullptr, "hlo_launch_shared",
                               nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  memory->setAlignment(llvm::Align(layout.align));
  for (const auto& [global, at] : layout.arrays) {
    global->replaceAllUsesWith(llvm::ConstantExpr::getGetElementPtr(
        byte, memory, llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), at)));
    global->eraseFromParent();
  }
}

}  // namespace hlo::gpu
