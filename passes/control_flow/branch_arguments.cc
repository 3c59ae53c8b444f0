#include <optional>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/builder.h"
#include "lib/support/status.h"
#include "passes/control_flow/branch_motion.h"
#include "passes/util/caller_sharding.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

// The motion of one group that makes an argument. The argument is a tree of tuples that nobody else
// reads; an instruction that moves leaves the tuple it was an element of to its operands: the first
// takes its place, the others go to the end. (Places that are left over hold `()`, so that no other
// element moves.)
class ArgumentMotion {
 public:
  ArgumentMotion(Instruction* conditional, const BoundaryGroup& group)
      : conditional_(conditional), argument_(group.moved[0].first()) {
    if (argument_->opcode() != Opcode::kTuple) tuples_.emplace_back();
    for (const Boundary& boundary : group.moved) {
      if (boundary.first()->opcode() == Opcode::kTuple) AddTuple(boundary.first());
    }
    for (const Boundary& boundary : group.moved) {
      if (boundary.first()->opcode() != Opcode::kTuple) Take(boundary.first());
    }
  }

  bool IsPossible() const { return !moved_.empty(); }

  absl::Status Move() {
    RETURN_IF_ERROR(ChangeTuples());
    for (int i = 0; i < conditional_->call_count(); ++i) {
      if (conditional_->operand(i + 1) != argument_) continue;
      InBranch branch(*this, conditional_->call(i));
      branch.ChangeReads(conditional_->call(i)->parameter(0), 0);
      RETURN_IF_ERROR(branch.builder.status());
      DropShardingThatCallersContradict(*conditional_->call(i));
    }
    ReplaceArgument();
    for (Instruction* moved : moved_) {
      if (!moved->is_used() && !moved->has_control_edges()) moved->parent()->Remove(moved);
    }
    return absl::OkStatus();
  }

 private:
  // One tuple of the argument, from what it was to what it becomes. The first is the argument
  // itself, also when that was no tuple.
  struct Tuple {
    Instruction* instruction = nullptr;
    int outer = -1;
    std::vector<Instruction*> old_elements;
    std::vector<Instruction*> elements;  // null: ()
    absl::flat_hash_map<const Instruction*, absl::InlinedVector<int64_t, 1>> places;
    absl::flat_hash_map<const Instruction*, int64_t> place_of_operand;
    bool changes = false;
  };

  Tuple& TupleAt(int i) { return tuples_[static_cast<size_t>(i)]; }

  void AddTuple(Instruction* instruction) {
    Tuple tuple;
    tuple.instruction = instruction;
    tuple.old_elements = tuple.elements = instruction->operand_vector();
    for (size_t i = 0; i < tuple.elements.size(); ++i)
      tuple.places[tuple.elements[i]].push_back(static_cast<int64_t>(i));
    const auto outer = tuple_of_.find(instruction->uses()[0].user);
    if (outer != tuple_of_.end()) tuple.outer = outer->second;
    tuple_of_[instruction] = static_cast<int>(tuples_.size());
    tuples_.push_back(std::move(tuple));
  }

  // The tuple that `moved` is an element of once its users have moved.
  std::optional<int> HolderOf(const Instruction& moved) const {
    if (!moved.has_one_user()) {
      if (moved_.empty()) return std::nullopt;
      return holder_.at(moved_.back());
    }
    const Instruction* user = moved.uses()[0].user;
    if (user == conditional_) return 0;
    if (const auto tuple = tuple_of_.find(user); tuple != tuple_of_.end()) return tuple->second;
    if (const auto other = holder_.find(user); other != holder_.end()) return other->second;
    return std::nullopt;
  }

