#include "backends/llvm/rare_code.h"

#include <llvm/IR/Module.h>

#include <atomic>
#include <map>
#include <mutex>

#include "backends/llvm/value.h"

namespace hlo {

// A function of lib/math on elements of one type, in all forms.
struct RareFunction {
  const char* name;
  bool is_f64;
  llvm::Value* (*emit)(llvm::IRBuilderBase& b, llvm::Value* x);
  void (*run)(void* values, int count);
};

namespace {

template <class T, class Function>
constexpr RareFunction FunctionOn() {
  return {Function::kName, sizeof(T) == 8,
          [](llvm::IRBuilderBase& b, llvm::Value* x) {
            return Function()(math::LlvmValue<T>{&b, x}).v;
          },
          [](void* values, int count) {
            T* const x = static_cast<T*>(values);
            for (int i = 0; i < count; ++i) x[i] = Function()(x[i]);
          }};
}

// All that SelectRare is called with.
constexpr RareFunction kFunctions[] = {
    FunctionOn<float, math::SinOfLarge<0>>(),  FunctionOn<float, math::SinOfLarge<1>>(),
    FunctionOn<double, math::SinOfLarge<0>>(), FunctionOn<double, math::SinOfLarge<1>>(),
    FunctionOn<double, math::TanOfLarge>(),
};

using RareCall = void(void* values, RareEntry* entry);

}  // namespace

struct alignas(kRareEntryBytes) RareEntry {
  std::atomic<RareCall*> call = nullptr;  // first: compiled code loads it
  std::atomic<int> calls = 0;
  int lanes = 1;
  const RareFunction* function = nullptr;
  const JitOptions* options = nullptr;
  std::unique_ptr<CompiledCode> code;  // of the thread that makes the call which is one too many
};

static_assert(sizeof(RareEntry) == kRareEntryBytes);

namespace {

// Writes `name`, a RareCall of the entry's function.
void EmitRareCall(const RareEntry& entry, std::string_view name, llvm::Module& module) {
  llvm::IRBuilder<> b(module.getContext());
  auto* const type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy()}, false);
  auto* const function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                                llvm::StringRef(name.data(), name.size()), module);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  llvm::Type* const scalar = entry.function->is_f64 ? b.getDoubleTy() : b.getFloatTy();
  llvm::Type* const values =
      entry.lanes == 1 ? scalar
                       : static_cast<llvm::Type*>(llvm::FixedVectorType::get(scalar, entry.lanes));
  llvm::Value* const place = function->getArg(0);
  constexpr llvm::Align kAlignment = llvm::Align::Constant<kRareAlignment>();
  llvm::Value* const x = b.CreateAlignedLoad(values, place, kAlignment);
  b.CreateAlignedStore(entry.function->emit(b, x), place, kAlignment);
  b.CreateRetVoid();
}

// Without success it stays as it was, slow.
void CompileEntry(RareEntry& entry) {
  constexpr std::string_view kName = "rare";
  absl::StatusOr<std::unique_ptr<Jit>> jit = Jit::Create(*entry.options);
  if (!jit.ok()) return;
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = (*jit)->NewModule(context, kName);
  EmitRareCall(entry, kName, *module);
  (*jit)->SetUpFunction(*module->getFunction(llvm::StringRef(kName.data(), kName.size())));
  absl::StatusOr<std::unique_ptr<CompiledCode>> code = (*jit)->Compile(*module);
  if (!code.ok()) return;
  entry.code = *std::move(code);
  entry.call.store(entry.code->Function<RareCall>(kName), std::memory_order_release);
}

void RunUncompiled(void* values, RareEntry* entry) {
  if (entry->calls.fetch_add(1) + 1 == kRareCallsBeforeCompilation) CompileEntry(*entry);
  entry->function->run(values, entry->lanes);
}

// The functions for one kind of processor; they stay as long as the process, as calls may.
struct RareTable {
  JitOptions options;
  RareEntry entries[std::size(kFunctions)][kRareEntries];
};

RareTable& TableFor(const JitOptions& options) {
  static std::mutex mutex;
  static auto& tables = *new std::map<std::string, std::unique_ptr<RareTable>>;
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<RareTable>& table = tables[KeyOf(options)];
  if (table == nullptr) {
    table = std::make_unique<RareTable>();
    table->options = options;
    table->options.links_only = false;
    for (size_t f = 0; f < std::size(kFunctions); ++f) {
      for (int i = 0; i < kRareEntries; ++i) {
        RareEntry& entry = table->entries[f][i];
        entry.call = &RunUncompiled;
        entry.lanes = 1 << i;
        entry.function = &kFunctions[f];
        entry.options = &table->options;
      }
    }
  }
  return *table;
}

}  // namespace

std::string RareSymbol(std::string_view name, bool is_f64) {
  return "rare." + std::string(name) + (is_f64 ? ".f64" : ".f32");
}

void DefineRareSymbols(const JitOptions& options,
                       const std::function<void(std::string_view, void*)>& define) {
  RareTable& table = TableFor(options);
  for (size_t f = 0; f < std::size(kFunctions); ++f)
    define(RareSymbol(kFunctions[f].name, kFunctions[f].is_f64), table.entries[f]);
}

}  // namespace hlo
