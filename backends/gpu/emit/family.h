// backends/gpu/emit/family.h
//
// From an instruction (a fusion, or one that counts as a fusion of itself) to kernels and the
// launches that run them.
//
//   ASSIGN_OR_RETURN(KernelPlan plan, EmitInstruction(*instruction, options));
//
// Buffers of a plan: those of backends/codegen/kernel_frame.h, then scratch memory. Results do not
// depend on the order in which threads and blocks run.
// This header includes no LLVM header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/codegen/in_place.h"
#include "backends/gpu/device/device.h"
#include "lib/ir/instruction.h"
#include "lib/support/decision.h"

namespace hlo::gpu {

struct FamilyOptions {
  // Pairs that do share a buffer. Only pairs of InPlacePairs().
  BufferPairs shared;
  int multiprocessors = 132;
};

struct PlanStep {
  enum class Kind : uint8_t { kLaunch, kCopy } kind = Kind::kLaunch;
  int kernel = 0;  // of the plan
  LaunchDims dims;
  std::vector<int> buffers;  // arguments, as numbers of the plan's buffers; kCopy: source, target
  std::vector<int64_t> integers;
  // What becomes known when the step runs: integers after those.
  //   kDraw     the key of the run's random numbers, and how many draws came before this one from
  //             its stream, the first of the integers
  //   kCounter  both words of a counter of its own, which this step advances by `delta`
  enum class Late : uint8_t { kNone, kDraw, kCounter, kReplicaId, kPartitionId };
  Late late = Late::kNone;
  int64_t delta = 0;
};
// Integers that it stands for.
int LateIntegers(PlanStep::Late late);

struct KernelPlan {
  const char* family = "loop";
  std::vector<std::string> kernels;  // as bitcode (UniqueKernel)
  std::vector<PlanStep> steps;
  std::vector<int64_t> scratch;  // bytes of each scratch buffer
};

// Whether a family takes the instruction.
Decision IsKernel(const Instruction& instruction);
absl::StatusOr<KernelPlan> EmitInstruction(const Instruction& instruction,
                                           const FamilyOptions& options);
// The pairs that may share a buffer.
BufferPairs InPlacePairs(const Instruction& instruction);

}  // namespace hlo::gpu
