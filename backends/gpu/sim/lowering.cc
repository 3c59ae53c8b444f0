#include "backends/gpu/sim/lowering.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/ModuleSlotTracker.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/Support/raw_ostream.h>

#include <cstddef>
#include <optional>

#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr unsigned kGlobalSpace = 1;
constexpr unsigned kSharedSpace = 3;

// A register that a thread reads: where it is in its SimThread.
std::optional<size_t> OffsetOfRegister(llvm::Intrinsic::ID id) {
  using namespace llvm::Intrinsic;  // NOLINT: the names are long enough
  constexpr std::pair<ID, size_t> kRegisters[] = {
      {nvvm_read_ptx_sreg_tid_x, offsetof(SimThread, tid)},
      {nvvm_read_ptx_sreg_ctaid_x, offsetof(SimThread, ctaid)},
      {nvvm_read_ptx_sreg_ctaid_y, offsetof(SimThread, ctaid) + 4},
      {nvvm_read_ptx_sreg_ctaid_z, offsetof(SimThread, ctaid) + 8},
      {nvvm_read_ptx_sreg_ntid_x, offsetof(SimThread, ntid)},
      {nvvm_read_ptx_sreg_nctaid_x, offsetof(SimThread, nctaid)},
      {nvvm_read_ptx_sreg_nctaid_y, offsetof(SimThread, nctaid) + 4},
      {nvvm_read_ptx_sreg_nctaid_z, offsetof(SimThread, nctaid) + 8},
  };
  for (const auto& [key, offset] : kRegisters) {
    if (key == id) return offset;
  }
  return std::nullopt;
}

std::optional<WarpOp> WarpOpOf(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::nvvm_shfl_sync_down_i32: return WarpOp::kShuffleDown;
    case llvm::Intrinsic::nvvm_shfl_sync_up_i32: return WarpOp::kShuffleUp;
    case llvm::Intrinsic::nvvm_shfl_sync_bfly_i32: return WarpOp::kShuffleXor;
    case llvm::Intrinsic::nvvm_shfl_sync_idx_i32: return WarpOp::kShuffleIndex;
    case llvm::Intrinsic::nvvm_vote_ballot_sync: return WarpOp::kBallot;
    default: return std::nullopt;
  }
}

std::optional<TensorOp> TensorOpOf(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16: return TensorOp::kMmaBf16;
    case llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32: return TensorOp::kMmaF16;
    case llvm::Intrinsic::nvvm_mma_m16n8k8_row_col_tf32: return TensorOp::kMmaTf32;
    case llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16: return TensorOp::kLoadMatrix;
    case llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16:
      return TensorOp::kLoadMatrixTrans;
    default: return std::nullopt;
  }
}

class KernelLowering {
 public:
  KernelLowering(llvm::Module& module, llvm::Function& kernel, const LoweringOptions& options)
      : module_(module),
        context_(module.getContext()),
        old_(kernel),
        options_(options),
        b_(context_) {
    info_.name = kernel.getName().str();
  }

  absl::StatusOr<SimKernelInfo> Run() {
    AddThreadArgument();
    RETURN_IF_ERROR(LowerShared());
    NumberValues();
    RETURN_IF_ERROR(LowerIntrinsics());
    LowerRoundings();
    if (options_.sanitize) {
      NumberValues();
      Watch();
    }
    MakeEntry();
    return std::move(info_);
  }

