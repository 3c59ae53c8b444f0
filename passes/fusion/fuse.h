// Making, growing, merging and undoing fusions. Whether a fusion is possible, good for anything, or
// one that a platform has a kernel for (fusion_target.h), is for the caller to know.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "lib/ir/module.h"
#include "passes/control_flow/call_inliner.h"

namespace hlo {

struct FuseOptions {
  FusionKind kind = FusionKind::kLoop;
  std::string_view name = "fusion";
  // As OutlineOptions::is_copied: what is computed again inside instead of being read.
  std::function<bool(const Instruction& value, const Instruction& reader)> is_copied = nullptr;
};

// Makes one fusion of `members`, which have their operands before them:
//
//   e = exponential(x)                     f { p = parameter(0)  e = exponential(p)
//   r = add(e, x)               =>             ROOT r = add(e, p) }
//                                          r_fusion = fusion(x), kind=kLoop, calls=f
//
// Several values that are read outside become a tuple, in the order of `members`, and
// get-tuple-elements of it. Fusions among the members are taken apart inside; they have one output.
// Nothing outside may stand between members.
Instruction* Fuse(absl::Span<Instruction* const> members, const FuseOptions& options);

// `fusion` computes its operand `producer`, an instruction or a fusion of one output, itself; what
// it computes it with. The producer stays for others that read it.
//
//   e = exponential(x)
//   r = fusion(e), calls={ p0, negate(p0) }    =>    r = fusion(x), calls={ p0, negate(exponential(p0)) }
Instruction* Absorb(Instruction* producer, Instruction* fusion);

// The same in the time that copying `reader` takes, for a large `fusion`: it goes on and computes
// what `reader`, an instruction or another fusion that yields one array and is its only user, makes
// of it. It has all that is known of `reader`, and the name of a fusion; `reader` is gone.
void TakeOver(Instruction* fusion, Instruction* reader);

// `fusion` yields what `x` does, too, after its own outputs; `x`, another fusion or an
// instruction of one result, is gone. Neither needs the other, but that `fusion` may have `x`, of
// one output, for operand: it reads its own then. Tuples that they yield are read element by
// element.
void MergeOutputs(Instruction* fusion, Instruction* x);

// Puts the fused instructions in the place of `fusion`; the value that replaced it, a tuple for
// several outputs. The computation stays, for others that may call it. With `inlined` the schedule
// is left to the caller (ReplaceInSchedule in call_inliner.h).
Instruction* Unfuse(Instruction* fusion, InlinedInstructions* inlined = nullptr);

// The values that a fusion yields, one or several.
std::vector<Instruction*> FusionOutputs(const Instruction& fusion);

}  // namespace hlo
