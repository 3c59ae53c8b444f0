// Typed construction of instructions with shape inference.
//
// An operation whose shapes do not fit makes no instruction: the first such error is kept in
// status() and the call returns its first operand, so that a chain of calls can be written without
// checks in between. The caller looks at status() at the end.
#pragma once

#include <string_view>

#include "absl/types/span.h"
#include "lib/ir/module.h"

namespace hlo {

class Builder {
 public:
  // In a computation; `origin`: as for set_origin.
  explicit Builder(Computation* computation, const Instruction* origin = nullptr)
      : computation_(computation), origin_(origin) {}
  // Beside `origin`, of which it is made.
  explicit Builder(const Instruction* origin) : Builder(origin->parent(), origin) {}
  const absl::Status& status() const { return status_; }
  Computation* computation() const { return computation_; }
  // Metadata and place of `like` are copied to every later instruction but parameters; null stops
  // that.
  void set_origin(const Instruction* like) { origin_ = like; }

  // Any opcode with the inferred shape.
  Instruction* Op(Opcode opcode, absl::Span<Instruction* const> operands, AttrsPtr attrs = {},
                  absl::Span<Computation* const> calls = {});
  // Any opcode with a given shape (checked against the rule).
  Instruction* OpWithShape(Opcode opcode, Shape shape, absl::Span<Instruction* const> operands,
                           AttrsPtr attrs = {}, absl::Span<Computation* const> calls = {});

  Instruction* Parameter(int64_t number, Shape shape, std::string_view name = {});
  Instruction* Constant(Literal literal);
  // A scalar constant of `type`.
  Instruction* ScalarConstant(ElementType type, double value);
  // A constant of the element type and dimensions of `like`: a scalar, broadcast when `like` has
  // dimensions.
  Instruction* ConstantLike(const Instruction* like, double value);
  Instruction* ZeroLike(const Instruction* like) { return ConstantLike(like, 0); }

  // A method for each opcode of one or two operands of one shape: Abs(x), Add(x, y).
#define HLO_UNARY(Name) \
  Instruction* Name(Instruction* x) { return Op(Opcode::k##Name, {x}); }
#define HLO_BINARY(Name) \
  Instruction* Name(Instruction* x, Instruction* y) { return Op(Opcode::k##Name, {x, y}); }
#define HLO_OTHER(Name)
#define HLO_METHOD_UnaryShape ~, HLO_UNARY
#define HLO_METHOD_CopyShape ~, HLO_UNARY
#define HLO_METHOD_BinaryShape ~, HLO_BINARY
#define HLO_METHOD_ComplexShape ~, HLO_BINARY
  // The second argument: HLO_OTHER unless the rule is one of those above, which puts one before it.
#define HLO_SECOND(first, second, ...) second
#define HLO_CHOOSE(...) HLO_SECOND(__VA_ARGS__)
#define HLO_OP(Name, text, operands, calls, attributes, shape_rule, ...) \
  HLO_CHOOSE(HLO_METHOD_##shape_rule, HLO_OTHER, ~)(Name)
#include "lib/ops/ops.def"
#undef HLO_CHOOSE
#undef HLO_SECOND
#undef HLO_METHOD_UnaryShape
#undef HLO_METHOD_CopyShape
#undef HLO_METHOD_BinaryShape
#undef HLO_METHOD_ComplexShape
#undef HLO_OTHER
#undef HLO_BINARY
#undef HLO_UNARY
  Instruction* Compare(Instruction* x, Instruction* y, ComparisonDirection direction);
  Instruction* Select(Instruction* pred, Instruction* on_true, Instruction* on_false);
  Instruction* Clamp(Instruction* min, Instruction* x, Instruction* max);
  Instruction* Convert(Instruction* x, ElementType type);
  Instruction* BitcastConvert(Instruction* x, Shape shape);
  Instruction* Broadcast(Instruction* x, absl::Span<const int64_t> sizes,
                         absl::Span<const int64_t> dimensions);
  Instruction* Reshape(Instruction* x, absl::Span<const int64_t> sizes);
  Instruction* Bitcast(Instruction* x, Shape shape);
  Instruction* Transpose(Instruction* x, absl::Span<const int64_t> permutation);
  Instruction* Reverse(Instruction* x, absl::Span<const int64_t> dimensions);
  Instruction* Slice(Instruction* x, absl::Span<const int64_t> starts,
                     absl::Span<const int64_t> limits, absl::Span<const int64_t> strides = {});
  Instruction* DynamicSlice(Instruction* x, absl::Span<Instruction* const> starts,
                            absl::Span<const int64_t> sizes);
  Instruction* DynamicUpdateSlice(Instruction* x, Instruction* update,
                                  absl::Span<Instruction* const> starts);
  Instruction* Concatenate(absl::Span<Instruction* const> operands, int64_t dimension);
  Instruction* Pad(Instruction* x, Instruction* value, PaddingConfig padding);
  Instruction* Iota(Shape shape, int64_t dimension);
  Instruction* Tuple(absl::Span<Instruction* const> elements);
  Instruction* GetTupleElement(Instruction* tuple, int64_t index);
  Instruction* Dot(Instruction* lhs, Instruction* rhs, DotAttrs attrs);
  Instruction* Reduce(Instruction* x, Instruction* init, absl::Span<const int64_t> dimensions,
                      Computation* to_apply);
  Instruction* While(Instruction* init, Computation* condition, Computation* body);
  Instruction* Call(absl::Span<Instruction* const> operands, Computation* callee);
  Instruction* Fusion(Shape shape, FusionKind kind, absl::Span<Instruction* const> operands,
                      Computation* fused);

 private:
  Instruction* Finish(Instruction* instruction);
  Computation* computation_;
  const Instruction* origin_ = nullptr;
  absl::Status status_;
};

// The scalar computation `(x, y) -> opcode(x, y)` of `module` for reduce and friends; made once per
// opcode and type.
Computation* ScalarComputation(Module& module, Opcode opcode, ElementType type);

}  // namespace hlo
