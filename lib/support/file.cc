#include "lib/support/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "lib/support/status.h"
#include "lib/support/unpack.h"

namespace hlo {
namespace {

absl::Status SystemError(std::string_view what, const std::string& path) {
  return Error("cannot {} `{}`: {}", what, path, std::strerror(errno));
}

absl::StatusOr<std::string> ReadAll(int fd, const std::string& path) {
  std::string text;
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode))
    return Error("cannot read `{}`: it is a folder", path);
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
    text.reserve(static_cast<size_t>(info.st_size) + 1);
  char buffer[1 << 16];
  while (true) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError("read", path);
    if (n == 0) return text;
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

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const int fd = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return SystemError("read", path);
  absl::StatusOr<std::string> text = ReadAll(fd, path);
  if (path != "-") close(fd);
  if (!text.ok()) return text;
  return Unpack(*std::move(text), path);
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
  std::string temporary = path + ".XXXXXX";
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
