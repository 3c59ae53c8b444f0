#include "backends/llvm/value.h"

#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Alignment.h>
#include <llvm/Support/MathExtras.h>
#include <llvm/TargetParser/Triple.h>

#include <string>

#include "backends/llvm/rare_code.h"
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

namespace {

// Memory of the function at hand, for the values of all its rare calls: so that no calling
// convention has to know wide vectors.
llvm::Value* RareMemory(llvm::IRBuilderBase& b, llvm::Type* type) {
  constexpr llvm::StringLiteral kName = "rare";
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  for (llvm::Instruction& instruction : entry) {
    auto* const known = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (known == nullptr) break;
    if (known->getName().starts_with(kName) && known->getAllocatedType() == type) return known;
  }
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::AllocaInst* const made = at_entry.CreateAlloca(type, nullptr, kName);
  made->setAlignment(llvm::Align(kRareAlignment));
  return made;
}

}  // namespace

bool CallsRareCode(llvm::IRBuilderBase& b, llvm::Type* type) {
  const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (vector == nullptr) return false;
  const unsigned lanes = vector->getNumElements();
  const llvm::Triple target(b.GetInsertBlock()->getModule()->getTargetTriple());
  return llvm::isPowerOf2_32(lanes) && lanes < 1U << kRareEntries && !target.isNVPTX();
}

llvm::Value* CallRareCode(llvm::IRBuilderBase& b, std::string_view name, llvm::Value* x) {
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  llvm::Type* const type = x->getType();
  const std::string symbol = RareSymbol(name, type->getScalarType()->isDoubleTy());
  llvm::Constant* const entries = module.getOrInsertGlobal(symbol, b.getPtrTy());
  const unsigned place = llvm::Log2_32(llvm::cast<llvm::FixedVectorType>(type)->getNumElements());
  llvm::Value* const entry =
      b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), entries, place * kRareEntryBytes);
  llvm::LoadInst* const function = b.CreateAlignedLoad(b.getPtrTy(), entry, llvm::Align(8));
  function->setAtomic(llvm::AtomicOrdering::Unordered);
  llvm::Value* const memory = RareMemory(b, type);
  b.CreateAlignedStore(x, memory, llvm::Align(kRareAlignment));
  auto* const signature =
      llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy()}, false);
  llvm::CallInst* const call = b.CreateCall(signature, function, {memory, entry});
  // Nothing else that this code can see.
  call->setMemoryEffects(llvm::MemoryEffects::argMemOnly());
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::WillReturn);
  for (const unsigned argument : {0, 1}) call->addParamAttr(argument, llvm::Attribute::NoCapture);
  return b.CreateAlignedLoad(type, memory, llvm::Align(kRareAlignment));
}

RareBranch::RareBranch(llvm::IRBuilderBase& b, llvm::Value* mask) : b_(b) {
  llvm::Function* const function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* const rare = llvm::BasicBlock::Create(b.getContext(), "rare", function);
  join_ = llvm::BasicBlock::Create(b.getContext(), "join", function);
  llvm::Value* const any = AnyLane(b, mask);
  from_ = b.GetInsertBlock();
  // Where the rare side is a call, registers are to be saved there.
  llvm::MDNode* const weights =
      any == mask ? nullptr : llvm::MDBuilder(b.getContext()).createBranchWeights(1, 2000);
  b.CreateCondBr(any, rare, join_, weights);
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

namespace {

// `divisor`, its lanes hidden from LLVM's code generator: of vectors it takes the quotient of two
// lanes that are constants of zero, beside others that are not, for zero (LLVM 19,
// TargetLowering::SimplifyDemandedVectorElts), where it is NaN.
llvm::Value* Divisor(llvm::IRBuilderBase& b, llvm::Value* divisor) {
  if (!divisor->getType()->isVectorTy()) return divisor;
  if (auto* const constant = llvm::dyn_cast<llvm::Constant>(divisor)) {
    const llvm::Constant* const splat = constant->getSplatValue();
    if (splat && !splat->isZeroValue()) return divisor;
  }
  return Intrinsic(b, llvm::Intrinsic::arithmetic_fence, {divisor});
}

}  // namespace

llvm::Value* Divide(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y) {
  return b.CreateFDiv(x, Divisor(b, y));
}

llvm::Value* Remainder(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y) {
  llvm::Type* const type = x->getType();
  y = Divisor(b, y);
  const llvm::Triple target(b.GetInsertBlock()->getModule()->getTargetTriple());
  if (!type->getScalarType()->isFloatTy() || target.isNVPTX()) return b.CreateFRem(x, y);
  // A quotient of floats that is no integer is 2^-24 or more away from all of them, and below 2^29
  // that of doubles is off by 2^-25 at most: it is cut at the right integer. That has 29 bits, y
  // has 24, so the product and what it leaves of x are exact.
  constexpr double kMostQuotient = 536870912.0;
  llvm::Type* const wide = Shaped(b.getDoubleTy(), type);
  llvm::Value* const dividend = b.CreateFPExt(x, wide);
  llvm::Value* const divisor = b.CreateFPExt(y, wide);
  llvm::Value* const quotient =
      Intrinsic(b, llvm::Intrinsic::trunc, {Divide(b, dividend, divisor)});
  llvm::Value* const rest = b.CreateFSub(dividend, b.CreateFMul(quotient, divisor));
  llvm::Value* const common =
      Intrinsic(b, llvm::Intrinsic::copysign, {b.CreateFPTrunc(rest, type), x});
  // Large quotients, and what is no number: such come of infinite divisors, too.
  llvm::Value* const is_large = b.CreateFCmpUGE(Intrinsic(b, llvm::Intrinsic::fabs, {quotient}),
                                                llvm::ConstantFP::get(wide, kMostQuotient));
  llvm::Value* const is_rare = b.CreateOr(is_large, b.CreateFCmpUNO(rest, rest));
  RareBranch branch(b, is_rare);
  return branch.Close(is_rare, b.CreateFRem(x, y), common);
}

}  // namespace hlo::llvm_value
