// backends/cpu/tile/watch.h
//
// Watches the accesses of one run of a kernel: inside its buffer, aligned as the code assumes, and,
// for buffers whose bytes are tracked, of memory that somebody has written, and that no other part
// of the launch writes. Checked machine code (EmitOptions::checked) and the evaluator ask before
// each access, and stop at the first fault.
//
//   Watch watch(kernel, buffers, scratch);
//   watch.Track(0, states);                  // one ByteState per byte of buffer 0
//   …run; then watch.fault()
//
// One watch for each part of the tasks that a thread runs. Bytes may be tracked by several at once:
// what one part writes no other may read. Both may write it where both compute the same, as the
// last vectors of two tasks do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/cpu/tile/tile_ir.h"

namespace hlo::cpu::tile {

// What is known of a byte of memory.
enum class ByteState : uint8_t {
  kUnwritten,  // nobody has written it since it was given to its present value
  kWritten,    // before this launch
  kJustNow,    // by this launch; above its two bits the number of the part
};

constexpr int kPartNumbers = 64;  // further parts begin anew
constexpr ByteState JustNowBy(int64_t part) {
  return static_cast<ByteState>(static_cast<int64_t>(ByteState::kJustNow) | part % kPartNumbers
                                                                                << 2);
}
constexpr bool IsJustNow(ByteState state) { return (static_cast<int>(state) & 3) == 2; }

// Of the tasks of a launch.
struct Part {
  int64_t number = 0;
  bool owns = false;  // what it writes, no other part may write either: a result in its operand
};

enum class AccessProblem : uint8_t {
  kOutside,      // of the buffer
  kMisaligned,   // for the instruction that is used
  kUnwritten,    // reads what nobody wrote
  kOverwritten,  // reads from an operand what this launch has already written over
  kShared,       // touches what another part of the launch writes
  kNegative,     // divides a negative index (the evaluator only)
};

struct AccessFault {
  AccessProblem problem;
  int32_t node;
  int64_t index;    // of the element; what is divided
  int64_t address;  // of a misaligned access
};

// The alignment that compiled code assumes of the first lane of an access.
int64_t AccessAlignment(const Kernel& kernel, const Node& node);

class Watch final {
 public:
  Watch(const Kernel& kernel, void* const* buffers, void* scratch, Part part = {});

  // `states`: of the bytes of `buffer`.
  void Track(int buffer, ByteState* states) {
    buffers_[static_cast<size_t>(buffer)].states = states;
  }

  // All lanes of a node that takes one index, `index` of lane 0; false: the access must not happen.
  bool Allows(int32_t node, int64_t index);
  // One lane, its own index.
  bool AllowsLane(int32_t node, int64_t index);

  const std::optional<AccessFault>& fault() const { return fault_; }
  // Records a fault, if it is the first; false.
  bool Fail(AccessProblem problem, int32_t node, int64_t index, int64_t address = 0);

 private:
  struct Memory {
    const std::byte* address;
    int64_t elements;
    int64_t element_bytes;
    bool is_operand;  // not written by the kernel
    ByteState* states;
  };
  bool IsAligned(int32_t node, int64_t index, int64_t alignment);
  bool Touch(int32_t node, int64_t index);

  const Kernel& kernel_;
  const Part part_;
  const ByteState written_;  // what this part writes becomes it
  std::vector<Memory> buffers_;
  std::vector<ByteState> scratch_states_;
  std::optional<AccessFault> fault_;
};

// The names by which checked machine code knows these; the functions return 0 for
// "must not happen".
inline constexpr char kAllowsSymbol[] = "hlo_watch_allows";
inline constexpr char kAllowsLaneSymbol[] = "hlo_watch_allows_lane";
int32_t WatchAllows(Watch* watch, int32_t node, int64_t index);
int32_t WatchAllowsLane(Watch* watch, int32_t node, int64_t index, int32_t is_on);

}  // namespace hlo::cpu::tile
