// backends/gpu/emit/core/kernel_plan.h
//
// What becomes of an instruction: kernels, and the steps that launch them. Buffers of a plan are
// those of backends/codegen/kernel_frame.h, then scratch memory. This header includes no LLVM
// header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/codegen/in_place.h"
#include "backends/gpu/device/device.h"

namespace hlo::gpu {

struct FamilyOptions {
  // Pairs that do share a buffer. Only pairs of KernelInPlacePairs().
  BufferPairs shared;
  int multiprocessors = 0;  // of the device, to share work among; whoever plans kernels says it
  bool tf32 = false;        // GpuOptions::tf32
  // Which of KernelPlan::choices.
  int choice = 0;
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
  //   kTrips    how many iterations of a loop one launch may make
  enum class Late : uint8_t { kNone, kDraw, kCounter, kReplicaId, kPartitionId, kTrips };
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
  // The ways there are to do the same, by name, first the one that is taken where nothing is timed.
  // Sums may be rounded differently. Empty: this one.
  std::vector<std::string> choices;
};

}  // namespace hlo::gpu
