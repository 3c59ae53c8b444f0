#include "tools/fuzz/module_limits.h"

#include "lib/types/shape_util.h"

namespace hlo {
namespace {

constexpr int kMostInstructions = 400;
constexpr int64_t kMostElements = 1 << 16;  // of one array

}  // namespace

bool IsLarge(const Module& module) {
  if (module.instruction_count() > kMostInstructions) return true;
  bool large = false;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      ForEachLeaf(instruction->shape(), [&](Shape leaf, const ShapeIndex&) {
        large |= leaf.IsArray() && leaf.element_count() > kMostElements;
      });
    }
  }
  return large;
}

bool DrawsRandomNumbers(const Module& module) {
  for (const Computation* computation : module.computations()) {
    if (computation->MayHoldAny({Opcode::kRng, Opcode::kRngGetAndUpdateState})) return true;
  }
  return false;
}

bool RunsOnSeveralDevices(const Module& module) {
  return module.config().replica_count * module.config().num_partitions != 1;
}

}  // namespace hlo
