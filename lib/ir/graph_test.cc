// Edges: use lists under repeated operands, replacement, removal, control edges, called
// computations.
#include <algorithm>
#include <catch2/catch.hpp>

#include "lib/ir/builder.h"
#include "lib/ir/verifier.h"
#include "lib/support/diagnostic.h"

namespace hlo {
namespace {

constexpr ElementType kF32 = ElementType::kF32;

// A module with an entry that has `parameters` scalar parameters.
struct Graph {
  explicit Graph(int parameters = 2) : module("m"), entry(module.AddEntry("main")), b(entry) {
    for (int i = 0; i < parameters; ++i)
      p.push_back(b.Parameter(i, Shape::Scalar(kF32), fmt::format("p{}", i)));
  }
  Module module;
  Computation* entry;
  Builder b;
  std::vector<Instruction*> p;
};

// Every operand slot has one entry in its producer's use list, and nothing else is there. Checked
// by the verifier, too, but the messages of this are exact and it does not need a root.
void CheckUses(const Computation& computation) {
  size_t slots = 0;
  size_t entries = 0;
  for (const Instruction* instruction : computation.instructions()) {
    entries += instruction->uses().size();
    for (int i = 0; i < instruction->operand_count(); ++i) {
      ++slots;
      const Use use{const_cast<Instruction*>(instruction), i};
      const auto uses = instruction->operand(i)->uses();
      CHECK(std::count(uses.begin(), uses.end(), use) == 1);
    }
  }
  CHECK(slots == entries);
}

std::vector<Instruction*> Operands(const Instruction* instruction) {
  return instruction->operand_vector();
}

using List = std::vector<Instruction*>;

}  // namespace

TEST_CASE("a use is listed once per operand", "[ir][graph]") {
  Graph g;
  Instruction* twice = g.b.Add(g.p[0], g.p[0]);
  Instruction* once = g.b.Negate(g.p[0]);
  CHECK(g.p[0]->use_count() == 3);
  CHECK(g.p[0]->users() == List{twice, once});
  CHECK_FALSE(g.p[0]->has_one_user());
  CHECK_FALSE(g.p[1]->has_uses());
  CHECK_FALSE(g.p[1]->has_one_user());
  g.entry->set_root(twice);
  g.entry->Remove(once);
  CHECK(g.p[0]->has_one_user());
  CheckUses(*g.entry);
}

TEST_CASE("operands are replaced one by one", "[ir][graph]") {
  Graph g;
  const List operands(5, g.p[0]);
  Instruction* t = g.b.Tuple(operands);
  Instruction* other = g.b.Negate(g.p[0]);
  for (const int i : {2, 0, 4}) {
    t->ReplaceOperand(i, g.p[1]);
    CheckUses(*g.entry);
  }
  CHECK(Operands(t) == List{g.p[1], g.p[0], g.p[1], g.p[0], g.p[1]});
  t->ReplaceOperand(1, g.p[0]);  // the same again
  CHECK(g.p[0]->use_count() == 3);
  CHECK(g.p[1]->use_count() == 3);
  t->AppendOperand(other);
  t->RemoveOperand(0);
  CheckUses(*g.entry);
  t->RemoveOperand(3);
  CheckUses(*g.entry);
  CHECK(Operands(t) == List{g.p[0], g.p[1], g.p[0], other});
  while (t->operand_count() > 0) t->RemoveOperand(t->operand_count() / 2);
  CheckUses(*g.entry);
  CHECK_FALSE(g.p[1]->has_uses());
  CHECK(g.p[0]->users() == List{other});
}

TEST_CASE("random edits keep uses and operands together", "[ir][graph]") {
  Graph g(4);
  List nodes = g.p;
  uint32_t state = 12345;
  const auto random = [&state](size_t limit) {
    state = state * 1664525 + 1013904223;
    return static_cast<size_t>(state >> 8) % limit;
  };
  for (int i = 0; i < 40; ++i) {
    List operands;
    for (size_t k = random(5); k-- > 0;) operands.push_back(nodes[random(nodes.size())]);
    nodes.push_back(g.b.Tuple(operands));
  }
  for (int step = 0; step < 400; ++step) {
    Instruction* at = nodes[4 + random(40)];
    switch (random(4)) {
      case 0: at->AppendOperand(nodes[random(nodes.size())]); break;
      case 1:
        if (at->operand_count() > 0)
          at->RemoveOperand(static_cast<int>(random(static_cast<size_t>(at->operand_count()))));
        break;
      case 2:
        if (at->operand_count() > 0) {
          at->ReplaceOperand(static_cast<int>(random(static_cast<size_t>(at->operand_count()))),
                             nodes[random(nodes.size())]);
        }
        break;
      case 3:
        if (random(10) == 0) at->ReplaceAllUsesWith(nodes[random(nodes.size())]);
        break;
    }
  }
  CheckUses(*g.entry);
}

TEST_CASE("all uses are redirected", "[ir][graph]") {
  Graph g;
  Instruction* x = g.b.Negate(g.p[0]);
  Instruction* twice = g.b.Multiply(x, x);
  Instruction* sum = g.b.Add(twice, x);
  x->ReplaceAllUsesWith(g.p[1]);
  CHECK(Operands(twice) == List{g.p[1], g.p[1]});
  CHECK(Operands(sum) == List{twice, g.p[1]});
  CHECK_FALSE(x->has_uses());
  CHECK(g.p[1]->use_count() == 3);
  x->ReplaceAllUsesWith(x);
  CheckUses(*g.entry);
}

TEST_CASE("replacing an instruction moves root, uses and control edges", "[ir][graph]") {
  Graph g;
  Instruction* first = g.b.Abs(g.p[1]);
  Instruction* old = g.b.Negate(g.p[0]);
  Instruction* last = g.b.Abs(old);
  Instruction* unrelated = g.b.Exp(g.p[1]);
  old->AddControlPredecessor(first);
  unrelated->AddControlPredecessor(old);
  OpMetadata metadata;
  metadata.op_name = "here";
  old->set_metadata(metadata);
  old->set_loc({7, 3});
  g.entry->set_root(old);

  Instruction* replacement = g.b.Sqrt(g.p[0]);
  g.entry->Replace(old, replacement);
  CHECK(old->is_dead());
  CHECK(g.entry->root() == replacement);
  CHECK(Operands(last) == List{replacement});
  CHECK(replacement->control_predecessors() == absl::Span<Instruction* const>(List{first}));
  CHECK(replacement->control_successors() == absl::Span<Instruction* const>(List{unrelated}));
  CHECK(first->control_successors().size() == 1);
  CHECK(unrelated->control_predecessors().size() == 1);
  CHECK(replacement->metadata().op_name == "here");
  CHECK(replacement->loc() == SourceLoc{7, 3});
  CheckUses(*g.entry);
  CHECK(Verify(g.module).ok());

  // A replacement that stood at the other end of an edge does not get an edge to itself.
  Instruction* next = g.b.Cbrt(g.p[0]);
  next->AddControlPredecessor(replacement);
  g.entry->Replace(replacement, next);
  CHECK(next->control_predecessors() == absl::Span<Instruction* const>(List{first}));
  CHECK(Verify(g.module).ok());

  // Its own metadata stays.
  Instruction* named = g.b.Sin(g.p[0]);
  OpMetadata own;
  own.op_name = "own";
  named->set_metadata(own);
  g.entry->Replace(next, named);
  CHECK(named->metadata().op_name == "own");
}

TEST_CASE("a parameter that is replaced stays", "[ir][graph]") {
  Graph g;
  Instruction* n = g.b.Negate(g.p[0]);
  g.entry->set_root(n);
  g.entry->Replace(g.p[0], g.p[1]);
  CHECK_FALSE(g.p[0]->is_dead());
  CHECK(g.entry->parameter(0) == g.p[0]);
  CHECK(Operands(n) == List{g.p[1]});
  CHECK(Verify(g.module).ok());
}

TEST_CASE("control edges are kept at both ends", "[ir][graph]") {
  Graph g;
  Instruction* a = g.b.Abs(g.p[0]);
  Instruction* c = g.b.Negate(g.p[0]);
  Instruction* d = g.b.Exp(g.p[0]);
  d->AddControlPredecessor(a);
  d->AddControlPredecessor(a);  // merged
  d->AddControlPredecessor(c);
  CHECK(d->control_predecessors().size() == 2);
  CHECK(a->control_successors().size() == 1);
  d->RemoveControlPredecessor(a);
  CHECK_FALSE(a->has_control_edges());
  CHECK(d->has_control_edges());
  g.entry->set_root(d);
  g.entry->Remove(c);
  CHECK_FALSE(d->has_control_edges());
  CHECK(Verify(g.module).ok());
}

TEST_CASE("removal takes what has become unused along", "[ir][graph]") {
  Graph g;
  Instruction* n = g.b.Negate(g.p[0]);
  Instruction* m = g.b.Multiply(n, n);
  Instruction* kept = g.b.Abs(g.p[1]);
  Instruction* random =
      g.entry->Add(Opcode::kRng, Shape::Scalar(kF32), {g.p[0], g.p[1]}, AttrsPtr::Make(RngAttrs{}));
  Instruction* sum = g.b.Add(m, random);
  Instruction* top = g.b.Add(sum, kept);
  g.entry->set_root(kept);
  CHECK(g.entry->RemoveUnused(top) == 4);  // not the random number, not what the root needs
  CHECK_FALSE(random->is_dead());
  CHECK_FALSE(kept->is_dead());
  CHECK(n->is_dead());
  CHECK(g.entry->instruction_count() == 4);
  CHECK(g.entry->RemoveUnused(kept) == 0);    // the root
  CHECK(g.entry->RemoveUnused(random) == 1);  // asked for itself
  CheckUses(*g.entry);
}

TEST_CASE("iteration visits what is appended and skips what is removed", "[ir][graph]") {
  Graph g;
  Instruction* a = g.b.Negate(g.p[0]);
  Instruction* c = g.b.Abs(g.p[1]);
  g.entry->set_root(c);
  int visited = 0;
  for (Instruction* instruction : g.entry->instructions()) {
    ++visited;
    if (instruction == g.p[1]) g.entry->Remove(a);
    if (instruction == c) {
      for (int i = 0; i < 200; ++i) g.b.Negate(c);
    }
  }
  CHECK(visited == 203);
  CHECK(g.entry->instruction_count() == 203);
}

TEST_CASE("sweeping frees the dead, closes holes and renumbers", "[ir][graph]") {
  Graph g;
  List chain = {g.p[0]};
  for (int i = 0; i < 300; ++i) chain.push_back(g.b.Negate(chain.back()));
  g.entry->set_root(g.p[1]);
  g.entry->set_schedule(g.entry->instruction_vector());
  CHECK(g.entry->RemoveUnused(chain.back()) == 300);
  Instruction* late = g.b.Abs(g.p[1]);
  g.entry->set_root(late);
  CHECK(late->id() == 302);
  g.module.Sweep();
  CHECK(late->id() == 2);
  CHECK(g.module.id_limit() == 3);
  CHECK(g.entry->schedule() == List{g.p[0], g.p[1]});
  g.entry->clear_schedule();
  Instruction* more = g.b.Negate(late);  // takes the place of a freed one
  CHECK(more->id() == 3);
  CHECK(g.entry->instruction_vector() == List{g.p[0], g.p[1], late, more});
  CHECK(Verify(g.module).ok());
}

TEST_CASE("parameters are renumbered", "[ir][graph]") {
  Graph g(3);
  Instruction* s = g.b.Add(g.p[0], g.p[2]);
  g.entry->set_root(s);
  g.entry->RemoveParameter(1);
  CHECK(g.entry->parameter_count() == 2);
  CHECK(g.entry->parameter(1) == g.p[2]);
  CHECK(g.p[2]->parameter_number() == 1);
  CHECK(g.p[0]->parameter_number() == 0);
  CHECK(Verify(g.module).ok());
}

TEST_CASE("callers are kept like uses", "[ir][graph]") {
  Graph g;
  Computation* f = ScalarComputation(g.module, Opcode::kAdd, kF32);
  Computation* h = ScalarComputation(g.module, Opcode::kMultiply, kF32);
  CHECK(ScalarComputation(g.module, Opcode::kAdd, kF32) == f);
  Instruction* a = g.b.Call({g.p[0], g.p[1]}, f);
  Instruction* c = g.b.Call({a, g.p[1]}, f);
  Instruction* d = g.b.Call({c, g.p[1]}, f);
  CHECK(f->callers().size() == 3);
  c->SetCall(0, h);
  CHECK(f->callers().size() == 2);
  CHECK(h->callers().size() == 1);
  CHECK(h->callers()[0] == CallSite{c, 0});
  g.entry->set_root(d);
  CHECK(Verify(g.module).ok());
  g.entry->Replace(d, c);
  CHECK(f->callers().size() == 1);
  CHECK(Verify(g.module).ok());
  c->SetCalls({f});
  CHECK(g.module.RemoveUnusedComputations() == 1);
  CHECK(Verify(g.module).ok());
}

TEST_CASE("a computation knows which opcodes it may hold and whether it may call", "[ir][graph]") {
  Graph g;
  Computation* callee = g.module.AddComputation("callee");
  Builder in_callee(callee);
  callee->set_root(in_callee.Parameter(0, Shape::Scalar(kF32), "p"));
  CHECK(g.entry->MayHold(Opcode::kParameter));
  CHECK_FALSE(g.entry->MayHold(Opcode::kCall));
  CHECK_FALSE(g.entry->MayCall());
  Instruction* call = g.entry->Add(Opcode::kCall, Shape::Scalar(kF32), {g.p[0]}, {}, {callee});
  CHECK(g.entry->MayHold(Opcode::kCall));
  CHECK(g.entry->MayCall());
  CHECK(g.module.PostOrder() == std::vector<Computation*>{callee, g.entry});
  CHECK_FALSE(callee->MayHoldAny({Opcode::kCall, Opcode::kAdd}));
  CHECK_FALSE(callee->MayCall());
  g.entry->set_root(g.entry->Add(Opcode::kAdd, Shape::Scalar(kF32), {call, g.p[1]}));
  CHECK(g.entry->MayHoldAny({Opcode::kMultiply, Opcode::kAdd}));
}

TEST_CASE("one instruction may call a computation twice", "[ir][graph]") {
  Graph g(1);
  Computation* same = g.module.AddComputation("same");
  same->AddParameter(0, Shape::Scalar(kF32));
  Instruction* selector = g.b.Compare(g.p[0], g.p[0], ComparisonDirection::kEq);
  Instruction* c = g.b.Op(Opcode::kConditional, {selector, g.p[0], g.p[0]}, {}, {same, same});
  g.entry->set_root(c);
  REQUIRE(g.b.status().ok());
  CHECK(same->callers().size() == 2);
  CHECK(Verify(g.module).ok());
  Computation* other = g.module.CloneComputation(*same, ".clone", false);
  c->SetCall(0, other);
  CHECK(same->callers().size() == 1);
  CHECK(other->callers().size() == 1);
  CHECK(Verify(g.module).ok());
}

TEST_CASE("side effects come from opcodes, attributes and callees", "[ir][graph]") {
  Graph g;
  Instruction* rng =
      g.entry->Add(Opcode::kRng, Shape::Scalar(kF32), {g.p[0], g.p[1]}, AttrsPtr::Make(RngAttrs{}));
  CHECK(rng->HasSideEffect());
  CHECK_FALSE(g.b.Add(g.p[0], g.p[1])->HasSideEffect());
  CustomCallAttrs attrs;
  attrs.custom_call_target = "f";
  CHECK_FALSE(g.entry->Add(Opcode::kCustomCall, Shape::Scalar(kF32), {}, AttrsPtr::Make(attrs))
                  ->HasSideEffect());
  attrs.custom_call_has_side_effect = true;
  CHECK(g.entry->Add(Opcode::kCustomCall, Shape::Scalar(kF32), {}, AttrsPtr::Make(attrs))
            ->HasSideEffect());
  Computation* noisy = g.module.AddComputation("noisy");
  Instruction* x = noisy->AddParameter(0, Shape::Scalar(kF32));
  noisy->set_root(
      noisy->Add(Opcode::kRng, Shape::Scalar(kF32), {x, x}, AttrsPtr::Make(RngAttrs{})));
  Instruction* call = g.b.Call({g.p[0]}, noisy);
  CHECK(call->HasSideEffect());
  CHECK_FALSE(call->HasOwnSideEffect());
}

}  // namespace hlo
