#include "backends/llvm/value.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Alignment.h>
#include <llvm/Transforms/Utils/FunctionComparator.h>

#include <string>
#include <vector>

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

constexpr llvm::StringLiteral kRareName = "rare";

// Puts the code of `block`, which yields `result`, into a function, and calls that: so each kernel
// has code that hardly ever runs once, however often it is needed. All goes through memory, so that
// no calling convention has to know wide vectors.
class RareFunction final {
 public:
  RareFunction(llvm::BasicBlock* block, llvm::Value* result)
      : block_(block),
        result_(result),
        caller_(block->getParent()),
        module_(*caller_->getParent()) {}

  // Code for one element is short, and would rather have all registers. A mask has no
  // size in memory.
  bool IsWanted() {
    if (!result_->getType()->isVectorTy()) return false;
    for (llvm::Instruction& instruction : *block_) {
      for (llvm::Value* operand : instruction.operands()) {
        const auto* const made = llvm::dyn_cast<llvm::Instruction>(operand);
        if (llvm::isa<llvm::Argument>(operand) || (made != nullptr && made->getParent() != block_))
          inputs_.insert(operand);
      }
    }
    for (llvm::Value* input : inputs_) AddPlace(input->getType());
    AddPlace(result_->getType());
    return has_places_ && llvm::isa<llvm::Instruction>(result_) &&
           llvm::cast<llvm::Instruction>(result_)->getParent() == block_;
  }

  // Leaves `b` at the end of the block; gives the result.
  llvm::Value* Call(llvm::IRBuilderBase& b) {
    llvm::Type* const type = result_->getType();
    llvm::Function* const function = Shared(MoveCode(b));
    b.SetInsertPoint(block_);
    llvm::Value* const memory = Memory();
    for (size_t i = 0; i < inputs_.size(); ++i)
      b.CreateAlignedStore(inputs_[i], At(b, memory, i), kAlignment);
    b.CreateCall(function, {memory});
    return b.CreateAlignedLoad(type, At(b, memory, inputs_.size()), kAlignment);
  }

 private:
  static constexpr llvm::Align kAlignment = llvm::Align::Constant<64>();

  void AddPlace(llvm::Type* type) {
    has_places_ = has_places_ && type->getScalarSizeInBits() >= 8;
    places_.push_back(bytes_);
    bytes_ += llvm::alignTo(module_.getDataLayout().getTypeAllocSize(type), kAlignment);
  }

  llvm::Value* At(llvm::IRBuilderBase& b, llvm::Value* memory, size_t place) const {
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), memory, places_[place]);
  }

  llvm::Function* MoveCode(llvm::IRBuilderBase& b) {
    auto* const type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
    llvm::Function* const function =
        llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, kRareName, module_);
    function->setMemoryEffects(llvm::MemoryEffects::argMemOnly());
    function->setDoesNotThrow();
    function->setWillReturn();
    function->addParamAttr(0, llvm::Attribute::NoCapture);
    llvm::BasicBlock* const body = llvm::BasicBlock::Create(b.getContext(), "entry", function);
    b.SetInsertPoint(body);
    std::vector<llvm::Value*> loaded;
    for (size_t i = 0; i < inputs_.size(); ++i)
      loaded.push_back(
          b.CreateAlignedLoad(inputs_[i]->getType(), At(b, function->getArg(0), i), kAlignment));
    body->splice(body->end(), block_);
    for (llvm::Instruction& instruction : *body) {
      for (size_t i = 0; i < inputs_.size(); ++i)
        instruction.replaceUsesOfWith(inputs_[i], loaded[i]);
    }
    b.SetInsertPoint(body);
    b.CreateAlignedStore(result_, At(b, function->getArg(0), inputs_.size()), kAlignment);
    b.CreateRetVoid();
    return function;
  }

  // The function, or one before it that does the same.
  llvm::Function* Shared(llvm::Function* function) const {
    llvm::GlobalNumberState numbers;
    for (llvm::Function& other : module_) {
      if (&other == function || !other.getName().starts_with(kRareName) ||
          llvm::FunctionComparator(function, &other, &numbers).compare() != 0)
        continue;
      function->eraseFromParent();
      return &other;
    }
    return function;
  }

  // Of the caller, for all its rare code of this size.
  llvm::Value* Memory() const {
    llvm::BasicBlock& entry = caller_->getEntryBlock();
    llvm::IRBuilder<> b(&entry, entry.begin());
    auto* const type = llvm::ArrayType::get(b.getInt8Ty(), bytes_);
    for (llvm::Instruction& instruction : entry) {
      auto* const known = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (known == nullptr) break;
      if (known->getName().starts_with(kRareName) && known->getAllocatedType() == type)
        return known;
    }
    llvm::AllocaInst* const made = b.CreateAlloca(type, nullptr, kRareName);
    made->setAlignment(kAlignment);
    return made;
  }

  llvm::BasicBlock* block_;
  llvm::Value* result_;
  llvm::Function* caller_;
  llvm::Module& module_;
  llvm::SmallSetVector<llvm::Value*, 4> inputs_;
  std::vector<uint64_t> places_;  // of the inputs and the result
  uint64_t bytes_ = 0;
  bool has_places_ = true;
};

}  // namespace

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
  llvm::BasicBlock* const block = from_->getTerminator()->getSuccessor(0);
  if (b_.GetInsertBlock() == block) {
    RareFunction function(block, rare);
    if (function.IsWanted()) rare = function.Call(b_);
  }
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
