#include "passes/control_flow/branch_motion.h"

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
  Builder builder(branch, branch->root());
  Instruction* tuple = builder.Tuple(elements);
  SetOriginOfOperands(tuple);
  branch->set_root(tuple);
  return builder.status();
}

// Gives the result the shape that branches return now, after they have changed.
void TakeShapeOfBranches(Instruction* conditional) {
  conditional->set_shape(conditional->call(0)->root()->shape());
  if (conditional->extras() == nullptr) return;
  conditional->clear_sharding();
  conditional->mutable_extras().origin.reset();
}

// What was said of a value that `replacement` takes the place of.
void TakeOver(Instruction* replacement, const Instruction& value) {
  if (const OriginalValue::Node* origin = OriginOf(value)) SetOrigin(replacement, origin);
  if (value.sharding() != nullptr && replacement->sharding() == nullptr)
    replacement->set_sharding(*value.sharding());
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

// The motion of groups of readers. Elements of the result have their old numbers, and those that
// are returned in addition the ones that follow, until all have moved.
class ReadersMotion {
 public:
  explicit ReadersMotion(Instruction* conditional) : conditional_(conditional) {
    const Shape shape = conditional->shape();
    if (shape.IsTuple()) is_dropped_.assign(shape.elements().size(), false);
    for (const Use& use : conditional->uses()) {
      if (IsElement(*use.user)) ++read_counts_[use.user->tuple_index()];
    }
  }

  // Whether the group can move: every operand is the result, a constant, or moves, too.
  bool Add(const BoundaryGroup& group) {
    std::vector<const Instruction*> added;
    for (const Boundary& boundary : group.moved) {
      const Instruction* reader = boundary.first();
      for (const Instruction* operand : reader->operands()) {
        if (operand == conditional_ || moves_.contains(operand) || operand->IsConstant() ||
            IsElement(*operand))
          continue;
        for (const Instruction* other : added) moves_.erase(other);
        return false;
      }
      if (moves_.insert(reader).second) added.push_back(reader);
    }
    groups_.push_back(&group);
    return true;
  }

  bool is_empty() const { return groups_.empty(); }

  absl::Status Move() {
    for (Computation* branch : conditional_->calls()) RETURN_IF_ERROR(TakeApart(branch));
    TakeOrigins();
    for (const BoundaryGroup* group : groups_) MoveGroup(*group);
    for (size_t branch = 0; branch < elements_.size(); ++branch) {
      RETURN_IF_ERROR(
          ReturnTuple(conditional_->call(static_cast<int>(branch)), Kept(elements_[branch])));
    }
    RenumberReads();
    TakeShapeOfBranches(conditional_);
    if (has_origin_) {
      OriginalValue::Node origin;
      origin.is_tuple = true;
      origin.children = Kept(origins_);
      SetOrigin(conditional_, &origin);
    }
    for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
      const std::vector<Boundary>& moved = (*group)->moved;
      for (auto boundary = moved.rbegin(); boundary != moved.rend(); ++boundary)
        RemoveMoved(boundary->first());
    }
    return absl::OkStatus();
  }

 private:
  bool IsElement(const Instruction& value) const {
    return value.opcode() == Opcode::kGetTupleElement && value.operand(0) == conditional_;
  }

  template <class T>
  std::vector<T> Kept(const std::vector<T>& all) const {
    std::vector<T> kept;
    for (size_t i = 0; i < all.size(); ++i) {
      if (i >= is_dropped_.size() || !is_dropped_[i]) kept.push_back(all[i]);
    }
    return kept;
  }

  // What the branch returns, element by element.
  absl::Status TakeApart(Computation* branch) {
    Instruction* root = branch->root();
    Builder builder(branch, root);
    std::vector<Instruction*> elements;
    if (root->opcode() == Opcode::kTuple) {
      elements = root->operand_vector();
    } else if (root->shape().IsTuple()) {
      for (int i = 0; i < root->shape().element_count_of_tuple(); ++i)
        elements.push_back(builder.GetTupleElement(root, i));
    }
    inside_[conditional_].push_back(root);
    elements_.push_back(std::move(elements));
    return builder.status();
  }

  void TakeOrigins() {
    const Shape shape = conditional_->shape();
    if (!shape.IsTuple()) return;
    const OriginalValue::Node* origin = OriginOf(*conditional_);
    has_origin_ = origin != nullptr;
    origins_ = has_origin_ ? origin->children : UnknownOrigin(shape).children;
  }

  void MoveGroup(const BoundaryGroup& group) {
    const Instruction& first = *group.moved[0].first();
    const bool reads_element = IsElement(first);
    // The element goes when nobody else needs it.
    if (reads_element && first.has_one_user() && !first.is_root() &&
        read_counts_[first.tuple_index()] == 1)
      is_dropped_[static_cast<size_t>(first.tuple_index())] = true;
    for (size_t k = reads_element ? 1 : 0; k < group.moved.size(); ++k) {
      Instruction* reader = group.moved[k].first();
      CopyIntoBranches(*reader);
      if (k + 1 == group.moved.size() || !IsOnlyFor(*reader, group.moved[k + 1].first()))
        Return(reader);
    }
  }

  static bool IsOnlyFor(const Instruction& value, const Instruction* user) {
    return value.has_one_user() && !value.is_root() && value.uses()[0].user == user;
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
  void Return(Instruction* reader) {
    const auto index = static_cast<int64_t>(elements_[0].size());
    const std::vector<Instruction*>& copies = inside_[reader];
    for (size_t branch = 0; branch < elements_.size(); ++branch)
      elements_[branch].push_back(copies[branch]);
    Instruction* read = AddResultRead(conditional_, index, reader->shape());
    TakeOver(read, *reader);
    const OriginalValue::Node* origin = OriginOf(*reader);
    has_origin_ = has_origin_ || origin != nullptr;
    origins_.push_back(origin != nullptr ? *origin : UnknownOrigin(reader->shape()));
    if (reader->is_root()) reader->parent()->set_root(read);
    reader->ReplaceAllUsesWith(read);
  }

  void RenumberReads() {
    std::vector<int64_t> numbers;
    int64_t next = 0;
    for (size_t i = 0; i < elements_[0].size(); ++i)
      numbers.push_back(i < is_dropped_.size() && is_dropped_[i] ? next : next++);
    for (const Use& use : conditional_->uses()) {
      if (!IsElement(*use.user)) continue;
      const int64_t old = use.user->tuple_index();
      if (const int64_t now = numbers[static_cast<size_t>(old)]; now != old)
        use.user->SetAttrs(GetTupleElementAttrs{now});
    }
  }

  Instruction* conditional_;
  std::vector<const BoundaryGroup*> groups_;
  absl::flat_hash_set<const Instruction*> moves_;
  absl::flat_hash_map<int64_t, int> read_counts_;    // how many reads each element has
  std::vector<bool> is_dropped_;                     // elements that nobody needs any more
  std::vector<std::vector<Instruction*>> elements_;  // of each branch
  absl::flat_hash_map<const Instruction*, std::vector<Instruction*>> inside_;
  bool has_origin_ = false;
  std::vector<OriginalValue::Node> origins_;
};

}  // namespace

