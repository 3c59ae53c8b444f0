// backends/gpu/emit/core/fusion_emitter.h
//
// One element of fused HLO as code: Emit(instruction, index) is the value of an element, computed
// from elements of operands down to the kernel's buffers. Movements rewrite the index, arithmetic
// is that of the interpreter and the CPU (backends/llvm/element.h). Values already made
// are used again where control flow allows it. Internal to emit/: includes LLVM headers.
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "backends/codegen/movement.h"
#include "backends/gpu/emit/core/kernel_builder.h"
#include "backends/gpu/emit/index/array_index.h"
#include "lib/ir/computation.h"
#include "lib/ir/instruction.h"

namespace hlo::gpu {

class GpuFusionEmitter final {
 public:
  explicit GpuFusionEmitter(KernelBuilder& kernel) : k_(kernel) {}

  // The elements of `instruction` lie in a buffer of the kernel (a tuple's leaves in consecutive
  // ones).
  void BindBuffer(const Instruction* instruction, int first_buffer) {
    buffers_[instruction] = first_buffer;
  }
  // The elements lie in consecutive elements of each buffer from here on: elements
  // `lanes[0]`, … of arrays of `elements` elements are read by one load. Emit in this order.
  void SetVector(std::vector<llvm::Value*> lanes, int64_t elements) {
    vectors_.clear();
    lane_scopes_ = k_.scope_count();
    AddVector(std::move(lanes), elements);
  }
  // So do others, of arrays of another size.
  void AddVector(std::vector<llvm::Value*> lanes, int64_t elements) {
    vectors_.push_back({std::move(lanes), elements, {}});
  }
  // There is only one element of interest: the instruction is emitted at `index` wherever it is
  // read.
  void Pin(const Instruction* instruction, const ArrayIndex& index) {
    pinned_.emplace(instruction, index);
  }

  // Element `index` of result `result` of the instruction (0 for arrays).
  absl::StatusOr<Emitted> Emit(const Instruction* instruction, const ArrayIndex& index,
                               int result = 0);
  // Element `index` of a result is known: it is not computed again while code of this
  // scope follows.
  void SetElement(const Instruction* instruction, const ArrayIndex& index, const Emitted& value,
                  int result = 0) {
    memo_[instruction].push_back(
        {k_.scope_id(k_.scope_count() - 1), PlaceOf(instruction, index), result, value});
  }
  // The results of a scalar computation (several for a tuple root), or of one that works on each
  // element of its arrays for itself: one element of all of them.
  absl::StatusOr<EmittedList> EmitRegion(const Computation& computation,
                                         absl::Span<const Emitted> arguments);
  // The elements of all operands that a reduce combines at `index` of its operands.
  absl::StatusOr<EmittedList> EmitReduceInputs(const Instruction* reduce, const ArrayIndex& index);
  // Its initial values.
  absl::StatusOr<EmittedList> EmitReduceInit(const Instruction* reduce);

  KernelBuilder& kernel() { return k_; }
  // One operation on elements.
  Emitted Element(Opcode opcode, ElementType result, absl::Span<const ElementType> types,
                  absl::Span<const Emitted> operands);
  Emitted Convert(const Emitted& value, ElementType from, ElementType to);
  // A scalar integer as an index limited to [0, limit].
  absl::StatusOr<llvm::Value*> ClampedStart(const Instruction* instruction, const ArrayIndex& index,
                                            int64_t limit);
  // An integer element as an index; `fits` says whether it lies in [0, limit].
  struct CheckedIndex {
    llvm::Value* value;
    llvm::Value* fits;
  };
  absl::StatusOr<CheckedIndex> IndexElement(const Instruction* instruction, const ArrayIndex& index,
                                            int64_t limit);

