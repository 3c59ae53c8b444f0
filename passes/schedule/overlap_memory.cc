#include "passes/schedule/overlap_memory.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "lib/types/memory_space.h"

namespace hlo {

namespace {

constexpr uint32_t kUncounted = ~uint32_t{0};

bool IsOwnMemory(Shape shape) {
  return shape.IsArray() && MemorySpaceOf(shape) == kDeviceMemorySpace;
}

}  // namespace

OverlapMemory::OverlapMemory(const std::vector<Instruction*>& given, const Values& values,
                             const AliasSets& sets,
                             const std::function<int64_t(const Instruction&)>& inside,
                             const std::vector<ValueId>& live, bool top_down)
    : needs_(given.size()) {
  absl::flat_hash_map<ValueId, uint32_t> buffers;  // looked up only
  const auto buffer_of = [&](ValueId set, bool is_counted) {
    const auto [at, is_new] = buffers.try_emplace(set, kUncounted);
    const Shape shape = values[set].shape;
    if (is_new && is_counted && IsOwnMemory(shape)) {
      at->second = static_cast<uint32_t>(bytes_.size());
      bytes_.push_back(shape.byte_size());
      sets_.push_back(set);
    }
    return at->second;
  };
  for (const ValueId set : live) {
    buffer_of(set, /*is_counted=*/true);
    of_others_ += values[set].shape.byte_size();
  }
  is_live_.assign(bytes_.size(), true);
  std::vector<bool> is_made(bytes_.size(), false);
  // Nobody here makes what parameters have, wherever they stand.
  for (const Instruction* instruction : given) {
    if (instruction->opcode() != Opcode::kParameter || !values.Has(*instruction)) continue;
    for (const ValueId value : values.Of(*instruction)) {
      const uint32_t buffer =
          buffer_of(sets.SetOf(value), /*is_counted=*/!instruction->parent()->is_entry());
      is_made.resize(bytes_.size(), false);
      if (buffer != kUncounted) is_made[buffer] = true;
    }
  }
  for (uint32_t i = 0; i < given.size(); ++i) {
    const Instruction& instruction = *given[i];
    if (!values.Has(instruction)) continue;
    Needs& needs = needs_[i];
    needs.inside = inside(instruction);
    for (const Instruction* operand : instruction.operands()) {
      if (instruction.opcode() == Opcode::kGetTupleElement) break;
      for (const ValueId value : values.Of(*operand)) {
        const uint32_t buffer = buffers.at(sets.SetOf(value));
        if (buffer != kUncounted) needs.reads.push_back(buffer);
      }
    }
    absl::c_sort(needs.reads);
    needs.reads.erase(std::unique(needs.reads.begin(), needs.reads.end()), needs.reads.end());
    for (const ValueId value : values.Of(instruction)) {
      const uint32_t buffer = buffer_of(sets.SetOf(value), /*is_counted=*/true);
      is_made.resize(bytes_.size(), false);
      if (buffer == kUncounted || is_made[buffer]) continue;
      is_made[buffer] = true;
      needs.makes.push_back(buffer);
    }
  }
  is_live_.resize(bytes_.size(), false);
  if (top_down) TurnRound(given, values, sets);
}

void OverlapMemory::TurnRound(const std::vector<Instruction*>& given, const Values& values,
                              const AliasSets& sets) {
  absl::flat_hash_map<ValueId, uint32_t> buffers;  // looked up only
  for (uint32_t buffer = 0; buffer < sets_.size(); ++buffer) buffers[sets_[buffer]] = buffer;
  const auto of = [&](const Instruction& instruction) {
    std::vector<uint32_t> found;
    if (!values.Has(instruction)) return found;
    for (const ValueId value : values.Of(instruction)) {
      const auto at = buffers.find(sets.SetOf(value));
      if (at != buffers.end()) found.push_back(at->second);
    }
    absl::c_sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  };
  // What others hold, or are given, is theirs to free.
  std::vector<bool> stays(bytes_.size(), true);
  std::vector<uint32_t> last(bytes_.size(), 0);
  for (uint32_t i = 0; i < given.size(); ++i) {
    for (const uint32_t buffer : needs_[i].makes) stays[buffer] = false;
    for (const uint32_t buffer : needs_[i].reads) last[buffer] = i;
  }
  for (const uint32_t buffer : of(*given[0]->parent()->root())) stays[buffer] = true;
  for (uint32_t i = 0; i < given.size(); ++i) {
    Needs& needs = needs_[i];
    const std::vector<uint32_t> read = std::move(needs.reads);
    needs.reads = of(*given[i]);
    needs.makes.clear();
    for (const uint32_t buffer : read) {
      if (!stays[buffer] && last[buffer] == i) needs.makes.push_back(buffer);
    }
  }
}

std::vector<ValueId> OverlapMemory::LiveSets() const {
  std::vector<ValueId> live;
  for (size_t buffer = 0; buffer < sets_.size(); ++buffer) {
    if (is_live_[buffer]) live.push_back(sets_[buffer]);
  }
  return live;
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
