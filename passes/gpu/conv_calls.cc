#include "passes/gpu/conv_calls.h"

#include <algorithm>

#include "lib/eval/library_targets.h"
#include "lib/match/pattern.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

const CustomCallAttrs& CallAttrsOf(const Instruction& call) {
  return call.attrs<CustomCallAttrs>();
}

bool IsForwardCall(const Instruction& x) {
  if (x.opcode() != Opcode::kCustomCall || !x.shape().IsTuple()) return false;
  const std::string_view target = CallAttrsOf(x).custom_call_target;
  return (target == kConvForward || target == kConvBiasActivation) && x.operand_count() >= 2 &&
         CallAttrsOf(x).dim_labels && CallAttrsOf(x).window;
}

ElementType BiasType(ElementType result) { return IsFloat(result) ? result : ElementType::kF32; }

}  // namespace

int64_t ConvCallValue::output_feature() const {
  return CallAttrsOf(*call).dim_labels->output_feature;
}

bool ConvCallValue::IsDepthwise() const {
  const int64_t groups = CallAttrsOf(*call).feature_group_count;
  const auto feature = static_cast<int>(CallAttrsOf(*call).dim_labels->input_feature);
  return groups != 1 && call->operand(0)->shape().dim(feature) == groups;
}

bool ConvCallValue::HasBias() const {
  return call->operand_count() > 2 && !Match(call->operand(2), m::Zero());
}

absl::StatusOr<std::optional<ConvCallValue>> ConvCallValueAt(Instruction* x) {
  const bool is_value = x->opcode() == Opcode::kGetTupleElement && x->tuple_index() == 0 &&
                        IsForwardCall(*x->operand(0));
  if (!is_value || x->has_control_edges()) return std::nullopt;
  Instruction* const call = x->operand(0);
  if (call->use_count() != 1 || call->is_root() || call->has_control_edges()) return std::nullopt;
  ASSIGN_OR_RETURN(LibraryConfig<ConvConfig> config, ReadConfig<ConvConfig>(*call));
  return ConvCallValue{x, call, std::move(config)};
}

absl::StatusOr<std::optional<ConvCallValue>> ConvCallValueOf(Instruction* x, size_t users) {
  if (x->opcode() != Opcode::kGetTupleElement || x->is_root() || x->users().size() != users)
    return std::nullopt;
  return ConvCallValueAt(x);
}

Instruction* ConvCallLike(const ConvCallValue& conv, std::vector<Instruction*> operands,
                          ElementType type, Rewriter& b) {
  const Instruction& call = *conv.call;
  const Shape value = conv.value->shape().WithElementType(type);
  const ConvConfig& config = conv.config.config;
  CustomCallAttrs attrs = CallAttrsOf(call);
  const bool is_fused = operands.size() > 2 || config.conv_result_scale != 1 ||
                        config.activation_mode != ConvActivation::kNone;
  if (is_fused && operands.size() == 2) {
    Instruction* const zero = b.ScalarConstant(BiasType(type), 0);
    operands.push_back(b.Broadcast(zero, {value.dim(static_cast<int>(conv.output_feature()))}, {}));
  }
  if (is_fused) attrs.custom_call_target = std::string(kConvBiasActivation);
  std::vector<Shape> results(call.shape().elements().begin(), call.shape().elements().end());
  results[0] = value;
  Instruction* const made = call.parent()->Add(
      Opcode::kCustomCall, Shape::Tuple(results), operands, AttrsPtr::Make(std::move(attrs)), {},
      is_fused ? "cudnn-conv-bias-activation" : "cudnn-conv");
  made->CopyExtrasFrom(call);
  SetOrigin(made, nullptr);  // another value than the call's
  made->clear_sharding();
  made->mutable_extras().backend_config = ToJson(conv.config);
  return b.GetTupleElement(made, 0);
}

}  // namespace hlo
