#include "backends/gpu/cuda/nvjitlink.h"

#include "backends/gpu/cuda/find_library.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

// Ends with its scope.
class LinkHandle final {
 public:
  explicit LinkHandle(const NvJitLink& library) : library_(library) {}
  ~LinkHandle() {
    if (handle_ != nullptr) library_.nvJitLinkDestroy(&handle_);
  }
  LinkHandle(const LinkHandle&) = delete;
  LinkHandle& operator=(const LinkHandle&) = delete;
  void* get() const { return handle_; }
  void** slot() { return &handle_; }

  // OK, or an error with what the library says.
  absl::Status Check(int result, const char* call) const {
    if (result == 0) return absl::OkStatus();
    std::string log;
    size_t size = 0;
    if (handle_ != nullptr && library_.nvJitLinkGetErrorLogSize(handle_, &size) == 0 && size > 0) {
      log.resize(size);
      if (library_.nvJitLinkGetErrorLog(handle_, log.data()) != 0) log.clear();
      while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    }
    return Internal("{} of {} failed with {}{}{}", call, library_.path, result,
                    log.empty() ? "" : ": ", log);
  }

 private:
  const NvJitLink& library_;
  void* handle_ = nullptr;
};

}  // namespace

absl::StatusOr<std::string> NvJitLink::Link(std::string_view ptx, std::string_view target) const {
  LinkHandle link(*this);
  const std::string arch = fmt::format("-arch={}", target);
  const char* options[] = {arch.c_str()};
  RETURN_IF_ERROR(link.Check(nvJitLinkCreate(link.slot(), 1, options), "nvJitLinkCreate"));
  // The text ends with a zero, which counts.
  const std::string text(ptx);
  RETURN_IF_ERROR(link.Check(
      nvJitLinkAddData(link.get(), kNvJitLinkInputPtx, text.c_str(), text.size() + 1, "kernels"),
      "nvJitLinkAddData"));
  RETURN_IF_ERROR(link.Check(nvJitLinkComplete(link.get()), "nvJitLinkComplete"));
  size_t size = 0;
  RETURN_IF_ERROR(
      link.Check(nvJitLinkGetLinkedCubinSize(link.get(), &size), "nvJitLinkGetLinkedCubinSize"));
  std::string cubin(size, '\0');
  RETURN_IF_ERROR(
      link.Check(nvJitLinkGetLinkedCubin(link.get(), cubin.data()), "nvJitLinkGetLinkedCubin"));
  return cubin;
}

absl::StatusOr<NvJitLink> LoadNvJitLinkFrom(const std::string& library) {
  SharedLibrary functions(library);
  if (!functions.is_open()) return absl::NotFoundError((library + " not found").c_str());
  NvJitLink loaded;
  loaded.path = library;
#define HLO_NVJITLINK_SYMBOL(name, parameters) functions.Find(#name, loaded.name);
#include "backends/gpu/cuda/nvjitlink.def"
  if (!functions.missing().empty())
    return absl::NotFoundError(fmt::format("{} has no {}", library, functions.missing()).c_str());
  if (const int result = loaded.nvJitLinkVersion(&loaded.major, &loaded.minor); result != 0)
    return Internal("nvJitLinkVersion of {} failed with {}", library, result);
  return loaded;
}

absl::StatusOr<const NvJitLink*> LoadNvJitLink() {
  static const absl::StatusOr<NvJitLink> loaded =
      LoadFirstFound("libnvJitLink.so", "HLO_NVJITLINK", LoadNvJitLinkFrom);
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

}  // namespace hlo::gpu
