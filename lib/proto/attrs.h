// Where the attributes of every opcode stand in `HloInstructionProto`, for FieldReader and
// FieldWriter: one function per struct of lib/ops/attrs.h.
#pragma once

#include "lib/proto/values.h"

namespace hlo::internal {

// Numbers above zero; zero and -1 mean none.
template <class Io>
void ChannelField(const Io& io, std::optional<int64_t>& channel) {
  int64_t number = channel.value_or(0);
  io.Int("channel_id", number);
  if constexpr (Io::kReads) {
    if (number > 0) channel = number;
  }
}

// One dimension in a list.
template <class Io>
void DimensionField(const Io& io, int64_t& dimension) {
  DimVec list = {dimension};
  io.Ints("dimensions", list);
  if constexpr (Io::kReads) {
    if (list.size() != 1) {
      return io.Problem("found " + std::to_string(list.size()) + " `dimensions`, expected one");
    }
    dimension = list[0];
  }
}
template <class Io, class T>
void OptionalDimensionField(const Io& io, std::optional<T>& dimension, int64_t T::*member) {
  DimVec list;
  if (dimension) list.push_back((*dimension).*member);
  io.Ints("dimensions", list);
  if constexpr (Io::kReads) {
    if (!list.empty()) dimension = T{list[0]};
  }
}

template <class Io>
void GroupLists(const Io& io, ReplicaGroups::Lists& lists) {
  io.Each("replica_groups", lists,
          [](const auto& part, std::vector<int64_t>& list) { part.Ints("replica_ids", list); });
}

template <class Io>
void GroupsField(const Io& io, ReplicaGroups& groups) {
  if constexpr (Io::kReads) {
    if (io.Has("iota_collective_device_list")) {
      groups.form = IotaTiles();
    } else if (io.Has("mesh_axes_replica_group_list")) {
      groups.form = MeshGroups();
    }
  }
  io.Message("iota_collective_device_list", std::holds_alternative<IotaTiles>(groups.form),
             [&](const auto& part) {
               IotaTiles& iota = std::get<IotaTiles>(groups.form);
               if constexpr (Io::kReads) iota.dims = {0, 0};
               part.Int("num_replica_groups", iota.dims[0]);
               part.Int("num_devices_per_group", iota.dims[1]);
               part.Ints("iota_reshape_dims", iota.reshape_dims);
               part.Ints("iota_transpose_perm", iota.transpose);
             });
  io.Message("mesh_axes_replica_group_list", std::holds_alternative<MeshGroups>(groups.form),
             [&](const auto& part) {
               MeshGroups& mesh = std::get<MeshGroups>(groups.form);
               Part(part, "mesh", mesh.mesh);
               Parts(part, "axes", mesh.axes);
               if constexpr (Io::kReads) {
                 for (const AxisRef& ref : mesh.axes) {
                   if (ref.axis < 0 || ref.axis >= static_cast<int64_t>(mesh.mesh.axes.size()))
                     part.Problem("a replica group names axis " + std::to_string(ref.axis));
                 }
               }
             });
  auto* lists = std::get_if<ReplicaGroups::Lists>(&groups.form);
  if (lists == nullptr) return;
  io.Message("collective_device_list", true, [&](const auto& part) { GroupLists(part, *lists); });
  if constexpr (Io::kReads) {
    // The field of old messages.
    if (lists->empty()) GroupLists(io, *lists);
  }
}

template <class Io>
void Map(const Io&, NoAttrs&) {}

template <class Io>
void Map(const Io& io, AllGatherAttrs& a) {
  ChannelField(io, a.channel_id);
  GroupsField(io, a.replica_groups);
  io.Int("constrain_layout", a.constrain_layout);
  DimensionField(io, a.dimensions.value);
  io.Int("use_global_device_ids", a.use_global_device_ids);
}
template <class Io>
void Map(const Io& io, AllReduceAttrs& a) {
  ChannelField(io, a.channel_id);
  GroupsField(io, a.replica_groups);
  io.Int("constrain_layout", a.constrain_layout);
  io.Int("use_global_device_ids", a.use_global_device_ids);
}
template <class Io>
void Map(const Io& io, ReduceScatterAttrs& a) {
  ChannelField(io, a.channel_id);
  GroupsField(io, a.replica_groups);
  io.Int("constrain_layout", a.constrain_layout);
  io.Int("use_global_device_ids", a.use_global_device_ids);
  DimensionField(io, a.dimensions.value);
}
template <class Io>
void Map(const Io& io, AllToAllAttrs& a) {
  ChannelField(io, a.channel_id);
  GroupsField(io, a.replica_groups);
  io.Int("constrain_layout", a.constrain_layout);
  OptionalDimensionField(io, a.dimensions, &BracedDim::value);
}
template <class Io>
void Map(const Io& io, RaggedAllToAllAttrs& a) {
  ChannelField(io, a.channel_id);
  GroupsField(io, a.replica_groups);
}
template <class Io>
void Map(const Io& io, CollectiveBroadcastAttrs& a) {
  ChannelField(io, a.channel_id);
  GroupsField(io, a.replica_groups);
}
template <class Io>
void Map(const Io& io, CollectivePermuteAttrs& a) {
  ChannelField(io, a.channel_id);
  Parts(io, "source_target_pairs", a.source_target_pairs);
  // The sizes of all slices in one list.
  DimVec sizes;
  for (const DimVec& slice : a.slice_sizes) sizes.insert(sizes.end(), slice.begin(), slice.end());
  io.Ints("dynamic_slice_sizes", sizes);
  if constexpr (Io::kReads) {
    if (!sizes.empty()) a.slice_sizes = {sizes};
  }
}
template <class Io>
void Map(const Io& io, AsyncAttrs& a) {
  io.Text("async_execution_thread", a.async_execution_thread);
  if constexpr (Io::kReads) {
    if (a.async_execution_thread.empty()) a.async_execution_thread = "main";
  }
  Parts(io, "output_operand_aliasing", a.output_to_operand_aliasing);
}
template <class Io>
void Map(const Io& io, BatchNormAttrs& a) {
  io.Real("epsilon", a.epsilon);
  io.Int("feature_index", a.feature_index);
}
template <class Io>
void Map(const Io& io, BroadcastAttrs& a) {
  io.Ints("dimensions", a.dimensions);
}
template <class Io>
void Map(const Io& io, TransposeAttrs& a) {
  io.Ints("dimensions", a.dimensions);
}
template <class Io>
void Map(const Io& io, ReverseAttrs& a) {
  io.Ints("dimensions", a.dimensions);
}
template <class Io>
void Map(const Io& io, ReduceAttrs& a) {
  io.Ints("dimensions", a.dimensions);
}
template <class Io>
void Map(const Io& io, MapAttrs& a) {
  io.Ints("dimensions", a.dimensions);
}
template <class Io>
void Map(const Io& io, DimensionAttrs& a) {
  DimensionField(io, a.dimensions.value);
}
template <class Io>
void Map(const Io& io, ConcatenateAttrs& a) {
  DimensionField(io, a.dimensions.value);
}
template <class Io>
void Map(const Io& io, CallAttrs& a) {
  io.Int("is_composite", a.is_composite);
}
template <class Io>
void Map(const Io& io, CholeskyAttrs& a) {
  io.Message("cholesky_options", true, [&](const auto& part) { part.Int("lower", a.lower); });
}
template <class Io>
void Map(const Io& io, CompareAttrs& a) {
  io.Word("comparison_direction", a.direction);
  if constexpr (Io::kReads) {
    std::string type;
    io.Text("comparison_type", type);
    if (type.empty()) return;
    a.type = ComparisonType::kFloat;
  }
  if (a.type) io.Word("comparison_type", *a.type);
}
template <class Io>
void Map(const Io& io, ConstantAttrs& a) {
  Part(io, "literal", a.literal);
}

template <class Io>
void PrecisionField(const Io& io, PrecisionConfig& precision, DotAlgorithm* algorithm) {
  const bool set =
      !precision.values.empty() || (algorithm != nullptr && *algorithm != DotAlgorithm::kUnset);
  io.Message("precision_config", set, [&](const auto& part) {
    std::vector<int64_t> numbers;
    for (const Precision value : precision.values) numbers.push_back(static_cast<int64_t>(value));
    part.Ints("operand_precision", numbers);
    if (algorithm != nullptr) part.Enum("algorithm", *algorithm, "ALG_");
    if constexpr (Io::kReads) {
      for (const int64_t number : numbers) {
        if (number < 0 || number > static_cast<int64_t>(Precision::kHighest))
          return part.Problem("`operand_precision` has the unknown value " +
                              std::to_string(number));
        precision.values.push_back(static_cast<Precision>(number));
      }
    }
  });
}

template <class Io>
void Map(const Io& io, ConvolutionAttrs& a) {
  Part(io, "window", a.window);
  Part(io, "convolution_dimension_numbers", a.dim_labels);
  io.Int("feature_group_count", a.feature_group_count);
  io.Int("batch_group_count", a.batch_group_count);
  if constexpr (Io::kReads) {
    if (a.feature_group_count == 0) a.feature_group_count = 1;
    if (a.batch_group_count == 0) a.batch_group_count = 1;
  }
  io.Enum("conv_kind", a.convolution_kind, "CONVOLUTION_KIND_");
  PrecisionField(io, a.operand_precision, &a.algorithm);
  const bool sparse = a.sparsity_config.lhs || a.sparsity_config.rhs;
  io.Message("sparsity_config", sparse, [&](const auto& part) { Map(part, a.sparsity_config); });
}
template <class Io>
void Map(const Io& io, CopyStartAttrs& a) {
  if constexpr (Io::kReads) {
    if (!io.Has("cross_program_prefetch_index")) return;
    a.cross_program_prefetch_index = 0;
  }
  if (a.cross_program_prefetch_index)
    io.Int("cross_program_prefetch_index", *a.cross_program_prefetch_index);
}
template <class Io>
void Map(const Io& io, CustomCallAttrs& a) {
  OptionalPart(io, "window", a.window);
  OptionalPart(io, "convolution_dimension_numbers", a.dim_labels);
  io.Int("feature_group_count", a.feature_group_count);
  io.Int("batch_group_count", a.batch_group_count);
  if constexpr (Io::kReads) {
    if (a.feature_group_count == 0) a.feature_group_count = 1;
    if (a.batch_group_count == 0) a.batch_group_count = 1;
  }
  PrecisionField(io, a.operand_precision, nullptr);
  io.Enum("padding_type", a.padding_type, "");
  io.Text("custom_call_target", a.custom_call_target);
  bool constrained = a.operand_layout_constraints.has_value();
  io.Int("constrain_layout", constrained);
  if constexpr (Io::kReads) {
    if (constrained) a.operand_layout_constraints.emplace();
  }
  if (constrained) Parts(io, "operand_shapes_with_layout", *a.operand_layout_constraints);
  io.Int("custom_call_has_side_effect", a.custom_call_has_side_effect);
  OptionalPart(io, "literal", a.literal);
  Parts(io, "output_operand_aliasing", a.output_to_operand_aliasing);
  io.Enum("custom_call_schedule", a.schedule, "");
  io.Enum("custom_call_api_version", a.api_version, "");
}
template <class Io>
void Map(const Io& io, DomainAttrs& a) {
  Part(io, "domain_entry_sharding", a.domain.entry);
  Part(io, "domain_exit_sharding", a.domain.exit);
}

template <class Io, class A>
void DotDimensions(const Io& io, A& a) {
  io.Message("dot_dimension_numbers", true, [&](const auto& part) {
    part.Ints("lhs_contracting_dimensions", a.lhs_contracting_dims);
    part.Ints("rhs_contracting_dimensions", a.rhs_contracting_dims);
    part.Ints("lhs_batch_dimensions", a.lhs_batch_dims);
    part.Ints("rhs_batch_dimensions", a.rhs_batch_dims);
  });
}
template <class Io>
void Map(const Io& io, DotAttrs& a) {
  DotDimensions(io, a);
  PrecisionField(io, a.operand_precision, &a.algorithm);
}
template <class Io>
void Map(const Io& io, RaggedDotAttrs& a) {
  io.Message("ragged_dot_dimension_numbers", true, [&](const auto& part) {
    DotDimensions(part, a);
    part.Ints("lhs_ragged_dimensions", a.lhs_ragged_dims);
    part.Ints("rhs_group_dimensions", a.rhs_group_dims);
  });
  PrecisionField(io, a.operand_precision, nullptr);
}
template <class Io>
void Map(const Io& io, DynamicSliceAttrs& a) {
  io.Ints("dynamic_slice_sizes", a.dynamic_slice_sizes);
}
template <class Io>
void Map(const Io& io, FftAttrs& a) {
  io.Enum("fft_type", a.fft_type, "");
  io.Ints("fft_length", a.fft_length);
}
template <class Io>
void Map(const Io& io, FusionAttrs& a) {
  io.Word("fusion_kind", a.kind);
  Parts(io, "output_operand_aliasing", a.output_to_operand_aliasing);
}
template <class Io>
void Map(const Io& io, GatherAttrs& a) {
  io.Message("gather_dimension_numbers", true, [&](const auto& part) {
    part.Ints("offset_dims", a.offset_dims);
    part.Ints("collapsed_slice_dims", a.collapsed_slice_dims);
    part.Ints("start_index_map", a.start_index_map);
    part.Int("index_vector_dim", a.index_vector_dim);
    part.Ints("operand_batching_dims", a.operand_batching_dims);
    part.Ints("start_indices_batching_dims", a.start_indices_batching_dims);
  });
  io.Ints("gather_slice_sizes", a.slice_sizes);
  io.Int("indices_are_sorted", a.indices_are_sorted);
}
template <class Io>
void Map(const Io& io, ScatterAttrs& a) {
  io.Message("scatter_dimension_numbers", true, [&](const auto& part) {
    part.Ints("update_window_dims", a.update_window_dims);
    part.Ints("inserted_window_dims", a.inserted_window_dims);
    part.Ints("scatter_dims_to_operand_dims", a.scatter_dims_to_operand_dims);
    part.Int("index_vector_dim", a.index_vector_dim);
    part.Ints("input_batching_dims", a.input_batching_dims);
    part.Ints("scatter_indices_batching_dims", a.scatter_indices_batching_dims);
  });
  io.Int("indices_are_sorted", a.indices_are_sorted);
  io.Int("unique_indices", a.unique_indices);
}
template <class Io>
void Map(const Io& io, GetTupleElementAttrs& a) {
  io.Int("tuple_index", a.index);
}
template <class Io>
void Map(const Io& io, InfeedAttrs& a) {
  io.Text("infeed_config", a.infeed_config);
}
template <class Io>
void Map(const Io& io, OutfeedAttrs& a) {
  Part(io, "outfeed_shape", a.outfeed_shape);
  io.Text("outfeed_config", a.outfeed_config);
}
template <class Io>
void Map(const Io& io, IotaAttrs& a) {
  DimensionField(io, a.iota_dimension);
}
template <class Io>
void Map(const Io& io, PadAttrs& a) {
  Part(io, "padding_config", a.padding);
}
template <class Io>
void Map(const Io& io, ParameterAttrs& a) {
  io.Int("parameter_number", a.number);
  io.Message("parameter_replication", a.parameter_replication.has_value(), [&](const auto& part) {
    std::vector<int64_t> flags;
    if (a.parameter_replication)
      flags.assign(a.parameter_replication->begin(), a.parameter_replication->end());
    part.Ints("replicated_at_leaf_buffers", flags);
    if constexpr (Io::kReads) {
      if (!flags.empty()) a.parameter_replication.emplace(flags.begin(), flags.end());
    }
  });
}
template <class Io>
void Map(const Io& io, ChannelAttrs& a) {
  ChannelField(io, a.channel_id);
  io.Int("is_host_transfer", a.is_host_transfer);
}
template <class Io>
void Map(const Io& io, ReducePrecisionAttrs& a) {
  io.Int("exponent_bits", a.exponent_bits);
  io.Int("mantissa_bits", a.mantissa_bits);
}
template <class Io>
void Map(const Io& io, ReduceWindowAttrs& a) {
  Part(io, "window", a.window);
}
template <class Io>
void Map(const Io& io, SelectAndScatterAttrs& a) {
  Part(io, "window", a.window);
}
template <class Io>
void Map(const Io& io, ReshapeAttrs& a) {
  DimVec list;
  if (a.inferred_dimension) list.push_back(*a.inferred_dimension);
  io.Ints("dimensions", list);
  if constexpr (Io::kReads) {
    if (!list.empty()) a.inferred_dimension = list[0];
  }
}
template <class Io>
void Map(const Io& io, RngAttrs& a) {
  io.Enum("distribution", a.distribution, "");
}
template <class Io>
void Map(const Io& io, RngBitGeneratorAttrs& a) {
  io.Enum("rng_algorithm", a.algorithm, "");
}
template <class Io>
void Map(const Io& io, RngGetAndUpdateStateAttrs& a) {
  io.Int("delta", a.delta);
}
template <class Io>
void Map(const Io& io, ScanAttrs& a) {
  DimensionField(io, a.dimensions.value);
  io.Int("num_carries", a.num_carries);
  io.Int("is_reverse", a.is_reverse);
  // TriState of schema.inc: unspecified, true, false.
  int64_t state = !a.is_associative ? 0 : *a.is_associative ? 1 : 2;
  io.Int("is_associative", state);
  if constexpr (Io::kReads)
    a.is_associative = state == 0 ? std::nullopt : std::optional(state == 1);
}
template <class Io>
void Map(const Io& io, SliceAttrs& a) {
  Parts(io, "slice_dimensions", a.slice);
}
template <class Io>
void Map(const Io& io, SortAttrs& a) {
  DimensionField(io, a.dimensions.value);
  io.Int("is_stable", a.is_stable);
}
template <class Io>
void Map(const Io& io, TopKAttrs& a) {
  io.Int("k", a.k);
  io.Int("largest", a.largest);
  // Writers that know nothing of stability leave it out: what is read is stable, which
  // nobody minds.
  if constexpr (!Io::kReads) io.Int("is_stable", a.is_stable);
}
template <class Io>
void Map(const Io& io, TriangularSolveAttrs& a) {
  io.Message("triangular_solve_options", true, [&](const auto& part) {
    part.Int("left_side", a.left_side);
    part.Int("lower", a.lower);
    part.Int("unit_diagonal", a.unit_diagonal);
    part.Enum("transpose_a", a.transpose_a, "");
  });
}

}  // namespace hlo::internal
