#include "backends/common/buffer_assignment.h"

#include <algorithm>
#include <map>
#include <set>

#include "backends/common/stored_array.h"
#include "lib/analysis/alias.h"
#include "lib/analysis/leaves.h"
#include "lib/analysis/live_range.h"
#include "lib/support/byte_count.h"
#include "lib/support/status.h"
#include "lib/types/shape_util.h"

namespace hlo {

bool NeedsNoCode(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  return opcode == Opcode::kParameter || opcode == Opcode::kConstant ||
         opcode == Opcode::kAfterAll || opcode == Opcode::kCopyStart ||
         opcode == Opcode::kCopyDone || IsAliasWhenDense(instruction);
}

namespace {

std::vector<Shape> Leaves(Shape shape) {
  std::vector<Shape> leaves;
  ForEachLeaf(shape, [&leaves](Shape leaf, const ShapeIndex&) { leaves.push_back(leaf); });
  return leaves;
}

// The arrays of a constant, depth first; one that is elided has none.
void AppendArrays(const Literal& value, std::vector<const Literal*>& arrays) {
  if (!value.shape().IsTuple()) return arrays.push_back(&value);
  for (const Literal& element : value.elements()) AppendArrays(element, arrays);
}

// Values that are handed on lie in memory as both ends see it.
absl::Status CheckStoredAlike(Shape from, Shape to, SourceLoc loc) {
  const std::vector<Shape> a = Leaves(from), b = Leaves(to);
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (StoredBytes(a[i]) != StoredBytes(b[i]))
      return Unsupported(loc, "a value `{}` cannot be handed on as `{}` yet", a[i], b[i]);
  }
  return absl::OkStatus();
}

}  // namespace

class Assigner {
 public:
  Assigner(const Module& module, const AssignmentHooks& hooks, BufferAssignment& result)
      : module_(module),
        hooks_(hooks),
        out_(result),
        values_(out_.values_.emplace(module, ValuesOptions{.dense = true})),
        ranges_(values_) {}

  absl::Status Run() {
    const Computation& entry = *module_.entry();
    RETURN_IF_ERROR(CheckCalls());
    for (ValueId id = 0; id < values_.count(); ++id) AddPlace(values_[id].shape, ranges_.Of(id));
    PlaceArguments(entry);
    for (const ProgramStep& step : values_.order()) Look(step);
    for (const ProgramStep& step : values_.order()) {
      if (step.kind == ProgramStep::Kind::kEnd && step.instruction->opcode() == Opcode::kWhile)
        LinkInitialValues(step.instruction);
    }
    ShareDyingOperands();
    AssignResults(entry);
    PlaceTemporaries();
    Materialise();
    return absl::OkStatus();
  }

 private:
  enum class Storage { kTemp, kArgument, kConstant, kNone };
  // What is known of a value, or of memory that copies need in between.
  struct Place {
    int64_t bytes = 0;
    Storage storage = Storage::kTemp;
    LiveRange range;
    int allocation = -1;
    int group = -1;  // union-find parent
  };
  struct PendingCopy {
    CopyList* list;
    int source, destination, staging;
  };

  // ---- values ----

  int AddPlace(Shape leaf, LiveRange range) {
    Place place;
    place.bytes = StoredBytes(leaf);
    place.storage = place.bytes == 0 ? Storage::kNone : Storage::kTemp;
    place.range = range;
    place.group = static_cast<int>(places_.size());
    places_.push_back(place);
    return place.group;
  }

  absl::Span<const int> leaves(const Instruction* instruction) const {
    return values_.Of(*instruction);
  }
  // Null for memory in between.
  const Instruction* DefOf(int value) const {
    return value < values_.count() ? values_[value].def : nullptr;
  }

