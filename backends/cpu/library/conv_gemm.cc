// Convolutions of every kind as matrix products (conv.h): for a block of output positions, the
// input elements each of them sees become one row of a matrix of patches, which is multiplied by
// the kernel written as a matrix [taps x features, output features].
//
// Operands whose type the product cannot read are converted first. A task is one block of positions
// of one image and group.
#include <algorithm>
#include <utility>
#include <vector>

#include "backends/cpu/library/conv.h"
#include "backends/cpu/library/convert.h"
#include "backends/cpu/library/dot.h"
#include "backends/cpu/library/dot_engines.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kPatchBytes = 512 << 10;  // per worker
constexpr int64_t kMinPositions = 48;
constexpr int64_t kMaxPositions = 1024;

using Vec = absl::InlinedVector<int64_t, 6>;

template <class T>
class GemmConv final : public ConvKernel {
 public:
  static absl::StatusOr<std::unique_ptr<ConvKernel>> Create(const ConvSpec& spec,
                                                            const Host& host) {
    std::unique_ptr<GemmConv> conv(new GemmConv(spec));
    RETURN_IF_ERROR(conv->MakeProducts(host));
    conv->PlanScratch();
    return conv;
  }

  int64_t scratch_bytes() const override { return total_bytes_; }
  std::string_view engine() const override { return "gemm"; }

  absl::Status Run(const ConvBuffers& buffers, ThreadPool& pool) const override {
    char* const scratch = static_cast<char*>(buffers.scratch);
    T* const lhs = reinterpret_cast<T*>(scratch);
    T* const kernel = reinterpret_cast<T*>(scratch + kernel_offset_);
    T* const out = reinterpret_cast<T*>(scratch + out_offset_);
    ReadLhs(buffers.lhs, lhs, pool);
    ReadKernel(buffers.rhs, kernel, pool);
    const int64_t tasks = groups_ * spec_.out_batch_size() * blocks_;
    pool.ParallelFor(tasks, [&](int64_t task, int worker) {
      const int64_t block = task % blocks_;
      const int64_t image = task / blocks_ % spec_.out_batch_size();
      const int64_t group = task / blocks_ / spec_.out_batch_size();
      RunBlock(buffers, lhs, kernel, out, group, image, block, worker, pool);
    });
    if (converts_out_) WriteOut(out, buffers.out);
    return absl::OkStatus();
  }

 private:
  explicit GemmConv(const ConvSpec& spec) : spec_(spec) {
    groups_ = std::max(spec.feature_groups, spec.batch_groups);
    group_in_ = spec.in_features / spec.feature_groups;
    group_out_ = spec.out_features / groups_;
    for (const ConvDim& d : spec.spatial) {
      positions_ *= d.out;
      taps_ *= d.kernel;
      in_positions_ *= d.in;
    }
    depth_ = taps_ * group_in_;
    converts_out_ = spec.out_type != Computed<T>::kType;
    const int64_t fit = kPatchBytes / (depth_ * int64_t{sizeof(T)});
    block_ = std::min(positions_, std::clamp(fit, kMinPositions, kMaxPositions));
    // Enough blocks for all threads.
    const int64_t images = groups_ * spec_.out_batch_size();
    if (images < spec.threads) {
      block_ = std::min(block_, std::max<int64_t>(CeilDiv(positions_, spec.threads), 1));
    }
    blocks_ = CeilDiv(positions_, block_);
    tail_ = positions_ - (blocks_ - 1) * block_;
  }

  // The product for a whole block of positions and for the last one.
  absl::Status MakeProducts(const Host& host) {
    DotSpec dot = DotSpec::RowMajor(Computed<T>::kType, block_, group_out_, depth_);
    dot.rhs_k = spec_.out_features;  // the kernel keeps all output features beside each other
    dot.out_m = spec_.out_features;
    dot.threads = spec_.threads;
    ASSIGN_OR_RETURN(product_, MakeDot(dot, host));
    dot.m = tail_;
    ASSIGN_OR_RETURN(tail_product_, MakeDot(dot, host));
    return absl::OkStatus();
  }