  // What ScalarRegion and Movement want to know.
  static constexpr std::string_view kPlatform = "gpu";
  static constexpr bool kTakesArrays = true;
  using ValueType = Emitted;
  using ValueList = EmittedList;
  absl::StatusOr<Emitted> ScalarConstant(const Instruction& i) {
    return EmitConstant(&i, ArrayIndex());
  }
  absl::StatusOr<Emitted> ApplyElementwise(const Instruction& i, absl::Span<const Emitted> x);
  using IndexType = ArrayIndex;
  using PositionType = llvm::Value*;
  using PositionList = ArrayIndex::Positions;
  using Ranges = std::vector<PositionRange<llvm::Value*>>;
  using Emission = std::function<absl::StatusOr<Emitted>()>;
  PositionList PositionsOf(const ArrayIndex& index) { return index.positions(k_); }
  static ArrayIndex IndexAt(const Instruction& array, PositionList positions) {
    return ArrayIndex::At(array.shape().dims(), std::move(positions));
  }
  Emitted Zero(ElementType type) {
    constexpr uint8_t kZeros[16] = {};
    return k_.Constant(type, kZeros);
  }
  llvm::Value* Number(int64_t value) { return k_.Index(value); }
  llvm::Value* Plus(llvm::Value* a, llvm::Value* b) { return k_.Add(a, b); }
  llvm::Value* Minus(llvm::Value* a, llvm::Value* b) { return k_.Sub(a, b); }
  llvm::Value* Times(llvm::Value* a, int64_t n) { return k_.Scale(a, n); }
  std::pair<llvm::Value*, llvm::Value*> DivRem(llvm::Value* a, int64_t n) {
    return {k_.Div(a, n), k_.Rem(a, n)};
  }
  // A branch: what is outside never runs where it must not.
  absl::StatusOr<Emitted> Guarded(const Ranges& ranges, const Emission& on_true,
                                  const Emission& on_false, Outside outside);

 private:
  using Method = absl::StatusOr<Emitted> (GpuFusionEmitter::*)(const Instruction*,
                                                               const ArrayIndex&);
  absl::StatusOr<Emitted> EmitUncached(const Instruction* i, const ArrayIndex& index, int result);
  absl::StatusOr<Emitted> EmitElementwise(const Instruction* i, const ArrayIndex& index);
  absl::StatusOr<Emitted> EmitConstant(const Instruction* i, const ArrayIndex& index);
  absl::StatusOr<Emitted> EmitReshape(const Instruction* i, const ArrayIndex& index);
  // bitcast-convert between types of different widths.
  absl::StatusOr<Emitted> EmitBitPieces(const Instruction* i, const ArrayIndex& index);
  absl::StatusOr<Emitted> EmitIota(const Instruction* i, const ArrayIndex& index);
  absl::StatusOr<Emitted> EmitStochasticConvert(const Instruction* i, const ArrayIndex& index);
  absl::StatusOr<Emitted> EmitDimensionSize(const Instruction* i, const ArrayIndex& index);
  absl::StatusOr<Emitted> EmitElementOfTuple(const Instruction* i, const ArrayIndex& index);
  absl::StatusOr<Emitted> EmitReduce(const Instruction* i, const ArrayIndex& index, int result);
  absl::StatusOr<Emitted> EmitReduceWindow(const Instruction* i, const ArrayIndex& index,
                                           int result);
  Emitted LoadElement(int buffer, const ArrayIndex& index);
  llvm::Value* And(llvm::Value* a, llvm::Value* b);
  // lo <= v < hi, for v that may be negative.
  llvm::Value* InRange(llvm::Value* v, int64_t lo, int64_t hi);

  struct Memo {
    uint64_t scope;
    ArrayIndex index;
    int result;
    Emitted value;
  };
  const Memo* FindMemo(const Instruction* i, const ArrayIndex& index, int result) const;
  const ArrayIndex& PlaceOf(const Instruction* i, const ArrayIndex& index) const {
    const auto it = pinned_.find(i);
    return it == pinned_.end() ? index : it->second;
  }

  KernelBuilder& k_;
  absl::flat_hash_map<const Instruction*, int> buffers_;
  absl::flat_hash_map<const Instruction*, std::vector<Memo>> memo_;
  absl::flat_hash_map<const Instruction*, ArrayIndex> pinned_;
  struct Vector {
    std::vector<llvm::Value*> lanes;
    int64_t elements;
    std::map<int, EmittedList> loaded;  // by buffer
  };
  std::vector<Vector> vectors_;
  int lane_scopes_ = 0;  // of the code that uses them
};

// The dimensions of `shape` without those in `removed`, as ArrayIndex wants them.
absl::InlinedVector<int64_t, 6> KeptDims(absl::Span<const int64_t> dims,
                                         absl::Span<const int64_t> removed);

}  // namespace hlo::gpu
