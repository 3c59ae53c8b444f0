// The blocked matrix product of dot_engines.h, after Goto and van de Geijn: a block of rhs is
// packed into strips that fit the third cache, a block of lhs into strips that fit the second, and
// the tile kernel runs over pairs of strips in the first.
//
// Work is split into rectangles of the result, one task each, that share nothing: a worker packs
// what its rectangle needs. The shape of the rectangles depends on the number of threads, the order
// of the sums does not.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "backends/cpu/library/dot_engines.h"
#include "lib/support/round.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kLhsBytes = 192 << 10;  // packed lhs block
constexpr int64_t kRhsBytes = 2 << 20;    // packed rhs block
constexpr int64_t kSumRows = 1024;        // rows per pass when sums need memory of their own
constexpr int64_t kInPlaceStrips = 8;     // lhs used by fewer rhs strips than this is not packed
constexpr int64_t kSerialWork = 20'000;   // multiply-adds below which one thread does it all
constexpr int64_t kTileWork = 1'024;      // times `group`: fewer leave tile registers mostly empty

int64_t Bytes(StoredAs as, int64_t compute_bytes) {
  switch (as) {
    case StoredAs::kSame: return compute_bytes;
    case StoredAs::kBf16:
    case StoredAs::kF16:
    case StoredAs::kS16:
    case StoredAs::kU16: return 2;
    case StoredAs::kS8:
    case StoredAs::kU8: return 1;
  }
  return compute_bytes;
}

// The kernels for a product of these types. Operands that packing turns into pairs, quads or tiles
// need no others.
template <class T>
const GemmKernels<T>& KernelsOf(const DotSpec& spec, const DotTypes& types, const Host& host) {
  const KernelTable& table = KernelsFor(host.level);
  const auto packs = [&](const GemmKernels<T>& kernels) {
    return kernels.pack_lhs[static_cast<int>(types.lhs)] != nullptr &&
           kernels.pack_rhs[static_cast<int>(types.rhs)] != nullptr;
  };
  const auto fills = [&](const GemmKernels<T>& tiles) {
    return packs(tiles) && spec.m * spec.n * spec.k >= kTileWork * tiles.group;
  };
  if constexpr (std::is_same_v<T, float>) {
    if (!spec.keeps_denormals && fills(table.bf16_tiles)) return table.bf16_tiles;
  }
  if constexpr (sizeof(T) == sizeof(uint32_t) && std::is_integral_v<T>) {
    for (const GemmKernels<T>& tiles : table.byte_tiles) {
      if (fills(tiles)) return tiles;
    }
    if (host.avx512_vnni && packs(table.signed_quads)) return table.signed_quads;
    if (host.avx512_vnni && packs(table.unsigned_quads)) return table.unsigned_quads;
    if (packs(table.pairs)) return table.pairs;
  }
  return table.gemm<T>();
}

// A packed copy of a whole constant rhs.
struct PackedRhs final : KernelState {
  const void* source = nullptr;
  AlignedMemory data;

  void ForgetOperands() override { source = nullptr; }
};

template <class T>
class Gemm final : public DotKernel {
 public:
  Gemm(const DotSpec& spec, const DotTypes& types, const Host& host, OperandTable lhs,
       OperandTable rhs)
      : spec_(spec),
        types_(types),
        swapped_(spec.out_n != 1 && spec.out_m == 1 && spec.n != 1),
        kernels_(KernelsOf<T>(
            spec, swapped_ ? DotTypes{types.compute, types.rhs, types.lhs, types.out} : types,
            host)),
        lhs_table_(std::move(lhs)),
        rhs_table_(std::move(rhs)) {
    if (swapped_) Transpose();
    lhs_bytes_ = Bytes(types_.lhs, sizeof(T));
    rhs_bytes_ = Bytes(types_.rhs, sizeof(T));
    out_bytes_ = Bytes(types_.out, sizeof(T));
    batches_ = BatchCount(spec_);
    depth_blocks_ = CeilDiv(spec_.k, int64_t{kernels_.depth});
    depth_ = RoundUp(CeilDiv(spec_.k, depth_blocks_), kernels_.group);
    direct_ = types_.out == StoredAs::kSame && (spec_.out_n == 1 || spec_.n == 1);
    keeps_sums_ = !direct_ && depth_blocks_ > 1;
    Split();
    PlanScratch();
  }

