// Row fusions (passes/fusion/row_fusion.h): softmax, normalisations and the like. A row belongs to
// a part of a warp, a warp, or a block, by its size:
//
//   short rows   a thread has up to 32 elements in its registers: memory is read and written once
//   long ones    they are read again, from a cache, by each level of reductions and for the result
//
// A level of reductions is combined in each thread, then among them by shuffles, then by way of
// shared memory; every thread has the value afterwards. The order follows from the shapes alone.
#include <algorithm>
#include <bit>

#include "backends/gpu/emit/families/loops.h"
#include "backends/gpu/emit/families/reduce_group.h"
#include "lib/analysis/cost.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "passes/fusion/row_fusion.h"

namespace hlo::gpu {
namespace {

constexpr int kSmallBlock = 128;  // threads, where a row has no more than a warp
constexpr int kLargeBlock = 512;
constexpr int kLargestBlock = 1024;  // of threads with few values

// How a row is shared out.
struct RowGrid {
  int threads = 1;      // for a row, a power of two
  int lanes = 1;        // elements of a vector
  int64_t vectors = 1;  // of a row
  int64_t held = 0;     // vectors that a thread keeps; 0: it reads them again
  int block() const { return std::max(threads, kSmallBlock); }
  int rows_per_block() const { return block() / threads; }
};

class RowEmission {
 public:
  RowEmission(const RowFusion& fusion, const FamilyRequest& request)
      : fusion_(fusion),
        frame_(request.frame),
        plan_(request.plan),
        elements_(fusion.rows * fusion.row_size),
        dims_(fusion.levels[0].reduces[0]->operand(0)->shape().dims()),
        grid_(MakeGrid()) {
    while (row_dims_ < dims_.size()) {
      int64_t size = 1;
      for (size_t d = row_dims_; d < dims_.size(); ++d) size *= dims_[d];
      if (size == fusion.row_size) break;
      ++row_dims_;
    }
  }

  absl::Status Emit() {
    plan_.family = "rows";
    const auto body = [this](GpuFusionEmitter& emitter, KernelBuilder& k) {
      return EmitBody(emitter, k);
    };
    ASSIGN_OR_RETURN(const int kernel, AddKernel(frame_, grid_.block(), 0, plan_, body));
    AddLaunch(frame_, kernel, CeilDiv(fusion_.rows, grid_.rows_per_block()), grid_.block(), {},
              plan_);
    return absl::OkStatus();
  }

 private:
  // A vector of elements of the row.
  struct Place {
    llvm::Value* exists;  // else it is another one, whose values do not count
    std::vector<ArrayIndex> lanes;
    std::vector<llvm::Value*> in_row;  // the same, as numbers in the row
  };

  RowGrid MakeGrid() const {
    int widest = 1;
    int arrays = 0;
    for (size_t b = 0; b < frame_.buffers.size(); ++b) {
      if (frame_.buffers[b].elements != elements_) continue;
      widest = std::max(widest, ByteSize(frame_.buffers[b].type));
      arrays += static_cast<int>(b) < frame_.operand_buffers ? 1 : 0;
    }
    RowGrid grid;
    grid.lanes = std::clamp(16 / widest, 1, 8);
    while (fusion_.row_size % grid.lanes != 0) grid.lanes /= 2;
    grid.vectors = fusion_.row_size / grid.lanes;
    // Places in rows of several dimensions take registers, too.
    const bool is_simple = !dims_.empty() && dims_.back() == fusion_.row_size;
    const int largest = is_simple ? kLargestBlock : kLargeBlock;
    // Code is written once per element that a thread has, and takes as many registers.
    int64_t weight = 0;
    for (const Instruction* i : frame_.body) weight += IsCostly(*i) ? 16 : 1;
    constexpr int64_t kMostElements = 32, kMostRegisters = 64, kMostCode = 2048;
    for (int threads = 1; threads <= largest; threads *= 2) {
      const int64_t held = CeilDiv(grid.vectors, threads);
      // A block waits for its slowest warp at each level: a warp alone may have more to do.
      const int64_t most = threads < kWarpSize ? 1 : threads == kWarpSize ? 8 : 4;
      const int64_t values = held * grid.lanes;
      const int64_t registers = values * std::max(arrays, 1);
      if (held > most || values > kMostElements || values * weight > kMostCode ||
          registers > (threads <= kLargeBlock ? kMostRegisters : kMostRegisters / 4))
        continue;
      // All warps of a block have something of the row.
      if (threads > kWarpSize && grid.vectors < threads) break;
      grid.threads = threads;
      grid.held = held;
      return grid;
    }
    grid.threads = static_cast<int>(
        std::bit_floor(static_cast<uint64_t>(std::min<int64_t>(grid.vectors, kLargeBlock))));
    return grid;
  }

