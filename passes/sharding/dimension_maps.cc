#include "passes/sharding/dimension_maps.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "lib/analysis/indexing.h"
#include "lib/ops/attrs.h"
#include "lib/support/check.h"

namespace hlo {
namespace {

using Role = ProductDims::Role;

int64_t SizeOf(const Instruction& instruction, int64_t dim) {
  return instruction.shape().dim(static_cast<int>(dim));
}

// ---- convolutions ----

// One spatial dimension: sizes on both sides, and the window over it.
struct Spatial {
  int64_t left, right;
  const WindowDim& window;
};

bool IsUnpadded(const WindowDim& w) { return w.pad_low == 0 && w.pad_high == 0 && !w.reversal; }
bool IsPaddedBy(const WindowDim& w, int64_t by) {
  return w.pad_low == by && w.pad_high == by && w.reversal;
}

// Each element meets the one of its number: strides and holes are so wide that no other is met.
bool IsBatch(const Spatial& s) {
  const WindowDim& w = s.window;
  if (s.left != w.size) return false;
  const int64_t step = std::max<int64_t>(1, s.left - 1);
  const bool by_stride = w.stride == step && w.window_dilation == 1;
  const bool by_holes = w.window_dilation == step && w.stride == 1;
  if (s.left == w.base_dilation && (by_stride || by_holes) && IsUnpadded(w)) return true;
  return IsPaddedBy(w, s.left - 1) && w.window_dilation == 1 && w.stride == s.left &&
         w.base_dilation == s.left - 1;
}
// The one window covers the input.
bool IsContracting(const Spatial& s) {
  const WindowDim& w = s.window;
  return s.left == w.size && w.base_dilation == 1 && w.window_dilation == 1 && IsUnpadded(w);
}
bool IsDense(const WindowDim& w) {
  return w.stride == 1 && w.window_dilation == 1 && w.base_dilation == 1;
}
bool IsFreeLeft(const Spatial& s) {
  return IsDense(s.window) && s.right == 1 && s.window.size == 1 && IsUnpadded(s.window);
}
// The window passes over the one element from one end to the other.
bool IsFreeRight(const Spatial& s) {
  return IsDense(s.window) && s.left == 1 && s.window.size == s.right &&
         IsPaddedBy(s.window, s.right - 1);
}

constexpr struct {
  Role role;
  bool (*holds)(const Spatial& spatial);
} kSpatialRoles[] = {{Role::kBatch, IsBatch},
                     {Role::kContracting, IsContracting},
                     {Role::kLeft, IsFreeLeft},
                     {Role::kRight, IsFreeRight},
                     {Role::kSpatial, [](const Spatial&) { return true; }}};

Role RoleOf(const Spatial& spatial) {
  return std::find_if(std::begin(kSpatialRoles), std::end(kSpatialRoles),
                      [&](const auto& row) { return row.holds(spatial); })
      ->role;
}

// ---- indices that count ----

std::optional<int64_t> CountingDim(const Instruction& indices);

// The dimension along which a constant is 0, 1, 2, …
std::optional<int64_t> CountingDimOfConstant(const Literal& literal) {
  if (literal.is_elided()) return std::nullopt;
  const Shape shape = literal.shape();
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) < 2) continue;
    int64_t stride = 1;
    for (int minor = d + 1; minor < shape.rank(); ++minor) stride *= shape.dim(minor);
    bool counts = true;
    for (int64_t i = 0; counts && i < shape.element_count(); ++i)
      counts = literal.GetInt(i) == i / stride % shape.dim(d);
    if (counts) return d;
  }
  return std::nullopt;
}

// Of an element of the state of a loop that does not change, or of what a branch is given.
std::optional<int64_t> CountingDimOfElement(const Instruction& element) {
  const Instruction& parameter = *element.operand(0);
  const Computation& computation = *element.parent();
  if (parameter.opcode() != Opcode::kParameter || computation.callers().size() != 1)
    return std::nullopt;
  const Instruction& caller = *computation.callers()[0].caller;
  const auto index = static_cast<int>(element.tuple_index());
  if (caller.opcode() == Opcode::kWhile && caller.operand(0)->opcode() == Opcode::kTuple) {
    const Instruction& root = *computation.root();
    const bool stays = root.opcode() == Opcode::kTuple && index < root.operand_count() &&
                       root.operand(index) == &element;
    return stays ? CountingDim(*caller.operand(0)->operand(index)) : std::nullopt;
  }
  if (caller.opcode() != Opcode::kConditional) return std::nullopt;
  const Instruction& given = *caller.operand(computation.callers()[0].call_index + 1);
  return given.opcode() == Opcode::kTuple ? CountingDim(*given.operand(index)) : std::nullopt;
}

