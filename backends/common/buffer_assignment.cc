#include "backends/common/buffer_assignment.h"

#include <algorithm>

#include "backends/common/pack_intervals.h"
#include "backends/common/stored_array.h"
#include "lib/analysis/alias.h"
#include "lib/analysis/entry_aliases.h"
#include "lib/analysis/interference.h"
#include "lib/analysis/leaves.h"
#include "lib/analysis/live_range.h"
#include "lib/analysis/place_sets.h"
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

class BufferAssigner {
 public:
  BufferAssigner(const Module& module, const AssignmentHooks& hooks, BufferAssignment& result)
      : module_(module),
        hooks_(hooks),
        out_(result),
        values_(out_.values_.emplace(module, ValuesOptions{.dense = true})),
        ranges_(values_),
        interference_(values_, Interference::Order::kProgram,
                      [this](const Instruction& instruction, const InPlacePair& pair) {
                        return MayShare(instruction, pair.operand, pair.leaf);
                      }),
        sets_(values_, interference_) {}

  absl::Status Run() {
    const Computation& entry = *module_.entry();
    RETURN_IF_ERROR(CheckCalls());
    RETURN_IF_ERROR(CheckTuples());
    for (ValueId id = 0; id < values_.count(); ++id) AddPlace(values_[id].shape);
    PlaceArguments(entry);
    for (const ProgramStep& step : values_.order()) Look(*step.instruction, step.kind);
    sets_.TieEnds();
    sets_.UniteControlFlow();
    RETURN_IF_ERROR(CheckSets());
    JoinCopies();
    ReuseArguments(entry);
    FindHulls();
    ShareDyingOperands();
    RETURN_IF_ERROR(AssignResults(entry));
    PlaceTemporaries();
    Materialise();
    return absl::OkStatus();
  }

 private:
  enum class Storage { kTemp, kArgument, kConstant, kNone };
  // What is known of a value.
  struct Place {
    int64_t bytes = 0;
    Storage storage = Storage::kTemp;
    int allocation = -1;
  };

  // ---- values ----

  void AddPlace(Shape leaf) {
    Place place;
    place.bytes = StoredBytes(leaf);
    place.storage = place.bytes == 0 ? Storage::kNone : Storage::kTemp;
    places_.push_back(place);
  }

  absl::Span<const ValueId> leaves(const Instruction* instruction) const {
    return values_.Of(*instruction);
  }
  Place& At(ValueId value) { return places_[static_cast<size_t>(value)]; }
  bool IsTemp(ValueId value) { return At(value).storage == Storage::kTemp; }

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

  // So do those that travel in tuples.
  absl::Status CheckTuples() const {
    for (const ProgramStep& step : values_.order()) {
      const Instruction& instruction = *step.instruction;
      if (step.kind != ProgramStep::Kind::kVisit) continue;
      if (instruction.opcode() == Opcode::kTuple) {
        for (int i = 0; i < instruction.operand_count(); ++i) {
          RETURN_IF_ERROR(CheckStoredAlike(instruction.operand(i)->shape(),
                                           instruction.shape().element(i), instruction.loc()));
        }
      } else if (instruction.opcode() == Opcode::kGetTupleElement) {
        const Shape tuple = instruction.operand(0)->shape();
        RETURN_IF_ERROR(CheckStoredAlike(tuple.element(static_cast<int>(instruction.tuple_index())),
                                         instruction.shape(), instruction.loc()));
      }
    }
    return absl::OkStatus();
  }

  // Arguments are read-only, but for those the module's alias table donates: their memory is a
  // result's to overwrite.
  void PlaceArguments(const Computation& entry) {
    int leaf = 0;
    const std::vector<EntryAlias> aliases = EntryAliases(module_);
    for (const Instruction* parameter : entry.parameters()) {
      for (const ValueId value : leaves(parameter)) {
        Place& place = At(value);
        place.allocation = static_cast<int>(out_.allocations_.size());
        out_.allocations_.push_back({.kind = Allocation::Kind::kArgument,
                                     .size = place.bytes,
                                     .leaf = leaf++,
                                     .shape = values_[value].shape});
        if (place.storage == Storage::kTemp) place.storage = Storage::kArgument;
      }
      for (const EntryAlias& alias : aliases) {
        if (alias.parameter != parameter) continue;
        Place& place = At(leaves(parameter)[alias.from]);
        if (place.storage != Storage::kArgument) continue;
        place.storage = Storage::kTemp;
        out_.allocations_[static_cast<size_t>(place.allocation)].donated = true;
      }
    }
  }

