#include "backends/gpu/emit/core/kernel_builder.h"

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr unsigned kGlobalMemory = 1;
constexpr unsigned kSharedMemory = 3;
constexpr int64_t kLargest32 = (int64_t{1} << 31) - 4096;

// No access of a GPU is wider than 16 bytes.
llvm::Align VectorAlign(int bytes) {
  return llvm::Align(static_cast<uint64_t>(std::min(bytes, 16)));
}

}  // namespace

void SetDeviceTarget(llvm::Module& module) {
  module.setTargetTriple("nvptx64-nvidia-cuda");
  module.setDataLayout("e-i64:64-i128:128-v16:16-v32:32-n16:32:64");
}

void AnnotateKernel(llvm::Function& kernel, const char* key, int value) {
  llvm::LLVMContext& context = kernel.getContext();
  llvm::Metadata* const row[] = {
      llvm::ValueAsMetadata::get(&kernel), llvm::MDString::get(context, key),
      llvm::ConstantAsMetadata::get(
          llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), static_cast<uint32_t>(value)))};
  kernel.getParent()
      ->getOrInsertNamedMetadata("nvvm.annotations")
      ->addOperand(llvm::MDNode::get(context, row));
}

absl::StatusOr<std::string> ToBitcode(const llvm::Module& module) {
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  RET_CHECK(!llvm::verifyModule(module, &problems), "the emitter wrote wrong LLVM IR: {}",
            problems.str());
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  stream.flush();
  return bitcode;
}

KernelBuilder::KernelBuilder(llvm::Module& module, std::string_view name,
                             std::vector<BufferParam> buffers, int integers, int block_threads,
                             int64_t largest)
    : IndexBuilder(module.getContext(), IndicesFitIn32(buffers, largest) ? 32 : 64),
      module_(module),
      context_(module.getContext()),
      buffers_(std::move(buffers)),
      block_threads_(block_threads) {
  std::vector<llvm::Type*> types(buffers_.size(), llvm::PointerType::get(context_, kGlobalMemory));
  types.resize(types.size() + static_cast<size_t>(integers), b_.getInt64Ty());
  function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                     llvm::GlobalValue::ExternalLinkage,
                                     llvm::StringRef(name.data(), name.size()), module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const auto number = static_cast<unsigned>(i);
    function_->addParamAttr(number, llvm::Attribute::getWithAlignment(context_, llvm::Align(64)));
    if (!buffers_[i].shared) function_->addParamAttr(number, llvm::Attribute::NoAlias);
    if (!buffers_[i].written) function_->addParamAttr(number, llvm::Attribute::ReadOnly);
  }
  Annotate("kernel", 1);
  Annotate("maxntidx", block_threads);
  b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));
  OpenScope();
}

void KernelBuilder::Annotate(const char* key, int value) { AnnotateKernel(*function_, key, value); }

bool KernelBuilder::IndicesFitIn32(const std::vector<BufferParam>& buffers, int64_t largest) {
  if (largest * 2 >= kLargest32) return false;
  for (const BufferParam& buffer : buffers) {
    // Complex numbers and threads beyond the last element need some room.
    if (buffer.elements * 2 >= kLargest32) return false;
  }
  return true;
}

void KernelBuilder::Finish() { b_.CreateRetVoid(); }

llvm::BasicBlock* KernelBuilder::NewBlock(const char* name) {
  return llvm::BasicBlock::Create(context_, name, function_);
}

// ---- where a thread is ----

llvm::Value* KernelBuilder::Special(llvm::Intrinsic::ID id) {
  llvm::Value*& value = specials_[static_cast<int>(id)];
  if (value != nullptr) return value;
  // At the head of the function, where every later use sees it.
  llvm::BasicBlock& entry = function_->getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.begin());
  value = at.CreateIntrinsic(id, {}, {});
  if (index_type_ != value->getType()) value = at.CreateZExt(value, index_type_);
  return value;
}

