// Edits of whole modules: entries and computations replaced, outlining, order by content, random
// numbers, what is said about the entry's parameters and result.
#include <catch2/catch.hpp>

#include "lib/ir/builder.h"
#include "lib/ir/compare.h"
#include "lib/ir/entry_info.h"
#include "lib/ir/outline.h"
#include "lib/ir/printer.h"
#include "lib/ir/verifier.h"
#include "lib/support/diagnostic.h"
#include "parser/parse_test_util.h"

namespace hlo {
namespace {

std::unique_ptr<Module> Read(std::string_view text) {
  std::unique_ptr<Module> module = ParsedModule(text);
  REQUIRE(Verify(*module).ok());
  return module;
}

std::vector<std::string> NamesOf(const std::vector<Computation*>& computations) {
  std::vector<std::string> names;
  for (const Computation* computation : computations) names.emplace_back(computation->name());
  return names;
}
using NameList = std::vector<std::string>;

constexpr std::string_view kCalls =
    R"(HloModule calls, input_output_alias={ {}: (0, {}, may-alias) }

twice {
  a = f32[4] parameter(0)
  ROOT s = f32[4] add(a, a)
}

double {
  b = f32[4] parameter(0)
  ROOT t = f32[4] add(b, b)
}

wrap {
  c = f32[4] parameter(0)
  ROOT d = f32[4] call(c), to_apply=double
}

ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] call(x), to_apply=twice
  z = f32[4] call(y), to_apply=wrap
  ROOT n = f32[4] negate(z)
}
)";

constexpr std::string_view kChain = R"(HloModule chain

ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  a = f32[4] negate(x)
  b = f32[4] add(y, a)
  c = f32[4] multiply(b, x)
  d = f32[4] abs(b)
  ROOT r = f32[4] subtract(c, d)
}
)";

constexpr std::string_view kTwoInputs = R"(HloModule two

ENTRY main {
  p = (f32[4], f32[8]) parameter(0)
  n = s32[] parameter(1)
  x = f32[4] get-tuple-element(p), index=0
  y = f32[8] get-tuple-element(p), index=1
  ROOT t = (f32[4], f32[8]) tuple(x, y)
}
)";

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

std::string AllMessagesOf(const absl::Status& status) {
  std::string text;
  for (const Diagnostic& diagnostic : DiagnosticsOf(status)) text += diagnostic.message + "\n";
  return text;
}

}  // namespace

TEST_CASE("an entry is replaced with its layout and aliases", "[ir][edit]") {
  const auto module = Read(kCalls);
  Computation* main = module->entry();
  module->ReplaceEntry(module->FindComputation("wrap"));
  CHECK(module->FindComputation("wrap")->is_entry());
  CHECK_FALSE(main->is_entry());
  CHECK(module->config().aliases.empty());
  CHECK(module->config().entry_layout.parameters.size() == 1);
  CHECK(Verify(*module).ok());
  CHECK(module->RemoveUnusedComputations() == 2);  // main and twice
  CHECK(NamesOf(module->computations()) == NameList{"double", "wrap"});
  CHECK(Verify(*module).ok());
}

TEST_CASE("computations are replaced in all their calls", "[ir][edit]") {
  const auto module = Read(kCalls);
  Computation* twice = module->FindComputation("twice");
  Computation* twin = module->FindComputation("double");
  REQUIRE(StructurallyEqual(*twice, *twin));
  module->ReplaceComputations({{twin, twice}});
  CHECK(NamesOf(module->computations()) == NameList{"twice", "wrap", "main"});
  CHECK(module->FindInstruction("d")->to_apply() == twice);
  CHECK(twice->callers().size() == 2);
  CHECK(module->FindInstruction("t") == nullptr);
  CHECK(Verify(*module).ok());
}

TEST_CASE("replacements are followed, also by the entry", "[ir][edit]") {
  const auto module = Read(kCalls);
  Computation* twice = module->FindComputation("twice");
  Computation* twin = module->FindComputation("double");
  Computation* wrap = module->FindComputation("wrap");
  Computation* other = module->CloneComputation(*module->entry(), ".other", false);
  // wrap calls double, which goes as well; the old entry calls both.
  module->ReplaceComputations({{wrap, twin}, {twin, twice}, {module->entry(), other}});
  CHECK(module->entry() == other);
  CHECK(NamesOf(module->computations()) == NameList{"twice", "main.other"});
  CHECK(twice->callers().size() == 2);
  CHECK(Verify(*module).ok());
}

