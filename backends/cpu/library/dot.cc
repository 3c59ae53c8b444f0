#include "backends/cpu/library/dot.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/library/convert.h"
#include "backends/cpu/library/dot_engines.h"
#include "lib/math/accumulator.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

// A result of zeros (k is 0), or nothing at all (an empty result).
class EmptyDot final : public DotKernel {
 public:
  explicit EmptyDot(DotSpec spec) : spec_(std::move(spec)) {}
  int64_t scratch_bytes() const override { return 0; }
  std::string_view engine() const override { return "zero"; }
  void Run(const DotBuffers& buffers, ThreadPool&) const override {
    const int64_t bytes = ByteSize(spec_.out_type);
    // Not always zero bytes: scales have no zero, and make NaN of it.
    char zero[16] = {};
    if (IsFloat(spec_.out_type)) {
      const int64_t one = 1;
      const float sum = 0;
      WriteBlock(&sum, spec_.out_type, Component::kReal, {{&one, 1}, {&one, 1}}, zero);
    }
    const int64_t batches = BatchCount(spec_);
    for (int64_t batch = 0; batch < batches; ++batch) {
      char* out = static_cast<char*>(buffers.out) + BatchOffsets(spec_, batch).out * bytes;
      for (int64_t m = 0; m < spec_.m; ++m) {
        for (int64_t n = 0; n < spec_.n; ++n) {
          std::copy_n(zero, bytes, out + (m * spec_.out_m + n * spec_.out_n) * bytes);
        }
      }
    }
  }

 private:
  DotSpec spec_;
};

absl::Status CheckSpec(const DotSpec& spec) {
  RET_CHECK(IsArrayType(spec.lhs_type) && IsArrayType(spec.rhs_type) && IsArrayType(spec.out_type),
            "a dot of types without elements");
  RET_CHECK(spec.m >= 0 && spec.n >= 0 && spec.k >= 0, "a dot of negative size");
  RET_CHECK(spec.threads >= 1, "a dot for {} threads", spec.threads);
  RET_CHECK(!(IsInteger(spec.out_type) && (IsFloat(spec.lhs_type) || IsFloat(spec.rhs_type))),
            "a dot of floats has no integer result");
  return absl::OkStatus();
}

// Removes batch dimensions of size 1 and the strides of other dimensions of size 1.
DotSpec Normalize(DotSpec spec) {
  const auto is_one = [](const DotBatch& batch) { return batch.size == 1; };
  spec.batch.erase(std::remove_if(spec.batch.begin(), spec.batch.end(), is_one), spec.batch.end());
  if (spec.m == 1) spec.lhs_m = spec.out_m = 0;
  if (spec.n == 1) spec.rhs_n = spec.out_n = 0;
  if (spec.k == 1) spec.lhs_k = spec.rhs_k = 0;
  return spec;
}

// Several contracting dimensions: operands are packed by tables.
std::unique_ptr<DotKernel> MakeByTable(DotSpec spec, const DotTypes& types, const Host& host) {
  OperandTable lhs{OffsetsOf({{spec.m, spec.lhs_m}}), SumOffsets(spec, &DotSum::lhs, spec.lhs_k)};
  OperandTable rhs{OffsetsOf({{spec.n, spec.rhs_n}}), SumOffsets(spec, &DotSum::rhs, spec.rhs_k)};
  spec.k = SumCount(spec);
  spec.outer_k.clear();
  return MakeGemm(spec, types, host, std::move(lhs), std::move(rhs));
}

}  // namespace

DotSpec DotSpec::RowMajor(ElementType type, int64_t m, int64_t n, int64_t k) {
  DotSpec spec;
  spec.lhs_type = spec.rhs_type = spec.out_type = type;
  spec.m = m;
  spec.n = n;
  spec.k = k;
  spec.lhs_m = k;
  spec.lhs_k = 1;
  spec.rhs_k = n;
  spec.rhs_n = 1;
  spec.out_m = n;
  spec.out_n = 1;
  return spec;
}

std::vector<int64_t> OffsetsOf(absl::Span<const StridedDim> dims) {
  std::vector<int64_t> offsets = {0};
  for (const StridedDim& dim : dims) {
    std::vector<int64_t> longer;
    longer.reserve(offsets.size() * static_cast<size_t>(dim.size));
    for (const int64_t offset : offsets) {
      for (int64_t i = 0; i < dim.size; ++i) longer.push_back(offset + i * dim.stride);
    }
    offsets = std::move(longer);
  }
  return offsets;
}

