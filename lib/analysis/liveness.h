// Which parts of which values are needed, across computations.
//
// A leaf (array or token inside nested tuples, counted in order) of a value is live when the result
// of the module, a side effect, a decision or a control edge depends on it. Tuples,
// get-tuple-elements, calls, loops and conditionals are seen through leaf by leaf; any other
// instruction with a live leaf needs its operands as a whole. O(leaves of all instructions); true
// until the program changes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/ir/module.h"

namespace hlo {

class Liveness {
 public:
  static constexpr std::string_view kName = "liveness";

  explicit Liveness(const Module& module);
  // Whether leaf `leaf` of the value is live.
  bool IsLive(const Instruction& instruction, int64_t leaf) const;
  bool AnyLive(const Instruction& instruction) const;

  void AskAll(const Module&) {}  // knows all it can
  std::string Mistake(const Module& module) const;

  // A line for each instruction: the numbers of its leaves that are live.
  static std::string ToString(const Module& module);

 private:
  struct Pending {
    const Instruction* instruction;
    int64_t first;
    int64_t count;
  };
  void Seed(const Module& module);
  void Mark(const Instruction* instruction, int64_t first, int64_t count);
  void MarkAll(const Instruction* instruction);
  void Propagate(const Pending& pending);
  void PropagateToCallers(const Instruction& parameter, const Pending& pending);

  std::vector<std::vector<bool>> live_;  // by instruction id, empty: nothing is live
  std::vector<Pending> worklist_;
};

}  // namespace hlo
