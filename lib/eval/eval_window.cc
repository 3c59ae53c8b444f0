// reduce-window and select-and-scatter.
//
// reduce-window runs over blocks of result elements. For each window position, in row-major order,
// the lanes whose position exists are packed, combined and put back; positions in the padding are
// skipped. A window that covers everything up to its element, or from it on (a cumulative sum), is
// a running combination instead, which takes the same elements in the same order; a plain float sum
// is carried in f64. So are sums and products of narrow floats under any window.
#include <cstring>

#include "lib/eval/eval_internal.h"
#include "lib/eval/region_runner.h"
#include "lib/eval/strided.h"
#include "lib/eval/wide_values.h"
#include "lib/types/cumulative_window.h"
#include "lib/types/element_access.h"

namespace hlo {
namespace {

// The place in the operand of window position `position` at result index `out` of one dimension;
// -1: not there.
int64_t PlaceInWindow(const WindowDim& w, int64_t out, int64_t position, int64_t size) {
  const int64_t place = out * w.stride + position * w.window_dilation - w.pad_low;
  if (place < 0 || place % w.base_dilation != 0) return -1;
  const int64_t element = place / w.base_dilation;
  return element < size ? element : -1;
}

Window FilledWindow(Window window, int rank) {
  window.dims.resize(static_cast<size_t>(rank));
  return window;
}

// One reduce-window: operands and results have the types of the region's parameters.
struct WindowFold {
  RegionRunner& runner;
  const Window& window;
  Shape shape;  // of the operands
  absl::Span<const Literal> inputs;
  absl::Span<const Literal> inits;
  DimVec dims;  // of the results
  std::vector<Literal>& results;

  size_t n() const { return inputs.size(); }
  int64_t count() const { return Product(dims); }
  size_t ResultBytes(size_t k) const {
    return static_cast<size_t>(ByteSize(results[k].element_type()));
  }
  size_t InputBytes(size_t k) const {
    return static_cast<size_t>(ByteSize(inputs[k].element_type()));
  }

  // Calls fn(element, neighbour) in an order in which the neighbour, whose window is one element
  // smaller, comes first; -1 where the window is the element alone.
  template <class Fn>
  absl::Status ForEachCumulative(const CumulativeWindow& w, Fn&& fn) {
    const int64_t stride = RowMajorStrides(shape.dims())[w.dimension];
    const int64_t size = shape.dims()[w.dimension];
    for (int64_t step = 0; step < count(); ++step) {
      const int64_t i = w.from_end ? count() - 1 - step : step;
      const bool is_alone = (i / stride) % size == (w.from_end ? size - 1 : 0);
      RETURN_IF_ERROR(fn(i, is_alone ? -1 : w.from_end ? i + stride : i - stride));
    }
    return absl::OkStatus();
  }

  // Each element continues the combination of its neighbour.
  absl::Status RunCumulative(const CumulativeWindow& w) {
    if (IsInDouble()) return RunCumulativeInDouble(w);
    std::vector<const uint8_t*> parameters(2 * n());
    std::vector<uint8_t*> accumulators(n());
    return ForEachCumulative(w, [&](int64_t i, int64_t neighbour) {
      for (size_t k = 0; k < n(); ++k) {
        const int64_t bytes = static_cast<int64_t>(ResultBytes(k));
        accumulators[k] = results[k].mutable_data() + i * bytes;
        const uint8_t* before =
            neighbour < 0 ? inits[k].data() : results[k].data() + neighbour * bytes;
        std::memcpy(accumulators[k], before, ResultBytes(k));
        parameters[k] = accumulators[k];
        parameters[n() + k] = ElementPtr(inputs[k], i);
      }
      return runner.Run(parameters.data(), accumulators, 1);
    });
  }

  std::optional<Opcode> plain_opcode() const {
    const RegionProgram* program = runner.program();
    return n() == 1 && program != nullptr ? program->simple_binary() : std::nullopt;
  }
  bool IsInDouble() const {
    const ElementType type = inputs[0].element_type();
    return IsCarriedInDouble(plain_opcode(), type) && type == results[0].element_type();
  }
  double CombineInDouble(double a, double b) const {
    return *plain_opcode() == Opcode::kAdd ? a + b : a * b;
  }
  // In f64, each element rounded once.
  absl::Status RunCumulativeInDouble(const CumulativeWindow& w) {
    std::vector<double> sums = ReadAll<double>(inputs[0]);
    const double init = inits[0].GetDouble();
    RETURN_IF_ERROR(ForEachCumulative(w, [&](int64_t i, int64_t neighbour) {
      double& sum = sums[static_cast<size_t>(i)];
      sum = CombineInDouble(neighbour < 0 ? init : sums[static_cast<size_t>(neighbour)], sum);
      return absl::OkStatus();
    }));
    WriteDoubles(results[0].element_type(), sums.data(), count(), results[0].mutable_data());
    return absl::OkStatus();
  }
  // The same for any window: sums and products of narrow floats.
  void RunInDouble() {
    const std::vector<double> values = ReadAll<double>(inputs[0]);
    const DimVec strides = RowMajorStrides(shape.dims());
    DimVec window_dims;
    for (const WindowDim& w : window.dims) window_dims.push_back(w.size);
    std::vector<double> sums(static_cast<size_t>(count()), inits[0].GetDouble());
    DimVec out(dims.size(), 0);
    for (double& sum : sums) {
      DimVec position(window_dims.size(), 0);
      do {
        const int64_t offset = OffsetOf(out, position, strides);
        if (offset >= 0) sum = CombineInDouble(sum, values[static_cast<size_t>(offset)]);
      } while (NextIndex(absl::MakeSpan(position), window_dims));
      NextIndex(absl::MakeSpan(out), dims);
    }
    WriteDoubles(results[0].element_type(), sums.data(), count(), results[0].mutable_data());
  }

