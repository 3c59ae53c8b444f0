#include "passes/gpu/gemm_algorithm_picker.h"

#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_config.h"

namespace hlo {
namespace {

class GemmChooser final : public AlgorithmChooser {
 public:
  bool Matches(const Instruction& call) const override {
    if (call.opcode() != Opcode::kCustomCall) return false;
    const std::string_view target = call.attrs<CustomCallAttrs>().custom_call_target;
    return target == kGemm || target == kLtMatmul || target == kLtMatmulF8;
  }

  absl::StatusOr<AutotuneEntry> Chosen(Instruction* call) const override {
    ASSIGN_OR_RETURN(LibraryConfig<GemmConfig> config, ReadConfig<GemmConfig>(*call));
    GemmConfig& gemm = config.config;
    AutotuneEntry entry;
    if (gemm.selected_algorithm)
      entry.gemm = GemmChoice{*gemm.selected_algorithm, gemm.autotune_workspace_size};
    gemm.selected_algorithm.reset();
    gemm.autotune_workspace_size = 0;
    entry.hlo = AutotuneKey(call, ToJson(config), call->shape());
    return entry;
  }

  bool IsFor(const AutotuneEntry& entry) const override { return entry.gemm.has_value(); }

  absl::StatusOr<bool> Choose(Instruction* call, const AutotuneEntry& entry,
                              PassContext& context) const override {
    ASSIGN_OR_RETURN(LibraryConfig<GemmConfig> config, ReadConfig<GemmConfig>(*call));
    config.config.selected_algorithm = entry.gemm->algorithm;
    config.config.autotune_workspace_size = entry.gemm->workspace;
    std::string text = ToJson(config);
    if (text == call->backend_config()) return false;
    context.Passed(*call, "takes algorithm {}", entry.gemm->algorithm);
    context.Count("products with an algorithm");
    call->mutable_extras().backend_config = std::move(text);
    return true;
  }
};

}  // namespace

absl::StatusOr<bool> GemmAlgorithmPicker::Run(Module& module, PassContext& context) {
  return PickAlgorithms(module, options_, GemmChooser(), context);
}

HLO_DEFINE_PASS(GemmAlgorithmPicker)

}  // namespace hlo
