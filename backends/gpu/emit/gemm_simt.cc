// A tile of the result in registers, tiles of the operands through shared memory, one product at a
// time: for types that no tensor core multiplies exactly.
#include "backends/gpu/emit/gemm.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

class SimtEmission {
 public:
  SimtEmission(FusedEmitter& emitter, const GemmSizes& sizes, const Gemm& gemm,
               const ProductSum& sum, const SimtTile& tile, const GemmTile& at)
      : k_(emitter.kernel()), sizes_(sizes), gemm_(gemm), sum_(sum), tile_(tile), at_(at) {
    const int words = (tile.size + 1) * tile.depth;
    lhs_tile_ = k_.Shared(sum.type(), words, "lhs_tile");
    rhs_tile_ = k_.Shared(sum.type(), words, "rhs_tile");
    // A thread's results are `across` apart, so that neighbours touch neighbouring words.
    across_ = tile.size / tile.per_thread;
    x_ = k_.Rem(k_.ThreadIndex(), across_);
    y_ = k_.Div(k_.ThreadIndex(), across_);
  }

  absl::Status Emit() {
    const int per = tile_.per_thread;
    EmittedList sums(static_cast<size_t>(per * per), sum_.Zero());
    const auto step = [&](llvm::Value* depth0, const EmittedList& before) {
      return Step(depth0, before);
    };
    ASSIGN_OR_RETURN(
        sums, k_.Loop(k_.Index(0), k_.Index(sizes_.depth), k_.Index(tile_.depth), sums, step));
    for (int i = 0; i < per; ++i) {
      for (int j = 0; j < per; ++j) {
        llvm::Value* const row = k_.Add(at_.row, k_.Offset(y_, i * across_));
        llvm::Value* const column = k_.Add(at_.column, k_.Offset(x_, j * across_));
        llvm::Value* const inside = k_.b().CreateAnd(k_.Less(row, k_.Index(sizes_.rows)),
                                                     k_.Less(column, k_.Index(sizes_.columns)));
        RETURN_IF_ERROR(k_.If(inside, [&] {
          return gemm_.store(at_.batch, row, column, {sums[static_cast<size_t>(i * per + j)]});
        }));
      }
    }
    return absl::OkStatus();
  }

 private:
  // Loads a tile of a side: element (depth, free) of it goes to shared[depth][free]. Zeros beyond
  // the edges.
  absl::Status LoadTile(const GemmSide& side, int64_t size, const SharedArray& shared,
                        llvm::Value* free0, llvm::Value* depth0, bool is_lhs) {
    // Threads run along the dimension that is minor-most in memory.
    const int fast = side.along_free ? tile_.size : tile_.depth;
    for (int first = 0; first < tile_.size * tile_.depth; first += tile_.threads()) {
      llvm::Value* const number = k_.Offset(k_.ThreadIndex(), first);
      llvm::Value* const inner = k_.Rem(number, fast);
      llvm::Value* const outer = k_.Div(number, fast);
      llvm::Value* const free = side.along_free ? inner : outer;
      llvm::Value* const depth = side.along_free ? outer : inner;
      llvm::Value* const at_free = k_.Add(free0, free);
      llvm::Value* const at_depth = k_.Add(depth0, depth);
      llvm::Value* const inside = k_.b().CreateAnd(k_.Less(at_free, k_.Index(size)),
                                                   k_.Less(at_depth, k_.Index(sizes_.depth)));
      const auto load = [&]() -> absl::StatusOr<EmittedList> {
        ASSIGN_OR_RETURN(const Emitted value, side.element(at_.batch, at_free, at_depth));
        return EmittedList{is_lhs ? sum_.WidenLhs(value) : sum_.WidenRhs(value)};
      };
      const auto zero = [&]() -> absl::StatusOr<EmittedList> { return EmittedList{sum_.Zero()}; };
      ASSIGN_OR_RETURN(const EmittedList value, k_.Guarded(inside, load, zero));
      // One column more than the tile has: threads that run along the depth meet no bank conflicts.
      k_.StoreShared(shared, k_.Add(k_.Scale(depth, tile_.size + 1), free), value[0]);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<EmittedList> Step(llvm::Value* depth0, const EmittedList& before) {
    RETURN_IF_ERROR(LoadTile(gemm_.lhs, sizes_.rows, lhs_tile_, at_.row, depth0, /*is_lhs=*/true));
    RETURN_IF_ERROR(
        LoadTile(gemm_.rhs, sizes_.columns, rhs_tile_, at_.column, depth0, /*is_lhs=*/false));
    k_.Barrier();
    const int per = tile_.per_thread;
    const auto multiply = [&](llvm::Value* depth,
                              const EmittedList& inner) -> absl::StatusOr<EmittedList> {
      llvm::Value* const line = k_.Scale(depth, tile_.size + 1);
      EmittedList a, b, next;
      for (int i = 0; i < per; ++i) {
        a.push_back(k_.LoadShared(lhs_tile_, k_.Add(line, k_.Offset(y_, i * across_))));
        b.push_back(k_.LoadShared(rhs_tile_, k_.Add(line, k_.Offset(x_, i * across_))));
      }
      for (int i = 0; i < per; ++i) {
        for (int j = 0; j < per; ++j) {
          const auto n = static_cast<size_t>(i * per + j);
          next.push_back(sum_.Add(inner[n], a[static_cast<size_t>(i)], b[static_cast<size_t>(j)]));
        }
      }
      return next;
    };
    ASSIGN_OR_RETURN(const EmittedList after,
                     k_.Loop(k_.Index(0), k_.Index(tile_.depth), k_.Index(1), before, multiply));
    k_.Barrier();
    return after;
  }

  KernelBuilder& k_;
  const GemmSizes& sizes_;
  const Gemm& gemm_;
  const ProductSum& sum_;
  const SimtTile& tile_;
  const GemmTile& at_;
  SharedArray lhs_tile_, rhs_tile_;
  int across_;
  llvm::Value *x_, *y_;
};

}  // namespace

absl::Status EmitSimtGemm(FusedEmitter& emitter, const GemmSizes& sizes, const Gemm& gemm,
                          const ProductSum& sum, const SimtTile& tile, const GemmTile& at) {
  return SimtEmission(emitter, sizes, gemm, sum, tile, at).Emit();
}

}  // namespace hlo::gpu
