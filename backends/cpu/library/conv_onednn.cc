// Convolutions with oneDNN (conv.h): forward convolutions, and those with a dilated lhs and stride
// 1, which are its "backward data" (transposed convolutions, gradients of strided ones).
//
// Activations stay in the caller's layout; the kernel is copied into the layout the implementation
// wants, once per run into scratch memory, or once for all runs of a state if it is constant.
#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "backends/cpu/library/blocked_copy.h"
#include "backends/cpu/library/conv.h"
#include "backends/cpu/library/convert.h"
#include "backends/cpu/library/dot_engines.h"
#include "backends/cpu/library/onednn.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

using Vec = absl::InlinedVector<int64_t, 6>;
using onednn::Check;
using onednn::Primitive;

// What the runs of one caller keep: arguments, and a constant kernel in the layout that is wanted.
struct ConvState final : KernelState {
  onednn::Arguments conv, reorder;
  AlignedMemory memory;
  const void* source = nullptr;
  const void* packed = nullptr;

  void ForgetOperands() override { source = nullptr; }
};

// Turns negative padding into a smaller lhs. False if nothing would be left.
bool CropNegativePads(ConvSpec& spec, int64_t& lhs_offset) {
  for (ConvDim& d : spec.spatial) {
    if (d.lhs_dilation != 1) continue;
    if (d.pad_low < 0) {
      lhs_offset -= d.pad_low * d.lhs_stride;
      d.in += d.pad_low;
      d.pad_low = 0;
    }
    if (d.pad_high < 0) {
      d.in += d.pad_high;
      d.pad_high = 0;
    }
    if (d.in <= 0) return false;
  }
  return true;
}

class OneDnnConv final : public ConvKernel {
 public:
  static absl::StatusOr<std::unique_ptr<ConvKernel>> Create(ConvSpec spec, const Host& host) {
    if (!Suits(spec, host)) return std::unique_ptr<ConvKernel>();
    int64_t lhs_offset = 0;
    if (!CropNegativePads(spec, lhs_offset)) return std::unique_ptr<ConvKernel>();
    onednn::LimitIsa(host);
    std::unique_ptr<OneDnnConv> conv(new OneDnnConv(std::move(spec), lhs_offset));
    ASSIGN_OR_RETURN(const bool made, conv->Init());
    if (!made) return std::unique_ptr<ConvKernel>();
    return conv;
  }

  absl::StatusOr<std::unique_ptr<KernelState>> MakeState() const override {
    auto state = std::make_unique<ConvState>();
    ASSIGN_OR_RETURN(state->conv, conv_->MakeArguments());
    if (reorder_ != nullptr) {
      ASSIGN_OR_RETURN(state->reorder, reorder_->MakeArguments());
    }
    return std::unique_ptr<KernelState>(std::move(state));
  }
  int64_t scratch_bytes() const override {
    return AlignScratch(flipped_bytes_) + AlignScratch(packed_bytes_) + AlignScratch(inner_bytes_);
  }
  std::string_view engine() const override { return "onednn"; }

  absl::Status Run(const ConvBuffers& buffers, ThreadPool& pool) const override {
    char* const scratch = static_cast<char*>(buffers.scratch);
    RET_CHECK(buffers.state != nullptr, "a convolution of oneDNN runs without a state");
    ConvState& state = static_cast<ConvState&>(*buffers.state);
    ASSIGN_OR_RETURN(const void* weights, Weights(buffers.rhs, scratch, state, pool));
    char* const inner = scratch + AlignScratch(flipped_bytes_) + AlignScratch(packed_bytes_);
    char* const lhs =
        const_cast<char*>(static_cast<const char*>(buffers.lhs)) + lhs_offset_ * element_;
    const absl::InlinedVector<void*, 3> pointers = {lhs, const_cast<void*>(weights), buffers.out};
    return conv_->Run(state.conv, pointers, inner, pool);
  }

 private:
  OneDnnConv(ConvSpec spec, int64_t lhs_offset)
      : spec_(std::move(spec)), lhs_offset_(lhs_offset), element_(ByteSize(spec_.lhs_type)) {
    for (const ConvDim& d : spec_.spatial) transposed_ |= d.lhs_dilation != 1;
    // "Backward data" reads the kernel backwards by itself.
    for (const ConvDim& d : spec_.spatial) flips_ |= d.kernel > 1 && d.reversed != transposed_;
    type_ = spec_.lhs_type == ElementType::kF32 ? dnnl_f32 : dnnl_bf16;
  }