  void PlanScratch() {
    const int64_t element = sizeof(T);
    kernel_offset_ = AlignScratch(spec_.batch * in_positions_ * spec_.in_features * element);
    out_offset_ = kernel_offset_ + AlignScratch(depth_ * spec_.out_features * element);
    patches_offset_ = out_offset_ + AlignScratch(spec_.out_batch_size() * positions_ *
                                                 spec_.out_features * element);
    patch_bytes_ = AlignScratch(block_ * depth_ * element);
    product_offset_ = patches_offset_ + patch_bytes_ * spec_.threads;
    product_bytes_ = std::max(product_->scratch_bytes(), tail_product_->scratch_bytes());
    // A product of one task takes its scratch by worker or, for few rows, as one piece.
    total_bytes_ = product_offset_ + AlignScratch(product_bytes_) * spec_.threads;
  }

  // lhs as [batch, spatial…, feature], in T.
  void ReadLhs(const void* source, T* lhs, ThreadPool& pool) const {
    Vec sizes, strides;
    for (const ConvDim& d : spec_.spatial) {
      sizes.push_back(d.in);
      strides.push_back(d.lhs_stride);
    }
    sizes.push_back(spec_.in_features);
    strides.push_back(spec_.lhs_feature);
    const int64_t bytes = ByteSize(spec_.lhs_type);
    pool.ParallelFor(spec_.batch, [&](int64_t image, int) {
      ReadBlock(spec_.lhs_type, spec_.out_type, Component::kReal,
                static_cast<const char*>(source) + image * spec_.lhs_batch * bytes,
                {sizes, strides}, lhs + image * in_positions_ * spec_.in_features);
    });
  }

  // The kernel as [spatial…, feature in group, output feature], in T, reversed where asked.
  void ReadKernel(const void* source, T* kernel, ThreadPool& pool) const {
    Vec sizes, strides;
    int64_t start = 0;
    for (const ConvDim& d : spec_.spatial) {
      sizes.push_back(d.kernel);
      strides.push_back(d.reversed ? -d.rhs_stride : d.rhs_stride);
      if (d.reversed) start += (d.kernel - 1) * d.rhs_stride;
    }
    sizes.push_back(spec_.out_features);
    strides.push_back(spec_.rhs_out);
    const int64_t bytes = ByteSize(spec_.rhs_type);
    // One input feature at a time, so that workers can share; rows of it are taps apart.
    pool.ParallelFor(group_in_, [&](int64_t feature, int) {
      std::vector<T> plane(static_cast<size_t>(taps_ * spec_.out_features));
      ReadBlock(spec_.rhs_type, spec_.out_type, Component::kReal,
                static_cast<const char*>(source) + (start + feature * spec_.rhs_in) * bytes,
                {sizes, strides}, plane.data());
      for (int64_t tap = 0; tap < taps_; ++tap) {
        std::copy_n(plane.data() + tap * spec_.out_features, spec_.out_features,
                    kernel + (tap * group_in_ + feature) * spec_.out_features);
      }
    });
  }

  void RunBlock(const ConvBuffers& buffers, const T* lhs, const T* kernel, T* converted,
                int64_t group, int64_t image, int64_t block, int worker, ThreadPool& pool) const {
    char* const scratch = static_cast<char*>(buffers.scratch);
    T* const patches = reinterpret_cast<T*>(scratch + patches_offset_ + patch_bytes_ * worker);
    const int64_t first = block * block_;
    const bool is_tail = block + 1 == blocks_;
    const int64_t count = is_tail ? tail_ : block_;
    const int64_t lhs_image =
        spec_.batch_groups > 1 ? group * spec_.out_batch_size() + image : image;
    const T* const source = lhs + lhs_image * in_positions_ * spec_.in_features +
                            (spec_.feature_groups > 1 ? group * group_in_ : 0);
    for (int64_t i = 0; i < count; ++i) FillPatch(source, first + i, patches + i * depth_);

    T* const out =
        converted + (image * positions_ + first) * spec_.out_features + group * group_out_;
    DotBuffers product;
    product.lhs = patches;
    product.rhs = kernel + group * group_out_;
    product.out = out;
    product.scratch = scratch + product_offset_ + AlignScratch(product_bytes_) * worker;
    (is_tail ? tail_product_ : product_)->Run(product, pool);
    if (!converts_out_) CopyOut(out, buffers.out, image, first, count, group);
  }

