#include "backends/gpu/cuda/find_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "lib/support/strings.h"

namespace hlo::gpu {
namespace {

namespace fs = std::filesystem;

// What lies in a folder, in the order of names; nothing where it cannot be read.
std::vector<fs::path> EntriesOf(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    entries.push_back(it->path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

// PREFIX/lib/python3.*/{site,dist}-packages
void AddPackagesOf(const fs::path& prefix, std::vector<fs::path>& folders) {
  for (const fs::path& python : EntriesOf(prefix / "lib")) {
    if (python.filename().string().rfind("python3", 0) != 0) continue;
    for (const char* const packages : {"site-packages", "dist-packages"})
      folders.push_back(python / packages);
  }
}

// The folders of packages of each python3 in the folders of `path`.
std::vector<fs::path> PackageFolders(std::string_view path) {
  std::vector<fs::path> folders;
  for (const std::string_view folder : Split(path, ':')) {
    const fs::path python = fs::path(folder) / "python3";
    std::error_code error;
    if (folder.empty() || !fs::exists(python, error)) continue;
    // An environment has packages of its own, and those of the Python that its link leads to.
    AddPackagesOf(python.parent_path().parent_path(), folders);
    const fs::path real = fs::canonical(python, error);
    if (!error && real != python) AddPackagesOf(real.parent_path().parent_path(), folders);
  }
  return folders;
}

void AddIfThere(const fs::path& file, std::vector<std::string>& places) {
  std::error_code error;
  if (fs::exists(file, error)) places.push_back(file.string());
}

}  // namespace

std::vector<std::string> PlacesOfLibrary(std::string_view library, std::string_view path,
                                         absl::Span<const std::string_view> versions) {
  std::vector<std::string> places;
  for (const std::string_view version : versions)
    places.push_back(std::string(library) + std::string(version));
  for (const char* const folder :
       {"/usr/local/cuda/lib64/", "/usr/local/cuda/targets/x86_64-linux/lib/"})
    places.push_back(folder + std::string(library));
  for (const fs::path& packages : PackageFolders(path)) {
    for (const fs::path& package : EntriesOf(packages / "nvidia")) {
      for (const std::string_view version : versions)
        AddIfThere(package / "lib" / (std::string(library) + std::string(version)), places);
    }
  }
  return places;
}

SharedLibrary::SharedLibrary(const std::string& path)
    : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {}

void* SharedLibrary::Address(const char* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

std::vector<std::string> PlacesOfProgram(std::string_view program, std::string_view path) {
  std::vector<std::string> places;
  for (const std::string_view folder : Split(path, ':')) {
    if (!folder.empty()) AddIfThere(fs::path(folder) / program, places);
  }
  AddIfThere(fs::path("/usr/local/cuda/bin") / program, places);
  for (const fs::path& packages : PackageFolders(path)) {
    for (const fs::path& package : EntriesOf(packages / "nvidia"))
      AddIfThere(package / "bin" / program, places);
    AddIfThere(packages / "triton/backends/nvidia/bin" / program, places);
  }
  return places;
}

absl::StatusOr<std::string> FindProgram(const char* program, const char* variable) {
  std::vector<std::string> places;
  if (const char* const named = std::getenv(variable)) {
    places.emplace_back(named);
  } else {
    const char* const path = std::getenv("PATH");
    places = PlacesOfProgram(program, path == nullptr ? "" : path);
  }
  for (const std::string& place : places) {
    if (access(place.c_str(), X_OK) == 0) return place;
  }
  return absl::NotFoundError(fmt::format("{} not found (looked at ${}, PATH, /usr/local/cuda/bin, "
                                         "packages of python3)",
                                         program, variable)
                                 .c_str());
}

}  // namespace hlo::gpu
