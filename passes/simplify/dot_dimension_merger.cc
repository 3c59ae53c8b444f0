#include "passes/simplify/dot_dimension_merger.h"

#include <algorithm>

namespace hlo {
namespace {

// Whether dimensions d and d + 1 are neighbours in memory.
bool LieTogether(Shape shape, int64_t d) {
  const Layout* layout = shape.layout_or_null();
  if (layout == nullptr) return true;
  if (layout->HasProperties()) return false;
  const auto at = std::find(layout->minor_to_major.begin(), layout->minor_to_major.end(), d + 1);
  return at + 1 != layout->minor_to_major.end() && *(at + 1) == d;
}

// Whether batch dimension i + 1 is to be one with i.
bool JoinsNext(const Instruction& dot, size_t i) {
  const auto& attrs = dot.attrs<DotAttrs>();
  const auto follows = [&](const DimVec& dims, Shape shape) {
    return dims[i + 1] == dims[i] + 1 && LieTogether(shape, dims[i]);
  };
  return follows(attrs.lhs_batch_dims, dot.operand(0)->shape()) &&
         follows(attrs.rhs_batch_dims, dot.operand(1)->shape()) &&
         LieTogether(dot.shape(), static_cast<int64_t>(i));
}

// Dimensions of one array, some of which are one with the one before.
class JoinedDimensions {
 public:
  JoinedDimensions(Shape shape, const std::vector<int64_t>& joined) {
    for (int64_t d = 0; d < shape.rank(); ++d) {
      const int64_t size = shape.dim(static_cast<int>(d));
      if (std::find(joined.begin(), joined.end(), d) != joined.end()) {
        sizes_.back() *= size;
      } else {
        sizes_.push_back(size);
      }
      place_.push_back(static_cast<int64_t>(sizes_.size()) - 1);
    }
  }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  // Their new numbers, each once.
  DimVec Of(const DimVec& dims) const {
    DimVec result;
    for (const int64_t d : dims) {
      const int64_t place = place_[static_cast<size_t>(d)];
      if (result.empty() || result.back() != place) result.push_back(place);
    }
    return result;
  }

 private:
  std::vector<int64_t> sizes_;
  DimVec place_;
};

}  // namespace

bool DotDimensionMerger::Matches(const Instruction& instruction) const {
  if (instruction.operand_count() != 2 || instruction.shape().has_dynamic_dims() ||
      instruction.operand(0)->shape().has_dynamic_dims() ||
      instruction.operand(1)->shape().has_dynamic_dims())
    return false;
  const size_t batch = instruction.attrs<DotAttrs>().lhs_batch_dims.size();
  for (size_t i = 0; i + 1 < batch; ++i) {
    if (JoinsNext(instruction, i)) return true;
  }
  return false;
}

absl::StatusOr<Instruction*> DotDimensionMerger::Expand(Instruction* dot, Rewriter& rewriter) {
  DotAttrs attrs = dot->attrs<DotAttrs>();
  std::vector<int64_t> lhs_joined, rhs_joined, result_joined;
  for (size_t i = 0; i + 1 < attrs.lhs_batch_dims.size(); ++i) {
    if (!JoinsNext(*dot, i)) continue;
    lhs_joined.push_back(attrs.lhs_batch_dims[i + 1]);
    rhs_joined.push_back(attrs.rhs_batch_dims[i + 1]);
    result_joined.push_back(static_cast<int64_t>(i) + 1);
  }
  const JoinedDimensions lhs(dot->operand(0)->shape(), lhs_joined);
  const JoinedDimensions rhs(dot->operand(1)->shape(), rhs_joined);
  const JoinedDimensions result(dot->shape(), result_joined);
  attrs.lhs_batch_dims = lhs.Of(attrs.lhs_batch_dims);
  attrs.lhs_contracting_dims = lhs.Of(attrs.lhs_contracting_dims);
  attrs.rhs_batch_dims = rhs.Of(attrs.rhs_batch_dims);
  attrs.rhs_contracting_dims = rhs.Of(attrs.rhs_contracting_dims);
  Instruction* product =
      rewriter.OpWithShape(Opcode::kDot, Shape::Array(dot->shape().element_type(), result.sizes()),
                           {rewriter.Reshape(dot->operand(0), lhs.sizes()),
                            rewriter.Reshape(dot->operand(1), rhs.sizes())},
                           AttrsPtr::Make(std::move(attrs)));
  return rewriter.Reshape(product, dot->shape().dims());
}

HLO_DEFINE_PASS(DotDimensionMerger)

}  // namespace hlo
