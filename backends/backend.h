// backends/backend.h
//
// What every back end offers: compile a module once, run the result many times.
//
//   ASSIGN_OR_RETURN(Backend* backend, FindBackend("cpu"));                    // registry.h
//   ASSIGN_OR_RETURN(auto executable, backend->Compile(std::move(module), options));
//   ASSIGN_OR_RETURN(Literal result, executable->Run(arguments, {}));
//
// An Executable is constant: several threads may run it at the same time. What runs change (memory,
// packed operands, random numbers, streams) is in an ExecutionState, which serves one run at a time
// and is used again by the next one; Run() makes one for a single run. For timing, Prepare() puts
// the arguments into the state's memory once; ExecutionState::Run() then does the computation and
// nothing else.
//
// Header only, so that a back end links nothing of the registry that knows it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/ir/module.h"
#include "lib/support/denormals.h"
#include "lib/support/status.h"
#include "lib/types/literal.h"

namespace hlo {

class CodeStore;         // backends/common/code_store.h
class Communicator;      // lib/eval/communicator.h
struct Instrumentation;  // passes/pass_manager.h

// The texts a back end can show of its work, in the order of compilation.
enum class EmitStage : uint8_t {
  kHlo,
  kBuffers,
  kTile,
  kThunks,
  kLlvm,
  kAsm,
  kPtx,
  kSass,
  kKernels
};

// The text of a stage, as an earlier compilation gave it and somebody has edited it since.
struct StageText {
  EmitStage stage = EmitStage::kLlvm;  // or kPtx
  std::string file;                    // named in messages
  std::string text;
};

// How the CPU runs its kernels.
enum class CpuKernels : uint8_t {
  kLlvm,      // as machine code
  kEvaluate,  // by the evaluator of tile IR: ready at once, slow, every access checked
};

// Which accesses of its kernels the CPU checks while they run.
enum class CpuChecks : uint8_t {
  kNone,
  kUnproven,  // each load and store that is not proved to be inside its buffer
  kAll,       // each load and store; and that memory is written before it is read
};
#ifdef NDEBUG
inline constexpr CpuChecks kDefaultCpuChecks = CpuChecks::kNone;
#else
inline constexpr CpuChecks kDefaultCpuChecks = CpuChecks::kAll;
#endif

// Of the platform `cpu` alone.
struct CpuOptions {
  CpuKernels kernels = CpuKernels::kLlvm;
  CpuChecks checks = kDefaultCpuChecks;
};

// Of the platforms `gpu` and `gpu-sim`.
struct GpuOptions {
  std::string target;         // "sm_90a"; empty: what the platform takes by default
  int multiprocessors = 0;    // to share work among; 0: the device's, or those of a GPU of `target`
  bool library = true;        // large products by cuBLASLt where it is there
  bool tf32 = false;          // products of f32 and default precision with TF32, as XLA's
  bool graphs = true;         // what is launched again and again is launched as a whole
  bool merge_steps = true;    // small kernels, and loops of them, are launched as one
  bool overlap = false;       // a kernel is made ready while the one before it ends (sm_90)
  bool autotune = false;      // kernels of libraries are timed on the device, and the fastest taken
  std::string autotune_file;  // what autotune finds is kept there; empty: nowhere
  int64_t sim_seed = 0;       // of the simulator's schedule; 0: natural order
  bool sim_sanitize = false;  // the simulator watches every access
};

struct CompileOptions {
  int threads = 0;                     // 0: one for each processor of the process
  std::optional<Denormals> denormals;  // empty: what the platform does by default
  uint64_t seed = 42;                  // of `rng` and of the custom call GetRngSeed
  std::string cpu_features;            // feature mask such as "avx2"; empty: all the host has
  CpuOptions cpu;
  GpuOptions gpu;
  bool run_passes = true;  // false: the module is compiled as it is
  bool verify_each_pass = false;
  // How the passes are run: what is left out, what is dumped, who is told. Null: as usual.
  const Instrumentation* instrumentation = nullptr;
  // Where machine code is kept for another process, or comes from one. Null: neither.
  CodeStore* code_store = nullptr;
  // Where code generation starts. Kernels that a text of kLlvm does not have are made as usual; a
  // text of kPtx has them all.
  std::optional<StageText> start;
  // Texts wanted, and who takes them; each wanted stage that the platform has is given once. Then
  // nothing is run: no memory for it is taken.
  std::vector<EmitStage> emit;
  std::function<void(EmitStage stage, std::string_view text)> emit_sink;

