#include "lib/support/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "lib/support/status.h"
#include "lib/support/temporary.h"
#include "lib/support/unpack.h"

namespace hlo {
namespace {

absl::Status SystemError(std::string_view what, const std::string& path) {
  return Error("cannot {} `{}`: {}", what, path, std::strerror(errno));
}

// Whether this is a device such as /dev/zero, seen from its first bytes.
bool IsEndless(int fd, std::string_view before, std::string_view first) {
  struct stat info;
  return before.empty() && fstat(fd, &info) == 0 && S_ISCHR(info.st_mode) && first.size() > 4096 &&
         first.find_first_not_of('\0') == std::string_view::npos;
}

absl::StatusOr<std::string> ReadAll(int fd, const std::string& path, int64_t limit) {
  std::string text;
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode))
    return Error("cannot read `{}`: it is a folder", path);
  const auto too_long = [&] {
    return Error("cannot read `{}`: it has more than {} bytes, which is the limit", path, limit);
  };
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > limit) return too_long();
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
    text.reserve(static_cast<size_t>(info.st_size) + 1);
  char buffer[1 << 16];
  while (true) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError("read", path);
    if (n == 0) return text;
    if (static_cast<int64_t>(text.size()) + n > limit) return too_long();
    if (IsEndless(fd, text, {buffer, static_cast<size_t>(n)})) {
      return Error("cannot read `{}`: it is a device that gives nothing but zeros", path);
    }
    text.append(buffer, static_cast<size_t>(n));
  }
}

absl::Status WriteAll(int fd, std::string_view contents, const std::string& path) {
  while (!contents.empty()) {
    const ssize_t n = write(fd, contents.data(), contents.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError("write", path);
    contents.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t limit) {
  const int fd = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return SystemError("read", path);
  absl::StatusOr<std::string> text = ReadAll(fd, path, limit);
  if (path != "-") close(fd);
  if (!text.ok()) return text;
  return Unpack(*std::move(text), path);
}

absl::Status MakeFolder(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0) {
    return S_ISDIR(info.st_mode) ? absl::OkStatus()
                                 : Error("cannot write to `{}`: it is no folder", path);
  }
  if (mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return absl::OkStatus();
  return Error("cannot make the folder `{}`: {}", path, std::strerror(errno));
}

absl::Status CheckWritable(const std::string& path) {
  struct stat info;
  if (path == "-") return absl::OkStatus();
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) return Error("cannot write `{}`: it is a folder", path);
    return access(path.c_str(), W_OK) == 0 ? absl::OkStatus() : SystemError("write", path);
  }
  std::string temporary = TemporaryPattern(FolderOfFile(path));
  const int fd = mkstemp(temporary.data());
  if (fd < 0) return SystemError("write", path);
  close(fd);
  unlink(temporary.c_str());
  return absl::OkStatus();
}

absl::Status WriteFile(const std::string& path, std::string_view contents) {
  if (path == "-") return WriteAll(STDOUT_FILENO, contents, "standard output");
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {  // a device or pipe: no rename
    if (S_ISDIR(info.st_mode)) return Error("cannot write `{}`: it is a folder", path);
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return SystemError("write", path);
    const absl::Status status = WriteAll(fd, contents, path);
    close(fd);
    return status;
  }
  std::string temporary = TemporaryPattern(FolderOfFile(path));
  const int fd = mkstemp(temporary.data());
  if (fd < 0) return SystemError("write", path);
  absl::Status status = WriteAll(fd, contents, path);
  fchmod(fd, 0644);
  if (close(fd) != 0 && status.ok()) status = SystemError("write", path);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0)
    status = SystemError("write", path);
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

}  // namespace hlo
