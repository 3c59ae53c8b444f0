// backends/cpu/tile/tile_ir.h
//
// Tile IR: the small SSA vector language between fused HLO and machine code.
//
// A value is a vector of `lanes` elements of one HLO element type (lanes == 1: a scalar); indices
// are s64. A kernel is a tree of blocks: nodes in order, where `loop` and `if` nodes own blocks and
// yield values. Meaning of `element` nodes is that of the HLO opcode on one element
// (lib/eval/scalar_ops.h), so the emitter, the evaluator and the interpreter agree bit for bit.
//
//   kernel(b0: f32[64], b1: f32[64] write) tasks [%0, %1)
//     %2 = loop %3 = %0 to %1 step 8 {
//       %4:f32x8 = load b0[%3]
//       %5:f32x8 = exponential %4
//       store b1[%3], %5
//     }
//
// Memory: buffers are dense arrays of ByteSize(type) bytes per element; an index counts elements.
// `load` and `store` of several lanes take either one index (lane k is at index + k * stride) or
// one index per lane (a gather); a masked load gives its fallback where the mask is false.
//
// A kernel runs tasks [begin, end), any partition of [0, task_count) in any order or at the same
// time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "lib/eval/element_attrs.h"
#include "lib/ops/ops.h"
#include "lib/types/element_type.h"

namespace hlo::cpu::tile {

using Value = int32_t;
inline constexpr Value kNoValue = -1;

struct Type {
  ElementType element = ElementType::kS64;
  int32_t lanes = 1;
  friend bool operator==(const Type&, const Type&) = default;
};
inline constexpr Type kIndexType{ElementType::kS64, 1};

enum class Op : uint8_t {
  kConstant,  // `bits`, the same in every lane
  kIota,      // s64: 0, 1, … lanes - 1
  kSplat,     // a scalar in every lane
  kElement,   // the HLO opcode `opcode`, lane by lane
  kIndexDiv,  // s64 quotient of a number >= 0 by one > 0
  kIndexRem,
  kShuffle,  // lanes `lane_list` of the concatenation of both operands; one lane: a scalar
  kLoad,     // operands: index [, mask, fallback]
  kStore,    // operands: index, value
  kLoop,     // operands: lo, hi, initial…; block arguments: index, carried…; results: carried
  kIf,       // operands: condition; two blocks
};
std::string_view Text(Op op);

using Values = absl::InlinedVector<Value, 4>;

struct Node {
  Op op = Op::kConstant;
  Opcode opcode = Opcode::kAdd;
  ElementAttrs attrs;
  int16_t buffer = -1;                    // load, store
  int64_t stride = 1;                     // load, store: elements between lanes; loop: step
  std::array<uint64_t, 2> bits = {0, 0};  // constant, as in memory
  Values operands;
  Values results;
  absl::InlinedVector<int32_t, 2> blocks;
  std::vector<int16_t> lane_list;
  const Instruction* origin = nullptr;  // whose elements it reads, for messages; may be unknown
};

struct Block {
  int32_t parent = -1;  // block that holds the owning node
  int32_t depth = 0;
  bool conditional = false;  // a branch of `if`
  Values arguments;
  std::vector<int32_t> nodes;
  Values yields;
};

struct ValueInfo {
  Type type;
  int32_t node = -1;  // -1: a block argument
  int32_t block = 0;
};

enum class BufferKind : uint8_t {
  kArgument,  // given by the caller, in order
  kConstant,  // `data`
  kScratch,   // at byte `offset` of the caller's scratch memory
};

struct Buffer {
  BufferKind kind = BufferKind::kArgument;
  ElementType type = ElementType::kF32;
  int64_t elements = 0;
  bool written = false;
  int64_t offset = 0;
  std::vector<uint8_t> data;
};

struct Kernel {
  std::vector<Buffer> buffers;  // arguments first
  std::vector<Block> blocks;    // block 0 is the body; its arguments are begin and end
  std::vector<Node> nodes;
  std::vector<ValueInfo> values;
  int64_t scratch_bytes = 0;  // per concurrent call, 64-byte aligned

  Type type(Value v) const { return values[static_cast<size_t>(v)].type; }
  int argument_count() const;

  // The kernel as text, for reading and FileCheck.
  std::string ToString() const;
  // Bytes that are equal for kernels that compute the same in the same way, whatever they were made
  // from: the key of kernel caches.
  std::string Key() const;
};

}  // namespace hlo::cpu::tile
