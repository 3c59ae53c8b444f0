// backends/gpu/cuda/find_library.h
//
// Where NVIDIA's libraries and programs lie. They come with the toolkit or as packages of Python,
// which no loader knows.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/support/status.h"

namespace hlo::gpu {

// An opened library, which stays open, and the names that were looked for in vain.
class SharedLibrary final {
 public:
  // Nothing is found in a library that cannot be opened.
  explicit SharedLibrary(const std::string& path);
  bool is_open() const { return handle_ != nullptr; }
  // Sets `function` to the one of this name, or null, which counts as missing.
  template <typename Function>
  void Find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(Address(name));
    if (function == nullptr) missing_ += (missing_.empty() ? "" : ", ") + std::string(name);
  }
  const std::string& missing() const { return missing_; }  // separated by commas

 private:
  void* Address(const char* name) const;
  void* handle_;
  std::string missing_;
};

// The versions of CUDA, as names of its libraries end.
inline constexpr std::string_view kCudaVersions[] = {".13", ".12"};

// Names to give to dlopen, the best first, for a library such as "libcublasLt.so": of `versions`
// by the loader, in the toolkit's folders, and in site-packages/nvidia/*/lib beside each python3 in
// the folders of `path` (as $PATH has them). The last are files that exist.
std::vector<std::string> PlacesOfLibrary(
    std::string_view library, std::string_view path,
    absl::Span<const std::string_view> versions = kCudaVersions);

// Files of the name of a program such as "ptxas", the best first: in the folders of `path`, in the
// toolkit's folder, and in site-packages/nvidia/*/bin and those of triton beside each python3.
std::vector<std::string> PlacesOfProgram(std::string_view program, std::string_view path);

// $`variable` where it is set, else the first of these places that can be run. NotFound when there
// is none.
absl::StatusOr<std::string> FindProgram(const char* program, const char* variable);

// Loads `library` by `load` from the first place that has it; $`variable` is the only place where
// it is set, and means not to look when empty. NotFound when there is none.
template <typename Library>
absl::StatusOr<Library> LoadFirstFound(
    const char* library, const char* variable, absl::StatusOr<Library> (*load)(const std::string&),
    absl::Span<const std::string_view> versions = kCudaVersions) {
  if (const char* const named = std::getenv(variable)) {
    if (*named == '\0') return absl::NotFoundError(fmt::format("${} is empty", variable).c_str());
    return load(named);
  }
  const char* const path = std::getenv("PATH");
  for (const std::string& place : PlacesOfLibrary(library, path == nullptr ? "" : path, versions)) {
    absl::StatusOr<Library> found = load(place);
    if (found.ok()) return found;
  }
  return absl::NotFoundError(fmt::format("{} not found (looked at ${}, the loader's path, "
                                         "/usr/local/cuda, packages of python3)",
                                         library, variable)
                                 .c_str());
}

}  // namespace hlo::gpu
