#include "lib/analysis/reachability.h"

#include <fmt/core.h>

#include <algorithm>

#include "lib/support/check.h"

namespace hlo {

Reachability::Reachability(const Computation& computation, size_t matrix_limit) {
  for (const Instruction* instruction : computation.PostOrder()) {
    const auto node = static_cast<Node>(instructions_.size());
    nodes_.emplace(instruction, node);
    merged_into_.push_back(node);
    instructions_.push_back(instruction);
    places_.push_back(node);
    order_.push_back(node);
  }
  const size_t count = instructions_.size();
  made_for_ = instructions_;
  const auto by_id = [](const Instruction* a, const Instruction* b) { return a->id() < b->id(); };
  const auto [first, last] = std::minmax_element(made_for_.begin(), made_for_.end(), by_id);
  // The ids of a computation follow each other as long as nothing is added elsewhere.
  if (count > 0 && (*last)->id() - (*first)->id() < 2 * count) {
    first_id_ = (*first)->id();
    by_id_.assign((*last)->id() - first_id_ + 1, kNone);
    for (Node node = 0; node < count; ++node) by_id_[made_for_[node]->id() - first_id_] = node;
  }
  if (count > matrix_limit) return;
  words_ = (count + 63) / 64;
  rows_.assign(count * words_, 0);
  for (Node node = 0; node < count; ++node) {
    ForEachNeed(node, [&](Node need) { Unite(node, need); });
  }
}

Reachability::Node Reachability::Known(const Instruction* instruction) const {
  const size_t at = instruction->id() - first_id_;
  if (at < by_id_.size() && by_id_[at] != kNone && made_for_[by_id_[at]] == instruction)
    return by_id_[at];
  const auto it = nodes_.find(instruction);
  return it == nodes_.end() ? kNone : it->second;
}

Reachability::Node Reachability::NodeOf(const Instruction* instruction) const {
  while (true) {
    if (Node node = Known(instruction); node != kNone) {
      while (merged_into_[node] != node) node = merged_into_[node];
      return node;
    }
    if (instruction->opcode() != Opcode::kGetTupleElement) return kNone;
    instruction = instruction->operand(0);
  }
}

// `row` needs `with` and what that needs.
void Reachability::Unite(Node row, Node with) {
  for (size_t w = 0; w < words_; ++w) rows_[row * words_ + w] |= rows_[with * words_ + w];
  SetBit(row, with);
}

template <class Fn>
void Reachability::ForEachInstruction(Node node, const Fn& fn) const {
  fn(instructions_[node]);
  if (more_.empty()) return;
  if (const auto it = more_.find(node); it != more_.end()) {
    for (const Instruction* instruction : it->second) fn(instruction);
  }
}

template <class Fn>
void Reachability::ForEachNeed(Node node, const Fn& fn) const {
  const auto visit = [&](const Instruction* need) {
    if (const Node other = NodeOf(need); other != kNone && other != node) fn(other);
  };
  ForEachInstruction(node, [&](const Instruction* instruction) {
    for (const Instruction* operand : instruction->operands()) visit(operand);
    for (const Instruction* before : instruction->control_predecessors()) visit(before);
  });
}

template <class Fn>
void Reachability::ForEachUser(Node node, const Fn& fn) const {
  std::vector<const Instruction*> added;  // elements since then: their users are those of the node
  const auto visit = [&](const Instruction* user) {
    if (const Node other = NodeOf(user); Known(user) == kNone && other != kNone) {
      added.push_back(user);
    } else if (other != kNone && other != node) {
      fn(other);
    }
  };
  const auto visit_all = [&](const Instruction* of) {
    for (const Use& use : of->uses()) visit(use.user);
    for (const Instruction* after : of->control_successors()) visit(after);
  };
  ForEachInstruction(node, visit_all);
  while (!added.empty()) {
    const Instruction* const top = added.back();
    added.pop_back();
    visit_all(top);
  }
}

bool Reachability::DependsOn(const Instruction* user, const Instruction* producer) const {
  const Node to = NodeOf(user), from = NodeOf(producer);
  HLO_CHECK(to != kNone && from != kNone);
  if (places_[from] >= places_[to]) return false;
  return has_matrix() ? Bit(to, from) : Search(to, from);
}

bool Reachability::Search(Node user, Node producer) const {
  return Dependent(places_[producer], places_[user] + 1, {producer}).back();
}

std::vector<bool> Reachability::Dependent(size_t begin, size_t end,
                                          const std::vector<Node>& sources) const {
  std::vector<bool> dependent(end - begin, false);
  for (const Node source : sources) dependent[places_[source] - begin] = true;
  for (size_t place = begin; place < end; ++place) {
    const Node node = order_[place];
    if (node == kNone || dependent[place - begin]) continue;
    bool found = false;
    if (has_matrix()) {
      for (const Node source : sources) found = found || Bit(node, source);
    } else {
      ForEachNeed(node, [&](Node need) {
        const size_t at = places_[need];
        found = found || (at >= begin && at < place && dependent[at - begin]);
      });
    }
    dependent[place - begin] = found;
  }
  return dependent;
}

Reachability::Dependents Reachability::DependentsOf(const Instruction* producer,
                                                    size_t last_place) const {
  const Node from = NodeOf(producer);
  HLO_CHECK(from != kNone);
  Dependents result;
  result.of_ = this;
  result.nodes_.assign(instructions_.size(), false);
  std::vector<Node> stack = {from};
  while (!stack.empty()) {
    const Node top = stack.back();
    stack.pop_back();
    ForEachUser(top, [&](Node node) {
      if (node == from || places_[node] > last_place || result.nodes_[node]) return;
      result.nodes_[node] = true;
      stack.push_back(node);
    });
  }
  return result;
}

bool Reachability::Dependents::Has(const Instruction* instruction) const {
  const Node node = of_->NodeOf(instruction);
  return node != kNone && nodes_[node];
}

void Reachability::Neighbours::Add(const Instruction* instruction) {
  const Node node = of_.NodeOf(instruction);
  HLO_CHECK(node != kNone);
  added_.push_back(instruction);
  if (!before_.empty()) Mark(node);
}

void Reachability::Neighbours::Mark(Node own) {
  std::vector<Node> stack;
  const auto reach = [&](std::vector<bool>& reached, Node node) {
    if (reached[node]) return;
    reached[node] = true;
    stack.push_back(node);
  };
  const auto take = [&] {
    const Node top = stack.back();
    stack.pop_back();
    return top;
  };
  for (reach(before_, own); !stack.empty();)
    of_.ForEachNeed(take(), [&](Node need) { reach(before_, need); });
  for (reach(after_, own); !stack.empty();)
    of_.ForEachUser(take(), [&](Node user) { reach(after_, user); });
}

bool Reachability::Neighbours::Has(const Instruction* instruction) {
  const Node node = of_.NodeOf(instruction);
  if (node == kNone) return false;
  pairs_ += added_.size();
  if (pairs_ <= kFewPairs) {
    return std::any_of(added_.begin(), added_.end(), [&](const Instruction* other) {
      return of_.NodeOf(other) == node || of_.AreConnected(instruction, other);
    });
  }
  if (before_.empty()) {
    before_.resize(of_.instructions_.size());
    after_.resize(of_.instructions_.size());
    for (const Instruction* other : added_) Mark(of_.NodeOf(other));
  }
  return before_[node] || after_[node];
}

bool Reachability::WouldMakeCycle(absl::Span<Instruction* const> members) const {
  std::vector<Node> nodes;
  size_t begin = order_.size(), end = 0;
  for (const Instruction* member : members) {
    const Node node = NodeOf(member);
    HLO_CHECK(node != kNone);
    nodes.push_back(node);
    begin = std::min(begin, places_[node]);
    end = std::max(end, places_[node] + 1);
  }
  if (nodes.empty()) return false;
  std::vector<bool> dependent;
  if (!has_matrix()) dependent = Dependent(begin, end, nodes);
  const auto depends_on_member = [&](Node need) {
    if (has_matrix())
      return std::any_of(nodes.begin(), nodes.end(), [&](Node node) { return Bit(need, node); });
    const size_t at = places_[need];
    return at >= begin && at < end && dependent[at - begin];
  };
  return std::any_of(nodes.begin(), nodes.end(), [&](Node node) {
    bool found = false;
    ForEachNeed(node, [&](Node need) {
      const bool is_member = std::find(nodes.begin(), nodes.end(), need) != nodes.end();
      found = found || (!is_member && depends_on_member(need));
    });
    return found;
  });
}

size_t Reachability::PlaceOf(const Instruction* instruction) const {
  const Node node = NodeOf(instruction);
  HLO_CHECK(node != kNone);
  return places_[node];
}

void Reachability::Merge(absl::Span<Instruction* const> members) {
  std::vector<Node> nodes;
  for (const Instruction* member : members) {
    const Node node = NodeOf(member);
    HLO_CHECK(node != kNone);
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  }
  if (nodes.size() < 2) return;
  const auto by_place = [this](Node a, Node b) { return places_[a] < places_[b]; };
  std::sort(nodes.begin(), nodes.end(), by_place);
  const Node into = nodes[0];
  const size_t begin = places_[into];
  const size_t end = places_[nodes.back()] + 1;
  const std::vector<bool> dependent = Dependent(begin, end, nodes);
  std::vector<Node> order, after;
  for (size_t place = begin; place < end; ++place) {
    const Node node = order_[place];
    if (node == kNone || std::find(nodes.begin(), nodes.end(), node) != nodes.end()) continue;
    (dependent[place - begin] ? after : order).push_back(node);
  }
  order.push_back(into);
  order.insert(order.end(), after.begin(), after.end());
  order.resize(end - begin, kNone);
  for (size_t i = 0; i < order.size(); ++i) {
    order_[begin + i] = order[i];
    if (order[i] != kNone) places_[order[i]] = begin + i;
  }
  if (has_matrix()) MergeRows(into, nodes);
  for (const Node node : nodes) merged_into_[node] = into;
}

void Reachability::MergeRows(Node into, const std::vector<Node>& nodes) {
  for (const Node node : nodes) {
    if (node == into) continue;
    for (size_t w = 0; w < words_; ++w) rows_[into * words_ + w] |= rows_[node * words_ + w];
  }
  for (const Node node : nodes) rows_[into * words_ + node / 64] &= ~(uint64_t{1} << (node % 64));
  // What needs one of them needs all that they need.
  for (const Node row : order_) {
    if (row == kNone || row == into) continue;
    if (std::any_of(nodes.begin(), nodes.end(), [&](Node node) { return Bit(row, node); }))
      Unite(row, into);
  }
}

void Reachability::StandFor(absl::Span<const Instruction* const> added, const Instruction* known) {
  const Node node = NodeOf(known);
  HLO_CHECK(node != kNone && !added.empty());
  for (const Instruction* instruction : added) nodes_[instruction] = node;
  instructions_[node] = added[0];
  more_.erase(node);
  if (added.size() > 1) more_[node].assign(added.begin() + 1, added.end());
}

const Reachability& Reachabilities::Of(const Computation& computation) {
  if (known_.size() <= computation.serial()) known_.resize(computation.module().serial_limit());
  std::unique_ptr<const Reachability>& known = known_[computation.serial()];
  if (known == nullptr) known = std::make_unique<Reachability>(computation);
  return *known;
}

void Reachabilities::AskAll(const Module& module) {
  for (const Computation* computation : module.computations()) Of(*computation);
}

std::string Reachabilities::Mistake(const Module& module) const {
  for (const Computation* computation : module.computations()) {
    if (computation->serial() >= known_.size()) continue;
    const Reachability* const known = known_[computation->serial()].get();
    if (known == nullptr || *known == Reachability(*computation)) continue;
    return fmt::format("computation `{}` has other paths now", computation->name());
  }
  return "";
}

std::string Reachability::ToString(const Module& module) {
  std::string text;
  for (const Computation* computation : module.NonFusionComputations()) {
    const Reachability reachability(*computation);
    text += fmt::format("{}:\n", computation->name());
    const std::vector<Instruction*> order = computation->PostOrder();
    for (const Instruction* user : order) {
      text += fmt::format("  {}:", user->name());
      for (const Instruction* producer : order) {
        if (reachability.DependsOn(user, producer)) text += fmt::format(" {}", producer->name());
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace hlo
