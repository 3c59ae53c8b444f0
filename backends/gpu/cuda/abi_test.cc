// Our tables of NVIDIA's functions against the toolkit's headers, where those are: the same number
// of parameters, each of the same size and kind. And the libraries themselves, where they are.
#include <catch2/catch.hpp>
#include <cstddef>
#include <type_traits>

#include "backends/gpu/cuda/cublaslt.h"
#include "backends/gpu/cuda/driver.h"
#include "backends/gpu/cuda/nccl.h"
#include "backends/gpu/cuda/nvjitlink.h"
#include "lib/support/status.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#define HLO_HAVE_CUDA_HEADER 1
// Newer headers give this name to a newer function, which older drivers lack.
#ifdef cuEventElapsedTime
#undef cuEventElapsedTime
extern "C" CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end);
#endif
#endif
#if __has_include(<nvJitLink.h>)
#include <nvJitLink.h>
#define HLO_HAVE_NVJITLINK_HEADER 1
#endif

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define HLO_HAVE_CUBLASLT_HEADER 1
#endif

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>
#define HLO_HAVE_NCCL_HEADER 1
#endif

namespace hlo::gpu {
namespace {

// Passed alike by the calling convention.
template <class Ours, class Theirs>
constexpr bool kSameKind = sizeof(Ours) == sizeof(Theirs) &&
                           (std::is_pointer_v<Ours> ? std::is_pointer_v<Theirs>
                            : std::is_class_v<Ours>
                                ? std::is_class_v<Theirs>
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
static_assert(!SameCall<int (*)(NcclUniqueId), int(void*)>::value);

#if HLO_HAVE_CUDA_HEADER
#define HLO_CUDA_SYMBOL(name, parameters) \
  static_assert(SameCall<decltype(CudaDriver::name), decltype(::name)>::value, #name);
#include "backends/gpu/cuda/driver.def"

static_assert(int{kCudaErrorOutOfMemory} == int{CUDA_ERROR_OUT_OF_MEMORY});
static_assert(int{kCudaErrorStubLibrary} == int{CUDA_ERROR_STUB_LIBRARY});
static_assert(int{kCudaErrorNotReady} == int{CUDA_ERROR_NOT_READY});
static_assert(int{kCudaMaxThreadsPerBlock} == int{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK});
static_assert(int{kCudaMostSharedPerBlock} ==
              int{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN});
static_assert(int{kCudaSharedOfLaunch} == int{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES});
static_assert(int{kCudaMultiprocessorCount} == int{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT});
static_assert(int{kCudaComputeMajor} == int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR});
static_assert(int{kCudaComputeMinor} == int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR});
static_assert(int{kCudaStreamNonBlocking} == int{CU_STREAM_NON_BLOCKING});
static_assert(int{kCudaProgrammaticSerialization} ==
              int{CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION});
static_assert(sizeof(CudaLaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(CudaLaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(CudaLaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(CudaLaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(CudaLaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(CudaLaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(CudaLaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(int{kCudaEventDefault} == int{CU_EVENT_DEFAULT});
static_assert(int{kCudaEventNoTiming} == int{CU_EVENT_DISABLE_TIMING});
static_assert(int{kCudaJitErrorLog} == int{CU_JIT_ERROR_LOG_BUFFER});
static_assert(int{kCudaJitErrorLogBytes} == int{CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES});
static_assert(int{kCudaCaptureOfThread} == int{CU_STREAM_CAPTURE_MODE_THREAD_LOCAL});
#endif

#if HLO_HAVE_NVJITLINK_HEADER
#define HLO_NVJITLINK_SYMBOL(name, parameters) \
  static_assert(SameCall<decltype(NvJitLink::name), decltype(::name)>::value, #name);
#include "backends/gpu/cuda/nvjitlink.def"
static_assert(kNvJitLinkInputPtx == int{NVJITLINK_INPUT_PTX});
#endif

#if HLO_HAVE_CUBLASLT_HEADER
#define HLO_CUBLASLT_SYMBOL(name, parameters) \
  static_assert(SameCall<decltype(CublasLt::name), decltype(::name)>::value, #name);
#include "backends/gpu/cuda/cublaslt.def"
static_assert(int{kCudaTypeF32} == int{CUDA_R_32F} && int{kCudaTypeF64} == int{CUDA_R_64F});
static_assert(int{kCudaTypeF16} == int{CUDA_R_16F} && int{kCudaTypeBF16} == int{CUDA_R_16BF});
static_assert(int{kCudaTypeS8} == int{CUDA_R_8I} && int{kCudaTypeS32} == int{CUDA_R_32I});
static_assert(int{kComputeF32} == int{CUBLAS_COMPUTE_32F});
static_assert(int{kComputeF64} == int{CUBLAS_COMPUTE_64F});
static_assert(int{kComputeS32} == int{CUBLAS_COMPUTE_32I});
static_assert(int{kComputeTF32} == int{CUBLAS_COMPUTE_32F_FAST_TF32});
static_assert(int{kProductTransposeA} == int{CUBLASLT_MATMUL_DESC_TRANSA});
static_assert(int{kProductTransposeB} == int{CUBLASLT_MATMUL_DESC_TRANSB});
static_assert(int{kLayoutBatchCount} == int{CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT});
static_assert(int{kLayoutBatchStride} == int{CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET});
static_assert(int{kPreferWorkspaceBytes} == int{CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES});
static_assert(int{kPreferReductions} == int{CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK});
static_assert(int{kPreferAlignmentA} == int{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES});
static_assert(int{kPreferAlignmentA} + 3 == int{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES});
static_assert(int{kReduceInComputeType} == int{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
static_assert(sizeof(CublasLtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(CublasLtHeuristic, state) ==
              offsetof(cublasLtMatmulHeuristicResult_t, state));
#endif

#if HLO_HAVE_NCCL_HEADER
#define HLO_NCCL_SYMBOL(result, name, parameters) \
  static_assert(SameCall<decltype(Nccl::name), decltype(::name)>::value, #name);
#include "backends/gpu/cuda/nccl.def"
static_assert(sizeof(NcclUniqueId) == sizeof(ncclUniqueId));
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
constexpr ncclConfig_t kTheirConfig = NCCL_CONFIG_INITIALIZER;
static_assert(NcclConfig().magic == kTheirConfig.magic);
static_assert(int{kNcclSuccess} == int{ncclSuccess});
static_assert(int{kNcclUnhandledCudaError} == int{ncclUnhandledCudaError});
static_assert(int{kNcclInvalidArgument} == int{ncclInvalidArgument});
static_assert(int{kNcclInvalidUsage} == int{ncclInvalidUsage});
static_assert(int{kNcclRemoteError} == int{ncclRemoteError});
static_assert(int{kNcclInProgress} == int{ncclInProgress});
static_assert(int(NcclType::kS8) == int{ncclInt8} && int(NcclType::kU8) == int{ncclUint8});
static_assert(int(NcclType::kS32) == int{ncclInt32} && int(NcclType::kU32) == int{ncclUint32});
static_assert(int(NcclType::kS64) == int{ncclInt64} && int(NcclType::kU64) == int{ncclUint64});
static_assert(int(NcclType::kF16) == int{ncclFloat16} && int(NcclType::kF32) == int{ncclFloat32});
static_assert(int(NcclType::kF64) == int{ncclFloat64} && int(NcclType::kBF16) == int{ncclBfloat16});
static_assert(int(NcclReduction::kSum) == int{ncclSum});
static_assert(int(NcclReduction::kProduct) == int{ncclProd});
static_assert(int(NcclReduction::kMax) == int{ncclMax});
static_assert(int(NcclReduction::kMin) == int{ncclMin});
#endif

TEST_CASE("NCCL answers without a GPU, or is named", "[gpu][cuda]") {
  CHECK(std::string(LoadNcclFrom("/no/such/libnccl.so").status().message()) ==
        "/no/such/libnccl.so not found");
  const auto other = LoadNcclFrom("libm.so.6");
  REQUIRE_FALSE(other.ok());
  CHECK(std::string(other.status().message()).find("libm.so.6 has no ncclGetVersion") == 0);
  Nccl old;
  old.path = "libnccl.so.2";
  old.version = 21602;
  CHECK(std::string(CheckVersion(old).message()) ==
        "libnccl.so.2 is NCCL 2.16.2, 2.18.0 is needed");
  const auto library = LoadNccl();
  if (!library.ok()) {
    WARN("skipped: " << std::string(library.status().message()));
    return;
  }
  const Nccl& nccl = **library;
  CHECK(nccl.version >= kNcclOldest);
  CHECK(nccl.Check(kNcclInProgress, "ncclGroupEnd").ok());
  const std::string text(nccl.Check(kNcclInvalidUsage, "ncclSend").message());
  CHECK(text.find("ncclSend failed: invalid usage") != std::string::npos);
}

TEST_CASE("a library that is not there, or is another, is named", "[gpu][cuda]") {
  CHECK(std::string(LoadNvJitLinkFrom("/no/such/folder/libnvJitLink.so").status().message()) ==
        "/no/such/folder/libnvJitLink.so not found");
  const auto other = LoadNvJitLinkFrom("libm.so.6");
  REQUIRE_FALSE(other.ok());
  CHECK(std::string(other.status().message()).find("libm.so.6 has no nvJitLinkVersion") == 0);
}

TEST_CASE("cuBLASLt can be called without a driver, or is named", "[gpu][cuda]") {
  CHECK(std::string(LoadCublasLtFrom("/no/such/libcublasLt.so").status().message()) ==
        "/no/such/libcublasLt.so not found");
  const auto other = LoadCublasLtFrom("libm.so.6");
  REQUIRE_FALSE(other.ok());
  CHECK(std::string(other.status().message()).find("libm.so.6 has no cublasLtCreate") == 0);
  const auto library = LoadCublasLt();
  if (!library.ok()) {
    WARN("skipped: " << std::string(library.status().message()));
    return;
  }
  const CublasLt& lt = **library;
  CHECK(lt.version >= 120000);
  // Descriptors are the host's.
  void* layout = nullptr;
  REQUIRE(lt.cublasLtMatrixLayoutCreate(&layout, kCudaTypeBF16, 64, 32, 64) == 0);
  const int32_t count = 3;
  CHECK(lt.cublasLtMatrixLayoutSetAttribute(layout, kLayoutBatchCount, &count, sizeof count) == 0);
  CHECK(lt.cublasLtMatrixLayoutDestroy(layout) == 0);
  void* product = nullptr;
  REQUIRE(lt.cublasLtMatmulDescCreate(&product, kComputeTF32, kCudaTypeF32) == 0);
  const int32_t transposed = 1;
  CHECK(lt.cublasLtMatmulDescSetAttribute(product, kProductTransposeA, &transposed,
                                          sizeof transposed) == 0);
  CHECK(lt.cublasLtMatmulDescDestroy(product) == 0);
  CHECK(lt.Check(7, "cublasLtMatmul").message().find("cublasLtMatmul of") != std::string::npos);
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
