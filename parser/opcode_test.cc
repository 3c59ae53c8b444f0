// One instruction of every opcode with every attribute that it has: read, printed, and read again
// without a change.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "lib/ops/attrs.h"
#include "lib/ops/ops.h"
#include "parser/parser_test.h"

namespace hlo {
namespace {

// Computations and parameters that the lines below use.
constexpr std::string_view kComputations = R"(
sum {
  sum_x = f32[] parameter(0)
  sum_y = f32[] parameter(1)
  ROOT sum_r = f32[] add(sum_x, sum_y)
}

less {
  less_x = f32[] parameter(0)
  less_y = f32[] parameter(1)
  ROOT less_r = pred[] compare(less_x, less_y), direction=LT
}

same {
  ROOT same_p = f32[4,8]{1,0} parameter(0)
}

never {
  never_p = f32[4,8]{1,0} parameter(0)
  ROOT never_r = pred[] constant(false)
}

step {
  step_x = f32[8]{0} parameter(0)
  step_c = f32[8]{0} parameter(1)
  step_y = f32[8]{0} add(step_x, step_c)
  ROOT step_r = (f32[8]{0}, f32[8]{0}) tuple(step_y, step_y)
}
)";

constexpr std::string_view kParameters = R"(
  x = f32[4,8]{1,0} parameter(0)
  y = f32[4,8]{1,0} parameter(1)
  s = f32[] parameter(2)
  p = pred[4,8]{1,0} parameter(3)
  i = s32[] parameter(4)
  n = s32[4,8]{1,0} parameter(5)
  v = f32[8]{0} parameter(6)
  c = c64[4,8]{1,0} parameter(7)
  t = token[] parameter(8)
  q = pred[] parameter(9)
  m = f32[8,8]{1,0} parameter(10)
  img = f32[2,6,6,3]{3,2,1,0} parameter(11)
  ker = f32[3,3,3,5]{3,2,1,0} parameter(12)
  pair = (f32[4,8]{1,0}, s32[]) parameter(13)
  g = s32[3]{0} parameter(14)
  b = f32[3,8,5]{2,1,0} parameter(15)
  idx = s32[2,1]{1,0} parameter(16)
  state = u64[3]{0} parameter(17)
  small = f32[2,2,2,5]{3,2,1,0} parameter(18)
)";

