// Orders, names, clones, comparison and hashes, on modules read from text.
#include <catch2/catch.hpp>

#include "lib/ir/builder.h"
#include "lib/ir/compare.h"
#include "lib/ir/printer.h"
#include "lib/ir/verifier.h"
#include "parser/parse_test_util.h"

namespace hlo {
namespace {

template <class T>
std::vector<std::string> Names(const std::vector<T*>& nodes) {
  std::vector<std::string> names;
  for (const T* node : nodes) names.emplace_back(node->name());
  return names;
}
using Strings = std::vector<std::string>;

constexpr std::string_view kLoop = R"(HloModule loop

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

fused {
  p = f32[4] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=add
}

body {
  p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[4] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  f = f32[] fusion(x), kind=kInput, calls=fused
  b = f32[4] broadcast(f), dimensions={}
  ROOT t = (s32[], f32[4]) tuple(next, b)
}

condition {
  p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  ten = s32[] constant(10)
  ROOT less = pred[] compare(i, ten), direction=LT
}

ENTRY main {
  x = f32[4] parameter(0), sharding={replicated}
  zero = s32[] constant(0)
  init = (s32[], f32[4]) tuple(zero, x)
  w = (s32[], f32[4]) while(init), condition=condition, body=body
  y = f32[4] get-tuple-element(w), index=1
  late = f32[4] negate(x), metadata={op_name="late"}
  c = f32[4] abs(x), control-predecessors={late}
  ROOT sum = f32[4] add(y, c)
}
)";

// `text` with every occurrence of a word replaced.
std::string With(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

bool Equal(std::string_view a, std::string_view b, const CompareOptions& options = {}) {
  return StructurallyEqual(*ParsedModule(a), *ParsedModule(b), options);
}
uint64_t HashOf(std::string_view text) { return ContentHash(*ParsedModule(text)); }

}  // namespace

TEST_CASE("computations stand after their callees", "[ir][module]") {
  const auto module = ParsedModule(kLoop);
  CHECK(Names(module->PostOrder()) == Strings{"add", "fused", "body", "condition", "main"});
  CHECK(Names(module->NonFusionComputations()) == Strings{"add", "body", "condition", "main"});
  CHECK(module->FindComputation("fused")->is_fusion());
  CHECK(module->entry()->is_entry());
  CHECK(module->instruction_count() == 26);
}

TEST_CASE("post-order starts from unused instructions in stored order", "[ir][module]") {
  const auto module = ParsedModule(R"(HloModule m
ENTRY main {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  n = f32[] negate(b)
  unused = f32[] abs(n)
  m = f32[] multiply(a, b)
  first = f32[] exponential(a)
  ROOT s = f32[] add(m, n), control-predecessors={first}
}
)");
  // Control predecessors come before operands.
  CHECK(Names(module->entry()->PostOrder()) == Strings{"b", "n", "unused", "a", "first", "m", "s"});
}

TEST_CASE("appended instructions take their place in post-order", "[ir][module]") {
  const auto module = ParsedModule(kLoop);
  Computation* entry = module->entry();
  Instruction* y = entry->Find("y");
  Builder b(entry);
  Instruction* inserted = b.Negate(entry->Find("late"));
  for (const Use& use : std::vector<Use>(y->uses().begin(), y->uses().end())) {
    use.user->ReplaceOperand(use.operand_index, inserted);
  }
  const std::vector<Instruction*> order = entry->PostOrder();
  CHECK(static_cast<int>(order.size()) == entry->instruction_count());
  std::vector<bool> done(module->id_limit(), false);
  for (const Instruction* instruction : order) {
    for (const Instruction* operand : instruction->operands()) CHECK(done[operand->id()]);
    for (const Instruction* before : instruction->control_predecessors()) CHECK(done[before->id()]);
    done[instruction->id()] = true;
  }
}

TEST_CASE("clones print, compare and hash like the original", "[ir][clone]") {
  const auto module = ParsedModule(kLoop);
  const auto clone = module->Clone();
  CHECK(ToText(*clone) == ToText(*module));
  CHECK(StructurallyEqual(*module, *clone));
  CHECK(ContentHash(*module) == ContentHash(*clone));
  CHECK(Verify(*clone).ok());
  CHECK(Names(clone->computations()) == Names(module->computations()));
  for (size_t i = 0; i < clone->computations().size(); ++i) {
    CHECK(Names(clone->computations()[i]->instruction_vector()) ==
          Names(module->computations()[i]->instruction_vector()));
    CHECK(&clone->computations()[i]->module() == clone.get());
  }
  // Nothing is shared.
  clone->entry()->set_root(clone->entry()->Find("y"));
  clone->entry()->RemoveUnused(clone->entry()->Find("sum"));
  CHECK(module->entry()->Find("sum") != nullptr);
  CHECK(Verify(*module).ok());
  CHECK(Verify(*clone).ok());
}

TEST_CASE("clones keep the stored order when operands stand after their users", "[ir][clone]") {
  const auto module = ParsedModule(kLoop);
  Computation* entry = module->entry();
  Builder b(entry);
  entry->Find("sum")->ReplaceOperand(1, b.Exp(entry->Find("c")));
  const auto clone = module->Clone();
  CHECK(Names(clone->entry()->instruction_vector()) == Names(entry->instruction_vector()));
  CHECK(ToText(*clone) == ToText(*module));
  CHECK(Verify(*clone).ok());
}

TEST_CASE("clones keep the schedule", "[ir][clone]") {
  const auto module =
      ParsedModule(With(std::string(kLoop), "HloModule loop", "HloModule loop, is_scheduled=true"));
  const auto clone = module->Clone();
  CHECK(clone->is_scheduled());
  REQUIRE(clone->entry()->has_schedule());
  CHECK(Names(clone->entry()->schedule()) == Names(module->entry()->schedule()));
  CHECK(Verify(*clone).ok());
  clone->ClearSchedule();
  CHECK_FALSE(clone->entry()->has_schedule());
  CHECK(module->entry()->has_schedule());
}

TEST_CASE("computations are cloned shallow and deep, and into other modules", "[ir][clone]") {
  const auto module = ParsedModule(kLoop);
  const Computation* body = module->FindComputation("body");
  Computation* shallow = module->CloneComputation(*body, ".clone", false);
  CHECK(shallow->name() == "body.clone");
  CHECK(StructurallyEqual(*body, *shallow));
  CHECK(shallow->root()->operand(1)->operand(0)->fused_computation() !=
        module->FindComputation("fused"));
  Computation* deep = module->CloneComputation(*body, ".clone", true);
  CHECK(deep->name() == "body.clone.1");
  const Computation* fused = deep->root()->operand(1)->operand(0)->fused_computation();
  CHECK(fused != module->FindComputation("fused"));
  CHECK(StructurallyEqual(*body, *deep));
  CHECK(deep->root()->name() != body->root()->name());

  Module other("other");
  Computation* foreign = other.CloneComputation(*module->entry(), "", false);
  other.set_entry(foreign);
  other.ResetEntryLayout();
  CHECK(StructurallyEqual(*foreign, *module->entry()));
  CHECK(other.computation_count() == 5);
  CHECK(Verify(other).ok());
  CHECK(ContentHash(*foreign) == ContentHash(*module->entry()));
}

TEST_CASE("single instructions are copied", "[ir][clone]") {
  const auto module = ParsedModule(kLoop);
  Computation* entry = module->entry();
  Instruction* c = entry->Find("c");
  Instruction* copy =
      entry->AddClone(*entry->Find("late"), Shape::Array(ElementType::kF32, {4}), {c});
  CHECK(copy->opcode() == Opcode::kNegate);
  CHECK(copy->name() == "late.1");
  CHECK(copy->metadata().op_name == "late");
  CHECK_FALSE(copy->has_control_edges());
  CHECK(copy->operand(0) == c);
}

TEST_CASE("equality ignores names, places, metadata and the order of lines", "[ir][compare]") {
  const std::string text(kLoop);
  CHECK(Equal(text, text));
  const std::string renamed = With(With(text, "late", "other"), "fused", "inside");
  CHECK(Equal(text, renamed));
  CHECK(HashOf(text) == HashOf(renamed));
  CHECK_FALSE(Equal(text, renamed, {.compare_names = true}));
  CHECK_FALSE(Equal(text, renamed, {.compare_metadata = true}));

  const std::string line = "  zero = s32[] constant(0)\n";
  std::string moved = With(text, line, "");
  moved.insert(moved.find("  x = f32[4] parameter(0), sharding"), line);
  CHECK(Equal(text, moved));
  CHECK(HashOf(text) == HashOf(moved));
}

TEST_CASE(
    "equality sees opcodes, shapes, attributes, operands, callees, roots, shardings and control "
    "edges",
    "[ir][compare]") {
  const std::string text(kLoop);
  const std::pair<std::string_view, std::string_view> changes[] = {
      {"f32[4] abs(x)", "f32[4] exponential(x)"},
      {"constant(10)", "constant(11)"},
      {"direction=LT", "direction=LE"},
      {"s = f32[] add(a, b)", "s = f32[] multiply(a, b)"},
      {"s = f32[] add(a, b)", "s = f32[] add(b, a)"},
      {"next = s32[] add(i, one)", "next = s32[] add(i, i)"},
      {"kind=kInput", "kind=kLoop"},
      {"sharding={replicated}", "sharding={maximal device=0}"},
      {", control-predecessors={late}", ""},
      {"f32[4]", "f32[5]"},
  };
  for (const auto& [from, to] : changes) {
    INFO(from << " -> " << to);
    const std::string changed = With(text, from, to);
    REQUIRE(changed != text);
    CHECK_FALSE(Equal(text, changed));
    CHECK_FALSE(Equal(changed, text));
    CHECK(HashOf(text) != HashOf(changed));
  }
  const std::string no_sharding = With(text, ", sharding={replicated}", "");
  CHECK_FALSE(Equal(text, no_sharding));
  CHECK(Equal(text, no_sharding, {.compare_sharding = false}));
  const std::string no_edge = With(text, ", control-predecessors={late}", "");
  CHECK(Equal(text, no_edge, {.compare_control_edges = false}));
}

TEST_CASE("layouts count when asked for", "[ir][compare]") {
  const std::string_view a =
      "HloModule m\nENTRY e {\n  x = f32[2,3]{1,0} parameter(0)\n  ROOT y = f32[2,3]{1,0} "
      "copy(x)\n}\n";
  const std::string b = With(std::string(a), "ROOT y = f32[2,3]{1,0}", "ROOT y = f32[2,3]{0,1}");
  CHECK_FALSE(Equal(a, b));
  CHECK(Equal(a, b, {.layout_sensitive = false}));
}

TEST_CASE("a computation called twice equals two computations of one content", "[ir][compare]") {
  const std::string_view shared = R"(HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY e {
  x = f32[4] parameter(0)
  z = f32[] constant(0)
  r = f32[] reduce(x, z), dimensions={0}, to_apply=add
  t = f32[] reduce(x, r), dimensions={0}, to_apply=add
  ROOT u = f32[] reduce(x, t), dimensions={0}, to_apply=add
}
)";
  std::string separate = With(std::string(shared), "reduce(x, t), dimensions={0}, to_apply=add",
                              "reduce(x, t), dimensions={0}, to_apply=add2");
  separate.insert(separate.find("ENTRY"), R"(add2 {
  c = f32[] parameter(0)
  d = f32[] parameter(1)
  ROOT sum2 = f32[] add(c, d)
}
)");
  CHECK(Equal(shared, separate));
  CHECK(Equal(separate, shared));
  CHECK(HashOf(shared) == HashOf(separate));
}

