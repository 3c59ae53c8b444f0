// See jit.h.
//
// Settings that trade nothing measurable in the generated code for time: loop strength reduction
// off (addresses come strength-reduced from the emitter), the machine scheduler off, no verifier
// between machine passes, object code straight from the pass manager. Target machines with their
// passes are kept for the next module, of any Jit for the same processor.
#include "backends/llvm/jit.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Pass.h>
#include <llvm/PassInfo.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "backends/llvm/jit_link.h"
#include "backends/llvm/rare_code.h"
#include "lib/support/status.h"
#include "lib/support/stopwatch.h"
#include "lib/support/thread_pool.h"

namespace hlo {
namespace {

// Registers the target, once per process.
void InitializeLlvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
  });
}

// Passes of the code generator that are left out, by the names that LLVM's options use. Addresses
// come strength-reduced from the emitter and code in the order it wants; what the others do pays
// for code that was not written with the loop in mind: together 10-15 % of the time, and no
// difference in the kernels measured.
constexpr std::string_view kLeftOut[] = {
    "canon-freeze",      "loop-reduce",  // loop strength reduction
    "machine-scheduler", "machine-cse",           "machine-sink",
    "consthoist",        "early-tailduplication", "tailduplication",
    "early-ifcvt",       "stack-slot-coloring",   "mergeicmps",
};

// LLVM's own switches for these are of the whole process, and of all its targets.
class LeanPassManager final : public llvm::legacy::PassManager {
 public:
  void add(llvm::Pass* pass) override {
    const llvm::PassInfo* const info = llvm::Pass::lookupPassInfo(pass->getPassID());
    const llvm::StringRef name = info == nullptr ? llvm::StringRef() : info->getPassArgument();
    if (std::find(std::begin(kLeftOut), std::end(kLeftOut), std::string_view(name)) ==
        std::end(kLeftOut)) {
      llvm::legacy::PassManager::add(pass);
    } else {
      delete pass;  // whoever adds a pass gives it away
    }
  }
};

llvm::CodeGenOptLevel ToLlvm(CodegenLevel level) {
  switch (level) {
    case CodegenLevel::kNone: return llvm::CodeGenOptLevel::None;
    case CodegenLevel::kLess: return llvm::CodeGenOptLevel::Less;
    case CodegenLevel::kDefault: return llvm::CodeGenOptLevel::Default;
    case CodegenLevel::kAggressive: return llvm::CodeGenOptLevel::Aggressive;
  }
  return llvm::CodeGenOptLevel::Default;
}

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeTarget(const JitOptions& options) {
  const std::string triple = llvm::sys::getProcessTriple();
  std::string problem;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (target == nullptr) return Internal("LLVM has no target `{}`: {}", triple, problem);
  llvm::TargetOptions settings;
  settings.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // fma only where the IR says so
  settings.MCOptions.AsmVerbose = false;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, options.cpu, options.features, settings, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      ToLlvm(options.level), /*JIT=*/true));
  if (machine == nullptr) return Internal("LLVM cannot make a machine for `{}`", options.cpu);
  return machine;
}

// Collects the errors that LLVM reports through a context while it generates code.
class ErrorCollector final : public llvm::DiagnosticHandler {
 public:
  explicit ErrorCollector(std::string* errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(*errors_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    stream << "; ";
    return true;
  }

 private:
  std::string* errors_;
};

// A target machine, and the passes of its code generator, which can run on one module after the
// other: putting them together takes longer than they run on a small kernel.
class Machine final {
 public:
  static absl::StatusOr<std::unique_ptr<Machine>> Create(const JitOptions& options) {
    ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> target, MakeTarget(options));
    auto machine = std::make_unique<Machine>(std::move(target));
    RET_CHECK(!machine->target_->addPassesToEmitFile(
                  machine->object_passes_, machine->object_stream_, nullptr,
                  llvm::CodeGenFileType::ObjectFile, /*DisableVerify=*/true),
              "the target cannot emit object files");
    return machine;
  }
  explicit Machine(std::unique_ptr<llvm::TargetMachine> target) : target_(std::move(target)) {}

  const llvm::TargetMachine& target() const { return *target_; }

  absl::StatusOr<std::string> EmitObject(llvm::Module& module) {
    object_.clear();
    RETURN_IF_ERROR(Run(object_passes_, module));
    return std::string(object_.data(), object_.size());
  }

