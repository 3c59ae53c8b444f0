#include "backends/cpu/library/convert.h"

#include <complex>
#include <type_traits>

#include "absl/container/inlined_vector.h"

namespace hlo::cpu {
namespace {

template <class S>
constexpr bool kIsComplex =
    std::is_same_v<S, std::complex<float>> || std::is_same_v<S, std::complex<double>>;

// One element as double (floats, complex parts) or as its two's complement bits (integers, pred).
template <class S>
auto ReadElement(const S& x, Component component) {
  if constexpr (kIsComplex<S>) {
    return static_cast<double>(component == Component::kReal ? x.real() : x.imag());
  } else if constexpr (std::is_floating_point_v<S>) {
    return component == Component::kReal ? static_cast<double>(x) : 0.0;
  } else if constexpr (std::is_integral_v<S>) {
    return component == Component::kReal ? static_cast<uint64_t>(x) : uint64_t{0};
  } else if constexpr (requires { x.value; }) {
    return component == Component::kReal ? static_cast<uint64_t>(x.value) : uint64_t{0};
  } else {
    return component == Component::kReal ? static_cast<double>(x.ToFloat()) : 0.0;
  }
}

// Integers and pred, of which ReadElement gives the bits.
template <class S>
constexpr bool kIsWhole =
    std::is_same_v<decltype(ReadElement(std::declval<S>(), Component::kReal)), uint64_t>;

// Signed integers are sign-extended in a uint64_t; as a float they are their value.
template <class S>
double ValueOf(const S& x, Component component) {
  const auto raw = ReadElement(x, component);
  if constexpr (kIsWhole<S>) {
    constexpr bool is_unsigned = std::is_unsigned_v<S> || std::is_same_v<S, U4> ||
                                 std::is_same_v<S, U2> || std::is_same_v<S, U1>;
    return is_unsigned ? static_cast<double>(raw) : static_cast<double>(static_cast<int64_t>(raw));
  } else {
    return raw;
  }
}

// Rounds to a narrow float type and back.
float RoundThrough(double x, ElementType through) {
  const auto single = static_cast<float>(x);
  if (!IsFloat(through) || BitWidth(through) >= 32) return single;
  return WithNativeType(through, [&]<class R>() -> float {
    if constexpr (requires(R r) { r.ToFloat(); }) {
      return R::FromFloat(single).ToFloat();
    } else {
      return single;
    }
  });
}

template <class F>
void ForEachOffset(const StridedBlock& block, F&& f) {
  const auto rank = block.sizes.size();
  for (const int64_t size : block.sizes) {
    if (size == 0) return;
  }
  absl::InlinedVector<int64_t, 6> index(rank, 0);
  int64_t offset = 0;
  while (true) {
    f(offset);
    size_t d = rank;
    while (d > 0) {
      --d;
      offset += block.strides[d];
      if (++index[d] < block.sizes[d]) break;
      offset -= block.strides[d] * block.sizes[d];
      index[d] = 0;
      if (d == 0) return;
    }
    if (rank == 0) return;
  }
}

}  // namespace

template <class T>
void ReadBlock(ElementType type, ElementType through, Component component, const void* source,
               const StridedBlock& block, T* destination) {
  WithNativeType(type, [&]<class S>() {
    const S* src = static_cast<const S*>(source);
    ForEachOffset(block, [&](int64_t offset) {
      if constexpr (std::is_same_v<T, float> && kIsWhole<S>) {
        *destination++ = RoundThrough(ValueOf(src[offset], component), through);
      } else if constexpr (std::is_same_v<T, float>) {
        *destination++ = static_cast<float>(ValueOf(src[offset], component));
      } else if constexpr (std::is_same_v<T, double>) {
        *destination++ = ValueOf(src[offset], component);
      } else {
        const auto raw = ReadElement(src[offset], component);
        *destination++ = static_cast<T>(static_cast<uint64_t>(raw));
      }
    });
  });
}

template <class T>
void WriteBlock(const T* source, ElementType type, Component component, const StridedBlock& block,
                void* destination) {
  WithNativeType(type, [&]<class S>() {
    S* dst = static_cast<S*>(destination);
    ForEachOffset(block, [&](int64_t offset) {
      const T x = *source++;
      S& to = dst[offset];
      if constexpr (kIsComplex<S>) {
        using Part = typename S::value_type;
        if (component == Component::kReal) {
          to.real(static_cast<Part>(x));
        } else {
          to.imag(static_cast<Part>(x));
        }
      } else if constexpr (std::is_same_v<S, bool>) {
        to = x != T{};
      } else if constexpr (std::is_integral_v<S>) {
        if constexpr (std::is_floating_point_v<T>) {
          to = static_cast<S>(static_cast<int64_t>(x));
        } else {
          to = static_cast<S>(x);
        }
      } else if constexpr (std::is_floating_point_v<S>) {
        to = static_cast<S>(x);
      } else if constexpr (requires { S::kWidth; }) {
        to = S::Wrap(static_cast<uint64_t>(x));
      } else {
        to = S::FromFloat(static_cast<float>(x));
      }
    });
  });
}

#define HLO_INSTANTIATE(T)                                                     \
  template void ReadBlock<T>(ElementType, ElementType, Component, const void*, \
                             const StridedBlock&, T*);                         \
  template void WriteBlock<T>(const T*, ElementType, Component, const StridedBlock&, void*);
HLO_INSTANTIATE(float)
HLO_INSTANTIATE(double)
HLO_INSTANTIATE(uint32_t)
HLO_INSTANTIATE(uint64_t)
#undef HLO_INSTANTIATE

}  // namespace hlo::cpu
