// Products by cuBLASLt. It takes matrices column by column; ours lie row by row. So it is given the
// transposed product: result^T = rhs^T x lhs^T, in which a row-major matrix is a column-major one
// of the other shape, and nothing moves.
#include <algorithm>
#include <utility>

#include "backends/gpu/cuda/cublaslt.h"
#include "backends/gpu/library/product_library.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr size_t kMostWorkspace = size_t{32} << 20;  // what NVIDIA recommends for Hopper
constexpr uint32_t kPointerAlignment = 64;           // of arrays in a program's memory

// Of the types that AsLibraryProduct takes.
int CudaTypeOf(ElementType type) {
  constexpr std::pair<ElementType, int> kTypes[] = {
      {ElementType::kBF16, kCudaTypeBF16}, {ElementType::kF16, kCudaTypeF16},
      {ElementType::kF64, kCudaTypeF64},   {ElementType::kS8, kCudaTypeS8},
      {ElementType::kS32, kCudaTypeS32},
  };
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == type) return theirs;
  }
  return kCudaTypeF32;
}

struct Numbers {
  int compute, scale;
};
Numbers NumbersFor(ElementType factor, bool cut) {
  if (factor == ElementType::kF64) return {kComputeF64, kCudaTypeF64};
  if (factor == ElementType::kS8) return {kComputeS32, kCudaTypeS32};
  return {factor == ElementType::kF32 && cut ? kComputeTF32 : kComputeF32, kCudaTypeF32};
}