  absl::Status EmitBody(GpuFusionEmitter& emitter, KernelBuilder& k) {
    llvm::Value* const row = k.Add(k.Scale(k.BlockIndex(), grid_.rows_per_block()),
                                   k.Div(k.ThreadIndex(), grid_.threads));
    thread_ = k.Rem(k.ThreadIndex(), grid_.threads);
    // Shuffles want whole warps: threads beyond the last row compute it again.
    has_row_ = k.b().getTrue();
    row_ = row;
    if (fusion_.rows % grid_.rows_per_block() != 0) {
      has_row_ = k.Less(row, k.Index(fusion_.rows));
      row_ = k.b().CreateSelect(has_row_, row, k.Index(fusion_.rows - 1));
    }
    for (const Instruction* value : fusion_.row_values)
      emitter.Pin(value, ArrayIndex::Element(value->shape().dims(), row_));
    for (int64_t i = 0; i < grid_.held; ++i) held_.push_back(HeldPlace(k, i));
    RETURN_IF_ERROR(LoadInputs(emitter, k));
    for (const RowFusion::Level& level : fusion_.levels) {
      const JointReducer reducer(emitter, level.reduces);
      ASSIGN_OR_RETURN(EmittedList values, CombineRow(emitter, k, reducer));
      ASSIGN_OR_RETURN(values, CombineThreads(k, reducer, std::move(values)));
      RETURN_IF_ERROR(reducer.Finish(ArrayIndex(), values));
      for (const Instruction* value : level.values)
        RETURN_IF_ERROR(emitter.Emit(value, ArrayIndex()).status());
    }
    return StoreOutputs(emitter, k);
  }

  // ---- the row's elements ----

  // Vector `number` of the row.
  Place PlaceAt(KernelBuilder& k, llvm::Value* number) const {
    const absl::Span<const int64_t> outer = dims_.subspan(0, row_dims_);
    const absl::Span<const int64_t> inner = dims_.subspan(row_dims_);
    Place place = {k.b().getTrue(), {}, {}};
    for (int lane = 0; lane < grid_.lanes; ++lane) {
      llvm::Value* const in_row = k.Offset(k.Scale(number, grid_.lanes), lane);
      ArrayIndex::Positions positions = ArrayIndex::Linear(outer, row_).positions(k);
      const auto rest = ArrayIndex::Linear(inner, in_row).positions(k);
      positions.insert(positions.end(), rest.begin(), rest.end());
      place.lanes.push_back(ArrayIndex::At(dims_, std::move(positions)));
      place.in_row.push_back(in_row);
    }
    return place;
  }

  // Vector `i` of those that this thread holds.
  Place HeldPlace(KernelBuilder& k, int64_t i) const {
    llvm::Value* number = k.Offset(thread_, i * grid_.threads);
    llvm::Value* exists = k.b().getTrue();
    if ((i + 1) * grid_.threads > grid_.vectors) {
      exists = k.Less(number, k.Index(grid_.vectors));
      number = k.b().CreateSelect(exists, number, k.Index(grid_.vectors - 1));
    }
    Place place = PlaceAt(k, number);
    place.exists = exists;
    return place;
  }

