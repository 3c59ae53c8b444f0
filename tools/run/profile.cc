#include "tools/run/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>

#include "backends/common/thunk_profile.h"
#include "backends/platforms.h"
#include "lib/analysis/cost.h"
#include "lib/analysis/program_cost.h"
#include "lib/eval/evaluator.h"
#include "lib/ir/source_line.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/status.h"
#include "tools/run/bench.h"
#include "tools/run/devices.h"

namespace hlo {
namespace {

constexpr double kEnoughMs = 300;
constexpr double kTooLongMs = 10'000;
constexpr size_t kMostCalls = 5'000'000;

// What one operation did in all runs.
struct Operation {
  std::string name, kind;
  size_t pieces = 1;            // thunks that share its work
  std::vector<double> self_ms;  // of each call of each piece
};

// Calls of all runs and devices, however they were seen.
class Record {
 public:
  std::vector<Operation> operations;
  std::vector<ProfileEvent> events;
  std::vector<std::string> tracks;  // of events
  std::vector<double> run_ms;

  size_t NumberOf(const std::string& name, const std::string& kind) {
    const auto [at, is_new] = numbers_.emplace(std::pair(name, kind), operations.size());
    if (is_new) operations.push_back({name, kind});
    return at->second;
  }
  void AddCall(size_t operation, double self_ms) {
    operations[operation].self_ms.push_back(self_ms);
    ++calls_;
  }
  bool IsEnough(double spent_ms, int64_t min_runs) const {
    if (run_ms.empty()) return false;
    if (spent_ms > kTooLongMs || calls_ > kMostCalls) return true;
    return std::ssize(run_ms) >= min_runs && spent_ms > kEnoughMs;
  }

 private:
  std::map<std::pair<std::string, std::string>, size_t> numbers_;
  size_t calls_ = 0;
};

std::string TrackName(const DeviceMesh& mesh, int64_t device, const std::string& thread) {
  return mesh.devices() == 1 ? thread : fmt::format("{}: {}", DeviceName(mesh, device), thread);
}

// ---- platforms that run thunks ----

// The operation of each thunk that a device ran.
std::vector<size_t> OperationsOf(const ThunkRecord& seen, Record& record) {
  std::vector<size_t> operation_of;
  std::map<size_t, size_t> pieces;
  for (const ProfiledThunk& thunk : seen.thunks) {
    const size_t operation = record.NumberOf(thunk.name, thunk.kind);
    operation_of.push_back(operation);
    size_t& count = record.operations[operation].pieces;
    count = std::max(count, ++pieces[operation]);
  }
  return operation_of;
}

// The calls of one run as events.
void AddEvents(const std::vector<ThunkRecord>& seen, const DeviceMesh& mesh, Record& record) {
  int64_t zero = INT64_MAX;
  for (const ThunkRecord& own : seen) {
    for (const ThunkCall& call : own.calls) zero = std::min(zero, call.start);
  }
  for (size_t device = 0; device < seen.size(); ++device) {
    const ThunkRecord& own = seen[device];
    const std::vector<size_t> operation_of = OperationsOf(own, record);
    for (const ThunkCall& call : own.calls) {
      record.events.push_back(
          {operation_of[call.thunk], static_cast<double>(call.start - zero) / 1e6,
           static_cast<double>(call.total) / 1e6, record.tracks.size() + call.track});
    }
    for (const std::string& thread : own.tracks)
      record.tracks.push_back(TrackName(mesh, static_cast<int64_t>(device), thread));
  }
}

absl::StatusOr<Record> RecordThunks(const Executable& executable,
                                    const std::vector<std::vector<Literal>>& arguments,
                                    const ProfileOptions& options) {
  Record record;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<DeviceStates> states,
      DeviceStates::Make(executable, arguments, options.mesh, options.run, options.limits));
  RETURN_IF_ERROR(states->Run());  // warm
  std::vector<ThunkRecord> seen(arguments.size());
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  const int64_t clock = std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  const double begin = Now();
  const auto is_enough = [&] {
    return options.simulated ? !record.run_ms.empty()
                             : record.IsEnough(Now() - begin, options.min_runs);
  };
  while (!is_enough()) {
    RETURN_IF_ERROR(states->Renew());
    const double start = Now();
    RETURN_IF_ERROR(states->Run([&](size_t device, ExecutionState& state) {
      ThunkProfile profile("main", clock);
      const absl::Status status = state.Run();
      seen[device] = profile.Take();
      return status;
    }));
    record.run_ms.push_back(Now() - start);
    for (const ThunkRecord& own : seen) {
      const std::vector<size_t> operation_of = OperationsOf(own, record);
      for (const ThunkCall& call : own.calls)
        record.AddCall(operation_of[call.thunk], static_cast<double>(call.self) / 1e6);
    }
  }
  AddEvents(seen, options.mesh, record);
  return record;
}

// ---- the interpreter ----

// Sees each instruction of a device when it has been computed: its time is what has passed since
// the one before, since those of a loop's body come before the loop.
class InstructionTimes {
 public:
  struct Call {
    const Instruction* instruction;
    double start_ms, ms;
  };