  // Puts the operands of `moved` in its place.
  void Take(Instruction* moved) {
    const std::optional<int> holder = HolderOf(*moved);
    if (!holder) return;
    Tuple& tuple = TupleAt(*holder);
    absl::InlinedVector<int64_t, 1> places;
    if (moved != argument_) {
      const auto found = tuple.places.find(moved);
      if (found == tuple.places.end()) return;
      places = std::move(found->second);
      tuple.places.erase(found);
    }
    std::vector<Instruction*> operands;
    for (Instruction* operand : moved->operands()) {
      if (!absl::c_linear_search(operands, operand)) operands.push_back(operand);
    }
    for (const int64_t place : places) tuple.elements[static_cast<size_t>(place)] = nullptr;
    for (size_t i = 0; i < operands.size(); ++i) Put(tuple, operands[i], i, places);
    holder_[moved] = *holder;
    moved_.push_back(moved);
    for (int t = *holder; t >= 0 && !TupleAt(t).changes; t = TupleAt(t).outer)
      TupleAt(t).changes = true;
  }

  static void Put(Tuple& tuple, Instruction* operand, size_t i,
                  absl::Span<const int64_t> free_places) {
    const auto there = tuple.places.find(operand);
    int64_t place;
    if (i < free_places.size()) {
      place = free_places[i];
      tuple.elements[static_cast<size_t>(place)] = operand;
    } else if (there != tuple.places.end()) {
      tuple.place_of_operand[operand] = *absl::c_min_element(there->second);
      return;
    } else {
      place = static_cast<int64_t>(tuple.elements.size());
      tuple.elements.push_back(operand);
    }
    tuple.places[operand].push_back(place);
    tuple.place_of_operand[operand] = place;
  }

  // Inner tuples stand after outer ones.
  absl::Status ChangeTuples() {
    Builder builder(conditional_->parent(), argument_);
    for (size_t t = tuples_.size(); t-- > 0;) {
      Tuple& tuple = tuples_[t];
      if (!tuple.changes) continue;
      for (Instruction*& element : tuple.elements) {
        if (element == nullptr) element = builder.Tuple({});
      }
      if (tuple.instruction == nullptr) {
        tuple.instruction = builder.Tuple(tuple.elements);
      } else {
        for (size_t i = 0; i < tuple.elements.size(); ++i) {
          if (i >= tuple.old_elements.size()) {
            tuple.instruction->AppendOperand(tuple.elements[i]);
          } else if (tuple.elements[i] != tuple.old_elements[i]) {
            tuple.instruction->ReplaceOperand(static_cast<int>(i), tuple.elements[i]);
          }
        }
        tuple.instruction->set_shape(Shape::Tuple(tuple.instruction->operand_shapes()));
      }
      SetOriginOfOperands(tuple.instruction);
    }
    return builder.status();
  }

  void ReplaceArgument() {
    Instruction* tuple = tuples_[0].instruction;
    if (tuple == argument_) return;
    for (int i = 1; i < conditional_->operand_count(); ++i) {
      if (conditional_->operand(i) == argument_) conditional_->ReplaceOperand(i, tuple);
    }
  }

  // The changes of one branch.
  struct InBranch {
    InBranch(ArgumentMotion& of, Computation* in) : motion(of), branch(in), builder(in) {
      builder.set_origin(in->parameter(0));
    }

    // `value` was tuple `t` of the argument (or all of it) and becomes what that has become.
    void ChangeReads(Instruction* value, int t) {
      const Tuple& tuple = motion.TupleAt(t);
      const std::vector<Instruction*> users = value->users();
      const bool is_root = value->is_root();
      value->set_shape(tuple.instruction->shape());
      SetOrigin(value, OriginOf(*tuple.instruction));
      values.try_emplace(t, value);
      const bool is_whole = tuple.instruction != motion.argument_ && t == 0;
      std::vector<Use> others;  // that read the value as a whole
      for (const Use& use : value->uses()) {
        if (is_whole || use.user->opcode() != Opcode::kGetTupleElement) others.push_back(use);
      }
      if (is_root || !others.empty()) {
        Instruction* old = is_whole ? Copy(motion.argument_) : OldTuple(value, t);
        for (const Use& use : others) use.user->ReplaceOperand(use.operand_index, old);
        if (is_root) branch->set_root(old);
      }
      if (is_whole) return;
      for (Instruction* user : users) {
        if (user->opcode() == Opcode::kGetTupleElement) ChangeRead(user, t);
      }
    }

