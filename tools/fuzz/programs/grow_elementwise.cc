// Elementwise operations of all types.
#include <vector>

#include "lib/ops/attrs.h"
#include "tools/fuzz/programs/computed_types.h"
#include "tools/fuzz/programs/rows.h"

namespace hlo {
namespace {

// Of opcodes that take nothing but arrays of one type; none when there are none.
void GrowAnyOf(Sketch& s, const std::vector<Opcode>& opcodes,
               absl::Span<Instruction* const> operands) {
  if (!opcodes.empty()) s.Op(s.random().Pick(opcodes), operands);
}

void GrowUnary(Sketch& s) {
  Instruction* x = s.Any();
  GrowAnyOf(s, UnaryOpcodes(x->shape().element_type()), {x});
}

void GrowBinary(Sketch& s) {
  Instruction* x = s.Any();
  Instruction* y = s.Like(x);
  if (s.random().OneIn(2)) std::swap(x, y);
  GrowAnyOf(s, BinaryOpcodes(x->shape().element_type()), {x, y});
}

// With a scalar, as frontends write it.
void GrowWithScalar(Sketch& s) {
  Instruction* x = s.Any();
  Instruction* scalar = s.Scalar(x->shape().element_type());
  Instruction* y = s.Make([&](Builder& b) { return b.Broadcast(scalar, x->shape().dims(), {}); });
  if (y == nullptr) return;
  if (s.random().OneIn(3)) std::swap(x, y);
  GrowAnyOf(s, BinaryOpcodes(x->shape().element_type()), {x, y});
}

ComparisonDirection RandomDirection(Sketch& s, ElementType type) {
  return static_cast<ComparisonDirection>(s.random().Below(IsComplex(type) ? 2 : 6));
}

Instruction* Compared(Sketch& s, Instruction* x, Instruction* y) {
  const ElementType type = x->shape().element_type();
  CompareAttrs attrs{.direction = RandomDirection(s, type), .type = {}};
  if (IsFloat(type) && s.random().OneIn(6)) attrs.type = ComparisonType::kTotalOrder;
  return s.Op(Opcode::kCompare, {x, y}, AttrsPtr::Make(attrs));
}

void GrowCompare(Sketch& s) {
  Instruction* x = s.Any();
  Compared(s, x, s.Like(x));
}

void GrowSelect(Sketch& s) {
  Instruction* x = s.Any();
  Instruction* pred = s.AnyWhere([&](const Instruction& value) {
    return IsPred(value.shape().element_type()) && SameDimensions(value.shape(), x->shape());
  });
  if (pred == nullptr) {
    Instruction* from = s.AnyWhere(
        [&](const Instruction& value) { return SameDimensions(value.shape(), x->shape()); });
    pred = s.random().OneIn(6)
               ? s.Scalar(ElementType::kPred)
               : Compared(s, from == nullptr ? x : from, s.Like(from == nullptr ? x : from));
  }
  if (pred != nullptr) s.Op(Opcode::kSelect, {pred, x, s.Like(x)});
}

void GrowClamp(Sketch& s) {
  Instruction* x = s.Any();
  const ElementType type = x->shape().element_type();
  if (s.random().OneIn(2)) {
    s.Op(Opcode::kClamp, {s.Scalar(type), x, s.Scalar(type)});
  } else {
    s.Op(Opcode::kClamp, {s.Like(x), x, s.Like(x)});
  }
}

void GrowConvert(Sketch& s) {
  Instruction* x = s.Any();
  const ElementType to = s.random().OneIn(3)   ? ElementType::kF32
                         : s.random().OneIn(4) ? s.random().Pick(ArrayTypes())
                                               : s.Type();
  if (IsComplex(x->shape().element_type()) && !IsComplex(to)) return;
  s.Make([&](Builder& b) { return b.Convert(x, to); });
}

// The same width, or one dimension more or less.
void GrowBitcastConvert(Sketch& s) {
  Instruction* x = s.Any();
  const ElementType from = x->shape().element_type();
  if (IsComplex(from) || IsPred(from)) {
    s.Make([&](Builder& b) { return b.BitcastConvert(x, x->shape()); });
    return;
  }
  const ElementType to = s.random().Pick(ArrayTypes());
  DimVec dims(x->shape().dims().begin(), x->shape().dims().end());
  if (BitWidth(from) > BitWidth(to)) {
    dims.push_back(BitWidth(from) / BitWidth(to));
  } else if (BitWidth(from) < BitWidth(to)) {
    if (dims.empty() || dims.back() * BitWidth(from) != BitWidth(to)) return;
    dims.pop_back();
  }
  s.Make([&](Builder& b) { return b.BitcastConvert(x, Shape::Array(to, dims)); });
}

// Random bits as wide as the floats say how each is rounded.
void GrowStochasticConvert(Sketch& s) {
  Instruction* x =
      s.AnyWhere([](const Instruction& value) { return IsFloat(value.shape().element_type()); });
  if (x == nullptr) return;
  const int width = BitWidth(x->shape().element_type());
  std::vector<ElementType> words, results;
  for (const ElementType type : ArrayTypes()) {
    if (IsUnsigned(type) && BitWidth(type) == width) words.push_back(type);
    if (IsFloat(type) || IsSigned(type)) results.push_back(type);
  }
  if (words.empty()) return;
  const Shape shape = x->shape().WithDefaultLayout();
  Instruction* random = s.Value(shape.WithElementType(words.front()));
  const Shape result = shape.WithElementType(s.random().Pick(results));
  s.Make([&](Builder& b) {
    return b.OpWithShape(Opcode::kStochasticConvert, result, {x, random});
  });
}

void GrowComplex(Sketch& s) {
  Instruction* x = s.AnyWhere([](const Instruction& value) {
    const ElementType type = value.shape().element_type();
    return type == ElementType::kF32 || type == ElementType::kF64;
  });
  if (x != nullptr) s.Op(Opcode::kComplex, {x, s.Like(x)});
}

void GrowReducePrecision(Sketch& s) {
  Instruction* x =
      s.AnyWhere([](const Instruction& value) { return IsFloat(value.shape().element_type()); });
  if (x == nullptr) return;
  s.Op(Opcode::kReducePrecision, {x},
       AttrsPtr::Make(ReducePrecisionAttrs{static_cast<int64_t>(2 + s.random().Below(9)),
                                           static_cast<int64_t>(s.random().Below(24))}));
}

constexpr GrowRow kElementwiseRows[] = {
    {"unary", 9, GrowUnary},
    {"binary", 9, GrowBinary},
    {"with-scalar", 4, GrowWithScalar},
    {"compare", 2, GrowCompare},
    {"select", 4, GrowSelect},
    {"clamp", 2, GrowClamp},
    {"convert", 4, GrowConvert},
    {"bitcast-convert", 2, GrowBitcastConvert},
    {"complex", 1, GrowComplex},
    {"reduce-precision", 1, GrowReducePrecision},
    {"stochastic-convert", 1, GrowStochasticConvert},
};

}  // namespace

std::span<const GrowRow> ElementwiseRows() { return kElementwiseRows; }

}  // namespace hlo
