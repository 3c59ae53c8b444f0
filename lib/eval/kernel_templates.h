// The loops behind kernel.h, for the files that instantiate them.
#pragma once

#include "lib/eval/kernel.h"
#include "lib/eval/scalar_ops.h"

namespace hlo {

template <class T>
const T* Input(const uint8_t* const* in, int i) {
  return reinterpret_cast<const T*>(in[i]);
}
template <class T>
T* Output(uint8_t* out) {
  return reinterpret_cast<T*>(out);
}

template <class T, Opcode kOp>
void FloatUnaryKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  const T* x = Input<T>(in, 0);
  T* z = Output<T>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = scalar::Float<kOp>(x[i]);
}
template <class T, Opcode kOp>
void FloatBinaryKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  const T* x = Input<T>(in, 0);
  const T* y = Input<T>(in, 1);
  T* z = Output<T>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = scalar::Float<kOp>(x[i], y[i]);
}
template <class T>
void FloatClampKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  const T* low = Input<T>(in, 0);
  const T* x = Input<T>(in, 1);
  const T* high = Input<T>(in, 2);
  T* z = Output<T>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = math::Clamp(low[i], x[i], high[i]);
}
template <class T>
void IsFiniteKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  const T* x = Input<T>(in, 0);
  bool* z = Output<bool>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = math::IsFinite(x[i]);
}
template <class T>
void CopyKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  const T* x = Input<T>(in, 0);
  T* z = Output<T>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = x[i];
}
template <class T>
void ZeroKernel(const uint8_t* const*, uint8_t* out, int64_t count, int) {
  T* z = Output<T>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = T(0);
}

// Full-width integers take their width from the type, so that nothing is decided in the loop.
template <class T, Opcode kOp>
void IntUnaryKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int bits) {
  const T* x = Input<T>(in, 0);
  T* z = Output<T>(out);
  if (bits == scalar::kIntBits<T>) {
    for (int64_t i = 0; i < count; ++i) z[i] = scalar::IntUnaryOp<kOp>(x[i], scalar::kIntBits<T>);
  } else if constexpr (sizeof(T) == 1) {
    for (int64_t i = 0; i < count; ++i) z[i] = scalar::IntUnaryOp<kOp>(x[i], bits);
  }
}
template <class T, Opcode kOp>
void IntBinaryKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int bits) {
  const T* x = Input<T>(in, 0);
  const T* y = Input<T>(in, 1);
  T* z = Output<T>(out);
  if (bits == scalar::kIntBits<T>) {
    for (int64_t i = 0; i < count; ++i)
      z[i] = scalar::IntBinaryOp<kOp>(x[i], y[i], scalar::kIntBits<T>);
  } else if constexpr (sizeof(T) == 1) {
    for (int64_t i = 0; i < count; ++i) z[i] = scalar::IntBinaryOp<kOp>(x[i], y[i], bits);
  }
}
template <class T>
void IntClampKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  const T* low = Input<T>(in, 0);
  const T* x = Input<T>(in, 1);
  const T* high = Input<T>(in, 2);
  T* z = Output<T>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = scalar::ClampInt(low[i], x[i], high[i]);
}

// The kernels of one float type.
template <class T>
ElementwiseKernel FindFloatKernelOf(Opcode opcode, int arity) {
#define HLO_KERNEL_CASE(Op, meaning) \
  if (opcode == Opcode::k##Op && arity == 1) return FloatUnaryKernel<T, Opcode::k##Op>;
  HLO_SCALAR_FLOAT_UNARY(HLO_KERNEL_CASE)
#undef HLO_KERNEL_CASE
#define HLO_KERNEL_CASE(Op, meaning) \
  if (opcode == Opcode::k##Op && arity == 2) return FloatBinaryKernel<T, Opcode::k##Op>;
  HLO_SCALAR_FLOAT_BINARY(HLO_KERNEL_CASE)
#undef HLO_KERNEL_CASE
  if (opcode == Opcode::kIsFinite) return IsFiniteKernel<T>;
  if (opcode == Opcode::kClamp) return FloatClampKernel<T>;
  if (opcode == Opcode::kReal) return CopyKernel<T>;
  if (opcode == Opcode::kImag) return ZeroKernel<T>;
  return nullptr;
}

// The kernels of one integer type.
template <class T>
ElementwiseKernel FindIntKernelOf(Opcode opcode, int arity) {
#define HLO_KERNEL_CASE(Op, meaning) \
  if (opcode == Opcode::k##Op && arity == 1) return IntUnaryKernel<T, Opcode::k##Op>;
  HLO_SCALAR_INT_UNARY(HLO_KERNEL_CASE)
#undef HLO_KERNEL_CASE
#define HLO_KERNEL_CASE(Op, meaning) \
  if (opcode == Opcode::k##Op && arity == 2) return IntBinaryKernel<T, Opcode::k##Op>;
  HLO_SCALAR_INT_BINARY(HLO_KERNEL_CASE)
#undef HLO_KERNEL_CASE
  if (opcode == Opcode::kClamp) return IntClampKernel<T>;
  return nullptr;
}

}  // namespace hlo
