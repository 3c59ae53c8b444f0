// Where values live: who shares, and who must not.
#include "backends/common/buffer_assignment.h"

#include <fmt/core.h>

#include <catch2/catch.hpp>

#include "lib/ir/computation.h"
#include "parser/parse_test_util.h"

namespace hlo {
namespace {

using Kind = Allocation::Kind;

// A parsed module with its assignment.
struct Assigned {
  explicit Assigned(std::string_view text, bool can_share = false) {
    module = ParsedModule(text);
    AssignmentHooks hooks;
    hooks.can_share = [can_share](const Instruction&, int, int) { return can_share; };
    auto made = BufferAssignment::Make(*module, hooks);
    REQUIRE(made.ok());
    buffers = *std::move(made);
  }
  const Instruction& At(std::string_view name) const {
    for (const Computation* computation : module->computations()) {
      if (const Instruction* found = computation->Find(name)) return *found;
    }
    FAIL("no instruction " << name);
    return *module->entry()->root();
  }
  BufferSlice SliceOf(std::string_view name) const { return buffers->slice(At(name)); }
  Kind KindOf(const BufferSlice& slice) const {
    return buffers->allocations()[static_cast<size_t>(slice.allocation)].kind;
  }
  std::unique_ptr<Module> module;
  std::unique_ptr<BufferAssignment> buffers;
};

constexpr std::string_view kChain = R"(HloModule chain
ENTRY main {
  x = f32[64] parameter(0)
  a = f32[64] negate(x)
  b = f32[64] exponential(a)
  c = f32[64] negate(b)
  ROOT d = f32[64] exponential(c)
})";

}  // namespace

TEST_CASE("values whose lives do not meet share the arena", "[common][buffers]") {
  const Assigned chain(kChain);
  CHECK(chain.KindOf(chain.SliceOf("x")) == Kind::kArgument);
  CHECK(chain.KindOf(chain.SliceOf("d")) == Kind::kResult);
  CHECK(chain.KindOf(chain.SliceOf("a")) == Kind::kTemp);
  // a is read while b is written; c comes after a.
  CHECK_FALSE(chain.SliceOf("a").Overlaps(chain.SliceOf("b")));
  CHECK_FALSE(chain.SliceOf("b").Overlaps(chain.SliceOf("c")));
  const auto arena = static_cast<size_t>(chain.SliceOf("a").allocation);
  CHECK(chain.buffers->allocations()[arena].size <= 2 * 256);
}

TEST_CASE("an operation may write over an operand that dies there", "[common][buffers]") {
  const Assigned chain(kChain, /*can_share=*/true);
  CHECK(chain.SliceOf("a") == chain.SliceOf("b"));
  CHECK(chain.SliceOf("b") == chain.SliceOf("c"));
  // Never over an argument that is not donated.
  CHECK(chain.KindOf(chain.SliceOf("x")) == Kind::kArgument);
  CHECK_FALSE(chain.SliceOf("a") == chain.SliceOf("x"));

  const Assigned kept(R"(HloModule kept
ENTRY main {
  x = f32[64] parameter(0)
  a = f32[64] negate(x)
  b = f32[64] exponential(a)
  ROOT c = f32[64] add(a, b)
})",
                      /*can_share=*/true);
  CHECK_FALSE(kept.SliceOf("a").Overlaps(kept.SliceOf("b")));  // a is read again
}

TEST_CASE("instructions that only rename share their operand's value", "[common][buffers]") {
  const Assigned names(R"(HloModule names
ENTRY main {
  x = f32[8,8] parameter(0)
  a = f32[8,8] negate(x)
  r = f32[64] reshape(a)
  t = (f32[64], f32[8,8]) tuple(r, x)
  g = f32[64] get-tuple-element(t), index=0
  ROOT b = f32[64] negate(g)
})");
  CHECK(names.SliceOf("r") == names.SliceOf("a"));
  CHECK(names.SliceOf("g") == names.SliceOf("a"));
  CHECK(names.buffers->slices(names.At("t"))[1] == names.SliceOf("x"));
}

TEST_CASE("a result without memory of its own is an error", "[common][buffers]") {
  for (const std::string_view root : {"x", "c", "tuple(a, a)", "tuple(a, x)"}) {
    const bool is_tuple = root.starts_with("tuple");
    const std::string text =
        fmt::format(R"(HloModule m
ENTRY main {{
  {}x = f32[8] parameter(0)
  {}c = f32[8] constant({{1, 2, 3, 4, 5, 6, 7, 8}})
  a = f32[8] negate(x)
  {}
}})",
                    root == "x" ? "ROOT " : "", root == "c" ? "ROOT " : "",
                    is_tuple ? fmt::format("ROOT t = (f32[8], f32[8]) {}", root) : "");
    const std::unique_ptr<Module> module = ParsedModule(text);
    CHECK(BufferAssignment::Make(*module, {}).status().code() == absl::StatusCode::kInternal);
  }
}

TEST_CASE("copies have memory of their own", "[common][buffers]") {
  const Assigned copied(R"(HloModule copied
ENTRY main {
  x = f32[8] parameter(0)
  c = f32[2] constant({1, 2})
  a = f32[8] negate(x)
  x2 = f32[8] copy(x)
  c2 = f32[2] copy(c)
  a2 = f32[8] copy(a)
  ROOT t = (f32[8], f32[2], f32[8], f32[8]) tuple(x2, c2, a, a2)
})");
  const std::vector<BufferSlice>& results = copied.buffers->results();
  REQUIRE(results.size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(copied.KindOf(results[i]) == Kind::kResult);
    for (size_t j = 0; j < i; ++j) CHECK_FALSE(results[i].Overlaps(results[j]));
  }
  CHECK(copied.KindOf(copied.SliceOf("c")) == Kind::kConstant);
  CHECK(copied.SliceOf("x2") == results[0]);
}

