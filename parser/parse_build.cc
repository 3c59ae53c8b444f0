// From a draft to an instruction: the result shape, the common attributes. What single opcodes ask
// for is in check_draft.cc.
#include <algorithm>

#include "lib/ops/opcode_groups.h"
#include "lib/ops/shape_rules.h"
#include "lib/types/shape_limits.h"
#include "lib/types/shape_util.h"
#include "parser/parser_internal.h"

namespace hlo {
// Shapes made of the operands' shapes double from line to line if they want to; what is written
// cannot.
bool Parser::CheckInferredSize(const Draft& draft) {
  const uint64_t limit = (uint64_t{16} << 20) + 64 * uint64_t{text_.size()};
  bool tuples = draft.opcode == Opcode::kTuple;
  uint64_t bytes = 0;
  for (const Instruction* operand : draft.operands) {
    tuples = tuples || operand->shape().IsTuple();
    bytes += operand->shape().Text().size();
    if (NestingDepth(operand->shape()) >= options_.max_recursion_depth) {
      return Fail(draft.opcode_loc, "the shape of `{}` nests deeper than {} levels",
                  Text(draft.opcode), options_.max_recursion_depth);
    }
  }
  if (!tuples) return true;
  inferred_bytes_ += bytes;
  if (inferred_bytes_ <= limit) return true;
  return Fail(draft.opcode_loc, "the inferred tuple shapes of this text are longer than {} bytes",
              limit);
}

bool Parser::ResultShape(Draft& draft, Shape& out) {
  const bool ignores = HasTrait(draft.opcode, kIgnoresShape);
  if (!draft.shape.has_value() && HasTrait(draft.opcode, kExplicitShape)) {
    return Fail(draft.opcode_loc, "`{}` needs its shape written", Text(draft.opcode));
  }
  if (draft.shape.has_value() && !ignores) {
    out = *draft.shape;
    return true;
  }
  if (draft.opcode == Opcode::kOutfeed || draft.opcode == Opcode::kSendDone ||
      draft.opcode == Opcode::kAfterAll) {
    out = Shape::Token();
    return true;
  }
  if (draft.opcode == Opcode::kAddDependency) {
    out = draft.operands[0]->shape();
    return true;
  }
  if (!CheckInferredSize(draft)) return false;
  absl::InlinedVector<Shape, 6> operands;
  for (const Instruction* operand : draft.operands) operands.push_back(operand->shape());
  std::vector<Signature> signatures;
  for (const Computation* callee : draft.common.calls) {
    if (callee != nullptr) signatures.push_back(callee->signature());
  }
  AttrsPtr attrs = draft.attrs;
  // The direction is nothing to the shape; whether the operands have an order is the verifier's
  // question.
  if (draft.opcode == Opcode::kCompare) attrs = AttrsPtr::Make(CompareAttrs());
  if (draft.opcode == Opcode::kTriangularSolve &&
      attrs.Get<TriangularSolveAttrs>().transpose_a == TransposeKind::kInvalid) {
    return Fail(draft.opcode_loc,
                "`triangular-solve` without a shape needs the attribute `transpose_a`");
  }
  absl::StatusOr<Shape> inferred = InferShape(ShapeArgs(draft.opcode, operands, attrs, signatures));
  if (!inferred.ok()) return FailWith(inferred.status(), draft.opcode_loc);
  out = *inferred;
  return true;
}

bool Parser::Build(Scope& scope, Draft& draft, Instruction*& out) {
  if (draft.IsSugared() || kAsyncOps.Has(draft.opcode)) {
    return BuildAsync(scope, draft, out);
  }
  if (draft.opcode == Opcode::kDot && draft.operands.size() > 2) {
    Warn(draft.opcode_loc, "a dot has two operands; the others are dropped");
    draft.operands.resize(2);
  }
  Shape shape;
  if (!CheckOperandCount(*this, draft))
    return Note(draft.nameless_shape, "this shape is no operand: a name is missing after it");
  if (!CheckDraft(*this, *scope.computation, draft) || !ResultShape(draft, shape)) return false;
  const std::string_view name = draft.anonymous ? AnonymousName(Text(draft.opcode)) : draft.name;
  out = scope.computation->AddVerbatim(draft.opcode, shape, draft.operands, std::move(draft.attrs),
                                       draft.common.calls, name);
  out->set_loc(draft.loc);
  scope.last = out;
  ApplyExtras(out, draft.common);
  if (draft.anonymous) scope.names.try_emplace(name, Binding{out, draft.loc});
  return true;
}

void Parser::ApplyExtras(Instruction* instruction, CommonAttrs& common) {
  if (common.extras != nullptr) {
    Extras& extras = *common.extras;
    has_frame_ids_ = has_frame_ids_ || extras.metadata.stack_frame_id != 0;
    if (extras.sharding && instruction->shape().IsTuple() && !extras.sharding->is_tuple) {
      // One copy per leaf; the empty tuple has one, too.
      Sharding& sharding = *extras.sharding;
      const auto leaves =
          static_cast<size_t>(std::max<int64_t>(LeafCount(instruction->shape()), 1));
      sharding.leaves.assign(leaves, Sharding::Leaf(sharding.leaves[0]));
      sharding.is_tuple = true;
    }
    instruction->set_extras(std::move(common.extras));
  }
  for (Instruction* predecessor : common.control_predecessors)
    instruction->AddControlPredecessor(predecessor);
}

}  // namespace hlo
