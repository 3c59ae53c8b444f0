// gather clamps its windows into the operand; scatter drops windows that do not fit.
#include "absl/algorithm/container.h"
#include "lib/eval/eval_internal.h"
#include "lib/eval/region_runner.h"
#include "lib/eval/strided.h"

namespace hlo {
namespace {

// Start indices by batch position: the vector of starts of each position, and positions over
// batching dimensions.
class StartIndices {
 public:
  StartIndices(const Literal& indices, int64_t vector_dim, const DimVec& map,
               const DimVec& operand_batching, const DimVec& indices_batching, int rank)
      : indices_(indices), map_(map), operand_batching_(operand_batching), rank_(rank) {
    const DimVec strides = RowMajorStrides(indices.shape().dims());
    vector_stride_ =
        vector_dim < indices.shape().rank() ? strides[static_cast<size_t>(vector_dim)] : 0;
    for (int d = 0; d < indices.shape().rank(); ++d) {
      if (d == vector_dim) continue;
      batch_dims_.push_back(indices.shape().dim(d));
      batch_strides_.push_back(strides[static_cast<size_t>(d)]);
    }
    for (int64_t d : indices_batching) batching_positions_.push_back(d > vector_dim ? d - 1 : d);
  }

  const DimVec& batch_dims() const { return batch_dims_; }

  // The unclamped start of the window at batch position `batch`.
  DimVec StartAt(const DimVec& batch) const {
    DimVec start(static_cast<size_t>(rank_), 0);
    const int64_t first = Offset(batch, batch_strides_);
    for (size_t k = 0; k < map_.size(); ++k) {
      start[static_cast<size_t>(map_[k])] =
          ScalarIndex(indices_, first + static_cast<int64_t>(k) * vector_stride_);
    }
    for (size_t p = 0; p < operand_batching_.size(); ++p) {
      start[static_cast<size_t>(operand_batching_[p])] =
          batch[static_cast<size_t>(batching_positions_[p])];
    }
    return start;
  }

 private:
  const Literal& indices_;
  const DimVec& map_;
  const DimVec& operand_batching_;
  int rank_;
  int64_t vector_stride_ = 0;
  DimVec batch_dims_, batch_strides_, batching_positions_;
};

}  // namespace

EvalResult EvalGather(EvalContext& c) {
  const GatherAttrs& attrs = c.attrs<GatherAttrs>();
  const Literal& operand = c.operand(0);
  const int rank = operand.shape().rank();
  const DimVec sizes = CommonCorner(attrs.slice_sizes, operand.shape().dims());
  const StartIndices starts(c.operand(1), attrs.index_vector_dim, attrs.start_index_map,
                            attrs.operand_batching_dims, attrs.start_indices_batching_dims, rank);
  // The dimensions of the result: batch dimensions where no offset dimension stands.
  DimVec dims, batch_positions, window_operand_dims;
  for (int64_t d = 0; d < rank; ++d) {
    if (!absl::c_linear_search(attrs.collapsed_slice_dims, d) &&
        !absl::c_linear_search(attrs.operand_batching_dims, d))
      window_operand_dims.push_back(d);
  }
  const size_t result_rank = starts.batch_dims().size() + window_operand_dims.size();
  size_t next_batch = 0, next_window = 0;
  for (size_t d = 0; d < result_rank; ++d) {
    if (absl::c_linear_search(attrs.offset_dims, static_cast<int64_t>(d))) {
      dims.push_back(sizes[static_cast<size_t>(window_operand_dims[next_window++])]);
    } else {
      batch_positions.push_back(static_cast<int64_t>(d));
      dims.push_back(starts.batch_dims()[next_batch++]);
    }
  }
  Literal result(c.ResultShape(dims));
  if (result.element_count() == 0 || Product(sizes) == 0) return result;
  const DimVec strides = RowMajorStrides(operand.shape().dims()),
               result_strides = RowMajorStrides(dims);
  StridedCopy copy;
  for (size_t w = 0; w < window_operand_dims.size(); ++w) {
    const size_t d = static_cast<size_t>(window_operand_dims[w]);
    copy.dims.push_back(sizes[d]);
    copy.from_strides.push_back(strides[d]);
    copy.to_strides.push_back(result_strides[static_cast<size_t>(attrs.offset_dims[w])]);
  }
  DimVec batch_strides;
  for (int64_t d : batch_positions) batch_strides.push_back(result_strides[static_cast<size_t>(d)]);
  const int bytes = ByteSize(operand.element_type());
  uint8_t* out = result.mutable_data();
  DimVec batch(starts.batch_dims().size(), 0);
  do {
    DimVec start = starts.StartAt(batch);
    for (int d = 0; d < rank; ++d) {
      const size_t s = static_cast<size_t>(d);
      start[s] = std::max<int64_t>(0, std::min(start[s], operand.shape().dim(d) - sizes[s]));
    }
    RunStridedCopy(copy, bytes, ElementPtr(operand, Offset(start, strides)),
                   out + Offset(batch, batch_strides) * bytes);
  } while (NextIndex(absl::MakeSpan(batch), starts.batch_dims()));
  return result;
}

EvalResult EvalScatter(EvalContext& c) {
  const ScatterAttrs& attrs = c.attrs<ScatterAttrs>();
  const size_t n = c.operands.size() / 2;
  std::vector<Literal> results;
  for (size_t k = 0; k < n; ++k) results.push_back(c.Take(static_cast<int>(k)));
  const Literal& indices = c.operands[n];
  const absl::Span<const Literal> updates = absl::MakeConstSpan(c.operands).subspan(n + 1);
  const DimVec dims = Dims(results[0]);
  const int rank = static_cast<int>(dims.size());
  const StartIndices starts(indices, attrs.index_vector_dim, attrs.scatter_dims_to_operand_dims,
                            attrs.input_batching_dims, attrs.scatter_indices_batching_dims, rank);
  ASSIGN_OR_RETURN(RegionRunner runner, RegionRunner::Make(c.evaluator, *c.instruction.to_apply()));
  RETURN_IF_ERROR(c.evaluator.Spend(static_cast<int64_t>(n) * updates[0].element_count()));

  // The window: its sizes by operand dimension, and the offsets of its elements from its start, in
  // operand and update.
  const DimVec strides = RowMajorStrides(dims),
               update_strides = RowMajorStrides(updates[0].shape().dims());
  DimVec sizes(dims.size(), 1), window_dims, window_strides, window_update_strides, batch_strides;
  size_t next = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (absl::c_linear_search(attrs.inserted_window_dims, d) ||
        absl::c_linear_search(attrs.input_batching_dims, d))
      continue;
    const size_t update_dim = static_cast<size_t>(attrs.update_window_dims[next++]);
    sizes[static_cast<size_t>(d)] = updates[0].shape().dim(static_cast<int>(update_dim));
    window_dims.push_back(sizes[static_cast<size_t>(d)]);
    window_strides.push_back(strides[static_cast<size_t>(d)]);
    window_update_strides.push_back(update_strides[update_dim]);
  }
  for (int64_t d = 0; d < updates[0].shape().rank(); ++d) {
    if (!absl::c_linear_search(attrs.update_window_dims, d))
      batch_strides.push_back(update_strides[static_cast<size_t>(d)]);
  }
  const std::vector<int64_t> offsets = AllOffsets(window_dims, window_strides);
  const std::vector<int64_t> update_offsets = AllOffsets(window_dims, window_update_strides);
  const bool overwrites =
      n == 1 && runner.program() != nullptr && runner.program()->forwarded_parameter() == 1;

