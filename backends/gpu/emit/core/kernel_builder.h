// backends/gpu/emit/core/kernel_builder.h
//
// One kernel being written as LLVM IR for NVPTX: parameters are global buffers. What is written
// needs no optimiser: loops carry values in phis, index arithmetic is folded and made once, vector
// loads and stores are explicit.
//
// Code that runs under a condition or in a loop is written inside If, Guarded and Loop, which keep
// the books on what may be used where. Internal to emit/: includes LLVM headers.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/gpu/emit/index/index_builder.h"
#include "backends/llvm/element.h"
#include "lib/types/element_type.h"

namespace hlo::gpu {

using EmittedList = absl::InlinedVector<Emitted, 2>;

inline constexpr int kWarpSize = 32;
// What the GPU converts by one instruction.
inline constexpr NarrowConversions kGpuConversions = {.f16 = true, .bf16 = true};

struct BufferParam {
  ElementType type = ElementType::kF32;
  int64_t elements = 0;
  bool written = false;
  bool shared = false;  // may lie in the memory of another parameter
};

// An array of elements in the block's shared memory.
struct SharedArray {
  llvm::Value* base = nullptr;
  ElementType type = ElementType::kF32;
};

class KernelBuilder final : public IndexBuilder {
 public:
  // Begins function `name`: pointers for `buffers`, then `integers` 64-bit numbers. Indices must be
  // able to count `largest` elements, and those of every buffer.
  KernelBuilder(llvm::Module& module, std::string_view name, std::vector<BufferParam> buffers,
                int integers, int block_threads, int64_t largest);
  // Whether indices are of 32 bits then, else of 64.
  static bool IndicesFitIn32(const std::vector<BufferParam>& buffers, int64_t largest);
  // Ends it. No other member may be called afterwards.
  void Finish();

  // Asks for so few registers that this many blocks run on a multiprocessor at the same time.
  void WantBlocksTogether(int blocks) { Annotate("minctasm", blocks); }

  int block_threads() const { return block_threads_; }
  const BufferParam& buffer(int i) const { return buffers_[static_cast<size_t>(i)]; }

  // ---- where a thread is ----
  llvm::Value* ThreadIndex();  // in the block
  llvm::Value* BlockIndex(int axis = 0);
  // Integer parameter `i`; with all of its 64 bits.
  llvm::Value* Integer(int i);
  llvm::Value* WideInteger(int i);

  // ---- structure ----
  using Make = std::function<absl::StatusOr<EmittedList>()>;
  // `on_true` where the condition (i1) holds, else `on_false`; both give as many values.
  absl::StatusOr<EmittedList> Guarded(llvm::Value* condition, const Make& on_true,
                                      const Make& on_false);
  // Runs `body` where the condition holds.
  absl::Status If(llvm::Value* condition, const std::function<absl::Status()>& body);
  // for (i = lo; i < hi; i += step): what the body returns is carried to the next iteration.
  using Body =
      std::function<absl::StatusOr<EmittedList>(llvm::Value* i, const EmittedList& carried)>;
  // The assembler may unroll it, but for a `rolled` one.
  absl::StatusOr<EmittedList> Loop(llvm::Value* lo, llvm::Value* hi, llvm::Value* step,
                                   EmittedList carried, const Body& body, bool rolled = false);

  // ---- memory ----
  Emitted Load(int buffer, llvm::Value* index);
  void Store(int buffer, llvm::Value* index, const Emitted& value);
  // `lanes` consecutive elements from a multiple of `lanes`.
  EmittedList LoadVector(int buffer, llvm::Value* index, int lanes);
  void StoreVector(int buffer, llvm::Value* index, absl::Span<const Emitted> values);
  // The 16 bytes from element `index` on, at a multiple of 16: four words.
  llvm::Value* LoadWords(int buffer, llvm::Value* index);
  // Element `index` of a constant array.
  Emitted LoadConstant(ElementType type, absl::Span<const uint8_t> data, llvm::Value* index);
  // The element with these bits in memory.
  Emitted Constant(ElementType type, const uint8_t* bytes);

  SharedArray Shared(ElementType type, int64_t elements, std::string_view name);
  Emitted LoadShared(const SharedArray& array, llvm::Value* index);
  void StoreShared(const SharedArray& array, llvm::Value* index, const Emitted& value);
  // `lanes` consecutive elements from a multiple of their bytes (or 16) on.
  EmittedList LoadSharedVector(const SharedArray& array, llvm::Value* index, int lanes);
  void StoreSharedVector(const SharedArray& array, llvm::Value* index,
                         absl::Span<const Emitted> values);
  llvm::Value* SharedAddress(const SharedArray& array, llvm::Value* index) {
    return Address(array.base, array.type, index);
  }

  // ---- threads together ----
  void Barrier();
  // What all lanes of a warp do as one, such as a product of tensor cores. LLVM may not move the
  // call to where only some lanes come by, nor write it twice.
  llvm::Value* TogetherInWarp(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Type*> types,
                              llvm::ArrayRef<llvm::Value*> arguments);
  // The value of the lane `offset` above (of this lane where there is none). All lanes of the warp
  // take part.
  Emitted ShuffleDown(const Emitted& value, int offset);
  // As ShuffleDown, from the lane `offset` below.
  Emitted ShuffleUp(const Emitted& value, int offset);
  // The value of lane `lane` (32 bits).
  Emitted ShuffleFrom(const Emitted& value, llvm::Value* lane);

  Emitted Select(llvm::Value* condition, const Emitted& on_true, const Emitted& on_false);

 private:
  void Annotate(const char* key, int value);
  llvm::Value* Address(llvm::Value* base, ElementType type, llvm::Value* index);
  Emitted LoadFrom(llvm::Value* base, ElementType type, llvm::Value* index);
  void StoreTo(llvm::Value* base, ElementType type, llvm::Value* index, const Emitted& value);
  static bool IsWordOfBytes(ElementType type, int lanes);
  EmittedList LoadBytes(ElementType type, llvm::Value* address, int lanes);
  void StoreWhole(ElementType type, llvm::Value* address, absl::Span<const Emitted> values);
  void StoreBytes(ElementType type, llvm::Value* address, absl::Span<const Emitted> values);
  EmittedList SplitVector(ElementType type, llvm::Value* vector, int lanes);
  Emitted FromMemory(ElementType type, llvm::Value* loaded);
  llvm::Value* ToMemory(ElementType type, llvm::Value* value);
  Emitted Shuffle(const Emitted& value, llvm::Value* lane, llvm::Intrinsic::ID id, int limit);
  llvm::Value* ShufflePart(llvm::Value* value, llvm::Value* lane, llvm::Intrinsic::ID id,
                           int limit);
  llvm::Value* Special(llvm::Intrinsic::ID id);
  llvm::BasicBlock* NewBlock(const char* name);

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  std::vector<BufferParam> buffers_;
  int block_threads_;
  llvm::Function* function_;
  std::map<int, llvm::Value*> specials_;
  std::map<const uint8_t*, llvm::Value*> constants_;  // looked up only
};

// The data layout and triple that kernels are written for.
void SetDeviceTarget(llvm::Module& module);
// Tells NVPTX something of a kernel: "kernel", "maxntidx", "minctasm".
void AnnotateKernel(llvm::Function& kernel, const char* key, int value);
// The module as bitcode; an internal error where it is wrong.
absl::StatusOr<std::string> ToBitcode(const llvm::Module& module);

}  // namespace hlo::gpu
