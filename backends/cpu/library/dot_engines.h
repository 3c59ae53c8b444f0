// backends/cpu/library/dot_engines.h
//
// The implementations behind dot.h. Internal to this folder. Each maker is given a spec whose
// numbers are checked: sizes at least 1, k at least 1, strides of dimensions of size 1 set to 0.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cpu/library/dot.h"
#include "backends/cpu/library/kernels.h"
#include "lib/support/round.h"

namespace hlo::cpu {

// The type our own kernels compute in, and how an operand or the result is stored, seen from there.
enum class ComputeType { kF32, kF64, kU32, kU64 };
struct DotTypes {
  ComputeType compute = ComputeType::kF32;
  StoredAs lhs = StoredAs::kSame;
  StoredAs rhs = StoredAs::kSame;
  StoredAs out = StoredAs::kSame;
};

// What a C++ type of our kernels is called in the two other ways.
template <class T>
struct Computed;
template <>
struct Computed<float> {
  static constexpr ElementType kType = ElementType::kF32;
  static constexpr ComputeType kCompute = ComputeType::kF32;
};
template <>
struct Computed<double> {
  static constexpr ElementType kType = ElementType::kF64;
  static constexpr ComputeType kCompute = ComputeType::kF64;
};
template <>
struct Computed<uint32_t> {
  static constexpr ElementType kType = ElementType::kU32;
  static constexpr ComputeType kCompute = ComputeType::kU32;
};
template <>
struct Computed<uint64_t> {
  static constexpr ElementType kType = ElementType::kU64;
  static constexpr ComputeType kCompute = ComputeType::kU64;
};

// What sums for results of a type are computed in; of complex ones, their components.
ComputeType ComputeTypeFor(ElementType out);
// The types of a dot if our packed kernels read and write all of them directly.
std::optional<DotTypes> DirectTypes(ElementType lhs, ElementType rhs, ElementType out);

// How elements of a type are stored, seen from the type of the computation; nullopt: not directly.
std::optional<StoredAs> StoredFor(ComputeType compute, ElementType type);

// Where the elements of an operand are that no strides describe: that of row (or column) i and
// place k in the sums at outer[i] + k[k]. Such an operand is stored as kSame; the strides that the
// spec gives for it mean nothing. An empty table: the strides count.
struct OperandTable {
  std::vector<int64_t> outer, k;
};

// A dimension with its stride in one operand; and the offsets of an array of them, row-major.
struct StridedDim {
  int64_t size = 1;
  int64_t stride = 0;
};
std::vector<int64_t> OffsetsOf(absl::Span<const StridedDim> dims);

// Blocked product with packed operands; any strides.
std::unique_ptr<DotKernel> MakeGemm(const DotSpec& spec, const DotTypes& types, const Host& host,
                                    OperandTable lhs = {}, OperandTable rhs = {});

// All that is summed: `k` and what is around it.
int64_t SumCount(const DotSpec& spec);
// Where its elements lie in an operand, whose strides are `stride` and that of `k`.
std::vector<int64_t> SumOffsets(const DotSpec& spec, int64_t DotSum::*stride, int64_t k_stride);

// Few rows or few columns: one pass over the big operand. `Suits` says whether it applies.
bool GemvSuits(const DotSpec& spec, const DotTypes& types);
std::unique_ptr<DotKernel> MakeGemv(const DotSpec& spec, const DotTypes& types, const Host& host);

// Complex numbers, as one real product. `Suits` says whether it applies.
bool ComplexDotSuits(const DotSpec& spec);
absl::StatusOr<std::unique_ptr<DotKernel>> MakeComplexDot(const DotSpec& spec, const Host& host);

// Any element types: converts operands into scratch memory, multiplies there, converts the result.
absl::StatusOr<std::unique_ptr<DotKernel>> MakeConvertedDot(const DotSpec& spec, const Host& host);

// Number of batch entries, and the offsets of entry `index` (row-major over the batch dimensions).
int64_t BatchCount(const DotSpec& spec);
DotBatch BatchOffsets(const DotSpec& spec, int64_t index);  // `size` is unused

inline constexpr int64_t kScratchAlignment = 64;
constexpr int64_t AlignScratch(int64_t bytes) { return RoundUp(bytes, kScratchAlignment); }

}  // namespace hlo::cpu
