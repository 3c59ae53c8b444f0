#include "backends/llvm/value.h"

#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>

#include <string>

#include "lib/support/hash.h"

namespace hlo::llvm_value {

llvm::Type* Shaped(llvm::Type* scalar, llvm::Type* like) {
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like)) {
    return llvm::FixedVectorType::get(scalar, vector->getNumElements());
  }
  return scalar;
}

llvm::Value* Intrinsic(llvm::IRBuilderBase& b, llvm::Intrinsic::ID id,
                       llvm::ArrayRef<llvm::Value*> operands) {
  return b.CreateIntrinsic(id, {operands[0]->getType()}, operands);
}

llvm::Value* AnyLane(llvm::IRBuilderBase& b, llvm::Value* mask) {
  if (!mask->getType()->isVectorTy()) return mask;
  const auto lanes = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
  llvm::Value* const bits = b.CreateBitCast(mask, b.getIntNTy(lanes));
  return b.CreateICmpNE(bits, llvm::ConstantInt::get(bits->getType(), 0));
}

llvm::Value* LookUp(llvm::IRBuilderBase& b, llvm::Type* element, const void* table, size_t bytes,
                    llvm::Value* index) {
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  const std::string_view data(static_cast<const char*>(table), bytes);
  const std::string name = "table." + std::to_string(HashBytes(data));
  llvm::GlobalVariable* global = module.getNamedGlobal(name);
  if (global == nullptr) {
    llvm::Constant* const values =
        llvm::ConstantDataArray::getRaw(llvm::StringRef(data.data(), data.size()),
                                        bytes / (element->getPrimitiveSizeInBits() / 8), element);
    global = new llvm::GlobalVariable(module, values->getType(), /*isConstant=*/true,
                                      llvm::GlobalValue::PrivateLinkage, values, name);
    global->setAlignment(llvm::Align(64));
  }
  const auto load = [&](llvm::Value* i) -> llvm::Value* {
    return b.CreateLoad(element, b.CreateInBoundsGEP(element, global, {i}));
  };
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(index->getType());
  if (vector == nullptr) return load(index);
  llvm::Value* result = llvm::PoisonValue::get(Shaped(element, index->getType()));
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    result = b.CreateInsertElement(result, load(b.CreateExtractElement(index, lane)), lane);
  }
  return result;
}

llvm::Value* MultiplyHigh(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y, bool is_signed) {
  const unsigned bits = x->getType()->getScalarSizeInBits();
  llvm::Type* const wide = Shaped(b.getIntNTy(2 * bits), x->getType());
  const auto extend = [&](llvm::Value* v) {
    return is_signed ? b.CreateSExt(v, wide) : b.CreateZExt(v, wide);
  };
  llvm::Value* const product = b.CreateMul(extend(x), extend(y));
  return b.CreateTrunc(b.CreateLShr(product, llvm::ConstantInt::get(wide, bits)), x->getType());
}

RareBranch::RareBranch(llvm::IRBuilderBase& b, llvm::Value* mask) : b_(b) {
  llvm::Function* const function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* const rare = llvm::BasicBlock::Create(b.getContext(), "rare", function);
  join_ = llvm::BasicBlock::Create(b.getContext(), "join", function);
  llvm::Value* const any = AnyLane(b, mask);
  from_ = b.GetInsertBlock();
  b.CreateCondBr(any, rare, join_);
  b.SetInsertPoint(rare);
}

llvm::Value* RareBranch::Close(llvm::Value* mask, llvm::Value* rare, llvm::Value* common) {
  llvm::Value* const mixed = b_.CreateSelect(mask, rare, common);
  llvm::BasicBlock* const end = b_.GetInsertBlock();
  b_.CreateBr(join_);
  b_.SetInsertPoint(join_);
  llvm::PHINode* const phi = b_.CreatePHI(common->getType(), 2);
  phi->addIncoming(common, from_);
  phi->addIncoming(mixed, end);
  return phi;
}

}  // namespace hlo::llvm_value
