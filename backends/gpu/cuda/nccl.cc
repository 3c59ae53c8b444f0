#include "backends/gpu/cuda/nccl.h"

#include "backends/gpu/cuda/find_library.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr std::string_view kVersions[] = {".2"};

std::string VersionText(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

}  // namespace

std::string Nccl::version_text() const { return VersionText(version); }

absl::Status Nccl::Check(int result, const char* call, void* comm) const {
  if (result == kNcclSuccess || result == kNcclInProgress) return absl::OkStatus();
  std::string message = fmt::format("{} failed: {}", call, ncclGetErrorString(result));
  if (const char* const last = ncclGetLastError(comm); last != nullptr && *last != '\0')
    message += fmt::format(": {}", last);
  return MakeError(absl::StatusCode::kUnavailable, SourceLoc(), std::move(message));
}

absl::Status CheckVersion(const Nccl& nccl) {
  if (nccl.version >= kNcclOldest) return absl::OkStatus();
  return absl::NotFoundError(fmt::format("{} is NCCL {}, {} is needed", nccl.path,
                                         nccl.version_text(), VersionText(kNcclOldest))
                                 .c_str());
}

absl::StatusOr<Nccl> LoadNcclFrom(const std::string& library) {
  SharedLibrary functions(library);
  if (!functions.is_open()) return absl::NotFoundError((library + " not found").c_str());
  Nccl loaded;
  loaded.path = library;
#define HLO_NCCL_SYMBOL(result, name, parameters) functions.Find(#name, loaded.name);
#include "backends/gpu/cuda/nccl.def"
  if (!functions.missing().empty())
    return absl::NotFoundError(fmt::format("{} has no {}", library, functions.missing()).c_str());
  RETURN_IF_ERROR(loaded.Check(loaded.ncclGetVersion(&loaded.version), "ncclGetVersion"));
  RETURN_IF_ERROR(CheckVersion(loaded));
  return loaded;
}

absl::StatusOr<const Nccl*> LoadNccl() {
  static const absl::StatusOr<Nccl> loaded =
      LoadFirstFound("libnccl.so", "HLO_NCCL", LoadNcclFrom, kVersions);
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

}  // namespace hlo::gpu
