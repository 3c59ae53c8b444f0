// What instructions cost: operations and bytes counted, by the model by which XLA:CPU decides how
// many threads share a loop; classes of operations; what platforms do in a second.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "lib/ir/module.h"

namespace hlo {

struct Cost {
  double flops = 0;            // operations on elements, of any type
  double transcendentals = 0;  // exp, sin, sqrt, … of an element
  double bytes = 0;            // read from and written to memory
};

// One execution, in O(instructions of a fusion or region). Fusions count all that is in them, but
// only their inputs and outputs as memory; what else counts how is in operations.h. Loops, calls,
// custom calls, random numbers and batch norms count as memory alone. What owns no memory costs
// nothing.
Cost CostOf(const Instruction& instruction);

// The bytes apart: what is read of one operand, what is written.
//
//   slice, dynamic-slice, gather       read as many bytes of operand 0 as the result has
//   dynamic-update-slice in place      reads nothing of operand 0 and writes the update
//   scatter in place                   reads and writes as many bytes as the updates have
//   fusion                             reads what all readers of its parameter read, at most all
enum class Updates : uint8_t { kInPlace, kCopy };  // a copy reads and writes the whole operand
double BytesRead(const Instruction& instruction, int operand, Updates updates = Updates::kInPlace);
double BytesWritten(const Instruction& instruction, Updates updates = Updates::kInPlace);

// How much work an operation is for each element of its result: a column of ops.def.
enum class CostClass : uint8_t {
  kNone,    // none: names, constants
  kMove,    // an index is computed
  kSimple,  // one machine instruction, of complex numbers a few
  kShort,   // a few: bits that are counted, roundings that processors lack
  kLong,    // more: divisions, roots, polynomials, and all that is not said to be less
};
CostClass CostClassOf(Opcode opcode);
// About ten additions or more for each element: not to be computed twice.
bool IsCostly(const Instruction& instruction);

// What a platform does in a second.
struct PlatformRates {
  std::string_view platform;
  double lanes;            // elements of 32 bits that are computed at a time
  double flops;            // of one lane
  double transcendentals;  // of one lane
  double bytes;            // to and from memory, of all lanes
};
absl::Span<const PlatformRates> AllPlatformRates();
// Of a row of the table.
const PlatformRates& RatesOf(std::string_view platform);
// What `cost` takes when one waits for the other. Some vectors have other numbers of lanes.
double SecondsOf(const Cost& cost, const PlatformRates& rates, double lanes);

// A line for each instruction outside of fusions, and what computations take on each platform.
std::string CostsToString(const Module& module);

}  // namespace hlo