llvm::Value* KernelBuilder::ThreadIndex() {
  return Special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
}

llvm::Value* KernelBuilder::BlockIndex(int axis) {
  return Special(axis == 0   ? llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x
                 : axis == 1 ? llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y
                             : llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z);
}

llvm::Value* KernelBuilder::Integer(int i) {
  return b_.CreateIntCast(WideInteger(i), index_type_, true);
}

llvm::Value* KernelBuilder::WideInteger(int i) {
  return function_->getArg(static_cast<unsigned>(buffers_.size()) + static_cast<unsigned>(i));
}

// ---- structure ----

namespace {

// The name of a loop (a node that begins with itself) that is not to be unrolled.
llvm::MDNode* RolledLoop(llvm::LLVMContext& context) {
  llvm::MDNode* const disable =
      llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
  llvm::MDNode* const loop = llvm::MDNode::getDistinct(context, {nullptr, disable});
  loop->replaceOperandWith(0, loop);
  return loop;
}

}  // namespace

absl::StatusOr<EmittedList> KernelBuilder::Guarded(llvm::Value* condition, const Make& on_true,
                                                   const Make& on_false) {
  int64_t known = 0;
  if (IsConstant(condition, &known)) return known != 0 ? on_true() : on_false();
  llvm::BasicBlock* const then_block = NewBlock("then");
  llvm::BasicBlock* const else_block = NewBlock("else");
  llvm::BasicBlock* const join = NewBlock("join");
  b_.CreateCondBr(condition, then_block, else_block);
  b_.SetInsertPoint(then_block);
  OpenScope();
  ASSIGN_OR_RETURN(const EmittedList first, on_true());
  CloseScope();
  llvm::BasicBlock* const then_end = b_.GetInsertBlock();
  b_.CreateBr(join);
  b_.SetInsertPoint(else_block);
  OpenScope();
  ASSIGN_OR_RETURN(const EmittedList second, on_false());
  CloseScope();
  llvm::BasicBlock* const else_end = b_.GetInsertBlock();
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  EmittedList result;
  for (size_t i = 0; i < first.size(); ++i) {
    const Emitted phi = AddPhi(b_, first[i]);
    AddIncoming(phi, first[i], then_end);
    AddIncoming(phi, second[i], else_end);
    result.push_back(phi);
  }
  return result;
}

absl::Status KernelBuilder::If(llvm::Value* condition, const std::function<absl::Status()>& body) {
  int64_t known = 0;
  if (IsConstant(condition, &known)) return known != 0 ? body() : absl::OkStatus();
  llvm::BasicBlock* const then_block = NewBlock("then");
  llvm::BasicBlock* const join = NewBlock("join");
  b_.CreateCondBr(condition, then_block, join);
  b_.SetInsertPoint(then_block);
  OpenScope();
  RETURN_IF_ERROR(body());
  CloseScope();
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  return absl::OkStatus();
}

absl::StatusOr<EmittedList> KernelBuilder::Loop(llvm::Value* lo, llvm::Value* hi, llvm::Value* step,
                                                EmittedList carried, const Body& body,
                                                bool rolled) {
  llvm::BasicBlock* const before = b_.GetInsertBlock();
  llvm::BasicBlock* const loop = NewBlock("loop");
  llvm::BasicBlock* const done = NewBlock("done");
  b_.CreateCondBr(b_.CreateICmpSLT(lo, hi), loop, done);
  b_.SetInsertPoint(loop);
  llvm::PHINode* const i = b_.CreatePHI(index_type_, 2);
  i->addIncoming(lo, before);
  EmittedList phis;
  for (const Emitted& value : carried) {
    const Emitted phi = AddPhi(b_, value);
    AddIncoming(phi, value, before);
    phis.push_back(phi);
  }
  OpenScope();
  ASSIGN_OR_RETURN(const EmittedList next, body(i, phis));
  CloseScope();
  RET_CHECK(next.size() == phis.size(), "a loop carries {} values, its body gives {}", phis.size(),
            next.size());
  llvm::BasicBlock* const last = b_.GetInsertBlock();
  llvm::Value* const after = b_.CreateNSWAdd(i, step);
  i->addIncoming(after, last);
  for (size_t k = 0; k < phis.size(); ++k) AddIncoming(phis[k], next[k], last);
  llvm::BranchInst* const again = b_.CreateCondBr(b_.CreateICmpSLT(after, hi), loop, done);
  if (rolled) again->setMetadata(llvm::LLVMContext::MD_loop, RolledLoop(context_));
  b_.SetInsertPoint(done);
  EmittedList result;
  for (size_t k = 0; k < phis.size(); ++k) {
    const Emitted phi = AddPhi(b_, carried[k]);
    AddIncoming(phi, carried[k], before);
    AddIncoming(phi, next[k], last);
    result.push_back(phi);
  }
  return result;
}

