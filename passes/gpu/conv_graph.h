// What cuDNN does after a convolution of f8 in a call `__cudnn$convForwardGraph`, as text in its
// config:
//
//   "12:[f32]conv();15:[f32]scale(12);18:[f8e4m3fn]relu(15);20:[f32]amax(15);"
//
// An operation has a number, the type of its result, a name, and the numbers of the operations that
// it reads. What else they read are operands of the call, after the input and the filter, in the
// order of those who read them. Results of the call: the last operation that is no amax, the amaxes
// in order, and what the library works in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/gpu/library_config.h"

namespace hlo {

enum class ConvGraphStep : uint8_t {
  kConv,
  kAdd,       // x + operand, of the same shape
  kScale,     // x * operand, a scalar
  kInvScale,  // x / operand, a scalar
  kRelu,      // max(x, 0)
  kElu,       // x > 0 ? x : exp(x) - 1
  kMin,       // min(x, operand), a scalar
  kMax,       // max(x, y)
  kAmax,      // the largest magnitude, a scalar
};

struct ConvGraphOp {
  int64_t number = 0;
  ElementType type = ElementType::kF32;
  ConvGraphStep step = ConvGraphStep::kConv;
  std::vector<int64_t> reads;
};
using ConvGraph = std::vector<ConvGraphOp>;

// Types of results that the text knows.
bool IsConvGraphType(ElementType type);

// One operand of the call is read, beside other operations.
bool ReadsOperand(ConvGraphStep step);

std::string ToText(const ConvGraph& graph);
// It begins with a conv, the only one; each reads what stands before it. An error says what does
// not.
absl::StatusOr<ConvGraph> ParseConvGraph(std::string_view text);

// That of a call, which has as many operands as the graph reads.
absl::StatusOr<ConvGraph> ConvGraphOf(const Instruction& call, const ConvConfig& config);

}  // namespace hlo
