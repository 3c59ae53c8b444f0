// A tile of the result in registers, tiles of the operands through shared memory, one product at a
// time: for types that no tensor core multiplies exactly. What comes next is read from memory while
// this stage is multiplied. A thread's results are groups of up to four neighbours, so that shared
// memory is read 16 bytes at a time.
#include <algorithm>

#include "backends/gpu/emit/families/gemm.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

class SimtEmission {
 public:
  SimtEmission(GpuFusionEmitter& emitter, const GemmSizes& sizes, const Gemm& gemm,
               const ProductSum& sum, const SimtTile& tile, const GemmTile& at)
      : k_(emitter.kernel()), sizes_(sizes), gemm_(gemm), sum_(sum), tile_(tile), at_(at) {
    group_ = std::min(tile.per_thread, 4);
    // Lines begin in other banks, and at a multiple of 16 bytes where groups are read.
    line_ = tile.size + group_;
    lhs_ = {&gemm.lhs, sizes.rows, at.row, k_.Shared(sum.type(), line_ * tile.depth, "lhs_tile"),
            LanesOf(gemm.lhs)};
    rhs_ = {&gemm.rhs, sizes.columns, at.column,
            k_.Shared(sum.type(), line_ * tile.depth, "rhs_tile"), LanesOf(gemm.rhs)};
    const int across = tile.size / tile.per_thread;
    x_ = k_.Scale(k_.Rem(k_.ThreadIndex(), across), group_);
    y_ = k_.Scale(k_.Div(k_.ThreadIndex(), across), group_);
  }

  absl::Status Emit() {
    const int per = tile_.per_thread;
    const auto results = static_cast<size_t>(per * per);
    ASSIGN_OR_RETURN(const EmittedList first, Load(at_.depth));
    EmittedList carried(results, sum_.Zero());
    carried.insert(carried.end(), first.begin(), first.end());
    const auto step = [&](llvm::Value* depth0, const EmittedList& before) {
      return Step(depth0, before);
    };
    ASSIGN_OR_RETURN(carried,
                     k_.Loop(at_.depth, at_.depth_end, k_.Index(tile_.depth), carried, step));
    for (int i = 0; i < per; ++i) {
      for (int j = 0; j < per; j += group_)
        RETURN_IF_ERROR(StoreGroup(i, j,
                                   absl::MakeSpan(carried).subspan(static_cast<size_t>(i * per + j),
                                                                   static_cast<size_t>(group_))));
    }
    return absl::OkStatus();
  }

 private:
  struct Side {
    const GemmSide* from = nullptr;
    int64_t size = 0;              // of the whole matrix
    llvm::Value* free0 = nullptr;  // the tile's first row or column
    SharedArray shared;
    int lanes = 1;  // neighbours in memory that a thread reads at a time
  };

  int LanesOf(const GemmSide& side) const {
    constexpr int kLoadBytes = 16;
    int lanes = std::clamp(kLoadBytes / ByteSize(side.type), 1, group_);
    while (side.run % lanes != 0 || Loads() % lanes != 0) lanes /= 2;
    return lanes;
  }

  // Where a thread's result `i` of tile_.per_thread is, from its first one.
  int PlaceOf(int i) const {
    return i / group_ * (tile_.size * group_ / tile_.per_thread) + i % group_;
  }
  int Loads() const { return tile_.size * tile_.depth / tile_.threads(); }

  // Of a thread's element `n` of a stage: its place in the tile.
  struct Place {
    llvm::Value *free, *depth;
  };
  Place PlaceIn(const Side& side, int n) const {
    // Threads run along the dimension that is minor-most in memory.
    const int fast = (side.from->along_free ? tile_.size : tile_.depth) / side.lanes;
    llvm::Value* const number = k_.Offset(k_.ThreadIndex(), n / side.lanes * tile_.threads());
    llvm::Value* const inner =
        k_.Offset(k_.Scale(k_.Rem(number, fast), side.lanes), n % side.lanes);
    llvm::Value* const outer = k_.Div(number, fast);
    return side.from->along_free ? Place{inner, outer} : Place{outer, inner};
  }

  // The thread's elements of both operands' stage from `depth0` on; zeros beyond the edges.
  absl::StatusOr<EmittedList> Load(llvm::Value* depth0) {
    EmittedList values;
    for (const Side* side : {&lhs_, &rhs_}) {
      for (int n = 0; n < Loads(); n += side->lanes) {
        const Place place = PlaceIn(*side, n);
        llvm::Value* const free = k_.Add(side->free0, place.free);
        llvm::Value* const depth = k_.Add(depth0, place.depth);
        ASSIGN_OR_RETURN(const EmittedList run, LoadRun(*side, free, depth));
        values.insert(values.end(), run.begin(), run.end());
      }
    }
    return values;
  }

  // Elements from (free, depth) on, `lanes` of them. Runs are whole: all are inside, or none.
  absl::StatusOr<EmittedList> LoadRun(const Side& side, llvm::Value* free, llvm::Value* depth) {
    const auto load = [&]() -> absl::StatusOr<EmittedList> {
      EmittedList run;
      if (side.lanes == 1) {
        ASSIGN_OR_RETURN(const Emitted value, side.from->element(at_.batch, free, depth));
        run = {value};
      } else {
        run =
            k_.LoadVector(side.from->buffer, side.from->place(at_.batch, free, depth), side.lanes);
      }
      for (Emitted& value : run)
        value = &side == &lhs_ ? sum_.WidenLhs(value) : sum_.WidenRhs(value);
      return run;
    };
    const auto zeros = [&]() -> absl::StatusOr<EmittedList> {
      return EmittedList(static_cast<size_t>(side.lanes), sum_.Zero());
    };
    const auto valid = [&]() -> absl::StatusOr<EmittedList> {
      if (side.lanes == 1 || !side.from->valid) return load();
      return k_.Guarded(side.from->valid(at_.batch, free, depth), load, zeros);
    };
    return k_.Guarded(k_.b().CreateAnd(k_.Less(free, k_.Index(side.size)),
                                       k_.Less(depth, k_.Index(sizes_.depth))),
                      valid, zeros);
  }

