#include "passes/schedule/remat_candidates.h"

namespace hlo::remat {
namespace {

bool IsOpen(const Item* item) { return !item->is_denied && item->can_be_recomputed; }

bool IsPlaced(const MemoryTracker& memory, const Instruction* instruction) {
  const Item* const item = memory.sequence().Of(instruction);
  return item != nullptr && !item->is_gone && item->is_placed;
}

}  // namespace

// What it would bring to compute instructions in a row again, and not to keep their results now.
class Candidates::Row {
 public:
  Row(const MemoryTracker& memory, int64_t limit) : memory_(memory), limit_(limit) {}

  void Add(const Item& item) {
    for (const Instruction* after : item.instruction->control_successors())
      is_possible_ = is_possible_ && !IsPlaced(memory_, after);
    for (const Use& use : item.instruction->uses())
      is_move_ = is_move_ && !IsPlaced(memory_, use.user);
    for (const LogicalBufferId id : item.made) {
      const Buffer& buffer = memory_.buffer(id);
      if (buffer.has_indirect_uses || buffer.is_live_out || buffer.index.size() > 1)
        is_possible_ = false;
      if (memory_.IsLive(id)) bytes_ += buffer.bytes;
    }
    for (const LogicalBufferId id : item.used) {
      const Buffer& buffer = memory_.buffer(id);
      // Kept longer, unless it is computed again, too.
      if (!memory_.IsLive(id) && !absl::c_linear_search(items_, buffer.maker))
        bytes_ -= buffer.bytes;
      // What it has read is not there any more.
      for (const Item* writer : buffer.overwriters)
        is_possible_ = is_possible_ && !(writer->is_placed && writer->turn > item.turn);
    }
    items_.push_back(&item);
  }

  std::optional<int64_t> Cost() const {
    if (!is_possible_ || bytes_ <= 0) return std::nullopt;
    return is_move_ ? 0 : limit_ / bytes_;
  }

