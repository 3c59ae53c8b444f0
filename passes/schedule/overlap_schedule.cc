#include "passes/schedule/overlap_schedule.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_set.h"
#include "lib/support/status.h"
#include "passes/util/frontend_attribute.h"
#include "passes/util/scheduling_annotation.h"

namespace hlo {
namespace {

template <class T>
int Compare(T a, T b) {
  if (a == b) return 0;
  return a < b ? -1 : 1;
}

bool KeepsOrderInGroup(const Instruction& instruction) {
  return FrontendAttribute(instruction, "keep_original_sequence_order_in_group") == "true";
}

// Of loops, what they leave changed.
bool IsNet(const OverlapNode& node, OverlapResource resource, ResourceUse use) {
  if (node.instruction->opcode() != Opcode::kWhile) return true;
  const ResourceUse other =
      use == ResourceUse::kOccupies ? ResourceUse::kReleases : ResourceUse::kOccupies;
  return !absl::c_linear_search(node.resources, std::pair(resource, other));
}

void Erase(std::vector<uint32_t>& numbers, uint32_t number) {
  const auto at = absl::c_find(numbers, number);
  *at = numbers.back();
  numbers.pop_back();
}

}  // namespace

// ---- groups ----

OverlapSchedule::Group& OverlapSchedule::GroupOf(int64_t id) {
  return *absl::c_find_if(groups_, [id](const Group& group) { return group.id == id; });
}

absl::Status OverlapSchedule::FindGroups() {
  for (Number i = 0; i < graph_.size(); ++i) {
    ASSIGN_OR_RETURN(const std::optional<SchedulingAnnotation> annotation,
                     SchedulingAnnotationOf(*graph_[i].instruction));
    if (!annotation.has_value() || !annotation->group.has_value()) continue;
    graph_[i].group = *annotation->group;
    auto group = absl::c_find_if(
        groups_, [&](const Group& other) { return other.id == *annotation->group; });
    if (group == groups_.end()) group = groups_.insert(group, {.id = *annotation->group});
    const Instruction& instruction = *graph_[i].instruction;
    if (group->members.empty()) group->keeps_order = KeepsOrderInGroup(instruction);
    if (group->keeps_order && !KeepsOrderInGroup(instruction))
      return Error(instruction.loc(),
                   "`{}` does not have `keep_original_sequence_order_in_group`, which `{}` of "
                   "scheduling group {} has",
                   instruction.name(), graph_[group->members[0]].instruction->name(), group->id);
    group->members.push_back(i);
  }
  for (Group& group : groups_) {
    absl::flat_hash_set<Number> seen;  // looked up only
    for (const Number member : group.members) {
      for (const OverlapEdge& edge : graph_[member].after) {
        if (graph_[edge.to].group != group.id && seen.insert(edge.to).second) ++group.after;
      }
    }
    if (group.after == 0) ready_groups_.push_back(group.id);
  }
  return absl::OkStatus();
}

// At one time while the members come in their order, the last one first. (XLA counts so top down,
// too, where it is starts that occupy something.)
ResourceCounts OverlapSchedule::NeededInOrder(const Group& group) const {
  ResourceCounts needed = {}, most = {};
  const int sign = options_.top_down_scheduling ? -1 : 1;
  for (auto member = group.members.rbegin(); member != group.members.rend(); ++member) {
    const OverlapNode& node = graph_[*member];
    if (node.is_start) {
      const std::vector<OverlapEdge>& later =
          options_.top_down_scheduling ? node.before : node.after;
      const auto edge = absl::c_find_if(
          later, [&](const OverlapEdge& after) { return graph_[after.to].start == *member; });
      for (size_t i = 0; i < needed.size() && edge != later.end(); ++i)
        needed[i] -= sign * graph_[edge->to].needed[i];
      continue;
    }
    for (size_t i = 0; i < needed.size(); ++i) {
      needed[i] += sign * node.needed[i];
      most[i] = std::max(most[i], needed[i]);
    }
  }
  return most;
}

// For all members at a time, or as few as there can be.
ResourceCounts OverlapSchedule::NeededInAnyOrder(const Group& group, bool overlapped) const {
  ResourceCounts needed = {};
  for (const Number member : group.members) {
    const OverlapNode& node = graph_[member];
    const std::optional<Number> start =
        node.is_done ? graph_.NumberOf(*node.instruction->operand(0)) : std::nullopt;
    const bool is_open = node.instruction->opcode() == Opcode::kAsyncDone &&
                         (!start.has_value() || graph_[*start].group != group.id || overlapped);
    for (size_t i = 0; i < needed.size(); ++i)
      needed[i] = is_open ? needed[i] + node.needed[i] : std::max(needed[i], node.needed[i]);
  }
  return needed;
}

// Whether what is free is enough.
bool OverlapSchedule::GroupFits(const Group& group, bool overlapped) const {
  const ResourceCounts needed =
      group.keeps_order ? NeededInOrder(group) : NeededInAnyOrder(group, overlapped);
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i] > free_[i]) return false;
  }
  return true;
}

