#include "passes/schedule/remat_memory.h"

#include <algorithm>

#include "lib/support/check.h"

namespace hlo::remat {
namespace {

bool Holds(const BufferIds& ids, LogicalBufferId id) { return absl::c_linear_search(ids, id); }

void ReplaceIn(BufferIds& ids, LogicalBufferId from, LogicalBufferId to) {
  absl::c_replace(ids, from, to);
}

int CountUsers(const std::vector<BufferUse>& uses) {
  std::vector<const Item*> users;
  for (const BufferUse& use : uses) users.push_back(use.user);
  absl::c_sort(users);
  return static_cast<int>(std::unique(users.begin(), users.end()) - users.begin());
}

std::optional<int64_t> ElementOf(const ShapeIndex& index) {
  return index.size() == 1 ? std::optional(index[0]) : std::nullopt;
}

}  // namespace

MemoryTracker::MemoryTracker(Model& model, Sequence& sequence)
    : model_(model), sequence_(sequence) {
  const LogicalBuffers known(sequence.Instructions());
  for (LogicalBufferId id = 0; id < known.count(); ++id) {
    const LogicalBuffer& from = known[id];
    Buffer& to = buffers_.emplace_back();
    to.maker = sequence.Of(from.def);
    to.shape = from.shape;
    to.index = from.index;
    to.bytes = from.IsOutside() ? 0 : model.DeviceBytesOf(from.shape);
    to.is_live_out = from.is_live_out;
    to.has_indirect_uses = from.has_indirect_uses;
    to.waiting = from.user_count;
    for (const LogicalBufferUse& use : from.uses) {
      to.uses.push_back({sequence.Of(use.user), use.operand, ElementOf(from.index)});
    }
    for (const Instruction* writer : from.overwriters)
      to.overwriters.push_back(sequence.Of(writer));
  }
  for (Item* item = sequence.first(); item != nullptr; item = item->next) {
    item->is_placed = item->is_done = item->is_touched = false;
    item->turn = -1;
    item->visit = 0;
    item->made.clear();
    item->held.clear();
    const auto [made, made_end] = known.MadeBy(*item->instruction);
    for (LogicalBufferId id = made; id < made_end; ++id) item->made.push_back(id);
    const absl::Span<const LogicalBufferId> used = known.UsedBy(*item->instruction);
    item->used.assign(used.begin(), used.end());
    for (const LogicalBufferId id : known.Of(*item->instruction)) {
      if (Holds(item->held, id)) continue;
      item->held.push_back(id);
      if (IsTransparent(*item->instruction)) At(id).names.push_back(item);
    }
  }
}

LogicalBufferId MemoryTracker::New(Item* maker, Shape shape, ShapeIndex index,
                                   std::vector<BufferUse> uses) {
  Buffer& buffer = buffers_.emplace_back();
  buffer.maker = maker;
  buffer.shape = shape;
  buffer.index = std::move(index);
  buffer.bytes = model_.DeviceBytesOf(shape);
  buffer.waiting = CountUsers(uses);
  buffer.uses = std::move(uses);
  return static_cast<LogicalBufferId>(buffers_.size()) - 1;
}

// ---- time goes on ----

void MemoryTracker::Begin(Item* item) {
  HLO_CHECK(current_ == nullptr);
  current_ = item;
  item->is_placed = true;
  item->turn = turns_++;
  Allocate(*item);
  for (const Instruction* operand : item->instruction->operands()) Touch(sequence_.Of(operand));
  for (const Instruction* before : item->instruction->control_predecessors())
    Touch(sequence_.Of(before));
  for (const LogicalBufferId id : item->used) {
    At(id).last_use = item->turn;
    if (!buffer(id).overwriters.empty()) TouchAll(id);
    TouchNames(id);
  }
}

void MemoryTracker::End() {
  Release(*current_);
  current_->is_done = true;
  Touch(current_);
  current_ = nullptr;
}

void MemoryTracker::Allocate(const Item& item) {
  for (const LogicalBufferId id : item.made) bytes_ += buffer(id).bytes;
}

void MemoryTracker::Release(const Item& item) {
  for (const LogicalBufferId id : item.used) {
    HLO_CHECK(At(id).waiting > 0);
    if (--At(id).waiting > 0) continue;
    bytes_ -= buffer(id).bytes;
    TouchAll(id);
  }
  for (const LogicalBufferId id : item.made) {
    if (buffer(id).waiting == 0) bytes_ -= buffer(id).bytes;
  }
}

void MemoryTracker::Touch(Item* item) {
  if (item == nullptr || item->is_touched || !item->is_placed) return;
  item->is_touched = true;
  touched_.push_back(item);
}

void MemoryTracker::TouchNames(LogicalBufferId id) {
  Touch(buffer(id).maker);
  for (Item* name : buffer(id).names) Touch(name);
}

void MemoryTracker::TouchAll(LogicalBufferId id) {
  TouchNames(id);
  for (const BufferUse& use : buffer(id).uses) Touch(use.user);
}

std::vector<Item*> MemoryTracker::TakeTouched() {
  for (Item* item : touched_) item->is_touched = false;
  return std::exchange(touched_, {});
}

// ---- questions ----

int64_t MemoryTracker::BytesMade(const Item& item) const {
  int64_t bytes = 0;
  for (const LogicalBufferId id : item.made) bytes += buffer(id).bytes;
  return bytes;
}

int64_t MemoryTracker::BytesUsed(const Item& item) const {
  int64_t bytes = 0;
  for (const LogicalBufferId id : item.made)
    bytes += buffer(id).uses.empty() ? 0 : buffer(id).bytes;
  return bytes;
}

int64_t MemoryTracker::BytesStillUsed(const Item& item) const {
  int64_t bytes = 0;
  for (const LogicalBufferId id : item.made) {
    const std::vector<BufferUse>& uses = buffer(id).uses;
    if (absl::c_any_of(uses, [](const BufferUse& use) { return !use.user->is_placed; }))
      bytes += buffer(id).bytes;
  }
  return bytes;
}

bool MemoryTracker::HasUnplacedUsers(const Item& item) const {
  return absl::c_any_of(item.made, [&](LogicalBufferId id) {
    const std::vector<BufferUse>& uses = buffer(id).uses;
    return absl::c_any_of(uses, [](const BufferUse& use) { return !use.user->is_placed; });
  });
}

std::vector<BufferUse> MemoryTracker::UsesOf(const Item& item) const {
  std::vector<BufferUse> uses;
  for (const LogicalBufferId id : item.made)
    uses.insert(uses.end(), buffer(id).uses.begin(), buffer(id).uses.end());
  return uses;
}

std::vector<BufferUse> MemoryTracker::TakeUnplaced(Buffer& buffer) {
  const auto first =
      std::stable_partition(buffer.uses.begin(), buffer.uses.end(),
                            [](const BufferUse& use) { return use.user->is_placed; });
  std::vector<BufferUse> unplaced(first, buffer.uses.end());
  buffer.uses.erase(first, buffer.uses.end());
  return unplaced;
}

// ---- computed again ----

void MemoryTracker::AddRecomputed(Item* original, Item* copy, absl::Span<Item* const> names) {
  NeedAgain(original, copy);
  for (const LogicalBufferId id : BufferIds(original->made)) MakeAgain(id, copy);
  for (Item* name : names) ReadByName(name);
  Touch(original);
}

// What the original needs is needed once more.
void MemoryTracker::NeedAgain(Item* original, Item* copy) {
  copy->used = original->used;
  for (const LogicalBufferId id : original->used) {
    Buffer& needed = At(id);
    if (needed.waiting++ == 0) {
      bytes_ += needed.bytes;
      TouchAll(id);
    }
    for (int i = 0; i < original->instruction->operand_count(); ++i) {
      if (Holds(sequence_.Of(original->instruction->operand(i))->held, id))
        needed.uses.push_back({copy, i, ElementOf(needed.index)});
    }
  }
}

void MemoryTracker::MakeAgain(LogicalBufferId id, Item* copy) {
  TouchAll(id);
  if (IsLive(id)) bytes_ -= buffer(id).bytes;
  std::vector<BufferUse> uses;
  for (const BufferUse& use : TakeUnplaced(At(id))) {
    if (!IsTransparent(*use.user->instruction)) {
      uses.push_back(use);
      continue;
    }
    // Another name of the original that nobody uses any more.
    use.user->held.clear();
    use.user->used.clear();
  }
  At(id).waiting = 0;
  const LogicalBufferId made = New(copy, buffer(id).shape, buffer(id).index, std::move(uses));
  copy->made.push_back(made);
  copy->held.push_back(made);
  for (const BufferUse& use : buffer(made).uses) {
    ReplaceIn(use.user->used, id, made);
    ReplaceIn(use.user->held, id, made);
  }
}

// A get-tuple-element reads the table, a bitcast what it is a name of.
void MemoryTracker::ReadByName(Item* name) {
  const Item& source = *sequence_.Of(name->instruction->operand(0));
  if (name->instruction->opcode() == Opcode::kBitcast) {
    name->used = name->held = IsTransparent(*source.instruction) ? source.held : source.made;
  } else {
    const ShapeIndex element = {name->instruction->tuple_index()};
    for (const LogicalBufferId id : source.made) {
      if (buffer(id).index == element) name->held.push_back(id);
      if (buffer(id).index.empty()) name->used.push_back(id);
    }
  }
  for (const LogicalBufferId id : name->held) At(id).names.push_back(name);
  for (const LogicalBufferId id : name->used) {
    ++At(id).waiting;
    At(id).uses.push_back({name, 0, std::nullopt});
  }
}

// ---- kept otherwise ----

void MemoryTracker::AddCompressed(Item* original, Item* compressed, Item* whole) {
  const LogicalBufferId id = original->held[0];
  TouchAll(id);
  std::vector<BufferUse> unplaced = TakeUnplaced(At(id));
  At(id).uses.push_back({compressed, 0, std::nullopt});
  At(id).waiting = 0;
  bytes_ -= buffer(id).bytes;
  const LogicalBufferId small =
      New(compressed, compressed->instruction->shape(), {}, {BufferUse{whole, 0, std::nullopt}});
  bytes_ += buffer(small).bytes;
  compressed->used = {id};
  compressed->held = compressed->made = {small};
  const LogicalBufferId made =
      New(whole, whole->instruction->shape(), buffer(id).index, std::move(unplaced));
  whole->used = {small};
  whole->held = whole->made = {made};
  for (const BufferUse& use : buffer(made).uses) ReplaceIn(use.user->used, id, made);
  Touch(original);
  Touch(compressed);
}

void MemoryTracker::AddOffloaded(Item* original, const Journey& journey) {
  const LogicalBufferId id = original->held[0];
  TouchAll(id);
  std::vector<BufferUse> unplaced = TakeUnplaced(At(id));
  At(id).uses.push_back({journey.out, 0, std::nullopt});
  At(id).waiting = 1;
  // What lies at the host counts nothing; a start holds its side of the copy and a context.
  const auto start = [&](Item* begun, Item* done, int device_side) {
    const Shape shape = begun->instruction->shape();
    for (const int element : {device_side, 2})
      begun->made.push_back(
          New(begun, shape.element(element), {}, {BufferUse{done, 0, std::nullopt}}));
    begun->held = done->used = begun->made;
  };
  start(journey.out, journey.out_done, 1);
  start(journey.back, journey.back_done, 0);
  journey.out->used = {id};
  const LogicalBufferId made =
      New(journey.back_done, journey.back_done->instruction->shape(), {}, std::move(unplaced));
  journey.back_done->held = journey.back_done->made = {made};
  for (const BufferUse& use : buffer(made).uses) ReplaceIn(use.user->used, id, made);
  for (Item* step : {journey.out, journey.out_done, journey.back, journey.back_done}) {
    if (!step->is_placed) break;
    Touch(step);
    Allocate(*step);
    Release(*step);
  }
}

}  // namespace hlo::remat
