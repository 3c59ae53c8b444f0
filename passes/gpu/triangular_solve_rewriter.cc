#include "passes/gpu/triangular_solve_rewriter.h"

#include "lib/types/shape_util.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_config.h"

namespace hlo {
namespace {

constexpr int64_t kBothAddressesBytes = 2 * 8;  // of both matrices

}  // namespace

bool TriangularSolveRewriter::Matches(const Instruction& instruction) const {
  return !instruction.shape().has_dynamic_dims();
}

absl::StatusOr<Instruction*> TriangularSolveRewriter::Expand(Instruction* solve,
                                                             Rewriter& rewriter) {
  const auto& attrs = solve->attrs<TriangularSolveAttrs>();
  const Shape shape = solve->shape();
  const int64_t batch = Product(shape.dims().subspan(0, static_cast<size_t>(shape.rank() - 2)));
  const Shape workspace =
      Shape::Array(ElementType::kS8, {batch == 1 ? 0 : kBothAddressesBytes * batch});
  CustomCallAttrs call_attrs;
  call_attrs.custom_call_target = std::string(kTriangularSolveCall);
  Instruction* const call = solve->parent()->Add(
      Opcode::kCustomCall, Shape::Tuple({shape, workspace}), solve->operand_vector(),
      AttrsPtr::Make(std::move(call_attrs)), {}, "triangular-solve");
  call->CopyExtrasFrom(*solve);
  call->clear_sharding();
  call->mutable_extras().backend_config = WholeJson(TriangularSolveConfig{
      attrs.left_side, attrs.lower, attrs.unit_diagonal, attrs.transpose_a, {}});
  return rewriter.GetTupleElement(call, 0);
}

HLO_DEFINE_PASS(TriangularSolveRewriter)

}  // namespace hlo
