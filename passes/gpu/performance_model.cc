#include "passes/gpu/performance_model.h"

#include <algorithm>
#include <cmath>

#include "lib/analysis/cost.h"

namespace hlo {
namespace {

// How much of the shorter of computing and moving is hidden behind the other.
constexpr double kOverlap = 0.95;
constexpr double kL2Speedup = 2.5;
constexpr double kL1Speedup = 8;
// What certainly stays in the cache of a multiprocessor, beside shared memory and all else.
constexpr double kL1Bytes = 2 * 1024;
constexpr double kBytesPerCycle = 32;  // that a multiprocessor asks for
constexpr double kLineBytes = 64;      // that memory gives at a time
constexpr double kTupleBytes = 4;      // of an element, where there is none

double BytesIn(Shape shape) {
  constexpr double kPointer = 8;
  if (shape.IsArray()) return static_cast<double>(shape.byte_size());
  return shape.IsTuple() ? kPointer * shape.element_count_of_tuple() : 0;
}

// A transpose through shared memory reads in order, reductions one after the other do not.
bool AreStrided(KernelKind kind, bool moves_minor) {
  return kind != KernelKind::kTranspose && moves_minor;
}

}  // namespace

void KernelModel::TakeIn(const Instruction& producer, const KernelModel& of_producer) {
  work.TakeIn(producer, of_producer.work);
  shape.TakeIn(producer, of_producer.shape);
  needs.shared_memory += of_producer.needs.shared_memory;
  needs.reductions += of_producer.needs.reductions;
}

void KernelModel::Rename(const Instruction& operand, const Instruction& newer) {
  work.Rename(operand, newer);
  shape.Rename(operand, newer);
}

double PerformanceModel::SecondsToRead(Shape operand, double part, const Reads& how) const {
  const double once = std::min(BytesIn(operand), BytesIn(operand) * part);
  const double again = BytesIn(operand) * part - once;
  const double element =
      operand.IsArray() ? static_cast<double>(ByteSize(operand.element_type())) : kTupleBytes;
  const double used = how.are_strided ? std::min(1.0, element / kLineBytes) : 1.0;
  const double most = static_cast<double>(how.blocks) * device_.clock_ghz * 1e9 * kBytesPerCycle;
  double of_cache = device_.bytes_per_second;
  if (once < static_cast<double>(device_.l2_bytes)) {
    of_cache *= kL2Speedup;
    if (once < kL1Bytes * static_cast<double>(device_.multiprocessors)) of_cache *= kL1Speedup;
  } else {
    of_cache *= used;
  }
  return once / std::min(device_.bytes_per_second * used, most) + again / std::min(of_cache, most);
}

double PerformanceModel::SecondsToCompute(double cycles, const Grid& grid) const {
  const int64_t lanes =
      std::min(grid.threads, device_.lanes) * std::min(grid.blocks, device_.multiprocessors);
  constexpr double kPerCycle = 2;  // a product and a sum
  return cycles / (std::floor(device_.clock_ghz * kPerCycle * static_cast<double>(lanes)) * 1e9);
}

Ticks PerformanceModel::Together(double computing, double moving) const {
  const double seconds = computing + moving - kOverlap * std::min(computing, moving);
  return std::llround(seconds * 1e9 * kTicksPerNanosecond);
}

Ticks PerformanceModel::TimeOf(const Instruction& kernel, const KernelModel& model) const {
  const Grid grid = model.shape.GridOn(device_, model.work.is_hard_to_unroll());
  const Reads how = {AreStrided(model.shape.kind(), model.work.is_strided()), grid.blocks};
  double moving = BytesWritten(kernel) / device_.bytes_per_second;
  // A bitcast moves nothing.
  if (kernel.opcode() != Opcode::kBitcast) {
    for (const OperandRead& read : model.work.reads())
      moving += SecondsToRead(read.operand->shape(), read.part, how);
  }
  return Together(SecondsToCompute(model.work.cycles(), grid), moving);
}

Ticks PerformanceModel::TimeOfBoth(const Instruction& producer, const KernelModel& of_producer,
                                   const Instruction& consumer,
                                   const KernelModel& of_consumer) const {
  const OperandRead& of_it = *of_consumer.work.ReadOf(producer);
  const bool is_hard = of_consumer.work.is_hard_to_unroll() || of_producer.work.is_hard_to_unroll();
  KernelKind kind = of_consumer.shape.kind();
  Grid grid;
  if (of_consumer.shape.DependsOn(producer)) {
    KernelShape both = of_consumer.shape;
    both.TakeIn(producer, of_producer.shape);
    kind = both.kind();
    grid = both.GridOn(device_, is_hard);
  } else {
    grid = of_consumer.shape.GridOn(device_, is_hard);
  }
  const bool reduces_twice = kind == KernelKind::kReduction &&
                             of_producer.shape.kind() == KernelKind::kReduction &&
                             of_consumer.shape.kind() == KernelKind::kReduction;
  const bool moves_minor = of_producer.work.is_strided() || of_consumer.work.is_strided();
  const Reads how = {AreStrided(kind, moves_minor) || reduces_twice, grid.blocks};

  double moving = BytesWritten(consumer) / device_.bytes_per_second;
  const bool is_bitcast = consumer.opcode() == Opcode::kBitcast;
  for (const OperandRead& read : of_consumer.work.reads()) {
    if (read.operand == &producer || is_bitcast || of_producer.work.ReadOf(*read.operand)) continue;
    moving += SecondsToRead(read.operand->shape(), read.part, how);
  }
  for (const OperandRead& read : of_producer.work.reads()) {
    double part = read.part * of_it.part;
    if (const OperandRead* const own = of_consumer.work.ReadOf(*read.operand)) {
      part += own->part;
      if (read.IsInPlace()) part -= of_consumer.work.PartInBoth(*own, of_it);
    }
    moving += SecondsToRead(read.operand->shape(), part, how);
  }
  const double cycles = of_producer.work.cycles() * of_it.part + of_consumer.work.cycles();
  return Together(SecondsToCompute(cycles, grid), moving);
}

}  // namespace hlo
