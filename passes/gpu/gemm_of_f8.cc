#include "lib/match/pattern.h"
#include "passes/gpu/f8_products.h"
#include "passes/gpu/f8_results.h"
#include "passes/gpu/gemm_edits.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/matrix_products.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

// The first that multiplies f8, and the first that takes matrices of them as they lie.
constexpr CudaCapability kAda = {8, 9}, kBlackwell = {10, 0};
constexpr DnnVersion kFirstToolkit = {12, 0, 0};

// Of f8 that f16 holds: f8e8m0fnu goes up to 2^127.
bool IsSmallF8(const Instruction& x) {
  const ElementType type = x.shape().element_type();
  return IsF8(type) && type != ElementType::kF8E8M0FNU;
}

// dot(f8, f8)  =>  dot(convert(f8), convert(f8)) in f16, of which other passes make calls; in
// bf16 where that is the result, which the library does not make of f16
absl::Status InF16(Instruction* dot, GemmEdits& edits) {
  const ElementType type = dot->shape().element_type();
  if (!IsFloat(type) || type == ElementType::kF8E8M0FNU || !IsSmallF8(*dot->operand(0)) ||
      !IsSmallF8(*dot->operand(1)) || !edits.context.MayRewrite())
    return absl::OkStatus();
  const ElementType wide = type == ElementType::kBF16 ? ElementType::kBF16 : ElementType::kF16;
  Rewriter b(&edits.computation, edits.context, dot);
  const uint32_t first_new = dot->module().id_limit();
  Instruction* const lhs = b.Convert(dot->operand(0), wide);
  Instruction* const rhs = b.Convert(dot->operand(1), wide);
  Instruction* value = edits.computation.AddClone(
      *dot, dot->shape().WithElementType(IsF8(type) ? ElementType::kF16 : type), {lhs, rhs});
  if (IsF8(type)) value = b.Convert(value, type);
  RETURN_IF_ERROR(b.status());
  edits.Replace(dot, value, first_new, "a product of f16");
  return absl::OkStatus();
}

bool IsOne(const Instruction& x) {
  return x.IsConstant() && x.shape().rank() == 0 && !x.literal().is_elided() &&
         x.literal().GetDouble() == 1;
}

struct F8End {
  Instruction* scale;
  bool is_divided;
  Instruction* largest;  // null: nobody wants it
};

absl::Status Narrow(Instruction* convert, Instruction* gemm, const F8End& end,
                    GemmCallConfig& config, GemmEdits& edits) {
  Rewriter b(&edits.computation, edits.context, convert);
  const uint32_t first_new = gemm->module().id_limit();
  std::vector<Instruction*> operands = gemm->operand_vector();
  operands.push_back(F8Scale(end.scale, end.is_divided, b));
  const Shape narrow = convert->shape();
  const Shape largest_shape = Shape::Scalar(ElementType::kF32);
  Instruction* const with = edits.computation.AddClone(
      *gemm, end.largest == nullptr ? narrow : Shape::Tuple({narrow, largest_shape}), operands);
  CustomCallAttrs attrs = with->attrs<CustomCallAttrs>();
  attrs.output_to_operand_aliasing.clear();  // f8 is smaller than what is added
  with->SetAttrs(std::move(attrs));
  config.config.damax_output = end.largest != nullptr;
  SetConfig(with, config);
  RETURN_IF_ERROR(b.status());
  if (end.largest == nullptr) {
    edits.Replace(convert, with, first_new, "a result of f8");
    return absl::OkStatus();
  }
  edits.with_aux.push_back(with);
  // Always converted, as XLA does; algsimp takes away what changes nothing.
  Instruction* const largest =
      b.OpWithShape(Opcode::kConvert, end.largest->shape(), {b.GetTupleElement(with, 1)});
  edits.Replace(end.largest, largest, first_new, "the largest magnitude");
  edits.Replace(convert, b.GetTupleElement(with, 0), first_new, "a result of f8");
  return b.status();
}

}  // namespace

absl::Status RewriteF8Dot(Instruction* dot, GemmEdits& edits) {
  const std::optional<F8Operand> lhs = FindF8Operand(dot->operand(0));
  const std::optional<F8Operand> rhs = FindF8Operand(dot->operand(1));
  Decision may = Yes();
  if (!lhs || !rhs) may = No("its operands are not made of f8");
  if (may) may = IsF8Product(*dot, *lhs, *rhs);
  if (may &&
      (edits.options.compute_capability < kAda || edits.options.toolkit_version < kFirstToolkit))
    may = No("the library multiplies no f8 there");
  if (may) may = FitsLt(*dot, edits.options.compute_capability);
  if (!edits.context.Allowed(*dot, may)) return InF16(dot, edits);
  if (!edits.context.MayRewrite()) return absl::OkStatus();
  Rewriter b(&edits.computation, edits.context, dot);
  const uint32_t first_new = dot->module().id_limit();
  const F8Factors factors =
      F8FactorsOf(*dot, *lhs, *rhs, edits.options.compute_capability >= kBlackwell, b);
  GemmCallConfig config = ConfigOf(*dot, factors.lhs->shape(), factors.rhs->shape(), factors.attrs);
  config.config.scale_mode = GemmConfig::kTensorScales;
  CustomCallAttrs call;
  call.custom_call_target = std::string(kLtMatmulF8);
  Instruction* const gemm =
      edits.computation.Add(Opcode::kCustomCall, factors.result,
                            {factors.lhs, factors.rhs, factors.lhs_scale, factors.rhs_scale},
                            AttrsPtr::Make(std::move(call)), {}, "cublas-lt-matmul-f8");
  gemm->set_metadata(dot->metadata());
  gemm->set_loc(dot->loc());
  SetConfig(gemm, config);
  Instruction* value = gemm;
  if (!SameDimensions(gemm->shape(), dot->shape())) {
    const DimVec starts(static_cast<size_t>(dot->shape().rank()), 0);
    value = b.Slice(gemm, starts, dot->shape().dims());
  }
  RETURN_IF_ERROR(b.status());
  edits.Replace(dot, value, first_new, "a library call of f8");
  return absl::OkStatus();
}

