// The first step of hlo-run: a file as a module that can be run, and what the file holds beside it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "backends/executable_file.h"
#include "lib/ir/module.h"
#include "lib/support/source.h"
#include "lib/types/literal.h"
#include "tools/run/options.h"
#include "tools/support/crash_reproducer.h"

namespace hlo {

struct LoadedFile {
  std::shared_ptr<const Source> source;       // once known: errors have places in it
  std::optional<CrashReproducer> reproducer;  // of what crashes from then on
  std::unique_ptr<Module> module;
  std::optional<SavedExecutable> saved;  // what the file is, if it is one
  std::vector<Literal> recorded;         // inputs that came with the module
  std::vector<std::string> notes;        // for the user: what is not as it stands in the file
  double parse_ms = 0;
};

// Reads `path` ("-": standard input) and does to its module what the options ask for before any
// pass: meanings of custom calls, devices, a single shard, values for elided constants. Fills
// `file` as far as it comes. Of a saved executable, `options` become those of its compilation.
absl::Status LoadFile(ToolOptions& options, const std::string& path, LoadedFile& file);

}  // namespace hlo
