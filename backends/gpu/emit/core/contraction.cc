#include "backends/gpu/emit/core/contraction.h"

namespace hlo::gpu {

ProductSum::ProductSum(GpuFusionEmitter& emitter, ElementType lhs, ElementType rhs,
                       ElementType result)
    : emitter_(emitter), lhs_(lhs), rhs_(rhs), result_(result), type_(TypeFor(result)) {}

Emitted ProductSum::Zero() const { return emitter_.Zero(type_); }

Emitted ProductSum::Widen(const Emitted& x, ElementType from) const {
  if (IsFloat(from) || IsComplex(from) || !IsFloat(result_))
    return emitter_.Convert(x, from, type_);
  return emitter_.Convert(emitter_.Convert(x, from, result_), result_, type_);
}

Emitted ProductSum::Add(const Emitted& sum, const Emitted& a, const Emitted& b) const {
  if (IsFloat(type_)) {
    auto& builder = emitter_.kernel().b();
    llvm::Value* const value = builder.CreateIntrinsic(llvm::Intrinsic::fma, {sum.value->getType()},
                                                       {a.value, b.value, sum.value});
    return {value, nullptr};
  }
  const ElementType types[] = {type_, type_};
  const Emitted factors[] = {a, b};
  const Emitted product =
      emitter_.Element(IsPred(type_) ? Opcode::kAnd : Opcode::kMultiply, type_, types, factors);
  return Plus(sum, product);
}

Emitted ProductSum::Plus(const Emitted& a, const Emitted& b) const {
  return emitter_.Element(IsPred(type_) ? Opcode::kOr : Opcode::kAdd, type_, {type_, type_},
                          {a, b});
}

}  // namespace hlo::gpu
