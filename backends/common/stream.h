// Streams and events, as thunks see them.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hlo {

// Work for a device in order. The CPU does it at once, in the thread that gives it.
class Stream {
 public:
  virtual ~Stream() = default;
  // Waits until all that the stream was given is done.
  virtual absl::Status Synchronize() = 0;
  // Whether the device has a clock of its own.
  virtual bool HasClock() const { return false; }
  // Nanoseconds that the device is at work with what `enqueue` gives to the stream, by its clock;
  // returns when it is done. `enqueue` must not wait for the stream. Only where HasClock.
  virtual absl::StatusOr<int64_t> Time(absl::FunctionRef<absl::Status()> /*enqueue*/) {
    return absl::UnimplementedError("the device has no clock");
  }
};

// When the work of a thunk is done: at once, or when a stream has done what it was
// given until then.
class ExecuteEvent final {
 public:
  ExecuteEvent() = default;
  explicit ExecuteEvent(Stream& stream) : stream_(&stream) {}
  absl::Status Wait() const {
    return stream_ == nullptr ? absl::OkStatus() : stream_->Synchronize();
  }

 private:
  Stream* stream_ = nullptr;
};

}  // namespace hlo
