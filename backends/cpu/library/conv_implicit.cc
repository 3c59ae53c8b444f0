// Convolutions as one matrix product (conv.h) whose left operand is never written down: the row of
// an output position and the column of a kernel element add up to the address of what is
// multiplied, so the product packs its blocks from lhs itself, by a table of rows and one of
// columns; from rhs likewise.
//
//   out[b, s, o] = sum over (t, z) of lhs[at[b, s] + at[t, z]] * rhs[at[t, z] + at[o]]
//
// Where windows reach into padding or between dilated elements, lhs is copied first into an array
// that has these zeros. Rows are in the order of the result in memory, which must be a plain
// matrix. For the gradient of a kernel, whose windows are as large as the images, this is several
// times as fast as products of patches that are written down (conv_gemm.cc).
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "backends/cpu/library/conv.h"
#include "backends/cpu/library/convert.h"
#include "backends/cpu/library/dot_engines.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kLeastColumns = 4;            // below, most of each tile would be wasted
constexpr int64_t kMostTableEntries = 1 << 22;  // of both tables
constexpr int64_t kMostPadding = 8;             // how many times larger the copy of lhs may be
constexpr int64_t kFreeElements = 1 << 16;      // a copy so small may be

// A dimension of the rows (positions of the result) or of the columns (elements of the kernel).
struct Axis {
  int64_t size = 1;
  int64_t lhs = 0;    // step in lhs, as it is read
  int64_t other = 0;  // step in the result or the kernel
};
using Axes = absl::InlinedVector<Axis, 6>;

// Puts the axes in the order of memory. False if they are not one dense dimension there.
bool SortDense(Axes& axes) {
  const auto is_one = [](const Axis& axis) { return axis.size == 1; };
  axes.erase(std::remove_if(axes.begin(), axes.end(), is_one), axes.end());
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return a.other > b.other; });
  for (size_t i = 0; i + 1 < axes.size(); ++i) {
    if (axes[i].other != axes[i + 1].other * axes[i + 1].size) return false;
  }
  return true;
}

// Offsets by one of the steps.
std::vector<int64_t> OffsetsBy(const Axes& axes, int64_t Axis::*step) {
  std::vector<StridedDim> dims;
  for (const Axis& axis : axes) dims.push_back({axis.size, axis.*step});
  return OffsetsOf(dims);
}

int64_t SizeOf(const Axes& axes) {
  int64_t size = 1;
  for (const Axis& axis : axes) size *= axis.size;
  return size;
}

// A dimension of the copy of lhs.
struct CopyDim {
  int64_t size = 1;    // in the copy
  int64_t in = 1;      // in lhs
  int64_t stride = 0;  // of lhs
  int64_t low = 0;     // zeros before the first element; negative: elements left out
  int64_t dilation = 1;
  int64_t step = 0;  // stride of the copy

  // Index in lhs of an element of the copy, or -1 for a zero.
  int64_t Source(int64_t index) const {
    const int64_t at = index - low;
    return at < 0 || at % dilation != 0 || at / dilation >= in ? -1 : at / dilation;
  }
};

template <class T>
class ImplicitConv final : public ConvKernel {
 public:
  static std::unique_ptr<ConvKernel> Create(const ConvSpec& spec, const Host& host) {
    std::unique_ptr<ImplicitConv> conv(new ImplicitConv(spec));
    if (!conv->Plan(host)) return nullptr;
    return conv;
  }

  int64_t scratch_bytes() const override { return product_offset_ + product_->scratch_bytes(); }
  std::string_view engine() const override { return "implicit"; }
  absl::StatusOr<std::unique_ptr<KernelState>> MakeState() const override {
    return product_->MakeState();
  }

  absl::Status Run(const ConvBuffers& buffers, ThreadPool& pool) const override {
    char* const scratch = static_cast<char*>(buffers.scratch);
    DotBuffers product;
    product.lhs = buffers.lhs;
    if (copies_lhs_) {
      T* const copy = reinterpret_cast<T*>(scratch);
      CopyLhs(static_cast<const char*>(buffers.lhs), copy, pool);
      product.lhs = copy;
    }
    product.lhs = static_cast<const T*>(product.lhs) + lhs_start_;
    product.rhs = buffers.rhs;
    if (copies_rhs_) {
      T* const copy = reinterpret_cast<T*>(scratch + rhs_offset_);
      CopyRhs(static_cast<const char*>(buffers.rhs), copy, pool);
      product.rhs = copy;
    }
    product.out = buffers.out;
    product.scratch = scratch + product_offset_;
    product.state = buffers.state;
    product_->Run(product, pool);
    return absl::OkStatus();
  }

 private:
  explicit ImplicitConv(const ConvSpec& spec) : spec_(spec) {}

