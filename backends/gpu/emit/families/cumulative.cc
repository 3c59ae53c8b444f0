// Cumulative reduce-windows (running sums, products, maxima): a warp or a block goes along a line.
// Of each stretch of as many elements as it has threads, warps combine theirs in log2(32) shuffles,
// warps are combined through shared memory, and the last value is carried to the next stretch.
// Lines that are many, or not consecutive in memory, have a thread each, so that neighbours
// read neighbours.
#include <algorithm>

#include "backends/gpu/emit/core/reducer.h"
#include "backends/gpu/emit/families/loops.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpSize;

class CumulativeEmission {
 public:
  CumulativeEmission(const Instruction& window, const CumulativeWindow& cumulative,
                     const GpuFrame& frame)
      : window_(window), frame_(frame), from_end_(cumulative.from_end) {
    const absl::Span<const int64_t> dims = window.operand(0)->shape().dims();
    dims_.assign(dims.begin(), dims.end());
    length_ = dims[cumulative.dimension];
    for (size_t d = cumulative.dimension + 1; d < dims.size(); ++d) stride_ *= dims[d];
    lines_ = window.operand(0)->shape().element_count() / length_;
  }

  absl::Status Emit(KernelPlan& plan) const {
    constexpr int64_t kManyLines = 4096;
    if (length_ <= kWarpSize || (stride_ > 1 && lines_ >= kManyLines)) {
      return AddSimpleKernel(
          frame_, lines_, plan, [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {
            llvm::Value* const thread =
                k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
            return k.If(k.Less(thread, k.Index(lines_)),
                        [&] { return EmitLine(emitter, k, thread); });
          });
    }
    const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k) {
      return EmitBlock(emitter, k);
    };
    ASSIGN_OR_RETURN(const int kernel, AddKernel(frame_, kThreads, 0, plan, body));
    AddLaunch(frame_, kernel, lines_, kThreads, {}, plan);
    return absl::OkStatus();
  }

 private:
  // The place of element `i` in the order of the window of line `line`.
  llvm::Value* Place(KernelBuilder& k, llvm::Value* line, llvm::Value* i) const {
    llvm::Value* const start =
        k.Add(k.Scale(k.Div(line, stride_), length_ * stride_), k.Rem(line, stride_));
    llvm::Value* const at = from_end_ ? k.Sub(k.Index(length_ - 1), i) : i;
    return k.Add(start, k.Scale(at, stride_));
  }
  absl::StatusOr<EmittedList> Input(GpuFusionEmitter& emitter, const Reducer& reducer,
                                    llvm::Value* place) const {
    ASSIGN_OR_RETURN(EmittedList values,
                     emitter.EmitReduceInputs(&window_, ArrayIndex::Linear(dims_, place)));
    return reducer.Widen(std::move(values));
  }
  void Store(KernelBuilder& k, const Reducer& reducer, llvm::Value* place,
             EmittedList values) const {
    values = reducer.Narrow(std::move(values));
    for (size_t i = 0; i < values.size(); ++i) k.Store(frame_.outputs[i].buffer, place, values[i]);
  }
  absl::StatusOr<EmittedList> Init(GpuFusionEmitter& emitter, const Reducer& reducer) const {
    ASSIGN_OR_RETURN(EmittedList init, emitter.EmitReduceInit(&window_));
    return reducer.Widen(std::move(init));
  }

  absl::Status EmitLine(GpuFusionEmitter& emitter, KernelBuilder& k, llvm::Value* line) const {
    const Reducer reducer(emitter, &window_);
    ASSIGN_OR_RETURN(const EmittedList init, Init(emitter, reducer));
    const auto step = [&](llvm::Value* i, const EmittedList& sum) -> absl::StatusOr<EmittedList> {
      llvm::Value* const place = Place(k, line, i);
      ASSIGN_OR_RETURN(const EmittedList value, Input(emitter, reducer, place));
      ASSIGN_OR_RETURN(const EmittedList next, reducer.Combine(sum, value));
      Store(k, reducer, place, next);
      return next;
    };
    return k.Loop(k.Index(0), k.Index(length_), k.Index(1), init, step).status();
  }

