#include "backends/interpreter/interpreter_backend.h"

#include <chrono>

#include "backends/platforms.h"
#include "lib/eval/evaluator.h"
#include "lib/ir/printer.h"
#include "lib/types/shape_util.h"
#include "passes/gpu/library_calls.h"

namespace hlo {
namespace {

// Bytes of all values of a computation, as an upper bound of what one run holds.
int64_t BoundOfMemory(const Computation& computation) {
  int64_t bytes = 0;
  for (const Instruction* inst : computation.instructions()) {
    if (!inst->shape().IsTuple()) bytes += ArrayBytes(inst->shape());
  }
  return bytes;
}

class InterpreterExecutable final : public Executable {
 public:
  InterpreterExecutable(std::unique_ptr<Module> module, const CompileOptions& options)
      : module_(std::move(module)) {
    options_.seed = options.seed;
    options_.denormals = options.denormals.value_or(DefaultDenormals("interpreter"));
    stats_.peak_bytes = BoundOfMemory(*module_->entry());
  }

  absl::StatusOr<std::unique_ptr<ExecutionState>> MakeState() const override;
  const Module& module() const override { return *module_; }
  const CompileStats& stats() const override { return stats_; }

 private:
  std::unique_ptr<Module> module_;
  EvalOptions options_;
  CompileStats stats_;
};

class InterpreterState final : public ExecutionState {
 public:
  InterpreterState(const Module& module, const EvalOptions& options)
      : module_(module), evaluator_(options) {}

  absl::Status Prepare(absl::Span<const Literal> arguments, const RunOptions& options) override {
    const Computation* const entry = module_.entry();
    RETURN_IF_ERROR(CheckArguments(*entry, arguments));
    RETURN_IF_ERROR(CheckDevices(options));
    arguments_.assign(arguments.begin(), arguments.end());
    EvalOptions& eval = evaluator_.mutable_options();
    eval.max_loop_iterations = options.max_loop_iterations;
    eval.replica_id = options.replica_id;
    eval.partition_id = options.partition_id;
    eval.communicator = options.communicator;
    eval.hook = nullptr;
    if (options.trace) {
      eval.hook = [entry, trace = options.trace](const Instruction& inst, const Literal& value) {
        if (inst.parent() == entry) trace(inst, value);
      };
    }
    return absl::OkStatus();
  }
  absl::Status Run() override {
    ASSIGN_OR_RETURN(result_, evaluator_.Run(module_, arguments_));
    return absl::OkStatus();
  }
  absl::StatusOr<Literal> Result() override { return result_; }

 private:
  absl::Status CheckDevices(const RunOptions& options) const {
    const ModuleConfig& config = module_.config();
    const int64_t devices = config.replica_count * config.num_partitions;
    if (devices <= 1 || options.communicator != nullptr) return absl::OkStatus();
    return Unsupported(
        SourceLoc(),
        "module `{}` runs on {} devices (replica_count={}, num_partitions={}); this run has one",
        module_.name(), devices, config.replica_count, config.num_partitions);
  }

  const Module& module_;
  Evaluator evaluator_;
  std::vector<Literal> arguments_;
  Literal result_;
};

absl::StatusOr<std::unique_ptr<ExecutionState>> InterpreterExecutable::MakeState() const {
  return std::make_unique<InterpreterState>(*module_, options_);
}

class InterpreterBackend final : public Backend {
 public:
  std::string_view name() const override { return "interpreter"; }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<Module> module,
                                                      const CompileOptions& options) override {
    if (module->entry() == nullptr)
      return Error("module `{}` has no entry computation", module->name());
    ASSIGN_OR_RETURN(std::unique_ptr<Module> plain, WithoutLibraryCalls(*module));
    if (plain != nullptr) module = std::move(plain);
    if (options.Wants(EmitStage::kHlo)) options.emit_sink(EmitStage::kHlo, ToText(*module));
    return std::unique_ptr<Executable>(
        std::make_unique<InterpreterExecutable>(std::move(module), options));
  }
};

}  // namespace

std::unique_ptr<Backend> MakeInterpreterBackend() { return std::make_unique<InterpreterBackend>(); }

}  // namespace hlo
