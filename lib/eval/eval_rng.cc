// Random numbers: the pure generator, the module's counter, and the stateful `rng`, which is
// deterministic given the seed of the options.
#include <cstring>

#include "lib/eval/eval_internal.h"
#include "lib/eval/random_bits.h"
#include "lib/math/native.h"
#include "lib/math/random.h"
#include "lib/types/element_access.h"

namespace hlo {
namespace {

// Words of 64 bits for 64-bit types, else of 32 bits, of which narrower types keep the low bits.
Literal FromWords(Shape shape, const std::vector<uint32_t>& words) {
  Literal result(shape);
  const ElementType type = shape.element_type();
  const size_t bytes = static_cast<size_t>(ByteSize(type));
  uint8_t* out = result.mutable_data();
  for (size_t i = 0; i < words.size(); ++i) {
    if (IsSubByte(type)) {
      const int64_t value = words[i] & ((1u << BitWidth(type)) - 1);
      if (IsFloat(type)) {
        out[i] = static_cast<uint8_t>(value);  // the bits of a number
      } else {
        WriteInts(type, &value, 1, /*is_unsigned=*/false, out + i);
      }
    } else {
      std::memcpy(out + i * bytes, &words[i], bytes);
    }
  }
  return result;
}
Literal FromWords(Shape shape, const std::vector<uint64_t>& words) {
  Literal result(shape);
  std::memcpy(result.mutable_data(), words.data(), words.size() * sizeof(uint64_t));
  return result;
}

}  // namespace

EvalResult EvalRngBitGenerator(EvalContext& c) {
  const Literal& state = c.operand(0);
  const bool three_fry = c.attrs<RngBitGeneratorAttrs>().algorithm == RngAlgorithm::kThreeFry;
  const Shape shape = c.instruction.shape();
  const Shape data = shape.IsTuple() ? shape.element(1) : shape;
  if (state.element_type() != ElementType::kU64 || state.shape().rank() != 1 ||
      !(state.element_count() == 2 || (!three_fry && state.element_count() == 3))) {
    return Error(c.loc(), "the state of `rng-bit-generator` is `{}`; {} takes {}", state.shape(),
                 three_fry ? "three_fry" : "philox",
                 three_fry ? "`u64[2]`" : "`u64[2]` or `u64[3]`");
  }
  if (IsPred(data.element_type()) || IsComplex(data.element_type())) {
    return Error(c.loc(), "`rng-bit-generator` cannot make `{}`", data);
  }
  const auto words = state.values<uint64_t>();
  const int64_t count = data.element_count();
  const bool wide = BitWidth(data.element_type()) == 64;
  Literal next = state;
  const auto next_words = next.mutable_values<uint64_t>();
  Literal bits;
  if (three_fry) {
    uint64_t counter = words[1];
    bits = wide ? FromWords(data, ThreeFryWords64(words[0], counter, count))
                : FromWords(data, ThreeFryWords32(words[0], counter, data.dims()));
    next_words[1] = counter;
  } else {
    const bool has_high = words.size() == 3;
    Counter128 counter{words[1], has_high ? words[2] : words[0]};
    const uint64_t key = words[0];
    bits = wide ? FromWords(data, PhiloxWords64(key, counter, count))
                : FromWords(data, PhiloxWords32(key, counter, count));
    next_words[1] = counter.low;
    if (has_high) next_words[2] = counter.high;
  }
  return shape.IsTuple() ? Literal::Tuple({std::move(next), std::move(bits)}) : std::move(bits);
}

EvalResult EvalRngGetAndUpdateState(EvalContext& c) {
  std::vector<uint64_t>& state = c.evaluator.RandomState(c.instruction);
  if (state.empty()) state = {kInitialRngCounter, 0};
  Literal before = Literal::Array<uint64_t>(c.instruction.shape(), state);
  Counter128 counter{state[0], state[1]};
  counter.Advance(static_cast<uint64_t>(c.attrs<RngGetAndUpdateStateAttrs>().delta));
  state = {counter.low, counter.high};
  return before;
}

EvalResult EvalRng(EvalContext& c) {
  const Shape shape = c.instruction.shape();
  const ElementType type = shape.element_type();
  const int64_t count = shape.element_count();
  // Blocks of their own for each draw of each stream.
  const int64_t stream = c.attrs<RngAttrs>().stream;
  Counter128 counter{c.evaluator.NextDraw(stream) << 32, static_cast<uint64_t>(stream)};
  const uint64_t key = c.evaluator.options().seed ^
                       static_cast<uint64_t>(c.evaluator.options().replica_id) ^
                       static_cast<uint64_t>(c.evaluator.options().partition_id) << 32;
  Literal result(shape);
  const bool normal = c.attrs<RngAttrs>().distribution == RngDistribution::kNormal;
  if (IsFloat(type)) {
    const double a = c.operand(0).GetDouble(), b = c.operand(1).GetDouble();
    const auto words = PhiloxWords64(key, counter, normal ? 2 * count : count);
    const int bits = type == ElementType::kF64 ? 52 : 23;
    const auto unit = [&](int64_t i) {
      return math::UnitInterval(words[static_cast<size_t>(i)], bits);
    };
    for (int64_t i = 0; i < count; ++i) {
      const double number = normal ? math::NormalFloat(unit(2 * i), unit(2 * i + 1), a, b)
                                   : math::UniformFloat(unit(i), a, b);
      // Rounded as `convert` rounds.
      result.SetDouble(i, type == ElementType::kF64 ? number : static_cast<float>(number));
    }
    return result;
  }
  if (normal || !(IsInteger(type) || IsPred(type))) {
    return Error(c.loc(), "`rng` cannot make `{}` with distribution {}", shape,
                 Text(c.attrs<RngAttrs>().distribution));
  }
  const uint64_t a = static_cast<uint64_t>(c.operand(0).GetInt()),
                 b = static_cast<uint64_t>(c.operand(1).GetInt());
  const auto words = PhiloxWords64(key, counter, count);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t number = math::UniformInteger(words[static_cast<size_t>(i)], a, b);
    result.SetInt(i, static_cast<int64_t>(number));
  }
  return result;
}

}  // namespace hlo
