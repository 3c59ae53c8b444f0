// What calls of NVIDIA's libraries say in their `backend_config`: structs that are read from XLA's
// JSON and written as it, byte for byte (fields in the order of their numbers in the protocol
// buffer, 64-bit integers in quotes, all but the unset optional ones).
//
//   backend_config={"operation_queue_id":"0","gemm_backend_config":{"alpha_real":1,"beta":0,…},
//                   "force_earliest_schedule":false,"reification_cost":[],…}
//
// What a reader does not know stays as it was, before the same field as in the text. Fields that
// are left out are 0, as in a protocol buffer: whoever makes a call sets what is not. Read is what
// JSON of protocol buffers may be: numbers in quotes or not, enumerators by name or number, `null`
// for what is 0, names in camelCase.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "lib/support/fields.h"

namespace hlo {

// JSON as it was read.
struct RawJson {
  std::string text;
};
// JSON as it was read, which is that of a T.
template <class T>
struct CheckedJson {
  std::string text;
};
using IntegerMap = std::vector<std::pair<int64_t, int64_t>>;
struct UnknownField {
  static constexpr size_t kLast = SIZE_MAX;
  std::string key;
  RawJson value;
  size_t before = kLast;  // the number of the known field that follows it
};
using UnknownFields = std::vector<UnknownField>;

// What is applied to the product before it is stored.
enum class GemmEpilogue : uint8_t {
  kDefault,
  kBias,
  kRelu,
  kBiasRelu,
  kGelu,
  kGeluAux,
  kBiasGelu,
  kBiasGeluAux,
  kSilu,
  kBiasSilu
};
enum class ConvActivation : uint8_t {
  kNone,
  kSigmoid,
  kRelu,
  kRelu6,
  kReluX,
  kTanh,
  kBandPass,
  kElu,
  kLeakyRelu
};

enum class MathType : uint8_t { kDefault, kTensorOps };
enum class DeviceType : uint8_t { kInvalid, kDevice, kHost };
enum class NormKind : uint8_t { kInference, kTraining, kBackward };
// Which scores count: no padding, and of keys none that follow the query.
enum class AttentionMask : uint8_t { kNone, kPadding, kCausal, kPaddingCausal, kAlibi };

template <>
struct EnumText<MathType> {
  static constexpr bool kExact = true;
  static constexpr std::string_view kWords[] = {"DEFAULT_MATH", "TENSOR_OP_MATH"};
};
template <>
struct EnumText<DeviceType> {
  static constexpr bool kExact = true;
  static constexpr std::string_view kWords[] = {"DEVICE_TYPE_INVALID", "DEVICE_TYPE_DEVICE",
                                                "DEVICE_TYPE_HOST"};
};
template <>
struct EnumText<NormKind> {
  static constexpr bool kExact = true;
  static constexpr std::string_view kWords[] = {"LAYER_FWD_INFER", "LAYER_FWD_TRAIN", "LAYER_BWD"};
};
template <>
struct EnumText<AttentionMask> {
  static constexpr bool kExact = true;
  static constexpr std::string_view kWords[] = {"NO_MASK", "PADDING", "CAUSAL", "PADDING_CAUSAL",
                                                "ALIBI"};
};
template <>
struct EnumText<GemmEpilogue> {
  static constexpr bool kExact = true;
  static constexpr std::string_view kWords[] = {"DEFAULT", "BIAS",     "RELU",      "BIAS_RELU",
                                                "GELU",    "GELU_AUX", "BIAS_GELU", "BIAS_GELU_AUX",
                                                "SILU",    "BIAS_SILU"};
};
template <>
struct EnumText<ConvActivation> {
  static constexpr bool kExact = true;
  static constexpr std::string_view kWords[] = {
      "kNone", "kSigmoid", "kRelu", "kRelu6", "kReluX", "kTanh", "kBandPass", "kElu", "kLeakyRelu"};
};

// dot_dimension_numbers and precision_config; `ToAttrs` gives both to a dot.
struct JsonDotDims {
  DimVec lhs_contracting_dimensions;
  DimVec rhs_contracting_dimensions;
  DimVec lhs_batch_dimensions;
  DimVec rhs_batch_dimensions;
  UnknownFields unknown;
  static auto Fields() {
    using J = JsonDotDims;
    return std::tuple{Always("lhs_contracting_dimensions", &J::lhs_contracting_dimensions),
                      Always("rhs_contracting_dimensions", &J::rhs_contracting_dimensions),
                      Always("lhs_batch_dimensions", &J::lhs_batch_dimensions),
                      Always("rhs_batch_dimensions", &J::rhs_batch_dimensions)};
  }
};
struct JsonPrecision {
  std::vector<Precision> operand_precision;
  DotAlgorithm algorithm = DotAlgorithm::kUnset;
  UnknownFields unknown;
  static auto Fields() {
    using J = JsonPrecision;
    return std::tuple{Always("operand_precision", &J::operand_precision),
                      Always("algorithm", &J::algorithm)};
  }
};

struct GemmConfig {
  static constexpr std::string_view kKey = "gemm_backend_config";
  static constexpr int32_t kTensorScales = 1;  // scale_mode: one number for each array of f8
  std::optional<int64_t> selected_algorithm;
  double alpha_real = 0;
  double beta = 0;
  JsonDotDims dot_dimension_numbers;
  double alpha_imag = 0;
  JsonPrecision precision_config;
  GemmEpilogue epilogue = GemmEpilogue::kDefault;
  std::optional<int64_t> lhs_stride, rhs_stride;
  std::optional<bool> grad_x, grad_y;
  bool damax_output = false;
  int64_t autotune_workspace_size = 0;
  int32_t scale_mode = 0;
  UnknownFields unknown;