  int64_t scratch_bytes() const override { return worker_bytes_ * spec_.threads; }
  std::string_view engine() const override { return "gemm"; }
  absl::StatusOr<std::unique_ptr<KernelState>> MakeState() const override {
    std::unique_ptr<KernelState> state;
    if (spec_.rhs_constant && batches_ == 1 && !swapped_) state = std::make_unique<PackedRhs>();
    return state;
  }

  void Run(const DotBuffers& buffers, ThreadPool& pool) const override {
    const T* packed = nullptr;
    if (buffers.state != nullptr)
      packed = PackedOf(buffers.rhs, static_cast<PackedRhs&>(*buffers.state), pool);
    const int64_t rectangles = row_parts_ * column_parts_;
    auto task = [&](int64_t index, int worker) {
      const int64_t batch = index / rectangles;
      const int64_t rectangle = index % rectangles;
      RunRectangle(buffers, packed, batch, rectangle / column_parts_, rectangle % column_parts_,
                   worker);
    };
    const int64_t tasks = batches_ * rectangles;
    if (tasks == 1 || batches_ * spec_.m * spec_.n * spec_.k < kSerialWork) {
      for (int64_t index = 0; index < tasks; ++index) task(index, ThreadPool::CurrentWorker());
      return;
    }
    pool.ParallelFor(tasks, task);
  }

 private:
  // (A B)^T = B^T A^T: a result that is contiguous along m is computed as its transpose.
  void Transpose() {
    std::swap(spec_.m, spec_.n);
    std::swap(spec_.out_m, spec_.out_n);
    std::swap(spec_.lhs_m, spec_.rhs_n);
    std::swap(spec_.lhs_k, spec_.rhs_k);
    std::swap(types_.lhs, types_.rhs);
    for (DotBatch& batch : spec_.batch) std::swap(batch.lhs, batch.rhs);
    std::swap(lhs_table_, rhs_table_);
  }

  // Chooses the grid of rectangles: as many as there are threads, with the least packing done
  // twice.
  void Split() {
    const int64_t row_tiles = CeilDiv(spec_.m, kernels_.rows);
    const int64_t column_tiles = CeilDiv(spec_.n, kernels_.columns);
    if (batches_ >= spec_.threads || batches_ * spec_.m * spec_.n * spec_.k < kSerialWork) return;
    int64_t best = INT64_MAX;
    for (int64_t rows = 1; rows <= spec_.threads; ++rows) {
      const int64_t columns = spec_.threads / rows;
      const int64_t tall = CeilDiv(row_tiles, rows) * kernels_.rows;
      const int64_t wide = CeilDiv(column_tiles, columns) * kernels_.columns;
      // Time of a rectangle: its tiles, and packing each element at the price of a few
      // multiply-adds.
      constexpr int64_t kPackPrice = 16;
      const bool packs_rhs = !spec_.rhs_constant;
      const int64_t price = tall * wide + kPackPrice * (tall + (packs_rhs ? wide : 0));
      if (price >= best) continue;
      best = price;
      row_parts_ = std::min(rows, row_tiles);
      column_parts_ = std::min(columns, column_tiles);
    }
  }

  void PlanScratch() {
    const int64_t rows = RoundUp(CeilDiv(spec_.m, row_parts_) + kernels_.rows, kernels_.rows);
    const int64_t columns =
        RoundUp(CeilDiv(spec_.n, column_parts_) + kernels_.columns, kernels_.columns);
    const int64_t element = sizeof(T), depth = Packed(depth_);
    block_rows_ = std::min(
        rows, std::max<int64_t>(kLhsBytes / element / depth / kernels_.rows, 1) * kernels_.rows);
    block_columns_ =
        std::min(columns, std::max<int64_t>(kRhsBytes / element / depth / kernels_.columns, 1) *
                              kernels_.columns);
    lhs_in_place_ = lhs_table_.k.empty() && types_.lhs == StoredAs::kSame &&
                    (spec_.lhs_k == 1 || spec_.k == 1) &&
                    block_columns_ <= kInPlaceStrips * kernels_.columns;
    if (keeps_sums_) pass_rows_ = RoundUp(kSumRows, block_rows_);
    lhs_offset_ = 0;
    rhs_offset_ = AlignScratch(block_rows_ * depth * element);
    tile_offset_ = rhs_offset_ + AlignScratch(block_columns_ * depth * element);
    sums_offset_ = tile_offset_ + AlignScratch(int64_t{kernels_.rows} * kernels_.columns * element);
    sum_rows_ = keeps_sums_ ? std::min(pass_rows_, rows) : 0;
    worker_bytes_ = sums_offset_ + AlignScratch(sum_rows_ * block_columns_ * element);
  }

