#include "backends/cpu/memory_states.h"

#include <algorithm>
#include <cstring>

#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

using tile::ByteState;

class TrackedThunk final : public Thunk {
 public:
  TrackedThunk(std::unique_ptr<Thunk> thunk, const Instruction& instruction)
      : Thunk(thunk->name()), thunk_(std::move(thunk)), instruction_(instruction) {}
  std::string_view kind() const override { return thunk_->kind(); }
  BufferUses uses() const override { return thunk_->uses(); }
  int64_t scratch_bytes() const override { return thunk_->scratch_bytes(); }
  void ForgetOperands(DeviceState& state) const override { thunk_->ForgetOperands(state); }

  absl::StatusOr<ExecuteEvent> Execute(DeviceState& state, Stream& stream) const override {
    MemoryStates& states = static_cast<TrackingState&>(state).states;
    const BufferUses used = thunk_->uses();
    for (size_t i = 0; i < used.reads.size(); ++i) {
      const int64_t at = states.FirstBelow(used.reads[i], ByteState::kWritten);
      if (at < 0) continue;
      return MakeError(
          absl::StatusCode::kOutOfRange, instruction_.loc(),
          fmt::format(
              "{} of `{}` reads byte {} of operand leaf {} ({} bytes), which nobody has written",
              kind(), name(), at, i, used.reads[i].size));
    }
    ASSIGN_OR_RETURN(const ExecuteEvent event, thunk_->Execute(state, stream));
    for (const BufferSlice& slice : used.writes) {
      // What is passed on is left alone: another sequence may read it now.
      if (states.FirstBelow(slice, ByteState::kWritten) >= 0) states.SetWritten(slice);
    }
    return event;
  }

 private:
  std::unique_ptr<Thunk> thunk_;
  const Instruction& instruction_;
};

// Of eight states at once: 1 and 2 differ from 0 in their two low bits, 2 from the
// others in the second.
bool AllAtLeast(const ByteState* states, ByteState least) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  uint64_t word;
  std::memcpy(&word, states, sizeof word);
  const uint64_t good = least == ByteState::kJustNow ? word >> 1 : word | word >> 1;
  return (good & kOnes) == kOnes;
}

}  // namespace

MemoryStates::MemoryStates(const BufferAssignment& buffers) : buffers_(buffers) {
  for (const Allocation& allocation : buffers.allocations())
    allocations_.emplace_back(static_cast<size_t>(allocation.size));
}

void MemoryStates::Reset() {
  for (size_t i = 0; i < allocations_.size(); ++i) {
    const Allocation::Kind kind = buffers_.allocations()[i].kind;
    const bool is_there =
        kind == Allocation::Kind::kArgument || kind == Allocation::Kind::kConstant;
    std::fill(allocations_[i].begin(), allocations_[i].end(),
              is_there ? ByteState::kWritten : ByteState::kUnwritten);
  }
}

ByteState* MemoryStates::At(const BufferSlice& slice) {
  if (slice.allocation < 0) return nullptr;
  return allocations_[static_cast<size_t>(slice.allocation)].data() + slice.offset;
}

void MemoryStates::Begin(const BufferUses& uses) {
  for (const BufferSlice& slice : uses.writes) {
    const bool is_read = std::any_of(uses.reads.begin(), uses.reads.end(),
                                     [&](const BufferSlice& read) { return read.Overlaps(slice); });
    if (!is_read && slice.allocation >= 0)
      std::fill_n(At(slice), slice.size, ByteState::kUnwritten);
  }
}

void MemoryStates::SetWritten(const BufferSlice& slice) {
  if (slice.allocation >= 0) std::fill_n(At(slice), slice.size, ByteState::kWritten);
}

int64_t MemoryStates::FirstBelow(const BufferSlice& slice, ByteState least) {
  if (slice.allocation < 0) return -1;
  const ByteState* const states = At(slice);
  int64_t at = 0;
  while (at + 8 <= slice.size && AllAtLeast(states + at, least)) at += 8;
  while (at < slice.size && states[at] >= least) ++at;
  return at == slice.size ? -1 : at;
}

absl::Status TrackingState::Copy(Stream& stream, const BufferSlice& to, const BufferSlice& from,
                                 int64_t bytes) {
  if (bytes > 0 && to.allocation >= 0 && from.allocation >= 0)
    std::copy_n(states.At(from), bytes, states.At(to));
  return CpuState::Copy(stream, to, from, bytes);
}

absl::Status TrackingState::Read(Stream& stream, const BufferSlice& from, void* to, int64_t bytes) {
  if (states.FirstBelow(from, ByteState::kWritten) >= 0) {
    return MakeError(absl::StatusCode::kOutOfRange, SourceLoc(),
                     "a loop or conditional is decided by a value that nobody has written");
  }
  return CpuState::Read(stream, from, to, bytes);
}

std::unique_ptr<Thunk> MakeTracked(std::unique_ptr<Thunk> thunk, const Instruction& instruction) {
  return std::make_unique<TrackedThunk>(std::move(thunk), instruction);
}

}  // namespace hlo::cpu
