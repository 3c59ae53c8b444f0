// Shape rules of structure and control flow: tuples, calls, loops, branches, tokens, host
// transfers, asynchronous pairs.
#include "lib/ops/shape_helpers.h"

namespace hlo {
namespace {

// Whether parameter `p` of a callee has the shape of operand `i`.
absl::Status CheckPassed(const ShapeArgs& args, size_t callee, size_t p, int i) {
  ASSIGN_OR_RETURN(const Signature* signature, Callee(args, callee));
  const Shape passed = args.operand(i);
  if (Matches(signature->parameters[p], passed)) return absl::OkStatus();
  return args.Error("parameter {} of {} has shape `{}`, but `{}` has `{}`", p,
                    CalleeName(args, callee), signature->parameters[p], args.name(i), passed);
}

absl::Status CheckOperandsArePassed(const ShapeArgs& args) {
  RETURN_IF_ERROR(CheckParameterCount(args, 0, static_cast<size_t>(args.operand_count())));
  for (int i = 0; i < args.operand_count(); ++i) {
    RETURN_IF_ERROR(CheckPassed(args, 0, static_cast<size_t>(i), i));
  }
  return absl::OkStatus();
}

// Element `index` of operand 0, which must be a tuple of at least that size.
absl::StatusOr<Shape> OperandElement(const ShapeArgs& args, int64_t index) {
  const Shape operand = args.operand(0);
  if (!operand.IsTuple())
    return args.Error("`{}` has shape `{}`, expected a tuple", args.name(0), operand);
  if (index < 0 || index >= operand.element_count_of_tuple()) {
    return args.Error("element {} does not exist: `{}` has {} elements", index, args.name(0),
                      operand.element_count_of_tuple());
  }
  return operand.element(static_cast<int>(index));
}

// The opaque context of send, recv and copy-start.
Shape Context() { return Shape::Scalar(ElementType::kU32); }

// A declared tuple with the token at its end; the rule of infeed and recv gives all but element 0.
absl::StatusOr<Shape> DeclaredData(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const Shape declared, args.RequireDeclared());
  if (!declared.IsTuple() || declared.element_count_of_tuple() == 0) {
    return args.Error(
        "the result is declared as `{}`, expected a non-empty tuple that starts with the data",
        declared);
  }
  return declared.element(0);
}

// Element 0 holds operands bound so far, element 1 the result or `()`; contexts may follow.
absl::Status CheckAsyncTuple(const ShapeArgs& args, Shape shape, std::string_view what) {
  if (shape.IsTuple() && shape.element_count_of_tuple() >= 2 && shape.element(0).IsTuple())
    return absl::OkStatus();
  return args.Error(
      "{} has shape `{}`, expected a tuple of a tuple of operands, the result and contexts", what,
      shape);
}

// Whether `prefix` is `()` or the first leaves of `whole`, recursively.
bool IsPrefix(Shape prefix, Shape whole) {
  if (!prefix.IsTuple()) return Matches(prefix, whole);
  if (prefix.element_count_of_tuple() == 0) return true;
  if (!whole.IsTuple() || prefix.element_count_of_tuple() > whole.element_count_of_tuple())
    return false;
  for (int i = 0; i < prefix.element_count_of_tuple(); ++i) {
    if (!IsPrefix(prefix.element(i), whole.element(i))) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<Shape> TupleShape(const ShapeArgs& args) { return Shape::Tuple(args.operands()); }

absl::StatusOr<Shape> GetTupleElementShape(const ShapeArgs& args) {
  return OperandElement(args, args.attrs<GetTupleElementAttrs>().index);
}

absl::StatusOr<Shape> CallShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(CheckOperandsArePassed(args));
  return args.calls()[0].result;
}

// Operands that no parameter takes are let be, as XLA does.
absl::StatusOr<Shape> FusionShape(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const Signature* fused, Callee(args, 0));
  if (fused->parameters.size() > static_cast<size_t>(args.operand_count())) {
    return args.Error("{} has {} parameters, but there are {} operands", CalleeName(args, 0),
                      fused->parameters.size(), args.operand_count());
  }
  for (size_t i = 0; i < fused->parameters.size(); ++i) {
    RETURN_IF_ERROR(CheckPassed(args, 0, i, static_cast<int>(i)));
  }
  return AgreeWithDeclared(args, args.calls()[0].result);
}

// Whether the result of a turn can start the next one is not asked here.
absl::StatusOr<Shape> WhileShape(const ShapeArgs& args) {
  for (const size_t callee : {0, 1}) {
    RETURN_IF_ERROR(CheckParameterCount(args, callee, 1));
    RETURN_IF_ERROR(CheckPassed(args, callee, 0, 0));
  }
  const Shape condition = args.calls()[0].result;
  if (!condition.IsScalarOf(ElementType::kPred)) {
    return args.Error("{} returns `{}`, expected `pred[]`", CalleeName(args, 0), condition);
  }
  return args.calls()[1].result;
}

absl::StatusOr<Shape> ConditionalShape(const ShapeArgs& args) {
  const Shape selector = args.operand(0);
  const bool is_pred = selector.IsScalarOf(ElementType::kPred);
  if (!is_pred && !selector.IsScalarOf(ElementType::kS32)) {
    return args.Error("`{}` has shape `{}`, expected `pred[]` or `s32[]`", args.name(0), selector);
  }
  const size_t branches = args.calls().size();
  if (branches == 0) return args.Error("expected at least one branch");
  if (is_pred && branches != 2)
    return args.Error("found {} branches, expected 2 for a `pred[]` selector", branches);
  if (branches + 1 != static_cast<size_t>(args.operand_count())) {
    return args.Error("found {} branches, but {} branch operands", branches,
                      args.operand_count() - 1);
  }
  Shape result = args.calls()[0].result;
  for (size_t b = 0; b < branches; ++b) {
    const int operand = static_cast<int>(b) + 1;
    RETURN_IF_ERROR(CheckParameterCount(args, b, 1));
    RETURN_IF_ERROR(CheckPassed(args, b, 0, operand));
    const Shape other = args.calls()[b].result;
    if (!Matches(other, result)) {
      return args.Error("{} returns `{}`, but branch 0 returns `{}`", CalleeName(args, b), other,
                        result);
    }
    if (result.IsArray()) result = MergeDynamic(result, other);
  }
  return result;
}

absl::StatusOr<Shape> OptBarrierShape(const ShapeArgs& args) { return args.operand(0); }
absl::StatusOr<Shape> DomainShape(const ShapeArgs& args) { return args.operand(0); }

// Waits for anything.
absl::StatusOr<Shape> AfterAllShape(const ShapeArgs&) { return Shape::Token(); }

absl::StatusOr<Shape> AddDependencyShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(CheckToken(args, 1));
  return args.operand(0);
}

