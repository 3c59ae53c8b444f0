// The type that a reduction carries its values in, for regions that are one operation
// (lib/math/accumulator.h has the table).
#pragma once

#include <optional>

#include "lib/math/accumulator.h"
#include "lib/ops/ops.h"

namespace hlo {

// Whether elements are results on the way to others: a prefix sum.
enum class Running : uint8_t { kNo, kYes };

// `region` is what the region does with its two parameters, if it is one commutative operation.
// Regions that are more than that say by their own types what they carry: `type`.
constexpr ElementType CarriedType(std::optional<Opcode> region, ElementType type,
                                  math::Carrier carrier, Running running = Running::kNo) {
  const bool runs = running == Running::kYes;
  using math::Accumulation;
  if (region == Opcode::kAdd)
    return AccumulatorType(runs ? Accumulation::kRunningSum : Accumulation::kSum, type, carrier);
  if (region == Opcode::kMultiply) {
    return AccumulatorType(runs ? Accumulation::kRunningProduct : Accumulation::kProduct, type,
                           carrier);
  }
  return type;
}

}  // namespace hlo