    void ChangeRead(Instruction* read, int t) {
      const auto i = static_cast<size_t>(read->tuple_index());
      Instruction* element = motion.TupleAt(t).old_elements[i];
      if (motion.Moves(element, t)) {
        branch->Replace(read, Copy(element));
      } else if (const std::optional<int> inner = motion.ChangingTuple(element)) {
        ChangeReads(read, *inner);
      }
    }

    // What tuple `t` was, made of what it is.
    Instruction* OldTuple(Instruction* value, int t) {
      values.try_emplace(t, value);
      std::vector<Instruction*> elements;
      for (size_t i = 0; i < motion.TupleAt(t).old_elements.size(); ++i) {
        Instruction* element = motion.TupleAt(t).old_elements[i];
        if (motion.Moves(element, t)) {
          elements.push_back(Copy(element));
          continue;
        }
        Instruction* read = builder.GetTupleElement(value, static_cast<int64_t>(i));
        const std::optional<int> inner = motion.ChangingTuple(element);
        elements.push_back(inner ? OldTuple(read, *inner) : read);
      }
      return builder.Tuple(elements);
    }

    // `moved` in this branch, made once, after its operands.
    Instruction* Copy(Instruction* moved) {
      std::vector<Instruction*> stack = {moved};
      while (!stack.empty()) {
        Instruction* next = stack.back();
        if (copies.contains(next)) {
          stack.pop_back();
          continue;
        }
        const size_t size = stack.size();
        for (Instruction* operand : next->operands()) {
          if (motion.Moves(operand, motion.holder_[next]) && !copies.contains(operand))
            stack.push_back(operand);
        }
        if (stack.size() > size) continue;
        stack.pop_back();
        copies[next] = MakeCopy(*next);
      }
      return copies[moved];
    }

    Instruction* MakeCopy(const Instruction& moved) {
      const int t = motion.holder_[&moved];
      const Tuple& tuple = motion.TupleAt(t);
      std::vector<Instruction*> operands;
      for (int i = 0; i < moved.operand_count(); ++i) {
        Instruction* operand = moved.operand(i);
        int first = 0;
        while (moved.operand(first) != operand) ++first;
        if (first < i) {
          operands.push_back(operands[static_cast<size_t>(first)]);
        } else if (motion.Moves(operand, t)) {
          operands.push_back(copies[operand]);
        } else {
          operands.push_back(
              builder.GetTupleElement(values[t], tuple.place_of_operand.at(operand)));
        }
      }
      return branch->AddClone(moved, moved.shape(), operands);
    }

    ArgumentMotion& motion;
    Computation* branch;
    Builder builder;
    absl::flat_hash_map<int, Instruction*> values;  // a read of each tuple
    absl::flat_hash_map<const Instruction*, Instruction*> copies;
  };

  // Whether `element` leaves tuple `t`.
  bool Moves(const Instruction* element, int t) const {
    const auto holder = holder_.find(element);
    return holder != holder_.end() && holder->second == t;
  }

  std::optional<int> ChangingTuple(const Instruction* element) {
    const auto tuple = tuple_of_.find(element);
    if (tuple == tuple_of_.end() || !TupleAt(tuple->second).changes) return std::nullopt;
    return tuple->second;
  }

  Instruction* conditional_;
  Instruction* argument_;
  std::vector<Tuple> tuples_;
  absl::flat_hash_map<const Instruction*, int> tuple_of_;
  absl::flat_hash_map<const Instruction*, int> holder_;  // the tuple that it leaves
  std::vector<Instruction*> moved_;                      // users first
};

}  // namespace

absl::StatusOr<bool> MoveArgumentsIntoBranches(Instruction* conditional,
                                               const BoundaryGroup& group) {
  ArgumentMotion motion(conditional, group);
  if (!motion.IsPossible()) return false;
  RETURN_IF_ERROR(motion.Move());
  return true;
}

}  // namespace hlo
