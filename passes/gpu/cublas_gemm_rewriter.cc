#include "passes/gpu/cublas_gemm_rewriter.h"

#include <algorithm>
#include <complex>

#include "lib/analysis/call_graph.h"
#include "lib/match/pattern.h"
#include "passes/gpu/gelu_pattern.h"
#include "passes/gpu/gemm_calls.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_config.h"
#include "passes/gpu/matrix_products.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

constexpr int64_t kWorkspace = 4 << 20, kWorkspaceOfHopper = 32 << 20;
constexpr double kHopper = 9;

using Config = LibraryConfig<GemmConfig>;

bool IsBroadcast(const Instruction& x) { return x.opcode() == Opcode::kBroadcast; }

class GemmRewriter {
 public:
  GemmRewriter(Computation& computation, const CublasGemmRewriterOptions& options,
               double capability, PassContext& context)
      : computation_(computation),
        options_(options),
        workspace_(capability >= kHopper ? kWorkspaceOfHopper : kWorkspace),
        context_(context) {}

  absl::StatusOr<bool> Run() {
    for (Instruction* x : computation_.PostOrder()) {
      if (x->is_dead()) continue;
      RETURN_IF_ERROR(Rewrite(x));
    }
    for (Instruction* x : computation_.instruction_vector()) {
      if (!IsGemm(*x)) continue;
      AddWorkspace(x);
      changed_ = true;
    }
    for (Instruction* gemm : with_aux_) {
      std::vector<Shape> values(gemm->shape().elements().begin(), gemm->shape().elements().end());
      values.push_back(WorkspaceOf(*gemm));
      gemm->set_shape(Shape::Tuple(values));
      MoveAliasToFirst(gemm);
    }
    return changed_;
  }

 private:
  absl::Status Rewrite(Instruction* x) {
    const Opcode opcode = x->opcode();
    if (opcode == Opcode::kDot) return RewriteDot(x);
    if (opcode == Opcode::kMultiply) {
      Instruction* const gemm = GeluOf(*x);
      return gemm != nullptr && IsGemm(*gemm) ? TakeGelu(x, gemm) : TakeFactor(x);
    }
    if (opcode == Opcode::kMaximum) return TakeRelu(x);
    const bool takes_addends = options_.bias_mode != "no_bias";
    return opcode == Opcode::kAdd && takes_addends ? TakeAddend(x) : absl::OkStatus();
  }

  // `gemm`, or a copy of one, computes another value than before.
  static void SetConfig(Instruction* gemm, const Config& config) {
    gemm->mutable_extras().backend_config = ToJson(config);
    SetOrigin(gemm, nullptr);
  }

  void Replace(Instruction* old, Instruction* with, uint32_t first_new, std::string_view as) {
    context_.Passed(*old, "becomes {}", as);
    context_.Count(as);
    const std::vector<Instruction*> operands = old->operand_vector();
    SetOrigin(with, nullptr);  // what stands between a call and `old` is another value now
    ReplaceKeepingExtras(old, with, first_new);
    for (Instruction* operand : operands) {
      if (!operand->is_dead() && !operand->is_used() && !operand->has_control_edges() &&
          operand->opcode() != Opcode::kParameter)
        computation_.RemoveUnused(operand);
    }
    changed_ = true;
  }

  // ---- dot  =>  custom-call ----

  absl::Status RewriteDot(Instruction* dot) {
    if (const Decision may = IsLibraryProduct(*dot, /*allow_vectors=*/true); !may) {
      context_.Missed(*dot, may.reason());
      return absl::OkStatus();
    }
    const MatrixProduct product = MatrixProductOf(*dot);
    if (product.size() < options_.gemm_rewrite_size_threshold && IsLoopType(*dot)) {
      context_.Missed(*dot, "it is too small for a library");
      return absl::OkStatus();
    }
    if (!context_.MayRewrite()) return absl::OkStatus();
    Rewriter b(&computation_, context_);
    b.set_origin(dot);
    const uint32_t first_new = dot->module().id_limit();
    Instruction* value = nullptr;
    if (product.batch_dims == 2) {
      ASSIGN_OR_RETURN(value, OneBatchDimension(*dot, b));
    } else {
      value =
          MakeGemm(*dot, dot->operand(0), dot->operand(1), dot->shape(), dot->attrs<DotAttrs>(), b);
    }
    RETURN_IF_ERROR(b.status());
    Replace(dot, value, first_new, "a library call");
    return absl::OkStatus();
  }

