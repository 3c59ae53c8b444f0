#include "backends/cpu/kernel_compiler.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "backends/common/code_store.h"
#include "backends/cpu/tile/watch.h"
#include "backends/llvm/kernel_texts.h"
#include "lib/ir/printer.h"
#include "lib/ir/source_line.h"
#include "lib/support/hash.h"
#include "lib/support/status.h"
#include "lib/support/stopwatch.h"
#include "lib/support/thread_pool.h"

namespace hlo::cpu {
namespace {

// Functions of one batch are one LLVM module: a module costs as much as a small kernel. A few more
// than threads, so that these end at about the same time.
constexpr int kBatchesPerThread = 2;

struct Batches {
  std::vector<std::vector<int>> members;
  std::vector<size_t> batch_of;  // by member
};

// Sources of these sizes in at most `most` batches of about the same size, the largest first.
Batches BatchesOf(const std::vector<size_t>& sizes, size_t most) {
  std::vector<int> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&sizes](int a, int b) {
    return sizes[static_cast<size_t>(a)] > sizes[static_cast<size_t>(b)];
  });
  Batches batches;
  batches.members.resize(std::min(most, sizes.size()));
  batches.batch_of.resize(sizes.size());
  std::vector<size_t> filled(batches.members.size(), 0);
  for (const int i : order) {
    const auto least =
        static_cast<size_t>(std::min_element(filled.begin(), filled.end()) - filled.begin());
    filled[least] += sizes[static_cast<size_t>(i)];
    batches.members[least].push_back(i);
    batches.batch_of[static_cast<size_t>(i)] = least;
  }
  return batches;
}

class LlvmKernelCompiler final : public KernelCompiler {
 public:
  LlvmKernelCompiler(std::unique_ptr<Jit> jit, KernelTexts edited, IsaLevel level, ThreadPool& pool,
                     const CompileOptions& options)
      : jit_(std::move(jit)),
        edited_(std::move(edited)),
        emit_{.has_f16c = level >= IsaLevel::kAvx2,
              .has_gathers = level >= IsaLevel::kAvx512,
              .checked = {}},
        pool_(pool),
        options_(options) {}

  // What is checked is checked kernel by kernel.
  bool TakesLoops() const override { return options_.cpu.checks == CpuChecks::kNone; }

  absl::StatusOr<KernelFunctions> Compile(absl::Span<const LoopSource> loops,
                                          absl::Span<const KernelSource> kernels) override {
    std::vector<const KernelSource*> unique;
    std::vector<size_t> numbers;  // in `unique`, by kernel
    absl::flat_hash_map<std::string, size_t> by_key;
    for (const KernelSource& kernel : kernels) {
      const auto [it, is_new] = by_key.try_emplace(KeyOf(*kernel.plan), unique.size());
      numbers.push_back(it->second);
      if (is_new) unique.push_back(&kernel);
    }
    if (options_.code_store != nullptr && options_.code_store->is_closed())
      return FromStore(loops, unique, numbers);
    SetSymbols(loops, unique);
    RETURN_IF_ERROR(edited_.CheckNames(symbols_));
    const auto emit_into = [&](size_t n, llvm::Module& module) -> absl::StatusOr<llvm::Function*> {
      tile::EmitOptions emit = emit_;
      if (n >= loops.size()) emit.checked = unique[n - loops.size()]->checked;
      return n < loops.size() ? tile::EmitProgram(loops[n].program, SymbolOf(n), emit, module)
                              : tile::EmitLlvm(unique[n - loops.size()]->plan->kernel, SymbolOf(n),
                                               emit, module);
    };
    const auto build = [&](int i, llvm::Module& module) -> absl::Status {
      const auto n = static_cast<size_t>(i);
      if (edited_.Has(SymbolOf(n))) return PutEdited(n, emit_into, module);
      ASSIGN_OR_RETURN(llvm::Function* const function, emit_into(n, module));
      jit_->SetUpFunction(*function);
      return absl::OkStatus();
    };
    const auto count = static_cast<int>(loops.size() + unique.size());
    for (int i = 0; i < count; ++i) {
      const auto n = static_cast<size_t>(i);
      const Instruction* const source =
          n < loops.size() ? loops[n].loop : unique[n - loops.size()]->instruction;
      RETURN_IF_ERROR(ShowCode(i, *source, build));
    }
    std::vector<size_t> sizes;
    for (const LoopSource& loop : loops)
      sizes.push_back(static_cast<size_t>(loop.program.node_count()));
    for (const KernelSource* kernel : unique) sizes.push_back(kernel->plan->kernel.nodes.size());
    const Batches batches = BatchesOf(sizes, static_cast<size_t>(kBatchesPerThread * pool_.size()));
    const auto build_batch = [&](int batch, llvm::Module& module) -> absl::Status {
      for (const int i : batches.members[static_cast<size_t>(batch)])
        RETURN_IF_ERROR(build(i, module));
      return absl::OkStatus();
    };
    std::function<void(int, std::string)> take;
    if (options_.code_store != nullptr) {
      take = [&](int batch, std::string object) {
        CodeStore::Object stored{{}, std::move(object)};
        for (const int i : batches.members[static_cast<size_t>(batch)]) {
          const auto n = static_cast<size_t>(i);
          stored.functions.push_back({StoreKeyOf(loops, unique, n), SymbolOf(n)});
        }
        options_.code_store->Add(std::move(stored));
      };
    }
    ASSIGN_OR_RETURN(
        CompiledCodes compiled,
        jit_->CompileAll(pool_, static_cast<int>(batches.members.size()), build_batch, take));
    KernelFunctions functions;
    functions.codes = std::move(compiled.codes);
    functions.llvm_ms = compiled.compile_ms;
    functions.link_ms = compiled.link_ms;
    const auto code_of = [&](size_t n) -> const CompiledCode& {
      return *functions.codes[batches.batch_of[n]];
    };
    for (size_t n = 0; n < loops.size(); ++n) {
      ASSIGN_OR_RETURN(auto* const function,
                       FunctionOf<tile::ProgramFunction>(code_of(n), SymbolOf(n)));
      functions.loops.push_back(function);
    }
    for (const size_t number : numbers) {
      const size_t n = loops.size() + number;
      ASSIGN_OR_RETURN(auto* const function,
                       FunctionOf<tile::KernelFunction>(code_of(n), SymbolOf(n)));
      functions.kernels.push_back(function);
    }
    return functions;
  }

