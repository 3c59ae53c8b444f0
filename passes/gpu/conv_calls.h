// Calls of forward convolutions of cuDNN, and how their results are read and changed.
#pragma once

#include <optional>
#include <vector>

#include "passes/gpu/library_config.h"
#include "passes/rewrite.h"

namespace hlo {

// What is read of a call: get-tuple-element(call), index=0.
struct ConvCallValue {
  Instruction* value;
  Instruction* call;
  LibraryConfig<ConvConfig> config;

  ElementType type() const { return value->shape().element_type(); }
  // Each input feature is convolved by itself.
  bool IsDepthwise() const;
  int64_t output_feature() const;
  bool HasBias() const;  // one that is not 0
};

// Of `x`; nothing where it is no value of a forward call that nobody else reads. A config that
// cannot be read is an error.
absl::StatusOr<std::optional<ConvCallValue>> ConvCallValueAt(Instruction* x);
// The same where `users` instructions read `x`, and no caller.
absl::StatusOr<std::optional<ConvCallValue>> ConvCallValueOf(Instruction* x, size_t users = 1);

// A call like `conv`, with these operands and what its config says now, whose value is of `type`.
// With more than two operands, an activation or a scale it is a convBiasActivationForward, with
// zeros for a bias that is not given.
Instruction* ConvCallLike(const ConvCallValue& conv, std::vector<Instruction*> operands,
                          ElementType type, Rewriter& b);

}  // namespace hlo
