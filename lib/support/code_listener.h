// Tells profilers and debuggers which function lies where in generated code:
//
//   perf   /tmp/perf-PID.map, a line for each function; `perf report` shows their names
//   GDB    its interface for generated code: an ELF file in memory that holds the symbols of an
//          object; backtraces and breakpoints know them until the code goes
//
// Nobody listens unless told to (hlo-run --jit-symbols): it costs a file and some time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace hlo {

struct CodeSymbol {
  std::string name;
  uint64_t address = 0;
  uint64_t size = 0;
};

// From now on, for all code that this process links. An error where the map cannot be written.
absl::Status ListenForCode();
bool IsListeningForCode();

// Code is there as long as this object. Any thread may make and destroy one.
class AnnouncedCode final {
 public:
  // All functions of one object.
  explicit AnnouncedCode(absl::Span<const CodeSymbol> symbols);
  ~AnnouncedCode();
  AnnouncedCode(const AnnouncedCode&) = delete;
  AnnouncedCode& operator=(const AnnouncedCode&) = delete;

 private:
  struct Entry;
  std::unique_ptr<Entry> entry_;
};

// The ELF file that GDB is given: the symbols, and one section without contents that spans them.
std::string SymbolFile(absl::Span<const CodeSymbol> symbols);

}  // namespace hlo
