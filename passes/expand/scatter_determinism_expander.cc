#include "passes/expand/scatter_determinism_expander.h"

#include <limits>

#include "lib/analysis/region.h"

namespace hlo {
namespace {

// (x, u) -> u
bool Overwrites(const Computation& combiner) {
  const Instruction& root = *combiner.root();
  return root.opcode() == Opcode::kParameter && root.parameter_number() == 1;
}

bool DependsOnOrder(const Instruction& scatter) {
  const Computation& combiner = *scatter.to_apply();
  if (Overwrites(combiner)) return true;
  const std::optional<Opcode> opcode = CombinerOpcode(combiner);
  const ElementType type = scatter.shape().element_type();
  return (opcode == Opcode::kAdd || opcode == Opcode::kMultiply) &&
         (IsFloat(type) || IsComplex(type));
}

// Builds the replacement of one scatter. Updates are numbered: scatter position major, element of
// the window minor.
class OrderedScatter {
 public:
  OrderedScatter(Instruction* scatter, Rewriter& b)
      : scatter_(*scatter), attrs_(scatter->attrs<ScatterAttrs>()), b_(b), x_(scatter->operand(0)) {
    for (int d = 0; d < x_->shape().rank(); ++d) {
      const DimVec& inserted = attrs_.inserted_window_dims;
      if (!absl::c_linear_search(inserted, d)) {
        const auto next = static_cast<size_t>(window_.size());
        window_.push_back(d);
        window_sizes_.push_back(
            scatter->operand(2)->shape().dim(static_cast<int>(attrs_.update_window_dims[next])));
      }
    }
    window_count_ = Product(window_sizes_);
    const int64_t updates = scatter->operand(2)->shape().element_count();
    positions_ = window_count_ == 0 ? 0 : updates / window_count_;
  }

  Instruction* Build() {
    Instruction* place = b_.Reshape(Places(), {positions_ * window_count_});
    Instruction* updates = b_.Reshape(OrderedUpdates(), {positions_ * window_count_});
    Sort(place, updates);
    Combine(place, updates);
    return Write(place, updates);
  }

 private:
  Instruction* S32(int64_t value, absl::Span<const int64_t> sizes) {
    return b_.Broadcast(b_.ScalarConstant(ElementType::kS32, static_cast<double>(value)), sizes,
                        {});
  }

  // s32[positions, index components]
  Instruction* IndexVectors() {
    Instruction* indices = scatter_.operand(1);
    const int rank = indices->shape().rank();
    const auto vector = static_cast<int>(attrs_.index_vector_dim);
    if (vector < rank && vector != rank - 1) {
      std::vector<int64_t> order;
      for (int d = 0; d < rank; ++d) {
        if (d != vector) order.push_back(d);
      }
      order.push_back(vector);
      indices = b_.Transpose(indices, order);
    }
    return b_.Reshape(indices, {positions_, Components()});
  }
  int64_t Components() const {
    return static_cast<int64_t>(attrs_.scatter_dims_to_operand_dims.size());
  }

  // For each update its place in the flat array; those that are dropped have one after its end.
  Instruction* Places() {
    Instruction* vectors = IndexVectors();
    const DimVec strides = RowMajorStrides(x_->shape().dims());
    const std::vector<int64_t> one = {positions_};
    Instruction* start = S32(0, one);
    Instruction* is_inside = b_.Broadcast(b_.ScalarConstant(ElementType::kPred, 1), one, {});
    for (int64_t c = 0; c < Components(); ++c) {
      const int64_t d = attrs_.scatter_dims_to_operand_dims[static_cast<size_t>(c)];
      Instruction* index = b_.Reshape(b_.Slice(vectors, {0, c}, {positions_, c + 1}), one);
      const int64_t last = x_->shape().dim(static_cast<int>(d)) - WindowSize(d);
      // Compared in the type of the indices: narrow ones may not hold the limit.
      const ElementType type = index->shape().element_type();
      Instruction* wide = BitWidth(type) < 64 ? b_.Convert(index, ElementType::kS64) : index;
      const ElementType wide_type = wide->shape().element_type();
      Instruction* limit =
          b_.Broadcast(b_.ScalarConstant(wide_type, static_cast<double>(last)), one, {});
      is_inside = b_.And(is_inside, b_.Compare(wide, limit, ComparisonDirection::kLe));
      is_inside = b_.And(is_inside, b_.Compare(wide, b_.ZeroLike(wide), ComparisonDirection::kGe));
      start = b_.Add(start, b_.Multiply(b_.Convert(index, ElementType::kS32),
                                        S32(strides[static_cast<size_t>(d)], one)));
    }
    const std::vector<int64_t> both = {positions_, window_count_};
    Instruction* place = b_.Add(b_.Broadcast(start, both, {0}),
                                b_.Broadcast(b_.Constant(WindowOffsets(strides)), both, {1}));
    return b_.Select(b_.Broadcast(is_inside, both, {0}), place,
                     S32(x_->shape().element_count(), both));
  }

  int64_t WindowSize(int64_t d) const {
    const auto at = absl::c_find(window_, d);
    return at == window_.end() ? 1 : window_sizes_[static_cast<size_t>(at - window_.begin())];
  }

