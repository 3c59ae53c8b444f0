// Operands whose dimensions end before their bounds, made fit for an opcode before it is evaluated:
//
//   arrays that are read side by side   are cut to what all of them have (sort, reduce, scatter, …)
//   most opcodes                        take their dimensions from the operands as they are
//   what speaks of whole arrays         is refused (fft, cholesky, …)
#include <algorithm>

#include "absl/algorithm/container.h"
#include "lib/eval/eval_internal.h"
#include "lib/ops/opcode_groups.h"
#include "lib/ops/opcode_set.h"

namespace hlo {
namespace {

// Takes whatever sizes its operands have.
constexpr OpcodeSet kTakesAny = {Opcode::kAddDependency,
                                 Opcode::kAfterAll,
                                 Opcode::kAsyncDone,
                                 Opcode::kAsyncStart,
                                 Opcode::kAsyncUpdate,
                                 Opcode::kBitcastConvert,
                                 Opcode::kBroadcast,
                                 Opcode::kCall,
                                 Opcode::kConditional,
                                 Opcode::kCopyDone,
                                 Opcode::kCopyStart,
                                 Opcode::kCustomCall,
                                 Opcode::kDomain,
                                 Opcode::kDot,
                                 Opcode::kDynamicReshape,
                                 Opcode::kDynamicSlice,
                                 Opcode::kDynamicUpdateSlice,
                                 Opcode::kFusion,
                                 Opcode::kGetDimensionSize,
                                 Opcode::kGetTupleElement,
                                 Opcode::kMap,
                                 Opcode::kOptimizationBarrier,
                                 Opcode::kPad,
                                 Opcode::kReshape,
                                 Opcode::kReverse,
                                 Opcode::kSetDimensionSize,
                                 Opcode::kSlice,
                                 Opcode::kTopK,
                                 Opcode::kTranspose,
                                 Opcode::kTuple,
                                 Opcode::kWhile};

bool EndsBeforeBound(const EvalContext& c, int i) {
  const Shape declared = c.instruction.operand(i)->shape();
  return declared.IsArray() && declared.has_dynamic_dims() &&
         c.operand(i).shape().dims() != declared.dims();
}

// The operands [first, first + count) have the same dimensions, but for `free`.
void CutTogether(EvalContext& c, size_t first, size_t count, int64_t free = -1) {
  DimVec least = Dims(c.operands[first]);
  for (size_t i = first; i < first + count; ++i) {
    for (size_t d = 0; d < least.size(); ++d)
      least[d] = std::min(least[d], c.operands[i].shape().dim(static_cast<int>(d)));
  }
  for (size_t i = first; i < first + count; ++i) {
    DimVec dims = least;
    if (free >= 0)
      dims[static_cast<size_t>(free)] = c.operands[i].shape().dim(static_cast<int>(free));
    if (c.operands[i].shape().dims() != absl::MakeConstSpan(dims))
      c.operands[i] = Resized(c.operands[i], dims);
  }
}

// Each index vector has its update.
void CutBatches(EvalContext& c, size_t arrays) {
  const ScatterAttrs& attrs = c.attrs<ScatterAttrs>();
  DimVec indices = Dims(c.operands[arrays]), updates = Dims(c.operands[arrays + 1]);
  size_t next = 0;
  for (size_t d = 0; d < updates.size(); ++d) {
    if (absl::c_linear_search(attrs.update_window_dims, static_cast<int64_t>(d))) continue;
    if (static_cast<int64_t>(next) == attrs.index_vector_dim) ++next;
    indices[next] = updates[d] = std::min(indices[next], updates[d]);
    ++next;
  }
  c.operands[arrays] = Resized(c.operands[arrays], indices);
  for (size_t k = arrays + 1; k < c.operands.size(); ++k)
    c.operands[k] = Resized(c.operands[k], updates);
}

absl::Status CheckIndexVectors(const EvalContext& c, size_t indices, int64_t vector_dim,
                               size_t count) {
  const Shape shape = c.operands[indices].shape();
  if (vector_dim >= shape.rank() ||
      shape.dim(static_cast<int>(vector_dim)) >= static_cast<int64_t>(count))
    return absl::OkStatus();
  return Error(c.loc(), "`{}` takes {} numbers for a place, but its index vectors have {} now",
               c.instruction.name(), count, shape.dim(static_cast<int>(vector_dim)));
}

}  // namespace

absl::Status FitRuntimeSizes(EvalContext& c) {
  const Opcode opcode = c.opcode();
  bool fits = true;
  for (int i = 0; i < c.operand_count(); ++i) fits = fits && !EndsBeforeBound(c, i);
  if (fits || IsElementwise(opcode) || kTakesAny.Has(opcode)) return absl::OkStatus();
  const size_t half = c.operands.size() / 2;
  if (opcode == Opcode::kGather) {
    const GatherAttrs& attrs = c.attrs<GatherAttrs>();
    return CheckIndexVectors(c, 1, attrs.index_vector_dim, attrs.start_index_map.size());
  }
  if (opcode == Opcode::kScatter) {
    const ScatterAttrs& attrs = c.attrs<ScatterAttrs>();
    CutTogether(c, 0, half);
    CutTogether(c, half + 1, half);
    CutBatches(c, half);
    return CheckIndexVectors(c, half, attrs.index_vector_dim,
                             attrs.scatter_dims_to_operand_dims.size());
  }
  if (opcode == Opcode::kConcatenate) {
    CutTogether(c, 0, c.operands.size(), c.attrs<ConcatenateAttrs>().dimensions.value);
  } else if (opcode == Opcode::kSort) {
    CutTogether(c, 0, c.operands.size());
  } else if (kReduceOps.Has(opcode)) {
    CutTogether(c, 0, half);
  } else {
    return Unsupported(c.loc(), "`{}` of an array that ends before its bounds is not defined",
                       c.instruction.opcode_text());
  }
  return absl::OkStatus();
}

}  // namespace hlo
