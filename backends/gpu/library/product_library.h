// backends/gpu/library/product_library.h
//
// A library that multiplies matrices on a device. Plans are made once, when a program is compiled;
// running one puts its kernels on a stream and does nothing else.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/gpu/device/device.h"
#include "passes/gpu/library_products.h"

namespace hlo::gpu {

struct CublasLt;

class ProductPlan {
 public:
  virtual ~ProductPlan() = default;
  // Of scratch memory, at a multiple of 256.
  virtual int64_t workspace_bytes() const = 0;
  virtual absl::Status Run(Stream& stream, DevicePtr lhs, DevicePtr rhs, DevicePtr result,
                           DevicePtr workspace) const = 0;
};

class ProductLibrary {
 public:
  virtual ~ProductLibrary() = default;
  // NotFound where the library has no kernel for the product. `cut`: factors of f32 may be cut to
  // TF32.
  virtual absl::StatusOr<std::unique_ptr<ProductPlan>> Plan(const LibraryProduct& product,
                                                            bool cut) const = 0;
};

// cuBLASLt for the device that is current on this thread; the error says why there is none.
absl::StatusOr<std::shared_ptr<const ProductLibrary>> MakeCublasLibrary();

// The same by other functions, which must stay; for tests.
absl::StatusOr<std::shared_ptr<const ProductLibrary>> MakeCublasLibrary(const CublasLt& functions);

}  // namespace hlo::gpu
