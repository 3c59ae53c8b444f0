// backends/gpu/cuda/nccl.h
//
// NVIDIA's library of collectives between GPUs, loaded when it is first asked for. Its functions
// may be called without a GPU as long as they make no communicator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hlo::gpu {

// Numbers of the library's interface; abi_test.cc compares them with its header.
enum NcclNumbers : int {
  kNcclSuccess = 0,
  kNcclUnhandledCudaError = 1,
  kNcclInvalidArgument = 4,
  kNcclInvalidUsage = 5,
  kNcclRemoteError = 6,
  kNcclInProgress = 7,
  kNcclOldest = 21800,  // the oldest version we call
};
enum class NcclType : int {
  kS8 = 0,
  kU8 = 1,
  kS32 = 2,
  kU32 = 3,
  kS64 = 4,
  kU64 = 5,
  kF16 = 6,
  kF32 = 7,
  kF64 = 8,
  kBF16 = 9,
};
enum class NcclReduction : int { kSum = 0, kProduct = 1, kMax = 2, kMin = 3 };

// Names one meeting of ranks that make a communicator together.
struct NcclUniqueId {
  char bytes[128];
};

// The configuration of a communicator as version 2.14 defined it. Later versions have more, at the
// end, and take for those what they take by default: `version` says what there is.
struct NcclConfig {
  size_t size = 24;
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;  // calls return at once; ncclCommGetAsyncError says how far they are
};
static_assert(sizeof(NcclConfig) == 24);

struct Nccl {
#define HLO_NCCL_SYMBOL(result, name, parameters) result(*name) parameters = nullptr;
#include "backends/gpu/cuda/nccl.def"

  int version = 0;   // 22703 is 2.27.3
  std::string path;  // the library as it was found

  // "2.27.3".
  std::string version_text() const;
  // OK also while it is in progress; else an error that names the call and has NCCL's own words.
  // `comm`: whose last error is asked for; may be null.
  absl::Status Check(int result, const char* call, void* comm = nullptr) const;
};

// The loaded library: of $HLO_NCCL, else the first that find_library.h finds. NotFound when there
// is none or it is too old, with what to install; an empty $HLO_NCCL means not to look.
absl::StatusOr<const Nccl*> LoadNccl();

// Loads one library; for tests.
absl::StatusOr<Nccl> LoadNcclFrom(const std::string& library);

// NotFound when the version of `nccl` is older than what we call.
absl::Status CheckVersion(const Nccl& nccl);

}  // namespace hlo::gpu
