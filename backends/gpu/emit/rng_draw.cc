// rng: the numbers of lib/eval/eval_rng.cc. Word i of a stream of its own is element i (normal: words
// 2 i and 2 i + 1); a thread makes one block of two words.
#include <numbers>

#include "backends/gpu/emit/frame.h"
#include "backends/gpu/emit/random_words.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

class DrawEmission {
 public:
  DrawEmission(const Instruction& rng, const Frame& frame, FusedEmitter& emitter)
      : rng_(rng),
        frame_(frame),
        emitter_(emitter),
        k_(emitter.kernel()),
        b_(k_.b()),
        type_(rng.shape().element_type()) {}

  // Integers: the instruction's number, the key, draws before this one.
  absl::Status Emit() {
    const bool is_normal = rng_.attrs<RngAttrs>().distribution == RngDistribution::kNormal;
    const int64_t count = rng_.shape().element_count();
    llvm::Value* const thread =
        k_.Add(k_.Scale(k_.BlockIndex(), k_.block_threads()), k_.ThreadIndex());
    return k_.If(k_.Less(thread, k_.Index(Threads(rng_))), [&]() -> absl::Status {
      const RandomWords words(b_);
      const auto [low, high] = words.Advance(b_.CreateShl(k_.WideInteger(2), 32), k_.WideInteger(0),
                                             b_.CreateZExtOrTrunc(thread, b_.getInt64Ty()));
      const std::array<Word, 4> x = words.Philox(low, high, k_.WideInteger(1));
      Word const first = words.Join(x[0], x[1]), second = words.Join(x[2], x[3]);
      ASSIGN_OR_RETURN(const Emitted a, emitter_.Emit(rng_.operand(0), ArrayIndex()));
      ASSIGN_OR_RETURN(const Emitted c, emitter_.Emit(rng_.operand(1), ArrayIndex()));
      if (is_normal) {
        Store(thread, Normal(first, second, a, c));
        return absl::OkStatus();
      }
      llvm::Value* const place = k_.Scale(thread, 2);
      Store(place, Uniform(first, a, c));
      return k_.If(k_.Less(k_.Offset(place, 1), k_.Index(count)), [&] {
        Store(k_.Offset(place, 1), Uniform(second, a, c));
        return absl::OkStatus();
      });
    });
  }

  static int64_t Threads(const Instruction& rng) {
    const bool is_normal = rng.attrs<RngAttrs>().distribution == RngDistribution::kNormal;
    return is_normal ? rng.shape().element_count() : CeilDiv(rng.shape().element_count(), 2);
  }

 private:
  void Store(llvm::Value* place, const Emitted& value) {
    k_.Store(frame_.outputs[0].buffer, place, value);
  }
  llvm::Value* Wide(const Emitted& x) {
    return emitter_.Convert(x, type_, ElementType::kF64).value;
  }
  Emitted Narrow(llvm::Value* x) {
    return emitter_.Convert({x, nullptr}, ElementType::kF64, type_);
  }
  llvm::Value* Number(double x) { return llvm::ConstantFP::get(b_.getDoubleTy(), x); }

  // In [0, 1): 23 bits for types up to f32, which stay below 1 when they are rounded.
  llvm::Value* Unit(Word word) {
    const int bits = type_ == ElementType::kF64 ? 52 : 23;
    llvm::Value* const number =
        b_.CreateUIToFP(b_.CreateLShr(word, static_cast<uint64_t>(64 - bits)), b_.getDoubleTy());
    return b_.CreateFMul(number, Number(1.0 / static_cast<double>(int64_t{1} << bits)));
  }

  Emitted Uniform(Word word, const Emitted& a, const Emitted& c) {
    if (IsFloat(type_)) {
      llvm::Value* const low = Wide(a);
      llvm::Value* const range = b_.CreateFSub(Wide(c), low);
      return Narrow(b_.CreateFAdd(b_.CreateFMul(Unit(word), range), low));
    }
    // low + word % (high - low) in 64 bits; an empty range gives low.
    const auto wide = [this](const Emitted& x) {
      const ElementType to = IsSigned(type_) ? ElementType::kS64 : ElementType::kU64;
      return emitter_.Convert(x, type_, to).value;
    };
    llvm::Value* const low = wide(a);
    llvm::Value* const range = b_.CreateSub(wide(c), low);
    llvm::Value* const is_empty = b_.CreateICmpEQ(range, b_.getInt64(0));
    llvm::Value* const some = b_.CreateSelect(is_empty, b_.getInt64(1), range);
    llvm::Value* const step = b_.CreateURem(word, some);
    const ElementType from = IsSigned(type_) ? ElementType::kS64 : ElementType::kU64;
    return emitter_.Convert({b_.CreateAdd(low, step), nullptr}, from, type_);
  }

  // Box and Muller.
  Emitted Normal(Word first, Word second, const Emitted& mean, const Emitted& deviation) {
    const auto of = [this](Opcode opcode, llvm::Value* x) {
      return emitter_.Element(opcode, ElementType::kF64, {ElementType::kF64}, {{x, nullptr}}).value;
    };
    llvm::Value* const least = Number(1e-7);
    llvm::Value* const u = Unit(first);
    llvm::Value* const positive = b_.CreateSelect(b_.CreateFCmpOLT(u, least), least, u);
    llvm::Value* const radius =
        of(Opcode::kSqrt, b_.CreateFMul(Number(-2), of(Opcode::kLog, positive)));
    llvm::Value* const sine =
        of(Opcode::kSin, b_.CreateFMul(Number(2 * std::numbers::pi), Unit(second)));
    llvm::Value* const scaled = b_.CreateFMul(b_.CreateFMul(Wide(deviation), radius), sine);
    return Narrow(b_.CreateFAdd(Wide(mean), scaled));
  }

  const Instruction& rng_;
  const Frame& frame_;
  FusedEmitter& emitter_;
  KernelBuilder& k_;
  llvm::IRBuilder<>& b_;
  ElementType type_;
};

}  // namespace

Decision CanDraw(const Instruction& rng) {
  const ElementType type = rng.shape().element_type();
  const bool is_normal = rng.attrs<RngAttrs>().distribution == RngDistribution::kNormal;
  if (rng.shape().has_dynamic_dims() || IsComplex(type) || (is_normal && !IsFloat(type)))
    return No("it makes {} with distribution {}", rng.shape(),
              Text(rng.attrs<RngAttrs>().distribution));
  return Yes();
}

absl::Status EmitRng(const Instruction& rng, const Frame& frame, KernelPlan& plan) {
  plan.family = "rng";
  if (rng.shape().element_count() == 0) return absl::OkStatus();
  constexpr int kThreads = 128;
  constexpr PlanStep::Late kLate = PlanStep::Late::kDraw;
  const auto body = [&](FusedEmitter& emitter, KernelBuilder&) {
    return DrawEmission(rng, frame, emitter).Emit();
  };
  ASSIGN_OR_RETURN(const int kernel,
                   AddKernel(frame, kThreads, 1 + LateIntegers(kLate), plan, body));
  const int64_t blocks = CeilDiv(DrawEmission::Threads(rng), kThreads);
  AddLaunch(frame, kernel, blocks, kThreads, {static_cast<int64_t>(rng.id())}, plan).late = kLate;
  return absl::OkStatus();
}

}  // namespace hlo::gpu
