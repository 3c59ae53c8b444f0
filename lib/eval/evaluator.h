// lib/eval/evaluator.h
//
// The meaning of HLO: evaluates modules, computations and single instructions over literals. Every
// pass and back end is checked against it.
//
//   Evaluator evaluator;
//   ASSIGN_OR_RETURN(Literal result, evaluator.Run(module, arguments));
//
// Guarantees
//  - Deterministic: the same module, arguments and options give the same bits, random
//    numbers included.
//  - Elementwise results are those of lib/eval/scalar_ops.h, hence of every code generator.
//  - A dot or convolution of f32 accumulates in f32, one rounded product and one rounded sum at
//    a time, in ascending order of the contracted index (convolution: window positions
//    row-major, then input features). Narrow floats do the same in f32 and round once; f64 in
//    f64; integers wrap.
//  - A reduce starts from init and takes elements in row-major order; a plain float `add`
//    accumulates in f64 and rounds once.
//  - Values are freed after their last use. dynamic-update-slice and scatter write in place when
//    their operand has no other user, so loops that build an array are linear.
//  - A dynamic dimension has its run-time size: the literal of such a value is as small
//    as its contents.
//  - What cannot be evaluated (elided constants, host transfers, unknown custom calls) is an
//    error that names it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/ir/module.h"
#include "lib/ir/send_recv_pairs.h"
#include "lib/support/denormals.h"
#include "lib/types/literal.h"

namespace hlo {

class Communicator;
struct ComputationPlan;
class RegionProgram;

struct EvalOptions {
  uint64_t seed = 42;  // of rng and of the custom call GetRngSeed
  Denormals denormals = Denormals::kKeep;
  // Called with every value as it is computed, in all computations.
  std::function<void(const Instruction&, const Literal&)> hook;
  int64_t max_work = 0;  // elements to compute at most, then ResourceExhausted; 0: no limit
  int64_t max_loop_iterations = 0;  // of one while; 0: no limit
  int64_t replica_id = 0;
  int64_t partition_id = 0;
  // To the other devices; null when this is the only one.
  Communicator* communicator = nullptr;
};

class Evaluator {
 public:
  Evaluator();
  explicit Evaluator(EvalOptions options);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  const EvalOptions& options() const { return options_; }
  // For other options from the next evaluation on; plans and random numbers stay.
  EvalOptions& mutable_options() { return options_; }

  // Runs the entry computation.
  absl::StatusOr<Literal> Run(const Module& module, absl::Span<const Literal> arguments);
  // Runs a computation. Plans are kept by computation: the module must not change as long as this
  // object evaluates it.
  absl::StatusOr<Literal> Evaluate(const Computation& computation,
                                   absl::Span<const Literal> arguments);
  // As Evaluate, taking the arguments over: values that nobody else holds are updated in place.
  absl::StatusOr<Literal> Evaluate(const Computation& computation, std::vector<Literal> arguments);
  // One instruction with given operand values (constants and iota: none).
  absl::StatusOr<Literal> EvaluateInstruction(const Instruction& instruction,
                                              absl::Span<const Literal> operands);

  // For the evaluation of opcodes (eval_*.cc).
  absl::StatusOr<Literal> EvaluateOwned(const Instruction& instruction,
                                        std::vector<Literal> operands);
  // The scalar computation as a program over blocks of elements; null when it is not made of
  // elementwise operations.
  absl::StatusOr<const RegionProgram*> Region(const Computation& computation);
  // Between which devices a send, a receive or what waits for one works; found once.
  absl::StatusOr<const SendRecvPairs*> Pairs(const Instruction& transfer);
  // Counts work against max_work.
  absl::Status Spend(int64_t elements);
  // How many draws of `rng` this evaluator has made from the stream before this one.
  uint64_t NextDraw(int64_t stream);
  // The counter of `rng-get-and-update-state`, per instruction.
  std::vector<uint64_t>& RandomState(const Instruction& instruction);

 private:
  absl::StatusOr<const ComputationPlan*> Plan(const Computation& computation);

  struct Caches;
  EvalOptions options_;
  std::unique_ptr<Caches> caches_;
  int64_t work_ = 0;
  int depth_ = 0;
};

// Whether the value depends on the operands alone: what constant folding may evaluate, if the
// operands are constants.
bool IsEvaluable(const Instruction& instruction);

// Whether an evaluator on its own can compute the instruction from its operands: all but what talks
// to a host, custom calls that nobody knows, and asynchronous steps. (Random numbers, ids and what
// one device makes of a collective depend on the evaluator, too.)
bool IsEvaluableHere(const Instruction& instruction);

}  // namespace hlo
