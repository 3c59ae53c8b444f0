// The CPU platform: HLO passes, fusion, buffer assignment, kernels by LLVM, library calls, a flat
// array of thunks.
#pragma once

#include <memory>
#include <string_view>

#include "backends/backend.h"

namespace hlo {

class CpuBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  absl::StatusOr<std::string> CodeTarget(const CompileOptions& options) const override;
  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<Module> module,
                                                      const CompileOptions& options) override;
};

std::unique_ptr<Backend> MakeCpuBackend();

}  // namespace hlo