TEST_CASE("unused instructions count, whatever their order", "[ir][compare]") {
  const std::string_view a = R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  unused = f32[4] abs(x)
  unused2 = f32[4] exponential(x)
  ROOT y = f32[4] negate(x)
}
)";
  const std::string_view b = R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  ROOT y = f32[4] negate(x)
  unused2 = f32[4] exponential(x)
  unused = f32[4] abs(x)
}
)";
  CHECK(Equal(a, b));
  CHECK(HashOf(a) == HashOf(b));
  const std::string c = With(std::string(b), "exponential", "cosine");
  CHECK_FALSE(Equal(a, c));
  CHECK(HashOf(a) != HashOf(c));
}

TEST_CASE("instructions with the same operands are the same operation", "[ir][compare]") {
  Module module("m");
  Builder b(module.AddEntry("main"));
  Instruction* x = b.Parameter(0, Shape::Scalar(ElementType::kF32));
  Instruction* y = b.Parameter(1, Shape::Scalar(ElementType::kF32));
  CHECK(SameOperation(*b.Add(x, y), *b.Add(x, y)));
  CHECK_FALSE(SameOperation(*b.Add(x, y), *b.Add(y, x)));
  CHECK_FALSE(SameOperation(*b.Add(x, y), *b.Subtract(x, y)));
  CHECK(SameNode(*b.Add(x, y), *b.Add(y, x)));
  CHECK_FALSE(SameOperation(*b.Compare(x, y, ComparisonDirection::kLt),
                            *b.Compare(x, y, ComparisonDirection::kGt)));
}

