// Replaces calls by copies of the called computations' instructions.
//
//   f { a = f32[] parameter(0)   ROOT m = f32[] multiply(a, a) }
//   c = f32[] call(x), to_apply=f                                   =>   c = f32[] multiply(x, x)
//
// The frontend attribute `inlineable` of a call decides first: "false" and "xla_late" keep it,
// "true" and "xla_early" inline it even with `single_call_site`. Inlined instructions run after the
// call's control predecessors, and its control successors after their root. Their `op_name`, also
// in loops and branches, gets the call's as prefix, their stack frames continue in the call's, and
// schedules keep the callee's order. So does what they stand for (`origin`); where the call says
// nothing, they do not either. The root takes the call's sharding, frontend attributes and metadata
// if it has none of its own.
//
// Requires: nothing.  Ensures: no call is left but those below; dead code is removed if
// anything was inlined.
// Leaves alone: calls with a backend config; calls in computations that run asynchronously or on
// another thread than the callee; composite calls whose `composite.name` is listed in
// `composites_to_preserve`; with `use_shardy_partitioner`, the bodies of its manual computations;
// with `single_call_site`, callees that are called more than once. Bodies of while, conditional and
// the like are no calls, but calls inside them are inlined.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "passes/pass.h"

namespace hlo {

struct CallInlinerOptions {
  bool single_call_site = false;
  std::string composites_to_preserve;   // names separated by ';'
  bool ignore_inlineable = false;       // as if no call had the attribute
  bool propagate_metadata = true;       // prefix op_name, join stack frames
  bool use_shardy_partitioner = false;  // keep its manual computations, which it knows by name

  HLO_OPTIONS(CallInlinerOptions, single_call_site, composites_to_preserve, ignore_inlineable,
              propagate_metadata, use_shardy_partitioner)
};

class CallInliner final : public WithOptions<Pass, CallInlinerOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

// Calls that have been replaced (and removed), with the copies in their places, in order.
using InlinedInstructions = absl::flat_hash_map<const Instruction*, std::vector<Instruction*>>;

struct InlineOptions {
  bool propagate_metadata = true;       // as the option of the pass
  bool prefix_origins = false;          // what the copies stand for is inside the call
  bool pass_on_fusion_requests = true;  // MUST_FUSE and the like move to what can be fused
  // Every copy runs after the control predecessors of the call; else only the root.
  bool everything_waits = true;
  // Where the schedule is to change, for a caller who changes it once for many calls; null: it is
  // changed here.
  InlinedInstructions* inlined = nullptr;
  // Takes what each instruction of the callee became; null: nobody asks.
  absl::flat_hash_map<const Instruction*, Instruction*>* copies = nullptr;
};

// Whether the frontend attribute `inlineable` lets the body of what `caller` calls stand in its
// place.
bool MayBeInlined(const Instruction& caller);

// Puts copies of the instructions of the (one) computation that `call` calls in its place; the
// callee stays. `call` may be any instruction whose operands are the callee's arguments: a call, a
// fusion. Returns the value that replaced it. Schedules are updated.
Instruction* InlineBody(Instruction* call, const InlineOptions& options = {});

// Puts the copies into the schedule, in the places of the calls.
void ReplaceInSchedule(Computation& computation, const InlinedInstructions& inlined);

}  // namespace hlo
