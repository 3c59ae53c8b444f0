// The forms of a memory report (backends/common/memory_report.h). A file has the form that its name
// ends in:
//
//   .json    {"schema":1,"module":…,"bytes":{…},"peak":{…},"aliases":[…],"buffers":[…],…}
//   .svg     the arena of temporaries, time to the right and addresses upwards, a box for each
//            buffer; below it arguments and results
//   others   text: sums, the peak, aliases and donors, every buffer
//
//   $ hlo-run f.hlo --memory-report
//   $ hlo-run f.hlo --donate=0 --memory-report=f.json,f.svg --xla-memory=testdata/models/xla.json
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/common/memory_report.h"

namespace hlo {

// What XLA:CPU says of the same module.
struct XlaMemory {
  int64_t temporaries = 0;
  std::string version;
};

struct MemoryView {
  MemoryReport report;
  std::string platform;
  int64_t devices = 1;
  // By leaf of the parameters, of runs on buffers (--donate, --feed): whether the run may keep
  // them. Empty: every run has copies of its own.
  std::vector<bool> given;
  std::optional<XlaMemory> xla;
};

// In the form that the name of the file asks for.
std::string MemoryText(const MemoryView& view, std::string_view path);

// What a table made by scripts/xla_memory.py says of `module`, the name of a file without its
// ending. None where it says nothing; a table that is none is an error.
absl::StatusOr<std::optional<XlaMemory>> ReadXlaMemory(const std::string& table,
                                                       std::string_view module);

// What happens to an alias: "in place, by `add`".
std::string OutcomeOf(const AliasUse& alias, const MemoryView& view);
// memory_svg.cc.
std::string MemorySvg(const MemoryView& view);

}  // namespace hlo
