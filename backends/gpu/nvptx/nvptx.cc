#include "backends/gpu/nvptx/nvptx.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/Linker/Linker.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <charconv>
#include <mutex>

#include "absl/strings/ascii.h"
#include "backends/gpu/nvptx/early_loads.h"
#include "backends/gpu/nvptx/remainder.h"
#include "backends/gpu/nvptx/shared_memory.h"
#include "backends/llvm/kernel_texts.h"
#include "backends/llvm/pass_times.h"
#include "lib/support/status.h"
#include "lib/support/stopwatch.h"

namespace hlo::gpu {
namespace {

constexpr char kTriple[] = "nvptx64-nvidia-cuda";

// The emitters write what they want; this takes out what they repeat. Loops are not rotated, peeled
// or vectorised: LLVM's usual list makes some kernels longer.
constexpr char kPasses[] =
    "cgscc(inline),function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(licm),gvn,dse,adce,simplifycfg)";

const llvm::Target* FindNvptx() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string problem;
  return llvm::TargetRegistry::lookupTarget(kTriple, problem);
}

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeNvptxMachine(std::string_view target) {
  const llvm::Target* const nvptx = FindNvptx();
  RET_CHECK(nvptx != nullptr, "this LLVM has no NVPTX target");
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // fma only where the IR says so
  std::unique_ptr<llvm::TargetMachine> machine(nvptx->createTargetMachine(
      kTriple, llvm::StringRef(target.data(), target.size()), "+ptx85", options, std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  RET_CHECK(machine != nullptr, "LLVM cannot make a machine for `{}`", target);
  return machine;
}

absl::StatusOr<std::unique_ptr<llvm::Module>> ReadKernel(const UniqueKernel& kernel,
                                                         llvm::LLVMContext& context) {
  const llvm::MemoryBufferRef buffer(llvm::StringRef(kernel.bitcode.data(), kernel.bitcode.size()),
                                     "kernel");
  auto parsed = llvm::parseBitcodeFile(buffer, context);
  if (!parsed) return Internal("cannot read bitcode: {}", llvm::toString(parsed.takeError()));
  llvm::Function* const function = (*parsed)->getFunction(kKernelName);
  RET_CHECK(function != nullptr, "the kernel of `{}` has no function", kernel.name);
  function->setName(kernel.symbol);
  for (llvm::GlobalVariable& global : (*parsed)->globals()) {
    // PTX allows no dots in names.
    std::string name = global.getName().str();
    for (char& c : name) c = c == '.' ? '_' : c;
    global.setName(name);
  }
  return std::move(*parsed);
}

constexpr std::string_view kWait = "griddepcontrol.wait;";

// Lets the kernel launched next be made ready from now on, and waits until all before this one are
// done and what they wrote can be read. Without either, a kernel is launched when its predecessor
// has ended: about a microsecond later. LLVM 19 has no intrinsics for them.
void WaitAtEntry(llvm::Function& kernel) {
  llvm::IRBuilder<> b(&*kernel.getEntryBlock().getFirstInsertionPt());
  auto* const type = llvm::FunctionType::get(b.getVoidTy(), /*isVarArg=*/false);
  const std::string text = fmt::format("griddepcontrol.launch_dependents;\n\t{}", kWait);
  b.CreateCall(llvm::InlineAsm::get(type, text, "~{memory}", /*hasSideEffects=*/true));
}

// Of "sm_90a": 90.
int CapabilityOf(std::string_view target) {
  int capability = 0;
  std::from_chars(target.data() + std::string_view("sm_").size(), target.data() + target.size(),
                  capability);
  return capability;
}

void RunPasses(llvm::Module& module, llvm::TargetMachine& machine) {
  // Passes may run others: each has its own time in the times of those around it.
  llvm::PassInstrumentationCallbacks callbacks;
  std::vector<Stopwatch> running;
  if (MeasuresLlvmPasses()) {
    callbacks.registerBeforeNonSkippedPassCallback(
        [&](llvm::StringRef, llvm::Any) { running.emplace_back(); });
    const auto ends = [&](llvm::StringRef pass) {
      if (!pass.contains("Adaptor") && !pass.contains("PassManager"))
        AddLlvmPassTime(std::string_view(pass), running.back().milliseconds());
      running.pop_back();
    };
    callbacks.registerAfterPassCallback(
        [=](llvm::StringRef pass, llvm::Any, const llvm::PreservedAnalyses&) { ends(pass); });
    callbacks.registerAfterPassInvalidatedCallback(
        [=](llvm::StringRef pass, const llvm::PreservedAnalyses&) { ends(pass); });
  }
  llvm::PassBuilder builder(&machine, llvm::PipelineTuningOptions(), std::nullopt, &callbacks);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(passes, kPasses));
  passes.run(module, modules);
}

}  // namespace

absl::Status CheckTarget(std::string_view target) {
  const llvm::Target* const nvptx = FindNvptx();
  RET_CHECK(nvptx != nullptr, "this LLVM has no NVPTX target");
  const std::unique_ptr<llvm::MCSubtargetInfo> known(
      nvptx->createMCSubtargetInfo(kTriple, "sm_90", ""));
  const llvm::StringRef name(target.data(), target.size());
  if (target.starts_with("sm_") && known->isCPUStringValid(name)) {
    // Products take the tensor cores of Ampere, and copies around the registers.
    constexpr int kAmpere = 80;
    if (CapabilityOf(target) >= kAmpere) return absl::OkStatus();
    return Error("target `{}` is older than sm_80, the first that this compiler makes code for",
                 target);
  }
  return Error("unknown target `{}`; this compiler knows sm_80, sm_86, sm_89, sm_90 and sm_90a",
               target);
}

absl::StatusOr<KernelEntry> EntryOf(const UniqueKernel& kernel) {
  llvm::LLVMContext context;
  ASSIGN_OR_RETURN(const std::unique_ptr<llvm::Module> module, ReadKernel(kernel, context));
  return KernelEntry{kernel.symbol, LaunchSharedBytes(*module)};
}

absl::StatusOr<Ptx> CompileToPtx(absl::Span<const UniqueKernel> kernels,
                                 const PtxOptions& options) {
  constexpr int kHopper = 90;
  RETURN_IF_ERROR(CheckTarget(options.target));
  ASSIGN_OR_RETURN(const std::unique_ptr<llvm::TargetMachine> machine,
                   MakeNvptxMachine(options.target));
  Ptx ptx;
  llvm::LLVMContext context;
  llvm::Module all("kernels", context);
  all.setTargetTriple(kTriple);
  all.setDataLayout(machine->createDataLayout());
  llvm::Linker linker(all);
  for (const UniqueKernel& kernel : kernels) {
    ASSIGN_OR_RETURN(std::unique_ptr<llvm::Module> one, ReadKernel(kernel, context));
    one->setDataLayout(machine->createDataLayout());
    ptx.kernels.push_back({kernel.symbol, LaunchSharedBytes(*one)});
    MoveSharedToLaunch(*one);
    if (options.overlap && CapabilityOf(options.target) >= kHopper)
      WaitAtEntry(*one->getFunction(ptx.kernels.back().name));
    RET_CHECK(!linker.linkInModule(std::move(one)), "kernel of `{}` does not link", kernel.name);
  }
  LowerRemainders(all);
  MarkInvariantLoads(all);
  RunPasses(all, *machine);
  AlignLoads(all);
  MoveLoadsEarly(all);
  llvm::SmallString<16384> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  RET_CHECK(
      !machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile),
      "the code generator writes no PTX");
  passes.run(all);
  ptx.text.assign(text.data(), text.size());
  return ptx;
}

