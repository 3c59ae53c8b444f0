#include "passes/gpu/f8_products.h"
#include "passes/gpu/gemm_edits.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/matrix_products.h"

namespace hlo {
namespace {

bool IsBroadcast(const Instruction& x) { return x.opcode() == Opcode::kBroadcast; }

// add(convert(gemm), …), in a type that the library may yield, for nobody but the caller
bool IsConvertedForSum(const Instruction& convert, const Instruction& add) {
  if (convert.opcode() != Opcode::kConvert || convert.use_count() != 1 ||
      convert.has_control_edges())
    return false;
  const Instruction& gemm = *convert.operand(0);
  const bool is_last = add.is_root() ? !add.has_uses()
                                     : add.use_count() == 1 &&
                                           add.uses()[0].user->opcode() == Opcode::kTuple &&
                                           add.uses()[0].user->is_root();
  return is_last && IsGemm(gemm) &&
         IsProductType(gemm.operand(0)->shape().element_type(),
                       gemm.operand(1)->shape().element_type(), add.shape().element_type());
}

bool HasFreeRhs(const Instruction& gemm, const GemmCallConfig& config) {
  const size_t bound = config.config.dot_dimension_numbers.rhs_batch_dimensions.size() + 1;
  return static_cast<size_t>(gemm.operand(1)->shape().rank()) > bound;
}

// As products of f8 take it: of f16 or bf16, whatever they yield, and not beside a matrix.
Instruction* F8Vector(const Instruction& gemm, Instruction* vector, const GemmCallConfig& config) {
  if (config.config.beta != 0) return nullptr;
  if (vector->shape().element_type() != ElementType::kF32) return vector;
  if (vector->opcode() != Opcode::kConvert) return nullptr;
  const ElementType from = vector->operand(0)->shape().element_type();
  const ElementType result = gemm.shape().element_type();
  const bool is_known = (from == ElementType::kBF16 &&
                         (result == ElementType::kF32 || result == ElementType::kBF16)) ||
                        (from == ElementType::kF16 && result == ElementType::kF16);
  return is_known ? vector->operand(0) : nullptr;
}

// The vector of an addend that is one for each element of the minor dimension, or null; a scalar
// where the right side is a vector, which has one column.
Instruction* BiasVector(const ProductView& product, const Instruction& addend,
                        const GemmCallConfig& config) {
  const Instruction& gemm = *product.gemm();
  if (!IsLtGemm(gemm) || !IsBroadcast(addend) || product.shape().rank() == 0) return nullptr;
  const Shape shape = product.shape().WithMissingLayoutsFilled();
  const Shape whole = gemm.shape().WithMissingLayoutsFilled();
  const int64_t minor = shape.layout().minor_to_major[0];
  const DimVec& dims = addend.attrs<BroadcastAttrs>().dimensions;
  Instruction* const vector = addend.operand(0);
  const bool is_along_minor =
      HasFreeRhs(gemm, config) ? dims.size() == 1 && dims[0] == minor : dims.empty();
  // A bitcast or slice must leave the dimension as it is.
  const bool keeps_minor =
      product.is_whole() || dims.empty() ||
      (minor == shape.rank() - 1 && shape.layout().IsRowMajor() && whole.layout().IsRowMajor() &&
       product.KeepsMinor(vector->shape().dim(0)));
  if (!is_along_minor || !keeps_minor || !IsEpilogueType(whole.element_type())) return nullptr;
  return IsF8Gemm(gemm) ? F8Vector(gemm, vector, config) : vector;
}

Decision IsBiasMatrix(const ProductView& product, const Instruction& addend,
                      const GemmCallConfig& config, bool in_place) {
  const Instruction& gemm = *product.gemm();
  if (IsBroadcast(addend) && !(IsLtGemm(gemm) && product.is_bitcast() && addend.use_count() == 1))
    return No("`{}` is a broadcast", addend.name());
  if (config.config.beta != 0) return No("`{}` has an addend", gemm.name());
  if (gemm.shape().element_type() == ElementType::kS32) return No("beta is no integer");
  if (IsF8(addend.shape().element_type())) return No("`{}` is of f8", addend.name());
  if (!IsLtGemm(gemm) && !in_place) return No("`{}` is needed elsewhere", addend.name());
  return Yes();
}

Instruction* WithOperand(const Instruction& gemm, int at, Instruction* operand,
                         const GemmCallConfig& config, GemmEdits& edits) {
  std::vector<Instruction*> operands = gemm.operand_vector();
  operands.insert(operands.begin() + at, operand);
  Instruction* const with = edits.computation.AddClone(gemm, gemm.shape(), operands);
  SetConfig(with, config);
  return with;
}

absl::StatusOr<bool> AddToProduct(Instruction* add, const ProductView& product, Instruction* addend,
                                  GemmCallConfig& config, GemmEdits& edits) {
  const Instruction& gemm = *product.gemm();
  const bool is_wider = add->shape().element_type() != gemm.shape().element_type();
  Instruction* const vector = is_wider ? nullptr : BiasVector(product, *addend, config);
  Decision may = MayFollowInCall(*add, gemm, config, /*after_bias=*/vector == nullptr);
  const bool in_place = MayBeOverwritten(*addend);
  if (may && vector == nullptr) may = IsBiasMatrix(product, *addend, config, in_place);
  if (!edits.context.Allowed(*add, may) || !edits.context.MayRewrite()) return false;
  const uint32_t first_new = add->module().id_limit();
  Rewriter b(&edits.computation, edits.context, add);
  if (vector != nullptr) {
    config.config.epilogue = GemmEpilogue::kBias;
    const Shape whole = gemm.shape().WithMissingLayoutsFilled();
    const auto minor = static_cast<int>(whole.layout().minor_to_major[0]);
    Instruction* const bias =
        vector->shape().rank() == 0 ? vector : PaddedVector(vector, whole.dim(minor), b);
    edits.Replace(add, product.Of(WithOperand(gemm, gemm.operand_count(), bias, config, edits), b),
                  first_new, "a bias vector");
    return true;
  }
  config.config.beta = 1;
  ASSIGN_OR_RETURN(Instruction* const matrix, product.Widened(addend, b));
  Instruction* const with = WithOperand(gemm, 2, matrix, config, edits);
  with->set_shape(with->shape().WithElementType(add->shape().element_type()));
  if (in_place) {
    CustomCallAttrs attrs = with->attrs<CustomCallAttrs>();
    attrs.output_to_operand_aliasing = {{{}, 2, {}}};
    with->SetAttrs(std::move(attrs));
  }
  edits.Replace(add, product.Of(with, b), first_new, "a bias matrix");
  return true;
}

}  // namespace

absl::Status TakeAddend(Instruction* add, GemmEdits& edits) {
  for (const int side : {0, 1}) {
    Instruction* value = add->operand(side);
    const bool is_wider = edits.options.allow_excess_precision && IsConvertedForSum(*value, *add);
    if (is_wider) value = value->operand(0);
    const ProductView product(value);
    if (product.gemm() == nullptr || (is_wider && IsF8Gemm(*product.gemm()))) continue;
    ASSIGN_OR_RETURN(GemmCallConfig config, ReadConfig<GemmConfig>(*product.gemm()));
    ASSIGN_OR_RETURN(const bool taken,
                     AddToProduct(add, product, add->operand(1 - side), config, edits));
    if (taken) return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace hlo