absl::StatusOr<Shape> InfeedShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(CheckToken(args, 0));
  ASSIGN_OR_RETURN(const Shape data, DeclaredData(args));
  return AgreeWithDeclared(args, Shape::Tuple({data, Shape::Token()}));
}

absl::StatusOr<Shape> OutfeedShape(const ShapeArgs& args) {
  RETURN_IF_ERROR(CheckToken(args, 1));
  const Shape outfeed = args.attrs<OutfeedAttrs>().outfeed_shape;
  if (!Matches(outfeed, args.operand(0))) {
    return args.Error("`outfeed_shape` is `{}`, but `{}` has shape `{}`", outfeed, args.name(0),
                      args.operand(0));
  }
  return Shape::Token();
}

absl::StatusOr<Shape> SendShape(const ShapeArgs& args) {
  return AgreeWithDeclared(args, Shape::Tuple({args.operand(0), Context(), Shape::Token()}));
}

absl::StatusOr<Shape> RecvShape(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const Shape data, DeclaredData(args));
  return AgreeWithDeclared(args, Shape::Tuple({data, Context(), Shape::Token()}));
}

absl::StatusOr<Shape> SendDoneShape(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const Shape token, OperandElement(args, 2));
  if (!token.IsToken()) {
    return args.Error("`{}` has shape `{}`, expected that of `send`: (data, u32[], token[])",
                      args.name(0), args.operand(0));
  }
  return Shape::Token();
}

