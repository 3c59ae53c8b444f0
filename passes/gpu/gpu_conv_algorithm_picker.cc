#include "passes/gpu/gpu_conv_algorithm_picker.h"

#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_config.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

JsonAlgorithm AlgorithmOf(const ConvChoice& choice) {
  JsonAlgorithm algorithm;
  algorithm.algo_id = choice.algorithm;
  algorithm.math_type = choice.math_type == 1 ? MathType::kTensorOps : MathType::kDefault;
  for (const TuningKnob& knob : choice.knobs)
    algorithm.tuning_knobs.emplace_back(knob.key, knob.value);
  algorithm.is_cudnn_frontend = choice.is_frontend;
  if (choice.workspace) algorithm.workspace_size = static_cast<uint64_t>(*choice.workspace);
  return algorithm;
}

ConvChoice ChoiceOf(const JsonAlgorithm& algorithm) {
  ConvChoice choice;
  choice.algorithm = algorithm.algo_id;
  choice.math_type = algorithm.math_type == MathType::kTensorOps ? 1 : 0;
  for (const auto& [key, value] : algorithm.tuning_knobs) choice.knobs.push_back({key, value});
  choice.is_frontend = algorithm.is_cudnn_frontend;
  if (algorithm.workspace_size) choice.workspace = static_cast<int64_t>(*algorithm.workspace_size);
  return choice;
}

constexpr std::string_view kPickedTargets[] = {
    kConvForward, kConvBackwardInput, kConvBackwardFilter, kConvBiasActivation, kConvForwardGraph};

int64_t ScratchBytes(const Instruction& call) { return call.shape().elements().back().dim(0); }

// (values…, u8[bytes])
Shape WithScratch(Shape shape, int64_t bytes) {
  std::vector<Shape> parts(shape.elements().begin(), shape.elements().end());
  parts.back() = Shape::Array(ElementType::kU8, {bytes});
  return Shape::Tuple(parts);
}

class ConvChooser final : public AlgorithmChooser {
 public:
  bool Matches(const Instruction& call) const override {
    if (call.opcode() != Opcode::kCustomCall || !call.shape().IsTuple() ||
        call.shape().element_count_of_tuple() < 2 || call.has_control_edges())
      return false;
    const std::string_view target = call.attrs<CustomCallAttrs>().custom_call_target;
    const Shape scratch = call.shape().elements().back();
    return absl::c_linear_search(kPickedTargets, target) && scratch.IsArray() &&
           scratch.element_type() == ElementType::kU8 && scratch.rank() == 1;
  }

  absl::StatusOr<AutotuneEntry> Chosen(Instruction* call) const override {
    ASSIGN_OR_RETURN(LibraryConfig<ConvConfig> config, ReadConfig<ConvConfig>(*call));
    AutotuneEntry entry;
    if (config.config.algorithm) {
      entry.conv = ChoiceOf(*config.config.algorithm);
      entry.scratch_bytes = ScratchBytes(*call);
    }
    config.config.algorithm.reset();
    entry.hlo = AutotuneKey(call, ToJson(config), WithScratch(call->shape(), 0));
    return entry;
  }

  bool IsFor(const AutotuneEntry& entry) const override { return entry.conv.has_value(); }

  absl::StatusOr<bool> Choose(Instruction* call, const AutotuneEntry& entry,
                              PassContext& context) const override {
    ASSIGN_OR_RETURN(LibraryConfig<ConvConfig> config, ReadConfig<ConvConfig>(*call));
    config.config.algorithm = AlgorithmOf(*entry.conv);
    config.config.algorithm->workspace_size = static_cast<uint64_t>(entry.scratch_bytes);
    std::string text = ToJson(config);
    const Shape shape = call->shape(), with_scratch = WithScratch(shape, entry.scratch_bytes);
    if (text == call->backend_config() && shape == with_scratch) return false;
    context.Passed(*call, "takes algorithm {}", entry.conv->algorithm);
    context.Count("convolutions with an algorithm");
    if (shape == with_scratch) {
      call->mutable_extras().backend_config = std::move(text);
      return true;
    }
    Computation& computation = *call->parent();
    Rewriter b(&computation, context, call);
    const uint32_t first_new = call->module().id_limit();
    Instruction* const with = computation.AddClone(*call, with_scratch, call->operand_vector());
    with->mutable_extras().backend_config = std::move(text);
    with->clear_sharding();
    std::vector<Instruction*> values;
    for (int i = 0; i + 1 < shape.element_count_of_tuple(); ++i)
      values.push_back(b.GetTupleElement(with, i));
    values.push_back(b.Constant(Literal(shape.elements().back())));
    Instruction* const tuple = b.Tuple(values);
    RETURN_IF_ERROR(b.status());
    call->module().MoveName(*call, with);
    ReplaceKeepingExtras(call, tuple, first_new);
    return true;
  }
};

}  // namespace

absl::StatusOr<bool> GpuConvAlgorithmPicker::Run(Module& module, PassContext& context) {
  return PickAlgorithms(module, options_, ConvChooser(), context);
}

HLO_DEFINE_PASS(GpuConvAlgorithmPicker)

}  // namespace hlo
