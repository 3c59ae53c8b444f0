#include "backends/gpu/emit/index/index_builder.h"

#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <bit>

namespace hlo::gpu {
namespace {

// How many of the low bits of an index are 0 whatever the thread, at least. LLVM's own analysis
// cannot be asked: while a loop is written, its phis have one value of the two.
int LowZeros(const llvm::Value* index, int depth = 0) {
  constexpr int kDeepest = 6;
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(index))
    return static_cast<int>(constant->getValue().countr_zero());
  const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(index);
  if (operation == nullptr || depth == kDeepest) return 0;
  const int left = LowZeros(operation->getOperand(0), depth + 1);
  const int right = LowZeros(operation->getOperand(1), depth + 1);
  switch (operation->getOpcode()) {
    case llvm::Instruction::Mul: return left + right;
    case llvm::Instruction::Add:
    case llvm::Instruction::Sub:
    case llvm::Instruction::URem: return std::min(left, right);
    default: return 0;
  }
}

}  // namespace

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
  if (b == 1) return a;
  return Arithmetic(kDiv, SplitFor(a, b).base, Index(b));
}

llvm::Value* IndexBuilder::Rem(llvm::Value* a, int64_t b) {
  if (b == 1) return Index(0);
  const Split split = SplitFor(a, b);
  return Offset(Arithmetic(kRem, split.base, Index(b)), split.rest);
}

IndexBuilder::Split IndexBuilder::SplitFor(llvm::Value* a, int64_t divisor) const {
  using llvm::PatternMatch::m_Add;
  using llvm::PatternMatch::m_ConstantInt;
  using llvm::PatternMatch::m_Value;
  llvm::Value* base = nullptr;
  uint64_t rest = 0;
  if (!match(a, m_Add(m_Value(base), m_ConstantInt(rest))) || rest >= kMostLanes) return {a, 0};
  const int zeros = std::min(LowZeros(base), std::countr_zero(static_cast<uint64_t>(divisor)));
  if (rest >> std::min(zeros, 63) != 0) return {a, 0};
  return {base, static_cast<int64_t>(rest)};
}

}  // namespace hlo::gpu
