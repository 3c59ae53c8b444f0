// sort (always stable), topk, and scan.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "lib/eval/eval_internal.h"
#include "lib/eval/region_runner.h"
#include "lib/eval/strided.h"
#include "lib/eval/topk.h"
#include "lib/math/rounding.h"

namespace hlo {
namespace {

// Those of IEEE 754 floats whose bits an Int has. Their widening would make quiet NaNs of
// signalling ones, which lie elsewhere.
template <class Int>
std::vector<int64_t> KeysOfBits(const Literal& literal) {
  std::vector<int64_t> keys(static_cast<size_t>(literal.element_count()));
  for (size_t i = 0; i < keys.size(); ++i) {
    Int bits;
    std::memcpy(&bits, literal.data() + i * sizeof(Int), sizeof(Int));
    keys[i] = bits < 0 ? bits ^ std::numeric_limits<Int>::max() : bits;
  }
  return keys;
}

// Integers that order the elements: by value, floats in total order.
std::vector<int64_t> OrderKeys(const Literal& literal) {
  const ElementType type = literal.element_type();
  if (type == ElementType::kF32) return KeysOfBits<int32_t>(literal);
  if (type == ElementType::kF16 || type == ElementType::kBF16) return KeysOfBits<int16_t>(literal);
  const int64_t count = literal.element_count();
  std::vector<int64_t> keys(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    int64_t& key = keys[static_cast<size_t>(i)];
    if (IsFloat(type)) {
      // Widening keeps the order, signs of NaNs included.
      key = math::TotalOrderKey(literal.GetDouble(i));
    } else {
      key = literal.GetInt(i);
      if (type == ElementType::kU64)
        key = static_cast<int64_t>(static_cast<uint64_t>(key) ^ (uint64_t{1} << 63));
    }
  }
  return keys;
}

// Slices along one dimension.
struct Lines {
  int64_t length, stride;
  std::vector<int64_t> starts;
};
Lines LinesOf(Shape shape, int64_t dimension) {
  DimVec dims(shape.dims().begin(), shape.dims().end());
  const DimVec strides = RowMajorStrides(dims);
  Lines lines{dims[static_cast<size_t>(dimension)], strides[static_cast<size_t>(dimension)], {}};
  dims[static_cast<size_t>(dimension)] = 1;
  lines.starts = AllOffsets(dims, strides);
  return lines;
}

void ApplyOrder(const std::vector<int64_t>& order, const Lines& lines, int64_t start,
                const Literal& from, Literal& to) {
  const int bytes = ByteSize(from.element_type());
  std::vector<int64_t> sources(order.size());
  std::vector<uint8_t> line(order.size() * static_cast<size_t>(bytes));
  for (size_t i = 0; i < order.size(); ++i) sources[i] = order[i] * lines.stride;
  GatherElements(bytes, ElementPtr(from, start), sources.data(), static_cast<int64_t>(order.size()),
                 line.data());
  for (size_t i = 0; i < order.size(); ++i) sources[i] = static_cast<int64_t>(i) * lines.stride;
  ScatterElements(bytes, line.data(), sources.data(), static_cast<int64_t>(order.size()),
                  to.mutable_data() + start * bytes);
}

// The comparator is `key <` or `key >` on a total order: sorting keys is enough. Gives the operand,
// and whether it descends.
struct KeySort {
  size_t operand;
  bool descending;
};
std::optional<KeySort> AsKeySort(const RegionProgram* program, absl::Span<const Literal> operands) {
  if (program == nullptr || !program->simple_compare().has_value()) return std::nullopt;
  const auto& compare = *program->simple_compare();
  if (compare.lhs / 2 != compare.rhs / 2 || compare.lhs == compare.rhs) return std::nullopt;
  const size_t operand = static_cast<size_t>(compare.lhs / 2);
  const ElementType type = operands[operand].element_type();
  if (IsComplex(type) || (IsFloat(type) && compare.order != ComparisonType::kTotalOrder))
    return std::nullopt;
  bool descending = compare.direction == ComparisonDirection::kGt;
  if (!descending && compare.direction != ComparisonDirection::kLt) return std::nullopt;
  if (compare.lhs > compare.rhs) descending = !descending;
  return KeySort{operand, descending};
}

}  // namespace

EvalResult EvalSort(EvalContext& c) {
  const int64_t dimension = c.attrs<SortAttrs>().dimensions.value;
  const Lines lines = LinesOf(c.operand(0).shape(), dimension);
  ASSIGN_OR_RETURN(RegionRunner runner, RegionRunner::Make(c.evaluator, *c.instruction.to_apply()));
  RETURN_IF_ERROR(
      c.evaluator.Spend(c.operand(0).element_count() *
                        static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(lines.length)))));
  const std::optional<KeySort> key_sort = AsKeySort(runner.program(), c.operands);
  std::vector<int64_t> keys;
  if (key_sort.has_value()) keys = OrderKeys(c.operands[key_sort->operand]);

  const std::vector<Literal> originals = c.operands;
  std::vector<Literal> results = c.operands;
  c.operands.clear();
  std::vector<int64_t> order(static_cast<size_t>(lines.length));
  std::vector<const uint8_t*> parameters(2 * originals.size());
  absl::Status status;
  for (int64_t start : lines.starts) {
    std::iota(order.begin(), order.end(), 0);
    if (key_sort.has_value()) {
      const auto key = [&](int64_t i) {
        return keys[static_cast<size_t>(start + i * lines.stride)];
      };
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        return key_sort->descending ? key(i) > key(j) : key(i) < key(j);
      });
    } else {
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        if (!status.ok()) return false;
        for (size_t k = 0; k < originals.size(); ++k) {
          parameters[2 * k] = ElementPtr(originals[k], start + i * lines.stride);
          parameters[2 * k + 1] = ElementPtr(originals[k], start + j * lines.stride);
        }
        uint8_t before = 0;
        status = runner.Run(parameters.data(), {&before}, 1);
        return before != 0;
      });
      RETURN_IF_ERROR(status);
    }
    for (size_t k = 0; k < originals.size(); ++k)
      ApplyOrder(order, lines, start, originals[k], results[k]);
  }
  return c.instruction.shape().IsTuple() ? Literal::Tuple(std::move(results))
                                         : std::move(results[0]);
}

