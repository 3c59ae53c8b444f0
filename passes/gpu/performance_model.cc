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

double PerformanceModel::SecondsToRead(const OperandRead& read, double part,
                                       const ReadingWay& way) const {
  const double bytes = BytesIn(read.operand->shape());
  const double once = std::min(bytes, bytes * part);
  const double again = bytes * part - once;
  const ElementType type = read.operand->shape().element_type();
  const double element = IsArrayType(type) ? static_cast<double>(ByteSize(type)) : kTupleBytes;
  const double used = way.is_strided ? std::min(1.0, element / kLineBytes) : 1.0;
  const double most = static_cast<double>(way.blocks) * device_.clock_ghz * 1e9 * kBytesPerCycle;
  double of_cache = device_.bytes_per_second;
  if (once < static_cast<double>(device_.l2_bytes)) {
    of_cache *= kL2Speedup;
    if (once < kL1Bytes * static_cast<double>(device_.multiprocessors)) of_cache *= kL1Speedup;
  } else {
    of_cache *= used;
  }
  return once / std::min(device_.bytes_per_second * used, most) + again / std::min(of_cache, most);
}

double PerformanceModel::SecondsToReadAll(const KernelModel& model, const ReadingWay& way) const {
  double seconds = 0;
  for (const OperandRead& read : model.work.reads()) seconds += SecondsToRead(read, read.part, way);
  return seconds;
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

void PerformanceModel::Measure(const Instruction& kernel, KernelModel& model) const {
  model.kind = model.shape.kind();
  model.grid = model.shape.GridOn(device_, model.work.is_hard_to_unroll());
  model.way = {AreStrided(model.kind, model.work.is_strided()), model.grid.blocks};
  model.emitted_size = model.work.emitted_size();
  model.seconds_to_write = BytesWritten(kernel) / device_.bytes_per_second;
  // A bitcast moves nothing.
  model.seconds_to_read =
      kernel.opcode() == Opcode::kBitcast ? 0 : SecondsToReadAll(model, model.way);
  model.time = Together(SecondsToCompute(model.work.cycles(), model.grid),
                        model.seconds_to_read + model.seconds_to_write);
}

Ticks PerformanceModel::TimeOfBoth(const Instruction& producer, const KernelModel& of_producer,
                                   const Instruction& consumer, const KernelModel& of_consumer,
                                   bool writes_both) const {
  const OperandRead& of_it = *of_consumer.work.ReadOf(producer);
  const bool is_hard = of_consumer.work.is_hard_to_unroll() || of_producer.work.is_hard_to_unroll();
  KernelKind kind = of_consumer.kind;
  Grid grid = of_consumer.grid;
  if (of_consumer.shape.MayChangeWith(producer, of_producer.shape)) {
    KernelShape both = of_consumer.shape;
    both.TakeIn(producer, of_producer.shape);
    kind = both.kind();
    grid = both.GridOn(device_, is_hard);
  } else if (is_hard != of_consumer.work.is_hard_to_unroll()) {
    grid = of_consumer.shape.GridOn(device_, is_hard);
  }
  const bool reduces_twice = kind == KernelKind::kReduction &&
                             of_producer.kind == KernelKind::kReduction &&
                             of_consumer.kind == KernelKind::kReduction;
  const bool moves_minor = of_producer.work.is_strided() || of_consumer.work.is_strided();
  const ReadingWay way = {AreStrided(kind, moves_minor) || reduces_twice, grid.blocks};

  double moving = of_consumer.seconds_to_write;
  if (writes_both) moving += of_producer.seconds_to_write;
  if (consumer.opcode() != Opcode::kBitcast) {
    moving +=
        way == of_consumer.way ? of_consumer.seconds_to_read : SecondsToReadAll(of_consumer, way);
    moving -= SecondsToRead(of_it, of_it.part, way);
  }
  for (const OperandRead& read : of_producer.work.reads()) {
    double part = read.part * of_it.part;
    if (const OperandRead* const own = of_consumer.work.ReadOf(*read.operand)) {
      moving -= SecondsToRead(*own, own->part, way);
      part += own->part;
      if (read.IsInPlace()) part -= of_consumer.work.PartInBoth(*own, of_it);
    }
    moving += SecondsToRead(read, part, way);
  }
  const double cycles = of_producer.work.cycles() * of_it.part + of_consumer.work.cycles();
  return Together(SecondsToCompute(cycles, grid), moving);
}

}  // namespace hlo
