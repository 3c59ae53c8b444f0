// Who calls whom, and how: the order of computations along calls, and whether a computation runs
// once for each execution of its callers or as part of an operation.
//
//   while, call, conditional, async-start    control flow: the callee is a piece of program
//   fusion, reduce, sort, scatter, map, …    embedded: the callee says what one operation does,
//                                            perhaps once per element; it must find its callees
//                                            as they are
//
// True until calls are added, removed or redirected; the edges themselves are Instruction::call and
// Computation::callers. The order is found at once, contexts when they are first asked for, both in
// O(instructions of computations that call).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ir/module.h"

namespace hlo {

// How callees of these opcodes are used.
enum class CallKind : uint8_t { kControlFlow, kEmbedded };
constexpr CallKind CallKindOf(Opcode opcode) {
  return opcode == Opcode::kWhile || opcode == Opcode::kCall || opcode == Opcode::kConditional ||
                 opcode == Opcode::kAsyncStart
             ? CallKind::kControlFlow
             : CallKind::kEmbedded;
}

// How a computation is used. A computation may be used both ways; it is then neither a piece of
// program that may be changed for one call nor a plain region.
enum class CallContext : uint8_t { kUnreached, kControlFlow, kEmbedded, kBoth };

// From its callers alone, in O(callers). The entry, and what nobody calls, is control flow.
CallContext DirectContext(const Computation& computation);

class CallGraph {
 public:
  static constexpr std::string_view kName = "call-graph";

  explicit CallGraph(const Module& module);

  // As Module::PostOrder and Module::NonFusionComputations, callees first; copies, which outlive
  // changes.
  std::vector<Computation*> all() const { return all_; }
  std::vector<Computation*> without_fusions() const { return without_fusions_; }

  // How the computation is used on its way from the entry: what a region calls is embedded, too.
  // kUnreached: the entry does not lead there.
  CallContext ContextOf(const Computation& computation);
  // Whether each reached piece of program has one call site, as flatten-call-graph makes it.
  bool IsFlat(const Module& module);

  void AskAll(const Module& module) { FindContexts(module); }
  // What is not so (any more) of `module`, as text; empty when every answer is right.
  std::string Mistake(const Module& module) const;
  // One line per computation, callees first: context, callers with how often they call.
  static std::string ToString(const Module& module);

 private:
  void FindContexts(const Module& module);

  std::vector<Computation*> all_;
  std::vector<Computation*> without_fusions_;
  std::vector<CallContext> contexts_;  // by serial; empty: not asked for yet
  bool is_flat_ = true;
};

}  // namespace hlo