Literal TopKOf(const Literal& operand, int64_t k, bool largest) {
  const std::vector<int64_t> keys = OrderKeys(operand);
  DimVec dims = Dims(operand);
  const int64_t length = dims.back();
  k = std::min(k, length);  // a dynamic dimension may have fewer
  dims.back() = k;
  Literal values(Shape::Array(operand.element_type(), dims)),
      places(Shape::Array(ElementType::kS32, dims));
  const int64_t rows = length == 0 ? 0 : operand.element_count() / length;
  const int bytes = ByteSize(operand.element_type());
  std::vector<int64_t> order(static_cast<size_t>(length));
  for (int64_t row = 0; row < rows; ++row) {
    std::iota(order.begin(), order.end(), row * length);
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t i, int64_t j) {
      const int64_t a = keys[static_cast<size_t>(i)], b = keys[static_cast<size_t>(j)];
      return a != b ? (largest ? a > b : a < b) : i < j;
    });
    GatherElements(bytes, operand.data(), order.data(), k, values.mutable_data() + row * k * bytes);
    for (int64_t i = 0; i < k; ++i) {
      places.mutable_values<int32_t>()[static_cast<size_t>(row * k + i)] =
          static_cast<int32_t>(order[static_cast<size_t>(i)] - row * length);
    }
  }
  return Literal::Tuple({std::move(values), std::move(places)});
}

EvalResult EvalTopK(EvalContext& c) {
  const TopKAttrs& attrs = c.attrs<TopKAttrs>();
  if (IsComplex(c.operand(0).element_type()))
    return Unsupported(c.loc(), "complex numbers have no order: `topk`");
  return TopKOf(c.operand(0), attrs.k, attrs.largest);
}

namespace {

// Steps may be given, and give, floats of another width than they take and the result has.
Literal InType(Literal value, Shape like) {
  if (value.element_type() == like.element_type()) return value;
  return ConvertLiteral(value, like.element_type());
}

}  // namespace