// ---- memory ----

llvm::Value* KernelBuilder::Address(llvm::Value* base, ElementType type, llvm::Value* index) {
  llvm::Type* element = MemoryType(context_, type);
  if (IsComplex(type)) element = llvm::ArrayType::get(element, 2);
  return b_.CreateInBoundsGEP(element, base, {index});
}

Emitted KernelBuilder::FromMemory(ElementType type, llvm::Value* loaded) {
  if (IsPred(type)) loaded = b_.CreateICmpNE(loaded, b_.getInt8(0));
  return {loaded, nullptr};
}

llvm::Value* KernelBuilder::ToMemory(ElementType type, llvm::Value* value) {
  return IsPred(type) ? b_.CreateZExt(value, b_.getInt8Ty()) : value;
}

Emitted KernelBuilder::LoadFrom(llvm::Value* base, ElementType type, llvm::Value* index) {
  llvm::Value* const address = Address(base, type, index);
  const llvm::Align align(static_cast<uint64_t>(ByteSize(type)));
  llvm::Type* const memory = MemoryType(context_, type);
  if (!IsComplex(type)) return FromMemory(type, b_.CreateAlignedLoad(memory, address, align));
  llvm::Value* const both =
      b_.CreateAlignedLoad(llvm::FixedVectorType::get(memory, 2), address, align);
  return {b_.CreateExtractElement(both, uint64_t{0}), b_.CreateExtractElement(both, uint64_t{1})};
}

void KernelBuilder::StoreTo(llvm::Value* base, ElementType type, llvm::Value* index,
                            const Emitted& value) {
  llvm::Value* const address = Address(base, type, index);
  const llvm::Align align(static_cast<uint64_t>(ByteSize(type)));
  if (!IsComplex(type)) {
    b_.CreateAlignedStore(ToMemory(type, value.value), address, align);
    return;
  }
  llvm::Value* both =
      llvm::PoisonValue::get(llvm::FixedVectorType::get(MemoryType(context_, type), 2));
  both = b_.CreateInsertElement(both, value.value, uint64_t{0});
  both = b_.CreateInsertElement(both, value.imaginary, uint64_t{1});
  b_.CreateAlignedStore(both, address, align);
}

Emitted KernelBuilder::Load(int buffer, llvm::Value* index) {
  return LoadFrom(function_->getArg(static_cast<unsigned>(buffer)), this->buffer(buffer).type,
                  index);
}

void KernelBuilder::Store(int buffer, llvm::Value* index, const Emitted& value) {
  StoreTo(function_->getArg(static_cast<unsigned>(buffer)), this->buffer(buffer).type, index,
          value);
}

EmittedList KernelBuilder::SplitVector(ElementType type, llvm::Value* vector, int lanes) {
  EmittedList result;
  for (int lane = 0; lane < lanes; ++lane) {
    if (IsComplex(type)) {
      const auto at = static_cast<uint64_t>(2 * lane);
      result.push_back(
          {b_.CreateExtractElement(vector, at), b_.CreateExtractElement(vector, at + 1)});
    } else {
      result.push_back(
          FromMemory(type, b_.CreateExtractElement(vector, static_cast<uint64_t>(lane))));
    }
  }
  return result;
}

