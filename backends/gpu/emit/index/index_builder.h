// backends/gpu/emit/index/index_builder.h
//
// Arithmetic on indices as LLVM IR: folded where operands are constants, and made once for all that
// may see it. Indices have 32 bits where all arrays of the kernel allow it. Internal to emit/:
// includes LLVM headers.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace hlo::gpu {

class IndexBuilder {
 public:
  llvm::IRBuilder<>& b() { return b_; }
  llvm::Type* index_type() const { return index_type_; }

  // All are of index_type, not negative unless said.
  llvm::Value* Index(int64_t value);
  llvm::Value* Add(llvm::Value* a, llvm::Value* b) { return Arithmetic(kAdd, a, b); }
  llvm::Value* Sub(llvm::Value* a, llvm::Value* b) { return Arithmetic(kSub, a, b); }
  llvm::Value* Mul(llvm::Value* a, llvm::Value* b) { return Arithmetic(kMul, a, b); }
  llvm::Value* Div(llvm::Value* a, int64_t b);
  llvm::Value* Rem(llvm::Value* a, int64_t b);
  llvm::Value* Less(llvm::Value* a, llvm::Value* b) { return Arithmetic(kLess, a, b); }  // signed
  llvm::Value* Offset(llvm::Value* a, int64_t b) { return Add(a, Index(b)); }
  llvm::Value* Scale(llvm::Value* a, int64_t b) { return Mul(a, Index(b)); }
  // A constant's value, if it is one.
  static bool IsConstant(llvm::Value* v, int64_t* value = nullptr);

  // Scopes are stretches of code, one inside the other; what was made in one that has ended is not
  // used again. For memos kept by others: their entries die with the scope.
  int scope_count() const { return static_cast<int>(scopes_.size()); }
  uint64_t scope_id(int i) const { return scopes_[static_cast<size_t>(i)].id; }

 protected:
  IndexBuilder(llvm::LLVMContext& context, int bits)
      : b_(context), index_type_(b_.getIntNTy(static_cast<unsigned>(bits))) {}
  void OpenScope() { scopes_.push_back({++last_scope_, {}}); }
  void CloseScope() { scopes_.pop_back(); }

  llvm::IRBuilder<> b_;
  llvm::Type* index_type_;

 private:
  enum Operation { kAdd, kSub, kMul, kDiv, kRem, kLess };
  struct Scope {
    uint64_t id;
    std::map<std::tuple<int, llvm::Value*, llvm::Value*>, llvm::Value*> made;
  };
  llvm::Value* Arithmetic(Operation operation, llvm::Value* a, llvm::Value* b);

  // `a` as base + rest that lie in the same stretch of `divisor`: where base is a multiple of a
  // power of two that divides `divisor` and is above the rest. So the lanes of a vector, which
  // starts at a multiple of its length, are divided once, and stay neighbours along the innermost
  // dimension, which is what makes one load of theirs.
  struct Split {
    llvm::Value* base;
    int64_t rest;
  };
  static constexpr uint64_t kMostLanes = 16;
  Split SplitFor(llvm::Value* a, int64_t divisor) const;

  std::vector<Scope> scopes_;
  uint64_t last_scope_ = 0;
};

}  // namespace hlo::gpu
