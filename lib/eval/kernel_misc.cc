// Kernels of pred, comparison and selection, and the choice of a kernel by compute type.
#include "lib/eval/kernel_templates.h"

namespace hlo {
namespace {

template <Opcode kOp>
void PredKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  const bool* x = Input<bool>(in, 0);
  const bool* y = Input<bool>(in, 1);
  bool* z = Output<bool>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = scalar::Pred<kOp>(x[i], y[i]);
}
void PredNotKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  const bool* x = Input<bool>(in, 0);
  bool* z = Output<bool>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = math::Not(x[i]);
}
void PredClampKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  const bool* low = Input<bool>(in, 0);
  const bool* x = Input<bool>(in, 1);
  const bool* high = Input<bool>(in, 2);
  bool* z = Output<bool>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = scalar::ClampPred(low[i], x[i], high[i]);
}

template <class T, ComparisonDirection kDirection, bool kTotalOrder>
void CompareKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  const T* x = Input<T>(in, 0);
  const T* y = Input<T>(in, 1);
  bool* z = Output<bool>(out);
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      z[i] = scalar::ComparePredAs<kDirection>(x[i], y[i]);
    } else if constexpr (kTotalOrder) {
      z[i] = scalar::CompareAs<kDirection>(math::TotalOrderKey(x[i]), math::TotalOrderKey(y[i]));
    } else {
      z[i] = scalar::CompareAs<kDirection>(x[i], y[i]);
    }
  }
}

template <class T, ComparisonDirection kDirection>
void CompareComplexKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  const T* x = Input<T>(in, 0);
  const T* y = Input<T>(in, 1);
  bool* z = Output<bool>(out);
  for (int64_t i = 0; i < count; ++i) {
    z[i] = scalar::CompareComplex(kDirection, math::Complex<T>{x[2 * i], x[2 * i + 1]},
                                  math::Complex<T>{y[2 * i], y[2 * i + 1]});
  }
}

template <class T, bool kTotalOrder = false>
ElementwiseKernel FindCompareKernelOf(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kEq: return CompareKernel<T, ComparisonDirection::kEq, kTotalOrder>;
    case ComparisonDirection::kNe: return CompareKernel<T, ComparisonDirection::kNe, kTotalOrder>;
    case ComparisonDirection::kGe: return CompareKernel<T, ComparisonDirection::kGe, kTotalOrder>;
    case ComparisonDirection::kGt: return CompareKernel<T, ComparisonDirection::kGt, kTotalOrder>;
    case ComparisonDirection::kLe: return CompareKernel<T, ComparisonDirection::kLe, kTotalOrder>;
    case ComparisonDirection::kLt: return CompareKernel<T, ComparisonDirection::kLt, kTotalOrder>;
  }
  return nullptr;
}

template <class T>
ElementwiseKernel FindComplexCompareKernelOf(ComparisonDirection direction) {
  if (direction == ComparisonDirection::kEq)
    return CompareComplexKernel<T, ComparisonDirection::kEq>;
  if (direction == ComparisonDirection::kNe)
    return CompareComplexKernel<T, ComparisonDirection::kNe>;
  return nullptr;
}

struct SixteenBytes {
  uint64_t low, high;
};
template <class T>
void SelectKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  const bool* mask = Input<bool>(in, 0);
  const T* x = Input<T>(in, 1);
  const T* y = Input<T>(in, 2);
  T* z = Output<T>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = mask[i] ? x[i] : y[i];
}

}  // namespace

ElementwiseKernel FindPredKernel(Opcode opcode, int arity) {
#define HLO_KERNEL_CASE(Op, meaning) \
  if (opcode == Opcode::k##Op && arity == 2) return PredKernel<Opcode::k##Op>;
  HLO_SCALAR_PRED_BINARY(HLO_KERNEL_CASE)
#undef HLO_KERNEL_CASE
  if (opcode == Opcode::kNot) return PredNotKernel;
  if (opcode == Opcode::kClamp) return PredClampKernel;
  return nullptr;
}

ElementwiseKernel FindCompareKernel(ComparisonDirection direction, ComparisonType order,
                                    ElementType type) {
  const int bytes = ByteSize(type);
  const bool total = order == ComparisonType::kTotalOrder;
  if (IsPred(type)) return FindCompareKernelOf<bool>(direction);
  if (type == ElementType::kF64) {
    return total ? FindCompareKernelOf<double, true>(direction)
                 : FindCompareKernelOf<double>(direction);
  }
  if (IsFloat(type)) {
    return total ? FindCompareKernelOf<float, true>(direction)
                 : FindCompareKernelOf<float>(direction);
  }
  if (type == ElementType::kC64) return FindComplexCompareKernelOf<float>(direction);
  if (type == ElementType::kC128) return FindComplexCompareKernelOf<double>(direction);
  if (IsSigned(type)) {
    if (bytes == 1) return FindCompareKernelOf<int8_t>(direction);
    if (bytes == 2) return FindCompareKernelOf<int16_t>(direction);
    return bytes == 4 ? FindCompareKernelOf<int32_t>(direction)
                      : FindCompareKernelOf<int64_t>(direction);
  }
  if (bytes == 1) return FindCompareKernelOf<uint8_t>(direction);
  if (bytes == 2) return FindCompareKernelOf<uint16_t>(direction);
  return bytes == 4 ? FindCompareKernelOf<uint32_t>(direction)
                    : FindCompareKernelOf<uint64_t>(direction);
}

ElementwiseKernel FindSelectKernel(int bytes) {
  if (bytes == 1) return SelectKernel<uint8_t>;
  if (bytes == 2) return SelectKernel<uint16_t>;
  if (bytes == 4) return SelectKernel<uint32_t>;
  if (bytes == 8) return SelectKernel<uint64_t>;
  return SelectKernel<SixteenBytes>;
}

ElementwiseKernel FindKernel(Opcode opcode, int arity, ElementType type) {
  if (IsPred(type)) return FindPredKernel(opcode, arity);
  if (IsSigned(type)) return FindSignedKernel(opcode, arity, ByteSize(type));
  if (IsUnsigned(type))
    return opcode == Opcode::kAbs ? nullptr : FindUnsignedKernel(opcode, arity, ByteSize(type));
  if (type == ElementType::kC64) return FindC64Kernel(opcode, arity);
  if (type == ElementType::kC128) return FindC128Kernel(opcode, arity);
  if (opcode == Opcode::kComplex) {
    return type == ElementType::kF64 ? FindC128Kernel(opcode, arity) : FindC64Kernel(opcode, arity);
  }
  return type == ElementType::kF64 ? FindF64Kernel(opcode, arity) : FindF32Kernel(opcode, arity);
}

}  // namespace hlo
