// The attributes of every opcode as plain structs that describe their text form
// (lib/support/fields.h). The order of the fields is XLA's print order. Called computations and
// common attributes (sharding, metadata, …) are not here: they are kept by Instruction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/ops/attr_values.h"
#include "lib/ops/attrs_ptr.h"
#include "lib/support/fields.h"
#include "lib/types/dim_numbers.h"
#include "lib/types/literal.h"
#include "lib/types/padding.h"
#include "lib/types/replica_groups.h"
#include "lib/types/window.h"

namespace hlo {

struct NoAttrs {
  static auto Fields() { return std::tuple<>{}; }
};

struct AllGatherAttrs {
  std::optional<int64_t> channel_id;
  ReplicaGroups replica_groups;
  bool constrain_layout = false;
  BracedDim dimensions;
  bool use_global_device_ids = false;
  static auto Fields() {
    using A = AllGatherAttrs;
    return std::tuple{
        Optional("channel_id", &A::channel_id), Always("replica_groups", &A::replica_groups),
        Optional("constrain_layout", &A::constrain_layout), Required("dimensions", &A::dimensions),
        Optional("use_global_device_ids", &A::use_global_device_ids)};
  }
};

struct AllReduceAttrs {
  std::optional<int64_t> channel_id;
  ReplicaGroups replica_groups;
  bool constrain_layout = false;
  bool use_global_device_ids = false;
  std::string mode;  // read from old text and dropped
  static auto Fields() {
    using A = AllReduceAttrs;
    return std::tuple{
        Optional("channel_id", &A::channel_id), Always("replica_groups", &A::replica_groups),
        Optional("constrain_layout", &A::constrain_layout),
        Optional("use_global_device_ids", &A::use_global_device_ids), ParseOnly("mode", &A::mode)};
  }
};

struct ReduceScatterAttrs {
  std::optional<int64_t> channel_id;
  ReplicaGroups replica_groups;
  bool constrain_layout = false;
  bool use_global_device_ids = false;
  BracedDim dimensions;
  std::string mode;
  static auto Fields() {
    using A = ReduceScatterAttrs;
    return std::tuple{Optional("channel_id", &A::channel_id),
                      Always("replica_groups", &A::replica_groups),
                      Optional("constrain_layout", &A::constrain_layout),
                      Optional("use_global_device_ids", &A::use_global_device_ids),
                      Required("dimensions", &A::dimensions),
                      ParseOnly("mode", &A::mode)};
  }
};

struct AllToAllAttrs {
  std::optional<int64_t> channel_id;
  ReplicaGroups replica_groups;
  bool constrain_layout = false;
  std::optional<BracedDim> dimensions;
  static auto Fields() {
    using A = AllToAllAttrs;
    return std::tuple{
        Optional("channel_id", &A::channel_id), Always("replica_groups", &A::replica_groups),
        Optional("constrain_layout", &A::constrain_layout), Optional("dimensions", &A::dimensions)};
  }
};

struct RaggedAllToAllAttrs {
  std::optional<int64_t> channel_id;
  ReplicaGroups replica_groups;
  std::optional<BracedDim> dimensions;  // read and dropped
  static auto Fields() {
    using A = RaggedAllToAllAttrs;
    return std::tuple{Optional("channel_id", &A::channel_id),
                      Always("replica_groups", &A::replica_groups),
                      ParseOnly("dimensions", &A::dimensions)};
  }
};

struct CollectiveBroadcastAttrs {
  std::optional<int64_t> channel_id;
  ReplicaGroups replica_groups;
  bool has_dynamic_root = false;
  static auto Fields() {
    using A = CollectiveBroadcastAttrs;
    return std::tuple{Optional("channel_id", &A::channel_id),
                      Always("replica_groups", &A::replica_groups),
                      Always("has_dynamic_root", &A::has_dynamic_root)};
  }
};

struct CollectivePermuteAttrs {
  std::optional<int64_t> channel_id;
  DevicePairs source_target_pairs;
  std::vector<DimVec> slice_sizes;
  static auto Fields() {
    using A = CollectivePermuteAttrs;
    return std::tuple{Optional("channel_id", &A::channel_id),
                      Required("source_target_pairs", &A::source_target_pairs),
                      Optional("slice_sizes", &A::slice_sizes)};
  }
};

struct AsyncAttrs {
  std::string async_execution_thread = "main";
  OutputOperandAliases output_to_operand_aliasing;
  static auto Fields() {
    using A = AsyncAttrs;
    return std::tuple{Optional("async_execution_thread", &A::async_execution_thread),
                      Optional("output_to_operand_aliasing", &A::output_to_operand_aliasing)};
  }
};

struct BatchNormAttrs {
  float epsilon = 0;
  int64_t feature_index = 0;
  static auto Fields() {
    using A = BatchNormAttrs;
    return std::tuple{Required("epsilon", &A::epsilon),
                      Required("feature_index", &A::feature_index)};
  }
};

// `dimensions={…}` as a list. broadcast: dimensions[i] is the result dimension fed by operand
// dimension i.
struct BroadcastAttrs {
  DimVec dimensions;
  static auto Fields() { return std::tuple{Always("dimensions", &BroadcastAttrs::dimensions)}; }
};
struct TransposeAttrs {
  DimVec dimensions;
  static auto Fields() { return std::tuple{Required("dimensions", &TransposeAttrs::dimensions)}; }
};
struct ReverseAttrs {
  DimVec dimensions;
  static auto Fields() { return std::tuple{Required("dimensions", &ReverseAttrs::dimensions)}; }
};
struct ReduceAttrs {
  DimVec dimensions;
  static auto Fields() { return std::tuple{Required("dimensions", &ReduceAttrs::dimensions)}; }
};
struct MapAttrs {
  DimVec dimensions;
  static auto Fields() { return std::tuple{Always("dimensions", &MapAttrs::dimensions)}; }
};
// get-dimension-size, set-dimension-size
struct DimensionAttrs {
  BracedDim dimensions;
  static auto Fields() { return std::tuple{Required("dimensions", &DimensionAttrs::dimensions)}; }
};
struct ConcatenateAttrs {
  BracedDim dimensions;
  static auto Fields() { return std::tuple{Required("dimensions", &ConcatenateAttrs::dimensions)}; }
};

struct CallAttrs {
  bool is_composite = false;
  static auto Fields() { return std::tuple{AfterCalls("is_composite", &CallAttrs::is_composite)}; }
};

struct CholeskyAttrs {
  bool lower = false;
  static auto Fields() { return std::tuple{Optional("lower", &CholeskyAttrs::lower)}; }
};

struct CompareAttrs {
  ComparisonDirection direction = ComparisonDirection::kEq;
  std::optional<ComparisonType>
      type;  // empty: the default of the operands' type (stored so even when written)
  static auto Fields() {
    return std::tuple{Required("direction", &CompareAttrs::direction),
                      Optional("type", &CompareAttrs::type)};
  }
};

struct ConstantAttrs {
  Literal literal;
  static auto Fields() { return std::tuple{Hidden("literal", &ConstantAttrs::literal)}; }
};

struct ConvolutionAttrs {
  Window window;
  ConvDimNumbers dim_labels;
  int64_t feature_group_count = 1;
  int64_t batch_group_count = 1;
  ConvolutionKind convolution_kind = ConvolutionKind::kUnset;
  PrecisionConfig operand_precision;
  DotAlgorithm algorithm = DotAlgorithm::kUnset;
  SparsityConfig sparsity_config;
  static auto Fields() {
    using A = ConvolutionAttrs;
    return std::tuple{Optional("window", &A::window),
                      Required("dim_labels", &A::dim_labels),
                      Optional("feature_group_count", &A::feature_group_count),
                      Optional("batch_group_count", &A::batch_group_count),
                      Optional("convolution_kind", &A::convolution_kind),
                      Optional("operand_precision", &A::operand_precision),
                      Optional("algorithm", &A::algorithm),
                      Optional("sparsity_config", &A::sparsity_config)};
  }
};

struct CopyStartAttrs {
  std::optional<int32_t> cross_program_prefetch_index;
  static auto Fields() {
    return std::tuple{
        Optional("cross_program_prefetch_index", &CopyStartAttrs::cross_program_prefetch_index)};
  }
};

struct CustomCallAttrs {
  std::optional<Window> window;
  std::optional<ConvDimNumbers> dim_labels;
  int64_t feature_group_count = 1;
  int64_t batch_group_count = 1;
  PrecisionConfig operand_precision;
  PaddingType padding_type = PaddingType::kInvalid;
  QuotedText custom_call_target;
  std::optional<std::vector<Shape>> operand_layout_constraints;
  bool custom_call_has_side_effect = false;
  std::optional<Literal> literal;
  OutputOperandAliases output_to_operand_aliasing;
  CustomCallSchedule schedule = CustomCallSchedule::kNone;
  ApiVersion api_version = ApiVersion::kOriginal;
  static auto Fields() {
    using A = CustomCallAttrs;
    return std::tuple{Optional("window", &A::window),
                      Optional("dim_labels", &A::dim_labels),
                      Optional("feature_group_count", &A::feature_group_count),
                      Optional("batch_group_count", &A::batch_group_count),
                      Optional("operand_precision", &A::operand_precision),
                      Optional("padding_type", &A::padding_type),
                      Required("custom_call_target", &A::custom_call_target),
                      Optional("operand_layout_constraints", &A::operand_layout_constraints),
                      Optional("custom_call_has_side_effect", &A::custom_call_has_side_effect),
                      Optional("literal", &A::literal),
                      Optional("output_to_operand_aliasing", &A::output_to_operand_aliasing),
                      Optional("schedule", &A::schedule),
                      Optional("api_version", &A::api_version)};
  }
};

struct DomainAttrs {
  DomainConfig domain;
  static auto Fields() { return std::tuple{Required("domain", &DomainAttrs::domain)}; }
};

// dot, scaled-dot
struct DotAttrs {
  DimVec lhs_batch_dims;
  DimVec lhs_contracting_dims;
  DimVec rhs_batch_dims;
  DimVec rhs_contracting_dims;
  PrecisionConfig operand_precision;
  DotAlgorithm algorithm = DotAlgorithm::kUnset;
  static auto Fields() {
    using A = DotAttrs;
    return std::tuple{Optional("lhs_batch_dims", &A::lhs_batch_dims),
                      Always("lhs_contracting_dims", &A::lhs_contracting_dims),
                      Optional("rhs_batch_dims", &A::rhs_batch_dims),
                      Always("rhs_contracting_dims", &A::rhs_contracting_dims),
                      Optional("operand_precision", &A::operand_precision),
                      Optional("algorithm", &A::algorithm)};
  }
};

struct RaggedDotAttrs {
  DimVec lhs_batch_dims;
  DimVec lhs_contracting_dims;
  DimVec rhs_batch_dims;
  DimVec rhs_contracting_dims;
  PrecisionConfig operand_precision;
  DimVec lhs_ragged_dims;
  DimVec rhs_group_dims;
  static auto Fields() {
    using A = RaggedDotAttrs;
    return std::tuple{Optional("lhs_batch_dims", &A::lhs_batch_dims),
                      Always("lhs_contracting_dims", &A::lhs_contracting_dims),
                      Optional("rhs_batch_dims", &A::rhs_batch_dims),
                      Always("rhs_contracting_dims", &A::rhs_contracting_dims),
                      Optional("lhs_ragged_dims", &A::lhs_ragged_dims),
                      Optional("rhs_group_dims", &A::rhs_group_dims),
                      Optional("operand_precision", &A::operand_precision)};
  }
};

struct DynamicSliceAttrs {
  DimVec dynamic_slice_sizes;
  static auto Fields() {
    return std::tuple{Required("dynamic_slice_sizes", &DynamicSliceAttrs::dynamic_slice_sizes)};
  }
};

struct FftAttrs {
  FftType fft_type = FftType::kFft;
  DimVec fft_length;
  static auto Fields() {
    return std::tuple{Required("fft_type", &FftAttrs::fft_type),
                      Required("fft_length", &FftAttrs::fft_length)};
  }
};

struct FusionAttrs {
  FusionKind kind = FusionKind::kLoop;
  OutputOperandAliases output_to_operand_aliasing;
  static auto Fields() {
    return std::tuple{
        Required("kind", &FusionAttrs::kind),
        Optional("output_to_operand_aliasing", &FusionAttrs::output_to_operand_aliasing)};
  }
};

struct GatherAttrs {
  DimVec offset_dims;
  DimVec collapsed_slice_dims;
  DimVec start_index_map;
  DimVec operand_batching_dims;
  DimVec start_indices_batching_dims;
  int64_t index_vector_dim = 0;
  DimVec slice_sizes;
  bool indices_are_sorted = false;
  static auto Fields() {
    using A = GatherAttrs;
    return std::tuple{Required("offset_dims", &A::offset_dims),
                      Required("collapsed_slice_dims", &A::collapsed_slice_dims),
                      Required("start_index_map", &A::start_index_map),
                      Optional("operand_batching_dims", &A::operand_batching_dims),
                      Optional("start_indices_batching_dims", &A::start_indices_batching_dims),
                      Required("index_vector_dim", &A::index_vector_dim),
                      Required("slice_sizes", &A::slice_sizes),
                      Optional("indices_are_sorted", &A::indices_are_sorted)};
  }
};

struct ScatterAttrs {
  DimVec update_window_dims;
  DimVec inserted_window_dims;
  DimVec scatter_dims_to_operand_dims;
  DimVec input_batching_dims;
  DimVec scatter_indices_batching_dims;
  int64_t index_vector_dim = 0;
  bool indices_are_sorted = false;
  bool unique_indices = false;
  static auto Fields() {
    using A = ScatterAttrs;
    return std::tuple{Required("update_window_dims", &A::update_window_dims),
                      Required("inserted_window_dims", &A::inserted_window_dims),
                      Required("scatter_dims_to_operand_dims", &A::scatter_dims_to_operand_dims),
                      Optional("input_batching_dims", &A::input_batching_dims),
                      Optional("scatter_indices_batching_dims", &A::scatter_indices_batching_dims),
                      Required("index_vector_dim", &A::index_vector_dim),
                      Optional("indices_are_sorted", &A::indices_are_sorted),
                      Optional("unique_indices", &A::unique_indices)};
  }
};

struct GetTupleElementAttrs {
  int64_t index = 0;
  static auto Fields() { return std::tuple{Required("index", &GetTupleElementAttrs::index)}; }
};

struct InfeedAttrs {
  QuotedText infeed_config;
  static auto Fields() {
    return std::tuple{Optional("infeed_config", &InfeedAttrs::infeed_config)};
  }
};

struct OutfeedAttrs {
  Shape outfeed_shape;
  QuotedText outfeed_config;
  static auto Fields() {
    return std::tuple{Always("outfeed_shape", &OutfeedAttrs::outfeed_shape),
                      Optional("outfeed_config", &OutfeedAttrs::outfeed_config)};
  }
};

struct IotaAttrs {
  int64_t iota_dimension = 0;
  static auto Fields() {
    return std::tuple{Required("iota_dimension", &IotaAttrs::iota_dimension)};
  }
};

struct PadAttrs {
  PaddingConfig padding;
  static auto Fields() { return std::tuple{Required("padding", &PadAttrs::padding)}; }
};

struct ParameterAttrs {
  int64_t number = 0;
  std::optional<std::vector<bool>> parameter_replication;
  static auto Fields() {
    return std::tuple{Hidden("number", &ParameterAttrs::number),
                      Optional("parameter_replication", &ParameterAttrs::parameter_replication)};
  }
};

// send, recv and their -done
struct ChannelAttrs {
  std::optional<int64_t> channel_id;
  bool is_host_transfer = false;
  static auto Fields() {
    return std::tuple{Optional("channel_id", &ChannelAttrs::channel_id),
                      Optional("is_host_transfer", &ChannelAttrs::is_host_transfer)};
  }
};

struct ReducePrecisionAttrs {
  int64_t exponent_bits = 0;
  int64_t mantissa_bits = 0;
  static auto Fields() {
    return std::tuple{Required("exponent_bits", &ReducePrecisionAttrs::exponent_bits),
                      Required("mantissa_bits", &ReducePrecisionAttrs::mantissa_bits)};
  }
};

struct ReduceWindowAttrs {
  Window window;
  static auto Fields() { return std::tuple{Optional("window", &ReduceWindowAttrs::window)}; }
};
struct SelectAndScatterAttrs {
  Window window;
  static auto Fields() { return std::tuple{Optional("window", &SelectAndScatterAttrs::window)}; }
};

struct ReshapeAttrs {
  std::optional<int64_t> inferred_dimension;  // -1 in text means absent
  static auto Fields() {
    return std::tuple{Optional("inferred_dimension", &ReshapeAttrs::inferred_dimension)};
  }
};

struct RngAttrs {
  RngDistribution distribution = RngDistribution::kUniform;
  // Which numbers it draws: the parser counts the module's `rng` instructions, clones keep the
  // number. No part of the text, nor of what makes two attributes equal.
  int64_t stream = 0;
  static auto Fields() { return std::tuple{Required("distribution", &RngAttrs::distribution)}; }
};
struct RngBitGeneratorAttrs {
  RngAlgorithm algorithm = RngAlgorithm::kDefault;
  static auto Fields() {
    return std::tuple{Required("algorithm", &RngBitGeneratorAttrs::algorithm)};
  }
};
struct RngGetAndUpdateStateAttrs {
  int64_t delta = 0;
  static auto Fields() { return std::tuple{Required("delta", &RngGetAndUpdateStateAttrs::delta)}; }
};

struct ScanAttrs {
  BracedDim dimensions;
  int64_t num_carries = 0;
  bool is_reverse = false;
  std::optional<bool> is_associative = false;  // empty: unspecified, not printed
  static auto Fields() {
    using A = ScanAttrs;
    return std::tuple{
        Required("dimensions", &A::dimensions), Required("num_carries", &A::num_carries),
        Optional("is_reverse", &A::is_reverse), Always("is_associative", &A::is_associative)};
  }
};

struct SliceAttrs {
  SliceRanges slice;
  static auto Fields() { return std::tuple{Required("slice", &SliceAttrs::slice)}; }
};

struct SortAttrs {
  BracedDim dimensions;
  bool is_stable = false;
  static auto Fields() {
    return std::tuple{Required("dimensions", &SortAttrs::dimensions),
                      Optional("is_stable", &SortAttrs::is_stable)};
  }
};

struct TopKAttrs {
  int64_t k = 0;
  bool largest = true;
  bool is_stable = true;
  static auto Fields() {
    return std::tuple{Required("k", &TopKAttrs::k), Always("largest", &TopKAttrs::largest),
                      Always("is_stable", &TopKAttrs::is_stable)};
  }
};

struct TriangularSolveAttrs {
  bool left_side = false;
  bool lower = false;
  bool unit_diagonal = false;
  TransposeKind transpose_a =
      TransposeKind::kInvalid;  // kInvalid: absent, executed as NO_TRANSPOSE
  static auto Fields() {
    using A = TriangularSolveAttrs;
    return std::tuple{Optional("left_side", &A::left_side), Optional("lower", &A::lower),
                      Optional("unit_diagonal", &A::unit_diagonal),
                      Optional("transpose_a", &A::transpose_a)};
  }
};

// X(A) for each attribute struct.
#define HLO_FOR_EACH_ATTRS(X)                                                                      \
  X(NoAttrs)                                                                                       \
  X(AllGatherAttrs)                                                                                \
  X(AllReduceAttrs)                                                                                \
  X(ReduceScatterAttrs)                                                                            \
  X(AllToAllAttrs)                                                                                 \
  X(RaggedAllToAllAttrs) X(CollectiveBroadcastAttrs) X(CollectivePermuteAttrs) X(AsyncAttrs)       \
      X(BatchNormAttrs) X(BroadcastAttrs) X(TransposeAttrs) X(ReverseAttrs) X(ReduceAttrs)         \
          X(MapAttrs) X(DimensionAttrs) X(ConcatenateAttrs) X(CallAttrs) X(CholeskyAttrs)          \
              X(CompareAttrs) X(ConstantAttrs) X(ConvolutionAttrs) X(CopyStartAttrs)               \
                  X(CustomCallAttrs) X(DomainAttrs) X(DotAttrs) X(RaggedDotAttrs)                  \
                      X(DynamicSliceAttrs) X(FftAttrs) X(FusionAttrs) X(GatherAttrs)               \
                          X(ScatterAttrs) X(GetTupleElementAttrs) X(InfeedAttrs) X(OutfeedAttrs)   \
                              X(IotaAttrs) X(PadAttrs) X(ParameterAttrs) X(ChannelAttrs)           \
                                  X(ReducePrecisionAttrs) X(ReduceWindowAttrs)                     \
                                      X(SelectAndScatterAttrs) X(ReshapeAttrs) X(RngAttrs)         \
                                          X(RngBitGeneratorAttrs) X(RngGetAndUpdateStateAttrs)     \
                                              X(ScanAttrs) X(SliceAttrs) X(SortAttrs) X(TopKAttrs) \
                                                  X(TriangularSolveAttrs)

#define HLO_DECLARE_ATTRS_INFO(A) \
  template <>                     \
  const AttrsInfo& AttrsInfoOf<A>();
HLO_FOR_EACH_ATTRS(HLO_DECLARE_ATTRS_INFO)
#undef HLO_DECLARE_ATTRS_INFO

}  // namespace hlo
