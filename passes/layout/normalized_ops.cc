#include "passes/layout/normalized_ops.h"

#include <array>
#include <numeric>

#include "absl/algorithm/container.h"
#include "lib/support/contains.h"
#include "lib/types/memory_order.h"
#include "lib/types/shape_util.h"

namespace hlo {

bool IsInMemoryOrder(Shape array) { return absl::c_is_sorted(MajorToMinor(array)); }

Instruction* NormalForms::Of(Instruction* value) {
  const Shape normal = InMemoryOrder(value->shape());
  if (value->shape().WithMissingLayoutsFilled() == normal) return value;
  if (value->opcode() == Opcode::kBitcast && value->operand(0)->shape() == normal)
    return value->operand(0);
  Instruction*& made = made_[value];
  if (made != nullptr) return made;
  Builder b(computation_, value);
  return made = b.Bitcast(value, normal);
}

Instruction* NormalForms::Clone(const Instruction& old, absl::Span<Instruction* const> operands,
                                AttrsPtr attrs) {
  Shape shape = old.shape();
  if (shape.IsArray()) shape = InMemoryOrder(shape);
  for (int i = 0; shape.IsTuple() && i < shape.element_count_of_tuple(); ++i)
    shape = shape.WithElement(i, InMemoryOrder(shape.element(i)));
  Instruction* const clone = computation_->AddClone(old, shape, operands);
  clone->SetAttrsPtr(std::move(attrs));
  if (clone->extras() != nullptr) {
    clone->clear_sharding();
    clone->mutable_extras().origin.reset();
  }
  return clone;
}

std::vector<Instruction*> NormalForms::Operands(const Instruction& old) {
  std::vector<Instruction*> operands;
  for (Instruction* const operand : old.operands())
    operands.push_back(operand->shape().IsArray() ? Of(operand) : operand);
  return operands;
}

namespace {

// The number that each dimension has in memory order.
DimVec NewNumbers(Shape array) { return InversePermutation(MajorToMinor(array)); }

void Renumber(DimVec& dims, const DimVec& numbers) {
  for (int64_t& d : dims) d = numbers[static_cast<size_t>(d)];
}

// What is said of each dimension, in memory order.
template <class C>
C ByOrder(const C& by_dimension, const DimVec& order) {
  C permuted;
  for (const int64_t d : order) permuted.push_back(by_dimension[static_cast<size_t>(d)]);
  return permuted;
}

bool SameOrder(Shape a, Shape b) { return MajorToMinor(a) == MajorToMinor(b); }

Instruction* CloneNormal(const Instruction& old, NormalForms& forms, AttrsPtr attrs) {
  return forms.Clone(old, forms.Operands(old), std::move(attrs));
}

Decision Always(const Instruction&) { return Yes(); }

// Operands but scalars lie as the result.
Decision KeepsOrder(const Instruction& instruction) {
  if (!instruction.shape().IsArray()) return No("has several results");
  for (const Instruction* operand : instruction.operands()) {
    if (operand->shape().rank() != 0 && !SameOrder(operand->shape(), instruction.shape())) {
      return No("`{}` lies as `{:l}`, the result as `{:l}`", operand->name(), operand->shape(),
                instruction.shape());
    }
  }
  return Yes();
}

Instruction* Elementwise(const Instruction& old, NormalForms& forms) {
  return CloneNormal(old, forms, old.attrs_ptr());
}

// ---- movement ----

// transpose(x), dimensions=D: dimension i of the result in memory order is dimension D[to[i]] of x,
// which has another number in the memory order of x.
Instruction* Transposed(const Instruction& old, DimVec dimensions, NormalForms& forms) {
  dimensions = ByOrder(dimensions, MajorToMinor(old.shape()));
  Renumber(dimensions, NewNumbers(old.operand(0)->shape()));
  Instruction* const x = forms.Of(old.operand(0));
  if (absl::c_is_sorted(dimensions)) return x;
  Builder b(&old);
  return b.OpWithShape(Opcode::kTranspose, InMemoryOrder(old.shape()), {x},
                       AttrsPtr::Make(TransposeAttrs{std::move(dimensions)}));
}

Decision OnlyMoves(const Instruction& instruction) {
  if (DifferInOrderOnly(instruction.operand(0)->shape(), instruction.shape())) return Yes();
  return No("changes more than the order of dimensions");
}

Instruction* Transpose(const Instruction& old, NormalForms& forms) {
  return Transposed(old, old.attrs<TransposeAttrs>().dimensions, forms);
}

Decision OnlyMovesOrCopies(const Instruction& copy) {
  if (!copy.shape().IsArray()) return No("copies a tuple");
  if (SameOrder(copy.operand(0)->shape(), copy.shape())) return Yes();
  return OnlyMoves(copy);
}

// A copy that moves nothing is there to be one.
Instruction* Copy(const Instruction& old, NormalForms& forms) {
  if (SameOrder(old.operand(0)->shape(), old.shape())) return Elementwise(old, forms);
  DimVec dimensions(static_cast<size_t>(old.shape().rank()));
  absl::c_iota(dimensions, 0);
  Instruction* const moved = Transposed(old, dimensions, forms);
  return moved;
}

Decision MovesNothing(const Instruction& reshape) {
  const Shape from = reshape.operand(0)->shape(), to = reshape.shape();
  if (!ReshapeIsBitcast(from.WithMissingLayoutsFilled(), to.WithMissingLayoutsFilled()))
    return No("moves data");
  return Yes();
}

Instruction* Reshape(const Instruction& old, NormalForms& forms) {
  return CloneNormal(old, forms, AttrsPtr::Make(ReshapeAttrs{}));
}

Instruction* Broadcast(const Instruction& old, NormalForms& forms) {
  BroadcastAttrs attrs = old.attrs<BroadcastAttrs>();
  attrs.dimensions = ByOrder(attrs.dimensions, MajorToMinor(old.operand(0)->shape()));
  Renumber(attrs.dimensions, NewNumbers(old.shape()));
  return CloneNormal(old, forms, AttrsPtr::Make(std::move(attrs)));
}

Instruction* Iota(const Instruction& old, NormalForms& forms) {
  IotaAttrs attrs = old.attrs<IotaAttrs>();
  attrs.iota_dimension = NewNumbers(old.shape())[static_cast<size_t>(attrs.iota_dimension)];
  return CloneNormal(old, forms, AttrsPtr::Make(attrs));
}

Instruction* Concatenate(const Instruction& old, NormalForms& forms) {
  ConcatenateAttrs attrs = old.attrs<ConcatenateAttrs>();
  attrs.dimensions.value = NewNumbers(old.shape())[static_cast<size_t>(attrs.dimensions.value)];
  return CloneNormal(old, forms, AttrsPtr::Make(attrs));
}

Instruction* Reverse(const Instruction& old, NormalForms& forms) {
  ReverseAttrs attrs = old.attrs<ReverseAttrs>();
  Renumber(attrs.dimensions, NewNumbers(old.shape()));
  absl::c_sort(attrs.dimensions);
  return CloneNormal(old, forms, AttrsPtr::Make(std::move(attrs)));
}

Instruction* Pad(const Instruction& old, NormalForms& forms) {
  PadAttrs attrs = old.attrs<PadAttrs>();
  attrs.padding.dims = ByOrder(attrs.padding.dims, MajorToMinor(old.shape()));
  return CloneNormal(old, forms, AttrsPtr::Make(std::move(attrs)));
}

Instruction* Slice(const Instruction& old, NormalForms& forms) {
  SliceAttrs attrs = old.attrs<SliceAttrs>();
  attrs.slice = ByOrder(attrs.slice, MajorToMinor(old.shape()));
  return CloneNormal(old, forms, AttrsPtr::Make(std::move(attrs)));
}

// ---- at starts that are operands ----

// One scalar for each dimension.
Decision HasScalarStarts(const Instruction& slice, int first_start) {
  if (slice.operand_count() != first_start + slice.shape().rank())
    return No("has its starts in an array");
  return KeepsOrder(slice);
}

Instruction* AtStarts(const Instruction& old, int first_start, NormalForms& forms, AttrsPtr attrs) {
  std::vector<Instruction*> operands;
  for (int i = 0; i < first_start; ++i) operands.push_back(forms.Of(old.operand(i)));
  for (const int64_t d : MajorToMinor(old.shape()))
    operands.push_back(old.operand(first_start + static_cast<int>(d)));
  return forms.Clone(old, operands, std::move(attrs));
}

Decision DynamicSliceKeepsOrder(const Instruction& slice) { return HasScalarStarts(slice, 1); }

Instruction* DynamicSlice(const Instruction& old, NormalForms& forms) {
  DynamicSliceAttrs attrs = old.attrs<DynamicSliceAttrs>();
  attrs.dynamic_slice_sizes = ByOrder(attrs.dynamic_slice_sizes, MajorToMinor(old.shape()));
  return AtStarts(old, 1, forms, AttrsPtr::Make(std::move(attrs)));
}

Decision UpdateKeepsOrder(const Instruction& update) { return HasScalarStarts(update, 2); }

Instruction* DynamicUpdateSlice(const Instruction& old, NormalForms& forms) {
  return AtStarts(old, 2, forms, old.attrs_ptr());
}

// ---- types ----

// Between widths, the dimension that one of the two has more is the last one, and has to stay so.
Decision KeepsLastDimension(const Instruction& convert) {
  const Shape from = convert.operand(0)->shape(), to = convert.shape();
  if (from.rank() == to.rank()) return KeepsOrder(convert);
  const bool widens = from.rank() > to.rank();
  DimVec longer = MajorToMinor(widens ? from : to);
  if (longer.back() != static_cast<int64_t>(longer.size()) - 1)
    return No("the parts of an element do not lie together");
  longer.pop_back();
  if (longer != MajorToMinor(widens ? to : from))
    return No("`{:l}` and `{:l}` lie in different orders", from, to);
  return Yes();
}

// ---- windows ----

Instruction* ReduceWindow(const Instruction& old, NormalForms& forms) {
  ReduceWindowAttrs attrs = old.attrs<ReduceWindowAttrs>();
  // Without a window it is one of a single element.
  if (!attrs.window.empty())
    attrs.window.dims = ByOrder(attrs.window.dims, MajorToMinor(old.shape()));
  return CloneNormal(old, forms, AttrsPtr::Make(std::move(attrs)));
}

Decision IsDense(const Instruction& convolution) {
  const auto& attrs = convolution.attrs<ConvolutionAttrs>();
  if (attrs.sparsity_config.lhs || attrs.sparsity_config.rhs) return No("is sparse");
  return convolution.operand_count() == 2 ? Yes() : No("has more than two operands");
}

Instruction* Convolution(const Instruction& old, NormalForms& forms) {
  ConvolutionAttrs attrs = old.attrs<ConvolutionAttrs>();
  ConvDimNumbers& labels = attrs.dim_labels;
  const auto renumber = [](Shape array, int64_t& a, int64_t& b, DimVec& spatial) {
    const DimVec numbers = NewNumbers(array);
    a = numbers[static_cast<size_t>(a)];
    b = numbers[static_cast<size_t>(b)];
    Renumber(spatial, numbers);
  };
  renumber(old.operand(0)->shape(), labels.input_batch, labels.input_feature, labels.input_spatial);
  renumber(old.operand(1)->shape(), labels.kernel_input_feature, labels.kernel_output_feature,
           labels.kernel_spatial);
  renumber(old.shape(), labels.output_batch, labels.output_feature, labels.output_spatial);
  return CloneNormal(old, forms, AttrsPtr::Make(std::move(attrs)));
}

// ---- scatter ----

int InputCount(const Instruction& scatter) { return scatter.operand_count() / 2; }

Decision ScattersAlongOne(const Instruction& scatter) {
  const auto& attrs = scatter.attrs<ScatterAttrs>();
  const int count = InputCount(scatter);
  const Shape input = scatter.operand(0)->shape(), update = scatter.operand(count + 1)->shape();
  if (!attrs.input_batching_dims.empty()) return No("has batching dimensions");
  // The scatter dimensions of indices and updates go by their order, which memory may change.
  if (update.rank() - static_cast<int>(attrs.update_window_dims.size()) > 1)
    return No("has several scatter dimensions");
  for (int i = 0; i < count; ++i) {
    const Shape result = scatter.shape().IsTuple() ? scatter.shape().element(i) : scatter.shape();
    if (!SameOrder(scatter.operand(i)->shape(), input) || !SameOrder(result, input) ||
        !SameOrder(scatter.operand(count + 1 + i)->shape(), update))
      return No("arrays lie in different orders");
  }
  return Yes();
}

// The window dimensions of the updates, in the memory order of the input and by their new numbers.
DimVec WindowInOrder(const ScatterAttrs& attrs, Shape input, Shape update) {
  const DimVec numbers = NewNumbers(update);
  DimVec window;
  for (const int64_t d : MajorToMinor(input)) {
    if (Contains(attrs.inserted_window_dims, d)) continue;
    // Window dimensions are those of the input that are not inserted, in their order.
    const int64_t place =
        d - absl::c_count_if(attrs.inserted_window_dims, [&](int64_t i) { return i < d; });
    window.push_back(
        numbers[static_cast<size_t>(attrs.update_window_dims[static_cast<size_t>(place)])]);
  }
  return window;
}

// Brings the window dimensions of updates in memory order into their order; the scatter dimension,
// if any, comes first.
Instruction* WithWindowInOrder(Instruction* update, const DimVec& window, const Instruction& old) {
  DimVec order;
  for (int64_t d = 0; d < update->shape().rank(); ++d) {
    if (!Contains(window, d)) order.push_back(d);
  }
  order.insert(order.end(), window.begin(), window.end());
  Builder b(&old);
  return b.Transpose(update, order);
}

Instruction* Scatter(const Instruction& old, NormalForms& forms) {
  ScatterAttrs attrs = old.attrs<ScatterAttrs>();
  const int count = InputCount(old);
  const Shape input = old.operand(0)->shape(), indices = old.operand(count)->shape();
  std::vector<Instruction*> operands = forms.Operands(old);
  DimVec window = WindowInOrder(attrs, input, old.operand(count + 1)->shape());
  if (!absl::c_is_sorted(window)) {
    for (int i = count + 1; i < old.operand_count(); ++i) {
      Instruction*& update = operands[static_cast<size_t>(i)];
      update = WithWindowInOrder(update, window, old);
    }
    const int64_t first = operands.back()->shape().rank() - static_cast<int64_t>(window.size());
    absl::c_iota(window, first);
  }
  attrs.update_window_dims = window;
  Renumber(attrs.inserted_window_dims, NewNumbers(input));
  absl::c_sort(attrs.inserted_window_dims);
  Renumber(attrs.scatter_dims_to_operand_dims, NewNumbers(input));
  // One past the last dimension: each index is a scalar.
  if (attrs.index_vector_dim < indices.rank()) {
    attrs.index_vector_dim = NewNumbers(indices)[static_cast<size_t>(attrs.index_vector_dim)];
  }
  return forms.Clone(old, operands, AttrsPtr::Make(std::move(attrs)));
}

struct Row {
  Opcode opcode;
  NormalizedOp op;
};

constexpr Row kRows[] = {
    {Opcode::kBitcastConvert, {KeepsLastDimension, Elementwise}},
    {Opcode::kBroadcast, {Always, Broadcast}},
    {Opcode::kConcatenate, {KeepsOrder, Concatenate}},
    {Opcode::kConvolution, {IsDense, Convolution}},
    {Opcode::kCopy, {OnlyMovesOrCopies, Copy}},
    {Opcode::kDynamicSlice, {DynamicSliceKeepsOrder, DynamicSlice}},
    {Opcode::kDynamicUpdateSlice, {UpdateKeepsOrder, DynamicUpdateSlice}},
    {Opcode::kIota, {Always, Iota}},
    {Opcode::kPad, {KeepsOrder, Pad}},
    {Opcode::kReduceWindow, {KeepsOrder, ReduceWindow}},
    {Opcode::kReshape, {MovesNothing, Reshape}},
    {Opcode::kReverse, {KeepsOrder, Reverse}},
    {Opcode::kScatter, {ScattersAlongOne, Scatter}},
    {Opcode::kSlice, {KeepsOrder, Slice}},
    {Opcode::kTranspose, {OnlyMoves, Transpose}},
};

constexpr NormalizedOp kElementwiseOp = {KeepsOrder, Elementwise};

}  // namespace

const NormalizedOp* NormalizedOpFor(Opcode opcode) {
  for (const Row& row : kRows) {
    if (row.opcode == opcode) return &row.op;
  }
  return IsElementwise(opcode) ? &kElementwiseOp : nullptr;
}

}  // namespace hlo
