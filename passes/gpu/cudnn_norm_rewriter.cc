#include "passes/gpu/cudnn_norm_rewriter.h"

#include <algorithm>
#include <array>

#include "lib/support/decision.h"
#include "lib/types/memory_order.h"
#include "lib/types/shape_util.h"
#include "passes/gpu/layer_norm_gradient.h"
#include "passes/gpu/layer_norm_pattern.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_config.h"
#include "passes/rewrite.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

constexpr int kAmpereNorms = 8, kHopperNorms = 9;
// What bounds the memory that kernels work in, by generation.
constexpr int64_t kBlocksOfAmpere = 32 * 128, kBlocksOfHopper = 32 * 144;
// Arrays of the library have this many dimensions at least.
constexpr size_t kLeastRank = 4;

ElementType ValueType(const Instruction& x) { return x.shape().element_type(); }

// `y`, or the conversion to `type` that alone reads it.
Instruction* InType(Instruction* y, ElementType type) {
  if (ValueType(*y) == type || y->use_count() != 1 || y->is_root()) return y;
  Instruction* const user = y->uses()[0].user;
  return user->opcode() == Opcode::kConvert && ValueType(*user) == type ? user : y;
}

// Scale and bias before conversions, so that both have one type.
void TakeConversions(Instruction*& scale, Instruction*& bias) {
  const auto source = [](Instruction* x) {
    return x->opcode() == Opcode::kConvert ? x->operand(0) : nullptr;
  };
  if (source(scale) != nullptr && ValueType(*source(scale)) == ValueType(*bias))
    scale = source(scale);
  if (source(bias) != nullptr && ValueType(*source(bias)) == ValueType(*scale)) bias = source(bias);
  if (source(scale) != nullptr && source(bias) != nullptr &&
      ValueType(*source(scale)) == ValueType(*source(bias))) {
    scale = source(scale);
    bias = source(bias);
  }
}

// Whether `x` is computed of one of `sources`.
bool DependsOnAny(Instruction* x, absl::Span<Instruction* const> sources) {
  std::vector<bool> seen(x->module().id_limit());
  std::vector<Instruction*> open = {x};
  while (!open.empty()) {
    Instruction* const next = open.back();
    open.pop_back();
    if (seen[next->id()]) continue;
    seen[next->id()] = true;
    if (absl::c_linear_search(sources, next)) return true;
    for (Instruction* operand : next->operands()) open.push_back(operand);
  }
  return false;
}

// Of the dimensions of x, rows before features, and where the latter begin.
struct Order {
  DimVec dims;
  size_t rows = 0;
  bool IsIdentity() const { return absl::c_is_sorted(dims); }
};
Order OrderOf(Shape x, const DimVec& features) {
  Order order;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (!absl::c_linear_search(features, d)) order.dims.push_back(d);
  }
  order.rows = order.dims.size();
  order.dims.insert(order.dims.end(), features.begin(), features.end());
  return order;
}

class NormRewriter {
 public:
  NormRewriter(Computation& computation, int64_t blocks, PassContext& context)
      : computation_(computation), blocks_(blocks), context_(context) {}

  absl::StatusOr<bool> Run() {
    for (Instruction* y : computation_.PostOrder()) {
      if (y->is_dead() || (y->opcode() != Opcode::kAdd && y->opcode() != Opcode::kSubtract))
        continue;
      if (std::optional<LayerNorm> norm = FindLayerNorm(y)) RETURN_IF_ERROR(Rewrite(y, *norm));
    }
    // These read what the calls yield, wherever they stand.
    for (Instruction* dx : computation_.PostOrder()) {
      if (dx->is_dead() || dx->opcode() != Opcode::kAdd) continue;
      if (const auto gradient = FindLayerNormGradient(dx, calls_))
        RETURN_IF_ERROR(RewriteGradient(dx, *gradient));
    }
    return changed_;
  }

 private:
  // ---- forward ----

