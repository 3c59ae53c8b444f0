#include "tools/run/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "backends/common/thunk_profile.h"
#include "lib/analysis/cost.h"
#include "lib/ir/any_instruction.h"
#include "lib/ir/source_line.h"
#include "lib/support/json_value.h"

namespace hlo {
namespace {

using NamedInstructions = std::map<std::string, const Instruction*, std::less<>>;

NamedInstructions InstructionsByName(const Module& module) {
  NamedInstructions names;
  for (const Instruction* instruction : AllInstructions(module))
    names.emplace(std::string(instruction->name()), instruction);
  return names;
}

// What runs others does nothing itself.
bool OnlyRunsOthers(const Instruction& instruction) {
  return HasTrait(instruction.opcode(), kControlFlow) ||
         instruction.opcode() == Opcode::kAsyncStart || instruction.opcode() == Opcode::kAsyncDone;
}

TraceProcess ProcessOf(const ThunkRecord& record, const NamedInstructions& names, int64_t begin,
                       std::string name) {
  TraceProcess process{std::move(name), record.tracks, {}};
  for (const ThunkCall& call : record.calls) {
    const ProfiledThunk& thunk = record.thunks[call.thunk];
    TraceSlice slice{call.track, static_cast<double>(call.start - begin) / 1e6,
                     static_cast<double>(call.total) / 1e6, thunk.name, thunk.kind};
    if (const auto found = names.find(thunk.name); found != names.end()) {
      const Instruction& instruction = *found->second;
      slice.shape = instruction.shape().ToString(/*with_layout=*/false);
      slice.source = SourceLineOf(instruction);
      const Cost cost = OnlyRunsOthers(instruction) ? Cost() : CostOf(instruction);
      slice.flops = cost.flops;
      slice.bytes = cost.bytes;
    }
    process.slices.push_back(std::move(slice));
  }
  // What contains others comes before them.
  std::stable_sort(
      process.slices.begin(), process.slices.end(), [](const TraceSlice& a, const TraceSlice& b) {
        return std::tuple(a.track, a.start_ms, -a.ms) < std::tuple(b.track, b.start_ms, -b.ms);
      });
  return process;
}

}  // namespace

std::string TraceText(absl::Span<const TraceProcess> processes) {
  std::string text = R"({"displayTimeUnit":"ns","traceEvents":[)";
  std::string_view separator = "\n";
  const auto append = [&](const std::string& event) {
    text += separator;
    text += event;
    separator = ",\n";
  };
  for (size_t pid = 0; pid < processes.size(); ++pid) {
    const TraceProcess& process = processes[pid];
    append(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", pid,
                       JsonQuoted(process.name)));
    for (size_t tid = 0; tid < process.tracks.size(); ++tid) {
      append(
          fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})",
                      pid, tid, JsonQuoted(process.tracks[tid])));
    }
    for (const TraceSlice& slice : process.slices) {
      append(
          fmt::format(R"({{"ph":"X","pid":{},"tid":{},"name":{},"cat":{},"ts":{:.3f},"dur":{:.3f},)"
                      R"("args":{{"shape":{},"source":{},"flops":{:.16g},"bytes":{:.16g}}}}})",
                      pid, slice.track, JsonQuoted(slice.name), JsonQuoted(slice.kind),
                      1000 * slice.start_ms, 1000 * slice.ms, JsonQuoted(slice.shape),
                      JsonQuoted(slice.source), slice.flops, slice.bytes));
    }
  }
  return text + "\n]}\n";
}

absl::StatusOr<std::vector<TraceProcess>> TakeTimeline(const Executable& executable,
                                                       DeviceStates& states,
                                                       const DeviceMesh& mesh) {
  RETURN_IF_ERROR(states.Run());  // warm
  RETURN_IF_ERROR(states.Renew());
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  const int64_t clock = std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  std::vector<ThunkRecord> records(static_cast<size_t>(mesh.devices()));
  RETURN_IF_ERROR(states.Run([&](size_t device, ExecutionState& state) {
    ThunkProfile profile("main", clock);
    const absl::Status status = state.Run();
    records[device] = profile.Take();
    return status;
  }));
  if (std::all_of(records.begin(), records.end(),
                  [](const ThunkRecord& record) { return record.calls.empty(); })) {
    return Unsupported(SourceLoc(),
                       "nothing of this run can be traced: the platform runs no thunks; "
                       "`--profile=FILE.trace.json` times the interpreter's instructions");
  }
  int64_t begin = INT64_MAX;
  for (const ThunkRecord& record : records) {
    for (const ThunkCall& call : record.calls) begin = std::min(begin, call.start);
  }
  const NamedInstructions names = InstructionsByName(executable.module());
  std::vector<TraceProcess> processes;
  for (size_t device = 0; device < records.size(); ++device) {
    processes.push_back(ProcessOf(records[device], names, begin,
                                  fmt::format("{} on {}", executable.module().name(),
                                              DeviceName(mesh, static_cast<int64_t>(device)))));
  }
  return processes;
}

}  // namespace hlo
