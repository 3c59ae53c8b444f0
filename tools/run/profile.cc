#include "tools/run/profile.h"

#include <algorithm>
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

// Calls of all runs, however they were seen.
struct Record {
  std::vector<Operation> operations;
  std::vector<ProfileEvent> events;
  std::vector<std::string> tracks = {"main"};  // of events
  std::vector<double> run_ms;
};

bool IsEnough(const Record& record, size_t calls, double spent_ms, int64_t min_runs) {
  if (spent_ms > kTooLongMs || calls > kMostCalls) return true;
  return std::ssize(record.run_ms) >= min_runs && spent_ms > kEnoughMs;
}

// ---- platforms that run thunks ----

absl::StatusOr<Record> RecordThunks(const Executable& executable,
                                    const std::vector<Literal>& arguments,
                                    const RunOptions& options, int64_t min_runs) {
  Record record;
  ASSIGN_OR_RETURN(const std::unique_ptr<ExecutionState> state,
                   executable.Prepare(arguments, options));
  RETURN_IF_ERROR(state->Run());  // warm
  ThunkProfile profile;
  const double begin = Now();
  size_t first_of_last_run = 0;
  while (record.run_ms.empty() ||
         !IsEnough(record, profile.calls().size(), Now() - begin, min_runs)) {
    first_of_last_run = profile.calls().size();
    RETURN_IF_ERROR(state->Renew());
    const double start = Now();
    RETURN_IF_ERROR(state->Run());
    record.run_ms.push_back(Now() - start);
  }
  record.tracks = profile.tracks();
  std::map<std::pair<std::string, std::string>, size_t> numbers;
  std::vector<size_t> operation_of;  // by thunk
  for (const ProfiledThunk& thunk : profile.thunks()) {
    const auto [at, is_new] =
        numbers.emplace(std::pair(thunk.name, thunk.kind), record.operations.size());
    if (is_new) {
      record.operations.push_back({thunk.name, thunk.kind});
    } else {
      ++record.operations[at->second].pieces;
    }
    operation_of.push_back(at->second);
  }
  const std::vector<ThunkCall>& calls = profile.calls();
  const int64_t zero = first_of_last_run < calls.size() ? calls[first_of_last_run].start : 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    const size_t operation = operation_of[calls[i].thunk];
    record.operations[operation].self_ms.push_back(static_cast<double>(calls[i].self) / 1e6);
    if (i < first_of_last_run) continue;
    record.events.push_back({operation, static_cast<double>(calls[i].start - zero) / 1e6,
                             static_cast<double>(calls[i].total) / 1e6, calls[i].track});
  }
  return record;
}

// ---- the interpreter ----

// Sees each instruction when it has been computed: its time is what has passed since the one
// before, since those of a loop's body come before the loop.
class InstructionTimes {
 public:
  explicit InstructionTimes(Record& record) : record_(record) {}

  void BeginRun() {
    record_.events.clear();
    start_ = last_ = Now();
  }
  void See(const Instruction& instruction) {
    const double now = Now();
    const auto [at, is_new] = numbers_.emplace(&instruction, record_.operations.size());
    if (is_new) {
      record_.operations.push_back(
          {std::string(instruction.name()), std::string(instruction.opcode_text())});
    }
    record_.operations[at->second].self_ms.push_back(now - last_);
    record_.events.push_back({at->second, last_ - start_, now - last_});
    ++calls_;
    last_ = Now();
  }
  size_t calls() const { return calls_; }

 private:
  Record& record_;
  std::map<const Instruction*, size_t> numbers_;
  size_t calls_ = 0;
  double start_ = 0, last_ = 0;
};

absl::StatusOr<Record> RecordInstructions(const Module& module,
                                          const std::vector<Literal>& arguments,
                                          const CompileOptions& compile, const RunOptions& options,
                                          int64_t min_runs) {
  Record record;
  InstructionTimes times(record);
  EvalOptions evaluation;
  evaluation.seed = compile.seed;
  evaluation.denormals = compile.denormals.value_or(DefaultDenormals("interpreter"));
  evaluation.max_loop_iterations = options.max_loop_iterations;
  evaluation.hook = [&times](const Instruction& inst, const Literal&) { times.See(inst); };
  Evaluator evaluator(evaluation);
  const double begin = Now();
  while (record.run_ms.empty() || !IsEnough(record, times.calls(), Now() - begin, min_runs)) {
    times.BeginRun();
    const double start = Now();
    RETURN_IF_ERROR(evaluator.Run(module, arguments).status());
    record.run_ms.push_back(Now() - start);
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

ProfileRow RowOf(const Operation& operation, const Record& record, const Peaks& peaks,
                 const Instruction* instruction, const ProgramCost& costs) {
  const auto runs = static_cast<double>(record.run_ms.size());
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
  if (row.median_ms > 0) {
    row.roofline =
        peaks.LeastMs(cost.flops, cost.bytes, NarrowOperands(*instruction)) / row.median_ms;
  }
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
                                    const std::vector<Literal>& arguments,
                                    const CompileOptions& options, const RunOptions& run_options,
                                    int64_t min_runs) {
  const Module& module = executable.module();
  Profile profile{std::string(backend.name()), std::string(module.name())};
  ASSIGN_OR_RETURN(profile.peaks, MeasurePeaks(backend, options, NarrowProducts(module)));
  Record record;
  if (backend.name() == "interpreter") {
    ASSIGN_OR_RETURN(record, RecordInstructions(module, arguments, options, run_options, min_runs));
  } else {
    ASSIGN_OR_RETURN(record, RecordThunks(executable, arguments, run_options, min_runs));
  }
  const auto names = ByName(module);
  const ProgramCost costs(module);
  double sum = 0;
  for (const Operation& operation : record.operations) {
    const auto found = names.find(operation.name);
    profile.rows.push_back(RowOf(operation, record, profile.peaks,
                                 found == names.end() ? nullptr : found->second, costs));
    sum += profile.rows.back().run_ms;
  }
  for (ProfileRow& row : profile.rows) row.share = sum > 0 ? row.run_ms / sum : 0;
  profile.runs = std::ssize(record.run_ms);
  profile.run_ms = Summarise(std::move(record.run_ms)).median;
  profile.events = std::move(record.events);
  profile.tracks = std::move(record.tracks);
  Sort(profile);
  return profile;
}

}  // namespace hlo
