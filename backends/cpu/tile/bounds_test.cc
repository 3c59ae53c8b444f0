#include "backends/cpu/tile/bounds.h"

#include <catch2/catch.hpp>

#include "backends/cpu/tile/builder.h"

namespace hlo::cpu::tile {
namespace {

constexpr ElementType kF32 = ElementType::kF32;

// The proofs of a kernel's accesses, in order: '+' inside, '?' unknown, '-' outside.
std::string Proofs(const Kernel& kernel, int64_t task_count = 1) {
  std::string text;
  for (const AccessProof proof : ProveAccesses(kernel, task_count)) {
    if (proof == AccessProof::kInside) text += '+';
    if (proof == AccessProof::kUnknown) text += '?';
    if (proof == AccessProof::kOutside) text += '-';
  }
  return text;
}

struct OneBuffer {
  explicit OneBuffer(int64_t elements)
      : b(&kernel), buffer(b.AddBuffer(BufferKind::kArgument, kF32, elements)) {}
  Kernel kernel;
  TileBuilder b;
  int buffer;
};

TEST_CASE("constant indices are inside or outside", "[tile][bounds]") {
  OneBuffer k(16);
  k.b.Load(k.buffer, k.b.Index(0), 16);
  k.b.Load(k.buffer, k.b.Index(1), 16);  // the last lane is beyond, the others are not
  k.b.Load(k.buffer, k.b.Index(15));
  k.b.Load(k.buffer, k.b.Index(16));
  k.b.Load(k.buffer, k.b.Index(-1));
  k.b.Load(k.buffer, k.b.Index(15), 16, -1);
  k.b.Load(k.buffer, k.b.Index(14), 16, -1);
  CHECK(Proofs(k.kernel) == "+?+--+?");
}

TEST_CASE("loops run in whole steps below their end", "[tile][bounds]") {
  const auto loop = [](int64_t elements, int64_t end, int64_t step, int lanes) {
    OneBuffer k(elements);
    const Values index = k.b.BeginLoop(k.b.Index(0), k.b.Index(end), step);
    k.b.Load(k.buffer, index[0], lanes);
    k.b.EndLoop();
    return Proofs(k.kernel);
  };
  CHECK(loop(64, 64, 8, 8) == "+");
  CHECK(loop(63, 64, 8, 8) == "?");
  CHECK(loop(64, 60, 8, 8) ==
        "?");  // 60 is no multiple of 8: the index ends at 56, or so it may seem
  CHECK(loop(64, 64, 1, 1) == "+");
  CHECK(loop(64, 65, 1, 1) == "?");
}

// As the loop family cuts a range between tasks: vectors, then what is left.
std::string Tasks(int64_t elements, int64_t size, int64_t chunk, int64_t tasks) {
  OneBuffer k(elements);
  TileBuilder& b = k.b;
  const Value lo = b.Scale(b.begin(), chunk);
  const Value hi = b.Min(b.Scale(b.end(), chunk), b.Index(size));
  const Value length = b.Max(b.Sub(hi, lo), b.Index(0));
  const Value end = b.Sub(b.Add(lo, length), b.Rem(length, 8));
  const Values vectors = b.BeginLoop(lo, end, 8);
  b.Load(k.buffer, vectors[0], 8);
  b.EndLoop();
  const Values rest = b.BeginLoop(end, hi, 1);
  b.Load(k.buffer, rest[0]);
  b.EndLoop();
  return Proofs(k.kernel, tasks);
}

TEST_CASE("tasks that share a range stay inside of it", "[tile][bounds]") {
  CHECK(Tasks(1000, 1000, 256, 4) == "++");
  CHECK(Tasks(999, 1000, 256, 4) == "??");
  CHECK(Tasks(4096, 1 << 20, 1024, 4) == "++");  // there are only four tasks
}

TEST_CASE("quotients and remainders of an index", "[tile][bounds]") {
  const auto split = [](int64_t rows, int64_t columns, int64_t end) {
    OneBuffer k(rows * columns);
    const Values index = k.b.BeginLoop(k.b.Index(0), k.b.Index(end), 1);
    // Transposed: row and column change places.
    const Value at = k.b.Add(k.b.Scale(k.b.Rem(index[0], rows), columns), k.b.Div(index[0], rows));
    k.b.Load(k.buffer, at);
    k.b.EndLoop();
    return Proofs(k.kernel);
  };
  CHECK(split(5, 7, 35) == "+");
  CHECK(split(5, 7, 36) == "?");
}

TEST_CASE("values read from memory count by their limits", "[tile][bounds]") {
  OneBuffer k(10);
  const int starts = k.b.AddBuffer(BufferKind::kArgument, ElementType::kS32, 1);
  const Value start = k.b.Convert(k.b.Load(starts, k.b.Index(0)), ElementType::kS64);
  k.b.Load(k.buffer, start);
  k.b.Load(k.buffer, k.b.Min(k.b.Max(start, k.b.Index(0)), k.b.Index(6)), 4);
  k.b.Load(k.buffer, k.b.Min(start, k.b.Index(6)), 4);
  CHECK(Proofs(k.kernel) == "+?+?");
}

TEST_CASE("branches and masks count as facts", "[tile][bounds]") {
  OneBuffer k(5);
  TileBuilder& b = k.b;
  const Values index = b.BeginLoop(b.Index(0), b.Index(8), 1);
  b.BeginIf(b.And(b.LessEq(b.Index(2), index[0]), b.Less(index[0], b.Index(7))));
  const Value inside = b.Load(k.buffer, b.Offset(index[0], -2));
  b.Else({inside});
  const Value zero = b.Constant(kF32, {0, 0});
  b.EndIf({zero});
  b.EndLoop();
  const Value lanes = b.Add(b.Splat(b.Index(-1), 8), b.Iota(8));
  const Value mask = b.And(b.LessEq(b.Index(0), lanes), b.Less(lanes, b.Index(5)));
  b.LoadMasked(k.buffer, b.Index(-1), 8, 1, mask, zero);
  b.LoadMasked(k.buffer, b.Index(0), 8, 1, mask, zero);
  CHECK(Proofs(k.kernel) == "++?");
}

}  // namespace
}  // namespace hlo::cpu::tile