constexpr std::string_view kLines[] = {
    "r = f32[4,8]{1,0} abs(x)",
    "r = f32[4,8]{1,0} acos(x), result_accuracy={mode=highest}",
    "r = f32[4,8]{1,0} acosh(x), result_accuracy={tolerance={atol=0.5,rtol=1e-05,ulps=3}}",
    "r = f32[4,8]{1,0} add(x, y)",
    "r = f32[4,8]{1,0} add-dependency(x, t)",
    "r = token[] after-all(t, t)",
    "r = f32[8,8]{1,0} all-gather(x), channel_id=1, replica_groups=[2,2]<=[4], "
    "constrain_layout=true, dimensions={0}, "
    "use_global_device_ids=true",
    "a = (f32[4,8]{1,0}, f32[8,8]{1,0}) all-gather-start(x), channel_id=1, "
    "replica_groups={{0,1},{2,3}}, dimensions={0}, "
    "use_global_device_ids=true\n  r = f32[8,8]{1,0} all-gather-done(a)",
    "r = f32[4,8]{1,0} all-reduce(x), channel_id=3, replica_groups=[2,4]<=[4,2]T(1,0), "
    "constrain_layout=true, "
    "use_global_device_ids=true, to_apply=sum",
    "a = f32[4,8]{1,0} all-reduce-start(x), replica_groups={}, to_apply=sum\n  r = f32[4,8]{1,0} "
    "all-reduce-done(a)",
    "r = f32[4,8]{1,0} all-to-all(x), channel_id=2, replica_groups={{0,1}}, constrain_layout=true, "
    "dimensions={1}",
    "r = pred[4,8]{1,0} and(p, p)",
    "r = f32[4,8]{1,0} asin(x)",
    "r = f32[4,8]{1,0} asinh(x)",
    "a = ((f32[4,8]{1,0}), f32[4,8]{1,0}, u32[]) async-start(x), async_execution_thread=\"host\", "
    "calls=same\n"
    "  u = ((f32[4,8]{1,0}), f32[4,8]{1,0}, u32[]) async-update(a)\n  r = f32[4,8]{1,0} "
    "async-done(u)",
    "r = f32[4,8]{1,0} atan2(x, y)",
    "r = f32[4,8]{1,0} atanh(x)",
    "r = (f32[4,8]{1,0}, f32[8]{0}, f32[8]{0}) batch-norm-grad(x, v, v, v, y), epsilon=0.001, "
    "feature_index=1",
    "r = f32[4,8]{1,0} batch-norm-inference(x, v, v, v, v), epsilon=1e-05, feature_index=1",
    "r = (f32[4,8]{1,0}, f32[8]{0}, f32[8]{0}) batch-norm-training(x, v, v), epsilon=0.5, "
    "feature_index=1",
    "r = f32[32]{0} bitcast(x)",
    "r = s32[4,8]{1,0} bitcast-convert(x)",
    "r = f32[4,8]{1,0} broadcast(v), dimensions={1}",
    "r = f32[4,8]{1,0} call(x), to_apply=same, is_composite=true",
    "r = f32[4,8]{1,0} cbrt(x)",
    "r = f32[4,8]{1,0} ceil(x)",
    "r = f32[8,8]{1,0} cholesky(m), lower=true",
    "r = f32[4,8]{1,0} clamp(s, x, s)",
    "r = f32[4,8]{1,0} collective-broadcast(x), channel_id=1, replica_groups={{0,1}}, "
    "has_dynamic_root=true",
    "r = f32[4,8]{1,0} collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,0}}",
    "a = (f32[4,8]{1,0}, f32[4,8]{1,0}) collective-permute-start(x, y, i, i), "
    "source_target_pairs={{0,1}}, "
    "slice_sizes={{1,2},{3,4}}\n  r = f32[4,8]{1,0} collective-permute-done(a)",
    "r = pred[4,8]{1,0} compare(x, y), direction=LE, type=TOTALORDER",
    "r = c64[4,8]{1,0} complex(x, y)",
    "r = f32[8,8]{1,0} concatenate(x, y), dimensions={0}",
    "r = f32[4,8]{1,0} conditional(q, x, y), true_computation=same, false_computation=same",
    "r = f32[4,8]{1,0} conditional(i, x, y), branch_computations={same, same}",
    "r = f32[2,2]{1,0} constant({ { 1, 2 }, { 3, -0.5 } })",
    "r = bf16[4,8]{1,0} convert(x)",
    "r = f32[2,3,3,5]{3,2,1,0} convolution(img, ker), window={size=3x3 stride=2x2 pad=1_1x0_1 "
    "lhs_dilate=1x2 rhs_dilate=2x1 "
    "rhs_reversal=0x1}, dim_labels=b01f_01io->b01f, feature_group_count=3, batch_group_count=2, "
    "convolution_kind=wgrad, "
    "operand_precision={highest,default}, algorithm=dot_bf16_bf16_f32, "
    "sparsity_config={lhs={sparsity=2x4 dimension=1 stride=1 idx=2}}",
    "r = f32[4,8]{0,1} copy(x)",
    "a = (f32[4,8]{1,0:S(1)}, f32[4,8]{1,0}, u32[]) copy-start(x), cross_program_prefetch_index=2\n"
    "  r = f32[4,8]{1,0:S(1)} copy-done(a)",
    "r = f32[4,8]{1,0} cosh(x)",
    "r = f32[4,8]{1,0} cosine(x)",
    "r = s32[4,8]{1,0} count-leading-zeros(n)",
    "r = f32[4,8]{1,0} custom-call(x, y), window={size=2 pad=0_1}, dim_labels=b0f_0io->b0f, "
    "feature_group_count=2, "
    "batch_group_count=3, operand_precision={high,high}, padding_type=PADDING_SAME, "
    "custom_call_target=\"a \\\"b\\\"\", "
    "custom_call_has_side_effect=true, literal=s32[2]{0} {1, 2}, output_to_operand_aliasing={{}: "
    "(0, {})}, "
    "schedule=SCHEDULE_LATEST, api_version=API_VERSION_TYPED_FFI, called_computations={sum, less}",
    "r = f32[4,8]{1,0} custom-call(x, s), custom_call_target=\"t\", "
    "operand_layout_constraints={f32[4,8]{0,1}, f32[]}",
    "r = f32[4,8]{1,0} divide(x, y)",
    "r = f32[4,8]{1,0} domain(x), domain={kind=\"sharding\", entry={replicated}, exit={maximal "
    "device=1}}",
    "r = f32[4,4]{1,0} dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
    "operand_precision={high,highest}, "
    "algorithm=dot_tf32_tf32_f32",
    "r = f32[4]{0} dot(x, y), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0}, "
    "rhs_contracting_dims={1}",
    "r = f32[<=32]{0} dynamic-reshape(x, i)",
    "r = f32[1,8]{1,0} dynamic-slice(x, i, i), dynamic_slice_sizes={1,8}",
    "r = f32[4,8]{1,0} dynamic-update-slice(x, y, i, i)",
    "r = f32[4,8]{1,0} erf(x)",
    "r = f32[4,8]{1,0} exponential(x)",
    "r = f32[4,8]{1,0} exponential-minus-one(x)",
    "r = c64[4,8]{1,0} fft(c), fft_type=IFFT, fft_length={8}",
    "r = f32[4,8]{1,0} floor(x)",
    "r = f32[4,8]{1,0} fusion(x), kind=kInput, output_to_operand_aliasing={{}: (0, {})}, "
    "calls=same",
    "r = f32[2,8]{1,0} gather(x, idx), offset_dims={1}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=1, "
    "slice_sizes={1,8}, indices_are_sorted=true",
    "r = f32[2,8]{1,0} gather(x, idx), offset_dims={1}, collapsed_slice_dims={}, "
    "start_index_map={}, operand_batching_dims={0}, "
    "start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,8}",
    "r = s32[] get-dimension-size(x), dimensions={1}",
    "r = s32[] get-tuple-element(pair), index=1",
    "r = f32[4,8]{1,0} imag(c)",
    "r = (f32[4,8]{1,0}, token[]) infeed(t), infeed_config=\"a\\nb\"",
    "r = s32[4,8]{1,0} iota(), iota_dimension=1",
    "r = pred[4,8]{1,0} is-finite(x)",
    "r = f32[4,8]{1,0} log(x)",
    "r = f32[4,8]{1,0} log-plus-one(x)",
    "r = f32[4,8]{1,0} logistic(x)",
    "r = f32[4,8]{1,0} map(x, y), dimensions={0,1}, to_apply=sum",
    "r = f32[4,8]{1,0} maximum(x, y)",
    "r = f32[4,8]{1,0} minimum(x, y)",
    "r = s32[4,8]{1,0} mulhi(n, n)",
    "r = f32[4,8]{1,0} multiply(x, y)",
    "r = f32[4,8]{1,0} negate(x)",
    "r = pred[4,8]{1,0} not(p)",
    "r = f32[4,8]{1,0} opt-barrier(x)",
    "r = pred[4,8]{1,0} or(p, p)",
    "r = token[] outfeed(x, t), outfeed_shape=f32[4,8]{0,1}, outfeed_config=\"c\"",
    "r = f32[5,13]{1,0} pad(x, s), padding=0_1_0x2_-4_1",
    "r = f32[2]{0} parameter(19), parameter_replication={true}",
    "r = u32[] partition-id()",
    "r = s32[4,8]{1,0} popcnt(n)",
    "r = f32[4,8]{1,0} power(x, y)",
    "r = f32[4,8]{1,0} ragged-all-to-all(x, y, g, g, g, g), channel_id=1, replica_groups={{0,1,2}}",
    "r = f32[4,5]{1,0} ragged-dot(x, b, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
    "lhs_ragged_dims={0}, "
    "rhs_group_dims={0}",
    "r = f32[4,8]{1,0} real(c)",
    "a = (f32[4]{0}, u32[], token[]) recv(t), channel_id=5, is_host_transfer=true\n"
    "  r = (f32[4]{0}, token[]) recv-done(a), channel_id=5, is_host_transfer=true",
    "r = f32[8]{0} reduce(x, s), dimensions={0}, to_apply=sum",
    "r = f32[4,8]{1,0} reduce-precision(x), exponent_bits=5, mantissa_bits=10",
    "r = f32[2,8]{1,0} reduce-scatter(x), channel_id=1, replica_groups=mesh['a'=2,'b'=2] {'a'}, "
    "constrain_layout=true, "
    "use_global_device_ids=true, dimensions={0}, to_apply=sum",
    "r = f32[2,8]{1,0} reduce-window(x, s), window={size=2x1 stride=2x1}, to_apply=sum",
    "r = f32[4,8]{1,0} remainder(x, y)",
    "r = u32[] replica-id()",
    "r = f32[32]{0} reshape(x), inferred_dimension=0",
    "r = f32[4,8]{1,0} reverse(x), dimensions={0,1}",
    "r = f32[4,8]{1,0} rng(s, s), distribution=rng_normal",
    "r = (u64[3]{0}, u32[4]{0}) rng-bit-generator(state), algorithm=rng_philox",
    "r = u64[2]{0} rng-get-and-update-state(), delta=7",
    "r = f32[4,8]{1,0} round-nearest-afz(x)",
    "r = f32[4,8]{1,0} round-nearest-even(x)",
    "r = f32[4,8]{1,0} rsqrt(x)",
    "r = f32[4,4]{1,0} scaled-dot(x, y, x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    "r = (f32[4,8]{1,0}, f32[8]{0}) scan(x, v), dimensions={0}, num_carries=1, is_reverse=true, "
    "is_associative=true, to_apply=step",
    "r = f32[4,8]{1,0} scatter(x, idx, m), update_window_dims={1}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, "
    "index_vector_dim=1, indices_are_sorted=true, unique_indices=true, to_apply=sum",
    "r = f32[4,8]{1,0} scatter(x, idx, m), update_window_dims={1}, inserted_window_dims={}, "
    "scatter_dims_to_operand_dims={}, "
    "input_batching_dims={0}, scatter_indices_batching_dims={0}, index_vector_dim=1, to_apply=sum",
    "r = f32[4,8]{1,0} select(p, x, y)",
    "r = f32[4,8]{1,0} select-and-scatter(x, m, s), window={size=2x1 stride=2x1}, select=less, "
    "scatter=sum",
    "a = (f32[4,8]{1,0}, u32[], token[]) send(x, t), channel_id=5, is_host_transfer=true\n"
    "  r = token[] send-done(a), channel_id=5, is_host_transfer=true",
    "r = f32[4,<=8]{1,0} set-dimension-size(x, i), dimensions={1}",
    "r = s32[4,8]{1,0} shift-left(n, n)",
    "r = s32[4,8]{1,0} shift-right-arithmetic(n, n)",
    "r = s32[4,8]{1,0} shift-right-logical(n, n)",
    "r = f32[4,8]{1,0} sign(x)",
    "r = f32[4,8]{1,0} sine(x)",
    "r = f32[4,8]{1,0} sinh(x)",
    "r = f32[2,8]{1,0} slice(x), slice={[0:4:2], [0:8:1]}",
    "r = f32[4,8]{1,0} sort(x), dimensions={1}, is_stable=true, to_apply=less",
    "r = f32[4,8]{1,0} sqrt(x)",
    "r = s32[4,8]{1,0} stochastic-convert(x, n)",
    "r = f32[4,8]{1,0} subtract(x, y)",
    "r = f32[4,8]{1,0} tan(x)",
    "r = f32[4,8]{1,0} tanh(x)",
    "r = (f32[4,2]{1,0}, s32[4,2]{1,0}) topk(x), k=2, largest=false, is_stable=false",
    "r = f32[8,4]{0,1} transpose(x), dimensions={1,0}",
    "r = f32[8,8]{1,0} triangular-solve(m, m), left_side=true, lower=true, unit_diagonal=true, "
    "transpose_a=ADJOINT",
    "r = (f32[4,8]{1,0}, s32[]) tuple(x, i)",
    "r = f32[4,8]{1,0} while(x), condition=never, body=same",
    "r = pred[4,8]{1,0} xor(p, p)"};