  // Values that are handed from one computation to another look the same from both sides, and
  // nothing is called twice.
  absl::Status CheckCalls() const {
    for (const ProgramStep& step : values_.order()) {
      if (step.kind != ProgramStep::Kind::kEnter && step.kind != ProgramStep::Kind::kLeave)
        continue;
      const Instruction& caller = *step.instruction;
      if (caller.opcode() == Opcode::kAsyncStart) continue;  // one instruction for back ends
      const Computation& callee = step.callee();
      if (step.again)
        return Internal("computation `{}` has more than one call site", callee.name());
      const bool enters = step.kind == ProgramStep::Kind::kEnter;
      const bool is_condition = caller.opcode() == Opcode::kWhile && step.call == 0;
      if (!enters && !is_condition)
        RETURN_IF_ERROR(CheckStoredAlike(callee.root()->shape(), caller.shape(), caller.loc()));
      for (int i = 0; enters && i < callee.parameter_count(); ++i) {
        const int operand = caller.opcode() == Opcode::kConditional ? step.call + 1 : i;
        for (const Shape from : {caller.operand(operand)->shape(), callee.parameter(i)->shape()}) {
          const Shape to =
              caller.opcode() == Opcode::kWhile ? caller.shape() : callee.parameter(i)->shape();
          RETURN_IF_ERROR(CheckStoredAlike(from, to, caller.loc()));
        }
      }
    }
    return absl::OkStatus();
  }

  // Arguments are read-only, but for those the module's alias table gives away: their memory is a
  // result's to overwrite.
  void PlaceArguments(const Computation& entry) {
    int leaf = 0;
    for (const Instruction* parameter : entry.parameters()) {
      const int first = leaf;
      for (const int value : leaves(parameter)) {
        Place& place = At(value);
        place.allocation = static_cast<int>(out_.allocations_.size());
        out_.allocations_.push_back({.kind = Allocation::Kind::kArgument,
                                     .size = place.bytes,
                                     .leaf = leaf++,
                                     .shape = values_[value].shape});
        if (place.storage == Storage::kTemp) MakePermanent(place, Storage::kArgument);
      }
      for (const InputOutputAlias& alias : module_.config().aliases) {
        if (alias.parameter != parameter->parameter_number()) continue;
        const auto number = static_cast<int>(LeafNumber(parameter->shape(), alias.parameter_index));
        if (number < 0) continue;
        const int value = leaves(parameter)[static_cast<size_t>(number)];
        if (At(value).storage != Storage::kArgument) continue;
        At(value).storage = Storage::kTemp;
        At(value).range = ranges_.Of(value);
        group_allocation_[value] = At(value).allocation;
        out_.allocations_[static_cast<size_t>(At(value).allocation)].donated = true;
        donated_to_[first + number] =
            static_cast<int>(LeafNumber(entry.root()->shape(), alias.output));
      }
    }
  }

  // Constants and arguments are there all the time.
  void MakePermanent(Place& place, Storage storage) {
    place.storage = storage;
    place.range = {0, ranges_.end()};
  }

  // Takes note of constants, and lets loops compute their results in place, inner ones first.
  void Look(const ProgramStep& step) {
    const Instruction* const instruction = step.instruction;
    if (step.kind == ProgramStep::Kind::kVisit) {
      if (instruction->IsConstant()) {
        PlaceConstant(instruction);
      } else if (values_.Reads(*instruction) && !NeedsNoCode(*instruction)) {
        plain_.push_back(instruction);
      }
    } else if (step.kind == ProgramStep::Kind::kEnd) {
      if (instruction->opcode() == Opcode::kWhile) LinkBodyResults(instruction);
      if (instruction->opcode() == Opcode::kConditional) LinkBranches(*instruction);
    }
  }

  void PlaceConstant(const Instruction* instruction) {
    const Literal& literal = instruction->literal();
    std::vector<const Literal*> arrays;
    if (!literal.is_elided()) AppendArrays(literal, arrays);
    for (const int value : leaves(instruction)) {
      Place& place = At(value);
      if (place.storage != Storage::kTemp) continue;
      MakePermanent(place, Storage::kConstant);
      place.allocation = static_cast<int>(out_.allocations_.size());
      const auto leaf = static_cast<size_t>(values_[value].leaf);
      out_.allocations_.push_back({.kind = Allocation::Kind::kConstant,
                                   .size = place.bytes,
                                   .constant = instruction,
                                   .value = literal.is_elided() ? &literal : arrays.at(leaf)});
    }
  }

  // ---- sharing ----