  static bool Suits(const ConvSpec& spec, const Host& host) {
    if (spec.spatial.empty() || spec.spatial.size() > 3 || spec.batch_groups != 1) return false;
    if (spec.lhs_type != spec.rhs_type || spec.lhs_type != spec.out_type) return false;
    const bool bf16 = spec.lhs_type == ElementType::kBF16 && host.avx512_bf16;
    if (spec.lhs_type != ElementType::kF32 && !bf16) return false;
    bool transposed = false, strided = false;
    for (const ConvDim& d : spec.spatial) {
      transposed |= d.lhs_dilation != 1;
      strided |= d.stride != 1;
    }
    return !transposed || !strided;
  }

  // Sizes and strides of an activation: [batch, feature, spatial…].
  absl::StatusOr<dnnl_memory_desc_t> Activation(int64_t batch, int64_t batch_stride,
                                                int64_t features, int64_t feature_stride,
                                                int64_t ConvDim::*size,
                                                int64_t ConvDim::*stride) const {
    Vec sizes = {batch, features}, strides = {batch_stride, feature_stride};
    for (const ConvDim& d : spec_.spatial) {
      sizes.push_back(d.*size);
      strides.push_back(d.*stride);
    }
    return onednn::Strided(sizes, strides, type_);
  }

  // The kernel as oneDNN sees it: [groups,] output features, input features, spatial…; of the
  // forward convolution, where input and output trade places if this one is transposed.
  void KernelDims(Vec& sizes, Vec& strides) const {
    const int64_t groups = spec_.feature_groups;
    const int64_t out = spec_.out_features / groups, in = spec_.in_features / groups;
    if (groups > 1) {
      sizes.push_back(groups);
      strides.push_back(out * spec_.rhs_out);
    }
    sizes.insert(sizes.end(), {transposed_ ? in : out, transposed_ ? out : in});
    strides.insert(strides.end(), {transposed_ ? spec_.rhs_in : spec_.rhs_out,
                                   transposed_ ? spec_.rhs_out : spec_.rhs_in});
    for (const ConvDim& d : spec_.spatial) {
      sizes.push_back(d.kernel);
      strides.push_back(d.rhs_stride);
    }
  }

  // False if oneDNN has nothing good for this convolution.
  absl::StatusOr<bool> Init() {
    ASSIGN_OR_RETURN(const dnnl_memory_desc_t lhs,
                     Activation(spec_.batch, spec_.lhs_batch, spec_.in_features, spec_.lhs_feature,
                                &ConvDim::in, &ConvDim::lhs_stride));
    ASSIGN_OR_RETURN(const dnnl_memory_desc_t out,
                     Activation(spec_.batch, spec_.out_batch, spec_.out_features, spec_.out_feature,
                                &ConvDim::out, &ConvDim::out_stride));
    Vec sizes, strides;
    KernelDims(sizes, strides);
    ASSIGN_OR_RETURN(const dnnl_memory_desc_t any_kernel, onednn::AnyLayout(sizes, type_));
    ASSIGN_OR_RETURN(const bool made, transposed_ ? InitTransposed(lhs, any_kernel, out)
                                                  : InitForward(lhs, any_kernel, out));
    if (!made) return false;
    return InitKernelCopy(sizes, strides);
  }