  // False where another implementation does better.
  bool Plan(const Host& host) {
    const int64_t groups = std::max(spec_.feature_groups, spec_.batch_groups);
    const std::optional<StoredAs> stored_out = StoredFor(Computed<T>::kCompute, spec_.out_type);
    const bool wraps = IsInteger(spec_.out_type) && BitWidth(spec_.out_type) < 8;
    if (!stored_out || wraps || spec_.out_features / groups < kLeastColumns) return false;
    if (!PlanLhs()) return false;
    DotSpec dot;
    dot.n = spec_.out_features / groups;
    OperandTable lhs, rhs;
    if (!PlanRows(dot, lhs) || !PlanColumns(dot, lhs, rhs)) return false;
    if (groups > 1) AddGroups(dot, groups);
    dot.threads = spec_.threads;
    const int64_t element = sizeof(T);
    rhs_offset_ = copies_lhs_ ? AlignScratch(copy_size_ * element) : 0;
    product_offset_ =
        rhs_offset_ + (copies_rhs_ ? AlignScratch(dot.k * spec_.out_features * element) : 0);
    const DotTypes types{Computed<T>::kCompute, StoredAs::kSame, StoredAs::kSame, *stored_out};
    product_ = MakeGemm(dot, types, host, std::move(lhs), std::move(rhs));
    return true;
  }

