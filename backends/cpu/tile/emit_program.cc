// A program as one LLVM function.
//
// A small slice becomes a local variable: filled when the function starts, written back (what is a
// result of it) when it ends. LLVM's SROA then makes registers of those whose every access is at a
// fixed place; larger slices stay where they are. Slices that share bytes without being the same
// hold different values at different times, and are different variables.
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>

#include <limits>
#include <map>
#include <tuple>

#include "backends/cpu/tile/emit_body.h"
#include "backends/cpu/tile/program.h"
#include "lib/support/status.h"

namespace hlo::cpu::tile {
namespace {

// More bytes are no candidates for registers, and would have to be copied in and out.
constexpr int64_t kMostLocalBytes = 512;

// Where a slice lies.
struct Place {
  llvm::Value* base = nullptr;    // while the function runs
  llvm::Value* memory = nullptr;  // otherwise; the same unless it is a variable
};

class LoopProgramEmitter {
 public:
  LoopProgramEmitter(const Program& program, const EmitOptions& options, llvm::Module& module)
      : program_(program), options_(options), module_(module), b_(module.getContext()) {}

  llvm::Function* Emit(std::string_view name) {
    llvm::Type* const pointer = b_.getPtrTy();
    auto* const type =
        llvm::FunctionType::get(b_.getInt64Ty(), {pointer, pointer, b_.getInt64Ty()}, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                       llvm::StringRef(name.data(), name.size()), module_);
    b_.SetInsertPoint(NewBlock("entry"));
    Collect(program_.steps);
    for (const BufferSlice& slice : program_.results) Add(slice);
    MakePlaces();
    llvm::Value* const given = function_->getArg(2);
    llvm::Value* const none = b_.getInt64(std::numeric_limits<int64_t>::max());
    limit_ = b_.CreateSelect(b_.CreateICmpSGT(given, b_.getInt64(0)), given, none);
    EmitSteps(program_.steps);
    for (const BufferSlice& slice : program_.results) WriteBack(slice);
    b_.CreateRet(b_.getInt64(0));
    return function_;
  }

 private:
  llvm::BasicBlock* NewBlock(const char* name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, function_);
  }

  // ---- memory ----

  void Add(const BufferSlice& slice) {
    if (slice.allocation >= 0 && slice.size > 0) places_[KeyOf(slice)] = {};
  }

  void Collect(const Steps& steps) {
    for (const Step& step : steps) {
      for (const BufferSlice& slice : step.buffers) Add(slice);
      if (!step.lists.empty()) Add(step.selector);
      for (const Steps& list : step.lists) Collect(list);
    }
  }