  absl::StatusOr<bool> InitForward(const dnnl_memory_desc_t& lhs, const dnnl_memory_desc_t& kernel,
                                   const dnnl_memory_desc_t& out) {
    dnnl_dims_t steps = {}, dilates = {}, low = {}, high = {};
    for (size_t d = 0; d < spec_.spatial.size(); ++d) {
      const ConvDim& dim = spec_.spatial[d];
      steps[d] = dim.stride;
      dilates[d] = dim.rhs_dilation - 1;
      low[d] = dim.pad_low;
      // What the size of the result says; the given high padding may reach further.
      high[d] = (dim.out - 1) * dim.stride + (dim.kernel - 1) * dim.rhs_dilation + 1 - dim.in -
                dim.pad_low;
    }
    dnnl_convolution_desc_t op;
    if (dnnl_dilated_convolution_forward_desc_init(
            &op, dnnl_forward_inference, dnnl_convolution_direct, &lhs, &kernel, nullptr, &out,
            steps, dilates, low, high) != dnnl_success) {
      return false;
    }
    ASSIGN_OR_RETURN(conv_, Primitive::Create(&op, spec_.threads));
    if (conv_ == nullptr) return false;
    kernel_layout_ = conv_->Layout(dnnl_query_weights_md);
    conv_->AddArgument(DNNL_ARG_SRC, lhs);
    conv_->AddArgument(DNNL_ARG_WEIGHTS, kernel_layout_);
    conv_->AddArgument(DNNL_ARG_DST, out);
    return true;
  }

  // out = gradient of a forward convolution with stride lhs_dilation, whose result is lhs:
  //   s = p * lhs_dilation - low + t' * rhs_dilation,  low = (kernel - 1) * rhs_dilation - pad_low
  absl::StatusOr<bool> InitTransposed(const dnnl_memory_desc_t& lhs,
                                      const dnnl_memory_desc_t& kernel,
                                      const dnnl_memory_desc_t& out) {
    dnnl_dims_t steps = {}, dilates = {}, low = {}, high = {};
    for (size_t d = 0; d < spec_.spatial.size(); ++d) {
      const ConvDim& dim = spec_.spatial[d];
      const int64_t reach = (dim.kernel - 1) * dim.rhs_dilation;
      steps[d] = dim.lhs_dilation;
      dilates[d] = dim.rhs_dilation - 1;
      low[d] = reach - dim.pad_low;
      high[d] = (dim.in - 1) * dim.lhs_dilation + reach + 1 - dim.out - low[d];
      if (low[d] < 0 || high[d] < 0) return false;
    }
    dnnl_convolution_desc_t op, hint;
    if (dnnl_dilated_convolution_backward_data_desc_init(&op, dnnl_convolution_direct, &out,
                                                         &kernel, &lhs, steps, dilates, low,
                                                         high) != dnnl_success ||
        dnnl_dilated_convolution_forward_desc_init(
            &hint, dnnl_forward_training, dnnl_convolution_direct, &out, &kernel, nullptr, &lhs,
            steps, dilates, low, high) != dnnl_success) {
      return false;
    }
    ASSIGN_OR_RETURN(conv_, Primitive::Create(&op, spec_.threads, &hint));
    if (conv_ == nullptr) return false;
    kernel_layout_ = conv_->Layout(dnnl_query_weights_md);
    conv_->AddArgument(DNNL_ARG_DIFF_DST, lhs);
    conv_->AddArgument(DNNL_ARG_WEIGHTS, kernel_layout_);
    conv_->AddArgument(DNNL_ARG_DIFF_SRC, out);
    return true;
  }

  // Plans the copy of the kernel: turned round first if need be, then into the wanted layout.
  absl::StatusOr<bool> InitKernelCopy(const Vec& sizes, const Vec& strides) {
    Vec source_strides = strides;
    flip_sizes_ = sizes;
    flip_strides_ = strides;
    inner_bytes_ = conv_->scratch_bytes();
    if (flips_) {
      const size_t first = sizes.size() - spec_.spatial.size();
      for (size_t d = 0; d < spec_.spatial.size(); ++d) {
        const ConvDim& dim = spec_.spatial[d];
        if (dim.kernel <= 1 || dim.reversed == transposed_) continue;
        flip_start_ += (dim.kernel - 1) * dim.rhs_stride;
        flip_strides_[first + d] = -dim.rhs_stride;
      }
    }
    if (IsBlockedLayout(kernel_layout_)) {  // one copy does everything
      copies_blocked_ = true;
      packed_bytes_ = static_cast<int64_t>(dnnl_memory_desc_get_size(&kernel_layout_));
      return true;
    }
    if (flips_) {
      // The turned copy is dense, row-major over `sizes`.
      int64_t step = 1;
      for (size_t d = sizes.size(); d-- > 0; step *= sizes[d]) source_strides[d] = step;
      flipped_bytes_ = step * element_;
    }
    ASSIGN_OR_RETURN(const dnnl_memory_desc_t source,
                     onednn::Strided(sizes, source_strides, type_));
    if (dnnl_memory_desc_equal(&source, &kernel_layout_) == 0) {
      ASSIGN_OR_RETURN(reorder_, Primitive::CreateReorder(source, kernel_layout_, spec_.threads));
      packed_bytes_ = static_cast<int64_t>(dnnl_memory_desc_get_size(&kernel_layout_));
      inner_bytes_ = std::max(inner_bytes_, reorder_->scratch_bytes());
    }
    return true;
  }

