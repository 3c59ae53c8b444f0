#include "passes/simplify/hlo_get_dimension_size_rewriter.h"

#include <algorithm>

#include "lib/analysis/forwarding.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// What has the dimensions of its first operand.
constexpr OpcodeSet kKeepsDimensions = {Opcode::kCopy, Opcode::kReverse, Opcode::kSort,
                                        Opcode::kDynamicUpdateSlice, Opcode::kSetDimensionSize};

// A dimension of a leaf of a value.
struct Dimension {
  Instruction* value;
  int64_t leaf;
  int64_t dim;
};

// The dimension of its operand that dimension `dim` of `value` is; -1: none.
int64_t SameDimension(const Instruction& value, int64_t dim) {
  const Opcode opcode = value.opcode();
  const Shape from = value.operand(0)->shape();
  if (kKeepsDimensions.Has(opcode)) return dim;
  if (opcode == Opcode::kTranspose)
    return value.attrs<TransposeAttrs>().dimensions[static_cast<size_t>(dim)];
  if (opcode == Opcode::kBroadcast) {
    const DimVec& kept = value.attrs<BroadcastAttrs>().dimensions;
    const auto found = std::find(kept.begin(), kept.end(), dim);
    return found == kept.end() ? -1 : found - kept.begin();
  }
  if (opcode == Opcode::kReduce) {
    const DimVec& reduced = value.attrs<ReduceAttrs>().dimensions;
    for (int64_t d = 0, left = dim; d < from.rank(); ++d) {
      if (std::find(reduced.begin(), reduced.end(), d) == reduced.end() && left-- == 0) return d;
    }
  }
  if (opcode == Opcode::kReshape) {
    for (const auto& [in, out] : CommonFactors(from.dims(), value.shape().dims())) {
      if (out == dim && in < from.rank() &&
          from.dim(static_cast<int>(in)) == value.shape().dim(static_cast<int>(out)))
        return in;
    }
  }
  return -1;
}

// Where the size of `at` is that of an operand's dimension; none: it is not kept.
std::optional<Dimension> SameSizeElsewhere(const Dimension& at) {
  Instruction& value = *at.value;
  if (const auto sources = ForwardedLeaves(value, /*dense=*/false); !sources.empty()) {
    const LeafSource source = sources[static_cast<size_t>(at.leaf)];
    if (source.operand < 0 || value.opcode() == Opcode::kBitcast) return std::nullopt;
    return Dimension{value.operand(source.operand), source.leaf, at.dim};
  }
  if (!value.shape().IsArray() || value.operand_count() == 0) return std::nullopt;
  if (IsElementwise(value.opcode())) {
    for (Instruction* operand : value.operands()) {
      if (SameDimensions(operand->shape(), value.shape()) &&
          operand->shape().is_dynamic(static_cast<int>(at.dim)))
        return Dimension{operand, 0, at.dim};
    }
    return std::nullopt;
  }
  const int64_t dim = SameDimension(value, at.dim);
  if (dim < 0) return std::nullopt;
  return Dimension{value.operand(0), 0, dim};
}

Shape LeafShape(const Dimension& at) {
  Shape found;
  int64_t i = 0;
  ForEachLeaf(at.value->shape(), [&](Shape shape, const ShapeIndex&) {
    if (i++ == at.leaf) found = shape;
  });
  return found;
}

// The size as an instruction; null when it is not given anywhere.
Instruction* GivenSize(Dimension at, Builder& builder) {
  for (;;) {
    const Shape shape = LeafShape(at);
    const int dim = static_cast<int>(at.dim);
    if (!shape.is_dynamic(dim))
      return builder.ScalarConstant(ElementType::kS32, static_cast<double>(shape.dim(dim)));
    const Instruction& value = *at.value;
    if (value.opcode() == Opcode::kSetDimensionSize &&
        value.attrs<DimensionAttrs>().dimensions.value == at.dim)
      return value.operand(1);
    if (value.opcode() == Opcode::kDynamicReshape) return value.operand(dim + 1);
    if (value.opcode() == Opcode::kParameter) return nullptr;
    const std::optional<Dimension> next = SameSizeElsewhere(at);
    if (!next) return nullptr;
    at = *next;
  }
}

}  // namespace

absl::StatusOr<bool> HloGetDimensionSizeRewriter::Run(Module& module, PassContext& context) {
  constexpr OpcodeSet kRoots = {Opcode::kGetDimensionSize, Opcode::kSetDimensionSize};
  bool changed = false;
  const auto replace = [&](Instruction* old, Instruction* by, uint32_t first_new,
                           std::string_view what) {
    context.Passed(*old, "`{}` takes its place", by->name());
    ReplaceKeepingExtras(old, by, first_new);
    context.Count(what);
    changed = true;
  };
  // All sizes are read before anything that sets one goes.
  for (Computation* computation : context.NonFusionComputations(module, kRoots)) {
    for (Instruction* get : computation->PostOrder()) {
      if (get->opcode() != Opcode::kGetDimensionSize || !context.MayRewrite()) continue;
      const uint32_t first_new = module.id_limit();
      Rewriter rewriter(computation, context);
      rewriter.set_origin(get);
      Instruction* size =
          GivenSize({get->operand(0), 0, get->attrs<DimensionAttrs>().dimensions.value}, rewriter);
      RETURN_IF_ERROR(rewriter.status());
      if (size != nullptr && Compatible(size->shape(), get->shape())) {
        replace(get, size, first_new, "read");
      } else {
        context.Missed(*get, "the size is not given anywhere");
      }
    }
  }
  for (Computation* computation : context.NonFusionComputations(module, kRoots)) {
    for (Instruction* set : computation->PostOrder()) {
      if (set->opcode() != Opcode::kSetDimensionSize || set->shape().has_dynamic_dims() ||
          !Compatible(set->shape(), set->operand(0)->shape()) || !context.MayRewrite())
        continue;
      replace(set, set->operand(0), module.id_limit(), "set");
    }
  }
  return changed;
}

HLO_DEFINE_PASS(HloGetDimensionSizeRewriter)

}  // namespace hlo
