#include "backends/gpu/emit/families/gemm.h"

#include <algorithm>
#include <type_traits>

#include "lib/support/round.h"
#include "lib/support/status.h"
#include "passes/gpu/library_products.h"

namespace hlo::gpu {
namespace {

constexpr SimtTile kSmallSimtTile = {16, 16, 1};
constexpr SimtTile kLargeSimtTile = {64, 16, 4};
constexpr SimtTile kLargestSimtTile = {128, 16, 8};
constexpr MmaTile kSmallMmaTile = {64, 2, 2};
constexpr MmaTile kLargeMmaTile = {128, 4, 2};

// The depth of each of `parts` parts but the last.
int64_t ShareOf(int64_t depth, int64_t parts) { return RoundUp(CeilDiv(depth, parts), kDepthStep); }

// How many blocks share the depth of `tiles` tiles, so that each multiprocessor has a few.
int64_t PartsFor(const GemmRequest& request, int64_t tiles) {
  constexpr int kBlocksPerMultiprocessor = 2;
  constexpr int64_t kLeastDepth = 4 * kDepthStep;  // of a part
  if (BitWidth(request.sum_type) < 8) return 1;    // sums that have no bytes of their own
  const int64_t wanted = int64_t{kBlocksPerMultiprocessor} * request.multiprocessors / tiles;
  const int64_t parts =
      std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, request.sizes.depth / kLeastDepth));
  return CeilDiv(request.sizes.depth, ShareOf(request.sizes.depth, parts));
}

// Row and column tiles of a block: bands of a few rows of tiles, so that blocks that run at the
// same time share what they read. Blocks of one part of the depth are neighbours.
struct TileGrid {
  int size;  // of a tile
  int64_t row_tiles, column_tiles;
  int64_t tiles() const { return row_tiles * column_tiles; }
};
GemmTile TileOf(KernelBuilder& k, const TileGrid& grid, int64_t batch, int64_t depth,
                int64_t parts) {
  constexpr int64_t kBand = 8;
  llvm::Value* const number = k.Rem(k.BlockIndex(), grid.tiles());
  llvm::Value* row = nullptr;
  llvm::Value* column = nullptr;
  if (grid.row_tiles % kBand == 0) {
    llvm::Value* const in_band = k.Rem(number, kBand * grid.column_tiles);
    row = k.Add(k.Scale(k.Div(number, kBand * grid.column_tiles), kBand), k.Rem(in_band, kBand));
    column = k.Div(in_band, kBand);
  } else {
    row = k.Div(number, grid.column_tiles);
    column = k.Rem(number, grid.column_tiles);
  }
  llvm::Value* const rest = k.Div(k.BlockIndex(), grid.tiles());
  GemmTile tile{rest, k.Scale(row, grid.size), k.Scale(column, grid.size), k.Index(0),
                k.Index(depth)};
  if (parts == 1) return tile;
  const int64_t share = ShareOf(depth, parts);
  tile.batch = k.Rem(rest, batch);
  tile.depth = k.Scale(k.Div(rest, batch), share);
  llvm::Value* const end = k.Offset(tile.depth, share);
  tile.depth_end = k.b().CreateSelect(k.Less(end, k.Index(depth)), end, k.Index(depth));
  return tile;
}

}  // namespace

std::optional<MmaKind> MmaKindFor(ElementType lhs, ElementType rhs, ElementType result,
                                  DotAlgorithm algorithm, const GemmSizes& sizes) {
  // Of rows and columns: fewer leave too much of a tile empty.
  constexpr int64_t kLeast = 5, kLeastDepth = 16;
  if (std::min(sizes.rows, sizes.columns) < kLeast || sizes.depth < kLeastDepth)
    return std::nullopt;
  if (lhs != rhs || !IsFloat(result) || BitWidth(result) > 32) return std::nullopt;
  if (lhs == ElementType::kBF16) return MmaKind::kBf16;
  if (lhs == ElementType::kF16) return MmaKind::kF16;
  if (lhs != ElementType::kF32) return std::nullopt;
  if (algorithm == DotAlgorithm::kTF32TF32F32) return MmaKind::kTf32;
  if (algorithm == DotAlgorithm::kBF16BF16F32) return MmaKind::kBf16;
  return std::nullopt;
}