std::string ModuleOf(std::string_view line) {
  return fmt::format("HloModule m\n{}\nENTRY e {{{}  ROOT {}\n}}\n", kComputations, kParameters,
                     line);
}

// "ROOT" moved from the first of several lines to the last.
std::string Body(std::string_view line) {
  const size_t last = line.rfind("\n  ");
  if (last == std::string_view::npos) return ModuleOf(line);
  std::string text =
      fmt::format("HloModule m\n{}\nENTRY e {{{}  {}\n  ROOT {}\n}}\n", kComputations, kParameters,
                  line.substr(0, last), line.substr(last + 3));
  return text;
}

TEST_CASE("every opcode is read and printed with every attribute", "[parser][opcodes]") {
  PrintOptions options = PrintOptions::ShortParsable();
  options.syntax_sugar_async_ops = false;
  std::set<std::string_view> opcodes;
  std::string all;
  for (const std::string_view line : kLines) {
    CAPTURE(line);
    const std::string printed = Reprint(Body(line), options);
    std::string_view rest = line;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find("\n  "), rest.size());
      const std::string_view one = rest.substr(0, end);
      CHECK_THAT(printed, Catch::Contains(std::string(one)));
      rest.remove_prefix(std::min(end + 3, rest.size()));
      // The opcode stands between the shape and the operands.
      for (const OpInfo& info : AllOpInfos()) {
        if (one.find(fmt::format(" {}(", info.text)) != std::string_view::npos)
          opcodes.insert(info.text);
      }
    }
    CHECK(Reprint(printed, options) == printed);
    all += line;
  }
  for (const OpInfo& info : AllOpInfos()) {
    CAPTURE(info.text);
    CHECK(opcodes.contains(info.text));
  }
