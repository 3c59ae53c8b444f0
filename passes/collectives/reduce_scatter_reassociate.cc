#include "passes/collectives/reduce_scatter_reassociate.h"

#include "lib/analysis/region.h"
#include "passes/util/channels.h"
#include "passes/util/constrained_layout.h"
#include "passes/util/scheduling_annotation.h"

namespace hlo {
namespace {

bool ReadOnceOnly(const Instruction& scatter) {
  return scatter.opcode() == Opcode::kReduceScatter && scatter.shape().IsArray() &&
         scatter.has_one_user() && !scatter.is_root() && !scatter.has_control_edges();
}

bool ScatterAlike(const Instruction& a, const Instruction& b) {
  ReduceScatterAttrs mine = a.attrs<ReduceScatterAttrs>();
  const auto& other = b.attrs<ReduceScatterAttrs>();
  if (mine.channel_id.has_value() != other.channel_id.has_value()) return false;
  mine.channel_id = other.channel_id;
  return AttrsPtr::Make(std::move(mine)) == b.attrs_ptr() &&
         Compatible(a.operand(0)->shape(), b.operand(0)->shape());
}

// Whether the program wants both in one scheduling group; one without is in any.
bool MayBeScheduledTogether(const Instruction& a, const Instruction& b) {
  const auto first = SchedulingAnnotationOf(a), second = SchedulingAnnotationOf(b);
  if (!first.ok() || !second.ok()) return false;
  return !*first || !*second || **first == **second;
}

// op(reduce-scatter(x), reduce-scatter(y))  =>  reduce-scatter(op(x, y))
Instruction* CombineFirst(Instruction* op, Rewriter& rewriter) {
  Instruction *a = op->operand(0), *b = op->operand(1);
  if (!ReadOnceOnly(*a) || !ReadOnceOnly(*b)) return nullptr;
  if (!ScatterAlike(*a, *b)) {
    rewriter.context().Missed(*op, "its operands are scattered in different ways");
    return nullptr;
  }
  // For XLA all-reduces combine no bits of integers.
  if ((op->opcode() == Opcode::kAnd || op->opcode() == Opcode::kOr) &&
      !IsPred(op->shape().element_type()))
    return nullptr;
  if (CombinerOpcode(*a->to_apply()) != op->opcode() ||
      CombinerOpcode(*b->to_apply()) != op->opcode()) {
    rewriter.context().Missed(*op, "its operands are reduced by another operation");
    return nullptr;
  }
  if (!MayBeScheduledTogether(*a, *b)) {
    rewriter.context().Missed(*op, "its operands are in different scheduling groups");
    return nullptr;
  }
  Instruction* combined = rewriter.Op(op->opcode(), {a->operand(0), b->operand(0)});
  rewriter.set_origin(a);
  Instruction* const scatter = rewriter.OpWithShape(Opcode::kReduceScatter, op->shape(), {combined},
                                                    a->attrs_ptr(), {a->to_apply()});
  PassOnWork(*a, scatter);
  if (HasSchedulingAnnotation(*a) != HasSchedulingAnnotation(*b))
    RemoveSchedulingAnnotation(scatter);
  ReplaceChannelId(scatter, NextChannelId(rewriter.module()));
  return scatter;
}

constexpr Rule kReassociateRules[] = {
    {"combine-sums", Opcode::kAdd, kReassociate, CombineFirst},
    {"combine-products", Opcode::kMultiply, kReassociate, CombineFirst},
    {"combine-maxima", Opcode::kMaximum, kExact, CombineFirst},
    {"combine-minima", Opcode::kMinimum, kExact, CombineFirst},
    {"combine-conjunctions", Opcode::kAnd, kExact, CombineFirst},
    {"combine-disjunctions", Opcode::kOr, kExact, CombineFirst},
};

}  // namespace

ReduceScatterReassociate::ReduceScatterReassociate()
    : CollectiveRewritePass(this, kReassociateRules) {}

absl::StatusOr<bool> ReduceScatterReassociate::Run(Module& module, PassContext& context) {
  if (AnyConstrainsLayout(module, Opcode::kReduceScatter)) return false;
  return CollectiveRewritePass::Run(module, context);
}

HLO_DEFINE_PASS(ReduceScatterReassociate)

}  // namespace hlo
