// Products with a matrix of few rows: the other one is read once, as fast as memory gives it.
//
//   columns  neighbours in memory are columns: a thread has a run of them and all rows, 8 to 32
//            threads share the depth, the more the fewer columns there are, shared memory adds them
//            up; where columns are fewer still, blocks share the depth, too, and a second kernel
//            adds up
//   rows     neighbours in memory lie along the depth: a warp or a block for each result (EmitRows)
#include <algorithm>

#include "backends/gpu/emit/core/reducer.h"
#include "backends/gpu/emit/families/gemm.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr int kBlock = 256;  // threads of a block of columns
// Of them side by side along the columns.
constexpr int kMostColumnThreads = 32, kFewestColumnThreads = 8;
constexpr int64_t kSharedBytes = 32 * 1024;  // of a block, which adds up in them

class NarrowEmission {
 public:
  NarrowEmission(const GpuFrame& frame, const GemmRequest& request)
      : frame_(frame), request_(request), sizes_(request.sizes) {
    constexpr int kLoadBytes = 16;
    vector_ = std::max(1, std::min(request.rhs.run, kLoadBytes * 8 / request.factor_bits));
    while (sizes_.rows * kBlock * vector_ * ByteSize(request.sum_type) > kSharedBytes) vector_ /= 2;
    while (column_threads_ > kFewestColumnThreads && 2 * Blocks() < request.multiprocessors)
      column_threads_ /= 2;
    depth_shares_ = kBlock / column_threads_;
  }

  absl::Status Emit(KernelPlan& plan) {
    return request_.rhs.along_free ? EmitColumns(plan) : EmitRowsOfProducts(plan);
  }

 private:
  // Elements (batch, free, depth) from a run on, `vector_` of them along the run's direction.
  absl::StatusOr<EmittedList> Run(KernelBuilder& k, const GemmSide& side, llvm::Value* batch,
                                  llvm::Value* free, llvm::Value* depth) const {
    if (vector_ > 1 && side.run % vector_ == 0 && side.along_free == request_.rhs.along_free)
      return k.LoadVector(side.buffer, side.place(batch, free, depth), vector_);
    EmittedList elements;
    for (int i = 0; i < vector_; ++i) {
      const bool along_free = request_.rhs.along_free;
      ASSIGN_OR_RETURN(const Emitted one, side.element(batch, along_free ? k.Offset(free, i) : free,
                                                       along_free ? depth : k.Offset(depth, i)));
      elements.push_back(one);
    }
    return elements;
  }

  // ---- rows ----