absl::StatusOr<bool> MoveReadersIntoBranches(Instruction* conditional,
                                             absl::Span<const BoundaryGroup* const> groups) {
  ReadersMotion motion(conditional);
  for (const BoundaryGroup* group : groups) motion.Add(*group);
  if (motion.is_empty()) return false;
  RETURN_IF_ERROR(motion.Move());
  return true;
}

// ---- conversions ----

namespace {

// One of a chain of conversions: which of them should move is not clear.
bool IsChainedConvert(const Instruction& convert) {
  return convert.operand(0)->opcode() == Opcode::kConvert ||
         absl::c_any_of(convert.uses(),
                        [](const Use& use) { return use.user->opcode() == Opcode::kConvert; });
}

bool IsMovableConvert(const Instruction& convert) {
  return convert.opcode() == Opcode::kConvert && !convert.has_control_edges() &&
         !IsChainedConvert(convert);
}

bool IsRepeated(const Instruction& element, const Instruction& root) {
  return absl::c_count_if(element.uses(), [&](const Use& use) { return use.user == &root; }) > 1;
}

}  // namespace

std::vector<int64_t> ConvertedElements(const Instruction& conditional, bool layout_sensitive) {
  const auto same = [&](Shape a, Shape b) { return layout_sensitive ? a == b : Compatible(a, b); };
  const std::vector<Computation*> branches = conditional.calls();
  if (absl::c_any_of(branches, [](const Computation* branch) {
        return branch->root()->opcode() != Opcode::kTuple || branch->callers().size() > 1;
      }))
    return {};
  std::vector<int64_t> elements;
  const Instruction& root = *branches[0]->root();
  for (int i = 0; i < root.operand_count(); ++i) {
    const Instruction& convert = *root.operand(i);
    if (!IsMovableConvert(convert) || IsRepeated(convert, root)) continue;
    if (absl::c_all_of(branches, [&](const Computation* branch) {
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
  Builder builder(&parent, conditional);
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
