#include "passes/expand/rng_expander.h"

#include <cmath>
#include <numbers>
#include <optional>

#include "lib/eval/random_bits.h"
#include "passes/util/random_words.h"
#include "passes/util/start_vectors.h"
#include "passes/util/unsigned_type.h"

namespace hlo {
namespace {

// The type in which numbers of `type` are drawn, if they are.
std::optional<ElementType> DrawnType(ElementType type) {
  const int bits = BitWidth(type);
  if (type == ElementType::kF16 || type == ElementType::kBF16) return ElementType::kF32;
  if ((IsInteger(type) || IsFloat(type)) && (bits == 32 || bits == 64)) return type;
  return std::nullopt;
}

bool IsNormal(const Instruction& rng) {
  return rng.attrs<RngAttrs>().distribution == RngDistribution::kNormal;
}

Instruction* SpreadTo(Builder& b, Instruction* scalar, absl::Span<const int64_t> dims) {
  return dims.empty() ? scalar : b.Broadcast(scalar, dims, {});
}

// The seed of the run, other for each device and each rng.
Instruction* KeyOf(Builder& b, const ModuleConfig& config, Instruction* constant) {
  CustomCallAttrs attrs;
  attrs.custom_call_target = "GetRngSeed";
  Instruction* key = b.OpWithShape(Opcode::kCustomCall, Shape::Scalar(ElementType::kU64), {},
                                   AttrsPtr::Make(std::move(attrs)));
  // One run has one seed, so cse may ask for it once.
  key->mutable_extras().frontend_attributes["_xla_cse_safe_zero_operand"] = "true";
  key = b.Xor(key, constant);
  if (config.replica_count > 1)
    key = b.Xor(key, b.Convert(b.Op(Opcode::kReplicaId, {}), ElementType::kU64));
  if (config.num_partitions > 1) {
    Instruction* partition = b.Convert(b.Op(Opcode::kPartitionId, {}), ElementType::kU64);
    key = b.Xor(key, b.ShiftLeft(partition, b.ScalarConstant(ElementType::kU64, 32)));
  }
  return key;
}

// Numbers in [0, 1) from words.
Instruction* UniformFloats(Builder& b, Instruction* words, ElementType type) {
  const int fraction = type == ElementType::kF64 ? 52 : 23;
  Instruction* shift = b.ConstantLike(words, BitWidth(type) - fraction);
  Instruction* numbers = b.Convert(b.ShiftRightLogical(words, shift), type);
  return b.Multiply(numbers, b.ConstantLike(numbers, std::ldexp(1.0, -fraction)));
}

// a + word mod (b - a). The remainder is added in two halves: each of them is in the range
// of a signed type.
Instruction* UniformIntegers(Builder& b, Instruction* words, Instruction* low, Instruction* high) {
  const ElementType type = low->shape().element_type();
  const ElementType unsigned_type = words->shape().element_type();
  const auto as = [&](Instruction* x, ElementType to) {
    return to == x->shape().element_type() ? x
                                           : b.BitcastConvert(x, x->shape().WithElementType(to));
  };
  const absl::Span<const int64_t> dims = words->shape().dims();
  Instruction* range = b.Subtract(as(high, unsigned_type), as(low, unsigned_type));
  Instruction* distance = b.Remainder(words, SpreadTo(b, range, dims));
  Instruction* half = b.ShiftRightLogical(distance, b.ConstantLike(distance, 1));
  Instruction* sum = b.Add(SpreadTo(b, low, dims), as(half, type));
  return b.Add(sum, as(b.Subtract(distance, half), type));
}

// Normal deviates by the method of Box and Muller, from uniform ones.
std::pair<Instruction*, Instruction*> NormalPair(Builder& b, Instruction* u0, Instruction* u1) {
  Instruction* log = b.Log(b.Maximum(u0, b.ConstantLike(u0, 1e-7)));
  Instruction* radius = b.Sqrt(b.Multiply(log, b.ConstantLike(log, -2)));
  Instruction* angle = b.Multiply(u1, b.ConstantLike(u1, 2 * std::numbers::pi));
  return {b.Multiply(b.Sin(angle), radius), b.Multiply(b.Cos(angle), radius)};
}

}  // namespace

bool RngExpander::Matches(const Instruction& instruction) const {
  if (instruction.shape().has_dynamic_dims()) return false;
  const std::optional<ElementType> drawn = DrawnType(instruction.shape().element_type());
  if (!drawn) return false;
  return IsNormal(instruction)
             ? IsFloat(*drawn)
             : instruction.attrs<RngAttrs>().distribution == RngDistribution::kUniform;
}

std::string RngExpander::Name(const Instruction& rng) const {
  return fmt::format("xla.{}_{}", Text(rng.attrs<RngAttrs>().distribution), NamePart(rng.shape()));
}

std::vector<Instruction*> RngExpander::Arguments(const Instruction& rng, Rewriter& rewriter) const {
  const uint64_t mixed = (uint64_t{rng.id()} * 0x9E3779B97F4A7C15) >> 32;
  Instruction* constant = rewriter.Constant(Literal::Scalar<uint64_t>(ElementType::kU64, mixed));
  const int64_t words_per_element =
      BitWidth(*DrawnType(rng.shape().element_type())) / BitWidth(ElementType::kU32);
  RngGetAndUpdateStateAttrs attrs;
  attrs.delta = rng.shape().element_count() * words_per_element;
  Instruction* state = rewriter.OpWithShape(
      Opcode::kRngGetAndUpdateState, Shape::Array(ElementType::kU64, std::vector<int64_t>{2}), {},
      AttrsPtr::Make(attrs));
  return {constant, state, rng.operand(0), rng.operand(1)};
}

absl::StatusOr<Instruction*> RngExpander::Build(const Instruction& rng,
                                                const std::vector<Instruction*>& arguments,
                                                Builder& b) const {
  const Shape shape = rng.shape();
  const absl::Span<const int64_t> dims = shape.dims();
  if (shape.IsZeroSized()) return b.Constant(Literal(shape));
  const ElementType type = *DrawnType(shape.element_type());
  Instruction* key = KeyOf(b, rng.module().config(), arguments[0]);
  const CounterWords counter{ElementOfVector(b, arguments[1], 0),
                             ElementOfVector(b, arguments[1], 1)};
  const auto words = [&](absl::Span<const int64_t> sizes) {
    return PhiloxWords(b, key, counter, Shape::Array(*UnsignedOfWidth(BitWidth(type)), sizes))
        .first;
  };
  const auto as_drawn = [&](Instruction* x) {
    return x->shape().element_type() == type ? x : b.Convert(x, type);
  };
  Instruction *first = as_drawn(arguments[2]), *second = as_drawn(arguments[3]);
  Instruction* result = nullptr;
  if (!IsFloat(type)) {
    result = UniformIntegers(b, words(dims), first, second);
  } else if (!IsNormal(rng)) {
    Instruction* range = SpreadTo(b, b.Subtract(second, first), dims);
    Instruction* scaled = b.Multiply(UniformFloats(b, words(dims), type), range);
    result = b.Add(scaled, SpreadTo(b, first, dims));
  } else {
    // Two uniform numbers make two normal ones, which are neighbours along one dimension.
    const std::vector<int64_t> half = dims.empty() ? std::vector<int64_t>() : HalvedSizes(dims);
    std::vector<int64_t> both = half;
    both.push_back(2);
    Instruction* uniform = UniformFloats(b, words(both), type);
    const auto part = [&](int64_t i) {
      std::vector<int64_t> starts(both.size(), 0), limits = both;
      starts.back() = i;
      limits.back() = i + 1;
      return b.Reshape(b.Slice(uniform, starts, limits), half);
    };
    const auto [sine, cosine] = NormalPair(b, part(0), part(1));
    Instruction* deviates = dims.empty() ? sine : AlternateHalves(b, sine, cosine, dims);
    Instruction* scaled = b.Multiply(SpreadTo(b, second, dims), deviates);
    result = b.Add(SpreadTo(b, first, dims), scaled);
  }
  return type == shape.element_type() ? result : b.Convert(result, shape.element_type());
}

HLO_DEFINE_PASS(RngExpander)

}  // namespace hlo
