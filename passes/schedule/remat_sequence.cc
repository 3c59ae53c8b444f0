#include "passes/schedule/remat_sequence.h"

#include <algorithm>

#include "lib/support/check.h"

namespace hlo::remat {

Sequence::Sequence(absl::Span<Instruction* const> schedule) {
  by_instruction_.reserve(schedule.size());
  for (Instruction* instruction : schedule) {
    Item* const item = Add(instruction);
    item->position = std::ssize(items_);
    item->previous = last_;
    (last_ == nullptr ? first_ : last_->next) = item;
    last_ = item;
  }
}

Item* Sequence::Of(const Instruction* instruction) const {
  const auto it = by_instruction_.find(instruction);
  return it == by_instruction_.end() ? nullptr : it->second;
}

Item* Sequence::Add(Instruction* instruction) {
  Item& item = items_.emplace_back();
  item.instruction = instruction;
  by_instruction_[instruction] = &item;
  return &item;
}

Item* Sequence::First(absl::Span<Item* const> items) const {
  HLO_CHECK(!items.empty());
  ++last_stamp_;
  Item* first = items[0];
  for (Item* item : items) {
    item->stamp = last_stamp_;
    if (item->position < first->position) first = item;
  }
  // Several may have that position.
  while (first->previous != nullptr && first->previous->position == first->position)
    first = first->previous;
  while (first->stamp != last_stamp_) first = first->next;
  return first;
}

void Sequence::InsertBefore(Item* item, Item* before) {
  item->position = before->position;
  item->next = before;
  item->previous = before->previous;
  (before->previous == nullptr ? first_ : before->previous->next) = item;
  before->previous = item;
}

void Sequence::InsertAfter(Item* item, Item* after) {
  if (after->next != nullptr) return InsertBefore(item, after->next);
  item->position = after->position + 1;
  item->previous = after;
  after->next = item;
  last_ = item;
}

void Sequence::Remove(Item* item) {
  (item->previous == nullptr ? first_ : item->previous->next) = item->next;
  (item->next == nullptr ? last_ : item->next->previous) = item->previous;
  item->is_gone = true;
}

std::vector<Item*> Sequence::Users(const Instruction& instruction) const {
  std::vector<Item*> users;
  for (const Use& use : instruction.uses()) {
    Item* const user = Of(use.user);
    if (user != nullptr && !user->is_gone) users.push_back(user);
  }
  absl::c_sort(users, [](const Item* a, const Item* b) {
    return a->instruction->id() < b->instruction->id();
  });
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

bool Sequence::IsDead(const Instruction& instruction) const {
  if (instruction.is_root()) return false;
  return absl::c_none_of(instruction.uses(), [&](const Use& use) {
    const Item* const user = Of(use.user);
    return user != nullptr && !user->is_gone;
  });
}

std::vector<Instruction*> Sequence::Instructions() const {
  std::vector<Instruction*> instructions;
  for (const Item* item = first_; item != nullptr; item = item->next)
    instructions.push_back(item->instruction);
  return instructions;
}

}  // namespace hlo::remat
