// Shape rules of gather and scatter. Both map between an array and indices: gather reads a slice
// per index vector, scatter combines a window of updates per index vector.
#include "lib/ops/shape_helpers.h"

namespace hlo {
namespace {

// The indexing half that gather and scatter share, under the attribute names of either. What is
// read from which row is not asked (lib/ir/verify_meaning.cc).
struct Indexing {
  Shape array;  // gather's operand, scatter's input
  Shape indices;
  const DimVec& skipped;   // collapsed_slice_dims, inserted_window_dims
  const DimVec& batching;  // of the array
  const DimVec& indices_batching;
  const DimVec& map;  // index vector component -> array dimension
  int64_t vector_dim;
  std::string_view skipped_name;
  std::string_view batching_name;
  std::string_view indices_batching_name;
  std::string_view map_name;
};

absl::Status CheckSorted(const ShapeArgs& args, std::string_view what, const DimVec& dims,
                         int64_t rank) {
  RETURN_IF_ERROR(args.CheckDistinctDimensions(what, dims, rank));
  return CheckAscending(args, what, dims);
}

absl::Status CheckIndexing(const ShapeArgs& args, const Indexing& x) {
  const int rank = x.array.rank();
  const int indices_rank = x.indices.rank();
  if (!IsInteger(x.indices.element_type())) {
    return args.Error("the indices have element type `{}`, expected integer",
                      Text(x.indices.element_type()));
  }
  if (x.vector_dim < 0 || x.vector_dim > indices_rank) {
    return args.Error("`index_vector_dim` is {}, expected at most {}, the rank of the indices",
                      x.vector_dim, indices_rank);
  }
  RETURN_IF_ERROR(CheckSorted(args, x.skipped_name, x.skipped, rank));
  RETURN_IF_ERROR(CheckSorted(args, x.batching_name, x.batching, rank));
  RETURN_IF_ERROR(
      args.CheckDistinctDimensions(x.indices_batching_name, x.indices_batching, indices_rank));
  RETURN_IF_ERROR(args.CheckDistinctDimensions(x.map_name, x.map, rank));
  if (x.batching.size() != x.indices_batching.size()) {
    return args.Error("`{}` has {} entries, but `{}` has {}", x.batching_name, x.batching.size(),
                      x.indices_batching_name, x.indices_batching.size());
  }
  const int64_t components =
      x.vector_dim == indices_rank ? 1 : x.indices.dim(static_cast<int>(x.vector_dim));
  if (!SameSize(components, static_cast<int64_t>(x.map.size()))) {
    return args.Error("`{}` has {} entries, but the index vectors have {} components", x.map_name,
                      x.map.size(), components);
  }
  return absl::OkStatus();
}

// Dimensions of the indices without the index vector.
std::vector<int> IndexDims(Shape indices, int64_t vector_dim) {
  std::vector<int> dims;
  for (int d = 0; d < indices.rank(); ++d) {
    if (d != vector_dim) dims.push_back(d);
  }
  return dims;
}

// Of input `i` and its updates.
absl::Status CheckUpdates(const ShapeArgs& args, const ScatterAttrs& attrs, int i, Shape indices,
                          Shape updates) {
  const Shape input = args.operand(i);
  const std::vector<int> index_dims = IndexDims(indices, attrs.index_vector_dim);
  const DimVec& window = attrs.update_window_dims;
  if (updates.rank() != static_cast<int>(index_dims.size() + window.size())) {
    return args.Error(
        "updates have shape `{}` of rank {}, expected rank {}: {} index dimensions and {} window "
        "dimensions",
        updates, updates.rank(), index_dims.size() + window.size(), index_dims.size(),
        window.size());
  }
  RETURN_IF_ERROR(CheckSorted(args, "update_window_dims", window, updates.rank()));
  // As many as window dimensions, or more when lists overlap.
  std::vector<int> window_sources;
  for (int d = 0; d < input.rank(); ++d) {
    if (!Contains(attrs.inserted_window_dims, d) && !Contains(attrs.input_batching_dims, d))
      window_sources.push_back(d);
  }
  const size_t others = attrs.inserted_window_dims.size() + attrs.input_batching_dims.size();
  if (window.size() + others != static_cast<size_t>(input.rank())) {
    return args.Error(
        "`update_window_dims` has {} entries, expected rank {} of `{}` without {} inserted and {} "
        "batching dimensions",
        window.size(), input.rank(), args.name(i), attrs.inserted_window_dims.size(),
        attrs.input_batching_dims.size());
  }
  size_t next_window = 0;
  size_t next_index = 0;
  for (int d = 0; d < updates.rank(); ++d) {
    if (Contains(window, d)) {
      const int from = window_sources[next_window++];
      if (input.dim(from) != Shape::kUnbounded && updates.dim(d) > input.dim(from)) {
        return args.Error(
            "window dimension {} of the updates is {}, but dimension {} of `{}` is only {}", d,
            updates.dim(d), from, args.name(i), input.dim(from));
      }
      continue;
    }
    const int from = index_dims[next_index++];
    if (!SameSize(updates.dim(d), indices.dim(from))) {
      return args.Error("dimension {} of the updates is {}, but dimension {} of the indices is {}",
                        d, updates.dim(d), from, indices.dim(from));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCombiner(const ShapeArgs& args, int n) {
  RETURN_IF_ERROR(CheckParameterCount(args, 0, static_cast<size_t>(2 * n)));
  const Signature& combiner = args.calls()[0];
  for (int p = 0; p < 2 * n; ++p) {
    const Shape parameter = combiner.parameters[static_cast<size_t>(p)];
    const ElementType type = args.operand(p < n ? p : p + 1).element_type();
    if (!parameter.IsScalar() || !SameTypeUpToFloatWidth(parameter.element_type(), type)) {
      return args.Error("parameter {} of {} has shape `{}`, expected `{}[]`", p,
                        CalleeName(args, 0), parameter, Text(type));
    }
  }
  const Shape result = combiner.result;
  if (n > 1 && (!result.IsTuple() || result.element_count_of_tuple() != n)) {
    return args.Error("{} returns `{}`, expected a tuple of {} scalars", CalleeName(args, 0),
                      result, n);
  }
  for (int i = 0; i < n; ++i) {
    const Shape value =
        result.IsTuple() && i < result.element_count_of_tuple() ? result.element(i) : result;
    if (!value.IsScalar() ||
        !SameTypeUpToFloatWidth(value.element_type(), args.operand(i).element_type())) {
      return args.Error("{} returns `{}` for value {}, expected `{}[]`", CalleeName(args, 0), value,
                        i, Text(args.operand(i).element_type()));
    }
    const Shape accumulator = combiner.parameters[static_cast<size_t>(i)];
    if (!Matches(accumulator, value)) {
      return args.Error("parameter {} of {} has shape `{}`, but the result it receives has `{}`", i,
                        CalleeName(args, 0), accumulator, value);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> GatherShape(const ShapeArgs& args) {
  const GatherAttrs& attrs = args.attrs<GatherAttrs>();
  RETURN_IF_ERROR(args.CheckArray(0));
  RETURN_IF_ERROR(args.CheckArray(1));
  const Shape operand = args.operand(0);
  const Shape indices = args.operand(1);
  RETURN_IF_ERROR(CheckIndexing(
      args, {operand, indices, attrs.collapsed_slice_dims, attrs.operand_batching_dims,
             attrs.start_indices_batching_dims, attrs.start_index_map, attrs.index_vector_dim,
             "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims",
             "start_index_map"}));
  if (static_cast<int>(attrs.slice_sizes.size()) != operand.rank()) {
    return args.Error("`slice_sizes` has {} entries, but `{}` has rank {}",
                      attrs.slice_sizes.size(), args.name(0), operand.rank());
  }
  DimVec offset_sources;  // as many as offset dimensions, or more when lists overlap
  for (int d = 0; d < operand.rank(); ++d) {
    const int64_t size = attrs.slice_sizes[d];
    if (size < 0 || (operand.dim(d) != Shape::kUnbounded && size > operand.dim(d))) {
      return args.Error("slice size {} of dimension {} is not in [0, {}], the size of `{}`", size,
                        d, operand.dim(d), args.name(0));
    }
    const bool collapsed =
        Contains(attrs.collapsed_slice_dims, d) || Contains(attrs.operand_batching_dims, d);
    if (collapsed && size > 1) {
      return args.Error(
          "slice size {} of dimension {} must be at most 1, as the dimension is collapsed or "
          "batching",
          size, d);
    }
    if (!collapsed) offset_sources.push_back(d);
  }
  const size_t others = attrs.collapsed_slice_dims.size() + attrs.operand_batching_dims.size();
  if (attrs.offset_dims.size() + others != static_cast<size_t>(operand.rank())) {
    return args.Error(
        "`offset_dims` has {} entries, expected rank {} of `{}` without {} collapsed and {} "
        "batching dimensions",
        attrs.offset_dims.size(), operand.rank(), args.name(0), attrs.collapsed_slice_dims.size(),
        attrs.operand_batching_dims.size());
  }
  const std::vector<int> index_dims = IndexDims(indices, attrs.index_vector_dim);
  const int64_t rank = static_cast<int64_t>(index_dims.size() + attrs.offset_dims.size());
  RETURN_IF_ERROR(CheckSorted(args, "offset_dims", attrs.offset_dims, rank));
  DimList dims;
  size_t next_offset = 0;
  size_t next_index = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (Contains(attrs.offset_dims, d)) {
      const int from = static_cast<int>(offset_sources[next_offset++]);
      const int64_t size = attrs.slice_sizes[from];
      dims.Add(size, operand.is_dynamic(from) && size == operand.dim(from));
    } else {
      dims.Add(indices, index_dims[next_index++]);
    }
  }
  return dims.ToShape(operand.element_type());
}

absl::StatusOr<Shape> ScatterShape(const ShapeArgs& args) {
  const ScatterAttrs& attrs = args.attrs<ScatterAttrs>();
  const int count = args.operand_count();
  if (count < 3 || count % 2 == 0) {
    return args.Error("found {} operands, expected inputs, indices, and as many updates as inputs",
                      count);
  }
  const int n = count / 2;
  for (int i = 0; i < count; ++i) RETURN_IF_ERROR(args.CheckArray(i));
  const Shape input = args.operand(0);
  const Shape indices = args.operand(n);
  for (int i = 0; i < n; ++i) {
    const Shape update = args.operand(n + 1 + i);
    RETURN_IF_ERROR(args.CheckRank(i, input.rank()));
    if (!SameTypeUpToFloatWidth(args.operand(i).element_type(), update.element_type())) {
      return args.Error("update {} has element type `{}`, but input {} has `{}`", i,
                        Text(update.element_type()), i, Text(args.operand(i).element_type()));
    }
  }
  RETURN_IF_ERROR(CheckCombiner(args, n));
  RETURN_IF_ERROR(
      CheckIndexing(args, {input, indices, attrs.inserted_window_dims, attrs.input_batching_dims,
                           attrs.scatter_indices_batching_dims, attrs.scatter_dims_to_operand_dims,
                           attrs.index_vector_dim, "inserted_window_dims", "input_batching_dims",
                           "scatter_indices_batching_dims", "scatter_dims_to_operand_dims"}));
  for (int i = 0; i < n; ++i) {
    RETURN_IF_ERROR(CheckUpdates(args, attrs, i, indices, args.operand(n + 1 + i)));
  }
  if (n == 1) return input;
  return Shape::Tuple(args.operands().subspan(0, static_cast<size_t>(n)));
}

}  // namespace hlo