  int Find(int value) {
    while (At(value).group != value) value = At(value).group = At(At(value).group).group;
    return value;
  }
  Place& At(int value) { return places_[static_cast<size_t>(value)]; }
  bool IsTemp(int value) { return At(value).storage == Storage::kTemp; }
  // The range of a group is that of its representative, and covers all of its values.
  void Merge(int a, int b) {
    a = Find(a);
    b = Find(b);
    if (a == b) return;
    const LiveRange of_a = RangeOf(a), of_b = RangeOf(b);
    group_ranges_[a] = {std::min(of_a.start, of_b.start), std::max(of_a.end, of_b.end)};
    At(b).group = a;
    if (const auto it = group_allocation_.find(b); it != group_allocation_.end()) {
      const int allocation = it->second;
      group_allocation_[a] = allocation;
    }
  }
  LiveRange RangeOf(int value) {
    const int root = Find(value);
    const auto it = group_ranges_.find(root);
    return it != group_ranges_.end() ? it->second : At(root).range;
  }

  // Two values with memory of their own cannot become one.
  bool BothPlaced(int a, int b) {
    return group_allocation_.contains(Find(a)) && group_allocation_.contains(Find(b));
  }

  bool CanShareAt(const Instruction* instruction, int operand_value, int leaf) {
    if (hooks_.can_share == nullptr) return false;
    bool found = false;
    for (int i = 0; i < instruction->operand_count(); ++i) {
      const absl::Span<const int> of = leaves(instruction->operand(i));
      for (const int value : of) {
        if (Find(value) != Find(operand_value)) continue;
        // Every operand that reads the value must allow the overwriting.
        if (of.size() != 1 || !hooks_.can_share(*instruction, i, leaf)) return false;
        found = true;
      }
    }
    return found;
  }

  // ---- loops ----

  // Lets the body compute its results in the state's slices where no one reads the old value any
  // more.
  void LinkBodyResults(const Instruction* loop) {
    const absl::Span<const int> state = leaves(loop);
    const absl::Span<const int> result = leaves(loop->while_body()->root());
    const int begin = ranges_.TimeOf(*loop), body_end = ranges_.EndOfBody(*loop);
    CopyList& copies = out_.end_copies_[loop];
    const std::set<int> state_set(state.begin(), state.end());
    std::set<int> taken;
    std::vector<std::pair<int, int>> needed;
    for (size_t i = 0; i < state.size(); ++i) {
      if (result[i] == state[i]) invariant_[state[i]].push_back({begin, body_end});
      if (result[i] == state[i] || At(state[i]).bytes == 0) continue;
      const int r = result[i];
      const bool mergeable = IsTemp(r) && !state_set.contains(r) && !taken.contains(Find(r)) &&
                             RangeOf(r).end <= body_end && Find(r) == r && !IsLoopState(r);
      if (mergeable) {
        const int last_read = ranges_.LastReadUntil(state[i], body_end);
        const int defined = RangeOf(r).start;
        const bool after = !BothPlaced(state[i], r) && defined > last_read;
        const bool over = !BothPlaced(state[i], r) && defined == last_read &&
                          CanShareAt(DefOf(r), state[i], static_cast<int>(values_[r].leaf));
        if (after || over) {
          taken.insert(Find(r));
          Merge(state[i], r);
          taken.insert(Find(r));
          continue;
        }
      }
      needed.push_back({r, state[i]});
    }
    for (const auto& [source, destination] : needed) {
      int staging = -1;
      // A source that another copy of this list overwrites is put aside first.
      for (const auto& [other_source, other_destination] : needed) {
        if (Find(other_destination) == Find(source)) staging = -2;
      }
      if (staging == -2) {
        staging =
            AddPlace(Shape::Array(ElementType::kU8, {At(source).bytes}), {body_end, body_end});
      }
      pending_.push_back({&copies, source, destination, staging});
    }
  }

  bool IsLoopState(int value) {
    return DefOf(value) != nullptr && DefOf(value)->opcode() == Opcode::kWhile;
  }