std::vector<int64_t> SumOffsets(const DotSpec& spec, int64_t DotSum::*stride, int64_t k_stride) {
  std::vector<StridedDim> dims;
  for (const DotSum& sum : spec.outer_k) dims.push_back({sum.size, sum.*stride});
  dims.push_back({spec.k, k_stride});
  return OffsetsOf(dims);
}

int64_t SumCount(const DotSpec& spec) {
  int64_t count = spec.k;
  for (const DotSum& sum : spec.outer_k) count *= sum.size;
  return count;
}

int64_t BatchCount(const DotSpec& spec) {
  int64_t count = 1;
  for (const DotBatch& batch : spec.batch) count *= batch.size;
  return count;
}

DotBatch BatchOffsets(const DotSpec& spec, int64_t index) {
  DotBatch offsets;
  for (size_t d = spec.batch.size(); d-- > 0;) {
    const DotBatch& batch = spec.batch[d];
    const int64_t i = index % batch.size;
    index /= batch.size;
    offsets.lhs += i * batch.lhs;
    offsets.rhs += i * batch.rhs;
    offsets.out += i * batch.out;
  }
  return offsets;
}

ComputeType ComputeTypeFor(ElementType out) {
  const ElementType sum =
      AccumulatorType(math::Accumulation::kDot, ComponentType(out), math::Carrier::kCpu);
  if (IsFloat(sum)) return sum == ElementType::kF64 ? ComputeType::kF64 : ComputeType::kF32;
  // Counts of "true and true" stay below 2^32 in any pred dot that fits in memory.
  return IsPred(sum) || BitWidth(sum) <= 32 ? ComputeType::kU32 : ComputeType::kU64;
}

std::optional<StoredAs> StoredFor(ComputeType compute, ElementType type) {
  switch (compute) {
    case ComputeType::kF32:
      if (type == ElementType::kF32) return StoredAs::kSame;
      if (type == ElementType::kBF16) return StoredAs::kBf16;
      if (type == ElementType::kF16) return StoredAs::kF16;
      return std::nullopt;
    case ComputeType::kF64:
      if (type == ElementType::kF64) return StoredAs::kSame;
      return std::nullopt;
    case ComputeType::kU32:
      if (!IsInteger(type) || BitWidth(type) > 32) return std::nullopt;
      if (BitWidth(type) == 32) return StoredAs::kSame;
      if (BitWidth(type) == 16) return IsSigned(type) ? StoredAs::kS16 : StoredAs::kU16;
      return IsSigned(type) ? StoredAs::kS8 : StoredAs::kU8;  // narrower ones are kept extended
    case ComputeType::kU64:
      if (IsInteger(type) && BitWidth(type) == 64) return StoredAs::kSame;
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<DotTypes> DirectTypes(ElementType lhs, ElementType rhs, ElementType out) {
  const ComputeType compute = ComputeTypeFor(out);
  const auto stored_lhs = StoredFor(compute, lhs);
  const auto stored_rhs = StoredFor(compute, rhs);
  const auto stored_out = StoredFor(compute, out);
  if (!stored_lhs || !stored_rhs || !stored_out) return std::nullopt;
  // Operands become the type of the result first: a narrowing has to happen before the product.
  // For integers the order does not matter, but a result narrower than a byte needs wrapping.
  if (compute == ComputeType::kF32 && out != ElementType::kF32 && (lhs != out || rhs != out))
    return std::nullopt;
  if (IsInteger(out) && BitWidth(out) < 8) return std::nullopt;
  return DotTypes{compute, *stored_lhs, *stored_rhs, *stored_out};
}

absl::StatusOr<std::unique_ptr<DotKernel>> MakeDot(const DotSpec& asked, const Host& host) {
  RETURN_IF_ERROR(CheckSpec(asked));
  const DotSpec spec = Normalize(asked);
  if (SumCount(spec) == 0 || spec.m == 0 || spec.n == 0 || BatchCount(spec) == 0) {
    return std::make_unique<EmptyDot>(spec);
  }
  if (ComplexDotSuits(spec)) return MakeComplexDot(spec, host);
  const std::optional<DotTypes> types = DirectTypes(spec.lhs_type, spec.rhs_type, spec.out_type);
  const bool by_table = !spec.outer_k.empty();
  if (!types || (by_table && (types->lhs != StoredAs::kSame || types->rhs != StoredAs::kSame)))
    return MakeConvertedDot(spec, host);
  if (by_table) return MakeByTable(spec, *types, host);
  if (GemvSuits(spec, *types)) return MakeGemv(spec, *types, host);
  return MakeGemm(spec, *types, host);
}

}  // namespace hlo::cpu