  absl::StatusOr<std::string> EmitAssembly(llvm::Module& module) {
    llvm::SmallString<4096> text;
    llvm::raw_svector_ostream stream(text);
    LeanPassManager passes;
    RET_CHECK(
        !target_->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                      /*DisableVerify=*/true),
        "the target cannot emit assembly");
    RETURN_IF_ERROR(Run(passes, module));
    return std::string(text.data(), text.size());
  }

 private:
  static absl::Status Run(LeanPassManager& passes, llvm::Module& module) {
    std::string errors;
    llvm::LLVMContext& context = module.getContext();
    std::unique_ptr<llvm::DiagnosticHandler> saved = context.getDiagnosticHandler();
    context.setDiagnosticHandler(std::make_unique<ErrorCollector>(&errors));
    passes.run(module);
    context.setDiagnosticHandler(std::move(saved));
    RET_CHECK(errors.empty(), "code generation failed: {}", errors);
    return absl::OkStatus();
  }

  std::unique_ptr<llvm::TargetMachine> target_;
  llvm::SmallString<4096> object_;
  llvm::raw_svector_ostream object_stream_{object_};
  LeanPassManager object_passes_;  // write to the stream
};

// The machines of this process for one kind of processor that nobody uses at the moment.
class Machines final {
 public:
  static Machines& For(const JitOptions& options) {
    static std::mutex mutex;
    static auto& all = *new std::map<std::string, Machines>;
    std::lock_guard<std::mutex> lock(mutex);
    return all[KeyOf(options)];
  }

  absl::StatusOr<std::unique_ptr<Machine>> Take(const JitOptions& options) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Machine> machine = std::move(idle_.back());
        idle_.pop_back();
        return machine;
      }
    }
    return Machine::Create(options);
  }

  void GiveBack(std::unique_ptr<Machine> machine) {
    std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(machine));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Machine>> idle_;
};

}  // namespace