  absl::Status EmitBlock(GpuFusionEmitter& emitter, KernelBuilder& k) const {
    const Reducer reducer(emitter, &window_);
    std::vector<SharedArray> totals;
    for (int i = 0; i < reducer.count(); ++i)
      totals.push_back(k.Shared(reducer.type(i), kWarps, "totals"));
    llvm::Value* const thread = k.ThreadIndex();
    llvm::Value* const lane = k.Rem(thread, kWarpSize);
    llvm::Value* const warp = k.Div(thread, kWarpSize);
    ASSIGN_OR_RETURN(const EmittedList init, Init(emitter, reducer));
    const auto stretch = [&](llvm::Value* first,
                             const EmittedList& carry) -> absl::StatusOr<EmittedList> {
      llvm::Value* const i = k.Add(first, thread);
      llvm::Value* const inside = k.Less(i, k.Index(length_));
      llvm::Value* const place = Place(k, k.BlockIndex(), i);
      ASSIGN_OR_RETURN(EmittedList values,
                       k.Guarded(
                           inside, [&] { return Input(emitter, reducer, place); },
                           [&]() -> absl::StatusOr<EmittedList> { return Zeros(k, reducer); }));
      for (int offset = 1; offset < kWarpSize; offset *= 2) {
        EmittedList before;
        for (const Emitted& value : values) before.push_back(k.ShuffleUp(value, offset));
        ASSIGN_OR_RETURN(const EmittedList both, reducer.Combine(before, values));
        llvm::Value* const has = k.Less(k.Index(offset - 1), lane);
        for (size_t n = 0; n < values.size(); ++n) values[n] = k.Select(has, both[n], values[n]);
      }
      RETURN_IF_ERROR(k.If(k.b().CreateICmpEQ(lane, k.Index(kWarpSize - 1)), [&] {
        for (size_t n = 0; n < values.size(); ++n) k.StoreShared(totals[n], warp, values[n]);
        return absl::OkStatus();
      }));
      k.Barrier();
      EmittedList ahead = carry;  // of this warp's elements
      EmittedList next = carry;
      for (int w = 0; w < kWarps; ++w) {
        llvm::Value* const is_before = k.Less(k.Index(w), warp);
        EmittedList total;
        for (const SharedArray& array : totals) total.push_back(k.LoadShared(array, k.Index(w)));
        ASSIGN_OR_RETURN(next, reducer.Combine(next, total));
        for (size_t n = 0; n < ahead.size(); ++n) ahead[n] = k.Select(is_before, next[n], ahead[n]);
      }
      ASSIGN_OR_RETURN(const EmittedList result, reducer.Combine(ahead, values));
      RETURN_IF_ERROR(k.If(inside, [&] {
        Store(k, reducer, place, result);
        return absl::OkStatus();
      }));
      k.Barrier();
      return next;
    };
    return k.Loop(k.Index(0), k.Index(length_), k.Index(kThreads), init, stretch).status();
  }

  // Anything will do: these values reach only elements beyond the end.
  static EmittedList Zeros(KernelBuilder& k, const Reducer& reducer) {
    EmittedList zeros;
    for (int i = 0; i < reducer.count(); ++i) {
      constexpr uint8_t kZeros[16] = {};
      zeros.push_back(k.Constant(reducer.type(i), kZeros));
    }
    return zeros;
  }

  const Instruction& window_;
  const GpuFrame& frame_;
  bool from_end_;
  absl::InlinedVector<int64_t, 6> dims_;
  int64_t length_ = 0, stride_ = 1, lines_ = 0;
};

}  // namespace

Decision TakesCumulative(const Instruction& window) { return IsKernelOp(window); }

absl::Status EmitCumulative(const FamilyRequest& request) {
  const Instruction& window = *RootOf(request.instruction);
  const std::optional<CumulativeWindow> cumulative = CumulativeWindowOf(window);
  if (!cumulative.has_value() || window.operand(0)->shape().element_count() == 0)
    return EmitLoops(request);
  request.plan.family = "cumulative";
  return CumulativeEmission(window, *cumulative, request.frame).Emit(request.plan);
}

}  // namespace hlo::gpu
