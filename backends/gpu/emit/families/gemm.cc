#include "backends/gpu/emit/families/gemm.h"

#include <algorithm>

#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr SimtTile kSmallSimtTile = {16, 16, 1};
constexpr SimtTile kLargeSimtTile = {64, 16, 4};
constexpr SimtTile kLargestSimtTile = {128, 16, 8};
constexpr MmaTile kSmallMmaTile = {64, 2, 2};
constexpr MmaTile kLargeMmaTile = {128, 4, 2};

// Row and column tiles of block `number`: bands of a few rows of tiles, so that blocks that run at
// the same time share what they read.
GemmTile TileOf(KernelBuilder& k, int size, int64_t row_tiles, int64_t column_tiles) {
  constexpr int64_t kBand = 8;
  llvm::Value* const number = k.Rem(k.BlockIndex(), row_tiles * column_tiles);
  llvm::Value* row = nullptr;
  llvm::Value* column = nullptr;
  if (row_tiles % kBand == 0) {
    llvm::Value* const in_band = k.Rem(number, kBand * column_tiles);
    row = k.Add(k.Scale(k.Div(number, kBand * column_tiles), kBand), k.Rem(in_band, kBand));
    column = k.Div(in_band, kBand);
  } else {
    row = k.Div(number, column_tiles);
    column = k.Rem(number, column_tiles);
  }
  return {k.Div(k.BlockIndex(), row_tiles * column_tiles), k.Scale(row, size),
          k.Scale(column, size)};
}

}  // namespace

std::optional<MmaKind> MmaKindFor(ElementType lhs, ElementType rhs, ElementType result,
                                  DotAlgorithm algorithm, const GemmSizes& sizes) {
  constexpr int64_t kLeast = 16;
  if (std::min({sizes.rows, sizes.columns, sizes.depth}) < kLeast) return std::nullopt;
  if (lhs != rhs || !IsFloat(result) || BitWidth(result) > 32) return std::nullopt;
  if (lhs == ElementType::kBF16) return MmaKind::kBf16;
  if (lhs == ElementType::kF16) return MmaKind::kF16;
  if (lhs != ElementType::kF32) return std::nullopt;
  if (algorithm == DotAlgorithm::kTF32TF32F32) return MmaKind::kTf32;
  if (algorithm == DotAlgorithm::kBF16BF16F32) return MmaKind::kBf16;
  return std::nullopt;
}

absl::Status AddGemm(const GpuFrame& frame, const GemmRequest& request, KernelPlan& plan) {
  const GemmSizes& sizes = request.sizes;
  // Large tiles where they fill the multiprocessors.
  const auto tiles = [&](int64_t size) {
    return sizes.batch * CeilDiv(sizes.rows, size) * CeilDiv(sizes.columns, size);
  };
  constexpr int64_t kEnoughBlocks = 100;
  const int64_t least = std::min(sizes.rows, sizes.columns);
  // Factors that are rounded on the way to a tile take registers.
  const bool as_they_are = request.mma != MmaKind::kBf16 || request.factor_bits == 16;
  const MmaTile mma =
      as_they_are && least > kSmallMmaTile.size && tiles(kLargeMmaTile.size) >= kEnoughBlocks
          ? kLargeMmaTile
          : kSmallMmaTile;
  const SimtTile simt = least > kLargeSimtTile.size && request.large_tiles &&
                                tiles(kLargestSimtTile.size) >= kEnoughBlocks
                            ? kLargestSimtTile
                        : least > kSmallSimtTile.size && !request.small_tiles ? kLargeSimtTile
                                                                              : kSmallSimtTile;
  const int size = request.mma ? mma.size : simt.size;
  const int threads = request.mma ? mma.threads() : simt.threads();
  const int64_t row_tiles = CeilDiv(sizes.rows, size), column_tiles = CeilDiv(sizes.columns, size);
  const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k) {
    // Tiles that are not full ask where they end, which takes registers.
    const bool is_whole = sizes.rows % size == 0 && sizes.columns % size == 0;
    if (request.mma && size == kLargeMmaTile.size && is_whole) k.WantBlocksTogether(2);
    const ProductSum sum = request.sum(emitter);
    const Gemm gemm = request.make(emitter, sum);
    const GemmTile at = TileOf(k, size, row_tiles, column_tiles);
    return request.mma ? EmitMmaGemm(emitter, sizes, gemm, *request.mma, mma, at)
                       : EmitSimtGemm(emitter, sizes, gemm, sum, simt, at);
  };
  ASSIGN_OR_RETURN(const int kernel, AddKernel(frame, threads, 0, plan, body));
  AddLaunch(frame, kernel, sizes.batch * row_tiles * column_tiles, threads, {}, plan);
  return absl::OkStatus();
}

}  // namespace hlo::gpu
