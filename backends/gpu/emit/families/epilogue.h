// backends/gpu/emit/families/epilogue.h
//
// What a fusion computes from each result of its dot or convolution before it is stored: the
// elementwise operations after the product (passes/gpu/gpu_epilogue_fusion.h). Internal to this
// folder: includes LLVM headers.
#pragma once

#include "backends/gpu/emit/core/frame.h"

namespace hlo::gpu {

class Epilogue final {
 public:
  Epilogue(const Instruction& product, const GpuFrame& frame) : product_(product), frame_(frame) {}

  // Stores what becomes of consecutive elements of the product from number `linear` on, a multiple
  // of how many they are.
  absl::Status Store(GpuFusionEmitter& emitter, llvm::Value* linear,
                     absl::Span<const Emitted> values) const;

 private:
  const Instruction& product_;
  const GpuFrame& frame_;
};

}  // namespace hlo::gpu
