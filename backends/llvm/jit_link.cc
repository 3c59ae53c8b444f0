#include "backends/llvm/jit_link.h"

#include <dlfcn.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/Orc/Shared/ExecutorAddress.h>
#include <llvm/Support/MemoryBuffer.h>

#include <utility>

#include "lib/support/code_listener.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

namespace jitlink = llvm::jitlink;

class LinkedCode final : public CompiledCode {
 public:
  LinkedCode(JitSymbols names, absl::Span<const CodeSymbol> symbols, int64_t bytes,
             jitlink::JITLinkMemoryManager::FinalizedAlloc allocation,
             std::shared_ptr<jitlink::JITLinkMemoryManager> memory)
      : names_(std::move(names)),
        announced_(symbols),
        bytes_(bytes),
        allocation_(std::move(allocation)),
        memory_(std::move(memory)) {}

  ~LinkedCode() override { llvm::consumeError(memory_->deallocate(std::move(allocation_))); }

  void* Find(std::string_view name) const override {
    const auto it = names_.find(std::string(name));
    return it == names_.end() ? nullptr : it->second;
  }

  int64_t bytes() const override { return bytes_; }

 private:
  JitSymbols names_;
  AnnouncedCode announced_;
  int64_t bytes_;
  jitlink::JITLinkMemoryManager::FinalizedAlloc allocation_;
  std::shared_ptr<jitlink::JITLinkMemoryManager> memory_;
};

// What a link leaves behind; linking in this process is over when link() returns.
struct LinkResult {
  JitSymbols names;
  std::vector<CodeSymbol> symbols;  // functions, when somebody listens
  int64_t bytes = 0;
  jitlink::JITLinkMemoryManager::FinalizedAlloc allocation;
  std::string error;
};

class LinkContext final : public jitlink::JITLinkContext {
 public:
  LinkContext(const JitSymbols& symbols, jitlink::JITLinkMemoryManager& memory, LinkResult& result)
      : JITLinkContext(nullptr), symbols_(symbols), memory_(memory), result_(result) {}

  jitlink::JITLinkMemoryManager& getMemoryManager() override { return memory_; }

  void notifyFailed(llvm::Error error) override {
    result_.error = llvm::toString(std::move(error));
  }

  void lookup(const LookupMap& wanted,
              std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> continuation) override {
    jitlink::AsyncLookupResult found;
    for (const auto& [name, flags] : wanted) {
      void* const address = Resolve(name.str());
      if (address == nullptr && flags == jitlink::SymbolLookupFlags::RequiredSymbol) {
        continuation->run(llvm::make_error<llvm::StringError>("no symbol `" + name.str() + "`",
                                                              llvm::inconvertibleErrorCode()));
        return;
      }
      found[name] = {llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
    }
    continuation->run(std::move(found));
  }

  llvm::Error notifyResolved(jitlink::LinkGraph& graph) override {
    for (const jitlink::Symbol* symbol : graph.defined_symbols()) {
      if (symbol->hasName() && symbol->isCallable() && IsListeningForCode()) {
        result_.symbols.push_back({symbol->getName().str(), symbol->getAddress().getValue(),
                                   static_cast<uint64_t>(symbol->getSize())});
      }
      if (!symbol->hasName() || symbol->getScope() == jitlink::Scope::Local) continue;
      result_.names.emplace(symbol->getName().str(), symbol->getAddress().toPtr<void*>());
    }
    constexpr int64_t kPage = 4096;
    for (const jitlink::Section& section : graph.sections()) {
      int64_t bytes = 0;
      for (const jitlink::Block* block : section.blocks()) {
        bytes += static_cast<int64_t>(block->getSize());
      }
      result_.bytes += RoundUp(bytes, kPage);
    }
    return llvm::Error::success();
  }

  void notifyFinalized(jitlink::JITLinkMemoryManager::FinalizedAlloc allocation) override {
    result_.allocation = std::move(allocation);
  }

 private:
  void* Resolve(const std::string& name) const {
    const auto it = symbols_.find(name);
    return it != symbols_.end() ? it->second : dlsym(RTLD_DEFAULT, name.c_str());
  }

  const JitSymbols& symbols_;
  jitlink::JITLinkMemoryManager& memory_;
  LinkResult& result_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CompiledCode>> LinkObject(
    std::string_view object, const JitSymbols& symbols,
    std::shared_ptr<jitlink::JITLinkMemoryManager> memory) {
  const llvm::MemoryBufferRef buffer(llvm::StringRef(object.data(), object.size()), "kernel");
  auto graph = jitlink::createLinkGraphFromObject(buffer);
  if (!graph)
    return Internal("cannot read a compiled object: {}", llvm::toString(graph.takeError()));
  LinkResult result;
  jitlink::link(std::move(*graph), std::make_unique<LinkContext>(symbols, *memory, result));
  if (!result.error.empty()) return Internal("cannot link a compiled object: {}", result.error);
  return std::make_unique<LinkedCode>(std::move(result.names), result.symbols, result.bytes,
                                      std::move(result.allocation), std::move(memory));
}

}  // namespace hlo
