#include "lib/analysis/device_values.h"

#include <algorithm>

#include "lib/ops/opcode_set.h"

namespace hlo {
namespace {

constexpr int kMaxDepth = 32;  // of what such values are computed from

using MaybeInt = std::optional<int64_t>;

// Wrapped to the type's width.
int64_t WrapTo(ElementType type, int64_t value) {
  Literal wrapped(Shape::Scalar(type));
  wrapped.SetInt(0, value);
  return wrapped.GetInt(0);
}

MaybeInt BinaryValue(Opcode opcode, int64_t x, int64_t y) {
  const auto a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
  if (opcode == Opcode::kAdd) return static_cast<int64_t>(a + b);
  if (opcode == Opcode::kSubtract) return static_cast<int64_t>(a - b);
  if (opcode == Opcode::kMultiply) return static_cast<int64_t>(a * b);
  if (opcode == Opcode::kMinimum) return std::min(x, y);
  if (opcode == Opcode::kMaximum) return std::max(x, y);
  if (opcode == Opcode::kAnd) return x & y;
  if (x < 0 || y <= 0) return std::nullopt;
  if (opcode == Opcode::kDivide) return x / y;
  if (opcode == Opcode::kRemainder) return x % y;
  return std::nullopt;
}

// What has the element of its operand, if that has one.
constexpr OpcodeSet kSameElement = {Opcode::kReshape, Opcode::kBitcast, Opcode::kCopy,
                                    Opcode::kBroadcast, Opcode::kSlice};

class DeviceEvaluator {
 public:
  DeviceEvaluator(DeviceId device, std::optional<LoopCounter> counter)
      : device_(device), counter_(counter) {}

  MaybeInt Of(const Instruction& x, int depth = 0) const {
    const Shape shape = x.shape();
    if (depth > kMaxDepth || !shape.IsArray() || !shape.IsEffectiveScalar() ||
        !IsInteger(shape.element_type()))
      return std::nullopt;
    const auto operand = [&](int i) { return Of(*x.operand(i), depth + 1); };
    const Opcode opcode = x.opcode();
    if (opcode == Opcode::kReplicaId) return device_.replica;
    if (opcode == Opcode::kPartitionId) return device_.partition;
    if (opcode == Opcode::kDynamicSlice) return TableEntry(x, depth);
    if (opcode == Opcode::kGetTupleElement) return CounterValue(x);
    if (x.IsConstant()) return x.literal().is_elided() ? MaybeInt() : x.literal().GetInt(0);
    if (kSameElement.Has(opcode))
      return x.operand(0)->shape().IsEffectiveScalar() ? operand(0) : MaybeInt();
    if (opcode == Opcode::kConvert) {
      const MaybeInt value = operand(0);
      return value ? WrapTo(shape.element_type(), *value) : MaybeInt();
    }
    if (x.operand_count() != 2) return std::nullopt;
    const MaybeInt a = operand(0), b = operand(1);
    if (!a || !b) return std::nullopt;
    const MaybeInt value = BinaryValue(x.opcode(), *a, *b);
    return value ? WrapTo(shape.element_type(), *value) : MaybeInt();
  }

 private:
  MaybeInt CounterValue(const Instruction& element) const {
    const bool counts = counter_ && element.operand(0)->opcode() == Opcode::kParameter &&
                        element.tuple_index() == counter_->index;
    return counts ? counter_->value : MaybeInt();
  }
  // One element of a constant.
  MaybeInt TableEntry(const Instruction& slice, int depth) const {
    const Instruction& table = *slice.operand(0);
    if (!table.IsConstant() || table.literal().is_elided()) return std::nullopt;
    DimVec index;
    for (int d = 0; d < table.shape().rank(); ++d) {
      if (d + 1 >= slice.operand_count()) return std::nullopt;
      const MaybeInt start = Of(*slice.operand(d + 1), depth + 1);
      if (!start) return std::nullopt;
      index.push_back(std::clamp<int64_t>(*start, 0, table.shape().dim(d) - 1));
    }
    return table.literal().GetInt(LinearIndex(index, table.shape().dims()));
  }

  DeviceId device_;
  std::optional<LoopCounter> counter_;
};

}  // namespace

std::optional<int64_t> DeviceValue(const Instruction& x, DeviceId device,
                                   std::optional<LoopCounter> counter) {
  return DeviceEvaluator(device, counter).Of(x);
}

}  // namespace hlo
