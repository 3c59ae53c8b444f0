// Writes loops of few iterations without a loop.
//
//   w = while(tuple(0, x)), i < 2, body { … tuple(i + 1, f(i, x)) }
//     =>   w = tuple(0 + 1 + 1, f(1, f(0, x)))
//
// Each iteration is a copy of the body in which the counter is a constant for all but its own step.
// Constants that loops carry are sunk into them first, so that more loops show their bounds; equal
// instructions and tuples that are taken apart again go, too (`cse`, `tuple-simplifier`,
// `while-loop-constant-sinking`). Inner loops come before outer ones; loops that stay in copies of
// an outer body get computations of their own (`flatten-call-graph`). What has effects waits for
// that of the iteration before. Custom calls DynamicGte and DynamicTuple, which read and write the
// element of a tuple whose number is a value, do so with the number of their iteration.
//
// Options: with `wrap_in_trivial_loop` the copies stand in the body of a loop that runs once.
// `unroll_factor` is XLA's; anything but -1, which means all iterations, does nothing.
//
// Requires: nothing.  Ensures: no loop is left but those below.
// Leaves alone: loops that do not count up from a constant to a constant by a constant (an
// analysis of the house: trip_count.h); more than 64 iterations, bodies of more than 800
// instructions, more than 10,000 instructions in all; loops with control edges; loops that send or
// receive, and those whose condition has effects.
#pragma once

#include <memory>
#include <string>

#include "lib/analysis/trip_count.h"
#include "lib/support/decision.h"
#include "passes/pass.h"
#include "passes/util/option_ranges.h"

namespace hlo {

// How one loop is written out, for passes that do so with loops of their own.
struct UnrollPlan {
  Instruction* loop = nullptr;
  int64_t index = 0;  // of the counter
  CountedLoop counted;
};
// Why `loop` stays; else what to do with it. Nothing is prepared: bounds that a loop carries are
// not seen.
Decision PlanUnrolling(Instruction* loop, UnrollPlan& plan);

class LoopUnroller {
 public:
  explicit LoopUnroller(Module& module);
  ~LoopUnroller();

  // Names of the computations of the loop that runs once.
  struct OnceNames {
    std::string body, condition;
  };
  // Puts all iterations, as they are or in the body of a loop that runs once, in the place of the
  // loop, and returns what stands there now: the last state, or the loop. Null where the loop
  // stays: the module would become too large, or no more rewrites are allowed. What the iterations
  // call is shared; the computations of the loop stay for dce.
  absl::StatusOr<Instruction*> Unroll(const UnrollPlan& plan, PassContext& context);
  absl::StatusOr<Instruction*> UnrollIntoLoop(const UnrollPlan& plan, const OnceNames& names,
                                              PassContext& context);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

struct WhileLoopUnrollerOptions {
  IntIn<-1> unroll_factor{-1};
  bool wrap_in_trivial_loop = false;

  HLO_OPTIONS(WhileLoopUnrollerOptions, unroll_factor, wrap_in_trivial_loop)
};

class WhileLoopUnroller final : public WithOptions<Pass, WhileLoopUnrollerOptions> {
 public:
  using WithOptions::WithOptions;
  absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
};

}  // namespace hlo
