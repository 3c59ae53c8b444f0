#include "passes/layout/layout_constraints.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "lib/analysis/forwarding.h"
#include "lib/analysis/leaves.h"
#include "lib/ir/layout_change.h"
#include "lib/ops/attrs.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

// Afterwards an order stays as it is, so that two wishes do not chase each other forever.
constexpr int kMostChanges = 10;

// What control flow hands on is for the pass to say, computation by computation; a bitcast hands it
// on in another shape.
constexpr OpcodeSet kMakesBuffers = {Opcode::kWhile,      Opcode::kConditional, Opcode::kCall,
                                     Opcode::kAsyncStart, Opcode::kAsyncUpdate, Opcode::kAsyncDone,
                                     Opcode::kBitcast};

bool HasOrder(Shape leaf) { return leaf.IsArray() && leaf.rank() > 1; }

// The shape with the leaves that `leaf(k, shape)` makes of its own.
template <class F>
Shape MapLeaves(Shape shape, int64_t& k, const F& leaf) {
  if (!shape.IsTuple()) return leaf(k++, shape);
  std::vector<Shape> elements;
  for (const Shape element : shape.elements()) elements.push_back(MapLeaves(element, k, leaf));
  return Shape::Tuple(elements);
}

int64_t LargestAlong(const Instruction& concatenate) {
  const int64_t dim = concatenate.attrs<ConcatenateAttrs>().dimensions.value;
  int64_t largest = 0;
  for (const Instruction* operand : concatenate.operands())
    largest = std::max(largest, operand->shape().dim(static_cast<int>(dim)));
  return largest;
}

}  // namespace

DimOrder OrderOf(Shape array) {
  return array.has_layout() ? array.layout().minor_to_major
                            : Layout::RowMajor(array.rank()).minor_to_major;
}

bool SameOrders(Shape a, Shape b) {
  const std::vector<Shape> x = LeafShapes(a), y = LeafShapes(b);
  for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
    if (HasOrder(x[i]) && OrderOf(x[i]) != OrderOf(y[i])) return false;
  }
  return true;
}

Shape InOrder(Shape array, const DimOrder& order) {
  Layout layout = Layout::FromMinorToMajor(order);
  if (array.has_layout()) layout.element_size_in_bits = array.layout().element_size_in_bits;
  return array.WithLayout(layout);
}

Shape WithOrdersOf(Shape shape, Shape wanted) {
  const std::vector<Shape> leaves = LeafShapes(wanted);
  int64_t k = 0;
  return MapLeaves(shape, k, [&](int64_t i, Shape leaf) {
    return leaf.IsArray() ? InOrder(leaf, OrderOf(leaves[static_cast<size_t>(i)])) : leaf;
  });
}

LayoutConstraints::LayoutConstraints(const Computation& computation) : computation_(computation) {
  for (const Instruction* instruction : computation.PostOrder()) {
    const std::vector<Shape> shapes = LeafShapes(instruction->shape());
    std::vector<LeafSource> sources;
    if (!kMakesBuffers.Has(instruction->opcode()))
      sources = ForwardedLeaves(*instruction, /*dense=*/false);
    sources.resize(shapes.size());
    std::vector<int> buffers;
    std::vector<bool>& handed_on = handed_on_[instruction];
    handed_on.assign(static_cast<size_t>(instruction->operand_count()), false);
    for (size_t k = 0; k < shapes.size(); ++k) {
      const LeafSource& source = sources[k];
      int buffer = static_cast<int>(buffers_.size());
      if (source.operand < 0) {
        buffers_.push_back({instruction, static_cast<int64_t>(k), shapes[k], {}});
        holders_.emplace_back();
      } else {
        buffer = leaves_.at(instruction->operand(source.operand))[static_cast<size_t>(source.leaf)];
        handed_on[static_cast<size_t>(source.operand)] = true;
      }
      buffers.push_back(buffer);
      holders_[static_cast<size_t>(buffer)].push_back(instruction);
    }
    leaves_[instruction] = std::move(buffers);
  }
}

bool LayoutConstraints::HandsOn(const Instruction& user, int operand) const {
  return handed_on_.at(&user)[static_cast<size_t>(operand)];
}

bool LayoutConstraints::HasOperand(const Instruction& user, int operand) const {
  return operands_.contains({&user, operand});
}

