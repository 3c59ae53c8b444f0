#include "passes/gpu/cudnn_fused_convolution_rewriter.h"

#include <algorithm>
#include <utility>

#include "lib/match/pattern.h"
#include "passes/gpu/conv_calls.h"
#include "passes/gpu/f8_conv_graphs.h"
#include "passes/gpu/f8_products.h"
#include "passes/gpu/library_calls.h"
#include "passes/util/lossless_convert.h"

namespace hlo {
namespace {

constexpr CudaCapability kRuntimeFusionCapability = {7, 5};
constexpr int kSideInput = 3;

bool HasType(const Instruction& x, ElementType type) { return x.shape().element_type() == type; }

// Scales are f32, or f64 beside f64.
ElementType ScaleType(ElementType type) {
  return type == ElementType::kF64 ? type : ElementType::kF32;
}

// broadcast(constant), a number that a scale of `type` holds.
auto ConstantScale(Instruction** scalar, ElementType type) {
  return m::Broadcast(m::ConstantScalar(scalar)).Where([type](const Instruction& x) {
    return IsLosslessIn(ScaleType(type), *x.operand(0));
  });
}

class ConvFuser {
 public:
  ConvFuser(Computation& computation, bool has_runtime_fusion, PassContext& context)
      : computation_(computation), has_runtime_fusion_(has_runtime_fusion), context_(context) {}

  absl::StatusOr<bool> Run();

 private:
  // What `root` becomes, or null.
  using Step = absl::StatusOr<Instruction*> (ConvFuser::*)(Instruction* root, Rewriter& b);
  struct StepRow {
    Opcode root;
    std::string_view becomes;
    Step step;
  };
  static const StepRow kSteps[];

  // No, with a remark about `root`.
  std::nullptr_t Left(const Instruction& root, std::string_view reason) {
    context_.Missed(root, reason);
    return nullptr;
  }
  // Whether cuDNN can do more after what the call does, and yields what `root` does. With
  // `may_be_sums` these may be s32 that are not clamped yet: what becomes no call of s8 is an error
  // in the end.
  bool TakesMore(const ConvCallValue& conv, const Instruction& root, bool may_be_sums = false) {
    if (conv.config.config.activation_mode != ConvActivation::kNone) {
      Left(root, "the convolution ends with its activation");
    } else if (conv.IsDepthwise()) {
      Left(root, "each feature is convolved by itself");
    } else if (!IsFloat(conv.type()) && !(may_be_sums && conv.type() == ElementType::kS32)) {
      Left(root, "it computes with integers");
    } else if (IsF8(conv.call->operand(0)->shape().element_type()) || IsF8(conv.type())) {
      Left(root, "it computes with f8");
    } else if (root.shape() != conv.value->shape()) {
      Left(root, "it has another layout");
    } else {
      return !root.has_control_edges() && context_.MayRewrite();
    }
    return false;
  }

  // convert_f32(s32 or s8 conv)  =>  f32 conv: the sums stay integers. Beside s8 a second input is
  // s8, which it cannot be beside f32.
  // convert_s8(f32 conv)  =>  s8 conv, which ends at -128 and 127 as the conversion does. Of what
  // was s8 it comes later (ToS8).
  absl::StatusOr<Instruction*> Conversion(Instruction* convert, Rewriter& b) {
    ASSIGN_OR_RETURN(const auto conv, ConvCallValueOf(convert->operand(0)));
    const ElementType type = convert->shape().element_type();
    if (!conv || convert->has_control_edges() ||
        convert->shape() != conv->value->shape().WithElementType(type))
      return nullptr;
    const int operands = conv->call->operand_count();
    const bool is_sum =
        conv->type() == ElementType::kS32 && type == ElementType::kF32 && operands == 2;
    const bool is_clamped_sum =
        conv->type() == ElementType::kS8 && type == ElementType::kF32 && operands <= kSideInput;
    const bool is_narrowed = conv->type() == ElementType::kF32 && type == ElementType::kS8 &&
                             !AreLossless(*conv->call, 0, 2, ElementType::kS8);
    if ((!is_sum && !is_clamped_sum && !is_narrowed) || !context_.MayRewrite()) return nullptr;
    return ConvCallLike(*conv, conv->call->operand_vector(), type, b);
  }

