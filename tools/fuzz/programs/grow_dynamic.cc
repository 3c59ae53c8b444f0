// Dimensions whose size is known when the program runs. What is grown on top of them is any row.
#include <algorithm>

#include "lib/ops/attrs.h"
#include "tools/fuzz/programs/rows.h"

namespace hlo {
namespace {

// A number between 0 and `most`: a constant, or a parameter that is clipped.
Instruction* Size(Sketch& s, int64_t most) {
  const Shape scalar = Shape::Scalar(ElementType::kS32);
  const auto constant = [&](int64_t value) {
    return s.computation()->AddConstant(Literal::Scalar(ElementType::kS32, value));
  };
  if (s.depth() > 0 || s.random().OneIn(2))
    return constant(static_cast<int64_t>(s.random().Below(static_cast<size_t>(most + 1))));
  Instruction* number = s.Fresh(scalar);
  Instruction* clipped = s.Op(Opcode::kClamp, {constant(0), number, constant(most)});
  return clipped == nullptr ? constant(most) : clipped;
}

void GrowSetSize(Sketch& s) {
  Instruction* x = s.AnyWhere([](const Instruction& v) { return v.shape().rank() > 0; });
  if (x == nullptr) return;
  const int64_t dimension = s.SomeDimension(x);
  Instruction* size = Size(s, x->shape().dim(static_cast<int>(dimension)));
  s.Op(Opcode::kSetDimensionSize, {x, size}, AttrsPtr::Make(DimensionAttrs{{dimension}}));
}

// The bound as the size: what was dynamic is static again.
void GrowWholeSize(Sketch& s) {
  Instruction* x = s.AnyWhere([](const Instruction& v) { return v.shape().has_dynamic_dims(); });
  if (x == nullptr) return;
  int dimension = 0;
  while (!x->shape().is_dynamic(dimension)) ++dimension;
  Instruction* bound =
      s.computation()->AddConstant(Literal::Scalar(ElementType::kS32, x->shape().dim(dimension)));
  const Shape whole = x->shape().WithDynamic(dimension, false);
  s.Make([&](Builder& b) {
    return b.OpWithShape(Opcode::kSetDimensionSize, whole, {x, bound},
                         AttrsPtr::Make(DimensionAttrs{{dimension}}));
  });
}

void GrowGetSize(Sketch& s) {
  Instruction* x = s.AnyWhere([](const Instruction& v) { return v.shape().has_dynamic_dims(); });
  if (x == nullptr) x = s.AnyWhere([](const Instruction& v) { return v.shape().rank() > 0; });
  if (x == nullptr) return;
  s.Op(Opcode::kGetDimensionSize, {x}, AttrsPtr::Make(DimensionAttrs{{s.SomeDimension(x)}}));
}

// The first elements, in as many rows as the program says.
void GrowDynamicReshape(Sketch& s) {
  Instruction* x = s.AnyWhere([](const Instruction& v) {
    return v.shape().element_count() > 0 && !v.shape().has_dynamic_dims();
  });
  if (x == nullptr) return;
  const int64_t elements = x->shape().element_count();
  const auto columns = static_cast<int64_t>(s.random().Small(4));
  const int64_t rows = elements / columns;
  if (rows * columns != elements) return;
  const Shape shape = Shape::Array(x->shape().element_type(), {rows, columns}).WithDynamic(0, true);
  Instruction* const operands[] = {
      x, Size(s, rows), s.computation()->AddConstant(Literal::Scalar(ElementType::kS32, columns))};
  s.Make([&](Builder& b) { return b.OpWithShape(Opcode::kDynamicReshape, shape, operands); });
}

constexpr GrowRow kDynamicRows[] = {
    {"set-dimension-size", 2, GrowSetSize},
    {"whole-dimension-size", 1, GrowWholeSize},
    {"get-dimension-size", 1, GrowGetSize},
    {"dynamic-reshape", 1, GrowDynamicReshape},
};

}  // namespace

std::span<const GrowRow> DynamicRows() { return kDynamicRows; }

}  // namespace hlo
