// backends/cpu/tile/evaluator.h
//
// Runs a kernel by interpretation: what tile IR means. Tests compare compiled code with it, and
// programs too short-lived to be worth compiling run by it (CpuOptions::kernels). Element nodes go
// through the interpreter's own kernels (lib/eval/elementwise.h).
//
//   ASSIGN_OR_RETURN(const Evaluation evaluation, Evaluation::Make(kernel));
//   Watch watch(kernel, buffers, scratch);
//   evaluation.Run(buffers, 0, task_count, scratch, watch);   // then watch.fault()
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/tile/tile_ir.h"
#include "backends/cpu/tile/watch.h"
#include "lib/eval/elementwise.h"

namespace hlo::cpu::tile {

// A kernel made ready: operations are resolved, and every value has its place. May be run by
// several threads at once.
class Evaluation final {
 public:
  // `kernel` must outlive it.
  static absl::StatusOr<Evaluation> Make(const Kernel& kernel);

  // As the compiled kernel (emit_llvm.h): argument buffers in order, tasks [begin, end). Stops at
  // the first access that `watch` does not allow.
  void Run(void* const* buffers, int64_t begin, int64_t end, void* scratch, Watch& watch) const;

 private:
  friend class EvaluationRun;
  explicit Evaluation(const Kernel& kernel) : kernel_(&kernel) {}
  absl::Status Prepare();
  absl::StatusOr<ElementwiseOp> OperationOf(const Node& node) const;

  const Kernel* kernel_;
  std::vector<ElementwiseOp> operations_;
  std::vector<int32_t> operation_of_;  // by node: index in operations_, of element nodes
  std::vector<int64_t> places_;        // by value: offset in a run's memory
  int64_t bytes_ = 0;                  // of that memory
};

}  // namespace hlo::cpu::tile