  Decision MayRewriteNorm(const Instruction& y, const LayerNorm& norm) const {
    if (blocks_ == 0) return No("the library has no kernels there");
    if (norm.dims.features.empty() || norm.x->shape().IsZeroSized() ||
        norm.x->shape().has_dynamic_dims())
      return No("`{}` has no features, or not always as many", norm.x->name());
    for (const Instruction* x :
         std::array<const Instruction*, 4>{norm.x, norm.scale, norm.bias, &y}) {
      if (!LiesRowMajor(x->shape())) return No("`{}` is not row-major", x->name());
      if (!IsNormType(ValueType(*x))) return No("the library has no {}", Text(ValueType(*x)));
    }
    if (ValueType(y) != ValueType(*norm.x))
      return No("it is of {}, `{}` of {}", Text(ValueType(y)), norm.x->name(),
                Text(ValueType(*norm.x)));
    if (ValueType(*norm.scale) != ValueType(*norm.bias))
      return No("`{}` is of {}, `{}` of {}", norm.scale->name(), Text(ValueType(*norm.scale)),
                norm.bias->name(), Text(ValueType(*norm.bias)));
    if (y.has_control_edges()) return No("it has control edges");
    return Yes();
  }

  absl::Status Rewrite(Instruction* y, LayerNorm& norm) {
    y = InType(y, ValueType(*norm.x));
    TakeConversions(norm.scale, norm.bias);
    if (!context_.Allowed(*y, MayRewriteNorm(*y, norm))) return absl::OkStatus();
    if (!context_.MayRewrite()) return absl::OkStatus();
    Instruction* const cube = CubeOf(norm);
    Rewriter b(&computation_, context_, y);
    const uint32_t first_new = y->module().id_limit();
    const Order order = OrderOf(norm.x->shape(), norm.summed);
    Instruction* const x = InOrder(norm.x, order, b);
    const DimVec sizes = CallSizes(x->shape(), order.rows);
    DimVec of_features = sizes;
    of_features[0] = 1;
    Instruction* const x_in = b.Reshape(x, sizes);
    NormConfig config;
    config.epsilon = norm.epsilon;
    config.kind = cube == nullptr ? NormKind::kInference : NormKind::kTraining;
    const int64_t workspace = Workspace(sizes[0]);
    config.algorithm = Algorithm(cube == nullptr ? workspace : TrainingWorkspace());
    std::vector<Shape> values = {x_in->shape()};
    if (cube != nullptr) {
      const DimVec of_rows = {sizes[0], 1, 1, 1};
      values.push_back(Shape::Array(ValueType(*norm.mean), of_rows));
      values.push_back(Shape::Array(ValueType(*cube), of_rows));
    }
    Instruction* const call = Call(
        std::move(values), workspace,
        {x_in, b.Reshape(norm.scale, of_features), b.Reshape(norm.bias, of_features)}, config, b);
    Instruction* const result = b.Reshape(b.GetTupleElement(call, 0), x->shape().dims());
    Instruction* const in_place = InShape(BackInOrder(result, order, b), y->shape(), b);
    RETURN_IF_ERROR(b.status());
    Replace(y, in_place, first_new, "a library call");
    if (cube == nullptr) return absl::OkStatus();
    NormCall made = {call, norm.x, norm.scale, norm.dims, order.dims, nullptr, nullptr};
    made.mean = ReplaceByValue(norm.mean, call, 1, b, "the mean of the call");
    made.factor = ReplaceByValue(norm.factor, call, 2, b, "the factor of the call");
    b.set_origin(cube);
    const uint32_t first_of_cube = cube->module().id_limit();
    Instruction* factor = InShape(made.factor, cube->shape(), b);
    if (ValueType(*factor) != ValueType(*cube)) factor = b.Convert(factor, ValueType(*cube));
    Replace(cube, b.Multiply(b.Multiply(factor, factor), factor), first_of_cube,
            "the cube of the factor");
    calls_.push_back(std::move(made));
    return b.status();
  }