  void Look(const Instruction& instruction, ProgramStep::Kind kind) {
    if (kind != ProgramStep::Kind::kVisit) return;
    if (instruction.IsConstant()) return PlaceConstant(&instruction);
    if (!values_.Reads(instruction) || NeedsNoCode(instruction)) return;
    plain_.push_back(&instruction);
  }

  void PlaceConstant(const Instruction* instruction) {
    const Literal& literal = instruction->literal();
    std::vector<const Literal*> arrays;
    if (!literal.is_elided()) AppendArrays(literal, arrays);
    for (const int value : leaves(instruction)) {
      Place& place = At(value);
      if (place.storage != Storage::kTemp) continue;
      place.storage = Storage::kConstant;
      place.allocation = static_cast<int>(out_.allocations_.size());
      const auto leaf = static_cast<size_t>(values_[value].leaf);
      out_.allocations_.push_back({.kind = Allocation::Kind::kConstant,
                                   .size = place.bytes,
                                   .constant = instruction,
                                   .value = literal.is_elided() ? &literal : arrays.at(leaf)});
    }
  }

  // ---- sets that must share ----

  // Whether the hook lets a result leaf be written over an operand. A copy onto itself
  // does nothing.
  bool MayShare(const Instruction& instruction, int operand, int64_t leaf) const {
    if (instruction.opcode() == Opcode::kCopy) return true;
    return hooks_.can_share != nullptr && leaves(instruction.operand(operand)).size() == 1 &&
           hooks_.can_share(instruction, operand, static_cast<int>(leaf));
  }

  absl::Status CheckSets() {
    const auto [a, b] = sets_.Conflict();
    if (a == b) return absl::OkStatus();
    return Internal("`{}` and `{}` would lie in one place; copy-insertion puts a copy in between",
                    values_.NameOf(a), values_.NameOf(b));
  }

  // Copies whose two ends may be one; each may let others be.
  void JoinCopies() {
    std::vector<const Instruction*> copies;
    for (const Instruction* instruction : plain_) {
      if (instruction->opcode() == Opcode::kCopy) copies.push_back(instruction);
    }
    for (size_t before = copies.size() + 1; before != copies.size();) {
      before = copies.size();
      std::erase_if(copies, [this](const Instruction* copy) { return sets_.TryDrop(*copy); });
    }
  }

  // Lets results be made in the memory that is donated for them.
  void ReuseArguments(const Computation& entry) {
    for (const EntryAlias& alias : EntryAliases(module_)) {
      const ValueId given = leaves(alias.parameter)[alias.from];
      const ValueId result = leaves(entry.root())[alias.to];
      if (IsTemp(given) && IsTemp(result) && At(given).bytes == At(result).bytes)
        sets_.TryUnite(given, result);
    }
  }

  // ---- what may share ----

  // The times in which some value of a set is needed, by representative.
  void FindHulls() {
    for (ValueId value = 0; value < values_.count(); ++value) hulls_.push_back(ranges_.Of(value));
    for (ValueId value = 0; value < values_.count(); ++value)
      Extend(HullOf(value), ranges_.Of(value));
  }
  LiveRange& HullOf(ValueId value) { return hulls_[static_cast<size_t>(sets_.SetOf(value))]; }
  static void Extend(LiveRange& hull, const LiveRange& range) {
    hull = {std::min(hull.start, range.start), std::max(hull.end, range.end)};
  }