void LayoutConstraints::Add(Work work, bool first) {
  if (first) {
    work_.push_front(work);
  } else {
    work_.push_back(work);
  }
}

void LayoutConstraints::SetBuffer(int number, const DimOrder& order, Strength strength,
                                  bool first) {
  Buffer& buffer = buffers_[static_cast<size_t>(number)];
  if (!HasOrder(buffer.shape)) return;
  const bool mandatory = strength == Strength::kMandatory;
  if (buffer.order == order) {
    buffer.mandatory |= mandatory;
    return;
  }
  if (buffer.order && (!mandatory || ++buffer.changes > kMostChanges)) return;
  buffer.order = order;
  buffer.mandatory = mandatory;
  Add({.buffer = number}, first);
}

void LayoutConstraints::SetResult(const Instruction& instruction, Shape shape, Strength strength) {
  const std::vector<Shape> leaves = LeafShapes(shape);
  const std::vector<int>& buffers = BuffersOf(instruction);
  for (size_t k = 0; k < leaves.size() && k < buffers.size(); ++k) {
    if (HasOrder(leaves[k])) SetBuffer(buffers[k], OrderOf(leaves[k]), strength, /*first=*/true);
  }
}

void LayoutConstraints::WishForRoot(Shape shape) {
  const std::vector<Shape> leaves = LeafShapes(shape);
  const std::vector<int>& buffers = BuffersOf(*computation_.root());
  for (size_t k = 0; k < leaves.size() && k < buffers.size(); ++k) {
    if (HasOrder(leaves[k]))
      SetBuffer(buffers[k], OrderOf(leaves[k]), Strength::kWish, /*first=*/false);
  }
}

void LayoutConstraints::SetOperand(const Instruction& user, int operand, Shape shape,
                                   Strength strength) {
  const bool mandatory = strength == Strength::kMandatory;
  const auto [at, is_new] = operands_.try_emplace({&user, operand}, OperandWish{shape, mandatory});
  OperandWish& wish = at->second;
  if (!is_new) {
    if (SameOrders(wish.shape, shape)) {
      wish.mandatory |= mandatory;
      return;
    }
    if (!mandatory || ++wish.changes > kMostChanges) return;
    wish.shape = shape;
    wish.mandatory = true;
  }
  Add({.user = &user, .operand = operand}, /*first=*/mandatory);
}

void LayoutConstraints::SetArrayOperand(const Instruction& user, int operand, const DimOrder& order,
                                        Strength strength) {
  const Shape shape = user.operand(operand)->shape();
  if (HasOrder(shape)) SetOperand(user, operand, InOrder(shape, order), strength);
}

void LayoutConstraints::Propagate() {
  while (!work_.empty()) {
    const Work work = work_.front();
    work_.pop_front();
    if (work.buffer >= 0) {
      PropagateBuffer(work.buffer);
    } else {
      PropagateOperand(*work.user, work.operand);
    }
  }
}

// ---- from a buffer ----

std::optional<DimOrder> LayoutConstraints::OrderOfOperand(const Instruction& maker, int i,
                                                          const DimOrder& order) {
  if (maker.opcode() == Opcode::kReduce && least_in_row_) {
    int64_t reduced = 1;
    for (const int64_t d : maker.attrs<ReduceAttrs>().dimensions)
      reduced *= maker.operand(i)->shape().dim(static_cast<int>(d));
    if (reduced >= *least_in_row_) return RowReductionOrder(maker, order);
  }
  return OperandOrder(maker, i, order);
}

void LayoutConstraints::PropagateToOperands(const Buffer& buffer) {
  const Instruction& maker = *buffer.maker;
  const DimOrder order = *buffer.order;
  for (int i = 0; i < maker.operand_count(); ++i) {
    const Shape operand = maker.operand(i)->shape();
    if (!HasOrder(operand)) continue;
    if (!MayChangeLayout(maker)) {
      if (operand.rank() == buffer.shape.rank())
        SetArrayOperand(maker, i, order, Strength::kMandatory);
      continue;
    }
    if (!maker.shape().IsArray()) continue;
    const std::optional<DimOrder> wanted = OrderOfOperand(maker, i, order);
    if (!wanted) continue;
    SetArrayOperand(maker, i, *wanted,
                    maker.opcode() == Opcode::kBroadcast ? Strength::kMandatory : Strength::kWish);
  }
}