  std::vector<std::vector<uint8_t>> lanes_of(2 * n);
  std::vector<const uint8_t*> parameters(2 * n);
  std::vector<uint8_t*> outputs(n);
  for (size_t k = 0; k < 2 * n; ++k) {
    lanes_of[k].resize(
        static_cast<size_t>(RegionProgram::kLanes * ByteSize(results[k % n].element_type())));
    parameters[k] = lanes_of[k].data();
    if (k < n) outputs[k] = lanes_of[k].data();
  }
  if (updates[0].element_count() > 0) {
    DimVec batch(starts.batch_dims().size(), 0);
    do {
      const DimVec start = starts.StartAt(batch);
      bool fits = true;
      for (size_t d = 0; d < dims.size(); ++d)
        fits = fits && start[d] >= 0 && start[d] <= dims[d] - sizes[d];
      if (!fits) continue;
      const int64_t at = Offset(start, strides), update_at = Offset(batch, batch_strides);
      const int64_t count = static_cast<int64_t>(offsets.size());
      for (int64_t begin = 0; begin < count; begin += RegionProgram::kLanes) {
        const int64_t lanes = std::min(RegionProgram::kLanes, count - begin);
        for (size_t k = 0; k < n; ++k) {
          const int bytes = ByteSize(results[k].element_type());
          GatherElements(bytes, ElementPtr(updates[k], update_at), update_offsets.data() + begin,
                         lanes, lanes_of[n + k].data());
          if (overwrites) continue;
          GatherElements(bytes, ElementPtr(results[k], at), offsets.data() + begin, lanes,
                         lanes_of[k].data());
        }
        if (!overwrites) RETURN_IF_ERROR(runner.Run(parameters.data(), outputs, lanes));
        for (size_t k = 0; k < n; ++k) {
          const int bytes = ByteSize(results[k].element_type());
          ScatterElements(bytes, lanes_of[overwrites ? n + k : k].data(), offsets.data() + begin,
                          lanes, results[k].mutable_data() + at * bytes);
        }
      }
    } while (NextIndex(absl::MakeSpan(batch), starts.batch_dims()));
  }
  return c.instruction.shape().IsTuple() ? Literal::Tuple(std::move(results))
                                         : std::move(results[0]);
}

}  // namespace hlo
