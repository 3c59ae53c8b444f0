// What the memory of a run is for, as buffer assignment planned it: every buffer with its owner and
// the time in which it is needed, the peak with what is needed then, and what became of each entry
// of `input_output_alias` and `buffer_donor`. Nothing is run, and no memory of a run taken.
//
//   ASSIGN_OR_RETURN(const MemoryReport report, MakeMemoryReport(*executable));
//
// Times are ticks of lib/analysis/live_range.h; sizes and offsets are bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "backends/common/buffer_assignment.h"

namespace hlo {

// What an executable is whose buffers have been assigned: one that runs, or one that was compiled
// for its texts.
class KnowsBuffers {
 public:
  virtual const BufferAssignment* assigned_buffers() const = 0;  // null: it came not so far
  virtual int64_t thunk_scratch_bytes() const = 0;

 protected:
  ~KnowsBuffers() = default;
};

// A value in its place.
struct BufferUse {
  std::string name;  // "w", or "w{0}" of a tuple
  std::string opcode, shape;
  std::string source;  // "model.py:12", or empty
  BufferSlice slice;
  int start = 0, end = 0;  // needed from and to; what is no temporary: from the begin to the end
};

// An entry of `input_output_alias`.
struct AliasUse {
  enum class State : uint8_t {
    kInPlace,  // what makes the output makes it there
    kCopied,   // it is made elsewhere, and copied there when the parameter is not needed any more
    kElsewhere
  };
  std::string output;  // "{0}"
  std::string parameter;
  size_t leaf = 0;  // of all parameters
  bool must_alias = false;
  int64_t bytes = 0;  // of the parameter
  State state = State::kElsewhere;
  std::string by;      // the instruction that makes the output
  std::string reason;  // kCopied, kElsewhere: why it could not be made in place
};

// A part of a parameter that may be overwritten, but is no output's.
struct DonorUse {
  std::string parameter;
  int64_t bytes = 0;
  std::string reason;
};

struct MemoryReport {
  std::string module;
  // By kind of allocation; `arguments` with those that are `donated` to outputs.
  int64_t arguments = 0, donated = 0, results = 0, constants = 0, temporaries = 0;
  int64_t scratch = 0;  // of the operation that wants most
  int64_t total() const { return arguments + results + constants + temporaries + scratch; }

  std::vector<Allocation> allocations;
  std::vector<std::string> allocation_names;  // "arena", "x", "output {0}", …
  std::vector<BufferUse> buffers;             // in the order in which they are made
  std::vector<AliasUse> aliases;
  std::vector<DonorUse> donors;

  // When most temporaries are needed.
  struct Peak {
    int time = 0;
    std::string at, source;       // what runs then
    int64_t bytes = 0;            // without holes: no order of the same program needs less
    std::vector<size_t> buffers;  // the largest first
  } peak;
  int end = 0;  // the last tick

  // The largest `count` buffers of all kinds as "`x` f32[8] 32B, …".
  std::string Largest(size_t count) const;
};

// Refuses platforms that assign no buffers.
absl::StatusOr<MemoryReport> MakeMemoryReport(const Executable& executable);

}  // namespace hlo
