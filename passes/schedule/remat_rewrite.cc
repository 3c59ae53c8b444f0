#include "passes/schedule/remat_rewrite.h"

#include "absl/container/flat_hash_map.h"
#include "lib/support/check.h"
#include "lib/support/read_number.h"

namespace hlo::remat {
namespace {

// The name of a copy: `x.remat` of `x`, `x.remat2` of that, then `x.remat3`.
std::string CopyName(std::string_view name) {
  constexpr std::string_view kSuffix = ".remat";
  const std::string added = std::string(name) + std::string(kSuffix);
  const size_t at = name.rfind(kSuffix);
  if (at == std::string_view::npos) return added;
  const std::string_view rest = name.substr(at + kSuffix.size());
  if (rest.empty()) return std::string(name) + "2";
  const std::optional<int64_t> number = ReadNumber<int64_t>(rest);
  if (!number) return added;
  return fmt::format("{}{}", name.substr(0, at + kSuffix.size()), *number + 1);
}

template <class A>
bool SetChannel(Instruction& instruction, int64_t& next) {
  if (!instruction.attrs_ptr().Is<A>() || !instruction.attrs<A>().channel_id) return false;
  A attrs = instruction.attrs<A>();
  attrs.channel_id = next++;
  instruction.SetAttrs(std::move(attrs));
  return true;
}

// Collectives that run twice meet on channels of their own.
void GiveOwnChannel(Instruction& copy, int64_t& next) {
  SetChannel<AllGatherAttrs>(copy, next) || SetChannel<AllReduceAttrs>(copy, next) ||
      SetChannel<AllToAllAttrs>(copy, next) || SetChannel<CollectiveBroadcastAttrs>(copy, next) ||
      SetChannel<RaggedAllToAllAttrs>(copy, next) || SetChannel<ReduceScatterAttrs>(copy, next);
}

// Nothing but names of it are left.
bool HasNamesOnly(const Sequence& sequence, const Instruction& instruction) {
  const std::vector<Item*> users = sequence.Users(instruction);
  return absl::c_all_of(users, [&](const Item* user) {
    return IsTransparent(*user->instruction) && HasNamesOnly(sequence, *user->instruction);
  });
}

}  // namespace

void Rewriter::Do(const Choice& choice) {
  Item* const first = choice.items[0];
  switch (choice.kind) {
    case Choice::Kind::kCompress: return Compress(first);
    case Choice::Kind::kOffload: return Offload(first);
    case Choice::Kind::kRecompute: break;
  }
  // Backwards: what the later ones of a block read is computed again if they are.
  for (size_t i = choice.items.size(); i-- > 0;) {
    if (memory_.HasUnplacedUsers(*choice.items[i])) Recompute(choice.items[i]);
  }
}

// ---- recompute ----

void Rewriter::Recompute(Item* original) {
  Sequence& sequence = memory_.sequence();
  const Instruction& instruction = *original->instruction;
  const int64_t bytes = memory_.BytesStillUsed(*original);
  Item* const copy = edits_.AddCopy(instruction, CopyName(instruction.name()));
  GiveOwnChannel(*copy->instruction, next_channel_);
  copy->is_large = true;
  copy->can_be_recomputed = original->can_be_recomputed && !memory_.model().is_peak_priority();
  const std::vector<Item*> names = Redirect(original, copy);
  memory_.AddRecomputed(original, copy, names);
  Item* const next = Deadline(*copy, names);
  sequence.InsertBefore(copy, next);
  for (Item* name : names) sequence.InsertBefore(name, next);
  edits_.Passed(instruction, "instructions computed again",
                "computed again as `{}` before `{}` for {} bytes at `{}`",
                copy->instruction->name(), next->instruction->name(), bytes,
                memory_.current()->instruction->name());
  const bool is_half =
      HasTrait(instruction.opcode(), kAsyncStart) || HasTrait(instruction.opcode(), kAsyncDone);
  if (HasNamesOnly(sequence, instruction)) {
    // A move. What has moved before is not moved a second time, without end.
    copy->is_denied = original->was_moved;
    copy->was_moved = true;
    // A start may have one done only.
    if (is_half || memory_.model().is_peak_priority()) RemoveWithNames(original);
  }
}

// Lets unplaced users read the copy; returns the names of it that they need, which are new.
std::vector<Item*> Rewriter::Redirect(Item* original, Item* copy) {
  std::vector<Item*> names;
  absl::flat_hash_map<int64_t, Instruction*> elements;  // looked up only
  const auto name = [&](Opcode opcode, Shape shape, Instruction* of, std::string_view text,
                        AttrsPtr attrs) {
    Item* const item = edits_.Add(opcode, shape, {of}, text, std::move(attrs));
    item->is_denied = item->is_large = true;
    names.push_back(item);
    return item->instruction;
  };
  for (const BufferUse& use : memory_.UsesOf(*original)) {
    if (use.user->is_placed) continue;
    Instruction* const user = use.user->instruction;
    Instruction* const before = user->operand(use.operand);
    Instruction* now = copy->instruction;
    // A tuple that is used as it is counts as a use of its elements, too.
    if (before == now) continue;
    if (use.element && now->shape() != before->shape()) {
      Instruction*& known = elements[*use.element];
      if (known == nullptr) {
        known = name(Opcode::kGetTupleElement, now->shape().element(static_cast<int>(*use.element)),
                     now, "gte.remat", AttrsPtr::Make(GetTupleElementAttrs{*use.element}));
      }
      now = known;
    }
    if (now->shape() != before->shape())
      now = name(Opcode::kBitcast, before->shape(), now, "bitcast.remat", {});
    edits_.Redirect(user, use.operand, now);
    memory_.Touch(memory_.sequence().Of(before));
  }
  return names;
}

// Where the copy goes: before its users, and the users that its operands have anyway, so that these
// are not kept longer; what is ordered after it, or writes over what it reads.
Item* Rewriter::Deadline(const Item& copy, absl::Span<Item* const> names) const {
  const Sequence& sequence = memory_.sequence();
  std::vector<const Instruction*> read = {copy.instruction};
  for (const Item* name : names) read.push_back(name->instruction);
  for (const Instruction* operand : copy.instruction->operands()) {
    if (ShouldPrecedeUsersOf(*operand, copy)) read.push_back(operand);
  }
  std::vector<const Item*> others;
  for (const Instruction* after : copy.instruction->control_successors())
    others.push_back(sequence.Of(after));
  for (const LogicalBufferId id : copy.used) {
    const std::vector<Item*>& writers = memory_.buffer(id).overwriters;
    others.insert(others.end(), writers.begin(), writers.end());
  }
  // What has many users has one soon.
  const auto comes_after = [&](const Item* item) {
    for (const Instruction* operand : item->instruction->operands()) {
      if (absl::c_linear_search(read, operand)) return true;
    }
    return absl::c_linear_search(others, item);
  };
  size_t uses = 0;
  for (const Instruction* value : read) uses += value->uses().size();
  if (uses > kManyUses) {
    Item* at = memory_.current()->next;
    while (!comes_after(at)) at = at->next;
    return at;
  }
  std::vector<Item*> before;
  const auto add = [&](const Item* item) {
    if (item != nullptr && !item->is_gone && !item->is_placed && sequence.IsIn(*item))
      before.push_back(sequence.Of(item->instruction));
  };
  for (const Instruction* value : read) {
    for (const Use& use : value->uses()) add(sequence.Of(use.user));
  }
  for (const Item* item : others) add(item);
  return sequence.First(before);
}

// Where peaks are lowered, an operand that is smaller than the copy is rather kept longer.
bool Rewriter::ShouldPrecedeUsersOf(const Instruction& operand, const Item& copy) const {
  if (!memory_.model().is_peak_priority()) return true;
  return memory_.BytesUsed(*memory_.sequence().Of(&operand)) >= memory_.BytesUsed(copy);
}

void Rewriter::RemoveWithNames(Item* item) {
  for (Item* user : memory_.sequence().Users(*item->instruction)) RemoveWithNames(user);
  edits_.Remove(item);
  memory_.Touch(item);
  for (const Instruction* operand : item->instruction->operands())
    memory_.Touch(memory_.sequence().Of(operand));
}

// ---- compress ----

void Rewriter::RedirectUnplaced(const Item& original, Instruction* to) {
  const absl::Span<const Use> known = original.instruction->uses();
  for (const Use& use : std::vector<Use>(known.begin(), known.end())) {
    const Item* const user = memory_.sequence().Of(use.user);
    if (use.user != to && !user->is_placed) edits_.Redirect(use.user, use.operand_index, to);
  }
}

void Rewriter::Compress(Item* original) {
  Sequence& sequence = memory_.sequence();
  Instruction* const instruction = original->instruction;
  const std::string name(instruction->name());
  const Model& model = memory_.model();
  const Shape compact = model.Compact(instruction->shape());
  edits_.Passed(*instruction, "values compressed", "kept as `{}` of {} bytes instead of {} at `{}`",
                compact.ToString(), model.BytesOf(compact), model.BytesOf(instruction->shape()),
                memory_.current()->instruction->name());
  Item* const small = edits_.Add(Opcode::kCopy, compact, {instruction}, name + ".remat_compressed");
  Item* const whole = edits_.Add(Opcode::kCopy, instruction->shape(), {small->instruction},
                                 name + ".remat_uncompressed");
  small->is_placed = small->is_done = true;
  small->is_denied = whole->is_denied = true;
  RedirectUnplaced(*original, whole->instruction);
  sequence.InsertBefore(whole, sequence.First(sequence.Users(*whole->instruction)));
  sequence.InsertAfter(small, original);
  memory_.AddCompressed(original, small, whole);
}

// ---- host offload ----

// The first item from `from`, which does not count, by which so much time is over; `end` is not
// reached.
Item* Rewriter::AfterSeconds(Item* from, Item* Item::*next, const Item* end, float seconds) const {
  Item* at = from;
  for (float passed = 0; passed < seconds && at->*next != end;) {
    at = at->*next;
    if (!at->is_new) passed += memory_.model().SecondsOf(*at->instruction);
  }
  return at;
}

void Rewriter::Offload(Item* original) {
  Sequence& sequence = memory_.sequence();
  Model& model = memory_.model();
  Instruction* const instruction = original->instruction;
  const Shape here = instruction->shape();
  const Shape there = model.AtHost(here);
  const Shape context = Shape::Scalar(ElementType::kU32);
  const int64_t bytes = memory_.BytesUsed(*original);
  std::vector<Item*> users = sequence.Users(*instruction);
  std::erase_if(users, [](const Item* user) { return user->is_placed; });
  edits_.Passed(*instruction, "values moved to the host and back",
                "moved to the host and back for {} bytes at `{}`", bytes,
                memory_.current()->instruction->name());
  const auto start = [&](Shape to, Shape from, Item* operand) {
    return edits_.Add(Opcode::kCopyStart, Shape::Tuple({to, from, context}), {operand->instruction},
                      "copy-start", AttrsPtr::Make(CopyStartAttrs{}));
  };
  const auto done = [&](Shape to, Item* operand) {
    return edits_.Add(Opcode::kCopyDone, to, {operand->instruction}, "copy-done");
  };
  MemoryTracker::Journey journey;
  journey.out = start(there, here, original);
  journey.out_done = done(there, journey.out);
  journey.back = start(here, there, journey.out_done);
  journey.back_done = done(here, journey.back);

  sequence.InsertAfter(journey.out, original);
  sequence.InsertBefore(journey.back_done, sequence.First(users));
  sequence.InsertAfter(journey.out_done, AfterSeconds(journey.out, &Item::next, journey.back_done,
                                                      model.SecondsToHost(bytes)));
  sequence.InsertBefore(journey.back, AfterSeconds(journey.back_done, &Item::previous,
                                                   journey.out_done, model.SecondsFromHost(bytes)));
  // Those that come before the current instruction have had their turn.
  for (Item* step : {journey.out, journey.out_done, journey.back, journey.back_done})
    step->is_denied = true;
  for (Item* at = journey.out; at != memory_.current() && at != nullptr; at = at->next)
    at->is_placed = at->is_done = true;
  RedirectUnplaced(*original, journey.back_done->instruction);
  memory_.AddOffloaded(original, journey);
}

}  // namespace hlo::remat
