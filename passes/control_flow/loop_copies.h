// Copies of what a loop does in one iteration, put one after the other.
#pragma once

#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/module.h"

namespace hlo {

// What stands in the copy for an instruction of the original.
using CopyMap = absl::flat_hash_map<const Instruction*, Instruction*>;

class IterationCopier {
 public:
  explicit IterationCopier(Module& module);

  // Copies the instructions of `order`, which lie in one computation, operands first, to the end of
  // `target`, but for those that `copies` holds: these stand there already, the state that the
  // iteration starts with above all. Control edges between copied instructions are copied, bodies
  // of fusions and asynchronous computations too, and collectives, also in these, get channels of
  // their own. Names get `suffix`, or a number after it where they have it already.
  // Returns the copies in order.
  std::vector<Instruction*> Copy(const std::vector<Instruction*>& order, Computation* target,
                                 std::string_view suffix, CopyMap& copies);

  // Gives the collectives of `computation`, which is a copy of another one, channels of their own.
  void RenewChannels(Computation& computation);

 private:
  Module& module_;
  int64_t next_channel_;
};

// Says that `copy` stands for a value of iteration `iteration` of `loop`.
void SetOriginInIteration(Instruction* copy, const Instruction& loop, int64_t iteration);

// Whether `instruction`, or what it calls, does more than to compute and to meet other devices in
// collectives: copies of it must stay in order.
bool HasOtherEffects(const Instruction& instruction);

// Lets what has such effects in `next`, a copy of an iteration, wait for all such of the last one.
void KeepEffectsInOrder(const std::vector<Instruction*>& before,
                        const std::vector<Instruction*>& next);

// Whether `loop` may run its iterations in another place than a loop: neither it nor what it calls
// sends or receives, and its condition, which goes, has no effects.
bool MayCopyIterations(const Instruction& loop);

}  // namespace hlo
