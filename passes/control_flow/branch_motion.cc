#include "passes/control_flow/branch_motion.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/ir/builder.h"
#include "lib/support/status.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

// A read of the result, whose shape need not be that of the element yet.
Instruction* AddResultRead(Instruction* conditional, int64_t index, Shape shape) {
  Instruction* read = conditional->parent()->Add(Opcode::kGetTupleElement, shape, {conditional},
                                                 AttrsPtr::Make(GetTupleElementAttrs{index}));
  read->set_loc(conditional->loc());
  return read;
}

void RemoveMoved(Instruction* instruction) {
  if (!instruction->is_dead() && !instruction->is_used() && !instruction->has_control_edges())
    instruction->parent()->Remove(instruction);
}

// A new root of `branch` that holds `elements`.
absl::Status ReturnTuple(Computation* branch, const std::vector<Instruction*>& elements) {
  Builder builder(branch);
  builder.set_origin(branch->root());
  Instruction* tuple = builder.Tuple(elements);
  SetOriginOfOperands(tuple);
  branch->set_root(tuple);
  return builder.status();
}

// Gives the result the shape that branches return now, after they have changed.
void TakeShapeOfBranches(Instruction* conditional) {
  conditional->set_shape(conditional->call(0)->root()->shape());
  if (conditional->extras() == nullptr) return;
  conditional->mutable_extras().sharding.reset();
  conditional->mutable_extras().origin.reset();
}

// What was said of a value that `replacement` takes the place of.
void TakeOver(Instruction* replacement, const Instruction& value) {
  if (const OriginalValue::Node* origin = OriginOf(value)) SetOrigin(replacement, origin);
  if (value.sharding() != nullptr && replacement->sharding() == nullptr)
    replacement->mutable_extras().sharding = *value.sharding();
}

}  // namespace

absl::Status MoveOutOfBranches(Instruction* conditional, const BoundaryGroup& group) {
  Computation& parent = *conditional->parent();
  const std::vector<Instruction*> reads = conditional->users();
  absl::flat_hash_map<Boundary, Instruction*> outside;
  for (size_t i = 0; i < group.border.size(); ++i) {
    outside[group.border[i]] =
        AddResultRead(conditional, static_cast<int64_t>(i), group.border[i].first()->shape());
  }
  // The roots, which stand first, are taken apart instead of moved.
  for (size_t k = group.moved.size(); k-- > 1;) {
    const Instruction& moved = *group.moved[k].first();
    std::vector<Instruction*> operands;
    for (int i = 0; i < moved.operand_count(); ++i) {
      const auto operand = outside.find(group.moved[k].Operands(i));
      RET_CHECK(operand != outside.end(), "`{}` moves without its operand {}", moved.name(), i);
      operands.push_back(operand->second);
    }
    Instruction* copy = parent.AddClone(moved, moved.shape(), operands);
    SetOrigin(copy, nullptr);  // it is a value of whichever branch was taken
    outside[group.moved[k]] = copy;
  }
  for (Instruction* read : reads) {
    const Boundary element = group.moved[0].Operands(static_cast<int>(read->tuple_index()));
    const auto value = outside.find(element);
    RET_CHECK(value != outside.end(), "`{}` has lost its value", read->name());
    TakeOver(value->second, *read);
    parent.Replace(read, value->second);
  }
  for (int i = 0; i < conditional->call_count(); ++i) {
    const auto branch = static_cast<size_t>(i);
    std::vector<Instruction*> elements;
    for (const Boundary& boundary : group.border) elements.push_back(boundary.at[branch]);
    RETURN_IF_ERROR(ReturnTuple(conditional->call(i), elements));
    for (const Boundary& boundary : group.moved) RemoveMoved(boundary.at[branch]);
  }
  TakeShapeOfBranches(conditional);
  return absl::OkStatus();
}

namespace {

// The motion of one group of readers.
class ReadersMotion {
 public:
  ReadersMotion(Instruction* conditional, const BoundaryGroup& group)
      : conditional_(conditional), group_(group) {
    Instruction* first = group.moved[0].first();
    if (first->opcode() == Opcode::kGetTupleElement && first->operand(0) == conditional)
      read_ = first;
    if (read_ != nullptr && IsOnlyReadFor(*read_)) dropped_ = read_->tuple_index();
  }

  // Every operand is the result, a constant, or moves, too.
  bool IsPossible() const {
    absl::flat_hash_set<const Instruction*> known = {conditional_};
    for (const Boundary& boundary : group_.moved) {
      const Instruction* reader = boundary.first();
      for (const Instruction* operand : reader->operands()) {
        if (!known.contains(operand) && !operand->IsConstant() && !IsElement(*operand))
          return false;
      }
      known.insert(reader);
    }
    return true;
  }

