#include "passes/expand/rng_bit_generator_expander.h"

#include "passes/util/random_words.h"
#include "passes/util/start_vectors.h"
#include "passes/util/unsigned_type.h"

namespace hlo {
namespace {

Instruction* StateOf(Builder& b, const std::vector<Instruction*>& words) {
  std::vector<Instruction*> parts;
  for (Instruction* word : words) parts.push_back(b.Reshape(word, {1}));
  return b.Concatenate(parts, 0);
}

}  // namespace

RngAlgorithm RngBitGeneratorExpander::AlgorithmOf(const Instruction& generator) const {
  const RngAlgorithm asked = generator.attrs<RngBitGeneratorAttrs>().algorithm;
  return asked == RngAlgorithm::kDefault ? options_.default_algorithm : asked;
}

bool RngBitGeneratorExpander::Matches(const Instruction& instruction) const {
  if (!instruction.shape().IsTuple() || instruction.shape().has_dynamic_dims()) return false;
  const Shape state = instruction.operand(0)->shape(), bits = instruction.shape().element(1);
  if (!UnsignedOfWidth(BitWidth(bits.element_type()))) return false;
  if (state.element_type() != ElementType::kU64 || state.rank() != 1 || state.has_dynamic_dims() ||
      IsPred(bits.element_type()) || IsComplex(bits.element_type()))
    return false;
  return state.dim(0) == 2 ||
         (state.dim(0) == 3 && AlgorithmOf(instruction) == RngAlgorithm::kPhilox);
}

std::string RngBitGeneratorExpander::Name(const Instruction& generator) const {
  return fmt::format("xla.{}_{}__{}", Text(AlgorithmOf(generator)),
                     NamePart(generator.operand(0)->shape()),
                     NamePart(generator.shape().element(1)));
}

absl::StatusOr<Instruction*> RngBitGeneratorExpander::Build(
    const Instruction& generator, const std::vector<Instruction*>& operands, Builder& b) const {
  Instruction* state = operands[0];
  const Shape shape = generator.shape().element(1);
  if (shape.IsZeroSized()) return b.Tuple({state, b.Constant(Literal(shape))});
  Instruction *key = ElementOfVector(b, state, 0), *low = ElementOfVector(b, state, 1);
  if (AlgorithmOf(generator) == RngAlgorithm::kThreeFry) {
    const auto [words, next] = ThreeFryWords(b, key, low, shape);
    return b.Tuple({StateOf(b, {key, next}), WordsAs(b, words, shape.element_type())});
  }
  const bool has_high = state->shape().dim(0) == 3;
  const CounterWords counter{low, has_high ? ElementOfVector(b, state, 2) : key};
  const auto [words, next] = PhiloxWords(b, key, counter, shape);
  Instruction* new_state =
      has_high ? StateOf(b, {key, next.low, next.high}) : StateOf(b, {key, next.low});
  return b.Tuple({new_state, WordsAs(b, words, shape.element_type())});
}

absl::Status ParseOption(const OptionText& text, RngAlgorithm& out) {
  if (text.value == "philox") {
    out = RngAlgorithm::kPhilox;
  } else if (text.value == "three_fry") {
    out = RngAlgorithm::kThreeFry;
  } else {
    return Error(text.loc, "option `{}` expects `philox` or `three_fry`, found `{}`", text.name,
                 text.value);
  }
  return absl::OkStatus();
}

std::string OptionValue(RngAlgorithm algorithm) {
  return algorithm == RngAlgorithm::kThreeFry ? "three_fry" : "philox";
}
std::string OptionType(RngAlgorithm) { return "philox|three_fry"; }

HLO_DEFINE_PASS(RngBitGeneratorExpander)

}  // namespace hlo
