// Options that make the verifier more lenient, functions that callers give it, and rules that only
// a faulty pass can break.
#include <catch2/catch.hpp>

#include "lib/ir/builder.h"
#include "lib/ir/verifier.h"
#include "lib/support/diagnostic.h"
#include "parser/parse_test_util.h"

namespace hlo {
namespace {

// All messages, one a line; empty when the module is sound.
std::string FindingsOf(const Module& module, const VerifierOptions& options = {}) {
  std::string text;
  for (const Diagnostic& diagnostic : DiagnosticsOf(Verify(module, options))) {
    if (diagnostic.severity == Severity::kError) text += diagnostic.message + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("unbounded dimensions on request", "[ir][verifier]") {
  const auto module = ParsedModule(R"(HloModule m
ENTRY e {
  x = f32[?,4] parameter(0)
  ROOT y = f32[?,4] negate(x)
}
)");
  CHECK(FindingsOf(*module) ==
        "`x` has shape `f32[?,4]`, expected no unbounded dimension\n"
        "`y` has shape `f32[?,4]`, expected no unbounded dimension\n");
  CHECK(FindingsOf(*module, {.allow_unbounded_dynamism = true}) == "");
}

TEST_CASE("groups of other numbers of devices on request", "[ir][verifier]") {
  const auto module = ParsedModule(R"(HloModule m, replica_count=4
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY e {
  x = f32[4] parameter(0)
  ROOT y = f32[4] all-reduce(x), replica_groups={{0,1}}, to_apply=sum
}
)");
  CHECK(FindingsOf(*module) ==
        "`replica_groups` of `y` names 2 ids, but the module has 4 replicas\n");
  CHECK(FindingsOf(*module, {.check_replica_groups = false}) == "");
}

TEST_CASE("shardings of other numbers of devices on request", "[ir][verifier]") {
  const auto module = ParsedModule(R"(HloModule m, num_partitions=4
ENTRY e {
  x = f32[4] parameter(0), sharding={devices=[2]<=[2]}
  ROOT y = f32[4] negate(x), sharding={maximal device=7}
}
)");
  CHECK(FindingsOf(*module) ==
        "the sharding of `x` has 2 tiles, but there are 4 partitions\n"
        "the sharding of `y` names device 7, but there are 4 partitions\n");
  CHECK(FindingsOf(*module, {.verify_sharding_device_numbers = false}) == "");
}

TEST_CASE("bitcasts are measured by the caller's function", "[ir][verifier]") {
  const auto module = ParsedModule(R"(HloModule m
ENTRY e {
  x = f32[3] parameter(0)
  ROOT y = f32[3,1] bitcast(x)
}
)");
  VerifierOptions options{.layout_sensitive = true};
  CHECK(FindingsOf(*module, options) == "");
  // Each row is padded to 8 elements.
  options.shape_size = [](Shape shape) {
    const int64_t rows = shape.rank() == 2 ? shape.dim(0) : 1;
    return rows * 8 * ByteSize(shape.element_type());
  };
  CHECK(FindingsOf(*module, options) ==
        "bitcast `y` from `f32[3]` to `f32[3,1]` changes the number of bytes from 32 to 96\n");
  options.allow_bitcast_to_have_different_size = true;
  CHECK(FindingsOf(*module, options) == "");
}

TEST_CASE("a back end says which opcodes change layouts", "[ir][verifier]") {
  const auto module = ParsedModule(R"(HloModule m
ENTRY e {
  x = f32[2,3]{1,0} parameter(0)
  y = f32[2,3]{0,1} negate(x)
  ROOT z = f32[2,3]{1,0} copy(y)
}
)");
  VerifierOptions options{.layout_sensitive = true};
  CHECK(FindingsOf(*module, options) ==
        "`y` has shape `f32[2,3]{0,1}`, but `negate` cannot change the layout of operand `x`, "
        "`f32[2,3]{1,0}`\n");
  options.instruction_can_change_layout = [](const Instruction& instruction) {
    return instruction.opcode() != Opcode::kCopy;
  };
  CHECK(FindingsOf(*module, options) ==
        "`z` has shape `f32[2,3]{1,0}`, but `copy` cannot change the layout of operand `y`, "
        "`f32[2,3]{0,1}`\n");
}

TEST_CASE("no fusion calls the entry", "[ir][verifier]") {
  Module module("m");
  Computation* entry = module.AddEntry("e");
  Instruction* x = Builder(entry).Parameter(0, Shape::Scalar(ElementType::kF32), "x");
  entry->set_root(Builder(entry).Negate(x));
  Computation* caller = module.AddComputation("caller");
  Builder b(caller);
  caller->set_root(b.Fusion(Shape::Scalar(ElementType::kF32), FusionKind::kLoop,
                            {b.Parameter(0, Shape::Scalar(ElementType::kF32), "p")}, entry));
  CHECK(FindingsOf(module) == "fusion `fusion` calls the entry computation `e`\n");
}

TEST_CASE("custom calls with layouts have one for their result", "[ir][verifier]") {
  const auto module = ParsedModule(R"(HloModule m
ENTRY e {
  x = f32[4]{0} parameter(0)
  ROOT y = f32[4]{0} custom-call(x), custom_call_target="f", operand_layout_constraints={f32[4]{0}}
}
)");
  CHECK(FindingsOf(*module) == "");
  Instruction* call = module->entry()->root();
  call->set_shape(call->shape().WithoutLayout());
  CHECK(FindingsOf(*module) ==
        "`y` constrains operand layouts, but its result `f32[4]` has no layout\n");
}

TEST_CASE("accuracy is an attribute of few opcodes", "[ir][verifier]") {
  const auto module = ParsedModule(R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  ROOT y = f32[4] negate(x)
}
)");
  module->entry()->root()->mutable_extras().result_accuracy = ResultAccuracy();
  CHECK(FindingsOf(*module) == "`y` has `result_accuracy`, which `negate` does not take\n");
}

}  // namespace hlo
