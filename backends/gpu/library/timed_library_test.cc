// The fastest of a library's plans, on a device whose clock counts what is put on a stream.
#include <fmt/core.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/gpu/device/recording_device.h"
#include "backends/gpu/library/kernel_choices.h"
#include "backends/gpu/library/product_library.h"
#include "lib/support/file.h"
#include "lib/support/status.h"
#include "lib/support/temporary.h"

namespace hlo::gpu {
namespace {

// Takes as long as the calls that it makes.
class Plan final : public ProductPlan {
 public:
  Plan(int number, int calls) : number_(number), calls_(calls) {}
  std::string kernel_name() const override { return fmt::format("calls{}", calls_); }
  // The number of the plan, so that it can be told.
  int64_t workspace_bytes() const override { return number_; }
  absl::Status Run(Stream& stream, DevicePtr lhs, DevicePtr rhs, DevicePtr result,
                   DevicePtr /*workspace*/) const override {
    if (calls_ == 0) return absl::InternalError("this plan cannot be launched");
    CHECK(lhs < rhs);
    CHECK(rhs < result);
    for (int i = 0; i < calls_; ++i) RETURN_IF_ERROR(stream.Fill(result, 0, 4));
    return absl::OkStatus();
  }

 private:
  int number_, calls_;
};

class Library final : public ProductLibrary {
 public:
  explicit Library(std::vector<int> calls, std::string name = "library 1")
      : calls_(std::move(calls)), name_(std::move(name)) {}
  std::string name() const override { return name_; }
  absl::StatusOr<std::vector<std::unique_ptr<ProductPlan>>> Plans(const LibraryProduct&, bool,
                                                                  int most) const override {
    std::vector<std::unique_ptr<ProductPlan>> plans;
    for (const int calls : calls_) {
      if (std::ssize(plans) < most)
        plans.push_back(std::make_unique<Plan>(static_cast<int>(plans.size()), calls));
    }
    if (plans.empty()) return absl::NotFoundError("none");
    return plans;
  }

 private:
  std::vector<int> calls_;
  std::string name_;
};

std::shared_ptr<const ProductLibrary> Timed(std::shared_ptr<const ProductLibrary> library,
                                            std::shared_ptr<Device> device,
                                            const std::string& file = "") {
  auto timed = TimedLibrary(std::move(library), std::move(device), file);
  REQUIRE(timed.ok());
  return *std::move(timed);
}

LibraryProduct SomeProduct(int64_t rows) {
  LibraryProduct product;
  product.rows = rows;
  product.columns = 32;
  product.depth = 16;
  product.lhs = {false, 16, 0};
  product.rhs = {true, 32, 0};
  return product;
}

// The number of the plan that is taken, and how many calls the device has seen.
std::pair<int64_t, size_t> Taken(const ProductLibrary& timed, const RecordingDevice& device,
                                 int64_t rows = 8) {
  const size_t before = device.calls().size();
  const auto plans = timed.Plans(SomeProduct(rows), /*cut=*/false, 1);
  REQUIRE(plans.ok());
  REQUIRE(plans->size() == 1);
  return {plans->front()->workspace_bytes(), device.calls().size() - before};
}

TEST_CASE("of several plans the fastest is taken", "[gpu][library]") {
  struct Case {
    std::vector<int> calls;
    int64_t taken;
  };
  for (const Case& test :
       {Case{{5, 3, 4}, 1}, Case{{5}, 0}, Case{{0, 7, 6, 8}, 2},  // one that cannot be launched
        Case{{60, 59, 61}, 0},                                    // too little to gain
        Case{{60, 58, 61}, 1}}) {
    const auto device = std::make_shared<RecordingDevice>();
    const auto timed = Timed(std::make_shared<Library>(test.calls), device);
    CHECK(Taken(*timed, *device).first == test.taken);
    CHECK(device->live_allocations() == 0);
    // The same product again is not timed again; another one is.
    CHECK(Taken(*timed, *device) == std::pair(test.taken, size_t{0}));
    CHECK((Taken(*timed, *device, 16).second > 0) == (test.calls.size() > 1));
  }
}

TEST_CASE("where nothing can be timed the library's choice stands", "[gpu][library]") {
  const auto device = std::make_shared<RecordingDevice>();
  device->FailNextAllocation();
  const auto timed = Timed(std::make_shared<Library>(std::vector<int>{5, 3}), device);
  CHECK(Taken(*timed, *device).first == 0);
  CHECK_FALSE(Timed(std::make_shared<Library>(std::vector<int>{}), device)
                  ->Plans(SomeProduct(8), false, 1)
                  .ok());
}

TEST_CASE("another process takes what the file says and times nothing", "[gpu][library]") {
  const auto folder = TemporaryFolder::Make();
  REQUIRE(folder.ok());
  const std::string file = (*folder)->In("choices");
  const auto device = std::make_shared<RecordingDevice>();
  const std::vector<int> calls = {5, 3, 4};
  CHECK(Taken(*Timed(std::make_shared<Library>(calls), device, file), *device).first == 1);
  CHECK(Taken(*Timed(std::make_shared<Library>(calls), device, file), *device) ==
        std::pair(int64_t{1}, size_t{0}));
  // The kernel counts, not its place.
  CHECK(Taken(*Timed(std::make_shared<Library>(std::vector<int>{4, 5, 3}), device, file),
              *device) == std::pair(int64_t{2}, size_t{0}));
  // Another product, a kernel that is gone, another version of the library.
  CHECK(Taken(*Timed(std::make_shared<Library>(calls), device, file), *device, 16).second > 0);
  CHECK(Taken(*Timed(std::make_shared<Library>(std::vector<int>{9, 6}), device, file), *device)
            .second > 0);
  CHECK(Taken(*Timed(std::make_shared<Library>(calls, "library 2"), device, file), *device).second >
        0);
  // All of them are in the file now; the kernel that is gone has made room for another.
  const absl::StatusOr<KernelChoices> all = KernelChoices::Read(file);
  REQUIRE(all.ok());
  CHECK(std::ranges::count(*ReadFile(file), '\n') == 1 + 3);
}

TEST_CASE("a file that holds no choices is refused by its line", "[gpu][library]") {
  const auto folder = TemporaryFolder::Make();
  REQUIRE(folder.ok());
  const std::string file = (*folder)->In("choices");
  CHECK(KernelChoices::Check(file).ok());
  REQUIRE(WriteFile(file, "something else\n").ok());
  CHECK(std::string(KernelChoices::Check(file).message()).find("choices:1:1: expected `HLO") !=
        std::string::npos);
  REQUIRE(WriteFile(file, "HLO kernel choices 1\na\tb\tc\na b\n").ok());
  CHECK(std::string(KernelChoices::Check(file).message()).find("choices:3:1: expected device") !=
        std::string::npos);
  CHECK_FALSE(KernelChoices::Check((*folder)->In("no/folder/choices")).ok());
}

}  // namespace
}  // namespace hlo::gpu
