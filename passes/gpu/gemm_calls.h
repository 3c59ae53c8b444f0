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
// That rounds what it computes to f8, scaled: what follows cannot be done before.
bool IsNarrowGemm(const Instruction& gemm);

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
  // What is added to the view, as what is added to the product: other elements are 0. A constant
  // that is repeated there is written out (bias_constants.h).
  absl::StatusOr<Instruction*> Widened(Instruction* addend, Rewriter& b) const;
  // The view of another product.
  Instruction* Of(Instruction* product, Rewriter& b) const;

 private:
  Instruction* gemm_ = nullptr;
  Instruction* slice_ = nullptr;
  Instruction* bitcast_ = nullptr;
  Instruction* view_;
};

// Elements of a product, for what is done to each of them: `value` is the product, a bitcast, any
// slice, or a bitcast of a slice of it.
class ProductElements {
 public:
  explicit ProductElements(Instruction* value);

  Instruction* gemm() const { return gemm_; }  // null: there is none
  // Whether nobody reads the product, or what is between, but what reads `value`.
  bool is_only_reader() const;
  bool has_control_edges() const;
  // These elements of another product, in the type of `value`.
  Instruction* Of(Instruction* product) const;

 private:
  Instruction* value_;
  Instruction* gemm_ = nullptr;
};

}  // namespace hlo
