// Annotations that leave dimensions open: along those, and no others, they take more tiles from
// their neighbours. What fits is merged into the sharding that is given.
//
// An annotation whose only user converts between automatic and manual partitioning (custom calls
// SPMDFullToShardShape and SPMDShardToFullShape with the same open dimensions) is refined together
// with it: tiles are the same on both sides, the manual group aside.
#pragma once

#include "passes/sharding/propagation_rules.h"
#include "passes/sharding/sharding_annotations.h"

namespace hlo {

inline constexpr std::string_view kToManual = "SPMDFullToShardShape";
inline constexpr std::string_view kToAutomatic = "SPMDShardToFullShape";

// Each says whether it changed something. `conversion` becomes the one that was refined with the
// annotation, or null.
bool RefineFromOperand(Instruction& annotation, const DimVec& open, Instruction*& conversion);
bool RefineFromUsers(Instruction& annotation, const DimVec& open, const PropagationContext& context,
                     Instruction*& conversion);
bool RefineFromGroup(Instruction& annotation, const DimVec& open,
                     const std::vector<Instruction*>& group);

}  // namespace hlo
