#include "passes/collectives/all_gather_remove_degenerate_dims.h"

namespace hlo {
namespace {

// The sizes of `shape` but for those that are 1, apart from dimension `kept`.
std::vector<int64_t> TrueSizes(Shape shape, int64_t kept) {
  std::vector<int64_t> sizes;
  for (int d = 0; d < shape.rank(); ++d) {
    if (d == kept || shape.dim(d) != 1) sizes.push_back(shape.dim(d));
  }
  return sizes;
}

// `shape` with those sizes, the rest of its dimensions in the order of its layout.
Shape TrueShape(Shape shape, int64_t kept) {
  const Shape result = Shape::Array(shape.element_type(), TrueSizes(shape, kept));
  if (!shape.has_layout() || shape.layout().HasProperties()) return result;
  Layout layout;
  for (const int64_t d : shape.layout().minor_to_major) {
    if (d != kept && shape.dim(static_cast<int>(d)) == 1) continue;
    int64_t place = 0;
    for (int64_t before = 0; before < d; ++before)
      place += before == kept || shape.dim(static_cast<int>(before)) != 1 ? 1 : 0;
    layout.minor_to_major.push_back(place);
  }
  return result.WithLayout(layout);
}

// Where dimension `kept` is among them.
int64_t PlaceAmongTrue(Shape shape, int64_t kept) {
  const absl::Span<const int64_t> before = shape.dims().subspan(0, static_cast<size_t>(kept));
  return kept - absl::c_count(before, 1);
}

Instruction* GatherTrueDims(Instruction* gather, Rewriter& rewriter) {
  AllGatherAttrs attrs = gather->attrs<AllGatherAttrs>();
  if (attrs.constrain_layout || gather->shape().has_dynamic_dims()) return nullptr;
  const int64_t dimension = attrs.dimensions.value;
  // It gathers nothing, and others remove it.
  if (gather->shape().IsArray() && gather->shape().dim(static_cast<int>(dimension)) == 1)
    return nullptr;
  bool any = false;
  std::optional<int64_t> place;
  for (const Instruction* operand : gather->operands()) {
    const Shape shape = operand->shape();
    if (shape.has_dynamic_dims()) return nullptr;
    any = any || static_cast<int>(TrueSizes(shape, dimension).size()) < shape.rank();
    const int64_t here = PlaceAmongTrue(shape, dimension);
    if (place && *place != here) return nullptr;
    place = here;
  }
  if (!any) return nullptr;
  attrs.dimensions.value = *place;
  const bool is_tuple = gather->shape().IsTuple();
  std::vector<Instruction*> operands;
  std::vector<Shape> shapes;
  for (int i = 0; i < gather->operand_count(); ++i) {
    Instruction* operand = gather->operand(i);
    const Shape result = is_tuple ? gather->shape().element(i) : gather->shape();
    operands.push_back(
        rewriter.OpWithShape(Opcode::kReshape, TrueShape(operand->shape(), dimension), {operand}));
    shapes.push_back(TrueShape(result, dimension));
  }
  Instruction* gathered =
      rewriter.OpWithShape(Opcode::kAllGather, is_tuple ? Shape::Tuple(shapes) : shapes[0],
                           operands, AttrsPtr::Make(std::move(attrs)));
  PassOnWork(*gather, gathered);
  if (!is_tuple) return rewriter.Reshape(gathered, gather->shape().dims());
  std::vector<Instruction*> results;
  for (int i = 0; i < gather->operand_count(); ++i) {
    results.push_back(
        rewriter.Reshape(rewriter.GetTupleElement(gathered, i), gather->shape().element(i).dims()));
  }
  return rewriter.Tuple(results);
}

constexpr Rule kDegenerateRules[] = {
    {"gather-true-dims", Opcode::kAllGather, kExact, GatherTrueDims},
};

}  // namespace

AllGatherRemoveDegenerateDims::AllGatherRemoveDegenerateDims()
    : RewritePass(this, kDegenerateRules) {}

HLO_DEFINE_PASS(AllGatherRemoveDegenerateDims)

}  // namespace hlo
