// The buffers of one computation in the order in which it runs: what each instruction makes, where
// it is passed on to, who uses it, and how many bytes are needed at a time.
//
//   x = parameter, n = negate(x)     make one buffer each
//   t = tuple(n, x)                  makes one: the table of two pointers
//   g = get-tuple-element(t)         makes none, n's is passed on
//   w = while(t)                     makes none: it has what t has, and writes over it
//   c = call(n)                      makes its result, whatever the callee does
//
// Unlike values.h this looks at a computation by itself and counts the tables of tuples: what the
// computation takes from its caller and gives to it is its caller's memory and counts nothing.
// Made in O(leaves of all results and of their users); true until the computation changes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "lib/ir/module.h"
#include "lib/types/shape_util.h"

namespace hlo {

constexpr int64_t kPointerBytes = 8;  // of an element of a tuple

// Counts the buffers in the order in which they are made.
using LogicalBufferId = int32_t;

struct LogicalBufferUse {
  const Instruction* user;
  int operand;
};

struct LogicalBuffer {
  const Instruction* def = nullptr;  // which makes it
  ShapeIndex index;                  // in the shape of its result
  Shape shape;
  bool is_live_out = false;  // the computation returns it
  // Somebody uses it by another name than its own, bitcasts and get-tuple-elements of that aside.
  bool has_indirect_uses = false;
  std::vector<LogicalBufferUse> uses;           // by any name; users in the order of names
  int user_count = 0;                           // distinct
  std::vector<const Instruction*> overwriters;  // that have to write over it

  // It is the caller's memory.
  bool IsOutside() const { return is_live_out || def->opcode() == Opcode::kParameter; }
};

class LogicalBuffers {
 public:
  // `sequence`: instructions of one computation, each after its operands. Others do not count, also
  // as users.
  explicit LogicalBuffers(absl::Span<Instruction* const> sequence);

  int count() const { return static_cast<int>(buffers_.size()); }
  const LogicalBuffer& operator[](LogicalBufferId id) const {
    return buffers_[static_cast<size_t>(id)];
  }
  // What the result consists of: one for each node of the tree of its shape, in pre-order.
  absl::Span<const LogicalBufferId> Of(const Instruction& instruction) const;
  // What it makes: from the first to before the second.
  std::pair<LogicalBufferId, LogicalBufferId> MadeBy(const Instruction& instruction) const;
  // What it uses, each once, ascending.
  absl::Span<const LogicalBufferId> UsedBy(const Instruction& instruction) const;

  // The buffers of each computation that is a piece of program, with their users.
  static std::string ToString(const Module& module);

 private:
  struct Instance {
    uint32_t first = 0, count = 0;  // into nodes_
    LogicalBufferId made = 0, made_end = 0;
    std::vector<LogicalBufferId> used;
  };

  void Visit(const Instruction& instruction);
  LogicalBufferId New(const Instruction& def, ShapeIndex index, Shape shape);
  LogicalBufferId Passed(const Instruction& instruction, const ShapeIndex& index) const;
  void NoteOverwriting(const Instruction& instruction);
  void AddUses(const Instruction& alias);

  std::vector<LogicalBuffer> buffers_;
  std::vector<LogicalBufferId> nodes_;
  absl::flat_hash_map<const Instruction*, Instance> instances_;  // looked up only
  std::vector<int64_t> stamps_;                                  // while it is made
  int64_t last_stamp_ = 0;
};

// Bytes of memory for one node of a shape: arrays as they are, tables of tuples a pointer each.
int64_t NodeBytes(Shape shape);

// Names for what the operand already is, which can be given to another buffer just as well.
inline bool IsTransparent(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kBitcast ||
         instruction.opcode() == Opcode::kGetTupleElement;
}

// Where a computation needs most memory. A result lies beside what it is made of; what is not used
// any more is free after the instruction that used it last.
struct MemoryPeak {
  int64_t bytes = 0;
  const Instruction* at = nullptr;
};
// `bytes_of`: of a node of a shape. `inside`: what the computations that an instruction calls need.
MemoryPeak PeakOf(absl::Span<Instruction* const> sequence,
                  const std::function<int64_t(Shape)>& bytes_of,
                  const std::function<int64_t(const Instruction&)>& inside);

}  // namespace hlo