 private:
  void AddThreadArgument() {
    std::vector<llvm::Type*> types;
    for (const llvm::Argument& argument : old_.args()) types.push_back(argument.getType());
    types.push_back(b_.getPtrTy());
    auto* const type = llvm::FunctionType::get(b_.getVoidTy(), types, false);
    kernel_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, info_.name + ".sim",
                                     module_);
    kernel_->splice(kernel_->begin(), &old_);
    for (unsigned i = 0; i < old_.arg_size(); ++i)
      old_.getArg(i)->replaceAllUsesWith(kernel_->getArg(i));
    kernel_->addFnAttr(llvm::Attribute::NoUnwind);
    thread_ = kernel_->getArg(old_.arg_size());
    llvm::BasicBlock& entry = kernel_->getEntryBlock();
    b_.SetInsertPoint(&entry, entry.getFirstInsertionPt());
    llvm::Value* const slot = Field(offsetof(SimThread, shared));
    shared_ = b_.CreateLoad(llvm::PointerType::get(context_, kSharedSpace), slot, "shared");
  }

  llvm::Value* Field(size_t offset) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), thread_, offset);
  }

  // Shared variables used by this kernel get offsets.
  absl::Status LowerShared() {
    for (llvm::GlobalVariable& global : module_.globals()) {
      if (global.getAddressSpace() != kSharedSpace) continue;
      std::vector<llvm::Use*> uses;
      for (llvm::Use& use : global.uses()) {
        const auto* user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
        RET_CHECK(user != nullptr, "a constant uses shared variable `{}`", global.getName().str());
        if (user->getFunction() == kernel_) uses.push_back(&use);
      }
      if (uses.empty()) continue;
      const auto align = static_cast<int64_t>(global.getAlign().valueOrOne().value());
      const int64_t offset = RoundUp(info_.shared_bytes, align);
      info_.shared_bytes =
          offset +
          static_cast<int64_t>(module_.getDataLayout().getTypeAllocSize(global.getValueType()));
      b_.SetInsertPoint(llvm::cast<llvm::Instruction>(shared_)->getNextNode());
      llvm::Value* const address =
          b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), shared_, offset, global.getName());
      for (llvm::Use* use : uses) use->set(address);
    }
    return absl::OkStatus();
  }

  llvm::FunctionCallee Runtime(const char* name, llvm::Type* result,
                               llvm::ArrayRef<llvm::Type*> types) {
    return module_.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
  }

  // Texts of places number the values of the kernel. Counted for each of them, a kernel of many
  // places would take the square of its length.
  void NumberValues() {
    numbers_.emplace(&module_, /*ShouldInitializeAllMetadata=*/false);
    numbers_->incorporateFunction(*kernel_);
  }

  // A number for a place in the kernel, kept for messages.
  llvm::Value* Site(const llvm::Instruction& instruction) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    instruction.print(stream, *numbers_, /*IsForDebug=*/false);
    text.erase(0, text.find_first_not_of(' '));
    info_.sites.push_back(std::move(text));
    return b_.getInt32(static_cast<uint32_t>(info_.sites.size() - 1));
  }

  absl::Status LowerIntrinsics() {
    std::vector<llvm::IntrinsicInst*> calls;
    for (llvm::BasicBlock& block : *kernel_) {
      for (llvm::Instruction& instruction : block) {
        if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
          if (call->getCalledFunction()->getName().starts_with("llvm.nvvm.")) calls.push_back(call);
        }
      }
    }
    for (llvm::IntrinsicInst* call : calls) {
      b_.SetInsertPoint(call);
      ASSIGN_OR_RETURN(llvm::Value* const value, LowerCall(*call));
      if (value != nullptr) call->replaceAllUsesWith(value);
      call->eraseFromParent();
    }
    return absl::OkStatus();
  }

  absl::StatusOr<llvm::Value*> LowerCall(llvm::IntrinsicInst& call) {
    const llvm::Intrinsic::ID id = call.getIntrinsicID();
    llvm::Type* const i32 = b_.getInt32Ty();
    if (const auto offset = OffsetOfRegister(id)) return b_.CreateLoad(i32, Field(*offset));
    if (id == llvm::Intrinsic::nvvm_barrier0) return LowerBarrier(b_.getInt32(0), call);
    if (id == llvm::Intrinsic::nvvm_barrier) return LowerBarrier(call.getArgOperand(1), call);
    if (const auto op = WarpOpOf(id)) {
      info_.needs_fibers = true;
      const bool ballot = *op == WarpOp::kBallot;
      llvm::Value* value = call.getArgOperand(1);
      if (ballot) value = b_.CreateZExt(value, i32);
      const auto callee = Runtime("hlo_sim_warp", i32, {b_.getPtrTy(), i32, i32, i32, i32, i32});
      return b_.CreateCall(
          callee, {thread_, b_.getInt32(static_cast<uint32_t>(*op)), call.getArgOperand(0), value,
                   ballot ? b_.getInt32(0) : call.getArgOperand(2), Site(call)});
    }
    if (const auto op = TensorOpOf(id)) return LowerTensor(call, *op);
    return Internal("the simulator does not know `{}`", call.getCalledFunction()->getName().str());
  }

  // Of `threads` threads; 0: of all.
  llvm::Value* LowerBarrier(llvm::Value* threads, const llvm::IntrinsicInst& call) {
    info_.needs_fibers = true;
    llvm::Type* const i32 = b_.getInt32Ty();
    b_.CreateCall(Runtime("hlo_sim_barrier", b_.getVoidTy(), {b_.getPtrTy(), i32, i32}),
                  {thread_, threads, Site(call)});
    return nullptr;
  }

  // This processor need not have an instruction that rounds f32 to bf16.
  void LowerRoundings() {
    std::vector<llvm::FPTruncInst*> found;
    for (llvm::BasicBlock& block : *kernel_) {
      for (llvm::Instruction& instruction : block) {
        auto* const rounding = llvm::dyn_cast<llvm::FPTruncInst>(&instruction);
        if (rounding != nullptr && rounding->getType()->isBFloatTy()) found.push_back(rounding);
      }
    }
    for (llvm::FPTruncInst* rounding : found) {
      b_.SetInsertPoint(rounding);
      llvm::Value* const x = rounding->getOperand(0);
      llvm::Value* const bits = b_.CreateBitCast(x, b_.getInt32Ty());
      // To the nearest, to even in the middle; a NaN stays one.
      llvm::Value* const is_odd = b_.CreateAnd(b_.CreateLShr(bits, 16), 1);
      llvm::Value* const rounded = b_.CreateAdd(bits, b_.CreateAdd(is_odd, b_.getInt32(0x7fff)));
      llvm::Value* const code =
          b_.CreateSelect(b_.CreateFCmpUNO(x, x), b_.CreateOr(bits, 0x400000), rounded);
      llvm::Value* const high = b_.CreateTrunc(b_.CreateLShr(code, 16), b_.getInt16Ty());
      rounding->replaceAllUsesWith(b_.CreateBitCast(high, b_.getBFloatTy()));
      rounding->eraseFromParent();
    }
  }

  // The arguments go into a TensorPayload on the stack, the results come from it.
  llvm::Value* LowerTensor(llvm::IntrinsicInst& call, TensorOp op) {
    info_.needs_fibers = true;
    llvm::Type* const i32 = b_.getInt32Ty();
    if (payload_ == nullptr) {
      llvm::IRBuilder<> entry(llvm::cast<llvm::Instruction>(shared_)->getNextNode());
      payload_ = entry.CreateAlloca(
          llvm::ArrayType::get(i32, sizeof(TensorPayload) / sizeof(uint32_t)), nullptr, "payload");
    }
    const auto word = [&](size_t i) { return b_.CreateConstInBoundsGEP1_64(i32, payload_, i); };
    size_t next = 0;
    for (llvm::Value* argument : call.args()) {
      if (argument->getType()->isPointerTy())
        argument = b_.CreatePtrToInt(argument, b_.getInt64Ty());
      b_.CreateAlignedStore(argument, word(next), llvm::Align(4));
      next += argument->getType()->getPrimitiveSizeInBits() / 32;
    }
    b_.CreateCall(
        Runtime("hlo_sim_tensor", b_.getVoidTy(), {b_.getPtrTy(), i32, b_.getPtrTy(), i32}),
        {thread_, b_.getInt32(static_cast<uint32_t>(op)), payload_, Site(call)});
    if (LoadsMatrix(op)) {
      constexpr int kRowBytes = 16;
      while (kRowBytes % info_.shared_granule != 0) info_.shared_granule /= 2;
    }
    auto* const type = llvm::cast<llvm::StructType>(call.getType());
    llvm::Value* result = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < type->getNumElements(); ++i) {
      llvm::Value* const at = word(offsetof(TensorPayload, out) / sizeof(uint32_t) + i);
      result = b_.CreateInsertValue(result, b_.CreateLoad(type->getElementType(i), at), i);
    }
    return result;
  }

  // ---- watching accesses ----

  struct Access {
    llvm::Instruction* at;
    llvm::Value* pointer;
    llvm::Type* type;
    uint64_t align;
    SimAccess kind;
  };

  static std::optional<Access> AccessOf(llvm::Instruction& i) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) {
      return Access{&i, load->getPointerOperand(), load->getType(), load->getAlign().value(),
                    SimAccess::kRead};
    }
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) {
      return Access{&i, store->getPointerOperand(), store->getValueOperand()->getType(),
                    store->getAlign().value(), SimAccess::kWrite};
    }
    if (auto* rmw = llvm::dyn_cast<llvm::AtomicRMWInst>(&i)) {
      return Access{&i, rmw->getPointerOperand(), rmw->getType(), rmw->getAlign().value(),
                    SimAccess::kAtomic};
    }
    if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&i)) {
      return Access{&i, exchange->getPointerOperand(), exchange->getNewValOperand()->getType(),
                    exchange->getAlign().value(), SimAccess::kAtomic};
    }
    return std::nullopt;
  }

  void Watch() {
    std::vector<Access> accesses;
    for (llvm::BasicBlock& block : *kernel_) {
      for (llvm::Instruction& instruction : block) {
        const auto access = AccessOf(instruction);
        if (!access) continue;
        const unsigned space = access->pointer->getType()->getPointerAddressSpace();
        if (space == kGlobalSpace || space == kSharedSpace) accesses.push_back(*access);
      }
    }
    llvm::Type* const i32 = b_.getInt32Ty();
    const auto callee = Runtime("hlo_sim_access", b_.getVoidTy(),
                                {b_.getPtrTy(), b_.getInt64Ty(), i32, i32, i32, i32, i32});
    for (const Access& access : accesses) {
      const bool shared = access.pointer->getType()->getPointerAddressSpace() == kSharedSpace;
      const auto bytes =
          static_cast<int>(module_.getDataLayout().getTypeStoreSize(access.type).getFixedValue());
      int& granule = shared ? info_.shared_granule : info_.global_granule;
      while (bytes % granule != 0) granule /= 2;
      b_.SetInsertPoint(access.at);
      const auto number = [&](int64_t v) { return b_.getInt32(static_cast<uint32_t>(v)); };
      b_.CreateCall(callee, {thread_, b_.CreatePtrToInt(access.pointer, b_.getInt64Ty()),
                             number(bytes), number(static_cast<int64_t>(access.align)),
                             number(static_cast<int64_t>(access.kind)),
                             number(shared ? -2 : ArgumentOf(access.pointer)), Site(*access.at)});
    }
  }

  // The kernel argument that `pointer` points into; -1: not known.
  int64_t ArgumentOf(llvm::Value* pointer) const {
    const auto* argument =
        llvm::dyn_cast<llvm::Argument>(llvm::getUnderlyingObject(pointer, /*MaxLookup=*/0));
    return argument == nullptr ? -1 : static_cast<int64_t>(argument->getArgNo());
  }

  // void name.entry(ptr arguments, ptr thread)
  void MakeEntry() {
    auto* const type =
        llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy()}, false);
    auto* const entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                               info_.name + ".entry", module_);
    entry->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", entry));
    std::vector<llvm::Value*> values;
    for (unsigned i = 0; i < old_.arg_size(); ++i) {
      llvm::Value* const slot = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), entry->getArg(0), i);
      values.push_back(b_.CreateLoad(old_.getArg(i)->getType(), slot));
    }
    values.push_back(entry->getArg(1));
    b_.CreateCall(kernel_, values);
    b_.CreateRetVoid();
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::Function& old_;
  const LoweringOptions& options_;
  llvm::IRBuilder<> b_;
  llvm::Function* kernel_ = nullptr;
  llvm::Value* thread_ = nullptr;
  llvm::Value* shared_ = nullptr;
  llvm::Value* payload_ = nullptr;
  SimKernelInfo info_;
  std::optional<llvm::ModuleSlotTracker> numbers_;
};

}  // namespace