bool OverlapSchedule::StartGroup(bool overlapped) {
  if (!held_back_.empty()) return false;
  const auto found = absl::c_find_if(
      ready_groups_, [&](int64_t id) { return GroupFits(GroupOf(id), overlapped); });
  if (found == ready_groups_.end()) return false;
  const int64_t id = *found;
  *found = ready_groups_.back();
  ready_groups_.pop_back();
  current_group_ = id;
  ScheduleGroup(GroupOf(id));
  current_group_ = -1;
  return true;
}

void OverlapSchedule::ScheduleGroup(Group& group) {
  for (const Number number : ready_) {
    if (graph_[number].group == group.id) group_ready_.push_back(number);
  }
  size_t scheduled = 0;
  while (const std::optional<Number> number = TakeFromGroup()) {
    OverlapNode& node = graph_[*number];
    if (options_.flexible_scheduling_annotation_scheduling && node.is_start &&
        scheduled + 1 == group.members.size()) {
      node.group = -1;
      node.is_late_if_free = options_.aggressive_flexible_annotation_scheduling;
      held_back_.push_back(*number);
      continue;
    }
    Erase(ready_, *number);
    Schedule(*number);
    ++scheduled;
  }
  // What has become ready too late.
  for (const Number member : group.members) {
    if (graph_[member].is_scheduled || graph_[member].group == -1) continue;
    graph_[member].group = -1;
    held_back_.push_back(member);
  }
  group_ready_.clear();
}

std::optional<OverlapSchedule::Number> OverlapSchedule::TakeFromGroup() {
  std::optional<Number> best;
  for (const Number number : group_ready_) {
    const OverlapNode& node = graph_[number];
    if (CrossesLimit(node)) continue;
    if (!best.has_value()) {
      best = number;
      continue;
    }
    const OverlapNode& other = graph_[*best];
    bool is_better = true;
    if (KeepsOrderInGroup(*node.instruction) && KeepsOrderInGroup(*other.instruction)) {
      is_better = number > *best;
    } else if (node.occupies != other.occupies) {
      is_better = node.occupies;
    } else if (node.releases != other.releases) {
      is_better = other.releases;
    }
    if (is_better) best = number;
  }
  if (best.has_value()) Erase(group_ready_, *best);
  return best;
}

// Takes apart the smallest of the groups that have something ready.
bool OverlapSchedule::GiveUpGroup() {
  Group* smallest = nullptr;
  for (const Number number : ready_) {
    if (graph_[number].group == -1) continue;
    Group& group = GroupOf(graph_[number].group);
    if (smallest == nullptr || group.members.size() < smallest->members.size()) smallest = &group;
  }
  if (smallest == nullptr) return false;
  for (const Number member : smallest->members) graph_[member].group = -1;
  std::erase(ready_groups_, smallest->id);
  return true;
}

absl::Status OverlapSchedule::CannotGoOn() const {
  for (const Number number : ready_) {
    const OverlapNode& node = graph_[number];
    if (node.group == -1) continue;
    return Error(node.instruction->loc(),
                 "`{}` and the others of scheduling group {} need more operations under way at a "
                 "time than the overlap limits allow",
                 node.instruction->name(), node.group);
  }
  return Internal("nothing is ready, but {} of {} instructions are not scheduled",
                  graph_.size() - made_.size(), graph_.size());
}

