// Rules that no text breaks: what a faulty pass may leave behind, layouts and float widths. The
// rules that text can break are in testdata/verifier.
#include "lib/ir/verifier.h"

#include <catch2/catch.hpp>

#include "lib/ir/builder.h"
#include "lib/support/diagnostic.h"
#include "parser/parse_test_util.h"

namespace hlo {
namespace {

constexpr ElementType kFloat = ElementType::kF32;

// All messages, one a line; empty when the module is sound.
std::string Messages(const Module& module, const VerifierOptions& options = {}) {
  std::string text;
  for (const Diagnostic& diagnostic : DiagnosticsOf(Verify(module, options))) {
    if (diagnostic.severity == Severity::kError) text += diagnostic.message + "\n";
  }
  return text;
}

struct BadGraph {
  BadGraph() : module("m"), entry(module.AddEntry("main")), b(entry) {
    x = b.Parameter(0, Shape::Scalar(kFloat), "x");
    y = b.Negate(x);
    entry->set_root(y);
  }
  Module module;
  Computation* entry;
  Builder b;
  Instruction* x;
  Instruction* y;
};

}  // namespace

TEST_CASE("a built module is sound", "[ir][verifier]") {
  BadGraph g;
  CHECK(Messages(g.module) == "");
  g.module.set_name("");
  CHECK(Messages(g.module) == "the module has no name\n");
}

TEST_CASE("an entry is needed, with a root", "[ir][verifier]") {
  Module module("m");
  CHECK(Messages(module) == "the module has no entry computation\n");
  Computation* main = module.AddEntry("main");
  CHECK(Messages(module) == "computation `main` has no root\n");
  Module other("other");
  main->set_root(Builder(main).ScalarConstant(kFloat, 1));
  other.AddComputation("f")->set_root(other.computations()[0]->AddConstant(Literal::Zero(kFloat)));
  other.set_entry(main);
  CHECK(Messages(other) == "the entry computation is not in the module\n");
}

TEST_CASE("roots belong to their computation", "[ir][verifier]") {
  BadGraph g;
  Computation* f = g.module.AddComputation("f");
  Instruction* z = f->AddParameter(0, Shape::Scalar(kFloat));
  g.entry->set_root(z);
  CHECK(Messages(g.module) == "the root of computation `main` is not one of its instructions\n");
}

TEST_CASE("operands belong to the computation and are alive", "[ir][verifier]") {
  BadGraph g;
  Computation* f = g.module.AddComputation("f");
  Instruction* z = f->AddParameter(0, Shape::Scalar(kFloat), "z");
  g.y->ReplaceOperand(0, z);
  CHECK(Messages(g.module) == "operand 0 of `negate`, `z`, is in another computation, `f`\n");
}

TEST_CASE("the root may not be removed", "[ir][verifier]") {
  BadGraph g;
  Instruction* other = g.b.Abs(g.x);
  g.entry->set_root(other);
  g.entry->Remove(g.y);
  CHECK(Messages(g.module) == "");
  g.entry->set_root(g.y);
  CHECK(Messages(g.module) == "the root of computation `main` is not one of its instructions\n");
}

TEST_CASE("names are unique across computations", "[ir][verifier]") {
  BadGraph g;
  Computation* f = g.module.AddComputation("f");
  f->AddVerbatim(Opcode::kParameter, Shape::Scalar(kFloat), {},
                 AttrsPtr::Make(ParameterAttrs{0, std::nullopt}), {}, "x");
  CHECK(Messages(g.module) == "instruction name `x` is used twice\n");
  f->AddVerbatim(Opcode::kNegate, Shape::Scalar(kFloat), {f->parameter(0)}, {}, {}, "");
  CHECK(Messages(g.module) ==
        "instruction name `x` is used twice\nan instruction of computation `f` has no name\n");
  g.module.UniquifyNames();
  CHECK(Messages(g.module) == "");
}

TEST_CASE("computation names are unique", "[ir][verifier]") {
  BadGraph g;
  g.module.AddComputationVerbatim("main")->AddParameter(0, Shape::Scalar(kFloat));
  CHECK(Messages(g.module) == "computation name `main` is used twice\n");
}

TEST_CASE("parameters are numbered without gaps", "[ir][verifier]") {
  BadGraph g;
  g.entry->AddParameter(2, Shape::Scalar(kFloat));
  CHECK(Messages(g.module) ==
        "computation `main` has no parameter 1, but one with a higher number\n");
  g.entry->AddParameter(1, Shape::Scalar(kFloat));
  CHECK(Messages(g.module) == "");
  g.entry->AddParameter(1, Shape::Scalar(kFloat), "again");
  CHECK(Messages(g.module) ==
        "computation `main` has two parameters 1, `again` and `parameter.1`\n");
}

TEST_CASE("parameters are listed at their numbers", "[ir][verifier]") {
  BadGraph g;
  g.x->SetAttrs(ParameterAttrs{1, std::nullopt});
  CHECK(Messages(g.module) == "parameter 1 of computation `main` is not listed there\n");
}

TEST_CASE("data and control edges make no cycle", "[ir][verifier]") {
  BadGraph g;
  Instruction* z = g.b.Abs(g.y);
  g.entry->set_root(z);
  g.y->AddControlPredecessor(z);
  CHECK(Messages(g.module) == "computation `main` has a cycle: `abs` -> `negate` -> `abs`\n");
  g.y->RemoveControlPredecessor(z);
  CHECK(Messages(g.module) == "");
  g.y->ReplaceOperand(0, z);
  CHECK(Messages(g.module) == "computation `main` has a cycle: `abs` -> `negate` -> `abs`\n");
  g.y->ReplaceOperand(0, g.y);
  CHECK(Messages(g.module) == "computation `main` has a cycle: `negate` -> `negate`\n");
}

TEST_CASE("operands may stand after their users", "[ir][verifier]") {
  BadGraph g;
  Instruction* late = g.b.Abs(g.x);
  g.y->ReplaceOperand(0, late);
  CHECK(Messages(g.module) == "");
}

TEST_CASE("control edges stay inside", "[ir][verifier]") {
  BadGraph g;
  Computation* f = g.module.AddComputation("f");
  Instruction* z = f->AddParameter(0, Shape::Scalar(kFloat), "z");
  g.y->AddControlPredecessor(z);
  CHECK(Messages(g.module) ==
        "the control edge from `z` to `negate` leaves computation `main`\n"
        "the control edge from `z` to `negate` leaves computation `f`\n");
}

TEST_CASE("control edges end at instructions that are there", "[ir][verifier]") {
  BadGraph g;
  Instruction* z = g.b.Abs(g.x);
  g.y->AddControlPredecessor(z);
  g.entry->Remove(z);
  CHECK(Messages(g.module) == "");
  g.y->mutable_extras().control = ControlEdges{.predecessors = {z}, .successors = {}};
  CHECK(Messages(g.module) ==
        "the control edge from `abs` to `negate` ends at a removed instruction\n");
}

TEST_CASE("half a control edge is found", "[ir][verifier]") {
  BadGraph g;
  Instruction* z = g.b.Abs(g.x);
  g.y->AddControlPredecessor(z);
  z->mutable_extras().control->successors.clear();
  CHECK(Messages(g.module) ==
        "the control edge from `abs` to `negate` is not known once at both ends\n");
}

TEST_CASE("computations do not call themselves", "[ir][verifier]") {
  BadGraph g;
  Computation* f = g.module.AddComputation("f");
  Computation* h = g.module.AddComputation("h");
  const Shape scalar = Shape::Scalar(kFloat);
  f->set_root(f->Add(Opcode::kCall, scalar, {f->AddParameter(0, scalar)}, {}, {h}, "to_h"));
  h->set_root(h->Add(Opcode::kCall, scalar, {h->AddParameter(0, scalar)}, {}, {f}, "to_f"));
  CHECK(Messages(g.module) ==
        "`to_f` calls computation `f`, which is running already: HLO has no recursion\n");
}

TEST_CASE("called computations are as many as the table says", "[ir][verifier]") {
  BadGraph g;
  Computation* f = ScalarComputation(g.module, Opcode::kAdd, kFloat);
  g.y->SetCalls({f});
  CHECK(Messages(g.module) == "`negate` calls 1 computations, expected 0 for `negate`\n");
  g.y->SetCalls({});
  g.entry->set_root(g.entry->Add(Opcode::kWhile, Shape::Scalar(kFloat), {g.y}, {}, {f}, "w"));
  CHECK(Messages(g.module) == "`w` calls 1 computations, expected 2 for `while`\n");
}

TEST_CASE("called computations are in the module", "[ir][verifier]") {
  BadGraph g;
  Module other("other");
  Computation* f = other.AddComputation("f");
  f->AddParameter(0, Shape::Scalar(kFloat));
  Instruction* c = g.entry->Add(Opcode::kCall, Shape::Scalar(kFloat), {g.y}, {}, {f}, "c");
  g.entry->set_root(c);
  CHECK(Messages(g.module) == "called computation 0 of `c` is not in the module\n");
  c->SetCalls({});
}

TEST_CASE("operands and attributes are the table's", "[ir][verifier]") {
  BadGraph g;
  Instruction* a = g.entry->Add(Opcode::kAdd, Shape::Scalar(kFloat), {g.x}, {}, {}, "a");
  CHECK(Messages(g.module) == "`add` expects 2 operands (lhs, rhs), found 1\n");
  a->AppendOperand(g.y);
  CHECK(Messages(g.module) == "");
  a->AppendOperand(g.y);
  CHECK(Messages(g.module) == "`add` expects 2 operands (lhs, rhs), found 3\n");
  a->RemoveOperand(2);
  a->SetAttrs(ReverseAttrs{});
  CHECK(Messages(g.module) ==
        "`a` has attributes of type ReverseAttrs, expected NoAttrs for `add`\n");
}

TEST_CASE("the entry layout is checked when there is one", "[ir][verifier]") {
  BadGraph g;
  CHECK(Messages(g.module) == "");
  g.module.ResetEntryLayout();
  CHECK(Messages(g.module) == "");
  g.module.config().entry_layout.result = Shape::Scalar(ElementType::kS32);
  CHECK(Messages(g.module) ==
        "the result of `entry_computation_layout` is `s32[]`, but the root `negate` has shape "
        "`f32[]`\n");
}

TEST_CASE("an output has one alias", "[ir][verifier]") {
  BadGraph g;
  g.entry->AddParameter(1, Shape::Scalar(kFloat));
  g.module.config().aliases.resize(2);
  g.module.config().aliases[1].parameter = 1;
  CHECK(Messages(g.module) == "`input_output_alias` names output {} twice\n");
}

TEST_CASE("a schedule holds every instruction once and in order", "[ir][verifier]") {
  BadGraph g;
  g.module.set_scheduled(true);
  CHECK(Messages(g.module) == "the module is scheduled, but computation `main` has no sequence\n");
  g.entry->set_schedule({g.x, g.y});
  CHECK(Messages(g.module) == "");
  g.entry->set_schedule({g.y, g.x});
  CHECK(Messages(g.module) == "`negate` is scheduled before `x`, which it needs\n");
  g.entry->set_schedule({g.x});
  CHECK(Messages(g.module) == "`negate` is missing in the sequence of computation `main`\n");
  g.entry->set_schedule({g.x, g.y, g.y});
  CHECK(Messages(g.module) == "`negate` is twice in the sequence of computation `main`\n");
  BadGraph other;
  g.entry->set_schedule({g.x, other.y});
  CHECK(Messages(g.module) ==
        "the sequence of computation `main` names `negate`, which is not in it\n");
  Instruction* z = g.b.Abs(g.x);
  g.y->AddControlPredecessor(z);
  g.entry->set_schedule({g.x, g.y, z});
  CHECK(Messages(g.module) == "`negate` is scheduled before `abs`, which it needs\n");
  g.entry->set_schedule({g.x, z, g.y});
  CHECK(Messages(g.module) == "");
}

TEST_CASE("messages stop at the limit", "[ir][verifier]") {
  BadGraph g;
  for (int i = 0; i < 20; ++i) g.entry->Add(Opcode::kAbs, Shape::Scalar(ElementType::kS32), {g.x});
  const std::string messages = Messages(g.module, {.max_errors = 3});
  CHECK(std::count(messages.begin(), messages.end(), '\n') == 3);
}

TEST_CASE("messages have places and notes", "[ir][verifier]") {
  const auto module = ParsedModule(
      "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[8] negate(x)\n}\n");
  CHECK(Render(Verify(*module), module->source().get()) ==
        "<text>:4:8: error: `y` is declared `f32[8]` but `negate` of `f32[4]` yields `f32[4]`\n"
        "  ROOT y = f32[8] negate(x)\n"
        "       ^\n"
        "<text>:3:3: note: `x` is defined here\n"
        "  x = f32[4] parameter(0)\n"
        "  ^\n");
}

TEST_CASE("floats of one width on request", "[ir][verifier]") {
  const auto module = ParsedModule(R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  b = bf16[4] parameter(1)
  s = f32[4] add(x, b)
  ROOT t = (f32[4], bf16[4]) tuple(s, b)
}
)");
  CHECK(Messages(*module) == "");
  CHECK(Messages(*module, {.allow_mixed_precision = false}) ==
        "`s` mixes floats of several widths: `add` of `f32[4]`, `bf16[4]`\n");
}

