#include "tools/support/gpu_pass_flags.h"

#include <algorithm>
#include <utility>

#include "lib/support/contains.h"
#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "passes/registry.h"
#include "tools/support/xla_flags.h"

namespace hlo {
namespace {

// ---- values ----

bool IsOn(std::string_view value) { return value == "true"; }
bool IsZero(std::string_view value) { return value == "0"; }

// What an option is set to; "": it is left as it is.
std::string Same(const std::string& value) { return value; }
std::string Negated(const std::string& value) { return IsOn(value) ? "false" : "true"; }
std::string NoBias(const std::string& value) { return IsOn(value) ? "no_bias" : "bias"; }
std::string Mebibytes(const std::string& value) {
  return fmt::format("{}", ReadNumber<int64_t>(value).value_or(0) << 20);
}
std::string UnrollStrategy(const std::string& value) {
  for (const auto& [word, strategy] :
       {std::pair("DOUBLE_BUFFER", "double_buffer"), std::pair("FULL_UNROLL", "full_unroll"),
        std::pair("AUTO_UNROLL", "auto")}) {
    if (value.ends_with(word)) return strategy;
  }
  return "";
}
std::string PipelineLevel(const std::string& value) {
  return value.ends_with("_DISABLE") ? "disable" : "enable";
}

// ---- options ----

struct OptionFlag {
  std::string_view flag;
  std::string_view pass;
  std::string_view option;
  std::string (*value)(const std::string& of_flag) = Same;
};
// Those that ask the model of how long kernels take.
constexpr std::string_view kModelledPasses[] = {"fusion_merger", "multi_output_fusion",
                                                "priority-fusion", "sort-rewriter"};

// By flag. A flag may be of several passes.
constexpr OptionFlag kOptionFlags[] = {
    {"xla_allow_excess_precision", "cublas-gemm-rewriter", "allow_excess_precision"},
    {"xla_gpu_all_gather_combine_threshold_bytes", "all-gather-combiner",
     "combine_threshold_in_bytes"},
    {"xla_gpu_all_reduce_combine_threshold_bytes", "all-reduce-combiner",
     "combine_threshold_in_bytes"},
    {"xla_gpu_async_dot", "cublas-gemm-rewriter", "bias_mode", NoBias},
    {"xla_gpu_collective_combine_threshold_count", "all-gather-combiner",
     "combine_threshold_count"},
    {"xla_gpu_collective_combine_threshold_count", "all-reduce-combiner",
     "combine_threshold_count"},
    {"xla_gpu_collective_combine_threshold_count", "reduce-scatter-combiner",
     "combine_threshold_count"},
    {"xla_gpu_collective_permute_combine_threshold_bytes", "collective-permute-combiner",
     "combine_threshold_in_bytes"},
    {"xla_gpu_collective_permute_decomposer_threshold", "collective-permute-decomposer",
     "threshold_in_bytes"},
    {"xla_gpu_dot_merger_threshold_mb", "dot-merger", "max_size_to_merge", Mebibytes},
    {"xla_gpu_dump_autotune_results_to", "gemm-algorithm-picker", "dump_autotune_results_to"},
    {"xla_gpu_dump_autotune_results_to", "gpu-conv-algorithm-picker", "dump_autotune_results_to"},
    {"xla_gpu_enable_all_gather_combine_by_dim", "all-gather-combiner", "combine_by_dim"},
    {"xla_gpu_enable_cublaslt", "cublas-gemm-rewriter", "enable_cublaslt"},
    {"xla_gpu_enable_fast_min_max", "algsimp", "minmax_propagate_nan", Negated},
    {"xla_gpu_enable_reassociation_for_converted_ar", "all-reduce-reassociate",
     "reassociate_converted_ar"},
    {"xla_gpu_enable_reduce_scatter_combine_by_dim", "reduce-scatter-combiner", "combine_by_dim"},
    {"xla_gpu_enable_while_loop_reduce_scatter_code_motion", "while-loop-all-reduce-code-motion",
     "enable_reduce_scatter"},
    {"xla_gpu_enable_while_loop_unrolling", "loop-double-buffer-transformer", "unroll_strategy",
     UnrollStrategy},
    {"xla_gpu_experimental_collective_cse_distance_threshold", "schedule-aware-collective-cse",
     "distance_threshold"},
    {"xla_gpu_experimental_enable_alltoall_windowed_einsum", "windowed-einsum-handler",
     "enable_alltoall_windowed_einsum"},
    {"xla_gpu_experimental_pipeline_parallelism_opt_level", "collective-permute-decomposer",
     "pipeline_parallelism_opt_level", PipelineLevel},
    {"xla_gpu_experimental_pack_dot_operands_along_k_dimension", "layout-assignment",
     "pack_dot_operands_along_k_dimension"},
    {"xla_gpu_force_conv_nchw", "layout-assignment", "force_conv_nchw"},
    {"xla_gpu_force_conv_nhwc", "layout-assignment", "force_conv_nhwc"},
    {"xla_gpu_gemm_rewrite_size_threshold", "cublas-gemm-rewriter", "gemm_rewrite_size_threshold"},
    {"xla_gpu_load_autotune_results_from", "gemm-algorithm-picker", "load_autotune_results_from"},
    {"xla_gpu_load_autotune_results_from", "gpu-conv-algorithm-picker",
     "load_autotune_results_from"},
    {"xla_gpu_reduce_scatter_combine_threshold_bytes", "reduce-scatter-combiner",
     "combine_threshold_in_bytes"},
    {"xla_gpu_require_complete_aot_autotune_results", "gemm-algorithm-picker",
     "require_complete_aot_autotune_results"},
    {"xla_gpu_require_complete_aot_autotune_results", "gpu-conv-algorithm-picker",
     "require_complete_aot_autotune_results"},
    {"xla_gpu_use_runtime_fusion", "cudnn-fused-convolution-rewriter", "use_runtime_fusion"},
};

// ---- passes ----

// The passes with commas between them are not in `default<gpu,library>`.
struct LeavingFlag {
  std::string_view flag;
  bool (*leaves)(std::string_view value);
  std::string_view passes;
};
constexpr std::string_view kPickers = "gemm-algorithm-picker,gpu-conv-algorithm-picker";
constexpr LeavingFlag kLeavingFlags[] = {
    {"xla_gpu_autotune_level", IsZero, kPickers},
    {"xla_gpu_exclude_nondeterministic_ops", IsOn, kPickers},
    {"xla_gpu_experimental_disable_binary_libraries", IsOn, kPickers},
    {"xla_gpu_experimental_disable_binary_libraries", IsOn,
     "cudnn-custom-call-converter,sort-rewriter,conv-rewriter,cudnn-fused-convolution-rewriter,"
     "conv-padding-legalization,cudnn_pad_for_convolutions,cublas-pad-for-gemms"},
};

// Where one of `any` (with commas between them) is on, and `also` if that is a flag, but not
// `unless`: `text` stands in front of the first pass `before` of `default<gpu,library>`.
struct AddingFlag {
  std::string_view any;
  std::string_view also;
  std::string_view unless;
  std::string_view before;
  std::string_view text;
};
// After what makes scatters, which have no fixed order of additions.
constexpr std::string_view kAfterScatters = "cusolver-rewriter";
constexpr std::string_view kDeterministic =
    "xla_gpu_deterministic_ops,xla_gpu_exclude_nondeterministic_ops";
constexpr AddingFlag kAddingFlags[] = {
    {kDeterministic, "xla_gpu_enable_scatter_determinism_expander", "", kAfterScatters,
     "scatter_determinism_expander"},
    {kDeterministic, "", "", kAfterScatters, "scatter_expander{indeterministic}"},
    {"xla_gpu_enable_cudnn_layer_norm", "", "xla_gpu_experimental_disable_binary_libraries",
     "cublas-pad-for-gemms", "cudnn-norm-rewriter"},
};

// ---- the help ----

// What each flag does, by its name: `bias_mode of cublas-gemm-rewriter`.
std::map<std::string_view, std::string> Explanations() {
  std::map<std::string_view, std::string> texts;
  // What several rows say in the same words is said once, of all.
  const auto add = [&](std::string_view flag, std::string_view words, std::string_view of) {
    std::string& text = texts[flag];
    if (text.starts_with(words)) {
      text += fmt::format(", {}", of);
    } else {
      text += fmt::format("{}{}{}", text.empty() ? "" : "; ", words, of);
    }
  };
  for (const OptionFlag& row : kOptionFlags)
    add(row.flag, fmt::format("{} of ", row.option), row.pass);
  for (const LeavingFlag& row : kLeavingFlags) {
    for (const std::string_view pass : Split(row.passes, ',')) add(row.flag, "without ", pass);
  }
  for (const AddingFlag& row : kAddingFlags) {
    for (const std::string_view flag : Split(row.also.empty() ? row.any : row.also, ','))
      add(flag, "with ", row.text);
  }
  return texts;
}

// "true" or "false" for what XLA takes for these; "" for anything else.
std::string Boolean(std::string value) {
  for (char& c : value) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  if (value == "true" || value == "1") return "true";
  return value == "false" || value == "0" ? "false" : "";
}

// A value in the one form that the tables know.
std::string Canonical(const std::string& value, const XlaFlag& flag) {
  if (flag.type == XlaFlagType::kBool) return Boolean(value);
  if (flag.type == XlaFlagType::kEnum && !value.empty())
    return XlaEnumerator(value, flag.enumerators);
  return value;
}

FlagValues ValuesOf(const XlaFlag& flag) {
  switch (flag.type) {
    case XlaFlagType::kBool:
      return FlagValues::Passing("true or false", [](const std::string& value) {
        return value.empty() || !Boolean(value).empty();
      });
    case XlaFlagType::kInt:
      return FlagValues::Passing("an integer", [](const std::string& value) {
        return ReadNumber<int64_t>(value).has_value();
      });
    case XlaFlagType::kEnum:
      return FlagValues::Passing([words = flag.enumerators](const std::string& value) {
        const std::vector<std::string_view> known = Split(words, '|');
        return Contains(known, XlaEnumerator(value, words))
                   ? std::string()
                   : fmt::format("expects {}, found `{}`", Join(known, ", "), value);
      });
    case XlaFlagType::kUnknown:
    case XlaFlagType::kFloat:
    case XlaFlagType::kText: break;
  }
  return FlagValues::Any();
}

// ---- a pipeline ----

// The text that an item stands for: the name of the pipeline that it is a part of, or its own.
std::string_view WrittenAs(const PipelineItem& item, std::string_view text) {
  return text.substr(std::min<size_t>(item.loc.offset, text.size()), item.loc.length);
}

void SetDefault(PipelineItem& item, std::string_view option, std::string value) {
  const bool is_written =
      std::any_of(item.options.begin(), item.options.end(),
                  [&](const OptionText& written) { return written.name == option; });
  if (is_written || value.empty()) return;
  item.options.push_back({std::string(option), std::move(value), true, item.loc});
}

class FlagsOnPipeline {
 public:
  FlagsOnPipeline(std::string_view text, const std::map<std::string_view, std::string>& values,
                  const GpuProperties& gpu)
      : text_(text), values_(values), gpu_(gpu) {}

