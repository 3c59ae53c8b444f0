#include "passes/layout/host_copy_motion.h"

#include <algorithm>

#include "passes/util/layout_copy.h"

namespace hlo {
namespace {

bool IsSlice(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kSlice || instruction.opcode() == Opcode::kDynamicSlice;
}

Shape WithLayoutOf(Shape shape, Shape like) { return shape.WithLayout(like.layout()); }

// `layout` without dimension `dim`, whose size is 1.
Layout WithoutDimension(Layout layout, int64_t dim) {
  DimVec order;
  for (const int64_t d : layout.minor_to_major) {
    if (d != dim) order.push_back(d > dim ? d - 1 : d);
  }
  layout.minor_to_major = order;
  return layout;
}

// `layout` with another dimension `dim` of size 1, the most major one.
Layout WithDimension(Layout layout, int64_t dim) {
  for (int64_t& d : layout.minor_to_major) d += d >= dim ? 1 : 0;
  layout.minor_to_major.push_back(dim);
  return layout;
}

// The dimension of size 1 that `larger` has and `smaller` has not, where they lie the same
// otherwise.
std::optional<int64_t> ExtraDimension(Shape larger, Shape smaller) {
  for (int d = 0; d < larger.rank(); ++d) {
    if (larger.dim(d) != 1) continue;
    DimVec dims(larger.dims().begin(), larger.dims().end());
    dims.erase(dims.begin() + d);
    if (absl::Span<const int64_t>(dims) == smaller.dims() &&
        WithoutDimension(larger.layout(), d) == smaller.layout())
      return d;
  }
  return std::nullopt;
}

// A bitcast between layouts of one shape renames dimensions; each must have the size of the one
// whose name it gets.
std::optional<Layout> Renamed(Shape from, Shape to, Layout layout) {
  Layout like = to.layout();
  like.minor_to_major = from.layout().minor_to_major;
  if (like != from.layout()) return std::nullopt;
  DimVec names(static_cast<size_t>(from.rank()));
  for (size_t i = 0; i < names.size(); ++i) {
    const int64_t old_name = from.layout().minor_to_major[i];
    const int64_t new_name = to.layout().minor_to_major[i];
    if (from.dim(static_cast<int>(old_name)) != to.dim(static_cast<int>(new_name)))
      return std::nullopt;
    names[static_cast<size_t>(old_name)] = new_name;
  }
  for (int64_t& dim : layout.minor_to_major) dim = names[static_cast<size_t>(dim)];
  return layout;
}

// What a bitcast makes of the same array in another layout, `shape`; nothing where that would not
// be a bitcast any more.
std::optional<Shape> Bitcasted(const Instruction& bitcast, Shape shape) {
  const Shape from = bitcast.operand(0)->shape();
  const Shape to = bitcast.shape();
  if (!to.has_layout() || from.element_type() != to.element_type() || !shape.layout().tiles.empty())
    return std::nullopt;
  if (from.rank() == to.rank() + 1) {
    const std::optional<int64_t> dim = ExtraDimension(from, to);
    if (!dim.has_value()) return std::nullopt;
    return to.WithLayout(WithoutDimension(shape.layout(), *dim));
  }
  if (from.rank() + 1 == to.rank()) {
    const std::optional<int64_t> dim = ExtraDimension(to, from);
    if (!dim.has_value()) return std::nullopt;
    return to.WithLayout(WithDimension(shape.layout(), *dim));
  }
  if (!SameDimensions(from, to)) return std::nullopt;
  const std::optional<Layout> layout = Renamed(from, to, shape.layout());
  if (!layout.has_value()) return std::nullopt;
  return to.WithLayout(*layout);
}

Shape WithShapeAt(Shape shape, const ShapeIndex& index, Shape part) {
  if (index.empty()) return part;
  const int first = static_cast<int>(index.front());
  return shape.WithElement(
      first, WithShapeAt(shape.element(first), ShapeIndex(index.begin() + 1, index.end()), part));
}

const Instruction* OnlyLoop(const Computation& computation) {
  if (computation.callers().size() != 1) return nullptr;
  const Instruction* const caller = computation.callers()[0].caller;
  return caller->opcode() == Opcode::kWhile ? caller : nullptr;
}

}  // namespace

Instruction* MoveToHostBefore(Instruction* value) {
  while (!IsMoveToHost(*value)) {
    if (!OnlyChangesForm(*value) || value->is_root() || !value->has_one_user()) return nullptr;
    value = value->operand(0);
  }
  return value->is_root() || !value->has_one_user() ? nullptr : value;
}

Instruction* MoveToDeviceAfter(Instruction* slice) {
  Instruction* value = slice;
  while (!IsMoveToDevice(*value)) {
    const bool may_stand = value == slice || OnlyChangesForm(*value) || IsSlice(*value);
    if (!may_stand || value->is_root() || !value->has_one_user()) return nullptr;
    Instruction* const user = value->users().front();
    if (user->operand(0) != value) return nullptr;  // where to slice
    value = user;
  }
  return value;
}

std::optional<HostCopyMotion> HostCopyMotion::Find(Instruction* copy) {
  const Shape from = copy->operand(0)->shape();
  if (!from.IsArray() || !from.has_layout() || !copy->shape().has_layout() ||
      copy->has_control_edges() || MemorySpaceOf(from) != MemorySpaceOf(copy->shape()))
    return std::nullopt;
  HostCopyMotion motion(copy);
  if (!motion.Visit({copy, {}})) return std::nullopt;
  for (size_t i = 0; i < motion.places_.size(); ++i) {
    const HostPlace place = motion.places_[i];
    const bool is_end = IsSlice(*place.instruction) || IsMoveToDevice(*place.instruction);
    if (!is_end && !motion.Visit(place)) return std::nullopt;
  }
  for (const HostPlace& place : motion.places_) {
    if (!motion.IsClosed(place)) return std::nullopt;
  }
  return motion;
}

bool HostCopyMotion::Visit(const HostPlace& place) {
  constexpr OpcodeSet kPassing = {
      Opcode::kTuple,   Opcode::kGetTupleElement,    Opcode::kOptimizationBarrier, Opcode::kWhile,
      Opcode::kBitcast, Opcode::kDynamicUpdateSlice, Opcode::kDynamicSlice,        Opcode::kSlice};
  const Instruction& instruction = *place.instruction;
  const Computation& computation = *instruction.parent();
  if (computation.execution_thread() == kHostThread) return false;
  if (instruction.is_root()) {
    const Instruction* const loop = OnlyLoop(computation);
    if (computation.is_entry() || loop == nullptr || loop->while_body() != &computation)
      return false;
  }
  for (const Use& use : instruction.uses()) {
    if (!kPassing.Has(use.user->opcode()) && !IsMoveToDevice(*use.user)) return false;
  }
  for (const HostStep& step : StepsAfter(place)) {
    if (!TakeUse(place, step)) return false;
  }
  return true;
}

bool HostCopyMotion::TakeUse(const HostPlace& place, const HostStep& step) {
  constexpr OpcodeSet kData = {Opcode::kDynamicUpdateSlice, Opcode::kDynamicSlice, Opcode::kSlice,
                               Opcode::kCustomCall};
  const Shape shape = place.instruction == copy_ ? copy_->operand(0)->shape()
                                                 : shapes_.at(Key(place.instruction, place.index));
  Instruction* const user = step.edge.user;
  if (user == nullptr || user != step.to.instruction) return Add(step.to, shape);
  if (kData.Has(user->opcode())) return step.edge.operand == 0 && TakeData(step, shape);
  if (user->opcode() != Opcode::kBitcast) return Add(step.to, shape);
  const std::optional<Shape> bitcasted = Bitcasted(*user, shape);
  return bitcasted.has_value() && Add(step.to, *bitcasted);
}

// By what ends the path, or writes over the array.
bool HostCopyMotion::TakeData(const HostStep& step, Shape shape) {
  Instruction* const user = step.edge.user;
  if (user->has_control_edges()) return false;
  const bool is_update = user->opcode() == Opcode::kDynamicUpdateSlice;
  Instruction* const move =
      is_update ? MoveToHostBefore(user->operand(1)) : MoveToDeviceAfter(user);
  if (move == nullptr) return false;
  (is_update ? updates_ : ends_).push_back({user, move});
  return Add(step.to, WithLayoutOf(user->shape(), shape));
}

bool HostCopyMotion::Add(const HostPlace& place, Shape shape) {
  const auto [found, is_new] = shapes_.emplace(Key(place.instruction, place.index), shape);
  if (is_new) places_.push_back(place);
  return found->second == shape && place.shape().IsArray() && Compatible(place.shape(), shape);
}

// Whether what the place gets its array from has the new layout, too.
bool HostCopyMotion::IsClosed(const HostPlace& place) const {
  Instruction& instruction = *place.instruction;
  const ShapeIndex& index = place.index;
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kParameter) {
    const Instruction* const loop = OnlyLoop(*instruction.parent());
    return loop != nullptr && shapes_.contains(Key(loop, index));
  }
  if (opcode == Opcode::kTuple)
    return Knows(instruction.operand(static_cast<int>(index.front())),
                 ShapeIndex(index.begin() + 1, index.end()));
  if (opcode == Opcode::kGetTupleElement) {
    ShapeIndex in_tuple = {instruction.tuple_index()};
    in_tuple.insert(in_tuple.end(), index.begin(), index.end());
    return Knows(instruction.operand(0), in_tuple);
  }
  if (!Knows(instruction.operand(0), index)) return false;
  return opcode != Opcode::kWhile || (Knows(instruction.while_body()->root(), index) &&
                                      Knows(instruction.while_body()->parameter(0), index) &&
                                      Knows(instruction.while_condition()->parameter(0), index));
}

