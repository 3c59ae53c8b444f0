#include "passes/util/counted_loop.h"

namespace hlo {

absl::StatusOr<std::vector<Instruction*>> MakeCountedLoop(Builder& builder, int32_t count,
                                                          const std::vector<Instruction*>& init,
                                                          const CountedLoopBody& body,
                                                          std::string_view name,
                                                          const Instruction* origin) {
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
    Builder b(inside);
    b.set_origin(origin);
    Instruction* state = b.Parameter(0, shape, "state");
    Instruction* i = b.GetTupleElement(state, 0);
    std::vector<Instruction*> elements;
    for (size_t k = 0; k < init.size(); ++k)
      elements.push_back(b.GetTupleElement(state, static_cast<int64_t>(k) + 1));
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
    Builder b(condition);
    b.set_origin(origin);
    Instruction* i = b.GetTupleElement(b.Parameter(0, shape, "state"), 0);
    Instruction* bound = b.Constant(Literal::Scalar<int64_t>(ElementType::kS32, count));
    condition->set_root(b.Compare(i, bound, ComparisonDirection::kLt));
    RETURN_IF_ERROR(b.status());
  }
  module.MoveToFront(inside, &computation);
  module.MoveToFront(condition, &computation);
  Instruction* loop = builder.While(start, condition, inside);
  std::vector<Instruction*> results;
  for (size_t k = 0; k < init.size(); ++k)
    results.push_back(builder.GetTupleElement(loop, static_cast<int64_t>(k) + 1));
  RETURN_IF_ERROR(builder.status());
  return results;
}

}  // namespace hlo