  // multiply(conv, broadcast(constant))
  absl::StatusOr<Instruction*> Alpha(Instruction* multiply, Rewriter& b) {
    for (const int side : {0, 1}) {
      ASSIGN_OR_RETURN(auto conv, ConvCallValueOf(multiply->operand(side)));
      Instruction* alpha;
      if (!conv || !Match(multiply->operand(1 - side), ConstantScale(&alpha, conv->type())))
        continue;
      ConvConfig& config = conv->config.config;
      if (config.conv_result_scale != 1 || conv->HasBias() ||
          conv->call->operand_count() > kSideInput)
        return Left(*multiply, "the convolution does more already");
      if (!TakesMore(*conv, *multiply)) return nullptr;
      config.conv_result_scale = alpha->literal().GetDouble();
      return ConvCallLike(*conv, conv->call->operand_vector(), conv->type(), b);
    }
    return nullptr;
  }

  // add(conv, addend)
  absl::StatusOr<Instruction*> Addend(Instruction* add, Rewriter& b) {
    for (const int side : {0, 1}) {
      ASSIGN_OR_RETURN(auto conv, ConvCallValueOf(add->operand(side)));
      Instruction* const addend = add->operand(1 - side);
      if (!conv || addend == conv->value || !TakesMore(*conv, *add, /*may_be_sums=*/true)) continue;
      std::vector<Instruction*> operands = conv->call->operand_vector();
      if (Instruction* const bias = conv->HasBias() ? nullptr : BiasOf(*addend, *conv, b)) {
        operands.resize(std::max<size_t>(operands.size(), kSideInput));
        operands[2] = bias;
        return ConvCallLike(*conv, operands, conv->type(), b);
      }
      if (operands.size() > kSideInput) {
        Left(*add, "the convolution has a second input");
        continue;
      }
      if (addend->shape() != conv->value->shape()) continue;
      if (operands.size() == 2) operands.push_back(NoBias(*conv, b));
      operands.push_back(addend);
      conv->config.config.side_input_scale = 1;
      return ConvCallLike(*conv, operands, conv->type(), b);
    }
    return nullptr;
  }

  static Instruction* NoBias(const ConvCallValue& conv, Rewriter& b) {
    return AsBias(b.ScalarConstant(BiasType(conv), 0), conv, b);
  }
  // A scalar as one number for each output feature.
  static Instruction* AsBias(Instruction* scalar, const ConvCallValue& conv, Rewriter& b) {
    const int64_t features = conv.value->shape().dim(static_cast<int>(conv.output_feature()));
    return b.Broadcast(scalar, {features}, {});
  }
  // Biases beside integers are f32.
  static ElementType BiasType(const ConvCallValue& conv) {
    return IsFloat(conv.type()) ? conv.type() : ElementType::kF32;
  }
  // The one number for each feature that `addend` is, or null.
  static Instruction* BiasOf(const Instruction& addend, const ConvCallValue& conv, Rewriter& b) {
    const ElementType type = BiasType(conv);
    if (addend.opcode() != Opcode::kBroadcast || !IsLosslessIn(type, addend)) return nullptr;
    Instruction* const from = addend.operand(0);
    const DimVec& dims = addend.attrs<BroadcastAttrs>().dimensions;
    const auto converted = [&] { return HasType(*from, type) ? from : b.Convert(from, type); };
    if (dims.empty()) return AsBias(converted(), conv, b);
    return dims.size() == 1 && dims[0] == conv.output_feature() ? converted() : nullptr;
  }

  // conv with a second input multiply(x, broadcast(constant)), perhaps moved
  absl::StatusOr<Instruction*> SideInputAlpha(Instruction* value, Rewriter& b) {
    ASSIGN_OR_RETURN(auto conv, ConvCallValueAt(value));
    if (!conv || conv->call->operand_count() <= kSideInput ||
        conv->config.config.side_input_scale != 1)
      return nullptr;
    std::vector<Instruction*> moves;  // from the call to the product
    Instruction* from = conv->call->operand(kSideInput);
    while (from->opcode() == Opcode::kReshape || from->opcode() == Opcode::kTranspose) {
      moves.push_back(from);
      from = from->operand(0);
    }
    Instruction *alpha, *base;
    if (!Match(from, m::MultiplyAnyOrder(m::Any(&base), ConstantScale(&alpha, conv->type()))) ||
        !IsFloat(conv->type()) || !context_.MayRewrite())
      return nullptr;
    for (auto move = moves.rbegin(); move != moves.rend(); ++move)
      base = computation_.AddClone(**move, (*move)->shape(), {base});
    std::vector<Instruction*> operands = conv->call->operand_vector();
    operands[kSideInput] = base;
    conv->config.config.side_input_scale = alpha->literal().GetDouble();
    return ConvCallLike(*conv, operands, conv->type(), b);
  }

