#include "lib/ir/entry_info.h"

#include <algorithm>

#include "lib/support/status.h"

namespace hlo {
namespace {

// The array at a place of a parameter of the entry. `what` begins the message.
absl::StatusOr<Shape> PartOf(const Module& module, std::string_view what, int64_t parameter,
                             const ShapeIndex& index) {
  const Computation& entry = *module.entry();
  if (parameter < 0 || parameter >= entry.parameter_count()) {
    return Error("{}: there is no parameter {}, `{}` has {}", what, parameter, entry.name(),
                 entry.parameter_count());
  }
  const Shape shape = entry.parameter(static_cast<int>(parameter))->shape();
  if (!IndexIsValid(shape, index) || !SubShape(shape, index).IsArray()) {
    return Error("{}: index {} of parameter {}, `{}`, is not an array", what, ToString(index),
                 parameter, shape);
  }
  return SubShape(shape, index);
}

bool Before(const ShapeIndex& a, const ShapeIndex& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

auto IsDonorOf(int64_t parameter, const ShapeIndex& index) {
  return [parameter, &index](const BufferDonor& donor) {
    return donor.parameter == parameter && donor.index == index;
  };
}

template <class List, class Matches>
auto FindOrNull(const List& list, const Matches& matches) -> decltype(list.data()) {
  const auto it = std::find_if(list.begin(), list.end(), matches);
  return it == list.end() ? nullptr : &*it;
}

}  // namespace

absl::Status AddAlias(Module& module, InputOutputAlias alias) {
  const Shape result = module.entry()->root()->shape();
  if (!IndexIsValid(result, alias.output) || !SubShape(result, alias.output).IsArray()) {
    return Error("alias: output {} of `{}` is not an array", ToString(alias.output), result);
  }
  RETURN_IF_ERROR(PartOf(module, "alias", alias.parameter, alias.parameter_index).status());
  if (AliasOfOutput(module, alias.output) != nullptr)
    return Error("alias: output {} is aliased already", ToString(alias.output));
  if (AliasOfParameter(module, alias.parameter, alias.parameter_index) != nullptr ||
      IsDonor(module, alias.parameter, alias.parameter_index)) {
    return Error("alias: index {} of parameter {} is aliased or donated already",
                 ToString(alias.parameter_index), alias.parameter);
  }
  std::vector<InputOutputAlias>& aliases = module.config().aliases;
  const auto place = std::find_if(aliases.begin(), aliases.end(), [&](const auto& other) {
    return Before(alias.output, other.output);
  });
  aliases.insert(place, std::move(alias));
  return absl::OkStatus();
}

const InputOutputAlias* AliasOfOutput(const Module& module, const ShapeIndex& output) {
  return FindOrNull(module.config().aliases,
                    [&](const InputOutputAlias& alias) { return alias.output == output; });
}

const InputOutputAlias* AliasOfParameter(const Module& module, int64_t parameter,
                                         const ShapeIndex& index) {
  return FindOrNull(module.config().aliases, [&](const InputOutputAlias& alias) {
    return alias.parameter == parameter && alias.parameter_index == index;
  });
}

bool RemoveAlias(Module& module, const ShapeIndex& output) {
  return std::erase_if(module.config().aliases,
                       [&](const InputOutputAlias& alias) { return alias.output == output; }) > 0;
}

absl::Status AddDonor(Module& module, BufferDonor donor) {
  RETURN_IF_ERROR(PartOf(module, "donor", donor.parameter, donor.index).status());
  if (IsDonor(module, donor.parameter, donor.index) ||
      AliasOfParameter(module, donor.parameter, donor.index) != nullptr) {
    return Error("donor: index {} of parameter {} is aliased or donated already",
                 ToString(donor.index), donor.parameter);
  }
  std::vector<BufferDonor>& donors = module.config().donors;
  const auto place = std::find_if(donors.begin(), donors.end(), [&](const BufferDonor& other) {
    return donor.parameter < other.parameter ||
           (donor.parameter == other.parameter && Before(donor.index, other.index));
  });
  donors.insert(place, std::move(donor));
  return absl::OkStatus();
}

bool IsDonor(const Module& module, int64_t parameter, const ShapeIndex& index) {
  return FindOrNull(module.config().donors, IsDonorOf(parameter, index)) != nullptr;
}

bool RemoveDonor(Module& module, int64_t parameter, const ShapeIndex& index) {
  return std::erase_if(module.config().donors, IsDonorOf(parameter, index)) > 0;
}

absl::Status BindDynamicParameter(Module& module, DynamicParameterBinding binding) {
  ASSIGN_OR_RETURN(const Shape size,
                   PartOf(module, "dynamic size", binding.size_parameter, binding.size_index));
  if (!size.IsScalarOf(ElementType::kS32)) {
    return Error("dynamic size: index {} of parameter {} is `{}`, expected `s32[]`",
                 ToString(binding.size_index), binding.size_parameter, size);
  }
  ASSIGN_OR_RETURN(const Shape sized,
                   PartOf(module, "dynamic size", binding.parameter, binding.index));
  if (binding.dim < 0 || binding.dim >= sized.rank())
    return Error("dynamic size: `{}` has no dimension {}", sized, binding.dim);
  if (FindDynamicParameter(module, binding.parameter, binding.index, binding.dim) != nullptr) {
    return Error("dynamic size: dimension {} of index {} of parameter {} has one already",
                 binding.dim, ToString(binding.index), binding.parameter);
  }
  module.config().dynamic_parameters.push_back(std::move(binding));
  return absl::OkStatus();
}

const DynamicParameterBinding* FindDynamicParameter(const Module& module, int64_t parameter,
                                                    const ShapeIndex& index, int64_t dim) {
  return FindOrNull(
      module.config().dynamic_parameters, [&](const DynamicParameterBinding& binding) {
        return binding.parameter == parameter && binding.index == index && binding.dim == dim;
      });
}

absl::Status AddCrossProgramPrefetch(Module& module, CrossProgramPrefetch prefetch) {
  RETURN_IF_ERROR(PartOf(module, "prefetch", prefetch.parameter, prefetch.index).status());
  for (CrossProgramPrefetch& other : module.config().cross_program_prefetches) {
    if (other.parameter != prefetch.parameter || other.index != prefetch.index) continue;
    other.offset = prefetch.offset;
    return absl::OkStatus();
  }
  module.config().cross_program_prefetches.push_back(std::move(prefetch));
  return absl::OkStatus();
}

}  // namespace hlo