  // The kernel in the wanted layout.
  absl::StatusOr<const void*> Weights(const void* rhs, char* scratch, ConvState& state,
                                      ThreadPool& pool) const {
    if (!flips_ && reorder_ == nullptr && !copies_blocked_) return rhs;
    if (spec_.rhs_constant && state.source == rhs) return state.packed;
    state.source = nullptr;
    char* memory = scratch;
    if (spec_.rhs_constant) {
      const int64_t bytes = AlignScratch(flipped_bytes_) + AlignScratch(packed_bytes_);
      if (state.memory == nullptr)
        state.memory.reset(std::aligned_alloc(kScratchAlignment, static_cast<size_t>(bytes)));
      if (state.memory != nullptr) memory = static_cast<char*>(state.memory.get());
    }
    ASSIGN_OR_RETURN(const void* const packed, Pack(rhs, memory, scratch, state, pool));
    state.packed = packed;
    if (memory != scratch) state.source = rhs;
    return packed;
  }

  // Into `flipped`, and what follows it.
  absl::StatusOr<const void*> Pack(const void* rhs, char* flipped, char* scratch, ConvState& state,
                                   ThreadPool& pool) const {
    char* const packed = flipped + AlignScratch(flipped_bytes_);
    const void* source = rhs;
    if (copies_blocked_) {
      CopyBlocked(static_cast<const float*>(rhs) + flip_start_, flip_strides_, kernel_layout_,
                  reinterpret_cast<float*>(packed), pool);
      return packed;
    }
    if (flips_) {
      const char* start = static_cast<const char*>(rhs) + flip_start_ * element_;
      const StridedBlock block{flip_sizes_, flip_strides_};
      if (type_ == dnnl_f32) {
        ReadBlock(ElementType::kF32, ElementType::kF32, Component::kReal, start, block,
                  reinterpret_cast<float*>(flipped));
      } else {  // 2-byte elements are moved, not converted
        CopyHalves(reinterpret_cast<const uint16_t*>(start), block,
                   reinterpret_cast<uint16_t*>(flipped));
      }
      source = flipped;
    }
    if (reorder_ == nullptr) return source;
    char* const inner = scratch + AlignScratch(flipped_bytes_) + AlignScratch(packed_bytes_);
    RETURN_IF_ERROR(reorder_->Run(state.reorder, {const_cast<void*>(source), packed}, inner, pool));
    return packed;
  }

  static void CopyHalves(const uint16_t* from, const StridedBlock& block, uint16_t* to) {
    std::vector<uint32_t> wide(1);
    int64_t count = 1;
    for (const int64_t size : block.sizes) count *= size;
    wide.resize(static_cast<size_t>(count));
    ReadBlock(ElementType::kU16, ElementType::kU32, Component::kReal, from, block, wide.data());
    std::copy(wide.begin(), wide.end(), to);
  }

  ConvSpec spec_;
  int64_t lhs_offset_;
  int64_t element_;
  bool transposed_ = false;
  bool flips_ = false;
  bool copies_blocked_ = false;  // the kernel is packed by CopyBlocked
  dnnl_data_type_t type_;
  std::unique_ptr<Primitive> conv_;
  std::unique_ptr<Primitive> reorder_;
  dnnl_memory_desc_t kernel_layout_;
  Vec flip_sizes_, flip_strides_;
  int64_t flip_start_ = 0;
  int64_t flipped_bytes_ = 0, packed_bytes_ = 0, inner_bytes_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ConvKernel>> MakeOneDnnConv(const ConvSpec& spec, const Host& host) {
  return OneDnnConv::Create(spec, host);
}

}  // namespace hlo::cpu
