#include "lib/ir/builder.h"

#include "lib/ops/shape_rules.h"
#include "lib/support/diagnostic.h"
#include "lib/support/round.h"

namespace hlo {
namespace {

std::vector<Shape> ShapesOf(absl::Span<Instruction* const> operands) {
  std::vector<Shape> shapes;
  shapes.reserve(operands.size());
  for (const Instruction* operand : operands) shapes.push_back(operand->shape());
  return shapes;
}

std::vector<Signature> SignaturesOf(absl::Span<Computation* const> calls) {
  std::vector<Signature> signatures;
  for (const Computation* call : calls) signatures.push_back(call->signature());
  return signatures;
}

DimVec ToDims(absl::Span<const int64_t> span) { return DimVec(span.begin(), span.end()); }

}  // namespace

Instruction* Builder::Finish(Instruction* instruction) {
  if (origin_ != nullptr) {
    instruction->set_loc(origin_->loc());
    if (origin_->metadata() != OpMetadata()) instruction->set_metadata(origin_->metadata());
  }
  return instruction;
}

Instruction* Builder::OpWithShape(Opcode opcode, Shape shape,
                                  absl::Span<Instruction* const> operands, AttrsPtr attrs,
                                  absl::Span<Computation* const> calls) {
  if (!attrs) attrs = Info(opcode).default_attrs();
  const std::vector<Shape> shapes = ShapesOf(operands);
  const std::vector<Signature> signatures = SignaturesOf(calls);
  const absl::StatusOr<Shape> inferred =
      InferShape(ShapeArgs(opcode, shapes, attrs, signatures, shape));
  if (!inferred.ok()) {
    if (status_.ok()) {
      status_ =
          origin_ == nullptr ? inferred.status() : AddLocation(inferred.status(), origin_->loc());
    }
    return operands.empty() ? Finish(computation_->AddConstant(Literal::Zero(ElementType::kF32)))
                            : operands[0];
  }
  return Finish(computation_->Add(opcode, shape, operands, std::move(attrs), calls));
}

Instruction* Builder::Op(Opcode opcode, absl::Span<Instruction* const> operands, AttrsPtr attrs,
                         absl::Span<Computation* const> calls) {
  if (!attrs) attrs = Info(opcode).default_attrs();
  const std::vector<Shape> shapes = ShapesOf(operands);
  const std::vector<Signature> signatures = SignaturesOf(calls);
  const absl::StatusOr<Shape> inferred = InferShape(ShapeArgs(opcode, shapes, attrs, signatures));
  if (!inferred.ok()) {
    if (status_.ok()) {
      status_ =
          origin_ == nullptr ? inferred.status() : AddLocation(inferred.status(), origin_->loc());
    }
    return operands.empty() ? Finish(computation_->AddConstant(Literal::Zero(ElementType::kF32)))
                            : operands[0];
  }
  return Finish(computation_->Add(opcode, *inferred, operands, std::move(attrs), calls));
}

Instruction* Builder::Parameter(int64_t number, Shape shape, std::string_view name) {
  return computation_->AddParameter(number, shape, name);
}

Instruction* Builder::Constant(Literal literal) {
  return Finish(computation_->AddConstant(std::move(literal)));
}

Instruction* Builder::ScalarConstant(ElementType type, double value) {
  // s1 has the bit of 1, which counts as -1, and no number 1.
  return Constant(value == 1 ? Literal::One(type) : Literal::Filled(Shape::Scalar(type), value));
}

Instruction* Builder::ConstantLike(const Instruction* like, double value) {
  Instruction* scalar = ScalarConstant(like->shape().element_type(), value);
  return like->shape().rank() == 0 ? scalar
                                   : OpWithShape(Opcode::kBroadcast, like->shape(), {scalar});
}

Instruction* Builder::Compare(Instruction* x, Instruction* y, ComparisonDirection direction) {
  return Op(Opcode::kCompare, {x, y}, AttrsPtr::Make(CompareAttrs{direction, std::nullopt}));
}

Instruction* Builder::Select(Instruction* pred, Instruction* on_true, Instruction* on_false) {
  return Op(Opcode::kSelect, {pred, on_true, on_false});
}

Instruction* Builder::Clamp(Instruction* min, Instruction* x, Instruction* max) {
  return Op(Opcode::kClamp, {min, x, max});
}

Instruction* Builder::Convert(Instruction* x, ElementType type) {
  if (x->shape().element_type() == type) return x;
  return OpWithShape(Opcode::kConvert, x->shape().WithElementType(type), {x});
}

Instruction* Builder::BitcastConvert(Instruction* x, Shape shape) {
  return OpWithShape(Opcode::kBitcastConvert, shape, {x});
}

Instruction* Builder::Broadcast(Instruction* x, absl::Span<const int64_t> sizes,
                                absl::Span<const int64_t> dimensions) {
  return OpWithShape(Opcode::kBroadcast, Shape::Array(x->shape().element_type(), sizes), {x},
                     AttrsPtr::Make(BroadcastAttrs{ToDims(dimensions)}));
}

Instruction* Builder::Reshape(Instruction* x, absl::Span<const int64_t> sizes) {
  return OpWithShape(Opcode::kReshape, Shape::Array(x->shape().element_type(), sizes), {x});
}

Instruction* Builder::Bitcast(Instruction* x, Shape shape) {
  return OpWithShape(Opcode::kBitcast, shape, {x});
}

Instruction* Builder::Transpose(Instruction* x, absl::Span<const int64_t> permutation) {
  // A list that is no permutation is left to the rule to complain about.
  const bool sound = IsPermutation(permutation, x->shape().rank());
  const Shape shape =
      sound ? Shape::Array(x->shape().element_type(), Permute(x->shape().dims(), permutation))
            : x->shape();
  return OpWithShape(Opcode::kTranspose, shape, {x},
                     AttrsPtr::Make(TransposeAttrs{ToDims(permutation)}));
}

Instruction* Builder::Reverse(Instruction* x, absl::Span<const int64_t> dimensions) {
  return Op(Opcode::kReverse, {x}, AttrsPtr::Make(ReverseAttrs{ToDims(dimensions)}));
}

Instruction* Builder::Slice(Instruction* x, absl::Span<const int64_t> starts,
                            absl::Span<const int64_t> limits, absl::Span<const int64_t> strides) {
  SliceAttrs attrs;
  DimVec dims;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t stride = strides.empty() ? 1 : strides[i];
    attrs.slice.push_back({starts[i], limits[i], stride});
    dims.push_back(stride <= 0 ? 0 : CeilDiv(limits[i] - starts[i], stride));
  }
  return OpWithShape(Opcode::kSlice, Shape::Array(x->shape().element_type(), dims), {x},
                     AttrsPtr::Make(std::move(attrs)));
}

