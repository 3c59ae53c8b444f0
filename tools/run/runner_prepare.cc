// Before the compilation: reading, the passes that the user wants first, devices, buffers, files
// and inputs.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "lib/ir/compare.h"
#include "lib/support/hash.h"
#include "lib/support/status.h"
#include "lib/support/time_trace.h"
#include "passes/buffers/buffers_to_arrays.h"
#include "passes/pass_manager.h"
#include "passes/spmd/device_parts.h"
#include "tools/run/inputs.h"
#include "tools/run/refusals.h"
#include "tools/run/runner.h"
#include "tools/run/single_shard.h"
#include "tools/run/write_results.h"
#include "tools/support/runnable.h"

namespace hlo {

absl::Status Runner::StartProcesses() {
  if (options_.distributed.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(transport_, MakeMpiTransport());
  if (transport_->rank() > 0) StopWriting();
  return absl::OkStatus();
}

void Runner::StopWriting() {
  for (std::string* name :
       {&options_.output_dir, &options_.outfeed_dir, &options_.save_inputs, &options_.json,
        &options_.save_temps, &options_.time_trace, &options_.save_executable})
    name->clear();
  options_.memory_files.clear();
  options_.outputs.clear();
  options_.time = false;
  options_.print_outputs = PrintOutputs::kNone;
  if (const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0)
    dup2(nowhere, STDOUT_FILENO);
}

absl::Status Runner::Load() {
  progress_.Stage("parsing " + path_);
  if (!options_.time_trace.empty()) StartTimeTrace();
  const absl::Status status = LoadFile(options_, path_, file_);
  source_ = file_.source;
  located_ = source_ != nullptr;
  RETURN_IF_ERROR(status);
  module_ = std::move(file_.module);
  report_.parse_ms = file_.parse_ms;
  for (const std::string& note : file_.notes) Note("hlo-run: note: " + note + "\n");
  return absl::OkStatus();
}

absl::Status Runner::Prepare() {
  RETURN_IF_ERROR(RunPasses());
  if (options_.spmd) {
    progress_.Stage("partitioning");
    if (options_.single_shard.empty()) {
      ASSIGN_OR_RETURN(const std::vector<BufferPlan::Feed> feeds, WholeFeeds());
      ASSIGN_OR_RETURN(spmd_, SpmdRun::Make(*module_, feeds));
    } else {
      RETURN_IF_ERROR(DivideByShardings(*module_));
    }
  }
  if (!options_.single_shard.empty()) RETURN_IF_ERROR(KeepDevice());
  const bool is_given =
      options_.num_replicas > 0 || options_.num_partitions > 0 || spmd_.has_value();
  const int64_t partitions = module_->config().num_partitions;
  ASSIGN_OR_RETURN(mesh_, ChooseDevices(*module_, is_given));
  if (mesh_.partitions < partitions) NoteUndivided(partitions);
  if (Feeds(*module_)) {
    ASSIGN_OR_RETURN(feed_, FeedFiles::Make(options_.infeed, outer_mesh(), copies()));
    if (spmd_) {
      ASSIGN_OR_RETURN(whole_feed_, FeedFiles::Make(options_.infeed, outer_mesh()));
    }
  } else if (!options_.infeed.empty() || !options_.outfeed_dir.empty()) {
    return Error("module `{}` has no infeed or outfeed for --infeed and --outfeed-dir",
                 module_->name());
  }
  if (transport_ != nullptr) {
    RETURN_IF_ERROR(RefuseOneProcessFlags(options_, feed_ != nullptr));
    distributed_ =
        std::make_unique<DistributedCommunicator>(mesh_, *transport_, Limits().timeout());
  }
  return mesh_.devices() == 1 ? absl::OkStatus()
                              : RefuseOneDeviceFlags(options_, *module_, mesh_.devices());
}

void Runner::NoteUndivided(int64_t partitions) const {
  const Instruction* const divided = FirstDivided(*module_);
  if (divided == nullptr) return;
  Note(fmt::format(
      "hlo-run: note: shardings divide `{}` and perhaps others among {} partitions, but one "
      "device computes the whole; --spmd {}\n",
      divided->name(), partitions,
      options_.single_shard.empty() ? "runs them all" : "gives it its part"));
}

absl::Status Runner::KeepDevice() {
  if (!options_.spmd && !IsPartitioned(*module_)) NoteUndivided(module_->config().num_partitions);
  ASSIGN_OR_RETURN(const int64_t replaced,
                   KeepSingleShard(*module_, std::stoll(options_.single_shard)));
  Note(fmt::format(
      "hlo-run: note: device {} alone: {} operation{} that would meet others replaced by its own "
      "values; results mean nothing\n",
      options_.single_shard, replaced, replaced == 1 ? "" : "s"));
  return absl::OkStatus();
}

absl::Status Runner::RunPasses() {
  if (options_.passes.empty()) return absl::OkStatus();
  progress_.Stage("passes");
  const Source pipeline_source("--passes", options_.passes);
  absl::StatusOr<Pipeline> pipeline =
      options_.gpu_pass_flags.Parse(options_.passes, options_.gpu_properties);
  if (!pipeline.ok()) {
    source_ = std::make_shared<const Source>(pipeline_source);
    return pipeline.status();
  }
  const double start = Now();
  PassContext context;
  Instrumentation instrumentation;
  instrumentation.on_start = [this](const PipelineItem& pass, int64_t) {
    progress_.Step("pass " + pass.name);
  };
  compile_limit_.Start();
  ASSIGN_OR_RETURN(const PipelineResult result,
                   RunPipeline(*pipeline, *module_, context, instrumentation));
  compile_limit_.Stop();
  extra_passes_ms_ = Now() - start - result.verify_milliseconds;
  RETURN_IF_ERROR(VerifyRunnable(*module_));
  extra_verify_ms_ = Now() - start - extra_passes_ms_;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<BufferPlan::Feed>> Runner::WholeFeeds() const {
  if (options_.feed.empty()) return std::vector<BufferPlan::Feed>();
  const std::unique_ptr<Module> whole = module_->Clone();
  ASSIGN_OR_RETURN(BufferPlan plan, MakeBufferPlan(*whole, options_.donate, options_.feed,
                                                   std::max<int64_t>(options_.iterations, 1)));
  return std::move(plan.feeds);
}

absl::Status Runner::PlanBuffers() {
  if (!options_.uses_buffers()) return absl::OkStatus();
  loop_.steps = std::max<int64_t>(options_.iterations, 1);
  ASSIGN_OR_RETURN(buffers_, MakeBufferPlan(*module_, options_.donate, options_.feed, loop_.steps));
  loop_.module = HashBytes(options_.feed, ContentHash(*module_));
  return spmd_ ? spmd_->CheckFeeds(*module_, buffers_->feeds) : absl::OkStatus();
}

absl::Status Runner::CheckFiles() {
  RETURN_IF_ERROR(CheckDestinations(
      options_, WithoutBuffers(whole_module().entry()->root()->shape()).WithoutDynamic()));
  if (!options_.xla_memory.empty()) {
    const std::string name = std::filesystem::path(path_).stem().string();
    ASSIGN_OR_RETURN(xla_memory_, ReadXlaMemory(options_.xla_memory, name));
    if (!xla_memory_) {
      Note(fmt::format("hlo-run: note: `{}` says nothing of `{}`\n", options_.xla_memory, name));
    }
  }
  if (!options_.baseline.empty()) {
    ASSIGN_OR_RETURN(baseline_, ReadBaseline(options_.baseline));
  }
  return absl::OkStatus();
}

absl::StatusOr<ArgumentsByDevice> Runner::Inputs() {
  InputSources sources{options_.inputs,     options_.input_dir,     options_.inputs_from,
                       options_.seed_value, options_.input_dists,   options_.input_ranges,
                       file_.recorded,      options_.explain_inputs};
  ASSIGN_OR_RETURN(
      DeviceArguments arguments,
      MakeDeviceArguments(whole_module(), sources, outer_mesh(), options_.shared_inputs));
  progress_.Stage("");
  RETURN_IF_ERROR(WriteByDevice(arguments.values, options_.save_inputs, outer_mesh(), "arg"));
  if (!options_.reference_command.empty()) given_ = arguments.values.front();
  for (const std::string& note : arguments.notes) Note("hlo-run: note: " + note + "\n");
  if (spmd_) return spmd_->Cut(*module_, std::move(arguments.values));
  return std::move(arguments.values);
}

}  // namespace hlo