// ---- choosing ----

bool OverlapSchedule::CrossesLimit(const OverlapNode& node) const {
  if (!node.needs_any) return false;
  for (size_t i = 0; i < free_.size(); ++i) {
    if (node.needed[i] > free_[i] && node.needed[i] > 0) return true;
  }
  return false;
}

MemoryChange OverlapSchedule::ChangeBy(Candidate& candidate) const {
  if (candidate.change.has_value()) return *candidate.change;
  MemoryChange change = memory_.ChangeBy(candidate.number);
  // Its start may come right away.
  const OverlapNode& node = graph_[candidate.number];
  if (!options_.top_down_scheduling && node.is_done && !node.before.empty() &&
      graph_[node.before[0].to].is_start) {
    const MemoryChange by_start = memory_.ChangeBy(node.before[0].to);
    change.increase = std::min(change.increase, by_start.increase);
    change.peak = std::max(change.peak, by_start.peak);
  }
  candidate.change = change;
  return change;
}

bool OverlapSchedule::IsShort(Candidate& candidate) const {
  if (!candidate.is_short.has_value()) {
    const ResourceUses& uses = graph_[candidate.number].resources;
    candidate.is_short = absl::c_any_of(uses, [&](const auto& use) {
      const auto i = static_cast<size_t>(use.first);
      return free_[i] == 0 && wanted_[i] > 0;
    });
  }
  return *candidate.is_short;
}

// A start that no chain leads to, and nobody waits for.
bool OverlapSchedule::MayWait(Candidate& candidate) const {
  const OverlapNode& node = graph_[candidate.number];
  return node.releases && node.async_depth == 0 && !IsShort(candidate);
}

// What begins an operation: a done; top down, a start. A done of a send to the host waits until its
// send could go: that needs no memory meanwhile.
bool OverlapSchedule::IsDueHalf(const OverlapNode& node) const {
  if (!node.occupies) return false;
  if (options_.top_down_scheduling) return node.is_start;
  if (node.instruction->opcode() != Opcode::kSendDone ||
      node.resources[0].first != OverlapResource::kSendHost)
    return true;
  const std::optional<Number> start = graph_.NumberOf(*node.instruction->operand(0));
  if (!start.has_value()) return true;
  double ready_time = 0, latency = 0;
  for (const OverlapEdge& edge : graph_[*start].after) {
    const OverlapNode& after = graph_[edge.to];
    if (after.ready_time == std::numeric_limits<double>::max()) return true;
    ready_time = std::max(ready_time, edge.latency + after.ready_time);
    if (after.instruction == node.instruction) latency = edge.latency;
  }
  return ready_time - now_ <= latency;
}

int OverlapSchedule::CompareByMemory(Candidate& a, Candidate& b) {
  const MemoryChange x = ChangeBy(a), y = ChangeBy(b);
  const int64_t live = memory_.live_bytes(), limit = options_.memory_limit_bytes;
  if (live >= limit) {
    if (options_.depth_based_memory_pressure_reduction) {
      if (const int better = Compare(x.increase <= 0 && x.increase < y.increase,
                                     y.increase <= 0 && y.increase < x.increase))
        return better;
      if (const int better = Compare(graph_[a.number].depth, graph_[b.number].depth)) return better;
    }
    if (const int better = Compare(y.increase, x.increase)) return better;
  }
  return Compare(x.peak + live <= limit, y.peak + live <= limit);
}

