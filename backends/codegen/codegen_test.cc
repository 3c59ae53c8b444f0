// The frame of a kernel and the contract about shared buffers, which every code
// generator relies on.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "backends/codegen/in_place.h"
#include "backends/codegen/kernel_frame.h"
#include "lib/ir/computation.h"
#include "lib/ir/module.h"
#include "parser/parse_test_util.h"

namespace hlo {
namespace {

std::unique_ptr<Module> Parse(std::string_view body) {
  return ParsedModule(fmt::format("HloModule m\n{}", body));
}

// "x->0 y->1 | a@3 b@4": values and their first buffers, results and theirs.
std::string FrameOf(const Instruction& instruction) {
  const absl::StatusOr<KernelFrame> frame = MakeKernelFrame(instruction, "here");
  if (!frame.ok()) return std::string(frame.status().message());
  std::string text;
  for (const auto& [value, buffer] : frame->bindings)
    text += fmt::format("{}->{} ", value->name(), buffer);
  text += "|";
  for (const KernelOutput& output : frame->outputs)
    text += fmt::format(" {}.{}@{}", output.instruction->name(), output.result, output.buffer);
  return text;
}

// "0=1": operand leaf 0 and result leaf 1.
std::string PairsOf(BufferPairs (*pairs_of)(const Instruction&), std::string_view body) {
  const std::unique_ptr<Module> module = Parse(body);
  std::string text;
  for (const BufferPair& pair : pairs_of(*module->entry()->root()))
    text += fmt::format("{}={} ", pair.operand, pair.result);
  return text;
}
std::string Wanted(std::string_view body) { return PairsOf(UpdatePairs, body); }
std::string InPlace(std::string_view body) { return PairsOf(SamePlacePairs, body); }

TEST_CASE("the frame of a fusion numbers leaves of operands, then of the result") {
  const std::unique_ptr<Module> module = Parse(R"(
f {
  x = f32[4] parameter(0)
  p = (s32[2], s32[3]) parameter(1)
  y = f32[4] parameter(2)
  a = f32[4] add(x, y)
  b = s32[2] get-tuple-element(p), index=0
  ROOT t = (f32[4], s32[2], f32[4]) tuple(a, b, x)
}
ENTRY e {
  u = f32[4] parameter(0)
  v = (s32[2], s32[3]) parameter(1)
  ROOT r = (f32[4], s32[2], f32[4]) fusion(u, v, u), kind=kLoop, calls=f
})");
  CHECK(FrameOf(*module->entry()->root()) == "x->0 p->1 y->3 | a.0@4 b.0@5 x.0@6");
}

TEST_CASE("the frame of an instruction with several results") {
  const std::unique_ptr<Module> module = Parse(R"(
ENTRY e {
  u = f32[4] parameter(0)
  ROOT r = (f32[2], s32[2]) topk(u), k=2, largest=true
})");
  CHECK(FrameOf(*module->entry()->root()) == "u->0 | r.0@1 r.1@2");
}

TEST_CASE("a frame has no dynamic dimensions") {
  const std::unique_ptr<Module> module = Parse(R"(
ENTRY e {
  u = f32[<=4] parameter(0)
  ROOT r = f32[<=4] negate(u)
})");
  CHECK(FrameOf(*module->entry()->root()).find("platform `here` cannot run `negate`") !=
        std::string::npos);
}

TEST_CASE("an update wants the buffer of its operand") {
  CHECK(Wanted(R"(
ENTRY e {
  x = f32[4] parameter(0)
  u = f32[2] parameter(1)
  i = s32[] parameter(2)
  ROOT r = f32[4] dynamic-update-slice(x, u, i)
})") == "0=0 ");
  // Of a tuple that stands before it, each array counts.
  CHECK(Wanted(R"(
f {
  p = (f32[2], s32[]) parameter(0)
  x = f32[4] parameter(1)
  u = f32[2] get-tuple-element(p), index=0
  i = s32[] get-tuple-element(p), index=1
  ROOT r = f32[4] dynamic-update-slice(x, u, i)
}
ENTRY e {
  v = (f32[2], s32[]) parameter(0)
  x = f32[4] parameter(1)
  ROOT r = f32[4] fusion(v, x), kind=kLoop, calls=f
})") == "2=0 ");
}

TEST_CASE("an update that reads its operand elsewhere does not want its buffer") {
  CHECK(Wanted(R"(
ENTRY e {
  x = f32[4] parameter(0)
  i = s32[] parameter(1)
  ROOT r = f32[4] dynamic-update-slice(x, x, i)
})") == "");
  constexpr std::string_view kFusion = R"(
f {{
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  i = s32[] parameter(2)
  s = f32[2] slice({}), slice={{[0:2]}}
  ROOT r = f32[4] dynamic-update-slice(x, s, i)
}}
ENTRY e {{
  a = f32[4] parameter(0)
  b = f32[4] parameter(1)
  i = s32[] parameter(2)
  ROOT r = f32[4] fusion(a, {}, i), kind=kLoop, calls=f
}})";
  CHECK(Wanted(fmt::format(kFusion, "y", "b")) == "0=0 ");
  CHECK(Wanted(fmt::format(kFusion, "x", "b")) == "");
  CHECK(Wanted(fmt::format(kFusion, "y", "a")) == "");
}

TEST_CASE("what is read in its own place only may be overwritten") {
  CHECK(InPlace(R"(
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  ROOT r = f32[4] add(x, y)
})") == "0=0 1=0 ");
  // Elements of one size: a narrower one lies elsewhere.
  CHECK(InPlace(R"(
ENTRY e {
  x = f32[4] parameter(0)
  ROOT r = bf16[4] convert(x)
})") == "");
  CHECK(InPlace(R"(
ENTRY e {
  x = f32[4] parameter(0)
  ROOT r = f32[4] reverse(x), dimensions={0}
})") == "");
}

TEST_CASE("the place of an element survives reshapes, not sums") {
  constexpr std::string_view kFusion = R"(
sum {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}}
f {{
  x = f32[2,6] parameter(0)
  y = f32[3,4] parameter(1)
  z = f32[] constant(0)
  {}
}}
ENTRY e {{
  x = f32[2,6] parameter(0)
  y = f32[3,4] parameter(1)
  ROOT r = {} fusion(x, y), kind=kLoop, calls=f
}})";
  CHECK(InPlace(fmt::format(kFusion, R"(
  v = f32[3,4] reshape(x)
  w = f32[3,4] negate(v)
  ROOT r = f32[3,4] add(w, y))",
                            "f32[3,4]")) == "0=0 1=0 ");
  // Each element of a row needs all of it, but y only its own.
  CHECK(InPlace(fmt::format(kFusion, R"(
  s = f32[2] reduce(x, z), dimensions={1}, to_apply=sum
  b = f32[2,6] broadcast(s), dimensions={0}
  v = f32[2,6] reshape(y)
  ROOT r = f32[2,6] divide(v, b))",
                            "f32[2,6]")) == "1=0 ");
  // Backwards and back again; a value of the row is not read once it is complete.
  CHECK(InPlace(fmt::format(kFusion, R"(
  v = f32[3,4] reverse(y), dimensions={0}
  w = f32[3,4] negate(v)
  ROOT r = f32[3,4] reverse(w), dimensions={0})",
                            "f32[3,4]")) == "1=0 ");
  CHECK(InPlace(R"(
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
f {
  x = f32[2,6] parameter(0)
  m = f32[2] parameter(1)
  z = f32[] constant(0)
  b = f32[2,6] broadcast(m), dimensions={0}
  d = f32[2,6] subtract(x, b)
  ROOT s = f32[2] reduce(d, z), dimensions={1}, to_apply=sum
}
ENTRY e {
  x = f32[2,6] parameter(0)
  m = f32[2] parameter(1)
  ROOT r = f32[2] fusion(x, m), kind=kInput, calls=f
})") == "1=0 ");
  // Its own and another: not free when its own result is written.
  CHECK(InPlace(fmt::format(kFusion, R"(
  v = f32[3,4] reverse(y), dimensions={0}
  ROOT r = f32[3,4] add(v, y))",
                            "f32[3,4]")) == "");
  // The other output reads it elsewhere.
  CHECK(InPlace(fmt::format(kFusion, R"(
  n = f32[3,4] negate(y)
  v = f32[3,4] reverse(y), dimensions={0}
  ROOT r = (f32[3,4], f32[3,4]) tuple(n, v))",
                            "(f32[3,4], f32[3,4])")) == "");
}

}  // namespace
}  // namespace hlo