  // Lets the initial value be computed in the state's slice when the loop is its last reader.
  // Called when all uses are known.
  void LinkInitialValues(const Instruction* loop) {
    const absl::Span<const int> initial = leaves(loop->operand(0)), state = leaves(loop);
    CopyList& copies = out_.init_copies_[loop];
    std::set<int> taken;
    for (size_t i = 0; i < state.size(); ++i) {
      const int x = initial[i];
      if (At(state[i]).bytes == 0 || x == state[i]) continue;
      if (IsTemp(x) && !BothPlaced(state[i], x) && RangeOf(x).end <= ranges_.TimeOf(*loop) &&
          !taken.contains(Find(x)) && InCurrentScope(x, loop)) {
        taken.insert(Find(x));
        Merge(state[i], x);
        taken.insert(Find(x));
      } else {
        pending_.push_back({&copies, x, state[i], -1});
      }
    }
  }

  // A value handed in from outside of the computation (a parameter of an enclosing loop's body is
  // that loop's state) must keep its slice until the enclosing loop says so; its interval is not
  // final yet.
  bool InCurrentScope(int value, const Instruction* loop) {
    return DefOf(value) != nullptr && DefOf(value)->parent() == loop->parent();
  }

  // ---- branches ----

  // Each branch leaves its result for the conditional's.
  void LinkBranches(const Instruction& conditional) {
    const absl::Span<const int> mine = leaves(&conditional);
    for (const Computation* branch : conditional.calls()) {
      CopyList& copies = out_.branch_copies_[branch];
      const absl::Span<const int> result = leaves(branch->root());
      for (size_t i = 0; i < mine.size(); ++i) {
        if (At(mine[i]).bytes != 0) pending_.push_back({&copies, result[i], mine[i], -1});
      }
    }
  }

  // ---- entry ----

  // Whether one of the results of an instruction is already in the place of `value`: a result that
  // nobody reads ends where it begins, too.
  bool HoldsOne(int value, absl::Span<const int> results) {
    return std::any_of(results.begin(), results.end(),
                       [&](int result) { return IsTemp(result) && Find(result) == Find(value); });
  }

  void ShareDyingOperands() {
    for (const Instruction* instruction : plain_) {
      const int now = ranges_.TimeOf(*instruction);
      const absl::Span<const int> mine = leaves(instruction);
      for (size_t leaf = 0; leaf < mine.size(); ++leaf) {
        if (!IsTemp(mine[leaf]) || RangeOf(mine[leaf]).start != now) continue;
        for (const Instruction* operand : instruction->operands()) {
          const absl::Span<const int> of = leaves(operand);
          if (of.size() != 1) continue;
          const int p = of[0];
          if (!IsTemp(p) || At(p).bytes != At(mine[leaf]).bytes || Find(p) == Find(mine[leaf]))
            continue;
          if (BothPlaced(p, mine[leaf]) || RangeOf(p).end != now || HoldsOne(p, mine) ||
              !CanShareAt(instruction, p, static_cast<int>(leaf)))
            continue;
          Merge(p, mine[leaf]);
          break;
        }
      }
    }
  }

  void AssignResults(const Computation& entry) {
    int number = 0;
    std::set<int> taken;
    for (const int value : leaves(entry.root())) {
      const int leaf = number++;
      if (const auto it = group_allocation_.find(Find(value));
          IsTemp(value) && it != group_allocation_.end()) {
        // In the memory of an argument given away for this very result.
        const Allocation& given = out_.allocations_[static_cast<size_t>(it->second)];
        const auto to = donated_to_.find(given.leaf);
        if (given.kind == Allocation::Kind::kArgument && to != donated_to_.end() &&
            to->second == leaf && taken.insert(Find(value)).second) {
          out_.results_.push_back({it->second, 0, At(value).bytes});
          continue;
        }
      }
      const int allocation = static_cast<int>(out_.allocations_.size());
      out_.allocations_.push_back(
          {.kind = Allocation::Kind::kResult, .size = At(value).bytes, .leaf = leaf});
      out_.results_.push_back({allocation, 0, At(value).bytes});
      if (At(value).bytes == 0) continue;
      if (IsTemp(value) && !group_allocation_.contains(Find(value)) &&
          taken.insert(Find(value)).second) {
        group_allocation_[Find(value)] = allocation;
      } else {
        result_copies_.push_back({value, allocation});
      }
    }
  }

