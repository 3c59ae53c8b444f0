#include "backends/gpu/product_thunk.h"

#include "backends/gpu/gpu_thunks.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

class NoPlan final : public ProductPlan {
 public:
  int64_t workspace_bytes() const override { return 0; }
  absl::Status Run(Stream& /*stream*/, DevicePtr /*lhs*/, DevicePtr /*rhs*/, DevicePtr /*result*/,
                   DevicePtr /*workspace*/) const override {
    return Internal("a product of a library that is only assumed");
  }
};

class Assumed final : public ProductLibrary {
 public:
  std::string name() const override { return "assumed"; }
  absl::StatusOr<std::vector<std::unique_ptr<ProductPlan>>> Plans(const LibraryProduct& /*product*/,
                                                                  bool /*cut*/,
                                                                  int /*most*/) const override {
    std::vector<std::unique_ptr<ProductPlan>> plans;
    plans.push_back(std::make_unique<NoPlan>());
    return plans;
  }
};

}  // namespace

absl::StatusOr<ExecuteEvent> ProductThunk::Execute(DeviceState& device,
                                                   hlo::Stream& any_stream) const {
  auto& state = static_cast<GpuState&>(device);
  auto& stream = static_cast<Stream&>(any_stream);
  RETURN_IF_ERROR(plan_->Run(stream, state.Address(lhs_), state.Address(rhs_),
                             state.Address(result_), state.scratch));
  return ExecuteEvent(stream);
}

std::shared_ptr<const ProductLibrary> AssumedLibrary() { return std::make_shared<Assumed>(); }

}  // namespace hlo::gpu