  // Emits for each lane of `place`.
  absl::Status ForLanes(GpuFusionEmitter& emitter, const Place& place,
                        const std::function<absl::Status(const ArrayIndex&)>& emit) const {
    std::vector<llvm::Value*> lanes;
    for (const ArrayIndex& lane : place.lanes) lanes.push_back(lane.linear(emitter.kernel()));
    if (grid_.lanes > 1) {
      emitter.SetVector(lanes, elements_);
      emitter.AddVector(place.in_row, fusion_.row_size);
    }
    for (const ArrayIndex& lane : place.lanes) RETURN_IF_ERROR(emit(lane));
    if (grid_.lanes > 1) emitter.SetVector({}, 0);
    return absl::OkStatus();
  }

  ArrayIndex IndexIn(const Instruction& array, const ArrayIndex& index, KernelBuilder& k) const {
    return index.Reshaped(array.shape().dims(), k);
  }

  // All loads come before anything waits for one of them.
  absl::Status LoadInputs(GpuFusionEmitter& emitter, KernelBuilder& k) const {
    for (const Place& place : held_) {
      RETURN_IF_ERROR(ForLanes(emitter, place, [&](const ArrayIndex& index) -> absl::Status {
        for (const Instruction* input : fusion_.inputs)
          RETURN_IF_ERROR(emitter.Emit(input, IndexIn(*input, index, k)).status());
        return absl::OkStatus();
      }));
    }
    return absl::OkStatus();
  }

  // ---- reductions ----

  // What this thread has of the row.
  absl::StatusOr<EmittedList> CombineRow(GpuFusionEmitter& emitter, KernelBuilder& k,
                                         const JointReducer& reducer) const {
    const auto add = [&](const Place& place, EmittedList& values) {
      return ForLanes(emitter, place, [&](const ArrayIndex& index) -> absl::Status {
        ASSIGN_OR_RETURN(const EmittedList inputs, reducer.Inputs(index));
        if (values.empty()) {
          values = inputs;
          return absl::OkStatus();
        }
        ASSIGN_OR_RETURN(values, reducer.Combine(values, inputs));
        return absl::OkStatus();
      });
    };
    EmittedList values;
    if (grid_.held == 0) {
      RETURN_IF_ERROR(add(PlaceAt(k, thread_), values));
      return k.Loop(k.Offset(thread_, grid_.threads), k.Index(grid_.vectors),
                    k.Index(grid_.threads), values,
                    [&](llvm::Value* i, EmittedList sums) -> absl::StatusOr<EmittedList> {
                      RETURN_IF_ERROR(add(PlaceAt(k, i), sums));
                      return sums;
                    });
    }
    for (const Place& place : held_) {
      const EmittedList before = values;
      RETURN_IF_ERROR(add(place, values));
      // Threads without a first one do not take part (CombineThreads).
      for (size_t v = 0; v < before.size() && !KernelBuilder::IsConstant(place.exists); ++v)
        values[v] = k.Select(place.exists, values[v], before[v]);
    }
    return values;
  }

  // The combination of what the threads of the row have, in all of them.
  absl::StatusOr<EmittedList> CombineThreads(KernelBuilder& k, const JointReducer& reducer,
                                             EmittedList values) const {
    if (grid_.threads == 1) return values;
    const auto combine = [&](const EmittedList& a, const EmittedList& b) {
      return reducer.Combine(a, b);
    };
    const int group = std::min(grid_.threads, kWarpSize);
    llvm::Value* const lane = k.Rem(k.ThreadIndex(), kWarpSize);
    llvm::Value* const in_group = k.Rem(k.ThreadIndex(), group);
    ASSIGN_OR_RETURN(values, CombineWarp(k, in_group, std::min<int64_t>(group, grid_.vectors),
                                         std::move(values), combine));
    if (grid_.threads <= kWarpSize) {
      llvm::Value* const first = k.b().CreateZExtOrTrunc(k.Sub(lane, in_group), k.b().getInt32Ty());
      for (Emitted& value : values) value = k.ShuffleFrom(value, first);
      return values;
    }
    const int warps = grid_.threads / kWarpSize;
    std::vector<SharedArray> partial;  // of this level
    for (const ElementType type : reducer.types())
      partial.push_back(k.Shared(type, warps, "partial"));
    RETURN_IF_ERROR(k.If(k.b().CreateICmpEQ(lane, k.Index(0)), [&] {
      for (size_t v = 0; v < values.size(); ++v)
        k.StoreShared(partial[v], k.Div(k.ThreadIndex(), kWarpSize), values[v]);
      return absl::OkStatus();
    }));
    k.Barrier();
    for (int warp = 0; warp < warps; ++warp) {
      EmittedList others;
      for (const SharedArray& array : partial) others.push_back(k.LoadShared(array, k.Index(warp)));
      if (warp == 0) {
        values = others;
      } else {
        ASSIGN_OR_RETURN(values, reducer.Combine(values, others));
      }
    }
    return values;
  }