  static auto Fields() {
    using G = GemmConfig;
    return std::tuple{Always("selected_algorithm", &G::selected_algorithm),
                      Always("alpha_real", &G::alpha_real),
                      Always("beta", &G::beta),
                      Always("dot_dimension_numbers", &G::dot_dimension_numbers),
                      Always("alpha_imag", &G::alpha_imag),
                      Always("precision_config", &G::precision_config),
                      Always("epilogue", &G::epilogue),
                      Always("lhs_stride", &G::lhs_stride),
                      Always("rhs_stride", &G::rhs_stride),
                      Always("grad_x", &G::grad_x),
                      Always("grad_y", &G::grad_y),
                      Always("damax_output", &G::damax_output),
                      Always("autotune_workspace_size", &G::autotune_workspace_size),
                      Always("scale_mode", &G::scale_mode)};
  }
  DotAttrs ToAttrs() const;
  static GemmConfig For(const DotAttrs& dot);  // alpha 1
};

// Which of the ways of cuDNN was picked, and how it was tuned.
struct JsonAlgorithm {
  int64_t algo_id = 0;
  MathType math_type = MathType::kDefault;
  IntegerMap tuning_knobs;
  bool is_cudnn_frontend = false;
  std::optional<uint64_t> workspace_size;
  UnknownFields unknown;

  static auto Fields() {
    using J = JsonAlgorithm;
    return std::tuple{Always("algo_id", &J::algo_id), Always("math_type", &J::math_type),
                      Always("tuning_knobs", &J::tuning_knobs),
                      Always("is_cudnn_frontend", &J::is_cudnn_frontend),
                      Always("workspace_size", &J::workspace_size)};
  }
};

struct ConvConfig {
  static constexpr std::string_view kKey = "cudnn_conv_backend_config";
  ConvActivation activation_mode = ConvActivation::kNone;
  double conv_result_scale = 0;
  double side_input_scale = 0;
  std::optional<JsonAlgorithm> algorithm;
  std::optional<bool> reordered_int8_nchw_vect;
  double leakyrelu_alpha = 0;
  std::optional<std::string> serialized_graph;
  UnknownFields unknown;

  static auto Fields() {
    using C = ConvConfig;
    return std::tuple{Always("activation_mode", &C::activation_mode),
                      Always("conv_result_scale", &C::conv_result_scale),
                      Always("side_input_scale", &C::side_input_scale),
                      Always("algorithm", &C::algorithm),
                      Always("reordered_int8_nchw_vect", &C::reordered_int8_nchw_vect),
                      Always("leakyrelu_alpha", &C::leakyrelu_alpha),
                      Always("serialized_graph", &C::serialized_graph)};
  }
};

struct NormConfig {
  static constexpr std::string_view kKey = "cudnn_norm_backend_config";
  double epsilon = 0;
  std::optional<JsonAlgorithm> algorithm;
  NormKind kind = NormKind::kInference;
  UnknownFields unknown;

  static auto Fields() {
    using N = NormConfig;
    return std::tuple{Always("epsilon", &N::epsilon), Always("algorithm", &N::algorithm),
                      Always("kind", &N::kind)};
  }
};

// Some shape, which nothing asks about.
struct JsonShape {
  UnknownFields unknown;
  static auto Fields() { return std::tuple{}; }
};

// Products of the forward call are scores = query·key (1) and scores·value (2). Those of the
// backward one are two gradients of each.
struct AttentionConfig {
  static constexpr std::string_view kKey = "cudnn_fmha_backend_config";
  std::optional<JsonAlgorithm> algorithm;
  double fmha_scale = 0;
  JsonDotDims bmm1, bmm2;
  double dropout_rate = 0;
  std::optional<CheckedJson<JsonShape>> intermediate_tensor_shape;
  int64_t seed = 0;
  JsonDotDims key_grad, query_grad, value_grad, scores_grad;
  bool is_flash_attention = false;
  bool is_causal_mask = false;
  AttentionMask mask_type = AttentionMask::kNone;
  bool force_deterministic = false;
  int32_t sliding_window_length = 0;
  int32_t max_seg_per_batch = 0;
  bool is_paged_attention = false;
  UnknownFields unknown;

