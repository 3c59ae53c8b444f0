#include "tools/fuzz/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "absl/container/flat_hash_set.h"
#include "lib/eval/evaluator.h"
#include "lib/ir/any_instruction.h"
#include "lib/ir/builder.h"
#include "lib/ops/attrs.h"
#include "lib/ops/opcode_groups.h"
#include "lib/ops/opcode_set.h"
#include "lib/types/shape_util.h"
#include "tools/fuzz/noisy_run.h"
#include "tools/fuzz/other_forms.h"
#include "tools/fuzz/random.h"
#include "tools/fuzz/rounding.h"
#include "tools/fuzz/turned_outcomes.h"
#include "tools/support/leaves.h"

namespace hlo {
namespace {

// Pairs of runs with opposite noise, so that every element moves both ways (over a branch cut,
// say), and one on a grid.
constexpr int kRuns = 7;
constexpr int kThoroughRuns = 63;
// With NaNs in random orders: integers that go with them into a sort are few and meet their equals.
constexpr int kThoroughOrders = 24;
// With zeros in some places where terms cancel and the least numbers in others.
constexpr int kThoroughMixtures = 24;
// A platform may lie this many times as far from the interpreter as the noise moved it.
constexpr double kRoom = 8;
constexpr double kLargeQuotient = 1e6;

bool IsRegionOfReducer(const Computation& computation) {
  for (const CallSite& caller : computation.callers()) {
    if (!kBodyRunners.Has(caller.caller->opcode())) return true;
  }
  return false;
}

// Where noise may come in from another computation.
bool IsBorder(const Instruction& instruction) {
  return kBodyRunners.Has(instruction.opcode()) ||
         (instruction.opcode() == Opcode::kParameter && !instruction.parent()->is_entry());
}

// Every reduction meets its elements from the other end.
void Reorder(Computation& computation) {
  std::vector<Instruction*> reductions;
  for (Instruction* instruction : computation.instructions()) {
    if (instruction->opcode() == Opcode::kReduce) reductions.push_back(instruction);
  }
  for (Instruction* reduce : reductions) {
    for (int i = 0; i < reduce->operand_count() / 2; ++i) {
      Builder b(&computation);
      Instruction* reversed =
          b.Reverse(reduce->operand(i), reduce->attrs<ReduceAttrs>().dimensions);
      if (b.status().ok()) reduce->ReplaceOperand(i, reversed);
    }
  }
}

// Where noise may vanish.
struct Meetings {
  std::vector<Instruction*> sums;         // and differences of floats
  std::vector<Instruction*> comparisons;  // of floats
};

// `choices`, and what some of them went into.
absl::flat_hash_set<const Instruction*> ReachedBy(const Computation& computation,
                                                  const std::vector<Instruction*>& choices) {
  absl::flat_hash_set<const Instruction*> reached(choices.begin(), choices.end());
  for (const Instruction* instruction : computation.SequenceOrPostOrder()) {
    if (IsBorder(*instruction)) reached.insert(instruction);
    for (const Instruction* operand : instruction->operands()) {
      if (reached.contains(operand)) reached.insert(instruction);
    }
  }
  return reached;
}

// Those that some of `choices` went into. Noise leaves little of what cancels, but hardly ever
// nothing, which a quotient or a remainder by it shows, or a test for equality.
Meetings MeetingsAfter(const Computation& computation, const std::vector<Instruction*>& choices) {
  const auto reached = ReachedBy(computation, choices);
  Meetings meetings;
  for (Instruction* instruction : computation.SequenceOrPostOrder()) {
    const bool is_sum =
        instruction->opcode() == Opcode::kAdd || instruction->opcode() == Opcode::kSubtract;
    if (!reached.contains(instruction)) continue;
    if (is_sum) meetings.sums.push_back(instruction);
    if (instruction->opcode() == Opcode::kCompare) meetings.comparisons.push_back(instruction);
  }
  return meetings;
}

// Of the instructions that `choices` went into: a function reads its operand on one side of a cut.
void TakeSides(Computation& computation, const std::vector<Instruction*>& choices, double sign) {
  constexpr OpcodeSet kHasCut = {Opcode::kLog,   Opcode::kLog1p, Opcode::kSqrt,
                                 Opcode::kRsqrt, Opcode::kCbrt,  Opcode::kPower};
  const auto reached = ReachedBy(computation, choices);
  for (Instruction* instruction : computation.PostOrder()) {
    if (!kHasCut.Has(instruction->opcode()) || !reached.contains(instruction->operand(0)) ||
        !IsComplex(instruction->operand(0)->shape().element_type()))
      continue;
    instruction->ReplaceOperand(0, BesideAxis(instruction->operand(0), sign));
  }
}

void AddNoise(Computation& computation, NoisyRun& run) {
  std::vector<Instruction*> choices;
  for (Instruction* instruction : computation.instructions()) {
    const bool has_other_bits =
        run.kind == NoisyRun::Kind::kBits &&
        (instruction->opcode() == Opcode::kBitcastConvert || MayChooseNan(*instruction));
    const bool has_other_zeros =
        run.kind == NoisyRun::Kind::kZeros && ChoosesByRegion(*instruction);
    if (has_other_bits || has_other_zeros || MayRoundOtherwise(*instruction) ||
        (run.everywhere && IsArithmetic(*instruction)))
      choices.push_back(instruction);
  }
  if (run.takes_sides) TakeSides(computation, choices, run.sign);
  Meetings meetings;
  if (run.kind == NoisyRun::Kind::kVanishing) {
    meetings = MeetingsAfter(computation, choices);
    std::erase_if(choices, [](const Instruction* i) { return IsElementwise(i->opcode()); });
    choices.insert(choices.end(), meetings.sums.begin(), meetings.sums.end());
  }
  for (Instruction* instruction : choices) {
    // A tuple as a whole: it may be a result, or go through a loop.
    const std::vector<Use> uses(instruction->uses().begin(), instruction->uses().end());
    const bool is_root = computation.root() == instruction;
    Instruction* moved = Moved(instruction, run);
    if (moved == instruction) continue;
    for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, moved);
    if (is_root) computation.set_root(moved);
  }
  for (Instruction* comparison : meetings.comparisons)
    comparison->ReplaceOperand(0, Met(comparison->operand(0), comparison->operand(1), run));
}

bool SameNumber(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Whether an operation reads or writes denormals as zeros is its platform's business.
double Normal(double x, ElementType type) { return std::abs(x) < SmallestNormal(type) ? 0 : x; }

std::complex<double> At(const Literal& array, int64_t i) {
  const ElementType type = array.element_type();
  if (IsComplex(type)) {
    const std::complex<double> value = array.GetComplex(i);
    return {Normal(value.real(), type), Normal(value.imag(), type)};
  }
  if (IsFloat(type)) return Normal(array.GetDouble(i), type);
  return static_cast<double>(array.GetInt(i));
}

bool Same(std::complex<double> a, std::complex<double> b) {
  return SameNumber(a.real(), b.real()) && SameNumber(a.imag(), b.imag());
}

bool SameBits(const Literal& a, const Literal& b, int64_t i) {
  if (!IsFloat(ComponentType(a.element_type()))) return a.GetInt(i) == b.GetInt(i);
  return Same(At(a, i), At(b, i));
}

bool SameAll(const Literal& a, const Literal& b) {
  for (int64_t i = 0; i < a.element_count(); ++i) {
    if (!SameBits(a, b, i)) return false;
  }
  return true;
}

// Whether noise moves any element.
bool Moves(const Literal& expected, const std::vector<Literal>& noisy) {
  return !std::all_of(noisy.begin(), noisy.end(),
                      [&](const Literal& run) { return SameAll(run, expected); });
}

// Scales that fall below the smallest become it, or, where they meet in another order, NaN; so do
// the smallest ones themselves, which as f32 are denormals and may be flushed to zero.
bool FallsBelowScales(std::complex<double> a, std::complex<double> b, ElementType type) {
  constexpr double kSmall = 0x1p-125;
  return type == ElementType::kF8E8M0FNU && ((std::isnan(a.real()) && b.real() <= kSmall) ||
                                             (std::isnan(b.real()) && a.real() <= kSmall));
}

// Whether the element may be what it is, given where noise moved it. Where noise reaches an array,
// elements that happen to stay in place have a little room as well.
bool MayBe(const Literal& actual, const Literal& expected, const Noise& noise, bool reached,
           int64_t i) {
  const std::complex<double> want = At(expected, i), got = At(actual, i);
  // Sums with infinities in another order are infinite or NaN as well.
  if (!noise.runs.empty() && !std::isfinite(std::abs(want)) && !std::isfinite(std::abs(got)))
    return true;
  if (FallsBelowScales(want, got, expected.element_type())) return true;
  const bool is_float = IsFloat(ComponentType(expected.element_type()));
  // Of the bits of what noise reaches, any may be others: few runs do not show each of them.
  if (reached && !is_float && noise.cuts_bits) return true;
  double moved = 0;
  if (reached && is_float) moved = NoiseOf(expected.element_type()) * (std::abs(want) + 1) / kRoom;
  for (const Literal& run : noise.runs) {
    if (SameBits(run, expected, i)) continue;
    // Integers, bits of something else, and what noise makes infinite or NaN, move as they like.
    if (!is_float || noise.cuts_bits) return true;
    const double distance = std::abs(At(run, i) - want);
    if (!std::isfinite(distance)) return true;
    moved = std::max(moved, distance);
  }
  // A large quotient that noise moves by half of itself has a divisor that may as well be zero.
  if (!std::isfinite(std::abs(got)) && std::abs(want) > kLargeQuotient)
    return 2 * moved > std::abs(want);
  return std::abs(got - want) <= kRoom * moved;
}

std::string ElementText(const Literal& array, int64_t i) {
  std::string out;
  AppendScalar(array, i, /*in_array=*/false, out);
  return out;
}

// The runs that show what may move in `module`.
std::vector<NoisyRun> RunsFor(const Module& module, const NoiseOptions& options) {
  const bool everywhere = options.everywhere, thorough = options.thorough;
  const int count = thorough ? kThoroughRuns : kRuns;
  std::vector<NoisyRun> runs;
  if (options.only_zeros) {
    for (const double sign : {1.0, -1.0})
      runs.push_back({NoisyRun::Kind::kZeros, FuzzRandom(1), sign, everywhere});
    return runs;
  }
  const bool varies = AnyInstruction(module, CutsBits);
  // Whether another platform may get another value out of some operation.
  const bool has_choice = AnyInstruction(module, [&](const Instruction& instruction) {
    return instruction.opcode() == Opcode::kReduce || MayRoundOtherwise(instruction) ||
           (everywhere && IsArithmetic(instruction));
  });
  if (has_choice) {
    for (int run = 0; run < count; ++run) {
      runs.push_back({run == count - 1 ? NoisyRun::Kind::kGrid : NoisyRun::Kind::kNoise,
                      FuzzRandom(static_cast<uint64_t>(run / 2) + 1), run % 2 == 0 ? 1.0 : -1.0,
                      everywhere, NoisyRun::Nans::kRandomSigns, varies});
    }
  }
  if (has_choice && thorough) {
    for (int run = 0; run < kThoroughMixtures; ++run) {
      runs.push_back({NoisyRun::Kind::kMixture, FuzzRandom(static_cast<uint64_t>(run) + 1),
                      run % 2 == 0 ? 1.0 : -1.0, everywhere, NoisyRun::Nans::kRandomSigns, varies});
    }
    for (const double sign : {1.0, -1.0}) {
      runs.push_back({.kind = NoisyRun::Kind::kGrid,
                      .random = FuzzRandom(1),
                      .sign = sign,
                      .everywhere = everywhere,
                      .signs_zeros = true});
    }
    for (const double sign : {1.0, -1.0, -1.0}) {
      runs.push_back({.kind = NoisyRun::Kind::kVanishing,
                      .random = FuzzRandom(runs.size()),
                      .sign = sign,
                      .everywhere = everywhere});
    }
    for (const double sign : {1.0, -1.0}) {
      runs.push_back({.kind = NoisyRun::Kind::kNoise,
                      .random = FuzzRandom(1),
                      .sign = sign,
                      .everywhere = everywhere,
                      .takes_sides = true});
    }
  }
  // A variance is the difference of large numbers where the mean is large; sums may cancel.
  for (int run = 0; thorough && AnyInstruction(module, IsStatistics) && run < kRuns; ++run) {
    for (const auto kind : {NoisyRun::Kind::kNoise, NoisyRun::Kind::kVanishing}) {
      runs.push_back({.kind = kind,
                      .random = FuzzRandom(static_cast<uint64_t>(run) + 1),
                      .sign = run % 2 == 0 ? 1.0 : -1.0,
                      .everywhere = true,
                      .expands = true});
    }
  }
  if (AnyInstruction(module, LooksAtBits) || AnyInstruction(module, IsScale)) {
    using Nans = NoisyRun::Nans;
    for (const Nans nans : {Nans::kAlternatingSigns, Nans::kRandomSigns, Nans::kRisingBits,
                            Nans::kFallingBits, Nans::kOneSign}) {
      for (const double sign : {1.0, -1.0})
        runs.push_back({NoisyRun::Kind::kBits, FuzzRandom(1), sign, /*everywhere=*/true, nans});
    }
    for (int run = 0; thorough && run < kThoroughOrders; ++run) {
      runs.push_back({NoisyRun::Kind::kBits, FuzzRandom(static_cast<uint64_t>(run) + 1),
                      run % 2 == 0 ? 1.0 : -1.0, /*everywhere=*/true, Nans::kRandomBits});
    }
  }
  if (thorough && AnyInstruction(module, ChoosesByRegion)) {
    for (const double sign : {1.0, -1.0})
      runs.push_back({NoisyRun::Kind::kZeros, FuzzRandom(1), sign, everywhere});
  }
  if (AnyInstruction(module, HasOtherForm))
    runs.push_back({NoisyRun::Kind::kExpanded, FuzzRandom(1), 1.0, everywhere});
  return runs;
}

absl::Status Prepare(Module& module, NoisyRun& run, bool reorders) {
  module.ClearSchedule();
  if (run.kind == NoisyRun::Kind::kExpanded) return WriteOtherForms(module);
  if (run.expands) RETURN_IF_ERROR(WriteOtherForms(module));
  const std::vector<Computation*> computations = module.computations();
  for (Computation* computation : computations) {
    if (IsRegionOfReducer(*computation)) continue;
    AddNoise(*computation, run);
    if (reorders) Reorder(*computation);
  }
  return absl::OkStatus();
}

}  // namespace

Noise NoisyRuns(const Module& module, const std::vector<Literal>& arguments,
                const NoiseOptions& options) {
  Noise noise;
  noise.cuts_bits = AnyInstruction(module, CutsBits);
  std::vector<NoisyRun> runs = RunsFor(module, options);
  EvalOptions eval;
  eval.denormals = options.denormals;
  eval.max_work = kWorkOfNoise * options.limits.max_work;
  eval.max_loop_iterations = options.limits.max_loop_iterations;
  const std::vector<std::string> turning =
      options.thorough && options.run == nullptr ? MayTurn(module) : std::vector<std::string>();
  std::vector<Literal> with_operands;
  for (NoisyRun& run : runs) {
    std::unique_ptr<Module> copy = module.Clone();
    if (!Prepare(*copy, run, options.reorders && &run == runs.data()).ok()) continue;
    if (run.kind == NoisyRun::Kind::kBits)
      eval.denormals = run.sign > 0 ? Denormals::kFlush : Denormals::kKeep;
    absl::StatusOr<Literal> result =
        !turning.empty()         ? WithOperands(std::move(copy), eval, arguments, turning)
        : options.run != nullptr ? options.run(*copy)
                                 : Evaluator(eval).Run(*copy, arguments);
    if (!result.ok()) continue;
    noise.runs.push_back(turning.empty() ? *result : result->element(0));
    if (!turning.empty() && run.kind != NoisyRun::Kind::kVanishing)
      with_operands.push_back(*std::move(result));
  }
  if (!with_operands.empty()) {
    for (const double zero : {0.0, -0.0}) {
      if (auto turned = WithTurned(module, eval, arguments, turning, with_operands, zero))
        noise.runs.push_back(*std::move(turned));
    }
  }
  return noise;
}

std::string DifferenceBeyondNoise(const Literal& actual, const Literal& expected,
                                  const Noise& noise) {
  const std::vector<Literal> got = ArrayLeaves(actual), want = ArrayLeaves(expected);
  if (got.size() != want.size()) return fmt::format("{} outputs, not {}", got.size(), want.size());
  for (size_t k = 0; k < got.size(); ++k) {
    if (!Compatible(got[k].shape(), want[k].shape()))
      return fmt::format("output {} is `{}`, not `{}`", k, got[k].shape(), want[k].shape());
    if (SameAll(got[k], want[k])) continue;
    Noise here{{}, noise.cuts_bits};
    for (const Literal& run : noise.runs) here.runs.push_back(ArrayLeaves(run)[k]);
    const bool reached = Moves(want[k], here.runs);
    int64_t wrong = 0, first = 0;
    for (int64_t i = 0; i < got[k].element_count(); ++i) {
      if (SameBits(got[k], want[k], i) || MayBe(got[k], want[k], here, reached, i)) continue;
      if (wrong++ == 0) first = i;
    }
    if (wrong == 0) continue;
    return fmt::format("output {} {}: [{}] is {}, expected {} ({} of {} elements differ)", k,
                       want[k].shape(), fmt::join(MultiIndex(first, want[k].shape().dims()), ","),
                       ElementText(got[k], first), ElementText(want[k], first), wrong,
                       got[k].element_count());
  }
  return "";
}

}  // namespace hlo
