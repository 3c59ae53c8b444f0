// Products of element types without kernels (dot_engines.h): operands are converted into scratch
// memory once, multiplied in f32, f64 or integers, and the result is converted back. A complex
// product is four real ones.
#include <utility>

#include "backends/cpu/library/convert.h"
#include "backends/cpu/library/dot_engines.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

// Sizes and strides of an operand or the result, batch dimensions first.
struct BlockShape {
  absl::InlinedVector<int64_t, 6> sizes;
  absl::InlinedVector<int64_t, 6> strides;
  StridedBlock block() const { return {sizes, strides}; }
  void Add(int64_t size, int64_t stride) {
    sizes.push_back(size);
    strides.push_back(stride);
  }
};

BlockShape BatchesOf(const DotSpec& spec, int64_t DotBatch::*stride) {
  BlockShape shape;
  for (const DotBatch& batch : spec.batch) shape.Add(batch.size, batch.*stride);
  return shape;
}

BlockShape LhsOf(const DotSpec& spec) {
  BlockShape shape = BatchesOf(spec, &DotBatch::lhs);
  shape.Add(spec.m, spec.lhs_m);
  for (const DotSum& sum : spec.outer_k) shape.Add(sum.size, sum.lhs);
  shape.Add(spec.k, spec.lhs_k);
  return shape;
}

BlockShape RhsOf(const DotSpec& spec) {
  BlockShape shape = BatchesOf(spec, &DotBatch::rhs);
  for (const DotSum& sum : spec.outer_k) shape.Add(sum.size, sum.rhs);
  shape.Add(spec.k, spec.rhs_k);
  shape.Add(spec.n, spec.rhs_n);
  return shape;
}

BlockShape OutOf(const DotSpec& spec) {
  BlockShape shape = BatchesOf(spec, &DotBatch::out);
  shape.Add(spec.m, spec.out_m);
  shape.Add(spec.n, spec.out_n);
  return shape;
}

template <class T>
class ConvertedDot final : public DotKernel {
 public:
  ConvertedDot(const DotSpec& spec, std::unique_ptr<DotKernel> inner)
      : spec_(spec),
        inner_(std::move(inner)),
        lhs_(LhsOf(spec)),
        rhs_(RhsOf(spec)),
        out_(OutOf(spec)),
        batches_(BatchCount(spec)) {
    const int64_t element = sizeof(T);
    const int64_t sums = SumCount(spec);
    lhs_bytes_ = AlignScratch(batches_ * spec.m * sums * element);
    rhs_bytes_ = AlignScratch(batches_ * sums * spec.n * element);
    out_bytes_ = AlignScratch(batches_ * spec.m * spec.n * element);
  }

  int64_t scratch_bytes() const override {
    const int64_t copies = IsComplex(spec_.out_type) ? 2 : 1;
    return copies * (lhs_bytes_ + rhs_bytes_ + out_bytes_) + inner_->scratch_bytes();
  }

  std::string_view engine() const override { return "converted"; }

  void Run(const DotBuffers& buffers, ThreadPool& pool) const override {
    char* at = static_cast<char*>(buffers.scratch);
    const auto take = [&](int64_t bytes) {
      char* const taken = at;
      at += bytes;
      return reinterpret_cast<T*>(taken);
    };
    T* const lhs = take(lhs_bytes_);
    T* const rhs = take(rhs_bytes_);
    T* const out = take(out_bytes_);
    if (!IsComplex(spec_.out_type)) {
      Read(buffers, Component::kReal, lhs, rhs);
      inner_->Run({lhs, rhs, out, at}, pool);
      WriteBlock(out, spec_.out_type, Component::kReal, out_.block(), buffers.out);
      return;
    }
    T* const lhs_imaginary = take(lhs_bytes_);
    T* const rhs_imaginary = take(rhs_bytes_);
    T* const other = take(out_bytes_);
    Read(buffers, Component::kReal, lhs, rhs);
    Read(buffers, Component::kImaginary, lhs_imaginary, rhs_imaginary);
    const int64_t count = batches_ * spec_.m * spec_.n;
    inner_->Run({lhs, rhs, out, at}, pool);
    inner_->Run({lhs_imaginary, rhs_imaginary, other, at}, pool);
    for (int64_t i = 0; i < count; ++i) out[i] -= other[i];
    WriteBlock(out, spec_.out_type, Component::kReal, out_.block(), buffers.out);
    inner_->Run({lhs, rhs_imaginary, out, at}, pool);
    inner_->Run({lhs_imaginary, rhs, other, at}, pool);
    for (int64_t i = 0; i < count; ++i) out[i] += other[i];
    WriteBlock(out, spec_.out_type, Component::kImaginary, out_.block(), buffers.out);
  }

 private:
  void Read(const DotBuffers& buffers, Component component, T* lhs, T* rhs) const {
    ReadBlock(spec_.lhs_type, spec_.out_type, component, buffers.lhs, lhs_.block(), lhs);
    ReadBlock(spec_.rhs_type, spec_.out_type, component, buffers.rhs, rhs_.block(), rhs);
  }

  DotSpec spec_;
  std::unique_ptr<DotKernel> inner_;
  BlockShape lhs_, rhs_, out_;
  int64_t batches_;
  int64_t lhs_bytes_, rhs_bytes_, out_bytes_;
};

template <class T>
absl::StatusOr<std::unique_ptr<DotKernel>> Make(const DotSpec& spec, ElementType compute,
                                                const Host& host) {
  const int64_t sums = SumCount(spec);
  DotSpec inner = DotSpec::RowMajor(compute, spec.m, spec.n, sums);
  const int64_t batches = BatchCount(spec);
  if (batches > 1) inner.batch.push_back({batches, spec.m * sums, sums * spec.n, spec.m * spec.n});
  inner.threads = spec.threads;
  ASSIGN_OR_RETURN(std::unique_ptr<DotKernel> kernel, MakeDot(inner, host));
  return std::make_unique<ConvertedDot<T>>(spec, std::move(kernel));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DotKernel>> MakeConvertedDot(const DotSpec& spec, const Host& host) {
  const ElementType out = spec.out_type;
  switch (ComputeTypeFor(out)) {
    case ComputeType::kF32: return Make<float>(spec, ElementType::kF32, host);
    case ComputeType::kF64: return Make<double>(spec, ElementType::kF64, host);
    case ComputeType::kU32: return Make<uint32_t>(spec, ElementType::kU32, host);
    case ComputeType::kU64: return Make<uint64_t>(spec, ElementType::kU64, host);
  }
  return Internal("a dot of `{}`", Text(out));
}

}  // namespace hlo::cpu
