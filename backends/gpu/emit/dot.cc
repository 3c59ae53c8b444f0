// dot as [batch, rows, k] x [batch, k, columns]: tiles of the result in registers, tiles of the
// operands through shared memory. Operands are read where their dimension numbers say, so no
// transpose is made first. Narrow results (few rows or columns) are rows of products instead, a
// warp or a block for each element.
//
// Each result element sums over ascending k (rows: in the fixed order of EmitRows).
#include <algorithm>

#include "backends/gpu/emit/contraction.h"
#include "backends/gpu/emit/frame.h"
#include "backends/gpu/emit/reducer.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

using Sizes = absl::InlinedVector<int64_t, 6>;

// A tile of `rows` x `columns` results, `per_thread` x `per_thread` of them in each thread.
struct TileShape {
  int size;
  int depth;
  int per_thread;
  int threads() const { return size / per_thread * (size / per_thread); }
};
constexpr TileShape kSmallTile = {16, 16, 1};
constexpr TileShape kLargeTile = {64, 16, 4};

class DotEmission {
 public:
  DotEmission(const Instruction& dot, const Frame& frame)
      : dot_(dot),
        frame_(frame),
        attrs_(dot.attrs<DotAttrs>()),
        lhs_(SideOf(0, attrs_.lhs_batch_dims, attrs_.lhs_contracting_dims)),
        rhs_(SideOf(1, attrs_.rhs_batch_dims, attrs_.rhs_contracting_dims)) {}

  absl::Status Emit(KernelPlan& plan) {
    plan.family = "dot";
    if (lhs_.batch * lhs_.free * rhs_.free == 0) return absl::OkStatus();
    constexpr int64_t kNarrow = 4;
    const bool narrow = std::min(lhs_.free, rhs_.free) <= kNarrow;
    if (lhs_.contracted == 0) return EmitZero(plan);
    return narrow && lhs_.contracted >= kWarpSize ? EmitAsRows(plan) : EmitTiled(plan);
  }

 private:
  struct Side {
    const Instruction* operand;
    DimVec batch_dims, free_dims, contracted_dims;
    Sizes batch_sizes, free_sizes, contracted_sizes;
    int64_t batch = 1, free = 1, contracted = 1;
  };

  Side SideOf(int number, const DimVec& batch, const DimVec& contracted) const {
    Side side;
    side.operand = dot_.operand(number);
    const Shape shape = side.operand->shape();
    const auto take = [&](int64_t d, DimVec& dims, Sizes& sizes, int64_t& product) {
      dims.push_back(d);
      sizes.push_back(shape.dim(static_cast<int>(d)));
      product *= sizes.back();
    };
    for (const int64_t d : batch) take(d, side.batch_dims, side.batch_sizes, side.batch);
    for (const int64_t d : contracted)
      take(d, side.contracted_dims, side.contracted_sizes, side.contracted);
    for (int64_t d = 0; d < shape.rank(); ++d) {
      const auto is_in = [d](const DimVec& list) {
        return std::find(list.begin(), list.end(), d) != list.end();
      };
      if (!is_in(batch) && !is_in(contracted)) take(d, side.free_dims, side.free_sizes, side.free);
    }
    return side;
  }

  // Element (batch, free, contracted) of a side.
  absl::StatusOr<Emitted> Element(FusedEmitter& emitter, const Side& side, llvm::Value* batch,
                                  llvm::Value* free, llvm::Value* contracted) const {
    KernelBuilder& k = emitter.kernel();
    ArrayIndex::Positions at(static_cast<size_t>(side.operand->shape().rank()), nullptr);
    const auto place = [&](const DimVec& dims, const Sizes& sizes, llvm::Value* number) {
      const auto positions = ArrayIndex::Linear(sizes, number).positions(k);
      for (size_t i = 0; i < dims.size(); ++i) at[static_cast<size_t>(dims[i])] = positions[i];
    };
    place(side.batch_dims, side.batch_sizes, batch);
    place(side.free_dims, side.free_sizes, free);
    place(side.contracted_dims, side.contracted_sizes, contracted);
    return emitter.Emit(side.operand, ArrayIndex::At(side.operand->shape().dims(), at));
  }

  ProductSum SumFor(FusedEmitter& emitter) const {
    return ProductSum(emitter, lhs_.operand->shape().element_type(),
                      rhs_.operand->shape().element_type(), dot_.shape().element_type());
  }
  int output_buffer() const { return frame_.outputs[0].buffer; }

  absl::Status EmitZero(KernelPlan& plan) {
    const int64_t count = dot_.shape().element_count();
    return AddSimpleKernel(frame_, count, plan, [&](FusedEmitter& emitter, KernelBuilder& k) {
      const ProductSum sum = SumFor(emitter);
      llvm::Value* const thread =
          k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
      return k.If(k.Less(thread, k.Index(count)), [&] {
        k.Store(output_buffer(), thread, sum.Finish(sum.Zero()));
        return absl::OkStatus();
      });
    });
  }