void HostCopyMotion::Do() {
  std::vector<Shape> before;
  for (const Annotated& end : ends_) before.push_back(end.instruction->shape());
  for (const HostPlace& place : places_) {
    const Shape shape = shapes_.at(Key(place.instruction, place.index));
    place.instruction->set_shape(WithShapeAt(place.instruction->shape(), place.index, shape));
  }
  for (const Annotated& update : updates_) MoveUpdateAnnotation(update);
  for (size_t i = 0; i < ends_.size(); ++i) CopyAfter(ends_[i], before[i]);
  copy_->parent()->Replace(copy_, copy_->operand(0));
}

// The device brings the update into the layout of the array before it is moved.
void HostCopyMotion::MoveUpdateAnnotation(const Annotated& annotated) {
  Instruction* const update = annotated.instruction;
  Instruction* const old_move = annotated.move;
  Computation* const computation = update->parent();
  Instruction* const operand = update->operand(1);
  Instruction* const data = operand == old_move ? old_move->operand(0) : operand;
  const Shape shape = WithLayoutOf(data->shape(), update->shape());
  update->ReplaceOperand(1,
                         computation->AddClone(*old_move, shape, {CopyWithLayouts(data, shape)}));
  if (operand == old_move) return computation->Remove(old_move);
  computation->Replace(old_move, CopyWithLayouts(old_move->operand(0), old_move->shape()));
}