void LayoutConstraints::PropagateBuffer(int number) {
  const Buffer buffer = buffers_[static_cast<size_t>(number)];
  PropagateToOperands(buffer);
  for (const Instruction* holder : holders_[static_cast<size_t>(number)]) {
    if (!holder->shape().IsArray()) continue;
    for (const Use& use : holder->uses()) {
      if (!leaves_.contains(use.user) || HandsOn(*use.user, use.operand_index)) continue;
      SetArrayOperand(*use.user, use.operand_index, *buffer.order, Strength::kWish);
    }
  }
}

// ---- from an operand ----

void LayoutConstraints::PropagateOperand(const Instruction& user, int operand) {
  const Shape wanted = operands_.at({&user, operand}).shape;
  const std::vector<Shape> leaves = LeafShapes(wanted);
  const std::vector<int>& buffers = BuffersOf(*user.operand(operand));
  for (size_t k = 0; k < leaves.size() && k < buffers.size(); ++k) {
    if (HasOrder(leaves[k]))
      SetBuffer(buffers[k], OrderOf(leaves[k]), Strength::kWish, /*first=*/false);
  }
  if (!HasOrder(wanted) || HandsOn(user, operand)) return;
  const DimOrder order = OrderOf(wanted);
  if (!MayChangeLayout(user) || user.opcode() == Opcode::kReduce)
    PropagateToSiblings(user, operand, order);
  PropagateToResult(user, operand, order);
}

void LayoutConstraints::PropagateToSiblings(const Instruction& user, int operand,
                                            const DimOrder& order) {
  const Shape shape = user.operand(operand)->shape();
  if (user.opcode() == Opcode::kConcatenate) {
    const int64_t dim = user.attrs<ConcatenateAttrs>().dimensions.value;
    if (shape.dim(static_cast<int>(dim)) < LargestAlong(user)) return;
  }
  for (int i = 0; i < user.operand_count(); ++i) {
    const Shape sibling = user.operand(i)->shape();
    if (i != operand && sibling.IsArray() && sibling.rank() == shape.rank())
      SetArrayOperand(user, i, order, Strength::kMandatory);
  }
}

void LayoutConstraints::PropagateToResult(const Instruction& user, int operand,
                                          const DimOrder& order) {
  const std::vector<int>& buffers = BuffersOf(user);
  for (const int number : buffers) {
    const Buffer& buffer = buffers_[static_cast<size_t>(number)];
    if (buffer.maker != &user || !HasOrder(buffer.shape)) continue;
    const std::optional<DimOrder> result = ResultOrder(user, operand, order, buffer.shape);
    if (!result) continue;
    SetBuffer(number, *result, FollowsOperands(user) ? Strength::kMandatory : Strength::kWish,
              IsFollowedFirst(user));
  }
}

// ---- what is left, and the answers ----

void LayoutConstraints::FillIn() {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& buffer = buffers_[i];
    if (buffer.order || !HasOrder(buffer.shape)) continue;
    const DimOrder order = buffer.maker->IsConstant()
                               ? OrderOf(buffer.shape)
                               : Layout::RowMajor(buffer.shape.rank()).minor_to_major;
    SetBuffer(static_cast<int>(i), order, Strength::kWish, /*first=*/false);
    Propagate();
  }
}

Shape LayoutConstraints::ShapeOf(const Instruction& instruction) const {
  const std::vector<int>& buffers = BuffersOf(instruction);
  int64_t k = 0;
  return MapLeaves(instruction.shape(), k, [&](int64_t i, Shape leaf) {
    if (!leaf.IsArray()) return leaf;
    const Buffer& buffer = buffers_[static_cast<size_t>(buffers[static_cast<size_t>(i)])];
    return InOrder(leaf, buffer.order.value_or(Layout::RowMajor(leaf.rank()).minor_to_major));
  });
}

std::optional<Shape> LayoutConstraints::WantedOperand(const Instruction& user, int operand) const {
  const auto at = operands_.find({&user, operand});
  if (at == operands_.end()) return std::nullopt;
  return at->second.shape;
}

}  // namespace hlo