absl::StatusOr<Shape> RecvDoneShape(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const Shape token, OperandElement(args, 2));
  if (!token.IsToken()) {
    return args.Error("`{}` has shape `{}`, expected that of `recv`: (data, u32[], token[])",
                      args.name(0), args.operand(0));
  }
  return Shape::Tuple({args.operand(0).element(0), Shape::Token()});
}

absl::StatusOr<Shape> CopyStartShape(const ShapeArgs& args) {
  return AgreeWithDeclared(args, Shape::Tuple({args.operand(0), args.operand(0), Context()}));
}

absl::StatusOr<Shape> CopyDoneShape(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const Shape source, OperandElement(args, 1));
  const Shape destination = args.operand(0).element(0);
  if (!Matches(source, destination)) {
    return args.Error("`{}` has shape `{}`, but copies between equal shapes", args.name(0),
                      args.operand(0));
  }
  return AgreeWithDeclared(args, destination);
}

absl::StatusOr<Shape> AsyncStartShape(const ShapeArgs& args) {
  ASSIGN_OR_RETURN(const Signature* wrapped, Callee(args, 0));
  if (static_cast<size_t>(args.operand_count()) > wrapped->parameters.size()) {
    return args.Error("found {} operands, but {} has only {} parameters", args.operand_count(),
                      CalleeName(args, 0), wrapped->parameters.size());
  }
  for (int i = 0; i < args.operand_count(); ++i) {
    RETURN_IF_ERROR(CheckPassed(args, 0, static_cast<size_t>(i), i));
  }
  const Shape bound = Shape::Tuple(args.operands());
  if (!args.declared().has_value()) return Shape::Tuple({bound, wrapped->result});
  const Shape declared = *args.declared();
  RETURN_IF_ERROR(CheckAsyncTuple(args, declared, "the result"));
  if (!Matches(declared.element(0), bound)) {
    return args.Error("element 0 of the result is `{}`, expected the operands' shapes `{}`",
                      declared.element(0), bound);
  }
  if (!IsPrefix(declared.element(1), wrapped->result)) {
    return args.Error("element 1 of the result is `{}`, but {} returns `{}`", declared.element(1),
                      CalleeName(args, 0), wrapped->result);
  }
  return declared;
}

absl::StatusOr<Shape> AsyncUpdateShape(const ShapeArgs& args) {
  const Shape before = args.operand(0);
  RETURN_IF_ERROR(CheckAsyncTuple(args, before, fmt::format("`{}`", args.name(0))));
  std::vector<Shape> bound(before.element(0).elements().begin(),
                           before.element(0).elements().end());
  for (int i = 1; i < args.operand_count(); ++i) bound.push_back(args.operand(i));
  const Shape now = Shape::Tuple(bound);
  if (!args.declared().has_value()) return before.WithElement(0, now);
  const Shape declared = *args.declared();
  RETURN_IF_ERROR(CheckAsyncTuple(args, declared, "the result"));
  if (!Matches(declared.element(0), now)) {
    return args.Error("element 0 of the result is `{}`, expected the operands bound so far `{}`",
                      declared.element(0), now);
  }
  if (!IsPrefix(before.element(1), declared.element(1))) {
    return args.Error("element 1 of the result is `{}`, which does not continue `{}` of `{}`",
                      declared.element(1), before.element(1), args.name(0));
  }
  return declared;
}

// Of an output that is not bound yet the computation has the shape (verify_async.cc).
absl::StatusOr<Shape> AsyncDoneShape(const ShapeArgs& args) {
  const Shape operand = args.operand(0);
  RETURN_IF_ERROR(CheckAsyncTuple(args, operand, fmt::format("`{}`", args.name(0))));
  if (!args.declared().has_value()) return operand.element(1);
  if (IsPrefix(operand.element(1), *args.declared())) return *args.declared();
  return args.Error("the result is `{}`, but element 1 of `{}` is `{}`", *args.declared(),
                    args.name(0), operand.element(1));
}

}  // namespace hlo