 private:
  const MemoryTracker& memory_;
  const int64_t limit_;
  absl::InlinedVector<const Item*, 4> items_;
  bool is_possible_ = true;
  bool is_move_ = true;  // nobody has read any of it
  int64_t bytes_ = 0;
};

Choice Candidates::Pick(int64_t shortest, int64_t longest) {
  Level& current = LevelOf(shortest, longest);
  for (Item* item : memory_.TakeTouched()) {
    for (Level& level : levels_) level.touched.push_back(item);
  }
  // A row changes with each of its instructions.
  ++last_visit_;
  for (Item* item : std::exchange(current.touched, {})) {
    Item* start = item;
    for (int64_t i = 0; i < longest && start != nullptr; ++i, start = start->previous) {
      if (std::exchange(start->visit, last_visit_) != last_visit_) Refresh(current, start);
    }
  }
  Choice choice;
  choice.effort = current.effort;
  std::pair<int64_t, int64_t> best;
  const auto take = [&](Item* start, const Offer& offer) {
    const std::pair<int64_t, int64_t> key(*offer.cost, start->turn);
    if (!choice.items.empty() && key >= best) return;
    best = key;
    choice.kind = offer.kind;
    choice.items.clear();
    for (Item* item = start; std::ssize(choice.items) < offer.length; item = item->next)
      choice.items.push_back(item);
  };
  for (const auto& [key, start] : current.best) {
    if (!choice.items.empty() && key >= best) break;
    const Offer& offer = current.offers.at(start);
    if (!IsUsedNow(offer, start)) {
      take(start, offer);
      break;
    }
    if (const Offer other = Evaluate(current, start, /*minds_use=*/true); other.cost)
      take(start, other);
  }
  return choice;
}

Candidates::Level& Candidates::LevelOf(int64_t shortest, int64_t longest) {
  for (Level& level : levels_) {
    if (level.shortest == shortest && level.longest == longest) return level;
  }
  Level& level = levels_.emplace_back();
  level.shortest = shortest;
  level.longest = longest;
  for (Item* item = memory_.sequence().first(); item != nullptr; item = item->next) {
    if (item->is_done) level.touched.push_back(item);
  }
  return level;
}

void Candidates::Refresh(Level& level, Item* start) {
  const auto known = level.offers.find(start);
  if (known != level.offers.end()) {
    level.effort -= known->second.effort;
    if (known->second.cost) level.best.erase({{*known->second.cost, start->turn}, start});
    level.offers.erase(known);
  }
  const Offer offer = Evaluate(level, start, /*minds_use=*/false);
  if (offer.effort == 0) return;
  level.effort += offer.effort;
  if (offer.cost) level.best.insert({{*offer.cost, start->turn}, start});
  level.offers[start] = offer;
}

// `minds_use`: rows with something that the current instruction uses do not count.
Candidates::Offer Candidates::Evaluate(const Level& level, Item* start, bool minds_use) const {
  Offer best;
  if (!start->is_large || start->is_gone || memory_.sequence().IsDead(*start->instruction))
    return best;
  Row row(memory_, limit_);
  Item* end = start;  // after the row
  bool is_used = false;
  const auto may_add = [&] { return end != nullptr && end->is_done && IsOpen(end); };
  const auto add = [&] {
    row.Add(*end);
    is_used = is_used || (minds_use && MakesUsedNow(*end));
    end = end->next;
  };
  int64_t length = 0;
  for (; length < level.shortest; ++length) {
    if (!may_add()) return best;
    add();
  }
  const auto consider = [&](std::optional<int64_t> cost, Choice::Kind kind) {
    ++best.effort;
    const bool is_bound =
        kind == Choice::Kind::kRecompute ? is_used : minds_use && HoldsUsedNow(*start);
    if (!cost || is_bound || (best.cost && *cost >= *best.cost)) return;
    best.cost = cost;
    best.kind = kind;
    best.length = length;
  };
  const RematerializationOptions& options = memory_.model().options();
  if (options.compress && length == 1) consider(CostOfCompression(*start), Choice::Kind::kCompress);
  if (options.host_offload && length == 1) consider(CostOfOffload(*start), Choice::Kind::kOffload);
  if (!options.recompute) return best;
  for (;; ++length) {
    consider(row.Cost(), Choice::Kind::kRecompute);
    if (length == level.longest || !may_add()) return best;
    add();
  }
}

bool Candidates::IsUsedNow(const Offer& offer, const Item* start) const {
  if (offer.kind != Choice::Kind::kRecompute) return HoldsUsedNow(*start);
  for (int64_t i = 0; i < offer.length; ++i, start = start->next) {
    if (MakesUsedNow(*start)) return true;
  }
  return false;
}

bool Candidates::MakesUsedNow(const Item& item) const {
  return absl::c_any_of(item.made, [&](LogicalBufferId id) { return memory_.IsUsedNow(id); });
}

// Of what is kept otherwise there is one, which others may know by other names.
bool Candidates::HoldsUsedNow(const Item& item) const {
  return item.held.size() == 1 && memory_.IsUsedNow(item.held[0]);
}

// ---- other ways ----

namespace {

// Whether all that is still going to use the value does so by the name of `item`, or by names that
// are yet to be given to it.
bool IsOnlyName(const MemoryTracker& memory, const Item& item, const Buffer& buffer) {
  return absl::c_all_of(buffer.uses, [&](const BufferUse& use) {
    if (use.user->is_placed) return true;
    const Instruction* name = use.user->instruction->operand(use.operand);
    while (name != item.instruction && IsTransparent(*name) && !IsPlaced(memory, name))
      name = name->operand(0);
    return name == item.instruction;
  });
}

// An array that stays in this computation and is going to be used, directly.
bool IsWaitingArray(const MemoryTracker& memory, const Item& item) {
  if (item.held.size() != 1 || !item.instruction->shape().IsArray()) return false;
  const Buffer& buffer = memory.buffer(item.held[0]);
  if (buffer.is_live_out || !memory.IsLive(item.held[0])) return false;
  return IsOnlyName(memory, item, buffer) &&
         absl::c_any_of(item.instruction->uses(),
                        [&](const Use& use) { return !IsPlaced(memory, use.user); });
}

}  // namespace

std::optional<int64_t> Candidates::CostOfCompression(const Item& item) const {
  if (!IsWaitingArray(memory_, item)) return std::nullopt;
  const Model& model = memory_.model();
  const Shape shape = item.instruction->shape();
  const int64_t compact = model.BytesOf(model.Compact(shape));
  const int64_t saved = memory_.buffer(item.held[0]).bytes - compact;
  // Both are there while it is compressed.
  if (saved <= 0 || model.BytesOf(shape) + compact >= peak_) return std::nullopt;
  return limit_ / saved;
}

std::optional<int64_t> Candidates::CostOfOffload(const Item& item) const {
  if (!IsWaitingArray(memory_, item)) return std::nullopt;
  const int64_t bytes = memory_.BytesStillUsed(item);
  if (bytes == 0) return std::nullopt;
  const Item* last = &item;  // that has used it
  const std::vector<BufferUse> uses = memory_.UsesOf(item);
  for (const BufferUse& use : uses) {
    const Opcode opcode = use.user->instruction->opcode();
    if (opcode == Opcode::kBitcast || opcode == Opcode::kTuple) return std::nullopt;
    if (use.user->turn > last->turn) last = use.user;
  }
  const auto is_going_to_use = [&](const Item* at) {
    return !at->is_placed &&
           absl::c_any_of(uses, [at](const BufferUse& use) { return use.user == at; });
  };
  Model& model = memory_.model();
  const float needed = model.SecondsToHost(bytes) + model.SecondsFromHost(bytes);
  float seconds = 0;
  for (const Item* at = last; at != nullptr && !is_going_to_use(at); at = at->next) {
    // What has been added has no part in the time that there is.
    if (!at->is_new) seconds += model.SecondsOf(*at->instruction);
    if (seconds > 0 && seconds >= needed) return limit_ / bytes;
  }
  return std::nullopt;
}

}  // namespace hlo::remat
