#include "tools/fuzz/module_limits.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "lib/types/shape_util.h"

namespace hlo {
namespace {

constexpr int kMostInstructions = 400;
constexpr int64_t kMostElements = 1 << 16;  // of one array

bool HoldsAny(const Module& module, std::initializer_list<Opcode> opcodes) {
  const std::vector<Computation*>& all = module.computations();
  return std::any_of(all.begin(), all.end(), [&](const Computation* computation) {
    return computation->MayHoldAny(opcodes);
  });
}

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
  return HoldsAny(module, {Opcode::kRng, Opcode::kRngGetAndUpdateState});
}

bool TakesGroupSizes(const Module& module) { return HoldsAny(module, {Opcode::kRaggedDot}); }

bool RunsOnSeveralDevices(const Module& module) {
  return module.config().replica_count * module.config().num_partitions != 1;
}

}  // namespace hlo