  bool Wants(EmitStage stage) const {
    for (EmitStage wanted : emit) {
      if (wanted == stage) return emit_sink != nullptr;
    }
    return false;
  }
};

// Steps of code generation, which are parts of CompileStats::codegen_ms. What runs on several
// threads at once counts by its share of their time.
struct CodegenTimes {
  double buffers_ms = 0;  // what lies where
  double kernels_ms = 0;  // HLO to kernels, in the back end's own form
  double llvm_ms = 0;     // kernels to LLVM IR, and that to code
  double link_ms = 0;
};

struct CompileStats {
  double verify_ms = 0;   // checking the module between passes
  double passes_ms = 0;   // HLO to HLO, without that
  double codegen_ms = 0;  // HLO to machine code
  CodegenTimes codegen;
  double load_ms = 0;      // allocate, pack constants
  int64_t peak_bytes = 0;  // memory of one run: arguments, results, temporaries, constants
};

struct RunOptions {
  int64_t replica_id = 0;
  int64_t partition_id = 0;
  // To the other devices of the module, each run in a state of its own; null: there is one device.
  // On platform gpu those devices may share one GPU.
  Communicator* communicator = nullptr;
  int64_t max_loop_iterations = 0;  // of one `while`; 0: no limit
  // Called with every value of the entry computation as it is computed. Platforms that do not keep
  // values apart refuse it.
  std::function<void(const Instruction& instruction, const Literal& value)> trace;
};

// What runs of an executable change, of one run at a time. Runs follow each other: random numbers
// go on where the last run ended, and what was packed of constants stays packed.
class ExecutionState {
 public:
  virtual ~ExecutionState() = default;
  ExecutionState() = default;
  ExecutionState(const ExecutionState&) = delete;
  ExecutionState& operator=(const ExecutionState&) = delete;

  // Runs the entry computation. The arguments must have the shapes of its parameters, layouts
  // aside; they take the place of those of Prepare.
  virtual absl::StatusOr<Literal> Execute(absl::Span<const Literal> arguments,
                                          const RunOptions& options);

  // The steps of Execute, for repeated runs with the same arguments. Takes them in:
  virtual absl::Status Prepare(absl::Span<const Literal> arguments, const RunOptions& options) = 0;
  // Puts back arguments that the last run has overwritten (input_output_alias); Run does it when
  // nobody else has. Called off the clock by benchmarks.
  virtual absl::Status Renew() { return absl::OkStatus(); }
  // Runs once. Every call after Prepare starts from the arguments given to it.
  virtual absl::Status Run() = 0;
  // Runs as often, one after the other, and waits once: what a device that works beside the host
  // can do in a time. False where there is no such device, or runs overwrite their arguments.
  virtual absl::StatusOr<bool> RunMany(int64_t /*runs*/) { return false; }
  // The result of the last Run.
  virtual absl::StatusOr<Literal> Result() = 0;
};

class Executable {
 public:
  virtual ~Executable() = default;
  Executable() = default;
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  // A state for runs of this executable, which must outlive it.
  virtual absl::StatusOr<std::unique_ptr<ExecutionState>> MakeState() const = 0;
  // Runs in a state of its own.
  absl::StatusOr<Literal> Run(absl::Span<const Literal> arguments, const RunOptions& options) const;
  // A state with arguments in it.
  absl::StatusOr<std::unique_ptr<ExecutionState>> Prepare(absl::Span<const Literal> arguments,
                                                          const RunOptions& options) const;
  // The module as it is executed, after the passes.
  virtual const Module& module() const = 0;
  virtual const CompileStats& stats() const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  // The name on the command line: "interpreter".
  virtual std::string_view name() const = 0;
  // Opens the device, which belongs to no compilation; Compile does it, too.
  virtual absl::Status Open() { return absl::OkStatus(); }
  // The processor that machine code is for which a CodeStore of `options` takes. Empty: this
  // platform keeps no code.
  virtual absl::StatusOr<std::string> CodeTarget(const CompileOptions& /*options*/) const {
    return std::string();
  }
  // Makes the module runnable. What the platform cannot compute is refused here, with its place.
  virtual absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<Module> module,
                                                              const CompileOptions& options) = 0;
};

// Refuses arguments whose number, shapes or contents do not fit the entry computation.
absl::Status CheckArguments(const Computation& entry, absl::Span<const Literal> arguments);

// ---- definitions ----

inline absl::StatusOr<Literal> ExecutionState::Execute(absl::Span<const Literal> arguments,
                                                       const RunOptions& options) {
  RETURN_IF_ERROR(Prepare(arguments, options));
  RETURN_IF_ERROR(Run());
  return Result();
}

inline absl::StatusOr<Literal> Executable::Run(absl::Span<const Literal> arguments,
                                               const RunOptions& options) const {
  ASSIGN_OR_RETURN(const std::unique_ptr<ExecutionState> state, MakeState());
  return state->Execute(arguments, options);
}

inline absl::StatusOr<std::unique_ptr<ExecutionState>> Executable::Prepare(
    absl::Span<const Literal> arguments, const RunOptions& options) const {
  ASSIGN_OR_RETURN(std::unique_ptr<ExecutionState> state, MakeState());
  RETURN_IF_ERROR(state->Prepare(arguments, options));
  return state;
}

inline absl::Status CheckArguments(const Computation& entry, absl::Span<const Literal> arguments) {
  if (static_cast<int>(arguments.size()) != entry.parameter_count()) {
    return Error("`{}` takes {} arguments, got {}", entry.name(), entry.parameter_count(),
                 arguments.size());
  }
  for (int i = 0; i < entry.parameter_count(); ++i) {
    const Instruction& parameter = *entry.parameter(i);
    const Literal& argument = arguments[static_cast<size_t>(i)];
    if (!CompatibleIgnoringDynamic(argument.shape(), parameter.shape())) {
      return Error("argument {} has shape `{}`, but parameter `{}` is `{}`", i, argument.shape(),
                   parameter.name(), parameter.shape());
    }
  }
  return absl::OkStatus();
}

}  // namespace hlo
