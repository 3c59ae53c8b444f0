// What becomes of each operation, as a table: one row for an opcode, in one file for each family.
#pragma once

#include <span>

#include "passes/spmd/partitioner.h"

namespace hlo {

// What devices compute of `old`, divided in any way.
using SpmdRule = absl::StatusOr<Parts> (*)(Partitioner& partitioner, const Instruction& old);

struct SpmdRow {
  Opcode opcode;
  SpmdRule rule;
};

// One table for each file rules_<family>.cc.
std::span<const SpmdRow> SpmdControlRows();
std::span<const SpmdRow> SpmdMovementRows();
std::span<const SpmdRow> SpmdIndexedRows();
std::span<const SpmdRow> SpmdProductRows();
std::span<const SpmdRow> SpmdReductionRows();
std::span<const SpmdRow> SpmdDeviceRows();

// The rule of an opcode: that of its row, for elementwise operations and `map` the one below, else
// RunWhole.
SpmdRule RuleOf(const Instruction& old);

// Whether it tells partitions from each other, or has them talk to each other: itself, or what it
// calls that is not divided.
bool SeesPartitions(const Instruction& old);

// Every device computes its elements.
absl::StatusOr<Parts> DivideElementwise(Partitioner& partitioner, const Instruction& old);
// The largest along the last dimension, of any other.
absl::StatusOr<Parts> DivideTopK(Partitioner& partitioner, const Instruction& old);
// Every device (of a region) computes all of it.
absl::StatusOr<Parts> RunWhole(Partitioner& partitioner, const Instruction& old);

}  // namespace hlo
