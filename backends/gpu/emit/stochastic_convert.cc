// stochastic-convert: |x| is rounded up where the random number, as a fraction of 2^w, is below the
// fraction of |x|; what does not fit becomes the largest or smallest number, NaN becomes 0.
#include <cmath>

#include "backends/gpu/emit/frame.h"
#include "lib/support/status.h"

namespace hlo::gpu {

Decision CanRoundAtRandom(const Instruction& convert) {
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

absl::StatusOr<Emitted> FusedEmitter::EmitStochasticConvert(const Instruction* i,
                                                            const ArrayIndex& index) {
  auto& b = k_.b();
  const ElementType from = i->operand(0)->shape().element_type();
  const ElementType wide = from == ElementType::kF64 ? from : ElementType::kF32;
  const auto bits = static_cast<unsigned>(BitWidth(i->shape().element_type()));
  const int random_bits = BitWidth(i->operand(1)->shape().element_type());
  ASSIGN_OR_RETURN(const Emitted narrow, Emit(i->operand(0), index));
  ASSIGN_OR_RETURN(const Emitted random, Emit(i->operand(1), index));
  llvm::Value* const x = Convert(narrow, from, wide).value;
  llvm::Type* const type = x->getType();
  const auto number = [type](double value) { return llvm::ConstantFP::get(type, value); };
  llvm::Type* const integer = b.getIntNTy(bits);

  llvm::Value* const as_bits =
      b.CreateBitCast(x, b.getIntNTy(static_cast<unsigned>(BitWidth(wide))));
  llvm::Value* const is_negative =
      b.CreateICmpSLT(as_bits, llvm::ConstantInt::get(as_bits->getType(), 0));
  llvm::Value* const magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* const whole = b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, magnitude);
  llvm::Value* const is_nan = b.CreateFCmpUNO(x, x);
  llvm::Value* const is_large =
      b.CreateFCmpOGE(whole, number(std::ldexp(1.0, static_cast<int>(bits) - 1)));
  llvm::Value* const fits = b.CreateNot(b.CreateOr(is_nan, is_large));

  // Conversions to integers are defined for what fits alone.
  llvm::Value* const fraction = b.CreateSelect(fits, b.CreateFSub(magnitude, whole), number(0));
  llvm::Value* const threshold = b.CreateFPToUI(
      b.CreateFMul(fraction, number(std::ldexp(1.0, random_bits))), random.value->getType());
  llvm::Value* const is_up = b.CreateICmpULT(random.value, threshold);
  llvm::Value* const kept = b.CreateFPToSI(b.CreateSelect(fits, whole, number(0)), integer);
  llvm::Value* const largest =
      llvm::ConstantInt::get(integer, llvm::APInt::getSignedMaxValue(bits));
  llvm::Value* const smallest =
      llvm::ConstantInt::get(integer, llvm::APInt::getSignedMinValue(bits));
  llvm::Value* const overflows =
      b.CreateOr(is_large, b.CreateAnd(is_up, b.CreateICmpEQ(kept, largest)));
  llvm::Value* const rounded = b.CreateAdd(kept, b.CreateZExt(is_up, integer));
  llvm::Value* const with_sign = b.CreateSelect(is_negative, b.CreateNeg(rounded), rounded);
  llvm::Value* const limit = b.CreateSelect(is_negative, smallest, largest);
  llvm::Value* const result = b.CreateSelect(overflows, limit, with_sign);
  return Emitted{b.CreateSelect(is_nan, llvm::ConstantInt::get(integer, 0), result), nullptr};
}

}  // namespace hlo::gpu