  // Where window position `position` of element `out` lies in the operands; -1: not there.
  int64_t OffsetOf(const DimVec& out, const DimVec& position, const DimVec& strides) const {
    int64_t offset = 0;
    for (size_t d = 0; d < position.size(); ++d) {
      const int64_t place =
          PlaceInWindow(window.dims[d], out[d], position[d], shape.dim(static_cast<int>(d)));
      if (place < 0) return -1;
      offset += place * strides[d];
    }
    return offset;
  }

  // The lanes for which a window position exists, and where it lies in the operands.
  struct Active {
    std::vector<int64_t> lanes, places;
  };
  void FindActive(const std::vector<DimVec>& outs, const DimVec& position, const DimVec& strides,
                  Active& active) const {
    active.lanes.clear();
    active.places.clear();
    for (size_t i = 0; i < outs.size(); ++i) {
      const int64_t offset = OffsetOf(outs[i], position, strides);
      if (offset < 0) continue;
      active.lanes.push_back(static_cast<int64_t>(i));
      active.places.push_back(offset);
    }
  }

  // Result elements [begin, begin + lanes).
  absl::Status RunBlock(int64_t begin, int64_t lanes) {
    const DimVec strides = RowMajorStrides(shape.dims());
    std::vector<DimVec> outs;
    for (int64_t i = 0; i < lanes; ++i) outs.push_back(MultiIndex(begin + i, dims));
    std::vector<std::vector<uint8_t>> packed(2 * n());
    std::vector<const uint8_t*> parameters(2 * n());
    std::vector<uint8_t*> packed_results(n());
    std::vector<uint8_t*> accumulators(n());
    for (size_t k = 0; k < n(); ++k) {
      accumulators[k] = results[k].mutable_data() + begin * static_cast<int64_t>(ResultBytes(k));
      FillElements(inits[k].data(), static_cast<int>(ResultBytes(k)), accumulators[k], lanes);
      packed[k].resize(static_cast<size_t>(lanes) * ResultBytes(k));
      packed[n() + k].resize(static_cast<size_t>(lanes) * InputBytes(k));
      packed_results[k] = packed[k].data();
    }
    for (size_t p = 0; p < 2 * n(); ++p) parameters[p] = packed[p].data();

    DimVec window_dims;
    for (const WindowDim& w : window.dims) window_dims.push_back(w.size);
    DimVec position(window_dims.size(), 0);
    Active active;
    do {
      FindActive(outs, position, strides, active);
      const int64_t found = static_cast<int64_t>(active.lanes.size());
      if (found == 0) continue;
      for (size_t k = 0; k < n(); ++k) {
        GatherElements(static_cast<int>(ResultBytes(k)), accumulators[k], active.lanes.data(),
                       found, packed[k].data());
        GatherElements(static_cast<int>(InputBytes(k)), inputs[k].data(), active.places.data(),
                       found, packed[n() + k].data());
      }
      RETURN_IF_ERROR(runner.Run(parameters.data(), packed_results, found));
      for (size_t k = 0; k < n(); ++k) {
        ScatterElements(static_cast<int>(ResultBytes(k)), packed[k].data(), active.lanes.data(),
                        found, accumulators[k]);
      }
    } while (NextIndex(absl::MakeSpan(position), window_dims));
    return absl::OkStatus();
  }
};

// Results in the element types of the instruction, as a tuple where it has one.
Literal Finished(const Instruction& inst, std::vector<Literal> results) {
  const Shape declared = inst.shape();
  for (size_t k = 0; k < results.size(); ++k) {
    const Shape part = declared.IsTuple() ? declared.element(static_cast<int>(k)) : declared;
    results[k] = ConvertLiteral(results[k], part.element_type());
    if (results[k].shape().dims() == part.dims() && !part.has_dynamic_dims())
      results[k] = results[k].WithShapeLayout(part);
  }
  return declared.IsTuple() ? Literal::Tuple(std::move(results)) : std::move(results[0]);
}

}  // namespace

EvalResult EvalReduceWindow(EvalContext& c) {
  const size_t n = c.operands.size() / 2;
  const Computation& region = *c.instruction.to_apply();
  ASSIGN_OR_RETURN(RegionRunner runner, RegionRunner::Make(c.evaluator, region));
  const Shape shape = c.operand(0).shape();
  const Window window = FilledWindow(c.attrs<ReduceWindowAttrs>().window, shape.rank());
  DimVec dims;
  int64_t window_size = 1;
  for (int d = 0; d < shape.rank(); ++d) {
    dims.push_back(window.dims[static_cast<size_t>(d)].OutputSize(shape.dim(d)));
    window_size *= window.dims[static_cast<size_t>(d)].size;
  }
  std::vector<Literal> results;
  for (size_t k = 0; k < n; ++k) {
    const ElementType accumulator = region.parameter(static_cast<int>(k))->shape().element_type();
    c.operands[k] = ConvertLiteral(
        c.operands[k], region.parameter(static_cast<int>(n + k))->shape().element_type());
    c.operands[n + k] = ConvertLiteral(c.operands[n + k], accumulator);
    results.emplace_back(Shape::Array(accumulator, dims));
  }
  const absl::Span<const Literal> all = c.operands;
  WindowFold fold{runner, window, shape, all.subspan(0, n), all.subspan(n), dims, results};
  std::optional<CumulativeWindow> cumulative = CumulativeWindowOf(window, shape.dims());
  // From the end, elements join in another order: only for operations that are associative.
  if (cumulative.has_value() && cumulative->from_end &&
      (runner.program() == nullptr || !runner.program()->simple_binary().has_value() ||
       !HasTrait(*runner.program()->simple_binary(), kCommutative)))
    cumulative.reset();
  RETURN_IF_ERROR(c.evaluator.Spend(fold.count() * (cumulative.has_value() ? 1 : window_size)));
  if (cumulative.has_value()) {
    RETURN_IF_ERROR(fold.RunCumulative(*cumulative));
  } else if (fold.IsInDouble() && BitWidth(results[0].element_type()) < 32) {
    fold.RunInDouble();
  } else {
    for (int64_t begin = 0; begin < fold.count(); begin += RegionProgram::kLanes) {
      RETURN_IF_ERROR(fold.RunBlock(begin, std::min(RegionProgram::kLanes, fold.count() - begin)));
    }
  }
  return Finished(c.instruction, std::move(results));
}

EvalResult EvalSelectAndScatter(EvalContext& c) {
  const Literal& operand = c.operand(0);
  const Literal& source = c.operand(1);
  const Computation& select = *c.instruction.call(0);
  const Computation& scatter = *c.instruction.call(1);
  ASSIGN_OR_RETURN(RegionRunner select_runner, RegionRunner::Make(c.evaluator, select));
  ASSIGN_OR_RETURN(RegionRunner scatter_runner, RegionRunner::Make(c.evaluator, scatter));
  const Window window =
      FilledWindow(c.attrs<SelectAndScatterAttrs>().window, operand.shape().rank());
  const int bytes = ByteSize(operand.element_type());
  Literal result(c.ResultShape(operand.shape().dims()));
  uint8_t* out = result.mutable_data();
  FillElements(c.operand(2).data(), bytes, out, result.element_count());

  DimVec window_dims;
  for (const WindowDim& w : window.dims) window_dims.push_back(w.size);
  RETURN_IF_ERROR(c.evaluator.Spend(source.element_count() * Product(window_dims)));
  const DimVec strides = RowMajorStrides(operand.shape().dims());
  for (int64_t s = 0; s < source.element_count(); ++s) {
    const DimVec at = MultiIndex(s, source.shape().dims());
    DimVec position(window_dims.size(), 0);
    int64_t chosen = -1;
    do {
      int64_t offset = 0;
      bool exists = true;
      for (size_t d = 0; d < position.size() && exists; ++d) {
        const int64_t place = PlaceInWindow(window.dims[d], at[d], position[d],
                                            operand.shape().dim(static_cast<int>(d)));
        exists = place >= 0;
        offset += place * strides[d];
      }
      if (!exists) continue;
      if (chosen >= 0) {
        uint8_t keep = 0;
        const uint8_t* candidates[] = {ElementPtr(operand, chosen), ElementPtr(operand, offset)};
        RETURN_IF_ERROR(select_runner.Run(candidates, {&keep}, 1));
        if (keep != 0) continue;
      }
      chosen = offset;
    } while (NextIndex(absl::MakeSpan(position), window_dims));
    if (chosen < 0) continue;
    uint8_t* target = out + chosen * bytes;
    const uint8_t* parameters[] = {target, ElementPtr(source, s)};
    RETURN_IF_ERROR(scatter_runner.Run(parameters, {target}, 1));
  }
  return result;
}

}  // namespace hlo
