#include "tools/run/load_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "lib/ir/verifier.h"
#include "lib/ir/verify_meaning.h"
#include "lib/proto/literals.h"
#include "lib/support/archive.h"
#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/time_trace.h"
#include "tools/run/bench.h"
#include "tools/run/custom_calls.h"
#include "tools/run/devices.h"
#include "tools/run/saved_executable.h"
#include "tools/run/spmd_run.h"
#include "tools/support/elided.h"
#include "tools/support/runnable.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

// The inputs of a snapshot, the code of an executable.
absl::Status ReadBeside(ToolOptions& options, const std::string& path, LoadedFile& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  if (IsArchive(kExecutableArchive, bytes)) {
    absl::StatusOr<SavedExecutable> saved = OpenSaved(bytes, options);
    if (!saved.ok()) return Error("{}: {}", path, std::string(saved.status().message()));
    file.saved = *std::move(saved);
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<Literal>> recorded = RecordedArguments(bytes);
  if (!recorded.ok())
    return Error("{}: its inputs: {}", path, std::string(recorded.status().message()));
  file.recorded = *std::move(recorded);
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadFile(ToolOptions& options, const std::string& path, LoadedFile& file) {
  const TimeSpan span("parse", path);
  const double start = Now();
  ASSIGN_OR_RETURN(const std::vector<InputText> inputs, ReadInputs(path, /*split=*/false));
  InputText input = inputs.front();
  RETURN_IF_ERROR(ReadBeside(options, path, file));
  if (!options.source_name.empty()) {
    input.source =
        std::make_shared<const Source>(options.source_name, std::string(input.source->text()));
  }
  file.source = input.source;
  file.reproducer.emplace("hlo-run", CrashHead("hlo-run", options.repeating_words()), file.source,
                          options.repeating_words());
  const CrashLine line("reading the module");
  const bool runs_as_it_is = options.passes.empty();
  ASSIGN_OR_RETURN(file.module, LoadModule(input, runs_as_it_is ? Runnable() : VerifierOptions()));
  Module& module = *file.module;
  if (runs_as_it_is) RETURN_IF_ERROR(VerifyMeaning(module));
  if (file.saved) file.saved->Restore(module);
  file.parse_ms = Now() - start;
  if (module.entry() == nullptr)
    return Error("module `{}` has no entry computation", module.name());
  RETURN_IF_ERROR(GiveMeanings(module, options.custom_calls));
  int64_t partitions = options.num_partitions;
  if (options.spmd) {
    ASSIGN_OR_RETURN(partitions, PartitionsByShardings(module, partitions));
  }
  RETURN_IF_ERROR(SetDevices(module, options.num_replicas, partitions));
  ASSIGN_OR_RETURN(const int filled, FillElided(module, options.fill_elided));
  if (filled > 0) {
    file.notes.push_back(
        fmt::format("{} constant{} without values filled with {}; results mean nothing", filled,
                    filled == 1 ? "" : "s", options.fill_elided));
  }
  return absl::OkStatus();
}

}  // namespace hlo
