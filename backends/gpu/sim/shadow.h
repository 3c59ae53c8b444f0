// backends/gpu/sim/shadow.h
//
// Who touched which byte: the memory of the simulator's race detector. One record per granule of a
// region of memory holds its last writer and its readers with the epoch (number of barriers) of
// each.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "backends/gpu/device/device.h"

namespace hlo::gpu {

// One access by one thread.
struct ShadowAccess {
  int64_t block = 0;
  int32_t thread = 0;
  uint32_t epoch = 0;
  enum class Kind : uint8_t { kRead, kWrite, kAtomic } kind = Kind::kRead;
};

enum class ShadowProblem : uint8_t {
  kReadAfterWrite,   // reads what another thread wrote
  kWriteAfterRead,   // overwrites what another thread read
  kWriteAfterWrite,  // overwrites what another thread wrote
  kUninitialised,    // reads what no thread wrote
};

struct ShadowFinding {
  ShadowProblem problem;
  int64_t other_block = 0;
  int32_t other_thread = 0;
};

class Shadow final {
 public:
  // Forgets everything; the region has `bytes` bytes, tracked in pieces of `granule`.
  void Reset(int64_t bytes, int granule);
  // Records an access of the bytes [offset, offset + bytes); says what is wrong with it, if
  // anything. `must_be_written`: reading what nobody wrote is wrong.
  std::optional<ShadowFinding> Touch(int64_t offset, int64_t bytes, const ShadowAccess& access,
                                     bool must_be_written);

 private:
  struct Record {
    int32_t writer = -1;  // thread of its block; -1: none
    int32_t reader = -1;
    uint32_t write_epoch = 0;
    uint32_t read_epoch = 0;
    int32_t write_block = 0;
    int32_t read_block = 0;
    bool atomic = false;        // the last write was
    bool many_readers = false;  // since the last write, in this epoch
    bool many_blocks = false;   // they were of several blocks
  };
  std::optional<ShadowFinding> TouchOne(Record& record, const ShadowAccess& access,
                                        bool must_be_written);
  std::vector<Record> records_;
  int granule_ = 1;
};

// The shadows of a launch's buffers. Arguments that overlap share one.
class GlobalShadow final {
 public:
  void Reset(absl::Span<const KernelArgument> arguments, int granule);
  std::optional<ShadowFinding> Touch(uint64_t address, int64_t bytes, const ShadowAccess& access);

 private:
  struct Region {
    uint64_t begin, end;
    Shadow shadow;
  };
  std::vector<Region> regions_;  // by address
};

}  // namespace hlo::gpu
