// Enumerations inside attributes, with their spellings.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace hlo {

enum class ComparisonDirection : uint8_t { kEq, kNe, kGe, kGt, kLe, kLt };
enum class ComparisonType : uint8_t { kFloat, kTotalOrder, kSigned, kUnsigned };
enum class FftType : uint8_t { kFft, kIfft, kRfft, kIrfft };
enum class RngDistribution : uint8_t { kInvalid, kUniform, kNormal };
enum class RngAlgorithm : uint8_t { kDefault, kThreeFry, kPhilox };
enum class Precision : uint8_t { kDefault, kHigh, kHighest };
enum class DotAlgorithm : uint8_t {
  kUnset,
  kAnyF8AnyF8F32,
  kAnyF8AnyF8F32FastAccum,
  kF16F16F16,
  kF16F16F32,
  kBF16BF16BF16,
  kBF16BF16F32,
  kBF16BF16F32X3,
  kBF16BF16F32X6,
  kBF16BF16F32X9,
  kTF32TF32F32,
  kTF32TF32F32X3,
  kF32F32F32,
  kF64F64F64
};
enum class AccuracyMode : uint8_t { kDefault, kHighest };
enum class FusionKind : uint8_t { kLoop, kInput, kOutput, kCustom };
enum class ConvolutionKind : uint8_t { kUnset, kFprop, kWgrad, kDgrad };
enum class PaddingType : uint8_t { kInvalid, kValid, kSame };
enum class CustomCallSchedule : uint8_t { kNone, kLatest, kEarliest };
enum class ApiVersion : uint8_t {
  kUnspecified,
  kOriginal,
  kStatusReturning,
  kStatusReturningUnified,
  kTypedFfi
};
enum class TransposeKind : uint8_t { kInvalid, kNoTranspose, kTranspose, kAdjoint };

// Spellings in enumerator order, and whether case matters when reading.
template <class E>
struct EnumText;

#define HLO_ENUM_TEXT(E, exact, ...)                            \
  template <>                                                   \
  struct EnumText<E> {                                          \
    static constexpr bool kExact = exact;                       \
    static constexpr std::string_view kWords[] = {__VA_ARGS__}; \
  };
HLO_ENUM_TEXT(ComparisonDirection, true, "EQ", "NE", "GE", "GT", "LE", "LT")
HLO_ENUM_TEXT(ComparisonType, true, "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")
HLO_ENUM_TEXT(FftType, true, "FFT", "IFFT", "RFFT", "IRFFT")
HLO_ENUM_TEXT(RngDistribution, false, "rng_invalid", "rng_uniform", "rng_normal")
HLO_ENUM_TEXT(RngAlgorithm, false, "rng_default", "rng_three_fry", "rng_philox")
HLO_ENUM_TEXT(Precision, false, "default", "high", "highest")
HLO_ENUM_TEXT(DotAlgorithm, false, "unset", "dot_any_f8_any_f8_f32",
              "dot_any_f8_any_f8_f32_fast_accum", "dot_f16_f16_f16", "dot_f16_f16_f32",
              "dot_bf16_bf16_bf16", "dot_bf16_bf16_f32", "dot_bf16_bf16_f32_x3",
              "dot_bf16_bf16_f32_x6", "dot_bf16_bf16_f32_x9", "dot_tf32_tf32_f32",
              "dot_tf32_tf32_f32_x3", "dot_f32_f32_f32", "dot_f64_f64_f64")
HLO_ENUM_TEXT(AccuracyMode, false, "default", "highest")
HLO_ENUM_TEXT(FusionKind, true, "kLoop", "kInput", "kOutput", "kCustom")
HLO_ENUM_TEXT(ConvolutionKind, true, "unset", "fprop", "wgrad", "dgrad")
HLO_ENUM_TEXT(PaddingType, true, "PADDING_INVALID", "PADDING_VALID", "PADDING_SAME")
HLO_ENUM_TEXT(CustomCallSchedule, false, "SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST")
HLO_ENUM_TEXT(ApiVersion, false, "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL",
              "API_VERSION_STATUS_RETURNING", "API_VERSION_STATUS_RETURNING_UNIFIED",
              "API_VERSION_TYPED_FFI")
HLO_ENUM_TEXT(TransposeKind, true, "TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
#undef HLO_ENUM_TEXT

template <class E>
concept TextEnum = requires {
  EnumText<E>::kWords;
};

template <TextEnum E>
constexpr std::string_view Text(E value) {
  return EnumText<E>::kWords[static_cast<int>(value)];
}

// The enumerator with this spelling, if any.
template <TextEnum E>
std::optional<E> EnumFromText(std::string_view word) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  for (size_t i = 0; i < std::size(EnumText<E>::kWords); ++i) {
    const std::string_view candidate = EnumText<E>::kWords[i];
    bool equal = candidate.size() == word.size();
    for (size_t k = 0; equal && k < word.size(); ++k) {
      equal = EnumText<E>::kExact ? candidate[k] == word[k] : lower(candidate[k]) == lower(word[k]);
    }
    if (equal) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace hlo