 private:
  // What somebody made of the text of code `n`; `emit_into` gives the function that it stands for.
  absl::Status PutEdited(
      size_t n,
      const std::function<absl::StatusOr<llvm::Function*>(size_t, llvm::Module&)>& emit_into,
      llvm::Module& module) const {
    const auto original = jit_->NewModule(module.getContext(), SymbolOf(n));
    ASSIGN_OR_RETURN(const llvm::Function* const function, emit_into(n, *original));
    ASSIGN_OR_RETURN(auto edited, edited_.Parse(SymbolOf(n), *function));
    RET_CHECK(!llvm::Linker::linkModules(module, std::move(edited)),
              "the text of `{}` does not link", SymbolOf(n));
    return absl::OkStatus();
  }

  // Code that another process made of the same kernels.
  absl::StatusOr<KernelFunctions> FromStore(absl::Span<const LoopSource> loops,
                                            absl::Span<const KernelSource* const> unique,
                                            absl::Span<const size_t> numbers) const {
    const Stopwatch link;
    const CodeStore& store = *options_.code_store;
    KernelFunctions functions;
    for (const CodeStore::Object& object : store.objects()) {
      ASSIGN_OR_RETURN(std::unique_ptr<CompiledCode> code, jit_->Link(object.bytes));
      functions.codes.push_back(std::move(code));
    }
    std::vector<const CodeStore::Place*> places;
    for (size_t n = 0; n < loops.size() + unique.size(); ++n) {
      places.push_back(store.Find(StoreKeyOf(loops, unique, n)));
      if (places.back() != nullptr) continue;
      return Error(
          "there is no code of `{}` in it: it is not what this version makes of the module",
          (n < loops.size() ? loops[n].loop : unique[n - loops.size()]->instruction)->name());
    }
    for (size_t n = 0; n < loops.size(); ++n) {
      ASSIGN_OR_RETURN(auto* const function,
                       FunctionOf<tile::ProgramFunction>(*functions.codes[places[n]->object],
                                                         *places[n]->symbol));
      functions.loops.push_back(function);
    }
    for (const size_t number : numbers) {
      const CodeStore::Place& place = *places[loops.size() + number];
      ASSIGN_OR_RETURN(auto* const function, FunctionOf<tile::KernelFunction>(
                                                 *functions.codes[place.object], *place.symbol));
      functions.kernels.push_back(function);
    }
    functions.link_ms = link.milliseconds();
    return functions;
  }

  // Of loop or kernel number `n`.
  uint64_t StoreKeyOf(absl::Span<const LoopSource> loops,
                      absl::Span<const KernelSource* const> unique, size_t n) const {
    return HashBytes(n < loops.size() ? loops[n].program.Key()
                                      : KeyOf(*unique[n - loops.size()]->plan));
  }

  // Code is named after what it computes: profilers and debuggers show it. The prefix keeps an
  // instruction `exp` apart from the function that code may call.
  void SetSymbols(absl::Span<const LoopSource> loops,
                  absl::Span<const KernelSource* const> kernels) {
    symbols_.clear();
    absl::flat_hash_set<std::string> taken;
    const auto add = [&](const Instruction& instruction) {
      std::string symbol = fmt::format("kernel.{}", instruction.name());
      if (!taken.insert(symbol).second) symbol += fmt::format(".k{}", symbols_.size());
      symbols_.push_back(std::move(symbol));
    };
    for (const LoopSource& loop : loops) add(*loop.loop);
    for (const KernelSource* kernel : kernels) add(*kernel->instruction);
  }
  const std::string& SymbolOf(size_t number) const { return symbols_[number]; }

