#include "backends/common/buffer_assignment.h"

#include <algorithm>
#include <map>
#include <set>

#include "backends/common/stored_array.h"
#include "lib/support/byte_count.h"
#include "lib/support/status.h"
#include "lib/types/memory_order.h"
#include "lib/types/shape_util.h"

namespace hlo {

bool IsAliasOp(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kReshape:
      // With dynamic dimensions it makes other sizes.
      return !HasDynamicLeaf(instruction.shape()) &&
             !HasDynamicLeaf(instruction.operand(0)->shape());
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kCopy:
    case Opcode::kOptimizationBarrier:
    case Opcode::kDomain:
    case Opcode::kAddDependency:
    case Opcode::kCopyStart:
    case Opcode::kCopyDone:
    case Opcode::kCall: return true;
    case Opcode::kBitcast:
      return !HasDynamicLeaf(instruction.shape()) &&
             KeepsRowMajorOrder(instruction.operand(0)->shape(), instruction.shape());
    default: return false;
  }
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
      : module_(module), hooks_(hooks), out_(result) {}

  absl::Status Run() {
    const Computation& entry = *module_.entry();
    NumberArguments(entry);
    RETURN_IF_ERROR(Walk(entry));
    FinishEntry(entry);
    for (const LoopStart& start : loops_) LinkInitialValues(start);
    ShareDyingOperands();
    AssignResults(entry);
    PlaceTemporaries();
    Materialise();
    return absl::OkStatus();
  }

 private:
  enum class Storage { kTemp, kArgument, kConstant, kNone };
  struct Value {
    int64_t bytes = 0;
    Storage storage = Storage::kTemp;
    int start = 0;
    int end = 0;
    const Instruction* def = nullptr;
    int leaf = 0;  // of def
    int allocation = -1;
    int group = -1;  // union-find parent
  };
  // Values that share one slice, seen from the group's representative.
  struct Group {
    int start, end;
    int allocation = -1;  // a result allocation, or -1: temporary
    BufferSlice slice;
  };
  struct PendingCopy {
    CopyList* list;
    int source, destination, staging;
  };

  // ---- values and time ----

  int NewValue(Shape leaf, const Instruction* def, int leaf_number) {
    Value value;
    value.bytes = StoredBytes(leaf);
    value.storage = value.bytes == 0 ? Storage::kNone : Storage::kTemp;
    value.start = value.end = time_;
    value.def = def;
    value.leaf = leaf_number;
    value.group = static_cast<int>(values_.size());
    values_.push_back(value);
    return value.group;
  }

  std::vector<int>& leaves(const Instruction* instruction) {
    return out_.leaf_values_[instruction];
  }

  void Touch(int value) { Extend(value, time_); }
  // The value is needed until `time`.
  void Extend(int value, int time) {
    At(value).end = std::max(At(value).end, time);
    if (const auto it = group_.find(Find(value)); it != group_.end())
      it->second.second = std::max(it->second.second, time);
  }
  void TouchAll(const Instruction* instruction) {
    for (const int value : leaves(instruction)) Touch(value);
  }

  void DefineNew(const Instruction* instruction) {
    std::vector<int> mine;
    int number = 0;
    for (const Shape leaf : Leaves(instruction->shape()))
      mine.push_back(NewValue(leaf, instruction, number++));
    leaves(instruction) = std::move(mine);
  }

  // Arguments are read-only, but for those the module's alias table gives away: their memory is a
  // result's to overwrite.
  void NumberArguments(const Computation& entry) {
    int leaf = 0;
    for (const Instruction* parameter : entry.parameters()) {
      DefineNew(parameter);
      const std::vector<Shape> shapes = Leaves(parameter->shape());
      const int first = leaf;
      for (const int value : leaves(parameter)) {
        Value& v = values_[static_cast<size_t>(value)];
        v.allocation = static_cast<int>(out_.allocations_.size());
        out_.allocations_.push_back({.kind = Allocation::Kind::kArgument,
                                     .size = v.bytes,
                                     .leaf = leaf++,
                                     .shape = shapes[static_cast<size_t>(v.leaf)]});
        if (v.storage == Storage::kTemp) v.storage = Storage::kArgument;
      }
      for (const InputOutputAlias& alias : module_.config().aliases) {
        if (alias.parameter != parameter->parameter_number()) continue;
        const int number = LeafNumber(parameter->shape(), alias.parameter_index);
        if (number < 0) continue;
        const int value = leaves(parameter)[static_cast<size_t>(number)];
        if (At(value).storage != Storage::kArgument) continue;
        At(value).storage = Storage::kTemp;
        group_allocation_[value] = At(value).allocation;
        out_.allocations_[static_cast<size_t>(At(value).allocation)].donated = true;
        donated_to_[first + number] = LeafNumber(entry.root()->shape(), alias.output);
      }
    }
  }

