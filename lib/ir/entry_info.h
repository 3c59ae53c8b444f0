// What a module says about the parameters and the result of its entry computation: which outputs
// live in the memory of which parameters, which parameters may be overwritten, which dimensions
// have their size in another parameter, what may be fetched early. Kept in ModuleConfig; these
// functions keep its lists sorted and refuse what does not fit the entry.
#pragma once

#include "absl/status/status.h"
#include "lib/ir/module.h"

namespace hlo {

// Lets output `alias.output` share memory with a part of a parameter. Each output and each part has
// at most one alias, and no aliased part is a donor.
absl::Status AddAlias(Module& module, InputOutputAlias alias);
// The alias of an output, or of a part of a parameter; null when there is none.
const InputOutputAlias* AliasOfOutput(const Module& module, const ShapeIndex& output);
const InputOutputAlias* AliasOfParameter(const Module& module, int64_t parameter,
                                         const ShapeIndex& index);
// False when there was none.
bool RemoveAlias(Module& module, const ShapeIndex& output);

// Lets the program overwrite a part of a parameter with anything.
absl::Status AddDonor(Module& module, BufferDonor donor);
bool IsDonor(const Module& module, int64_t parameter, const ShapeIndex& index);
bool RemoveDonor(Module& module, int64_t parameter, const ShapeIndex& index);

// Says that a scalar `s32[]` part of a parameter is the size of a dimension; one per dimension.
absl::Status BindDynamicParameter(Module& module, DynamicParameterBinding binding);
// Null when the size of this dimension is the static one.
const DynamicParameterBinding* FindDynamicParameter(const Module& module, int64_t parameter,
                                                    const ShapeIndex& index, int64_t dim);

// Marks a part of a parameter for fetching before the program starts; returns nothing new when it
// is marked already, but for the offset, which is set.
absl::Status AddCrossProgramPrefetch(Module& module, CrossProgramPrefetch prefetch);

}  // namespace hlo
