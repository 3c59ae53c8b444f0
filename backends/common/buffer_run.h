// Runs that take their inputs from buffers, and give their results as buffers, without copies where
// the platform can do without.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<BufferRun> run, BufferRun::Make(*executable));
//   ASSIGN_OR_RETURN(std::vector<HostBuffer> out, run->Execute({Donated(x), Borrowed(y)}, {}));
//
// Each leaf of the parameters is borrowed or donated:
//
//   borrowed   it holds after the run what it held before. When an output is aliased to it, or the
//              program overwrites it, the run works on a copy (copy protection); with `must-alias`
//              it is refused.
//   donated    the run keeps the memory: an output that is aliased to it (input_output_alias) is
//              made there, where the compiler could do so, and has its address. `x` has no memory
//              afterwards; to use it again is an error.
//
// What is wrong with the arguments is said before anything runs, and no buffer is touched then. A
// run that fails later has used up what it was given.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/backend.h"
#include "backends/common/host_buffer.h"

namespace hlo {

struct BufferArgument {
  const HostBuffer* buffer = nullptr;
  HostBuffer* donated = nullptr;  // null: borrowed
};
inline BufferArgument Donated(HostBuffer& buffer) { return {&buffer, &buffer}; }
inline BufferArgument Borrowed(const HostBuffer& buffer) { return {&buffer, nullptr}; }

class BufferRun {
 public:
  // For runs of `executable`, which must outlive it; one at a time.
  static absl::StatusOr<std::unique_ptr<BufferRun>> Make(const Executable& executable);
  virtual ~BufferRun() = default;
  BufferRun(const BufferRun&) = delete;
  BufferRun& operator=(const BufferRun&) = delete;

  // A buffer for each leaf of the parameters in, one for each leaf of the result out; both depth
  // first.
  absl::StatusOr<std::vector<HostBuffer>> Execute(absl::Span<const BufferArgument> arguments,
                                                  const RunOptions& options);
  // The same value where runs take it from without another copy: a device's memory.
  virtual absl::StatusOr<HostBuffer> Place(HostBuffer buffer) { return buffer; }

 protected:
  // An entry of `input_output_alias`, by numbers of leaves.
  struct Alias {
    size_t output, parameter;
    bool must_alias;
  };
  explicit BufferRun(const Executable& executable);

  // Whether Run takes remote buffers; else it is given copies here.
  virtual bool TakesRemote() const { return false; }
  // After all checks. A donated argument that the outputs do not take is freed.
  virtual absl::StatusOr<std::vector<HostBuffer>> Run(absl::Span<const BufferArgument> arguments,
                                                      const RunOptions& options) = 0;

  const std::vector<Alias>& aliases() const { return aliases_; }
  const std::vector<Shape>& result_leaves() const { return result_leaves_; }

 private:
  absl::Status Check(absl::Span<const BufferArgument> arguments) const;

  const Computation& entry_;
  std::vector<Shape> result_leaves_;
  std::vector<std::string> names_;  // of the leaves of the parameters
  std::vector<Shape> parameter_leaves_;
  std::vector<Alias> aliases_;
};

// What an executable is that runs on buffers themselves. BufferRun::Make copies for all others.
class TakesBuffers {
 public:
  virtual absl::StatusOr<std::unique_ptr<BufferRun>> MakeBufferRun() const = 0;

 protected:
  ~TakesBuffers() = default;
};

}  // namespace hlo