  // Linear scan over time with a best-fit list of holes.
  void PlaceTemporaries() {
    out_.temp_allocation_ = static_cast<int>(out_.allocations_.size());
    std::vector<int> roots;
    for (size_t v = 0; v < places_.size(); ++v) {
      const int value = static_cast<int>(v);
      if (places_[v].storage == Storage::kTemp && Find(value) == value &&
          !group_allocation_.contains(value))
        roots.push_back(value);
    }
    std::stable_sort(roots.begin(), roots.end(),
                     [this](int a, int b) { return RangeOf(a).start < RangeOf(b).start; });
    std::multimap<int64_t, int64_t> by_size;               // size -> offset
    std::map<int64_t, int64_t> by_offset;                  // offset -> size
    std::multimap<int, std::pair<int64_t, int64_t>> live;  // end -> (offset, size)
    int64_t top = 0;
    const auto erase_hole = [&](int64_t offset, int64_t size) {
      by_offset.erase(offset);
      for (auto [it, last] = by_size.equal_range(size); it != last; ++it) {
        if (it->second == offset) {
          by_size.erase(it);
          return;
        }
      }
    };
    const auto add_hole = [&](int64_t offset, int64_t size) {
      auto next = by_offset.lower_bound(offset);
      if (next != by_offset.end() && next->first == offset + size) {
        const auto [o, s] = *next;
        size += s;
        erase_hole(o, s);
      }
      next = by_offset.lower_bound(offset);
      if (next != by_offset.begin()) {
        const auto [o, s] = *std::prev(next);
        if (o + s == offset) {
          erase_hole(o, s);
          offset = o;
          size += s;
        }
      }
      by_offset.emplace(offset, size);
      by_size.emplace(size, offset);
    };
    for (const int root : roots) {
      const auto [start, end] = RangeOf(root);
      while (!live.empty() && live.begin()->first < start) {
        add_hole(live.begin()->second.first, live.begin()->second.second);
        live.erase(live.begin());
      }
      const int64_t size = (At(root).bytes + BufferAssignment::kAlignment - 1) /
                           BufferAssignment::kAlignment * BufferAssignment::kAlignment;
      int64_t offset;
      if (const auto fit = by_size.lower_bound(size); fit != by_size.end()) {
        const auto [hole_size, hole] = *fit;
        erase_hole(hole, hole_size);
        offset = hole;
        if (hole_size > size) add_hole(hole + size, hole_size - size);
      } else {
        offset = top;
        // A hole at the very end grows instead of a new block.
        if (!by_offset.empty() && by_offset.rbegin()->first + by_offset.rbegin()->second == top) {
          const auto [o, s] = *by_offset.rbegin();
          erase_hole(o, s);
          offset = o;
        }
        top = offset + size;
      }
      live.emplace(end, std::pair(offset, size));
      slices_[root] = {out_.temp_allocation_, offset, At(root).bytes};
    }
    out_.allocations_.push_back({.kind = Allocation::Kind::kTemp, .size = top});
  }

  // ---- the result ----

  BufferSlice SliceOf(int value) {
    const Place& v = At(value);
    switch (v.storage) {
      case Storage::kNone: return {};
      case Storage::kArgument:
      case Storage::kConstant: return {v.allocation, 0, v.bytes};
      case Storage::kTemp: break;
    }
    const int root = Find(value);
    if (const auto it = group_allocation_.find(root); it != group_allocation_.end())
      return {it->second, 0, v.bytes};
    return slices_[root];
  }

  // Inside a loop that hands the value on unchanged.
  bool IsInvariantAt(int value, int time) const {
    const auto it = invariant_.find(value);
    if (it == invariant_.end()) return false;
    return std::any_of(it->second.begin(), it->second.end(), [time](const auto& loop) {
      return loop.first < time && time <= loop.second;
    });
  }

  // Loop state that every iteration hands on unchanged.
  void FindUnchanging() {
    for (const ProgramStep& step : values_.order()) {
      const absl::Span<const int> of = leaves(step.instruction);
      if (of.size() != 1) continue;
      const Storage storage = At(of[0]).storage;
      if (storage == Storage::kConstant || storage == Storage::kArgument ||
          IsInvariantAt(of[0], ranges_.TimeOf(*step.instruction))) {
        out_.unchanging_.insert(step.instruction);
      }
    }
  }