  static bool IsLoopType(const Instruction& dot) {
    const ElementType type = dot.shape().element_type();
    return type == ElementType::kF16 || type == ElementType::kF32 || type == ElementType::kBF16;
  }

  // dot of [b, c, …]  =>  reshape(call of reshaped [b*c, …])
  absl::StatusOr<Instruction*> OneBatchDimension(const Instruction& dot, Rewriter& b) {
    DotAttrs attrs = dot.attrs<DotAttrs>();
    Instruction* const lhs = Merged(dot.operand(0), b);
    Instruction* const rhs = Merged(dot.operand(1), b);
    attrs.lhs_batch_dims = attrs.rhs_batch_dims = {0};
    attrs.lhs_contracting_dims[0] -= 1;
    attrs.rhs_contracting_dims[0] -= 1;
    DimVec sizes = MergedSizes(dot.shape());
    const Shape shape = Shape::Array(dot.shape().element_type(), sizes);
    Instruction* const gemm = MakeGemm(dot, lhs, rhs, shape, attrs, b);
    return b.Reshape(gemm, dot.shape().dims());
  }
  static DimVec MergedSizes(Shape shape) {
    DimVec sizes(shape.dims().begin() + 1, shape.dims().end());
    sizes[0] *= shape.dim(0);
    return sizes;
  }
  static Instruction* Merged(Instruction* x, Rewriter& b) {
    return b.Reshape(x, MergedSizes(x->shape()));
  }

  Instruction* MakeGemm(const Instruction& dot, Instruction* lhs, Instruction* rhs, Shape shape,
                        DotAttrs attrs, Rewriter& b) {
    if (attrs.algorithm == DotAlgorithm::kBF16BF16F32) {
      lhs = b.Convert(lhs, ElementType::kBF16);
      rhs = b.Convert(rhs, ElementType::kBF16);
      attrs.algorithm = DotAlgorithm::kUnset;
    }
    const bool lt = options_.enable_cublaslt && IsLtProduct(lhs->shape(), rhs->shape(), shape);
    Config config;
    config.config = GemmConfig::For(attrs);
    config.config.lhs_stride = Stride(lhs->shape(), attrs.lhs_batch_dims.size());
    config.config.rhs_stride = Stride(rhs->shape(), attrs.rhs_batch_dims.size());
    config.config.grad_x = IsTrue(dot, "grad_x");
    config.config.grad_y = IsTrue(dot, "grad_y");
    CustomCallAttrs call;
    call.custom_call_target = std::string(lt ? kLtMatmul : kGemm);
    const std::string_view name = lt                             ? "cublas-lt-matmul"
                                  : attrs.lhs_batch_dims.empty() ? "cublas-gemm"
                                                                 : "cublas-batch-gemm";
    Instruction* const gemm = computation_.Add(Opcode::kCustomCall, shape, {lhs, rhs},
                                               AttrsPtr::Make(std::move(call)), {}, name);
    gemm->set_metadata(dot.metadata());
    gemm->set_loc(dot.loc());
    SetConfig(gemm, config);
    return gemm;
  }

  static int64_t Stride(Shape shape, size_t batch_dims) {
    return Product(shape.dims().subspan(batch_dims));
  }
  static bool IsTrue(const Instruction& dot, std::string_view attribute) {
    if (dot.extras() == nullptr) return false;
    for (const auto& [key, value] : dot.extras()->frontend_attributes) {
      if (key == attribute) return value == "true";
    }
    return false;
  }

  // ---- what follows ----

  // Whether only `reader` reads the product, and the library can do it after what it does.
  static Decision MayTakeIn(const Instruction& reader, const Instruction& gemm,
                            const Config& config, bool after_bias) {
    if (gemm.use_count() != 1 || gemm.is_root()) return No("`{}` is read elsewhere", gemm.name());
    if (gemm.has_control_edges() || reader.has_control_edges()) return No("it has control edges");
    const GemmEpilogue epilogue = config.config.epilogue;
    if (epilogue != GemmEpilogue::kDefault && !(after_bias && epilogue == GemmEpilogue::kBias))
      return No("`{}` has the epilogue {}", gemm.name(), Text(epilogue));
    return Yes();
  }

