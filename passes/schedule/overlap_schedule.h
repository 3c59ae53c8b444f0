// The instructions of one computation in an order that hides what runs in the background, for
// `latency-hiding-scheduler`: XLA's list scheduler. It makes the sequence from its end. What all of
// its users are there for is ready; of what is ready this goes first, the first difference decides:
//
//   hints; within half of the memory limit, what needs less memory
//   a done, and so nothing else that waits for it; of dones alike, not that of a start that is to
//   be late
//   what is ready without waiting: a start only when enough lies between it and its done
//   a start whose kind of operation another done waits for
//   what reads a done, so that this comes next
//   what came last before
//
// With `top_down_scheduling` all that is turned round: the sequence is made from its beginning, a
// start takes the place of a done.
//
// A done waits while as many operations of its kind are under way as may be. What does nothing goes
// at once. A group goes in one piece when all that comes after it is there, dones first, starts
// last.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/schedule/overlap_graph.h"
#include "passes/schedule/overlap_memory.h"

namespace hlo {

class OverlapSchedule {
 public:
  OverlapSchedule(OverlapGraph& graph, OverlapMemory& memory, const OverlapResources& resources,
                  const LatencyHidingSchedulerOptions& options)
      : graph_(graph), memory_(memory), options_(options), free_(resources.Limits()) {}

  // The new sequence.
  absl::StatusOr<std::vector<Instruction*>> Make();

 private:
  using Number = uint32_t;
  struct Group {
    int64_t id = -1;
    std::vector<Number> members;
    bool keeps_order = false;          // its members stay in the order in which they are
    size_t after = 0, after_done = 0;  // instructions that come after it
  };
  // A candidate with what is found out about it once.
  struct Candidate {
    Number number;
    std::optional<MemoryChange> change;
    std::optional<bool> is_short;  // of a resource that others wait for
  };

  absl::Status FindGroups();
  Group& GroupOf(int64_t id);
  ResourceCounts NeededInOrder(const Group& group) const;
  ResourceCounts NeededInAnyOrder(const Group& group, bool overlapped) const;
  bool GroupFits(const Group& group, bool overlapped) const;
  bool StartGroup(bool overlapped);
  void ScheduleGroup(Group& group);
  std::optional<Number> TakeFromGroup();
  bool GiveUpGroup();
  absl::Status CannotGoOn() const;

  bool ScheduleOne();
  bool CrossesLimit(const OverlapNode& node) const;
  std::optional<Number> TakeBest(bool within_limits);
  bool IsBetter(Candidate& a, Candidate& b);
  // Above 0: a is better, below: b, 0: neither.
  int CompareByMemory(Candidate& a, Candidate& b);
  int CompareByTime(Candidate& a, Candidate& b);
  int CompareByOutlook(Candidate& a, Candidate& b) const;
  MemoryChange ChangeBy(Candidate& candidate) const;
  bool IsShort(Candidate& candidate) const;
  bool MayWait(Candidate& candidate) const;
  bool IsDueHalf(const OverlapNode& node) const;
  // What is to be late comes last from the end of the sequence, first top down.
  template <class T>
  int CompareLate(T a, T b) const {
    const int order = (b < a) - (a < b);
    return options_.top_down_scheduling ? order : -order;
  }

  void Schedule(Number number);
  void Take(const OverlapNode& node);
  void ReleaseOperands(Number number);

  OverlapGraph& graph_;
  OverlapMemory& memory_;
  const LatencyHidingSchedulerOptions& options_;
  ResourceCounts free_, wanted_ = {};  // wanted by what is ready
  std::vector<Number> ready_, at_once_, group_ready_;
  std::vector<Number> waiting_;  // ready in future, a heap by ready time
  std::vector<Group> groups_;
  std::vector<int64_t> ready_groups_;
  std::vector<Number> held_back_;  // of groups, left to the scheduler
  int64_t current_group_ = -1;
  std::vector<Number> made_;  // the sequence, from its end; top down, from its beginning
  double now_ = 0;
};

}  // namespace hlo
