// Temporary files and folders. Their names say whose they are: what a process that was killed has
// left is removed by the next one of this machine that makes some in the same folder.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hlo {

// A hidden name in `folder`, as mkstemp and mkdtemp take it: ".hlo-tmp.MACHINE.PROCESS.XXXXXX".
std::string TemporaryPattern(const std::string& folder);

// The folder in which a file is: ".", "/" or without a slash at the end.
std::string FolderOfFile(std::string_view path);

// A folder in that of the system ($TMPDIR), which goes with all that is in it.
class TemporaryFolder final {
 public:
  static absl::StatusOr<std::unique_ptr<TemporaryFolder>> Make();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // A path in it.
  std::string In(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace hlo