  absl::Status Move() {
    const OriginalValue::Node* origin = OriginOf(*conditional_);
    const Shape old_shape = conditional_->shape();
    for (int i = 0; i < conditional_->call_count(); ++i)
      RETURN_IF_ERROR(TakeApart(conditional_->call(i)));
    OriginalValue::Node new_origin = OriginOfKept(origin, old_shape);
    RenumberReads();
    for (size_t k = read_ != nullptr ? 1 : 0; k < group_.moved.size(); ++k) {
      Instruction* reader = group_.moved[k].first();
      CopyIntoBranches(*reader);
      if (k + 1 < group_.moved.size() && IsOnlyFor(*reader, group_.moved[k + 1].first())) continue;
      Return(reader, new_origin);
    }
    for (size_t i = 0; i < elements_.size(); ++i)
      RETURN_IF_ERROR(ReturnTuple(conditional_->call(static_cast<int>(i)), elements_[i]));
    TakeShapeOfBranches(conditional_);
    if (has_origin_) SetOrigin(conditional_, &new_origin);
    for (auto moved = group_.moved.rbegin(); moved != group_.moved.rend(); ++moved)
      RemoveMoved(moved->first());
    return absl::OkStatus();
  }

 private:
  bool IsElement(const Instruction& value) const {
    return value.opcode() == Opcode::kGetTupleElement && value.operand(0) == conditional_;
  }

  // No other reader needs the element that `read` reads.
  bool IsOnlyReadFor(const Instruction& read) const {
    return read.has_one_user() && !read.is_root() &&
           std::none_of(conditional_->uses().begin(), conditional_->uses().end(),
                        [&](const Use& use) {
                          return use.user != &read && use.user->tuple_index() == read.tuple_index();
                        });
  }

  static bool IsOnlyFor(const Instruction& value, const Instruction* user) {
    return value.has_one_user() && !value.is_root() && value.uses()[0].user == user;
  }

  // What the branch returns, element by element, but for the one that is no longer needed.
  absl::Status TakeApart(Computation* branch) {
    Instruction* root = branch->root();
    Builder builder(branch);
    builder.set_origin(root);
    std::vector<Instruction*> elements;
    if (root->opcode() == Opcode::kTuple) {
      elements = root->operand_vector();
    } else if (root->shape().IsTuple()) {
      for (int i = 0; i < root->shape().element_count_of_tuple(); ++i)
        elements.push_back(builder.GetTupleElement(root, i));
    }
    inside_[conditional_].push_back(root);
    if (dropped_ >= 0) {
      inside_[read_].push_back(elements[static_cast<size_t>(dropped_)]);
      elements.erase(elements.begin() + dropped_);
    }
    elements_.push_back(std::move(elements));
    return builder.status();
  }

  OriginalValue::Node OriginOfKept(const OriginalValue::Node* origin, Shape old_shape) {
    OriginalValue::Node kept;
    kept.is_tuple = true;
    if (!old_shape.IsTuple()) return kept;
    has_origin_ = origin != nullptr;
    kept.children = has_origin_ ? origin->children : UnknownOrigin(old_shape).children;
    if (dropped_ >= 0) kept.children.erase(kept.children.begin() + dropped_);
    return kept;
  }

  void RenumberReads() {
    if (dropped_ < 0) return;
    for (Instruction* read : conditional_->users()) {
      if (read->tuple_index() > dropped_)
        read->SetAttrs(GetTupleElementAttrs{read->tuple_index() - 1});
    }
  }

  Instruction* InBranch(const Instruction& value, size_t branch) {
    if (const auto known = inside_.find(&value); known != inside_.end())
      return known->second[branch];
    if (value.IsConstant()) {
      return conditional_->call(static_cast<int>(branch))->AddClone(value, value.shape(), {});
    }
    return elements_[branch][static_cast<size_t>(value.tuple_index())];
  }

  void CopyIntoBranches(const Instruction& reader) {
    std::vector<Instruction*> copies;
    for (size_t branch = 0; branch < elements_.size(); ++branch) {
      std::vector<Instruction*> operands;
      for (const Instruction* operand : reader.operands())
        operands.push_back(InBranch(*operand, branch));
      copies.push_back(
          conditional_->call(static_cast<int>(branch))->AddClone(reader, reader.shape(), operands));
    }
    inside_[&reader] = std::move(copies);
  }

