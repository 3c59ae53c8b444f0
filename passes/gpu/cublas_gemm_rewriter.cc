#include "passes/gpu/cublas_gemm_rewriter.h"

#include <algorithm>

#include "lib/analysis/call_graph.h"
#include "passes/gpu/gelu_pattern.h"
#include "passes/gpu/gemm_edits.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/matrix_products.h"
#include "passes/gpu/merged_batches.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

constexpr int64_t kWorkspace = 4 << 20, kWorkspaceOfHopper = 32 << 20;
constexpr CudaCapability kHopper = {9, 0};

Instruction* MakeGemm(Instruction& dot, Rewriter& b, GemmEdits& edits) {
  Instruction *lhs = dot.operand(0), *rhs = dot.operand(1);
  DotAttrs attrs = dot.attrs<DotAttrs>();
  if (attrs.algorithm == DotAlgorithm::kBF16BF16F32) {
    lhs = b.Convert(lhs, ElementType::kBF16);
    rhs = b.Convert(rhs, ElementType::kBF16);
    attrs.algorithm = DotAlgorithm::kUnset;
  }
  const bool lt = edits.options.enable_cublaslt && FitsLt(dot, edits.options.compute_capability);
  const GemmCallConfig config = ConfigOf(dot, lhs->shape(), rhs->shape(), attrs);
  CustomCallAttrs call;
  call.custom_call_target = std::string(lt ? kLtMatmul : kGemm);
  const std::string_view name = lt                             ? "cublas-lt-matmul"
                                : attrs.lhs_batch_dims.empty() ? "cublas-gemm"
                                                               : "cublas-batch-gemm";
  Instruction* const gemm = edits.computation.Add(Opcode::kCustomCall, dot.shape(), {lhs, rhs},
                                                  AttrsPtr::Make(std::move(call)), {}, name);
  gemm->set_metadata(dot.metadata());
  gemm->set_loc(dot.loc());
  SetConfig(gemm, config);
  return gemm;
}

// `dot`, or what takes its place with its two batch dimensions as one.
absl::StatusOr<Instruction*> WithOneBatch(Instruction* dot, GemmEdits& edits) {
  if (MatrixProductOf(*dot).batch_dims != 2 || !edits.context.MayRewrite()) return dot;
  Rewriter b(&edits.computation, edits.context, dot);
  const uint32_t first_new = dot->module().id_limit();
  const MergedProduct merged = WithMergedBatches(*dot, b);
  Instruction* const with =
      edits.computation.AddClone(*dot, merged.shape, {merged.lhs, merged.rhs});
  with->SetAttrs(merged.attrs);
  with->clear_sharding();  // of other dimensions
  SetOrigin(with, nullptr);
  Instruction* const value = b.Reshape(with, dot->shape().dims());
  RETURN_IF_ERROR(b.status());
  edits.Replace(dot, value, first_new, "a product with one batch dimension");
  return with;
}

absl::Status RewriteDot(Instruction* dot, GemmEdits& edits) {
  const bool of_f8 = edits.options.dtype == "fp8";
  if (!edits.context.Allowed(*dot, of_f8 ? IsMatrixProduct(*dot, /*allow_vectors=*/true)
                                         : IsLibraryProduct(*dot, /*allow_vectors=*/true)))
    return absl::OkStatus();
  ASSIGN_OR_RETURN(dot, WithOneBatch(dot, edits));
  if (edits.IsSmall(*dot)) {
    edits.context.Missed(*dot, "it is too small for a library");
    return absl::OkStatus();
  }
  if (of_f8) return RewriteF8Dot(dot, edits);
  if (!edits.context.MayRewrite()) return absl::OkStatus();
  Rewriter b(&edits.computation, edits.context, dot);
  const uint32_t first_new = dot->module().id_limit();
  Instruction* const gemm = MakeGemm(*dot, b, edits);
  RETURN_IF_ERROR(b.status());
  edits.Replace(dot, gemm, first_new, "a library call");
  return absl::OkStatus();
}

