// backends/cpu/families/family.h
//
// From a fusion (or a single instruction, which counts as a fusion of one) to a tile kernel.
//
//   ASSIGN_OR_RETURN(KernelPlan plan, EmitFusion(*fusion, options));
//   // plan.kernel -> tile::EmitLlvm -> Jit; run tasks [0, plan.task_count) in any partition.
//
// Buffers of the kernel: the leaves of the operands in order, then the leaves of the result. Arrays
// are dense, row-major in logical order, one value per ByteSize(type) bytes, whatever their layouts
// say. Results do not depend on how tasks are split.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/tile/tile_ir.h"
#include "lib/ir/instruction.h"

namespace hlo::cpu {

// Operand leaf and result leaf (numbered from 0 each) that lie, or may lie, in one buffer.
struct BufferPair {
  int operand = 0;
  int result = 0;
  friend bool operator==(const BufferPair&, const BufferPair&) = default;
};

struct FamilyOptions {
  int vector_bytes = 32;
  // Pairs that do share a buffer. Only pairs of KernelPlan::in_place, or WantsToShare().
  std::vector<BufferPair> shared;
};

struct KernelPlan {
  tile::Kernel kernel;
  const char* family = "loop";
  int64_t task_count = 1;
  double cost_ns_per_task = 0;  // an estimate, one core
  std::vector<BufferPair>
      in_place;  // may share a buffer: every element is read before, and only for, its own result
};

absl::StatusOr<KernelPlan> EmitFusion(const Instruction& fusion, const FamilyOptions& options);

// The comparator of a sort (its region is one of scalars): buffers of one element each, both sides of
// operand 0, both sides of operand 1, …, and the pred.
absl::StatusOr<KernelPlan> EmitComparator(const Instruction& sort);

// The pairs that make the kernel update its operand instead of copying it (dynamic-update-slice,
// scatter). When buffer assignment shares them, EmitFusion must be told through `options.shared`.
std::vector<BufferPair> WantsToShare(const Instruction& fusion);

}  // namespace hlo::cpu
