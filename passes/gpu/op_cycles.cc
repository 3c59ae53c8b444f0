#include "passes/gpu/op_cycles.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "lib/analysis/operations.h"
#include "lib/ir/computation.h"
#include "passes/fusion/fusion_target.h"
#include "passes/gpu/kernel_work.h"

namespace hlo {
namespace {

constexpr double kFewCycles = 3;
// A thread compares its index and branches.
constexpr double kConcatenateCycles = 6;
// Threads of a warp that read other operands wait for each other; XLA's number, which keeps what is
// expensive from being fused into such a concatenation.
constexpr double kDivergentCycles = 400;

enum Column : uint8_t {
  kShort,
  kWord,
  kLong,
  kHalf,
  kFloat,
  kDouble,
  kComplexFloat,
  kComplexDouble,
  kColumns
};

Column ColumnOf(ElementType type) {
  const int bits = BitWidth(type);
  if (IsComplex(type)) return bits > 64 ? kComplexDouble : kComplexFloat;
  if (IsFloat(type)) return bits < 32 ? kHalf : bits == 32 ? kFloat : kDouble;
  return bits < 32 ? kShort : bits == 32 ? kWord : kLong;
}

struct Row {
  Opcode opcode;
  std::array<int, kColumns> cycles;  // 0: not measured
};
constexpr Row kMeasured[] = {
    //                  s8,s16  s32  s64  f16  f32   f64   c64   c128
    {Opcode::kAdd, {0, 0, 0, 7, 7, 15, 7, 15}},
    {Opcode::kAtan2, {0, 0, 0, 451, 431, 930, 6462, 13131}},
    {Opcode::kCbrt, {0, 0, 0, 201, 178, 586, 0, 0}},
    {Opcode::kCos, {0, 0, 0, 997, 978, 558, 2415, 1750}},
    {Opcode::kDivide, {356, 297, 685, 43, 19, 526, 498, 2280}},
    {Opcode::kExp, {0, 0, 0, 102, 79, 376, 641, 1342}},
    {Opcode::kExpm1, {0, 0, 0, 217, 190, 712, 2055, 1275}},
    {Opcode::kLog, {0, 0, 0, 182, 166, 815, 756, 2455}},
    {Opcode::kLog1p, {0, 0, 0, 245, 229, 1259, 633, 2403}},
    {Opcode::kMultiply, {7, 3, 11, 7, 3, 15, 79, 39}},
    {Opcode::kPower, {122, 71, 253, 526, 510, 2205, 5532, 8363}},
    {Opcode::kRsqrt, {0, 0, 0, 95, 75, 277, 3148, 5500}},
    {Opcode::kSin, {0, 0, 0, 993, 958, 554, 2324, 1999}},
    {Opcode::kSqrt, {0, 0, 0, 95, 75, 332, 4344, 6636}},
    {Opcode::kSubtract, {0, 0, 0, 7, 7, 15, 7, 15}},
    {Opcode::kTanh, {0, 0, 0, 502, 467, 431, 2379, 4613}},
};

// What stands for operations that were not measured.
Opcode MeasuredFor(Opcode opcode) {
  if (opcode == Opcode::kRemainder) return Opcode::kDivide;
  const bool is_measured = std::any_of(std::begin(kMeasured), std::end(kMeasured),
                                       [&](const Row& row) { return row.opcode == opcode; });
  return !is_measured && HasTrait(opcode, kTranscendental) ? Opcode::kTanh : opcode;
}

// Of a computation that is applied to elements.
double CyclesOfBody(const Computation& body) {
  double cycles = 0;
  for (const Instruction* i : body.instructions()) {
    if (i->operand_count() > 0 && i->opcode() != Opcode::kTuple) cycles += CyclesOfElement(*i);
  }
  return cycles;
}

double CyclesOfConcatenate(const Instruction& x) {
  const auto dim = static_cast<int>(x.attrs<ConcatenateAttrs>().dimensions.value);
  const bool diverges = dim != 0 && absl::c_any_of(x.operand_shapes(), [dim](Shape shape) {
                          return shape.dim(dim) % kThreadsOfWarp != 0;
                        });
  return (diverges ? kDivergentCycles : kConcatenateCycles) * ElementsIn(x.shape());
}

}  // namespace

double CyclesOfElement(const Instruction& operation) {
  const Opcode opcode = MeasuredFor(operation.opcode());
  const auto* const row = std::find_if(std::begin(kMeasured), std::end(kMeasured),
                                       [&](const Row& r) { return r.opcode == opcode; });
  const Shape result = FirstArray(operation.shape());
  if (row == std::end(kMeasured) || !result.IsArray()) return kFewCycles;
  const int cycles = row->cycles[ColumnOf(result.element_type())];
  return cycles > 0 ? cycles : kFewCycles;
}

double CyclesOf(const Instruction& x) {
  if (x.opcode() == Opcode::kConcatenate) return CyclesOfConcatenate(x);
  if (IsProduct(x.opcode())) return OperationsOf(x, {}).flops;
  if (AppliesComputations(x)) {
    std::vector<Cost> applied;
    for (const Computation* body : x.calls()) applied.push_back({.flops = CyclesOfBody(*body)});
    return OperationsOf(x, applied).flops;
  }
  const bool computes = ReadsInPlace(x) && x.opcode() != Opcode::kCopy && x.operand_count() > 0 &&
                        x.opcode() != Opcode::kTuple && x.opcode() != Opcode::kGetTupleElement;
  return computes ? CyclesOfElement(x) * ElementsIn(x.shape()) : 0;
}

}  // namespace hlo