// end, …, MoveToDevice  =>  end, MoveToDevice, copy, …
void HostCopyMotion::CopyAfter(const Annotated& annotated, Shape before) {
  Instruction* const end = annotated.instruction;
  Instruction* const old_move = annotated.move;
  Computation* const computation = end->parent();
  const std::vector<Use> uses(end->uses().begin(), end->uses().end());
  const bool was_root = end->is_root();
  Instruction* const move =
      end == old_move ? end : computation->AddClone(*old_move, end->shape(), {end});
  Instruction* const copy = computation->AddClone(*copy_, before, {move});
  for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, copy);
  if (was_root) computation->set_root(copy);
  if (move != old_move)
    computation->Replace(old_move, CopyWithLayouts(old_move->operand(0), old_move->shape()));
}

bool SwapWithMoveToHost(Instruction* copy) {
  Instruction* move = copy->operand(0);
  if (!IsMoveToHost(*move) || copy->has_control_edges()) return false;
  Computation* const computation = copy->parent();
  if (move->is_root() || !move->has_one_user())
    move = computation->AddClone(*move, move->shape(), {move->operand(0)});
  const Shape shape = copy->shape();
  copy->ReplaceAllUsesWith(move);
  if (copy->is_root()) computation->set_root(move);
  copy->ReplaceOperand(0, move->operand(0));
  move->ReplaceOperand(0, copy);
  copy->set_shape(WithoutHostMemory(shape));
  move->set_shape(copy->shape());
  return true;
}

}  // namespace hlo
