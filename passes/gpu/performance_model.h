// How long kernels take on a GPU: a model of arithmetic and memory with XLA's rules and numbers.
//
//   arithmetic     cycles of all elements (op_cycles.h), shared by the lanes of as many
//                  multiprocessors as there are blocks
//   reads          each operand once from memory, again from a cache that is large enough; blocks
//                  ask for at most so many bytes in a cycle; strided reads waste most of a line
//   writes         each result once
//   together       the longer one, and a twentieth of the shorter
//   a launch       1 us more
//
// The time of a kernel that has taken in what it reads follows from what is known of both, without
// a look at either body. Kernels are what lies outside of fusions:
// fusions, and instructions as if each were one.
#pragma once

#include <cstdint>

#include "passes/gpu/gpu_device.h"
#include "passes/gpu/kernel_shape.h"
#include "passes/gpu/kernel_work.h"
#include "passes/gpu/shared_kernels.h"

namespace hlo {

// Quarters of a nanosecond: whole numbers, of which sums and differences are exact.
using Ticks = int64_t;
inline constexpr Ticks kTicksPerNanosecond = 4;
inline constexpr Ticks kLaunch = 1000 * kTicksPerNanosecond;

// How a kernel reads: these are the same for all of its operands.
struct ReadingWay {
  bool is_strided = false;
  int64_t blocks = 1;
  friend bool operator==(const ReadingWay&, const ReadingWay&) = default;
};

struct KernelModel {
  explicit KernelModel(const Instruction& kernel)
      : work(kernel), shape(kernel), needs(NeedsOf(kernel)) {}

  // The kernel computes its operand `producer` itself, in a fusion.
  void TakeIn(const Instruction& producer, const KernelModel& of_producer);
  void Rename(const Instruction& operand, const Instruction& newer);

  KernelWork work;
  KernelShape shape;
  KernelNeeds needs;

  // As measured last (PerformanceModel::Measure).
  KernelKind kind = KernelKind::kLoop;
  Grid grid;
  ReadingWay way;
  double seconds_to_read = 0;
  double seconds_to_write = 0;
  double emitted_size = 1;
  Ticks time = 0;  // without its launch
};

class PerformanceModel {
 public:
  explicit PerformanceModel(const GpuDevice& device) : device_(device) {}

  void Measure(const Instruction& kernel, KernelModel& model) const;
  // Of `consumer` when it computes its operand `producer` itself; both are measured. As many steps
  // as the producer has operands, if the consumer still reads in the way that it did. With
  // `writes_both` the kernel yields what the producer did, too.
  Ticks TimeOfBoth(const Instruction& producer, const KernelModel& of_producer,
                   const Instruction& consumer, const KernelModel& of_consumer,
                   bool writes_both = false) const;

 private:
  double SecondsToRead(const OperandRead& read, double part, const ReadingWay& way) const;
  double SecondsToReadAll(const KernelModel& model, const ReadingWay& way) const;
  double SecondsToCompute(double cycles, const Grid& grid) const;
  Ticks Together(double computing, double moving) const;

  GpuDevice device_;
};

}  // namespace hlo