  // Every operand that reads the place must allow the overwriting.
  bool CanShareAt(const Instruction* instruction, ValueId place, int leaf) {
    bool found = false;
    for (int i = 0; i < instruction->operand_count(); ++i) {
      for (const ValueId value : leaves(instruction->operand(i))) {
        if (sets_.SetOf(value) != sets_.SetOf(place)) continue;
        if (!MayShare(*instruction, i, leaf)) return false;
        found = true;
      }
    }
    return found;
  }

  // Whether one of the results of an instruction is already in the place of `value`: a result that
  // nobody reads ends where it begins, too.
  bool HoldsOne(ValueId value, absl::Span<const ValueId> results) {
    return std::any_of(results.begin(), results.end(), [&](ValueId result) {
      return IsTemp(result) && sets_.SetOf(result) == sets_.SetOf(value);
    });
  }

  void ShareDyingOperands() {
    for (const Instruction* instruction : plain_) {
      const int now = ranges_.TimeOf(*instruction);
      const absl::Span<const ValueId> mine = leaves(instruction);
      for (size_t leaf = 0; leaf < mine.size(); ++leaf) {
        if (!IsTemp(mine[leaf]) || HullOf(mine[leaf]).start != now) continue;
        for (const Instruction* operand : instruction->operands()) {
          if (MayDieFor(instruction, *operand, mine, leaf)) {
            const LiveRange range = HullOf(mine[leaf]);
            const ValueId place = leaves(operand)[0];
            Extend(HullOf(place), range);
            const LiveRange hull = HullOf(place);
            sets_.Unite(place, mine[leaf]);
            HullOf(place) = hull;
            break;
          }
        }
      }
    }
  }

  // Whether result `leaf` may take the place of an operand that nobody needs any more.
  bool MayDieFor(const Instruction* instruction, const Instruction& operand,
                 absl::Span<const ValueId> mine, size_t leaf) {
    const absl::Span<const ValueId> of = leaves(&operand);
    if (of.size() != 1) return false;
    const ValueId p = of[0], result = mine[leaf];
    return IsTemp(p) && At(p).bytes == At(result).bytes && sets_.SetOf(p) != sets_.SetOf(result) &&
           sets_.Fit(sets_.TieOf(p), sets_.TieOf(result)) &&
           HullOf(p).end == ranges_.TimeOf(*instruction) && !HoldsOne(p, mine) &&
           CanShareAt(instruction, p, static_cast<int>(leaf));
  }

  // ---- places ----

  absl::Status AssignResults(const Computation& entry) {
    int leaf = 0;
    for (const ValueId value : leaves(entry.root())) {
      const int number = leaf++;
      const int64_t bytes = At(value).bytes;
      const PlaceSets::Tie& tie = sets_.TieOf(value);
      RET_CHECK(bytes == 0 || (tie.result == number && !tie.is_kept),
                "result {} has no memory of its own; copy-insertion sees to it", number);
      if (bytes != 0 && tie.argument >= 0) {
        out_.results_.push_back({tie.argument, 0, bytes});
        continue;
      }
      const int allocation = static_cast<int>(out_.allocations_.size());
      out_.allocations_.push_back(
          {.kind = Allocation::Kind::kResult, .size = bytes, .leaf = number});
      out_.results_.push_back({allocation, 0, bytes});
      if (bytes != 0) slices_[sets_.SetOf(value)] = {allocation, 0, 0};
    }
    return absl::OkStatus();
  }

  void PlaceTemporaries() {
    const int arena = static_cast<int>(out_.allocations_.size());
    std::vector<ValueId> sets;
    std::vector<TimedBlock> blocks;
    for (ValueId value = 0; value < values_.count(); ++value) {
      const ValueId set = sets_.SetOf(value);
      if (set != value || !IsTemp(set) || sets_.TieOf(set).is_kept || slices_.contains(set))
        continue;
      if (const int argument = sets_.TieOf(set).argument; argument >= 0) {
        slices_[set] = {argument, 0, 0};  // allocations begin with the arguments
        continue;
      }
      const LiveRange hull = HullOf(set);
      sets.push_back(set);
      blocks.push_back({hull.start, hull.end, At(set).bytes});
    }
    const int64_t size = PackIntervals(blocks, BufferAssignment::kAlignment);
    for (size_t i = 0; i < sets.size(); ++i) slices_[sets[i]] = {arena, blocks[i].offset, 0};
    out_.allocations_.push_back({.kind = Allocation::Kind::kTemp, .size = size});
  }

