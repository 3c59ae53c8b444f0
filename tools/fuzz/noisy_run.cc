#include "tools/fuzz/noisy_run.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "lib/ir/builder.h"
#include "lib/ir/module.h"
#include "lib/ops/attrs.h"
#include "lib/ops/opcode_groups.h"
#include "lib/types/literal.h"

namespace hlo {

bool HasNoise(ElementType type) { return IsFloat(ComponentType(type)) && BitWidth(type) >= 8; }

double SmallestNormal(ElementType type) {
  return ComponentType(type) == ElementType::kF64 ? std::numeric_limits<double>::min()
                                                  : double{std::numeric_limits<float>::min()};
}

double NoiseOf(ElementType type) {
  constexpr std::pair<ElementType, int> kExponents[] = {{ElementType::kF64, -44},
                                                        {ElementType::kF32, -17},
                                                        {ElementType::kF16, -8},
                                                        {ElementType::kBF16, -5}};
  for (const auto& [of, exponent] : kExponents) {
    if (of == ComponentType(type)) return std::ldexp(1, exponent);
  }
  return 0.25;  // 8 bits
}

namespace {

// Of how many elements a fold makes one; 1 of what is none.
double FoldedElements(const Instruction& x) {
  if (x.opcode() == Opcode::kGetTupleElement) return FoldedElements(*x.operand(0));
  double count = 1;
  if (x.opcode() == Opcode::kReduceWindow) {
    for (const WindowDim& dim : x.attrs<ReduceWindowAttrs>().window.dims)
      count *= static_cast<double>(dim.size);
  } else if (x.opcode() == Opcode::kReduce) {
    const Shape& result = x.shape().IsTuple() ? x.shape().element(0) : x.shape();
    count = static_cast<double>(x.operand(0)->shape().element_count()) /
            static_cast<double>(std::max<int64_t>(1, result.element_count()));
  }
  return count;
}

// How many times the noise of one operation a value gets. Equal terms are rounded in one direction:
// what that makes of a fold grows with its length, and past this one outgrows the noise.
double TimesNoise(const Instruction& x) {
  constexpr double kLength = 1024;
  return std::max(1.0, FoldedElements(x) / kLength);
}

Literal NoiseFor(Shape shape, double times, NoisyRun& run) {
  FuzzRandom& random = run.random;
  Literal noise(shape.WithoutDynamic().WithDefaultLayout());  // cut to what there is
  const double size = times * run.sign * NoiseOf(shape.element_type());
  // Of many sizes, so that what is added twice does not cancel, and with all digits, so that zero
  // becomes a number each part of whose bits is another.
  const bool is_wide = ComponentType(shape.element_type()) == ElementType::kF64;
  const int bits = is_wide ? 53 : 24;
  const auto draw = [&] {
    const auto digits = static_cast<double>(2 * random.Below(uint64_t{1} << (bits - 2)) + 1);
    const double number = size * (random.OneIn(2) ? 1 : -1) * (0.5 + std::ldexp(digits, -bits));
    // What is left of sums that cancel has any exponent.
    return run.varies ? std::ldexp(number, -static_cast<int>(random.Below(24))) : number;
  };
  for (int64_t i = 0; i < noise.element_count(); ++i) {
    if (IsComplex(shape.element_type())) {
      noise.SetComplex(i, {draw(), draw()});
    } else {
      noise.SetDouble(i, draw());
    }
  }
  return noise;
}

// The largest |x| of all elements, at least 1, for each of them.
Instruction* LargestOf(Builder& b, Instruction* x) {
  Instruction* sizes = b.Abs(x);
  const Shape shape = sizes->shape();
  Computation* maximum = ScalarComputation(x->module(), Opcode::kMaximum, shape.element_type());
  DimVec all;
  for (int64_t d = 0; d < shape.rank(); ++d) all.push_back(d);
  Instruction* largest = b.Reduce(sizes, b.ScalarConstant(shape.element_type(), 1), all, maximum);
  return b.Convert(b.Broadcast(largest, shape.dims(), {}), x->shape().element_type());
}

const Instruction* BeforeConversions(const Instruction* value) {
  while (value->opcode() == Opcode::kConvert) value = value->operand(0);
  return value;
}

// Whether the region adds its parameters, perhaps in another type, from which it rounds each time.
bool AddsUp(const Computation& region) {
  const Instruction* const sum = BeforeConversions(region.root());
  if (sum->opcode() != Opcode::kAdd) return false;
  const Instruction* const x = BeforeConversions(sum->operand(0));
  const Instruction* const y = BeforeConversions(sum->operand(1));
  return x != y && x->opcode() == Opcode::kParameter && y->opcode() == Opcode::kParameter;
}

// What an operation adds up, by size: the same with the absolute values of what it reads. Null
// where it adds up nothing, or in a type that the sizes would soon leave.
Instruction* SumOfSizes(Builder& b, Instruction* x) {
  const auto has_room = [](const Instruction* value) {
    const ElementType type = ComponentType(value->shape().element_type());
    return IsFloat(type) && BitWidth(type) >= 16;
  };
  if (x->opcode() == Opcode::kBatchNormInference) {  // may be x * factor + (offset - mean * factor)
    for (const Instruction* operand : x->operands()) {
      if (!has_room(operand)) return nullptr;
    }
    const std::vector<Instruction*> sizes = {b.Abs(x->operand(0)), b.Abs(x->operand(1)),
                                             b.Abs(x->operand(2)), b.Negate(b.Abs(x->operand(3))),
                                             x->operand(4)};
    return b.OpWithShape(x->opcode(), x->shape(), sizes, x->attrs_ptr());
  }
  const bool is_product = kMatrixProducts.Has(x->opcode());
  const bool is_sum =
      x->opcode() == Opcode::kReduce && x->shape().IsArray() && AddsUp(*x->to_apply());
  if ((!is_product && !is_sum) || x->operand_count() != 2 || !has_room(x)) return nullptr;
  if (!has_room(x->operand(0)) || !has_room(x->operand(1))) return nullptr;
  const ElementType type = ComponentType(x->shape().element_type());
  std::vector<Instruction*> sizes = {b.Abs(x->operand(0)), b.Abs(x->operand(1))};
  std::vector<Computation*> calls;
  if (is_sum) calls.push_back(ScalarComputation(x->module(), Opcode::kAdd, type));
  Instruction* sum =
      b.OpWithShape(x->opcode(), x->shape().WithElementType(type), sizes, x->attrs_ptr(), calls);
  return b.Convert(sum, x->shape().element_type());
}

// Numbers on a grid as wide as the noise: what lies near together becomes equal, and what lies near
// zero becomes zero, as it may be after another order of additions.
Instruction* OnGrid(Builder& b, Instruction* x, Instruction* unit) {
  return b.Multiply(b.RoundNearestEven(b.Divide(x, unit)), unit);
}

// The power of two nearest to each number.
Instruction* PowerOfTwo(Builder& b, Instruction* x) {
  return b.OpWithShape(Opcode::kReducePrecision, x->shape(), {x},
                       AttrsPtr::Make(ReducePrecisionAttrs{11, 0}));
}

Instruction* Snapped(Instruction* x) {
  Builder b(x->parent());
  const bool is_complex = IsComplex(x->shape().element_type());
  // What cancels in a transform leaves as much as its largest result is rounded by. On a grid of a
  // power of two lies 1, where functions have their poles.
  Instruction* largest = x->opcode() == Opcode::kFft ? LargestOf(b, x) : nullptr;
  const auto snapped = [&](Instruction* part) {
    Instruction* unit = b.ConstantLike(part, NoiseOf(part->shape().element_type()));
    if (largest != nullptr)
      unit = b.Multiply(unit, PowerOfTwo(b, is_complex ? b.Real(largest) : largest));
    return OnGrid(b, part, unit);
  };
  Instruction* result = is_complex ? b.Complex(snapped(b.Real(x)), snapped(b.Imag(x))) : snapped(x);
  return b.status().ok() ? result : nullptr;
}

// Of each element one or the other, at random.
Instruction* Mixture(Instruction* x, Instruction* y, FuzzRandom& random) {
  Builder b(x->parent());
  Literal takes_x(Shape::Array(ElementType::kPred, x->shape().dims()));
  for (int64_t i = 0; i < takes_x.element_count(); ++i) takes_x.SetInt(i, random.OneIn(2) ? 1 : 0);
  Instruction* result = b.Select(b.Constant(std::move(takes_x)), x, y);
  return b.status().ok() ? result : nullptr;
}

// Zero where a sum is no larger than the noise of its terms, whose sizes `sizes` adds up.
Instruction* Vanishing(Builder& b, Instruction* sum, Instruction* sizes) {
  const auto cleared = [&](Instruction* part, Instruction* size) {
    Instruction* noise =
        b.Multiply(size, b.ConstantLike(size, NoiseOf(size->shape().element_type())));
    return b.Select(b.Compare(b.Abs(part), noise, ComparisonDirection::kLe), b.ZeroLike(part),
                    part);
  };
  return IsComplex(sum->shape().element_type())
             ? b.Complex(cleared(b.Real(sum), sizes), cleared(b.Imag(sum), sizes))
             : cleared(sum, sizes);
}

Instruction* WithoutRests(Instruction* sum, NoisyRun& run) {
  Builder b(sum->parent());
  Instruction* sizes = nullptr;
  if (IsElementwise(sum->opcode())) {
    sizes = b.Add(b.Abs(sum->operand(0)), b.Abs(sum->operand(1)));
  } else if ((sizes = SumOfSizes(b, sum)) != nullptr && IsComplex(sizes->shape().element_type())) {
    sizes = b.Real(sizes);
  }
  Instruction* const cleared = sizes == nullptr ? nullptr : Vanishing(b, sum, sizes);
  if (cleared == nullptr || !b.status().ok()) return nullptr;
  return run.sign > 0 ? cleared : Mixture(cleared, sum, run.random);
}

Instruction* WithSignedZeros(Instruction* x, double sign) {
  Builder b(x->parent());
  const auto fixed = [&](Instruction* part) {
    Instruction* zero = b.ConstantLike(part, std::copysign(0.0, sign));
    return b.Select(b.Compare(part, zero, ComparisonDirection::kEq), zero, part);
  };
  Instruction* result = IsComplex(x->shape().element_type())
                            ? b.Complex(fixed(b.Real(x)), fixed(b.Imag(x)))
                            : fixed(x);
  return b.status().ok() ? result : nullptr;
}

// The NaN of a place among so many.
double NanAt(int64_t i, int64_t count, NoisyRun& run) {
  using Nans = NoisyRun::Nans;
  if (run.nans == Nans::kOneSign)
    return std::copysign(std::numeric_limits<double>::quiet_NaN(), run.sign);
  if (run.nans == Nans::kRandomSigns || run.nans == Nans::kAlternatingSigns) {
    const bool flips = run.nans == Nans::kRandomSigns ? run.random.OneIn(2) : i % 2 != 0;
    return std::copysign(std::numeric_limits<double>::quiet_NaN(), flips ? -run.sign : run.sign);
  }
  // In the first bits of the fraction, which narrower types have, too. A scalar is one of many.
  constexpr size_t kPlaces = 1 << 20;
  const double places = run.nans == Nans::kRandomBits ? kPlaces : static_cast<double>(count);
  const int64_t place = run.nans == Nans::kRisingBits ? i
                        : run.nans == Nans::kFallingBits
                            ? count - 1 - i
                            : static_cast<int64_t>(run.random.Below(kPlaces));
  const auto bits = static_cast<uint64_t>(0x1p51 * static_cast<double>(place) / places);
  return std::bit_cast<double>(0x7ff8000000000000 | bits);
}

// Nobody says which bits a NaN has that arithmetic makes, or whether it makes denormals.
Instruction* WithOtherBits(Instruction* x, NoisyRun& run) {
  Builder b(x->parent());
  const auto fixed = [&](Instruction* part) {
    Literal nans(part->shape().WithoutDynamic().WithDefaultLayout());
    for (int64_t i = 0; i < nans.element_count(); ++i)
      nans.SetDouble(i, NanAt(i, nans.element_count(), run));
    Instruction* result = b.Select(b.Compare(part, part, ComparisonDirection::kNe),
                                   b.Constant(std::move(nans)), part);
    if (run.sign < 0) return result;
    Instruction* smallest = b.ConstantLike(part, SmallestNormal(part->shape().element_type()));
    return b.Select(b.Compare(b.Abs(part), smallest, ComparisonDirection::kLt),
                    b.Multiply(part, b.ZeroLike(part)), result);
  };
  Instruction* result = IsComplex(x->shape().element_type())
                            ? b.Complex(fixed(b.Real(x)), fixed(b.Imag(x)))
                            : fixed(x);
  return b.status().ok() ? result : nullptr;
}

// x + noise * (|x| + 1), in the element type; of sums, x + noise * (|x| + 1 + the sum of sizes).
Instruction* WithNoise(Instruction* x, NoisyRun& run) {
  Builder b(x->parent());
  const auto draw = [&, times = TimesNoise(*x)] {
    return b.Constant(NoiseFor(x->shape(), times, run));
  };
  Instruction* noise = draw();
  // Without the absolute value the two parts would cancel near -1; complex ones have
  // noise of their own.
  const bool is_complex = IsComplex(x->shape().element_type());
  Instruction* moved = b.Multiply(is_complex ? x : b.Abs(x), noise);
  Instruction* rest = is_complex ? draw() : noise;
  // Each result of a transform is rounded as often as the largest one, and may be
  // where they cancel. With the same noise the largest itself would move by twice the same number,
  // and keep its last bit.
  if (x->opcode() == Opcode::kFft) rest = b.Multiply(draw(), LargestOf(b, x));
  Instruction* const sizes = SumOfSizes(b, x);
  if (sizes != nullptr) rest = b.Add(rest, b.Multiply(is_complex ? draw() : noise, sizes));
  Instruction* result = b.Add(b.Add(x, moved), rest);
  // Where terms leave the type, either infinity may come first, or both meet as NaN.
  if (sizes != nullptr) {
    Instruction* const size = b.Abs(sizes);
    Instruction* const infinity = b.ConstantLike(size, std::numeric_limits<double>::infinity());
    Instruction* const either = Mixture(rest, b.Subtract(rest, rest), run.random);
    if (either == nullptr) return nullptr;
    result = b.Select(b.Compare(size, infinity, ComparisonDirection::kEq), either, result);
  }
  return b.status().ok() ? result : nullptr;
}

Instruction* MovedNumbers(Instruction* x, NoisyRun& run) {
  if (run.kind == NoisyRun::Kind::kGrid) {
    Instruction* snapped = Snapped(x);
    return snapped != nullptr && run.signs_zeros ? WithSignedZeros(snapped, run.sign) : snapped;
  }
  if (run.kind == NoisyRun::Kind::kVanishing) return WithoutRests(x, run);
  if (run.kind == NoisyRun::Kind::kBits) return WithOtherBits(x, run);
  Instruction* noisy = WithNoise(x, run);
  if (run.kind == NoisyRun::Kind::kNoise || noisy == nullptr) return noisy;
  Instruction* snapped = Snapped(x);
  return snapped == nullptr ? nullptr : Mixture(snapped, noisy, run.random);
}

// An array with what the run adds to it; the value itself where there is nothing to add.
Instruction* MovedArray(Instruction* value, NoisyRun& run) {
  const Shape shape = value->shape();
  if (!shape.IsArray()) return value;
  if (run.kind == NoisyRun::Kind::kZeros) {
    Instruction* const same =
        IsFloat(ComponentType(shape.element_type())) ? WithSignedZeros(value, run.sign) : nullptr;
    return same == nullptr ? value : same;
  }
  // Too narrow for noise; but a sum that begins with 0 has no -0, and one that leaves it out has.
  if (!HasNoise(shape.element_type())) {
    if (run.kind != NoisyRun::Kind::kGrid || !IsFloat(shape.element_type())) return value;
    if (run.signs_zeros) {
      Instruction* const same = WithSignedZeros(value, run.sign);
      return same == nullptr ? value : same;
    }
    if (!run.everywhere) return value;
    Builder b(value->parent());
    Instruction* sum = b.Add(value, b.ZeroLike(value));
    return b.status().ok() ? sum : value;
  }
  Instruction* moved = MovedNumbers(value, run);
  return moved == nullptr ? value : moved;
}

// Divide, and round once, at the end. Sums and products of numbers too narrow for noise are exact.
bool DividesNarrow(const Instruction& value) {
  constexpr OpcodeSet kDivide = {Opcode::kCholesky, Opcode::kTriangularSolve,
                                 Opcode::kBatchNormTraining, Opcode::kBatchNormInference,
                                 Opcode::kBatchNormGrad};
  if (!kDivide.Has(value.opcode())) return false;
  const ElementType type = value.operand(0)->shape().element_type();
  return IsFloat(type) && !HasNoise(type);
}

// `value`, from f32 to f32. Whether a matrix is definite may depend on its last bit.
Instruction* Widened(Builder& b, Instruction* value, NoisyRun& run) {
  std::vector<Instruction*> operands;
  for (Instruction* operand : value->operands()) {
    Instruction* const wide = b.Convert(operand, ElementType::kF32);
    operands.push_back(value->opcode() == Opcode::kCholesky ? MovedArray(wide, run) : wide);
  }
  std::vector<Shape> elements;
  for (const Shape& element : value->shape().elements())
    elements.push_back(element.WithElementType(ElementType::kF32));
  const Shape shape = value->shape().IsTuple() ? Shape::Tuple(elements)
                                               : value->shape().WithElementType(ElementType::kF32);
  return b.OpWithShape(value->opcode(), shape, operands, value->attrs_ptr());
}

// The same of each element of a tuple.
Instruction* MovedTuple(Instruction* tuple, NoisyRun& run) {
  Builder b(tuple->parent());
  std::vector<Instruction*> elements;
  for (int i = 0; i < tuple->shape().element_count_of_tuple(); ++i)
    elements.push_back(MovedArray(b.GetTupleElement(tuple, i), run));
  Instruction* moved = b.Tuple(elements);
  return b.status().ok() ? moved : tuple;
}

}  // namespace

Instruction* Met(Instruction* x, Instruction* y, NoisyRun& run) {
  if (!HasNoise(x->shape().element_type())) return x;
  Builder b(x->parent());
  Instruction* const rest = Vanishing(b, b.Subtract(x, y), b.Add(b.Abs(x), b.Abs(y)));
  Instruction* const met =
      b.Select(b.Compare(rest, b.ZeroLike(rest), ComparisonDirection::kEq), y, x);
  if (!b.status().ok()) return x;
  Instruction* const result = run.sign > 0 ? met : Mixture(met, x, run.random);
  return result == nullptr ? x : result;
}

Instruction* BesideAxis(Instruction* x, double sign) {
  Builder b(x->parent());
  Instruction *const re = b.Real(x), *const im = b.Imag(x);
  Instruction* const noise =
      b.Multiply(b.Abs(re), b.ConstantLike(re, NoiseOf(re->shape().element_type())));
  Instruction* const beside = b.Multiply(noise, b.ConstantLike(noise, sign));
  Instruction* const result =
      b.Complex(re, b.Select(b.Compare(b.Abs(im), noise, ComparisonDirection::kLe), beside, im));
  return b.status().ok() ? result : x;
}

Instruction* Moved(Instruction* value, NoisyRun& run) {
  if (!DividesNarrow(*value))
    return value->shape().IsTuple() ? MovedTuple(value, run) : MovedArray(value, run);
  Builder b(value->parent());
  const ElementType type = value->operand(0)->shape().element_type();
  Instruction* const wide = Widened(b, value, run);
  if (!b.status().ok()) return value;
  Instruction* const moved = Moved(wide, run);
  Instruction* result = moved;
  if (moved->shape().IsTuple()) {
    std::vector<Instruction*> elements;
    for (int i = 0; i < moved->shape().element_count_of_tuple(); ++i)
      elements.push_back(b.Convert(b.GetTupleElement(moved, i), type));
    result = b.Tuple(elements);
  } else {
    result = b.Convert(moved, type);
  }
  return b.status().ok() ? result : value;
}

}  // namespace hlo
