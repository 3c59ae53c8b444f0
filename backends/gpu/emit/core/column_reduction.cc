#include "backends/gpu/emit/core/column_reduction.h"

#include <algorithm>

#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr int kMostSideBySide = 32;
constexpr int kThreads = 256;
constexpr int kTreeWidth = 8;            // values that one thread combines at each level
constexpr int64_t kLeastPerThread = 16;  // elements that are worth a split
constexpr int64_t kLeastSplits = 4;      // fewer are not worth a second kernel
constexpr int64_t kMostSplits = 65535;   // what the second axis of a grid may have

int64_t TilesOf(const ColumnGrid& grid, const ColumnSizes& sizes) {
  return sizes.pieces * CeilDiv(sizes.columns, grid.side_by_side);
}

class ColumnEmission {
 public:
  ColumnEmission(KernelBuilder& k, const ColumnGrid& grid, const ColumnReduction& reduction)
      : k_(k), grid_(grid), reduction_(reduction), sizes_(reduction.sizes) {}

  absl::Status Run() {
    x_ = k_.Rem(k_.ThreadIndex(), grid_.side_by_side);
    part_ = k_.Div(k_.ThreadIndex(), grid_.side_by_side);
    const int64_t tiles = CeilDiv(sizes_.columns, grid_.side_by_side);
    llvm::Value* const tile = sizes_.pieces == 1 ? k_.BlockIndex() : k_.Rem(k_.BlockIndex(), tiles);
    llvm::Value* const piece = sizes_.pieces == 1 ? k_.Index(0) : k_.Div(k_.BlockIndex(), tiles);
    llvm::Value* const in_piece = k_.Add(k_.Scale(tile, grid_.side_by_side), x_);
    llvm::Value* const column = k_.Add(k_.Scale(piece, sizes_.columns), in_piece);
    llvm::Value* const split = grid_.splits == 1 ? k_.Index(0) : k_.BlockIndex(1);
    llvm::Value* inside = k_.b().getTrue();
    if (sizes_.columns % grid_.side_by_side != 0)
      inside = k_.Less(in_piece, k_.Index(sizes_.columns));
    if (k_.block_threads() > grid_.side_by_side * grid_.parts)
      inside = k_.b().CreateAnd(inside, k_.Less(part_, k_.Index(grid_.parts)));
    ASSIGN_OR_RETURN(EmittedList values,
                     k_.Guarded(
                         inside, [&] { return Collect(column, split); },
                         [&]() -> absl::StatusOr<EmittedList> { return Nothing(); }));
    ASSIGN_OR_RETURN(values, CombineParts(inside, std::move(values)));
    llvm::Value* const is_first = k_.b().CreateAnd(inside, k_.b().CreateICmpEQ(part_, k_.Index(0)));
    return k_.If(is_first, [&] { return reduction_.store(column, split, values); });
  }

 private:
  // What this thread has of its split; the first splits take one element more each where they do
  // not come out even. Every thread has one: a split is no shorter than there are parts.
  absl::StatusOr<EmittedList> Collect(llvm::Value* column, llvm::Value* split) {
    const int64_t share = sizes_.elements / grid_.splits;
    const int64_t longer = sizes_.elements % grid_.splits;
    llvm::Value* start = k_.Scale(split, share);
    llvm::Value* end = k_.Offset(start, share);
    if (longer > 0) {
      llvm::Value* const is_longer = k_.Less(split, k_.Index(longer));
      start = k_.Add(start, k_.b().CreateSelect(is_longer, split, k_.Index(longer)));
      end = k_.Add(k_.Offset(start, share), k_.b().CreateZExt(is_longer, k_.index_type()));
    }
    llvm::Value* const first = k_.Add(start, part_);
    ASSIGN_OR_RETURN(const EmittedList values, reduction_.input(column, first));
    return CombineStrided(
        k_, k_.Offset(first, grid_.parts), end, grid_.parts, reduction_.ahead, values,
        [&](llvm::Value* i) { return reduction_.input(column, i); },
        [&](const EmittedList& a, const EmittedList& b) { return Combine(a, b); });
  }

  EmittedList Nothing() {
    EmittedList zeros;
    for (int lane = 0; lane < sizes_.lanes; ++lane) {
      for (const ElementType type : reduction_.types) {
        constexpr uint8_t kZeros[16] = {};
        zeros.push_back(k_.Constant(type, kZeros));
      }
    }
    return zeros;
  }

