#include "backends/cpu/tile/emit_llvm.h"

#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "backends/cpu/tile/element_functions.h"
#include "backends/cpu/tile/emit_body.h"
#include "backends/cpu/tile/watch.h"
#include "lib/support/status.h"

namespace hlo::cpu::tile {
namespace {

using LlvmValues = std::vector<llvm::Value*>;

class KernelEmitter {
 public:
  KernelEmitter(const Kernel& kernel, const EmitOptions& options, llvm::IRBuilder<>& b)
      : kernel_(kernel),
        options_(options),
        function_(b.GetInsertBlock()->getParent()),
        module_(*function_->getParent()),
        context_(module_.getContext()),
        b_(b),
        functions_(kernel, {.f16 = options.has_f16c}) {}

  void Emit(const KernelArguments& arguments) {
    values_.resize(kernel_.values.size());
    EmitBuffers(arguments);
    const Block& body = kernel_.blocks[0];
    values_[body.arguments[0]] = {arguments.begin, nullptr};
    values_[body.arguments[1]] = {arguments.end, nullptr};
    EmitBlock(body);
  }

 private:
  // ---- types ----

  llvm::Type* Lanes(llvm::Type* scalar, int lanes) {
    return lanes == 1 ? scalar
                      : static_cast<llvm::Type*>(llvm::FixedVectorType::get(scalar, lanes));
  }
  llvm::Type* Register(Type type) {
    return Lanes(RegisterType(context_, type.element), type.lanes);
  }

  // ---- buffers ----

