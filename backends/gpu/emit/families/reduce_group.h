// backends/gpu/emit/families/reduce_group.h
//
// Reductions that one kernel computes together: which outputs of a fusion it stores, and the
// combining of all of them at once. Internal to emit/: includes LLVM headers.
#pragma once

#include <vector>

#include "backends/gpu/emit/core/frame.h"
#include "backends/gpu/emit/core/reducer.h"

namespace hlo::gpu {

// Reductions of the same dimensions of arrays of the same dimensions, and the fusion's outputs that
// their kernel stores.
struct ReduceGroup {
  std::vector<const Instruction*> reduces;
  std::vector<KernelOutput> results;   // the reductions, or elementwise operations after them
  std::vector<KernelOutput> elements;  // of the dimensions of what is reduced
};

// Groups that store something; `taken` says for each output whether one does. Reductions that are
// left out are as fast with a thread for each result.
std::vector<ReduceGroup> GroupReductions(const GpuFrame& frame, std::vector<bool>& taken);

// Several reductions as one: lists of values are those of the first, of the second, ….
class JointReducer {
 public:
  JointReducer(GpuFusionEmitter& emitter, std::vector<const Instruction*> reduces);
  // Of the values that are carried.
  const std::vector<ElementType>& types() const { return types_; }

  // The inputs of all at `index` of their operands, or at the element of the same number.
  absl::StatusOr<EmittedList> Inputs(const ArrayIndex& index) const;
  absl::StatusOr<EmittedList> Combine(const EmittedList& a, const EmittedList& b) const;
  // Makes the results of all, at `index` or where they are pinned, known to the emitter.
  absl::Status Finish(const ArrayIndex& index, const EmittedList& values) const;

 private:
  GpuFusionEmitter& emitter_;
  std::vector<const Instruction*> reduces_;
  std::vector<Reducer> parts_;
  std::vector<ElementType> types_;
};

}  // namespace hlo::gpu