  // ---- results ----

  absl::Status StoreOutputs(GpuFusionEmitter& emitter, KernelBuilder& k) const {
    for (const KernelOutput& output : frame_.outputs) {
      if (output.shape.element_count() == elements_) continue;
      ASSIGN_OR_RETURN(
          const Emitted value,
          emitter.Emit(output.instruction, ArrayIndex::Element(output.shape.dims(), row_)));
      llvm::Value* const is_first = k.b().CreateICmpEQ(thread_, k.Index(0));
      RETURN_IF_ERROR(k.If(k.b().CreateAnd(is_first, has_row_), [&] {
        k.Store(output.buffer, row_, value);
        return absl::OkStatus();
      }));
    }
    if (grid_.held == 0) {
      return k
          .Loop(thread_, k.Index(grid_.vectors), k.Index(grid_.threads), {},
                [&](llvm::Value* i, const EmittedList&) -> absl::StatusOr<EmittedList> {
                  RETURN_IF_ERROR(StoreVectors(emitter, k, PlaceAt(k, i)));
                  return EmittedList();
                })
          .status();
    }
    for (const Place& place : held_) RETURN_IF_ERROR(StoreVectors(emitter, k, place));
    return absl::OkStatus();
  }

  absl::Status StoreVectors(GpuFusionEmitter& emitter, KernelBuilder& k, const Place& place) const {
    std::vector<EmittedList> values(frame_.outputs.size());
    RETURN_IF_ERROR(ForLanes(emitter, place, [&](const ArrayIndex& index) -> absl::Status {
      for (size_t o = 0; o < values.size(); ++o) {
        const KernelOutput& output = frame_.outputs[o];
        if (output.shape.element_count() != elements_) continue;
        ASSIGN_OR_RETURN(const Emitted one,
                         emitter.Emit(output.instruction, IndexIn(*output.instruction, index, k)));
        values[o].push_back(one);
      }
      return absl::OkStatus();
    }));
    llvm::Value* stores = place.exists;
    if (!KernelBuilder::IsConstant(has_row_)) stores = k.b().CreateAnd(has_row_, stores);
    return k.If(stores, [&] {
      llvm::Value* const first = place.lanes[0].linear(k);
      for (size_t o = 0; o < values.size(); ++o) {
        const int buffer = frame_.outputs[o].buffer;
        if (values[o].size() > 1) k.StoreVector(buffer, first, values[o]);
        if (values[o].size() == 1) k.Store(buffer, first, values[o][0]);
      }
      return absl::OkStatus();
    });
  }

  const RowFusion& fusion_;
  const GpuFrame& frame_;
  KernelPlan& plan_;
  const int64_t elements_;
  const absl::Span<const int64_t> dims_;
  size_t row_dims_ = 0;  // dimensions that count rows
  const RowGrid grid_;
  std::vector<Place> held_;        // by this thread
  llvm::Value* thread_ = nullptr;  // of those of the row
  llvm::Value* row_ = nullptr;
  llvm::Value* has_row_ = nullptr;  // false in threads beyond the last row
};

}  // namespace

absl::Status EmitRowFusion(const FamilyRequest& request, const RowFusion& fusion) {
  return RowEmission(fusion, request).Emit();
}

}  // namespace hlo::gpu