  absl::Status Apply(Pipeline& pipeline) const {
    for (const AddingFlag& row : kAddingFlags) {
      if (!IsAdded(row)) continue;
      ASSIGN_OR_RETURN(const Pipeline added, ParsePipeline(row.text));
      Add(added, row.before, pipeline);
    }
    for (const LeavingFlag& row : kLeavingFlags) {
      if (row.leaves(Value(row.flag))) LeaveOut(Split(row.passes, ','), pipeline);
    }
    SetOptions(pipeline);
    return absl::OkStatus();
  }

 private:
  std::string_view Value(std::string_view flag) const {
    const auto found = values_.find(flag);
    return found == values_.end() ? std::string_view() : found->second;
  }
  bool IsOfLibraryPipeline(const PipelineItem& item) const {
    return WrittenAs(item, text_) == "default<gpu,library>";
  }

  bool IsAdded(const AddingFlag& row) const {
    const auto is_on = [&](std::string_view flag) { return IsOn(Value(flag)); };
    const std::vector<std::string_view> any = Split(row.any, ',');
    return std::any_of(any.begin(), any.end(), is_on) && (row.also.empty() || is_on(row.also)) &&
           (row.unless.empty() || !is_on(row.unless));
  }
  // Whether there was a place for them.
  bool Add(const Pipeline& added, std::string_view before, Pipeline& pipeline) const {
    for (size_t i = 0; i < pipeline.size(); ++i) {
      if (Add(added, before, pipeline[i].children)) return true;
      if (pipeline[i].name != before || !IsOfLibraryPipeline(pipeline[i])) continue;
      const SourceLoc loc = pipeline[i].loc;
      for (const PipelineItem& item : added) {
        PipelineItem& put = *pipeline.insert(pipeline.begin() + static_cast<int64_t>(i++), item);
        put.loc = loc;
        for (OptionText& option : put.options) option.loc = loc;
      }
      return true;
    }
    return false;
  }

