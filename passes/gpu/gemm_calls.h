// Calls of cuBLAS before they have a workspace, and how their products are read.
#pragma once

#include "passes/rewrite.h"

namespace hlo {

// A call that yields the product alone.
bool IsGemm(const Instruction& x);
// By cublasLt, which knows epilogues.
bool IsLtGemm(const Instruction& gemm);

// Whether a call may write over `x`: nobody else reads it, and no caller sees it.
bool MayBeOverwritten(const Instruction& x);

// A product that is read as it is, through a bitcast, or as its first rows and columns.
//
//   gemm        bitcast(gemm)        slice(gemm), slice={[0:a], [0:b]}
class ProductView {
 public:
  // Of `value`; gemm() is null where it is none. What is between has no other reader.
  explicit ProductView(Instruction* value);

  Instruction* gemm() const { return gemm_; }
  bool is_whole() const { return view_ == gemm_; }
  bool is_slice() const { return view_->opcode() == Opcode::kSlice; }
  // What is added to the view, as what is added to the product: other elements are 0.
  Instruction* Widened(Instruction* addend, Rewriter& b) const;
  // The view of another product.
  Instruction* Of(Instruction* product, Rewriter& b) const;

 private:
  Instruction* gemm_ = nullptr;
  Instruction* view_;
};

}  // namespace hlo