std::optional<int64_t> CountingDim(const Instruction& indices) {
  if (indices.opcode() == Opcode::kIota) return indices.attrs<IotaAttrs>().iota_dimension;
  if (indices.shape().element_type() != ElementType::kS32) return std::nullopt;
  if (indices.IsConstant()) return CountingDimOfConstant(indices.literal());
  if (indices.opcode() == Opcode::kBroadcast) {
    const std::optional<int64_t> dim = CountingDim(*indices.operand(0));
    if (!dim.has_value()) return std::nullopt;
    return indices.attrs<BroadcastAttrs>().dimensions[*dim];
  }
  if (indices.opcode() == Opcode::kGetTupleElement) return CountingDimOfElement(indices);
  return std::nullopt;
}

// For each place of an index the dimension of the indices along which it counts, or -1.
DimVec CountingDims(const IndexedDims& dims, const Instruction& indices) {
  DimVec counting(dims.index_map.size(), -1);
  const int64_t along = dims.index_vector_dim;
  const auto places_of = [&](const Instruction& part) {
    return part.shape().rank() > along ? SizeOf(part, along) : 1;
  };
  size_t place = 0;
  const auto add = [&](const Instruction& part) {
    const std::optional<int64_t> dim = CountingDim(part);
    for (int64_t i = 0; i < places_of(part) && place < counting.size(); ++i, ++place) {
      if (dim.has_value() && *dim != along) counting[place] = *dim;
    }
  };
  if (indices.opcode() == Opcode::kConcatenate &&
      indices.attrs<ConcatenateAttrs>().dimensions.value == along) {
    for (const Instruction* part : indices.operands()) add(*part);
  } else {
    add(indices);
  }
  return counting;
}

DimVec AtDims(const DimMap& map, const DimVec& dims) {
  DimVec result;
  for (const int64_t d : dims) result.push_back(map[d]);
  return result;
}

}  // namespace

DimMap OperandToResult(const Instruction& instruction, int operand) {
  const std::optional<IndexingMap> indexing = OperandIndexing(instruction, operand);
  HLO_CHECK(indexing.has_value());
  DimMap map;
  for (int d = 0; d < instruction.operand(operand)->shape().rank(); ++d)
    map.push_back(indexing->OutputDimOf(d));
  return map;
}

DimMap MapOfPairs(absl::Span<const int64_t> from, absl::Span<const int64_t> to, int64_t rank) {
  DimMap map(static_cast<size_t>(rank), -1);
  for (size_t i = 0; i < from.size(); ++i) map[from[i]] = to[i];
  return map;
}

bool ProductDims::Has(Role role) const {
  return absl::c_any_of(rows, [&](const Row& row) { return row.role == role; });
}

DimMap ProductDims::Map(ProductSide from, ProductSide to, std::initializer_list<Role> roles) const {
  const auto f = static_cast<size_t>(from), t = static_cast<size_t>(to);
  DimMap map(static_cast<size_t>(rank[f]), -1);
  for (const Row& row : rows) {
    if (absl::c_linear_search(roles, row.role) && row.dim[f] >= 0) map[row.dim[f]] = row.dim[t];
  }
  return map;
}

ProductDims DimsOfDot(const Instruction& dot) {
  const DotAttrs& attrs = dot.attrs<DotAttrs>();
  ProductDims dims;
  dims.rank = {dot.operand(0)->shape().rank(), dot.operand(1)->shape().rank(), dot.shape().rank()};
  int64_t next = 0;
  for (size_t i = 0; i < attrs.lhs_batch_dims.size(); ++i)
    dims.rows.push_back({Role::kBatch, {attrs.lhs_batch_dims[i], attrs.rhs_batch_dims[i], next++}});
  for (size_t i = 0; i < attrs.lhs_contracting_dims.size(); ++i) {
    dims.rows.push_back(
        {Role::kContracting, {attrs.lhs_contracting_dims[i], attrs.rhs_contracting_dims[i], -1}});
  }
  for (int64_t d = 0; d < dims.rank[0]; ++d) {
    if (!absl::c_linear_search(attrs.lhs_batch_dims, d) &&
        !absl::c_linear_search(attrs.lhs_contracting_dims, d))
      dims.rows.push_back({Role::kLeft, {d, -1, next++}});
  }
  for (int64_t d = 0; d < dims.rank[1]; ++d) {
    if (!absl::c_linear_search(attrs.rhs_batch_dims, d) &&
        !absl::c_linear_search(attrs.rhs_contracting_dims, d))
      dims.rows.push_back({Role::kRight, {-1, d, next++}});
  }
  return dims;
}

