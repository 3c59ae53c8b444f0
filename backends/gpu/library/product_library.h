// backends/gpu/library/product_library.h
//
// A library that multiplies matrices on a device. Plans are made once, when a program is compiled;
// running one puts its kernels on a stream and does nothing else.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/gpu/device/device.h"
#include "passes/gpu/library_products.h"

namespace hlo::gpu {

struct CublasLt;

class ProductPlan {
 public:
  virtual ~ProductPlan() = default;
  // Which of the library's kernels it is, in one line, for another process; "" where that cannot be
  // said.
  virtual std::string kernel_name() const { return ""; }
  // Of scratch memory, at a multiple of 256.
  virtual int64_t workspace_bytes() const = 0;
  virtual absl::Status Run(Stream& stream, DevicePtr lhs, DevicePtr rhs, DevicePtr result,
                           DevicePtr workspace) const = 0;
};

class ProductLibrary {
 public:
  virtual ~ProductLibrary() = default;
  // What it is, with its version.
  virtual std::string name() const = 0;
  // At most `most` plans, one for each kernel that the library has for the product, first the one
  // that it would take; NotFound where it has none. `cut`: factors of f32 may be cut to TF32.
  virtual absl::StatusOr<std::vector<std::unique_ptr<ProductPlan>>> Plans(
      const LibraryProduct& product, bool cut, int most) const = 0;
};

// cuBLASLt for the device that is current on this thread; the error says why there is none.
absl::StatusOr<std::shared_ptr<const ProductLibrary>> MakeCublasLibrary();

// The same by other functions, which must stay; for tests.
absl::StatusOr<std::shared_ptr<const ProductLibrary>> MakeCublasLibrary(const CublasLt& functions);

// `library` with one plan for each product: the one that takes the least time on `device`, where
// that has a clock. Equal products get equal plans for as long as this lives; which one that is may
// differ from process to process, and with it the last bits of a sum, but for what is in `file`
// (kernel_choices.h; "": there is none), which is not timed again. A plan that is not the library's
// own choice is taken when it saves at least a thirtieth of the time. An error: `file` cannot be
// read.
absl::StatusOr<std::shared_ptr<const ProductLibrary>> TimedLibrary(
    std::shared_ptr<const ProductLibrary> library, std::shared_ptr<Device> device,
    const std::string& file);

}  // namespace hlo::gpu