  absl::StatusOr<Instruction*> Activated(ConvCallValue& conv, ConvActivation mode, Rewriter& b) {
    conv.config.config.activation_mode = mode;
    return ConvCallLike(conv, conv.call->operand_vector(), conv.type(), b);
  }

  // maximum(conv, broadcast(0)): of clamped sums, too
  absl::StatusOr<Instruction*> Relu(Instruction* maximum, Rewriter& b) {
    Instruction* value;
    if (!Match(maximum, m::MaximumAnyOrder(m::Any(&value), m::Broadcast(m::ConstantScalar(0.0)))))
      return nullptr;
    ASSIGN_OR_RETURN(auto conv, ConvCallValueOf(value));
    if (!conv) return nullptr;
    const bool is_s8 = conv->type() == ElementType::kS8 && !conv->IsDepthwise() &&
                       conv->config.config.activation_mode == ConvActivation::kNone &&
                       maximum->shape() == value->shape() && !maximum->has_control_edges();
    if (is_s8 ? !context_.MayRewrite() : !TakesMore(*conv, *maximum, /*may_be_sums=*/true))
      return nullptr;
    return Activated(*conv, ConvActivation::kRelu, b);
  }

  // Whether cuDNN compiles a kernel with this activation of f16.
  bool HasRuntimeFusion(const ConvCallValue& conv, const Instruction& root) {
    const ConvDimNumbers& dims = *conv.call->attrs<CustomCallAttrs>().dim_labels;
    const Shape kernel = conv.call->operand(1)->shape();
    const bool is_even = kernel.dim(static_cast<int>(dims.kernel_input_feature)) % 2 == 0 &&
                         kernel.dim(static_cast<int>(dims.kernel_output_feature)) % 2 == 0;
    if (!has_runtime_fusion_) {
      Left(root, "runtime fusion is off");
    } else if (!HasType(*conv.call->operand(0), ElementType::kF16) ||
               conv.type() != ElementType::kF16) {
      Left(root, "runtime fusion is for f16");
    } else if (!is_even || conv.call->operand_count() > kSideInput) {
      Left(root, "runtime fusion is for even numbers of features and no second input");
    } else {
      return TakesMore(conv, root);
    }
    return false;
  }

  // clamp(0, conv, 6)
  absl::StatusOr<Instruction*> Relu6(Instruction* clamp, Rewriter& b) {
    if (!Match(clamp->operand(0), m::Broadcast(m::ConstantScalar(0.0))) ||
        !Match(clamp->operand(2), m::Broadcast(m::ConstantScalar(6.0))))
      return nullptr;
    ASSIGN_OR_RETURN(auto conv, ConvCallValueOf(clamp->operand(1)));
    if (!conv || !HasRuntimeFusion(*conv, *clamp)) return nullptr;
    return Activated(*conv, ConvActivation::kRelu6, b);
  }

  // select(conv > 0, conv, expm1(conv)), or conv·constant in its place
  absl::StatusOr<Instruction*> EluOrLeakyRelu(Instruction* select, Rewriter& b) {
    Instruction *const value = select->operand(1), *alpha = nullptr;
    ASSIGN_OR_RETURN(auto conv, ConvCallValueOf(value, 3));
    if (!conv) return nullptr;
    const auto is_positive =
        m::Compare(m::Same(&value), m::Broadcast(m::ConstantScalar(0.0))).OneUser();
    if (!Match(select->operand(0), is_positive) ||
        select->operand(0)->attrs<CompareAttrs>().direction != ComparisonDirection::kGt)
      return nullptr;
    const bool is_elu = Match(select->operand(2), m::Expm1(m::Same(&value)).OneUser());
    const auto scaled =
        m::MultiplyAnyOrder(m::Same(&value), ConstantScale(&alpha, conv->type())).OneUser();
    if (!is_elu && !Match(select->operand(2), scaled)) return nullptr;
    if (!HasRuntimeFusion(*conv, *select)) return nullptr;
    if (is_elu) return Activated(*conv, ConvActivation::kElu, b);
    conv->config.config.leakyrelu_alpha = alpha->literal().GetDouble();
    return Activated(*conv, ConvActivation::kLeakyRelu, b);
  }

