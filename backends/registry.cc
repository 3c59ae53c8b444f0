#include "backends/registry.h"

#include <array>
#include <mutex>

#include "backends/interpreter/interpreter_backend.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

#if HLO_HAVE_LLVM && __has_include("backends/cpu/cpu_backend.h")
#define HLO_HAVE_CPU_BACKEND 1
#include "backends/cpu/cpu_backend.h"
#else
#define HLO_HAVE_CPU_BACKEND 0
#endif

#if HLO_HAVE_LLVM && __has_include("backends/gpu/gpu_backend.h")
#define HLO_HAVE_GPU_BACKEND 1
#include "backends/gpu/gpu_backend.h"
#else
#define HLO_HAVE_GPU_BACKEND 0
#endif

namespace hlo {
namespace {

constexpr PlatformInfo kInfos[] = {
#define HLO_BACKEND(name, maker, aliases, pipeline, denormals, stages, summary) \
  {name, aliases, pipeline, Denormals::denormals, stages, summary},
#include "backends/backends.def"
};

using Maker = std::unique_ptr<Backend> (*)();
constexpr Maker kMakers[] = {
#define HLO_BACKEND(name, maker, ...) maker,
#include "backends/backends.def"
};

}  // namespace

std::span<const PlatformInfo> AllBackends() { return kInfos; }

absl::StatusOr<Backend*> FindBackend(std::string_view name) {
  static std::mutex mutex;
  static std::array<std::unique_ptr<Backend>, std::size(kInfos)> made;
  std::vector<std::string_view> names;
  for (size_t i = 0; i < std::size(kInfos); ++i) {
    if (kInfos[i].name == name || IsListed(kInfos[i].aliases, name)) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (made[i] == nullptr) made[i] = kMakers[i]();
      return made[i].get();
    }
    names.push_back(kInfos[i].name);
  }
  return Error("unknown platform `{}`{}; there are {}", name, DidYouMean(name, names),
               Join(names, ", "));
}

}  // namespace hlo