// The code generator takes vectors of bytes apart: they are read and written as whole numbers.
bool KernelBuilder::IsWordOfBytes(ElementType type, int lanes) {
  return ByteSize(type) == 1 && lanes % 4 == 0;
}

EmittedList KernelBuilder::LoadBytes(ElementType type, llvm::Value* address, int lanes) {
  const int words = lanes / 4;
  llvm::Value* const loaded = b_.CreateAlignedLoad(
      llvm::FixedVectorType::get(b_.getInt32Ty(), static_cast<unsigned>(words)), address,
      VectorAlign(lanes));
  EmittedList result;
  for (int lane = 0; lane < lanes; ++lane) {
    llvm::Value* const word = b_.CreateExtractElement(loaded, static_cast<uint64_t>(lane / 4));
    llvm::Value* const shifted = b_.CreateLShr(word, static_cast<uint64_t>(lane % 4 * 8));
    result.push_back(FromMemory(type, b_.CreateTrunc(shifted, b_.getInt8Ty())));
  }
  return result;
}

void KernelBuilder::StoreBytes(ElementType type, llvm::Value* address,
                               absl::Span<const Emitted> values) {
  const auto words = static_cast<unsigned>(values.size() / 4);
  auto* const vector = llvm::FixedVectorType::get(b_.getInt32Ty(), words);
  llvm::Value* all = llvm::PoisonValue::get(vector);
  for (unsigned w = 0; w < words; ++w) {
    llvm::Value* word = nullptr;
    for (unsigned i = 0; i < 4; ++i) {
      llvm::Value* byte = b_.CreateZExt(ToMemory(type, values[4 * w + i].value), b_.getInt32Ty());
      if (i > 0) byte = b_.CreateShl(byte, uint64_t{8} * i);
      word = i == 0 ? byte : b_.CreateOr(word, byte);
    }
    all = b_.CreateInsertElement(all, word, uint64_t{w});
  }
  b_.CreateAlignedStore(all, address, VectorAlign(static_cast<int>(values.size())));
}

EmittedList KernelBuilder::LoadVector(int buffer, llvm::Value* index, int lanes) {
  const ElementType type = this->buffer(buffer).type;
  const int parts = IsComplex(type) ? 2 : 1;
  llvm::Type* const vector =
      llvm::FixedVectorType::get(MemoryType(context_, type), static_cast<unsigned>(lanes * parts));
  llvm::Value* const address =
      Address(function_->getArg(static_cast<unsigned>(buffer)), type, index);
  if (IsWordOfBytes(type, lanes)) return LoadBytes(type, address, lanes);
  llvm::Value* const loaded =
      b_.CreateAlignedLoad(vector, address, VectorAlign(lanes * ByteSize(type)));
  return SplitVector(type, loaded, lanes);
}

llvm::Value* KernelBuilder::LoadWords(int buffer, llvm::Value* index) {
  llvm::Value* const address =
      Address(function_->getArg(static_cast<unsigned>(buffer)), this->buffer(buffer).type, index);
  return b_.CreateAlignedLoad(llvm::FixedVectorType::get(b_.getInt32Ty(), 4), address,
                              llvm::Align(16));
}

EmittedList KernelBuilder::LoadSharedVector(const SharedArray& array, llvm::Value* index,
                                            int lanes) {
  const int parts = IsComplex(array.type) ? 2 : 1;
  llvm::Type* const vector = llvm::FixedVectorType::get(MemoryType(context_, array.type),
                                                        static_cast<unsigned>(lanes * parts));
  llvm::Value* const loaded = b_.CreateAlignedLoad(vector, SharedAddress(array, index),
                                                   VectorAlign(lanes * ByteSize(array.type)));
  return SplitVector(array.type, loaded, lanes);
}

