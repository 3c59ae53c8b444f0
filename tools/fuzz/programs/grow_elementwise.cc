// Elementwise operations of all types.
#include <vector>

#include "lib/ops/attrs.h"
#include "tools/fuzz/programs/rows.h"

namespace hlo {
namespace {

const std::vector<Opcode>& UnaryOf(ElementType type) {
  static const std::vector<Opcode> kFloat = {Opcode::kAbs,
                                             Opcode::kNegate,
                                             Opcode::kSign,
                                             Opcode::kFloor,
                                             Opcode::kCeil,
                                             Opcode::kRoundNearestAfz,
                                             Opcode::kRoundNearestEven,
                                             Opcode::kExp,
                                             Opcode::kExpm1,
                                             Opcode::kLog,
                                             Opcode::kLog1p,
                                             Opcode::kTanh,
                                             Opcode::kSqrt,
                                             Opcode::kRsqrt,
                                             Opcode::kCbrt,
                                             Opcode::kSin,
                                             Opcode::kCos,
                                             Opcode::kTan,
                                             Opcode::kLogistic,
                                             Opcode::kErf,
                                             Opcode::kAsin,
                                             Opcode::kAcos,
                                             Opcode::kAsinh,
                                             Opcode::kAcosh,
                                             Opcode::kAtanh,
                                             Opcode::kSinh,
                                             Opcode::kCosh,
                                             Opcode::kNegate,
                                             Opcode::kAbs,
                                             Opcode::kTanh,
                                             Opcode::kExp};
  static const std::vector<Opcode> kInteger = {Opcode::kAbs,   Opcode::kNegate, Opcode::kSign,
                                               Opcode::kNot,   Opcode::kClz,    Opcode::kPopcnt,
                                               Opcode::kNegate};
  static const std::vector<Opcode> kBool = {Opcode::kNot};
  static const std::vector<Opcode> kComplexOps = {
      Opcode::kNegate, Opcode::kAbs,  Opcode::kExp, Opcode::kLog, Opcode::kTanh, Opcode::kSqrt,
      Opcode::kReal,   Opcode::kImag, Opcode::kSin, Opcode::kCos, Opcode::kSign, Opcode::kRsqrt};
  return IsPred(type) ? kBool : IsFloat(type) ? kFloat : IsComplex(type) ? kComplexOps : kInteger;
}

const std::vector<Opcode>& BinaryOf(ElementType type) {
  static const std::vector<Opcode> kFloat = {
      Opcode::kAdd,     Opcode::kSubtract, Opcode::kMultiply,  Opcode::kDivide,
      Opcode::kMaximum, Opcode::kMinimum,  Opcode::kRemainder, Opcode::kPower,
      Opcode::kAtan2,   Opcode::kAdd,      Opcode::kMultiply,  Opcode::kSubtract};
  static const std::vector<Opcode> kInteger = {Opcode::kAdd,
                                               Opcode::kSubtract,
                                               Opcode::kMultiply,
                                               Opcode::kDivide,
                                               Opcode::kMaximum,
                                               Opcode::kMinimum,
                                               Opcode::kRemainder,
                                               Opcode::kPower,
                                               Opcode::kAnd,
                                               Opcode::kOr,
                                               Opcode::kXor,
                                               Opcode::kShiftLeft,
                                               Opcode::kShiftRightLogical,
                                               Opcode::kShiftRightArithmetic,
                                               Opcode::kAdd,
                                               Opcode::kMultiply};
  static const std::vector<Opcode> kBool = {Opcode::kAnd,     Opcode::kOr,      Opcode::kXor,
                                            Opcode::kMaximum, Opcode::kMinimum, Opcode::kAdd,
                                            Opcode::kMultiply};
  static const std::vector<Opcode> kComplexOps = {
      Opcode::kAdd, Opcode::kSubtract, Opcode::kMultiply, Opcode::kDivide, Opcode::kPower};
  return IsPred(type) ? kBool : IsFloat(type) ? kFloat : IsComplex(type) ? kComplexOps : kInteger;
}

void GrowUnary(Sketch& s) {
  Instruction* x = s.Any();
  s.Op(s.random().Pick(UnaryOf(x->shape().element_type())), {x});
}

void GrowBinary(Sketch& s) {
  Instruction* x = s.Any();
  Instruction* y = s.Like(x);
  if (s.random().OneIn(2)) std::swap(x, y);
  s.Op(s.random().Pick(BinaryOf(x->shape().element_type())), {x, y});
}

// With a scalar, as frontends write it.
void GrowWithScalar(Sketch& s) {
  Instruction* x = s.Any();
  Instruction* scalar = s.Scalar(x->shape().element_type());
  Instruction* y = s.Make([&](Builder& b) { return b.Broadcast(scalar, x->shape().dims(), {}); });
  if (y == nullptr) return;
  if (s.random().OneIn(3)) std::swap(x, y);
  s.Op(s.random().Pick(BinaryOf(x->shape().element_type())), {x, y});
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
  const ElementType to = s.random().OneIn(3) ? ElementType::kF32 : s.Type();
  if (IsComplex(x->shape().element_type()) && !IsComplex(to)) return;
  s.Make([&](Builder& b) { return b.Convert(x, to); });
}

// The same width, or one dimension more or less.
void GrowBitcastConvert(Sketch& s) {
  static const std::vector<ElementType> kTypes = {
      ElementType::kS8,  ElementType::kU8,   ElementType::kS16, ElementType::kU16,
      ElementType::kF16, ElementType::kBF16, ElementType::kS32, ElementType::kU32,
      ElementType::kF32, ElementType::kS64,  ElementType::kU64, ElementType::kF64};
  Instruction* x = s.Any();
  const ElementType from = x->shape().element_type();
  if (IsComplex(from)) {
    s.Make([&](Builder& b) { return b.BitcastConvert(x, x->shape()); });
    return;
  }
  const ElementType to = s.random().Pick(kTypes);
  DimVec dims(x->shape().dims().begin(), x->shape().dims().end());
  if (BitWidth(from) > BitWidth(to)) {
    dims.push_back(BitWidth(from) / BitWidth(to));
  } else if (BitWidth(from) < BitWidth(to)) {
    if (dims.empty() || dims.back() * BitWidth(from) != BitWidth(to)) return;
    dims.pop_back();
  }
  s.Make([&](Builder& b) { return b.BitcastConvert(x, Shape::Array(to, dims)); });
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

void GrowIsFinite(Sketch& s) {
  Instruction* x =
      s.AnyWhere([](const Instruction& value) { return IsFloat(value.shape().element_type()); });
  if (x != nullptr) s.Op(Opcode::kIsFinite, {x});
}

constexpr GrowRow kElementwiseRows[] = {
    {"unary", 5, GrowUnary},
    {"binary", 9, GrowBinary},
    {"with-scalar", 4, GrowWithScalar},
    {"compare", 2, GrowCompare},
    {"select", 4, GrowSelect},
    {"clamp", 2, GrowClamp},
    {"convert", 4, GrowConvert},
    {"bitcast-convert", 2, GrowBitcastConvert},
    {"complex", 1, GrowComplex},
    {"reduce-precision", 1, GrowReducePrecision},
    {"is-finite", 1, GrowIsFinite},
};

}  // namespace

std::span<const GrowRow> ElementwiseRows() { return kElementwiseRows; }

}  // namespace hlo
