#include "lib/analysis/reachability.h"

#include <catch2/catch.hpp>

#include "parser/parse_test_util.h"

namespace hlo {
namespace {

// a -> b -> d -> e, a -> c -> e, f alone; g after c by a control edge.
constexpr std::string_view kDiamond = R"(HloModule m
ENTRY e {
  a = f32[4] parameter(0)
  b = f32[4] negate(a)
  c = f32[4] sine(a)
  d = f32[4] cosine(b)
  f = f32[4] parameter(1)
  g = f32[4] negate(f), control-predecessors={c}
  h = f32[4] add(g, d)
  ROOT e = f32[4] add(h, c)
}
)";

// Both forms of the answer, with and without the matrix.
template <class Check>
void InBothForms(const Computation& computation, const Check& check) {
  Reachability with_matrix(computation), without(computation, /*matrix_limit=*/0);
  check(with_matrix);
  check(without);
}

TEST_CASE("paths are found along operands and control edges", "[analysis][reachability]") {
  const auto module = ParsedModule(kDiamond);
  const Computation& c = *module->entry();
  InBothForms(c, [&](const Reachability& r) {
    const auto depends = [&](std::string_view user, std::string_view producer) {
      return r.DependsOn(c.Find(user), c.Find(producer));
    };
    CHECK(depends("d", "a"));
    CHECK(depends("e", "b"));
    CHECK(depends("g", "c"));
    CHECK(depends("h", "c"));
    CHECK_FALSE(depends("a", "d"));
    CHECK_FALSE(depends("c", "b"));
    CHECK_FALSE(depends("g", "b"));
    CHECK_FALSE(depends("a", "a"));
    CHECK(r.AreConnected(c.Find("a"), c.Find("e")));
    CHECK_FALSE(r.AreConnected(c.Find("b"), c.Find("c")));
    const Reachability::Dependents of_b = r.DependentsOf(c.Find("b"));
    for (const Instruction* instruction : c.instructions())
      CHECK(of_b.Has(instruction) == r.DependsOn(instruction, c.Find("b")));
  });
}

TEST_CASE("members that need each other by way of others make a cycle",
          "[analysis][reachability]") {
  const auto module = ParsedModule(kDiamond);
  const Computation& c = *module->entry();
  InBothForms(c, [&](const Reachability& r) {
    Instruction *a = c.Find("a"), *b = c.Find("b"), *s = c.Find("c"), *d = c.Find("d"),
                *g = c.Find("g"), *h = c.Find("h");
    CHECK_FALSE(r.WouldMakeCycle({}));
    CHECK_FALSE(r.WouldMakeCycle({b}));
    CHECK_FALSE(r.WouldMakeCycle({b, s}));
    CHECK_FALSE(r.WouldMakeCycle({b, d}));  // one needs the other directly
    CHECK(r.WouldMakeCycle({a, d}));        // by way of b
    CHECK_FALSE(r.WouldMakeCycle({a, b, d}));
    CHECK(r.WouldMakeCycle({s, h}));  // by way of g, which waits for c
    CHECK_FALSE(r.WouldMakeCycle({s, g, h}));
  });
}

TEST_CASE("what is merged needs what its members need", "[analysis][reachability]") {
  for (const size_t limit : {size_t{0}, Reachability::kMatrixLimit}) {
    const auto module = ParsedModule(kDiamond);
    Computation& c = *module->entry();
    Reachability r(c, limit);
    Instruction *b = c.Find("b"), *s = c.Find("c"), *d = c.Find("d"), *g = c.Find("g");
    CHECK_FALSE(r.DependsOn(g, b));
    CHECK_FALSE(r.DependsOn(d, s));
    r.Merge({b, s});
    Instruction* both =
        c.Add(Opcode::kTuple, Shape::Tuple({b->shape(), s->shape()}), {c.Find("a"), c.Find("a")});
    r.StandFor({both}, b);
    CHECK(r.DependsOn(g, both));
    CHECK(r.DependsOn(d, both));
    CHECK(r.DependsOn(d, s));  // the members are one
    CHECK(r.DependsOn(both, c.Find("a")));
    CHECK_FALSE(r.DependsOn(both, c.Find("f")));
    CHECK(r.PlaceOf(both) < r.PlaceOf(d));
    CHECK(r.PlaceOf(both) < r.PlaceOf(g));
    // An element that was added since stands where its tuple does.
    Instruction* element = c.Add(Opcode::kGetTupleElement, b->shape(), {both},
                                 AttrsPtr::Make(GetTupleElementAttrs{0}));
    CHECK(r.PlaceOf(element) == r.PlaceOf(both));
    CHECK(r.DependsOn(c.Find("e"), element));
    CHECK(r.WouldMakeCycle({both, c.Find("h")}));
    // What reads the elements depends on the node, and what waits for it.
    g->RemoveControlPredecessor(s);
    g->AddControlPredecessor(both);
    b->ReplaceAllUsesWith(element);
    s->ReplaceAllUsesWith(element);
    const Reachability::Dependents dependents = r.DependentsOf(both);
    for (const std::string_view name : {"d", "g", "h", "e"}) {
      INFO(name << " with a matrix of up to " << limit);
      CHECK(dependents.Has(c.Find(name)));
    }
    CHECK_FALSE(dependents.Has(c.Find("f")));
  }
}

TEST_CASE("several instructions stand for what was merged", "[analysis][reachability]") {
  for (const size_t limit : {size_t{0}, Reachability::kMatrixLimit}) {
    INFO("with a matrix of up to " << limit);
    const auto module = ParsedModule(R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  w = f32[4] parameter(1)
  y = f32[4] negate(w)
  one = f32[4] multiply(x, w)
  other = f32[4] multiply(x, y)
  reader = f32[4] sine(one)
  alone = f32[4] cosine(x)
  ROOT t = (f32[4], f32[4], f32[4]) tuple(reader, other, alone)
}
)");
    Computation& c = *module->entry();
    Reachability r(c, limit);
    Instruction *one = c.Find("one"), *other = c.Find("other");
    CHECK_FALSE(r.DependsOn(c.Find("reader"), c.Find("y")));
    r.Merge({one, other});
    const Shape shape = one->shape();
    Instruction* const joined = c.Add(Opcode::kAdd, shape, {c.Find("w"), c.Find("y")});
    Instruction* const product = c.Add(Opcode::kMultiply, shape, {c.Find("x"), joined});
    Instruction* const first = c.Add(Opcode::kCopy, shape, {product});
    Instruction* const second = c.Add(Opcode::kCopy, shape, {product});
    c.Replace(one, first);
    c.Replace(other, second);
    r.StandFor({joined, product, first, second}, one);
    CHECK(r.DependsOn(c.Find("reader"), c.Find("y")));
    CHECK(r.DependsOn(first, c.Find("y")));
    CHECK_FALSE(r.DependsOn(c.Find("alone"), c.Find("y")));
    CHECK(r.DependentsOf(c.Find("y")).Has(c.Find("reader")));
    // Few questions are answered pair by pair, many by marks.
    for (const int rounds : {1, 100}) {
      Reachability::Neighbours neighbours(r);
      CHECK_FALSE(neighbours.Has(c.Find("y")));
      neighbours.Add(c.Find("reader"));
      for (int round = 0; round < rounds; ++round) {
        for (const std::string_view name : {"w", "x", "y", "reader", "t"})
          CHECK(neighbours.Has(c.Find(name)));
        CHECK(neighbours.Has(second));
        CHECK_FALSE(neighbours.Has(c.Find("alone")));
      }
      neighbours.Add(c.Find("alone"));
      CHECK(neighbours.Has(c.Find("alone")));
    }
  }
}

TEST_CASE("merging moves what must come after to after the merged node",
          "[analysis][reachability]") {
  // Post-order: p, x, y (needs x), q, z: merging x and z leaves q before and y after them.
  const auto module = ParsedModule(R"(HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  x = f32[4] negate(p)
  y = f32[4] sine(x)
  q = f32[4] parameter(1)
  z = f32[4] cosine(q)
  ROOT t = (f32[4], f32[4]) tuple(y, z)
}
)");
  const Computation& c = *module->entry();
  InBothForms(c, [&](Reachability& r) {
    CHECK(r.PlaceOf(c.Find("y")) < r.PlaceOf(c.Find("q")));
    r.Merge({c.Find("x"), c.Find("z")});
    CHECK(r.PlaceOf(c.Find("q")) < r.PlaceOf(c.Find("x")));
    CHECK(r.PlaceOf(c.Find("x")) == r.PlaceOf(c.Find("z")));
    CHECK(r.PlaceOf(c.Find("x")) < r.PlaceOf(c.Find("y")));
    CHECK(r.PlaceOf(c.Find("y")) < r.PlaceOf(c.Find("t")));
  });
}

}  // namespace
}  // namespace hlo