  void EmitBuffers(const KernelArguments& arguments) {
    size_t argument = 0;
    for (const Buffer& buffer : kernel_.buffers) {
      switch (buffer.kind) {
        case BufferKind::kArgument: buffers_.push_back(arguments.buffers[argument++]); break;
        case BufferKind::kScratch:
          buffers_.push_back(
              b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), arguments.scratch, buffer.offset));
          break;
        case BufferKind::kConstant: buffers_.push_back(EmitConstantBuffer(buffer)); break;
      }
    }
    if (options_.checked.empty()) return;
    watch_ = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(
                                              b_.getPtrTy(), function_->getArg(0), argument));
    forbidden_ = llvm::BasicBlock::Create(context_, "forbidden", function_);
    llvm::IRBuilder<>(forbidden_).CreateRetVoid();
  }

  llvm::Value* EmitConstantBuffer(const Buffer& buffer) {
    llvm::Constant* const data = llvm::ConstantDataArray::get(
        context_, llvm::ArrayRef<uint8_t>(buffer.data.data(), buffer.data.size()));
    auto* const global = new llvm::GlobalVariable(module_, data->getType(), /*isConstant=*/true,
                                                  llvm::GlobalValue::PrivateLinkage, data, "data");
    global->setAlignment(llvm::Align(64));
    return global;
  }

  // ---- nodes ----

  void EmitBlock(const Block& block) {
    for (const int32_t n : block.nodes) EmitNode(kernel_.nodes[n]);
  }

  void EmitNode(const Node& node) {
    switch (node.op) {
      case Op::kConstant: Set(node, EmitConstant(node)); break;
      case Op::kIota: Set(node, {EmitIota(kernel_.type(node.results[0]).lanes), nullptr}); break;
      case Op::kSplat: Set(node, EmitSplat(node)); break;
      case Op::kElement: Set(node, EmitElementNode(node)); break;
      case Op::kIndexDiv:
        Set(node, {b_.CreateUDiv(Get(node, 0).value, Get(node, 1).value), nullptr});
        break;
      case Op::kIndexRem:
        Set(node, {b_.CreateURem(Get(node, 0).value, Get(node, 1).value), nullptr});
        break;
      case Op::kShuffle: Set(node, EmitShuffle(node)); break;
      case Op::kLoad: Set(node, EmitLoad(node)); break;
      case Op::kStore: EmitStore(node); break;
      case Op::kLoop: EmitLoop(node); break;
      case Op::kIf: EmitIf(node); break;
    }
  }

  void Set(const Node& node, Emitted value) { values_[node.results[0]] = value; }
  const Emitted& Get(const Node& node, size_t operand) { return values_[node.operands[operand]]; }

  llvm::Constant* ConstantPart(ElementType type, uint64_t bits) {
    llvm::Type* const scalar = RegisterType(context_, type);
    if (scalar->isFloatTy()) {
      return llvm::ConstantFP::get(
          context_, llvm::APFloat(std::bit_cast<float>(static_cast<uint32_t>(bits))));
    }
    if (scalar->isDoubleTy())
      return llvm::ConstantFP::get(context_, llvm::APFloat(std::bit_cast<double>(bits)));
    const unsigned width = scalar->getIntegerBitWidth();
    return llvm::ConstantInt::get(scalar, width == 64 ? bits : bits & ((uint64_t{1} << width) - 1));
  }

  Emitted EmitConstant(const Node& node) {
    const ElementType type = kernel_.type(node.results[0]).element;
    if (type == ElementType::kC64) {
      return {ConstantPart(type, node.bits[0] & 0xffffffff),
              ConstantPart(type, node.bits[0] >> 32)};
    }
    if (type == ElementType::kC128)
      return {ConstantPart(type, node.bits[0]), ConstantPart(type, node.bits[1])};
    return {ConstantPart(type, node.bits[0]), nullptr};
  }

  llvm::Value* EmitIota(int lanes) {
    if (lanes == 1) return b_.getInt64(0);
    std::vector<uint64_t> lane_numbers(lanes);
    for (int i = 0; i < lanes; ++i) lane_numbers[i] = i;
    return llvm::ConstantDataVector::get(context_, lane_numbers);
  }

  Emitted EmitSplat(const Node& node) {
    const int lanes = kernel_.type(node.results[0]).lanes;
    const Emitted& x = Get(node, 0);
    Emitted result = {b_.CreateVectorSplat(lanes, x.value), nullptr};
    if (x.imaginary != nullptr) result.imaginary = b_.CreateVectorSplat(lanes, x.imaginary);
    return result;
  }

  Emitted EmitElementNode(const Node& node) {
    absl::InlinedVector<Emitted, 3> operands;
    for (size_t i = 0; i < node.operands.size(); ++i) operands.push_back(Get(node, i));
    return functions_.Emit(b_, node, operands);
  }

  llvm::Value* ShufflePart(llvm::Value* x, llvm::Value* y, const std::vector<int16_t>& lane_list) {
    if (!x->getType()->isVectorTy()) {
      if (lane_list.size() == 1) return lane_list[0] == 0 ? x : y;
      x = b_.CreateVectorSplat(1, x);
      y = b_.CreateVectorSplat(1, y);
    }
    if (lane_list.size() == 1) {
      const auto lanes = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
      const auto lane = static_cast<unsigned>(lane_list[0]);
      return b_.CreateExtractElement(lane < lanes ? x : y, uint64_t{lane % lanes});
    }
    const llvm::SmallVector<int, 32> mask(lane_list.begin(), lane_list.end());
    return b_.CreateShuffleVector(x, y, mask);
  }

  Emitted EmitShuffle(const Node& node) {
    const Emitted& x = Get(node, 0);
    const Emitted& y = Get(node, 1);
    Emitted result = {ShufflePart(x.value, y.value, node.lane_list), nullptr};
    if (x.imaginary != nullptr)
      result.imaginary = ShufflePart(x.imaginary, y.imaginary, node.lane_list);
    return result;
  }

  // ---- checks ----

  // 0 when the access must not happen.
  llvm::Value* Ask(const char* symbol, std::initializer_list<llvm::Value*> arguments) {
    llvm::SmallVector<llvm::Type*, 4> types;
    for (const llvm::Value* argument : arguments) types.push_back(argument->getType());
    const llvm::FunctionCallee callee =
        module_.getOrInsertFunction(symbol, llvm::FunctionType::get(b_.getInt32Ty(), types, false));
    return b_.CreateCall(callee, llvm::ArrayRef<llvm::Value*>(arguments));
  }

  // Before an access of `lanes`, those of `mask` if it is not null.
  void EmitCheck(const Node& node, int lanes, llvm::Value* mask) {
    const auto at = static_cast<size_t>(&node - kernel_.nodes.data());
    if (options_.checked.empty() || !options_.checked[at]) return;
    llvm::Value* const number = b_.getInt32(static_cast<uint32_t>(at));
    llvm::Value* const index = Get(node, 0).value;
    llvm::Value* allowed = nullptr;
    if (mask == nullptr && !index->getType()->isVectorTy()) {
      allowed = Ask(kAllowsSymbol, {watch_, number, index});
    } else {
      for (int lane = 0; lane < lanes; ++lane) {
        llvm::Value* const is_on =
            mask == nullptr ? b_.getInt32(1) : b_.CreateZExt(LaneOf(mask, lane), b_.getInt32Ty());
        llvm::Value* const one =
            Ask(kAllowsLaneSymbol, {watch_, number, LaneIndex(node, lane), is_on});
        allowed = allowed == nullptr ? one : b_.CreateAnd(allowed, one);
      }
    }
    llvm::BasicBlock* const next = llvm::BasicBlock::Create(context_, "allowed", function_);
    b_.CreateCondBr(b_.CreateICmpNE(allowed, b_.getInt32(0)), next, forbidden_);
    b_.SetInsertPoint(next);
  }

  // ---- memory ----

  // The address of element `index` of a buffer of `elements` (scalars; two per complex number).
  llvm::Value* Address(const Node& node, llvm::Value* index, llvm::Type* element, int parts) {
    if (parts == 2) index = b_.CreateShl(index, uint64_t{1});
    return b_.CreateInBoundsGEP(element, buffers_[node.buffer], {index});
  }

  llvm::Align AlignOf(ElementType type) const { return llvm::Align(ByteSize(ComponentType(type))); }

  Emitted FromMemory(ElementType type, llvm::Value* loaded) {
    if (IsPred(type))
      loaded = b_.CreateICmpNE(loaded, llvm::Constant::getNullValue(loaded->getType()));
    return {loaded, nullptr};
  }
  llvm::Value* ToMemory(ElementType type, llvm::Value* value) {
    if (!IsPred(type)) return value;
    llvm::Type* const byte = b_.getInt8Ty();
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
    return b_.CreateZExt(value, vector == nullptr ? byte : Lanes(byte, vector->getNumElements()));
  }

  // The index of lane `lane`.
  llvm::Value* LaneIndex(const Node& node, int lane) {
    llvm::Value* const index = Get(node, 0).value;
    if (index->getType()->isVectorTy()) return b_.CreateExtractElement(index, uint64_t(lane));
    return b_.CreateAdd(index, b_.getInt64(lane * node.stride));
  }

  bool IsContiguous(const Node& node, int lanes) const {
    return lanes > 1 && node.stride == 1 && kernel_.type(node.operands[0]).lanes == 1;
  }

  Emitted EmitLoad(const Node& node) {
    const Type type = kernel_.type(node.results[0]);
    if (node.operands.size() > 1) return EmitMaskedLoad(node, type);
    EmitCheck(node, type.lanes, nullptr);
    llvm::Type* const element = MemoryType(context_, type.element);
    const int parts = IsComplex(type.element) ? 2 : 1;
    if (IsDense(node, type)) return EmitDense(node, type);
    if (type.lanes > 1 && !IsContiguous(node, type.lanes)) return EmitGather(node, type, nullptr);
    llvm::Value* const address = Address(node, Get(node, 0).value, element, parts);
    if (parts == 2) return LoadComplex(address, element, type);
    return FromMemory(type.element, b_.CreateAlignedLoad(Lanes(element, type.lanes), address,
                                                         AlignOf(type.element)));
  }

  // Whether lanes are so close to each other that what lies between them is read along.
  bool IsDense(const Node& node, Type type) const {
    constexpr int64_t kFarthest = 4;
    return type.lanes >= 4 && node.stride >= 2 && node.stride <= kFarthest &&
           kernel_.type(node.operands[0]).lanes == 1 && !IsComplex(type.element);
  }

  Emitted EmitDense(const Node& node, Type type) {
    constexpr int64_t kBytes = 64;
    const auto most = static_cast<int>(kBytes / ByteSize(type.element));
    const int lanes = std::min<int>(type.lanes, most);
    llvm::SmallVector<llvm::Value*, 8> parts;
    for (int first = 0; first < type.lanes; first += lanes)
      parts.push_back(LoadDense(node, type.element, first, lanes));
    while (parts.size() > 1) {
      for (size_t i = 0; 2 * i < parts.size(); ++i)
        parts[i] = Joined(parts[2 * i], parts[2 * i + 1]);
      parts.resize(parts.size() / 2);
    }
    return FromMemory(type.element, parts[0]);
  }

  llvm::Value* Joined(llvm::Value* low, llvm::Value* high) {
    const auto lanes = llvm::cast<llvm::FixedVectorType>(low->getType())->getNumElements();
    llvm::SmallVector<int, 64> both(2 * lanes);
    std::iota(both.begin(), both.end(), 0);
    return b_.CreateShuffleVector(low, high, both);
  }

  // Lanes `at`…: as many vectors as lanes are elements apart, of which shuffles take one after the
  // other what there is of the result. The last one ends with the last lane: nothing beyond it is
  // read.
  llvm::Value* LoadDense(const Node& node, ElementType type, int at, int lanes) {
    llvm::Type* const element = MemoryType(context_, type);
    const auto step = static_cast<int>(node.stride);
    llvm::Value* result = nullptr;
    int have = 0;  // lanes of the result
    for (int v = 0; v < step; ++v) {
      const int first = v + 1 < step ? v * lanes : (lanes - 1) * step + 1 - lanes;
      llvm::Value* const index = b_.CreateAdd(Get(node, 0).value, b_.getInt64(at * step + first));
      llvm::Value* const loaded = b_.CreateAlignedLoad(
          Lanes(element, lanes), Address(node, index, element, 1), AlignOf(type));
      llvm::SmallVector<int, 64> mask;
      for (int lane = 0; lane < lanes; ++lane) {
        const int place = lane * step - first;
        const bool is_here = lane >= have && place < lanes;
        mask.push_back(is_here ? place + (v == 0 ? 0 : lanes) : lane < have ? lane : -1);
      }
      result = b_.CreateShuffleVector(v == 0 ? loaded : result, loaded, mask);
      while (have < lanes && have * step - first < lanes) ++have;
    }
    return result;
  }

  Emitted LoadComplex(llvm::Value* address, llvm::Type* element, Type type) {
    const llvm::Align align = AlignOf(type.element);
    llvm::Value* const both = b_.CreateAlignedLoad(Lanes(element, 2 * type.lanes), address, align);
    if (type.lanes == 1) {
      return {b_.CreateExtractElement(both, uint64_t{0}),
              b_.CreateExtractElement(both, uint64_t{1})};
    }
    return Deinterleaved(both, type.lanes);
  }

  Emitted Deinterleaved(llvm::Value* both, int lanes) {
    llvm::SmallVector<int, 32> even, odd;
    for (int i = 0; i < lanes; ++i) {
      even.push_back(2 * i);
      odd.push_back(2 * i + 1);
    }
    return {b_.CreateShuffleVector(both, even), b_.CreateShuffleVector(both, odd)};
  }

  // Lanes that the processor finds itself: those of four or eight bytes, each with an index of its
  // own or with a mask. It shuffles close ones faster, and loads no narrower ones.
  bool IsGathered(const Node& node, Type type, const llvm::Value* mask) const {
    const int64_t bytes = ByteSize(type.element);
    return options_.has_gathers && type.lanes >= 4 && (bytes == 4 || bytes == 8) &&
           (mask != nullptr || kernel_.type(node.operands[0]).lanes > 1);
  }

  // Lanes that are off touch no memory. A complex number is one integer of its size.
  Emitted EmitHardwareGather(const Node& node, Type type, llvm::Value* mask) {
    const bool is_complex = IsComplex(type.element);
    llvm::Type* const element =
        is_complex ? static_cast<llvm::Type*>(b_.getInt64Ty()) : MemoryType(context_, type.element);
    llvm::Value* index = Get(node, 0).value;
    if (!index->getType()->isVectorTy()) {
      llvm::Value* const lanes = b_.CreateMul(
          EmitIota(type.lanes), b_.CreateVectorSplat(type.lanes, b_.getInt64(node.stride)));
      index = b_.CreateAdd(b_.CreateVectorSplat(type.lanes, index), lanes);
    }
    if (mask != nullptr && !mask->getType()->isVectorTy())
      mask = b_.CreateVectorSplat(type.lanes, mask);
    llvm::Type* const vector = Lanes(element, type.lanes);
    llvm::Value* const loaded =
        b_.CreateMaskedGather(vector, Address(node, index, element, 1), AlignOf(type.element), mask,
                              llvm::Constant::getNullValue(vector));
    if (!is_complex) return {loaded, nullptr};
    return Deinterleaved(b_.CreateBitCast(loaded, Lanes(b_.getFloatTy(), 2 * type.lanes)),
                         type.lanes);
  }

  // Lane by lane. With a mask, lanes that are off read element 0 of the buffer, which is there, and
  // drop it.
  Emitted EmitGather(const Node& node, Type type, llvm::Value* mask) {
    if (IsGathered(node, type, mask)) return EmitHardwareGather(node, type, mask);
    llvm::Type* const element = MemoryType(context_, type.element);
    const bool is_complex = IsComplex(type.element);
    Emitted result = {llvm::PoisonValue::get(Lanes(element, type.lanes)), nullptr};
    if (is_complex) result.imaginary = result.value;
    for (int lane = 0; lane < type.lanes; ++lane) {
      llvm::Value* index = LaneIndex(node, lane);
      if (mask != nullptr) index = b_.CreateSelect(LaneOf(mask, lane), index, b_.getInt64(0));
      llvm::Value* const address = Address(node, index, element, is_complex ? 2 : 1);
      llvm::Value* const loaded = b_.CreateAlignedLoad(element, address, AlignOf(type.element));
      result.value = Insert(result.value, loaded, lane);
      if (is_complex) {
        llvm::Value* const next = b_.CreateConstInBoundsGEP1_64(element, address, 1);
        result.imaginary = Insert(result.imaginary,
                                  b_.CreateAlignedLoad(element, next, AlignOf(type.element)), lane);
      }
    }
    if (is_complex) return result;
    return FromMemory(type.element, result.value);
  }

  llvm::Value* LaneOf(llvm::Value* v, int lane) {
    return v->getType()->isVectorTy() ? b_.CreateExtractElement(v, uint64_t(lane)) : v;
  }
  llvm::Value* Insert(llvm::Value* into, llvm::Value* value, int lane) {
    return into->getType()->isVectorTy() ? b_.CreateInsertElement(into, value, uint64_t(lane))
                                         : value;
  }

  Emitted EmitMaskedLoad(const Node& node, Type type) {
    llvm::Value* const mask = Get(node, 1).value;
    const Emitted& fallback = Get(node, 2);
    // There is no element 0 to read in place of lanes that are off.
    if (kernel_.buffers[node.buffer].elements == 0) return fallback;
    EmitCheck(node, type.lanes, mask);
    if (IsContiguous(node, type.lanes) && ByteSize(type.element) >= 4 && !IsComplex(type.element)) {
      llvm::Type* const element = MemoryType(context_, type.element);
      llvm::Value* const address = Address(node, Get(node, 0).value, element, 1);
      return {b_.CreateMaskedLoad(Lanes(element, type.lanes), address, AlignOf(type.element), mask,
                                  fallback.value),
              nullptr};
    }
    const Emitted loaded = EmitGather(node, type, mask);
    Emitted result = {b_.CreateSelect(mask, loaded.value, fallback.value), nullptr};
    if (loaded.imaginary != nullptr)
      result.imaginary = b_.CreateSelect(mask, loaded.imaginary, fallback.imaginary);
    return result;
  }

  void EmitStore(const Node& node) {
    const Type type = kernel_.type(node.operands[1]);
    const Emitted& value = Get(node, 1);
    EmitCheck(node, type.lanes, nullptr);
    const bool is_complex = IsComplex(type.element);
    if (!is_complex && (type.lanes == 1 || IsContiguous(node, type.lanes))) {
      llvm::Type* const element = MemoryType(context_, type.element);
      llvm::Value* const address = Address(node, Get(node, 0).value, element, 1);
      b_.CreateAlignedStore(ToMemory(type.element, value.value), address, AlignOf(type.element));
    } else if (is_complex && IsContiguous(node, type.lanes)) {
      StoreComplex(node, value, type);
    } else {
      for (int lane = 0; lane < type.lanes; ++lane) StoreLane(node, value, type, lane);
    }
  }

  void StoreComplex(const Node& node, const Emitted& value, Type type) {
    llvm::SmallVector<int, 32> zip;
    for (int i = 0; i < type.lanes; ++i) {
      zip.push_back(i);
      zip.push_back(type.lanes + i);
    }
    llvm::Value* const address =
        Address(node, Get(node, 0).value, MemoryType(context_, type.element), 2);
    b_.CreateAlignedStore(b_.CreateShuffleVector(value.value, value.imaginary, zip), address,
                          AlignOf(type.element));
  }

  void StoreLane(const Node& node, const Emitted& value, Type type, int lane) {
    llvm::Type* const element = MemoryType(context_, type.element);
    const bool is_complex = IsComplex(type.element);
    llvm::Value* const address = Address(node, LaneIndex(node, lane), element, is_complex ? 2 : 1);
    b_.CreateAlignedStore(ToMemory(type.element, LaneOf(value.value, lane)), address,
                          AlignOf(type.element));
    if (is_complex) {
      llvm::Value* const next = b_.CreateConstInBoundsGEP1_64(element, address, 1);
      b_.CreateAlignedStore(LaneOf(value.imaginary, lane), next, AlignOf(type.element));
    }
  }

  // ---- structure ----

  // Whether the loop surely runs at least once, so that its test can be at the end only.
  bool RunsAtLeastOnce(const Node& node) const {
    const auto constant = [&](Value v) -> const Node* {
      const ValueInfo& info = kernel_.values[v];
      if (info.node < 0 || kernel_.nodes[info.node].op != Op::kConstant) return nullptr;
      return &kernel_.nodes[info.node];
    };
    const Node* const lo = constant(node.operands[0]);
    const Node* const hi = constant(node.operands[1]);
    return lo != nullptr && hi != nullptr &&
           static_cast<int64_t>(lo->bits[0]) < static_cast<int64_t>(hi->bits[0]);
  }

  void EmitLoop(const Node& node) {
    const Block& body = kernel_.blocks[node.blocks[0]];
    llvm::Value* const lo = Get(node, 0).value;
    llvm::Value* const hi = Get(node, 1).value;
    const size_t carried = body.yields.size();
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    llvm::BasicBlock* const loop = llvm::BasicBlock::Create(context_, "loop", function_);
    llvm::BasicBlock* const done = llvm::BasicBlock::Create(context_, "done", function_);
    const bool always = RunsAtLeastOnce(node);
    if (always) {
      b_.CreateBr(loop);
    } else {
      b_.CreateCondBr(b_.CreateICmpSLT(lo, hi), loop, done);
    }
    b_.SetInsertPoint(loop);
    llvm::PHINode* const index = b_.CreatePHI(b_.getInt64Ty(), 2);
    index->addIncoming(lo, before);
    values_[body.arguments[0]] = {index, nullptr};
    for (size_t i = 0; i < carried; ++i) {
      const Emitted& initial = Get(node, i + 2);
      const Emitted phi = AddPhi(b_, initial);
      AddIncoming(phi, initial, before);
      values_[body.arguments[i + 1]] = phi;
    }
    EmitBlock(body);
    llvm::BasicBlock* const last = b_.GetInsertBlock();
    llvm::Value* const next = b_.CreateAdd(index, b_.getInt64(node.stride));
    index->addIncoming(next, last);
    for (size_t i = 0; i < carried; ++i)
      AddIncoming(values_[body.arguments[i + 1]], values_[body.yields[i]], last);
    b_.CreateCondBr(b_.CreateICmpSLT(next, hi), loop, done);
    b_.SetInsertPoint(done);
    for (size_t i = 0; i < carried; ++i) {
      const Emitted& value = values_[body.yields[i]];
      const Emitted phi = AddPhi(b_, value);
      if (!always) AddIncoming(phi, Get(node, i + 2), before);
      AddIncoming(phi, value, last);
      values_[node.results[i]] = phi;
    }
  }

  void EmitIf(const Node& node) {
    llvm::BasicBlock* const then_block = llvm::BasicBlock::Create(context_, "then", function_);
    llvm::BasicBlock* const else_block = llvm::BasicBlock::Create(context_, "else", function_);
    llvm::BasicBlock* const join = llvm::BasicBlock::Create(context_, "join", function_);
    b_.CreateCondBr(Get(node, 0).value, then_block, else_block);
    const Block& on_true = kernel_.blocks[node.blocks[0]];
    const Block& on_false = kernel_.blocks[node.blocks[1]];
    b_.SetInsertPoint(then_block);
    EmitBlock(on_true);
    llvm::BasicBlock* const then_end = b_.GetInsertBlock();
    b_.CreateBr(join);
    b_.SetInsertPoint(else_block);
    EmitBlock(on_false);
    llvm::BasicBlock* const else_end = b_.GetInsertBlock();
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
    for (size_t i = 0; i < node.results.size(); ++i) {
      const Emitted& value = values_[on_true.yields[i]];
      const Emitted phi = AddPhi(b_, value);
      AddIncoming(phi, value, then_end);
      AddIncoming(phi, values_[on_false.yields[i]], else_end);
      values_[node.results[i]] = phi;
    }
  }

  const Kernel& kernel_;
  const EmitOptions& options_;
  llvm::Function* const function_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<>& b_;
  ElementFunctions functions_;
  std::vector<llvm::Value*> buffers_;
  std::vector<Emitted> values_;
  llvm::Value* watch_ = nullptr;           // checked code only,
  llvm::BasicBlock* forbidden_ = nullptr;  // where it goes when an access is not allowed
};

}  // namespace

