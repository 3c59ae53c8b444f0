#include "passes/schedule/rematerialization.h"

#include <algorithm>
#include <set>

#include "lib/analysis/schedule.h"
#include "lib/support/read_number.h"
#include "lib/support/strings.h"
#include "lib/types/shape_util.h"
#include "passes/schedule/memory_scheduler.h"
#include "passes/schedule/remat_walk.h"
#include "passes/simplify/dce.h"

namespace hlo {
namespace remat {
namespace {

// Bytes of all nodes of a shape.
int64_t AllBytes(Shape shape, const Model& model) {
  int64_t bytes = 0;
  ForEachSubShape(shape, [&](Shape node, const ShapeIndex&) { bytes += model.BytesOf(node); });
  return bytes;
}

// ---- options ----

// `a;b` apart.
std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

struct AsyncComputation {
  const Computation* computation;
  int64_t count;
};

// `name:2`
absl::StatusOr<AsyncComputation> ParseAsync(std::string_view text, const Module& module) {
  const size_t colon = text.rfind(':');
  const std::string_view name = text.substr(0, colon);
  AsyncComputation async{module.FindComputation(name), 1};
  if (async.computation == nullptr)
    return Error("`async_computation_parallelism`: there is no computation `{}`", name);
  if (colon == std::string_view::npos) return async;
  async.count = ReadNumber<int64_t>(text.substr(colon + 1)).value_or(0);
  if (async.count < 1)
    return Error("`async_computation_parallelism`: expected `NAME:COUNT`, found `{}`", text);
  return async;
}

absl::Status Check(const RematerializationOptions& options) {
  Layout on_host;
  on_host.memory_space = options.host_memory_space;
  if (const absl::Status status =
          ValidateShape(Shape::Scalar(ElementType::kU8).WithLayout(on_host));
      !status.ok())
    return Error("`host_memory_space`: {}", ToStd(status.message()));
  if (options.bandwidth_to_host_bytes_per_second <= 0 ||
      options.bandwidth_from_host_bytes_per_second <= 0)
    return Error("bandwidths to and from the host must be positive");
  return absl::OkStatus();
}

// ---- the module ----

class ModuleRun {
 public:
  ModuleRun(Module& module, PassContext& context, const RematerializationOptions& options)
      : module_(module), context_(context), model_(options) {}

  absl::StatusOr<bool> Run() {
    const RematerializationOptions& options = model_.options();
    CallGraph& calls = context_.analyses().Get<CallGraph>(module_);
    Peaks peaks(model_, calls);
    RETURN_IF_ERROR(FindThreads(peaks));
    peaks.Find(runs_);
    const int64_t before = peaks.Of(*module_.entry()) + reserved_;
    const Instruction& root = *module_.entry()->root();
    context_.Found(root, "the module needs {} bytes, {} of them for its results", before,
                   AllBytes(root.shape(), model_));
    if (options.memory_limit_bytes < 0) {
      context_.Missed(root, "`memory_limit_bytes` is not given");
      return false;
    }
    const int64_t limit = std::max<int64_t>(0, options.memory_limit_bytes - reserved_);
    // Copies to the host hold a few bytes while they run, which others do not.
    Peaks kept(model_, calls, options.host_offload ? Counted::kArrays : Counted::kAll);
    kept.Find(runs_);
    is_worth_a_schedule_ =
        Walk(module_, context_, model_, peaks, kept).Run(*module_.entry(), limit, runs_);
    bool changed = is_worth_a_schedule_;
    for (bool more = true; more; changed = changed || more) {
      ASSIGN_OR_RETURN(more, RunPart(Dce(), module_, context_));
    }
    Report(before, changed);
    return changed;
  }

  // Something stands where it does for a reason.
  bool is_worth_a_schedule() const { return is_worth_a_schedule_; }

 private:
  // Which computations are looked at, and what is set apart for others and for the results.
  absl::Status FindThreads(Peaks& peaks) {
    const RematerializationOptions& options = model_.options();
    reserved_ = AllBytes(module_.entry()->root()->shape(), model_);
    std::vector<AsyncComputation> asyncs;
    std::set<std::string, std::less<>> others;
    for (const std::string_view word : Words(options.async_computation_parallelism)) {
      ASSIGN_OR_RETURN(asyncs.emplace_back(), ParseAsync(word, module_));
      others.emplace(asyncs.back().computation->execution_thread());
    }
    if (!asyncs.empty()) {
      peaks.Find([&](const Computation& c) { return others.contains(c.execution_thread()); });
      int64_t most = 0;
      for (const AsyncComputation& async : asyncs)
        most = std::max(most, peaks.Of(*async.computation) * async.count);
      reserved_ += most;
    }
    std::set<std::string, std::less<>> threads;
    for (const std::string_view word : Words(options.execution_threads)) threads.emplace(word);
    runs_ = [threads, others](const Computation& c) {
      if (!threads.empty()) return threads.contains(c.execution_thread());
      return !others.contains(c.execution_thread()) || c.is_entry();
    };
    return absl::OkStatus();
  }

  void Report(int64_t before, bool changed) {
    if (!changed) return;
    UpdateSchedules(module_);
    Peaks peaks(model_, context_.analyses().Get<CallGraph>(module_));
    peaks.Find(runs_);
    const int64_t after = peaks.Of(*module_.entry()) + reserved_;
    const Instruction& root = *module_.entry()->root();
    context_.Found(root, "the module needs {} bytes now, {} before", after, before);
    if (after > model_.options().memory_limit_bytes)
      context_.Missed(root, fmt::format("the module cannot be brought below {} bytes; it needs {}",
                                        model_.options().memory_limit_bytes, after));
    context_.Count("bytes saved", before - after);
  }

  Module& module_;
  PassContext& context_;
  Model model_;
  int64_t reserved_ = 0;
  bool is_worth_a_schedule_ = false;
  std::function<bool(const Computation&)> runs_;
};

}  // namespace
}  // namespace remat

absl::StatusOr<bool> Rematerialization::Run(Module& module, PassContext& context) {
  RETURN_IF_ERROR(remat::Check(options_));
  if (!options_.recompute && !options_.compress && !options_.host_offload) return false;
  const bool was_scheduled = module.is_scheduled();
  if (!was_scheduled) {
    if (options_.require_schedule)
      return Error(module.entry()->loc(),
                   "the module has no schedule; `hlo-memory-scheduler` makes one");
    RETURN_IF_ERROR(RunPart(MemoryScheduler(), module, context).status());
  }
  remat::ModuleRun run(module, context, options_);
  ASSIGN_OR_RETURN(const bool changed, run.Run());
  if (!was_scheduled && !run.is_worth_a_schedule()) module.ClearSchedule();
  return changed;
}

HLO_DEFINE_PASS(Rematerialization)

}  // namespace hlo