  // Number of the array leaf at `index`, depth first; -1 when there is none.
  static int LeafNumber(Shape shape, const ShapeIndex& index) {
    int number = 0;
    int found = -1;
    ForEachLeaf(shape, [&](Shape, const ShapeIndex& at) {
      if (at == index) found = number;
      ++number;
    });
    return found;
  }

  absl::Status Walk(const Computation& computation) {
    if (!walked_.insert(&computation).second) {
      return Internal("computation `{}` has more than one call site", computation.name());
    }
    for (const Instruction* instruction : computation.SequenceOrPostOrder()) {
      ++time_;
      times_[instruction] = time_;
      RETURN_IF_ERROR(Visit(instruction));
    }
    ++time_;
    return absl::OkStatus();
  }

  absl::Status Visit(const Instruction* instruction) {
    switch (instruction->opcode()) {
      case Opcode::kParameter:
        RET_CHECK(out_.leaf_values_.contains(instruction), "parameter `{}` has no value",
                  instruction->name());
        return absl::OkStatus();
      case Opcode::kConstant: return VisitConstant(instruction);
      case Opcode::kTuple: return VisitTuple(instruction);
      case Opcode::kGetTupleElement: return VisitGetTupleElement(instruction);
      case Opcode::kWhile: return VisitWhile(instruction);
      case Opcode::kConditional: return VisitConditional(instruction);
      case Opcode::kCall: return VisitCall(instruction);
      case Opcode::kCopyStart: {
        // (destination, source, context): both names of the operand's value.
        const int value = leaves(instruction->operand(0)).at(0);
        DefineNew(instruction);
        leaves(instruction)[0] = leaves(instruction)[1] = value;
        return absl::OkStatus();
      }
      case Opcode::kCopyDone:
        leaves(instruction) = {leaves(instruction->operand(0)).at(0)};
        return absl::OkStatus();
      default: break;
    }
    if (IsAliasOp(*instruction)) {
      const std::vector<int> same = leaves(instruction->operand(0));
      leaves(instruction) = same;
      return absl::OkStatus();
    }
    DefineNew(instruction);
    for (const Instruction* operand : instruction->operands()) TouchAll(operand);
    plain_.push_back(instruction);
    return absl::OkStatus();
  }

  absl::Status VisitConstant(const Instruction* instruction) {
    DefineNew(instruction);
    const Literal& literal = instruction->literal();
    std::vector<const Literal*> arrays;
    if (!literal.is_elided()) AppendArrays(literal, arrays);
    for (const int value : leaves(instruction)) {
      Value& v = values_[static_cast<size_t>(value)];
      if (v.storage != Storage::kTemp) continue;
      v.storage = Storage::kConstant;
      v.allocation = static_cast<int>(out_.allocations_.size());
      out_.allocations_.push_back(
          {.kind = Allocation::Kind::kConstant,
           .size = v.bytes,
           .constant = instruction,
           .value = literal.is_elided() ? &literal : arrays.at(static_cast<size_t>(v.leaf))});
    }
    return absl::OkStatus();
  }

  absl::Status VisitTuple(const Instruction* instruction) {
    std::vector<int> all;
    for (const Instruction* operand : instruction->operands()) {
      const std::vector<int>& part = leaves(operand);
      all.insert(all.end(), part.begin(), part.end());
    }
    leaves(instruction) = std::move(all);
    return absl::OkStatus();
  }

