// Which integer parameters are used as indices, and how large they may be: what gather, scatter,
// dynamic-slice, dynamic-update-slice and conditional take as an index is followed backwards
// through operations that only move values, through calls, fusions, loops and branches, to the
// parameters of the entry.
#pragma once

#include <map>
#include <utility>

#include "lib/ir/module.h"
#include "lib/types/shape_util.h"

namespace hlo {

// Parameter number and index inside the parameter.
using LeafKey = std::pair<int64_t, std::vector<int64_t>>;

// For each leaf that is an index: the largest value that is in range everywhere (at least 0).
// Values start at 0.
std::map<LeafKey, int64_t> IndexLimits(const Module& module);

}  // namespace hlo
