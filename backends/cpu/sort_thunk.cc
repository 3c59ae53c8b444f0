// sort with a comparator that is a plain order of one operand, and topk, by the library.
#include "backends/cpu/library/sort.h"
#include "backends/cpu/library_thunks.h"
#include "lib/ir/computation.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

class SortThunk final : public CpuThunk {
 public:
  SortThunk(std::string_view name, std::unique_ptr<SortKernel> kernel, const ThunkBuffers& buffers)
      : CpuThunk(name), kernel_(std::move(kernel)), outputs_(buffers.results) {
    for (const auto& operand : buffers.operands) inputs_.push_back(operand[0]);
  }
  std::string_view kind() const override { return "sort"; }
  BufferUses uses() const override { return {inputs_, outputs_}; }
  int64_t scratch_bytes() const override { return kernel_->scratch_bytes(); }
  absl::Status Run(CpuState& state) const override {
    absl::InlinedVector<const void*, 4> inputs;
    absl::InlinedVector<void*, 4> outputs;
    for (const BufferSlice& slice : inputs_) inputs.push_back(state.Address(slice));
    for (const BufferSlice& slice : outputs_) outputs.push_back(state.Address(slice));
    kernel_->Run(inputs, absl::MakeSpan(outputs), state.scratch, *state.pool);
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<SortKernel> kernel_;
  std::vector<BufferSlice> inputs_, outputs_;
};

class TopKThunk final : public CpuThunk {
 public:
  TopKThunk(std::string_view name, std::unique_ptr<TopKKernel> kernel, const ThunkBuffers& buffers)
      : CpuThunk(name),
        kernel_(std::move(kernel)),
        input_(buffers.operands[0][0]),
        values_(buffers.results[0]),
        indices_(buffers.results[1]) {}
  std::string_view kind() const override { return "topk"; }
  BufferUses uses() const override { return {{input_}, {values_, indices_}}; }
  int64_t scratch_bytes() const override { return kernel_->scratch_bytes(); }
  absl::Status Run(CpuState& state) const override {
    kernel_->Run(state.Address(input_), state.Address(values_),
                 static_cast<int32_t*>(state.Address(indices_)), state.scratch, *state.pool);
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<TopKKernel> kernel_;
  BufferSlice input_, values_, indices_;
};

// The order a comparator stands for, when it is `compare(p[2i], p[2i+1])` of one operand: JAX's
// form for floats compares keys that are made canonical first (-0 as 0, every NaN as one NaN) by
// TOTALORDER.
struct PlainOrder {
  int key = 0;
  bool descending = false;
  FloatOrder order = FloatOrder::kTotal;
};

// Follows select(x != x, NaN, select(x == 0, 0, x)) down to the parameter; null when it is
// something else.
const Instruction* StripCanonical(const Instruction* value, bool& canonical) {
  while (value->opcode() == Opcode::kSelect) {
    const Instruction* pred = value->operand(0);
    const Instruction* replaced = value->operand(1);
    if (pred->opcode() != Opcode::kCompare || !replaced->IsConstant() ||
        !replaced->shape().IsScalar())
      return nullptr;
    const Instruction* tested = pred->operand(0);
    bool inner = false;
    const Instruction* base = StripCanonical(value->operand(2), inner);
    bool tested_inner = false;
    if (base == nullptr || StripCanonical(tested, tested_inner) != base) return nullptr;
    const ComparisonDirection direction = pred->attrs<CompareAttrs>().direction;
    const double constant = replaced->literal().GetDouble();
    const bool nan_case =
        direction == ComparisonDirection::kNe && pred->operand(1) == tested && constant != constant;
    const bool zero_case = direction == ComparisonDirection::kEq &&
                           pred->operand(1)->IsConstant() && pred->operand(1)->literal().IsAll(0) &&
                           constant == 0;
    if (!nan_case && !zero_case) return nullptr;
    canonical = true;
    return base;
  }
  return value->opcode() == Opcode::kParameter ? value : nullptr;
}

std::optional<PlainOrder> RecogniseOrder(const Computation& comparator) {
  const Instruction* root = comparator.root();
  if (root->opcode() != Opcode::kCompare) return std::nullopt;
  const CompareAttrs& attrs = root->attrs<CompareAttrs>();
  if (attrs.direction != ComparisonDirection::kLt && attrs.direction != ComparisonDirection::kGt)
    return std::nullopt;
  bool canonical_left = false, canonical_right = false;
  const Instruction* left = StripCanonical(root->operand(0), canonical_left);
  const Instruction* right = StripCanonical(root->operand(1), canonical_right);
  if (left == nullptr || right == nullptr || canonical_left != canonical_right) return std::nullopt;
  const int64_t a = left->parameter_number();
  const int64_t b = right->parameter_number();
  PlainOrder order;
  order.descending = attrs.direction == ComparisonDirection::kGt;
  if (a % 2 == 0 && b == a + 1) {
    order.key = static_cast<int>(a / 2);
  } else if (a % 2 == 1 && b == a - 1) {
    order.key = static_cast<int>(b / 2);
    order.descending = !order.descending;
  } else {
    return std::nullopt;
  }
  const ElementType type = left->shape().element_type();
  if (IsFloat(type)) {
    // Plain float comparison leaves the place of NaN open; only total orders are recognised.
    if (attrs.type != ComparisonType::kTotalOrder) return std::nullopt;
    order.order = canonical_left ? FloatOrder::kCanonical : FloatOrder::kTotal;
  } else if (!IsInteger(type) && !IsPred(type)) {
    return std::nullopt;
  } else if (attrs.type.has_value()) {
    return std::nullopt;
  }
  return order;
}

}  // namespace

bool HasPlainOrder(const Instruction& sort) { return RecogniseOrder(*sort.to_apply()).has_value(); }

absl::StatusOr<std::unique_ptr<Thunk>> MakeSortThunk(const Instruction& sort,
                                                     const ThunkBuffers& buffers,
                                                     const LibraryOptions& options) {
  const std::optional<PlainOrder> order = RecogniseOrder(*sort.to_apply());
  if (!order.has_value()) return std::unique_ptr<Thunk>();
  const Shape shape = sort.operand(0)->shape();
  const auto d = static_cast<int>(sort.attrs<SortAttrs>().dimensions.value);
  SortSpec spec;
  for (int i = 0; i < d; ++i) spec.outer *= shape.dim(i);
  spec.size = shape.dim(d);
  for (int i = d + 1; i < shape.rank(); ++i) spec.inner *= shape.dim(i);
  for (const Instruction* operand : sort.operands())
    spec.operands.push_back(operand->shape().element_type());
  spec.key = order->key;
  spec.descending = order->descending;
  spec.order = order->order;
  spec.threads = options.threads;
  ASSIGN_OR_RETURN(std::unique_ptr<SortKernel> kernel, MakeSort(spec));
  return std::make_unique<SortThunk>(sort.name(), std::move(kernel), buffers);
}

absl::StatusOr<std::unique_ptr<Thunk>> MakeTopKThunk(const Instruction& topk,
                                                     const ThunkBuffers& buffers,
                                                     const LibraryOptions& options) {
  const Shape shape = topk.operand(0)->shape();
  const TopKAttrs& attrs = topk.attrs<TopKAttrs>();
  TopKSpec spec;
  spec.type = shape.element_type();
  spec.size = shape.dim(shape.rank() - 1);
  spec.rows = spec.size == 0 ? 0 : shape.element_count() / spec.size;
  spec.k = attrs.k;
  spec.largest = attrs.largest;
  spec.threads = options.threads;
  ASSIGN_OR_RETURN(std::unique_ptr<TopKKernel> kernel, MakeTopK(spec));
  return std::make_unique<TopKThunk>(topk.name(), std::move(kernel), buffers);
}

}  // namespace hlo::cpu