int OverlapSchedule::CompareByTime(Candidate& a, Candidate& b) {
  const OverlapNode &x = graph_[a.number], &y = graph_[b.number];
  if (options_.enable_schedule_by_structure) {
    const auto ends = [this](const OverlapNode& node) {
      return options_.top_down_scheduling ? node.is_done : node.is_start;
    };
    if (const int better = Compare(ends(y), ends(x))) return better;
  }
  if (const int better = Compare(IsDueHalf(x), IsDueHalf(y))) return better;
  // What hides a start that is to be late stays free as long as there is another.
  if (x.start.has_value() && y.start.has_value() &&
      x.instruction->opcode() == y.instruction->opcode()) {
    if (const int better = CompareLate(graph_[*x.start].is_late, graph_[*y.start].is_late))
      return better;
  }
  if (options_.enable_release_start_policy) {
    const auto is_due = [&](const OverlapNode& node) {
      const std::pair release(OverlapResource::kCollectivePermute, ResourceUse::kReleases);
      return node.ready_time <= now_ && absl::c_linear_search(node.resources, release);
    };
    if (const int better = Compare(is_due(x), is_due(y))) return better;
    if (is_due(x)) {
      if (const int better = Compare(x.ready_time, y.ready_time)) return better;
    }
  }
  const bool is_aggressive = options_.aggressive_scheduling_policies;
  const bool waits_first = options_.prioritize_async_depth_over_stall;
  if (is_aggressive && waits_first) {
    if (const int better = Compare(!MayWait(a), !MayWait(b))) return better;
  }
  if (const int better =
          Compare(std::max(y.ready_time - now_, 0.0), std::max(x.ready_time - now_, 0.0)))
    return better;
  if (is_aggressive && !waits_first) {
    if (const int better = Compare(!MayWait(a), !MayWait(b))) return better;
  }
  return Compare(x.releases && IsShort(a), y.releases && IsShort(b));
}

int OverlapSchedule::CompareByOutlook(Candidate& a, Candidate& b) const {
  const OverlapNode &x = graph_[a.number], &y = graph_[b.number];
  const int further = options_.top_down_scheduling ? Compare(x.async_height, y.async_height)
                                                   : Compare(x.async_depth, y.async_depth);
  if (further != 0) return further;
  if (waiting_.empty()) return 0;
  // Work that is as long as what is to be hidden.
  const double wanted = graph_[waiting_.front()].ready_time - now_;
  const double by_x = std::abs(wanted - x.cost), by_y = std::abs(wanted - y.cost);
  return Compare(!x.releases && by_x < by_y, !y.releases && by_y < by_x);
}

bool OverlapSchedule::IsBetter(Candidate& a, Candidate& b) {
  const OverlapNode &x = graph_[a.number], &y = graph_[b.number];
  const auto compare_freed = [&] { return CompareLate(x.is_late_if_free, y.is_late_if_free); };
  const bool is_freed_late = options_.force_delay_over_memory_pressure;
  if (const int better = is_freed_late ? compare_freed() : 0) return better > 0;
  if (const int better = CompareLate(!x.is_early, !y.is_early)) return better > 0;
  if (const int better = CompareLate(x.is_late, y.is_late)) return better > 0;
  if (const int better = CompareLate(x.late_priority, y.late_priority)) return better > 0;
  const bool is_tight =
      options_.memory_limit_bytes > 0 && memory_.live_bytes() > options_.memory_limit_bytes / 2;
  if (is_tight) {
    if (const int better = CompareByMemory(a, b)) return better > 0;
  }
  if (const int better = is_freed_late ? 0 : compare_freed()) return better > 0;
  if (const int better = CompareByTime(a, b)) return better > 0;
  const bool is_aggressive = options_.aggressive_scheduling_policies;
  if (is_aggressive) {
    if (const int better = CompareByOutlook(a, b)) return better > 0;
  }
  if (const int better = Compare(x.is_next_to_half, y.is_next_to_half)) return better > 0;
  if (is_aggressive) {
    if (const int better = Compare(x.unlocks, y.unlocks)) return better > 0;
  }
  if (is_tight) {
    if (const int better = Compare(ChangeBy(a).increase < 0, ChangeBy(b).increase < 0))
      return better > 0;
  }
  return options_.top_down_scheduling ? a.number < b.number : a.number > b.number;
}

std::optional<OverlapSchedule::Number> OverlapSchedule::TakeBest(bool within_limits) {
  std::optional<Candidate> best;
  for (const Number number : ready_) {
    if (graph_[number].group != -1 || (within_limits && CrossesLimit(graph_[number]))) continue;
    Candidate candidate{number, std::nullopt, std::nullopt};
    if (!best.has_value() || IsBetter(candidate, *best)) best = candidate;
  }
  if (!best.has_value()) return std::nullopt;
  Erase(ready_, best->number);
  return best->number;
}