void KernelBuilder::StoreVector(int buffer, llvm::Value* index, absl::Span<const Emitted> values) {
  const ElementType type = this->buffer(buffer).type;
  llvm::Value* const address =
      Address(function_->getArg(static_cast<unsigned>(buffer)), type, index);
  const bool is_word = IsWordOfBytes(type, static_cast<int>(values.size()));
  is_word ? StoreBytes(type, address, values) : StoreWhole(type, address, values);
}

void KernelBuilder::StoreSharedVector(const SharedArray& array, llvm::Value* index,
                                      absl::Span<const Emitted> values) {
  StoreWhole(array.type, SharedAddress(array, index), values);
}

void KernelBuilder::StoreWhole(ElementType type, llvm::Value* address,
                               absl::Span<const Emitted> values) {
  const int parts = IsComplex(type) ? 2 : 1;
  const auto lanes = values.size();
  llvm::Value* all = llvm::PoisonValue::get(llvm::FixedVectorType::get(
      MemoryType(context_, type), static_cast<unsigned>(lanes) * static_cast<unsigned>(parts)));
  for (size_t lane = 0; lane < lanes; ++lane) {
    const auto at = static_cast<uint64_t>(lane) * static_cast<uint64_t>(parts);
    all = b_.CreateInsertElement(all, ToMemory(type, values[lane].value), at);
    if (parts == 2) all = b_.CreateInsertElement(all, values[lane].imaginary, at + 1);
  }
  b_.CreateAlignedStore(all, address, VectorAlign(static_cast<int>(lanes) * ByteSize(type)));
}

Emitted KernelBuilder::Constant(ElementType type, const uint8_t* bytes) {
  const auto part = [&](const uint8_t* at, int size) -> llvm::Value* {
    uint64_t bits = 0;
    std::memcpy(&bits, at, static_cast<size_t>(size));
    llvm::Type* const scalar = RegisterType(context_, type);
    if (scalar->isFloatTy())
      return llvm::ConstantFP::get(
          context_, llvm::APFloat(std::bit_cast<float>(static_cast<uint32_t>(bits))));
    if (scalar->isDoubleTy())
      return llvm::ConstantFP::get(context_, llvm::APFloat(std::bit_cast<double>(bits)));
    return llvm::ConstantInt::get(scalar, IsPred(type) ? bits & 1 : bits);
  };
  const int size = ByteSize(ComponentType(type));
  if (IsComplex(type)) return {part(bytes, size), part(bytes + size, size)};
  return {part(bytes, size), nullptr};
}

Emitted KernelBuilder::LoadConstant(ElementType type, absl::Span<const uint8_t> data,
                                    llvm::Value* index) {
  llvm::Value*& made = constants_[data.data()];
  if (made == nullptr) {
    llvm::Constant* const bytes =
        llvm::ConstantDataArray::get(context_, llvm::ArrayRef<uint8_t>(data.data(), data.size()));
    auto* const global = new llvm::GlobalVariable(module_, bytes->getType(), /*isConstant=*/true,
                                                  llvm::GlobalValue::PrivateLinkage, bytes, "data");
    global->setAlignment(llvm::Align(16));
    made = global;
  }
  return LoadFrom(made, type, index);
}

SharedArray KernelBuilder::Shared(ElementType type, int64_t elements, std::string_view name) {
  llvm::Type* element = MemoryType(context_, type);
  if (IsComplex(type)) element = llvm::ArrayType::get(element, 2);
  llvm::Type* const array = llvm::ArrayType::get(element, static_cast<uint64_t>(elements));
  auto* const global = new llvm::GlobalVariable(
      module_, array, /*isConstant=*/false, llvm::GlobalValue::InternalLinkage,
      llvm::PoisonValue::get(array), llvm::Twine(llvm::StringRef(name.data(), name.size())),
      nullptr, llvm::GlobalValue::NotThreadLocal, kSharedMemory);
  global->setAlignment(llvm::Align(16));
  return {global, type};
}