  struct Worker {
    T* lhs;
    T* rhs;
    T* tile;
    T* sums;
  };

  // The part of the result a task computes, and where everything is.
  struct Rectangle {
    int64_t m0, m1, n0, n1;
    const char* lhs;
    const char* rhs;
    char* out;
    const T* packed;  // whole packed rhs or null
  };

  void RunRectangle(const DotBuffers& buffers, const T* packed, int64_t batch, int64_t row_part,
                    int64_t column_part, int worker) const {
    char* const base = static_cast<char*>(buffers.scratch) + worker_bytes_ * worker;
    const Worker memory{
        reinterpret_cast<T*>(base + lhs_offset_), reinterpret_cast<T*>(base + rhs_offset_),
        reinterpret_cast<T*>(base + tile_offset_), reinterpret_cast<T*>(base + sums_offset_)};
    const DotBatch offset = BatchOffsets(spec_, batch);
    const void* lhs = swapped_ ? buffers.rhs : buffers.lhs;
    const void* rhs = swapped_ ? buffers.lhs : buffers.rhs;
    const int64_t row_tiles = CeilDiv(spec_.m, kernels_.rows);
    const int64_t column_tiles = CeilDiv(spec_.n, kernels_.columns);
    Rectangle r;
    r.m0 = row_tiles * row_part / row_parts_ * kernels_.rows;
    r.m1 = std::min(spec_.m, row_tiles * (row_part + 1) / row_parts_ * kernels_.rows);
    r.n0 = column_tiles * column_part / column_parts_ * kernels_.columns;
    r.n1 = std::min(spec_.n, column_tiles * (column_part + 1) / column_parts_ * kernels_.columns);
    r.lhs = static_cast<const char*>(lhs) + offset.lhs * lhs_bytes_;
    r.rhs = static_cast<const char*>(rhs) + offset.rhs * rhs_bytes_;
    r.out = static_cast<char*>(buffers.out) + offset.out * out_bytes_;
    r.packed = packed;
    for (int64_t m = r.m0; m < r.m1; m += pass_rows_) {
      RunPass(r, m, std::min(r.m1, m + pass_rows_), memory);
    }
  }

  // Rows [m0, m1) of the rectangle.
  void RunPass(const Rectangle& r, int64_t m0, int64_t m1, const Worker& memory) const {
    for (int64_t n = r.n0; n < r.n1; n += block_columns_) {
      const int64_t n_end = std::min(r.n1, n + block_columns_);
      for (int64_t k = 0; k < spec_.k; k += depth_) {
        const int64_t depth = std::min(depth_, spec_.k - k);
        const T* rhs = memory.rhs;
        if (r.packed != nullptr) {
          rhs = r.packed + Packed(k) * PackedColumns() + n * Packed(depth);
        } else {
          PackRhs(r.rhs, n, n_end, k, depth, memory.rhs);
        }
        for (int64_t m = m0; m < m1; m += block_rows_) {
          const int64_t m_end = std::min(m1, m + block_rows_);
          if (!lhs_in_place_) PackLhs(r.lhs, m, m_end, k, depth, memory.lhs);
          RunBlock(r, {m, m_end, n, n_end, k, depth, m0}, rhs, memory);
        }
      }
    }
  }

  void PackLhs(const char* lhs, int64_t m, int64_t m_end, int64_t k, int64_t depth,
               T* packed) const {
    const PackFn pack = kernels_.pack_lhs[static_cast<int>(types_.lhs)];
    for (int64_t i = m; i < m_end; i += kernels_.rows, packed += kernels_.rows * Packed(depth)) {
      const auto count = static_cast<int>(std::min<int64_t>(kernels_.rows, m_end - i));
      if (!lhs_table_.k.empty()) {
        kernels_.pack_lhs_table(lhs, &lhs_table_.outer[static_cast<size_t>(i)],
                                &lhs_table_.k[static_cast<size_t>(k)], count, depth, packed);
        continue;
      }
      pack(lhs + (i * spec_.lhs_m + k * spec_.lhs_k) * lhs_bytes_, spec_.lhs_m, spec_.lhs_k, count,
           depth, packed);
    }
  }

