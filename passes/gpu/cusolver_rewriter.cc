#include "passes/gpu/cusolver_rewriter.h"

#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_config.h"

namespace hlo {
namespace {

constexpr ElementType kTypes[] = {ElementType::kF32, ElementType::kF64, ElementType::kC64,
                                  ElementType::kC128};

Shape ColumnMajor(Shape shape) {
  DimVec order = Layout::RowMajor(shape.rank()).minor_to_major;
  std::swap(order[0], order[1]);
  return shape.WithLayout(Layout::FromMinorToMajor(order));
}

}  // namespace

bool CusolverRewriter::Matches(const Instruction& instruction) const {
  return !instruction.shape().has_dynamic_dims();
}

absl::StatusOr<Instruction*> CusolverRewriter::Expand(Instruction* cholesky, Rewriter& rewriter) {
  const Shape shape = cholesky->shape();
  const ElementType type = shape.element_type();
  if (!absl::c_linear_search(kTypes, type))
    return Error(cholesky->loc(), "Invalid type for cholesky decomposition: {}", shape);
  const int64_t n = shape.dim(shape.rank() - 1);
  int64_t matrices = 1;
  for (int d = 0; d < shape.rank() - 2; ++d) matrices *= shape.dim(d);
  const Shape factors = ColumnMajor(shape);
  const Shape workspace = Shape::Array(type, {options_.workspace > 0 ? options_.workspace : n * n});
  CustomCallAttrs attrs;
  attrs.custom_call_target = std::string(kCholeskyCall);
  attrs.operand_layout_constraints = {factors};
  Instruction* const call = rewriter.OpWithShape(
      Opcode::kCustomCall,
      Shape::Tuple({factors, workspace, Shape::Array(ElementType::kS32, {matrices})}),
      {cholesky->operand(0)}, AttrsPtr::Make(std::move(attrs)));
  call->mutable_extras().backend_config =
      WholeJson(CholeskyConfig{cholesky->attrs<CholeskyAttrs>().lower, {}});
  return rewriter.GetTupleElement(call, 0);
}

HLO_DEFINE_PASS(CusolverRewriter)

}  // namespace hlo