  // Appends `reader` to the result and lets its users read it there.
  void Return(Instruction* reader, OriginalValue::Node& origin) {
    const auto index = static_cast<int64_t>(elements_[0].size());
    const std::vector<Instruction*>& copies = inside_[reader];
    for (size_t branch = 0; branch < elements_.size(); ++branch)
      elements_[branch].push_back(copies[branch]);
    Instruction* read = AddResultRead(conditional_, index, reader->shape());
    TakeOver(read, *reader);
    const OriginalValue::Node* own = OriginOf(*reader);
    has_origin_ = has_origin_ || own != nullptr;
    origin.children.push_back(own != nullptr ? *own : UnknownOrigin(reader->shape()));
    if (reader->is_root()) reader->parent()->set_root(read);
    reader->ReplaceAllUsesWith(read);
  }

  Instruction* conditional_;
  const BoundaryGroup& group_;
  Instruction* read_ = nullptr;  // of the element that the group reads; null: of an array
  int64_t dropped_ = -1;         // the element that nobody else needs
  std::vector<std::vector<Instruction*>> elements_;  // that each branch returns
  absl::flat_hash_map<const Instruction*, std::vector<Instruction*>> inside_;
  bool has_origin_ = false;
};

}  // namespace

absl::StatusOr<bool> MoveReadersIntoBranches(Instruction* conditional, const BoundaryGroup& group) {
  ReadersMotion motion(conditional, group);
  if (!motion.IsPossible()) return false;
  RETURN_IF_ERROR(motion.Move());
  return true;
}

// ---- conversions ----

namespace {

// One of a chain of conversions: which of them should move is not clear.
bool IsChainedConvert(const Instruction& convert) {
  return convert.operand(0)->opcode() == Opcode::kConvert ||
         std::any_of(convert.uses().begin(), convert.uses().end(),
                     [](const Use& use) { return use.user->opcode() == Opcode::kConvert; });
}

bool IsMovableConvert(const Instruction& convert) {
  return convert.opcode() == Opcode::kConvert && !convert.has_control_edges() &&
         !IsChainedConvert(convert);
}

bool IsRepeated(const Instruction& element, const Instruction& root) {
  return std::count_if(element.uses().begin(), element.uses().end(),
                       [&](const Use& use) { return use.user == &root; }) > 1;
}

}  // namespace

std::vector<int64_t> ConvertedElements(const Instruction& conditional, bool layout_sensitive) {
  const auto same = [&](Shape a, Shape b) { return layout_sensitive ? a == b : Compatible(a, b); };
  const std::vector<Computation*> branches = conditional.calls();
  if (std::any_of(branches.begin(), branches.end(), [](const Computation* branch) {
        return branch->root()->opcode() != Opcode::kTuple || branch->callers().size() > 1;
      }))
    return {};
  std::vector<int64_t> elements;
  const Instruction& root = *branches[0]->root();
  for (int i = 0; i < root.operand_count(); ++i) {
    const Instruction& convert = *root.operand(i);
    if (!IsMovableConvert(convert) || IsRepeated(convert, root)) continue;
    if (std::all_of(branches.begin(), branches.end(), [&](const Computation* branch) {
          const Instruction& other = *branch->root()->operand(i);
          return IsMovableConvert(other) && same(other.shape(), convert.shape()) &&
                 same(other.operand(0)->shape(), convert.operand(0)->shape());
        }))
      elements.push_back(i);
  }
  return elements;
}

absl::Status MoveConvertsOutOfBranches(Instruction* conditional,
                                       const std::vector<int64_t>& elements) {
  Computation& parent = *conditional->parent();
  Builder builder(&parent);
  builder.set_origin(conditional);
  if (conditional->is_root()) {
    std::vector<Instruction*> reads;
    for (int i = 0; i < conditional->shape().element_count_of_tuple(); ++i)
      reads.push_back(builder.GetTupleElement(conditional, i));
    Instruction* tuple = builder.Tuple(reads);
    TakeOver(tuple, *conditional);
    parent.set_root(tuple);
  }
  const std::vector<Instruction*> reads = conditional->users();
  for (const int64_t element : elements) {
    const auto i = static_cast<int>(element);
    const Instruction& convert = *conditional->call(0)->root()->operand(i);
    Instruction* value = nullptr;
    for (Instruction* read : reads) {
      if (read->tuple_index() != element) continue;
      if (value == nullptr) {
        Instruction* source = AddResultRead(conditional, element, convert.operand(0)->shape());
        value = parent.AddClone(convert, convert.shape(), {source});
        SetOrigin(value, nullptr);
      }
      TakeOver(value, *read);
      parent.Replace(read, value);
    }
  }
  for (Computation* branch : conditional->calls()) {
    std::vector<Instruction*> values = branch->root()->operand_vector();
    for (const int64_t element : elements) {
      Instruction*& value = values[static_cast<size_t>(element)];
      value = value->operand(0);
    }
    RETURN_IF_ERROR(ReturnTuple(branch, values));
  }
  TakeShapeOfBranches(conditional);
  return builder.status();
}

}  // namespace hlo
