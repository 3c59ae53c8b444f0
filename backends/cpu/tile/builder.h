// backends/cpu/tile/builder.h
//
// Builds a kernel node by node and keeps it tidy on the way, so that no pass need run afterwards:
//
//   * a pure node goes to the outermost open block where its operands are known (loop-invariant
//     code is never in a loop); arithmetic and loads do not leave a branch of `if`;
//   * equal pure nodes are made once;
//   * index arithmetic on constants is folded.
//
// Loads from buffers that are not written count as pure.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "backends/cpu/tile/tile_ir.h"

namespace hlo::cpu::tile {

class TileBuilder {
 public:
  explicit TileBuilder(Kernel* kernel);

  Kernel& kernel() { return *kernel_; }
  Type type(Value v) const { return kernel_->type(v); }
  int lanes(Value v) const { return type(v).lanes; }
  Value begin() const { return kernel_->blocks[0].arguments[0]; }
  Value end() const { return kernel_->blocks[0].arguments[1]; }

  // Adds a buffer; arguments must come before all others.
  int AddBuffer(BufferKind kind, ElementType type, int64_t elements, bool written = false);
  int AddConstantBuffer(ElementType type, absl::Span<const uint8_t> data);

  // ---- indices (s64) ----
  Value Index(int64_t value);
  std::optional<int64_t> ConstantOf(Value v) const;
  Value Add(Value a, Value b);
  Value Sub(Value a, Value b);
  Value Mul(Value a, Value b);
  // By constants; not overloads, because a Value is an int as well.
  Value Scale(Value a, int64_t b) { return Mul(a, Index(b)); }
  Value Offset(Value a, int64_t b) { return Add(a, Index(b)); }
  Value Div(Value a, int64_t b);  // a >= 0, b > 0
  Value Rem(Value a, int64_t b);
  Value Min(Value a, Value b);
  Value Max(Value a, Value b);
  Value Less(Value a, Value b);    // pred
  Value LessEq(Value a, Value b);  // pred

  // ---- values ----
  Value Constant(ElementType type, std::array<uint64_t, 2> bits);
  Value Pred(bool value) { return Constant(ElementType::kPred, {value ? 1u : 0u, 0}); }
  Value Iota(int lanes);
  // `v` with `lanes` lanes; v has that many or one.
  Value Splat(Value v, int lanes);
  // An elementwise opcode; scalars meet vectors by splatting. `result` gives the element type.
  Value Element(Opcode opcode, ElementType result, absl::Span<const Value> operands,
                ElementAttrs attrs = {});
  Value And(Value a, Value b) { return Element(Opcode::kAnd, type(a).element, {a, b}); }
  Value Select(Value pred, Value on_true, Value on_false);
  Value Convert(Value v, ElementType type);
  Value Shuffle(Value a, Value b, absl::Span<const int16_t> lane_list);
  Value Lane(Value v, int lane);

  // ---- memory ----
  // Loads are made for `instruction` from now on; gives back for whom they were before.
  const Instruction* SetOrigin(const Instruction* instruction) {
    return std::exchange(origin_, instruction);
  }
  // One index with a stride, or an index per lane. Stride 0 loads once and splats.
  Value Load(int buffer, Value index, int lanes = 1, int64_t stride = 1);
  Value LoadMasked(int buffer, Value index, int lanes, int64_t stride, Value mask, Value fallback);
  void Store(int buffer, Value index, Value value, int64_t stride = 1);

  // ---- structure ----
  // Opens a loop; returns the block arguments: index, then what is carried.
  Values BeginLoop(Value lo, Value hi, int64_t step, absl::Span<const Value> initial = {});
  // Closes it; returns the final carried values.
  Values EndLoop(absl::Span<const Value> next = {});
  void BeginIf(Value condition);
  void Else(absl::Span<const Value> yields = {});
  Values EndIf(absl::Span<const Value> yields = {});
  // Whether `v` may be used here.
  bool IsVisible(Value v) const;
  // Number of nodes so far: a measure of emitted work.
  int node_count() const { return static_cast<int>(kernel_->nodes.size()); }
  int depth() const { return static_cast<int>(open_.size()) - 1; }
  // Depth of the block that defines `v`.
  int DepthOf(Value v) const;

  // While it lives, nodes (structure included) go to the open block at `depth`, or at the innermost
  // branch of an `if` if that is deeper. What was opened meanwhile must be closed before it ends.
  class At final {
   public:
    At(TileBuilder& b, int depth);
    ~At();
    At(const At&) = delete;
    At& operator=(const At&) = delete;

   private:
    TileBuilder& b_;
    std::vector<int32_t> inner_;
  };

 private:
  enum class Purity { kIndex, kPure, kFixed };
  Value Append(Node&& node, Type type, Purity purity);
  int32_t Place(Node&& node, int32_t block);
  Value NewValue(Type type, int32_t node, int32_t block);
  int32_t OpenBlock(bool conditional);
  Value IndexElement(Opcode opcode, Value a, Value b);
  Purity LoadPurity(int buffer) const;

  Kernel* kernel_;
  const Instruction* origin_ = nullptr;
  std::vector<int32_t> open_;                    // blocks from the body to the current one
  std::vector<Node> pending_;                    // loops and ifs being built
  absl::flat_hash_map<uint64_t, int32_t> made_;  // hash of a pure node -> node
};

}  // namespace hlo::cpu::tile
