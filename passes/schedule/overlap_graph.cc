#include "passes/schedule/overlap_graph.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "lib/ops/attrs.h"
#include "lib/ops/opcode_set.h"
#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/types/shape_util.h"
#include "passes/util/frontend_attribute.h"

namespace hlo {
namespace {

constexpr double kShort = 1, kMedium = 1000, kLong = 5000;

double UnitsOf(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kConvolution) return kLong;
  if (!instruction.IsFusion()) return kShort;
  const FusionKind kind = instruction.attrs<FusionAttrs>().kind;
  if (kind == FusionKind::kLoop) return kMedium;
  return kind == FusionKind::kOutput ? kLong : kShort;
}

double LatencyBetween(const Instruction& from, const Instruction& to) {
  const AsyncForm start = AsyncFormOf(from), done = AsyncFormOf(to);
  const bool are_halves = start.half == Opcode::kAsyncStart && done.half == Opcode::kAsyncDone &&
                          start.operation == done.operation;
  return are_halves ? kLong : kShort;
}

bool RunsAtOnce(const Instruction& instruction) {
  constexpr OpcodeSet kNothing = {Opcode::kGetTupleElement, Opcode::kBitcast,   Opcode::kConstant,
                                  Opcode::kParameter,       Opcode::kBroadcast, Opcode::kIota};
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kTranspose) {
    const Shape from = instruction.operand(0)->shape(), to = instruction.shape();
    return from.has_layout() && to.has_layout() &&
           TransposeIsBitcast(from, to, instruction.attrs<TransposeAttrs>().dimensions);
  }
  if (opcode == Opcode::kTuple) {
    return instruction.has_one_user() && instruction.users().front()->opcode() == Opcode::kWhile;
  }
  return kNothing.Has(opcode);
}

// Looks at an element of a tuple, or hands it on.
bool OnlyPassesOn(const Instruction& instruction) {
  constexpr OpcodeSet kPassing = {Opcode::kGetTupleElement, Opcode::kTuple, Opcode::kDomain};
  return kPassing.Has(instruction.opcode());
}

constexpr std::string_view kHint = "scheduler_hint", kPriority = "scheduler_delay_priority";

std::optional<int64_t> PriorityOf(const Instruction& instruction) {
  const std::string_view text = FrontendAttribute(instruction, kPriority);
  return text.empty() ? std::optional<int64_t>(0) : ReadNumber<int64_t>(text);
}

void ReadHints(OverlapNode& node) {
  const Instruction& instruction = *node.instruction;
  const std::string_view hint = FrontendAttribute(instruction, kHint);
  const bool is_of_halves = hint == "force_delay_async";
  node.is_early = (instruction.opcode() == Opcode::kCustomCall && hint == "force_early") ||
                  (node.is_done && is_of_halves);
  node.is_late = IsForcedLate(instruction) || (node.is_start && is_of_halves);
  if (node.is_late) node.late_priority = PriorityOf(instruction).value_or(0);
}

}  // namespace

bool IsForcedLate(const Instruction& instruction) {
  constexpr OpcodeSet kHinted = {Opcode::kCustomCall, Opcode::kAsyncStart, Opcode::kAsyncDone};
  return kHinted.Has(instruction.opcode()) &&
         FrontendAttribute(instruction, kHint) == "force_delay";
}

absl::Status CheckHints(const Instruction& instruction) {
  if (PriorityOf(instruction).has_value()) return absl::OkStatus();
  return Error(instruction.loc(), "`{}` of `{}` is `{}`; expected a whole number", kPriority,
               instruction.name(), FrontendAttribute(instruction, kPriority));
}

