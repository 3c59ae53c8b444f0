#include <catch2/catch.hpp>
#include <cstring>

#include "backends/cpu/tile/builder.h"
#include "backends/cpu/tile/evaluator.h"
#include "backends/cpu/tile/verifier.h"

namespace hlo::cpu::tile {
namespace {

std::optional<AccessFault> Evaluate(const Kernel& kernel, absl::Span<void* const> buffers) {
  const absl::StatusOr<Evaluation> evaluation = Evaluation::Make(kernel);
  REQUIRE(evaluation.ok());
  Watch watch(kernel, buffers.data(), nullptr);
  evaluation->Run(buffers.data(), 0, 1, nullptr, watch);
  return watch.fault();
}

// out[i] = x[i] + 1 for 16 elements in steps of 8, and the sum of x in out[16].
Kernel SumAndIncrement() {
  Kernel kernel;
  TileBuilder b(&kernel);
  const int x = b.AddBuffer(BufferKind::kArgument, ElementType::kS32, 16);
  const int out = b.AddBuffer(BufferKind::kArgument, ElementType::kS32, 17, /*written=*/true);
  const Value zero = b.Splat(b.Constant(ElementType::kS32, {0, 0}), 8);
  const Value first = b.Index(0), end = b.Index(16);
  const Values loop = b.BeginLoop(first, end, 8, {zero});
  const Value v = b.Load(x, loop[0], 8);
  const Value one = b.Constant(ElementType::kS32, {1, 0});
  b.Store(out, loop[0], b.Element(Opcode::kAdd, ElementType::kS32, {v, one}));
  Value sum = b.EndLoop({b.Element(Opcode::kAdd, ElementType::kS32, {loop[1], v})})[0];
  for (int half = 4; half > 0; half /= 2) {
    std::vector<int16_t> low, high;
    for (int lane = 0; lane < half; ++lane) {
      low.push_back(static_cast<int16_t>(lane));
      high.push_back(static_cast<int16_t>(half + lane));
    }
    const Value a = b.Shuffle(sum, sum, low), c = b.Shuffle(sum, sum, high);
    sum = b.Element(Opcode::kAdd, ElementType::kS32, {a, c});
  }
  b.Store(out, end, sum);
  return kernel;
}

TEST_CASE("a kernel prints as text", "[tile][printer]") {
  CHECK(SumAndIncrement().ToString() == R"(kernel(b0: s32[16], b1: s32[17] write) tasks [%0, %1)
  %2:s32 = constant 0
  %3:s32x8 = splat %2
  %4:s64 = constant 0
  %5:s64 = constant 16
  %9:s32 = constant 1
  %10:s32x8 = splat %9
  %13:s32x8 = loop %6 = %4 to %5 step 8 carry %7 = %3 {
    %8:s32x8 = load b0[%6]
    %11:s32x8 = add %8, %10
    store b1[%6], %11
    %12:s32x8 = add %7, %8
  } yield %12
  %14:s32x4 = shuffle %13, %13 [0 1 2 3]
  %15:s32x4 = shuffle %13, %13 [4 5 6 7]
  %16:s32x4 = add %14, %15
  %17:s32x2 = shuffle %16, %16 [0 1]
  %18:s32x2 = shuffle %16, %16 [2 3]
  %19:s32x2 = add %17, %18
  %20:s32 = shuffle %19, %19 [0]
  %21:s32 = shuffle %19, %19 [1]
  %22:s32 = add %20, %21
  store b1[%5], %22
)");
}

TEST_CASE("the evaluator runs loops with carried values", "[tile][evaluator]") {
  const Kernel kernel = SumAndIncrement();
  REQUIRE(Verify(kernel).ok());
  int32_t x[16], out[17];
  for (int i = 0; i < 16; ++i) x[i] = i * i;
  void* const buffers[] = {x, out};
  REQUIRE_FALSE(Evaluate(kernel, buffers));
  CHECK(out[5] == 26);
  CHECK(out[15] == 226);
  CHECK(out[16] == 1240);
}

TEST_CASE("the evaluator finds accesses outside of a buffer", "[tile][evaluator]") {
  Kernel kernel = SumAndIncrement();
  kernel.buffers[1].elements = 16;
  int32_t x[16] = {}, out[17] = {};
  void* const buffers[] = {x, out};
  const std::optional<AccessFault> fault = Evaluate(kernel, buffers);
  REQUIRE(fault);
  CHECK(fault->problem == AccessProblem::kOutside);
  CHECK(fault->index == 16);
  CHECK(kernel.nodes[static_cast<size_t>(fault->node)].op == Op::kStore);
}

TEST_CASE("the verifier finds broken kernels", "[tile][verifier]") {
  const auto message = [](const Kernel& kernel) { return std::string(Verify(kernel).message()); };
  Kernel read_only = SumAndIncrement();
  read_only.buffers[1].written = false;
  CHECK(message(read_only).find("store to b1, which is only read") != std::string::npos);

  Kernel early = SumAndIncrement();
  std::swap(early.blocks[0].nodes.front(), early.blocks[0].nodes.back());
  CHECK(message(early).find("before its definition") != std::string::npos);

  Kernel lanes = SumAndIncrement();
  lanes.values[11].type.lanes = 4;
  CHECK(message(lanes).find("has 4 lanes and operand 0 has 8") != std::string::npos);

  Kernel carried = SumAndIncrement();
  carried.blocks[1].yields.clear();
  CHECK(message(carried).find("a loop carries 1 values and yields 0") != std::string::npos);
}

TEST_CASE(
    "the builder moves code out of loops, but not out of branches, and makes equal nodes once",
    "[tile][builder]") {
  Kernel kernel;
  TileBuilder b(&kernel);
  const int x = b.AddBuffer(BufferKind::kArgument, ElementType::kF32, 64);
  const int out = b.AddBuffer(BufferKind::kArgument, ElementType::kF32, 64, /*written=*/true);
  const Values loop = b.BeginLoop(b.begin(), b.end(), 1);
  const Value fixed = b.Load(x, b.Index(3));
  CHECK(b.DepthOf(fixed) == 0);
  CHECK(b.Load(x, b.Index(3)) == fixed);
  CHECK(b.Load(out, b.Index(3)) != b.Load(out, b.Index(3)));  // it may have been written between
  const Value varying = b.Load(x, loop[0]);
  CHECK(b.DepthOf(varying) == 1);
  b.BeginIf(b.Less(loop[0], b.Index(5)));
  const Value inside = b.Load(x, b.Index(7));
  CHECK(b.DepthOf(inside) == 2);
  b.Else({inside});
  CHECK_FALSE(b.IsVisible(inside));
  const Value chosen = b.EndIf({varying})[0];
  b.Store(out, loop[0], chosen);
  b.EndLoop();
  CHECK(Verify(kernel).ok());
}

TEST_CASE("equal kernels have equal keys, different ones have not", "[tile][key]") {
  Kernel other = SumAndIncrement();
  CHECK(SumAndIncrement().Key() == other.Key());
  other.nodes[0].bits[0] = 7;
  CHECK(SumAndIncrement().Key() != other.Key());
}

}  // namespace
}  // namespace hlo::cpu::tile
