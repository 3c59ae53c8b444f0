// x mod y with the sign of x. Finite numbers are m * 2^e with integers m and e, so that
//
//   |x| mod |y|  =  (mx * 2^(ex - ey) mod my) * 2^ey          for ex >= ey
//
// and the power is put in a few bits at a time, as many as a 64-bit integer has room for. For
// ex < ey it is x. The result has no more digits than y: it is exact.
#include "backends/gpu/nvptx/remainder.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>

#include <vector>

namespace hlo::gpu {
namespace {

struct Layout {
  unsigned bits;      // of the type
  unsigned fraction;  // digits after the leading one
  int bias;           // of m * 2^(e - bias)
};

class RemainderEmission {
 public:
  RemainderEmission(llvm::Module& module, llvm::Type* type)
      : b_(module.getContext()), type_(type), module_(module) {
    layout_ = type->isFloatTy() ? Layout{32, 23, 150} : Layout{64, 52, 1075};
  }

  llvm::Function* Emit() {
    auto* const signature = llvm::FunctionType::get(type_, {type_, type_}, false);
    function_ =
        llvm::Function::Create(signature, llvm::GlobalValue::InternalLinkage,
                               type_->isFloatTy() ? "hlo.fmod.f32" : "hlo.fmod.f64", module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    auto& context = module_.getContext();
    auto* const entry = llvm::BasicBlock::Create(context, "entry", function_);
    auto* const finite = llvm::BasicBlock::Create(context, "finite", function_);
    auto* const special = llvm::BasicBlock::Create(context, "special", function_);
    auto* const start = llvm::BasicBlock::Create(context, "start", function_);
    auto* const self = llvm::BasicBlock::Create(context, "self", function_);
    b_.SetInsertPoint(entry);
    llvm::Value* const x = function_->getArg(0);
    llvm::Value* const y = function_->getArg(1);
    llvm::Value* const x_bits = Wide(x);
    llvm::Value* const y_bits = Wide(y);
    llvm::Value* const x_size = b_.CreateAnd(x_bits, Number(SignMask() - 1));
    llvm::Value* const y_size = b_.CreateAnd(y_bits, Number(SignMask() - 1));
    const uint64_t infinity = ((uint64_t{1} << (layout_.bits - 1 - layout_.fraction)) - 1)
                              << layout_.fraction;
    // NaN for x infinite or NaN, y zero or NaN.
    llvm::Value* bad = b_.CreateICmpUGE(x_size, Number(infinity));
    bad = b_.CreateOr(bad, b_.CreateICmpUGT(y_size, Number(infinity)));
    bad = b_.CreateOr(bad, b_.CreateICmpEQ(y_size, Number(0)));
    b_.CreateCondBr(bad, special, finite);
    b_.SetInsertPoint(special);
    llvm::Value* const nothing = b_.CreateFMul(x, y);
    b_.CreateRet(b_.CreateFDiv(nothing, nothing));
    b_.SetInsertPoint(finite);
    b_.CreateCondBr(b_.CreateICmpULT(x_size, y_size), self, start);
    b_.SetInsertPoint(self);
    b_.CreateRet(x);
    b_.SetInsertPoint(start);
    llvm::Value* const ex = Exponent(x_size);
    llvm::Value* const ey = Exponent(y_size);
    llvm::Value* const my = Mantissa(y_size);
    llvm::Value* const first = b_.CreateURem(Mantissa(x_size), my);
    llvm::Value* const rest = ShiftIn(first, b_.CreateSub(ex, ey), my);
    b_.CreateRet(Assemble(rest, ey, b_.CreateAnd(x_bits, Number(SignMask()))));
    return function_;
  }

 private:
  llvm::Value* Number(uint64_t v) { return b_.getInt64(v); }
  uint64_t SignMask() const { return uint64_t{1} << (layout_.bits - 1); }
  llvm::Value* Wide(llvm::Value* v) {
    return b_.CreateZExt(b_.CreateBitCast(v, b_.getIntNTy(layout_.bits)), b_.getInt64Ty());
  }
  // Denormal numbers have the exponent of the smallest normal ones and no leading one.
  llvm::Value* Exponent(llvm::Value* size) {
    llvm::Value* const field = b_.CreateLShr(size, Number(layout_.fraction));
    return b_.CreateSelect(b_.CreateICmpEQ(field, Number(0)), Number(1), field);
  }
  llvm::Value* Mantissa(llvm::Value* size) {
    const uint64_t leading = uint64_t{1} << layout_.fraction;
    llvm::Value* const digits = b_.CreateAnd(size, Number(leading - 1));
    return b_.CreateSelect(b_.CreateICmpULT(size, Number(leading)), digits,
                           b_.CreateOr(digits, Number(leading)));
  }

  // value * 2^count mod my, a loop.
  llvm::Value* ShiftIn(llvm::Value* value, llvm::Value* count, llvm::Value* my) {
    const uint64_t most = 63 - layout_.fraction - 1;
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    auto& context = module_.getContext();
    auto* const loop = llvm::BasicBlock::Create(context, "loop", function_);
    auto* const done = llvm::BasicBlock::Create(context, "done", function_);
    b_.CreateCondBr(b_.CreateICmpEQ(count, Number(0)), done, loop);
    b_.SetInsertPoint(loop);
    llvm::PHINode* const left = b_.CreatePHI(b_.getInt64Ty(), 2);
    llvm::PHINode* const so_far = b_.CreatePHI(b_.getInt64Ty(), 2);
    left->addIncoming(count, before);
    so_far->addIncoming(value, before);
    llvm::Value* const step =
        b_.CreateSelect(b_.CreateICmpULT(left, Number(most)), left, Number(most));
    llvm::Value* const next = b_.CreateURem(b_.CreateShl(so_far, step), my);
    llvm::Value* const remaining = b_.CreateSub(left, step);
    left->addIncoming(remaining, loop);
    so_far->addIncoming(next, loop);
    b_.CreateCondBr(b_.CreateICmpEQ(remaining, Number(0)), done, loop);
    b_.SetInsertPoint(done);
    llvm::PHINode* const result = b_.CreatePHI(b_.getInt64Ty(), 2);
    result->addIncoming(value, before);
    result->addIncoming(next, loop);
    return result;
  }

  // 2^e for |e| well inside the range.
  llvm::Value* Power(llvm::Value* e) {
    const auto one = static_cast<uint64_t>(layout_.bias) - layout_.fraction;
    llvm::Value* const bits = b_.CreateShl(b_.CreateAdd(e, Number(one)), Number(layout_.fraction));
    return b_.CreateBitCast(b_.CreateTrunc(bits, b_.getIntNTy(layout_.bits)), type_);
  }

  // digits * 2^(exponent - bias) with a sign. In two halves, for a power alone may be denormal.
  llvm::Value* Assemble(llvm::Value* digits, llvm::Value* exponent, llvm::Value* sign) {
    llvm::Value* const e = b_.CreateSub(exponent, Number(static_cast<uint64_t>(layout_.bias)));
    llvm::Value* const half = b_.CreateAShr(e, Number(1));
    llvm::Value* value = b_.CreateUIToFP(digits, type_);
    value = b_.CreateFMul(b_.CreateFMul(value, Power(half)), Power(b_.CreateSub(e, half)));
    llvm::Value* const bits = b_.CreateOr(Wide(value), sign);
    return b_.CreateBitCast(b_.CreateTrunc(bits, b_.getIntNTy(layout_.bits)), type_);
  }

  llvm::IRBuilder<> b_;
  llvm::Type* type_;
  llvm::Module& module_;
  llvm::Function* function_ = nullptr;
  Layout layout_;
};

}  // namespace

void LowerRemainders(llvm::Module& module) {
  std::vector<llvm::BinaryOperator*> found;
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) {
        auto* const binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
        if (binary != nullptr && binary->getOpcode() == llvm::Instruction::FRem)
          found.push_back(binary);
      }
    }
  }
  llvm::Function* single = nullptr;
  llvm::Function* wide = nullptr;
  for (llvm::BinaryOperator* remainder : found) {
    llvm::Type* const type = remainder->getType();
    llvm::Function*& function = type->isFloatTy() ? single : wide;
    if (function == nullptr) function = RemainderEmission(module, type).Emit();
    llvm::IRBuilder<> at(remainder);
    remainder->replaceAllUsesWith(
        at.CreateCall(function, {remainder->getOperand(0), remainder->getOperand(1)}));
    remainder->eraseFromParent();
  }
}

}  // namespace hlo::gpu
