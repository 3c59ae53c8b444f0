// reduce: lanes are result elements, steps are the reduced elements in row-major order. So a region
// of any size runs over blocks, and every result element sees its elements in the order that the
// definition gives.
#include <cstring>
#include <functional>
#include <memory>
#include <optional>

#include "lib/eval/elementwise.h"
#include "lib/eval/eval_internal.h"
#include "lib/eval/region.h"
#include "lib/eval/strided.h"
#include "lib/eval/wide_region.h"

namespace hlo {
namespace {

constexpr int64_t kLanes = RegionProgram::kLanes;

// How the elements of the operands are spread over result elements (kept) and steps (reduced).
struct Spread {
  DimVec kept_dims, kept_strides;
  DimVec reduced_dims, reduced_strides;
};
Spread SpreadOf(Shape operand, absl::Span<const int64_t> dimensions) {
  Spread spread;
  const DimVec strides = RowMajorStrides(operand.dims());
  for (int d = 0; d < operand.rank(); ++d) {
    const bool is_reduced = std::find(dimensions.begin(), dimensions.end(), d) != dimensions.end();
    (is_reduced ? spread.reduced_dims : spread.kept_dims).push_back(operand.dim(d));
    (is_reduced ? spread.reduced_strides : spread.kept_strides)
        .push_back(strides[static_cast<size_t>(d)]);
  }
  return spread;
}

// Combines by `combine` in f64 and rounds once.
template <class Combine>
Literal FoldInDouble(const Literal& operand, const Literal& init, const Spread& spread, Shape shape,
                     Combine combine) {
  const int64_t count = operand.element_count();
  std::vector<double> values(static_cast<size_t>(count));
  const Codec load = FindLoad(operand.element_type(), ElementType::kF64);
  if (load == nullptr) {
    if (count > 0)
      std::memcpy(values.data(), operand.data(), static_cast<size_t>(count) * sizeof(double));
  } else {
    load(operand.data(), count, reinterpret_cast<uint8_t*>(values.data()));
  }
  Literal folded(shape.WithElementType(ElementType::kF64));
  double* out = folded.mutable_values<double>().data();
  const double start = init.GetDouble();
  ForEachOffset(spread.kept_dims, spread.kept_strides, [&](int64_t base) {
    double result = start;
    ForEachOffset(spread.reduced_dims, spread.reduced_strides, [&](int64_t offset) {
      result = combine(result, values[static_cast<size_t>(base + offset)]);
    });
    *out++ = result;
  });
  // One rounding to the result type, also for bf16 and f16.
  Literal result(shape);
  const Codec store = FindStore(ElementType::kF64, shape.element_type());
  if (store != nullptr) {
    store(folded.data(), result.element_count(), result.mutable_data());
    return result;
  }
  return ConvertLiteral(folded, shape.element_type());
}

// The region without a program: one evaluation per element.
absl::Status ReduceByEvaluation(EvalContext& c, const Spread& spread,
                                std::vector<Literal>& results) {
  const size_t n = c.operands.size() / 2;
  int64_t out = 0;
  for (int64_t base : AllOffsets(spread.kept_dims, spread.kept_strides)) {
    std::vector<Literal> accumulators(c.operands.begin() + static_cast<std::ptrdiff_t>(n),
                                      c.operands.end());
    for (int64_t step : AllOffsets(spread.reduced_dims, spread.reduced_strides)) {
      std::vector<Literal> arguments = accumulators;
      for (size_t k = 0; k < n; ++k) arguments.push_back(c.operands[k].ElementAt(base + step));
      ASSIGN_OR_RETURN(Literal value,
                       c.evaluator.Evaluate(*c.instruction.to_apply(), std::move(arguments)));
      if (value.shape().IsTuple()) {
        accumulators = value.elements();
      } else {
        accumulators = {value};
      }
    }
    for (size_t k = 0; k < n; ++k) {
      const Literal value = ConvertLiteral(accumulators[k], results[k].element_type());
      const int bytes = ByteSize(results[k].element_type());
      std::memcpy(results[k].mutable_data() + out * bytes, value.data(),
                  static_cast<size_t>(bytes));
    }
    ++out;
  }
  return absl::OkStatus();
}

// Operands and results have the types of the region's parameters.
void ReduceByProgram(const RegionProgram& program, absl::Span<const Literal> inputs,
                     absl::Span<const Literal> inits, const Spread& spread,
                     std::vector<Literal>& results) {
  const size_t n = inputs.size();
  const std::vector<int64_t> kept = AllOffsets(spread.kept_dims, spread.kept_strides);
  const std::vector<int64_t> steps = AllOffsets(spread.reduced_dims, spread.reduced_strides);
  std::vector<std::vector<uint8_t>> elements(n);
  std::vector<const uint8_t*> parameters(2 * n);
  std::vector<uint8_t*> accumulators(n);
  for (size_t k = 0; k < n; ++k)
    elements[k].resize(static_cast<size_t>(kLanes * ByteSize(inputs[k].element_type())));
  for (int64_t begin = 0; begin < static_cast<int64_t>(kept.size()); begin += kLanes) {
    const int64_t lanes = std::min<int64_t>(kLanes, static_cast<int64_t>(kept.size()) - begin);
    const int64_t* offsets = kept.data() + begin;
    const bool contiguous = offsets[lanes - 1] - offsets[0] == lanes - 1;
    for (size_t k = 0; k < n; ++k) {
      const int bytes = ByteSize(results[k].element_type());
      accumulators[k] = results[k].mutable_data() + begin * bytes;
      FillElements(inits[k].data(), bytes, accumulators[k], lanes);
      parameters[k] = accumulators[k];
    }
    for (int64_t step : steps) {
      for (size_t k = 0; k < n; ++k) {
        const int bytes = ByteSize(inputs[k].element_type());
        if (contiguous) {
          parameters[n + k] = inputs[k].data() + (offsets[0] + step) * bytes;
        } else {
          GatherElements(bytes, ElementPtr(inputs[k], step), offsets, lanes, elements[k].data());
          parameters[n + k] = elements[k].data();
        }
      }
      program.Run(parameters.data(), accumulators.data(), lanes);
    }
  }
}

bool IsFoldedInDouble(const RegionProgram& program, const Literal& operand, const Literal& init) {
  return IsCarriedInDouble(program.simple_binary(), operand.element_type()) &&
         operand.element_type() == init.element_type() &&
         program.result_type(0) == operand.element_type();
}

}  // namespace

EvalResult EvalReduce(EvalContext& c) {
  const size_t n = c.operands.size() / 2;
  std::optional<Module> scratch;
  const bool is_wide = HasWideRegion(c.instruction);
  if (is_wide) scratch.emplace("wide");
  const Computation& region =
      is_wide ? *AddWideRegion(*scratch, *c.instruction.to_apply()) : *c.instruction.to_apply();
  const Spread spread = SpreadOf(c.operand(0).shape(), c.attrs<ReduceAttrs>().dimensions);
  RETURN_IF_ERROR(c.evaluator.Spend(static_cast<int64_t>(n) * c.operand(0).element_count()));
  std::unique_ptr<RegionProgram> wide_program;  // not in the cache, which knows it by its address
  if (is_wide) {
    ASSIGN_OR_RETURN(wide_program, RegionProgram::Compile(region));
  }
  const RegionProgram* program = wide_program.get();
  if (!is_wide) {
    ASSIGN_OR_RETURN(program, c.evaluator.Region(region));
  }
  const Shape declared = c.instruction.shape();
  if (n == 1 && program != nullptr && declared.IsArray() &&
      IsFoldedInDouble(*program, c.operand(0), c.operand(1))) {
    const Shape shape = c.ResultShape(spread.kept_dims);
    if (program->simple_binary() == Opcode::kAdd)
      return FoldInDouble(c.operand(0), c.operand(1), spread, shape, std::plus<>());
    return FoldInDouble(c.operand(0), c.operand(1), spread, shape, std::multiplies<>());
  }
  // The region's parameters say in which types it computes.
  std::vector<Literal> results;
  for (size_t k = 0; k < n; ++k) {
    const ElementType accumulator = region.parameter(static_cast<int>(k))->shape().element_type();
    const ElementType element = region.parameter(static_cast<int>(n + k))->shape().element_type();
    c.operands[k] = ConvertLiteral(c.operands[k], element);
    c.operands[n + k] = ConvertLiteral(c.operands[n + k], accumulator);
    results.emplace_back(Shape::Array(accumulator, spread.kept_dims));
  }
  if (program == nullptr) {
    RETURN_IF_ERROR(ReduceByEvaluation(c, spread, results));
  } else {
    const absl::Span<const Literal> all = c.operands;
    ReduceByProgram(*program, all.subspan(0, n), all.subspan(n), spread, results);
  }
  for (size_t k = 0; k < n; ++k) {
    const Shape shape = declared.IsTuple() ? declared.element(static_cast<int>(k)) : declared;
    results[k] = ConvertLiteral(results[k], shape.element_type());
    if (results[k].shape().dims() == shape.dims() && !shape.has_dynamic_dims())
      results[k] = results[k].WithShapeLayout(shape);
  }
  return declared.IsTuple() ? Literal::Tuple(std::move(results)) : std::move(results[0]);
}

}  // namespace hlo
