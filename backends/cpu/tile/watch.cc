#include "backends/cpu/tile/watch.h"

namespace hlo::cpu::tile {
namespace {

const Type& AccessType(const Kernel& kernel, const Node& node) {
  const Value v = node.op == Op::kLoad ? node.results[0] : node.operands[1];
  return kernel.values[static_cast<size_t>(v)].type;
}

}  // namespace

int64_t AccessAlignment(const Kernel& kernel, const Node& node) {
  return ByteSize(ComponentType(AccessType(kernel, node).element));
}

Watch::Watch(const Kernel& kernel, void* const* buffers, void* scratch, Part part)
    : kernel_(kernel), part_(part), written_(JustNowBy(part.number)) {
  scratch_states_.assign(static_cast<size_t>(kernel.scratch_bytes), ByteState::kUnwritten);
  for (const Buffer& buffer : kernel.buffers) {
    Memory memory = {nullptr, buffer.elements, ByteSize(buffer.type), !buffer.written, nullptr};
    switch (buffer.kind) {
      case BufferKind::kArgument: memory.address = static_cast<const std::byte*>(*buffers++); break;
      case BufferKind::kScratch:
        memory.address = static_cast<const std::byte*>(scratch) + buffer.offset;
        memory.states = scratch_states_.data() + buffer.offset;
        break;
      // Compiled code has its own copy.
      case BufferKind::kConstant: break;
    }
    buffers_.push_back(memory);
  }
}

bool Watch::Fail(AccessProblem problem, int32_t node, int64_t index, int64_t address) {
  if (!fault_) fault_ = {problem, node, index, address};
  return false;
}

bool Watch::IsAligned(int32_t number, int64_t index, int64_t alignment) {
  const Node& node = kernel_.nodes[static_cast<size_t>(number)];
  const Memory& memory = buffers_[static_cast<size_t>(node.buffer)];
  if (memory.address == nullptr) return true;
  const auto address = reinterpret_cast<int64_t>(memory.address) + index * memory.element_bytes;
  return address % alignment == 0 || Fail(AccessProblem::kMisaligned, number, index, address);
}

bool Watch::Allows(int32_t number, int64_t index) {
  const Node& node = kernel_.nodes[static_cast<size_t>(number)];
  const int64_t lanes = AccessType(kernel_, node).lanes;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    if (!Touch(number, index + lane * node.stride)) return false;
  }
  return IsAligned(number, index, AccessAlignment(kernel_, node));
}

bool Watch::AllowsLane(int32_t number, int64_t index) {
  const Node& node = kernel_.nodes[static_cast<size_t>(number)];
  return Touch(number, index) && IsAligned(number, index, AccessAlignment(kernel_, node));
}

bool Watch::Touch(int32_t number, int64_t index) {
  const Node& node = kernel_.nodes[static_cast<size_t>(number)];
  const Memory& memory = buffers_[static_cast<size_t>(node.buffer)];
  if (fault_) return false;
  if (index < 0 || index >= memory.elements) return Fail(AccessProblem::kOutside, number, index);
  if (memory.states == nullptr) return true;
  ByteState* const states = memory.states + index * memory.element_bytes;
  for (int64_t i = 0; i < memory.element_bytes; ++i) {
    const bool is_new = IsJustNow(states[i]);
    const bool is_store = node.op == Op::kStore;
    if (!is_store && is_new && memory.is_operand)
      return Fail(AccessProblem::kOverwritten, number, index);
    if (is_new && states[i] != written_ && (!is_store || part_.owns))
      return Fail(AccessProblem::kShared, number, index);
    if (!is_store && states[i] == ByteState::kUnwritten)
      return Fail(AccessProblem::kUnwritten, number, index);
    if (is_store) states[i] = written_;
  }
  return true;
}

int32_t WatchAllows(Watch* watch, int32_t node, int64_t index) {
  return watch->Allows(node, index) ? 1 : 0;
}

int32_t WatchAllowsLane(Watch* watch, int32_t node, int64_t index, int32_t is_on) {
  return is_on == 0 || watch->AllowsLane(node, index) ? 1 : 0;
}

}  // namespace hlo::cpu::tile
