// Calls of cuBLAS before they have a workspace, and how their products are read.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

// A call that yields the product alone.
bool IsGemm(const Instruction& x);
// By cublasLt, which knows epilogues.
bool IsLtGemm(const Instruction& gemm);
// Of f8, with scales.
bool IsF8Gemm(const Instruction& gemm);

// Whether a call may write over `x`: nobody else reads it, and no caller sees it.
bool MayBeOverwritten(const Instruction& x);

// A product that is read as it is, through a bitcast, as its first rows and columns, or both.
//
//   gemm        bitcast(gemm)        slice(gemm), slice={[0:a], [0:b]}        bitcast(slice(gemm))
class ProductView {
 public:
  // Of `value`; gemm() is null where it is none. What is between has no other reader.
  explicit ProductView(Instruction* value);

  Instruction* gemm() const { return gemm_; }
  bool is_whole() const { return view_ == gemm_; }
  bool is_bitcast() const { return bitcast_ != nullptr && slice_ == nullptr; }
  // What is read, in its own shape.
  Shape shape() const { return view_->shape(); }
  // Whether the last dimension of the view, of `size` elements, is that of the product, or its
  // first part.
  bool KeepsMinor(int64_t size) const;
  // What is added to the view, as what is added to the product: other elements are 0.
  Instruction* Widened(Instruction* addend, Rewriter& b) const;
  // The view of another product.
  Instruction* Of(Instruction* product, Rewriter& b) const;

 private:
  Instruction* gemm_ = nullptr;
  Instruction* slice_ = nullptr;
  Instruction* bitcast_ = nullptr;
  Instruction* view_;
};

}  // namespace hlo
