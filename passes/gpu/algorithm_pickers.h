// What both pickers of algorithms do: read and write files of results.
#pragma once

#include <string>

#include "passes/gpu/autotune_results.h"
#include "passes/pass.h"

namespace hlo {

struct AlgorithmPickerOptions {
  std::string load_autotune_results_from;
  std::string dump_autotune_results_to;
  bool require_complete_aot_autotune_results = false;
  std::string device;

  HLO_OPTIONS(AlgorithmPickerOptions, load_autotune_results_from, dump_autotune_results_to,
              require_complete_aot_autotune_results, device)
};

// How one kind of calls holds its choice.
class AlgorithmChooser {
 public:
  virtual ~AlgorithmChooser() = default;
  virtual bool Matches(const Instruction& call) const = 0;
  // The key of the call as if nothing were chosen, and what is chosen (an entry without gemm and
  // conv: nothing).
  virtual absl::StatusOr<AutotuneEntry> Chosen(Instruction* call) const = 0;
  // Whether an entry holds a choice for such calls.
  virtual bool IsFor(const AutotuneEntry& entry) const = 0;
  // Takes the choice of an entry that is for it; whether that changed the call.
  virtual absl::StatusOr<bool> Choose(Instruction* call, const AutotuneEntry& entry,
                                      PassContext& context) const = 0;
};

absl::StatusOr<bool> PickAlgorithms(Module& module, const AlgorithmPickerOptions& options,
                                    const AlgorithmChooser& chooser, PassContext& context);

}  // namespace hlo