  absl::Status EmitRowsOfProducts(KernelPlan& plan) const {
    const int64_t outputs = sizes_.batch * sizes_.rows * sizes_.columns;
    // Less than a run for each lane of a warp would leave lanes idle.
    const int lanes = sizes_.depth / vector_ >= kWarpSize ? vector_ : 1;
    const int group = RowGroup(outputs, sizes_.depth / lanes);
    const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k) {
      return EmitRowsBody(emitter, k, outputs, lanes, group);
    };
    ASSIGN_OR_RETURN(const int kernel, AddKernel(frame_, kRowBlock, 0, plan, body));
    AddLaunch(frame_, kernel, RowBlocks(group, outputs), kRowBlock, {}, plan);
    return absl::OkStatus();
  }

  absl::Status EmitRowsBody(GpuFusionEmitter& emitter, KernelBuilder& k, int64_t outputs, int lanes,
                            int group) const {
    const ProductSum sum = request_.sum(emitter);
    const Gemm gemm = request_.make(emitter, sum);
    struct Output {
      llvm::Value *batch, *row, *column;
    };
    const auto place = [&](llvm::Value* output) {
      llvm::Value* const rest = k.Div(output, sizes_.columns);
      return Output{k.Div(rest, sizes_.rows), k.Rem(rest, sizes_.rows),
                    k.Rem(output, sizes_.columns)};
    };
    RowReduction rows;
    rows.outputs = outputs;
    rows.elements = sizes_.depth / lanes;
    rows.types = {sum.type()};
    rows.input = [&](llvm::Value* output, llvm::Value* chunk) -> absl::StatusOr<EmittedList> {
      const Output at = place(output);
      llvm::Value* const depth = k.Scale(chunk, lanes);
      Emitted total = sum.Zero();
      EmittedList a, b;
      if (lanes == 1) {
        ASSIGN_OR_RETURN(const Emitted x, gemm.lhs.element(at.batch, at.row, depth));
        ASSIGN_OR_RETURN(const Emitted y, gemm.rhs.element(at.batch, at.column, depth));
        a = {x};
        b = {y};
      } else {
        ASSIGN_OR_RETURN(a, Run(k, gemm.lhs, at.batch, at.row, depth));
        ASSIGN_OR_RETURN(b, Run(k, gemm.rhs, at.batch, at.column, depth));
      }
      for (size_t i = 0; i < a.size(); ++i)
        total = sum.Add(total, sum.WidenLhs(a[i]), sum.WidenRhs(b[i]));
      return EmittedList{total};
    };
    rows.combine = [&](const EmittedList& a, const EmittedList& b) -> absl::StatusOr<EmittedList> {
      return EmittedList{sum.Plus(a[0], b[0])};
    };
    rows.store = [&](llvm::Value* output, const EmittedList& values) {
      const Output at = place(output);
      return gemm.store(at.batch, at.row, at.column, values);
    };
    return EmitRows(k, group, rows);
  }

  // ---- columns ----

  // Each with all rows of a run of columns, before they share the depth.
  int64_t Blocks() const {
    return sizes_.batch * CeilDiv(sizes_.columns, int64_t{column_threads_} * vector_);
  }

  absl::Status EmitColumns(KernelPlan& plan) {
    const int64_t column_blocks = Blocks() / sizes_.batch;
    // As many blocks as keep the memory busy, each with some depth for all of its threads.
    const int64_t least_depth = int64_t{8} * depth_shares_;
    const int64_t wanted =
        CeilDiv(int64_t{2} * request_.multiprocessors, sizes_.batch * column_blocks);
    GpuFrame frame = frame_;
    DepthParts parts;
    parts.parts = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, sizes_.depth / least_depth));
    if (parts.parts > 1) parts = AddDepthParts(frame, request_, parts.parts, plan);
    const auto first = [&](GpuFusionEmitter& emitter, KernelBuilder& k) {
      return EmitColumnsBody(emitter, k, column_blocks, parts);
    };
    ASSIGN_OR_RETURN(const int kernel, AddKernel(frame, kBlock, 0, plan, first));
    AddLaunch(frame, kernel, sizes_.batch * column_blocks * parts.parts, kBlock, {}, plan);
    return parts.parts > 1 ? AddSumOfParts(frame, request_, parts, plan) : absl::OkStatus();
  }

  absl::Status EmitColumnsBody(GpuFusionEmitter& emitter, KernelBuilder& k, int64_t column_blocks,
                               const DepthParts& parts) const {
    const ProductSum sum = request_.sum(emitter);
    const Gemm gemm = request_.make(emitter, sum);
    const int64_t width = column_threads_ * vector_;
    const int64_t cells = sizes_.rows * width;  // results of a block
    const SharedArray shared = k.Shared(sum.type(), cells * depth_shares_, "parts");
    llvm::Value* const across = k.Scale(k.Rem(k.ThreadIndex(), column_threads_), vector_);
    llvm::Value* const turn = k.Div(k.ThreadIndex(), column_threads_);
    llvm::Value* const column0 = k.Scale(k.Rem(k.BlockIndex(), column_blocks), width);
    llvm::Value* const rest = k.Div(k.BlockIndex(), column_blocks);
    llvm::Value* const part = k.Rem(rest, parts.parts);
    llvm::Value* const batch = k.Div(rest, parts.parts);
    const int64_t share = CeilDiv(sizes_.depth, parts.parts);
    llvm::Value* const depth0 = k.Scale(part, share);
    llvm::Value* const end = k.Add(depth0, k.Index(share));
    llvm::Value* const limit =
        k.b().CreateSelect(k.Less(end, k.Index(sizes_.depth)), end, k.Index(sizes_.depth));
    const auto sums_of = [&]() -> absl::StatusOr<EmittedList> {
      EmittedList sums(static_cast<size_t>(sizes_.rows * vector_), sum.Zero());
      const auto step = [&](llvm::Value* depth, const EmittedList& before) {
        return AddDepth(k, gemm, sum, batch, k.Add(column0, across), depth, before);
      };
      return k.Loop(k.Add(depth0, turn), limit, k.Index(depth_shares_), sums, step);
    };
    const auto zeros = [&]() -> absl::StatusOr<EmittedList> {
      return EmittedList(static_cast<size_t>(sizes_.rows * vector_), sum.Zero());
    };
    // Runs are whole: all of a thread's columns are inside, or none.
    ASSIGN_OR_RETURN(
        const EmittedList sums,
        k.Guarded(k.Less(k.Add(column0, across), k.Index(sizes_.columns)), sums_of, zeros));
    for (int64_t r = 0; r < sizes_.rows; ++r) {
      for (int i = 0; i < vector_; ++i) {
        llvm::Value* const cell = k.Add(k.Scale(turn, cells), k.Offset(across, r * width + i));
        k.StoreShared(shared, cell, sums[static_cast<size_t>(r * vector_ + i)]);
      }
    }
    k.Barrier();
    const auto finish = [&](llvm::Value* cell,
                            const EmittedList& none) -> absl::StatusOr<EmittedList> {
      Emitted total = k.LoadShared(shared, cell);
      for (int p = 1; p < depth_shares_; ++p)
        total = sum.Plus(total, k.LoadShared(shared, k.Offset(cell, p * cells)));
      llvm::Value* const row = k.Div(cell, width);
      llvm::Value* const column = k.Add(column0, k.Rem(cell, width));
      RETURN_IF_ERROR(k.If(k.Less(column, k.Index(sizes_.columns)), [&]() -> absl::Status {
        if (parts.parts == 1) return gemm.store(batch, row, column, {total});
        k.Store(parts.scratch, PlaceInPart(k, sizes_, parts, part, {batch, row, column}), total);
        return absl::OkStatus();
      }));
      return none;
    };
    return k.Loop(k.ThreadIndex(), k.Index(cells), k.Index(kBlock), {}, finish).status();
  }

  // The products of one depth: all rows by a run of columns.
  absl::StatusOr<EmittedList> AddDepth(KernelBuilder& k, const Gemm& gemm, const ProductSum& sum,
                                       llvm::Value* batch, llvm::Value* column, llvm::Value* depth,
                                       const EmittedList& before) const {
    ASSIGN_OR_RETURN(const EmittedList run, Run(k, gemm.rhs, batch, column, depth));
    EmittedList after;
    for (int64_t r = 0; r < sizes_.rows; ++r) {
      ASSIGN_OR_RETURN(const Emitted left, gemm.lhs.element(batch, k.Index(r), depth));
      for (int i = 0; i < vector_; ++i) {
        const auto n = static_cast<size_t>(r * vector_ + i);
        after.push_back(
            sum.Add(before[n], sum.WidenLhs(left), sum.WidenRhs(run[static_cast<size_t>(i)])));
      }
    }
    return after;
  }

  const GpuFrame& frame_;
  const GemmRequest& request_;
  const GemmSizes& sizes_;
  int vector_;
  int column_threads_ = kMostColumnThreads;
  int depth_shares_ = kBlock / kMostColumnThreads;
};

}  // namespace

bool IsNarrow(const GemmRequest& request) {
  constexpr int64_t kFewRows = 4, kSomeRows = 16;
  const GemmSizes& sizes = request.sizes;
  if (sizes.depth < kWarpSize) return false;
  if (sizes.rows <= kFewRows) return true;
  // A tile of tensor cores reads the other side once, too; rows that lie along the depth would be
  // read once for each of these.
  return sizes.rows <= kSomeRows && !request.mma && request.rhs.along_free &&
         sizes.rows * kBlock * ByteSize(request.sum_type) <= kSharedBytes;
}

absl::Status AddNarrowGemm(const GpuFrame& frame, const GemmRequest& request, KernelPlan& plan) {
  return NarrowEmission(frame, request).Emit(plan);
}

}  // namespace hlo::gpu
