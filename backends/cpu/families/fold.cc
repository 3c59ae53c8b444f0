#include "backends/cpu/families/fold.h"

#include <limits>

#include "lib/eval/accumulation.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

ElementType BitsOf(ElementType type) {
  switch (ByteSize(type)) {
    case 1: return ElementType::kU8;
    case 2: return ElementType::kU16;
    case 4: return ElementType::kU32;
    default: return ElementType::kU64;
  }
}

}  // namespace

Fold::Fold(FusionEmitter& emitter, const Instruction& reduce)
    : emitter_(emitter),
      b_(emitter.builder()),
      region_(*reduce.to_apply()),
      count_(static_cast<size_t>(reduce.operand_count() / 2)),
      type_(reduce.operand(0)->shape().element_type()),
      carried_(type_),
      simple_(count_ == 1 ? CombinerOpcode(region_) : std::nullopt) {
  if (simple_ && region_.root()->shape().element_type() == type_)
    carried_ = CarriedType(simple_, type_, math::Carrier::kCpu);
}

void Fold::CarryLong() {
  if (AddsF32()) carried_ = ElementType::kF64;
}

Value Fold::Nothing() const { return emitter_.EmitLiteral(*IdentityOf(Opcode::kAdd, carried_), 0); }

Value Fold::Carried(Value value) const { return is_wide() ? b_.Convert(value, carried_) : value; }

Values Fold::Results(Values carried) const {
  carried.resize(count_);
  if (is_wide()) carried[0] = b_.Convert(carried[0], type_);
  return carried;
}

std::optional<Values> Fold::StartsOfLanes(const Values& initial, int64_t elements) {
  if (simple_) {
    const auto identity = IdentityOf(*simple_, carried_);
    if (identity) return Values{emitter_.EmitLiteral(*identity, 0)};
  }
  const std::optional<TieOrder> ties = TieOrderOf(region_);
  if (!ties || elements > std::numeric_limits<int32_t>::max()) return std::nullopt;
  ties_ = *ties;
  Values starts = initial;
  if (has_positions()) starts.push_back(Position({b_.Index(-1)}));
  return starts;
}

Value Fold::Position(const FusionEmitter::Address& place) const {
  const Value base = b_.Convert(place.base, ElementType::kS32);
  if (place.lanes == 1 || place.per_lane) return base;
  const Value lanes = b_.Convert(b_.Scale(b_.Iota(place.lanes), place.step), ElementType::kS32);
  return b_.Element(Opcode::kAdd, ElementType::kS32, {base, lanes});
}

Value Fold::HasBitsOf(Value x, Value y) const {
  const ElementType type = b_.type(x).element;
  ElementAttrs attrs;
  attrs.direction = ComparisonDirection::kEq;
  if (IsFloat(type)) {
    x = b_.Element(Opcode::kBitcastConvert, BitsOf(type), {x});
    y = b_.Element(Opcode::kBitcastConvert, BitsOf(type), {y});
  }
  return b_.Element(Opcode::kCompare, ElementType::kPred, {x, y}, attrs);
}

absl::StatusOr<Values> Fold::CombineInOrder(Values a, const Values& b) const {
  if (is_wide()) return Values{b_.Element(*simple_, carried_, {a[0], b[0]})};
  if (!has_positions()) {
    a.insert(a.end(), b.begin(), b.end());
    return emitter_.EmitRegion(region_, a);
  }
  Values arguments(a.begin(), a.end() - 1);
  arguments.insert(arguments.end(), b.begin(), b.end() - 1);
  ASSIGN_OR_RETURN(Values chosen, emitter_.EmitRegion(region_, arguments));
  const bool first = ties_ == TieOrder::kFirst;
  Value is_favourite = tile::kNoValue;
  for (size_t i = 0; i < count_; ++i) {
    const Value same = HasBitsOf(chosen[i], first ? a[i] : b[i]);
    is_favourite = i == 0 ? same : b_.And(is_favourite, same);
  }
  chosen.push_back(first ? b_.Select(is_favourite, a.back(), b.back())
                         : b_.Select(is_favourite, b.back(), a.back()));
  return chosen;
}

absl::StatusOr<Values> Fold::Combine(Values a, Values b) const {
  if (has_positions()) {
    const Value swap = b_.Less(b.back(), a.back());
    for (size_t i = 0; i < a.size(); ++i) {
      const Value before = b_.Select(swap, b[i], a[i]);
      b[i] = b_.Select(swap, a[i], b[i]);
      a[i] = before;
    }
  }
  return CombineInOrder(std::move(a), b);
}

absl::StatusOr<Values> Fold::Lanes(Values values) const {
  while (b_.lanes(values[0]) > 1) {
    const int half = b_.lanes(values[0]) / 2;
    std::vector<int16_t> low, high;
    for (int lane = 0; lane < half; ++lane) {
      low.push_back(static_cast<int16_t>(lane));
      high.push_back(static_cast<int16_t>(half + lane));
    }
    Values a, b;
    for (const Value v : values) a.push_back(b_.Shuffle(v, v, low));
    for (const Value v : values) b.push_back(b_.Shuffle(v, v, high));
    ASSIGN_OR_RETURN(values, Combine(std::move(a), std::move(b)));
  }
  return values;
}

}  // namespace hlo::cpu
