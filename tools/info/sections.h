// The sections of a report, and what they are made from.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/analysis/call_graph.h"
#include "lib/analysis/cost.h"
#include "lib/analysis/program_cost.h"
#include "lib/analysis/program_peak.h"
#include "lib/ir/module.h"
#include "tools/info/report.h"

namespace hlo {

// Where the program needs most memory, and what it knows that from.
struct MemoryUse {
  std::unique_ptr<Values> values;
  std::unique_ptr<LiveRanges> ranges;
  ProgramPeak peak;
  bool was_scheduled = false;  // else the order is the memory scheduler's
};

// What is known of one module; found when it is first asked for, and once.
class ModuleFacts {
 public:
  // The module gets a schedule when memory is asked for.
  ModuleFacts(Module& module, const PlatformRates& rates)
      : module_(module), rates_(rates), calls_(module), costs_(module) {}

  const Module& module() const { return module_; }
  CallGraph& calls() { return calls_; }
  const ProgramCost& costs() const { return costs_; }
  // By which shares are measured: that of one cost in the whole program's time.
  double SecondsOf(const Cost& cost) const { return hlo::SecondsOf(cost, rates_, rates_.lanes); }
  double ShareOf(const Cost& cost) const;
  absl::StatusOr<const MemoryUse*> Memory();

 private:
  Module& module_;
  const PlatformRates& rates_;
  CallGraph calls_;
  ProgramCost costs_;
  std::unique_ptr<MemoryUse> memory_;
};

struct SectionKind {
  std::string_view name;
  bool is_default;  // shown when none is asked for
  std::string_view summary;
  absl::StatusOr<Section> (*make)(ModuleFacts& facts);
};
std::span<const SectionKind> AllSectionKinds();

absl::StatusOr<Section> MakeSummary(ModuleFacts& facts);
absl::StatusOr<Section> MakeSignature(ModuleFacts& facts);
absl::StatusOr<Section> MakeComputations(ModuleFacts& facts);
absl::StatusOr<Section> MakeOps(ModuleFacts& facts);
absl::StatusOr<Section> MakeTypes(ModuleFacts& facts);
absl::StatusOr<Section> MakeCounts(ModuleFacts& facts);
absl::StatusOr<Section> MakeCost(ModuleFacts& facts);
absl::StatusOr<Section> MakeSource(ModuleFacts& facts);
absl::StatusOr<Section> MakeLoops(ModuleFacts& facts);
absl::StatusOr<Section> MakeCollectives(ModuleFacts& facts);
absl::StatusOr<Section> MakeCustomCalls(ModuleFacts& facts);
absl::StatusOr<Section> MakeConstants(ModuleFacts& facts);
absl::StatusOr<Section> MakeDynamic(ModuleFacts& facts);
absl::StatusOr<Section> MakeMemory(ModuleFacts& facts);

// ---- what several of them ask ----

// "x", or "t{0,1}" of each leaf of a tuple, in order; at once, because tuples may be long.
std::vector<std::string> NamesOfLeaves(const Instruction& instruction);
// Bytes that are read of all operands in one run.
double OperandBytes(const Instruction& instruction);
// A collective, or its start.
bool IsCollective(const Instruction& instruction);

}  // namespace hlo
