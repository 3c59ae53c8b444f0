#include "passes/gpu/gemm_calls.h"

#include <algorithm>

#include "lib/ir/entry_info.h"
#include "passes/gpu/bias_constants.h"
#include "passes/gpu/f8_products.h"
#include "passes/gpu/library_calls.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

bool IsFirstPart(const Instruction& slice) {
  return absl::c_all_of(slice.attrs<SliceAttrs>().slice, [](const SliceRange& range) {
    return range.start == 0 && range.stride == 1;
  });
}

// Of the same elements in the same type, which a bitcast need not be.
bool IsView(const Instruction& x, Opcode opcode) {
  return x.opcode() == opcode && x.shape().element_type() == x.operand(0)->shape().element_type();
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

bool IsNarrowGemm(const Instruction& gemm) {
  return IsF8Gemm(gemm) && IsF8(gemm.shape().element_type());
}

bool MayBeOverwritten(const Instruction& x) {
  if (x.use_count() != 1 || x.is_root()) return false;
  if (x.opcode() != Opcode::kParameter) return true;
  return x.parent()->is_entry() &&
         AliasOfParameter(x.module(), x.parameter_number(), {}) != nullptr;
}

ProductView::ProductView(Instruction* value) : view_(value) {
  Instruction* from = value;
  if (IsView(*from, Opcode::kBitcast) && MayBeBetween(*from)) {
    bitcast_ = from;
    from = from->operand(0);
  }
  if (IsView(*from, Opcode::kSlice) && MayBeBetween(*from) && IsFirstPart(*from)) {
    slice_ = from;
    from = from->operand(0);
  }
  if (IsGemm(*from)) gemm_ = from;
}

bool ProductView::KeepsMinor(int64_t size) const {
  const Instruction& from = bitcast_ != nullptr ? *bitcast_->operand(0) : *view_;
  return from.shape().dims().back() == size && view_->shape().dims().back() == size;
}

absl::StatusOr<Instruction*> ProductView::Widened(Instruction* addend, Rewriter& b) const {
  const ElementType type = addend->shape().element_type();
  if (bitcast_ != nullptr)
    addend = b.Bitcast(addend, bitcast_->operand(0)->shape().WithElementType(type));
  ASSIGN_OR_RETURN(addend, WrittenOut(addend, b));
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

ProductElements::ProductElements(Instruction* value) : value_(value) {
  Instruction* from = value;
  for (const Opcode view : {Opcode::kBitcast, Opcode::kSlice}) {
    if (IsView(*from, view)) from = from->operand(0);
  }
  if (IsGemm(*from)) gemm_ = from;
}

bool ProductElements::is_only_reader() const {
  for (const Instruction* x = value_; x != gemm_; x = x->operand(0)) {
    if (x->operand(0)->use_count() != 1 || x->operand(0)->is_root()) return false;
  }
  return true;
}

bool ProductElements::has_control_edges() const {
  for (const Instruction* x = value_; x != gemm_; x = x->operand(0)) {
    if (x->has_control_edges()) return true;
  }
  return gemm_->has_control_edges();
}

Instruction* ProductElements::Of(Instruction* product) const {
  std::vector<Instruction*> views;
  for (Instruction* x = value_; x != gemm_; x = x->operand(0)) views.push_back(x);
  for (; !views.empty(); views.pop_back()) {
    const Instruction& view = *views.back();
    product = view.parent()->AddClone(view, view.shape(), {product});
    SetOrigin(product, nullptr);
  }
  return product;
}

}  // namespace hlo