  void PackRhs(const char* rhs, int64_t n, int64_t n_end, int64_t k, int64_t depth,
               T* packed) const {
    const PackFn pack = kernels_.pack_rhs[static_cast<int>(types_.rhs)];
    for (int64_t j = n; j < n_end;
         j += kernels_.columns, packed += kernels_.columns * Packed(depth)) {
      const auto count = static_cast<int>(std::min<int64_t>(kernels_.columns, n_end - j));
      if (!rhs_table_.k.empty()) {
        kernels_.pack_rhs_table(rhs, &rhs_table_.outer[static_cast<size_t>(j)],
                                &rhs_table_.k[static_cast<size_t>(k)], count, depth, packed);
        continue;
      }
      pack(rhs + (j * spec_.rhs_n + k * spec_.rhs_k) * rhs_bytes_, spec_.rhs_n, spec_.rhs_k, count,
           depth, packed);
    }
  }

  struct Block {
    int64_t m, m_end, n, n_end, k, depth;
    int64_t pass_m;  // first row of the pass
  };

  // The sums of one tile, at (m, n).
  void RunTile(const Rectangle& r, const Block& b, int64_t m, int rows, const T* column_strip,
               T* tile, int64_t stride, bool accumulate, const Worker& memory) const {
    if (lhs_in_place_) {
      const T* const lhs = reinterpret_cast<const T*>(r.lhs) + m * spec_.lhs_m + b.k * spec_.lhs_k;
      kernels_.tile_in_place[rows](b.depth, lhs, spec_.lhs_m, column_strip, tile, stride,
                                   accumulate);
    } else {
      const int64_t depth = Packed(b.depth);
      kernels_.tile(depth, memory.lhs + (m - b.m) * depth, column_strip, tile, stride, accumulate);
    }
  }

  // Rows of lhs where they are need not be whole tiles: 16 are two tiles of 8, not 12 and a rest
  // that keeps the processor no busier than 12 would.
  int64_t TileRows(int64_t rows) const {
    if (!lhs_in_place_) return kernels_.rows;
    return CeilDiv(rows, CeilDiv(rows, kernels_.rows));
  }

  // All tiles of one lhs block and one packed rhs block.
  void RunBlock(const Rectangle& r, const Block& b, const T* rhs, const Worker& memory) const {
    const int64_t most_rows = TileRows(b.m_end - b.m);
    for (int64_t n = b.n; n < b.n_end; n += kernels_.columns) {
      const T* column_strip = rhs + (n - b.n) * Packed(b.depth);
      const auto columns = static_cast<int>(std::min<int64_t>(kernels_.columns, b.n_end - n));
      for (int64_t m = b.m; m < b.m_end; m += most_rows) {
        const auto rows = static_cast<int>(std::min(most_rows, b.m_end - m));
        if (direct_) {
          RunDirectTile(r, b, m, n, rows, columns, column_strip, memory);
        } else {
          RunConvertedTile(r, b, m, n, rows, columns, column_strip, memory);
        }
      }
    }
  }

