// stochastic-convert: math::StochasticConvert on the types of an instruction.
#include "backends/gpu/emit/core/frame.h"
#include "backends/llvm/value.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

// Wide is the type of x, a float; `random` and `to` are unsigned and signed integers.
template <class Wide>
llvm::Value* RoundAtRandom(math::LlvmValue<Wide> x, llvm::Value* word, ElementType random,
                           ElementType to) {
  return WithNativeType(random, [&]<class Random>() -> llvm::Value* {
    if constexpr (std::is_unsigned_v<Random> && !std::is_same_v<Random, bool>) {
      return WithNativeType(to, [&]<class To>() -> llvm::Value* {
        if constexpr (std::is_integral_v<To> && std::is_signed_v<To>)
          return math::StochasticConvert<To>(x, math::LlvmValue<Random>{x.b, word}).v;
        HLO_UNREACHABLE();
      });
    }
    HLO_UNREACHABLE();
  });
}

}  // namespace

Decision TakesStochasticConvert(const Instruction& convert) {
  const ElementType from = convert.operand(0)->shape().element_type();
  const ElementType random = convert.operand(1)->shape().element_type();
  const ElementType to = convert.shape().element_type();
  const bool is_static = !convert.shape().has_dynamic_dims() &&
                         !convert.operand(0)->shape().has_dynamic_dims() &&
                         !convert.operand(1)->shape().has_dynamic_dims();
  const bool is_wide = from == ElementType::kF64;
  if (is_static && IsFloat(from) && IsUnsigned(random) && BitWidth(random) >= 8 &&
      is_wide == (BitWidth(random) == 64) && IsSigned(to) && BitWidth(to) >= 8)
    return Yes();
  return No("it converts {} to {} by {}", Text(from), Text(to), Text(random));
}

absl::StatusOr<Emitted> GpuFusionEmitter::EmitStochasticConvert(const Instruction* i,
                                                                const ArrayIndex& index) {
  const ElementType from = i->operand(0)->shape().element_type();
  const ElementType random = i->operand(1)->shape().element_type();
  const ElementType to = i->shape().element_type();
  ASSIGN_OR_RETURN(const Emitted narrow, Emit(i->operand(0), index));
  ASSIGN_OR_RETURN(const Emitted word, Emit(i->operand(1), index));
  if (from == ElementType::kF64) {
    const math::LlvmValue<double> x = {&k_.b(), narrow.value};
    return Emitted{RoundAtRandom(x, word.value, random, to), nullptr};
  }
  const math::LlvmValue<float> x = {&k_.b(), Convert(narrow, from, ElementType::kF32).value};
  return Emitted{RoundAtRandom(x, word.value, random, to), nullptr};
}

}  // namespace hlo::gpu