  // factor / (variance + epsilon), where the call can take its place, and those of mean and factor;
  // else null.
  Instruction* CubeOf(const LayerNorm& norm) {
    for (Instruction* divide : norm.factor->users()) {
      if (divide->opcode() != Opcode::kDivide || divide->operand(0) != norm.factor ||
          !IsVarianceAndEpsilon(norm, divide->operand(1)))
        continue;
      if (context_.Allowed(*divide, MayYieldStatistics(norm, divide))) return divide;
    }
    return nullptr;
  }
  Decision MayYieldStatistics(const LayerNorm& norm, Instruction* cube) const {
    const std::array<Instruction*, 3> statistics = {norm.mean, norm.factor, cube};
    int64_t rows = 1;
    for (const int64_t d : norm.dims.rows) rows *= norm.dims.sizes[static_cast<size_t>(d)];
    for (const Instruction* x : statistics) {
      if (x->shape().element_count() != rows) return No("`{}` is no number of each row", x->name());
      if (!IsNormType(ValueType(*x))) return No("the library has no {}", Text(ValueType(*x)));
      if (x->has_control_edges()) return No("`{}` has control edges", x->name());
    }
    for (Instruction* x : {norm.scale, norm.bias}) {
      if (DependsOnAny(x, statistics)) return No("`{}` is computed of them", x->name());
    }
    return Yes();
  }

  Instruction* ReplaceByValue(Instruction* old, Instruction* call, int64_t value, Rewriter& b,
                              std::string_view as) {
    b.set_origin(old);
    const uint32_t first_new = old->module().id_limit();
    Instruction* read = b.GetTupleElement(call, value);
    if (ValueType(*read) != ValueType(*old)) read = b.Convert(read, ValueType(*old));
    read = InShape(read, old->shape(), b);
    Replace(old, read, first_new, as);
    return read;
  }

  // ---- backward ----

  Decision MayRewriteGradient(const Instruction& dx, const LayerNormGradient& gradient) const {
    const NormCall& norm = *gradient.of;
    if (gradient.dscale == nullptr) return No("nobody computes the gradient of the scale");
    std::vector<const Instruction*> results = {&dx, gradient.dscale};
    if (gradient.dbias != nullptr) results.push_back(gradient.dbias);
    for (const Instruction* x : results) {
      if (x->has_control_edges()) return No("`{}` has control edges", x->name());
      if (!LiesRowMajor(x->shape())) return No("`{}` is not row-major", x->name());
    }
    if (!LiesRowMajor(gradient.dy->shape()))
      return No("`{}` is not row-major", gradient.dy->name());
    const ElementType type = ValueType(*norm.x);
    if (ValueType(dx) != type)
      return No("it is of {}, `{}` of {}", Text(ValueType(dx)), norm.x->name(), Text(type));
    for (size_t i = 1; i < results.size(); ++i) {
      if (ValueType(*results[i]) != ValueType(*norm.scale) ||
          SizesAboveOne(results[i]->shape()) != SizesAboveOne(norm.scale->shape()))
        return No("`{}` is not like the scale", results[i]->name());
    }
    if (!IsNormType(ValueType(*gradient.dy)))
      return No("the library has no {}", Text(ValueType(*gradient.dy)));
    if (BitWidth(type) < BitWidth(ValueType(*gradient.dy)) ||
        BitWidth(type) < BitWidth(ValueType(*norm.scale)))
      return No("{} is narrower than the types of scale and gradient", Text(type));
    return Yes();
  }

  absl::Status RewriteGradient(Instruction* dx, LayerNormGradient gradient) {
    const NormCall& norm = *gradient.of;
    dx = InType(dx, ValueType(*norm.x));
    if (gradient.dbias != nullptr && DependsOnAny(norm.call, {gradient.dbias})) {
      context_.Missed(*gradient.dbias, "what is normalised is computed of it");
      gradient.dbias = nullptr;
    }
    if (!context_.Allowed(*dx, MayRewriteGradient(*dx, gradient))) return absl::OkStatus();
    if (!context_.MayRewrite()) return absl::OkStatus();
    Rewriter b(&computation_, context_, dx);
    const uint32_t first_new = dx->module().id_limit();
    const Order order = {norm.order, 0};
    Instruction *const x = norm.call->operand(0), *const scale = norm.call->operand(1);
    Instruction* const dy = InOrder(InShape(gradient.dy, norm.x->shape(), b), order, b);
    const Shape of_scale = scale->shape().WithElementType(ValueType(*gradient.dscale));
    NormConfig config;
    config.kind = NormKind::kBackward;
    const int64_t workspace = Workspace(x->shape().dim(0));
    config.algorithm = Algorithm(workspace);
    Instruction* const call =
        Call({x->shape(), of_scale, of_scale}, workspace,
             {x, scale, b.Reshape(dy, x->shape().dims()), b.GetTupleElement(norm.call, 1),
              b.GetTupleElement(norm.call, 2)},
             config, b);
    Instruction* const result = b.Reshape(b.GetTupleElement(call, 0), dy->shape().dims());
    Instruction* const in_place = InShape(BackInOrder(result, order, b), dx->shape(), b);
    RETURN_IF_ERROR(b.status());
    // Sums first: they are computed of what may die with dx.
    ReplaceByValue(gradient.dscale, call, 1, b, "the gradient of the scale");
    if (gradient.dbias != nullptr)
      ReplaceByValue(gradient.dbias, call, 2, b, "the gradient of the bias");
    Replace(dx, in_place, first_new, "a gradient by the library");
    return b.status();
  }

