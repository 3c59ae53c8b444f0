#include "passes/gpu/algorithm_pickers.h"

#include <map>
#include <mutex>

namespace hlo {
namespace {

// Both pickers are told the same file by a flag, and one run may have several modules: the file
// holds what all of them have found, as that of XLA does.
absl::Status AddToFile(std::vector<AutotuneEntry> entries, const std::string& path) {
  static std::mutex mutex;
  static auto& written = *new std::map<std::string, AutotuneResults>();  // by path
  const std::lock_guard<std::mutex> lock(mutex);
  AutotuneResults& results = written[path];
  for (AutotuneEntry& entry : entries) {
    const auto same = absl::c_find_if(results.entries, [&](const AutotuneEntry& old) {
      return old.hlo == entry.hlo && old.device == entry.device;
    });
    if (same == results.entries.end()) {
      results.entries.push_back(std::move(entry));
    } else {
      *same = std::move(entry);
    }
  }
  return WriteAutotuneResults(results, path);
}

absl::Status NoResult(const Instruction& call, const std::string& path, std::string_view key) {
  if (path.empty())
    return Error(
        call.loc(),
        "there is no result for `{}`: no file is given (`load_autotune_results_from`); its "
        "key is {}",
        call.name(), key);
  return Error(call.loc(), "there is no result for `{}` in `{}`; its key is {}", call.name(), path,
               key);
}

}  // namespace

absl::StatusOr<bool> PickAlgorithms(Module& module, const AlgorithmPickerOptions& options,
                                    const AlgorithmChooser& chooser, PassContext& context) {
  AutotuneResults known, written;
  if (!options.load_autotune_results_from.empty()) {
    ASSIGN_OR_RETURN(known, ReadAutotuneResults(options.load_autotune_results_from));
  }
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kCustomCall})) {
    for (Instruction* call : computation->PostOrder()) {
      if (!chooser.Matches(*call)) continue;
      ASSIGN_OR_RETURN(AutotuneEntry entry, chooser.Chosen(call));
      entry.device = options.device;
      const AutotuneEntry* const found = FindAutotuneEntry(known, options.device, entry.hlo);
      if (found != nullptr && chooser.IsFor(*found)) {
        entry = *found;
        if (context.MayRewrite()) {
          ASSIGN_OR_RETURN(const bool call_changed, chooser.Choose(call, *found, context));
          changed |= call_changed;
        }
      } else if (options.require_complete_aot_autotune_results) {
        return NoResult(*call, options.load_autotune_results_from, entry.hlo);
      } else if (found != nullptr) {
        context.Missed(*call,
                       "the result of an autotuner under its key is for another kind of call");
      } else {
        context.Missed(*call, "no result of an autotuner is known of it");
      }
      const bool is_chosen = entry.gemm || entry.conv;
      if (is_chosen && FindAutotuneEntry(written, entry.device, entry.hlo) == nullptr)
        written.entries.push_back(std::move(entry));
    }
  }
  if (!options.dump_autotune_results_to.empty())
    RETURN_IF_ERROR(AddToFile(std::move(written.entries), options.dump_autotune_results_to));
  return changed;
}

}  // namespace hlo
