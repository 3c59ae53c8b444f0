// The part of a whole that a device takes for itself, as programs say it: a dynamic-slice that
// starts at the place of the device in its group times the size of a part.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/analysis/device_groups.h"

namespace hlo {

struct OwnPart {
  int64_t dimension = 0;                 // along which the whole is divided
  int64_t size = 0;                      // of a part, along it
  std::vector<int64_t> place_of_device;  // which part each device takes
};

enum class PartsCover {
  kWhole,  // the parts are the whole
  kFront,  // less than a part may be left over after them
};

// What `slice`, a dynamic-slice, takes of its operand on each device of the module; none when it is
// not known, not a part of equal ones, or when several dimensions are divided.
std::optional<OwnPart> FindOwnPart(const Instruction& slice, PartsCover cover = PartsCover::kWhole);

// Whether in each group the devices take the parts in the order of the group, all of them.
bool TakesPartsInOrder(const OwnPart& part, const std::vector<std::vector<int64_t>>& groups,
                       int64_t whole);

// Where dimension `dimension` of the result of `reshape` is in its operand: the dimensions before
// it have as many elements there, and it is as large. None where the reshape changes it.
std::optional<int64_t> DimensionBeforeReshape(const Instruction& reshape, int64_t dimension);

// The operand of `value` where that is a reshape with one reader, else `value`.
Instruction* BeforeOwnReshape(Instruction* value);

}  // namespace hlo
