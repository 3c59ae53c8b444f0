// Where the arrays of one computation are to lie, found out from what a few of them must.
//
// A *buffer* is an array that an instruction makes (what tuples and their like hand on belongs to
// the instruction that made it). Buffers and operands get orders of dimensions; each new order says
// something of its neighbours (layout_rules.h), until nothing follows any more. Where an operand
// wants another order than the buffer has, there will be a copy.
//
// The first order that a buffer or an operand gets stays, unless another is mandatory.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/computation.h"
#include "passes/layout/layout_rules.h"

namespace hlo {

// The shape with minor-to-major orders as `wanted` has them, without other properties of layouts
// but the size of elements.
Shape WithOrdersOf(Shape shape, Shape wanted);
// Whether arrays of more than one dimension lie in the same orders.
bool SameOrders(Shape a, Shape b);
// The order in which an array lies; row-major without a layout.
DimOrder OrderOf(Shape array);
// An array shape that lies in `order`.
Shape InOrder(Shape array, const DimOrder& order);

class LayoutConstraints {
 public:
  enum class Strength : uint8_t {
    kWish,       // stays when it is the first
    kMandatory,  // replaces whatever there is
  };

  explicit LayoutConstraints(const Computation& computation);

  // All arrays that `instruction` makes lie as those of `shape`.
  void SetResult(const Instruction& instruction, Shape shape, Strength strength);
  void SetOperand(const Instruction& user, int operand, Shape shape, Strength strength);
  // The arrays of the root, where nothing says otherwise.
  void WishForRoot(Shape shape);
  bool HasOperand(const Instruction& user, int operand) const;
  // Whether some leaf of the result is a leaf of this operand.
  bool HandsOn(const Instruction& user, int operand) const;

  // From now on, operands of reductions of at least `elements` to one lie so that these are next to
  // each other.
  void ReduceAlongRows(int64_t elements) { least_in_row_ = elements; }

  // Finds out what follows from what was set.
  void Propagate();
  // Row-major, or as a constant lies, for all that nothing was said about.
  void FillIn();

  // The instruction's shape, as its buffers lie.
  Shape ShapeOf(const Instruction& instruction) const;
  // What the operand should lie like; none if any way will do.
  std::optional<Shape> WantedOperand(const Instruction& user, int operand) const;

 private:
  struct Buffer {
    const Instruction* maker;
    int64_t leaf;
    Shape shape;
    std::optional<DimOrder> order;
    bool mandatory = false;
    int changes = 0;
  };
  struct OperandWish {
    Shape shape;
    bool mandatory = false;
    int changes = 0;
  };
  // What has to be propagated: a buffer, or an operand of an instruction.
  struct Work {
    int buffer = -1;
    const Instruction* user = nullptr;
    int operand = -1;
  };

  void SetBuffer(int buffer, const DimOrder& order, Strength strength, bool first);
  void SetArrayOperand(const Instruction& user, int operand, const DimOrder& order,
                       Strength strength);
  void Add(Work work, bool first);
  void PropagateBuffer(int buffer);
  void PropagateToOperands(const Buffer& buffer);
  std::optional<DimOrder> OrderOfOperand(const Instruction& maker, int i, const DimOrder& order);
  void PropagateOperand(const Instruction& user, int operand);
  void PropagateToSiblings(const Instruction& user, int operand, const DimOrder& order);
  void PropagateToResult(const Instruction& user, int operand, const DimOrder& order);
  // Of the leaves of an instruction.
  const std::vector<int>& BuffersOf(const Instruction& instruction) const {
    return leaves_.at(&instruction);
  }

  const Computation& computation_;
  std::vector<Buffer> buffers_;
  absl::flat_hash_map<const Instruction*, std::vector<int>> leaves_;  // looked up only
  absl::flat_hash_map<const Instruction*, std::vector<bool>> handed_on_;
  absl::flat_hash_map<std::pair<const Instruction*, int>, OperandWish> operands_;
  std::vector<std::vector<const Instruction*>> holders_;  // of each buffer, in order
  std::deque<Work> work_;
  std::optional<int64_t> least_in_row_;
};

}  // namespace hlo
