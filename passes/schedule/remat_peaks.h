// What computations need, while `rematerialization` goes through them.
#pragma once

#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lib/analysis/call_graph.h"
#include "lib/analysis/logical_buffers.h"
#include "passes/schedule/remat_model.h"

namespace hlo::remat {

// What an instruction calls and runs: of loops the body first.
std::vector<Computation*> RunCallees(const Instruction& instruction);

// What is counted: all; or arrays alone, without tables of pointers and scalars, such as starts
// make while they copy.
enum class Counted : uint8_t { kAll, kArrays };

// What computations need, each by itself with what it calls.
class Peaks {
 public:
  Peaks(Model& model, CallGraph& calls, Counted counted = Counted::kAll);

  // Of those that `runs` says yes to; others need nothing.
  void Find(const std::function<bool(const Computation&)>& runs);
  int64_t Of(const Computation& computation) const {
    const auto it = bytes_.find(&computation);
    return it == bytes_.end() ? 0 : it->second;
  }
  void Set(const Computation& computation, int64_t bytes) { bytes_[&computation] = bytes; }
  // Of all that the instruction calls, together.
  int64_t Inside(const Instruction& instruction) const;
  MemoryPeak Measure(absl::Span<Instruction* const> sequence) const;

 private:
  Model& model_;
  Counted counted_;
  std::vector<Computation*> order_;                         // callees first
  absl::flat_hash_map<const Computation*, int64_t> bytes_;  // looked up only
};

}  // namespace hlo::remat