Instruction* Builder::DynamicSlice(Instruction* x, absl::Span<Instruction* const> starts,
                                   absl::Span<const int64_t> sizes) {
  std::vector<Instruction*> operands = {x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return OpWithShape(Opcode::kDynamicSlice, Shape::Array(x->shape().element_type(), sizes),
                     operands, AttrsPtr::Make(DynamicSliceAttrs{ToDims(sizes)}));
}

Instruction* Builder::DynamicUpdateSlice(Instruction* x, Instruction* update,
                                         absl::Span<Instruction* const> starts) {
  std::vector<Instruction*> operands = {x, update};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return OpWithShape(Opcode::kDynamicUpdateSlice, x->shape(), operands);
}

Instruction* Builder::Concatenate(absl::Span<Instruction* const> operands, int64_t dimension) {
  return Op(Opcode::kConcatenate, operands, AttrsPtr::Make(ConcatenateAttrs{BracedDim{dimension}}));
}

Instruction* Builder::Pad(Instruction* x, Instruction* value, PaddingConfig padding) {
  return Op(Opcode::kPad, {x, value}, AttrsPtr::Make(PadAttrs{std::move(padding)}));
}

Instruction* Builder::Iota(Shape shape, int64_t dimension) {
  return OpWithShape(Opcode::kIota, shape, {}, AttrsPtr::Make(IotaAttrs{dimension}));
}

Instruction* Builder::Tuple(absl::Span<Instruction* const> elements) {
  return Op(Opcode::kTuple, elements);
}

Instruction* Builder::GetTupleElement(Instruction* tuple, int64_t index) {
  return Op(Opcode::kGetTupleElement, {tuple}, AttrsPtr::Make(GetTupleElementAttrs{index}));
}

Instruction* Builder::Dot(Instruction* lhs, Instruction* rhs, DotAttrs attrs) {
  return Op(Opcode::kDot, {lhs, rhs}, AttrsPtr::Make(std::move(attrs)));
}

Instruction* Builder::Reduce(Instruction* x, Instruction* init,
                             absl::Span<const int64_t> dimensions, Computation* to_apply) {
  return Op(Opcode::kReduce, {x, init}, AttrsPtr::Make(ReduceAttrs{ToDims(dimensions)}),
            {to_apply});
}

Instruction* Builder::While(Instruction* init, Computation* condition, Computation* body) {
  return Op(Opcode::kWhile, {init}, {}, {condition, body});
}

Instruction* Builder::Call(absl::Span<Instruction* const> operands, Computation* callee) {
  return Op(Opcode::kCall, operands, {}, {callee});
}

Instruction* Builder::Fusion(Shape shape, FusionKind kind, absl::Span<Instruction* const> operands,
                             Computation* fused) {
  return OpWithShape(Opcode::kFusion, shape, operands, AttrsPtr::Make(FusionAttrs{kind, {}}),
                     {fused});
}

Computation* ScalarComputation(Module& module, Opcode opcode, ElementType type) {
  const std::string name = fmt::format("{}_{}", Text(opcode), Text(type));
  if (Computation* existing = module.FindComputation(name)) {
    const Instruction* root = existing->root();
    if (root != nullptr && root->opcode() == opcode && existing->parameter_count() == 2 &&
        root->operand(0) == existing->parameter(0) && root->operand(1) == existing->parameter(1)) {
      return existing;
    }
  }
  Computation* computation = module.AddComputation(name);
  // Callees stand before their callers in creation order.
  if (module.entry() != nullptr) module.MoveToFront(computation, module.computations().front());
  Builder b(computation);
  Instruction* x = b.Parameter(0, Shape::Scalar(type), "x");
  Instruction* y = b.Parameter(1, Shape::Scalar(type), "y");
  computation->set_root(b.Op(opcode, {x, y}));
  return computation;
}

}  // namespace hlo
