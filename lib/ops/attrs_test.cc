// Every attribute struct: a value in which every field differs from the default, and what it
// prints.
#include "lib/ops/attrs.h"

#include <catch2/catch.hpp>

#include "lib/ops/ops.h"

namespace hlo {
namespace {

// A value of the field's type that differs from `value`.
void Change(bool& value) { value = !value; }
void Change(int64_t& value) { value = value + 3; }
void Change(int32_t& value) { value = 3; }
void Change(float& value) { value = 0.001f; }
void Change(std::string& value) { value = "a\"b"; }
void Change(BracedDim& value) { value.value = 2; }
void Change(DimVec& value) { value = {2, 0}; }
void Change(std::vector<DimVec>& value) { value = {{1, 2}, {3}}; }
void Change(std::vector<bool>& value) { value = {true, false}; }
void Change(std::vector<Shape>& value) {
  value = {Shape::Array(ElementType::kF32, {2, 3}), Shape::Scalar(ElementType::kS8)};
}
void Change(Shape& value) { value = Shape::Array(ElementType::kF32, {2, 3}); }
void Change(ReplicaGroups& value) { value.form = ReplicaGroups::Lists{{0, 1}, {2, 3}}; }
void Change(Window& value) { value.dims = {{3, 2}, {3, 1, 1, 1}}; }
void Change(ConvDimNumbers& value) { value = {0, 3, {1, 2}, 2, 3, {0, 1}, 0, 3, {1, 2}}; }
void Change(PaddingConfig& value) { value.dims = {{1, 2, 0}, {0, -1, 0}}; }
void Change(PrecisionConfig& value) { value.values = {Precision::kHigh, Precision::kDefault}; }
void Change(SparsityConfig& value) { value.lhs = TensorSparsity{2, 4, 1, 1, 2}; }
void Change(SliceRanges& value) { value = {{0, 4, 1}, {1, 9, 2}}; }
void Change(DevicePairs& value) { value = {{0, 1}, {1, 0}}; }
void Change(OutputOperandAliases& value) { value = {{{0}, 1, {}}, {{1}, 0, {0, 2}}}; }
void Change(DomainConfig& value) {
  value.entry = Sharding::Replicated();
  value.exit = Sharding::Maximal(3);
}
void Change(Literal& value) {
  value = Literal(Shape::Array(ElementType::kS32, {2}));
  value.SetInt(0, 7);
}
template <TextEnum E>
void Change(E& value) {
  value = static_cast<E>(static_cast<int>(value) == 1 ? 2 : 1);
}
template <class T>
void Change(std::optional<T>& value) {
  T changed = value.value_or(T());
  Change(changed);
  value = changed;
}

template <class A>
A NonDefault() {
  A attrs;
  ForEachField<A>([&](const auto& field) { Change(attrs.*field.member); });
  return attrs;
}

std::string Print(const AttrsPtr& attrs, const AttrPrintOptions& options = {}) {
  std::string out;
  attrs.Print(options, /*after_calls=*/false, out);
  return out;
}

// Equal to a copy; each field on its own (all but parse-only ones) makes a difference to equality
// and hash.
template <class A>
void CheckFieldsMatter() {
  const AttrsPtr defaults = AttrsPtr::Make(A());
  CAPTURE(defaults.info()->name);
  CHECK(AttrsPtr::Make(NonDefault<A>()) == AttrsPtr::Make(NonDefault<A>()));
  CHECK(AttrsPtr::Make(NonDefault<A>()).Hash() == AttrsPtr::Make(NonDefault<A>()).Hash());
  ForEachField<A>([&](const auto& field) {
    CAPTURE(field.name);
    A changed;
    Change(changed.*field.member);
    const AttrsPtr other = AttrsPtr::Make(changed);
    const bool matters = field.mode != FieldMode::kParseOnly;
    CHECK((other == defaults) == !matters);
    CHECK((other.Hash() == defaults.Hash()) == !matters);
  });
}

TEST_CASE("every field of every attribute struct counts for equality and hash", "[ops][attrs]") {
#define HLO_CHECK_FIELDS(A) CheckFieldsMatter<A>();
  HLO_FOR_EACH_ATTRS(HLO_CHECK_FIELDS)
#undef HLO_CHECK_FIELDS
}

struct Printed {
  std::string_view name;
  std::string_view text;
};

// Non-default values of every struct as XLA prints them.
constexpr Printed kPrinted[] = {
    {"NoAttrs", ""},
    {"AllGatherAttrs",
     ", channel_id=3, replica_groups={{0,1},{2,3}}, constrain_layout=true, dimensions={2}, "
     "use_global_device_ids=true"},
    {"AllReduceAttrs",
     ", channel_id=3, replica_groups={{0,1},{2,3}}, constrain_layout=true, "
     "use_global_device_ids=true"},
    {"ReduceScatterAttrs",
     ", channel_id=3, replica_groups={{0,1},{2,3}}, constrain_layout=true, "
     "use_global_device_ids=true, dimensions={2}"},
    {"AllToAllAttrs",
     ", channel_id=3, replica_groups={{0,1},{2,3}}, constrain_layout=true, dimensions={2}"},
    {"RaggedAllToAllAttrs", ", channel_id=3, replica_groups={{0,1},{2,3}}"},
    {"CollectiveBroadcastAttrs",
     ", channel_id=3, replica_groups={{0,1},{2,3}}, has_dynamic_root=true"},
    {"CollectivePermuteAttrs",
     ", channel_id=3, source_target_pairs={{0,1},{1,0}}, slice_sizes={{1,2},{3}}"},
    {"AsyncAttrs",
     ", async_execution_thread=\"a\\\"b\", output_to_operand_aliasing={{0}: (1, {}), {1}: (0, "
     "{0,2})}"},
    {"BatchNormAttrs", ", epsilon=0.001, feature_index=3"},
    {"BroadcastAttrs", ", dimensions={2,0}"},
    {"TransposeAttrs", ", dimensions={2,0}"},
    {"ReverseAttrs", ", dimensions={2,0}"},
    {"ReduceAttrs", ", dimensions={2,0}"},
    {"MapAttrs", ", dimensions={2,0}"},
    {"DimensionAttrs", ", dimensions={2}"},
    {"ConcatenateAttrs", ", dimensions={2}"},
    {"CallAttrs", ""},  // is_composite follows the called computations
    {"CholeskyAttrs", ", lower=true"},
    {"CompareAttrs", ", direction=NE, type=TOTALORDER"},
    {"ConstantAttrs", ""},
    {"ConvolutionAttrs",
     ", window={size=3x3 stride=2x1 pad=0_0x1_1}, dim_labels=b01f_01io->b01f, "
     "feature_group_count=4, "
     "batch_group_count=4, convolution_kind=fprop, operand_precision={high,default}, "
     "algorithm=dot_any_f8_any_f8_f32, "
     "sparsity_config={lhs={sparsity=2x4 dimension=1 stride=1 idx=2}}"},
    {"CopyStartAttrs", ", cross_program_prefetch_index=3"},
    {"CustomCallAttrs",
     ", window={size=3x3 stride=2x1 pad=0_0x1_1}, dim_labels=b01f_01io->b01f, "
     "feature_group_count=4, "
     "batch_group_count=4, operand_precision={high,default}, padding_type=PADDING_VALID, "
     "custom_call_target=\"a\\\"b\", operand_layout_constraints={f32[2,3]{1,0}, s8[]}, "
     "custom_call_has_side_effect=true, literal=s32[2]{0} {7, 0}, "
     "output_to_operand_aliasing={{0}: (1, {}), {1}: (0, {0,2})}, schedule=SCHEDULE_LATEST, "
     "api_version=API_VERSION_STATUS_RETURNING"},
    {"DomainAttrs", ", domain={kind=\"sharding\", entry={replicated}, exit={maximal device=3}}"},
    {"DotAttrs",
     ", lhs_batch_dims={2,0}, lhs_contracting_dims={2,0}, rhs_batch_dims={2,0}, "
     "rhs_contracting_dims={2,0}, "
     "operand_precision={high,default}, algorithm=dot_any_f8_any_f8_f32"},
    {"RaggedDotAttrs",
     ", lhs_batch_dims={2,0}, lhs_contracting_dims={2,0}, rhs_batch_dims={2,0}, "
     "rhs_contracting_dims={2,0}, "
     "lhs_ragged_dims={2,0}, rhs_group_dims={2,0}, operand_precision={high,default}"},
    {"DynamicSliceAttrs", ", dynamic_slice_sizes={2,0}"},
    {"FftAttrs", ", fft_type=IFFT, fft_length={2,0}"},
    {"FusionAttrs", ", kind=kInput, output_to_operand_aliasing={{0}: (1, {}), {1}: (0, {0,2})}"},
    {"GatherAttrs",
     ", offset_dims={2,0}, collapsed_slice_dims={2,0}, start_index_map={2,0}, "
     "operand_batching_dims={2,0}, "
     "start_indices_batching_dims={2,0}, index_vector_dim=3, slice_sizes={2,0}, "
     "indices_are_sorted=true"},
    {"ScatterAttrs",
     ", update_window_dims={2,0}, inserted_window_dims={2,0}, scatter_dims_to_operand_dims={2,0}, "
     "input_batching_dims={2,0}, scatter_indices_batching_dims={2,0}, index_vector_dim=3, "
     "indices_are_sorted=true, "
     "unique_indices=true"},
    {"GetTupleElementAttrs", ", index=3"},
    {"InfeedAttrs", ", infeed_config=\"a\\\"b\""},
    {"OutfeedAttrs", ", outfeed_shape=f32[2,3]{1,0}, outfeed_config=\"a\\\"b\""},
    {"IotaAttrs", ", iota_dimension=3"},
    {"PadAttrs", ", padding=1_2x0_-1"},
    {"ParameterAttrs", ", parameter_replication={true,false}"},
    {"ChannelAttrs", ", channel_id=3, is_host_transfer=true"},
    {"ReducePrecisionAttrs", ", exponent_bits=3, mantissa_bits=3"},
    {"ReduceWindowAttrs", ", window={size=3x3 stride=2x1 pad=0_0x1_1}"},
    {"SelectAndScatterAttrs", ", window={size=3x3 stride=2x1 pad=0_0x1_1}"},
    {"ReshapeAttrs", ", inferred_dimension=3"},
    {"RngAttrs", ", distribution=rng_normal"},
    {"RngBitGeneratorAttrs", ", algorithm=rng_three_fry"},
    {"RngGetAndUpdateStateAttrs", ", delta=3"},
    {"ScanAttrs", ", dimensions={2}, num_carries=3, is_reverse=true, is_associative=true"},
    {"SliceAttrs", ", slice={[0:4:1], [1:9:2]}"},
    {"SortAttrs", ", dimensions={2}, is_stable=true"},
    {"TopKAttrs", ", k=3, largest=false, is_stable=false"},
    {"TriangularSolveAttrs",
     ", left_side=true, lower=true, unit_diagonal=true, transpose_a=NO_TRANSPOSE"},
};

template <class A>
void CheckPrinted() {
  const AttrsPtr attrs = AttrsPtr::Make(NonDefault<A>());
  CAPTURE(attrs.info()->name);
  bool listed = false;
  for (const Printed& row : kPrinted) {
    if (row.name != attrs.info()->name) continue;
    listed = true;
    CHECK(Print(attrs) == row.text);
  }
  CHECK(listed);
}

TEST_CASE("every attribute struct prints as XLA does", "[ops][attrs]") {
#define HLO_CHECK_PRINTED(A) CheckPrinted<A>();
  HLO_FOR_EACH_ATTRS(HLO_CHECK_PRINTED)
#undef HLO_CHECK_PRINTED
}

TEST_CASE("defaults print only what always prints", "[ops][attrs]") {
  CHECK(Print(AttrsPtr::Make(DotAttrs())) == ", lhs_contracting_dims={}, rhs_contracting_dims={}");
  CHECK(Print(AttrsPtr::Make(AllReduceAttrs())) == ", replica_groups={}");
  CHECK(Print(AttrsPtr::Make(CollectiveBroadcastAttrs())) ==
        ", replica_groups={}, has_dynamic_root=false");
  CHECK(Print(AttrsPtr::Make(BroadcastAttrs())) == ", dimensions={}");
  CHECK(Print(AttrsPtr::Make(TopKAttrs{2})) == ", k=2, largest=true, is_stable=true");
  CHECK(Print(AttrsPtr::Make(CompareAttrs())) == ", direction=EQ");
  CHECK(Print(AttrsPtr::Make(TriangularSolveAttrs())).empty());
  CHECK(Print(AttrsPtr::Make(ConvolutionAttrs())).find("window") == std::string::npos);
}

TEST_CASE("unspecified associativity of scan does not print", "[ops][attrs]") {
  ScanAttrs attrs{{0}, 1};
  CHECK(Print(AttrsPtr::Make(attrs)) == ", dimensions={0}, num_carries=1, is_associative=false");
  attrs.is_associative.reset();
  CHECK(Print(AttrsPtr::Make(attrs)) == ", dimensions={0}, num_carries=1");
}

TEST_CASE("strides of a slice print for all dimensions or none", "[ops][attrs]") {
  CHECK(Print(AttrsPtr::Make(SliceAttrs{{{0, 2, 1}, {1, 9, 1}}})) == ", slice={[0:2], [1:9]}");
  CHECK(Print(AttrsPtr::Make(SliceAttrs{{{0, 2, 1}, {1, 9, 2}}})) == ", slice={[0:2:1], [1:9:2]}");
}

TEST_CASE("print options change single attributes", "[ops][attrs]") {
  AllReduceAttrs attrs;
  attrs.channel_id = 7;
  attrs.replica_groups.form = IotaTiles::Make({2, 2}, {4}, {0});
  AttrPrintOptions options;
  CHECK(Print(AttrsPtr::Make(attrs), options) == ", channel_id=7, replica_groups=[2,2]<=[4]");
  options.channel_id = false;
  options.full_replica_groups = true;
  CHECK(Print(AttrsPtr::Make(attrs), options) == ", channel_id=_, replica_groups={{0,1},{2,3}}");
  options.infeed_config = false;
  CHECK(Print(AttrsPtr::Make(InfeedAttrs{"x"}), options).empty());
}

TEST_CASE("what follows the called computations prints there", "[ops][attrs]") {
  const AttrsPtr attrs = AttrsPtr::Make(CallAttrs{true});
  std::string out;
  attrs.Print({}, /*after_calls=*/true, out);
  CHECK(out == ", is_composite=true");
}

TEST_CASE("an attribute pointer shares and knows its struct", "[ops][attrs]") {
  const AttrsPtr a = AttrsPtr::Make(IotaAttrs{2});
  const AttrsPtr b = a;
  CHECK(b.Is<IotaAttrs>());
  CHECK_FALSE(b.Is<CholeskyAttrs>());
  CHECK(&a.Get<IotaAttrs>() == &b.Get<IotaAttrs>());
  CHECK_FALSE(AttrsPtr() == a);
  CHECK(AttrsPtr() == AttrsPtr());
  CHECK_FALSE(AttrsPtr::Make(TransposeAttrs{{1, 0}}) == AttrsPtr::Make(ReverseAttrs{{1, 0}}));
}

}  // namespace
}  // namespace hlo
