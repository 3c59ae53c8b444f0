// Who waits for whom in one computation and how long, for `latency-hiding-scheduler`.
//
// Times are in XLA's units: 5000 between the halves of an operation, 1 elsewhere; 5000 for a
// convolution or an output fusion, 1000 for a loop fusion, 1 for the rest. What writes over the
// memory that a done yields, or reads it, comes before the start; what has side effects stays in
// its order; a done of a send that follows the done of a receive comes before the loops that wait
// for the latter; top down, a receive whose done follows that of a send comes after the loops
// before that.
//
// Hints of `scheduler_hint`: `force_early` of custom calls; `force_delay` of custom calls,
// async-start and async-done; `force_delay_async` of starts, and of dones, which it makes early.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "lib/analysis/alias.h"
#include "lib/analysis/values.h"
#include "passes/schedule/overlap_resources.h"

namespace hlo {

struct OverlapEdge {
  uint32_t to;
  double latency;
};

struct OverlapNode {
  Instruction* instruction = nullptr;
  // What it waits for; what waits for it. Top down they are exchanged: what is scheduled after it,
  // and what has to be there.
  std::vector<OverlapEdge> before, after;
  double cost = 1;
  ResourceUses resources;
  ResourceCounts needed = {};
  bool needs_any = false;  // of them
  bool is_start = false, is_done = false;
  std::optional<uint32_t> start;  // of a done, if it reads that
  bool occupies = false, releases = false;
  bool is_next_to_half = false;  // reads a done; top down: a start reads it
  bool is_early = false, is_late = false, is_late_if_free = false;
  int64_t late_priority = 0;
  bool runs_at_once = false;  // does nothing
  double async_depth = 0;
  double async_height = 0;  // top down: the same from the end
  int64_t depth = 0;
  int64_t group = -1;

  // While the sequence is made:
  double ready_time = std::numeric_limits<double>::max();
  size_t missing = 0;   // of those after it
  int64_t unlocks = 0;  // that many are ready once it is there
  bool is_scheduled = false;
};

// Whether a hint says that it is to be late, start or not.
bool IsForcedLate(const Instruction& instruction);
// Hints that cannot be read.
absl::Status CheckHints(const Instruction& instruction);

class OverlapGraph {
 public:
  // `given`: the instructions in an order that is right; numbers are places in it.
  OverlapGraph(const std::vector<Instruction*>& given, const OverlapResources& resources,
               const Values& values, const AliasSets& sets,
               const std::function<bool(const Instruction&)>& has_effect, bool top_down);

  size_t size() const { return nodes_.size(); }
  OverlapNode& operator[](uint32_t number) { return nodes_[number]; }
  const OverlapNode& operator[](uint32_t number) const { return nodes_[number]; }
  std::optional<uint32_t> NumberOf(const Instruction& instruction) const;
  // One of those after `number` is there; `missing` is the new count.
  void SetMissing(uint32_t number, size_t missing);

 private:
  void AddEdge(uint32_t from, uint32_t to, double latency);
  void AddUses(uint32_t number);
  void AddReadersOfResults(const Values& values, const AliasSets& sets);
  void AddLoopsAfterSends();
  void AddReceivesAfterLoops();
  void FindDepths();
  void FindHeights();
  void CountUnlocks(uint32_t number);
  // Whether `to` comes after `from` in any order.
  bool Reaches(uint32_t from, uint32_t to) const;

  const std::vector<OverlapEdge>& Earlier(const OverlapNode& node) const {
    return top_down_ ? node.after : node.before;
  }
  const std::vector<OverlapEdge>& Later(const OverlapNode& node) const {
    return top_down_ ? node.before : node.after;
  }

  const bool top_down_;
  std::vector<OverlapNode> nodes_;
  absl::flat_hash_map<const Instruction*, uint32_t> numbers_;  // looked up only
};

}  // namespace hlo