  // What a text of code begins with: the name alone in the first line, then the operation, what is
  // fused in it, and the lines of the program, as comments.
  static std::string Comment(const Instruction& instruction, std::string_view mark) {
    std::string text = fmt::format("{} {}\n", mark, instruction.name());
    const auto add = [&](const Instruction& one, std::string_view indent) {
      const std::string source = SourceLineOf(one);
      PrintOptions print = PrintOptions::Default();
      print.metadata = print.backend_config = false;
      text += fmt::format("{} {}{}{}{}\n", mark, indent, ToText(one, print),
                          source.empty() ? "" : "  ", source);
    };
    add(instruction, "");
    if (!instruction.IsFusion()) return text;
    for (const Instruction* fused : instruction.call(0)->PostOrder()) {
      if (fused->opcode() != Opcode::kParameter) add(*fused, "  ");
    }
    return text;
  }

  template <class Function>
  static absl::StatusOr<Function*> FunctionOf(const CompiledCode& code, const std::string& symbol) {
    Function* const function = code.Function<Function>(symbol);
    RET_CHECK(function != nullptr, "`{}` is missing in its object", symbol);
    return function;
  }

  // What is proved of a kernel depends on the sizes of its buffers and the number of
  // its tasks, too.
  std::string KeyOf(const KernelPlan& plan) const {
    std::string key = plan.kernel.Key();
    if (options_.cpu.checks == CpuChecks::kNone) return key;
    for (const tile::Buffer& buffer : plan.kernel.buffers)
      key += fmt::format(" {}", buffer.elements);
    return key + fmt::format(" {}", plan.task_count);
  }

  // `--emit=llvm|asm`: code `number` as text, in the form that is compiled.
  absl::Status ShowCode(int number, const Instruction& source,
                        const std::function<absl::Status(int, llvm::Module&)>& build) const {
    if (!options_.Wants(EmitStage::kLlvm) && !options_.Wants(EmitStage::kAsm))
      return absl::OkStatus();
    llvm::LLVMContext context;
    const std::unique_ptr<llvm::Module> module =
        jit_->NewModule(context, SymbolOf(static_cast<size_t>(number)));
    RETURN_IF_ERROR(build(number, *module));
    if (options_.Wants(EmitStage::kLlvm))
      options_.emit_sink(EmitStage::kLlvm, Comment(source, ";") + Jit::ToText(*module));
    if (!options_.Wants(EmitStage::kAsm)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string text, jit_->EmitAssembly(*module));
    options_.emit_sink(EmitStage::kAsm, Comment(source, "#") + text);
    return absl::OkStatus();
  }

  std::unique_ptr<Jit> jit_;
  KernelTexts edited_;
  tile::EmitOptions emit_;  // for all kernels
  ThreadPool& pool_;
  const CompileOptions& options_;
  std::vector<std::string> symbols_;  // by number
};

class EvaluatedKernels final : public KernelCompiler {
 public:
  bool TakesLoops() const override { return false; }
  absl::StatusOr<KernelFunctions> Compile(absl::Span<const LoopSource> /*loops*/,
                                          absl::Span<const KernelSource> kernels) override {
    KernelFunctions functions;
    functions.kernels.resize(kernels.size(), nullptr);
    return functions;
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<KernelCompiler>> MakeLlvmKernelCompiler(
    const Host& host, ThreadPool& pool, const CompileOptions& options) {
  JitOptions settings;
  settings.cpu = host.llvm_cpu();
  settings.features = host.llvm_features();
  settings.vector_bits = host.vector_bytes() * 8;
  settings.links_only = options.code_store != nullptr && options.code_store->is_closed();
  ASSIGN_OR_RETURN(std::unique_ptr<Jit> jit, Jit::Create(std::move(settings)));
  // What checked code calls.
  jit->DefineSymbol(tile::kAllowsSymbol, reinterpret_cast<void*>(&tile::WatchAllows));
  jit->DefineSymbol(tile::kAllowsLaneSymbol, reinterpret_cast<void*>(&tile::WatchAllowsLane));
  KernelTexts edited;
  if (options.start) {
    ASSIGN_OR_RETURN(edited, KernelTexts::Read(options.start->file, options.start->text));
  }
  return std::unique_ptr<KernelCompiler>(std::make_unique<LlvmKernelCompiler>(
      std::move(jit), std::move(edited), host.level, pool, options));
}

std::unique_ptr<KernelCompiler> MakeEvaluatedKernels() {
  return std::make_unique<EvaluatedKernels>();
}

}  // namespace hlo::cpu
