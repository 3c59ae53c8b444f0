// The fields of values that instructions and modules are made of, for FieldReader and FieldWriter.
#pragma once

#include "lib/ir/module_config.h"
#include "lib/ops/attrs.h"
#include "lib/proto/fields.h"

namespace hlo::internal {

void WriteShape(Shape shape, pb::Message& message);
Shape ReadShape(const FieldReader& io);
void WriteLiteral(const Literal& literal, pb::Message& message);
Literal ReadLiteral(const FieldReader& io);
void WriteSharding(const Sharding& sharding, pb::Message& message);
Sharding ReadSharding(const FieldReader& io);
void WriteOrigin(const OriginalValue& origin, pb::Message& message);
OriginalValue ReadOrigin(const FieldReader& io);

// Values with a reader and a writer of their own.
inline void Map(const FieldWriter& io, Shape& shape) { WriteShape(shape, io.message()); }
inline void Map(const FieldReader& io, Shape& shape) { shape = ReadShape(io); }
inline void Map(const FieldWriter& io, Literal& literal) { WriteLiteral(literal, io.message()); }
inline void Map(const FieldReader& io, Literal& literal) { literal = ReadLiteral(io); }
inline void Map(const FieldWriter& io, Sharding& value) { WriteSharding(value, io.message()); }
inline void Map(const FieldReader& io, Sharding& value) { value = ReadSharding(io); }
inline void Map(const FieldWriter& io, OriginalValue& value) { WriteOrigin(value, io.message()); }
inline void Map(const FieldReader& io, OriginalValue& value) { value = ReadOrigin(io); }

// A message that is always written.
template <class Io, class T>
void Part(const Io& io, const char* name, T& value) {
  io.Message(name, true, [&](const auto& part) { Map(part, value); });
}
// One that is written when there is a value.
template <class Io, class Optional>
void OptionalPart(const Io& io, const char* name, Optional& value) {
  io.Message(name, static_cast<bool>(value), [&](const auto& part) {
    if constexpr (Io::kReads) value.emplace();
    Map(part, *value);
  });
}
template <class Io, class List>
void Parts(const Io& io, const char* name, List& items) {
  io.Each(name, items, [](const auto& part, auto& item) { Map(part, item); });
}
template <class Io>
void SharedTextField(const Io& io, const char* name, SharedText& text) {
  std::string copy(text.view());
  io.Text(name, copy);
  if constexpr (Io::kReads) text = SharedText(copy);
}

template <class Io>
void Map(const Io& io, WindowDim& dim) {
  io.Int("size", dim.size);
  io.Int("stride", dim.stride);
  io.Int("padding_low", dim.pad_low);
  io.Int("padding_high", dim.pad_high);
  io.Int("window_dilation", dim.window_dilation);
  io.Int("base_dilation", dim.base_dilation);
  io.Int("window_reversal", dim.reversal);
}
template <class Io>
void Map(const Io& io, Window& window) {
  Parts(io, "dimensions", window.dims);
}
template <class Io>
void Map(const Io& io, PaddingDim& dim) {
  io.Int("edge_padding_low", dim.low);
  io.Int("edge_padding_high", dim.high);
  io.Int("interior_padding", dim.interior);
}
template <class Io>
void Map(const Io& io, PaddingConfig& padding) {
  Parts(io, "dimensions", padding.dims);
}
template <class Io>
void Map(const Io& io, SliceRange& range) {
  io.Int("start", range.start);
  io.Int("limit", range.limit);
  io.Int("stride", range.stride);
}
template <class Io>
void Map(const Io& io, ConvDimNumbers& labels) {
  io.Int("input_batch_dimension", labels.input_batch);
  io.Int("input_feature_dimension", labels.input_feature);
  io.Ints("input_spatial_dimensions", labels.input_spatial);
  io.Int("kernel_input_feature_dimension", labels.kernel_input_feature);
  io.Int("kernel_output_feature_dimension", labels.kernel_output_feature);
  io.Ints("kernel_spatial_dimensions", labels.kernel_spatial);
  io.Int("output_batch_dimension", labels.output_batch);
  io.Int("output_feature_dimension", labels.output_feature);
  io.Ints("output_spatial_dimensions", labels.output_spatial);
}
template <class Io>
void Map(const Io& io, std::pair<int64_t, int64_t>& pair) {
  io.Int("source", pair.first);
  io.Int("target", pair.second);
}
template <class Io>
void Map(const Io& io, OutputOperandAlias& alias) {
  io.Ints("output_shape_index", alias.output);
  io.Int("operand_index", alias.operand);
  io.Ints("operand_shape_index", alias.operand_index);
}
template <class Io>
void Map(const Io& io, TensorSparsity& sparsity) {
  io.Int("num_non_zero", sparsity.n);
  io.Int("block_size", sparsity.m);
  io.Int("dimension", sparsity.dimension);
  io.Int("stride", sparsity.stride);
}
template <class Io>
void Map(const Io& io, SparsityConfig& config) {
  OptionalPart(io, "lhs", config.lhs);
  OptionalPart(io, "rhs", config.rhs);
}
template <class Io>
void Map(const Io& io, MeshAxis& axis) {
  io.Text("name", axis.name);
  io.Int("size", axis.size);
}
template <class Io>
void Map(const Io& io, Mesh& mesh) {
  Parts(io, "axes", mesh.axes);
  std::vector<int64_t> devices = mesh.device_ids;
  if (mesh.maximal_device) devices = {*mesh.maximal_device};
  io.Ints("device_ids", devices);
  io.Message("iota_transform", mesh.device_iota.has_value(), [&](const auto& part) {
    if constexpr (Io::kReads) mesh.device_iota.emplace();
    part.Ints("reshape_dims", mesh.device_iota->reshape_dims);
    part.Ints("transpose_perm", mesh.device_iota->transpose);
    if constexpr (Io::kReads) {
      for (const MeshAxis& axis : mesh.axes) mesh.device_iota->dims.push_back(axis.size);
    }
  });
  if constexpr (Io::kReads) {
    if (mesh.axes.empty() && devices.size() == 1) {
      mesh.maximal_device = devices[0];
    } else {
      mesh.device_ids = std::move(devices);
    }
  }
}
template <class Io>
void Map(const Io& io, AxisRef& ref) {
  io.Int("mesh_axis_index", ref.axis);
  io.Message("sub_axis_info", ref.is_sub_axis(), [&](const auto& part) {
    part.Int("pre_size", ref.pre_size);
    part.Int("size", ref.size);
  });
}
template <class Io>
void Map(const Io& io, OpMetadata& metadata) {
  SharedTextField(io, "op_type", metadata.op_type);
  SharedTextField(io, "op_name", metadata.op_name);
  SharedTextField(io, "source_file", metadata.source_file);
  io.Int("source_line", metadata.source_line);
  io.Int("source_end_line", metadata.source_end_line);
  io.Int("source_column", metadata.source_column);
  io.Int("source_end_column", metadata.source_end_column);
  std::vector<int64_t> types;
  if (metadata.profile_type) types = *metadata.profile_type;
  io.Ints("profile_type", types);
  SharedTextField(io, "deduplicated_name", metadata.deduplicated_name);
  SharedTextField(io, "scheduling_name", metadata.scheduling_name);
  io.Int("stack_frame_id", metadata.stack_frame_id);
  io.Message("metadata_payload", !metadata.metadata_payload.empty(),
             [&](const auto& part) { SharedTextField(part, "value", metadata.metadata_payload); });
  if constexpr (Io::kReads) {
    if (!types.empty()) metadata.profile_type = std::move(types);
  }
}
template <class Io>
void Map(const Io& io, std::pair<std::string, double>& statistic) {
  io.Text("stat_name", statistic.first);
  io.Real("stat_val", statistic.second);
}
template <class Io>
void Map(const Io& io, Statistics& statistics) {
  io.Int("stat_index_to_visualize", statistics.visualizing_index);
  Parts(io, "statistics", statistics.values);
}
template <class Io>
void Map(const Io& io, OriginalArray& array) {
  io.Text("instruction_name", array.name);
  io.Ints("shape_index", array.index);
}
template <class Io>
void Map(const Io& io, ResultAccuracy& accuracy) {
  if (Io::kReads || !accuracy.has_tolerance) io.Enum("mode", accuracy.mode, "");
  io.Message("tolerance", accuracy.has_tolerance, [&](const auto& part) {
    accuracy.has_tolerance = true;
    part.Real("atol", accuracy.atol);
    part.Real("rtol", accuracy.rtol);
    part.Int("ulps", accuracy.ulps);
  });
}
template <class Io>
void Map(const Io& io, FrontendAttributes& attributes) {
  // A map is a list of entries.
  std::vector<std::pair<std::string, std::string>> entries(attributes.begin(), attributes.end());
  io.Each("map", entries, [](const auto& part, auto& entry) {
    part.Text("key", entry.first);
    part.Text("value", entry.second);
  });
  if constexpr (Io::kReads) {
    for (auto& [key, value] : entries) attributes.insert_or_assign(key, std::move(value));
  }
}

}  // namespace hlo::internal
