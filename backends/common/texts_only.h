// What is left of a compilation that was asked for texts alone (CompileOptions::emit): nothing that
// runs, and no memory for it.
#pragma once

#include <memory>
#include <utility>

#include "backends/backend.h"
#include "backends/common/memory_report.h"

namespace hlo {

class TextsOnly final : public Executable, public KnowsBuffers {
 public:
  // `buffers`: null where they were not wanted.
  TextsOnly(std::unique_ptr<Module> module, const CompileStats& stats,
            std::unique_ptr<BufferAssignment> buffers, int64_t scratch_bytes)
      : module_(std::move(module)),
        stats_(stats),
        buffers_(std::move(buffers)),
        scratch_bytes_(scratch_bytes) {}
  absl::StatusOr<std::unique_ptr<ExecutionState>> MakeState() const override {
    return Error("this module was compiled for its texts (`--emit`), not to be run");
  }
  const Module& module() const override { return *module_; }
  const CompileStats& stats() const override { return stats_; }
  const BufferAssignment* assigned_buffers() const override { return buffers_.get(); }
  int64_t thunk_scratch_bytes() const override { return scratch_bytes_; }

 private:
  std::unique_ptr<Module> module_;
  CompileStats stats_;
  std::unique_ptr<BufferAssignment> buffers_;
  int64_t scratch_bytes_;
};

}  // namespace hlo
