// reduce-window and select-and-scatter.
//
// reduce-window runs over blocks of result elements. For each window position, in row-major order, the lanes whose position exists are
// packed, combined and put back; positions in the padding are skipped. A window that covers everything up to its element (a
// cumulative sum) is a running combination instead, which takes the same elements in the same order.
#include <cstring>

#include "lib/eval/eval_internal.h"
#include "lib/eval/region_runner.h"
#include "lib/eval/strided.h"

namespace hlo {
namespace {

constexpr int64_t kLanes = RegionProgram::kLanes;

// The place in the operand of window position `position` at result index `out` of one dimension; -1: not there.
int64_t Place(const WindowDim& w, int64_t out, int64_t position, int64_t size) {
  const int64_t place = out * w.stride + position * w.window_dilation - w.pad_low;
  if (place < 0 || place % w.base_dilation != 0) return -1;
  const int64_t element = place / w.base_dilation;
  return element < size ? element : -1;
}

Window FilledWindow(Window window, int rank) {
  window.dims.resize(static_cast<size_t>(rank));
  return window;
}

// The dimension of a cumulative window: it alone has a window, which reaches from the start to the element.
std::optional<int> CumulativeDimension(const Window& window, Shape shape) {
  std::optional<int> found;
  for (int d = 0; d < shape.rank(); ++d) {
    const WindowDim& w = window.dims[static_cast<size_t>(d)];
    if (w == WindowDim()) continue;
    WindowDim cumulative;
    cumulative.size = shape.dim(d);
    cumulative.pad_low = shape.dim(d) - 1;
    if (found.has_value() || !(w == cumulative)) return std::nullopt;
    found = d;
  }
  return found;
}

}  // namespace

EvalResult EvalReduceWindow(EvalContext& c) {
  const size_t n = c.operands.size() / 2;
  const Computation& region = *c.instruction.to_apply();
  ASSIGN_OR_RETURN(RegionRunner runner, RegionRunner::Make(c.evaluator, region));
  const Shape shape = c.operand(0).shape();
  const int rank = shape.rank();
  const Window window = FilledWindow(c.attrs<ReduceWindowAttrs>().window, rank);
  DimVec dims, window_dims;
  for (int d = 0; d < rank; ++d) {
    dims.push_back(window.dims[static_cast<size_t>(d)].OutputSize(shape.dim(d)));
    window_dims.push_back(window.dims[static_cast<size_t>(d)].size);
  }
  std::vector<Literal> results;
  for (size_t k = 0; k < n; ++k) {
    const ElementType accumulator = region.parameter(static_cast<int>(k))->shape().element_type();
    c.operands[k] = ConvertLiteral(c.operands[k], region.parameter(static_cast<int>(n + k))->shape().element_type());
    c.operands[n + k] = ConvertLiteral(c.operands[n + k], accumulator);
    results.emplace_back(Shape::Array(accumulator, dims));
  }
  const int64_t count = Product(dims);
  const DimVec strides = RowMajorStrides(shape.dims());
  std::vector<const uint8_t*> parameters(2 * n);
  std::vector<uint8_t*> accumulators(n);

  const std::optional<int> cumulative = CumulativeDimension(window, shape);
  if (cumulative.has_value() && count > 0) {
    RETURN_IF_ERROR(c.evaluator.Spend(count));
    const int64_t stride = strides[static_cast<size_t>(*cumulative)];
    for (int64_t i = 0; i < count; ++i) {
      const bool is_first = (i / stride) % shape.dim(*cumulative) == 0;
      for (size_t k = 0; k < n; ++k) {
        const int bytes = ByteSize(results[k].element_type());
        accumulators[k] = results[k].mutable_data() + i * bytes;
        std::memcpy(accumulators[k], is_first ? c.operands[n + k].data() : accumulators[k] - stride * bytes,
                    static_cast<size_t>(bytes));
        parameters[k] = accumulators[k];
        parameters[n + k] = ElementPtr(c.operands[k], i);
      }
      RETURN_IF_ERROR(runner.Run(parameters.data(), accumulators, 1));
    }
  } else {
    RETURN_IF_ERROR(c.evaluator.Spend(count * Product(window_dims)));
    std::vector<std::vector<uint8_t>> packed(2 * n);
    for (size_t k = 0; k < 2 * n; ++k) packed[k].resize(static_cast<size_t>(kLanes) * 16);
    std::vector<uint8_t*> packed_results(n);
    for (int64_t begin = 0; begin < count; begin += kLanes) {
      const int64_t lanes = std::min(kLanes, count - begin);
      std::vector<DimVec> outs;
      for (int64_t i = 0; i < lanes; ++i) outs.push_back(MultiIndex(begin + i, dims));
      for (size_t k = 0; k < n; ++k) {
        const int bytes = ByteSize(results[k].element_type());
        accumulators[k] = results[k].mutable_data() + begin * bytes;
        FillElements(c.operands[n + k].data(), bytes, accumulators[k], lanes);
        packed_results[k] = packed[k].data();
        parameters[k] = packed[k].data();
        parameters[n + k] = packed[n + k].data();
      }
      DimVec position(static_cast<size_t>(rank), 0);
      std::vector<int64_t> lane_of, place_of;
      do {
        lane_of.clear();
        place_of.clear();
        for (int64_t i = 0; i < lanes; ++i) {
          int64_t offset = 0;
          bool exists = true;
          for (size_t d = 0; d < position.size() && exists; ++d) {
            const int64_t place = Place(window.dims[d], outs[static_cast<size_t>(i)][d], position[d], shape.dim(static_cast<int>(d)));
            exists = place >= 0;
            offset += place * strides[d];
          }
          if (!exists) continue;
          lane_of.push_back(i);
          place_of.push_back(offset);
        }
        const int64_t active = static_cast<int64_t>(lane_of.size());
        if (active == 0) continue;
        for (size_t k = 0; k < n; ++k) {
          const size_t acc_bytes = static_cast<size_t>(ByteSize(results[k].element_type()));
          const size_t bytes = static_cast<size_t>(ByteSize(c.operands[k].element_type()));
          for (size_t i = 0; i < lane_of.size(); ++i) {
            std::memcpy(packed[k].data() + i * acc_bytes, accumulators[k] + static_cast<size_t>(lane_of[i]) * acc_bytes, acc_bytes);
            std::memcpy(packed[n + k].data() + i * bytes, ElementPtr(c.operands[k], place_of[i]), bytes);
          }
        }
        RETURN_IF_ERROR(runner.Run(parameters.data(), packed_results, active));
        for (size_t k = 0; k < n; ++k) {
          const size_t acc_bytes = static_cast<size_t>(ByteSize(results[k].element_type()));
          for (size_t i = 0; i < lane_of.size(); ++i) {
            std::memcpy(accumulators[k] + static_cast<size_t>(lane_of[i]) * acc_bytes, packed[k].data() + i * acc_bytes, acc_bytes);
          }
        }
      } while (NextIndex(absl::MakeSpan(position), window_dims));
    }
  }
  const Shape declared = c.instruction.shape();
  for (size_t k = 0; k < n; ++k) {
    const Shape part = declared.IsTuple() ? declared.element(static_cast<int>(k)) : declared;
    results[k] = ConvertLiteral(results[k], part.element_type());
    if (results[k].shape().dims() == part.dims() && !part.has_dynamic_dims()) results[k] = results[k].WithShapeLayout(part);
  }
  return declared.IsTuple() ? Literal::Tuple(std::move(results)) : std::move(results[0]);
}

EvalResult EvalSelectAndScatter(EvalContext& c) {
  const Literal& operand = c.operand(0);
  const Literal& source = c.operand(1);
  const Computation& select = *c.instruction.call(0);
  const Computation& scatter = *c.instruction.call(1);
  ASSIGN_OR_RETURN(RegionRunner select_runner, RegionRunner::Make(c.evaluator, select));
  ASSIGN_OR_RETURN(RegionRunner scatter_runner, RegionRunner::Make(c.evaluator, scatter));
  const Window window = FilledWindow(c.attrs<SelectAndScatterAttrs>().window, operand.shape().rank());
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
        const int64_t place = Place(window.dims[d], at[d], position[d], operand.shape().dim(static_cast<int>(d)));
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
