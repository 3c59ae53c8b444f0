#include "tools/support/elided.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/types/elided.h"
#include "tools/support/random_arguments.h"

namespace hlo {
namespace {

// The values that XLA's parser puts in place of the first constants that a process reads. Arrays
// are filled with 32-bit words 0, 1, 2, …, continued from array to array; the bytes that are left
// over come from a count of their own, and are written not after the words but at the byte of the
// array's number of words.
class XlaFiller {
 public:
  Literal Fill(Shape shape) {
    Literal literal(shape);
    const auto size = static_cast<size_t>(literal.byte_size());
    if (size == 0) return literal;
    const size_t words = size / sizeof(uint32_t), rest = size % sizeof(uint32_t);
    uint8_t* data = literal.mutable_data();
    for (size_t i = 0; i < words; ++i, ++word_)
      std::memcpy(data + i * sizeof word_, &word_, sizeof word_);
    for (size_t i = 0; i < rest; ++i) data[words + i] = byte_++;
    for (size_t i = 0; i < size; ++i) data[i] = Legal(data[i], shape.element_type());
    return literal;
  }

 private:
  // Of types that do not use all bits of a byte, the value that XLA takes it for.
  static uint8_t Legal(uint8_t byte, ElementType type) {
    const auto low = [byte](int bits) { return static_cast<uint8_t>(byte & ((1 << bits) - 1)); };
    // A float whose sign is any of the upper bits.
    const auto small_float = [&](int bits) {
      return static_cast<uint8_t>(low(bits - 1) | (byte >> (bits - 1) != 0 ? 1 << (bits - 1) : 0));
    };
    const int bits = BitWidth(type);
    if (IsPred(type)) return low(1);
    if (bits >= 8) return byte;  // all bits count
    if (IsFloat(type)) return small_float(bits);
    if (IsUnsigned(type)) return low(bits);
    const int sign = 1 << (bits - 1);
    return static_cast<uint8_t>((low(bits) ^ sign) - sign);
  }

  uint32_t word_ = 0;
  uint8_t byte_ = 0;
};

// `literal` with arrays from `fill` where it has none.
template <class Fill>
Literal WithValues(const Literal& literal, const Fill& fill) {
  const Shape shape = literal.shape();
  if (!shape.IsTuple()) return literal.is_elided() ? fill(shape) : literal;
  std::vector<Literal> elements;
  for (int i = 0; i < shape.element_count_of_tuple(); ++i) {
    elements.push_back(WithValues(literal.is_elided() ? Literal::Elided(shape.element(i))
                                                      : literal.elements()[static_cast<size_t>(i)],
                                  fill));
  }
  return Literal::Tuple(std::move(elements));
}

}  // namespace

FlagValues FillElidedValues() {
  return FlagValues::Passing([](const std::string& how) -> std::string {
    constexpr std::string_view kRandom = "random:";
    if (!how.starts_with(kRandom))
      return FlagValues::Words({"random:SEED", "zeros", "ones", "xla"}).Mistake(how);
    const std::string seed = how.substr(kRandom.size());
    if (ReadNumber<uint64_t>(seed)) return "";
    return fmt::format("expects an integer as SEED, found `{}`", seed);
  });
}

absl::StatusOr<int> FillElided(Module& module, const std::string& how) {
  std::vector<Instruction*> elided;
  for (Computation* computation : module.computations()) {
    for (Instruction* inst : computation->instructions()) {
      if (inst->IsConstant() && HoldsElided(inst->literal())) elided.push_back(inst);
    }
  }
  if (elided.empty()) return 0;
  if (how.empty()) {
    std::string names;
    constexpr size_t kMostNamed = 5;
    for (size_t i = 0; i < elided.size() && i < kMostNamed; ++i)
      names += fmt::format("{}`{}`", i > 0 ? ", " : "", elided[i]->name());
    if (elided.size() > kMostNamed)
      names += fmt::format(" and {} more", elided.size() - kMostNamed);
    return Error(elided[0]->loc(),
                 "the values of {} were left out (`{{...}}`); --fill-elided=random:SEED, zeros, "
                 "ones or xla makes some up",
                 names);
  }
  // In the order of the text.
  std::stable_sort(elided.begin(), elided.end(), [](const Instruction* a, const Instruction* b) {
    return a->loc().known() && b->loc().known() && a->loc().offset < b->loc().offset;
  });
  XlaFiller xla;
  const uint64_t seed = how.starts_with("random:") ? std::stoull(how.substr(how.find(':') + 1)) : 0;
  int64_t number = 0;  // makes the arrays of one module differ
  const auto fill = [&](Shape shape) {
    if (how == "xla") return xla.Fill(shape);
    if (how == "zeros") return Literal(shape);
    if (how == "ones") return Literal::Filled(shape, 1);
    return RandomLeaf(shape, {}, seed, number++).WithShapeLayout(shape);
  };
  for (Instruction* inst : elided) inst->SetAttrs(ConstantAttrs{WithValues(inst->literal(), fill)});
  return static_cast<int>(elided.size());
}

}  // namespace hlo
