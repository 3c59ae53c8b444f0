#include "passes/expand/associative_scan_rewriter.h"

#include "absl/container/flat_hash_map.h"
#include "lib/ops/opcode_set.h"
#include "passes/expand/tree_scan.h"

namespace hlo {
namespace {

constexpr int64_t kOutput = 0, kCarry = 1;  // of the results of a scan and of its computation
// Of one scalar they make arrays of nothing else.
constexpr OpcodeSet kSameElements = {Opcode::kBroadcast, Opcode::kReshape, Opcode::kBitcast};

int64_t ScanLength(const Instruction& scan) {
  return scan.operand(0)->shape().dim(static_cast<int>(scan.attrs<ScanAttrs>().dimensions.value));
}

// One array and one carry of one type, of static shapes.
bool IsOfOneArray(const Instruction& scan) {
  if (scan.operand_count() != 2 || scan.attrs<ScanAttrs>().num_carries != 1) return false;
  const Shape type = scan.operand(0)->shape();
  const auto is_alike = [&](Shape shape) {
    return shape.IsArray() && shape.element_type() == type.element_type() &&
           !shape.has_dynamic_dims();
  };
  const Computation& combiner = *scan.to_apply();
  const Instruction& root = *combiner.root();
  return root.opcode() == Opcode::kTuple && root.operand_count() == 2 &&
         root.operand(0) == root.operand(1) && is_alike(type) &&
         is_alike(scan.operand(1)->shape()) && is_alike(combiner.parameter(0)->shape()) &&
         is_alike(combiner.parameter(1)->shape()) && is_alike(root.operand(0)->shape());
}

// Nobody reads what the carry is in the end.
bool IsCarryDropped(const Instruction& scan) {
  if (scan.is_root()) return false;
  for (const Instruction* user : scan.users()) {
    const bool is_read = user->is_root() || !user->uses().empty();
    const bool is_output =
        user->opcode() == Opcode::kGetTupleElement && user->tuple_index() == kOutput;
    if (is_read && !is_output) return false;
  }
  return true;
}

// The scalar, or the constant of equal elements, of which an initial value consists; null: none.
Instruction* SourceOfInit(Instruction* init) {
  const ElementType type = init->shape().element_type();
  while (kSameElements.Has(init->opcode()) && init->operand(0)->shape().element_type() == type)
    init = init->operand(0);
  if (init->shape().IsArray() && init->shape().rank() == 0) return init;
  const bool is_uniform =
      init->IsConstant() && !init->literal().is_elided() && init->literal().IsUniform();
  return is_uniform ? init : nullptr;
}

// Whether each part may begin with the initial value: it changes nothing, or nothing else does.
bool MayBeginParts(const Instruction& scan, const Instruction& init) {
  const Computation& combiner = *scan.to_apply();
  const Instruction& value = *combiner.root()->operand(0);
  if (value.operand_count() != 2) return false;
  const Instruction &a = *value.operand(0), &b = *value.operand(1);
  const Instruction &input = *combiner.parameter(0), &carry = *combiner.parameter(1);
  if (!(&a == &input && &b == &carry) && !(&a == &carry && &b == &input)) return false;
  const auto is_all = [&init](double number) {
    return init.IsConstant() && init.literal().IsAll(number);
  };
  const Opcode opcode = value.opcode();
  if (opcode == Opcode::kMinimum || opcode == Opcode::kMaximum) return true;
  if (opcode == Opcode::kMultiply) return is_all(0) || is_all(1);
  static constexpr OpcodeSet kSums = {Opcode::kAdd, Opcode::kOr, Opcode::kXor};
  return kSums.Has(opcode) && is_all(0);
}

// ---- of scalars ----

Shape ScalarOf(Shape shape) {
  if (!shape.IsTuple()) return Shape::Scalar(shape.element_type());
  std::vector<Shape> elements;
  for (const Shape element : shape.elements()) elements.push_back(ScalarOf(element));
  return Shape::Tuple(elements);
}

bool IsOfScalars(const Computation& computation) {
  for (const Instruction* instruction : computation.instructions()) {
    if (ScalarOf(instruction->shape()) != instruction->shape()) return false;
  }
  return true;
}

// Whether each element of the result is computed of the same elements, by the same operation.
bool IsSameForEach(const Instruction& x) {
  static constexpr OpcodeSet kFree = {Opcode::kParameter, Opcode::kTuple, Opcode::kGetTupleElement,
                                      Opcode::kReshape};
  if (kFree.Has(x.opcode())) return true;
  if (x.opcode() == Opcode::kConstant)
    return x.shape().IsArray() && !x.literal().is_elided() && x.literal().IsUniform();
  if (x.opcode() == Opcode::kBroadcast) return x.operand(0)->shape().rank() == 0;
  if (x.opcode() == Opcode::kBitcast)
    return x.operand(0)->shape().element_type() == x.shape().element_type();
  if (!IsElementwise(x.opcode()) || x.call_count() > 0) return false;
  for (const Instruction* operand : x.operands()) {
    const Shape shape = operand->shape();
    if (shape.rank() != 0 && shape.dims() != x.shape().dims()) return false;
  }
  return true;
}

bool MayBeOfScalars(const Computation& computation) {
  for (const Instruction* instruction : computation.instructions()) {
    if (!IsSameForEach(*instruction)) return false;
  }
  return true;
}

Computation* OfScalars(Computation& computation, Computation* before) {
  if (IsOfScalars(computation)) return &computation;
  Module& module = computation.module();
  Computation* scalar = module.AddComputation(fmt::format("{}_scalarized", computation.name()));
  module.MoveToFront(scalar, before);
  Builder builder(scalar);
  absl::flat_hash_map<const Instruction*, Instruction*> now;  // looked up only
  for (const Instruction* x : computation.PostOrder()) {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : x->operands()) operands.push_back(now.at(operand));
    if (x->opcode() == Opcode::kParameter) {
      now[x] = builder.Parameter(x->parameter_number(), ScalarOf(x->shape()), x->name());
    } else if (x->IsConstant()) {
      now[x] = builder.Constant(x->literal().ElementAt(0));
    } else if (kSameElements.Has(x->opcode())) {
      now[x] = operands[0];
    } else {
      now[x] = builder.OpWithShape(x->opcode(), ScalarOf(x->shape()), operands, x->attrs_ptr());
    }
  }
  scalar->set_root(now.at(computation.root()));
  return scalar;
}

// What is combined so far comes first in windows, in scans last.
absl::StatusOr<Computation*> CombinerOfWindow(const Instruction& scan) {
  Computation* const of_scalars = OfScalars(*scan.to_apply(), scan.parent());
  Module& module = scan.module();
  Computation* wrapper = module.AddComputation(fmt::format("{}_rw_wrapper", of_scalars->name()));
  module.MoveToFront(wrapper, scan.parent());
  Builder builder(wrapper);
  Instruction* carry = builder.Parameter(0, of_scalars->parameter(1)->shape(), "carry_0");
  Instruction* input = builder.Parameter(1, of_scalars->parameter(0)->shape(), "input_0");
  Instruction* call = builder.Call({input, carry}, of_scalars);
  wrapper->set_root(builder.GetTupleElement(call, kCarry));
  RETURN_IF_ERROR(builder.status());
  return wrapper;
}

Window WindowToBegin(int rank, size_t dimension, int64_t length) {
  Window window;
  window.dims.resize(static_cast<size_t>(rank));
  window.dims[dimension].size = length;
  window.dims[dimension].pad_low = length - 1;
  return window;
}

}  // namespace

