#include "passes/schedule/memory_values.h"

#include "absl/container/flat_hash_set.h"
#include "lib/analysis/alias.h"
#include "lib/analysis/logical_buffers.h"
#include "lib/ops/attrs.h"

namespace hlo {
namespace {

using Number = MemoryValues::Number;

// Tables of tuples in a value of the shape.
size_t TableCount(Shape shape) {
  if (!shape.IsTuple()) return 0;
  size_t count = 1;
  for (const Shape element : shape.elements()) count += TableCount(element);
  return count;
}

// All that is made of the value is made element by element.
bool HasElementwiseUses(const Instruction& value) {
  absl::flat_hash_set<const Instruction*> seen;  // looked up only
  std::vector<const Instruction*> pending = {&value};
  while (!pending.empty()) {
    const Instruction& next = *pending.back();
    pending.pop_back();
    for (const Use& use : next.uses()) {
      const Opcode opcode = use.user->opcode();
      if (!HasTrait(opcode, kElementwise) && opcode != Opcode::kTuple) return false;
      if (seen.insert(use.user).second) pending.push_back(use.user);
    }
  }
  return true;
}

// Whether the result may be written over the operand, which has its shape.
bool MayLieIn(const Instruction& instruction, int operand) {
  if (instruction.IsFusion()) {
    const FusionKind kind = instruction.attrs<FusionAttrs>().kind;
    return (kind == FusionKind::kLoop || kind == FusionKind::kInput) &&
           HasElementwiseUses(*instruction.fused_computation()->parameter(operand));
  }
  if (instruction.opcode() == Opcode::kSort)
    return instruction.operand_count() == 1 && instruction.operand(0)->has_one_user();
  return HasTrait(instruction.opcode(), kElementwise);
}

// Hands on what it is given, as it is.
bool IsWhollyPassedOn(const Instruction& instruction) {
  return IsAlias(instruction) && instruction.operand_count() > 0 &&
         instruction.shape() == instruction.operand(0)->shape();
}

}  // namespace

NumberLists NumberLists::Inverse(size_t count) const {
  NumberLists inverse(count);
  std::vector<Number> ends(count + 1, 0);
  for (size_t i = 0; i < ranges_.size(); ++i) {
    for (const Number item : (*this)[static_cast<Number>(i)]) ++ends[item + 1];
  }
  for (size_t i = 0; i < count; ++i) {
    ends[i + 1] += ends[i];
    inverse.ranges_[i] = {ends[i], ends[i]};
  }
  inverse.items_.resize(items_.size());
  for (size_t i = 0; i < ranges_.size(); ++i) {
    for (const Number item : (*this)[static_cast<Number>(i)])
      inverse.items_[inverse.ranges_[item].second++] = static_cast<Number>(i);
  }
  return inverse;
}

MemoryValues::MemoryValues(const Computation& computation, std::vector<Number> post_order,
                           const MemoryFacts& facts, std::vector<Number>& numbers)
    : instructions(computation.instruction_vector()),
      order(std::move(post_order)),
      root(facts.place.Get(computation.root())),
      operands(instructions.size()),
      needs(instructions.size()),
      waiting(instructions.size()),
      defined_bytes(instructions.size(), 0),
      touches(instructions.size()),
      elements_of(instructions.size()),
      element_counts(instructions.size(), 0),
      facts_(facts),
      numbers_(numbers),
      here_(&computation),
      leaves_(instructions.size()),
      tables_(instructions.size()),
      makes_(instructions.size()),
      made_bytes_(instructions.size(), 0),
      reads_(instructions.size()),
      handed_(instructions.size(), 0),
      in_place_(instructions.size()) {
  stamp_.assign(instructions.size(), 0);
  for (Number i = 0; i < instructions.size(); ++i) {
    NewStamp();
    for (const Instruction* operand : instructions[i]->operands()) {
      const Number number = facts_.place.Get(operand);
      if (IsNew(number)) operands.Add(number);
    }
    operands.Close(i);
  }
  users = operands.Inverse(instructions.size());
  FindNeeds();
  FindMade();
  FindReads();
  FindTouches();
  for (Number i = 0; i < instructions.size(); ++i) FindInPlace(i);
}

void MemoryValues::FindNeeds() {
  for (Number i = 0; i < instructions.size(); ++i) {
    for (const Number operand : operands[i]) needs.Add(operand);
    for (const Instruction* before : instructions[i]->control_predecessors())
      needs.Add(facts_.place.Get(before));
    needs.Close(i);
    for (const Number user : users[i]) waiting.Add(user);
    for (const Instruction* after : instructions[i]->control_successors())
      waiting.Add(facts_.place.Get(after));
    waiting.Close(i);
  }
}

// ---- what is made ----

Number& MemoryValues::NumberOf(ValueId id) {
  if (facts_.values[id].def->parent() == here_) return numbers_[static_cast<size_t>(id)];
  return foreign_.try_emplace(id, kUnknown).first->second;
}

Number MemoryValues::NewValue(int64_t size) {
  bytes.push_back(size);
  return static_cast<Number>(bytes.size()) - 1;
}

void MemoryValues::FindMade() {
  for (const Number i : order) {
    makes_[i].first = static_cast<Number>(bytes.size());
    FindLeaves(i);
    FindTables(i);
    makes_[i].second = static_cast<Number>(bytes.size());
    if (IsGiven(*instructions[i])) {
      is_lent_.resize(bytes.size(), true);
      makes_[i].first = makes_[i].second;
    }
    is_lent_.resize(bytes.size(), false);
    for (Number value = makes_[i].first; value < makes_[i].second; ++value)
      made_bytes_[i] += bytes[value];
  }
  stamp_.assign(bytes.size(), 0);
  reader_counts_.assign(bytes.size(), 0);
  touch_counts.assign(bytes.size(), 0);
}

// Of a loop around this computation: it is what the parameter of the body makes.
bool MemoryValues::IsStateHere(const Value& value) const {
  if (value.kind != Value::Kind::kLoopState) return false;
  for (const Computation* at = here_; !at->callers().empty();) {
    const Instruction& caller = *at->callers()[0].caller;
    if (&caller == value.def) return true;
    at = caller.parent();
  }
  return false;
}

void MemoryValues::FindLeaves(Number i) {
  const Instruction& instruction = *instructions[i];
  leaves_[i] = facts_.values.Of(instruction);
  for (const ValueId id : leaves_[i]) {
    Number& number = NumberOf(id);
    if (number != kUnknown) continue;
    const Value& value = facts_.values[id];
    if (IsGiven(*value.def) || (IsGiven(instruction) && IsStateHere(value))) {
      number = kOutside;
      continue;
    }
    number = NewValue(value.shape.IsArray() ? value.shape.byte_size() : 0);
    if (value.def == &instruction) defined_bytes[i] += bytes[number];
  }
}

bool MemoryValues::IsLoopPart() const {
  return std::ranges::any_of(here_->callers(), [](const CallSite& site) {
    return site.caller->opcode() == Opcode::kWhile;
  });
}

void MemoryValues::FindTables(Number i) {
  const Instruction& instruction = *instructions[i];
  const size_t count = TableCount(instruction.shape());
  std::vector<Number>& tables = tables_[i];
  const auto tables_of = [&](int operand) -> const std::vector<Number>& {
    return tables_[facts_.place.Get(instruction.operand(operand))];
  };
  // Made by whoever calls, or inside of what is called.
  const bool is_lent = IsGiven(instruction);
  const bool is_defined = !is_lent && instruction.opcode() != Opcode::kCall;
  const bool is_unknown =
      is_lent && (here_->is_entry() || instruction.IsConstant() || IsLoopPart());
  const auto make = [&](Shape shape, const auto& make_inside) -> void {
    if (!shape.IsTuple()) return;
    tables.push_back(is_unknown ? kOutside
                                : NewValue(kPointerBytes * shape.element_count_of_tuple()));
    if (is_defined) defined_bytes[i] += bytes.back();
    for (const Shape element : shape.elements()) make_inside(element, make_inside);
  };
  const auto make_outermost = [&] {
    tables.push_back(NewValue(kPointerBytes * instruction.shape().element_count_of_tuple()));
    defined_bytes[i] += bytes.back();
  };
  if (count == 0) return;
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kGetTupleElement) {
    size_t first = 1;
    const Shape shape = instruction.operand(0)->shape();
    for (int k = 0; k < instruction.tuple_index(); ++k) first += TableCount(shape.element(k));
    const std::vector<Number>& all = tables_of(0);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    tables.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  } else if (opcode == Opcode::kTuple) {
    make_outermost();
    for (int k = 0; k < instruction.operand_count(); ++k)
      tables.insert(tables.end(), tables_of(k).begin(), tables_of(k).end());
  } else if (opcode == Opcode::kCopy) {
    make_outermost();
    tables.insert(tables.end(), tables_of(0).begin() + 1, tables_of(0).end());
  } else if (IsWhollyPassedOn(instruction)) {
    tables = tables_of(0);
  } else {
    make(instruction.shape(), make);
  }
}

