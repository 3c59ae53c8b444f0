// What is left of a compilation that was asked for texts alone (CompileOptions::emit): nothing that
// runs, and no memory for it.
#pragma once

#include <memory>
#include <utility>

#include "backends/backend.h"

namespace hlo {

class TextsOnly final : public Executable {
 public:
  TextsOnly(std::unique_ptr<Module> module, const CompileStats& stats)
      : module_(std::move(module)), stats_(stats) {}
  absl::StatusOr<std::unique_ptr<ExecutionState>> MakeState() const override {
    return Error("this module was compiled for its texts (`--emit`), not to be run");
  }
  const Module& module() const override { return *module_; }
  const CompileStats& stats() const override { return stats_; }

 private:
  std::unique_ptr<Module> module_;
  CompileStats stats_;
};

}  // namespace hlo
