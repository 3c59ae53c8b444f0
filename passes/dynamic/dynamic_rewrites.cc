#include "passes/dynamic/dynamic_rewrites.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "passes/dynamic/dynamic_calls.h"
#include "passes/dynamic/size_math.h"
#include "passes/rewrite.h"

namespace hlo {

void ReplaceWithSizes(Instruction* old, Instruction* by, DynamicSizes& sizes) {
  sizes.Forward(old, by);
  ReplaceKeepingExtras(old, by, old->id());
}

namespace {

// Parts of a concatenation lie where those before them end:
//
//   c = f32[<=9] concatenate(f32[<=4] x, f32[<=5] y)     =>     c = dynamic-update-slice(pad(x), y, size of x)
absl::Status RewriteDynamicConcatenate(Instruction* concatenate, DynamicSizes& sizes) {
  const int64_t along = concatenate->attrs<ConcatenateAttrs>().dimensions.value;
  if (sizes.Get(concatenate, along) == nullptr) return absl::OkStatus();
  Builder b = BuilderFor(*concatenate);
  const Shape shape = concatenate->shape().WithoutDynamic();
  const auto bound = [&](const Instruction* x) { return x->shape().dim(static_cast<int>(along)); };
  Instruction* first = concatenate->operand(0);
  PaddingConfig padding;
  padding.dims.resize(static_cast<size_t>(shape.rank()));
  padding.dims[static_cast<size_t>(along)].high = shape.dim(static_cast<int>(along)) - bound(first);
  Instruction* zero = b.Constant(Literal::Zero(shape.element_type()));
  Instruction* result =
      b.OpWithShape(Opcode::kPad, shape, {first, zero}, AttrsPtr::Make(PadAttrs{padding}));
  std::vector<Instruction*> starts;
  for (int dim = 0; dim < shape.rank(); ++dim) starts.push_back(SizeConstant(b, 0));
  Instruction*& start = starts[static_cast<size_t>(along)];
  for (int i = 1; i < concatenate->operand_count(); ++i) {
    Instruction* before = concatenate->operand(i - 1);
    Instruction* size = sizes.Get(before, along);
    start = b.Add(start, size != nullptr ? size : SizeConstant(b, bound(before)));
    result = b.DynamicUpdateSlice(result, concatenate->operand(i), starts);
  }
  RETURN_IF_ERROR(b.status());
  ReplaceWithSizes(concatenate, result, sizes);
  return absl::OkStatus();
}

// The elements that are there come last in the reversed array and are moved to the front:
//
//   r = f32[<=6] reverse(x)     =>     r = dynamic-slice(pad(reverse(x), zero, 0_6), 6 - size of x)
absl::Status RewriteDynamicReverse(Instruction* reverse, DynamicSizes& sizes) {
  const DimVec& dims = reverse->attrs<ReverseAttrs>().dimensions;
  const Shape shape = reverse->shape().WithoutDynamic();
  if (absl::c_none_of(dims, [&](int64_t dim) { return sizes.Get(reverse, dim) != nullptr; }))
    return absl::OkStatus();
  Builder b = BuilderFor(*reverse);
  Instruction* whole = b.OpWithShape(Opcode::kReverse, shape, {reverse->operand(0)},
                                     AttrsPtr::Make(ReverseAttrs{dims}));
  PaddingConfig padding;
  padding.dims.resize(static_cast<size_t>(shape.rank()));
  std::vector<Instruction*> starts(static_cast<size_t>(shape.rank()), nullptr);
  for (int dim = 0; dim < shape.rank(); ++dim) {
    Instruction* size = sizes.Get(reverse, dim);
    const bool moves = size != nullptr && absl::c_linear_search(dims, dim);
    if (moves) padding.dims[static_cast<size_t>(dim)].high = shape.dim(dim);
    starts[static_cast<size_t>(dim)] =
        moves ? b.Subtract(SizeConstant(b, shape.dim(dim)), size) : SizeConstant(b, 0);
  }
  Instruction* zero = b.Constant(Literal::Zero(shape.element_type()));
  Instruction* result =
      b.DynamicSlice(b.Pad(whole, zero, std::move(padding)), starts, shape.dims());
  RETURN_IF_ERROR(b.status());
  ReplaceWithSizes(reverse, result, sizes);
  return absl::OkStatus();
}

// The comparator of a sort that also knows which elements are there: those come first.
//
//   inside_lhs and (compare(…) or not inside_rhs)
absl::Status PutInsideFirst(Instruction* sort) {
  Computation* comparator = sort->to_apply();
  if (comparator->callers().size() > 1) {
    comparator = sort->module().CloneComputation(*comparator, ".clone", /*deep=*/false);
    sort->module().MoveToFront(comparator, sort->parent());
    sort->SetCall(0, comparator);
  }
  Builder b(comparator);
  Instruction* old_root = comparator->root();
  const int64_t count = comparator->parameter_count();
  const Shape pred = Shape::Scalar(ElementType::kPred);
  Instruction* lhs = comparator->AddParameter(count, pred, "inbound_lhs");
  Instruction* rhs = comparator->AddParameter(count + 1, pred, "inbound_rhs");
  comparator->set_root(b.And(lhs, b.Or(old_root, b.Not(rhs))));
  return b.status();
}

absl::Status RewriteDynamicSort(Instruction* sort, DynamicSizes& sizes) {
  const int64_t along = sort->attrs<SortAttrs>().dimensions.value;
  Instruction* size = nullptr;
  for (const Instruction* operand : sort->operands()) {
    if (size == nullptr) size = sizes.Get(operand, along);
  }
  if (size == nullptr) return absl::OkStatus();
  Builder b = BuilderFor(*sort);
  const Shape keys = sort->operand(0)->shape();
  const bool was_tuple = sort->shape().IsTuple();
  RETURN_IF_ERROR(PutInsideFirst(sort));
  sort->AppendOperand(InsideMask(b, keys.dims(), along, size));
  Instruction* old_form = GrowTuple(sort, {keys.WithElementType(ElementType::kPred)});
  if (old_form == nullptr) return b.status();
  if (was_tuple) {
    sizes.Forward(sort, old_form);
  } else {
    for (const DynamicSize& known :
         std::vector<DynamicSize>(sizes.Of(sort).begin(), sizes.Of(sort).end()))
      sizes.Set(old_form, 0, known.dim, known.size);
  }
  return b.status();
}

// An operand that has one element where the other has several is repeated:
//
//   add(x, y)  =>  add(select(n == 1 and n < k, broadcast(first of x), x), y), and the same for y
Instruction* RepeatedIfOne(Builder& b, Instruction* x, int64_t dim, Instruction* size,
                           Instruction* other, Instruction* one) {
  const Shape shape = x->shape().WithoutDynamic();
  Instruction* is_one = b.Compare(size, one, ComparisonDirection::kEq);
  Instruction* is_less = b.Compare(size, other, ComparisonDirection::kLt);
  Instruction* repeats = b.Broadcast(b.And(is_one, is_less), shape.dims(), {});
  DimVec starts(static_cast<size_t>(shape.rank()), 0), kept, kept_sizes;
  DimVec limits(shape.dims().begin(), shape.dims().end());
  limits[static_cast<size_t>(dim)] = 1;
  for (int d = 0; d < shape.rank(); ++d) {
    if (d == dim) continue;
    kept.push_back(d);
    kept_sizes.push_back(shape.dim(d));
  }
  Instruction* first = b.Reshape(b.Slice(x, starts, limits), kept_sizes);
  Instruction* repeated = b.Broadcast(first, shape.dims(), kept);
  return b.OpWithShape(Opcode::kSelect, shape, {repeats, repeated, x});
}

absl::Status RewriteDynamicBinary(Instruction* binary, DynamicSizes& sizes) {
  Builder b = BuilderFor(*binary);
  Instruction *lhs = binary->operand(0), *rhs = binary->operand(1);
  if (!SameDimensions(lhs->shape(), rhs->shape())) return absl::OkStatus();
  const Instruction *old_lhs = lhs, *old_rhs = rhs;
  for (int dim = 0; dim < lhs->shape().rank(); ++dim) {
    Instruction* lhs_size = sizes.Get(old_lhs, dim);
    Instruction* rhs_size = sizes.Get(old_rhs, dim);
    if (lhs_size == nullptr || rhs_size == nullptr || lhs_size == rhs_size) continue;
    Instruction* one = SizeConstant(b, 1);
    lhs = RepeatedIfOne(b, lhs, dim, lhs_size, rhs_size, one);
    rhs = RepeatedIfOne(b, rhs, dim, rhs_size, lhs_size, one);
  }
  RETURN_IF_ERROR(b.status());
  if (lhs != old_lhs) {
    sizes.Forward(old_lhs, lhs);
    binary->ReplaceOperand(0, lhs);
  }
  if (rhs != old_rhs) {
    sizes.Forward(old_rhs, rhs);
    binary->ReplaceOperand(1, rhs);
  }
  return absl::OkStatus();
}

// What is after the end of an update that is smaller than the array must not be written:
//
//   dynamic-update-slice(x, u, i)  =>  dynamic-update-slice(x, select(inside u, u, dynamic-slice(x, i)), i)
absl::Status RewriteDynamicUpdate(Instruction* update, DynamicSizes& sizes) {
  Instruction *array = update->operand(0), *part = update->operand(1);
  const Shape shape = part->shape().WithoutDynamic();
  std::vector<std::pair<int64_t, Instruction*>> ends;
  for (int dim = 0; dim < shape.rank(); ++dim) {
    Instruction* size = sizes.Get(part, dim);
    if (size != nullptr && shape.dim(dim) < array->shape().dim(dim)) ends.emplace_back(dim, size);
  }
  if (ends.empty()) return absl::OkStatus();
  Builder b = BuilderFor(*update);
  std::vector<Instruction*> operands = update->operand_vector();
  operands.erase(operands.begin() + 1);
  Instruction* old = b.OpWithShape(
      Opcode::kDynamicSlice, shape, operands,
      AttrsPtr::Make(DynamicSliceAttrs{DimVec(shape.dims().begin(), shape.dims().end())}));
  Instruction* masked = part;
  for (const auto& [dim, size] : ends) {
    Instruction* inside = InsideMask(b, shape.dims(), dim, size);
    masked = b.OpWithShape(Opcode::kSelect, shape, {inside, masked, old});
  }
  RETURN_IF_ERROR(b.status());
  sizes.Forward(part, masked);
  update->ReplaceOperand(1, masked);
  return absl::OkStatus();
}

absl::Status ExpandDynamicCall(Instruction* call, DynamicSizes& sizes) {
  const std::string_view target = call->attrs<CustomCallAttrs>().custom_call_target;
  ASSIGN_OR_RETURN(Instruction* const result, DynamicCallRulesFor(target)->expand(call, sizes));
  ReplaceWithSizes(call, result, sizes);
  return absl::OkStatus();
}

struct RewriteOfOpcode {
  Opcode opcode;
  DynamicRewrite rewrite;
};
constexpr RewriteOfOpcode kDynamicRewrites[] = {
    {Opcode::kConcatenate, RewriteDynamicConcatenate},
    {Opcode::kDynamicReshape, RewriteDynamicReshape},
    {Opcode::kDynamicUpdateSlice, RewriteDynamicUpdate},
    {Opcode::kReshape, RewriteDynamicReshape},
    {Opcode::kReverse, RewriteDynamicReverse},
    {Opcode::kSort, RewriteDynamicSort},
};

}  // namespace

DynamicRewrite DynamicRewriteFor(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  for (const RewriteOfOpcode& row : kDynamicRewrites) {
    if (row.opcode == opcode) return row.rewrite;
  }
  if (opcode == Opcode::kCustomCall) {
    const std::string_view target = instruction.attrs<CustomCallAttrs>().custom_call_target;
    return DynamicCallRulesFor(target) == nullptr ? nullptr : ExpandDynamicCall;
  }
  const bool is_binary = IsElementwise(opcode) && instruction.operand_count() == 2;
  return is_binary ? RewriteDynamicBinary : nullptr;
}

}  // namespace hlo