  // multiply(gemm, broadcast(constant))  =>  gemm with alpha
  absl::Status TakeFactor(Instruction* multiply) {
    Instruction *gemm, *factor;
    if (!Match(multiply, m::MultiplyAnyOrder(m::CustomCall(&gemm),
                                             m::Broadcast(m::Constant(&factor)).OneUser())) ||
        !IsGemm(*gemm) || !factor->shape().IsEffectiveScalar())
      return absl::OkStatus();
    ASSIGN_OR_RETURN(Config config, ReadConfig<GemmConfig>(*gemm));
    Decision may = MayTakeIn(*multiply, *gemm, config, /*after_bias=*/false);
    if (may && config.config.beta != 0) may = No("`{}` has an addend", gemm->name());
    if (gemm->shape().element_type() == ElementType::kS32) may = No("alpha is no integer");
    if (!may || !context_.MayRewrite()) {
      if (!may) context_.Missed(*multiply, may.reason());
      return absl::OkStatus();
    }
    const std::complex<double> alpha =
        std::complex<double>(config.config.alpha_real, config.config.alpha_imag) *
        (IsComplex(factor->shape().element_type()) ? factor->literal().GetComplex()
                                                   : factor->literal().GetDouble());
    config.config.alpha_real = alpha.real();
    config.config.alpha_imag = alpha.imag();
    SetConfig(gemm, config);
    Replace(multiply, gemm, gemm->module().id_limit(), "alpha");
    return absl::OkStatus();
  }

