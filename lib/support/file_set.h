// Several files written together: nothing is to be seen under their names until Commit, which
// renames them all; without it they leave no trace.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace hlo {

class FileSet {
 public:
  FileSet() = default;
  FileSet(const FileSet&) = delete;
  FileSet& operator=(const FileSet&) = delete;
  ~FileSet();  // removes what was not committed

  // Writes `contents` to a temporary file beside `path`.
  absl::Status Add(const std::string& path, std::string_view contents);
  absl::Status Commit();

 private:
  struct File {
    std::string temporary, path;
  };
  std::vector<File> files_;
};

}  // namespace hlo
