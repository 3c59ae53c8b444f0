// rng: the numbers of lib/eval/eval_rng.cc. Word i of a stream of its own is element i (normal:
// words 2 i and 2 i + 1); a thread makes one block of two words.
#include "backends/gpu/emit/core/frame.h"
#include "backends/llvm/value.h"
#include "lib/math/random.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

using Word = math::LlvmValue<uint64_t>;
using Double = math::LlvmValue<double>;

class DrawEmission {
 public:
  DrawEmission(const Instruction& rng, const GpuFrame& frame, GpuFusionEmitter& emitter)
      : rng_(rng),
        frame_(frame),
        emitter_(emitter),
        k_(emitter.kernel()),
        b_(k_.b()),
        type_(rng.shape().element_type()) {}

  // Integers: the stream, the key, draws from the stream before this one.
  absl::Status Emit() {
    const bool is_normal = rng_.attrs<RngAttrs>().distribution == RngDistribution::kNormal;
    const int64_t count = rng_.shape().element_count();
    llvm::Value* const thread =
        k_.Add(k_.Scale(k_.BlockIndex(), k_.block_threads()), k_.ThreadIndex());
    return k_.If(k_.Less(thread, k_.Index(Threads(rng_))), [&]() -> absl::Status {
      const auto [low, high] =
          math::Advance(math::Shl(Argument(2), 32), Argument(0),
                        Word{&b_, b_.CreateZExtOrTrunc(thread, b_.getInt64Ty())});
      const auto x = math::PhiloxBlock(low, high, Argument(1));
      const Word first = math::JoinWord(x[0], x[1]), second = math::JoinWord(x[2], x[3]);
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
  Word Argument(int i) { return {&b_, k_.WideInteger(i)}; }
  Double Unit(Word word) { return math::UnitInterval(word, type_ == ElementType::kF64 ? 52 : 23); }
  Double Wide(const Emitted& x) {
    return {&b_, emitter_.Convert(x, type_, ElementType::kF64).value};
  }
  Emitted Narrow(Double x) { return emitter_.Convert({x.v, nullptr}, ElementType::kF64, type_); }

  Emitted Uniform(Word word, const Emitted& a, const Emitted& c) {
    if (IsFloat(type_)) return Narrow(math::UniformFloat(Unit(word), Wide(a), Wide(c)));
    const ElementType wide = IsSigned(type_) ? ElementType::kS64 : ElementType::kU64;
    const auto widened = [&](const Emitted& x) -> Word {
      return {&b_, emitter_.Convert(x, type_, wide).value};
    };
    const Word number = math::UniformInteger(word, widened(a), widened(c));
    return emitter_.Convert({number.v, nullptr}, wide, type_);
  }

  Emitted Normal(Word first, Word second, const Emitted& mean, const Emitted& deviation) {
    return Narrow(math::NormalFloat(Unit(first), Unit(second), Wide(mean), Wide(deviation)));
  }

  const Instruction& rng_;
  const GpuFrame& frame_;
  GpuFusionEmitter& emitter_;
  KernelBuilder& k_;
  llvm::IRBuilder<>& b_;
  ElementType type_;
};

}  // namespace

Decision TakesRng(const Instruction& rng) {
  const ElementType type = rng.shape().element_type();
  const bool is_normal = rng.attrs<RngAttrs>().distribution == RngDistribution::kNormal;
  if (rng.shape().has_dynamic_dims() || IsComplex(type) || (is_normal && !IsFloat(type)))
    return No("it makes {} with distribution {}", rng.shape(),
              Text(rng.attrs<RngAttrs>().distribution));
  return Yes();
}

absl::Status EmitRng(const FamilyRequest& request) {
  const Instruction& rng = request.root;
  const GpuFrame& frame = request.frame;
  KernelPlan& plan = request.plan;
  plan.family = "rng";
  if (rng.shape().element_count() == 0) return absl::OkStatus();
  constexpr int kThreads = 128;
  constexpr PlanStep::Late kLate = PlanStep::Late::kDraw;
  const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder&) {
    return DrawEmission(rng, frame, emitter).Emit();
  };
  ASSIGN_OR_RETURN(const int kernel,
                   AddKernel(frame, kThreads, 1 + LateIntegers(kLate), plan, body));
  const int64_t blocks = CeilDiv(DrawEmission::Threads(rng), kThreads);
  AddLaunch(frame, kernel, blocks, kThreads, {rng.attrs<RngAttrs>().stream}, plan).late = kLate;
  return absl::OkStatus();
}

}  // namespace hlo::gpu
