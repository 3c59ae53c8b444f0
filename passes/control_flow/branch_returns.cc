#include "passes/control_flow/branch_returns.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/ir/module.h"
#include "lib/support/contains.h"

namespace hlo {
namespace {

using Place = Boundary::Place;

// Readers that move in at the same time, as they would stand in the first branch.
class ReadersInside {
 public:
  ReadersInside(const Instruction& conditional, absl::Span<const BoundaryGroup> groups)
      : conditional_(conditional), root_(*conditional_.call(0)->root()) {
    for (const Use& use : conditional.uses()) {
      if (IsElement(*use.user)) ++read_counts_[use.user->tuple_index()];
    }
    for (const BoundaryGroup& group : groups) Add(group);
    for (const BoundaryGroup& group : groups) {
      const Instruction& read = *group.moved[0].first();
      if (group.moved[0].place == Place::kReader && IsElement(read) && read.has_one_user() &&
          read_counts_.at(read.tuple_index()) == 1)
        dropped_.insert(read.tuple_index());
    }
  }

  // What moving the readers of `group` out again would gain.
  struct Ties {
    int64_t outside = 0;
    int64_t inside = 0;
  };
  Ties Of(const BoundaryGroup& group) const {
    Ties ties;
    if (group.moved[0].place != Place::kReader) return ties;
    for (const Boundary& boundary : group.moved) {
      const Instruction& reader = *boundary.first();
      if (IsElement(reader)) continue;
      ties.outside += ToUser(reader);
      for (const Instruction* producer : Producers(reader))
        ties.inside += ToProducer(*producer, reader);
    }
    return ties;
  }

 private:
  void Add(const BoundaryGroup& group) {
    if (group.moved[0].place != Place::kReader) return;
    for (const Boundary& boundary : group.moved) {
      const Instruction* reader = boundary.first();
      if (IsElement(*reader) || !moved_.insert(reader).second) continue;
      for (const Instruction* producer : Producers(*reader)) ++readers_[producer];
    }
  }

  bool IsElement(const Instruction& value) const {
    return value.opcode() == Opcode::kGetTupleElement && value.operand(0) == &conditional_;
  }

  // What makes the operands of `reader` in the first branch and does not move; reads of its
  // parameter, which weigh nothing, left out.
  std::vector<const Instruction*> Producers(const Instruction& reader) const {
    std::vector<const Instruction*> producers;
    for (const Instruction* operand : reader.operands()) {
      const Instruction* producer = nullptr;
      if (IsElement(*operand)) {
        if (root_.opcode() == Opcode::kTuple)
          producer = root_.operand(static_cast<int>(operand->tuple_index()));
      } else if (operand == &conditional_) {
        producer = &root_;
      }
      if (producer != nullptr && !Contains(producers, producer)) producers.push_back(producer);
    }
    return producers;
  }

  int64_t ToProducer(const Instruction& producer, const Instruction& reader) const {
    absl::flat_hash_set<const Instruction*> users;
    for (const Use& use : producer.uses()) {
      if (use.user != &root_ || !dropped_.contains(use.operand_index)) users.insert(use.user);
      if (users.size() > kManyEdges) return 0;
    }
    const int64_t count = static_cast<int64_t>(users.size()) + readers_.at(&producer);
    return Strength(producer, count, reader);
  }

  // To the first of the users that stay, if no other reader of the value moves with it.
  int64_t ToUser(const Instruction& reader) const {
    const Instruction* first = nullptr;
    for (const Use& use : reader.uses()) {
      if (moved_.contains(use.user)) return 0;
      if (first == nullptr || use.user->id() < first->id()) first = use.user;
    }
    return first == nullptr ? 0 : Strength(reader, 1, *first);
  }

  static int64_t Strength(const Instruction& producer, int64_t users, const Instruction& user) {
    return MotionModel::TieStrength(
        producer, user, [=] { return users; }, [&] { return OperandCount(user); });
  }

  // Different operands, constants left out; of very many only so many.
  static int64_t OperandCount(const Instruction& user) {
    std::vector<const Instruction*> operands;
    for (const Instruction* operand : user.operands()) {
      if (!operand->IsConstant() && !Contains(operands, operand)) operands.push_back(operand);
      if (operands.size() > kManyEdges) break;
    }
    return static_cast<int64_t>(operands.size());
  }

  // More than what a tie can be divided by.
  static constexpr size_t kManyEdges = MotionModel::kTieStrength;

  const Instruction& conditional_;
  const Instruction& root_;
  absl::flat_hash_map<int64_t, int> read_counts_;  // of each element
  absl::flat_hash_set<const Instruction*> moved_;
  absl::flat_hash_map<const Instruction*, int64_t> readers_;  // that move, of a producer
  absl::flat_hash_set<int64_t> dropped_;                      // elements that only they read
};

bool IsReader(const BoundaryGroup& group) { return group.moved[0].place == Place::kReader; }

// A conversion of an element and nothing more.
bool IsConversion(const BoundaryGroup& group) {
  return IsReader(group) && group.moved.size() == 2 &&
         group.moved[1].first()->opcode() == Opcode::kConvert;
}

}  // namespace

void DropReturningReaders(const Instruction& conditional, int64_t gain_out, bool converts_move_out,
                          std::vector<BoundaryGroup>& groups) {
  if (converts_move_out) std::erase_if(groups, IsConversion);
  while (true) {
    const ReadersInside inside(conditional, groups);
    ReadersInside::Ties all;
    absl::flat_hash_set<const BoundaryGroup*> returning;
    const BoundaryGroup* last = nullptr;
    for (const BoundaryGroup& group : groups) {
      if (!IsReader(group)) continue;
      const ReadersInside::Ties ties = inside.Of(group);
      all.outside += ties.outside;
      all.inside += ties.inside;
      if (ties.outside >= ties.inside) returning.insert(&group);
      last = &group;
    }
    if (last == nullptr || (all.outside == 0 && all.inside == 0) ||
        gain_out + all.outside < all.inside)
      return;
    // None by itself, but all together with what gains there: one after the other.
    if (returning.empty()) returning.insert(last);
    std::vector<BoundaryGroup> staying;
    for (BoundaryGroup& group : groups) {
      if (!returning.contains(&group)) staying.push_back(std::move(group));
    }
    groups = std::move(staying);
  }
}

}  // namespace hlo
