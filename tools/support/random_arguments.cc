#include "tools/support/random_arguments.h"

#include <algorithm>
#include <map>

#include "tools/support/generator.h"
#include "tools/support/index_limits.h"

namespace hlo {

Literal RandomLeaf(Shape shape, std::optional<int64_t> index_limit, uint64_t seed, int64_t number) {
  const ElementType type = shape.element_type();
  InputSpec spec;
  if (IsInteger(type) || IsPred(type)) {
    spec.kind = InputSpec::Kind::kRandint;
    const int value_bits = std::min(BitWidth(type) - (IsSigned(type) ? 1 : 0), 31);
    const int64_t most = int64_t{1} << value_bits;  // one more than the largest value
    spec.int_lo = IsSigned(type) ? -std::min<int64_t>(most, 8) : 0;
    spec.int_hi = IsPred(type) ? 2 : std::min<int64_t>(most, IsSigned(type) ? 8 : 16);
    if (index_limit) {
      spec.int_lo = 0;
      spec.int_hi = std::min(most - 1, *index_limit) + 1;
    }
  } else {
    spec.lo = type == ElementType::kF8E8M0FNU ? 0.5 : -1;  // that type has no sign
  }
  return GenerateInput(shape.WithoutDynamic(), spec, seed, number);
}

void AppendRandomLeaves(const Module& module, const std::vector<ParameterLeaf>& leaves,
                        uint64_t seed, std::vector<Literal>& arrays) {
  const std::map<LeafKey, int64_t> limits = IndexLimits(module);
  for (size_t i = arrays.size(); i < leaves.size(); ++i) {
    const auto limit =
        limits.find({leaves[i].parameter, {leaves[i].index.begin(), leaves[i].index.end()}});
    std::optional<int64_t> most;
    if (limit != limits.end()) most = limit->second;
    arrays.push_back(RandomLeaf(leaves[i].shape, most, seed, static_cast<int64_t>(i)));
  }
}

std::vector<Literal> AssembleArguments(const Module& module, const std::vector<Literal>& leaves) {
  std::vector<Literal> values;
  size_t at = 0;
  for (const Instruction* parameter : module.entry()->parameters()) {
    values.push_back(FromLeaves(parameter->shape(), leaves, at));
  }
  return values;
}

std::vector<Literal> RandomArguments(const Module& module, uint64_t seed) {
  std::vector<Literal> arrays;
  AppendRandomLeaves(module, ParameterLeaves(*module.entry()), seed, arrays);
  return AssembleArguments(module, arrays);
}

}  // namespace hlo