  // The result holds T with unit column stride: sums accumulate in place.
  void RunDirectTile(const Rectangle& r, const Block& b, int64_t m, int64_t n, int rows,
                     int columns, const T* column_strip, const Worker& memory) const {
    T* const out = reinterpret_cast<T*>(r.out) + m * spec_.out_m + n * spec_.out_n;
    const bool is_whole = lhs_in_place_ || rows == kernels_.rows;
    if (is_whole && columns == kernels_.columns) {
      RunTile(r, b, m, rows, column_strip, out, spec_.out_m, b.k > 0, memory);
    } else {
      RunTile(r, b, m, rows, column_strip, memory.tile, kernels_.columns, false, memory);
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
          T& to = out[i * spec_.out_m + j];
          const T from = memory.tile[i * kernels_.columns + j];
          to = b.k > 0 ? to + from : from;
        }
      }
    }
  }

  // The result needs rounding or scattering: sums live in `memory.sums` until they are complete.
  void RunConvertedTile(const Rectangle& r, const Block& b, int64_t m, int64_t n, int rows,
                        int columns, const T* column_strip, const Worker& memory) const {
    T* tile = memory.tile;
    if (keeps_sums_) {
      const int64_t strip = (n - b.n) / kernels_.columns;
      tile = memory.sums + (strip * sum_rows_ + (m - b.pass_m)) * kernels_.columns;
    }
    RunTile(r, b, m, rows, column_strip, tile, kernels_.columns, b.k > 0, memory);
    if (b.k + b.depth != spec_.k) return;
    kernels_.store[static_cast<int>(types_.out)](
        tile, kernels_.columns, rows, columns,
        r.out + (m * spec_.out_m + n * spec_.out_n) * out_bytes_, spec_.out_m, spec_.out_n);
  }

  // Ts that a packed row or column takes for so many neighbours along k.
  int64_t Packed(int64_t depth) const { return CeilDiv(depth, kernels_.group) * kernels_.words; }
  int64_t PackedColumns() const { return RoundUp(spec_.n, kernels_.columns); }

  // The packed copy of a constant rhs; made at the first run with this address, null when there is
  // no memory for it. Layout: blocks of `depth_` along k, in each the strips along n.
  const T* PackedOf(const void* rhs, PackedRhs& kept, ThreadPool& pool) const {
    if (kept.source == rhs) return static_cast<const T*>(kept.data.get());
    const auto bytes =
        static_cast<size_t>(AlignScratch(PackedColumns() * Packed(spec_.k) * int64_t{sizeof(T)}));
    kept.source = nullptr;
    if (kept.data == nullptr) kept.data.reset(std::aligned_alloc(kScratchAlignment, bytes));
    T* const packed = static_cast<T*>(kept.data.get());
    if (packed == nullptr) return nullptr;
    pool.ParallelFor(CeilDiv(spec_.n, kernels_.columns), [&](int64_t strip, int) {
      const int64_t n = strip * kernels_.columns;
      const int64_t n_end = std::min(spec_.n, n + kernels_.columns);
      for (int64_t k = 0; k < spec_.k; k += depth_) {
        const int64_t depth = std::min(depth_, spec_.k - k);
        PackRhs(static_cast<const char*>(rhs), n, n_end, k, depth,
                packed + Packed(k) * PackedColumns() + n * Packed(depth));
      }
    });
    kept.source = rhs;
    return packed;
  }

  DotSpec spec_;
  DotTypes types_;
  bool swapped_;  // computes the transpose
  const GemmKernels<T>& kernels_;
  OperandTable lhs_table_, rhs_table_;
  bool direct_ = false;        // sums accumulate in the result
  bool keeps_sums_ = false;    // sums need memory between blocks of k
  bool lhs_in_place_ = false;  // lhs is read where it is
  int64_t lhs_bytes_, rhs_bytes_, out_bytes_;
  int64_t batches_ = 1;
  int64_t row_parts_ = 1, column_parts_ = 1;
  int64_t depth_blocks_, depth_;
  int64_t block_rows_, block_columns_;
  int64_t pass_rows_ = INT64_MAX / 4;
  int64_t sum_rows_ = 0;
  int64_t lhs_offset_, rhs_offset_, tile_offset_, sums_offset_, worker_bytes_;
};

}  // namespace

std::unique_ptr<DotKernel> MakeGemm(const DotSpec& spec, const DotTypes& types, const Host& host,
                                    OperandTable lhs, OperandTable rhs) {
  switch (types.compute) {
    case ComputeType::kF32:
      return std::make_unique<Gemm<float>>(spec, types, host, std::move(lhs), std::move(rhs));
    case ComputeType::kF64:
      return std::make_unique<Gemm<double>>(spec, types, host, std::move(lhs), std::move(rhs));
    case ComputeType::kU32:
      return std::make_unique<Gemm<uint32_t>>(spec, types, host, std::move(lhs), std::move(rhs));
    case ComputeType::kU64:
      return std::make_unique<Gemm<uint64_t>>(spec, types, host, std::move(lhs), std::move(rhs));
  }
  return nullptr;
}

}  // namespace hlo::cpu