EvalResult EvalScan(EvalContext& c) {
  const ScanAttrs& attrs = c.attrs<ScanAttrs>();
  const size_t carries = static_cast<size_t>(attrs.num_carries),
               inputs = c.operands.size() - carries;
  const size_t d = static_cast<size_t>(attrs.dimensions.value);
  const Shape declared = c.instruction.shape();
  std::vector<Shape> shapes;
  if (declared.IsTuple()) {
    shapes.assign(declared.elements().begin(), declared.elements().end());
  } else {
    shapes = {declared};
  }
  const size_t outputs = shapes.size() - carries;
  if (inputs == 0 && outputs == 0)
    return Error(c.loc(), "`scan` without inputs and outputs has no length");
  const int64_t length = inputs > 0 ? c.operand(0).shape().dim(static_cast<int>(d))
                                    : shapes[0].dim(static_cast<int>(d));
  std::vector<Literal> stacked;
  for (size_t k = 0; k < outputs; ++k) {
    stacked.emplace_back(shapes[k].WithDim(static_cast<int>(d), length).WithoutDynamic());
  }
  std::vector<Literal> state(c.operands.begin() + static_cast<std::ptrdiff_t>(inputs),
                             c.operands.end());
  for (int64_t i = 0; i < length; ++i) {
    const int64_t t = attrs.is_reverse ? length - 1 - i : i;
    std::vector<Literal> arguments;
    for (size_t k = 0; k < inputs; ++k) {
      DimVec dims = Dims(c.operands[k]);
      const DimVec strides = RowMajorStrides(dims);
      DimVec slice_dims = dims, slice_strides = strides;
      slice_dims.erase(slice_dims.begin() + static_cast<std::ptrdiff_t>(d));
      slice_strides.erase(slice_strides.begin() + static_cast<std::ptrdiff_t>(d));
      Literal slice(Shape::Array(c.operands[k].element_type(), slice_dims));
      if (slice.element_count() > 0) {
        RunStridedCopy({slice_dims, slice_strides, RowMajorStrides(slice_dims)},
                       ByteSize(slice.element_type()), ElementPtr(c.operands[k], t * strides[d]),
                       slice.mutable_data());
      }
      arguments.push_back(std::move(slice));
    }
    for (Literal& value : state) arguments.push_back(std::move(value));
    const Computation& step = *c.instruction.to_apply();
    for (size_t k = 0; k < arguments.size(); ++k) {
      arguments[k] = InType(std::move(arguments[k]), step.parameter(static_cast<int>(k))->shape());
    }
    ASSIGN_OR_RETURN(Literal value, c.evaluator.Evaluate(step, std::move(arguments)));
    std::vector<Literal> parts;
    if (value.shape().IsTuple()) {
      parts = std::move(value.mutable_elements());
    } else {
      parts.push_back(std::move(value));
    }
    RET_CHECK(parts.size() == shapes.size(), "`{}` scans {} values, its region gives {}",
              c.instruction.name(), shapes.size(), parts.size());
    for (size_t k = 0; k < parts.size(); ++k) parts[k] = InType(std::move(parts[k]), shapes[k]);
    for (size_t k = 0; k < outputs; ++k) {
      DimVec to = RowMajorStrides(stacked[k].shape().dims());
      const int64_t first = t * to[d];
      to.erase(to.begin() + static_cast<std::ptrdiff_t>(d));
      if (parts[k].element_count() == 0) continue;
      RunStridedCopy({Dims(parts[k]), RowMajorStrides(parts[k].shape().dims()), to},
                     ByteSize(parts[k].element_type()), parts[k].data(),
                     stacked[k].mutable_data() + first * ByteSize(parts[k].element_type()));
    }
    for (size_t k = 0; k < carries; ++k) state[k] = std::move(parts[outputs + k]);
  }
  for (size_t k = 0; k < carries; ++k)
    stacked.push_back(InType(std::move(state[k]), shapes[outputs + k]));  // of no steps at all
  return declared.IsTuple() ? Literal::Tuple(std::move(stacked)) : std::move(stacked[0]);
}

}  // namespace hlo