  // All operands from `first` on of the call hold numbers of `type`.
  static bool AreLossless(const Instruction& call, int first, int last, ElementType type) {
    for (int i = first; i < std::min(last, call.operand_count()); ++i) {
      if (!IsLosslessIn(type, *call.operand(i))) return false;
    }
    return true;
  }
  static Instruction* InType(Instruction* x, ElementType type, Rewriter& b) {
    return HasType(*x, type) ? x : b.Convert(x, type);
  }

  // convert_f16(conv of f32 that was f16)
  absl::StatusOr<Instruction*> ToF16(Instruction* convert, Rewriter& b) {
    ASSIGN_OR_RETURN(const auto conv, ConvCallValueOf(convert->operand(0)));
    if (!conv || !HasType(*convert, ElementType::kF16) || conv->type() != ElementType::kF32 ||
        convert->has_control_edges() ||
        convert->shape() != conv->value->shape().WithElementType(ElementType::kF16))
      return nullptr;
    std::vector<Instruction*> operands = conv->call->operand_vector();
    if (!absl::c_all_of(operands,
                        [](const Instruction* x) { return HasType(*x, ElementType::kF32); }) ||
        !AreLossless(*conv->call, 0, 4, ElementType::kF16))
      return Left(*convert, "not all that is convolved was f16");
    if (!context_.MayRewrite()) return nullptr;
    for (Instruction*& operand : operands) operand = b.Convert(operand, ElementType::kF16);
    return ConvCallLike(*conv, operands, ElementType::kF16, b);
  }

  // The call of s8 that yields `type` for what is now a conv of other numbers.
  absl::StatusOr<Instruction*> OfS8(const ConvCallValue& conv, const Instruction& root,
                                    ElementType type, Rewriter& b) {
    std::vector<Instruction*> operands = conv.call->operand_vector();
    if (root.has_control_edges() || !AreLossless(*conv.call, 0, 2, ElementType::kS8) ||
        !AreLossless(*conv.call, kSideInput, 4, type) ||
        !AreLossless(*conv.call, 2, kSideInput, ElementType::kF32))
      return Left(root, "not all that is convolved was s8");
    if (!context_.MayRewrite()) return nullptr;
    for (size_t i = 0; i < 2; ++i) operands[i] = InType(operands[i], ElementType::kS8, b);
    if (operands.size() > 2) operands[2] = InType(operands[2], ElementType::kF32, b);
    if (operands.size() > kSideInput) operands[kSideInput] = InType(operands[kSideInput], type, b);
    return ConvCallLike(conv, operands, type, b);
  }

  // convert_s8(clamp(-128, conv, 127)), or of f32, which conversion clamps
  absl::StatusOr<Instruction*> ToS8(Instruction* convert, Rewriter& b) {
    if (!HasType(*convert, ElementType::kS8)) return nullptr;
    Instruction* value = convert->operand(0);
    const bool is_clamped =
        Match(value, m::Clamp(m::Broadcast(m::ConstantScalar(-128.0)), m::Any(&value),
                              m::Broadcast(m::ConstantScalar(127.0)))
                         .OneUser());
    ASSIGN_OR_RETURN(const auto conv, ConvCallValueOf(value));
    if (!conv || (!is_clamped && conv->type() != ElementType::kF32) ||
        convert->shape() != value->shape().WithElementType(ElementType::kS8))
      return nullptr;
    return OfS8(*conv, *convert, ElementType::kS8, b);
  }

  // f32 conv of what was s8
  absl::StatusOr<Instruction*> FromS8(Instruction* value, Rewriter& b) {
    ASSIGN_OR_RETURN(const auto conv, ConvCallValueAt(value));
    if (!conv || conv->type() != ElementType::kF32 ||
        (HasType(*conv->call->operand(0), ElementType::kS8) &&
         HasType(*conv->call->operand(1), ElementType::kS8)) ||
        !AreLossless(*conv->call, 0, 2, ElementType::kS8))
      return nullptr;
    return OfS8(*conv, *value, ElementType::kF32, b);
  }

