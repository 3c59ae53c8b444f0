// What `rematerialization` may do to need less memory at the instruction whose turn it is, and what
// of that is best.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "passes/schedule/remat_memory.h"

namespace hlo::remat {

struct Choice {
  enum class Kind : uint8_t { kRecompute, kCompress, kOffload };
  Kind kind = Kind::kRecompute;
  std::vector<Item*> items;  // in a row; none: there is nothing to do
  int64_t effort = 0;        // how many were looked at
};

class Candidates {
 public:
  // `limit`: of memory, which costs are shares of. `peak`: what the computation needed at first.
  Candidates(MemoryTracker& memory, int64_t limit, int64_t peak)
      : memory_(memory), limit_(limit), peak_(peak) {}

  // The first of the cheapest among rows of these many instructions. What each row costs is kept
  // until something about it changes: a call costs no more than what has changed since the last for
  // the same lengths, times `longest` squared.
  Choice Pick(int64_t shortest, int64_t longest);

 private:
  class Row;
  // The best that starts at an instruction, as long as the current one uses none of it.
  struct Offer {
    std::optional<int64_t> cost;
    Choice::Kind kind = Choice::Kind::kRecompute;
    int64_t length = 0;
    int64_t effort = 0;
  };
  // Rows of some lengths.
  struct Level {
    int64_t shortest, longest;
    absl::flat_hash_map<const Item*, Offer> offers;                // looked up only
    std::set<std::pair<std::pair<int64_t, int64_t>, Item*>> best;  // by cost and turn
    std::vector<Item*> touched;
    int64_t effort = 0;
  };

  Level& LevelOf(int64_t shortest, int64_t longest);
  void Refresh(Level& level, Item* start);
  Offer Evaluate(const Level& level, Item* start, bool minds_use) const;
  bool IsUsedNow(const Offer& offer, const Item* start) const;
  bool MakesUsedNow(const Item& item) const;
  bool HoldsUsedNow(const Item& item) const;
  std::optional<int64_t> CostOfCompression(const Item& item) const;
  std::optional<int64_t> CostOfOffload(const Item& item) const;

  MemoryTracker& memory_;
  const int64_t limit_;
  const int64_t peak_;
  std::deque<Level> levels_;
  int64_t last_visit_ = 0;
};

}  // namespace hlo::remat
