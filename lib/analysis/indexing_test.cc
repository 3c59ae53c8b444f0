// Maps are checked against the interpreter: an operation that adds up what it reads gives, for
// every element, the sum of what its map says that it reads.
#include "lib/analysis/indexing.h"

#include <catch2/catch.hpp>

#include "lib/eval/evaluator.h"
#include "lib/types/shape_util.h"
#include "parser/parse_test_util.h"

namespace hlo {
namespace {

struct IndexingCase {
  std::string_view root;              // the operation; `x` is the operand that is looked at
  std::string_view parameters;        // further instructions it reads
  std::string_view x;                 // shape of x
  std::vector<int64_t> runtime = {};  // values of the runtime variables
  int operand = 0;                    // which one x is
};

std::unique_ptr<Module> IndexingModule(const IndexingCase& c) {
  const std::string text = fmt::format(
      "HloModule m\nsum {{\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n"
      "  ROOT s = s32[] add(a, b)\n}}\nENTRY e {{\n  x = {} parameter(0)\n{}  ROOT r = {}\n}}\n",
      c.x, c.parameters, c.root);
  return ParsedModule(text);
}

// The sum of what element `index` reads.
int64_t SumOfRead(const IndexingMap& map, const Literal& x, absl::Span<const int64_t> index,
                  const std::vector<int64_t>& runtime) {
  std::vector<int64_t> values(index.begin(), index.end()), sizes(index.size(), 1);
  size_t next = 0;
  for (size_t i = index.size(); i < map.variables.size(); ++i) {
    const bool is_range = map.variables[i].kind == IndexVariable::Kind::kRange;
    values.push_back(is_range ? 0 : runtime.at(next++));
    sizes.push_back(is_range ? map.variables[i].size : 1);
  }
  const int64_t count = Product(sizes);
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const DimVec at = MultiIndex(i, sizes);
    std::vector<int64_t> now = values;
    for (size_t v = index.size(); v < now.size(); ++v) now[v] += at[v];
    const std::optional<std::vector<int64_t>> read = map.Evaluate(now);
    if (!read) continue;
    for (size_t d = 0; d < read->size(); ++d) {
      REQUIRE((*read)[d] >= 0);
      REQUIRE((*read)[d] < x.shape().dim(static_cast<int>(d)));
    }
    sum += x.GetInt(LinearIndex(*read, x.shape().dims()));
  }
  return sum;
}

// The module sums what `map` says that its result reads of its parameter.
void CheckReads(const Module& module, const IndexingMap& map, const std::vector<int64_t>& runtime) {
  INFO(map.ToString());
  Literal x(module.entry()->parameter(0)->shape());
  for (int64_t i = 0; i < x.element_count(); ++i) x.SetInt(i, i * i + 1);
  const absl::StatusOr<Literal> result = Evaluator().Run(module, {x});
  REQUIRE(result.ok());
  for (int64_t i = 0; i < result->element_count(); ++i) {
    const DimVec index = MultiIndex(i, result->shape().dims());
    CHECK(SumOfRead(map, x, index, runtime) == result->GetInt(i));
  }
}

void CheckMap(const IndexingCase& c) {
  INFO(c.root);
  const auto module = IndexingModule(c);
  const Instruction& root = *module->entry()->root();
  const std::optional<IndexingMap> map = OperandIndexing(root, c.operand);
  REQUIRE(map.has_value());
  CheckReads(*module, *map, c.runtime);
}

constexpr std::string_view kZero = "  z = s32[] constant(0)\n";

TEST_CASE("movements read what their maps say", "[analysis][indexing]") {
  CheckMap({"s32[3,2] transpose(x), dimensions={1,0}", "", "s32[2,3]"});
  CheckMap({"s32[4,2,3] transpose(x), dimensions={2,0,1}", "", "s32[2,3,4]"});
  CheckMap({"s32[2,5,3] broadcast(x), dimensions={0,2}", "", "s32[2,3]"});
  CheckMap({"s32[2,4] slice(x), slice={[2:8:3],[1:5]}", "", "s32[9,6]"});
  CheckMap({"s32[5,2] reverse(x), dimensions={0}", "", "s32[5,2]"});
  CheckMap({"s32[9] pad(x, z), padding=2_1_1", kZero, "s32[4]"});  // 2 + 4 + 3 between, less 0
  CheckMap({"s32[3,5] pad(x, z), padding=-1_0x2_-1", kZero, "s32[4,4]"});
  CheckMap({"s32[7] concatenate(z3, x, z1), dimensions={0}",
            "  z = s32[] constant(0)\n  z3 = s32[3] broadcast(z), dimensions={}\n"
            "  z1 = s32[1] broadcast(z), dimensions={}\n",
            "s32[3]",
            {},
            1});
}

TEST_CASE("reshapes split and join groups of dimensions", "[analysis][indexing]") {
  for (const auto& [from, to] : {std::pair("s32[6]", "s32[2,3]"),
                                 {"s32[2,3]", "s32[6]"},
                                 {"s32[2,3,4]", "s32[6,4]"},
                                 {"s32[4,6]", "s32[8,3]"},
                                 {"s32[1,6,1]", "s32[3,1,2]"},
                                 {"s32[1]", "s32[]"},
                                 {"s32[]", "s32[1,1]"},
                                 {"s32[12,2]", "s32[2,3,4]"}}) {
    CheckMap({std::string(to) + " reshape(x)", "", from});
  }
}

TEST_CASE("what is run over is read whole", "[analysis][indexing]") {
  CheckMap({"s32[3] reduce(x, z), dimensions={0,2}, to_apply=sum", kZero, "s32[2,3,4]"});
  CheckMap({"s32[3] reduce-window(x, z), window={size=3 stride=2 pad=1_1}, to_apply=sum", kZero,
            "s32[5]"});
  CheckMap(
      {"s32[5] reduce-window(x, z), window={size=3 lhs_dilate=2 rhs_dilate=2 pad=1_1}, "
       "to_apply=sum",
       kZero, "s32[4]"});
  constexpr std::string_view kOnes =
      "  o = s32[] constant(1)\n  w = s32[3,5] broadcast(o), dimensions={}\n";
  CheckMap({"s32[2,5] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}", kOnes,
            "s32[2,3]"});
  CheckMap({"s32[3,2] dot(w, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            kOnes,
            "s32[5,2]",
            {},
            1});
  CheckMap(
      {"s32[1,5,1] convolution(x, k), window={size=3 pad=1_1 rhs_reversal=1}, "
       "dim_labels=b0f_0io->b0f",
       "  o = s32[] constant(1)\n  k = s32[3,2,1] broadcast(o), dimensions={}\n", "s32[1,5,2]"});
}

TEST_CASE("places that are data are runtime variables", "[analysis][indexing]") {
  constexpr std::string_view kStarts = "  i = s32[] constant(2)\n  j = s32[] constant(1)\n";
  CheckMap(
      {"s32[2,3] dynamic-slice(x, i, j), dynamic_slice_sizes={2,3}", kStarts, "s32[5,4]", {2, 1}});
  CheckMap({"s32[] dynamic-slice(x), dynamic_slice_sizes={}", "", "s32[]"});
  CheckMap({"s32[5,4] dynamic-update-slice(b, x, i, j)",
            "  i = s32[] constant(2)\n  j = s32[] constant(1)\n  z = s32[] constant(0)\n"
            "  b = s32[5,4] broadcast(z), dimensions={}\n",
            "s32[2,3]",
            {2, 1},
            1});
  // Element (b, o) is x[2, o + 1]; all starts are the same here.
  CheckMap(
      {"s32[3,2] gather(x, s), offset_dims={1}, collapsed_slice_dims={0}, "
       "start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,2}",
       "  s = s32[3,2] constant({{2,1},{2,1},{2,1}})\n",
       "s32[4,5]",
       {2, 1}});
}

TEST_CASE("questions to maps", "[analysis][indexing]") {
  const auto map_of = [](const IndexingCase& c) {
    const auto module = IndexingModule(c);
    return *OperandIndexing(*module->entry()->root(), c.operand);
  };
  const IndexingMap same = map_of({"s32[2,3] negate(x)", "", "s32[2,3]"});
  CHECK(same.IsIdentity());
  CHECK(same.ReadsEachOnce());
  CHECK(same.ToString() == "(d0, d1) -> (d0, d1)");
  const IndexingMap transpose = map_of({"s32[3,2] transpose(x), dimensions={1,0}", "", "s32[2,3]"});
  CHECK_FALSE(transpose.IsIdentity());
  CHECK(transpose.OperandDimOf(0) == 1);
  CHECK(transpose.OutputDimOf(0) == 1);
  const IndexingMap broadcast = map_of({"s32[2,5] broadcast(x), dimensions={0}", "", "s32[2]"});
  CHECK(broadcast.IsBroadcast(1));
  CHECK_FALSE(broadcast.IsBroadcast(0));
  CHECK_FALSE(broadcast.ReadsEachOnce());
  CHECK(broadcast.OperandDimOf(1) == -1);
  const IndexingMap reduce =
      map_of({"s32[2] reduce(x, z), dimensions={1}, to_apply=sum", kZero, "s32[2,3]"});
  CHECK(reduce.IsReduced(1));
  CHECK_FALSE(reduce.IsReduced(0));
  CHECK_FALSE(reduce.ReadsEachOnce());
  CHECK(reduce.ToString() == "(d0)[s0 < 3] -> (d0, s0)");
  const IndexingMap reverse = map_of({"s32[5] reverse(x), dimensions={0}", "", "s32[5]"});
  CHECK(reverse.RangeOf(reverse.results[0]) == std::pair<int64_t, int64_t>(0, 4));
  CHECK(reverse.ReadsEachOnce());
  const IndexingMap split = map_of({"s32[6] reshape(x)", "", "s32[2,3]"});
  CHECK_FALSE(split.IsAffine());
  CHECK(split.ReadsEachOnce());
  CHECK(split.RangeOf(split.results[1]) == std::pair<int64_t, int64_t>(0, 2));
  CHECK(split.ToString() == "(d0) -> (d0 floordiv 3, d0 mod 3)");
}

TEST_CASE("negative numbers are divided towards minus infinity", "[analysis][indexing]") {
  IndexExpr expr = IndexExpr::Variable(0, 1, -3);
  expr.divisor = 2;
  CHECK(expr.Evaluate({0}) == -2);
  CHECK(expr.Evaluate({2}) == -1);
  CHECK(expr.Evaluate({3}) == 0);
  expr.modulus = 2;
  CHECK(expr.Evaluate({0}) == 0);
  CHECK(expr.Evaluate({2}) == 1);
}

TEST_CASE("what cannot be known has no map", "[analysis][indexing]") {
  const auto module =
      IndexingModule({"s32[4] scatter(x, i, u), update_window_dims={}, "
                      "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
                      "index_vector_dim=1, to_apply=sum",
                      "  i = s32[2,1] constant({{0},{1}})\n"
                      "  u = s32[2] constant({1,2})\n",
                      "s32[4]"});
  CHECK_FALSE(OperandIndexing(*module->entry()->root(), 0).has_value());
}

TEST_CASE("maps that keep the place of elements", "[analysis][indexing]") {
  const auto keeps = [](const IndexingCase& c) {
    INFO(c.root);
    const auto module = IndexingModule(c);
    const Instruction& root = *module->entry()->root();
    const std::optional<IndexingMap> map = OperandIndexing(root, c.operand);
    return map && map->KeepsPlace(root.operand(c.operand)->shape().dims());
  };
  CHECK(keeps({"s32[2,3] negate(x)", "", "s32[2,3]"}));
  CHECK(keeps({"s32[6] reshape(x)", "", "s32[2,3]"}));
  CHECK(keeps({"s32[4,3] reshape(x)", "", "s32[2,6]"}));
  CHECK(keeps({"s32[2,1,3] broadcast(x), dimensions={0,2}", "", "s32[2,3]"}));
  CHECK(keeps({"s32[3,1] transpose(x), dimensions={1,0}", "", "s32[1,3]"}));
  CHECK(keeps({"s32[1,3] reverse(x), dimensions={0}", "", "s32[1,3]"}));
  CHECK(!keeps({"s32[3,2] transpose(x), dimensions={1,0}", "", "s32[2,3]"}));
  CHECK(!keeps({"s32[3] reverse(x), dimensions={0}", "", "s32[3]"}));
  CHECK(!keeps({"s32[3] slice(x), slice={[1:4]}", "", "s32[4]"}));
  CHECK(!keeps({"s32[4] pad(x, z), padding=1_0", kZero, "s32[3]"}));
  CHECK(!keeps({"s32[4] pad(x, z), padding=1_-1", kZero, "s32[4]"}));
  CHECK(!keeps({"s32[2,3] broadcast(x), dimensions={1}", "", "s32[3]"}));
  CHECK(!keeps({"s32[3] reduce(x, z), dimensions={1}, to_apply=sum", kZero, "s32[3,3]"}));
}

// The map of `root`, which reads `y`, by way of y, which reads `x`.
std::optional<IndexingMap> Composed(const Module& module) {
  const Instruction& root = *module.entry()->root();
  const Instruction& y = *module.FindInstruction("y");
  return Compose(*OperandIndexing(root, 0), *OperandIndexing(y, 0), y.operand(0)->shape().dims());
}

void CheckComposed(std::string_view x, std::string_view y, std::string_view root,
                   std::string_view map, const std::vector<int64_t>& runtime = {}) {
  INFO(y << ", " << root);
  const std::string between = fmt::format("{}  y = {}\n", kZero, y);
  const auto module = IndexingModule({root, between, x});
  const std::optional<IndexingMap> composed = Composed(*module);
  REQUIRE(composed.has_value());
  CHECK(composed->ToString() == map);
  CheckReads(*module, *composed, runtime);
}

TEST_CASE("maps compose to what two operations read", "[analysis][indexing]") {
  CheckComposed("s32[9,4]", "s32[3,4] slice(x), slice={[2:8:2],[0:4]}",
                "s32[4,3] transpose(y), dimensions={1,0}", "(d0, d1) -> (2 * d1 + 2, d0)");
  CheckComposed("s32[3,5]", "s32[5,3] transpose(x), dimensions={1,0}",
                "s32[5] reduce(y, z), dimensions={1}, to_apply=sum", "(d0)[s0 < 3] -> (s0, d0)");
  CheckComposed("s32[3,5]", "s32[3] reduce(x, z), dimensions={1}, to_apply=sum",
                "s32[] reduce(y, z), dimensions={0}, to_apply=sum",
                "()[s0 < 3, s1 < 5] -> (s0, s1)");
  CheckComposed("s32[4]", "s32[6] pad(x, z), padding=1_1", "s32[4] slice(y), slice={[2:6]}",
                "(d0) -> (d0 + 1), 0 <= d0 + 1 <= 3");
  CheckComposed("s32[3]", "s32[3,2] broadcast(x), dimensions={0}",
                "s32[2,2] slice(y), slice={[1:3],[0:2]}", "(d0, d1) -> (d0 + 1)");
  CheckComposed("s32[3,4]", "s32[12] reshape(x)", "s32[3,4] reshape(y)", "(d0, d1) -> (d0, d1)");
}

TEST_CASE("reading through a reshape that moves elements has no map", "[analysis][indexing]") {
  const auto module = IndexingModule(
      {"s32[3,4] transpose(y), dimensions={1,0}", "  y = s32[4,3] reshape(x)\n", "s32[12]"});
  // Row-major numbers of transposed elements are sums of both dimensions.
  CHECK(Composed(*module)->ToString() == "(d0, d1) -> (d0 + 3 * d1)");
  const auto flat = IndexingModule(
      {"s32[12] reshape(y)", "  y = s32[4,3] transpose(x), dimensions={1,0}\n", "s32[3,4]"});
  CHECK_FALSE(Composed(*flat).has_value());
}

}  // namespace
}  // namespace hlo