bool OverlapSchedule::ScheduleOne() {
  if (!at_once_.empty()) {
    const Number number = at_once_.back();
    at_once_.pop_back();
    Schedule(number);
    return true;
  }
  const std::optional<Number> best = TakeBest(/*within_limits=*/true);
  if (best.has_value()) Schedule(*best);
  return best.has_value();
}

// ---- the sequence ----

void OverlapSchedule::Take(const OverlapNode& node) {
  for (const auto& [resource, use] : node.resources) {
    if (!IsNet(node, resource, use)) continue;
    const auto i = static_cast<size_t>(resource);
    if (use == ResourceUse::kReleases) ++free_[i];
    if (use != ResourceUse::kOccupies) continue;
    --free_[i];
    --wanted_[i];
  }
}

// What has become ready is ready when all that comes after it has begun, and the time between them
// has passed.
void OverlapSchedule::ReleaseOperands(Number number) {
  const auto later = [this](Number a, Number b) {
    return graph_[a].ready_time > graph_[b].ready_time;
  };
  while (!waiting_.empty() && graph_[waiting_.front()].ready_time < now_) {
    std::pop_heap(waiting_.begin(), waiting_.end(), later);
    waiting_.pop_back();
  }
  for (const OverlapEdge& edge : graph_[number].before) {
    OverlapNode& earlier = graph_[edge.to];
    graph_.SetMissing(edge.to, earlier.missing - 1);
    if (earlier.missing > 0) continue;
    earlier.ready_time = now_;
    for (const OverlapEdge& after : earlier.after)
      earlier.ready_time =
          std::max(earlier.ready_time, graph_[after.to].ready_time + after.latency);
    for (const auto& [resource, use] : earlier.resources) {
      if (use == ResourceUse::kOccupies) ++wanted_[static_cast<size_t>(resource)];
    }
    if (earlier.runs_at_once && earlier.group == -1) {
      at_once_.push_back(edge.to);
      continue;
    }
    ready_.push_back(edge.to);
    if (earlier.group != -1 && earlier.group == current_group_) group_ready_.push_back(edge.to);
    if (earlier.ready_time <= now_) continue;
    waiting_.push_back(edge.to);
    std::push_heap(waiting_.begin(), waiting_.end(), later);
  }
}

void OverlapSchedule::Schedule(Number number) {
  OverlapNode& node = graph_[number];
  made_.push_back(number);
  node.is_scheduled = true;
  std::erase(held_back_, number);
  std::vector<int64_t> seen;
  for (const OverlapEdge& edge : node.before) {
    const int64_t id = graph_[edge.to].group;
    if (id == -1 || id == node.group || absl::c_linear_search(seen, id)) continue;
    seen.push_back(id);
    Group& group = GroupOf(id);
    if (++group.after_done == group.after) ready_groups_.push_back(id);
  }
  Take(node);
  double begin = now_;
  for (const OverlapEdge& edge : node.after)
    begin = std::max(begin, graph_[edge.to].ready_time + edge.latency);
  node.ready_time = begin;
  now_ = begin + node.cost;
  ReleaseOperands(number);
  memory_.Add(number);
}

absl::StatusOr<std::vector<Instruction*>> OverlapSchedule::Make() {
  RETURN_IF_ERROR(FindGroups());
  for (Number i = 0; i < graph_.size(); ++i) {
    if (!graph_[i].after.empty()) continue;
    graph_[i].ready_time = 0;
    (graph_[i].runs_at_once ? at_once_ : ready_).push_back(i);
  }
  while (!ready_.empty() || !at_once_.empty()) {
    if (StartGroup(/*overlapped=*/true) || ScheduleOne()) continue;
    if (options_.deannotate_group_if_blocked && GiveUpGroup()) continue;
    if (StartGroup(/*overlapped=*/false)) continue;
    // No order keeps to the limits.
    const std::optional<Number> best = TakeBest(/*within_limits=*/false);
    if (!best.has_value()) return CannotGoOn();
    Schedule(*best);
  }
  std::vector<Instruction*> sequence;
  for (const Number number : made_) sequence.push_back(graph_[number].instruction);
  if (!options_.top_down_scheduling) absl::c_reverse(sequence);
  return sequence;
}

}  // namespace hlo
