#include "lib/support/memory_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace hlo {

MemoryFile::MemoryFile(Inherit inherit)
    : file_(memfd_create("hlo", inherit == Inherit::kAcrossExec ? 0 : MFD_CLOEXEC)) {}

MemoryFile::~MemoryFile() {
  if (file_ >= 0) close(file_);
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

MemoryFile& MemoryFile::operator=(MemoryFile&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

bool MemoryFile::Write(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t n = write(file_, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool MemoryFile::Rewind() const { return lseek(file_, 0, SEEK_SET) == 0; }

std::string MemoryFile::Start(size_t most) const { return ReadFrom(0, most); }

std::string MemoryFile::End(size_t most) const {
  struct stat info {};
  if (fstat(file_, &info) != 0) return "";
  const auto size = static_cast<size_t>(info.st_size);
  return ReadFrom(size - std::min(size, most), most);
}

// The place in the file, which a child shares, stays where it is.
std::string MemoryFile::ReadFrom(size_t begin, size_t most) const {
  std::string text;
  char buffer[1 << 14];
  while (text.size() < most) {
    const ssize_t n = pread(file_, buffer, std::min(sizeof buffer, most - text.size()),
                            static_cast<off_t>(begin + text.size()));
    if (n <= 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

}  // namespace hlo