void EmitBody(const Kernel& kernel, const EmitOptions& options, const KernelArguments& arguments,
              llvm::IRBuilder<>& b) {
  KernelEmitter(kernel, options, b).Emit(arguments);
}

absl::StatusOr<llvm::Function*> EmitLlvm(const Kernel& kernel, std::string_view name,
                                         const EmitOptions& options, llvm::Module& module) {
  RET_CHECK(!kernel.blocks.empty(), "kernel `{}` has no body", name);
  llvm::IRBuilder<> b(module.getContext());
  llvm::Type* const pointer = b.getPtrTy();
  auto* const type = llvm::FunctionType::get(
      b.getVoidTy(), {pointer, b.getInt64Ty(), b.getInt64Ty(), pointer}, false);
  auto* const function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                                llvm::StringRef(name.data(), name.size()), module);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  KernelArguments arguments;
  for (int i = 0; i < kernel.argument_count(); ++i) {
    llvm::LoadInst* const load =
        b.CreateLoad(pointer, b.CreateConstInBoundsGEP1_64(pointer, function->getArg(0), i));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                      llvm::MDNode::get(module.getContext(), {}));
    arguments.buffers.push_back(load);
  }
  arguments.begin = function->getArg(1);
  arguments.end = function->getArg(2);
  arguments.scratch = function->getArg(3);
  EmitBody(kernel, options, arguments, b);
  b.CreateRetVoid();
  return function;
}

}  // namespace hlo::cpu::tile
