// The unit of execution. Constant; refers to slices, never to addresses; says what it reads and
// writes. A program is a flat array of thunks; control flow is a thunk that holds arrays. What a
// run changes is in a DeviceState, so that several runs may share a program.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/common/buffer_assignment.h"
#include "backends/common/buffer_slice.h"
#include "backends/common/stream.h"

namespace hlo {

class Communicator;

// What the thunks of a run share and change: the state of a program on one device, for one run at a
// time. Platforms add memory and what else they have.
struct DeviceState {
  virtual ~DeviceState() = default;

  int64_t max_loop_iterations = 0;
  int64_t replica_id = 0;
  int64_t partition_id = 0;
  Communicator* communicator = nullptr;  // to the other devices; null: there are none

  // Copies `bytes` between slices, and from a slice to the host, which decides by them.
  virtual absl::Status Copy(Stream& stream, const BufferSlice& to, const BufferSlice& from,
                            int64_t bytes) = 0;
  virtual absl::Status Read(Stream& stream, const BufferSlice& from, void* to, int64_t bytes) = 0;
};

// What a thunk touches.
struct BufferUses {
  std::vector<BufferSlice> reads;
  std::vector<BufferSlice> writes;
};

class Thunk {
 public:
  virtual ~Thunk() = default;
  Thunk(const Thunk&) = delete;
  Thunk& operator=(const Thunk&) = delete;

  // The instruction it computes, for messages and profiles.
  const std::string& name() const { return name_; }
  // "kernel", "dot", "copy", "while", …
  virtual std::string_view kind() const = 0;
  virtual BufferUses uses() const = 0;
  virtual int64_t scratch_bytes() const { return 0; }
  // Whether Execute only gives work to the stream, and waits for none.
  virtual bool OnlyEnqueues() const { return false; }
  // Puts its work on `stream`; an error is one that is known already.
  virtual absl::StatusOr<ExecuteEvent> Execute(DeviceState& state, Stream& stream) const = 0;
  // Operands that were promised not to change between runs have changed: drops copies made of them.
  virtual void ForgetOperands(DeviceState& /*state*/) const {}
  // One line (control flow: one per inner thunk, too), indented.
  virtual void AppendTo(std::string& out, int indent) const;

 protected:
  explicit Thunk(std::string_view name) : name_(name) {}

 private:
  std::string name_;
};

using ThunkList = std::vector<std::unique_ptr<Thunk>>;

// What Thunk::Execute does; a profile of this thread sees it (thunk_profile.h).
absl::StatusOr<ExecuteEvent> ExecuteThunk(const Thunk& thunk, DeviceState& state, Stream& stream);

// The event is that of the last thunk, after which all of them are done.
inline absl::StatusOr<ExecuteEvent> ExecuteAll(const ThunkList& thunks, DeviceState& state,
                                               Stream& stream) {
  absl::StatusOr<ExecuteEvent> event = ExecuteEvent();
  for (const std::unique_ptr<Thunk>& thunk : thunks) {
    event = ExecuteThunk(*thunk, state, stream);
    if (!event.ok()) break;
  }
  return event;
}

void ForgetOperands(const ThunkList& thunks, DeviceState& state);
// Largest scratch need of a list.
int64_t ScratchBytes(const ThunkList& thunks);
void AppendUses(const ThunkList& thunks, BufferUses& uses);
std::string ToString(const ThunkList& thunks);

// Copies one slice to another that does not overlap it.
class CopyThunk final : public Thunk {
 public:
  CopyThunk(std::string_view name, const BufferSlice& from, const BufferSlice& to)
      : Thunk(name), from_(from), to_(to) {}
  std::string_view kind() const override { return "copy"; }
  bool OnlyEnqueues() const override { return true; }
  BufferUses uses() const override;
  absl::StatusOr<ExecuteEvent> Execute(DeviceState& state, Stream& stream) const override;

 private:
  BufferSlice from_, to_;
};

// A thunk that runs lists of thunks.
class ControlThunk : public Thunk {
 public:
  // Of all lists; what decides between them is the subclass's to add.
  BufferUses uses() const override;
  int64_t scratch_bytes() const override;
  void ForgetOperands(DeviceState& state) const override;
  const std::vector<ThunkList>& lists() const { return lists_; }

 protected:
  ControlThunk(std::string_view name, std::vector<ThunkList> lists)
      : Thunk(name), lists_(std::move(lists)) {}
  const ThunkList& list(size_t i) const { return lists_[i]; }
  size_t list_count() const { return lists_.size(); }

 private:
  std::vector<ThunkList> lists_;
};

// What a loop says that `DeviceState::max_loop_iterations` stops.
absl::Status TooManyIterations(std::string_view loop, int64_t limit);

// Runs `condition` and, while its result is true, `body`.
class WhileThunk final : public ControlThunk {
 public:
  WhileThunk(std::string_view name, ThunkList condition, BufferSlice predicate, ThunkList body);
  std::string_view kind() const override { return "while"; }
  BufferUses uses() const override;
  absl::StatusOr<ExecuteEvent> Execute(DeviceState& state, Stream& stream) const override;
  void AppendTo(std::string& out, int indent) const override;

 private:
  const ThunkList& condition() const { return list(0); }
  const ThunkList& body() const { return list(1); }
  BufferSlice predicate_;
};

// Runs `body` as often as a loop is known to.
class CountedLoopThunk final : public ControlThunk {
 public:
  CountedLoopThunk(std::string_view name, int64_t trips, ThunkList body);
  std::string_view kind() const override { return "for"; }
  absl::StatusOr<ExecuteEvent> Execute(DeviceState& state, Stream& stream) const override;
  void AppendTo(std::string& out, int indent) const override;

 private:
  int64_t trips_;
};

// Runs the branch chosen by a pred (true: branch 0) or an s32 index (out of range: the last
// branch).
class ConditionalThunk final : public ControlThunk {
 public:
  ConditionalThunk(std::string_view name, BufferSlice selector, bool selector_is_pred,
                   std::vector<ThunkList> branches)
      : ControlThunk(name, std::move(branches)), selector_(selector), is_pred_(selector_is_pred) {}
  std::string_view kind() const override { return "conditional"; }
  BufferUses uses() const override;
  absl::StatusOr<ExecuteEvent> Execute(DeviceState& state, Stream& stream) const override;
  void AppendTo(std::string& out, int indent) const override;

 private:
  BufferSlice selector_;
  bool is_pred_;
};

}  // namespace hlo
