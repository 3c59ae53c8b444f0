// The schedule of a computation while `rematerialization` goes through it: a list to which
// instructions are added in the middle, with what is known of each.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "lib/analysis/logical_buffers.h"

namespace hlo::remat {

using BufferIds = absl::InlinedVector<LogicalBufferId, 3>;

struct Item {
  Instruction* instruction = nullptr;
  Item* previous = nullptr;
  Item* next = nullptr;
  bool is_placed = false;  // its turn has come
  bool is_done = false;    // and is over
  bool is_denied = false;  // not to be computed again, whatever it is
  bool can_be_recomputed = false;
  bool is_new = false;     // added to the schedule
  bool is_large = false;   // enough to look at
  bool is_gone = false;    // taken out of the list
  bool was_moved = false;  // a copy whose original nobody uses
  int64_t turn = -1;       // counts those that have been placed
  int64_t position = 0;    // in the schedule; what is inserted has that of what comes after it
  int64_t stamp = 0;       // for whoever goes through the list

  // Of candidates (remat_candidates.h): it has changed; the last time it was looked at.
  bool is_touched = false;
  int64_t visit = 0;

  // Of memory (remat_memory.h): what it makes, what it needs, what its result consists of.
  BufferIds made, used, held;
};

class Sequence {
 public:
  explicit Sequence(absl::Span<Instruction* const> schedule);
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  Item* first() const { return first_; }
  // What is known of `instruction`, in the list or not; null for others.
  Item* Of(const Instruction* instruction) const;
  // What is known of a new instruction, which is not in the list yet.
  Item* Add(Instruction* instruction);
  bool IsIn(const Item& item) const { return item.previous != nullptr || first_ == &item; }
  // The one that comes first; of one or more.
  Item* First(absl::Span<Item* const> items) const;
  void InsertBefore(Item* item, Item* before);
  void InsertAfter(Item* item, Item* after);
  void Remove(Item* item);

  // Users that are still in the list, distinct, in the order of ids.
  std::vector<Item*> Users(const Instruction& instruction) const;
  // Nobody in the list uses it.
  bool IsDead(const Instruction& instruction) const;

  std::vector<Instruction*> Instructions() const;

 private:
  Item* first_ = nullptr;
  Item* last_ = nullptr;
  mutable int64_t last_stamp_ = 0;
  std::deque<Item> items_;
  absl::flat_hash_map<const Instruction*, Item*> by_instruction_;  // looked up only
};

}  // namespace hlo::remat