TEST_CASE("instructions are found in all computations", "[ir][edit]") {
  const auto module = Read(kCalls);
  CHECK(module->FindInstruction("d")->parent()->name() == "wrap");
  CHECK(module->FindInstruction("x")->parent() == module->entry());
  CHECK(module->FindInstruction("nothing") == nullptr);
}

TEST_CASE("instructions are outlined into a call", "[ir][outline]") {
  const auto module = Read(kChain);
  Computation* main = module->entry();
  const absl::StatusOr<Instruction*> call = Outline({main->Find("b"), main->Find("a")}, "outlined");
  REQUIRE(call.ok());
  CHECK((*call)->operand_vector() == std::vector<Instruction*>{main->Find("x"), main->Find("y")});
  CHECK(Verify(*module).ok());
  const auto expected = Read(R"(HloModule chain

outlined {
  q = f32[4] parameter(0)
  n = f32[4] negate(q)
  p = f32[4] parameter(1)
  ROOT s = f32[4] add(p, n)
}

ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  b = f32[4] call(x, y), to_apply=outlined
  c = f32[4] multiply(b, x)
  d = f32[4] abs(b)
  ROOT r = f32[4] subtract(c, d)
}
)");
  CHECK(StructurallyEqual(*module, *expected));
  CHECK(NamesOf(module->computations()) == NameList{"outlined", "main"});
}

TEST_CASE("several results of an outlined computation come as a tuple", "[ir][outline]") {
  const auto module = Read(kChain);
  Computation* main = module->entry();
  const absl::StatusOr<Instruction*> call =
      Outline({main->Find("c"), main->Find("d"), main->Find("b")}, "tail");
  REQUIRE(call.ok());
  CHECK(Verify(*module).ok());
  CHECK((*call)->shape().ToString(false) == "(f32[4], f32[4])");
  CHECK(main->root()->operand(0)->opcode() == Opcode::kGetTupleElement);
  CHECK(main->root()->operand(1)->tuple_index() == 1);
  CHECK((*call)->to_apply()->instruction_count() == 7);  // 3 parameters, 3 outlined, the tuple
}

TEST_CASE("what is cheap is copied, and its original is no user outside", "[ir][outline]") {
  const auto module = Read(R"(HloModule copies

ENTRY main {
  x = f32[4] parameter(0)
  n = f32[4] negate(x)
  b = f32[2,4] broadcast(n), dimensions={1}
  z = f32[] constant(0)
  w = f32[2,4] broadcast(z), dimensions={}
  m = f32[2,4] maximum(b, w)
  e = f32[2,4] exponential(w)
  ROOT r = f32[2,4] add(m, e)
}
)");
  Computation* main = module->entry();
  const Instruction* const call = OutlineInOrder(
      {main->Find("n"), main->Find("m")},
      {.computation = "f",
       .is_copied = [](const Instruction& value, const Instruction& /*reader*/) {
         return value.opcode() == Opcode::kBroadcast || value.opcode() == Opcode::kConstant;
       }});
  CHECK(Verify(*module).ok());
  // Not n, although a broadcast outside read it: that one is gone. w is read outside.
  CHECK(call->shape().ToString(false) == "f32[2,4]");
  CHECK(call->operand_vector() == std::vector<Instruction*>{main->Find("x")});
  CHECK(main->Find("b") == nullptr);
  CHECK(main->Find("w") != nullptr);
}

TEST_CASE("a root is outlined, control edges move to the call", "[ir][outline]") {
  const auto module = Read(R"(HloModule edges

ENTRY main {
  x = f32[4] parameter(0)
  early = f32[4] exponential(x)
  a = f32[4] negate(x), control-predecessors={early}
  ROOT r = f32[4] abs(a), control-predecessors={a}
}
)");
  Computation* main = module->entry();
  const absl::StatusOr<Instruction*> call = Outline({main->Find("a"), main->root()}, "f");
  REQUIRE(call.ok());
  CHECK(main->root() == *call);
  CHECK((*call)->control_predecessors().size() == 1);
  CHECK((*call)->control_predecessors()[0] == main->Find("early"));
  const Computation* outlined = (*call)->to_apply();
  CHECK(outlined->root()->control_predecessors().size() == 1);
  CHECK(Verify(*module).ok());
}

