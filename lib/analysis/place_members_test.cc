#include "lib/analysis/place_members.h"

#include <catch2/catch.hpp>
#include <random>

#include "parser/parse_test_util.h"

namespace hlo {
namespace {

// Straight code, a loop and branches; values that are read where they are made, and elsewhere.
constexpr std::string_view kProgram = R"(HloModule m
c {
  cp = (f32[8], f32[8], f32[8]) parameter(0)
  cx = f32[8] get-tuple-element(cp), index=0
  cs = f32[8] sine(cx)
  ROOT cl = pred[] constant(false)
}
b {
  bp = (f32[8], f32[8], f32[8]) parameter(0)
  bx = f32[8] get-tuple-element(bp), index=0
  by = f32[8] get-tuple-element(bp), index=1
  bk = f32[8] get-tuple-element(bp), index=2
  b1 = f32[8] add(bx, bk)
  b2 = f32[8] sine(b1)
  b3 = f32[8] cosine(b1)
  b4 = f32[8] add(b2, b3)
  b5 = f32[8] negate(b4)
  ROOT br = (f32[8], f32[8], f32[8]) tuple(by, b5, bk)
}
t {
  tp = f32[8] parameter(0)
  t1 = f32[8] sine(tp)
  t2 = f32[8] negate(t1)
  ROOT t3 = f32[8] exponential(t2)
}
f {
  fp = f32[8] parameter(0)
  f1 = f32[8] cosine(fp)
  ROOT f2 = f32[8] negate(f1)
}
ENTRY e {
  p = pred[] parameter(0)
  x = f32[8] parameter(1)
  a1 = f32[8] sine(x)
  a2 = f32[8] negate(a1)
  a3 = f32[8] exponential(a2)
  a4 = f32[8] add(a3, a1)
  i = (f32[8], f32[8], f32[8]) tuple(a4, a3, a2)
  w = (f32[8], f32[8], f32[8]) while(i), condition=c, body=b
  w0 = f32[8] get-tuple-element(w), index=0
  a5 = f32[8] sine(w0)
  a6 = f32[8] negate(a5)
  q = f32[8] conditional(p, a6, a5), true_computation=t, false_computation=f
  a7 = f32[8] add(q, a6)
  a8 = f32[8] negate(a7)
  ROOT r = f32[8] multiply(a8, a5)
}
)";

using Set = std::vector<ValueId>;

PlaceMembers MembersOf(const Set& set, const Interference& interference) {
  PlaceMembers members;
  for (const ValueId value : set)
    members.Add(PlaceMembers(value), interference, /*are_disjoint=*/false);
  return members;
}

bool AnyInterfere(const Set& a, const Set& b, const Interference& interference) {
  for (const ValueId x : a) {
    for (const ValueId y : b) {
      if (x != y && interference.Interfere(x, y)) return true;
    }
  }
  return false;
}

// Sets that are grown as copy insertion does it, and sets of whatever comes.
void CheckAgainstPairs(Interference::Order order) {
  const auto module = ParsedModule(kProgram);
  const Values values(*module);
  const Interference interference(values, order,
                                  [](const Instruction& instruction, const InPlacePair&) {
                                    return HasTrait(instruction.opcode(), kElementwise);
                                  });
  std::mt19937 random(1);
  int disjoint = 0;
  for (int round = 0; round < 3000; ++round) {
    Set sets[2];
    PlaceMembers members[2];
    const bool grows = round % 2 == 0;
    for (int k = 0; k < 24; ++k) {
      const auto value = static_cast<ValueId>(random() % static_cast<unsigned>(values.count()));
      const size_t side = random() % 2;
      const auto has = [&](const Set& set) {
        return std::find(set.begin(), set.end(), value) != set.end();
      };
      if (has(sets[0]) || has(sets[1])) continue;
      const bool fits = !AnyInterfere({value}, sets[side], interference);
      PlaceMembers alone(value);
      REQUIRE(members[side].AreDisjoint(alone, interference) == fits);
      if (grows && !fits) continue;
      sets[side].push_back(value);
      members[side].Add(std::move(alone), interference, fits);
    }
    const bool expected = !AnyInterfere(sets[0], sets[1], interference);
    disjoint += expected ? 1 : 0;
    REQUIRE(members[0].AreDisjoint(members[1], interference) == expected);
    REQUIRE(MembersOf(sets[0], interference).AreDisjoint(members[1], interference) == expected);
    const auto conflict = members[0].Conflict(interference);
    REQUIRE((conflict.first != conflict.second) == AnyInterfere(sets[0], sets[0], interference));
    if (sets[0].empty()) continue;
    const ValueId gone = sets[0][random() % sets[0].size()];
    members[0].Erase(gone, interference);
    std::erase(sets[0], gone);
    REQUIRE(members[0].AreDisjoint(members[1], interference) ==
            !AnyInterfere(sets[0], sets[1], interference));
  }
  CHECK(disjoint > 10);
}

TEST_CASE("chains answer what all pairs would, in the order of the program", "[analysis][places]") {
  CheckAgainstPairs(Interference::Order::kProgram);
}

TEST_CASE("chains answer what all pairs would, in that of dependencies", "[analysis][places]") {
  CheckAgainstPairs(Interference::Order::kDependency);
}

}  // namespace
}  // namespace hlo
