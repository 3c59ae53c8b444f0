// Shape inference: what an opcode's result looks like, given its operands, attributes and called
// computations. One function per rule name of ops.def, defined in shape_<family>.cc.
//
// A rule serves three callers. The builder asks for the result. The parser asks for it when the
// text leaves the shape out. The verifier passes the declared shape as well: rules of opcodes whose
// text must give the shape check `declared()` and return it (with its layout); other rules ignore
// it, and the verifier compares. Messages name the operand and the numbers.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "lib/ops/attrs.h"
#include "lib/ops/ops.h"
#include "lib/support/status.h"

namespace hlo {

// Parameters and result of a called computation.
struct Signature {
  std::vector<Shape> parameters;
  Shape result;
  std::string name;
};

class ShapeArgs {
 public:
  ShapeArgs(Opcode opcode, absl::Span<const Shape> operands, const AttrsPtr& attrs,
            absl::Span<const Signature> calls = {}, std::optional<Shape> declared = std::nullopt)
      : opcode_(opcode), operands_(operands), attrs_(attrs), calls_(calls), declared_(declared) {}

  Opcode opcode() const { return opcode_; }
  int operand_count() const { return static_cast<int>(operands_.size()); }
  const Shape& operand(int i) const { return operands_[i]; }
  absl::Span<const Shape> operands() const { return operands_; }
  template <class A>
  const A& attrs() const {
    return attrs_.Get<A>();
  }
  absl::Span<const Signature> calls() const { return calls_; }
  // The shape in the text, when there is one.
  const std::optional<Shape>& declared() const { return declared_; }
  // Name of operand i, "lhs"; inputs and initial values of reductions are told apart by the number
  // of operands.
  std::string name(int i) const;

  template <class... Args>
  absl::Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return MakeShapeError(fmt::format(format, std::forward<Args>(args)...));
  }

  // Common checks; each message names the operand, what was seen and what was expected.
  absl::Status CheckArray(int i) const;
  absl::Status CheckScalar(int i) const;
  absl::Status CheckRank(int i, int rank) const;
  absl::Status CheckSameElementType(int i, int j) const;  // exact
  absl::Status CheckSameDimensions(int i, int j) const;
  absl::Status CheckIntegerScalar(int i) const;
  absl::Status CheckDimension(std::string_view what, int64_t dimension,
                              int64_t rank) const;  // in [0, rank)
  absl::Status CheckDistinctDimensions(std::string_view what, absl::Span<const int64_t> dims,
                                       int64_t rank) const;
  // The declared shape; an error if it is missing.
  absl::StatusOr<Shape> RequireDeclared() const;

 private:
  absl::Status MakeShapeError(std::string message) const;  // prefixed by "`opcode`: "
  Opcode opcode_;
  absl::Span<const Shape> operands_;
  const AttrsPtr& attrs_;
  absl::Span<const Signature> calls_;
  std::optional<Shape> declared_;
};

// Applies the opcode's rule after checking the operand count.
absl::StatusOr<Shape> InferShape(const ShapeArgs& args);
// Operand count against the table: "`add` expects 2 operands (lhs, rhs), found 3".
absl::Status CheckOperandCount(Opcode opcode, int count);

#define HLO_OP(Name, text, operands, calls, attributes, shape_rule, ...) \
  absl::StatusOr<Shape> shape_rule(const ShapeArgs& args);
#include "lib/ops/ops.def"

}  // namespace hlo