  static auto Fields() {
    using A = AttentionConfig;
    return std::tuple{Always("algorithm", &A::algorithm),
                      Always("fmha_scale", &A::fmha_scale),
                      Always("bmm1_dot_dimension_numbers", &A::bmm1),
                      Always("bmm2_dot_dimension_numbers", &A::bmm2),
                      Always("dropout_rate", &A::dropout_rate),
                      Always("intermediate_tensor_shape", &A::intermediate_tensor_shape),
                      Always("seed", &A::seed),
                      Always("bmm1_grad_gemm1_dot_dimension_numbers", &A::key_grad),
                      Always("bmm1_grad_gemm2_dot_dimension_numbers", &A::query_grad),
                      Always("bmm2_grad_gemm1_dot_dimension_numbers", &A::value_grad),
                      Always("bmm2_grad_gemm2_dot_dimension_numbers", &A::scores_grad),
                      Always("is_flash_attention", &A::is_flash_attention),
                      Always("is_causal_mask", &A::is_causal_mask),
                      Always("mask_type", &A::mask_type),
                      Always("force_deterministic", &A::force_deterministic),
                      Always("sliding_window_length", &A::sliding_window_length),
                      Always("max_seg_per_batch", &A::max_seg_per_batch),
                      Always("is_paged_attention", &A::is_paged_attention)};
  }
};

// Of fusions that are not made of loops.
struct FusionConfig {
  static constexpr std::string_view kKey = "fusion_backend_config";
  std::string kind;
  UnknownFields unknown;
  static auto Fields() { return std::tuple{Always("kind", &FusionConfig::kind)}; }
};

// What a cost model said.
struct ReificationCost {
  double end_to_end_cycles = 0;
  double exec_time_us = 0;
  double compute_time_us = 0;
  double memory_access_time_us = 0;
  std::string name;
  UnknownFields unknown;

  static auto Fields() {
    using R = ReificationCost;
    return std::tuple{
        Always("end_to_end_cycles", &R::end_to_end_cycles),
        Always("exec_time_us", &R::exec_time_us), Always("compute_time_us", &R::compute_time_us),
        Always("memory_access_time_us", &R::memory_access_time_us), Always("name", &R::name)};
  }
};
using ReificationCosts = CheckedJson<std::vector<ReificationCost>>;

// A config with what stands around it in every call.
template <class Config>
struct LibraryConfig {
  int64_t operation_queue_id = 0;
  std::optional<DimVec> wait_on_operation_queues;
  Config config;
  bool force_earliest_schedule = false;
  ReificationCosts reification_cost = {"[]"};
  DeviceType device_type = DeviceType::kInvalid;
  UnknownFields unknown;

  static auto Fields() {
    using L = LibraryConfig;
    return std::tuple{Always("operation_queue_id", &L::operation_queue_id),
                      Always("wait_on_operation_queues", &L::wait_on_operation_queues),
                      Required(Config::kKey, &L::config),
                      Always("force_earliest_schedule", &L::force_earliest_schedule),
                      Always("reification_cost", &L::reification_cost),
                      Always("device_type", &L::device_type)};
  }
};

// What any instruction may say: the queue that it runs on (0: with all others), those that it waits
// for, and whether it is scheduled before all else.
struct QueueConfig {
  int64_t operation_queue_id = 0;
  std::optional<DimVec> wait_on_operation_queues;
  bool force_earliest_schedule = false;
  ReificationCosts reification_cost = {"[]"};
  DeviceType device_type = DeviceType::kInvalid;
  UnknownFields unknown;

  static auto Fields() {
    using Q = QueueConfig;
    return std::tuple{Always("operation_queue_id", &Q::operation_queue_id),
                      Always("wait_on_operation_queues", &Q::wait_on_operation_queues),
                      Always("force_earliest_schedule", &Q::force_earliest_schedule),
                      Always("reification_cost", &Q::reification_cost),
                      Always("device_type", &Q::device_type)};
  }
};

// Of a call; an error where it is no JSON, lacks the config, or a field is of another kind. Its
// place is the field in the text of the module, or the call where the config does not stand there.
template <class Config>
absl::StatusOr<LibraryConfig<Config>> ReadConfig(const Instruction& call);
template <class Config>
std::string ToJson(const LibraryConfig<Config>& config);

// CholeskyOptions, SortOptions and TriangularSolveOptions, which stand alone.
struct CholeskyConfig {
  bool lower = false;
  UnknownFields unknown;
  static auto Fields() { return std::tuple{Always("lower", &CholeskyConfig::lower)}; }
};
struct RadixSortConfig {
  bool descending = false;
  UnknownFields unknown;
  static auto Fields() { return std::tuple{Always("descending", &RadixSortConfig::descending)}; }
};
struct TriangularSolveConfig {
  bool left_side = false;
  bool lower = false;
  bool unit_diagonal = false;
  TransposeKind transpose_a = TransposeKind::kInvalid;
  UnknownFields unknown;

  static auto Fields() {
    using T = TriangularSolveConfig;
    return std::tuple{Always("left_side", &T::left_side), Always("lower", &T::lower),
                      Always("unit_diagonal", &T::unit_diagonal),
                      Always("transpose_a", &T::transpose_a)};
  }
};
template <class Config>
absl::StatusOr<Config> ReadWholeConfig(const Instruction& call);
template <class Config>
std::string WholeJson(const Config& config);

}  // namespace hlo
