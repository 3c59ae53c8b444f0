// Kernels of complex numbers. An element is its real part, then its imaginary part.
#pragma once

#include "lib/eval/kernel_templates.h"

namespace hlo {

template <class T, Opcode kOp>
void ComplexUnaryKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  const auto* x = Input<math::Complex<T>>(in, 0);
  auto* z = Output<math::Complex<T>>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = scalar::ComplexOp<kOp>(x[i]);
}
template <class T, Opcode kOp>
void ComplexBinaryKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  const auto* x = Input<math::Complex<T>>(in, 0);
  const auto* y = Input<math::Complex<T>>(in, 1);
  auto* z = Output<math::Complex<T>>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = scalar::ComplexOp<kOp>(x[i], y[i]);
}
// abs, real, imag.
template <class T, Opcode kOp>
void ComplexPartKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  const auto* x = Input<math::Complex<T>>(in, 0);
  T* z = Output<T>(out);
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (kOp == Opcode::kAbs) z[i] = math::Abs(x[i]);
    if constexpr (kOp == Opcode::kReal) z[i] = x[i].re;
    if constexpr (kOp == Opcode::kImag) z[i] = x[i].im;
  }
}
template <class T>
void MakeComplexKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  const T* re = Input<T>(in, 0);
  const T* im = Input<T>(in, 1);
  auto* z = Output<math::Complex<T>>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = {re[i], im[i]};
}

template <class T>
ElementwiseKernel FindComplexKernelOf(Opcode opcode, int arity) {
#define HLO_KERNEL_CASE(Op, meaning) \
  if (opcode == Opcode::k##Op && arity == 1) return ComplexUnaryKernel<T, Opcode::k##Op>;
  HLO_SCALAR_COMPLEX_UNARY(HLO_KERNEL_CASE)
#undef HLO_KERNEL_CASE
#define HLO_KERNEL_CASE(Op, meaning) \
  if (opcode == Opcode::k##Op && arity == 2) return ComplexBinaryKernel<T, Opcode::k##Op>;
  HLO_SCALAR_COMPLEX_BINARY(HLO_KERNEL_CASE)
#undef HLO_KERNEL_CASE
  if (opcode == Opcode::kAbs) return ComplexPartKernel<T, Opcode::kAbs>;
  if (opcode == Opcode::kReal) return ComplexPartKernel<T, Opcode::kReal>;
  if (opcode == Opcode::kImag) return ComplexPartKernel<T, Opcode::kImag>;
  if (opcode == Opcode::kComplex) return MakeComplexKernel<T>;
  return nullptr;
}

}  // namespace hlo
