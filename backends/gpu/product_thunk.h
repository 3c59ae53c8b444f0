// A product by a library as a thunk, and a library that is only assumed.
#pragma once

#include <memory>

#include "backends/common/thunk.h"
#include "backends/gpu/library/product_library.h"

namespace hlo::gpu {

class ProductThunk final : public Thunk {
 public:
  ProductThunk(std::string_view name, std::unique_ptr<ProductPlan> plan, const BufferSlice& lhs,
               const BufferSlice& rhs, const BufferSlice& result)
      : Thunk(name), plan_(std::move(plan)), lhs_(lhs), rhs_(rhs), result_(result) {}
  std::string_view kind() const override { return "library-dot"; }
  bool OnlyEnqueues() const override { return true; }
  BufferUses uses() const override { return {.reads = {lhs_, rhs_}, .writes = {result_}}; }
  int64_t scratch_bytes() const override { return plan_->workspace_bytes(); }
  absl::StatusOr<ExecuteEvent> Execute(DeviceState& state, hlo::Stream& stream) const override;

 private:
  std::unique_ptr<ProductPlan> plan_;
  BufferSlice lhs_, rhs_, result_;
};

// Takes every product and runs none: for texts of programs, which do not depend on the machine.
std::shared_ptr<const ProductLibrary> AssumedLibrary();

}  // namespace hlo::gpu
