#include "passes/gpu/gemm_calls.h"

#include <algorithm>

#include "passes/gpu/library_calls.h"

namespace hlo {
namespace {

bool IsFirstPart(const Instruction& slice) {
  return absl::c_all_of(slice.attrs<SliceAttrs>().slice, [](const SliceRange& range) {
    return range.start == 0 && range.stride == 1;
  });
}

bool MayBeBetween(const Instruction& x) {
  if (x.use_count() != 1 || x.is_root() || x.has_control_edges()) return false;
  return x.opcode() == Opcode::kBitcast || (x.opcode() == Opcode::kSlice && IsFirstPart(x));
}

}  // namespace

bool IsGemm(const Instruction& x) {
  if (x.opcode() != Opcode::kCustomCall || !x.shape().IsArray()) return false;
  const std::string_view target = x.attrs<CustomCallAttrs>().custom_call_target;
  return target == kGemm || target == kLtMatmul;
}

bool IsLtGemm(const Instruction& gemm) {
  return gemm.attrs<CustomCallAttrs>().custom_call_target == kLtMatmul;
}

bool MayBeOverwritten(const Instruction& x) {
  if (x.use_count() != 1 || x.is_root()) return false;
  if (x.opcode() != Opcode::kParameter) return true;
  if (!x.parent()->is_entry()) return false;
  return absl::c_any_of(x.module().config().aliases, [&](const InputOutputAlias& alias) {
    return alias.parameter == x.parameter_number() && alias.parameter_index.empty();
  });
}

ProductView::ProductView(Instruction* value) : view_(value) {
  Instruction* const from = MayBeBetween(*value) ? value->operand(0) : value;
  if (IsGemm(*from)) gemm_ = from;
}

Instruction* ProductView::Widened(Instruction* addend, Rewriter& b) const {
  if (is_whole()) return addend;
  const Shape shape = gemm_->shape().WithElementType(addend->shape().element_type());
  if (!is_slice()) return b.Bitcast(addend, shape);
  PaddingConfig padding;
  for (int d = 0; d < shape.rank(); ++d)
    padding.dims.push_back({0, shape.dim(d) - addend->shape().dim(d), 0});
  return b.Pad(addend, b.ScalarConstant(shape.element_type(), 0), padding);
}

Instruction* ProductView::Of(Instruction* product, Rewriter& b) const {
  if (is_whole()) return product;
  if (!is_slice()) return b.Bitcast(product, view_->shape());
  const DimVec starts(static_cast<size_t>(product->shape().rank()), 0);
  return b.Slice(product, starts, view_->shape().dims());
}

}  // namespace hlo