TEST_CASE("what cannot be outlined is named", "[ir][outline]") {
  const auto module = Read(kChain);
  Computation* main = module->entry();
  CHECK(MessageOf(Outline({main->Find("b"), main->root()}, "f").status()) ==
        "`r` cannot be outlined: it needs something outside that needs another of the outlined "
        "instructions");
  CHECK(MessageOf(Outline({main->Find("x")}, "f").status()) ==
        "`x` cannot be outlined from computation `main`: it is a parameter");
  CHECK(MessageOf(Outline({}, "f").status()) == "nothing to outline into computation `f`");
  CHECK(module->computation_count() == 1);
  CHECK(Verify(*module).ok());
}

TEST_CASE("order by content does not depend on the order of the text", "[ir][compare]") {
  const auto module = Read(kCalls);
  const auto other = Read(R"(HloModule calls, input_output_alias={ {}: (0, {}, may-alias) }

leaf {
  b = f32[4] parameter(0)
  ROOT t = f32[4] add(b, b)
}

outer {
  c = f32[4] parameter(0)
  ROOT d = f32[4] call(c), to_apply=leaf
}

also {
  a = f32[4] parameter(0)
  ROOT s = f32[4] add(a, a)
}

ENTRY begin {
  x = f32[4] parameter(0)
  y = f32[4] call(x), to_apply=also
  z = f32[4] call(y), to_apply=outer
  ROOT n = f32[4] negate(z)
}
)");
  const std::vector<Computation*> a = ComputationsByContent(*module);
  const std::vector<Computation*> b = ComputationsByContent(*other);
  REQUIRE(a.size() == 4);
  REQUIRE(b.size() == 4);
  for (size_t i = 0; i < a.size(); ++i) CHECK(StructurallyEqual(*a[i], *b[i]));
  CHECK(a.back() == module->entry());
  CHECK(ContentHash(*module) == ContentHash(*other));
}

TEST_CASE("calls may be nested deep", "[ir][compare]") {
  constexpr int kDepth = 30000;
  Module module("deep");
  Computation* callee = nullptr;
  for (int i = 0; i <= kDepth; ++i) {
    Computation* next = i == kDepth ? module.AddEntry("main") : module.AddComputation("f");
    Builder b(next);
    Instruction* x = b.Parameter(0, Shape::Scalar(ElementType::kF32), "x");
    next->set_root(callee == nullptr ? b.Negate(x) : b.Call({x}, callee));
    callee = next;
  }
  const auto clone = module.Clone();
  CHECK(StructurallyEqual(module, *clone));
  CHECK(ContentHash(module) == ContentHash(*clone));
  CHECK(Verify(module).ok());
  Module other("other");
  const Computation* copy = other.CloneComputation(*module.entry(), "", true);
  CHECK(StructurallyEqual(*copy, *module.entry()));
  CHECK(other.computation_count() == kDepth + 1);
}

TEST_CASE("aliases and donors are kept apart and sorted", "[ir][entry]") {
  const auto module = Read(kTwoInputs);
  REQUIRE(AddAlias(*module, {{1}, 0, {1}, true}).ok());
  REQUIRE(AddAlias(*module, {{0}, 0, {0}, false}).ok());
  CHECK(module->config().aliases[0].output == ShapeIndex{0});
  CHECK(AliasOfOutput(*module, {1})->must_alias);
  CHECK(AliasOfParameter(*module, 0, {0})->output == ShapeIndex{0});
  CHECK(AliasOfParameter(*module, 1, {}) == nullptr);
  CHECK(Verify(*module).ok());
  CHECK(MessageOf(AddAlias(*module, {{0}, 1, {}, false})) ==
        "alias: output {0} is aliased already");
  CHECK(MessageOf(AddDonor(*module, {0, {0}})) ==
        "donor: index {0} of parameter 0 is aliased or donated already");
  CHECK(MessageOf(AddDonor(*module, {0, {}})) ==
        "donor: index {} of parameter 0, `(f32[4], f32[8])`, is not an array");
  CHECK(MessageOf(AddDonor(*module, {2, {}})) == "donor: there is no parameter 2, `main` has 2");
  CHECK(RemoveAlias(*module, {0}));
  CHECK_FALSE(RemoveAlias(*module, {0}));
  REQUIRE(AddDonor(*module, {1, {}}).ok());
  REQUIRE(AddDonor(*module, {0, {0}}).ok());
  CHECK(module->config().donors[0].parameter == 0);
  CHECK(IsDonor(*module, 1, {}));
  CHECK(Verify(*module).ok());
  CHECK(RemoveDonor(*module, 1, {}));
  CHECK_FALSE(IsDonor(*module, 1, {}));
}