  void BeginRun() {
    calls_.clear();
    last_ = Now();
  }
  void See(const Instruction& instruction) {
    const double now = Now();
    calls_.push_back({&instruction, last_, now - last_});
    last_ = Now();
  }
  // Of the last run.
  const std::vector<Call>& calls() const { return calls_; }

 private:
  std::vector<Call> calls_;
  double last_ = 0;
};

absl::StatusOr<Record> RecordInstructions(const Module& module,
                                          const std::vector<std::vector<Literal>>& arguments,
                                          const CompileOptions& compile,
                                          const ProfileOptions& options) {
  Record record;
  DeviceThreads threads(module, options.mesh, options.limits);
  std::vector<InstructionTimes> times(arguments.size());
  std::deque<Evaluator> evaluators;  // which do not move
  for (size_t device = 0; device < times.size(); ++device) {
    const RunOptions run = threads.OptionsOf(static_cast<int64_t>(device), options.run);
    EvalOptions evaluation;
    evaluation.seed = compile.seed;
    evaluation.denormals = compile.denormals.value_or(DefaultDenormals("interpreter"));
    evaluation.max_loop_iterations = run.max_loop_iterations;
    evaluation.replica_id = run.replica_id;
    evaluation.partition_id = run.partition_id;
    evaluation.communicator = run.communicator;
    evaluation.hook = [&own = times[device]](const Instruction& inst, const Literal&) {
      own.See(inst);
    };
    evaluators.emplace_back(evaluation);
    record.tracks.push_back(TrackName(options.mesh, static_cast<int64_t>(device), "main"));
  }
  const auto operation_of = [&](const Instruction& instruction) {
    return record.NumberOf(std::string(instruction.name()), std::string(instruction.opcode_text()));
  };
  const double begin = Now();
  double start = begin;
  while (!record.IsEnough(Now() - begin, options.min_runs)) {
    start = Now();
    RETURN_IF_ERROR(threads.Run([&](int64_t number) {
      const auto device = static_cast<size_t>(number);
      times[device].BeginRun();
      return evaluators[device].Run(module, arguments[device]).status();
    }));
    record.run_ms.push_back(Now() - start);
    for (const InstructionTimes& own : times) {
      for (const InstructionTimes::Call& call : own.calls())
        record.AddCall(operation_of(*call.instruction), call.ms);
    }
  }
  for (size_t device = 0; device < times.size(); ++device) {
    for (const InstructionTimes::Call& call : times[device].calls()) {
      record.events.push_back(
          {operation_of(*call.instruction), call.start_ms - start, call.ms, device});
    }
  }
  return record;
}

// ---- from calls to rows ----

// What a computation costs with all that it calls, in all runs of it.
Cost CostWithCalls(const Computation& computation, const ProgramCost& costs) {
  Cost sum = costs.Of(computation);
  for (const Instruction* inst : computation.instructions()) {
    if (!kProgramCallers.Has(inst->opcode())) continue;
    for (const Computation* callee : inst->calls()) {
      const Cost inner = CostWithCalls(*callee, costs);
      sum.flops += inner.flops;
      sum.bytes += inner.bytes;
    }
  }
  return sum;
}

// Of one call. A loop that is one function does what its computations do; other control flow only
// decides.
Cost CostOfOperation(const Instruction& instruction, const Operation& operation, double calls,
                     const ProgramCost& costs) {
  if (!kProgramCallers.Has(instruction.opcode())) return CostOf(instruction);
  Cost sum;
  if (operation.kind != "program") return sum;
  for (const Computation* callee : instruction.calls()) {
    const Cost inner = CostWithCalls(*callee, costs);
    sum.flops += inner.flops / calls;
    sum.bytes += inner.bytes / calls;
  }
  return sum;
}

std::map<std::string, const Instruction*, std::less<>> ByName(const Module& module) {
  std::map<std::string, const Instruction*, std::less<>> names;
  for (const auto& computation : module.computations()) {
    for (const Instruction* inst : computation->instructions())
      names.emplace(std::string(inst->name()), inst);
  }
  return names;
}

// `runs`: of any device.
ProfileRow RowOf(const Operation& operation, double runs, const Peaks& peaks,
                 const Instruction* instruction, const ProgramCost& costs) {
  const auto pieces = static_cast<double>(operation.pieces);
  ProfileRow row{operation.name, operation.kind};
  const RunTimes times = Summarise(operation.self_ms);
  row.calls = static_cast<double>(times.iterations) / runs / pieces;
  row.min_ms = times.min * pieces;
  row.median_ms = times.median * pieces;
  row.p95_ms = times.p95 * pieces;
  row.run_ms = times.mean * static_cast<double>(times.iterations) / runs;
  if (instruction == nullptr) return row;
  row.shape = instruction->shape().ToString(/*with_layout=*/false);
  row.source = SourceLineOf(*instruction);
  const Cost cost = CostOfOperation(*instruction, operation, row.calls, costs);
  row.flops = cost.flops;
  row.bytes = cost.bytes;
  row.least_ms = peaks.LeastMs(cost.flops, cost.bytes, NarrowOperands(*instruction));
  if (row.median_ms > 0) row.roofline = row.least_ms / row.median_ms;
  return row;
}

// The row without the times of a simulator.
ProfileRow Untimed(ProfileRow row) {
  row.min_ms = row.median_ms = row.p95_ms = row.roofline = 0;
  row.run_ms = row.least_ms * row.calls;
  return row;
}

// Sorts the rows, and numbers the events after them.
void Sort(Profile& profile) {
  std::vector<size_t> order(profile.rows.size()), place(profile.rows.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return profile.rows[a].run_ms > profile.rows[b].run_ms;
  });
  std::vector<ProfileRow> rows;
  for (size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    rows.push_back(std::move(profile.rows[order[i]]));
  }
  profile.rows = std::move(rows);
  for (ProfileEvent& event : profile.events) event.row = place[event.row];
  std::stable_sort(profile.events.begin(), profile.events.end(),
                   [](const ProfileEvent& a, const ProfileEvent& b) {
                     return a.start_ms != b.start_ms ? a.start_ms < b.start_ms : a.ms > b.ms;
                   });
}

}  // namespace

