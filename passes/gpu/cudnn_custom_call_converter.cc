#include "passes/gpu/cudnn_custom_call_converter.h"

#include "passes/gpu/library_config.h"

namespace hlo {
namespace {

constexpr std::string_view kCudnnFusion = "__cudnn$fusion";

absl::Status CheckFits(const Instruction& call) {
  if (call.call_count() != 1)
    return Error(call.loc(), "`{}` is a fusion of one computation, found {}", call.name(),
                 call.call_count());
  const Computation& computation = *call.call(0);
  if (computation.parameter_count() != call.operand_count())
    return Error(call.loc(), "`{}` has {} operands, `{}` takes {}", call.name(),
                 call.operand_count(), computation.name(), computation.parameter_count());
  for (int i = 0; i < call.operand_count(); ++i) {
    if (!Compatible(call.operand(i)->shape(), computation.parameter(i)->shape()))
      return Error(call.loc(), "operand {} of `{}` is `{}`, `{}` takes `{}`", i, call.name(),
                   call.operand(i)->shape(), computation.name(), computation.parameter(i)->shape());
  }
  for (const Instruction* parameter : computation.parameters()) {
    if (!parameter->is_used())
      return Error(call.loc(), "`{}` does not read `{}`, as a fusion does with all its parameters",
                   computation.name(), parameter->name());
  }
  if (!Compatible(call.shape(), computation.root()->shape()))
    return Error(call.loc(), "`{}` is `{}`, `{}` yields `{}`", call.name(), call.shape(),
                 computation.name(), computation.root()->shape());
  return absl::OkStatus();
}

}  // namespace

bool CudnnCustomCallConverter::Matches(const Instruction& call) const {
  return call.attrs<CustomCallAttrs>().custom_call_target == kCudnnFusion;
}

absl::StatusOr<Instruction*> CudnnCustomCallConverter::Expand(Instruction* call,
                                                              Rewriter& rewriter) {
  RETURN_IF_ERROR(CheckFits(*call));
  Module& module = call->module();
  Computation* const fused = module.CloneComputation(*call->call(0), ".clone", /*deep=*/false);
  module.MoveToFront(fused, call->parent());
  Instruction* const fusion =
      rewriter.Fusion(call->shape(), FusionKind::kCustom, call->operand_vector(), fused);
  RETURN_IF_ERROR(rewriter.status());
  LibraryConfig<FusionConfig> config;
  config.config.kind = kCudnnFusion;
  fusion->mutable_extras().backend_config = ToJson(config);
  return fusion;
}

HLO_DEFINE_PASS(CudnnCustomCallConverter)

}  // namespace hlo
