#include "backends/gpu/emit/index/index_builder.h"

namespace hlo::gpu {

llvm::Value* IndexBuilder::Index(int64_t value) {
  return llvm::ConstantInt::getSigned(index_type_, value);
}

bool IndexBuilder::IsConstant(llvm::Value* v, int64_t* value) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(v);
  if (constant != nullptr && value != nullptr) *value = constant->getSExtValue();
  return constant != nullptr;
}

llvm::Value* IndexBuilder::Arithmetic(Operation operation, llvm::Value* a, llvm::Value* b) {
  int64_t x = 0, y = 0;
  const bool left = IsConstant(a, &x), right = IsConstant(b, &y);
  if (operation == kAdd && right && y == 0) return a;
  if (operation == kAdd && left && x == 0) return b;
  if (operation == kSub && right && y == 0) return a;
  if (operation == kMul && right && y == 1) return a;
  if (operation == kMul && left && x == 1) return b;
  if (operation == kMul && ((right && y == 0) || (left && x == 0))) return Index(0);
  const auto key = std::make_tuple(static_cast<int>(operation), a, b);
  for (const Scope& scope : scopes_) {
    if (const auto it = scope.made.find(key); it != scope.made.end()) return it->second;
  }
  llvm::Value* made = nullptr;
  switch (operation) {
    case kAdd: made = b_.CreateNSWAdd(a, b); break;
    case kSub: made = b_.CreateNSWSub(a, b); break;
    case kMul: made = b_.CreateNSWMul(a, b); break;
    case kDiv: made = b_.CreateUDiv(a, b); break;
    case kRem: made = b_.CreateURem(a, b); break;
    case kLess: made = b_.CreateICmpSLT(a, b); break;
  }
  scopes_.back().made[key] = made;
  return made;
}

llvm::Value* IndexBuilder::Div(llvm::Value* a, int64_t b) {
  return b == 1 ? a : Arithmetic(kDiv, a, Index(b));
}

llvm::Value* IndexBuilder::Rem(llvm::Value* a, int64_t b) {
  return b == 1 ? Index(0) : Arithmetic(kRem, a, Index(b));
}

}  // namespace hlo::gpu