absl::Status TakeScale(Instruction* scaled, GemmEdits& edits) {
  const bool is_divided = scaled->opcode() == Opcode::kDivide;
  Instruction *gemm, *scale;
  const auto factor = m::Broadcast(m::Any(&scale)).OneUser();
  if (!(is_divided ? Match(scaled, m::Divide(m::CustomCall(&gemm), factor))
                   : Match(scaled, m::MultiplyAnyOrder(m::CustomCall(&gemm), factor))) ||
      !IsGemm(*gemm) || !IsF8Gemm(*gemm) || scale->shape().rank() != 0)
    return absl::OkStatus();
  ASSIGN_OR_RETURN(const GemmCallConfig config, ReadConfig<GemmConfig>(*gemm));
  const GemmEpilogue epilogue = config.config.epilogue;
  Decision may = Yes();
  if (gemm->use_count() != 1 || gemm->is_root()) may = No("`{}` is read elsewhere", gemm->name());
  if (gemm->has_control_edges() || scaled->has_control_edges()) may = No("it has control edges");
  if (config.config.beta != 0 ||
      (epilogue != GemmEpilogue::kDefault && epilogue != GemmEpilogue::kRelu))
    may = No("`{}` adds something, or has the epilogue {}", gemm->name(), Text(epilogue));
  if (may && epilogue == GemmEpilogue::kRelu && !CommutesWithRelu(*scale))
    may = No("`{}` may be no number above 0, and a maximum with 0 comes before", scale->name());
  if (IsNarrowGemm(*gemm)) may = No("`{}` is rounded to f8", gemm->name());
  if (may && !IsOne(*gemm->operand(2))) may = No("`{}` has a scale", gemm->name());
  if (!edits.context.Allowed(*scaled, may) || !edits.context.MayRewrite()) return absl::OkStatus();
  Rewriter b(&edits.computation, edits.context, scaled);
  gemm->ReplaceOperand(2, F8Scale(scale, is_divided, b));
  RETURN_IF_ERROR(b.status());
  SetOrigin(gemm, nullptr);
  edits.Replace(scaled, gemm, gemm->module().id_limit(), "a scale");
  return absl::OkStatus();
}

absl::Status TakeNarrowing(Instruction* convert, GemmEdits& edits) {
  Instruction *value, *gemm = nullptr, *scale = nullptr;
  const auto bound = m::Broadcast(m::ConstantScalar());
  if (!Match(convert, m::Convert(m::Clamp(bound, m::Any(&value), bound).OneUser())) ||
      !IsClampedTo(*convert->operand(0), convert->shape().element_type()))
    return absl::OkStatus();
  const bool is_divided =
      Match(value, m::Divide(m::CustomCall(&gemm), m::Broadcast(m::Any(&scale))));
  if (!is_divided &&
      !Match(value, m::MultiplyAnyOrder(m::CustomCall(&gemm), m::Broadcast(m::Any(&scale))))) {
    gemm = value;
    scale = nullptr;
  }
  if (!IsGemm(*gemm) || !IsF8Gemm(*gemm) || IsNarrowGemm(*gemm) ||
      (scale != nullptr && scale->shape().rank() != 0) ||
      (value != gemm && (value->use_count() != 1 || IsMixed(*value))) || gemm->is_root() ||
      gemm->has_control_edges() || convert->has_control_edges())
    return absl::OkStatus();
  ASSIGN_OR_RETURN(GemmCallConfig config, ReadConfig<GemmConfig>(*gemm));
  const std::vector<Instruction*> readers = gemm->users();
  Instruction* largest = nullptr;
  for (Instruction* reader : readers) {
    if (Instruction* found = LargestOf(reader, config.config.epilogue)) largest = found;
  }
  Decision may = Yes();
  if (readers.size() > (largest != nullptr ? 2u : 1u))
    may = No("`{}` is read elsewhere", gemm->name());
  const ElementType added =
      config.config.beta == 0 ? ElementType::kF16 : gemm->operand(2)->shape().element_type();
  if (added != ElementType::kF16 && added != ElementType::kBF16)
    may = No("what is added is neither f16 nor bf16");
  if (!edits.context.Allowed(*convert, may) || !edits.context.MayRewrite()) return absl::OkStatus();
  return Narrow(convert, gemm, F8End{scale, is_divided, largest}, config, edits);
}

}  // namespace hlo