TEST_CASE("computations that nothing reaches are removed", "[ir][module]") {
  const auto module = ParsedModule(kLoop);
  Computation* entry = module->entry();
  entry->set_root(entry->Find("late"));
  entry->RemoveUnused(entry->Find("sum"));
  CHECK(module->RemoveUnusedComputations() == 4);
  CHECK(module->computation_count() == 1);
  CHECK(module->RemoveUnusedComputations() == 0);
  module->ResetEntryLayout();
  CHECK(Verify(*module).ok());
}

TEST_CASE("a new module prints what was built", "[ir][builder]") {
  Module module("built");
  Computation* entry = module.AddEntry("main");
  Builder b(entry);
  Instruction* x = b.Parameter(0, Shape::Array(ElementType::kF32, {2, 3}), "x");
  Instruction* zero = b.ZeroLike(x);
  Instruction* sum = b.Reduce(b.Maximum(x, zero), b.ScalarConstant(ElementType::kF32, 0), {1},
                              ScalarComputation(module, Opcode::kAdd, ElementType::kF32));
  entry->set_root(b.Transpose(b.Broadcast(sum, {2, 4}, {0}), {1, 0}));
  module.ResetEntryLayout();
  REQUIRE(b.status().ok());
  CHECK(Verify(module).ok());
  CHECK(ToText(module) ==
        R"(HloModule built, entry_computation_layout={(f32[2,3]{1,0})->f32[4,2]{1,0}}

%add_f32 (x.1: f32[], y: f32[]) -> f32[] {
  %x.1 = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %add = f32[] add(%x.1, %y)
}

ENTRY %main (x: f32[2,3]) -> f32[4,2] {
  %x = f32[2,3]{1,0} parameter(0)
  %constant = f32[] constant(0)
  %broadcast = f32[2,3]{1,0} broadcast(%constant), dimensions={}
  %maximum = f32[2,3]{1,0} maximum(%x, %broadcast)
  %constant.1 = f32[] constant(0)
  %reduce = f32[2]{0} reduce(%maximum, %constant.1), dimensions={1}, to_apply=%add_f32
  %broadcast.1 = f32[2,4]{1,0} broadcast(%reduce), dimensions={0}
  ROOT %transpose = f32[4,2]{1,0} transpose(%broadcast.1), dimensions={1,0}
}

)");
}

