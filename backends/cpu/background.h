// Sequences of thunks that run beside the one that starts them: async-start and async-done on this
// processor.
//
//   start   puts the thunks of its computation on a thread and goes on
//   done    waits for them, and gives back what went wrong with them
//
// Each named execution thread is one thread, which takes what it is given in order; `background`
// stands for any, one less than the pool of the run has, but one at least; what meets other devices
// has one to itself there, so that none waits for one before it. All share the pool,
// whose regions take turns. What runs in the background has a state of its own, for scratch memory,
// random numbers and what library kernels keep; the memory of values is that of the run, where
// buffer assignment keeps operands and results of a start alive until its done.
//
// Nothing waits for ever. What waits for a sequence that no thread has begun runs it itself; only
// the main sequence leaves it to a thread with a name, which comes to it. A sequence that ends, as
// after an error, ends what it has started at the next thunk or iteration, and waits for that.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "backends/cpu/cpu_state.h"
#include "lib/ir/instruction.h"

namespace hlo::cpu {

struct BackgroundPair {
  std::unique_ptr<Thunk> start, done;
};
// `results`: where the body leaves what the done gives.
BackgroundPair MakeBackgroundPair(const Instruction& start, const Instruction& done, ThunkList body,
                                  std::vector<BufferSlice> results);

// What one sequence has started; part of its state.
class Background final {
 public:
  // Of the sequence with this state.
  explicit Background(CpuState& state);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  absl::Status Start(const Instruction& start, const ThunkList& body);
  absl::Status Await(const Instruction& start, const Instruction& done);
  // What is under way ends soon, and is waited for.
  void EndAll();
  // In which the body of a start runs; null before the first time.
  CpuState* StateOf(const Instruction& start) const;

 private:
  struct Members;
  std::unique_ptr<Members> members_;
};

}  // namespace hlo::cpu