OverlapGraph::OverlapGraph(const std::vector<Instruction*>& given,
                           const OverlapResources& resources, const Values& values,
                           const AliasSets& sets,
                           const std::function<bool(const Instruction&)>& has_effect, bool top_down)
    : top_down_(top_down), nodes_(given.size()) {
  for (uint32_t i = 0; i < given.size(); ++i) {
    OverlapNode& node = nodes_[i];
    Instruction& instruction = *given[i];
    numbers_[&instruction] = i;
    node.instruction = &instruction;
    node.cost = UnitsOf(instruction);
    node.resources = resources.Of(instruction);
    node.needed = resources.NeededBy(instruction);
    node.needs_any = absl::c_any_of(node.needed, [](int64_t count) { return count > 0; });
    node.is_start = resources.IsStart(instruction);
    node.is_done = resources.IsDone(instruction);
    if (node.is_done && resources.IsStart(*instruction.operand(0)))
      node.start = NumberOf(*instruction.operand(0));
    for (const auto& [resource, use] : node.resources) {
      node.occupies |= use == ResourceUse::kOccupies;
      node.releases |= use == ResourceUse::kReleases;
    }
    node.is_next_to_half =
        top_down ? absl::c_any_of(instruction.users(),
                                  [&](const Instruction* user) { return resources.IsStart(*user); })
                 : absl::c_any_of(instruction.operands(), [&](const Instruction* operand) {
                     return resources.IsDone(*operand);
                   });
    node.runs_at_once = RunsAtOnce(instruction);
    ReadHints(node);
  }
  uint32_t last_effect = 0;
  bool has_last_effect = false;
  for (uint32_t i = 0; i < given.size(); ++i) {
    AddUses(i);
    if (!has_effect(*given[i])) continue;
    if (has_last_effect) AddEdge(last_effect, i, kShort);
    last_effect = i;
    has_last_effect = true;
  }
  AddReadersOfResults(values, sets);
  AddLoopsAfterSends();
  if (top_down) AddReceivesAfterLoops();
  FindDepths();
  if (top_down) FindHeights();
  for (OverlapNode& node : nodes_) node.missing = node.after.size();
  for (uint32_t i = 0; i < nodes_.size(); ++i) CountUnlocks(i);
}

std::optional<uint32_t> OverlapGraph::NumberOf(const Instruction& instruction) const {
  const auto found = numbers_.find(&instruction);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

void OverlapGraph::AddEdge(uint32_t from, uint32_t to, double latency) {
  if (top_down_) std::swap(from, to);
  nodes_[from].after.push_back({to, latency});
  nodes_[to].before.push_back({from, latency});
}

void OverlapGraph::AddUses(uint32_t number) {
  const Instruction& instruction = *nodes_[number].instruction;
  for (const Instruction* user : instruction.users())
    AddEdge(number, numbers_.at(user), LatencyBetween(instruction, *user));
  for (const Instruction* later : instruction.control_successors())
    AddEdge(number, numbers_.at(later), LatencyBetween(instruction, *later));
}

bool OverlapGraph::Reaches(uint32_t from, uint32_t to) const {
  std::vector<bool> seen(nodes_.size(), false);
  std::vector<uint32_t> pending = {from};
  while (!pending.empty()) {
    const uint32_t at = pending.back();
    pending.pop_back();
    if (at == to) return true;
    if (seen[at]) continue;
    seen[at] = true;
    for (const OverlapEdge& edge : Later(nodes_[at])) pending.push_back(edge.to);
  }
  return false;
}

// While the operation is under way its result is being written.
void OverlapGraph::AddReadersOfResults(const Values& values, const AliasSets& sets) {
  absl::flat_hash_map<ValueId, std::vector<uint32_t>> readers;  // by set; looked up only
  absl::flat_hash_map<ValueId, std::vector<uint32_t>> dones;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const Instruction& done = *nodes_[i].instruction;
    if (nodes_[i].is_done && done.shape().IsArray() && values.Has(done))
      dones[sets.SetOf(values.Of(done)[0])].push_back(i);
  }
  if (dones.empty()) return;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const Instruction& instruction = *nodes_[i].instruction;
    if (OnlyPassesOn(instruction)) continue;
    for (const Instruction* operand : instruction.operands()) {
      if (!values.Has(*operand)) continue;
      for (const ValueId value : values.Of(*operand)) {
        const ValueId set = sets.SetOf(value);
        if (dones.contains(set)) readers[set].push_back(i);
      }
    }
  }
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const Instruction& done = *nodes_[i].instruction;
    if (!nodes_[i].is_done || !done.shape().IsArray() || !values.Has(done)) continue;
    const std::optional<uint32_t> start = NumberOf(*done.operand(0));
    const auto found = readers.find(sets.SetOf(values.Of(done)[0]));
    if (!start.has_value() || found == readers.end()) continue;
    for (const uint32_t reader : found->second) {
      if (reader == *start || Reaches(i, reader) || Reaches(*start, reader) ||
          Reaches(reader, *start))
        continue;
      AddEdge(reader, *start, kShort);
    }
  }
}