  Computation& computation_;
  const bool has_runtime_fusion_;
  PassContext& context_;
};

// clang-format off
const ConvFuser::StepRow ConvFuser::kSteps[] = {
    {Opcode::kConvert,         "a convolution to f32",            &ConvFuser::Conversion},
    {Opcode::kMultiply,        "a factor of a convolution",       &ConvFuser::Alpha},
    {Opcode::kAdd,             "a bias or second input",          &ConvFuser::Addend},
    {Opcode::kAdd,             "a bias or second input",          &ConvFuser::Addend},
    {Opcode::kGetTupleElement, "a factor of a second input",      &ConvFuser::SideInputAlpha},
    {Opcode::kMaximum,         "a relu",                          &ConvFuser::Relu},
    {Opcode::kSelect,          "an elu or leaky relu",            &ConvFuser::EluOrLeakyRelu},
    {Opcode::kClamp,           "a relu6",                         &ConvFuser::Relu6},
    {Opcode::kConvert,         "a convolution of f16",            &ConvFuser::ToF16},
    {Opcode::kConvert,         "a convolution of s8",             &ConvFuser::ToS8},
    {Opcode::kGetTupleElement, "a convolution of s8",             &ConvFuser::FromS8},
    {Opcode::kAdd,             "a bias or second input",          &ConvFuser::Addend},
    {Opcode::kAdd,             "a bias or second input",          &ConvFuser::Addend},
    {Opcode::kGetTupleElement, "a factor of a second input",      &ConvFuser::SideInputAlpha},
    {Opcode::kMaximum,         "a relu",                          &ConvFuser::Relu},
    {Opcode::kSelect,          "an elu or leaky relu",            &ConvFuser::EluOrLeakyRelu},
    {Opcode::kClamp,           "a relu6",                         &ConvFuser::Relu6},
};
// clang-format on

absl::StatusOr<bool> ConvFuser::Run() {
  bool changed = false;
  for (const StepRow& row : kSteps) {
    for (Instruction* root : computation_.PostOrder()) {
      if (root->is_dead() || root->opcode() != row.root) continue;
      Rewriter b(&computation_, context_, root);
      const uint32_t first_new = root->module().id_limit();
      ASSIGN_OR_RETURN(Instruction* const with, (this->*row.step)(root, b));
      RETURN_IF_ERROR(b.status());
      if (with == nullptr) continue;
      context_.Passed(*root, "becomes {}", row.becomes);
      context_.Count(row.becomes);
      ReplaceWithOperands(root, with, first_new);
      changed = true;
    }
  }
  return changed;
}

constexpr std::string_view kConvTargets[] = {kConvForward, kConvBiasActivation};

// cuDNN has no other integers than s8. Gradients of integers are left to those who make them.
absl::Status CheckIntegers(const Computation& computation) {
  for (const Instruction* x : computation.instructions()) {
    if (x->opcode() != Opcode::kCustomCall || x->operand_count() < 2 ||
        !absl::c_linear_search(kConvTargets, x->attrs<CustomCallAttrs>().custom_call_target))
      continue;
    if (!CheckLibraryCall(*FindLibraryCall(*x), *x).ok()) continue;  // it has no such result
    std::vector<Shape> shapes = {ValueShape(*x), x->operand(0)->shape(), x->operand(1)->shape()};
    if (x->operand_count() > kSideInput) shapes.push_back(x->operand(kSideInput)->shape());
    for (const Shape shape : shapes) {
      if (!shape.IsArray() || !IsInteger(shape.element_type()) ||
          shape.element_type() == ElementType::kS8)
        continue;
      return Unsupported(x->loc(),
                         "`{}` is a convolution with `{}`, for which cuDNN has no call; what was "
                         "s8 and becomes f32, or s8 by `convert(clamp(-128, …, 127))`, has one",
                         x->name(), shape);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> CudnnFusedConvolutionRewriter::Run(Module& module, PassContext& context) {
  const bool has_runtime_fusion =
      options_.use_runtime_fusion && options_.compute_capability >= kRuntimeFusionCapability;
  const bool has_f8_graphs =
      options_.compute_capability >= LeastForF8Convolutions(options_.dnn_version) &&
      options_.toolkit_version >= DnnVersion{12, 0, 0};
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kCustomCall})) {
    if (has_f8_graphs) {
      ASSIGN_OR_RETURN(const bool has_graphs, MakeF8ConvGraphs(*computation, context));
      if (has_graphs) return true;
    }
    ASSIGN_OR_RETURN(const bool computation_changed,
                     ConvFuser(*computation, has_runtime_fusion, context).Run());
    RETURN_IF_ERROR(CheckIntegers(*computation));
    changed |= computation_changed;
  }
  return changed;
}

HLO_DEFINE_PASS(CudnnFusedConvolutionRewriter)

}  // namespace hlo
