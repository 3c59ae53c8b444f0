// Does what `rematerialization` has chosen: to the graph, to the schedule, and to what is known of
// memory.
#pragma once

#include <vector>

#include "passes/schedule/remat_candidates.h"
#include "passes/schedule/remat_edits.h"

namespace hlo::remat {

class Rewriter {
 public:
  // `next_channel`: the channel id of the next collective that is copied.
  Rewriter(MemoryTracker& memory, Edits& edits, int64_t& next_channel)
      : memory_(memory), edits_(edits), next_channel_(next_channel) {}

  void Do(const Choice& choice);

 private:
  static constexpr size_t kManyUses = 64;

  void Recompute(Item* original);
  std::vector<Item*> Redirect(Item* original, Item* copy);
  Item* Deadline(const Item& copy, absl::Span<Item* const> names) const;
  bool ShouldPrecedeUsersOf(const Instruction& operand, const Item& copy) const;
  void RemoveWithNames(Item* item);
  void Compress(Item* original);
  void Offload(Item* original);
  void RedirectUnplaced(const Item& original, Instruction* to);
  Item* AfterSeconds(Item* from, Item* Item::*next, const Item* end, float seconds) const;

  MemoryTracker& memory_;
  Edits& edits_;
  int64_t& next_channel_;
};

}  // namespace hlo::remat
