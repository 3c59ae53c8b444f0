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
  return x.use_count() == 1 && !x.is_root() && !x.has_control_edges();
}

}  // namespace

bool IsGemm(const Instruction& x) {
  if (x.opcode() != Opcode::kCustomCall || !x.shape().IsArray()) return false;
  const std::string_view target = x.attrs<CustomCallAttrs>().custom_call_target;
  return target == kGemm || target == kLtMatmul || target == kLtMatmulF8;
}

bool IsLtGemm(const Instruction& gemm) {
  return gemm.attrs<CustomCallAttrs>().custom_call_target != kGemm;
}

bool IsF8Gemm(const Instruction& gemm) {
  return gemm.attrs<CustomCallAttrs>().custom_call_target == kLtMatmulF8;
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
  Instruction* from = value;
  if (from->opcode() == Opcode::kBitcast && MayBeBetween(*from)) {
    bitcast_ = from;
    from = from->operand(0);
  }
  if (from->opcode() == Opcode::kSlice && MayBeBetween(*from) && IsFirstPart(*from)) {
    slice_ = from;
    from = from->operand(0);
  }
  if (IsGemm(*from)) gemm_ = from;
}

bool ProductView::KeepsMinor(int64_t size) const {
  const Instruction& from = bitcast_ != nullptr ? *bitcast_->operand(0) : *view_;
  return from.shape().dims().back() == size && view_->shape().dims().back() == size;
}

Instruction* ProductView::Widened(Instruction* addend, Rewriter& b) const {
  const ElementType type = addend->shape().element_type();
  if (bitcast_ != nullptr)
    addend = b.Bitcast(addend, bitcast_->operand(0)->shape().WithElementType(type));
  if (slice_ == nullptr) return addend;
  PaddingConfig padding;
  for (int d = 0; d < gemm_->shape().rank(); ++d)
    padding.dims.push_back({0, gemm_->shape().dim(d) - addend->shape().dim(d), 0});
  return b.Pad(addend, b.ScalarConstant(type, 0), padding);
}

Instruction* ProductView::Of(Instruction* product, Rewriter& b) const {
  const ElementType type = product->shape().element_type();
  if (slice_ != nullptr) {
    const DimVec starts(static_cast<size_t>(product->shape().rank()), 0);
    product = b.Slice(product, starts, slice_->shape().dims());
  }
  return bitcast_ == nullptr ? product
                             : b.Bitcast(product, bitcast_->shape().WithElementType(type));
}

}  // namespace hlo