  // Carried: the sums, then the elements of this stage.
  absl::StatusOr<EmittedList> Step(llvm::Value* depth0, const EmittedList& before) {
    const auto results = static_cast<size_t>(tile_.per_thread * tile_.per_thread);
    size_t next_value = results;
    for (const Side* side : {&lhs_, &rhs_}) {
      for (int n = 0; n < Loads(); ++n) {
        const Place place = PlaceIn(*side, n);
        llvm::Value* const at = k_.Add(k_.Scale(place.depth, line_), place.free);
        if (side->lanes == group_ && group_ > 1 && side->from->along_free) {
          k_.StoreSharedVector(
              side->shared, at,
              absl::MakeSpan(before).subspan(next_value, static_cast<size_t>(group_)));
          n += group_ - 1;
          next_value += static_cast<size_t>(group_);
        } else {
          k_.StoreShared(side->shared, at, before[next_value++]);
        }
      }
    }
    k_.Barrier();
    llvm::Value* const next = k_.Offset(depth0, tile_.depth);
    const auto none = [&]() -> absl::StatusOr<EmittedList> {
      return EmittedList(static_cast<size_t>(2 * Loads()), sum_.Zero());
    };
    ASSIGN_OR_RETURN(const EmittedList ahead,
                     k_.Guarded(
                         k_.Less(next, at_.depth_end), [&] { return Load(next); }, none));
    const EmittedList sums(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(results));
    const auto multiply = [&](llvm::Value* depth, const EmittedList& inner) {
      return absl::StatusOr<EmittedList>(Multiply(depth, inner));
    };
    ASSIGN_OR_RETURN(EmittedList after,
                     k_.Loop(k_.Index(0), k_.Index(tile_.depth), k_.Index(1), sums, multiply));
    k_.Barrier();
    after.insert(after.end(), ahead.begin(), ahead.end());
    return after;
  }

  EmittedList Multiply(llvm::Value* depth, const EmittedList& sums) {
    const int per = tile_.per_thread;
    const EmittedList a = LoadLine(lhs_, depth, y_), b = LoadLine(rhs_, depth, x_);
    EmittedList next;
    for (int i = 0; i < per; ++i) {
      for (int j = 0; j < per; ++j) {
        next.push_back(sum_.Add(sums[static_cast<size_t>(i * per + j)], a[static_cast<size_t>(i)],
                                b[static_cast<size_t>(j)]));
      }
    }
    return next;
  }

  // The thread's elements of a line of shared memory.
  EmittedList LoadLine(const Side& side, llvm::Value* depth, llvm::Value* first) {
    EmittedList values;
    llvm::Value* const line = k_.Add(k_.Scale(depth, line_), first);
    for (int i = 0; i < tile_.per_thread; i += group_) {
      llvm::Value* const at = k_.Offset(line, PlaceOf(i));
      const EmittedList group = group_ == 1 ? EmittedList{k_.LoadShared(side.shared, at)}
                                            : k_.LoadSharedVector(side.shared, at, group_);
      values.insert(values.end(), group.begin(), group.end());
    }
    return values;
  }

  absl::Status StoreGroup(int i, int j, absl::Span<const Emitted> sums) {
    llvm::Value* const row = k_.Add(at_.row, k_.Offset(y_, PlaceOf(i)));
    llvm::Value* const column = k_.Add(at_.column, k_.Offset(x_, PlaceOf(j)));
    llvm::Value* const has_row = k_.Less(row, k_.Index(sizes_.rows));
    // Groups begin at a multiple of their size: of such a number of columns all are
    // inside, or none.
    if (sizes_.columns % group_ == 0) {
      return k_.If(k_.b().CreateAnd(has_row, k_.Less(column, k_.Index(sizes_.columns))),
                   [&] { return gemm_.store(at_.batch, row, column, sums); });
    }
    return k_.If(has_row, [&]() -> absl::Status {
      for (size_t n = 0; n < sums.size(); ++n) {
        llvm::Value* const at = k_.Offset(column, static_cast<int64_t>(n));
        RETURN_IF_ERROR(k_.If(k_.Less(at, k_.Index(sizes_.columns)),
                              [&] { return gemm_.store(at_.batch, row, at, sums.subspan(n, 1)); }));
      }
      return absl::OkStatus();
    });
  }

  KernelBuilder& k_;
  const GemmSizes& sizes_;
  const Gemm& gemm_;
  const ProductSum& sum_;
  const SimtTile& tile_;
  const GemmTile& at_;
  int group_, line_;
  Side lhs_, rhs_;
  llvm::Value *x_, *y_;
};

}  // namespace

absl::Status EmitSimtGemm(GpuFusionEmitter& emitter, const GemmSizes& sizes, const Gemm& gemm,
                          const ProductSum& sum, const SimtTile& tile, const GemmTile& at) {
  return SimtEmission(emitter, sizes, gemm, sum, tile, at).Emit();
}

}  // namespace hlo::gpu