#define HLO_CHECK_NAMES(A)                                                               \
  ForEachField<A>([&](const auto& field) {                                               \
    if (field.mode == FieldMode::kHidden || field.mode == FieldMode::kParseOnly) return; \
    CAPTURE(#A, field.name);                                                             \
    CHECK(all.find(fmt::format(", {}=", field.name)) != std::string::npos);              \
  });
  HLO_FOR_EACH_ATTRS(HLO_CHECK_NAMES)
#undef HLO_CHECK_NAMES
}

TEST_CASE("the same module in the long form, with inline computations and without optional parts",
          "[parser][opcodes]") {
  const std::string plain = Reprint(R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] negate(x)
  ROOT z = f32[4] add(x, y)
})");
  CHECK(Reprint("HloModule m ENTRY %e (x: f32[4]) -> f32[4] { %x = f32[4]{0} parameter(0) %y = "
                "f32[4]{0} negate(f32[4]{0} %x)"
                " ROOT %z = f32[4]{0} add(f32[4]{0} %x, f32[4]{0} %y) }") == plain);
  CHECK(Reprint("HloModule m e { x = f32[4] parameter(0) y = negate(x) z = add(x, y) }") == plain);
  CHECK(Reprint("HloModule m\r\n\r\nENTRY e {\r\n x = f32[4] parameter(0) // c\r\n y = "
                "negate(x)\r\n z = add(x, y)\r\n}\r\n") == plain);
  CHECK(Reprint("\xEF\xBB\xBFHloModule m ENTRY e { x = f32[4] parameter(0) y = negate(x) z = "
                "add(x, y) }") == plain);
}