  absl::Status EmitAsRows(KernelPlan& plan) {
    const int64_t outputs = dot_.shape().element_count();
    const int group = RowGroup(outputs, lhs_.contracted);
    const auto body = [&](FusedEmitter& emitter, KernelBuilder& k) -> absl::Status {
      const ProductSum sum = SumFor(emitter);
      RowReduction rows;
      rows.outputs = outputs;
      rows.elements = lhs_.contracted;
      rows.types = {sum.type()};
      rows.input = [&](llvm::Value* output, llvm::Value* i) -> absl::StatusOr<EmittedList> {
        llvm::Value* const column = k.Rem(output, rhs_.free);
        llvm::Value* const rest = k.Div(output, rhs_.free);
        llvm::Value* const batch = k.Div(rest, lhs_.free);
        ASSIGN_OR_RETURN(const Emitted a, Element(emitter, lhs_, batch, k.Rem(rest, lhs_.free), i));
        ASSIGN_OR_RETURN(const Emitted b, Element(emitter, rhs_, batch, column, i));
        return EmittedList{sum.Add(sum.Zero(), sum.WidenLhs(a), sum.WidenRhs(b))};
      };
      rows.combine = [&](const EmittedList& a,
                         const EmittedList& b) -> absl::StatusOr<EmittedList> {
        const ElementType types[] = {sum.type(), sum.type()};
        const Emitted terms[] = {a[0], b[0]};
        const Opcode add = IsPred(sum.type()) ? Opcode::kOr : Opcode::kAdd;
        return EmittedList{emitter.Element(add, sum.type(), types, terms)};
      };
      rows.store = [&](llvm::Value* output, const EmittedList& values) -> absl::Status {
        k.Store(output_buffer(), output, sum.Finish(values[0]));
        return absl::OkStatus();
      };
      return EmitRows(k, group, rows);
    };
    ASSIGN_OR_RETURN(const int kernel, AddKernel(frame_, kRowBlock, 0, plan, body));
    AddLaunch(frame_, kernel, RowBlocks(group, outputs), kRowBlock, {}, plan);
    return absl::OkStatus();
  }

  // ---- tiles ----

  // Loads a tile of a side: element (depth, free) of it goes to shared[depth][free]. Zeros beyond
  // the edges.
  absl::Status LoadTile(FusedEmitter& emitter, const TileShape& tile, const Side& side,
                        const SharedArray& shared, llvm::Value* batch, llvm::Value* free0,
                        llvm::Value* depth0, const ProductSum& sum, bool is_lhs) const {
    KernelBuilder& k = emitter.kernel();
    // Threads run along the dimension that is minor-most in memory.
    const int minor = side.operand->shape().rank() - 1;
    const bool along_free =
        std::find(side.free_dims.begin(), side.free_dims.end(), minor) != side.free_dims.end();
    for (int first = 0; first < tile.size * tile.depth; first += tile.threads()) {
      llvm::Value* const number = k.Offset(k.ThreadIndex(), first);
      const int fast = along_free ? tile.size : tile.depth;
      llvm::Value* const inner = k.Rem(number, fast);
      llvm::Value* const outer = k.Div(number, fast);
      llvm::Value* const free = along_free ? inner : outer;
      llvm::Value* const depth = along_free ? outer : inner;
      llvm::Value* const at_free = k.Add(free0, free);
      llvm::Value* const at_depth = k.Add(depth0, depth);
      llvm::Value* const inside = k.b().CreateAnd(k.Less(at_free, k.Index(side.free)),
                                                  k.Less(at_depth, k.Index(side.contracted)));
      const auto load = [&]() -> absl::StatusOr<EmittedList> {
        ASSIGN_OR_RETURN(const Emitted value, Element(emitter, side, batch, at_free, at_depth));
        return EmittedList{is_lhs ? sum.WidenLhs(value) : sum.WidenRhs(value)};
      };
      const auto zero = [&]() -> absl::StatusOr<EmittedList> { return EmittedList{sum.Zero()}; };
      ASSIGN_OR_RETURN(const EmittedList value, k.Guarded(inside, load, zero));
      // One column more than the tile has: threads that run along the depth meet no bank conflicts.
      k.StoreShared(shared, k.Add(k.Scale(depth, tile.size + 1), free), value[0]);
    }
    return absl::OkStatus();
  }