  absl::Status VisitGetTupleElement(const Instruction* instruction) {
    const Shape tuple = instruction->operand(0)->shape();
    int64_t first = 0;
    for (int64_t i = 0; i < instruction->tuple_index(); ++i)
      first += LeafCount(tuple.element(static_cast<int>(i)));
    const int64_t count = LeafCount(instruction->shape());
    const std::vector<int> all = leaves(instruction->operand(0));
    leaves(instruction) = std::vector<int>(all.begin() + first, all.begin() + first + count);
    return absl::OkStatus();
  }

  absl::Status VisitCall(const Instruction* instruction) {
    const Computation& callee = *instruction->to_apply();
    for (int i = 0; i < callee.parameter_count(); ++i) {
      RETURN_IF_ERROR(CheckStoredAlike(instruction->operand(i)->shape(),
                                       callee.parameter(i)->shape(), instruction->loc()));
      const std::vector<int> same = leaves(instruction->operand(i));
      leaves(callee.parameter(i)) = same;
    }
    RETURN_IF_ERROR(Walk(callee));
    const std::vector<int> same = leaves(callee.root());
    leaves(instruction) = same;
    return absl::OkStatus();
  }

  // ---- sharing ----

  int Find(int value) {
    while (values_[static_cast<size_t>(value)].group != value) {
      value = values_[static_cast<size_t>(value)].group =
          values_[static_cast<size_t>(values_[static_cast<size_t>(value)].group)].group;
    }
    return value;
  }
  Value& At(int value) { return values_[static_cast<size_t>(value)]; }
  bool IsTemp(int value) { return At(value).storage == Storage::kTemp; }
  // The group's interval is kept at its representative.
  void Merge(int a, int b) {
    a = Find(a);
    b = Find(b);
    if (a == b) return;
    group_[a] = Interval(a, b);
    At(b).group = a;
    if (const auto it = group_allocation_.find(b); it != group_allocation_.end()) {
      const int allocation = it->second;
      group_allocation_[a] = allocation;
    }
  }
  std::pair<int, int> IntervalOf(int value) {
    const int root = Find(value);
    const auto it = group_.find(root);
    return it != group_.end() ? it->second : std::pair(At(root).start, At(root).end);
  }
  std::pair<int, int> Interval(int a, int b) {
    const auto of = [this](int v) {
      const auto it = group_.find(v);
      return it != group_.end() ? it->second : std::pair(At(v).start, At(v).end);
    };
    const auto x = of(a);
    const auto y = of(b);
    return {std::min(x.first, y.first), std::max(x.second, y.second)};
  }

  // Two values with memory of their own cannot become one.
  bool BothPlaced(int a, int b) {
    return group_allocation_.contains(Find(a)) && group_allocation_.contains(Find(b));
  }

