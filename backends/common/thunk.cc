#include "backends/common/thunk.h"

#include <algorithm>

#include "lib/eval/communicator.h"
#include "lib/support/status.h"

namespace hlo {

void Thunk::AppendTo(std::string& out, int indent) const {
  out.append(static_cast<size_t>(indent) * 2, ' ');
  out += fmt::format("{} {}", kind(), name());
  const BufferUses used = uses();
  for (const BufferSlice& slice : used.reads) out += " r:" + slice.ToString();
  for (const BufferSlice& slice : used.writes) out += " w:" + slice.ToString();
  out += '\n';
}

int64_t ScratchBytes(const ThunkList& thunks) {
  int64_t bytes = 0;
  for (const auto& thunk : thunks) bytes = std::max(bytes, thunk->scratch_bytes());
  return bytes;
}

void ForgetOperands(const ThunkList& thunks, DeviceState& state) {
  for (const auto& thunk : thunks) thunk->ForgetOperands(state);
}

void AppendUses(const ThunkList& thunks, BufferUses& uses) {
  for (const auto& thunk : thunks) {
    const BufferUses inner = thunk->uses();
    uses.reads.insert(uses.reads.end(), inner.reads.begin(), inner.reads.end());
    uses.writes.insert(uses.writes.end(), inner.writes.begin(), inner.writes.end());
  }
}

std::string ToString(const ThunkList& thunks) {
  std::string out;
  for (const auto& thunk : thunks) thunk->AppendTo(out, 0);
  return out;
}

// ---- copies ----

BufferUses CopyThunk::uses() const { return {.reads = {from_}, .writes = {to_}}; }

absl::StatusOr<ExecuteEvent> CopyThunk::Execute(DeviceState& state, Stream& stream) const {
  RETURN_IF_ERROR(state.Copy(stream, to_, from_, to_.size));
  return ExecuteEvent(stream);
}

// ---- control flow ----

BufferUses ControlThunk::uses() const {
  BufferUses uses;
  for (const ThunkList& list : lists_) AppendUses(list, uses);
  return uses;
}

int64_t ControlThunk::scratch_bytes() const {
  int64_t bytes = 0;
  for (const ThunkList& list : lists_) bytes = std::max(bytes, ScratchBytes(list));
  return bytes;
}

void ControlThunk::ForgetOperands(DeviceState& state) const {
  for (const ThunkList& list : lists_) hlo::ForgetOperands(list, state);
}

// ---- while ----

absl::Status TooManyIterations(std::string_view loop, int64_t limit) {
  return absl::DeadlineExceededError(
      fmt::format("`{}` did not end within {} iterations", loop, limit).c_str());
}

namespace {

std::vector<ThunkList> Pair(ThunkList first, ThunkList second) {
  std::vector<ThunkList> lists;
  lists.push_back(std::move(first));
  lists.push_back(std::move(second));
  return lists;
}

}  // namespace

WhileThunk::WhileThunk(std::string_view name, ThunkList condition, BufferSlice predicate,
                       ThunkList body)
    : ControlThunk(name, Pair(std::move(condition), std::move(body))), predicate_(predicate) {}

BufferUses WhileThunk::uses() const {
  BufferUses uses = ControlThunk::uses();
  uses.reads.push_back(predicate_);
  return uses;
}

absl::StatusOr<ExecuteEvent> WhileThunk::Execute(DeviceState& state, Stream& stream) const {
  // What does not change during the loop may differ from what the last loop had.
  ForgetOperands(state);
  ExecuteEvent event;
  for (int64_t iteration = 0;; ++iteration) {
    RETURN_IF_ERROR(ExecuteAll(condition(), state, stream).status());
    uint8_t go_on = 0;
    RETURN_IF_ERROR(state.Read(stream, predicate_, &go_on, sizeof go_on));
    if (go_on == 0) return event;
    if (state.max_loop_iterations > 0 && iteration >= state.max_loop_iterations) {
      return TooManyIterations(name(), state.max_loop_iterations);
    }
    if (state.communicator != nullptr) RETURN_IF_ERROR(state.communicator->Failure());
    ASSIGN_OR_RETURN(event, ExecuteAll(body(), state, stream));
  }
}

void WhileThunk::AppendTo(std::string& out, int indent) const {
  const std::string blanks(static_cast<size_t>(indent) * 2, ' ');
  out += fmt::format("{0}while {1} predicate={2}\n{0}condition:\n", blanks, name(),
                     predicate_.ToString());
  for (const auto& thunk : condition()) thunk->AppendTo(out, indent + 1);
  out += blanks + "body:\n";
  for (const auto& thunk : body()) thunk->AppendTo(out, indent + 1);
}

// ---- counted loops ----

CountedLoopThunk::CountedLoopThunk(std::string_view name, int64_t trips, ThunkList body)
    : ControlThunk(name, Pair(std::move(body), {})), trips_(trips) {}

absl::StatusOr<ExecuteEvent> CountedLoopThunk::Execute(DeviceState& state, Stream& stream) const {
  ForgetOperands(state);
  if (state.max_loop_iterations > 0 && trips_ > state.max_loop_iterations)
    return TooManyIterations(name(), state.max_loop_iterations);
  ExecuteEvent event;
  for (int64_t trip = 0; trip < trips_; ++trip) {
    if (state.communicator != nullptr) RETURN_IF_ERROR(state.communicator->Failure());
    ASSIGN_OR_RETURN(event, ExecuteAll(list(0), state, stream));
  }
  return event;
}

void CountedLoopThunk::AppendTo(std::string& out, int indent) const {
  out += fmt::format("{}for {} trips={}\n", std::string(static_cast<size_t>(indent) * 2, ' '),
                     name(), trips_);
  for (const auto& thunk : list(0)) thunk->AppendTo(out, indent + 1);
}

// ---- conditional ----

BufferUses ConditionalThunk::uses() const {
  BufferUses uses = ControlThunk::uses();
  uses.reads.push_back(selector_);
  return uses;
}

absl::StatusOr<ExecuteEvent> ConditionalThunk::Execute(DeviceState& state, Stream& stream) const {
  size_t branch = list_count() - 1;
  if (is_pred_) {
    uint8_t first = 0;
    RETURN_IF_ERROR(state.Read(stream, selector_, &first, sizeof first));
    branch = first != 0 ? 0 : 1;
  } else {
    int32_t index = 0;
    RETURN_IF_ERROR(state.Read(stream, selector_, &index, sizeof index));
    if (index >= 0 && static_cast<size_t>(index) < list_count())
      branch = static_cast<size_t>(index);
  }
  return ExecuteAll(list(branch), state, stream);
}

void ConditionalThunk::AppendTo(std::string& out, int indent) const {
  const std::string blanks(static_cast<size_t>(indent) * 2, ' ');
  out += blanks + fmt::format("conditional {} selector={}\n", name(), selector_.ToString());
  for (size_t i = 0; i < list_count(); ++i) {
    out += blanks + fmt::format("branch {}:\n", i);
    for (const auto& thunk : list(i)) thunk->AppendTo(out, indent + 1);
  }
}

}  // namespace hlo
