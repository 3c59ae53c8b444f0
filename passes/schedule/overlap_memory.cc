#include "passes/schedule/overlap_memory.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace hlo {

OverlapMemory::OverlapMemory(const std::vector<Instruction*>& given, const Values& values,
                             const AliasSets& sets,
                             const std::function<int64_t(const Instruction&)>& inside)
    : needs_(given.size()) {
  constexpr uint32_t kOutside = ~uint32_t{0};
  absl::flat_hash_map<ValueId, uint32_t> buffers;  // looked up only
  for (uint32_t i = 0; i < given.size(); ++i) {
    const Instruction& instruction = *given[i];
    if (!values.Has(instruction)) continue;
    Needs& needs = needs_[i];
    needs.inside = inside(instruction);
    for (const Instruction* operand : instruction.operands()) {
      if (instruction.opcode() == Opcode::kGetTupleElement) break;
      for (const ValueId value : values.Of(*operand)) {
        const uint32_t buffer = buffers.at(sets.SetOf(value));
        if (buffer != kOutside) needs.reads.push_back(buffer);
      }
    }
    std::sort(needs.reads.begin(), needs.reads.end());
    needs.reads.erase(std::unique(needs.reads.begin(), needs.reads.end()), needs.reads.end());
    // The memory of parameters is the caller's.
    const bool is_outside = instruction.opcode() == Opcode::kParameter;
    for (const ValueId value : values.Of(instruction)) {
      const auto number = static_cast<uint32_t>(bytes_.size());
      const auto [at, is_new] = buffers.try_emplace(sets.SetOf(value), number);
      if (!is_new) continue;
      if (is_outside) {
        at->second = kOutside;
        continue;
      }
      const Shape shape = values[value].shape;
      bytes_.push_back(shape.IsArray() ? shape.byte_size() : 0);
      needs.makes.push_back(number);
    }
  }
  is_live_.assign(bytes_.size(), false);
}

MemoryChange OverlapMemory::ChangeBy(uint32_t number) const {
  const Needs& needs = needs_[number];
  MemoryChange change;
  for (const uint32_t buffer : needs.reads) {
    if (!is_live_[buffer]) change.increase += bytes_[buffer];
  }
  change.peak = std::max(change.increase, needs.inside);
  for (const uint32_t buffer : needs.makes) {
    if (is_live_[buffer]) change.increase -= bytes_[buffer];
  }
  return change;
}

void OverlapMemory::Add(uint32_t number) {
  const Needs& needs = needs_[number];
  peak_ = std::max(peak_, live_ + needs.inside);
  for (const uint32_t buffer : needs.reads) {
    if (is_live_[buffer]) continue;
    is_live_[buffer] = true;
    live_ += bytes_[buffer];
  }
  peak_ = std::max(peak_, live_);
  for (const uint32_t buffer : needs.makes) {
    if (!is_live_[buffer]) continue;
    is_live_[buffer] = false;
    live_ -= bytes_[buffer];
  }
}

}  // namespace hlo