  absl::Status TakeAddend(Instruction* add) {
    for (const int side : {0, 1}) {
      const ProductView product(add->operand(side));
      if (product.gemm() == nullptr) continue;
      ASSIGN_OR_RETURN(Config config, ReadConfig<GemmConfig>(*product.gemm()));
      ASSIGN_OR_RETURN(const bool taken, TakeAddend(add, product, add->operand(1 - side), config));
      if (taken) return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  absl::StatusOr<bool> TakeAddend(Instruction* add, const ProductView& product, Instruction* addend,
                                  Config& config) {
    const Instruction& gemm = *product.gemm();
    const bool is_vector = product.is_whole() && IsBiasVector(gemm, *addend, config);
    Decision may = MayTakeIn(*add, gemm, config, /*after_bias=*/!is_vector);
    const bool in_place = MayBeOverwritten(*addend);
    if (may && !is_vector) may = IsBiasMatrix(product, *addend, config, in_place);
    if (!may || !context_.MayRewrite()) {
      if (!may) context_.Missed(*add, may.reason());
      return false;
    }
    const uint32_t first_new = add->module().id_limit();
    Rewriter b(&computation_, context_);
    b.set_origin(add);
    if (is_vector) {
      config.config.epilogue = GemmEpilogue::kBias;
      Replace(add, WithOperand(gemm, gemm.operand_count(), addend->operand(0), config), first_new,
              "a bias vector");
      return true;
    }
    config.config.beta = 1;
    Instruction* const with = WithOperand(gemm, 2, product.Widened(addend, b), config);
    if (in_place) {
      CustomCallAttrs attrs = with->attrs<CustomCallAttrs>();
      attrs.output_to_operand_aliasing = {{{}, 2, {}}};
      with->SetAttrs(std::move(attrs));
    }
    Replace(add, product.Of(with, b), first_new, "a bias matrix");
    return true;
  }

  // The vector of an addend that is one for each element of the minor dimension.
  static bool IsBiasVector(const Instruction& gemm, const Instruction& addend,
                           const Config& config) {
    if (!IsLtGemm(gemm) || !IsBroadcast(addend) || gemm.shape().rank() == 0) return false;
    const Shape shape = gemm.shape().WithMissingLayoutsFilled();
    const int64_t minor = shape.layout().minor_to_major[0];
    const DimVec& dims = addend.attrs<BroadcastAttrs>().dimensions;
    return IsEpilogueType(shape.element_type()) && dims.size() == 1 && dims[0] == minor &&
           minor == shape.rank() - 1 && HasFreeRhs(gemm, config) && shape.layout().IsRowMajor();
  }
  static bool HasFreeRhs(const Instruction& gemm, const Config& config) {
    const size_t bound = config.config.dot_dimension_numbers.rhs_batch_dimensions.size() + 1;
    return static_cast<size_t>(gemm.operand(1)->shape().rank()) > bound;
  }

  static Decision IsBiasMatrix(const ProductView& product, const Instruction& addend,
                               const Config& config, bool in_place) {
    const Instruction& gemm = *product.gemm();
    if (IsBroadcast(addend) && (product.is_whole() || product.is_slice()))
      return No("`{}` is a broadcast", addend.name());
    if (config.config.beta != 0) return No("`{}` has an addend", gemm.name());
    if (gemm.shape().element_type() == ElementType::kS32) return No("beta is no integer");
    if (!IsLtGemm(gemm) && !in_place) return No("`{}` is needed elsewhere", addend.name());
    return Yes();
  }

  Instruction* WithOperand(const Instruction& gemm, int at, Instruction* operand,
                           const Config& config) {
    std::vector<Instruction*> operands = gemm.operand_vector();
    operands.insert(operands.begin() + at, operand);
    Instruction* const with = computation_.AddClone(gemm, gemm.shape(), operands);
    SetConfig(with, config);
    return with;
  }

  // maximum(gemm, broadcast(0))  =>  gemm with RELU
  absl::Status TakeRelu(Instruction* maximum) {
    Instruction* value;
    if (!Match(maximum, m::MaximumAnyOrder(m::Any(&value), m::Broadcast(m::Zero()))))
      return absl::OkStatus();
    const ProductView product(value);
    Instruction* const gemm = product.gemm();
    if (gemm == nullptr || !IsLtGemm(*gemm) || !IsEpilogueType(gemm->shape().element_type()))
      return absl::OkStatus();
    ASSIGN_OR_RETURN(Config config, ReadConfig<GemmConfig>(*gemm));
    const Decision may = MayTakeIn(*maximum, *gemm, config, /*after_bias=*/true);
    if (!may || !context_.MayRewrite()) {
      if (!may) context_.Missed(*maximum, may.reason());
      return absl::OkStatus();
    }
    config.config.epilogue = config.config.epilogue == GemmEpilogue::kBias ? GemmEpilogue::kBiasRelu
                                                                           : GemmEpilogue::kRelu;
    SetConfig(gemm, config);
    // The bitcast or slice stays between.
    Replace(maximum, value, gemm->module().id_limit(), "a relu");
    return absl::OkStatus();
  }

  // gelu(gemm)  =>  gemm with GELU, which yields what others read of the gemm as a second value
  absl::Status TakeGelu(Instruction* multiply, Instruction* gemm) {
    ASSIGN_OR_RETURN(Config config, ReadConfig<GemmConfig>(*gemm));
    const GemmEpilogue epilogue = config.config.epilogue;
    const bool has_bias = epilogue == GemmEpilogue::kBias;
    Decision may = Yes();
    if (!has_bias && epilogue != GemmEpilogue::kDefault)
      may = No("`{}` has the epilogue {}", gemm->name(), Text(epilogue));
    if (!IsLtGemm(*gemm) || !IsEpilogueType(gemm->shape().element_type()))
      may = No("the library has no gelu of it");
    if (gemm->has_control_edges() || multiply->has_control_edges())
      may = No("it has control edges");
    if (!may || !context_.MayRewrite()) {
      if (!may) context_.Missed(*multiply, may.reason());
      return absl::OkStatus();
    }
    const bool has_aux = gemm->users().size() > kGeluReaders || gemm->is_root();
    config.config.epilogue = has_aux
                                 ? (has_bias ? GemmEpilogue::kBiasGeluAux : GemmEpilogue::kGeluAux)
                                 : (has_bias ? GemmEpilogue::kBiasGelu : GemmEpilogue::kGelu);
    const uint32_t first_new = gemm->module().id_limit();
    const Shape value = gemm->shape();
    Instruction* const with = computation_.AddClone(
        *gemm, has_aux ? Shape::Tuple({value, value}) : value, gemm->operand_vector());
    SetConfig(with, config);
    if (!has_aux) {
      Replace(multiply, with, first_new, "a gelu");
      return absl::OkStatus();
    }
    Rewriter b(&computation_, context_);
    b.set_origin(multiply);
    Replace(multiply, b.GetTupleElement(with, 0), first_new, "a gelu");
    b.set_origin(gemm);
    ReplaceKeepingExtras(gemm, b.GetTupleElement(with, 1), first_new);
    with_aux_.push_back(with);
    return absl::OkStatus();
  }

  // gemm  =>  get-tuple-element((gemm, bytes that the library works in), 0)
  void AddWorkspace(Instruction* gemm) {
    const Shape value = gemm->shape();
    MoveAliasToFirst(gemm);
    gemm->set_shape(Shape::Tuple({value, WorkspaceOf(*gemm)}));
    const std::vector<Use> uses(gemm->uses().begin(), gemm->uses().end());
    Instruction* const first = computation_.Add(Opcode::kGetTupleElement, value, {gemm},
                                                AttrsPtr::Make(GetTupleElementAttrs{0}));
    first->set_metadata(gemm->metadata());
    first->set_loc(gemm->loc());
    for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, first);
    if (gemm->is_root()) computation_.set_root(first);
    MoveSharding(gemm, first);
    SetOrigin(first, OriginOf(*gemm));
    SetOrigin(gemm, nullptr);
  }
  Shape WorkspaceOf(const Instruction& gemm) const {
    int64_t bytes = workspace_;
    if (!IsLtGemm(gemm)) {
      int64_t of_operands = 0;
      for (const Instruction* operand : gemm.operands())
        of_operands += operand->shape().byte_size();
      bytes = std::min(bytes, of_operands);
    }
    return Shape::Array(ElementType::kS8, {bytes});
  }
  static void MoveAliasToFirst(Instruction* gemm) {
    CustomCallAttrs attrs = gemm->attrs<CustomCallAttrs>();
    for (OutputOperandAlias& alias : attrs.output_to_operand_aliasing) alias.output = {0};
    gemm->SetAttrs(std::move(attrs));
  }
  static void MoveSharding(Instruction* from, Instruction* to) {
    if (from->sharding() == nullptr) return;
    to->mutable_extras().sharding = *from->sharding();
    from->mutable_extras().sharding.reset();
  }

  Computation& computation_;
  const CublasGemmRewriterOptions& options_;
  const int64_t workspace_;
  PassContext& context_;
  std::vector<Instruction*> with_aux_;  // calls that yield two values
  bool changed_ = false;
};

// No region, and no asynchronous computation, which holds one operation alone.
bool MayHoldCalls(const Computation& computation) {
  return DirectContext(computation) == CallContext::kControlFlow &&
         absl::c_none_of(computation.callers(), [](const CallSite& site) {
           return site.caller->opcode() == Opcode::kAsyncStart;
         });
}

absl::Status CheckOptions(const CublasGemmRewriterOptions& options) {
  if (options.bias_mode != "bias" && options.bias_mode != "no_bias")
    return Error("bias_mode `{}` is neither `bias` nor `no_bias`", options.bias_mode);
  if (options.dtype != "non_fp8")
    return Unsupported(SourceLoc(), "dtype `{}` is not `non_fp8`: products of f8 stay dots",
                       options.dtype);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> CublasGemmRewriter::Run(Module& module, PassContext& context) {
  RETURN_IF_ERROR(CheckOptions(options_));
  ASSIGN_OR_RETURN(const double capability, ComputeCapability(options_.compute_capability));
  bool changed = false;
  for (Computation* computation :
       context.NonFusionComputations(module, {Opcode::kDot, Opcode::kCustomCall})) {
    if (!MayHoldCalls(*computation)) continue;
    ASSIGN_OR_RETURN(const bool computation_changed,
                     GemmRewriter(*computation, options_, capability, context).Run());
    changed |= computation_changed;
  }
  return changed;
}

HLO_DEFINE_PASS(CublasGemmRewriter)

}  // namespace hlo
