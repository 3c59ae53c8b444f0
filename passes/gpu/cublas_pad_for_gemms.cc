#include "passes/gpu/cublas_pad_for_gemms.h"

#include <algorithm>

#include "lib/support/round.h"

namespace hlo {
namespace {

struct Requirement {
  ElementType type;
  int64_t multiple;
  CudaCapability least;  // of those that have an instruction for it
};
constexpr Requirement kRequirements[] = {
    {ElementType::kS8, 4, {7, 0}}, {ElementType::kF16, 8, {7, 0}}, {ElementType::kBF16, 8, {8, 0}}};

constexpr ElementType kResultTypes[] = {
    ElementType::kF8E4M3FN,   ElementType::kF8E5M2,     ElementType::kF16,  ElementType::kBF16,
    ElementType::kF32,        ElementType::kF64,        ElementType::kC64,  ElementType::kF8E3M4,
    ElementType::kF8E4M3,     ElementType::kF8E4M3FNUZ, ElementType::kC128, ElementType::kS32,
    ElementType::kF8E5M2FNUZ,
};

// (batch…, two dimensions), of which one is contracted and the other has more than one element.
bool IsMatrix(Shape shape, const DimVec& batch, const DimVec& contracting) {
  if (shape.has_dynamic_dims() || contracting.size() != 1 ||
      shape.rank() != static_cast<int>(batch.size()) + 2)
    return false;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (batch[i] != static_cast<int64_t>(i)) return false;
  }
  const int free = 2 * static_cast<int>(batch.size()) + 1 - static_cast<int>(contracting[0]);
  return shape.dim(free) != 1;
}

// The last two dimensions, up to multiples.
DimVec PaddedSizes(Shape shape, int64_t multiple) {
  DimVec sizes(shape.dims().begin(), shape.dims().end());
  for (size_t d = sizes.size() - 2; d < sizes.size(); ++d) sizes[d] = RoundUp(sizes[d], multiple);
  return sizes;
}

bool IsPadded(Shape shape, int64_t multiple) {
  const DimVec sizes = PaddedSizes(shape, multiple);
  return std::equal(sizes.begin(), sizes.end(), shape.dims().begin());
}

Instruction* Padded(Instruction* x, Instruction* zero, int64_t multiple, Rewriter& rewriter) {
  const DimVec sizes = PaddedSizes(x->shape(), multiple);
  PaddingConfig padding;
  for (size_t d = 0; d < sizes.size(); ++d)
    padding.dims.push_back({0, sizes[d] - x->shape().dim(static_cast<int>(d)), 0});
  return rewriter.Pad(x, zero, padding);
}

}  // namespace

int64_t CublasPadForGemms::MultipleFor(ElementType type) const {
  const std::optional<ElementType> only = options_.datatype.type;
  if (only && *only != type) return 0;
  for (const Requirement& row : kRequirements) {
    if (row.type != type || (!only && options_.compute_capability < row.least)) continue;
    return options_.pad_to_multiple_of > 0 ? options_.pad_to_multiple_of : row.multiple;
  }
  return only ? options_.pad_to_multiple_of.value : 0;
}

bool CublasPadForGemms::Matches(const Instruction& dot) const {
  const Shape lhs = dot.operand(0)->shape(), rhs = dot.operand(1)->shape();
  const auto& attrs = dot.attrs<DotAttrs>();
  const int64_t multiple = MultipleFor(lhs.element_type());
  const ElementType result = dot.shape().element_type();
  return multiple > 1 && dot.operand_count() == 2 && rhs.element_type() == lhs.element_type() &&
         absl::c_linear_search(kResultTypes, result) &&
         (result != ElementType::kS32 || lhs.element_type() == ElementType::kS8) &&
         IsMatrix(lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims) &&
         IsMatrix(rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims) &&
         !(IsPadded(lhs, multiple) && IsPadded(rhs, multiple));
}

absl::StatusOr<Instruction*> CublasPadForGemms::Expand(Instruction* dot, Rewriter& rewriter) {
  const ElementType type = dot->operand(0)->shape().element_type();
  const int64_t multiple = MultipleFor(type);
  Instruction* zero = rewriter.ScalarConstant(type, 0);
  Instruction* lhs = Padded(dot->operand(0), zero, multiple, rewriter);
  Instruction* rhs = Padded(dot->operand(1), zero, multiple, rewriter);
  const Shape shape = dot->shape();
  Instruction* padded =
      rewriter.OpWithShape(Opcode::kDot, shape.WithDimensions(PaddedSizes(shape, multiple)),
                           {lhs, rhs}, dot->attrs_ptr());
  PassOnWork(*dot, padded);
  const DimVec starts(static_cast<size_t>(shape.rank()), 0);
  return rewriter.Slice(padded, starts, shape.dims());
}

absl::Status ParseOption(const OptionText& text, PaddedType& out) {
  out.type = ElementTypeFromText(text.value);
  if (out.type && IsArrayType(*out.type)) return absl::OkStatus();
  return Error(text.loc, "option `{}` expects {}, found `{}`", text.name, OptionType(out),
               text.value);
}
std::string OptionValue(PaddedType padded) {
  return padded.type ? std::string(Text(*padded.type)) : "";
}
std::string OptionType(PaddedType) { return "an element type such as f16"; }

HLO_DEFINE_PASS(CublasPadForGemms)

}  // namespace hlo
