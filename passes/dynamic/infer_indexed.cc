// Sizes of what reads and writes parts at places that are computed.
#include "absl/algorithm/container.h"
#include "passes/dynamic/size_inference.h"

namespace hlo {
namespace {

absl::Status PartOfDynamic(const Instruction& instruction, int64_t dim) {
  return Unsupported(instruction.loc(),
                     "`{}` takes a part of dimension {} of `{}`, which is dynamic",
                     instruction.name(), dim, instruction.operand(0)->name());
}

}  // namespace

absl::Status InferDynamicSlice(SizeInference& in, Instruction* slice) {
  for (const OperandSize& known : in.OperandSizes(*slice)) {
    const int dim = static_cast<int>(known.dim);
    if (slice->shape().dim(dim) == slice->operand(0)->shape().dim(dim) &&
        (slice->shape().dim(dim) != 1 || slice->shape().is_dynamic(dim))) {
      in.Set(slice, 0, dim, known.size);
    } else if (slice->shape().dim(dim) != 1) {
      return PartOfDynamic(*slice, dim);
    }
  }
  return absl::OkStatus();
}

absl::Status InferDynamicUpdateSlice(SizeInference& in, Instruction* update) {
  for (const OperandSize& known : in.OperandSizes(*update)) {
    const int dim = static_cast<int>(known.dim);
    // An update that is smaller changes nothing about what is there.
    const bool is_part = known.operand == 1 && update->operand(1)->shape().dim(dim) <
                                                   update->operand(0)->shape().dim(dim);
    if (!is_part) in.Set(update, 0, dim, known.size);
  }
  return absl::OkStatus();
}

// The dimension of the result that dimension `dim` of the slices is; -1 when it has size 1 and is
// gone.
static int64_t OffsetDimension(const GatherAttrs& attrs, int64_t dim) {
  size_t next = 0;
  for (int64_t d = 0;; ++d) {
    const bool is_gone = absl::c_linear_search(attrs.collapsed_slice_dims, d) ||
                         absl::c_linear_search(attrs.operand_batching_dims, d);
    if (d == dim) return is_gone ? -1 : attrs.offset_dims[next];
    next += !is_gone;
  }
}

// The dimension of an array with `window_dims` that dimension `dim` of the indices is; -1 for that
// of the index vectors.
static int64_t BatchDimension(const DimVec& window_dims, int64_t index_vector_dim, int64_t dim) {
  if (dim == index_vector_dim) return -1;
  int64_t left = dim - (dim > index_vector_dim);
  for (int64_t d = 0;; ++d) {
    if (!absl::c_linear_search(window_dims, d) && left-- == 0) return d;
  }
}

absl::Status InferGather(SizeInference& in, Instruction* gather) {
  const auto& attrs = gather->attrs<GatherAttrs>();
  for (const OperandSize& known : in.OperandSizes(*gather)) {
    int64_t to;
    if (known.operand == 0) {
      const int64_t size = attrs.slice_sizes[static_cast<size_t>(known.dim)];
      to = OffsetDimension(attrs, known.dim);
      if (size == 1 && (to < 0 || !gather->shape().is_dynamic(static_cast<int>(to)))) continue;
      if (size != gather->operand(0)->shape().dim(static_cast<int>(known.dim)))
        return PartOfDynamic(*gather, known.dim);
    } else {
      to = BatchDimension(attrs.offset_dims, attrs.index_vector_dim, known.dim);
      if (to < 0) {
        return Unsupported(gather->loc(),
                           "`{}` has index vectors, dimension {} of `{}`, that are "
                           "dynamic",
                           gather->name(), known.dim, gather->operand(1)->name());
      }
    }
    if (to >= 0) in.Set(gather, 0, to, known.size);
  }
  return absl::OkStatus();
}

absl::Status InferScatter(SizeInference& in, Instruction* scatter) {
  const auto& attrs = scatter->attrs<ScatterAttrs>();
  const int arrays = scatter->operand_count() / 2;
  const bool is_tuple = scatter->shape().IsTuple();
  for (const OperandSize& known : in.OperandSizes(*scatter)) {
    if (known.operand < arrays) {
      in.Set(scatter, is_tuple ? known.operand : 0, known.dim, known.size);
      continue;
    }
    const auto at = absl::c_find(attrs.update_window_dims, known.dim);
    if (known.operand == arrays || at == attrs.update_window_dims.end()) continue;
    // A window that ends early would leave what is after it alone: it has to be the whole
    // dimension.
    int64_t left = at - attrs.update_window_dims.begin();
    int64_t dim = 0;
    for (;; ++dim) {
      const bool is_gone = absl::c_linear_search(attrs.inserted_window_dims, dim) ||
                           absl::c_linear_search(attrs.input_batching_dims, dim);
      if (!is_gone && left-- == 0) break;
    }
    const Instruction* array = scatter->operand(known.operand - arrays - 1);
    Instruction* size = in.Size(array, 0, dim);
    if (size == nullptr ||
        array->shape().dim(static_cast<int>(dim)) !=
            scatter->operand(known.operand)->shape().dim(static_cast<int>(known.dim)))
      return Unsupported(scatter->loc(),
                         "`{}` has dynamic windows, dimension {} of `{}`, that are not those of "
                         "the array",
                         scatter->name(), known.dim, scatter->operand(known.operand)->name());
    RETURN_IF_ERROR(in.CheckEqual(size, known.size, *scatter));
  }
  return absl::OkStatus();
}

}  // namespace hlo