DotAlgorithm AlgorithmFor(DotAlgorithm asked, const PrecisionConfig& precision,
                          const FamilyOptions& options) {
  const bool may_cut = options.tf32 && asked == DotAlgorithm::kUnset && MayCut(precision);
  return may_cut ? DotAlgorithm::kTF32TF32F32 : asked;
}

// ---- parts of the depth ----

DepthParts AddDepthParts(GpuFrame& frame, const GemmRequest& request, int64_t parts,
                         KernelPlan& plan) {
  const GemmSizes& sizes = request.sizes;
  DepthParts result{parts, sizes.batch * sizes.rows * sizes.columns, -1};
  result.scratch = frame.AddScratch(plan, request.sum_type, result.outputs * parts);
  frame.largest = std::max(frame.largest, result.outputs * parts);
  return result;
}

llvm::Value* PlaceInPart(KernelBuilder& k, const GemmSizes& sizes, const DepthParts& parts,
                         llvm::Value* part, const std::array<llvm::Value*, 3>& batch_row_column) {
  const auto& [batch, row, column] = batch_row_column;
  llvm::Value* const line = k.Add(k.Scale(batch, sizes.rows), row);
  return k.Add(k.Scale(part, parts.outputs), k.Add(k.Scale(line, sizes.columns), column));
}

absl::Status AddSumOfParts(const GpuFrame& frame, const GemmRequest& request,
                           const DepthParts& parts, KernelPlan& plan) {
  const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {
    llvm::Value* const output = k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
    return k.If(k.Less(output, k.Index(parts.outputs)), [&]() -> absl::Status {
      const ProductSum sum = request.sum(emitter);
      const auto add = [&](llvm::Value* part,
                           const EmittedList& before) -> absl::StatusOr<EmittedList> {
        const Emitted one = k.Load(parts.scratch, k.Add(k.Scale(part, parts.outputs), output));
        return EmittedList{sum.Plus(before[0], one)};
      };
      ASSIGN_OR_RETURN(const EmittedList total,
                       k.Loop(k.Index(0), k.Index(parts.parts), k.Index(1), {sum.Zero()}, add));
      const GemmSizes& sizes = request.sizes;
      llvm::Value* const line = k.Div(output, sizes.columns);
      return request.make(emitter, sum)
          .store(k.Div(line, sizes.rows), k.Rem(line, sizes.rows), k.Rem(output, sizes.columns),
                 total);
    });
  };
  return AddSimpleKernel(frame, parts.outputs, plan, body);
}

// ---- tiles ----

