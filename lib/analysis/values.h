// The values of a program: what makes each leaf (array or token inside nested tuples)
// of each result.
//
// Every leaf of every instruction that runs on its own holds exactly one value. What only passes
// values on has those of its operands (forwarding.h); calls and asynchronous computations are seen
// through. Where control flow meets, a value is made that stands for several, its inputs:
//
//   w = while(i), body returns b      element k of w, and of the parameters of condition and body,
//                                     is a loop state of i's and b's; but where the body hands its
//                                     element k on as it is, it is i's
//   c = conditional(…)                a branch value of what the branches return
//   parameter, result of a            a shared value of what the callers give, or of what it
//   computation with several calls    returns
//
// Fusion bodies and regions have no values: they say what one instruction does. Made in O(leaves of
// all instructions); true until the program changes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "lib/analysis/program_order.h"
#include "lib/ir/module.h"
#include "lib/types/shape_util.h"

namespace hlo {

// Counts the values in the order in which the program makes them.
using ValueId = int32_t;

struct Value {
  enum class Kind : uint8_t { kDefined, kLoopState, kBranch, kShared };
  const Instruction* def = nullptr;  // whose result it is first
  int64_t leaf = 0;                  // of it
  Shape shape;
  Kind kind = Kind::kDefined;
  std::vector<ValueId> inputs;  // which it may be; may repeat
};

struct ValuesOptions {
  // Arrays are dense and row-major, so that reshapes pass values on (alias.h).
  bool dense = false;
};

class Values {
 public:
  static constexpr std::string_view kName = "values";

  explicit Values(const Module& module, ValuesOptions options = {});

  // One per leaf, depth first; none for instructions inside of regions, fusions, and computations
  // that the entry does not lead to.
  absl::Span<const ValueId> Of(const Instruction& instruction) const;
  bool Has(const Instruction& instruction) const { return ranges_.contains(&instruction); }

  int count() const { return static_cast<int>(values_.size()); }
  const Value& operator[](ValueId value) const { return values_[static_cast<size_t>(value)]; }
  const Module& module() const { return *module_; }
  // The program in the order of values.
  const std::vector<ProgramStep>& order() const { return order_; }
  // Whether the instruction looks at its operands rather than passing them on: whether it makes a
  // value, or decides.
  bool Reads(const Instruction& instruction) const;

  void AskAll(const Module&) {}  // knows all it can
  std::string Mistake(const Module& module) const;

  // "w{0}", "x": where the value is first.
  std::string NameOf(ValueId value) const;
  // A paragraph per value: what it is, where it is, who reads it.
  static std::string ToString(const Module& module);

 private:
  struct Range {
    uint32_t begin, count;
  };
  void Visit(const Instruction& instruction);
  void Begin(const Instruction& instruction);
  void Enter(const ProgramStep& step);
  void Leave(const ProgramStep& step);
  void End(const Instruction& instruction);
  void BeginLoop(const Instruction& loop);
  void EndCall(const Instruction& call);
  void EndAsyncStart(const Instruction& start);
  void VisitAsync(const Instruction& instruction);

  ValueId New(const Instruction& def, int64_t leaf, Shape shape, Value::Kind kind);
  std::vector<ValueId> NewLeaves(const Instruction& def, Value::Kind kind = Value::Kind::kDefined);
  void Set(const Instruction& instruction, absl::Span<const ValueId> leaves);
  void AddInputs(absl::Span<const ValueId> to, absl::Span<const ValueId> from);
  void Pass(const Instruction& parameter, absl::Span<const ValueId> argument, bool is_shared);

  const Module* module_;
  ValuesOptions options_;
  std::vector<ProgramStep> order_;
  std::vector<Value> values_;
  std::vector<ValueId> leaves_;
  absl::flat_hash_map<const Instruction*, Range> ranges_;  // into leaves_; looked up only
};

}  // namespace hlo
