#include "passes/gpu/cublas_gemm_rewriter.h"

#include <algorithm>
#include <complex>

#include "lib/analysis/call_graph.h"
#include "lib/match/pattern.h"
#include "lib/support/contains.h"
#include "passes/gpu/f8_products.h"
#include "passes/gpu/f8_results.h"
#include "passes/gpu/gelu_pattern.h"
#include "passes/gpu/gemm_calls.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_config.h"
#include "passes/gpu/matrix_products.h"
#include "passes/gpu/merged_batches.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

constexpr int64_t kWorkspace = 4 << 20, kWorkspaceOfHopper = 32 << 20;
constexpr CudaCapability kHopper = {9, 0};
// The first that multiplies f8, and the first that takes matrices of them as they lie.
constexpr CudaCapability kAda = {8, 9}, kBlackwell = {10, 0};

using Config = LibraryConfig<GemmConfig>;

bool IsBroadcast(const Instruction& x) { return x.opcode() == Opcode::kBroadcast; }

class GemmRewriter {
 public:
  GemmRewriter(Computation& computation, const CublasGemmRewriterOptions& options,
               PassContext& context)
      : computation_(computation),
        options_(options),
        workspace_(options.compute_capability >= kHopper ? kWorkspaceOfHopper : kWorkspace),
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
    if (opcode == Opcode::kDot) return options_.dtype == "fp8" ? RewriteF8Dot(x) : RewriteDot(x);
    if (opcode != Opcode::kConvert && IsMixed(*x)) return absl::OkStatus();
    if (opcode == Opcode::kMultiply) {
      if (Instruction* const value = GeluOf(*x); value != nullptr) {
        const ProductElements elements(value);
        if (elements.gemm() != nullptr) return TakeGelu(x, value, elements);
      }
      ASSIGN_OR_RETURN(const bool taken, TakeFactor(x));
      return taken ? absl::OkStatus() : TakeScale(x);
    }
    if (opcode == Opcode::kDivide) return TakeScale(x);
    if (opcode == Opcode::kConvert) return TakeNarrowing(x);
    if (opcode == Opcode::kMaximum) return TakeRelu(x);
    const bool takes_addends = options_.bias_mode != "no_bias";
    return opcode == Opcode::kAdd && takes_addends ? TakeAddend(x) : absl::OkStatus();
  }

  // Whether it computes in another type than that of an operand.
  static bool IsMixed(const Instruction& x) {
    return absl::c_any_of(x.operands(), [&](const Instruction* operand) {
      return !operand->shape().IsArray() ||
             operand->shape().element_type() != x.shape().element_type();
    });
  }

  // `gemm`, or a copy of one, computes another value than before.
  static void SetConfig(Instruction* gemm, const Config& config) {
    gemm->mutable_extras().backend_config = ToJson(config);
    SetOrigin(gemm, nullptr);
  }

  void Replace(Instruction* old, Instruction* with, uint32_t first_new, std::string_view as) {
    context_.Passed(*old, "becomes {}", as);
    context_.Count(as);
    SetOrigin(with, nullptr);  // what stands between a call and `old` is another value now
    ReplaceWithOperands(old, with, first_new);
    changed_ = true;
  }

  // ---- dot  =>  custom-call ----

  absl::Status RewriteDot(Instruction* dot) {
    if (!context_.Allowed(*dot, IsLibraryProduct(*dot, /*allow_vectors=*/true)))
      return absl::OkStatus();
    if (IsSmall(*dot)) {
      context_.Missed(*dot, "it is too small for a library");
      return absl::OkStatus();
    }
    if (!context_.MayRewrite()) return absl::OkStatus();
    Rewriter b(&computation_, context_, dot);
    const uint32_t first_new = dot->module().id_limit();
    Instruction* value = nullptr;
    if (MatrixProductOf(*dot).batch_dims == 2) {
      const MergedProduct merged = WithMergedBatches(*dot, b);
      value = b.Reshape(MakeGemm(*dot, merged.lhs, merged.rhs, merged.shape, merged.attrs, b),
                        dot->shape().dims());
    } else {
      value =
          MakeGemm(*dot, dot->operand(0), dot->operand(1), dot->shape(), dot->attrs<DotAttrs>(), b);
    }
    RETURN_IF_ERROR(b.status());
    Replace(dot, value, first_new, "a library call");
    return absl::OkStatus();
  }

  // dot of f8  =>  custom-call with scales; where the library cannot, of f16
  absl::Status RewriteF8Dot(Instruction* dot) {
    const std::optional<F8Operand> lhs = FindF8Operand(dot->operand(0));
    const std::optional<F8Operand> rhs = FindF8Operand(dot->operand(1));
    Decision may = Yes();
    if (dot->operand_count() != 2 || !lhs || !rhs) may = No("its operands are not made of f8");
    if (may) may = IsF8Product(*dot, *lhs, *rhs);
    if (may && options_.compute_capability < kAda) may = No("the library multiplies no f8 there");
    if (may) may = FitsLt(*dot, options_.compute_capability);
    if (may && IsSmall(*dot)) may = No("it is too small for a library");
    if (!context_.Allowed(*dot, may)) return InF16(dot);
    if (!context_.MayRewrite()) return absl::OkStatus();
    Rewriter b(&computation_, context_, dot);
    const uint32_t first_new = dot->module().id_limit();
    const F8Factors factors =
        F8FactorsOf(*dot, *lhs, *rhs, options_.compute_capability >= kBlackwell, b);
    Config config = ConfigOf(*dot, factors.lhs->shape(), factors.rhs->shape(), factors.attrs);
    config.config.scale_mode = GemmConfig::kTensorScales;
    CustomCallAttrs call;
    call.custom_call_target = std::string(kLtMatmulF8);
    Instruction* const gemm =
        computation_.Add(Opcode::kCustomCall, factors.result,
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
    Replace(dot, value, first_new, "a library call of f8");
    return absl::OkStatus();
  }

  // dot(f8, f8)  =>  dot(convert(f8), convert(f8)) in f16, of which other passes make calls; in
  // bf16 where that is the result, which the library does not make of f16
  absl::Status InF16(Instruction* dot) {
    const ElementType type = dot->shape().element_type();
    if (dot->operand_count() != 2 || !IsFloat(type) || type == ElementType::kF8E8M0FNU ||
        !IsSmallF8(*dot->operand(0)) || !IsSmallF8(*dot->operand(1)) || !context_.MayRewrite())
      return absl::OkStatus();
    const ElementType wide = type == ElementType::kBF16 ? ElementType::kBF16 : ElementType::kF16;
    Rewriter b(&computation_, context_, dot);
    const uint32_t first_new = dot->module().id_limit();
    Instruction* const lhs = b.Convert(dot->operand(0), wide);
    Instruction* const rhs = b.Convert(dot->operand(1), wide);
    Instruction* value = computation_.AddClone(
        *dot, dot->shape().WithElementType(IsF8(type) ? ElementType::kF16 : type), {lhs, rhs});
    if (IsF8(type)) value = b.Convert(value, type);
    RETURN_IF_ERROR(b.status());
    Replace(dot, value, first_new, "a product of f16");
    return absl::OkStatus();
  }
  // Of f8 that f16 holds: f8e8m0fnu goes up to 2^127.
  static bool IsSmallF8(const Instruction& x) {
    const ElementType type = x.shape().element_type();
    return IsF8(type) && type != ElementType::kF8E8M0FNU;
  }

  bool IsSmall(const Instruction& dot) const {
    return MatrixProductOf(dot).size() < options_.gemm_rewrite_size_threshold && IsLoopType(dot);
  }

  static bool IsLoopType(const Instruction& dot) {
    const ElementType type = dot.shape().element_type();
    return type == ElementType::kF16 || type == ElementType::kF32 || type == ElementType::kBF16;
  }

  Instruction* MakeGemm(const Instruction& dot, Instruction* lhs, Instruction* rhs, Shape shape,
                        DotAttrs attrs, Rewriter& b) {
    if (attrs.algorithm == DotAlgorithm::kBF16BF16F32) {
      lhs = b.Convert(lhs, ElementType::kBF16);
      rhs = b.Convert(rhs, ElementType::kBF16);
      attrs.algorithm = DotAlgorithm::kUnset;
    }
    const bool lt = options_.enable_cublaslt && FitsLt(dot, options_.compute_capability);
    const Config config = ConfigOf(dot, lhs->shape(), rhs->shape(), attrs);
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

  static Config ConfigOf(const Instruction& dot, Shape lhs, Shape rhs, const DotAttrs& attrs) {
    Config config;
    config.config = GemmConfig::For(attrs);
    config.config.lhs_stride = Stride(lhs, attrs.lhs_batch_dims.size());
    config.config.rhs_stride = Stride(rhs, attrs.rhs_batch_dims.size());
    config.config.grad_x = IsTrue(dot, "grad_x");
    config.config.grad_y = IsTrue(dot, "grad_y");
    return config;
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
    if (IsNarrowGemm(gemm)) return No("`{}` is rounded to f8", gemm.name());
    const GemmEpilogue epilogue = config.config.epilogue;
    if (epilogue != GemmEpilogue::kDefault && !(after_bias && epilogue == GemmEpilogue::kBias))
      return No("`{}` has the epilogue {}", gemm.name(), Text(epilogue));
    return Yes();
  }

  // multiply(gemm, broadcast(constant))  =>  gemm with alpha
  absl::StatusOr<bool> TakeFactor(Instruction* multiply) {
    Instruction *gemm, *factor;
    if (!Match(multiply, m::MultiplyAnyOrder(m::CustomCall(&gemm),
                                             m::Broadcast(m::Constant(&factor)).OneUser())) ||
        !IsGemm(*gemm) || !factor->shape().IsEffectiveScalar())
      return false;
    ASSIGN_OR_RETURN(Config config, ReadConfig<GemmConfig>(*gemm));
    Decision may = MayTakeIn(*multiply, *gemm, config, /*after_bias=*/false);
    if (may && config.config.beta != 0) may = No("`{}` has an addend", gemm->name());
    if (gemm->shape().element_type() == ElementType::kS32) may = No("alpha is no integer");
    if (!context_.Allowed(*multiply, may) || !context_.MayRewrite()) return false;
    const std::complex<double> alpha =
        std::complex<double>(config.config.alpha_real, config.config.alpha_imag) *
        (IsComplex(factor->shape().element_type()) ? factor->literal().GetComplex()
                                                   : factor->literal().GetDouble());
    config.config.alpha_real = alpha.real();
    config.config.alpha_imag = alpha.imag();
    SetConfig(gemm, config);
    Replace(multiply, gemm, gemm->module().id_limit(), "alpha");
    return true;
  }

  static bool IsOne(const Instruction& x) {
    return x.IsConstant() && x.shape().rank() == 0 && !x.literal().is_elided() &&
           x.literal().GetDouble() == 1;
  }

  // multiply(gemm of f8, broadcast(scale)), or divide  =>  gemm with another scale
  absl::Status TakeScale(Instruction* scaled) {
    const bool is_divided = scaled->opcode() == Opcode::kDivide;
    Instruction *gemm, *scale;
    const auto factor = m::Broadcast(m::Any(&scale)).OneUser();
    if (!(is_divided ? Match(scaled, m::Divide(m::CustomCall(&gemm), factor))
                     : Match(scaled, m::MultiplyAnyOrder(m::CustomCall(&gemm), factor))) ||
        !IsGemm(*gemm) || !IsF8Gemm(*gemm) || scale->shape().rank() != 0)
      return absl::OkStatus();
    ASSIGN_OR_RETURN(const Config config, ReadConfig<GemmConfig>(*gemm));
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
    if (!context_.Allowed(*scaled, may) || !context_.MayRewrite()) return absl::OkStatus();
    Rewriter b(&computation_, context_, scaled);
    gemm->ReplaceOperand(2, F8Scale(scale, is_divided, b));
    RETURN_IF_ERROR(b.status());
    SetOrigin(gemm, nullptr);
    Replace(scaled, gemm, gemm->module().id_limit(), "a scale");
    return absl::OkStatus();
  }

  // convert(clamp(gemm of f8, scaled))  =>  gemm that yields f8, and the largest magnitude as a
  // second value where that is what others read
  absl::Status TakeNarrowing(Instruction* convert) {
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
    ASSIGN_OR_RETURN(Config config, ReadConfig<GemmConfig>(*gemm));
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
    if (!context_.Allowed(*convert, may) || !context_.MayRewrite()) return absl::OkStatus();
    return Narrow(convert, gemm, F8End{scale, is_divided, largest}, config);
  }

  struct F8End {
    Instruction* scale;
    bool is_divided;
    Instruction* largest;  // null: nobody wants it
  };
  absl::Status Narrow(Instruction* convert, Instruction* gemm, const F8End& end, Config& config) {
    Rewriter b(&computation_, context_, convert);
    const uint32_t first_new = gemm->module().id_limit();
    std::vector<Instruction*> operands = gemm->operand_vector();
    operands.push_back(F8Scale(end.scale, end.is_divided, b));
    const Shape narrow = convert->shape();
    const Shape largest_shape = Shape::Scalar(ElementType::kF32);
    Instruction* const with = computation_.AddClone(
        *gemm, end.largest == nullptr ? narrow : Shape::Tuple({narrow, largest_shape}), operands);
    CustomCallAttrs attrs = with->attrs<CustomCallAttrs>();
    attrs.output_to_operand_aliasing.clear();  // f8 is smaller than what is added
    with->SetAttrs(std::move(attrs));
    config.config.damax_output = end.largest != nullptr;
    SetConfig(with, config);
    RETURN_IF_ERROR(b.status());
    if (end.largest == nullptr) {
      Replace(convert, with, first_new, "a result of f8");
      return absl::OkStatus();
    }
    with_aux_.push_back(with);
    Instruction* largest = b.GetTupleElement(with, 1);
    if (end.largest->shape().element_type() != ElementType::kF32)
      largest = b.Convert(largest, end.largest->shape().element_type());
    Replace(end.largest, largest, first_new, "the largest magnitude");
    Replace(convert, b.GetTupleElement(with, 0), first_new, "a result of f8");
    return b.status();
  }

  absl::Status TakeAddend(Instruction* add) {
    for (const int side : {0, 1}) {
      Instruction* value = add->operand(side);
      const bool is_wider = options_.allow_excess_precision && IsConvertedForSum(*value, *add);
      if (is_wider) value = value->operand(0);
      const ProductView product(value);
      if (product.gemm() == nullptr || (is_wider && IsF8Gemm(*product.gemm()))) continue;
      ASSIGN_OR_RETURN(Config config, ReadConfig<GemmConfig>(*product.gemm()));
      ASSIGN_OR_RETURN(const bool taken, TakeAddend(add, product, add->operand(1 - side), config));
      if (taken) return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  // add(convert(gemm), …), in a type that the library may yield, for nobody but the caller
  static bool IsConvertedForSum(const Instruction& convert, const Instruction& add) {
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

  absl::StatusOr<bool> TakeAddend(Instruction* add, const ProductView& product, Instruction* addend,
                                  Config& config) {
    const Instruction& gemm = *product.gemm();
    const bool is_wider = add->shape().element_type() != gemm.shape().element_type();
    Instruction* const vector = is_wider ? nullptr : BiasVector(product, *addend, config);
    Decision may = MayTakeIn(*add, gemm, config, /*after_bias=*/vector == nullptr);
    const bool in_place = MayBeOverwritten(*addend);
    if (may && vector == nullptr) may = IsBiasMatrix(product, *addend, config, in_place);
    if (!context_.Allowed(*add, may) || !context_.MayRewrite()) return false;
    const uint32_t first_new = add->module().id_limit();
    Rewriter b(&computation_, context_, add);
    if (vector != nullptr) {
      config.config.epilogue = GemmEpilogue::kBias;
      const Shape whole = gemm.shape().WithMissingLayoutsFilled();
      const auto minor = static_cast<int>(whole.layout().minor_to_major[0]);
      Instruction* const bias = PaddedVector(vector, whole.dim(minor), b);
      Replace(add, product.Of(WithOperand(gemm, gemm.operand_count(), bias, config), b), first_new,
              "a bias vector");
      return true;
    }
    config.config.beta = 1;
    ASSIGN_OR_RETURN(Instruction* const matrix, product.Widened(addend, b));
    Instruction* const with = WithOperand(gemm, 2, matrix, config);
    with->set_shape(with->shape().WithElementType(add->shape().element_type()));
    if (in_place) {
      CustomCallAttrs attrs = with->attrs<CustomCallAttrs>();
      attrs.output_to_operand_aliasing = {{{}, 2, {}}};
      with->SetAttrs(std::move(attrs));
    }
    Replace(add, product.Of(with, b), first_new, "a bias matrix");
    return true;
  }

  // The vector of an addend that is one for each element of the minor dimension, or null.
  static Instruction* BiasVector(const ProductView& product, const Instruction& addend,
                                 const Config& config) {
    const Instruction& gemm = *product.gemm();
    if (!IsLtGemm(gemm) || !IsBroadcast(addend) || product.shape().rank() == 0) return nullptr;
    const Shape shape = product.shape().WithMissingLayoutsFilled();
    const Shape whole = gemm.shape().WithMissingLayoutsFilled();
    const int64_t minor = shape.layout().minor_to_major[0];
    const DimVec& dims = addend.attrs<BroadcastAttrs>().dimensions;
    Instruction* const vector = addend.operand(0);
    const bool is_along_minor = dims.size() == 1 && dims[0] == minor && HasFreeRhs(gemm, config);
    // A bitcast or slice must leave the dimension as it is.
    const bool keeps_minor =
        product.is_whole() ||
        (minor == shape.rank() - 1 && shape.layout().IsRowMajor() && whole.layout().IsRowMajor() &&
         product.KeepsMinor(vector->shape().dim(0)));
    if (!is_along_minor || !keeps_minor || !IsEpilogueType(whole.element_type())) return nullptr;
    return IsF8Gemm(gemm) ? F8Vector(gemm, vector, config) : vector;
  }
  static bool HasFreeRhs(const Instruction& gemm, const Config& config) {
    const size_t bound = config.config.dot_dimension_numbers.rhs_batch_dimensions.size() + 1;
    return static_cast<size_t>(gemm.operand(1)->shape().rank()) > bound;
  }

  // As products of f8 take it: of f16 or bf16, whatever they yield, and not beside a matrix.
  static Instruction* F8Vector(const Instruction& gemm, Instruction* vector, const Config& config) {
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

  static Decision IsBiasMatrix(const ProductView& product, const Instruction& addend,
                               const Config& config, bool in_place) {
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
    const ProductElements elements(value);
    Instruction* const gemm = elements.gemm();
    if (gemm == nullptr || !IsLtGemm(*gemm) || !IsEpilogueType(gemm->shape().element_type()))
      return absl::OkStatus();
    ASSIGN_OR_RETURN(Config config, ReadConfig<GemmConfig>(*gemm));
    Decision may = MayTakeIn(*maximum, *gemm, config, /*after_bias=*/true);
    if (value->use_count() != 1 || value->is_root() || !elements.is_only_reader())
      may = No("`{}` is read elsewhere", value->name());
    if (elements.has_control_edges()) may = No("it has control edges");
    if (!context_.Allowed(*maximum, may) || !context_.MayRewrite()) return absl::OkStatus();
    config.config.epilogue = config.config.epilogue == GemmEpilogue::kBias ? GemmEpilogue::kBiasRelu
                                                                           : GemmEpilogue::kRelu;
    SetConfig(gemm, config);
    // The bitcast or slice stays between.
    for (Instruction* x = value; x != gemm; x = x->operand(0)) SetOrigin(x, nullptr);
    Replace(maximum, value, gemm->module().id_limit(), "a relu");
    return absl::OkStatus();
  }

  // gelu(gemm)  =>  gemm with GELU, which yields what others read of the gemm as a second value
  absl::Status TakeGelu(Instruction* multiply, Instruction* value,
                        const ProductElements& elements) {
    Instruction* const gemm = elements.gemm();
    ASSIGN_OR_RETURN(Config config, ReadConfig<GemmConfig>(*gemm));
    const GemmEpilogue epilogue = config.config.epilogue;
    const bool has_bias = epilogue == GemmEpilogue::kBias;
    Decision may = Yes();
    if (!has_bias && epilogue != GemmEpilogue::kDefault)
      may = No("`{}` has the epilogue {}", gemm->name(), Text(epilogue));
    if (!IsLtGemm(*gemm) || IsNarrowGemm(*gemm) || !IsEpilogueType(gemm->shape().element_type()))
      may = No("the library has no gelu of it");
    if (elements.has_control_edges() || multiply->has_control_edges())
      may = No("it has control edges");
    if (!context_.Allowed(*multiply, may) || !context_.MayRewrite()) return absl::OkStatus();
    const bool has_aux =
        value->users().size() > kGeluReaders || value->is_root() || !elements.is_only_reader();
    config.config.epilogue = has_aux
                                 ? (has_bias ? GemmEpilogue::kBiasGeluAux : GemmEpilogue::kGeluAux)
                                 : (has_bias ? GemmEpilogue::kBiasGelu : GemmEpilogue::kGelu);
    const uint32_t first_new = gemm->module().id_limit();
    const Shape shape = gemm->shape();
    Instruction* const with = computation_.AddClone(
        *gemm, has_aux ? Shape::Tuple({shape, shape}) : shape, gemm->operand_vector());
    SetConfig(with, config);
    if (!has_aux) {
      Replace(multiply, elements.Of(with), first_new, "a gelu");
      return absl::OkStatus();
    }
    Rewriter b(&computation_, context_, multiply);
    Replace(multiply, elements.Of(b.GetTupleElement(with, 0)), first_new, "a gelu");
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
    to->set_sharding(*from->sharding());
    from->clear_sharding();
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

}  // namespace

absl::StatusOr<bool> CublasGemmRewriter::Run(Module& module, PassContext& context) {
  return ChangesAny(context.NonFusionComputations(module, {Opcode::kDot, Opcode::kCustomCall}),
                    [&](Computation& computation) -> absl::StatusOr<bool> {
                      if (!MayHoldCalls(computation)) return false;
                      return GemmRewriter(computation, options_, context).Run();
                    });
}

HLO_DEFINE_PASS(CublasGemmRewriter)

}  // namespace hlo
