#include "passes/gpu/algorithm_pickers.h"

namespace hlo {

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
      if (const AutotuneEntry* found = FindAutotuneEntry(known, options.device, entry.hlo)) {
        entry = *found;
        if (context.MayRewrite()) {
          ASSIGN_OR_RETURN(const bool call_changed, chooser.Choose(call, *found, context));
          changed |= call_changed;
        }
      } else if (options.require_complete_aot_autotune_results) {
        return Error(call->loc(), "there is no result for `{}` in `{}`; its key is {}",
                     call->name(), options.load_autotune_results_from, entry.hlo);
      } else {
        context.Missed(*call, "no result of an autotuner is known of it");
      }
      const bool is_chosen = entry.gemm || entry.conv;
      if (is_chosen && FindAutotuneEntry(written, entry.device, entry.hlo) == nullptr)
        written.entries.push_back(std::move(entry));
    }
  }
  if (!options.dump_autotune_results_to.empty())
    RETURN_IF_ERROR(WriteAutotuneResults(written, options.dump_autotune_results_to));
  return changed;
}

}  // namespace hlo