  Literal WindowOffsets(const DimVec& strides) const {
    Literal offsets(Shape::Array(ElementType::kS32, {window_count_}));
    for (int64_t w = 0; w < window_count_; ++w) {
      const DimVec index = MultiIndex(w, window_sizes_);
      int64_t offset = 0;
      for (size_t i = 0; i < window_.size(); ++i)
        offset += index[i] * strides[static_cast<size_t>(window_[i])];
      offsets.SetInt(w, offset);
    }
    return offsets;
  }

  // The updates with the dimensions of the windows last.
  Instruction* OrderedUpdates() {
    Instruction* updates = scatter_.operand(2);
    std::vector<int64_t> order;
    const DimVec& window = attrs_.update_window_dims;
    for (int64_t d = 0; d < updates->shape().rank(); ++d) {
      if (!absl::c_linear_search(window, d)) order.push_back(d);
    }
    order.insert(order.end(), window.begin(), window.end());
    return b_.Transpose(updates, order);
  }

  // By place, equal ones in their order.
  void Sort(Instruction*& place, Instruction*& updates) {
    Computation* less = b_.module().AddComputation("compare_places");
    b_.module().MoveToFront(less, scatter_.parent());
    Builder body(less);
    Instruction* p = body.Parameter(0, Shape::Scalar(ElementType::kS32));
    Instruction* q = body.Parameter(1, Shape::Scalar(ElementType::kS32));
    body.Parameter(2, Shape::Scalar(updates->shape().element_type()));
    body.Parameter(3, Shape::Scalar(updates->shape().element_type()));
    less->set_root(body.Compare(p, q, ComparisonDirection::kLt));
    SortAttrs attrs;
    attrs.dimensions.value = 0;
    attrs.is_stable = true;
    Instruction* sorted =
        b_.Op(Opcode::kSort, {place, updates}, AttrsPtr::Make(std::move(attrs)), {less});
    place = b_.GetTupleElement(sorted, 0);
    updates = b_.GetTupleElement(sorted, 1);
  }

  // `x` moved by `distance` to higher places, `before` coming first; with a negative distance to
  // lower ones.
  Instruction* Moved(Instruction* x, int64_t distance, Literal filler) {
    const int64_t count = x->shape().dim(0);
    const int64_t size = std::abs(distance);
    Instruction* rest =
        distance > 0 ? b_.Slice(x, {0}, {count - size}) : b_.Slice(x, {size}, {count});
    Instruction* fill = b_.Broadcast(b_.Constant(std::move(filler)), {size}, {});
    return distance > 0 ? b_.Concatenate({fill, rest}, 0) : b_.Concatenate({rest, fill}, 0);
  }

  // Each update becomes the combination of all up to it that have its place; but for the last one,
  // their places then are outside.
  void Combine(Instruction*& place, Instruction*& updates) {
    const int64_t count = place->shape().dim(0);
    const Literal nowhere = Literal::Scalar(ElementType::kS32, int64_t{-1});
    for (int64_t distance = 1; distance < count; distance *= 2) {
      Instruction* same =
          b_.Compare(place, Moved(place, distance, nowhere), ComparisonDirection::kEq);
      Instruction* earlier =
          Moved(updates, distance, Literal::Zero(updates->shape().element_type()));
      if (!Overwrites(*scatter_.to_apply())) {
        Instruction* both = b_.Op(*CombinerOpcode(*scatter_.to_apply()), {earlier, updates});
        updates = b_.Select(same, both, updates);
      }
    }
    Instruction* is_last = b_.Compare(place, Moved(place, -1, nowhere), ComparisonDirection::kNe);
    place = b_.Select(is_last, place, S32(x_->shape().element_count(), {count}));
  }

  Instruction* Write(Instruction* place, Instruction* updates) {
    const int64_t count = place->shape().dim(0);
    ScatterAttrs attrs;
    attrs.inserted_window_dims = {0};
    attrs.scatter_dims_to_operand_dims = {0};
    attrs.index_vector_dim = 1;
    attrs.unique_indices = true;
    const int64_t total = x_->shape().element_count();
    Instruction* flat =
        b_.Op(Opcode::kScatter, {b_.Reshape(x_, {total}), b_.Reshape(place, {count, 1}), updates},
              AttrsPtr::Make(std::move(attrs)), {scatter_.to_apply()});
    return b_.Reshape(flat, x_->shape().dims());
  }

  const Instruction& scatter_;
  const ScatterAttrs attrs_;
  Rewriter& b_;
  Instruction* x_;
  DimVec window_;  // dimensions of the array that windows extend over
  DimVec window_sizes_;
  int64_t window_count_ = 1;
  int64_t positions_ = 0;
};

}  // namespace

bool ScatterDeterminismExpander::Matches(const Instruction& scatter) const {
  const auto& attrs = scatter.attrs<ScatterAttrs>();
  if (scatter.operand_count() != 3 || !scatter.shape().IsArray() || attrs.unique_indices ||
      !attrs.input_batching_dims.empty())
    return false;
  for (const Instruction* operand : scatter.operands()) {
    if (operand->shape().has_dynamic_dims() || operand->shape().IsZeroSized() ||
        operand->shape().element_count() >= std::numeric_limits<int32_t>::max())
      return false;
  }
  return DependsOnOrder(scatter);
}

absl::StatusOr<Instruction*> ScatterDeterminismExpander::Expand(Instruction* scatter,
                                                                Rewriter& rewriter) {
  return OrderedScatter(scatter, rewriter).Build();
}

HLO_DEFINE_PASS(ScatterDeterminismExpander)

}  // namespace hlo