TEST_CASE("dynamic sizes and prefetches belong to parameters", "[ir][entry]") {
  const auto module = Read(kTwoInputs);
  REQUIRE(BindDynamicParameter(*module, {1, {}, 0, {0}, 0}).ok());
  CHECK(FindDynamicParameter(*module, 0, {0}, 0)->size_parameter == 1);
  CHECK(FindDynamicParameter(*module, 0, {1}, 0) == nullptr);
  CHECK(MessageOf(BindDynamicParameter(*module, {1, {}, 0, {0}, 0})) ==
        "dynamic size: dimension 0 of index {0} of parameter 0 has one already");
  CHECK(MessageOf(BindDynamicParameter(*module, {1, {}, 0, {1}, 1})) ==
        "dynamic size: `f32[8]` has no dimension 1");
  CHECK(MessageOf(BindDynamicParameter(*module, {0, {0}, 0, {1}, 0})) ==
        "dynamic size: index {0} of parameter 0 is `f32[4]`, expected `s32[]`");
  REQUIRE(AddCrossProgramPrefetch(*module, {0, {1}, std::nullopt}).ok());
  REQUIRE(AddCrossProgramPrefetch(*module, {0, {1}, 64}).ok());
  REQUIRE(module->config().cross_program_prefetches.size() == 1);
  CHECK(module->config().cross_program_prefetches[0].offset == 64);
  CHECK_FALSE(AddCrossProgramPrefetch(*module, {3, {}, std::nullopt}).ok());
  // All of it is copied with the module and forgotten with the entry.
  module->config().spmd_output_sharding = Sharding::Replicated();
  module->config().spmd_parameter_shardings = {Sharding::Manual(), Sharding::Replicated()};
  module->config().device_assignment = DeviceAssignment{{0, 1}, {2, 3}};
  CHECK(MessageOf(Verify(*module))
            .find("the device assignment is not one of 1 replicas of 1 partitions") !=
        std::string::npos);
  module->config().replica_count = module->config().num_partitions = 2;
  CHECK(Verify(*module).ok());
  module->config().spmd_parameter_shardings.pop_back();
  module->config().dynamic_parameters[0].dim = 3;
  module->config().cross_program_prefetches[0].parameter = 5;
  const std::string message = AllMessagesOf(Verify(*module));
  INFO(message);
  CHECK(message.find("index {} of parameter 1, `s32[]`, cannot hold the size of dimension 3 of "
                     "`f32[4]`") != std::string::npos);
  CHECK(message.find("`cross-program prefetch` names parameter 5, but `main` has 2") !=
        std::string::npos);
  CHECK(message.find("the partitioner gave shardings of 1 parameters, but `main` has 2") !=
        std::string::npos);
  module->config().spmd_parameter_shardings.push_back(Sharding::Replicated());
  module->config().dynamic_parameters[0].dim = 0;
  module->config().cross_program_prefetches[0].parameter = 0;
  CHECK(Verify(*module).ok());
  const auto clone = module->Clone();
  CHECK(clone->config().dynamic_parameters == module->config().dynamic_parameters);
  CHECK(clone->config().cross_program_prefetches == module->config().cross_program_prefetches);
  CHECK(clone->config().spmd_output_sharding == Sharding::Replicated());
  CHECK(clone->config().spmd_parameter_shardings.size() == 2);
  clone->ReplaceEntry(clone->CloneComputation(*clone->entry(), "", false));
  CHECK(clone->config().dynamic_parameters.empty());
  CHECK(clone->config().cross_program_prefetches.empty());
  CHECK(clone->config().spmd_parameter_shardings.empty());
  CHECK(clone->config().device_assignment == module->config().device_assignment);
}

TEST_CASE("schedules are set, read and cleared", "[ir][edit]") {
  const auto module = Read(kChain);
  Computation* main = module->entry();
  CHECK_FALSE(main->has_schedule());
  CHECK(main->SequenceOrPostOrder() == main->PostOrder());
  std::vector<Instruction*> sequence = main->instruction_vector();
  std::swap(sequence[0], sequence[1]);
  main->set_schedule(sequence);
  module->set_scheduled(true);
  CHECK(main->SequenceOrPostOrder() == sequence);
  CHECK(Verify(*module).ok());
  module->ClearSchedule();
  CHECK_FALSE(module->is_scheduled());
  CHECK(Verify(*module).ok());
}

}  // namespace hlo