// ---- who uses it ----

template <class F>
void MemoryValues::ForEachNew(Number i, const F& f) {
  const auto see = [&](Number value) {
    if (value != kOutside && IsNew(value)) f(value);
  };
  for (const ValueId id : leaves_[i]) see(NumberOf(id));
  for (const Number table : tables_[i]) see(table);
}

void MemoryValues::FindReads() {
  const auto read = [&](Number value) {
    if (is_lent_[value]) return;
    reads_.Add(value);
    ++reader_counts_[value];
  };
  for (const Number i : order) {
    NewStamp();
    const Instruction& instruction = *instructions[i];
    // What a start holds is needed until its done.
    if (facts_.values.Reads(instruction) || HasTrait(instruction.opcode(), kAsyncDone)) {
      for (const Number operand : operands[i]) ForEachNew(operand, read);
    } else if (IsElement(i)) {
      const Number table = tables_[operands[i][0]][0];
      if (table != kOutside) read(table);
    }
    reads_.Close(i);
    // What stays as it is in a loop is no beginning of a state.
    if (instruction.opcode() == Opcode::kWhile) {
      NewStamp();
      ForEachNew(i, [](Number) {});
      handed_[i] = reads_.MoveToFront(i, [this](Number value) { return IsNew(value); });
    }
  }
  // What the computation returns is live at the end.
  NewStamp();
  ForEachNew(root, [this](Number value) {
    ++reader_counts_[value];
    ++touch_counts[value];
  });
}