std::string KeyOf(const JitOptions& options) {
  return fmt::format("{} {} {} {}", options.cpu, options.features, options.vector_bits,
                     static_cast<int>(options.level));
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"  // of one file, also in a unit of several
struct Jit::State {
  explicit State(Machines& all) : machines(all) {}

  Machines& machines;
  std::string data_layout;
  std::string triple;
  JitSymbols symbols;
  std::shared_ptr<llvm::jitlink::JITLinkMemoryManager> memory;
};
#pragma GCC diagnostic pop

absl::StatusOr<std::unique_ptr<Jit>> Jit::Create(JitOptions options) {
  auto state = std::make_unique<State>(Machines::For(options));
  if (!options.links_only) {
    InitializeLlvm();
    ASSIGN_OR_RETURN(std::unique_ptr<Machine> machine, state->machines.Take(options));
    state->data_layout = machine->target().createDataLayout().getStringRepresentation();
    state->triple = machine->target().getTargetTriple().str();
    state->machines.GiveBack(std::move(machine));
  }
  auto memory = llvm::jitlink::InProcessMemoryManager::Create();
  if (!memory) return Internal("no memory manager: {}", llvm::toString(memory.takeError()));
  state->memory = std::move(*memory);
  std::unique_ptr<Jit> jit(new Jit(std::move(options), std::move(state)));
  DefineRareSymbols(jit->options_, [&jit](std::string_view name, void* address) {
    jit->DefineSymbol(name, address);
  });
  return jit;
}

Jit::Jit(JitOptions options, std::unique_ptr<State> state)
    : options_(std::move(options)), state_(std::move(state)) {}

Jit::~Jit() = default;

void Jit::DefineSymbol(std::string_view name, void* address) {
  state_->symbols[std::string(name)] = address;
}

std::unique_ptr<llvm::Module> Jit::NewModule(llvm::LLVMContext& context,
                                             std::string_view name) const {
  auto module = std::make_unique<llvm::Module>(llvm::StringRef(name.data(), name.size()), context);
  module->setDataLayout(state_->data_layout);
  module->setTargetTriple(state_->triple);
  return module;
}

void Jit::SetUpFunction(llvm::Function& function) const {
  const std::string bits = std::to_string(options_.vector_bits);
  const auto set_up = [&](llvm::Function& one) {
    one.addFnAttr("prefer-vector-width", bits);
    // Without this, the type legaliser splits 512-bit values even if the processor has them.
    one.addFnAttr("min-legal-vector-width", bits);
    one.addFnAttr(llvm::Attribute::NoUnwind);
  };
  set_up(function);
  for (llvm::Function& part : *function.getParent()) {
    if (!part.hasInternalLinkage()) continue;
    set_up(part);
    if (part.getCallingConv() != llvm::CallingConv::Intel_OCL_BI) continue;
    // What keeps its caller's vectors must not end with vzeroupper: LLVM puts it after they are
    // restored, and half of each is lost.
    part.addFnAttr("target-features",
                   options_.features.empty() ? "-vzeroupper" : options_.features + ",-vzeroupper");
    // LLVM's list of what such functions keep with AVX-512 lacks rbp, in which callers with
    // aligned variables have their frame.
    part.addFnAttr("frame-pointer", "all");
  }
}

absl::Status Jit::Check(const llvm::Module& module) const {
  if (!options_.verify) return absl::OkStatus();
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  RET_CHECK(!llvm::verifyModule(module, &stream), "the emitter wrote wrong LLVM IR: {}",
            stream.str());
  return absl::OkStatus();
}

absl::StatusOr<std::string> Jit::EmitObject(llvm::Module& module) const {
  RETURN_IF_ERROR(Check(module));
  ASSIGN_OR_RETURN(std::unique_ptr<Machine> machine, state_->machines.Take(options_));
  ASSIGN_OR_RETURN(std::string object, machine->EmitObject(module));
  state_->machines.GiveBack(std::move(machine));  // unless something went wrong in it
  return object;
}

absl::StatusOr<std::unique_ptr<CompiledCode>> Jit::Link(std::string_view object) const {
  return LinkObject(object, state_->symbols, state_->memory);
}

absl::StatusOr<std::unique_ptr<CompiledCode>> Jit::Compile(llvm::Module& module) const {
  ASSIGN_OR_RETURN(const std::string object, EmitObject(module));
  return Link(object);
}

absl::StatusOr<CompiledCodes> Jit::CompileAll(
    ThreadPool& pool, int count, const std::function<absl::Status(int, llvm::Module&)>& build,
    const std::function<void(int, std::string)>& take) const {
  struct Part {
    absl::Status status;
    std::string object;
    std::unique_ptr<CompiledCode> code;
    double compile_ms = 0, link_ms = 0;
  };
  std::vector<Part> parts(static_cast<size_t>(count));
  const auto make = [&](int i, Part& part) -> absl::Status {
    const Stopwatch compile;
    {
      llvm::LLVMContext context;
      const std::unique_ptr<llvm::Module> module = NewModule(context, "kernel");
      RETURN_IF_ERROR(build(i, *module));
      ASSIGN_OR_RETURN(part.object, EmitObject(*module));
    }
    part.compile_ms = compile.milliseconds();
    const Stopwatch link;
    ASSIGN_OR_RETURN(part.code, Link(part.object));
    if (take == nullptr) part.object = std::string();
    part.link_ms = link.milliseconds();
    return absl::OkStatus();
  };
  const Stopwatch all;
  pool.ParallelForDynamic(count, [&](int64_t task, int) {
    Part& part = parts[static_cast<size_t>(task)];
    part.status = make(static_cast<int>(task), part);
  });
  CompiledCodes result;
  for (int i = 0; i < count; ++i) {
    Part& part = parts[static_cast<size_t>(i)];
    RETURN_IF_ERROR(part.status);
    if (take != nullptr) take(i, std::move(part.object));
    result.codes.push_back(std::move(part.code));
    result.compile_ms += part.compile_ms;
    result.link_ms += part.link_ms;
  }
  const double sum = result.compile_ms + result.link_ms;
  if (sum > 0) {
    const double share = all.milliseconds() / sum;
    result.compile_ms *= share;
    result.link_ms *= share;
  }
  return result;
}

absl::StatusOr<std::string> Jit::EmitAssembly(llvm::Module& module) const {
  RETURN_IF_ERROR(Check(module));
  ASSIGN_OR_RETURN(std::unique_ptr<Machine> machine, state_->machines.Take(options_));
  ASSIGN_OR_RETURN(std::string text, machine->EmitAssembly(module));
  state_->machines.GiveBack(std::move(machine));
  return text;
}

std::string Jit::ToText(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

}  // namespace hlo
