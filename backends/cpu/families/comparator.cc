// backends/cpu/families/comparator.cc
//
// The comparator of a sort as a kernel on one pair of rows: two one-element buffers per operand
// (the row that may come first, the other), then a pred.
#include "backends/cpu/families/kernel_frame.h"
#include "lib/support/status.h"

namespace hlo::cpu {

absl::StatusOr<KernelPlan> EmitComparator(const Instruction& sort) {
  KernelPlan result;
  result.family = "comparator";
  tile::TileBuilder b(&result.kernel);
  LoopPlan plan;
  FusionEmitter emitter(b, plan, /*base_lanes=*/1);
  Values arguments;
  std::vector<int> buffers;
  for (const Instruction* operand : sort.operands()) {
    for (int side = 0; side < 2; ++side) {
      buffers.push_back(
          b.AddBuffer(tile::BufferKind::kArgument, operand->shape().element_type(), 1));
    }
  }
  const int verdict =
      b.AddBuffer(tile::BufferKind::kArgument, ElementType::kPred, 1, /*written=*/true);
  for (const int buffer : buffers) arguments.push_back(b.Load(buffer, b.Index(0)));
  ASSIGN_OR_RETURN(const Values values, emitter.EmitRegion(*sort.to_apply(), arguments));
  b.Store(verdict, b.Index(0), values[0]);
  return result;
}

}  // namespace hlo::cpu