TEST_CASE("nested operands get names of their own", "[parser][operands]") {
  CHECK(Reprint("HloModule m ENTRY e { x = f32[4] parameter(0) ROOT z = add(negate(x), "
                "negate(abs(x))) }") ==
        "HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}\n\nENTRY e {\n  x = "
        "f32[4]{0} parameter(0)\n"
        "  negate.anon = f32[4]{0} negate(x)\n  abs.anon = f32[4]{0} abs(x)\n  negate.anon.1 = "
        "f32[4]{0} negate(abs.anon)\n"
        "  ROOT z = f32[4]{0} add(negate.anon, negate.anon.1)\n}\n\n");
}

TEST_CASE("compact tuple elements are made once", "[parser][operands]") {
  CHECK(
      Reprint("HloModule m ENTRY e { t = (f32[4], (f32[4])) parameter(0) ROOT z = add(%t#0, f32[4] "
              "%t#1#0), metadata={op_name=\"a\"}"
              " w = add(t#0, t#0) }") ==
      "HloModule m, entry_computation_layout={((f32[4]{0}, (f32[4]{0})))->f32[4]{0}}\n\nENTRY e {\n"
      "  t = (f32[4]{0}, (f32[4]{0})) parameter(0)\n  t_0 = f32[4]{0} get-tuple-element(t), "
      "index=0\n"
      "  t_1 = (f32[4]{0}) get-tuple-element(t), index=1\n  t_1_0 = f32[4]{0} "
      "get-tuple-element(t_1), index=0\n"
      "  ROOT z = f32[4]{0} add(t_0, t_1_0)\n  w = f32[4]{0} add(t_0, t_0)\n}\n\n");
  CHECK(MessageOf(ParseModule(
            "HloModule m ENTRY e { t = (f32[4]) parameter(0) ROOT z = negate(t#1) }")) ==
        "element 1 of `t`, whose shape `(f32[4])` has 1 elements");
}

}  // namespace
}  // namespace hlo