void OverlapGraph::AddLoopsAfterSends() {
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const Instruction& done = *nodes_[i].instruction;
    if (done.opcode() != Opcode::kSendDone) continue;
    const absl::Span<Instruction* const> earlier = done.control_predecessors();
    const auto received = absl::c_find_if(
        earlier, [](const Instruction* before) { return before->opcode() == Opcode::kRecvDone; });
    if (received == earlier.end()) continue;
    const uint32_t from = numbers_.at(*received);
    for (uint32_t loop = 0; loop < nodes_.size(); ++loop) {
      if (nodes_[loop].instruction->opcode() != Opcode::kWhile || !Reaches(from, loop)) continue;
      if (!Reaches(loop, i)) AddEdge(i, loop, kShort);
      break;
    }
  }
}

// What is received after a send that comes after a loop would lie beside the loop otherwise.
void OverlapGraph::AddReceivesAfterLoops() {
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const Instruction& done = *nodes_[i].instruction;
    if (done.opcode() != Opcode::kSendDone) continue;
    for (const Instruction* received : done.control_successors()) {
      if (received->opcode() != Opcode::kRecvDone) continue;
      const std::optional<uint32_t> begun = NumberOf(*received->operand(0));
      if (!begun || nodes_[*begun].instruction->opcode() != Opcode::kRecv) continue;
      for (uint32_t loop = 0; loop < i; ++loop) {
        if (nodes_[loop].instruction->opcode() == Opcode::kWhile && Reaches(loop, i) &&
            !Reaches(*begun, loop))
          AddEdge(loop, *begun, kShort);
      }
    }
  }
}

// Visits all nodes, each after those that `needed` has edges to; `next` has the same edges from
// their other ends.
template <class Needed, class Next, class Visit>
static void VisitInOrder(std::vector<OverlapNode>& nodes, const Needed& needed, const Next& next,
                         const Visit& visit) {
  std::vector<size_t> missing;
  std::vector<OverlapNode*> ready;
  for (OverlapNode& node : nodes) {
    missing.push_back(needed(node).size());
    if (missing.back() == 0) ready.push_back(&node);
  }
  while (!ready.empty()) {
    OverlapNode& node = *ready.back();
    ready.pop_back();
    for (const OverlapEdge& edge : needed(node)) visit(node, edge, nodes[edge.to]);
    for (const OverlapEdge& edge : next(node)) {
      if (--missing[edge.to] == 0) ready.push_back(&nodes[edge.to]);
    }
  }
}

void OverlapGraph::FindDepths() {
  const auto deepen = [](OverlapNode& node, const OverlapEdge& edge, const OverlapNode& earlier) {
    node.async_depth =
        std::max(node.async_depth, earlier.async_depth + (node.is_done ? edge.latency : 0));
    node.depth = std::max(node.depth, earlier.depth + 1);
  };
  VisitInOrder(
      nodes_, [this](const OverlapNode& node) -> auto& { return Earlier(node); },
      [this](const OverlapNode& node) -> auto& { return Later(node); }, deepen);
}

void OverlapGraph::FindHeights() {
  const auto raise = [](OverlapNode& node, const OverlapEdge& edge, const OverlapNode& later) {
    node.async_height =
        std::max(node.async_height, later.async_height + (node.is_start ? edge.latency : 0));
  };
  VisitInOrder(
      nodes_, [this](const OverlapNode& node) -> auto& { return Later(node); },
      [this](const OverlapNode& node) -> auto& { return Earlier(node); }, raise);
}

void OverlapGraph::CountUnlocks(uint32_t number) {
  nodes_[number].unlocks = absl::c_count_if(
      nodes_[number].before, [&](const OverlapEdge& edge) { return nodes_[edge.to].missing == 1; });
}

void OverlapGraph::SetMissing(uint32_t number, size_t missing) {
  nodes_[number].missing = missing;
  if (missing != 1) return;
  for (const OverlapEdge& edge : nodes_[number].after) CountUnlocks(edge.to);
}

}  // namespace hlo
