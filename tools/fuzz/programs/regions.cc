#include "tools/fuzz/programs/regions.h"

#include "lib/ir/builder.h"
#include "tools/fuzz/programs/computed_types.h"

namespace hlo {

Opcode RandomReducer(FuzzRandom& random, ElementType type) {
  static const std::vector<Opcode> kFloat = {Opcode::kAdd,     Opcode::kAdd,     Opcode::kAdd,
                                             Opcode::kMaximum, Opcode::kMaximum, Opcode::kMinimum,
                                             Opcode::kMinimum, Opcode::kMultiply};
  static const std::vector<Opcode> kInteger = {
      Opcode::kAdd,      Opcode::kAdd, Opcode::kMaximum, Opcode::kMinimum,
      Opcode::kMultiply, Opcode::kAnd, Opcode::kOr,      Opcode::kXor};
  static const std::vector<Opcode> kBool = {Opcode::kAnd, Opcode::kOr};
  static const std::vector<Opcode> kComplexOps = {Opcode::kAdd};
  return random.Pick(IsPred(type)      ? kBool
                     : IsFloat(type)   ? kFloat
                     : IsComplex(type) ? kComplexOps
                                       : kInteger);
}

Literal StartOf(Opcode reducer, ElementType type) {
  // The smallest number of f8e8m0fnu is denormal in f32, in which it is computed: a platform that
  // flushes makes zero of it, and there is none.
  if (reducer == Opcode::kMaximum && type == ElementType::kF8E8M0FNU)
    return Literal::Scalar(type, 0x1p-120);
  if (reducer == Opcode::kMaximum) return Literal::MinValue(type);
  if (reducer == Opcode::kMinimum) return Literal::MaxValue(type);
  if (reducer == Opcode::kMultiply) return Literal::One(type);
  if (reducer == Opcode::kAnd) {
    Literal ones = Literal::Zero(type);
    ones.SetInt(0, IsPred(type) ? 1 : -1);
    return ones;
  }
  return Literal::Zero(type);
}

Computation* ArgRegion(Module& module, ElementType type, bool largest, bool breaks_ties) {
  Computation* region = module.AddComputation("choose");
  Builder b(region);
  Instruction* x = b.Parameter(0, Shape::Scalar(type));
  Instruction* i = b.Parameter(1, Shape::Scalar(ElementType::kS32));
  Instruction* y = b.Parameter(2, Shape::Scalar(type));
  Instruction* j = b.Parameter(3, Shape::Scalar(ElementType::kS32));
  Instruction* first =
      b.Compare(x, y, largest ? ComparisonDirection::kGe : ComparisonDirection::kLe);
  Instruction* place = first;
  if (breaks_ties) {
    Instruction* strictly =
        b.Compare(x, y, largest ? ComparisonDirection::kGt : ComparisonDirection::kLt);
    Instruction* equal = b.Compare(x, y, ComparisonDirection::kEq);
    Instruction* earlier = b.Compare(i, j, ComparisonDirection::kLt);
    place = b.Or(strictly, b.And(equal, earlier));
    if (IsFloat(type)) {  // the first NaN wins, as frontends have it
      Instruction* is_nan = b.Compare(x, x, ComparisonDirection::kNe);
      first = b.Or(first, is_nan);
      place = b.Or(place, is_nan);
    }
  }
  region->set_root(b.Tuple({b.Select(first, x, y), b.Select(place, i, j)}));
  return region;
}

Computation* PairRegion(Module& module, Opcode first, ElementType first_type, Opcode second,
                        ElementType second_type) {
  Computation* region = module.AddComputation("pair");
  Builder b(region);
  Instruction* x0 = b.Parameter(0, Shape::Scalar(first_type));
  Instruction* y0 = b.Parameter(1, Shape::Scalar(second_type));
  Instruction* x1 = b.Parameter(2, Shape::Scalar(first_type));
  Instruction* y1 = b.Parameter(3, Shape::Scalar(second_type));
  region->set_root(b.Tuple({b.Op(first, {x0, x1}), b.Op(second, {y0, y1})}));
  return region;
}

Computation* TupleOfOneRegion(Module& module, Opcode reducer, ElementType type) {
  Computation* region = module.AddComputation("tuple_of_one");
  Builder b(region);
  Instruction* x = b.Parameter(0, Shape::Scalar(type));
  Instruction* y = b.Parameter(1, Shape::Scalar(type));
  region->set_root(b.Tuple({b.Op(reducer, {x, y})}));
  return region;
}

Computation* SeveralRegion(Module& module, FuzzRandom& random, ElementType type) {
  Computation* region = module.AddComputation("several");
  Builder b(region);
  Instruction* so_far = b.Parameter(0, Shape::Scalar(type));
  Instruction* element = b.Parameter(1, Shape::Scalar(type));
  const std::vector<Opcode>& unary = UnaryOpcodes(type);
  Instruction* made = IsPred(type) ? b.Not(element) : b.Op(random.Pick(unary), {element});
  if (made->shape() != element->shape()) made = element;
  Instruction* first = b.Op(RandomReducer(random, type), {so_far, made});
  region->set_root(random.OneIn(2) ? first : b.Op(RandomReducer(random, type), {first, element}));
  return b.status().ok() ? region : nullptr;
}

Computation* CompareRegion(Module& module, ElementType type, ComparisonDirection direction,
                           int pairs) {
  return SortRegion(module, std::vector<ElementType>(static_cast<size_t>(pairs), type), direction,
                    /*total_order=*/false);
}

Computation* SortRegion(Module& module, const std::vector<ElementType>& types,
                        ComparisonDirection direction, bool total_order) {
  Computation* region = module.AddComputation("order");
  Builder b(region);
  std::vector<Instruction*> parameters;
  for (size_t i = 0; i < 2 * types.size(); ++i)
    parameters.push_back(b.Parameter(static_cast<int64_t>(i), Shape::Scalar(types[i / 2])));
  CompareAttrs attrs{.direction = direction, .type = {}};
  if (total_order) attrs.type = ComparisonType::kTotalOrder;
  region->set_root(b.Op(Opcode::kCompare, {parameters[0], parameters[1]}, AttrsPtr::Make(attrs)));
  return region;
}

}  // namespace hlo
