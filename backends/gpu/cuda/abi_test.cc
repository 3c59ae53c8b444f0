// Our tables of NVIDIA's functions against the toolkit's headers, where those are: the same number
// of parameters, each of the same size and kind. And the libraries themselves, where they are.
#include <catch2/catch.hpp>
#include <type_traits>

#include "backends/gpu/cuda/driver.h"
#include "backends/gpu/cuda/nvjitlink.h"
#include "lib/support/status.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#define HLO_HAVE_CUDA_HEADER 1
#endif
#if __has_include(<nvJitLink.h>)
#include <nvJitLink.h>
#define HLO_HAVE_NVJITLINK_HEADER 1
#endif

namespace hlo::gpu {
namespace {

// Passed alike by the calling convention.
template <class Ours, class Theirs>
constexpr bool kSameKind = sizeof(Ours) == sizeof(Theirs) &&
                           (std::is_pointer_v<Ours>
                                ? std::is_pointer_v<Theirs>
                                : std::is_integral_v<Ours> &&
                                      (std::is_integral_v<Theirs> || std::is_enum_v<Theirs>));

template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class OurResult, class... Ours, class TheirResult, class... Theirs>
struct SameCall<OurResult (*)(Ours...), TheirResult(Theirs...)> {
  static constexpr bool SameParameters() {
    if constexpr (sizeof...(Ours) != sizeof...(Theirs)) {
      return false;
    } else {
      return (kSameKind<Ours, Theirs> && ...);
    }
  }
  static constexpr bool value = kSameKind<OurResult, TheirResult> && SameParameters();
};

static_assert(SameCall<int (*)(uint64_t), int(unsigned long)>::value);
static_assert(!SameCall<int (*)(uint64_t), int(unsigned)>::value);
static_assert(!SameCall<int (*)(void*), int(uint64_t)>::value);
static_assert(!SameCall<int (*)(int), int(int, int)>::value);

#if HLO_HAVE_CUDA_HEADER
#define HLO_CUDA_SYMBOL(name, parameters) \
  static_assert(SameCall<decltype(CudaDriver::name), decltype(::name)>::value, #name);
#include "backends/gpu/cuda/driver.def"

static_assert(int{kCudaErrorOutOfMemory} == int{CUDA_ERROR_OUT_OF_MEMORY});
static_assert(int{kCudaErrorStubLibrary} == int{CUDA_ERROR_STUB_LIBRARY});
static_assert(int{kCudaMaxThreadsPerBlock} == int{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK});
static_assert(int{kCudaMaxSharedPerBlock} == int{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK});
static_assert(int{kCudaMultiprocessorCount} == int{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT});
static_assert(int{kCudaComputeMajor} == int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR});
static_assert(int{kCudaComputeMinor} == int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR});
static_assert(int{kCudaStreamNonBlocking} == int{CU_STREAM_NON_BLOCKING});
static_assert(int{kCudaEventNoTiming} == int{CU_EVENT_DISABLE_TIMING});
#endif

#if HLO_HAVE_NVJITLINK_HEADER
#define HLO_NVJITLINK_SYMBOL(name, parameters) \
  static_assert(SameCall<decltype(NvJitLink::name), decltype(::name)>::value, #name);
#include "backends/gpu/cuda/nvjitlink.def"
static_assert(kNvJitLinkInputPtx == int{NVJITLINK_INPUT_PTX});
#endif

TEST_CASE("a library that is not there, or is another, is named", "[gpu][cuda]") {
  CHECK(std::string(LoadNvJitLinkFrom("/no/such/folder/libnvJitLink.so").status().message()) ==
        "/no/such/folder/libnvJitLink.so not found");
  const auto other = LoadNvJitLinkFrom("libm.so.6");
  REQUIRE_FALSE(other.ok());
  CHECK(std::string(other.status().message()).find("libm.so.6 has no nvJitLinkVersion") == 0);
}

TEST_CASE("nvJitLink makes machine code, or says what is wrong", "[gpu][cuda]") {
  const auto library = LoadNvJitLink();
  if (!library.ok()) {
    WARN("skipped: " << std::string(library.status().message()));
    return;
  }
  CHECK((*library)->major >= 12);
  const auto cubin = (*library)->Link(
      ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n", "sm_90");
  REQUIRE(cubin.ok());
  CHECK(cubin->substr(1, 3) == "ELF");
  const auto wrong = (*library)->Link(".version 8.5\n.target sm_90\nnonsense\n", "sm_90");
  REQUIRE_FALSE(wrong.ok());
  CHECK_THAT(std::string(wrong.status().message()), Catch::Matchers::Contains("nvJitLink"));
}

}  // namespace
}  // namespace hlo::gpu