TEST_CASE("layouts on request", "[ir][verifier]") {
  const VerifierOptions strict{.layout_sensitive = true};
  const auto elementwise = ParsedModule(R"(HloModule m
ENTRY e {
  x = f32[2,3]{1,0} parameter(0)
  y = f32[2,3]{0,1} negate(x)
  ROOT z = f32[2,3]{1,0} copy(y)
}
)");
  CHECK(Messages(*elementwise) == "");
  CHECK(Messages(*elementwise, strict) ==
        "`y` has shape `f32[2,3]{0,1}`, but `negate` cannot change the layout of operand `x`, "
        "`f32[2,3]{1,0}`\n");

  const auto tuple = ParsedModule(R"(HloModule m
ENTRY e {
  x = f32[2,3]{1,0} parameter(0)
  ROOT t = (f32[2,3]{0,1}) tuple(x)
}
)");
  CHECK(Messages(*tuple) == "");
  CHECK(Messages(*tuple, strict) ==
        "`t` is declared `(f32[2,3]{0,1})` but `tuple` of `f32[2,3]{1,0}` yields "
        "`(f32[2,3]{1,0})`\n");

  const auto entry =
      ParsedModule(R"(HloModule m, entry_computation_layout={(f32[2,3]{0,1})->f32[2,3]{1,0}}
ENTRY e {
  x = f32[2,3]{1,0} parameter(0)
  ROOT y = f32[2,3]{1,0} negate(x)
}
)");
  CHECK(Messages(*entry) == "");
  CHECK(Messages(*entry, strict) ==
        "parameter 0 of `entry_computation_layout` is `f32[2,3]{0,1}`, but `x` has shape "
        "`f32[2,3]{1,0}`\n");

  const auto sound = ParsedModule(R"(HloModule m
ENTRY e {
  x = f32[2,3]{1,0} parameter(0)
  y = f32[2,3]{0,1} copy(x)
  z = f32[2,3]{0,1} negate(y)
  b = f32[3,2]{1,0} bitcast(z)
  ROOT d = f32[2,2]{0,1} dot(x, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
)");
  CHECK(Messages(*sound, strict) == "");
}

TEST_CASE("verification is linear", "[ir][verifier]") {
  BadGraph g;
  Instruction* at = g.y;
  for (int i = 0; i < 20000; ++i) at = i % 2 == 0 ? g.b.Add(at, g.x) : g.b.Abs(at);
  g.entry->set_root(at);
  CHECK(Messages(g.module) == "");
  g.y->AddControlPredecessor(at);
  CHECK(Messages(g.module).find("computation `main` has a cycle: ") == 0);
}

}  // namespace hlo