  absl::StatusOr<EmittedList> Combine(const EmittedList& a, const EmittedList& b) {
    const auto count = static_cast<std::ptrdiff_t>(reduction_.types.size());
    EmittedList all;
    for (auto x = a.begin(), y = b.begin(); x != a.end(); x += count, y += count) {
      ASSIGN_OR_RETURN(const EmittedList one,
                       reduction_.combine(EmittedList(x, x + count), EmittedList(y, y + count)));
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  // The values of the parts come together in those of the first one, by a tree.
  absl::StatusOr<EmittedList> CombineParts(llvm::Value* inside, EmittedList values) {
    if (grid_.parts == 1) return values;
    const int row = grid_.side_by_side * sizes_.lanes;
    std::vector<SharedArray> shared;
    for (const ElementType type : reduction_.types)
      shared.push_back(k_.Shared(type, int64_t{row} * grid_.parts, "partial"));
    llvm::Value* const own = k_.Add(k_.Scale(part_, row), k_.Scale(x_, sizes_.lanes));
    const auto place = [&](llvm::Value* at, size_t i) {
      return k_.Offset(at, static_cast<int64_t>(i / shared.size()));
    };
    for (int parts = grid_.parts; parts > 1;) {
      const int next = static_cast<int>(CeilDiv(parts, kTreeWidth));
      if (parts < grid_.parts) k_.Barrier();
      RETURN_IF_ERROR(k_.If(inside, [&] {
        for (size_t i = 0; i < values.size(); ++i)
          k_.StoreShared(shared[i % shared.size()], place(own, i), values[i]);
        return absl::OkStatus();
      }));
      k_.Barrier();
      const auto gather = [&]() -> absl::StatusOr<EmittedList> {
        return k_.Loop(k_.Offset(part_, next), k_.Index(parts), k_.Index(next), values,
                       [&](llvm::Value* p, const EmittedList& before) {
                         llvm::Value* const at =
                             k_.Add(k_.Scale(p, row), k_.Scale(x_, sizes_.lanes));
                         EmittedList others;
                         for (size_t i = 0; i < values.size(); ++i)
                           others.push_back(k_.LoadShared(shared[i % shared.size()], place(at, i)));
                         return Combine(before, others);
                       });
      };
      llvm::Value* const goes_on = k_.b().CreateAnd(inside, k_.Less(part_, k_.Index(next)));
      ASSIGN_OR_RETURN(values, k_.Guarded(goes_on, gather,
                                          [&]() -> absl::StatusOr<EmittedList> { return values; }));
      parts = next;
    }
    return values;
  }

  KernelBuilder& k_;
  const ColumnGrid& grid_;
  const ColumnReduction& reduction_;
  const ColumnSizes& sizes_;
  llvm::Value* x_ = nullptr;     // which of the vectors side by side
  llvm::Value* part_ = nullptr;  // which of its threads
};

}  // namespace

ColumnGrid ColumnGridFor(const ColumnSizes& sizes, int64_t blocks) {
  ColumnGrid grid;
  // As even as it goes: 48 columns are two tiles of 24.
  grid.side_by_side =
      static_cast<int>(CeilDiv(sizes.columns, CeilDiv(sizes.columns, kMostSideBySide)));
  grid.parts = static_cast<int>(std::min<int64_t>(kThreads / grid.side_by_side, sizes.elements));
  const int64_t tiles = TilesOf(grid, sizes);
  if (tiles < blocks) {
    // Twice as many: what is left over at the end is half as long.
    const int64_t most = std::min(sizes.elements / (grid.parts * kLeastPerThread), kMostSplits);
    if (most >= kLeastSplits) grid.splits = std::min(CeilDiv(2 * blocks, tiles), most);
  }
  return grid;
}

ColumnGrid ColumnGridOfTotals(const ColumnSizes& sizes) {
  constexpr int64_t kMostParts = 32;
  ColumnGrid grid;
  grid.parts = static_cast<int>(std::min(sizes.elements, kMostParts));
  grid.side_by_side = static_cast<int>(std::min<int64_t>(sizes.columns, kThreads / grid.parts));
  return grid;
}

int ColumnBlockThreads(const ColumnGrid& grid) {
  return static_cast<int>(RoundUp(grid.side_by_side * grid.parts, kWarpSize));
}

absl::Status EmitColumns(KernelBuilder& kernel, const ColumnGrid& grid,
                         const ColumnReduction& reduction) {
  return ColumnEmission(kernel, grid, reduction).Run();
}

void AddColumnLaunch(const GpuFrame& frame, int kernel, const ColumnGrid& grid,
                     const ColumnSizes& sizes, KernelPlan& plan) {
  PlanStep& step =
      AddLaunch(frame, kernel, TilesOf(grid, sizes), ColumnBlockThreads(grid), {}, plan);
  step.dims.grid[1] = grid.splits;
}

}  // namespace hlo::gpu
