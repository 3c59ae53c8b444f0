// What a matrix product of cuBLAS means: activation(alpha·a·b + beta·c + bias).
#include <algorithm>
#include <cmath>

#include "lib/ir/custom_call.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_config.h"
#include "passes/gpu/library_f8.h"

namespace hlo {
namespace {

enum class Activation { kNone, kRelu, kGelu, kSilu };

// By epilogue, in the order of the enumeration.
struct EpilogueParts {
  bool has_bias;
  Activation activation;
  bool has_aux;  // yields what goes into the activation, too
};
constexpr EpilogueParts kEpilogues[] = {
    {false, Activation::kNone, false}, {true, Activation::kNone, false},
    {false, Activation::kRelu, false}, {true, Activation::kRelu, false},
    {false, Activation::kGelu, false}, {false, Activation::kGelu, true},
    {true, Activation::kGelu, false},  {true, Activation::kGelu, true},
    {false, Activation::kSilu, false}, {true, Activation::kSilu, false}};

ElementType ComputeType(ElementType type) {
  return IsFloat(type) && BitWidth(type) < 32 ? ElementType::kF32 : type;
}

Instruction* In(ElementType type, Instruction* x, Rewriter& b) {
  return x->shape().element_type() == type ? x : b.Convert(x, type);
}

Instruction* Scaled(Instruction* x, double real, double imaginary, Rewriter& b) {
  const ElementType type = x->shape().element_type();
  if (real == 1 && imaginary == 0) return x;
  if (!IsComplex(type) || imaginary == 0) return b.Multiply(x, b.ConstantLike(x, real));
  const ElementType part = type == ElementType::kC64 ? ElementType::kF32 : ElementType::kF64;
  Instruction* const factor =
      b.Complex(b.ScalarConstant(part, real), b.ScalarConstant(part, imaginary));
  return b.Multiply(x, b.Broadcast(factor, x->shape().dims(), {}));
}

// x/2·(1 + tanh(sqrt(2/pi)·(x + 0.044715·x³)))
Instruction* Gelu(Instruction* x, Rewriter& b) {
  Instruction* const cube = b.Multiply(x, b.Multiply(x, x));
  Instruction* const inner = b.Multiply(b.ConstantLike(x, std::sqrt(M_2_PI)),
                                        b.Add(x, b.Multiply(b.ConstantLike(x, 0.044715), cube)));
  return b.Multiply(b.Multiply(x, b.ConstantLike(x, 0.5)),
                    b.Add(b.ConstantLike(x, 1), b.Tanh(inner)));
}

Instruction* Activated(Activation activation, Instruction* x, Rewriter& b) {
  switch (activation) {
    case Activation::kNone: return x;
    case Activation::kRelu: return b.Maximum(x, b.ZeroLike(x));
    case Activation::kGelu: return Gelu(x, b);
    case Activation::kSilu: return b.Multiply(x, b.Logistic(x));
  }
  return x;
}

// f8 that was scaled: a scalar for each side.
Instruction* Rescaled(Instruction* x, Instruction* scale, Rewriter& b) {
  return b.Multiply(x, b.Broadcast(In(x->shape().element_type(), scale, b), x->shape().dims(), {}));
}

// As the f8 `type`, whose largest number stands for what is beyond.
Instruction* AsF8(Instruction* x, ElementType type, Rewriter& b) {
  const double most = LargestF8(type);
  return b.Convert(b.Clamp(b.ConstantLike(x, -most), x, b.ConstantLike(x, most)), type);
}

// The largest magnitude, as a scalar.
Instruction* LargestMagnitude(Instruction* x, Rewriter& b) {
  DimVec all;
  for (int d = 0; d < x->shape().rank(); ++d) all.push_back(d);
  const ElementType type = x->shape().element_type();
  return b.Reduce(b.Abs(x), b.ScalarConstant(type, 0), all,
                  ScalarComputation(b.module(), Opcode::kMaximum, type));
}

// Along what lies side by side in the result; a scalar for all of it.
absl::StatusOr<Instruction*> BiasEverywhere(const Instruction& call, Instruction* bias,
                                            Shape result, Rewriter& b) {
  const Shape shape = result.WithMissingLayoutsFilled();
  if (bias->shape().rank() == 0) return b.Broadcast(bias, shape.dims(), {});
  const int64_t dim = shape.layout().minor_to_major[0];
  if (bias->shape().rank() != 1 || bias->shape().dim(0) != shape.dim(static_cast<int>(dim)))
    return Error(call.loc(), "the bias of `{}`, `{}`, is no vector of dimension {} of `{}`",
                 call.name(), bias->shape(), dim, result);
  return b.Broadcast(bias, shape.dims(), {dim});
}

// Batch dimensions that there are.
absl::Status CheckBatches(const Instruction& call, const DotAttrs& dims) {
  for (const int side : {0, 1}) {
    const DimVec& batch = side == 0 ? dims.lhs_batch_dims : dims.rhs_batch_dims;
    for (const int64_t d : batch) {
      if (d < 0 || d >= call.operand(side)->shape().rank())
        return Error(call.loc(), "operand {} of `{}` has no dimension {}", side, call.name(), d);
    }
  }
  return absl::OkStatus();
}

// Where one side alone has batch dimensions, the other one is the same in all batches: `x`, whose
// dimensions are `batch` and `contracting`, becomes a matrix of each batch of `other`.
Instruction* InEachBatch(Instruction* x, const Instruction& other, const DimVec& other_batch,
                         DimVec& batch, DimVec& contracting, Rewriter& b) {
  if (!batch.empty() || other_batch.empty()) return x;
  const auto count = static_cast<int64_t>(other_batch.size());
  DimVec sizes, kept;
  for (const int64_t d : other_batch) {
    batch.push_back(static_cast<int64_t>(sizes.size()));
    sizes.push_back(other.shape().dim(static_cast<int>(d)));
  }
  for (const int64_t size : x->shape().dims()) {
    kept.push_back(static_cast<int64_t>(sizes.size()));
    sizes.push_back(size);
  }
  for (int64_t& d : contracting) d += count;
  return b.Broadcast(x, sizes, kept);
}

// Two operands, each with its scale; a result of f8 may have one as well.
bool IsOfF8(const Instruction& call) { return IsCustomCall(call, kLtMatmulF8); }
bool YieldsF8(const Instruction& call) {
  return IsOfF8(call) && IsLibraryF8(ValueShape(call).element_type());
}

// Without a scale f8 is the product rounded.
bool HasResultScale(const Instruction& call, const GemmConfig& gemm) {
  const bool has_bias = kEpilogues[static_cast<size_t>(gemm.epilogue)].has_bias;
  const int without = 4 + (gemm.beta != 0 ? 1 : 0) + (has_bias ? 1 : 0);
  return YieldsF8(call) && call.operand_count() > without;
}

Instruction* RoundedToF8(const Instruction& call, const GemmConfig& gemm, Instruction* x,
                         Rewriter& b) {
  const ElementType type = ValueShape(call).element_type();
  if (!HasResultScale(call, gemm)) return b.Convert(x, type);
  return AsF8(Rescaled(x, call.operand(call.operand_count() - 1), b), type, b);
}

}  // namespace

absl::Status CheckGemmOperands(const Instruction& call, const GemmConfig& gemm) {
  RETURN_IF_ERROR(CheckLibraryCall(*FindLibraryCall(call), call));
  const int operands = 2 + (gemm.beta != 0 ? 1 : 0) +
                       (kEpilogues[static_cast<size_t>(gemm.epilogue)].has_bias ? 1 : 0) +
                       (IsOfF8(call) ? 2 : 0) + (HasResultScale(call, gemm) ? 1 : 0);
  if (call.operand_count() != operands)
    return Error(call.loc(), "`{}` takes {} operands with beta {} and epilogue {}, found {}",
                 call.name(), operands, gemm.beta, Text(gemm.epilogue), call.operand_count());
  if (gemm.scale_mode != 0 && !IsOfF8(call))
    return Error(call.loc(), "scale_mode {} of `{}` is about scales, which only `{}` takes",
                 gemm.scale_mode, call.name(), kLtMatmulF8);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Instruction*>> MeaningOfGemm(const Instruction& call, Rewriter& b) {
  ASSIGN_OR_RETURN(const LibraryConfig<GemmConfig> library, ReadConfig<GemmConfig>(call));
  const GemmConfig& gemm = library.config;
  RETURN_IF_ERROR(CheckGemmOperands(call, gemm));
  if (gemm.scale_mode != 0 && gemm.scale_mode != GemmConfig::kTensorScales)
    return Unsupported(call.loc(), "scale_mode {} of `{}` is not known", gemm.scale_mode,
                       call.name());
  const EpilogueParts& parts = kEpilogues[static_cast<size_t>(gemm.epilogue)];
  const bool is_f8 = IsOfF8(call);
  const Shape result = ValueShape(call);
  if (parts.has_bias && result.rank() == 0)
    return Error(call.loc(), "`{}` has no dimension for a bias", call.name());
  const bool is_product = gemm.alpha_real == 1 && gemm.alpha_imag == 0 &&
                          call.operand_count() == 2 && parts.activation == Activation::kNone;
  const ElementType type = is_product ? result.element_type() : ComputeType(result.element_type());
  Instruction *lhs = call.operand(0), *rhs = call.operand(1);
  if (is_f8) {
    lhs = In(type, lhs, b);
    rhs = In(type, rhs, b);
  }
  DotAttrs dims = gemm.ToAttrs();
  RETURN_IF_ERROR(CheckBatches(call, dims));
  lhs = InEachBatch(lhs, *rhs, dims.rhs_batch_dims, dims.lhs_batch_dims, dims.lhs_contracting_dims,
                    b);
  rhs = InEachBatch(rhs, *lhs, dims.lhs_batch_dims, dims.rhs_batch_dims, dims.rhs_contracting_dims,
                    b);
  Instruction* x = DeclaredOp(Opcode::kDot, result.WithElementType(type), {lhs, rhs},
                              AttrsPtr::Make(std::move(dims)), b);
  RETURN_IF_ERROR(b.status());
  x = Scaled(x, gemm.alpha_real, gemm.alpha_imag, b);
  int next = 2;
  Instruction* const addend = gemm.beta != 0 ? call.operand(next++) : nullptr;
  if (addend != nullptr && !SameDimensions(addend->shape(), x->shape()))
    return Error(call.loc(), "`{}` adds `{}` to a product of shape `{}`", call.name(),
                 addend->shape(), x->shape());
  for (int side = 0; is_f8 && side < 2; ++side) x = Rescaled(x, call.operand(next++), b);
  if (addend != nullptr) x = b.Add(x, Scaled(In(type, addend, b), gemm.beta, 0, b));
  if (parts.has_bias) {
    ASSIGN_OR_RETURN(Instruction* const bias,
                     BiasEverywhere(call, In(type, call.operand(next++), b), result, b));
    x = b.Add(x, bias);
  }
  Instruction* const y = Activated(parts.activation, x, b);
  std::vector<Instruction*> values = {YieldsF8(call) ? RoundedToF8(call, gemm, y, b) : y};
  if (parts.has_aux) values.push_back(x);
  if (gemm.damax_output) values.push_back(LargestMagnitude(y, b));
  return values;
}

}  // namespace hlo