absl::Status Rewrite(Instruction* x, GemmEdits& edits) {
  const Opcode opcode = x->opcode();
  if (opcode == Opcode::kDot) return RewriteDot(x, edits);
  if (opcode != Opcode::kConvert && IsMixed(*x)) return absl::OkStatus();
  if (opcode == Opcode::kMultiply) {
    if (Instruction* const value = GeluOf(*x); value != nullptr) {
      const ProductElements elements(value);
      if (elements.gemm() != nullptr) return TakeGelu(x, value, elements, edits);
    }
    ASSIGN_OR_RETURN(const bool taken, TakeFactor(x, edits));
    return taken ? absl::OkStatus() : TakeScale(x, edits);
  }
  if (opcode == Opcode::kDivide) return TakeScale(x, edits);
  if (opcode == Opcode::kConvert) return TakeNarrowing(x, edits);
  if (opcode == Opcode::kMaximum) return TakeRelu(x, edits);
  const bool takes_addends = edits.options.bias_mode != "no_bias";
  return opcode == Opcode::kAdd && takes_addends ? TakeAddend(x, edits) : absl::OkStatus();
}

void MoveAliasToFirst(Instruction* gemm) {
  CustomCallAttrs attrs = gemm->attrs<CustomCallAttrs>();
  for (OutputOperandAlias& alias : attrs.output_to_operand_aliasing) alias.output = {0};
  gemm->SetAttrs(std::move(attrs));
}

void MoveSharding(Instruction* from, Instruction* to) {
  if (from->sharding() == nullptr) return;
  to->set_sharding(*from->sharding());
  from->clear_sharding();
}

Shape WorkspaceOf(const Instruction& gemm, const CublasGemmRewriterOptions& options) {
  int64_t bytes = options.compute_capability >= kHopper ? kWorkspaceOfHopper : kWorkspace;
  if (!IsLtGemm(gemm)) {
    int64_t of_operands = 0;
    for (const Instruction* operand : gemm.operands()) of_operands += operand->shape().byte_size();
    bytes = std::min(bytes, of_operands);
  }
  return Shape::Array(ElementType::kS8, {bytes});
}

// gemm  =>  get-tuple-element((gemm, bytes that the library works in), 0)
void AddWorkspace(Instruction* gemm, GemmEdits& edits) {
  const Shape value = gemm->shape();
  MoveAliasToFirst(gemm);
  gemm->set_shape(Shape::Tuple({value, WorkspaceOf(*gemm, edits.options)}));
  const std::vector<Use> uses(gemm->uses().begin(), gemm->uses().end());
  Instruction* const first = edits.computation.Add(Opcode::kGetTupleElement, value, {gemm},
                                                   AttrsPtr::Make(GetTupleElementAttrs{0}));
  first->set_metadata(gemm->metadata());
  first->set_loc(gemm->loc());
  for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, first);
  if (gemm->is_root()) edits.computation.set_root(first);
  MoveSharding(gemm, first);
  SetOrigin(first, OriginOf(*gemm));
  SetOrigin(gemm, nullptr);
}

absl::StatusOr<bool> RewriteGemms(Computation& computation,
                                  const CublasGemmRewriterOptions& options, PassContext& context) {
  GemmEdits edits = {computation, options, context};
  for (Instruction* x : computation.PostOrder()) {
    if (!x->is_dead()) RETURN_IF_ERROR(Rewrite(x, edits));
  }
  for (Instruction* x : computation.instruction_vector()) {
    if (!IsGemm(*x)) continue;
    AddWorkspace(x, edits);
    edits.changed = true;
  }
  for (Instruction* gemm : edits.with_aux) {
    std::vector<Shape> values(gemm->shape().elements().begin(), gemm->shape().elements().end());
    values.push_back(WorkspaceOf(*gemm, options));
    gemm->set_shape(Shape::Tuple(values));
    MoveAliasToFirst(gemm);
  }
  return edits.changed;
}

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
                      return RewriteGemms(computation, options_, context);
                    });
}

HLO_DEFINE_PASS(CublasGemmRewriter)

}  // namespace hlo
