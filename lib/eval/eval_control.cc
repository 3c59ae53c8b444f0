// Tuples, calls, loops, branches, asynchronous forms, tokens and dynamic sizes.
#include <cstring>

#include "lib/eval/communicator.h"
#include "lib/eval/eval_internal.h"
#include "lib/eval/strided.h"
#include "lib/ir/async_chain.h"

namespace hlo {
namespace {

// The value under a tuple index chain, taken out of its owner.
Literal TakeElement(Literal tuple, size_t index) {
  return std::move(tuple.mutable_elements()[index]);
}

// (operands, result, contexts): the result is there as soon as all operands are.
EvalResult AsyncValue(EvalContext& c, const Computation& callee, std::vector<Literal> bound) {
  std::vector<Literal> parts(2);
  if (static_cast<int>(bound.size()) == callee.parameter_count()) {
    ASSIGN_OR_RETURN(parts[1], c.evaluator.Evaluate(callee, absl::MakeConstSpan(bound)));
  }
  parts[0] = Literal::Tuple(std::move(bound));
  const auto shapes = c.instruction.shape().elements();
  for (size_t i = 2; i < shapes.size(); ++i) parts.emplace_back(shapes[i]);
  return Literal::Tuple(std::move(parts));
}

}  // namespace

EvalResult EvalIdentity(EvalContext& c) {
  Literal value = c.Take(0);
  const Shape shape = c.instruction.shape();
  if (value.shape().IsArray() && shape.IsArray() && value.shape().dims() == shape.dims() &&
      value.element_type() == shape.element_type() && !shape.has_dynamic_dims()) {
    return value.WithShapeLayout(shape);
  }
  return value;
}

EvalResult EvalTuple(EvalContext& c) { return Literal::Tuple(std::move(c.operands)); }

EvalResult EvalGetTupleElement(EvalContext& c) {
  const size_t index = static_cast<size_t>(c.instruction.tuple_index());
  if (index >= c.operand(0).elements().size()) {
    return Error(c.loc(), "`{}` reads element {} of `{}`", c.instruction.name(), index,
                 c.operand(0).shape());
  }
  return TakeElement(c.Take(0), index);
}

EvalResult EvalTakeElement0(EvalContext& c) { return TakeElement(c.Take(0), 0); }
EvalResult EvalTakeElement1(EvalContext& c) { return TakeElement(c.Take(0), 1); }

EvalResult EvalCall(EvalContext& c) {
  // A fusion may have operands that no parameter takes.
  const auto taken = static_cast<size_t>(c.instruction.call(0)->parameter_count());
  if (c.operands.size() > taken) c.operands.resize(taken);
  return c.evaluator.Evaluate(*c.instruction.call(0), std::move(c.operands));
}

EvalResult EvalWhile(EvalContext& c) {
  const Computation& condition = *c.instruction.while_condition();
  const Computation& body = *c.instruction.while_body();
  std::vector<Literal> state(1);
  state[0] = c.Take(0);
  for (int64_t i = 0;; ++i) {
    ASSIGN_OR_RETURN(const Literal more,
                     c.evaluator.Evaluate(condition, absl::MakeConstSpan(state)));
    if (more.GetInt() == 0) return std::move(state[0]);
    const int64_t limit = c.evaluator.options().max_loop_iterations;
    if (limit > 0 && i >= limit) {
      return MakeError(
          absl::StatusCode::kResourceExhausted, c.loc(),
          fmt::format("`{}` runs more than {} iterations", c.instruction.name(), limit));
    }
    if (Communicator* const others = c.evaluator.options().communicator; others != nullptr)
      RETURN_IF_ERROR(others->Failure());
    // An empty loop body costs something, too: endless loops meet the limit on work.
    RETURN_IF_ERROR(c.evaluator.Spend(1));
    std::vector<Literal> arguments(1);
    arguments[0] = std::move(state[0]);
    ASSIGN_OR_RETURN(state[0], c.evaluator.Evaluate(body, std::move(arguments)));
  }
}

EvalResult EvalConditional(EvalContext& c) {
  const int64_t branches = c.instruction.call_count();
  int64_t branch = 0;
  if (c.operand(0).element_type() == ElementType::kPred) {
    branch = c.operand(0).GetInt() != 0 ? 0 : 1;
  } else {
    branch = c.operand(0).GetInt();
    if (branch < 0 || branch >= branches) branch = branches - 1;
  }
  RET_CHECK(branch < branches && branch + 1 < c.operand_count(), "`{}` has no branch {}",
            c.instruction.name(), branch);
  std::vector<Literal> arguments(1);
  arguments[0] = c.Take(static_cast<int>(branch) + 1);
  return c.evaluator.Evaluate(*c.instruction.call(static_cast<int>(branch)), std::move(arguments));
}

EvalResult EvalAfterAll(EvalContext&) { return Literal::Token(); }

EvalResult EvalAsyncStart(EvalContext& c) {
  return AsyncValue(c, *c.instruction.call(0), std::move(c.operands));
}

EvalResult EvalAsyncUpdate(EvalContext& c) {
  if (c.operand_count() == 1) return c.Take(0);
  const Instruction* start = AsyncStartOf(c.instruction);
  RET_CHECK(start != nullptr, "`{}` belongs to no async-start", c.instruction.name());
  std::vector<Literal> bound = c.operand(0).element(0).elements();
  for (int i = 1; i < c.operand_count(); ++i) bound.push_back(c.operand(i));
  return AsyncValue(c, *start->call(0), std::move(bound));
}

EvalResult EvalAsyncDone(EvalContext& c) { return TakeElement(c.Take(0), 1); }

EvalResult EvalCopyStart(EvalContext& c) {
  const Shape context = c.instruction.shape().element(2);
  return Literal::Tuple({c.operand(0), c.operand(0), Literal(context)});
}

EvalResult EvalDeviceId(EvalContext& c) {
  const EvalOptions& options = c.evaluator.options();
  return Literal::Scalar<int64_t>(ElementType::kU32, c.opcode() == Opcode::kPartitionId
                                                         ? options.partition_id
                                                         : options.replica_id);
}

EvalResult EvalGetDimensionSize(EvalContext& c) {
  const auto d = static_cast<int>(c.attrs<DimensionAttrs>().dimensions.value);
  // What is declared static is as long as it says, even where what it is made of ends earlier.
  const Shape declared = c.instruction.operand(0)->shape();
  const Shape shape = declared.is_dynamic(d) ? c.operand(0).shape() : declared;
  return Literal::Scalar<int64_t>(ElementType::kS32, shape.dim(d));
}

EvalResult EvalSetDimensionSize(EvalContext& c) {
  const size_t d = static_cast<size_t>(c.attrs<DimensionAttrs>().dimensions.value);
  const int64_t bound = c.instruction.operand(0)->shape().dim(static_cast<int>(d));
  const int64_t size = ScalarIndex(c.operand(1));
  if (size < 0 || size > bound) {
    return Error(c.loc(), "`{}` sets dimension {} to {}, but it holds 0 to {} elements",
                 c.instruction.name(), d, size, bound);
  }
  DimVec dims = Dims(c.operand(0));
  dims[d] = size;
  const Shape declared = c.instruction.shape();
  if (!declared.is_dynamic(static_cast<int>(d)) && size != declared.dim(static_cast<int>(d))) {
    return Error(c.loc(), "`{}` is declared `{}`, but has shape `{}` now", c.instruction.name(),
                 declared, Shape::Array(declared.element_type(), dims));
  }
  return Resized(c.operand(0), dims);
}

EvalResult EvalDynamicReshape(EvalContext& c) {
  DimVec dims;
  for (int i = 1; i < c.operand_count(); ++i) dims.push_back(ScalarIndex(c.operand(i)));
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t bound = c.instruction.shape().dim(static_cast<int>(d));
    if (dims[d] < 0 || dims[d] > bound) {
      return Error(c.loc(), "`{}` sets dimension {} to {}, but it holds 0 to {} elements",
                   c.instruction.name(), d, dims[d], bound);
    }
  }
  // The first elements, in row-major order, make up the result.
  Literal result(c.ResultShape(dims));
  if (result.element_count() > c.operand(0).element_count()) {
    return Error(c.loc(), "`{}` makes {} elements of {}", c.instruction.name(),
                 result.element_count(), c.operand(0).element_count());
  }
  if (result.element_count() > 0)
    std::memcpy(result.mutable_data(), c.operand(0).data(),
                static_cast<size_t>(result.byte_size()));
  return result;
}

}  // namespace hlo