absl::StatusOr<std::vector<SimKernelInfo>> LowerForSimulator(llvm::Module& module,
                                                             absl::Span<const KernelEntry> kernels,
                                                             const LoweringOptions& options) {
  llvm::SmallVector<llvm::Constant*> shared;
  for (llvm::GlobalVariable& global : module.globals()) {
    if (global.getAddressSpace() == kSharedSpace) shared.push_back(&global);
  }
  llvm::convertUsersOfConstantsToInstructions(shared);
  std::vector<SimKernelInfo> infos;
  for (const KernelEntry& entry : kernels) {
    llvm::Function* const kernel = module.getFunction(entry.name);
    RET_CHECK(kernel != nullptr && !kernel->isDeclaration(), "no kernel `{}` in the module",
              entry.name);
    ASSIGN_OR_RETURN(SimKernelInfo info, KernelLowering(module, *kernel, options).Run());
    kernel->eraseFromParent();
    infos.push_back(std::move(info));
  }
  if (llvm::NamedMDNode* annotations = module.getNamedMetadata("nvvm.annotations"))
    annotations->eraseFromParent();
  llvm::SmallVector<llvm::GlobalVariable*> unused;
  for (llvm::GlobalVariable& global : module.globals()) {
    if (global.getAddressSpace() == kSharedSpace && global.use_empty()) unused.push_back(&global);
  }
  for (llvm::GlobalVariable* global : unused) global->eraseFromParent();
  return infos;
}

}  // namespace hlo::gpu
