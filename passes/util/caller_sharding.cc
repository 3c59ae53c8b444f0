#include "passes/util/caller_sharding.h"

#include "absl/algorithm/container.h"
#include "lib/ir/instruction.h"
#include "lib/ops/opcode_set.h"

namespace hlo {

void DropShardingThatCallersContradict(Computation& computation) {
  constexpr OpcodeSet kSpeaks = {Opcode::kWhile, Opcode::kConditional};
  Instruction& root = *computation.root();
  if (root.sharding() == nullptr) return;
  const bool contradicts = absl::c_any_of(computation.callers(), [&](const CallSite& site) {
    const Sharding* const said = site.caller->sharding();
    return kSpeaks.Has(site.caller->opcode()) && said != nullptr && !(*said == *root.sharding());
  });
  if (contradicts) root.mutable_extras().sharding.reset();
}

}  // namespace hlo