bool WaitForEarlier(std::string_view ptx) {
  const auto count = [ptx](std::string_view word) {
    int n = 0;
    for (size_t at = ptx.find(word); at != std::string_view::npos; at = ptx.find(word, at + 1)) ++n;
    return n;
  };
  return count(kWait) == count(".entry ");
}

absl::StatusOr<std::string> KernelAsText(const UniqueKernel& kernel) {
  llvm::LLVMContext context;
  ASSIGN_OR_RETURN(const std::unique_ptr<llvm::Module> module, ReadKernel(kernel, context));
  module->setModuleIdentifier(kernel.symbol);
  module->setSourceFileName(kernel.symbol);
  std::string text = fmt::format("; {}\n", kernel.name);
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return stream.str();
}

absl::Status ReplaceKernels(const StageText& edited, std::vector<UniqueKernel>& kernels) {
  ASSIGN_OR_RETURN(const KernelTexts texts, KernelTexts::Read(edited.file, edited.text));
  std::vector<std::string> names;
  for (size_t i = 0; i < kernels.size(); ++i) names.push_back(kernels[i].symbol);
  RETURN_IF_ERROR(texts.CheckNames(names));
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (!texts.Has(names[i])) continue;
    llvm::LLVMContext context;
    ASSIGN_OR_RETURN(const auto original, ReadKernel(kernels[i], context));
    ASSIGN_OR_RETURN(const auto module, texts.Parse(names[i], *original->getFunction(names[i])));
    module->getFunction(names[i])->setName(kKernelName);
    kernels[i].bitcode.clear();
    llvm::raw_string_ostream stream(kernels[i].bitcode);
    llvm::WriteBitcodeToFile(*module, stream);
  }
  return absl::OkStatus();
}

}  // namespace hlo::gpu