namespace {

// How a product is shared among blocks.
struct BlockTiling {
  MmaTile mma;    // of tensor cores, else
  SimtTile simt;  // of threads
  TileGrid grid;
  int64_t parts = 1;  // blocks that share the depth of a tile
  std::string Name() const { return fmt::format("tiles of {}, {} parts", grid.size, parts); }
};

TileGrid GridOf(const GemmSizes& sizes, int size) {
  return {size, CeilDiv(sizes.rows, size), CeilDiv(sizes.columns, size)};
}

template <class Tile>
BlockTiling BlockTilingOf(const GemmRequest& request, const Tile& tile) {
  BlockTiling tiling;
  if constexpr (std::is_same_v<Tile, MmaTile>) tiling.mma = tile;
  if constexpr (std::is_same_v<Tile, SimtTile>) tiling.simt = tile;
  tiling.grid = GridOf(request.sizes, tile.size);
  tiling.parts = PartsFor(request, request.sizes.batch * tiling.grid.tiles());
  return tiling;
}

// Those that the product may have, first the one that seems best: large tiles where they fill the
// multiprocessors.
std::vector<BlockTiling> BlockTilingsOf(const GemmRequest& request) {
  constexpr size_t kMost = 5;
  const GemmSizes& sizes = request.sizes;
  const auto fill = [&](int size) {
    return sizes.batch * GridOf(sizes, size).tiles() >= int64_t{3} * request.multiprocessors / 4;
  };
  const int64_t least = std::min(sizes.rows, sizes.columns);
  // Whether larger tiles than those of `size` are not mostly empty.
  const auto has_more_than = [least](int size) { return least > size; };
  std::vector<BlockTiling> tilings;
  const auto add = [&](const auto& tile, bool is_best) {
    const BlockTiling tiling = BlockTilingOf(request, tile);
    tilings.insert(is_best ? tilings.begin() : tilings.end(), tiling);
  };
  if (request.mma) {
    // Factors that are rounded on the way to a tile take registers.
    const bool as_they_are = request.mma != MmaKind::kBf16 || request.factor_bits == 16;
    add(kSmallMmaTile, true);
    if (as_they_are && has_more_than(kSmallMmaTile.size))
      add(kLargeMmaTile, fill(kLargeMmaTile.size));
  } else {
    add(kSmallSimtTile, true);
    if (has_more_than(kSmallSimtTile.size) && !request.small_tiles) {
      add(kLargeSimtTile, true);
      if (has_more_than(kLargeSimtTile.size) && request.large_tiles)
        add(kLargestSimtTile, fill(kLargestSimtTile.size));
    }
  }
  // Half as many parts, and no parts.
  BlockTiling fewer = tilings.front();
  for (const int64_t parts : {fewer.parts / 2, int64_t{1}}) {
    if (parts < 1 || parts >= fewer.parts) continue;
    fewer.parts = CeilDiv(sizes.depth, ShareOf(sizes.depth, parts));
    tilings.push_back(fewer);
  }
  tilings.resize(std::min(tilings.size(), kMost));
  return tilings;
}

}  // namespace

absl::Status AddGemm(const GpuFrame& whole_frame, const GemmRequest& request, KernelPlan& plan) {
  const GemmSizes& sizes = request.sizes;
  const std::vector<BlockTiling> tilings = BlockTilingsOf(request);
  for (const BlockTiling& tiling : tilings) plan.choices.push_back(tiling.Name());
  RET_CHECK(request.choice < std::ssize(tilings), "a product has {} choices", tilings.size());
  const BlockTiling& tiling = tilings[static_cast<size_t>(request.choice)];
  const MmaTile& mma = tiling.mma;
  const SimtTile& simt = tiling.simt;
  const int threads = request.mma ? mma.threads() : simt.threads();
  const TileGrid& grid = tiling.grid;
  GpuFrame frame = whole_frame;
  DepthParts parts;
  if (tiling.parts > 1) parts = AddDepthParts(frame, request, tiling.parts, plan);
  const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k) {
    // Tiles that are not full ask where they end, which takes registers.
    const bool is_whole = sizes.rows % grid.size == 0 && sizes.columns % grid.size == 0;
    if (request.mma && grid.size == kLargeMmaTile.size && is_whole) k.WantBlocksTogether(2);
    const ProductSum sum = request.sum(emitter);
    Gemm gemm = request.make(emitter, sum);
    const GemmTile at = TileOf(k, grid, sizes.batch, sizes.depth, parts.parts);
    if (parts.parts > 1) {
      llvm::Value* const part = k.Div(k.BlockIndex(), sizes.batch * grid.tiles());
      gemm.store = [&k, &sizes, &parts, part](llvm::Value* batch, llvm::Value* row,
                                              llvm::Value* column, absl::Span<const Emitted> sums) {
        llvm::Value* const place = PlaceInPart(k, sizes, parts, part, {batch, row, column});
        if (sums.size() == 1) {
          k.Store(parts.scratch, place, sums[0]);
        } else {
          k.StoreVector(parts.scratch, place, sums);
        }
        return absl::OkStatus();
      };
    }
    return request.mma ? EmitMmaGemm(emitter, sizes, gemm, *request.mma, mma, at)
                       : EmitSimtGemm(emitter, sizes, gemm, sum, simt, at);
  };
  ASSIGN_OR_RETURN(const int kernel, AddKernel(frame, threads, 0, plan, body));
  AddLaunch(frame, kernel, parts.parts * sizes.batch * grid.tiles(), threads, {}, plan);
  return parts.parts > 1 ? AddSumOfParts(frame, request, parts, plan) : absl::OkStatus();
}

}  // namespace hlo::gpu
