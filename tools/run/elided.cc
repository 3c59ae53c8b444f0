#include "tools/run/elided.h"

#include <fmt/format.h>

#include "lib/support/status.h"
#include "tools/support/random_arguments.h"

namespace hlo {
namespace {

bool HoldsElided(const Literal& literal) {
  if (literal.is_elided()) return true;
  for (const Literal& element : literal.elements()) {
    if (HoldsElided(element)) return true;
  }
  return false;
}

// A value of the shape; `number` makes the arrays of one module differ.
Literal Filled(Shape shape, const std::string& how, int64_t& number) {
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    for (const Shape& element : shape.elements()) elements.push_back(Filled(element, how, number));
    return Literal::Tuple(std::move(elements));
  }
  if (!shape.IsArray()) return Literal(shape);
  if (how == "zeros") return Literal(shape);
  if (how == "ones") return Literal::Filled(shape, 1);
  const uint64_t seed = std::stoull(how.substr(how.find(':') + 1));
  return RandomLeaf(shape, std::nullopt, seed, number++).WithShapeLayout(shape);
}

}  // namespace

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
                 "the values of {} were left out (`{{...}}`); --fill-elided=random:SEED, zeros or "
                 "ones makes some up",
                 names);
  }
  int64_t number = 0;
  for (Instruction* inst : elided)
    inst->SetAttrs(ConstantAttrs{Filled(inst->shape(), how, number)});
  return static_cast<int>(elided.size());
}

}  // namespace hlo