Emitted KernelBuilder::LoadShared(const SharedArray& array, llvm::Value* index) {
  return LoadFrom(array.base, array.type, index);
}

void KernelBuilder::StoreShared(const SharedArray& array, llvm::Value* index,
                                const Emitted& value) {
  StoreTo(array.base, array.type, index, value);
}

// ---- threads together ----

void KernelBuilder::Barrier() { b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {}); }

// LLVM 19 declares shuffles convergent, but neither `mma` nor `ldmatrix`. The call says it, as what
// a declaration says is forgotten when bitcode is read.
llvm::Value* KernelBuilder::TogetherInWarp(llvm::Intrinsic::ID id,
                                           llvm::ArrayRef<llvm::Type*> types,
                                           llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::CallInst* const call = b_.CreateIntrinsic(id, types, arguments);
  call->setConvergent();
  return call;
}

llvm::Value* KernelBuilder::ShufflePart(llvm::Value* value, llvm::Value* lane,
                                        llvm::Intrinsic::ID id, int limit) {
  llvm::Type* const type = value->getType();
  const unsigned bits = type->getPrimitiveSizeInBits();
  llvm::Type* const i32 = b_.getInt32Ty();
  const auto shuffle = [&](llvm::Value* word) {
    return TogetherInWarp(
        id, {}, {b_.getInt32(~0u), word, lane, b_.getInt32(static_cast<uint32_t>(limit))});
  };
  llvm::Value* whole = b_.CreateBitCast(value, b_.getIntNTy(bits));
  if (bits <= 32) {
    whole = b_.CreateTrunc(shuffle(b_.CreateZExt(whole, i32)), b_.getIntNTy(bits));
  } else {
    llvm::Value* const low = shuffle(b_.CreateTrunc(whole, i32));
    llvm::Value* const high = shuffle(b_.CreateTrunc(b_.CreateLShr(whole, 32), i32));
    whole = b_.CreateOr(b_.CreateZExt(low, whole->getType()),
                        b_.CreateShl(b_.CreateZExt(high, whole->getType()), 32));
  }
  return b_.CreateBitCast(whole, type);
}

Emitted KernelBuilder::Shuffle(const Emitted& value, llvm::Value* lane, llvm::Intrinsic::ID id,
                               int limit) {
  return {ShufflePart(value.value, lane, id, limit),
          value.imaginary == nullptr ? nullptr : ShufflePart(value.imaginary, lane, id, limit)};
}

// The last operand of a shuffle is the last lane (up: the first one) that it may read.
Emitted KernelBuilder::ShuffleDown(const Emitted& value, int offset) {
  return Shuffle(value, b_.getInt32(static_cast<uint32_t>(offset)),
                 llvm::Intrinsic::nvvm_shfl_sync_down_i32, kWarpSize - 1);
}

Emitted KernelBuilder::ShuffleUp(const Emitted& value, int offset) {
  return Shuffle(value, b_.getInt32(static_cast<uint32_t>(offset)),
                 llvm::Intrinsic::nvvm_shfl_sync_up_i32, 0);
}

Emitted KernelBuilder::ShuffleFrom(const Emitted& value, llvm::Value* lane) {
  return Shuffle(value, lane, llvm::Intrinsic::nvvm_shfl_sync_idx_i32, kWarpSize - 1);
}

Emitted KernelBuilder::Select(llvm::Value* condition, const Emitted& on_true,
                              const Emitted& on_false) {
  Emitted result = {b_.CreateSelect(condition, on_true.value, on_false.value), nullptr};
  if (on_true.imaginary != nullptr)
    result.imaginary = b_.CreateSelect(condition, on_true.imaginary, on_false.imaginary);
  return result;
}

}  // namespace hlo::gpu
