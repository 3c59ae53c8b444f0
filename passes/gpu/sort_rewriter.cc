#include "passes/gpu/sort_rewriter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lib/match/pattern.h"
#include "lib/types/shape_util.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_config.h"
#include "passes/util/unsigned_type.h"

namespace hlo {
namespace {

constexpr int64_t kMostForOwnKernel = 16'384;  // which a kernel of ours sorts as fast
constexpr int64_t kBoundBytes = 4;             // of a row
constexpr int64_t kAny = INT64_MAX;

// Where CUB is faster for elements of `bits`: more than `more_rows` rows, at most `rows`, each of
// more than `longer` elements and less than `shorter`.
struct FasterSorts {
  int bits;
  int64_t more_rows, rows;
  int64_t longer, shorter = kAny;
  int64_t rows_of_multiprocessor = kAny;  // at most
};
constexpr FasterSorts kFasterOnAmpere[] = {
    {8, 0, 1, 0},
    {8, 5, kAny, 1000},
    {8, 0, kAny, 1000, 43'000},
    {16, 0, 1, 1 << 16},
    {16, 9, kAny, 1 << 17},
    {16, 13, kAny, 1 << 13},
    {16, 27, kAny, 1 << 12},
    {16, 54, kAny, 1 << 11},
    {32, 0, 1, 1 << 15},
    {32, 24, kAny, 1 << 17},
    {32, 30, kAny, 1 << 16},
    {32, 36, kAny, 1 << 15},
    {32, 39, kAny, 1 << 14},
    {32, 52, kAny, 1 << 13},
    {32, 144, kAny, 1 << 12},
    {64, 0, 1, 1 << 16},
    {64, 46, kAny, 1 << 17},
    {64, 55, kAny, 1 << 16},
    {64, 72, kAny, 1 << 15},
    {64, 138, kAny, 1 << 14, kAny, 2},
    {64, 289, kAny, 1 << 14},
};
constexpr FasterSorts kFasterOnHopper[] = {
    {8, 0, 1, 0},
    {8, 8, kAny, 1300},
    {8, 0, kAny, 1300, 26'000},
    {16, 0, 1, 1 << 9},
    {16, 12, kAny, 1 << 16},
    {16, 14, kAny, 1 << 15},
    {16, 16, kAny, 1 << 14},
    {16, 18, kAny, 1 << 13},
    {16, 33, kAny, 1 << 12},
    {16, 66, kAny, 1 << 11},
    {32, 0, 1, 22'000},
    {32, 26, kAny, 1 << 17},
    {32, 31, kAny, 1 << 16},
    {32, 38, kAny, 1 << 15},
    {32, 44, kAny, 1 << 14},
    {32, 52, kAny, 1 << 13},
    {32, 88, kAny, 1 << 12, kAny, 1},
    {64, 0, 1, 1 << 17},
    {64, 55, kAny, 1 << 17},
    {64, 70, kAny, 1 << 16},
    {64, 92, kAny, 1 << 15},
    {64, 160, kAny, 1 << 14, kAny, 2},
    {64, 354, kAny, 1 << 14},
};

// Empty: there are no measurements of it.
std::span<const FasterSorts> MeasuredOn(const GpuDevice& device) {
  const std::string generation = ComputeCapabilityOf(device.target);
  if (generation.starts_with("8.")) return kFasterOnAmpere;
  if (generation.starts_with("9.") || generation.starts_with("10.")) return kFasterOnHopper;
  return {};
}

bool IsFasterByCub(Shape shape, const GpuDevice& device) {
  const int64_t elements = Product(shape.dims());
  if (elements == 0) return false;
  const std::span<const FasterSorts> measured = MeasuredOn(device);
  if (measured.empty()) return elements > kMostForOwnKernel;
  const int64_t length = shape.dim(shape.rank() - 1), rows = elements / length;
  return std::any_of(measured.begin(), measured.end(), [&](const FasterSorts& row) {
    return BitWidth(shape.element_type()) == row.bits && rows > row.more_rows && rows <= row.rows &&
           length > row.longer && length < row.shorter &&
           (row.rows_of_multiprocessor == kAny ||
            rows <= row.rows_of_multiprocessor * device.multiprocessors);
  });
}

// What a region does for CUB.
struct RadixOrder {
  int key = 0;  // operand
  bool descending = false;
  bool one_zero_one_nan = false;
};

// The parameter of which `key` makes all zeros one and all NaNs one.
const Instruction* WithOneZeroAndNan(const Instruction* key) {
  Instruction *p, *nan, *is_nan, *is_zero;
  if (!Match(key, m::Select(m::Compare(&is_nan, m::Parameter(&p), m::Same(&p)), m::Constant(&nan),
                            m::Select(m::Compare(&is_zero, m::Same(&p), m::Zero()), m::Zero(),
                                      m::Same(&p)))) ||
      is_nan->attrs<CompareAttrs>().direction != ComparisonDirection::kNe ||
      is_zero->attrs<CompareAttrs>().direction != ComparisonDirection::kEq ||
      !IsFloat(nan->shape().element_type()) || nan->literal().is_elided() ||
      !nan->shape().IsScalar() || !std::isnan(nan->literal().GetDouble()))
    return nullptr;
  return p;
}

std::optional<RadixOrder> OrderOf(const Computation& region) {
  const Instruction& root = *region.root();
  if (root.opcode() != Opcode::kCompare) return std::nullopt;
  RadixOrder order;
  const Instruction *a = root.operand(0), *b = root.operand(1);
  if (a->opcode() != Opcode::kParameter || b->opcode() != Opcode::kParameter) {
    order.one_zero_one_nan = true;
    a = WithOneZeroAndNan(a);
    b = WithOneZeroAndNan(b);
    if (a == nullptr || b == nullptr ||
        root.attrs<CompareAttrs>().type != ComparisonType::kTotalOrder)
      return std::nullopt;
  }
  const auto first = static_cast<int>(std::min(a->parameter_number(), b->parameter_number()));
  const auto last = static_cast<int>(std::max(a->parameter_number(), b->parameter_number()));
  if (first % 2 != 0 || last != first + 1) return std::nullopt;
  order.key = first / 2;
  const bool in_order = a->parameter_number() == first;
  const bool pairs = region.parameter_count() > 2;
  switch (root.attrs<CompareAttrs>().direction) {
    case ComparisonDirection::kLt: order.descending = !in_order; return order;
    case ComparisonDirection::kGt: order.descending = in_order; return order;
    case ComparisonDirection::kLe:
      order.descending = !in_order;
      return pairs ? std::nullopt : std::optional(order);
    case ComparisonDirection::kGe:
      order.descending = in_order;
      return pairs ? std::nullopt : std::optional(order);
    case ComparisonDirection::kEq:
    case ComparisonDirection::kNe: return std::nullopt;
  }
  return std::nullopt;
}

bool IsKeyType(ElementType type) {
  constexpr ElementType kFloats[] = {ElementType::kF16, ElementType::kBF16, ElementType::kF32,
                                     ElementType::kF64};
  return (IsInteger(type) && BitWidth(type) >= 8) ||
         std::find(std::begin(kFloats), std::end(kFloats), type) != std::end(kFloats);
}

bool IsValueType(ElementType type) {
  const int bits = BitWidth(type);
  return bits == 16 || bits == 32 || bits == 64;
}

bool IsAlongRows(const Instruction& sort) {
  const Shape shape = sort.operand(0)->shape();
  const int last = shape.rank() - 1;
  if (last < 0 || sort.attrs<SortAttrs>().dimensions.value != last) return false;
  for (const Instruction* operand : sort.operands()) {
    if (operand->shape().has_dynamic_dims() || operand->shape().layout() != shape.layout() ||
        operand->shape().layout().minor_to_major[0] != last)
      return false;
  }
  return true;
}

// Unsigned integers in the order of `x`, in which all zeros are one and all NaNs are the last.
Instruction* KeysOf(Instruction* x, Rewriter& b) {
  const ElementType type = x->shape().element_type();
  const ElementType unsigned_type = *UnsignedOfWidth(BitWidth(type));
  Instruction* const zero = b.ZeroLike(x);
  Instruction* const one_zero = b.Select(b.Compare(x, zero, ComparisonDirection::kEq), zero, x);
  Instruction* const one_nan = b.Select(b.Compare(x, x, ComparisonDirection::kNe),
                                        b.ConstantLike(x, std::nan("")), one_zero);
  Instruction* const bits = b.BitcastConvert(one_nan, x->shape().WithElementType(unsigned_type));
  Instruction* const sign = b.ConstantLike(bits, std::ldexp(1.0, BitWidth(type) - 1));
  return b.Select(b.Compare(one_nan, zero, ComparisonDirection::kLt), b.Not(bits),
                  b.Xor(bits, sign));
}

}  // namespace

bool SortRewriter::Matches(const Instruction& instruction) const {
  const int operands = instruction.operand_count();
  if (operands < 1 || operands > 2 || !IsAlongRows(instruction)) return false;
  if (options_.mode != "always" &&
      !IsFasterByCub(instruction.operand(0)->shape(), *FindGpuDevice(options_.device)))
    return false;
  const std::optional<RadixOrder> order = OrderOf(*instruction.to_apply());
  if (!order) return false;
  const ElementType key = instruction.operand(order->key)->shape().element_type();
  if (!IsKeyType(key)) return false;
  if (order->one_zero_one_nan) return operands == 1 && IsFloat(key);
  return operands == 1 || IsValueType(instruction.operand(1 - order->key)->shape().element_type());
}

absl::StatusOr<Instruction*> SortRewriter::Expand(Instruction* sort, Rewriter& rewriter) {
  const RadixOrder order = *OrderOf(*sort->to_apply());
  Instruction* const sorted = sort->operand(order.key);
  std::vector<Instruction*> operands = {order.one_zero_one_nan ? KeysOf(sorted, rewriter) : sorted};
  if (order.one_zero_one_nan) operands.push_back(sorted);
  if (sort->operand_count() == 2) operands.push_back(sort->operand(1 - order.key));
  RETURN_IF_ERROR(rewriter.status());
  std::vector<Shape> shapes;
  int64_t workspace = 0;
  for (const Instruction* operand : operands) {
    shapes.push_back(operand->shape());
    workspace += operand->shape().byte_size();
  }
  const Shape shape = sorted->shape();
  const int64_t row = shape.dim(shape.rank() - 1);
  const int64_t rows = row == 0 ? 0 : Product(shape.dims()) / row;
  if (rows > 1) workspace += (rows + 1) * kBoundBytes;
  shapes.push_back(Shape::Array(ElementType::kU8, {workspace}));
  CustomCallAttrs attrs;
  attrs.custom_call_target = std::string(kRadixSortCall);
  Instruction* const call = rewriter.OpWithShape(Opcode::kCustomCall, Shape::Tuple(shapes),
                                                 operands, AttrsPtr::Make(std::move(attrs)));
  call->mutable_extras().backend_config = WholeJson(RadixSortConfig{order.descending, {}});
  if (order.one_zero_one_nan) return rewriter.GetTupleElement(call, 1);
  if (sort->operand_count() == 1) return rewriter.GetTupleElement(call, 0);
  return rewriter.Tuple(
      {rewriter.GetTupleElement(call, order.key), rewriter.GetTupleElement(call, 1 - order.key)});
}

HLO_DEFINE_PASS(SortRewriter)

}  // namespace hlo