  void Materialise() {
    FindUnchanging();
    for (size_t v = 0; v < places_.size(); ++v)
      out_.value_slices_.push_back(SliceOf(static_cast<int>(v)));
    for (const PendingCopy& copy : pending_) {
      const BufferSlice source = SliceOf(copy.source);
      const BufferSlice destination = SliceOf(copy.destination);
      if (source == destination) continue;
      copy.list->copies.push_back(
          {source, destination, copy.staging >= 0 ? SliceOf(copy.staging) : BufferSlice()});
    }
    for (const auto& [value, allocation] : result_copies_) {
      out_.entry_copies_.copies.push_back({SliceOf(value), {allocation, 0, At(value).bytes}, {}});
    }
    for (size_t v = 0; v < places_.size(); ++v) {
      const Place& place = places_[v];
      if (place.storage == Storage::kNone) continue;
      const Instruction* const def = DefOf(static_cast<int>(v));
      std::string name = def == nullptr ? "staging" : std::string(def->name());
      if (def != nullptr && def->shape().IsTuple())
        name += fmt::format("#{}", values_[static_cast<int>(v)].leaf);
      out_.texts_.push_back(
          {std::move(name), place.range.start, place.range.end, static_cast<int>(v)});
    }
  }

  const Module& module_;
  const AssignmentHooks& hooks_;
  BufferAssignment& out_;
  const Values& values_;
  LiveRanges ranges_;
  std::vector<Place> places_;  // by value; then the ones in between
  std::vector<const Instruction*> plain_;
  absl::flat_hash_map<int, LiveRange> group_ranges_;
  absl::flat_hash_map<int, int> group_allocation_;
  absl::flat_hash_map<int, std::vector<std::pair<int, int>>> invariant_;  // value -> loops' times
  absl::flat_hash_map<int, int> donated_to_;  // argument leaf -> result leaf
  absl::flat_hash_map<int, BufferSlice> slices_;
  std::vector<PendingCopy> pending_;
  std::vector<std::pair<int, int>> result_copies_;
};

absl::StatusOr<std::unique_ptr<BufferAssignment>> BufferAssignment::Make(
    const Module& module, const AssignmentHooks& hooks) {
  auto result = std::make_unique<BufferAssignment>();
  RETURN_IF_ERROR(Assigner(module, hooks, *result).Run());
  return result;
}

int64_t BufferAssignment::total_size() const {
  int64_t total = 0;
  for (const Allocation& allocation : allocations_) total += allocation.size;
  return total;
}

std::vector<BufferSlice> BufferAssignment::slices(const Instruction& instruction) const {
  std::vector<BufferSlice> result;
  for (const int value : values_->Of(instruction))
    result.push_back(value_slices_[static_cast<size_t>(value)]);
  return result;
}

std::string BufferAssignment::ToString() const {
  // First what XLA's statistics of buffers say, in its words.
  int64_t sizes[4] = {};
  for (const Allocation& a : allocations_) sizes[static_cast<size_t>(a.kind)] += a.size;
  static constexpr const char* kWords[] = {"parameter", "maybe_live_out", "constant",
                                           "preallocated temp"};
  std::string out;
  for (size_t kind = 0; kind < 4; ++kind)
    out += fmt::format("{:>28}: {:>10}\n", fmt::format("{} allocation", kWords[kind]),
                       ByteCountText(sizes[kind]));
  for (size_t i = 0; i < allocations_.size(); ++i) {
    const Allocation& a = allocations_[i];
    static constexpr const char* kKinds[] = {"argument", "result", "constant", "temp"};
    out += fmt::format("a{}: {} {} bytes", i, kKinds[static_cast<int>(a.kind)], a.size);
    if (a.kind == Allocation::Kind::kArgument || a.kind == Allocation::Kind::kResult)
      out += fmt::format(", leaf {}", a.leaf);
    if (a.donated) out += ", given away";
    if (a.constant != nullptr) out += fmt::format(", {}", a.constant->name());
    out += '\n';
  }
  for (const ValueText& text : texts_) {
    out += fmt::format("{}: {} live {}..{}\n", text.name,
                       value_slices_[static_cast<size_t>(text.value)].ToString(), text.start,
                       text.end);
  }
  return out;
}

}  // namespace hlo
