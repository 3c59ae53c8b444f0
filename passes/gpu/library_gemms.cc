// What a matrix product of cuBLAS means: activation(alpha·a·b + beta·c + bias).
#include <algorithm>
#include <cmath>

#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_config.h"

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

// Along what lies side by side in the result.
Instruction* BiasEverywhere(Instruction* bias, Shape result, Rewriter& b) {
  const Shape shape = result.WithMissingLayoutsFilled();
  return b.Broadcast(bias, shape.dims(), {shape.layout().minor_to_major[0]});
}

}  // namespace

absl::StatusOr<std::vector<Instruction*>> MeaningOfGemm(const Instruction& call, Rewriter& b) {
  ASSIGN_OR_RETURN(const LibraryConfig<GemmConfig> library, ReadConfig<GemmConfig>(call));
  const GemmConfig& gemm = library.config;
  const EpilogueParts& parts = kEpilogues[static_cast<size_t>(gemm.epilogue)];
  const int operands = 2 + (gemm.beta != 0 ? 1 : 0) + (parts.has_bias ? 1 : 0);
  if (call.operand_count() != operands)
    return Error(call.loc(), "`{}` takes {} operands with beta {} and epilogue {}, found {}",
                 call.name(), operands, gemm.beta, Text(gemm.epilogue), call.operand_count());
  if (gemm.scale_mode != 0)
    return Unsupported(call.loc(), "scale_mode {} of `{}` is not known", gemm.scale_mode,
                       call.name());
  const Shape result = ValueShape(call);
  if (parts.has_bias && result.rank() == 0)
    return Error(call.loc(), "`{}` has no dimension for a bias", call.name());
  const bool is_product = gemm.alpha_real == 1 && gemm.alpha_imag == 0 && operands == 2 &&
                          parts.activation == Activation::kNone;
  const ElementType type = is_product ? result.element_type() : ComputeType(result.element_type());
  Instruction* x =
      DeclaredOp(Opcode::kDot, result.WithElementType(type), {call.operand(0), call.operand(1)},
                 AttrsPtr::Make(gemm.ToAttrs()), b);
  RETURN_IF_ERROR(b.status());
  x = Scaled(x, gemm.alpha_real, gemm.alpha_imag, b);
  int next = 2;
  if (gemm.beta != 0) x = b.Add(x, Scaled(In(type, call.operand(next++), b), gemm.beta, 0, b));
  if (parts.has_bias) x = b.Add(x, BiasEverywhere(In(type, call.operand(next++), b), result, b));
  std::vector<Instruction*> values = {Activated(parts.activation, x, b)};
  if (parts.has_aux) values.push_back(x);
  return values;
}

}  // namespace hlo
