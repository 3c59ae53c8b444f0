#include "lib/support/file_set.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/temporary.h"

namespace hlo {

FileSet::~FileSet() {
  for (const File& file : files_) unlink(file.temporary.c_str());
}

absl::Status FileSet::Add(const std::string& path, std::string_view contents) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    return Error("cannot write `{}`: it is a folder", path);
  std::string temporary = TemporaryPattern(FolderOfFile(path));
  const int fd = mkstemp(temporary.data());
  if (fd < 0) return Error("cannot write `{}`: {}", path, std::strerror(errno));
  close(fd);
  files_.push_back({std::move(temporary), path});
  return WriteFile(files_.back().temporary, contents);
}

absl::Status FileSet::Commit() {
  while (!files_.empty()) {
    const File& file = files_.back();
    if (std::rename(file.temporary.c_str(), file.path.c_str()) != 0)
      return Error("cannot write `{}`: {}", file.path, std::strerror(errno));
    files_.pop_back();
  }
  return absl::OkStatus();
}

}  // namespace hlo