  // Whether the windows see nothing but elements of lhs, and how it is read: `copy_`, with the
  // steps of [batch, feature, spatial…], and `lhs_start_`.
  bool PlanLhs() {
    copies_lhs_ = spec_.lhs_type != Computed<T>::kType;
    copy_ = {{spec_.batch, spec_.batch, spec_.lhs_batch},
             {spec_.in_features, spec_.in_features, spec_.lhs_feature}};
    int64_t elements = spec_.batch * spec_.in_features;
    for (const ConvDim& d : spec_.spatial) {
      const int64_t reach = (d.out - 1) * d.stride + (d.kernel - 1) * d.rhs_dilation + 1;
      copies_lhs_ |= d.lhs_dilation != 1 || d.pad_low > 0 || reach - d.pad_low > d.in;
      copy_.push_back({reach, d.in, d.lhs_stride, d.pad_low, d.lhs_dilation});
      elements *= d.in;
    }
    if (!copies_lhs_) {
      for (CopyDim& dim : copy_) {
        dim.step = dim.stride;
        lhs_start_ -= dim.low * dim.stride;
      }
      return true;
    }
    // Dense, in the order that lhs has in memory.
    order_.resize(copy_.size());
    for (size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return copy_[a].stride > copy_[b].stride; });
    copy_size_ = 1;
    const int64_t most = std::max(kFreeElements, elements * kMostPadding);
    for (size_t i = order_.size(); i-- > 0;) {
      copy_[order_[i]].step = copy_size_;
      copy_size_ *= copy_[order_[i]].size;
      if (copy_size_ > most) return false;
    }
    return true;
  }

  const CopyDim& spatial(size_t d) const { return copy_[d + 2]; }

  // Positions of the result are rows; images a batch of products where they are no part of them.
  bool PlanRows(DotSpec& dot, OperandTable& lhs) const {
    Axes rows;
    for (size_t d = 0; d < spec_.spatial.size(); ++d) {
      const ConvDim& dim = spec_.spatial[d];
      rows.push_back({dim.out, dim.stride * spatial(d).step, dim.out_stride});
    }
    const Axis images = {spec_.out_batch_size(), copy_[0].step, spec_.out_batch};
    Axes all = rows;
    all.push_back(images);
    if (SortDense(all)) {
      rows = all;
    } else {
      if (!SortDense(rows)) return false;
      dot.batch.push_back({images.size, images.lhs, 0, images.other});
    }
    dot.m = SizeOf(rows);
    if (dot.m > kMostTableEntries) return false;
    dot.out_m = rows.empty() ? 0 : rows.back().other;
    dot.out_n = dot.n == 1 ? 0 : spec_.out_feature;
    lhs.outer = OffsetsBy(rows, &Axis::lhs);
    return true;
  }

  // Elements of the kernel are columns, in its order in memory. A reversed kernel is read as it
  // lies, and lhs backwards.
  bool PlanColumns(DotSpec& dot, OperandTable& lhs, OperandTable& rhs) {
    copies_rhs_ = spec_.rhs_type != Computed<T>::kType;
    int64_t step_out = copies_rhs_ ? 1 : spec_.rhs_out, dense = spec_.out_features;
    const int64_t features = spec_.in_features / spec_.feature_groups;
    Axes columns = {{features, copy_[1].step, copies_rhs_ ? dense : spec_.rhs_in}};
    dense *= features;
    for (size_t d = spec_.spatial.size(); d-- > 0;) {
      const ConvDim& dim = spec_.spatial[d];
      const int64_t step = dim.rhs_dilation * spatial(d).step;
      columns.push_back(
          {dim.kernel, dim.reversed ? -step : step, copies_rhs_ ? dense : dim.rhs_stride});
      if (dim.reversed) lhs_start_ += (dim.kernel - 1) * step;
      dense *= dim.kernel;
    }
    dot.k = SizeOf(columns);
    if (dot.k > kMostTableEntries) return false;
    SortDense(columns);
    dot.rhs_constant = spec_.rhs_constant && !copies_rhs_;
    lhs.k = OffsetsBy(columns, &Axis::lhs);
    rhs.k = OffsetsBy(columns, &Axis::other);
    rhs.outer = OffsetsOf({{dot.n, step_out}});
    return true;
  }

  void AddGroups(DotSpec& dot, int64_t groups) const {
    DotBatch batch;
    batch.size = groups;
    batch.lhs = spec_.feature_groups > 1 ? spec_.in_features / groups * copy_[1].step
                                         : spec_.out_batch_size() * copy_[0].step;
    batch.rhs = spec_.out_features / groups * (copies_rhs_ ? 1 : spec_.rhs_out);
    batch.out = spec_.out_features / groups * spec_.out_feature;
    dot.batch.push_back(batch);
  }

  // A row is all that neighbours along the last dimension of the copy.
  void CopyLhs(const char* source, T* copy, ThreadPool& pool) const {
    const CopyDim& last = copy_[order_.back()];
    pool.ParallelRanges(copy_size_ / last.size, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t rest = row, offset = 0;
        bool is_zero = false;
        for (size_t i = order_.size() - 1; i-- > 0;) {
          const CopyDim& dim = copy_[order_[i]];
          const int64_t index = dim.Source(rest % dim.size);
          rest /= dim.size;
          is_zero |= index < 0;
          offset += index * dim.stride;
        }
        T* const to = copy + row * last.size;
        if (is_zero) {
          std::fill_n(to, last.size, T{});
        } else {
          CopyRow(source + offset * ByteSize(spec_.lhs_type), last, to);
        }
      }
    });
  }

  void CopyRow(const char* source, const CopyDim& dim, T* to) const {
    // Elements first, first + 1, … of lhs, the first of them at `place`.
    const int64_t first = dim.low < 0 ? CeilDiv(-dim.low, dim.dilation) : 0;
    const int64_t place = dim.low + first * dim.dilation;
    const int64_t count =
        place >= dim.size ? 0 : std::min(dim.in - first, (dim.size - 1 - place) / dim.dilation + 1);
    if (count < dim.size) std::fill_n(to, dim.size, T{});
    if (count <= 0) return;
    const char* const from = source + first * dim.stride * ByteSize(spec_.lhs_type);
    if (dim.dilation == 1) return ReadElements(from, dim.stride, count, to + place);
    std::vector<T> values(static_cast<size_t>(count));
    ReadElements(from, dim.stride, count, values.data());
    for (int64_t i = 0; i < count; ++i)
      to[place + i * dim.dilation] = values[static_cast<size_t>(i)];
  }

  void ReadElements(const char* from, int64_t stride, int64_t count, T* to) const {
    if (spec_.lhs_type == Computed<T>::kType && (stride == 1 || count == 1)) {
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
    } else {
      ReadBlock(spec_.lhs_type, spec_.out_type, Component::kReal, from, {{&count, 1}, {&stride, 1}},
                to);
    }
  }

  // The kernel as [spatial…, feature in group, output feature], one tap at a time.
  void CopyRhs(const char* source, T* copy, ThreadPool& pool) const {
    const int64_t features = spec_.in_features / spec_.feature_groups;
    int64_t taps = 1;
    for (const ConvDim& d : spec_.spatial) taps *= d.kernel;
    const int64_t sizes[] = {features, spec_.out_features};
    const int64_t strides[] = {spec_.rhs_in, spec_.rhs_out};
    pool.ParallelRanges(taps, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t tap = begin; tap < end; ++tap) {
        int64_t rest = tap, offset = 0;
        for (size_t d = spec_.spatial.size(); d-- > 0;) {
          offset += rest % spec_.spatial[d].kernel * spec_.spatial[d].rhs_stride;
          rest /= spec_.spatial[d].kernel;
        }
        ReadBlock(spec_.rhs_type, spec_.out_type, Component::kReal,
                  source + offset * ByteSize(spec_.rhs_type), {sizes, strides},
                  copy + tap * features * spec_.out_features);
      }
    });
  }

  ConvSpec spec_;
  bool copies_lhs_ = false, copies_rhs_ = false;
  absl::InlinedVector<CopyDim, 6> copy_;  // of lhs: batch, feature, spatial…
  absl::InlinedVector<size_t, 6> order_;  // of the dimensions in the copy
  int64_t copy_size_ = 0;                 // elements
  int64_t lhs_start_ = 0;                 // element of row 0, column 0
  int64_t rhs_offset_ = 0, product_offset_ = 0;
  std::unique_ptr<DotKernel> product_;
};

}  // namespace

std::unique_ptr<ConvKernel> MakeImplicitConv(const ConvSpec& spec, const Host& host) {
  switch (ComputeTypeFor(spec.out_type)) {
    case ComputeType::kF32: return ImplicitConv<float>::Create(spec, host);
    case ComputeType::kF64: return ImplicitConv<double>::Create(spec, host);
    case ComputeType::kU32: return ImplicitConv<uint32_t>::Create(spec, host);
    case ComputeType::kU64: return ImplicitConv<uint64_t>::Create(spec, host);
  }
  return nullptr;
}

}  // namespace hlo::cpu