absl::StatusOr<Profile> TakeProfile(Backend& backend, const Executable& executable,
                                    const std::vector<std::vector<Literal>>& arguments,
                                    const CompileOptions& compile, const ProfileOptions& options) {
  const Module& module = executable.module();
  Profile profile{std::string(backend.name()), std::string(module.name()), options.mesh.devices()};
  profile.is_timed = !options.simulated.has_value();
  if (options.simulated) {
    profile.peaks = PeaksOf(*options.simulated);
  } else {
    ASSIGN_OR_RETURN(profile.peaks, MeasurePeaks(backend, compile, NarrowProducts(module)));
  }
  Record record;
  if (backend.name() == "interpreter") {
    ASSIGN_OR_RETURN(record, RecordInstructions(module, arguments, compile, options));
  } else {
    ASSIGN_OR_RETURN(record, RecordThunks(executable, arguments, options));
  }
  const auto names = ByName(module);
  const ProgramCost costs(module);
  const auto runs = static_cast<double>(std::ssize(record.run_ms) * profile.devices);
  double sum = 0;
  for (const Operation& operation : record.operations) {
    const auto found = names.find(operation.name);
    ProfileRow row = RowOf(operation, runs, profile.peaks,
                           found == names.end() ? nullptr : found->second, costs);
    profile.rows.push_back(profile.is_timed ? std::move(row) : Untimed(std::move(row)));
    sum += profile.rows.back().run_ms;
  }
  for (ProfileRow& row : profile.rows) row.share = sum > 0 ? row.run_ms / sum : 0;
  profile.runs = std::ssize(record.run_ms);
  if (profile.is_timed) {
    profile.run_ms = Summarise(std::move(record.run_ms)).median;
    profile.events = std::move(record.events);
    profile.tracks = std::move(record.tracks);
  }
  Sort(profile);
  return profile;
}

}  // namespace hlo
