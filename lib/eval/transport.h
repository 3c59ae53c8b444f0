// lib/eval/transport.h
//
// Messages between the processes that run one module together, each of which has a number, its
// rank.
#pragma once

#include <chrono>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/eval/wire.h"

namespace hlo {

class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Takes the message and returns at once; messages from one rank to another arrive in order. May
  // be called by several threads.
  virtual void Send(int rank, WireBytes message) = 0;
  // The next message of anybody; nothing when none comes for so long. An error: no more will come.
  virtual absl::StatusOr<std::optional<WireBytes>> Receive(std::chrono::milliseconds patience) = 0;
  // Ends all processes at once, this one too, with an exit code.
  [[noreturn]] virtual void Abort(int exit_code) = 0;
};

}  // namespace hlo
