#include "passes/expand/select_and_scatter_expander.h"

#include <limits>

namespace hlo {
namespace {

// (value, place) of the window so far and of the next element -> what is selected. A negative place
// stands for the initial value, which never wins over an element.
Computation* PickComputation(Module& module, Computation* select, ElementType value,
                             ElementType place) {
  Computation* pick = module.AddComputation("pick");
  Builder b(pick);
  Instruction* value_a = b.Parameter(0, Shape::Scalar(value), "value_a");
  Instruction* place_a = b.Parameter(1, Shape::Scalar(place), "place_a");
  Instruction* value_b = b.Parameter(2, Shape::Scalar(value), "value_b");
  Instruction* place_b = b.Parameter(3, Shape::Scalar(place), "place_b");
  Instruction* zero = b.ScalarConstant(place, 0);
  Instruction* is_element_a = b.Compare(place_a, zero, ComparisonDirection::kGe);
  Instruction* is_initial_b = b.Compare(place_b, zero, ComparisonDirection::kLt);
  Instruction* selected = b.Call({value_a, value_b}, select);
  Instruction* keep = b.And(is_element_a, b.Or(is_initial_b, selected));
  pick->set_root(b.Tuple({b.Select(keep, value_a, value_b), b.Select(keep, place_a, place_b)}));
  return pick;
}

}  // namespace

bool SelectAndScatterExpander::Matches(const Instruction& instruction) const {
  return instruction.shape().rank() > 0 && !instruction.operand(0)->shape().has_dynamic_dims() &&
         !instruction.operand(1)->shape().has_dynamic_dims();
}

absl::StatusOr<Instruction*> SelectAndScatterExpander::Expand(Instruction* instruction,
                                                              Rewriter& rewriter) {
  Instruction* operand = instruction->operand(0);
  Instruction* source = instruction->operand(1);
  Instruction* init = instruction->operand(2);
  const Shape shape = operand->shape();
  const int64_t elements = shape.element_count();
  const int64_t windows = source->shape().element_count();
  const ElementType place =
      elements <= std::numeric_limits<int32_t>::max() ? ElementType::kS32 : ElementType::kS64;

  Instruction* places = rewriter.Reshape(
      rewriter.Iota(Shape::Array(place, std::vector<int64_t>{elements}), 0), shape.dims());
  Computation* pick =
      PickComputation(rewriter.module(), instruction->call(0), shape.element_type(), place);
  Instruction* picked = rewriter.Op(
      Opcode::kReduceWindow, {operand, places, init, rewriter.ScalarConstant(place, -1)},
      AttrsPtr::Make(ReduceWindowAttrs{instruction->attrs<SelectAndScatterAttrs>().window}),
      {pick});

  ScatterAttrs attrs;
  attrs.inserted_window_dims = {0};
  attrs.scatter_dims_to_operand_dims = {0};
  attrs.index_vector_dim = 1;
  Instruction* scattered =
      rewriter.Op(Opcode::kScatter,
                  {rewriter.Broadcast(init, {elements}, {}),
                   rewriter.Reshape(rewriter.GetTupleElement(picked, 1), {windows, 1}),
                   rewriter.Reshape(source, {windows})},
                  AttrsPtr::Make(std::move(attrs)), {instruction->call(1)});
  return rewriter.Reshape(scattered, shape.dims());
}

HLO_DEFINE_PASS(SelectAndScatterExpander)

}  // namespace hlo