void MemoryValues::FindTouches() {
  for (Number i = 0; i < instructions.size(); ++i) {
    NewStamp();
    for (const Number operand : operands[i]) {
      if (IsElement(i)) {
        ++element_counts[operand];
      } else {
        ForEachNew(operand, [this](Number value) { touches.Add(value); });
      }
    }
    touches.Close(i);
    for (const Number value : touches[i]) ++touch_counts[value];
  }
  for (Number i = 0; i < instructions.size(); ++i) {
    NewStamp();
    if (element_counts[i] > 0) ForEachNew(i, [this](Number value) { elements_of.Add(value); });
    elements_of.Close(i);
  }
  tuples_of = elements_of.Inverse(bytes.size());
}

// An array that may be written over one of the same shape and layout, which its operand makes.
void MemoryValues::FindInPlace(Number i) {
  const Instruction& instruction = *instructions[i];
  const auto is_own = [&](const Instruction& x, Number number) {
    const Leaves leaves = leaves_[number];
    return leaves.size() == 1 && facts_.values[leaves[0]].def == &x && !IsGiven(x) &&
           facts_.is_alone[static_cast<size_t>(leaves[0])];
  };
  const bool may_share = instruction.shape().IsArray() && instruction.opcode() != Opcode::kCopy &&
                         is_own(instruction, i);
  for (int k = 0; may_share && k < instruction.operand_count(); ++k) {
    const Instruction& operand = *instruction.operand(k);
    const Number number = facts_.place.Get(&operand);
    if (operand.shape() == instruction.shape() && is_own(operand, number) &&
        MayLieIn(instruction, k))
      in_place_.Add(NumberOf(leaves_[number][0]));
  }
  in_place_.Close(i);
}

// ---- the peak ----

int64_t MemoryValues::Peak(std::span<const Number> sequence,
                           const std::function<int64_t(const Computation&)>& peak_of) const {
  std::vector<int64_t> readers = reader_counts_;
  int64_t live = 0, peak = 0;
  for (const Number i : sequence) {
    const std::span<const Number> reads = reads_[i];
    const auto free = [&](std::span<const Number> values) {
      for (const Number value : values) {
        if (--readers[value] == 0) live -= bytes[value];
      }
    };
    free(reads.first(handed_[i]));
    live += made_bytes_[i];
    int64_t inside = 0;
    for (const Computation* callee : instructions[i]->calls())
      inside = std::max(inside, peak_of(*callee));
    const std::span<const Number> places = in_place_[i];
    const auto taken =
        std::ranges::find_if(places, [&](Number value) { return readers[value] == 1; });
    peak = std::max(peak, live + inside - (taken == places.end() ? 0 : bytes[*taken]));
    free(reads.subspan(handed_[i]));
    const auto [first, end] = makes_[i];
    for (Number value = first; value < end; ++value) {
      if (readers[value] == 0) live -= bytes[value];  // nobody reads it
    }
  }
  return peak;
}

}  // namespace hlo
