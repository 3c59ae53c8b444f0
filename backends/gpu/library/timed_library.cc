#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "absl/cleanup/cleanup.h"
#include "backends/gpu/library/product_library.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr int kMostPlans = 8;
constexpr int kRuns = 3;            // of each, after one that is not timed
constexpr double kWorthIt = 0.967;  // of the time of the library's own choice

auto KeyOf(const LibraryProduct& p, bool cut) {
  const auto side = [](const LibraryProduct::Side& s) {
    return std::tuple(s.free_is_minor, s.stride, s.batch_stride);
  };
  return std::tuple(p.batch, p.rows, p.columns, p.depth, side(p.lhs), side(p.rhs), p.factor,
                    p.result, cut);
}
using Key = decltype(KeyOf({}, false));

// Bytes from the first element of an operand to its last.
int64_t BytesOf(const LibraryProduct::Side& side, int64_t batch, int64_t free, int64_t depth,
                ElementType type) {
  const int64_t minor = side.free_is_minor ? free : depth;
  const int64_t lines = side.free_is_minor ? depth : free;
  return ((batch - 1) * side.batch_stride + (lines - 1) * side.stride + minor) * ByteSize(type);
}

class Timed final : public ProductLibrary {
 public:
  Timed(std::shared_ptr<const ProductLibrary> library, std::shared_ptr<Device> device)
      : library_(std::move(library)), device_(std::move(device)) {}

  absl::StatusOr<std::vector<std::unique_ptr<ProductPlan>>> Plans(const LibraryProduct& product,
                                                                  bool cut,
                                                                  int /*most*/) const override {
    ASSIGN_OR_RETURN(auto plans, library_->Plans(product, cut, kMostPlans));
    const std::lock_guard<std::mutex> lock(mutex_);
    const Key key = KeyOf(product, cut);
    auto known = fastest_.find(key);
    if (known == fastest_.end()) {
      const absl::StatusOr<size_t> fastest = plans.size() > 1 ? Fastest(plans, product) : size_t{0};
      // Where nothing can be timed, there is no memory for it, say, the library's choice stands for
      // this time.
      if (!fastest.ok()) return First(std::move(plans), 0);
      known = fastest_.emplace(key, *fastest).first;
    }
    const size_t last = plans.size() - 1;
    return First(std::move(plans), std::min(known->second, last));
  }

 private:
  static std::vector<std::unique_ptr<ProductPlan>> First(
      std::vector<std::unique_ptr<ProductPlan>> plans, size_t i) {
    std::vector<std::unique_ptr<ProductPlan>> taken;
    taken.push_back(std::move(plans[i]));
    return taken;
  }

  absl::StatusOr<size_t> Fastest(const std::vector<std::unique_ptr<ProductPlan>>& plans,
                                 const LibraryProduct& p) const {
    RETURN_IF_ERROR(device_->Enter());
    ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device_->CreateStream());
    if (!stream->HasClock()) return 0;
    const int64_t lhs =
        RoundUp(BytesOf(p.lhs, p.batch, p.rows, p.depth, p.factor), kMemoryAlignment);
    const int64_t rhs =
        RoundUp(BytesOf(p.rhs, p.batch, p.columns, p.depth, p.factor), kMemoryAlignment);
    const int64_t result =
        RoundUp(p.batch * p.rows * p.columns * ByteSize(p.result), kMemoryAlignment);
    int64_t workspace = 0;
    for (const auto& plan : plans) workspace = std::max(workspace, plan->workspace_bytes());
    ASSIGN_OR_RETURN(const DevicePtr memory, device_->Allocate(lhs + rhs + result + workspace));
    const absl::Cleanup free = [&] {
      stream->Synchronize().IgnoreError();
      device_->Free(memory).IgnoreError();
    };
    // Small numbers, not zeros, which some circuits multiply faster.
    constexpr uint8_t kPattern = 0x3c;
    RETURN_IF_ERROR(stream->Fill(memory, kPattern, lhs + rhs));
    const auto at = [&](int64_t offset) { return memory + static_cast<DevicePtr>(offset); };
    size_t best = 0;
    double best_time = 0;
    for (size_t i = 0; i < plans.size(); ++i) {
      const auto run = [&] {
        return plans[i]->Run(*stream, at(0), at(lhs), at(lhs + rhs), at(lhs + rhs + result));
      };
      absl::StatusOr<int64_t> least = stream->Time(run);
      for (int n = 0; n < kRuns && least.ok(); ++n) {
        const absl::StatusOr<int64_t> time = stream->Time(run);
        least = !time.ok() || n == 0 ? time : std::min(*least, *time);
      }
      if (!least.ok()) continue;  // a kernel that cannot be launched
      const double time = static_cast<double>(*least) / (i == 0 ? 1 : kWorthIt);
      if (best_time == 0 || time < best_time) {
        best = i;
        best_time = time;
      }
    }
    return best;
  }

  std::shared_ptr<const ProductLibrary> library_;
  std::shared_ptr<Device> device_;
  mutable std::mutex mutex_;
  mutable std::map<Key, size_t> fastest_;
};

}  // namespace

std::shared_ptr<const ProductLibrary> TimedLibrary(std::shared_ptr<const ProductLibrary> library,
                                                   std::shared_ptr<Device> device) {
  return std::make_shared<Timed>(std::move(library), std::move(device));
}

}  // namespace hlo::gpu