  absl::Status EmitTiled(KernelPlan& plan) {
    const bool is_wide = IsComplex(dot_.shape().element_type());
    const TileShape tile =
        std::min(lhs_.free, rhs_.free) > kSmallTile.size && !is_wide ? kLargeTile : kSmallTile;
    const int64_t row_tiles = CeilDiv(lhs_.free, tile.size);
    const int64_t column_tiles = CeilDiv(rhs_.free, tile.size);
    const auto body = [&](FusedEmitter& emitter, KernelBuilder& k) {
      return EmitTile(emitter, k, tile, row_tiles, column_tiles);
    };
    ASSIGN_OR_RETURN(const int kernel, AddKernel(frame_, tile.threads(), 0, plan, body));
    AddLaunch(frame_, kernel, lhs_.batch * row_tiles * column_tiles, tile.threads(), {}, plan);
    return absl::OkStatus();
  }

  absl::Status EmitTile(FusedEmitter& emitter, KernelBuilder& k, const TileShape& tile,
                        int64_t row_tiles, int64_t column_tiles) const {
    const ProductSum sum = SumFor(emitter);
    const int words = (tile.size + 1) * tile.depth;
    const SharedArray lhs_tile = k.Shared(sum.type(), words, "lhs_tile");
    const SharedArray rhs_tile = k.Shared(sum.type(), words, "rhs_tile");
    llvm::Value* const column0 = k.Scale(k.Rem(k.BlockIndex(), column_tiles), tile.size);
    llvm::Value* const rest = k.Div(k.BlockIndex(), column_tiles);
    llvm::Value* const row0 = k.Scale(k.Rem(rest, row_tiles), tile.size);
    llvm::Value* const batch = k.Div(rest, row_tiles);
    const int per = tile.per_thread;
    const int across = tile.size / per;
    // A thread's results are `across` apart, so that neighbours touch neighbouring words.
    llvm::Value* const x = k.Rem(k.ThreadIndex(), across);
    llvm::Value* const y = k.Div(k.ThreadIndex(), across);
    EmittedList sums(static_cast<size_t>(per * per), sum.Zero());
    const auto step = [&](llvm::Value* depth0,
                          const EmittedList& before) -> absl::StatusOr<EmittedList> {
      RETURN_IF_ERROR(
          LoadTile(emitter, tile, lhs_, lhs_tile, batch, row0, depth0, sum, /*is_lhs=*/true));
      RETURN_IF_ERROR(
          LoadTile(emitter, tile, rhs_, rhs_tile, batch, column0, depth0, sum, /*is_lhs=*/false));
      k.Barrier();
      const auto multiply = [&](llvm::Value* depth,
                                const EmittedList& inner) -> absl::StatusOr<EmittedList> {
        llvm::Value* const line = k.Scale(depth, tile.size + 1);
        EmittedList a, b, next;
        for (int i = 0; i < per; ++i) {
          a.push_back(k.LoadShared(lhs_tile, k.Add(line, k.Offset(y, i * across))));
          b.push_back(k.LoadShared(rhs_tile, k.Add(line, k.Offset(x, i * across))));
        }
        for (int i = 0; i < per; ++i) {
          for (int j = 0; j < per; ++j) {
            const auto n = static_cast<size_t>(i * per + j);
            next.push_back(sum.Add(inner[n], a[static_cast<size_t>(i)], b[static_cast<size_t>(j)]));
          }
        }
        return next;
      };
      ASSIGN_OR_RETURN(const EmittedList after,
                       k.Loop(k.Index(0), k.Index(tile.depth), k.Index(1), before, multiply));
      k.Barrier();
      return after;
    };
    ASSIGN_OR_RETURN(sums,
                     k.Loop(k.Index(0), k.Index(lhs_.contracted), k.Index(tile.depth), sums, step));
    for (int i = 0; i < per; ++i) {
      for (int j = 0; j < per; ++j) {
        llvm::Value* const row = k.Add(row0, k.Offset(y, i * across));
        llvm::Value* const column = k.Add(column0, k.Offset(x, j * across));
        llvm::Value* const inside =
            k.b().CreateAnd(k.Less(row, k.Index(lhs_.free)), k.Less(column, k.Index(rhs_.free)));
        RETURN_IF_ERROR(k.If(inside, [&] {
          llvm::Value* const place =
              k.Add(k.Scale(k.Add(k.Scale(batch, lhs_.free), row), rhs_.free), column);
          k.Store(output_buffer(), place, sum.Finish(sums[static_cast<size_t>(i * per + j)]));
          return absl::OkStatus();
        }));
      }
    }
    return absl::OkStatus();
  }

  const Instruction& dot_;
  const Frame& frame_;
  const DotAttrs& attrs_;
  Side lhs_, rhs_;
};

}  // namespace

absl::Status EmitDot(const Instruction& dot, const Frame& frame, KernelPlan& plan) {
  return DotEmission(dot, frame).Emit(plan);
}

}  // namespace hlo::gpu
