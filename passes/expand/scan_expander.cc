#include "passes/expand/scan_expander.h"

#include "passes/control_flow/call_inliner.h"

namespace hlo {
namespace {

std::vector<Shape> ElementsOf(Shape shape) {
  if (!shape.IsTuple()) return {shape};
  return {shape.elements().begin(), shape.elements().end()};
}

Shape WithoutDim(Shape shape, size_t dimension) {
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims.erase(dims.begin() + static_cast<ptrdiff_t>(dimension));
  return Shape::Array(shape.element_type(), dims);
}

// The values of a scan by what they are.
struct ScanParts {
  explicit ScanParts(const Instruction& scan) {
    const auto& attrs = scan.attrs<ScanAttrs>();
    dimension = static_cast<size_t>(attrs.dimensions.value);
    is_reverse = attrs.is_reverse;
    combiner = scan.to_apply();
    const std::vector<Instruction*> operands = scan.operand_vector();
    const auto input_count = static_cast<ptrdiff_t>(operands.size()) - attrs.num_carries;
    inputs.assign(operands.begin(), operands.begin() + input_count);
    carries.assign(operands.begin() + input_count, operands.end());
    const std::vector<Shape> results = ElementsOf(scan.shape());
    outputs.assign(results.begin(), results.end() - static_cast<ptrdiff_t>(carries.size()));
    const Shape first = inputs.empty() ? outputs[0] : inputs[0]->shape();
    length = first.dim(static_cast<int>(dimension));
  }

  size_t dimension;
  bool is_reverse;
  int64_t length;
  Computation* combiner;
  std::vector<Instruction*> inputs;
  std::vector<Instruction*> carries;
  std::vector<Shape> outputs;
};

Instruction* Counter(Builder& builder, int64_t value) {
  return builder.Constant(Literal::Scalar<int64_t>(ElementType::kS64, value));
}

// Element `at` along the scanned dimension of an array of `rank` dimensions.
std::vector<Instruction*> StartsAt(Builder& builder, Instruction* at, const ScanParts& parts,
                                   int rank) {
  std::vector<Instruction*> starts(static_cast<size_t>(rank));
  Instruction* zero = rank > 1 ? Counter(builder, 0) : nullptr;
  for (size_t d = 0; d < starts.size(); ++d) starts[d] = d == parts.dimension ? at : zero;
  return starts;
}

// What the loop carries on, from `state` in its body.
absl::StatusOr<Instruction*> NextState(Builder& builder, Instruction* state,
                                       const ScanParts& parts) {
  int64_t next_element = 0;
  const auto read = [&] { return builder.GetTupleElement(state, next_element++); };
  Instruction* i = read();
  std::vector<Instruction*> carries, inputs, outputs;
  for (size_t k = 0; k < parts.carries.size(); ++k) carries.push_back(read());
  for (size_t k = 0; k < parts.inputs.size(); ++k) inputs.push_back(read());
  for (size_t k = 0; k < parts.outputs.size(); ++k) outputs.push_back(read());
  Instruction* at = i;
  if (parts.is_reverse) {
    Instruction* last = builder.Subtract(Counter(builder, parts.length), Counter(builder, 1));
    at = builder.Subtract(last, i);
  }

  std::vector<Instruction*> arguments;
  for (Instruction* input : inputs) {
    const Shape shape = input->shape();
    const std::vector<Instruction*> starts = StartsAt(builder, at, parts, shape.rank());
    std::vector<int64_t> sizes(shape.dims().begin(), shape.dims().end());
    sizes[parts.dimension] = 1;
    arguments.push_back(builder.Reshape(builder.DynamicSlice(input, starts, sizes),
                                        WithoutDim(shape, parts.dimension).dims()));
  }
  arguments.insert(arguments.end(), carries.begin(), carries.end());
  Instruction* call = builder.Call(arguments, parts.combiner);
  RETURN_IF_ERROR(builder.status());
  std::vector<Instruction*> results = {call};
  if (call->shape().IsTuple()) {
    results.clear();
    for (int k = 0; k < call->shape().element_count_of_tuple(); ++k)
      results.push_back(builder.GetTupleElement(call, k));
  }

  std::vector<Instruction*> next = {builder.Add(i, Counter(builder, 1))};
  next.insert(next.end(), results.begin() + static_cast<ptrdiff_t>(outputs.size()), results.end());
  next.insert(next.end(), inputs.begin(), inputs.end());
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Shape shape = outputs[k]->shape();
    std::vector<int64_t> sizes(shape.dims().begin(), shape.dims().end());
    sizes[parts.dimension] = 1;
    next.push_back(builder.DynamicUpdateSlice(outputs[k], builder.Reshape(results[k], sizes),
                                              StartsAt(builder, at, parts, shape.rank())));
  }
  Instruction* root = builder.Tuple(next);
  RETURN_IF_ERROR(builder.status());
  builder.computation()->set_root(root);
  InlineBody(call);
  return root;
}

Computation* LoopComputation(const Instruction& scan, std::string_view part) {
  Module& module = scan.module();
  Computation* computation = module.AddComputation(fmt::format("{}_{}", scan.name(), part));
  computation->set_execution_thread(scan.parent()->execution_thread());
  module.MoveToFront(computation, scan.parent());
  return computation;
}

absl::StatusOr<Instruction*> LoopOver(const Instruction& scan, const ScanParts& parts,
                                      Instruction* init, Rewriter& rewriter) {
  const Shape shape = init->shape();
  Computation* condition = LoopComputation(scan, "condition");
  Builder ends(condition, &scan);
  Instruction* i = ends.GetTupleElement(ends.Parameter(0, shape, "loop_state"), 0);
  condition->set_root(ends.Compare(i, Counter(ends, parts.length), ComparisonDirection::kLt));
  RETURN_IF_ERROR(ends.status());
  Computation* body = LoopComputation(scan, "body");
  Builder inside(body, &scan);
  RETURN_IF_ERROR(NextState(inside, inside.Parameter(0, shape, "loop_state"), parts).status());
  return rewriter.While(init, condition, body);
}

}  // namespace

