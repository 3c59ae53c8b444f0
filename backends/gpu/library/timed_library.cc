#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "backends/gpu/library/fastest.h"
#include "backends/gpu/library/kernel_choices.h"
#include "backends/gpu/library/product_library.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr int kMostPlans = 8;
constexpr int kRuns = 3;  // of each

// Equal ones take the same kernels.
std::string TextOf(const LibraryProduct& p, bool cut) {
  const auto side = [](const LibraryProduct::Side& s) {
    return fmt::format("{} {} {}", s.free_is_minor ? "free" : "depth", s.stride, s.batch_stride);
  };
  return fmt::format("{} x {} x {} x {}, {}, {}, {} -> {}{}", p.batch, p.rows, p.columns, p.depth,
                     side(p.lhs), side(p.rhs), Text(p.factor), Text(p.result), cut ? ", cut" : "");
}

// Bytes from the first element of an operand to its last.
int64_t BytesOf(const LibraryProduct::Side& side, int64_t batch, int64_t free, int64_t depth,
                ElementType type) {
  const int64_t minor = side.free_is_minor ? free : depth;
  const int64_t lines = side.free_is_minor ? depth : free;
  return ((batch - 1) * side.batch_stride + (lines - 1) * side.stride + minor) * ByteSize(type);
}

class Timed final : public ProductLibrary {
 public:
  Timed(std::shared_ptr<const ProductLibrary> library, std::shared_ptr<Device> device,
        std::string file, KernelChoices known)
      : library_(std::move(library)),
        device_(std::move(device)),
        file_(std::move(file)),
        known_(std::move(known)) {
    const DeviceProperties& properties = device_->properties();
    where_ = fmt::format("{}, driver {}, {}", properties.name, properties.driver_version,
                         library_->name());
  }

  std::string name() const override { return library_->name(); }

  absl::StatusOr<std::vector<std::unique_ptr<ProductPlan>>> Plans(const LibraryProduct& product,
                                                                  bool cut,
                                                                  int /*most*/) const override {
    ASSIGN_OR_RETURN(auto plans, library_->Plans(product, cut, kMostPlans));
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::string what = TextOf(product, cut);
    auto known = fastest_.find(what);
    if (known == fastest_.end()) {
      std::optional<size_t> fastest = KnownOf(plans, what);
      if (!fastest && plans.size() > 1) {
        const absl::StatusOr<size_t> found = Fastest(plans, product);
        // Where nothing can be timed, there is no memory for it, say, the library's choice stands
        // for this time.
        if (!found.ok()) return First(std::move(plans), 0);
        fastest = *found;
        Keep(what, *plans[*found]);
      }
      known = fastest_.emplace(what, fastest.value_or(0)).first;
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

  // The plan that the file names.
  std::optional<size_t> KnownOf(const std::vector<std::unique_ptr<ProductPlan>>& plans,
                                const std::string& what) const {
    const std::string_view kernel = known_.Find(where_, what);
    for (size_t i = 0; i < plans.size() && !kernel.empty(); ++i) {
      if (plans[i]->kernel_name() == kernel) return i;
    }
    return std::nullopt;
  }

  void Keep(const std::string& what, const ProductPlan& plan) const {
    if (file_.empty() || plan.kernel_name().empty()) return;
    known_.Add(where_, what, plan.kernel_name());
    // The file could be written at first: what fails later costs another process its time, no more.
    known_.AddTo(file_).IgnoreError();
  }

  absl::StatusOr<size_t> Fastest(const std::vector<std::unique_ptr<ProductPlan>>& plans,
                                 const LibraryProduct& p) const {
    RETURN_IF_ERROR(device_->Enter());
    ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device_->CreateStream());
    if (!stream->HasClock()) return absl::UnimplementedError("there is no clock");
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
    RETURN_IF_ERROR(FillWithNumbers(*stream, memory, lhs + rhs));
    const auto at = [&](int64_t offset) { return memory + static_cast<DevicePtr>(offset); };
    return FastestOf(*stream, plans.size(), kRuns, [&](size_t i) {
      return plans[i]->Run(*stream, at(0), at(lhs), at(lhs + rhs), at(lhs + rhs + result));
    });
  }

  std::shared_ptr<const ProductLibrary> library_;
  std::shared_ptr<Device> device_;
  std::string where_;
  std::string file_;
  mutable std::mutex mutex_;
  mutable KernelChoices known_;
  mutable std::map<std::string, size_t> fastest_;  // by product
};

}  // namespace

absl::StatusOr<std::shared_ptr<const ProductLibrary>> TimedLibrary(
    std::shared_ptr<const ProductLibrary> library, std::shared_ptr<Device> device,
    const std::string& file) {
  KernelChoices known;
  if (!file.empty()) {
    ASSIGN_OR_RETURN(known, KernelChoices::Read(file));
  }
  return std::make_shared<Timed>(std::move(library), std::move(device), file, std::move(known));
}

}  // namespace hlo::gpu
