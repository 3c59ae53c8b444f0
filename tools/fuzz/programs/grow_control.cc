// Computations in computations: calls, fusions, loops, branches, maps, asynchronous calls.
#include "lib/ops/attrs.h"
#include "tools/fuzz/programs/rows.h"

namespace hlo {
namespace {

// Up to `most` arrays for a computation to work on.
std::vector<Instruction*> SomeValues(Sketch& s, size_t most) {
  std::vector<Instruction*> values;
  for (size_t i = 1 + s.random().Below(most); i > 0; --i) values.push_back(s.Any());
  return values;
}

Computation* Body(Sketch& s, std::string_view name, absl::Span<const Shape> parameters, size_t rows,
                  Shape result) {
  Computation* body = s.module().AddComputation(name);
  Sketch inner(s.module(), body, s.palette(), s.random(), s.depth() + 1);
  for (const Shape& shape : parameters)
    inner.Keep(body->AddParameter(body->parameter_count(), shape));
  GrowSome(inner, rows);
  inner.CloseAs(result);
  return body;
}

std::vector<Shape> ShapesOf(const std::vector<Instruction*>& values) {
  std::vector<Shape> shapes;
  for (const Instruction* value : values) shapes.push_back(value->shape());
  return shapes;
}

void GrowCall(Sketch& s) {
  if (!s.MayNest()) return;
  const std::vector<Instruction*> values = SomeValues(s, 3);
  Computation* body = Body(s, "callee", ShapesOf(values), 1 + s.random().Below(4),
                           s.random().Pick(values)->shape());
  if (s.random().OneIn(2)) {
    // As an asynchronous call, which is over at once or later.
    AsyncAttrs attrs;
    const std::vector<Shape> operands = ShapesOf(values);
    const Shape chain = Shape::Tuple(
        {Shape::Tuple(operands), body->root()->shape(), Shape::Scalar(ElementType::kU32)});
    Builder b(s.computation());
    // The last operand may come late.
    const size_t bound = values.size() - (s.random().OneIn(3) ? 1 : 0);
    const absl::Span<Instruction* const> all = values;
    Instruction* start = nullptr;
    if (bound == values.size()) {
      start = b.OpWithShape(Opcode::kAsyncStart, chain, values, AttrsPtr::Make(attrs), {body});
    } else {
      const Shape begun = Shape::Tuple({Shape::Tuple(absl::MakeConstSpan(operands).first(bound)),
                                        Shape::Tuple({}), Shape::Scalar(ElementType::kU32)});
      start = b.OpWithShape(Opcode::kAsyncStart, begun, all.first(bound), AttrsPtr::Make(attrs),
                            {body});
      start =
          b.OpWithShape(Opcode::kAsyncUpdate, chain, {start, values.back()}, AttrsPtr::Make(attrs));
    }
    if (!b.status().ok()) return;
    s.Make([&](Builder& done) {
      return done.OpWithShape(Opcode::kAsyncDone, body->root()->shape(), {start},
                              AttrsPtr::Make(attrs));
    });
    return;
  }
  s.Make([&](Builder& b) { return b.Call(values, body); });
}

// A loop of a few rounds over some arrays.
void GrowWhile(Sketch& s) {
  if (!s.MayNest()) return;
  std::vector<Instruction*> state = SomeValues(s, 3);
  const Shape counter = Shape::Scalar(ElementType::kS32);
  const std::vector<Shape> parts = [&] {
    std::vector<Shape> shapes = ShapesOf(state);
    shapes.insert(shapes.begin(), counter);
    return shapes;
  }();
  const Shape all = Shape::Tuple(parts);
  Computation* condition = s.module().AddComputation("condition");
  {
    Builder b(condition);
    Instruction* limit = condition->AddConstant(
        Literal::Scalar(ElementType::kS32, static_cast<int64_t>(s.random().Below(6))));
    condition->set_root(
        b.Compare(b.GetTupleElement(b.Parameter(0, all), 0), limit, ComparisonDirection::kLt));
  }
  Computation* body = s.module().AddComputation("body");
  {
    Sketch inner(s.module(), body, s.palette(), s.random(), s.depth() + 1);
    Builder b(body);
    Instruction* parameter = b.Parameter(0, all);
    Instruction* i = b.GetTupleElement(parameter, 0);
    std::vector<Instruction*> values;
    for (size_t k = 1; k < parts.size(); ++k) {
      values.push_back(b.GetTupleElement(parameter, static_cast<int64_t>(k)));
      inner.Keep(values.back());
    }
    inner.Keep(i);
    GrowSome(inner, 1 + s.random().Below(4));
    // Some of the state changes, some trades places, some stays.
    for (size_t k = 0; k < values.size(); ++k) {
      if (s.random().OneIn(3)) continue;
      Instruction* next =
          inner.AnyWhere([&](const Instruction& v) { return Compatible(v.shape(), parts[k + 1]); });
      if (next != nullptr) values[k] = next;
    }
    values.insert(values.begin(), b.Add(i, body->AddConstant(Literal::One(ElementType::kS32))));
    body->set_root(b.Tuple(values));
    if (!b.status().ok()) return;
  }
  state.insert(state.begin(), s.computation()->AddConstant(Literal::Zero(ElementType::kS32)));
  Builder b(s.computation());
  Instruction* loop = b.While(b.Tuple(state), condition, body);
  if (!b.status().ok()) return;
  for (size_t k = 0; k < state.size(); ++k)
    s.Make([&](Builder& e) { return e.GetTupleElement(loop, static_cast<int64_t>(k)); });
}

void GrowConditional(Sketch& s) {
  if (!s.MayNest()) return;
  const bool two_way = s.random().OneIn(2);
  const size_t branches = two_way ? 2 : 1 + s.random().Below(3);
  const Shape result = s.Any()->shape();
  std::vector<Instruction*> operands = {s.Scalar(two_way ? ElementType::kPred : ElementType::kS32)};
  std::vector<Computation*> bodies;
  for (size_t i = 0; i < branches; ++i) {
    Instruction* operand = s.Any();
    operands.push_back(operand);
    bodies.push_back(Body(s, "branch", {operand->shape()}, 1 + s.random().Below(3), result));
  }
  s.Op(Opcode::kConditional, operands, {}, bodies);
}

void GrowMap(Sketch& s) {
  Instruction* x = s.Any();
  const ElementType type = x->shape().element_type();
  Computation* body = s.module().AddComputation("mapped");
  const std::vector<Instruction*> operands(1 + s.random().Below(2), x);
  {
    Builder b(body);
    Instruction* result = b.Parameter(0, Shape::Scalar(type));
    for (size_t i = 1; i < operands.size(); ++i) {
      Instruction* other = b.Parameter(static_cast<int64_t>(i), Shape::Scalar(type));
      result = IsPred(type) ? b.Xor(result, other) : b.Multiply(result, other);
    }
    body->set_root(IsPred(type) ? b.Not(result) : b.Add(result, result));
    if (!b.status().ok()) return;
  }
  MapAttrs attrs;
  for (int64_t d = 0; d < x->shape().rank(); ++d) attrs.dimensions.push_back(d);
  s.Op(Opcode::kMap, operands, AttrsPtr::Make(attrs), {body});
}

void GrowRandomBits(Sketch& s) {
  const auto drawn = [](ElementType type) { return IsFloat(type) || IsInteger(type); };
  const ElementType type =
      s.random().OneIn(2) ? ElementType::kU32 : s.TypeWhere(drawn, ElementType::kU64);
  const bool threefry = s.random().OneIn(2);
  Instruction* state = s.Value(Shape::Array(ElementType::kU64, {threefry ? 2 : 3}));
  const Shape bits = Shape::Array(type, s.Dims());
  if (bits.element_count() > s.palette().max_elements) return;
  Builder b(s.computation());
  Instruction* both =
      b.OpWithShape(Opcode::kRngBitGenerator, Shape::Tuple({state->shape(), bits}), {state},
                    AttrsPtr::Make(RngBitGeneratorAttrs{threefry ? RngAlgorithm::kThreeFry
                                                                 : RngAlgorithm::kPhilox}));
  if (!b.status().ok()) return;
  for (int64_t i = 0; i < 2; ++i) s.Make([&](Builder& e) { return e.GetTupleElement(both, i); });
}

// Uniform numbers between two constants; normal ones of floats.
void GrowRandomNumbers(Sketch& s) {
  const auto drawn = [](ElementType type) { return IsFloat(type) || IsInteger(type); };
  const ElementType type = s.TypeWhere(drawn, ElementType::kF32);
  const bool normal = IsFloat(type) && s.random().OneIn(3);
  Instruction *first = s.Scalar(type), *second = s.Scalar(type);
  const Shape shape = Shape::Array(type, s.Dims());
  const RngAttrs attrs = {.distribution =
                              normal ? RngDistribution::kNormal : RngDistribution::kUniform};
  s.Make([&](Builder& b) {
    return b.OpWithShape(Opcode::kRng, shape, {first, second}, AttrsPtr::Make(attrs));
  });
}

// A counter of the module that goes on from one to the next.
void GrowRandomState(Sketch& s) {
  const Shape state = Shape::Array(ElementType::kU64, {2});
  const auto delta = static_cast<int64_t>(s.random().Small(100));
  s.Make([&](Builder& b) {
    return b.OpWithShape(Opcode::kRngGetAndUpdateState, state, {},
                         AttrsPtr::Make(RngGetAndUpdateStateAttrs{delta}));
  });
}

constexpr GrowRow kControlRows[] = {
    {"call", 3, GrowCall},
    {"while", 3, GrowWhile},
    {"conditional", 2, GrowConditional},
    {"map", 1, GrowMap},
    {"rng-bit-generator", 1, GrowRandomBits},
    {"rng", 1, GrowRandomNumbers},
    {"rng-get-and-update-state", 1, GrowRandomState},
};

}  // namespace

std::span<const GrowRow> ControlRows() { return kControlRows; }

}  // namespace hlo
