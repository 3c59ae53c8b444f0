// lib/math/coefficients.h
//
// Minimax polynomials, lowest coefficient first.
// Written by scripts/fit_minimax.py; change that, not this.
// clang-format off
#pragma once

#include <array>
#include <cstddef>

namespace hlo::math {

template <class T>
inline constexpr std::nullptr_t kExpTail = nullptr;
// (exp(x) - 1 - x) / x^2, on [-0.3475, 0.3475]; error 0.0558 * 2^-24.
template <>
inline constexpr std::array<float, 5> kExpTail<float> = {
    0x1.fffffap-2f,
    0x1.55549p-3f,
    0x1.555a22p-5f,
    0x1.123b04p-7f,
    0x1.695414p-10f};

// (exp(x) - 1 - x) / x^2, on [-0.3475, 0.3475]; error 0.0344 * 2^-53.
template <>
inline constexpr std::array<double, 10> kExpTail<double> = {
    0x1.000000000000ap-1,
    0x1.55555555554f9p-3,
    0x1.5555555550629p-5,
    0x1.1111111127d09p-7,
    0x1.6c16c184a9d23p-10,
    0x1.a01a012aa8e77p-13,
    0x1.a01998b27e796p-16,
    0x1.71df22fd74365p-19,
    0x1.28aeb476caa8dp-22,
    0x1.ad85bb7fcf4dap-26};

template <class T>
inline constexpr std::nullptr_t kExpm1Tail = nullptr;
// (exp(x) - 1 - x) / x^2, relative to exp(x) - 1, on [-0.3475, 0.3475]; error 0.00794 * 2^-24.
template <>
inline constexpr std::array<float, 6> kExpm1Tail<float> = {
    0x1p-1f,
    0x1.555554p-3f,
    0x1.5554fp-5f,
    0x1.111306p-7f,
    0x1.6d43c2p-10f,
    0x1.9e0de4p-13f};

// (exp(x) - 1 - x) / x^2, relative to exp(x) - 1, on [-0.3475, 0.3475]; error 0.000329 * 2^-53.
template <>
inline constexpr std::array<double, 12> kExpm1Tail<double> = {
    0x1p-1,
    0x1.5555555555555p-3,
    0x1.5555555555557p-5,
    0x1.1111111111304p-7,
    0x1.6c16c16c15765p-10,
    0x1.a01a019f19c1cp-13,
    0x1.a01a01ab2340cp-16,
    0x1.71de3e160e3f6p-19,
    0x1.27e4d112430e1p-22,
    0x1.ae572cb488c5p-26,
    0x1.1f84480172d3dp-29,
    0x1.72e3c5fcf9da6p-33};

template <class T>
inline constexpr std::nullptr_t kLog1pTail = nullptr;
// (log(1 + x) - x + x^2/2) / x^3, on [-0.293, 0.4143]; error 0.154 * 2^-24.
template <>
inline constexpr std::array<float, 8> kLog1pTail<float> = {
    0x1.55552ep-2f,
    -0x1.000216p-2f,
    0x1.99b034p-3f,
    -0x1.548186p-3f,
    0x1.21cd2cp-3f,
    -0x1.0c0eb4p-3f,
    0x1.0ae6ep-3f,
    -0x1.4c628cp-4f};

template <class T>
inline constexpr std::nullptr_t kAtanhTail = nullptr;
// (2 atanh(x) - 2 x) / x^3 in x^2, on [0, 0.1717]; error 8.22e-05 * 2^-53.
template <>
inline constexpr std::array<double, 8> kAtanhTail<double> = {
    0x1.5555555555555p-1,
    0x1.9999999999d1p-2,
    0x1.249249243988ap-2,
    0x1.c71c724b704f8p-3,
    0x1.745ce1bf79acbp-3,
    0x1.3b2027187551ep-3,
    0x1.0f66f5655d1eap-3,
    0x1.0f1144b183c9fp-3};

template <class T>
inline constexpr std::nullptr_t kAtanhTail5 = nullptr;
// (2 atanh(x) - 2 x - 2/3 x^3) / x^5 in x^2, on [0, 0.1717]; error 6.98e-07 * 2^-53.
template <>
inline constexpr std::array<double, 8> kAtanhTail5<double> = {
    0x1.9999999999996p-2,
    0x1.2492492492f51p-2,
    0x1.c71c71c596643p-3,
    0x1.745d182985acfp-3,
    0x1.3b1364b59a6a1p-3,
    0x1.11207325d4d42p-3,
    0x1.de3ca9d11d7ccp-4,
    0x1.eacd52ec55b63p-4};

template <class T>
inline constexpr std::nullptr_t kSinTail = nullptr;
// (sin(x) - x) / x^3 in x^2, on [0, 0.8]; error 0.0765 * 2^-24.
template <>
inline constexpr std::array<float, 3> kSinTail<float> = {
    -0x1.555544p-3f,
    0x1.1106aep-7f,
    -0x1.990f92p-13f};

// (sin(x) - x) / x^3 in x^2, on [0, 0.8]; error 0.00111 * 2^-53.
template <>
inline constexpr std::array<double, 7> kSinTail<double> = {
    -0x1.5555555555555p-3,
    0x1.111111111108fp-7,
    -0x1.a01a01a007f31p-13,
    0x1.71de3a41d9f97p-19,
    -0x1.ae643fd562547p-26,
    0x1.61166a89c3c8dp-33,
    -0x1.a64997b4080cap-41};

template <class T>
inline constexpr std::nullptr_t kCosTail = nullptr;
// (cos(x) - 1 + x^2/2) / x^4 in x^2, on [0, 0.8]; error 0.00265 * 2^-24.
template <>
inline constexpr std::array<float, 3> kCosTail<float> = {
    0x1.555548p-5f,
    -0x1.6c0b08p-10f,
    0x1.999a6cp-16f};

// (cos(x) - 1 + x^2/2) / x^4 in x^2, on [0, 0.8]; error 2.26e-05 * 2^-53.
template <>
inline constexpr std::array<double, 7> kCosTail<double> = {
    0x1.5555555555555p-5,
    -0x1.6c16c16c16b52p-10,
    0x1.a01a01a003f0fp-16,
    -0x1.27e4fb636ffc7p-22,
    0x1.1eed7affd68a7p-29,
    -0x1.938206571c813p-37,
    0x1.a404a842b6eedp-45};

template <class T>
inline constexpr std::nullptr_t kAtanTail = nullptr;
// (atan(x) - x) / x^3 in x^2, on [0, 0.4143]; error 0.000577 * 2^-53.
template <>
inline constexpr std::array<double, 12> kAtanTail<double> = {
    -0x1.5555555555554p-2,
    0x1.99999999995bep-3,
    -0x1.24924924720fep-3,
    0x1.c71c71b5f20a3p-4,
    -0x1.745d14907df9ep-4,
    0x1.3b136b01edb28p-4,
    -0x1.110c494894a3p-4,
    0x1.e16f24c99bc62p-5,
    -0x1.ab6cc8065162ap-5,
    0x1.70aee49c1d36bp-5,
    -0x1.11b1742cdd64cp-5,
    0x1.efed15962cc89p-7};

template <class T>
inline constexpr std::nullptr_t kAsinTail = nullptr;
// (asin(x) - x) / x^3 in x^2, on [0, 0.5]; error 0.0086 * 2^-53.
template <>
inline constexpr std::array<double, 13> kAsinTail<double> = {
    0x1.5555555555577p-3,
    0x1.333333332e133p-4,
    0x1.6db6db721247bp-5,
    0x1.f1c71a95002f7p-6,
    0x1.6e8bdedebfb21p-6,
    0x1.1c49f077d3289p-6,
    0x1.ca1f8af24c93bp-7,
    0x1.75859da921c6bp-7,
    0x1.613c1e89aaca3p-7,
    0x1.e5fbe6b394c6ep-9,
    0x1.639a89f12f64fp-6,
    -0x1.57fad1dcd4117p-6,
    0x1.0b45ea4d0d157p-5};

template <class T>
inline constexpr std::nullptr_t kCbrtStart = nullptr;
// cbrt(1 + x), on [-0.293, 0.4143]; error 8.31e+10 * 2^-53.
template <>
inline constexpr std::array<double, 5> kCbrtStart<double> = {
    0x1.00004745c040fp0,
    0x1.5536de20533bdp-2,
    -0x1.c8e58fee176dbp-4,
    0x1.0d77a57b1ac8ap-4,
    -0x1.35981c4201d5cp-5};

template <class T>
inline constexpr std::nullptr_t kTanhTail = nullptr;
// (tanh(x) - x) / x^3 in x^2, on [0, 0.55]; error 0.0194 * 2^-24.
template <>
inline constexpr std::array<float, 5> kTanhTail<float> = {
    -0x1.55554ap-2f,
    0x1.110dp-3f,
    -0x1.b92358p-5f,
    0x1.5918a4p-6f,
    -0x1.9a79bap-8f};

// (tanh(x) - x) / x^3 in x^2, on [0, 0.55]; error 0.000282 * 2^-53.
template <>
inline constexpr std::array<double, 14> kTanhTail<double> = {
    -0x1.5555555555555p-2,
    0x1.111111111109p-3,
    -0x1.ba1ba1ba1248fp-5,
    0x1.664f487fe1498p-6,
    -0x1.226e34d467e49p-7,
    0x1.d6d3aed38045ep-9,
    -0x1.7da081703953fp-10,
    0x1.352c12e9ec51ap-11,
    -0x1.f1c1cde9b83fdp-13,
    0x1.79e3c2e815236p-14,
    -0x1.63f35578ee3cap-16,
    -0x1.05df3c40ffd9bp-16,
    0x1.ba9e9ed89193p-16,
    -0x1.c05df7dc96e1p-17};

template <class T>
inline constexpr std::nullptr_t kErfSmall = nullptr;
// (erf(x) - x) / x in x^2, on [0, 0.93]; error 0.295 * 2^-24.
template <>
inline constexpr std::array<float, 6> kErfSmall<float> = {
    0x1.06eba6p-3f,
    -0x1.8126e2p-2f,
    0x1.ce1986p-4f,
    -0x1.b67c04p-6f,
    0x1.46d9e6p-8f,
    -0x1.387442p-11f};

// (erf(x) - x) / x in x^2, on [0, 1.0]; error 0.0991 * 2^-53.
template <>
inline constexpr std::array<double, 13> kErfSmall<double> = {
    0x1.06eba8214db69p-3,
    -0x1.812746b0379fdp-2,
    0x1.ce2f21a04360fp-4,
    -0x1.b82ce312ab0a3p-6,
    0x1.565bcd126d6edp-8,
    -0x1.c02db49229b1fp-11,
    0x1.f9a3342152cf6p-14,
    -0x1.f4d31d85b4f5ap-17,
    0x1.b9ed71fb0fc51p-20,
    -0x1.5f8e4d2412bb5p-23,
    0x1.fc0d5c2f42896p-27,
    -0x1.452ac550c79adp-30,
    0x1.25ec3cbb366cep-34};

template <class T>
inline constexpr std::nullptr_t kLogErfc = nullptr;
// log(1 - erf(x)), on [0.92, 4.0]; error 0.0581 * 2^-24.
template <>
inline constexpr std::array<float, 9> kLogErfc<float> = {
    0x1.506034p-13f,
    -0x1.212298p0f,
    -0x1.445fd2p-1f,
    -0x1.ba6a96p-4f,
    0x1.97e18ep-6f,
    -0x1.09a48p-8f,
    0x1.9ff072p-12f,
    -0x1.dffe08p-17f,
    -0x1.187236p-21f};

// log(1 - erf(x)) in x - 2, on [1.0, 6.0]; error 0.223 * 2^-53.
template <>
inline constexpr std::array<double, 25> kLogErfc<double> = {
    -0x1.575b329b1f516p2,
    -0x1.1ac3258a8dc2cp2,
    -0x1.d8f5dece92394p-1,
    -0x1.0dc3b5fb10bf3p-6,
    0x1.d406b3739ff5ap-9,
    -0x1.7ffcfb46d4182p-11,
    0x1.1bc3a609901aap-13,
    -0x1.5b656f8e66e46p-16,
    0x1.060454bc1209p-19,
    0x1.b549e6932a311p-23,
    -0x1.73e5d74ba18d3p-23,
    0x1.f0ad431693c51p-25,
    -0x1.e0492d1c8610ep-27,
    0x1.5a59b03d75fc7p-29,
    -0x1.18e83529d4622p-32,
    -0x1.3fcacb8511fd5p-35,
    0x1.02dace5f20202p-35,
    -0x1.64a76e2757667p-37,
    0x1.652ff4c255ba5p-39,
    -0x1.ff56337986629p-42,
    0x1.f85455c31f22dp-46,
    0x1.12b2c1c950c89p-46,
    -0x1.9f4e6dd273564p-48,
    0x1.fe19050b77593p-51,
    -0x1.ee2579f847c2ep-55};

}  // namespace hlo::math
