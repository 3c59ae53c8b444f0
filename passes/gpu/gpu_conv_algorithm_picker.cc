#include "passes/gpu/gpu_conv_algorithm_picker.h"

#include <fmt/format.h>

#include "lib/support/json_value.h"
#include "lib/support/read_number.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_config.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

constexpr std::string_view kTensorOps = "TENSOR_OP_MATH";

// `algorithm` of a config, as XLA prints it.
std::string AlgorithmJson(const ConvChoice& choice) {
  std::string knobs;
  for (const TuningKnob& knob : choice.knobs)
    knobs += fmt::format("{}\"{}\":\"{}\"", knobs.empty() ? "" : ",", knob.key, knob.value);
  std::string text = fmt::format(
      R"({{"algo_id":"{}","math_type":"{}","tuning_knobs":{{{}}},"is_cudnn_frontend":{})",
      choice.algorithm, choice.math_type == 1 ? kTensorOps : "DEFAULT_MATH", knobs,
      choice.is_frontend);
  if (choice.workspace) text += fmt::format(",\"workspace_size\":\"{}\"", *choice.workspace);
  return text + "}";
}

int64_t IntegerOf(std::string_view text) { return TakeNumber<int64_t>(text).value_or(0); }
int64_t IntegerOf(const JsonValue* json) {
  if (json == nullptr) return 0;
  return IntegerOf(json->IsString() ? json->text() : json->raw());
}

absl::StatusOr<ConvChoice> ChoiceOf(const Instruction& call, const RawJson& algorithm) {
  const absl::StatusOr<JsonDocument> document =
      ParseJson(std::make_shared<const Source>("backend_config", algorithm.text));
  if (!document.ok() || !document->root.IsObject())
    return Error(call.loc(), "the algorithm of `{}` is no object: {}", call.name(), algorithm.text);
  const JsonValue& json = document->root;
  ConvChoice choice;
  choice.algorithm = IntegerOf(json.Find("algo_id"));
  const JsonValue* const math = json.Find("math_type");
  choice.math_type = math != nullptr && math->text() == kTensorOps ? 1 : 0;
  const JsonValue* const frontend = json.Find("is_cudnn_frontend");
  choice.is_frontend = frontend != nullptr && frontend->text() == "true";
  if (const JsonValue* size = json.Find("workspace_size")) choice.workspace = IntegerOf(size);
  const JsonValue* const knobs = json.Find("tuning_knobs");
  for (size_t i = 0; knobs != nullptr && knobs->IsObject() && i < knobs->keys().size(); ++i)
    choice.knobs.push_back({IntegerOf(knobs->keys()[i]), IntegerOf(&knobs->items()[i])});
  return choice;
}

constexpr std::string_view kPickedTargets[] = {kConvForward, kConvBackwardInput,
                                               kConvBackwardFilter, kConvBiasActivation};

// (value, u8[bytes])
Shape WithScratch(Shape shape, int64_t bytes) {
  std::vector<Shape> parts(shape.elements().begin(), shape.elements().end());
  parts.back() = Shape::Array(ElementType::kU8, {bytes});
  return Shape::Tuple(parts);
}

class ConvChooser final : public AlgorithmChooser {
 public:
  bool Matches(const Instruction& call) const override {
    if (call.opcode() != Opcode::kCustomCall || !call.shape().IsTuple() ||
        call.shape().element_count_of_tuple() != 2 || call.has_control_edges())
      return false;
    const std::string_view target = call.attrs<CustomCallAttrs>().custom_call_target;
    const Shape scratch = call.shape().element(1);
    return absl::c_linear_search(kPickedTargets, target) && scratch.IsArray() &&
           scratch.element_type() == ElementType::kU8 && scratch.rank() == 1;
  }

  absl::StatusOr<AutotuneEntry> Chosen(Instruction* call) const override {
    ASSIGN_OR_RETURN(LibraryConfig<ConvConfig> config, ReadConfig<ConvConfig>(*call));
    AutotuneEntry entry;
    if (config.config.algorithm) {
      ASSIGN_OR_RETURN(entry.conv, ChoiceOf(*call, *config.config.algorithm));
      entry.scratch_bytes = call->shape().element(1).dim(0);
    }
    config.config.algorithm.reset();
    entry.hlo = AutotuneKey(call, ToJson(config), WithScratch(call->shape(), 0));
    return entry;
  }

  bool IsFor(const AutotuneEntry& entry) const override { return entry.conv.has_value(); }

  absl::StatusOr<bool> Choose(Instruction* call, const AutotuneEntry& entry,
                              PassContext& context) const override {
    ASSIGN_OR_RETURN(LibraryConfig<ConvConfig> config, ReadConfig<ConvConfig>(*call));
    config.config.algorithm = RawJson{AlgorithmJson(*entry.conv)};
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
    Rewriter b(&computation, context);
    b.set_origin(call);
    const uint32_t first_new = call->module().id_limit();
    Instruction* const with = computation.AddClone(*call, with_scratch, call->operand_vector());
    with->mutable_extras().backend_config = std::move(text);
    with->mutable_extras().sharding.reset();
    Instruction* const nothing = b.Constant(Literal(shape.element(1)));
    Instruction* const tuple = b.Tuple({b.GetTupleElement(with, 0), nothing});
    RETURN_IF_ERROR(b.status());
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