// A handle of the library that ends with its owner.
class Owned final {
 public:
  Owned() = default;
  ~Owned() {
    if (value_ != nullptr) destroy_(value_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  void** slot(int (*destroy)(void*)) {
    destroy_ = destroy;
    return &value_;
  }
  void* get() const { return value_; }

 private:
  void* value_ = nullptr;
  int (*destroy_)(void*) = nullptr;
};

class CublasPlan final : public ProductPlan {
 public:
  CublasPlan(const CublasLt& library, void* handle) : library_(library), handle_(handle) {}

  absl::Status Describe(const LibraryProduct& p, bool cut) {
    const auto [compute, scale] = NumbersFor(p.factor, cut);
    RETURN_IF_ERROR(
        library_.Check(library_.cublasLtMatmulDescCreate(
                           product_.slot(library_.cublasLtMatmulDescDestroy), compute, scale),
                       "cublasLtMatmulDescCreate"));
    // The first matrix is the right one, columns x depth when nothing is transposed.
    RETURN_IF_ERROR(Transpose(kProductTransposeA, !p.rhs.free_is_minor));
    RETURN_IF_ERROR(Transpose(kProductTransposeB, p.lhs.free_is_minor));
    RETURN_IF_ERROR(Layout(a_, p, p.factor, p.rhs.free_is_minor ? p.columns : p.depth,
                           p.rhs.free_is_minor ? p.depth : p.columns, p.rhs.stride,
                           p.rhs.batch_stride));
    RETURN_IF_ERROR(Layout(b_, p, p.factor, p.lhs.free_is_minor ? p.rows : p.depth,
                           p.lhs.free_is_minor ? p.depth : p.rows, p.lhs.stride,
                           p.lhs.batch_stride));
    RETURN_IF_ERROR(Layout(d_, p, p.result, p.columns, p.rows, p.columns, p.rows * p.columns));
    is_f64_ = scale == kCudaTypeF64;
    is_s32_ = scale == kCudaTypeS32;
    return absl::OkStatus();
  }

  // The kernels there are for it.
  absl::StatusOr<std::vector<CublasLtHeuristic>> Kernels(const LibraryProduct& p, int most) const {
    Owned preference;
    RETURN_IF_ERROR(library_.Check(library_.cublasLtMatmulPreferenceCreate(
                                       preference.slot(library_.cublasLtMatmulPreferenceDestroy)),
                                   "cublasLtMatmulPreferenceCreate"));
    const auto prefer = [&](int attribute, const auto& value) {
      return library_.Check(library_.cublasLtMatmulPreferenceSetAttribute(
                                preference.get(), attribute, &value, sizeof value),
                            "cublasLtMatmulPreferenceSetAttribute");
    };
    RETURN_IF_ERROR(prefer(kPreferWorkspaceBytes, kMostWorkspace));
    // Parts of a sum are added in the type of the sum, in one order.
    RETURN_IF_ERROR(prefer(kPreferReductions, uint32_t{kReduceInComputeType}));
    for (int i = 0; i < 4; ++i) RETURN_IF_ERROR(prefer(kPreferAlignmentA + i, kPointerAlignment));
    std::vector<CublasLtHeuristic> kernels(static_cast<size_t>(most));
    int found = 0;
    const int result = library_.cublasLtMatmulAlgoGetHeuristic(
        handle_, product_.get(), a_.get(), b_.get(), d_.get(), d_.get(), preference.get(), most,
        kernels.data(), &found);
    kernels.resize(result == 0 ? static_cast<size_t>(found) : 0);
    kernels.erase(std::remove_if(kernels.begin(), kernels.end(),
                                 [](const CublasLtHeuristic& one) { return one.state != 0; }),
                  kernels.end());
    if (!kernels.empty()) return kernels;
    return absl::NotFoundError(fmt::format("{} has no kernel for a product of {} x {} x {} ({})",
                                           library_.path, p.rows, p.columns, p.depth, result)
                                   .c_str());
  }

  void Take(const CublasLtHeuristic& kernel) { heuristic_ = kernel; }

  std::string kernel_name() const override {
    std::string name;
    for (const uint64_t word : heuristic_.algorithm) name += fmt::format("{:016x}", word);
    return name;
  }
  int64_t workspace_bytes() const override {
    return static_cast<int64_t>(heuristic_.workspace_bytes);
  }
  absl::Status Run(Stream& stream, DevicePtr lhs, DevicePtr rhs, DevicePtr result,
                   DevicePtr workspace) const override {
    constexpr float kOne = 1, kZero = 0;
    constexpr double kWideOne = 1, kWideZero = 0;
    constexpr int32_t kWholeOne = 1, kWholeZero = 0;
    const void* const one = is_f64_   ? static_cast<const void*>(&kWideOne)
                            : is_s32_ ? static_cast<const void*>(&kWholeOne)
                                      : &kOne;
    const void* const zero = is_f64_   ? static_cast<const void*>(&kWideZero)
                             : is_s32_ ? static_cast<const void*>(&kWholeZero)
                                       : &kZero;
    const auto at = [](DevicePtr address) {
      return reinterpret_cast<void*>(static_cast<uintptr_t>(address));
    };
    return library_.Check(
        library_.cublasLtMatmul(handle_, product_.get(), one, at(rhs), a_.get(), at(lhs), b_.get(),
                                zero, at(result), d_.get(), at(result), d_.get(),
                                heuristic_.algorithm, at(workspace), heuristic_.workspace_bytes,
                                stream.native_handle()),
        "cublasLtMatmul");
  }

 private:
  absl::Status Transpose(int attribute, bool transposed) {
    const int32_t operation = transposed ? 1 : 0;
    return library_.Check(library_.cublasLtMatmulDescSetAttribute(product_.get(), attribute,
                                                                  &operation, sizeof operation),
                          "cublasLtMatmulDescSetAttribute");
  }

  absl::Status Layout(Owned& layout, const LibraryProduct& p, ElementType type, int64_t rows,
                      int64_t columns, int64_t stride, int64_t batch_stride) {
    RETURN_IF_ERROR(library_.Check(
        library_.cublasLtMatrixLayoutCreate(layout.slot(library_.cublasLtMatrixLayoutDestroy),
                                            CudaTypeOf(type), static_cast<uint64_t>(rows),
                                            static_cast<uint64_t>(columns), stride),
        "cublasLtMatrixLayoutCreate"));
    if (p.batch == 1) return absl::OkStatus();
    const auto count = static_cast<int32_t>(p.batch);
    const auto set = [&](int attribute, const void* value, size_t bytes) {
      return library_.Check(
          library_.cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, value, bytes),
          "cublasLtMatrixLayoutSetAttribute");
    };
    RETURN_IF_ERROR(set(kLayoutBatchCount, &count, sizeof count));
    return set(kLayoutBatchStride, &batch_stride, sizeof batch_stride);
  }

  const CublasLt& library_;
  void* handle_;
  Owned product_, a_, b_, d_;
  bool is_f64_ = false, is_s32_ = false;
  CublasLtHeuristic heuristic_ = {};
};

class CublasLibrary final : public ProductLibrary {
 public:
  explicit CublasLibrary(const CublasLt& library) : library_(library) {}
  absl::Status Open() {
    return library_.Check(library_.cublasLtCreate(handle_.slot(library_.cublasLtDestroy)),
                          "cublasLtCreate");
  }
  std::string name() const override { return fmt::format("cublasLt {}", library_.version); }
  absl::StatusOr<std::vector<std::unique_ptr<ProductPlan>>> Plans(const LibraryProduct& product,
                                                                  bool cut,
                                                                  int most) const override {
    std::vector<std::unique_ptr<ProductPlan>> plans;
    std::vector<CublasLtHeuristic> kernels(1);
    for (size_t i = 0; i < kernels.size(); ++i) {
      auto plan = std::make_unique<CublasPlan>(library_, handle_.get());
      RETURN_IF_ERROR(plan->Describe(product, cut));
      if (i == 0) {
        ASSIGN_OR_RETURN(kernels, plan->Kernels(product, most));
      }
      plan->Take(kernels[i]);
      plans.push_back(std::move(plan));
    }
    return plans;
  }

 private:
  const CublasLt& library_;
  Owned handle_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const ProductLibrary>> MakeCublasLibrary(const CublasLt& functions) {
  auto library = std::make_shared<CublasLibrary>(functions);
  RETURN_IF_ERROR(library->Open());
  return std::shared_ptr<const ProductLibrary>(std::move(library));
}

absl::StatusOr<std::shared_ptr<const ProductLibrary>> MakeCublasLibrary() {
  ASSIGN_OR_RETURN(const CublasLt* const loaded, LoadCublasLt());
  return MakeCublasLibrary(*loaded);
}

}  // namespace hlo::gpu