  bool CanShareAt(const Instruction* instruction, int operand_value, int leaf) {
    if (hooks_.can_share == nullptr) return false;
    bool found = false;
    for (int i = 0; i < instruction->operand_count(); ++i) {
      const std::vector<int>& of = leaves(instruction->operand(i));
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

  absl::Status VisitWhile(const Instruction* loop) {
    const std::vector<int> initial = leaves(loop->operand(0));
    for (const int value : initial) Touch(value);
    ++time_;
    DefineNew(loop);
    const Computation& condition = *loop->while_condition();
    const Computation& body = *loop->while_body();
    for (const Shape other : {loop->operand(0)->shape(), body.root()->shape(),
                              body.parameter(0)->shape(), condition.parameter(0)->shape()})
      RETURN_IF_ERROR(CheckStoredAlike(other, loop->shape(), loop->loc()));
    ShareInvariants(body, initial, leaves(loop));
    const std::vector<int> state = leaves(loop);
    leaves(condition.parameter(0)) = state;
    leaves(body.parameter(0)) = state;
    const int init_time = times_[loop];
    RETURN_IF_ERROR(Walk(condition));
    TouchAll(condition.root());
    ++time_;
    RETURN_IF_ERROR(Walk(body));
    const int body_end = time_;
    const std::vector<int> result = leaves(body.root());
    // A state value that the body returns under another leaf is read at the end of the body.
    for (size_t i = 0; i < state.size(); ++i) {
      if (result[i] != state[i]) Touch(result[i]);
    }
    LinkBodyResults(loop, state, result, body_end);
    ++time_;
    for (const int value : state) Touch(value);
    loops_.push_back({loop, initial, state, init_time});
    return absl::OkStatus();
  }

  // What the body hands on as it is is the initial value itself, wherever that lies.
  static void ShareInvariants(const Computation& body, const std::vector<int>& initial,
                              std::vector<int>& state) {
    const Instruction& root = *body.root();
    const Instruction* const parameter = body.parameter(0);
    if (root.opcode() != Opcode::kTuple) return;
    size_t leaf = 0;
    for (int i = 0; i < root.operand_count(); ++i) {
      const Instruction& element = *root.operand(i);
      const auto end = leaf + static_cast<size_t>(LeafCount(element.shape()));
      const bool same = element.opcode() == Opcode::kGetTupleElement &&
                        element.operand(0) == parameter && element.tuple_index() == i;
      for (; leaf < end; ++leaf) {
        if (same) state[leaf] = initial[leaf];
      }
    }
  }

  // Lets the body compute its results in the state's slices where no one reads the old value any
  // more.
  void LinkBodyResults(const Instruction* loop, const std::vector<int>& state,
                       const std::vector<int>& result, int body_end) {
    CopyList& copies = out_.end_copies_[loop];
    const std::set<int> state_set(state.begin(), state.end());
    std::set<int> taken;
    std::vector<std::pair<int, int>> needed;
    for (size_t i = 0; i < state.size(); ++i) {
      if (result[i] == state[i]) invariant_[state[i]].push_back({times_[loop], body_end});
      if (result[i] == state[i] || At(state[i]).bytes == 0) continue;
      const int r = result[i];
      const bool mergeable = IsTemp(r) && !state_set.contains(r) && !taken.contains(Find(r)) &&
                             At(r).def != nullptr && IntervalOf(r).second <= body_end &&
                             Find(r) == r && !IsLoopState(r);
      if (mergeable) {
        const int last_read = At(state[i]).end;
        const int defined = IntervalOf(r).first;
        const bool after = !BothPlaced(state[i], r) && defined > last_read;
        const bool over = !BothPlaced(state[i], r) && defined == last_read &&
                          CanShareAt(At(r).def, state[i], At(r).leaf);
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
        staging = NewValue(Shape::Array(ElementType::kU8, {At(source).bytes}), nullptr, 0);
        At(staging).start = At(staging).end = body_end;
      }
      pending_.push_back({&copies, source, destination, staging});
    }
  }

  bool IsLoopState(int value) {
    return At(value).def != nullptr && At(value).def->opcode() == Opcode::kWhile;
  }

  struct LoopStart {
    const Instruction* loop;
    std::vector<int> initial, state;
    int time;
  };

  // Lets the initial value be computed in the state's slice when the loop is its last reader.
  // Called when all uses are known.
  void LinkInitialValues(const LoopStart& start) {
    const auto& [loop, initial, state, init_time] = start;
    CopyList& copies = out_.init_copies_[loop];
    std::set<int> taken;
    for (size_t i = 0; i < state.size(); ++i) {
      const int x = initial[i];
      if (At(state[i]).bytes == 0 || x == state[i]) continue;
      if (IsTemp(x) && !BothPlaced(state[i], x) && IntervalOf(x).second <= init_time &&
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
    return At(value).def != nullptr && At(value).def->parent() == loop->parent();
  }

  // ---- branches ----

  absl::Status VisitConditional(const Instruction* conditional) {
    TouchAll(conditional->operand(0));
    const int start = time_;
    for (int i = 0; i < conditional->call_count(); ++i) {
      const Computation& branch = *conditional->call(i);
      RETURN_IF_ERROR(CheckStoredAlike(conditional->operand(i + 1)->shape(),
                                       branch.parameter(0)->shape(), conditional->loc()));
      RETURN_IF_ERROR(
          CheckStoredAlike(branch.root()->shape(), conditional->shape(), conditional->loc()));
      const std::vector<int> same = leaves(conditional->operand(i + 1));
      leaves(branch.parameter(0)) = same;
      RETURN_IF_ERROR(Walk(branch));
      TouchAll(branch.root());
      ++time_;
    }
    const int end = time_;
    DefineNew(conditional);
    const std::vector<int> mine = leaves(conditional);
    for (const int value : mine) At(value).start = start;
    for (int i = 0; i < conditional->call_count(); ++i) LinkBranch(*conditional, i, mine);
    // Operands are read by whichever branch runs; they live until the end so that no branch's
    // temporaries overwrite them.
    for (const Instruction* operand : conditional->operands()) {
      for (const int value : leaves(operand)) Extend(value, end);
    }
    return absl::OkStatus();
  }

  void LinkBranch(const Instruction& conditional, int branch_number, const std::vector<int>& mine) {
    const Computation& branch = *conditional.call(branch_number);
    CopyList& copies = out_.branch_copies_[&branch];
    const std::vector<int> result = leaves(branch.root());
    for (size_t i = 0; i < mine.size(); ++i) {
      if (At(mine[i]).bytes != 0) pending_.push_back({&copies, result[i], mine[i], -1});
    }
  }

  // ---- entry ----

  void FinishEntry(const Computation& entry) {
    ++time_;
    TouchAll(entry.root());
    // Constants and arguments are there all the time.
    for (Value& value : values_) {
      if (value.storage == Storage::kArgument || value.storage == Storage::kConstant) {
        value.start = 0;
        value.end = time_;
      }
    }
  }

  // Whether one of the results of an instruction is already in the place of `value`: a result that
  // nobody reads ends where it begins, too.
  bool HoldsOne(int value, const std::vector<int>& results) {
    return std::any_of(results.begin(), results.end(),
                       [&](int result) { return IsTemp(result) && Find(result) == Find(value); });
  }

  void ShareDyingOperands() {
    for (const Instruction* instruction : plain_) {
      const int now = times_[instruction];
      const std::vector<int> mine = leaves(instruction);
      for (size_t leaf = 0; leaf < mine.size(); ++leaf) {
        if (!IsTemp(mine[leaf]) || IntervalOf(mine[leaf]).first != now) continue;
        for (const Instruction* operand : instruction->operands()) {
          const std::vector<int>& of = leaves(operand);
          if (of.size() != 1) continue;
          const int p = of[0];
          if (!IsTemp(p) || At(p).bytes != At(mine[leaf]).bytes || Find(p) == Find(mine[leaf]))
            continue;
          if (BothPlaced(p, mine[leaf]) || IntervalOf(p).second != now || HoldsOne(p, mine) ||
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
    for (size_t v = 0; v < values_.size(); ++v) {
      const int value = static_cast<int>(v);
      if (values_[v].storage == Storage::kTemp && Find(value) == value &&
          !group_allocation_.contains(value))
        roots.push_back(value);
    }
    std::stable_sort(roots.begin(), roots.end(),
                     [this](int a, int b) { return IntervalOf(a).first < IntervalOf(b).first; });
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
      const auto [start, end] = IntervalOf(root);
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
    const Value& v = At(value);
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
    for (const auto& [instruction, values] : out_.leaf_values_) {
      if (values.size() != 1) continue;
      const Value& value = At(values[0]);
      if (value.storage == Storage::kConstant || value.storage == Storage::kArgument ||
          IsInvariantAt(values[0], times_[instruction])) {
        out_.unchanging_.insert(instruction);
      }
    }
  }

  void Materialise() {
    FindUnchanging();
    for (size_t v = 0; v < values_.size(); ++v)
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
    for (size_t v = 0; v < values_.size(); ++v) {
      const Value& value = values_[v];
      if (value.storage == Storage::kNone) continue;
      std::string name = value.def == nullptr ? "staging" : std::string(value.def->name());
      if (value.def != nullptr && value.def->shape().IsTuple())
        name += fmt::format("#{}", value.leaf);
      out_.texts_.push_back({std::move(name), value.start, value.end, static_cast<int>(v)});
    }
  }

  const Module& module_;
  const AssignmentHooks& hooks_;
  BufferAssignment& out_;
  int time_ = 0;
  std::vector<Value> values_;
  std::set<const Computation*> walked_;  // membership only; never iterated
  absl::flat_hash_map<const Instruction*, int> times_;
  std::vector<const Instruction*> plain_;
  std::vector<LoopStart> loops_;
  absl::flat_hash_map<int, std::pair<int, int>> group_;
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
  const auto it = leaf_values_.find(&instruction);
  if (it == leaf_values_.end()) return result;
  for (const int value : it->second) result.push_back(value_slices_[static_cast<size_t>(value)]);
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