TEST_CASE("the builder keeps its first error and makes nothing", "[ir][builder]") {
  Module module("m");
  Computation* entry = module.AddEntry("main");
  Builder b(entry);
  Instruction* x = b.Parameter(0, Shape::Array(ElementType::kF32, {4}));
  Instruction* y = b.Parameter(1, Shape::Array(ElementType::kF32, {5}));
  const int before = entry->instruction_count();
  CHECK(b.Add(x, y) == x);
  CHECK(b.Transpose(x, {1}) == x);
  CHECK(b.Reverse(x, {7}) == x);
  CHECK(entry->instruction_count() == before);
  REQUIRE_FALSE(b.status().ok());
  CHECK(std::string(b.status().message()) ==
        "`add`: `rhs` has shape `f32[5]`, but `lhs` has `f32[4]`");
}

TEST_CASE("new instructions get metadata and place of their origin", "[ir][builder]") {
  const auto module = ParsedModule(kLoop);
  Computation* entry = module->entry();
  const Instruction* late = entry->Find("late");
  Builder b(entry, late);
  Instruction* made = b.Negate(entry->Find("c"));
  CHECK(made->metadata().op_name == "late");
  CHECK(made->loc() == late->loc());
  b.set_origin(entry->Find("y"));
  CHECK(b.Negate(made)->extras() == nullptr);
}

TEST_CASE("names are unique by root and number", "[ir][names]") {
  NameUniquer names;
  CHECK(names.Unique("add") == "add");
  CHECK(names.Unique("add") == "add.1");
  CHECK(names.Unique("add.1") == "add.2");
  CHECK(names.Unique("add.7") == "add.7");
  CHECK(names.Unique("add") == "add.3");
  CHECK(names.Unique("mul.5") == "mul.5");
  CHECK(names.Unique("mul") == "mul");
  CHECK(names.Unique("a b") == "a_b");
  CHECK(names.Unique("") == "_");
  CHECK(names.Unique("9x") == "_x");
  CHECK_FALSE(IsSanitizedName("f32"));
  CHECK_FALSE(IsSanitizedName("__x"));
  CHECK(IsSanitizedName("__xla_x"));
  CHECK(IsSanitizedName("f33"));
  for (const std::string_view name : {"f32", "pred", "__x", "x y", "-", "é", "token"}) {
    INFO(name);
    CHECK(IsSanitizedName(SanitizeName(name)));
  }
}

TEST_CASE("names stay taken in a module", "[ir][names]") {
  Module module("m");
  Builder b(module.AddEntry("main"));
  Instruction* x = b.Parameter(0, Shape::Scalar(ElementType::kF32), "x");
  Instruction* n = b.Negate(x);
  CHECK(n->name() == "negate");
  CHECK(b.Negate(x)->name() == "negate.1");
  module.Rename(n, "x");
  CHECK(n->name() == "x.1");
  CHECK(module.AddComputation("main")->name() == "main.1");
  CHECK(module.FindComputation("main.1") != nullptr);
  CHECK(module.FindComputation("nothing") == nullptr);
}

}  // namespace hlo
