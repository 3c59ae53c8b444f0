// backends/cpu/families/family.h
//
// From a fusion (or a single instruction, which counts as a fusion of one) to a tile kernel.
//
//   ASSIGN_OR_RETURN(KernelPlan plan, EmitFusion(*fusion, options));
//   // plan.kernel -> tile::EmitLlvm -> Jit; run tasks [0, plan.task_count) in any partition.
//
// Buffers of the kernel: those of backends/codegen/kernel_frame.h. Results do not depend on how
// tasks are split.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "backends/codegen/in_place.h"
#include "backends/cpu/tile/tile_ir.h"
#include "lib/ir/instruction.h"

namespace hlo::cpu {

struct FamilyOptions {
  int vector_bytes = 32;
  // Pairs that do share a buffer. Only pairs of KernelInPlacePairs().
  BufferPairs shared;
};

struct KernelPlan {
  tile::Kernel kernel;
  const char* family = "loop";
  int64_t task_count = 1;
  double cost_ns_per_task = 0;  // an estimate, one core
};

absl::StatusOr<KernelPlan> EmitFusion(const Instruction& fusion, const FamilyOptions& options);

// Operands and results of a kernel that may share a buffer.
BufferPairs KernelInPlacePairs(const Instruction& fusion);

// The comparator of a sort (its region is one of scalars): buffers of one element each, both sides
// of operand 0, both sides of operand 1, …, and the pred.
absl::StatusOr<KernelPlan> EmitComparator(const Instruction& sort);

}  // namespace hlo::cpu
