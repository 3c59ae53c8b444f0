#include "passes/gpu/gemm_edits.h"

#include "lib/support/contains.h"
#include "passes/gpu/matrix_products.h"
#include "passes/util/frontend_attribute.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

constexpr ElementType kLoopTypes[] = {ElementType::kF16, ElementType::kF32, ElementType::kBF16};
constexpr DotAlgorithm kLoopAlgorithms[] = {DotAlgorithm::kUnset, DotAlgorithm::kF32F32F32,
                                            DotAlgorithm::kBF16BF16F32};

// Whether a loop computes it.
bool IsLoopProduct(const Instruction& dot) {
  return Contains(kLoopTypes, dot.shape().element_type()) &&
         Contains(kLoopAlgorithms, dot.attrs<DotAttrs>().algorithm);
}

int64_t Stride(Shape shape, size_t batch_dims) { return Product(shape.dims().subspan(batch_dims)); }

}  // namespace

void GemmEdits::Replace(Instruction* old, Instruction* with, uint32_t first_new,
                        std::string_view as) {
  context.Passed(*old, "becomes {}", as);
  context.Count(as);
  SetOrigin(with, nullptr);  // what stands between a call and `old` is another value now
  ReplaceWithOperands(old, with, first_new);
  changed = true;
}

bool GemmEdits::IsSmall(const Instruction& dot) const {
  return MatrixProductOf(dot).size() < options.gemm_rewrite_size_threshold && IsLoopProduct(dot);
}

bool IsMixed(const Instruction& x) {
  return absl::c_any_of(x.operands(), [&](const Instruction* operand) {
    return !operand->shape().IsArray() ||
           operand->shape().element_type() != x.shape().element_type();
  });
}

void SetConfig(Instruction* gemm, const GemmCallConfig& config) {
  gemm->mutable_extras().backend_config = ToJson(config);
  SetOrigin(gemm, nullptr);
}

GemmCallConfig ConfigOf(const Instruction& dot, Shape lhs, Shape rhs, const DotAttrs& attrs) {
  GemmCallConfig config;
  config.config = GemmConfig::For(attrs);
  config.config.lhs_stride = Stride(lhs, attrs.lhs_batch_dims.size());
  config.config.rhs_stride = Stride(rhs, attrs.rhs_batch_dims.size());
  config.config.grad_x = HasTrueAttribute(dot, "grad_x");
  config.config.grad_y = HasTrueAttribute(dot, "grad_y");
  return config;
}

Decision MayFollowInCall(const Instruction& reader, const Instruction& gemm,
                         const GemmCallConfig& config, bool after_bias) {
  if (gemm.use_count() != 1 || gemm.is_root()) return No("`{}` is read elsewhere", gemm.name());
  if (gemm.has_control_edges() || reader.has_control_edges()) return No("it has control edges");
  if (IsNarrowGemm(gemm)) return No("`{}` is rounded to f8", gemm.name());
  const GemmEpilogue epilogue = config.config.epilogue;
  if (epilogue != GemmEpilogue::kDefault && !(after_bias && epilogue == GemmEpilogue::kBias))
    return No("`{}` has the epilogue {}", gemm.name(), Text(epilogue));
  return Yes();
}

}  // namespace hlo