bool ScanExpander::Matches(const Instruction& scan) const {
  if (scan.shape().has_dynamic_dims()) return false;
  const ScanParts parts(scan);
  const Computation& combiner = *parts.combiner;
  const std::vector<Shape> results = ElementsOf(combiner.root()->shape());
  const size_t input_count = parts.inputs.size();
  for (size_t k = 0; k < input_count; ++k) {
    const Shape input = parts.inputs[k]->shape();
    if (input.has_dynamic_dims() || !Compatible(WithoutDim(input, parts.dimension),
                                                combiner.parameter(static_cast<int>(k))->shape()))
      return false;
  }
  for (size_t k = 0; k < parts.carries.size(); ++k) {
    const Shape carry = parts.carries[k]->shape();
    if (!Compatible(carry, combiner.parameter(static_cast<int>(input_count + k))->shape()) ||
        !Compatible(carry, results[parts.outputs.size() + k]))
      return false;
  }
  return true;
}

absl::StatusOr<Instruction*> ScanExpander::Expand(Instruction* scan, Rewriter& rewriter) {
  const ScanParts parts(*scan);
  std::vector<Instruction*> state = {Counter(rewriter, 0)};
  state.insert(state.end(), parts.carries.begin(), parts.carries.end());
  state.insert(state.end(), parts.inputs.begin(), parts.inputs.end());
  std::vector<Instruction*> empty;
  for (const Shape output : parts.outputs) {
    empty.push_back(rewriter.Broadcast(rewriter.Constant(Literal::Zero(output.element_type())),
                                       output.dims(), {}));
  }
  state.insert(state.end(), empty.begin(), empty.end());
  std::vector<Instruction*> values = empty;
  values.insert(values.end(), parts.carries.begin(), parts.carries.end());
  if (parts.length > 0) {
    ASSIGN_OR_RETURN(Instruction * loop, LoopOver(*scan, parts, rewriter.Tuple(state), rewriter));
    values.clear();
    for (size_t k = 0; k < parts.outputs.size(); ++k) {
      values.push_back(rewriter.GetTupleElement(
          loop, static_cast<int64_t>(1 + parts.carries.size() + parts.inputs.size() + k)));
    }
    for (size_t k = 0; k < parts.carries.size(); ++k)
      values.push_back(rewriter.GetTupleElement(loop, static_cast<int64_t>(1 + k)));
  }
  RETURN_IF_ERROR(rewriter.status());
  return scan->shape().IsTuple() ? rewriter.Tuple(values) : values[0];
}

HLO_DEFINE_PASS(ScanExpander)

}  // namespace hlo