ProductDims DimsOfConvolution(const Instruction& convolution) {
  const ConvolutionAttrs& attrs = convolution.attrs<ConvolutionAttrs>();
  const ConvDimNumbers& labels = attrs.dim_labels;
  const Instruction& left = *convolution.operand(0);
  const Instruction& right = *convolution.operand(1);
  ProductDims dims;
  dims.rank = {left.shape().rank(), right.shape().rank(), convolution.shape().rank()};
  dims.rows = {{Role::kLeft, {labels.input_batch, -1, labels.output_batch}},
               {Role::kRight, {-1, labels.kernel_output_feature, labels.output_feature}},
               {Role::kContracting, {labels.input_feature, labels.kernel_input_feature, -1}}};
  for (size_t i = 0; i < labels.input_spatial.size(); ++i) {
    const int64_t l = labels.input_spatial[i], r = labels.kernel_spatial[i];
    const Spatial spatial = {SizeOf(left, l), SizeOf(right, r), attrs.window.dims[i]};
    dims.rows.push_back({RoleOf(spatial), {l, r, labels.output_spatial[i]}});
  }
  return dims;
}

DimMap IndexedDims::IndicesToResult() const {
  DimMap map(static_cast<size_t>(indices->shape().rank()), -1);
  size_t next = 0;
  for (int64_t d = 0; d < result.rank(); ++d) {
    if (absl::c_linear_search(window, d)) continue;
    if (static_cast<int64_t>(next) == index_vector_dim) ++next;
    map[next++] = d;
  }
  return map;
}

DimMap IndexedDims::OperandToResult() const {
  DimMap map(static_cast<size_t>(operand->shape().rank()), -1);
  size_t next = 0;
  for (int64_t d = 0; d < operand->shape().rank(); ++d) {
    if (absl::c_linear_search(collapsed, d) || absl::c_linear_search(operand_batch, d)) continue;
    const int64_t place = window[next++];
    if (slice_sizes[d] == SizeOf(*operand, d)) map[d] = place;
  }
  return map;
}

IndexedDims DimsOfGather(const Instruction& gather) {
  const GatherAttrs& attrs = gather.attrs<GatherAttrs>();
  return {gather.operand(0),
          gather.operand(1),
          gather.shape(),
          attrs.offset_dims,
          attrs.collapsed_slice_dims,
          attrs.operand_batching_dims,
          attrs.start_indices_batching_dims,
          attrs.start_index_map,
          attrs.index_vector_dim,
          attrs.slice_sizes};
}

IndexedDims DimsOfScatter(const Instruction& scatter) {
  const ScatterAttrs& attrs = scatter.attrs<ScatterAttrs>();
  const int operands = scatter.operand_count() / 2;
  const Instruction& updates = *scatter.operand(operands + 1);
  IndexedDims dims = {scatter.operand(0),
                      scatter.operand(operands),
                      updates.shape(),
                      attrs.update_window_dims,
                      attrs.inserted_window_dims,
                      attrs.input_batching_dims,
                      attrs.scatter_indices_batching_dims,
                      attrs.scatter_dims_to_operand_dims,
                      attrs.index_vector_dim,
                      {}};
  size_t next = 0;
  for (int64_t d = 0; d < dims.operand->shape().rank(); ++d) {
    const bool is_left_out =
        absl::c_linear_search(dims.collapsed, d) || absl::c_linear_search(dims.operand_batch, d);
    dims.slice_sizes.push_back(is_left_out ? 1 : SizeOf(updates, dims.window[next++]));
  }
  return dims;
}

ParallelDims ExplicitBatch(const IndexedDims& dims) {
  return {dims.operand_batch, dims.indices_batch,
          AtDims(dims.IndicesToResult(), dims.indices_batch)};
}

ParallelDims CountedBatch(const IndexedDims& dims) {
  const Instruction* indices = dims.indices;
  while (indices->opcode() == Opcode::kCopy) indices = indices->operand(0);
  const DimVec counting = CountingDims(dims, *indices);
  ParallelDims parallel;
  for (size_t place = 0; place < counting.size(); ++place) {
    const int64_t in_indices = counting[place], in_operand = dims.index_map[place];
    if (in_indices < 0) continue;
    // Two places that count along one dimension read a diagonal.
    if (absl::c_linear_search(parallel.indices, in_indices)) return {};
    if (dims.slice_sizes[in_operand] != 1 || absl::c_linear_search(dims.indices_batch, in_indices))
      continue;
    if (SizeOf(*dims.operand, in_operand) != SizeOf(*indices, in_indices)) return {};
    parallel.indices.push_back(in_indices);
    parallel.operand.push_back(in_operand);
  }
  parallel.result = AtDims(dims.IndicesToResult(), parallel.indices);
  return parallel;
}

}  // namespace hlo
