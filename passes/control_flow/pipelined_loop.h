// Loops whose collectives may overlap with the work of other iterations, and what the directions of
// `collective-pipeliner` have in common.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "lib/analysis/trip_count.h"
#include "lib/ops/opcode_set.h"
#include "lib/support/decision.h"
#include "passes/control_flow/loop_copies.h"

namespace hlo {

// Which collectives move, and how many (options of CollectivePipeliner).
struct PipelineLimits {
  OpcodeSet opcodes;
  int64_t max_per_loop = 0;  // a first one moves in any case
  // Elements from which on a collective does not sink.
  int64_t delayed_size = std::numeric_limits<int64_t>::max();
  int64_t level = 0;
  bool use_tree = false;
  bool different_sizes = true;
  bool invariants_in_chain = true;
  bool variants_in_chain = false;
  bool control_edges = false;
  bool reuse_buffer = false;
  bool last_run = true;
};

// for (i = init; i < …; i += step), or down to a bound with a negative step, i being element
// `counter` of a tuple that is read element by element, in the loop and after it.
struct PipelinedLoop {
  Instruction* loop = nullptr;
  int counter = 0;
  CountedLoop counted;

  Computation& body() const { return *loop->while_body(); }
  Instruction* root() const { return body().root(); }
  Instruction* state() const { return body().parameter(0); }
  int element_count() const { return loop->shape().element_count_of_tuple(); }
  // The elements that iterations hand on as they are.
  bool PassesOn(int element) const;
};

// Whether iterations of `loop` may be taken apart; sets `found`.
Decision FindPipelinedLoop(Instruction* loop, PipelinedLoop& found);

// The values that a scalar takes in the iterations of a loop: first, first + step, …; step 0: one.
struct Progression {
  int64_t first = 0;
  int64_t step = 0;
};
// Sums, products with constants, conversions, and choices that are always the same, of the counter.
std::optional<Progression> ProgressionOf(const Instruction& value, const PipelinedLoop& loop);

// What `values` are made of, operands and what must come before them first; not beyond what `given`
// holds.
std::vector<Instruction*> NeededFor(const std::vector<Instruction*>& values, const CopyMap& given);

// Whether `value` is made without the parameters of its computation and always the same.
bool IsInvariant(const Instruction& value);

// A constant of the type of the counter.
Literal CounterLiteral(const PipelinedLoop& loop, int64_t value);

// The operations of the body with effects of their own, collectives aside: they are done in each
// iteration though nobody reads their results.
std::vector<Instruction*> EffectsOf(const PipelinedLoop& loop);

// Gives `loop` computations that nobody else calls, and their collectives channels of their own.
void UnshareComputations(Instruction* loop, IterationCopier& copier);

// Copies out of a loop, to the computation that runs it.
class OutsideCopier {
 public:
  OutsideCopier(const PipelinedLoop& loop, IterationCopier& copier);

  // A whole iteration: its scheduling groups become groups of their own. What has effects comes
  // before the loop where it is the first iteration, else after it.
  void CopyIteration(const std::vector<Instruction*>& order, int64_t iteration, CopyMap& copies);
  // Operations that leave the iteration they were scheduled in.
  void CopyMoved(const std::vector<Instruction*>& order, int64_t iteration, CopyMap& copies);

 private:
  std::vector<Instruction*> Copy(const std::vector<Instruction*>& order, int64_t iteration,
                                 CopyMap& copies);
  // Transfers to the host meet by their channels: a copy has a channel of its own.
  void RenewHostChannels(const std::vector<Instruction*>& made) const;

  const PipelinedLoop& loop_;
  IterationCopier& copier_;
  int64_t next_group_;
  absl::flat_hash_map<int64_t, int64_t> groups_;
};

// Writes into the backend config of the loop, where it says something of its iterations, that the
// first `skipped` are done elsewhere and `trip_count` are left.
void SetIterations(const PipelinedLoop& loop, int64_t skipped, int64_t trip_count);

}  // namespace hlo
