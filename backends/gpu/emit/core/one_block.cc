#include "backends/gpu/emit/core/one_block.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <map>

#include "backends/gpu/emit/core/kernel_builder.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr unsigned kBlockMemory = 3;

absl::StatusOr<std::unique_ptr<llvm::Module>> Read(const std::string& bitcode,
                                                   llvm::LLVMContext& context) {
  const llvm::MemoryBufferRef buffer(llvm::StringRef(bitcode.data(), bitcode.size()), "kernel");
  auto parsed = llvm::parseBitcodeFile(buffer, context);
  if (!parsed) return Internal("cannot read bitcode: {}", llvm::toString(parsed.takeError()));
  return std::move(*parsed);
}

std::vector<llvm::IntrinsicInst*> DeviceCalls(llvm::Function& function) {
  std::vector<llvm::IntrinsicInst*> calls;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (call != nullptr && call->getCalledFunction()->getName().starts_with("llvm.nvvm."))
        calls.push_back(call);
    }
  }
  return calls;
}

// The number of the barrier that a call waits at; -1: it does not.
int BarrierOf(const llvm::IntrinsicInst& call) {
  if (call.getIntrinsicID() == llvm::Intrinsic::nvvm_barrier0) return 0;
  if (call.getIntrinsicID() != llvm::Intrinsic::nvvm_barrier) return -1;
  return static_cast<int>(llvm::cast<llvm::ConstantInt>(call.getArgOperand(0))->getZExtValue());
}

class OneBlockEmission {
 public:
  OneBlockEmission(absl::Span<const BlockStep> steps, const BlockLoop& loop, int pointers,
                   int threads)
      : steps_(steps),
        loop_(loop),
        threads_(static_cast<uint32_t>(threads)),
        module_("kernel", context_),
        linker_(module_),
        b_(context_) {
    SetDeviceTarget(module_);
    std::vector<llvm::Type*> types(static_cast<size_t>(pointers),
                                   llvm::PointerType::get(context_, 1));
    if (loop.go_on) types.push_back(b_.getInt64Ty());
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                       llvm::GlobalValue::ExternalLinkage, kKernelName, module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    for (unsigned i = 0; i < static_cast<unsigned>(pointers); ++i)
      function_->addParamAttr(i, llvm::Attribute::getWithAlignment(context_, llvm::Align(64)));
    AnnotateKernel(*function_, "kernel", 1);
    AnnotateKernel(*function_, "maxntidx", threads);
  }

