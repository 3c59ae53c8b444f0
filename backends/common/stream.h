// Streams and events, as thunks see them.
#pragma once

#include "absl/status/status.h"

namespace hlo {

// Work for a device in order. The CPU does it at once, in the thread that gives it.
class Stream {
 public:
  virtual ~Stream() = default;
  // Waits until all that the stream was given is done.
  virtual absl::Status Synchronize() = 0;
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
