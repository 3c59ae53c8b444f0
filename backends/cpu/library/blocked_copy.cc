#include "backends/cpu/library/blocked_copy.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace hlo::cpu {
namespace {

constexpr int kMaxRank = 8;
using Index = std::array<int64_t, kMaxRank>;

// The layout taken apart: outer counts and strides for each dimension, and two inner blocks, the
// outer of which may have size 1.
struct Blocks {
  int rank;
  Index size, outer, outer_stride;
  Index block;                        // elements of a dimension inside one inner block
  int rows_dim = 0, columns_dim = 0;  // dimensions of the inner blocks
  int64_t rows = 1, columns = 1;

  explicit Blocks(const dnnl_memory_desc_t& layout) : rank(layout.ndims) {
    const dnnl_blocking_desc_t& blocking = layout.format_desc.blocking;
    block.fill(1);
    const int last = blocking.inner_nblks - 1;
    columns_dim = static_cast<int>(blocking.inner_idxs[last]);
    columns = blocking.inner_blks[last];
    if (last == 1) {
      rows_dim = static_cast<int>(blocking.inner_idxs[0]);
      rows = blocking.inner_blks[0];
      block[static_cast<size_t>(rows_dim)] = rows;
    }
    block[static_cast<size_t>(columns_dim)] = columns;
    for (size_t d = 0; d < static_cast<size_t>(rank); ++d) {
      size[d] = layout.dims[d];
      outer[d] = layout.padded_dims[d] / block[d];
      outer_stride[d] = blocking.strides[d];
    }
  }
};

// One inner block: `rows` rows of `columns` elements, of which only some exist.
void CopyBlock(const float* from, int64_t row_stride, int64_t column_stride, const Blocks& b,
               int64_t valid_rows, int64_t valid_columns, float* to) {
  for (int64_t r = 0; r < b.rows; ++r, to += b.columns) {
    const int64_t valid = r < valid_rows ? valid_columns : 0;
    const float* row = from + r * row_stride;
    if (column_stride == 1) {
      std::copy_n(row, valid, to);
    } else {
      for (int64_t c = 0; c < valid; ++c) to[c] = row[c * column_stride];
    }
    std::fill(to + valid, to + b.columns, 0.0f);
  }
}

}  // namespace

bool IsBlockedLayout(const dnnl_memory_desc_t& layout) {
  if (layout.format_kind != dnnl_blocked || layout.data_type != dnnl_f32 || layout.ndims > kMaxRank)
    return false;
  const dnnl_blocking_desc_t& blocking = layout.format_desc.blocking;
  const bool two_dims =
      blocking.inner_nblks != 2 || blocking.inner_idxs[0] != blocking.inner_idxs[1];
  return (blocking.inner_nblks == 1 || blocking.inner_nblks == 2) && two_dims &&
         layout.offset0 == 0 && layout.extra.flags == 0;
}

void CopyBlocked(const float* from, absl::Span<const int64_t> strides,
                 const dnnl_memory_desc_t& layout, float* to, ThreadPool& pool) {
  const Blocks b(layout);
  const auto rank = static_cast<size_t>(b.rank);
  int64_t count = 1;
  for (size_t d = 0; d < rank; ++d) count *= b.outer[d];
  // Walks the source from its largest stride to its smallest, so that whole cache lines are used.
  std::array<size_t, kMaxRank> order{};
  for (size_t d = 0; d < rank; ++d) order[d] = d;
  std::stable_sort(order.begin(), order.begin() + b.rank,
                   [&](size_t x, size_t y) { return std::abs(strides[x]) > std::abs(strides[y]); });
  const int64_t row_stride = b.rows > 1 ? strides[static_cast<size_t>(b.rows_dim)] : 0;
  const int64_t column_stride = strides[static_cast<size_t>(b.columns_dim)];
  pool.ParallelRanges(count, 64, [&](int64_t first, int64_t last, int) {
    for (int64_t i = first; i < last; ++i) {
      int64_t rest = i, source = 0, target = 0;
      int64_t valid_rows = 1, valid_columns = 1;
      for (size_t level = rank; level-- > 0;) {
        const size_t d = order[level];
        const int64_t at = rest % b.outer[d];
        rest /= b.outer[d];
        source += at * b.block[d] * strides[d];
        target += at * b.outer_stride[d];
        const int64_t valid = std::clamp<int64_t>(b.size[d] - at * b.block[d], 0, b.block[d]);
        if (static_cast<int>(d) == b.columns_dim) {
          valid_columns = valid;
        } else if (b.rows > 1 && static_cast<int>(d) == b.rows_dim) {
          valid_rows = valid;
        } else if (valid == 0) {
          valid_rows = 0;
        }
      }
      CopyBlock(from + source, row_stride, column_stride, b, valid_rows, valid_columns,
                to + target);
    }
  });
}

}  // namespace hlo::cpu