  void MakePlaces() {
    int allocation = -1;
    llvm::Value* start = nullptr;
    for (auto& [key, place] : places_) {
      const auto [number, offset, size] = key;
      if (number != allocation) {
        allocation = number;
        start = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(
                                                 b_.getPtrTy(), function_->getArg(0), number));
      }
      place = MakePlace(b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), start, offset), size);
    }
  }

  Place MakePlace(llvm::Value* memory, int64_t bytes) {
    if (bytes > kMostLocalBytes) return {memory, memory};
    llvm::AllocaInst* const local =
        b_.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), static_cast<uint64_t>(bytes)));
    local->setAlignment(llvm::Align(64));
    b_.CreateMemCpy(local, llvm::Align(64), memory, llvm::Align(1), static_cast<uint64_t>(bytes));
    return {local, memory};
  }

  llvm::Value* AddressOf(const BufferSlice& slice) {
    if (slice.allocation < 0 || slice.size == 0)
      return llvm::ConstantPointerNull::get(b_.getPtrTy());
    return places_.at(KeyOf(slice)).base;
  }

  void Copy(llvm::Value* to, llvm::Value* from, int64_t bytes) {
    b_.CreateMemCpy(to, llvm::Align(1), from, llvm::Align(1), static_cast<uint64_t>(bytes));
  }

  void WriteBack(const BufferSlice& slice) {
    if (slice.allocation < 0 || slice.size == 0) return;
    const Place& place = places_.at(KeyOf(slice));
    if (place.base != place.memory) Copy(place.memory, place.base, slice.size);
  }

  // ---- steps ----

  void EmitSteps(const Steps& steps) {
    for (const Step& step : steps) {
      switch (step.kind) {
        case Step::Kind::kKernel: EmitKernel(step); break;
        case Step::Kind::kCopy:
          Copy(AddressOf(step.buffers[0]), AddressOf(step.buffers[1]), step.buffers[0].size);
          break;
        case Step::Kind::kWhile: EmitWhile(step); break;
        case Step::Kind::kConditional: EmitConditional(step); break;
      }
    }
  }

  void EmitKernel(const Step& step) {
    KernelArguments arguments;
    for (const BufferSlice& slice : step.buffers) arguments.buffers.push_back(AddressOf(slice));
    arguments.begin = b_.getInt64(0);
    arguments.end = b_.getInt64(step.task_count);
    arguments.scratch = function_->getArg(1);
    EmitBody(*step.kernel, options_, arguments, b_);
  }

  llvm::Value* LoadByte(const BufferSlice& slice) {
    return b_.CreateICmpNE(b_.CreateLoad(b_.getInt8Ty(), AddressOf(slice)), b_.getInt8(0));
  }

  void EmitWhile(const Step& step) {
    const int number = ++loops_;
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    llvm::BasicBlock* const head = NewBlock("while");
    llvm::BasicBlock* const go_on = NewBlock("go_on");
    llvm::BasicBlock* const body = NewBlock("body");
    llvm::BasicBlock* const too_many = NewBlock("too_many");
    llvm::BasicBlock* const done = NewBlock("while_done");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::PHINode* const iteration = b_.CreatePHI(b_.getInt64Ty(), 2);
    iteration->addIncoming(b_.getInt64(0), before);
    EmitSteps(step.lists[0]);
    b_.CreateCondBr(LoadByte(step.selector), go_on, done);
    b_.SetInsertPoint(go_on);
    b_.CreateCondBr(b_.CreateICmpSLT(iteration, limit_), body, too_many);
    b_.SetInsertPoint(too_many);
    b_.CreateRet(b_.getInt64(static_cast<uint64_t>(number)));
    b_.SetInsertPoint(body);
    EmitSteps(step.lists[1]);
    iteration->addIncoming(b_.CreateAdd(iteration, b_.getInt64(1)), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(done);
  }

  // A pred chooses branch 0 when true; an s32 out of range chooses the last branch.
  void EmitConditional(const Step& step) {
    std::vector<llvm::BasicBlock*> blocks;
    for (size_t i = 0; i < step.lists.size(); ++i) blocks.push_back(NewBlock("branch"));
    llvm::BasicBlock* const join = NewBlock("join");
    if (step.selector_is_pred) {
      b_.CreateCondBr(LoadByte(step.selector), blocks[0], blocks[1]);
    } else {
      llvm::SwitchInst* const choose =
          b_.CreateSwitch(b_.CreateLoad(b_.getInt32Ty(), AddressOf(step.selector)), blocks.back());
      for (size_t i = 0; i + 1 < blocks.size(); ++i)
        choose->addCase(b_.getInt32(static_cast<uint32_t>(i)), blocks[i]);
    }
    for (size_t i = 0; i < blocks.size(); ++i) {
      b_.SetInsertPoint(blocks[i]);
      EmitSteps(step.lists[i]);
      b_.CreateBr(join);
    }
    b_.SetInsertPoint(join);
  }

  const Program& program_;
  const EmitOptions& options_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  llvm::Value* limit_ = nullptr;
  int loops_ = 0;
  using Key = std::tuple<int, int64_t, int64_t>;  // allocation, offset, size
  static Key KeyOf(const BufferSlice& slice) {
    return {slice.allocation, slice.offset, slice.size};
  }
  std::map<Key, Place> places_;
};

// What was just put into a vector need not be taken out of it again.
void ForwardLanes(llvm::Function& function) {
  const auto number = [](const llvm::Value* v) { return llvm::dyn_cast<llvm::ConstantInt>(v); };
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* const extract = llvm::dyn_cast<llvm::ExtractElementInst>(&instruction);
    if (extract == nullptr || number(extract->getIndexOperand()) == nullptr) continue;
    const uint64_t lane = number(extract->getIndexOperand())->getZExtValue();
    auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(extract->getVectorOperand());
    while (insert != nullptr && number(insert->getOperand(2)) != nullptr) {
      if (number(insert->getOperand(2))->getZExtValue() == lane) {
        extract->replaceAllUsesWith(insert->getOperand(1));
        extract->eraseFromParent();
        break;
      }
      extract->setOperand(0, insert->getOperand(0));
      insert = llvm::dyn_cast<llvm::InsertElementInst>(insert->getOperand(0));
    }
  }
}

// Variables to registers, then what does not change out of the loops. Nothing that evaluates or
// simplifies arithmetic: the processor's treatment of denormals is not LLVM's.
void PutInRegisters(llvm::Function& function) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.run(function, functions);
  ForwardLanes(function);
  passes = llvm::FunctionPassManager();
  functions.invalidate(function, llvm::PreservedAnalyses::none());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                       /*UseMemorySSA=*/true));
  passes.run(function, functions);
}

}  // namespace

absl::StatusOr<llvm::Function*> EmitProgram(const Program& program, std::string_view name,
                                            const EmitOptions& options, llvm::Module& module) {
  llvm::Function* const function = LoopProgramEmitter(program, options, module).Emit(name);
  PutInRegisters(*function);
  return function;
}

}  // namespace hlo::cpu::tile
