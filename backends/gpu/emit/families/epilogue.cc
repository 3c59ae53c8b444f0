#include "backends/gpu/emit/families/epilogue.h"

#include "lib/support/status.h"

namespace hlo::gpu {
absl::Status Epilogue::Store(GpuFusionEmitter& emitter, llvm::Value* linear,
                             absl::Span<const Emitted> values) const {
  KernelBuilder& k = emitter.kernel();
  const KernelOutput& output = frame_.outputs[0];
  const int lanes = static_cast<int>(values.size());
  EmittedList results;
  if (output.instruction == &product_) {
    results.assign(values.begin(), values.end());
  } else {
    std::vector<llvm::Value*> places;
    for (int i = 0; i < lanes; ++i) places.push_back(k.Offset(linear, i));
    if (lanes > 1) emitter.SetVector(places, output.shape.element_count());
    for (int i = 0; i < lanes; ++i) {
      const ArrayIndex index =
          ArrayIndex::Element(output.shape.dims(), places[static_cast<size_t>(i)]);
      emitter.SetElement(&product_, index, values[static_cast<size_t>(i)]);
      ASSIGN_OR_RETURN(const Emitted result, emitter.Emit(output.instruction, index));
      results.push_back(result);
    }
    if (lanes > 1) emitter.SetVector({}, 0);
  }
  if (lanes == 1) {
    k.Store(output.buffer, linear, results[0]);
  } else {
    k.StoreVector(output.buffer, linear, results);
  }
  return absl::OkStatus();
}

}  // namespace hlo::gpu
