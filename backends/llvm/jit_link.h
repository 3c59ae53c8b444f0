// backends/llvm/jit_link.h
//
// Puts relocatable object files in memory with JITLink. Internal to this folder: includes LLVM
// headers.
#pragma once

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "backends/llvm/jit.h"

namespace hlo {

// Names that compiled code may use, besides those of this process.
using JitSymbols = absl::btree_map<std::string, void*>;

// Links `object`. The memory manager must outlive the result.
absl::StatusOr<std::unique_ptr<CompiledCode>> LinkObject(
    std::string_view object, const JitSymbols& symbols,
    std::shared_ptr<llvm::jitlink::JITLinkMemoryManager> memory);

}  // namespace hlo
