// What a fusion of loops costs: is a value expensive to compute again, and is each of its elements
// read once?
#pragma once

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/module.h"

namespace hlo {

// Whether an instruction costs more than moving its result through memory; the table of XLA:CPU.
bool IsExpensiveOnCpu(const Instruction& instruction);
// Whether `user` reads elements of its operand `i` more than once. As for XLA, a fusion that reads
// them along several ways, each of them once, does not.
bool ReusesElements(const Instruction& user, int i);

// The same for users that are fusions which grow: what is known of the values inside is kept, so
// that the question costs no walk to the root each time.
class ElementReads {
 public:
  bool Reuses(const Instruction& user, int i);

 private:
  bool ReusedInFusion(const Instruction& value);

  absl::flat_hash_map<const Instruction*, bool> inside_;  // without parameters, which get users
};
// Whether an instruction may be in a fusion at all, with code for it or not: no control flow, no
// side effects, no control edges, no buffers. Random numbers only where they have one user.
bool CanBeFused(const Instruction& instruction);
// Several instructions read it, once or more often.
bool HasSeveralUsers(const Instruction& instruction);
// Operations that become part of a loop over the elements of a result.
bool CanBeInLoop(const Instruction& instruction);
// Element by element, constants and bits as another type of the same width included.
bool IsElementwiseOrConstant(const Instruction& instruction);
// No dimension but those of size 1 counts.
int TrueRank(Shape shape);

}  // namespace hlo
