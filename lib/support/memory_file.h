// A file in memory, to exchange text with child processes: what a child wrote before it crashed is
// there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hlo {

class MemoryFile final {
 public:
  enum class Inherit { kAcrossFork, kAcrossExec };

  explicit MemoryFile(Inherit inherit = Inherit::kAcrossFork);
  ~MemoryFile();
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&& other) noexcept;

  // Negative when the system has none to give; then nothing is written and read.
  int descriptor() const { return file_; }

  bool Write(std::string_view text) const;
  // The next one to read or write it, here or in a child, begins at the start.
  bool Rewind() const;
  // The first or the last bytes of what was written.
  std::string Start(size_t most = std::string::npos) const;
  std::string End(size_t most) const;

 private:
  std::string ReadFrom(size_t begin, size_t most) const;

  int file_;
};

}  // namespace hlo
