// backends/gpu/emit/core/reducer.h
//
// How a reduction combines values: its computation, or, where that is one sum or product of narrow
// floats, the same in the type of lib/math/accumulator.h with one rounding at the end. Choices
// among elements of equal rank carry the position of what was chosen, where elements are shared out
// among threads. Internal: includes LLVM headers.
#pragma once

#include <functional>

#include "backends/gpu/emit/core/fusion_emitter.h"
#include "lib/eval/choice.h"

namespace hlo::gpu {

// The order of equals for threads that share elements out. One thread for each result would be
// right with NaN under more regions, and out of all proportion slower.
std::optional<TieOrder> TiesAmongThreads(const Computation& region);

class Reducer final {
 public:
  enum class Order { kAsTheyStand, kAny };  // in which elements are combined
  Reducer(GpuFusionEmitter& emitter, const Instruction* reduce, Order order = Order::kAsTheyStand);

  // Of accumulators.
  int count() const { return static_cast<int>(types_.size()); }
  // Of accumulator `i`.
  ElementType type(int i) const { return i == 0 ? carried_ : types_[static_cast<size_t>(i)]; }
  EmittedList Widen(EmittedList values) const;
  bool has_positions() const { return ties_ != TieOrder::kAny; }
  // The same for the element at `position` of the operand, -1 for the initial values; it is looked
  // at only where positions decide.
  EmittedList Widen(EmittedList values, llvm::Value* position) const;
  EmittedList Narrow(EmittedList values) const;
  absl::StatusOr<EmittedList> Combine(const EmittedList& a, const EmittedList& b) const;

 private:
  bool is_widened() const { return carried_ != types_[0]; }
  absl::StatusOr<EmittedList> Choose(EmittedList a, EmittedList b) const;

  GpuFusionEmitter& emitter_;
  const Computation& region_;
  ElementType carried_;                        // of the first
  absl::InlinedVector<ElementType, 2> types_;  // the last one of positions, if they decide
  TieOrder ties_ = TieOrder::kAny;
};

using CombineValues =
    std::function<absl::StatusOr<EmittedList>(const EmittedList&, const EmittedList&)>;
// The lanes of a group have numbers `lane`; [0, live) of them have values. Lane 0 gets their
// combination.
absl::StatusOr<EmittedList> CombineWarp(KernelBuilder& kernel, llvm::Value* lane, int64_t live,
                                        EmittedList values, const CombineValues& combine);

// `first`, combined with the inputs at lo, lo + step, … below `hi`, one after the other. `ahead` of
// them are read before the first of these is waited for.
absl::StatusOr<EmittedList> CombineStrided(
    KernelBuilder& kernel, llvm::Value* lo, llvm::Value* hi, int64_t step, int ahead,
    EmittedList first, const std::function<absl::StatusOr<EmittedList>(llvm::Value*)>& input,
    const CombineValues& combine);

// Combines values of the threads of a group.
struct RowReduction {
  int64_t outputs = 0;
  int64_t elements = 0;  // per output, at least 1
  // Elements of this output, when some have more than `elements`.
  std::function<llvm::Value*(llvm::Value* output)> limit;
  std::vector<ElementType> types;
  std::function<absl::StatusOr<EmittedList>(llvm::Value* output, llvm::Value* element)> input;
  CombineValues combine;
  int ahead = 1;  // inputs
  std::function<absl::Status(llvm::Value* output, const EmittedList&)> store;
};
// Threads per output that suit it: a warp or a block.
int RowGroup(int64_t outputs, int64_t elements);
inline constexpr int kRowBlock = 256;
// Writes the body of a kernel with blocks of kRowBlock threads, of which `group` serve an output.
absl::Status EmitRows(KernelBuilder& kernel, int group, const RowReduction& rows);
// Blocks that such a kernel needs.
int64_t RowBlocks(int group, int64_t outputs);

}  // namespace hlo::gpu
