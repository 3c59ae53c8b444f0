#include "passes/util/counted_loop.h"

namespace hlo {
namespace {

// What follows the counter.
std::vector<Instruction*> ElementsOf(Builder& b, Instruction* state, size_t count) {
  std::vector<Instruction*> elements;
  for (size_t k = 0; k < count; ++k)
    elements.push_back(b.GetTupleElement(state, static_cast<int64_t>(k) + 1));
  return elements;
}

}  // namespace

absl::StatusOr<std::vector<Instruction*>> MakeCountedLoop(Builder& builder, int32_t count,
                                                          const std::vector<Instruction*>& init,
                                                          const CountedLoopBody& body,
                                                          std::string_view name,
                                                          const Instruction* origin,
                                                          const LoopGoesOn& goes_on) {
  Computation& computation = *builder.computation();
  Module& module = computation.module();
  std::vector<Instruction*> first = {
      builder.Constant(Literal::Scalar<int64_t>(ElementType::kS32, 0))};
  first.insert(first.end(), init.begin(), init.end());
  Instruction* start = builder.Tuple(first);
  const Shape shape = start->shape();

  Computation* inside = module.AddComputation(fmt::format("{}.body", name));
  inside->set_execution_thread(computation.execution_thread());
  {
    Builder b(inside, origin);
    Instruction* state = b.Parameter(0, shape, "state");
    Instruction* i = b.GetTupleElement(state, 0);
    const std::vector<Instruction*> elements = ElementsOf(b, state, init.size());
    Instruction* one = b.Constant(Literal::Scalar<int64_t>(ElementType::kS32, 1));
    std::vector<Instruction*> next = {b.Add(i, one)};
    const std::vector<Instruction*> results = body(b, i, elements);
    next.insert(next.end(), results.begin(), results.end());
    inside->set_root(b.Tuple(next));
    RETURN_IF_ERROR(b.status());
  }
  Computation* condition = module.AddComputation(fmt::format("{}.condition", name));
  condition->set_execution_thread(computation.execution_thread());
  {
    Builder b(condition, origin);
    Instruction* state = b.Parameter(0, shape, "state");
    Instruction* i = b.GetTupleElement(state, 0);
    Instruction* bound = b.Constant(Literal::Scalar<int64_t>(ElementType::kS32, count));
    Instruction* more = b.Compare(i, bound, ComparisonDirection::kLt);
    if (goes_on) more = b.And(more, goes_on(b, ElementsOf(b, state, init.size())));
    condition->set_root(more);
    RETURN_IF_ERROR(b.status());
  }
  module.MoveToFront(inside, &computation);
  module.MoveToFront(condition, &computation);
  Instruction* loop = builder.While(start, condition, inside);
  std::vector<Instruction*> results = ElementsOf(builder, loop, init.size());
  RETURN_IF_ERROR(builder.status());
  return results;
}

}  // namespace hlo