  // The input elements that output position `position` sees, tap by tap.
  void FillPatch(const T* source, int64_t position, T* patch) const {
    const size_t rank = spec_.spatial.size();
    Vec at(rank), tap(rank, 0);
    for (size_t d = rank; d-- > 0;) {
      at[d] = position % spec_.spatial[d].out * spec_.spatial[d].stride - spec_.spatial[d].pad_low;
      position /= spec_.spatial[d].out;
    }
    for (int64_t t = 0; t < taps_; ++t, patch += group_in_) {
      int64_t offset = 0;
      bool inside = true;
      for (size_t d = 0; d < rank && inside; ++d) {
        const ConvDim& dim = spec_.spatial[d];
        const int64_t dilated = at[d] + tap[d] * dim.rhs_dilation;
        inside =
            dilated >= 0 && dilated % dim.lhs_dilation == 0 && dilated / dim.lhs_dilation < dim.in;
        offset = offset * dim.in + dilated / dim.lhs_dilation;
      }
      if (inside) {
        std::copy_n(source + offset * spec_.in_features, group_in_, patch);
      } else {
        std::fill_n(patch, group_in_, T{});
      }
      for (size_t d = rank; d-- > 0;) {
        if (++tap[d] < spec_.spatial[d].kernel) break;
        tap[d] = 0;
      }
    }
  }

  // Scatters a finished block to the result.
  void CopyOut(const T* from, void* out, int64_t image, int64_t first, int64_t count,
               int64_t group) const {
    T* const base =
        static_cast<T*>(out) + image * spec_.out_batch + group * group_out_ * spec_.out_feature;
    for (int64_t i = 0; i < count; ++i) {
      int64_t position = first + i;
      int64_t offset = 0;
      for (size_t d = spec_.spatial.size(); d-- > 0;) {
        offset += position % spec_.spatial[d].out * spec_.spatial[d].out_stride;
        position /= spec_.spatial[d].out;
      }
      const T* row = from + i * spec_.out_features;
      for (int64_t o = 0; o < group_out_; ++o) base[offset + o * spec_.out_feature] = row[o];
    }
  }

  void WriteOut(const T* from, void* out) const {
    Vec sizes = {spec_.out_batch_size()};
    Vec strides = {spec_.out_batch};
    for (const ConvDim& d : spec_.spatial) {
      sizes.push_back(d.out);
      strides.push_back(d.out_stride);
    }
    sizes.push_back(spec_.out_features);
    strides.push_back(spec_.out_feature);
    WriteBlock(from, spec_.out_type, Component::kReal, {sizes, strides}, out);
  }

  ConvSpec spec_;
  int64_t groups_, group_in_, group_out_;
  int64_t positions_ = 1, taps_ = 1, in_positions_ = 1;
  int64_t depth_;  // length of a patch
  bool converts_out_;
  int64_t block_, blocks_, tail_;  // output positions per task
  std::unique_ptr<DotKernel> product_, tail_product_;
  int64_t kernel_offset_, out_offset_, patches_offset_, patch_bytes_, product_offset_,
      product_bytes_;
  int64_t total_bytes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ConvKernel>> MakeGemmConv(const ConvSpec& spec, const Host& host) {
  const ElementType out = spec.out_type;
  if (out == ElementType::kF64) return GemmConv<double>::Create(spec, host);
  if (IsFloat(out)) return GemmConv<float>::Create(spec, host);
  if (IsPred(out) || BitWidth(out) <= 32) return GemmConv<uint32_t>::Create(spec, host);
  return GemmConv<uint64_t>::Create(spec, host);
}

}  // namespace hlo::cpu
