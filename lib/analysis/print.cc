#include "lib/analysis/print.h"

#include "lib/analysis/alias.h"
#include "lib/analysis/async_overlap.h"
#include "lib/analysis/call_graph.h"
#include "lib/analysis/cost.h"
#include "lib/analysis/device_groups.h"
#include "lib/analysis/indexed_array.h"
#include "lib/analysis/indexing.h"
#include "lib/analysis/interference.h"
#include "lib/analysis/live_range.h"
#include "lib/analysis/liveness.h"
#include "lib/analysis/logical_buffers.h"
#include "lib/analysis/program_cost.h"
#include "lib/analysis/program_peak.h"
#include "lib/analysis/reachability.h"
#include "lib/analysis/region.h"
#include "lib/analysis/replication.h"
#include "lib/analysis/side_effects.h"
#include "lib/analysis/trip_count.h"
#include "lib/analysis/values.h"

namespace hlo {
namespace {

// clang-format off
constexpr AnalysisPrinter kPrinters[] = {
    {"alias",         "which values have one place, and what may be overwritten", AliasSets::ToString},
    {"async",         "what runs beside asynchronous operations, and what is waited for", AsyncOverlapsToString},
    {"call-graph",    "how computations are used, and who calls them",            CallGraph::ToString},
    {"cost",          "operations and bytes of each instruction",                 CostsToString},
    {"device-groups", "which devices take part in a collective together",         DeviceGroupsToString},
    {"indexed-array", "which arrays are others with one dimension looked up",     IndexedArrays::ToString},
    {"indexing",      "which elements of its operands each result reads",         IndexingToString},
    {"interference",  "which values of one place are needed at one time",         Interference::ToString},
    {"live-range",    "when each value is needed",                                LiveRanges::ToString},
    {"liveness",      "which parts of which values are needed",                   Liveness::ToString},
    {"logical-buffers", "what each computation makes, and who uses it",           LogicalBuffers::ToString},
    {"program-cost",  "how often computations run, and what the program costs",   ProgramCost::ToString},
    {"program-peak",  "where the program needs most memory, and what it holds",   ProgramPeakToString},
    {"reachability",  "which instructions depend on which",                       Reachability::ToString},
    {"region",        "what single operation a called computation is",            RegionsToString},
    {"replication",   "what is the same on all devices",                          Replication::ToString},
    {"side-effects",  "what must stay although nobody reads it",                  SideEffects::ToString},
    {"trip-count",    "how often loops run",                                      TripCountsToString},
    {"values",        "what makes each leaf, where it is, who reads it",          Values::ToString},
};
// clang-format on

}  // namespace

std::span<const AnalysisPrinter> AllAnalysisPrinters() { return kPrinters; }

const AnalysisPrinter* FindAnalysisPrinter(std::string_view name) {
  for (const AnalysisPrinter& printer : kPrinters) {
    if (printer.name == name) return &printer;
  }
  return nullptr;
}

}  // namespace hlo