bool AssociativeScanRewriter::IsInParts(const Instruction& scan) const {
  return options_.base_length > 0 && ScanLength(scan) > options_.base_length;
}

bool AssociativeScanRewriter::Matches(const Instruction& scan) const {
  const auto& attrs = scan.attrs<ScanAttrs>();
  if (options_.base_length == 1 || attrs.is_associative != true || attrs.is_reverse) return false;
  if (!IsOfOneArray(scan) || !IsCarryDropped(scan) || ScanLength(scan) == 0) return false;
  const Instruction* const init = SourceOfInit(scan.operand(1));
  if (init == nullptr || (IsInParts(scan) && !MayBeginParts(scan, *init))) return false;
  return MayBeOfScalars(*scan.to_apply());
}

absl::StatusOr<Instruction*> AssociativeScanRewriter::Expand(Instruction* scan,
                                                             Rewriter& rewriter) {
  Instruction* const input = scan->operand(0);
  Instruction* init = SourceOfInit(scan->operand(1));
  if (init->shape().rank() > 0) init = rewriter.Constant(init->literal().ElementAt(0));
  ASSIGN_OR_RETURN(Computation* const combiner, CombinerOfWindow(*scan));
  const auto dimension = static_cast<size_t>(scan->attrs<ScanAttrs>().dimensions.value);
  Instruction* result = nullptr;
  if (IsInParts(*scan)) {
    const TreeScan tree = {.inits = {init},
                           .combiner = combiner,
                           .base_length = options_.base_length,
                           .has_columns = false};
    result = ScanInParts({input}, static_cast<int>(dimension), tree, rewriter)[0];
  } else {
    const Window window = WindowToBegin(input->shape().rank(), dimension, ScanLength(*scan));
    result = rewriter.OpWithShape(Opcode::kReduceWindow, input->shape(), {input, init},
                                  AttrsPtr::Make(ReduceWindowAttrs{window}), {combiner});
  }
  return rewriter.Tuple({result, scan->operand(1)});
}

HLO_DEFINE_PASS(AssociativeScanRewriter)

}  // namespace hlo
