// Kernels of convert between compute types. Float to integer truncates and saturates (NaN gives 0),
// integer to integer wraps, everything but zero becomes true. Complex sources give their real part;
// to pred, either part counts.
#include <complex>

#include "lib/eval/kernel_templates.h"
#include "lib/math/convert.h"

namespace hlo {
namespace {

template <class T>
inline constexpr bool kIsComplex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

template <class To, class From>
To ConvertValue(From x, int bits) {
  if constexpr (kIsComplex<To>) {
    if constexpr (kIsComplex<From>) {
      return {static_cast<typename To::value_type>(x.real()),
              static_cast<typename To::value_type>(x.imag())};
    } else {
      return {static_cast<typename To::value_type>(x), 0};
    }
  } else if constexpr (kIsComplex<From>) {
    if constexpr (std::is_same_v<To, bool>) return x.real() != 0 || x.imag() != 0;
    return ConvertValue<To>(x.real(), bits);
  } else if constexpr (std::is_same_v<To, bool> && std::is_same_v<From, bool>) {
    return x;
  } else if constexpr (std::is_same_v<To, bool>) {
    return math::NotEqual(x, From(0));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return math::FloatToInt<To>(x, bits);
  } else if constexpr (std::is_integral_v<To>) {
    return math::WrapInt(math::Cast<To>(x), bits);
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void ConvertKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int bits) {
  const From* x = Input<From>(in, 0);
  To* z = Output<To>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = ConvertValue<To>(x[i], bits);
}

template <class From>
ElementwiseKernel FindConvertKernelFrom(ElementType to) {
  if (IsPred(to)) return ConvertKernel<From, bool>;
  if (to == ElementType::kF64) return ConvertKernel<From, double>;
  if (to == ElementType::kC64) return ConvertKernel<From, std::complex<float>>;
  if (to == ElementType::kC128) return ConvertKernel<From, std::complex<double>>;
  if (IsFloat(to)) return ConvertKernel<From, float>;
  const int bytes = ByteSize(to);
  if (IsSigned(to)) {
    if (bytes == 1) return ConvertKernel<From, int8_t>;
    if (bytes == 2) return ConvertKernel<From, int16_t>;
    return bytes == 4 ? ConvertKernel<From, int32_t> : ConvertKernel<From, int64_t>;
  }
  if (bytes == 1) return ConvertKernel<From, uint8_t>;
  if (bytes == 2) return ConvertKernel<From, uint16_t>;
  return bytes == 4 ? ConvertKernel<From, uint32_t> : ConvertKernel<From, uint64_t>;
}

}  // namespace

ElementwiseKernel FindConvertKernel(ElementType from, ElementType to) {
  if (IsPred(from)) return FindConvertKernelFrom<bool>(to);
  if (from == ElementType::kF64) return FindConvertKernelFrom<double>(to);
  if (from == ElementType::kC64) return FindConvertKernelFrom<std::complex<float>>(to);
  if (from == ElementType::kC128) return FindConvertKernelFrom<std::complex<double>>(to);
  if (IsFloat(from)) return FindConvertKernelFrom<float>(to);
  const int bytes = ByteSize(from);
  if (IsSigned(from)) {
    if (bytes == 1) return FindConvertKernelFrom<int8_t>(to);
    if (bytes == 2) return FindConvertKernelFrom<int16_t>(to);
    return bytes == 4 ? FindConvertKernelFrom<int32_t>(to) : FindConvertKernelFrom<int64_t>(to);
  }
  if (bytes == 1) return FindConvertKernelFrom<uint8_t>(to);
  if (bytes == 2) return FindConvertKernelFrom<uint16_t>(to);
  return bytes == 4 ? FindConvertKernelFrom<uint32_t>(to) : FindConvertKernelFrom<uint64_t>(to);
}

}  // namespace hlo