  // ---- both ----

  static Instruction* InShape(Instruction* x, Shape shape, Rewriter& b) {
    return SameDimensions(x->shape(), shape) ? x : b.Reshape(x, shape.dims());
  }
  static Instruction* InOrder(Instruction* x, const Order& order, Rewriter& b) {
    return order.IsIdentity() ? x : b.Transpose(x, order.dims);
  }
  static Instruction* BackInOrder(Instruction* x, const Order& order, Rewriter& b) {
    return order.IsIdentity() ? x : b.Transpose(x, InversePermutation(order.dims));
  }

  // All rows as one dimension, then the features.
  static DimVec CallSizes(Shape x, size_t rows) {
    DimVec sizes = {1};
    for (size_t d = 0; d < x.dims().size(); ++d) {
      if (d < rows) {
        sizes[0] *= x.dims()[d];
      } else {
        sizes.push_back(x.dims()[d]);
      }
    }
    while (sizes.size() < kLeastRank) sizes.push_back(1);
    return sizes;
  }

  // Upper bounds.
  int64_t Workspace(int64_t rows) const { return 2 * blocks_ * (4 + 256) + 2 * rows * 4 + 64; }
  int64_t TrainingWorkspace() const { return 2 * blocks_ * (4 + 256) + 32; }
  static JsonAlgorithm Algorithm(int64_t workspace) {
    JsonAlgorithm algorithm;
    algorithm.math_type = MathType::kTensorOps;
    algorithm.workspace_size = static_cast<uint64_t>(workspace);
    return algorithm;
  }

  static Instruction* Call(std::vector<Shape> values, int64_t workspace,
                           const std::vector<Instruction*>& operands, const NormConfig& config,
                           Rewriter& b) {
    values.push_back(Shape::Array(ElementType::kU8, {workspace}));
    CustomCallAttrs attrs;
    attrs.custom_call_target = std::string(kNormCall);
    Instruction* const call = b.OpWithShape(Opcode::kCustomCall, Shape::Tuple(values), operands,
                                            AttrsPtr::Make(std::move(attrs)));
    LibraryConfig<NormConfig> library;
    library.config = config;
    call->mutable_extras().backend_config = ToJson(library);
    return call;
  }

  void Replace(Instruction* old, Instruction* with, uint32_t first_new, std::string_view as) {
    context_.Passed(*old, "becomes {}", as);
    context_.Count(as);
    ReplaceWithOperands(old, with, first_new);
    changed_ = true;
  }

  Computation& computation_;
  const int64_t blocks_;  // 0: no kernels
  PassContext& context_;
  std::vector<NormCall> calls_;
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> CudnnNormRewriter::Run(Module& module, PassContext& context) {
  const int generation = options_.compute_capability.generation;
  const int64_t blocks = generation == kAmpereNorms   ? kBlocksOfAmpere
                         : generation == kHopperNorms ? kBlocksOfHopper
                                                      : 0;
  return ChangesAny(context.ControlFlowComputations(module), [&](Computation& computation) {
    return NormRewriter(computation, blocks, context).Run();
  });
}

HLO_DEFINE_PASS(CudnnNormRewriter)

}  // namespace hlo