TEST_CASE("a donated argument is overwritten", "[common][buffers]") {
  const Assigned donated(R"(HloModule donated, input_output_alias={ {}: (0, {}, must-alias) }
ENTRY main {
  x = f32[64] parameter(0)
  ROOT a = f32[64] negate(x)
})",
                         /*can_share=*/true);
  REQUIRE(donated.buffers->results().size() == 1);
  const BufferSlice result = donated.buffers->results()[0];
  CHECK(donated.KindOf(result) == Kind::kArgument);
  CHECK(donated.buffers->allocations()[static_cast<size_t>(result.allocation)].donated);
}

constexpr std::string_view kSwap = R"(HloModule loop
cond {{
  p = (s32[], f32[16], f32[16]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(5)
  ROOT lt = pred[] compare(i, n), direction=LT
}}
body {{
  q = (s32[], f32[16], f32[16]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  one = s32[] constant(1)
  k = s32[] add(j, one)
  u = f32[16] get-tuple-element(q), index=1
  v = f32[16] get-tuple-element(q), index=2
  {}
}}
ENTRY main {{
  a = f32[16] parameter(0)
  b = f32[16] parameter(1)
  z = s32[] constant(0)
  a2 = f32[16] copy(a)
  b2 = f32[16] copy(b)
  z2 = s32[] copy(z)
  t = (s32[], f32[16], f32[16]) tuple(z2, a2, b2)
  ROOT w = (s32[], f32[16], f32[16]) while(t), condition=cond, body=body
}})";

TEST_CASE("a loop keeps its state in place", "[common][buffers]") {
  const std::string text = fmt::format(fmt::runtime(kSwap), R"(ux = f32[16] copy(u)
  v2 = f32[16] copy(v), control-predecessors={ux}
  uy = f32[16] copy(ux)
  k2 = s32[] copy(k)
  ROOT s = (s32[], f32[16], f32[16]) tuple(k2, v2, uy))");
  for (const bool can_share : {false, true}) {
    const Assigned loop(text, can_share);
    const std::vector<BufferSlice> state = loop.buffers->slices(loop.At("w"));
    CHECK(loop.buffers->slices(loop.At("p")) == state);
    CHECK(loop.buffers->slices(loop.At("q")) == state);
    CHECK(loop.buffers->slices(loop.At("s")) == state);
    CHECK(loop.SliceOf("a2") == state[1]);
    CHECK_FALSE(loop.SliceOf("ux").Overlaps(state[1]));
    CHECK_FALSE(loop.SliceOf("ux").Overlaps(state[2]));
    // The sum is made in the state when that may be written over what it reads.
    CHECK((loop.SliceOf("k") == state[0]) == can_share);
  }
}

TEST_CASE("values that would overwrite each other are an error", "[common][buffers]") {
  const std::unique_ptr<Module> module = ParsedModule(
      fmt::format(fmt::runtime(kSwap), "ROOT s = (s32[], f32[16], f32[16]) tuple(k, v, u)"));
  const auto made = BufferAssignment::Make(*module, {});
  REQUIRE(made.status().code() == absl::StatusCode::kInternal);
  CHECK(std::string(made.status().message()).find("would lie in one place") != std::string::npos);
}

TEST_CASE("the branches of a conditional end in one place", "[common][buffers]") {
  const Assigned branches(R"(HloModule branches
yes {
  x = f32[4] parameter(0)
  ROOT a = f32[4] negate(x)
}
no {
  y = f32[4] parameter(0)
  ROOT z = f32[4] copy(y)
}
ENTRY main {
  p = pred[] parameter(0)
  v = f32[4] parameter(1)
  ROOT c = f32[4] conditional(p, v, v), true_computation=yes, false_computation=no
})");
  const BufferSlice result = branches.SliceOf("c");
  CHECK(branches.SliceOf("a") == result);
  CHECK(branches.SliceOf("z") == result);
  CHECK(branches.SliceOf("y") == branches.SliceOf("v"));
}

TEST_CASE("weights are told from values that change", "[common][buffers]") {
  const Assigned weights(R"(HloModule weights
ENTRY main {
  x = f32[4,4] parameter(0)
  w = f32[4,4] parameter(1)
  c = f32[4,4] constant({...})
  a = f32[4,4] negate(x)
  d = f32[4,4] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT e = f32[4,4] dot(d, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})");
  CHECK(weights.buffers->IsUnchanging(weights.At("w")));
  CHECK(weights.buffers->IsUnchanging(weights.At("c")));
  CHECK_FALSE(weights.buffers->IsUnchanging(weights.At("a")));
}

TEST_CASE("the list of buffers names allocations and values", "[common][buffers]") {
  const Assigned chain(kChain);
  const std::string text = chain.buffers->ToString();
  CHECK(text.find("     parameter allocation: ") != std::string::npos);
  CHECK(text.find("argument") != std::string::npos);
  CHECK(text.find("result") != std::string::npos);
  CHECK(text.find("temp") != std::string::npos);
  CHECK(text.find("exponential") == std::string::npos);  // names, not opcodes
  CHECK(text.find("b") != std::string::npos);
}

}  // namespace hlo
