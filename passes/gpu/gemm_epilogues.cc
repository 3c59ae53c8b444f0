#include <complex>

#include "lib/match/pattern.h"
#include "passes/gpu/gelu_pattern.h"
#include "passes/gpu/gemm_edits.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/matrix_products.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

// The first CUDA whose library applies gelu to every product of f8.
constexpr DnnVersion kFirstToolkitForF8 = {12, 4, 0};

}  // namespace

absl::StatusOr<bool> TakeFactor(Instruction* multiply, GemmEdits& edits) {
  Instruction *gemm, *factor;
  if (!Match(multiply, m::MultiplyAnyOrder(m::CustomCall(&gemm),
                                           m::Broadcast(m::Constant(&factor)).OneUser())) ||
      !IsGemm(*gemm) || !factor->shape().IsEffectiveScalar())
    return false;
  ASSIGN_OR_RETURN(GemmCallConfig config, ReadConfig<GemmConfig>(*gemm));
  Decision may = MayFollowInCall(*multiply, *gemm, config, /*after_bias=*/false);
  if (may && config.config.beta != 0) may = No("`{}` has an addend", gemm->name());
  if (gemm->shape().element_type() == ElementType::kS32) may = No("alpha is no integer");
  if (!edits.context.Allowed(*multiply, may) || !edits.context.MayRewrite()) return false;
  const std::complex<double> alpha =
      std::complex<double>(config.config.alpha_real, config.config.alpha_imag) *
      (IsComplex(factor->shape().element_type()) ? factor->literal().GetComplex()
                                                 : factor->literal().GetDouble());
  config.config.alpha_real = alpha.real();
  config.config.alpha_imag = alpha.imag();
  SetConfig(gemm, config);
  edits.Replace(multiply, gemm, gemm->module().id_limit(), "alpha");
  return true;
}

absl::Status TakeRelu(Instruction* maximum, GemmEdits& edits) {
  Instruction* value;
  if (!Match(maximum, m::MaximumAnyOrder(m::Any(&value), m::Broadcast(m::Zero()))))
    return absl::OkStatus();
  const ProductElements elements(value);
  Instruction* const gemm = elements.gemm();
  if (gemm == nullptr || !IsLtGemm(*gemm) || !IsEpilogueType(gemm->shape().element_type()))
    return absl::OkStatus();
  ASSIGN_OR_RETURN(GemmCallConfig config, ReadConfig<GemmConfig>(*gemm));
  Decision may = MayFollowInCall(*maximum, *gemm, config, /*after_bias=*/true);
  if (value->use_count() != 1 || value->is_root() || !elements.is_only_reader())
    may = No("`{}` is read elsewhere", value->name());
  if (elements.has_control_edges()) may = No("it has control edges");
  if (!edits.context.Allowed(*maximum, may) || !edits.context.MayRewrite()) return absl::OkStatus();
  config.config.epilogue =
      config.config.epilogue == GemmEpilogue::kBias ? GemmEpilogue::kBiasRelu : GemmEpilogue::kRelu;
  SetConfig(gemm, config);
  // The bitcast or slice stays between.
  for (Instruction* x = value; x != gemm; x = x->operand(0)) SetOrigin(x, nullptr);
  edits.Replace(maximum, value, gemm->module().id_limit(), "a relu");
  return absl::OkStatus();
}

absl::Status TakeGelu(Instruction* multiply, Instruction* value, const ProductElements& elements,
                      GemmEdits& edits) {
  Instruction* const gemm = elements.gemm();
  ASSIGN_OR_RETURN(GemmCallConfig config, ReadConfig<GemmConfig>(*gemm));
  const GemmEpilogue epilogue = config.config.epilogue;
  const bool has_bias = epilogue == GemmEpilogue::kBias;
  Decision may = Yes();
  if (!has_bias && epilogue != GemmEpilogue::kDefault)
    may = No("`{}` has the epilogue {}", gemm->name(), Text(epilogue));
  if (!IsLtGemm(*gemm) || IsNarrowGemm(*gemm) || !IsEpilogueType(gemm->shape().element_type()))
    may = No("the library has no gelu of it");
  if (IsF8Gemm(*gemm) && edits.options.toolkit_version < kFirstToolkitForF8)
    may = No("gelu of f8 needs CUDA 12.4");
  if (elements.has_control_edges() || multiply->has_control_edges())
    may = No("it has control edges");
  if (!edits.context.Allowed(*multiply, may) || !edits.context.MayRewrite())
    return absl::OkStatus();
  const bool has_aux =
      value->users().size() > kGeluReaders || value->is_root() || !elements.is_only_reader();
  config.config.epilogue = has_aux
                               ? (has_bias ? GemmEpilogue::kBiasGeluAux : GemmEpilogue::kGeluAux)
                               : (has_bias ? GemmEpilogue::kBiasGelu : GemmEpilogue::kGelu);
  const uint32_t first_new = gemm->module().id_limit();
  const Shape shape = gemm->shape();
  Instruction* const with = edits.computation.AddClone(
      *gemm, has_aux ? Shape::Tuple({shape, shape}) : shape, gemm->operand_vector());
  SetConfig(with, config);
  if (!has_aux) {
    edits.Replace(multiply, elements.Of(with), first_new, "a gelu");
    return absl::OkStatus();
  }
  Rewriter b(&edits.computation, edits.context, multiply);
  edits.Replace(multiply, elements.Of(b.GetTupleElement(with, 0)), first_new, "a gelu");
  b.set_origin(gemm);
  ReplaceKeepingExtras(gemm, b.GetTupleElement(with, 1), first_new);
  edits.with_aux.push_back(with);
  return absl::OkStatus();
}

}  // namespace hlo
