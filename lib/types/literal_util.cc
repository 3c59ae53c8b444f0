// lib/types/literal_util.cc
//
// Whole-array operations on literals: convert, and the movements that are one strided copy.
#include <algorithm>
#include <cstring>

#include "lib/support/status.h"
#include "lib/types/element_access.h"
#include "lib/types/literal.h"

namespace hlo {
namespace {

// Elements are widened in blocks that stay in the first-level cache.
constexpr int64_t kBlock = 512;

template <class Wide, class Read, class Write>
void ConvertBlocks(int64_t count, Read read, Write write) {
  Wide block[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    read(begin, n, block);
    write(begin, n, block);
  }
}

void ConvertElements(ElementType from, ElementType to, const uint8_t* source, int64_t count,
                     uint8_t* target) {
  const int from_size = ByteSize(from), to_size = ByteSize(to);
  if (IsInteger(from) || IsPred(from)) {
    ConvertBlocks<int64_t>(
        count,
        [&](int64_t at, int64_t n, int64_t* w) { ReadInts(from, source + at * from_size, n, w); },
        [&](int64_t at, int64_t n, const int64_t* w) {
          WriteInts(to, w, n, IsUnsigned(from), target + at * to_size);
        });
  } else if (IsComplex(from)) {
    using Complex = std::complex<double>;
    ConvertBlocks<Complex>(
        count,
        [&](int64_t at, int64_t n, Complex* w) {
          ReadComplexes(from, source + at * from_size, n, w);
        },
        [&](int64_t at, int64_t n, const Complex* w) {
          WriteComplexes(to, w, n, target + at * to_size);
        });
  } else {
    // f64 becomes f16 and bf16 by way of f32, as XLA does it on every platform.
    const bool through_f32 =
        from == ElementType::kF64 && (to == ElementType::kF16 || to == ElementType::kBF16);
    ConvertBlocks<double>(
        count,
        [&](int64_t at, int64_t n, double* w) { ReadDoubles(from, source + at * from_size, n, w); },
        [&](int64_t at, int64_t n, double* w) {
          if (through_f32)
            std::transform(w, w + n, w, [](double x) { return static_cast<float>(x); });
          WriteDoubles(to, w, n, target + at * to_size);
        });
  }
}

// A copy whose source moves by `strides[d]` elements for each step along dimension d of the (dense)
// target.
struct StridedCopy {
  absl::Span<const int64_t> dims;
  absl::Span<const int64_t> strides;
  int size;  // bytes of an element

  template <class Unit>
  void CopyRow(const uint8_t* source, int64_t count, int64_t stride, uint8_t* target) const {
    const auto* from = reinterpret_cast<const Unit*>(source);
    auto* to = reinterpret_cast<Unit*>(target);
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  }

  void Row(const uint8_t* source, int64_t count, int64_t stride, uint8_t* target) const {
    struct Sixteen {
      uint64_t words[2];
    };
    if (stride == 1) {
      std::memcpy(target, source, count * size);
    } else if (size == 1) {
      CopyRow<uint8_t>(source, count, stride, target);
    } else if (size == 2) {
      CopyRow<uint16_t>(source, count, stride, target);
    } else if (size == 4) {
      CopyRow<uint32_t>(source, count, stride, target);
    } else if (size == 8) {
      CopyRow<uint64_t>(source, count, stride, target);
    } else {
      CopyRow<Sixteen>(source, count, stride, target);
    }
  }

  void Run(const uint8_t* source, uint8_t* target) const {
    if (dims.empty()) {
      std::memcpy(target, source, size);
      return;
    }
    const int64_t last = static_cast<int64_t>(dims.size()) - 1;
    const absl::Span<const int64_t> outer = dims.first(last);
    const int64_t row = dims[last];
    DimVec index(outer.size(), 0);
    do {
      int64_t offset = 0;
      for (int64_t d = 0; d < last; ++d) offset += index[d] * strides[d];
      Row(source + offset * size, row, strides[last], target);
      target += row * size;
    } while (NextIndex(absl::MakeSpan(index), outer));
  }
};

// The literal of shape `to` whose element i comes from `base` + sum of i[d] * strides[d] in `from`.
Literal Gathered(const Literal& from, Shape to, int64_t base, const DimVec& strides) {
  if (from.is_elided()) return Literal::Elided(to);
  Literal result(to);
  if (to.element_count() == 0) return result;
  const int size = ByteSize(to.element_type());
  StridedCopy{to.dims(), strides, size}.Run(from.data() + base * size, result.mutable_data());
  return result;
}

}  // namespace

Literal Literal::Reshaped(Shape shape) const {
  Literal result = *this;
  result.shape_ = shape;
  return result;
}

absl::StatusOr<Literal> Literal::Converted(ElementType type) const {
  if (!shape_.IsArray() || !IsArrayType(type)) {
    return Error("cannot convert a literal of shape `{}` to `{}`, expected arrays", shape_,
                 Text(type));
  }
  if (type == element_type()) return *this;
  const Shape shape = shape_.WithElementType(type);
  if (elided_) return Elided(shape);
  Literal result(shape);
  ConvertElements(element_type(), type, data(), element_count(), result.mutable_data());
  return result;
}

Literal Literal::Transposed(absl::Span<const int64_t> permutation) const {
  const DimVec strides = Permute(RowMajorStrides(shape_.dims()), permutation);
  return Gathered(*this, shape_.WithDimensions(Permute(shape_.dims(), permutation)), 0, strides);
}

Literal Literal::Slice(absl::Span<const int64_t> starts, absl::Span<const int64_t> limits,
                       absl::Span<const int64_t> strides) const {
  const DimVec source_strides = RowMajorStrides(shape_.dims());
  DimVec dims(starts.size()), steps(starts.size());
  int64_t base = 0;
  for (size_t d = 0; d < starts.size(); ++d) {
    dims[d] = (limits[d] - starts[d] + strides[d] - 1) / strides[d];
    steps[d] = source_strides[d] * strides[d];
    base += source_strides[d] * starts[d];
  }
  return Gathered(*this, shape_.WithDimensions(dims), base, steps);
}

Literal Literal::Broadcast(Shape shape, absl::Span<const int64_t> dimensions) const {
  const DimVec source_strides = RowMajorStrides(shape_.dims());
  DimVec strides(shape.rank(), 0);
  for (size_t d = 0; d < dimensions.size(); ++d) strides[dimensions[d]] = source_strides[d];
  return Gathered(*this, shape, 0, strides);
}

Literal Literal::ElementAt(int64_t linear) const {
  return Gathered(*this, Shape::Scalar(element_type()), linear, {});
}

}  // namespace hlo