  // ---- the result ----

  BufferSlice SliceOf(ValueId value) {
    const ValueId source = interference_.Resolve(value);
    const Place& place = At(source);
    switch (place.storage) {
      case Storage::kNone: return {};
      case Storage::kArgument:
      case Storage::kConstant: return {place.allocation, 0, place.bytes};
      case Storage::kTemp: break;
    }
    BufferSlice slice = slices_.at(sets_.SetOf(source));
    slice.size = place.bytes;
    return slice;
  }

  // ---- what does not change ----

  // Loop state that every iteration hands on unchanged.
  void FindInvariants() {
    for (const ProgramStep& step : values_.order()) {
      const Instruction* const loop = step.instruction;
      if (step.kind != ProgramStep::Kind::kEnd || loop->opcode() != Opcode::kWhile) continue;
      const absl::Span<const ValueId> state = leaves(loop),
                                      result = leaves(loop->while_body()->root());
      for (size_t i = 0; i < state.size(); ++i) {
        const ValueId value = interference_.Resolve(state[i]);
        if (interference_.Resolve(result[i]) == value)
          invariant_[value].push_back({ranges_.TimeOf(*loop), ranges_.EndOfBody(*loop)});
      }
    }
  }

  // Inside a loop that hands the value on unchanged.
  bool IsInvariantAt(ValueId value, int time) const {
    const auto it = invariant_.find(value);
    if (it == invariant_.end()) return false;
    return std::any_of(it->second.begin(), it->second.end(), [time](const LiveRange& loop) {
      return loop.start < time && time <= loop.end;
    });
  }

  void FindUnchanging() {
    FindInvariants();
    for (const ProgramStep& step : values_.order()) {
      const absl::Span<const ValueId> of = leaves(step.instruction);
      if (of.size() != 1) continue;
      const ValueId value = interference_.Resolve(of[0]);
      const Storage storage = At(value).storage;
      if (storage == Storage::kConstant || storage == Storage::kArgument ||
          IsInvariantAt(value, ranges_.TimeOf(*step.instruction))) {
        out_.unchanging_.insert(step.instruction);
      }
    }
  }

  void Materialise() {
    FindUnchanging();
    for (ValueId value = 0; value < values_.count(); ++value) {
      out_.value_slices_.push_back(SliceOf(value));
      const Place& place = At(value);
      if (place.storage == Storage::kNone) continue;
      const bool is_permanent = place.storage != Storage::kTemp;
      const LiveRange range = is_permanent ? LiveRange{0, ranges_.end()} : ranges_.Of(value);
      const Instruction& def = *values_[value].def;
      std::string name(def.name());
      if (def.shape().IsTuple()) name += fmt::format("#{}", values_[value].leaf);
      out_.texts_.push_back({std::move(name), range.start, range.end, value});
    }
  }

  const Module& module_;
  const AssignmentHooks& hooks_;
  BufferAssignment& out_;
  const Values& values_;
  LiveRanges ranges_;
  Interference interference_;
  PlaceSets sets_;
  std::vector<Place> places_;     // by value
  std::vector<LiveRange> hulls_;  // by representative
  std::vector<const Instruction*> plain_;
  absl::flat_hash_map<ValueId, BufferSlice> slices_;                // by representative
  absl::flat_hash_map<ValueId, std::vector<LiveRange>> invariant_;  // value -> loops' times
};

absl::StatusOr<std::unique_ptr<BufferAssignment>> BufferAssignment::Make(
    const Module& module, const AssignmentHooks& hooks) {
  auto result = std::make_unique<BufferAssignment>();
  RETURN_IF_ERROR(BufferAssigner(module, hooks, *result).Run());
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
    if (a.donated) out += ", donated";
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
