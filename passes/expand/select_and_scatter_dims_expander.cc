#include "passes/expand/select_and_scatter_dims_expander.h"

#include <numeric>

#include "passes/control_flow/call_inliner.h"

namespace hlo {
namespace {

constexpr ElementType kPosition = ElementType::kS32;

// (value, positions) of the window so far and of the next element -> what is
// selected. A first position of -1 stands for the initial value, which never
// wins over an element.
Computation* PickComputation(Module& module, Computation* select, ElementType type, int64_t rank) {
  Computation* pick = module.AddComputation(fmt::format("{}.reduce_window", select->name()));
  Builder b(pick);
  std::vector<Instruction*> so_far, next;
  for (std::vector<Instruction*>* side : {&so_far, &next}) {
    for (int64_t i = 0; i <= rank; ++i) {
      const Shape shape = Shape::Scalar(i == 0 ? type : kPosition);
      side->push_back(b.Parameter(
          pick->parameter_count(), shape,
          fmt::format("{}_{}", i == 0 ? "operand" : "iota", side == &so_far ? "lhs" : "rhs")));
    }
  }
  Instruction* none = b.ScalarConstant(kPosition, -1);
  Instruction* is_element = b.Compare(so_far[1], none, ComparisonDirection::kNe);
  Instruction* next_is_element = b.Compare(next[1], none, ComparisonDirection::kNe);
  Instruction* next_is_initial = b.Not(next_is_element);
  Instruction* selected = b.Call({so_far[0], next[0]}, select);
  Instruction* keep = b.Or(b.And(selected, is_element), next_is_initial);
  std::vector<Instruction*> picked;
  for (size_t i = 0; i < so_far.size(); ++i) picked.push_back(b.Select(keep, so_far[i], next[i]));
  pick->set_root(b.Tuple(picked));
  InlineBody(selected);
  return pick;
}

}  // namespace

bool SelectAndScatterDimsExpander::Matches(const Instruction& instruction) const {
  return instruction.shape().rank() > 0 && !instruction.operand(0)->shape().has_dynamic_dims() &&
         !instruction.operand(1)->shape().has_dynamic_dims();
}

absl::StatusOr<Instruction*> SelectAndScatterDimsExpander::Expand(Instruction* instruction,
                                                                  Rewriter& rewriter) {
  Instruction* operand = instruction->operand(0);
  Instruction* source = instruction->operand(1);
  Instruction* init = instruction->operand(2);
  const Shape shape = operand->shape();
  const int64_t rank = shape.rank();

  std::vector<Instruction*> arguments = {operand};
  for (int64_t d = 0; d < rank; ++d)
    arguments.push_back(rewriter.Iota(Shape::Array(kPosition, shape.dims()), d));
  arguments.push_back(init);
  arguments.insert(arguments.end(), static_cast<size_t>(rank),
                   rewriter.ScalarConstant(kPosition, -1));
  Computation* pick =
      PickComputation(rewriter.module(), instruction->call(0), shape.element_type(), rank);
  Instruction* picked = rewriter.Op(
      Opcode::kReduceWindow, arguments,
      AttrsPtr::Make(ReduceWindowAttrs{instruction->attrs<SelectAndScatterAttrs>().window}),
      {pick});

  std::vector<int64_t> column(source->shape().dims().begin(), source->shape().dims().end());
  column.push_back(1);
  std::vector<Instruction*> positions;
  for (int64_t d = 0; d < rank; ++d)
    positions.push_back(rewriter.Reshape(rewriter.GetTupleElement(picked, d + 1), column));

  ScatterAttrs attrs;
  attrs.inserted_window_dims.resize(static_cast<size_t>(rank));
  absl::c_iota(attrs.inserted_window_dims, 0);
  attrs.scatter_dims_to_operand_dims = attrs.inserted_window_dims;
  attrs.index_vector_dim = source->shape().rank();
  return rewriter.Op(
      Opcode::kScatter,
      {rewriter.Broadcast(init, shape.dims(), {}), rewriter.Concatenate(positions, rank), source},
      AttrsPtr::Make(std::move(attrs)), {instruction->call(1)});
}

HLO_DEFINE_PASS(SelectAndScatterDimsExpander)

}  // namespace hlo