  absl::StatusOr<std::string> Run() {
    b_.SetInsertPoint(NewBlock("entry"));
    thread_ = b_.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {}, {});
    RETURN_IF_ERROR(EmitLoop());
    b_.CreateRetVoid();
    RETURN_IF_ERROR(InlineAll());
    OverlaySharedMemory();
    return ToBitcode(module_);
  }

 private:
  // A kernel as a function of its arguments, the thread's number and the block's.
  struct Callee {
    llvm::Function* function = nullptr;
    int last_barrier = -1;  // the largest number of a barrier in it
    bool has_barriers() const { return last_barrier >= 0; }
  };

  llvm::BasicBlock* NewBlock(const char* name) {
    return llvm::BasicBlock::Create(context_, name, function_);
  }

  void Barrier() { b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {}); }

  llvm::Value* Address(const BlockPlace& place) {
    llvm::Value* const base = function_->getArg(static_cast<unsigned>(place.pointer));
    return place.offset == 0 ? base
                             : b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base,
                                                             static_cast<uint64_t>(place.offset));
  }

  // ---- structure ----

  absl::Status EmitLoop() {
    if (loop_.trips == 1 && !loop_.go_on) return EmitSteps();
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    llvm::BasicBlock* const body = NewBlock("trip");
    llvm::BasicBlock* const after = NewBlock("after");
    b_.CreateBr(body);
    b_.SetInsertPoint(body);
    llvm::PHINode* const trip = b_.CreatePHI(b_.getInt64Ty(), 2, "trips");
    trip->addIncoming(b_.getInt64(0), before);
    RETURN_IF_ERROR(EmitSteps());
    llvm::Value* const done = b_.CreateAdd(trip, b_.getInt64(1));
    llvm::Value* again = nullptr;
    if (loop_.go_on) {
      llvm::Value* const byte =
          b_.CreateAlignedLoad(b_.getInt8Ty(), Address(*loop_.go_on), llvm::Align(1));
      // All threads have read it before the next trip writes it.
      Barrier();
      again = b_.CreateAnd(
          b_.CreateICmpNE(byte, b_.getInt8(0)),
          b_.CreateICmpULT(done,
                           function_->getArg(static_cast<unsigned>(function_->arg_size()) - 1)));
    } else {
      again = b_.CreateICmpULT(done, b_.getInt64(static_cast<uint64_t>(loop_.trips)));
    }
    trip->addIncoming(done, b_.GetInsertBlock());
    b_.CreateCondBr(again, body, after);
    b_.SetInsertPoint(after);
    return absl::OkStatus();
  }

  absl::Status EmitSteps() {
    for (const BlockStep& step : steps_) {
      if (step.bitcode == nullptr) {
        EmitCopy(step);
      } else {
        RETURN_IF_ERROR(EmitKernel(step));
      }
      Barrier();
    }
    return absl::OkStatus();
  }

  // for (i = first; i < end; i += step) body(i)
  void For(llvm::Value* first, uint32_t end, uint32_t step,
           const std::function<void(llvm::Value*)>& body) {
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    llvm::BasicBlock* const head = NewBlock("head");
    llvm::BasicBlock* const inside = NewBlock("inside");
    llvm::BasicBlock* const after = NewBlock("after");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::PHINode* const i = b_.CreatePHI(b_.getInt32Ty(), 2);
    i->addIncoming(first, before);
    b_.CreateCondBr(b_.CreateICmpULT(i, b_.getInt32(end)), inside, after);
    b_.SetInsertPoint(inside);
    body(i);
    i->addIncoming(b_.CreateAdd(i, b_.getInt32(step)), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(after);
  }
  void If(llvm::Value* condition, const std::function<void()>& body) {
    llvm::BasicBlock* const then = NewBlock("then");
    llvm::BasicBlock* const after = NewBlock("after");
    b_.CreateCondBr(condition, then, after);
    b_.SetInsertPoint(then);
    body();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  void EmitCopy(const BlockStep& step) {
    const int64_t all = step.buffers[0].offset | step.buffers[1].offset | step.bytes;
    const int64_t unit = all % 16 == 0 ? 16 : all % 4 == 0 ? 4 : 1;
    llvm::Type* const type = unit == 16  ? llvm::FixedVectorType::get(b_.getInt32Ty(), 4)
                             : unit == 4 ? b_.getInt32Ty()
                                         : llvm::cast<llvm::Type>(b_.getInt8Ty());
    const llvm::Align align(static_cast<uint64_t>(unit));
    llvm::Value* const from = Address(step.buffers[0]);
    llvm::Value* const to = Address(step.buffers[1]);
    For(thread_, static_cast<uint32_t>(step.bytes / unit), threads_, [&](llvm::Value* i) {
      llvm::Value* const value = b_.CreateAlignedLoad(type, b_.CreateGEP(type, from, i), align);
      b_.CreateAlignedStore(value, b_.CreateGEP(type, to, i), align);
    });
  }

  absl::Status EmitKernel(const BlockStep& step) {
    ASSIGN_OR_RETURN(const Callee callee, CalleeOf(step));
    const auto own = static_cast<uint32_t>(step.dims.block);
    const auto blocks = static_cast<uint32_t>(step.dims.grid[0]);
    std::vector<llvm::Value*> arguments;
    for (const BlockPlace& place : step.buffers) arguments.push_back(Address(place));
    for (const int64_t integer : step.integers)
      arguments.push_back(b_.getInt64(static_cast<uint64_t>(integer)));
    const auto call = [&](llvm::Value* thread, llvm::Value* block) {
      std::vector<llvm::Value*> all = arguments;
      all.push_back(thread);
      all.push_back(block);
      calls_.push_back(b_.CreateCall(callee.function, all));
    };
    if (!callee.has_barriers()) {
      const uint32_t together = threads_ / own;
      llvm::Value* const first = b_.CreateUDiv(thread_, b_.getInt32(own));
      llvm::Value* const thread = b_.CreateURem(thread_, b_.getInt32(own));
      if (blocks <= together) {
        If(b_.CreateICmpULT(first, b_.getInt32(blocks)), [&] { call(thread, first); });
      } else {
        // What is left over when `own` does not divide the block has no part in it.
        If(b_.CreateICmpULT(first, b_.getInt32(together)),
           [&] { For(first, blocks, together, [&](llvm::Value* block) { call(thread, block); }); });
      }
      return absl::OkStatus();
    }
    const auto all_blocks = [&] {
      if (blocks == 1) return call(thread_, b_.getInt32(0));
      For(b_.getInt32(0), blocks, 1, [&](llvm::Value* block) {
        call(thread_, block);
        BarrierOfSome(callee.last_barrier, own, b_);  // shared memory serves the next one
      });
    };
    if (own == threads_) {
      all_blocks();
    } else {
      If(b_.CreateICmpULT(thread_, b_.getInt32(own)), all_blocks);
    }
    return absl::OkStatus();
  }

  // Of the first `threads` threads, at a barrier that others do not wait at.
  void BarrierOfSome(int number, uint32_t threads, llvm::IRBuilder<>& b) const {
    if (threads == threads_) {
      b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
    } else {
      b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier, {},
                        {b.getInt32(static_cast<uint32_t>(number)), b.getInt32(threads)});
    }
  }

  // ---- kernels as functions ----

  absl::StatusOr<Callee> CalleeOf(const BlockStep& step) {
    const auto [it, is_new] =
        callees_.try_emplace(std::pair(step.bitcode, step.dims.block), Callee());
    if (!is_new) return it->second;
    ASSIGN_OR_RETURN(std::unique_ptr<llvm::Module> one, Read(*step.bitcode, context_));
    llvm::Function* const kernel = one->getFunction(kKernelName);
    RET_CHECK(kernel != nullptr, "a kernel has no function");
    const std::string name = fmt::format("step{}", callees_.size());
    kernel->setName(name);
    if (llvm::NamedMDNode* annotations = one->getNamedMetadata("nvvm.annotations"))
      annotations->eraseFromParent();
    RET_CHECK(!linker_.linkInModule(std::move(one)), "a kernel does not link");
    for (const llvm::GlobalVariable& global : module_.globals()) {
      if (global.getAddressSpace() == kBlockMemory) step_of_.try_emplace(&global, callees_.size());
    }
    it->second = AsFunction(*module_.getFunction(name), static_cast<uint32_t>(step.dims.block));
    return it->second;
  }

  Callee AsFunction(llvm::Function& kernel, uint32_t own) {
    std::vector<llvm::Type*> types;
    for (const llvm::Argument& argument : kernel.args()) types.push_back(argument.getType());
    types.resize(types.size() + 2, b_.getInt32Ty());
    // Without the kernel's attributes: other steps write what this one only reads.
    auto* const function = llvm::Function::Create(
        llvm::FunctionType::get(b_.getVoidTy(), types, false), llvm::GlobalValue::InternalLinkage,
        kernel.getName() + ".body", module_);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->splice(function->begin(), &kernel);
    const auto count = static_cast<unsigned>(kernel.arg_size());
    for (unsigned i = 0; i < count; ++i) kernel.getArg(i)->replaceAllUsesWith(function->getArg(i));
    kernel.eraseFromParent();
    Callee callee{function};
    const std::vector<llvm::IntrinsicInst*> calls = DeviceCalls(*function);
    for (const llvm::IntrinsicInst* call : calls)
      callee.last_barrier = std::max(callee.last_barrier, BarrierOf(*call));
    // That of all its threads is no longer that of all of the block's.
    if (callee.has_barriers() && own != threads_) ++callee.last_barrier;
    for (llvm::IntrinsicInst* call : calls) {
      llvm::Value* value = nullptr;
      switch (call->getIntrinsicID()) {
        case llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x: value = function->getArg(count); break;
        case llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x:
          value = function->getArg(count + 1);
          break;
        case llvm::Intrinsic::nvvm_barrier0: {
          llvm::IRBuilder<> at(call);
          BarrierOfSome(callee.last_barrier, own, at);
          call->eraseFromParent();
          continue;
        }
        default: continue;
      }
      call->replaceAllUsesWith(value);
      call->eraseFromParent();
    }
    return callee;
  }

  absl::Status InlineAll() {
    for (llvm::CallInst* call : calls_) {
      llvm::InlineFunctionInfo info;
      RET_CHECK(llvm::InlineFunction(*call, info).isSuccess(), "a kernel cannot be inlined");
    }
    for (const auto& [key, callee] : callees_) callee.function->eraseFromParent();
    return absl::OkStatus();
  }

  // No two steps use shared memory at the same time: they use the same.
  void OverlaySharedMemory() {
    llvm::SmallVector<llvm::Constant*> all;
    for (llvm::GlobalVariable& global : module_.globals()) {
      if (global.getAddressSpace() == kBlockMemory) all.push_back(&global);
    }
    if (all.size() < 2) return;
    llvm::convertUsersOfConstantsToInstructions(all);
    // Arrays of one kernel lie side by side.
    uint64_t largest = 0;
    std::map<size_t, uint64_t> used;
    std::map<llvm::GlobalVariable*, uint64_t> offset;
    for (llvm::Constant* constant : all) {
      auto* const global = llvm::cast<llvm::GlobalVariable>(constant);
      uint64_t& end = used[step_of_.at(global)];
      end = static_cast<uint64_t>(RoundUp(static_cast<int64_t>(end), 16));
      offset[global] = end;
      end += module_.getDataLayout().getTypeAllocSize(global->getValueType()).getFixedValue();
      largest = std::max(largest, end);
    }
    auto* const type = llvm::ArrayType::get(b_.getInt8Ty(), largest);
    auto* const memory = new llvm::GlobalVariable(
        module_, type, false, llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(type),
        "shared", nullptr, llvm::GlobalValue::NotThreadLocal, kBlockMemory);
    memory->setAlignment(llvm::Align(16));
    llvm::BasicBlock& entry = function_->getEntryBlock();
    b_.SetInsertPoint(&entry, entry.begin());
    for (llvm::Constant* constant : all) {
      auto* const global = llvm::cast<llvm::GlobalVariable>(constant);
      global->replaceAllUsesWith(
          b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), memory, offset[global]));
      global->eraseFromParent();
    }
  }

  absl::Span<const BlockStep> steps_;
  const BlockLoop& loop_;
  uint32_t threads_;
  llvm::LLVMContext context_;
  llvm::Module module_;
  llvm::Linker linker_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  llvm::Value* thread_ = nullptr;
  std::map<std::pair<const std::string*, int>, Callee> callees_;  // in no order that shows
  std::map<const llvm::GlobalVariable*, size_t> step_of_;         // shared memory; looked up only
  std::vector<llvm::CallInst*> calls_;
};

}  // namespace

BlockFacts FactsOf(const std::string& bitcode) {
  llvm::LLVMContext context;
  const absl::StatusOr<std::unique_ptr<llvm::Module>> module = Read(bitcode, context);
  if (!module.ok()) return {};
  llvm::Function* const kernel = (*module)->getFunction(kKernelName);
  if (kernel == nullptr) return {};
  BlockFacts facts{true, false};
  for (const llvm::IntrinsicInst* call : DeviceCalls(*kernel)) {
    facts.has_barriers = facts.has_barriers || BarrierOf(*call) >= 0;
    switch (call->getIntrinsicID()) {
      case llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y:
      case llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z: facts.fits = false; break;
      default: break;
    }
  }
  return facts;
}

absl::StatusOr<std::string> EmitOneBlock(absl::Span<const BlockStep> steps, const BlockLoop& loop,
                                         int pointers, int threads) {
  return OneBlockEmission(steps, loop, pointers, threads).Run();
}

}  // namespace hlo::gpu