  void LeaveOut(const std::vector<std::string_view>& passes, Pipeline& pipeline) const {
    std::erase_if(pipeline, [&](const PipelineItem& item) {
      return IsOfLibraryPipeline(item) && Contains(passes, item.name);
    });
    for (PipelineItem& item : pipeline) LeaveOut(passes, item.children);
  }

  void SetOptions(Pipeline& pipeline) const {
    for (PipelineItem& item : pipeline) {
      SetOptions(item.children);
      const PassInfo* const info = FindPass(item.name);
      if (info == nullptr || WrittenAs(item, text_) == "default<cpu>") continue;
      for (const OptionFlag& row : kOptionFlags) {
        const std::string value(Value(row.flag));
        if (row.pass == info->name && !value.empty())
          SetDefault(item, row.option, row.value(value));
      }
      for (const OptionInfo& option : info->options()) {
        if (option.name == "compute_capability")
          SetDefault(item, option.name, gpu_.compute_capability);
      }
      if (Contains(kModelledPasses, info->name)) SetDefault(item, "device", gpu_.device);
    }
  }

  std::string_view text_;
  const std::map<std::string_view, std::string>& values_;
  const GpuProperties& gpu_;
};

}  // namespace

void GpuPassFlags::AddTo(Flags& flags) {
  flags.Group("GPU passes by XLA's flags");
  for (const auto& [name, text] : Explanations()) {
    const XlaFlag& flag = *FindXlaFlag(name);
    const bool is_bool = flag.type == XlaFlagType::kBool;
    flags.Add(std::string(name), &values_[name], ValuesOf(flag),
              is_bool                          ? "[true|BOOL]"
              : flag.type == XlaFlagType::kInt ? "N"
                                               : "TEXT",
              text);
  }
}

absl::StatusOr<Pipeline> GpuPassFlags::Parse(std::string_view text,
                                             const GpuProperties& gpu) const {
  ASSIGN_OR_RETURN(Pipeline pipeline, ParsePipeline(text));
  std::map<std::string_view, std::string> values = values_;
  for (auto& [name, value] : values) value = Canonical(value, *FindXlaFlag(name));
  RETURN_IF_ERROR(FlagsOnPipeline(text, values, gpu).Apply(pipeline));
  return pipeline;
}

}  // namespace hlo
