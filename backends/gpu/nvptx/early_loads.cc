#include "backends/gpu/nvptx/early_loads.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>

namespace hlo::gpu {
namespace {

constexpr unsigned kMostRegisters = 32;

// Operations that become a fast path and a call.
bool IsSlow(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::FDiv: return true;
    case llvm::Instruction::SDiv:
    case llvm::Instruction::UDiv:
    case llvm::Instruction::SRem:
    case llvm::Instruction::URem:
      // Those by constants are products and shifts.
      return !llvm::isa<llvm::Constant>(instruction.getOperand(1));
    case llvm::Instruction::Call: {
      const auto* const intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      return intrinsic == nullptr || intrinsic->getIntrinsicID() == llvm::Intrinsic::sqrt;
    }
    default: return false;
  }
}

// What no load may be moved over.
bool IsBarrier(const llvm::Instruction& instruction) {
  if (instruction.mayWriteToMemory() || instruction.mayThrow()) return true;
  const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call != nullptr && call->isConvergent();
}

unsigned Registers(const llvm::Type& type, const llvm::DataLayout& layout) {
  constexpr unsigned kRegisterBits = 32;
  const uint64_t bits = layout.getTypeSizeInBits(const_cast<llvm::Type*>(&type));
  return static_cast<unsigned>((bits + kRegisterBits - 1) / kRegisterBits);
}

class BlockMover {
 public:
  explicit BlockMover(llvm::BasicBlock& block)
      : block_(block), layout_(block.getModule()->getDataLayout()) {}

  void Run() {
    llvm::Instruction* slow = nullptr;
    for (llvm::Instruction& instruction : block_) {
      if (slow == nullptr) {
        if (IsSlow(instruction))
          slow = &instruction;
        else
          continue;
      }
      if (IsBarrier(instruction)) break;
      after_.insert(&instruction);
      const auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (load == nullptr || !load->isSimple()) continue;
      const unsigned registers = registers_ + Registers(*load->getType(), layout_);
      if (registers > kMostRegisters) break;
      if (Take(instruction)) registers_ = registers;
    }
    // Operands come before their users in the order of the block, so in that of `after_`.
    for (llvm::Instruction* instruction : after_) {
      if (moved_.contains(instruction)) instruction->moveBefore(slow);
    }
  }

 private:
  // Adds `instruction` and what it needs of those after the slow one; changes nothing where a slow
  // one is among them.
  bool Take(llvm::Instruction& instruction) {
    llvm::SmallSetVector<llvm::Instruction*, 8> needed;
    needed.insert(&instruction);
    for (size_t i = 0; i < needed.size(); ++i) {
      if (IsSlow(*needed[i]) || llvm::isa<llvm::PHINode>(needed[i])) return false;
      for (llvm::Value* operand : needed[i]->operands()) {
        auto* const before = llvm::dyn_cast<llvm::Instruction>(operand);
        if (before != nullptr && after_.contains(before) && !moved_.contains(before))
          needed.insert(before);
      }
    }
    moved_.insert(needed.begin(), needed.end());
    return true;
  }

  llvm::BasicBlock& block_;
  const llvm::DataLayout& layout_;
  llvm::SetVector<llvm::Instruction*> after_;  // from the slow one on, up to a barrier
  llvm::SmallPtrSet<llvm::Instruction*, 32> moved_;
  unsigned registers_ = 0;
};

}  // namespace

void MarkInvariantLoads(llvm::Module& module) {
  llvm::MDNode* const empty = llvm::MDNode::get(module.getContext(), {});
  for (llvm::Function& function : module) {
    for (llvm::Argument& buffer : function.args()) {
      if (!buffer.hasNoAliasAttr() || !buffer.onlyReadsMemory()) continue;
      llvm::SmallVector<llvm::Value*, 32> addresses = {&buffer};
      while (!addresses.empty()) {
        for (llvm::User* user : addresses.pop_back_val()->users()) {
          if (auto* const load = llvm::dyn_cast<llvm::LoadInst>(user)) {
            load->setMetadata(llvm::LLVMContext::MD_invariant_load, empty);
          } else if (llvm::isa<llvm::GetElementPtrInst>(user)) {
            addresses.push_back(user);
          }
        }
      }
    }
  }
}

void AlignLoads(llvm::Module& module) {
  constexpr unsigned kSharedMemory = 3;
  for (llvm::Function& function : module) {
    const bool shares = llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& i) {
      const llvm::Value* const address = llvm::getLoadStorePointerOperand(&i);
      return address != nullptr && address->getType()->getPointerAddressSpace() == kSharedMemory;
    });
    if (shares) continue;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (load == nullptr) continue;
      load->setAlignment(std::max(
          load->getAlign(),
          llvm::getKnownAlignment(load->getPointerOperand(), module.getDataLayout(), load)));
    }
  }
}

void MoveLoadsEarly(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) BlockMover(block).Run();
  }
}

}  // namespace hlo::gpu
