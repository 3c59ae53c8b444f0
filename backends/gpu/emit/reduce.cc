// Reductions as the root of a kernel.
//
//   rows     the minor-most dimension is reduced: a warp or a block for each result, threads side by
//            side along the row, 16 bytes each where rows lie in one piece, then shuffles
//   columns  it is kept: 32 results side by side, 8 threads for each, then shared memory
//   split    few results of many elements: partial results first, then rows of those
//
// Every result is combined in one order, whatever runs first.
#include <algorithm>

#include "backends/gpu/emit/frame.h"
#include "backends/gpu/emit/reducer.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "passes/cpu/fusible.h"

namespace hlo::gpu {
namespace {

constexpr int kColumns = 32;
constexpr int kParts = 8;
constexpr int64_t kFewElements = 16;        // for one thread
constexpr int64_t kManyElements = 1 << 14;  // for one block
constexpr int64_t kFewOutputs = 64;

class ReduceEmission {
 public:
  ReduceEmission(const Instruction& reduce, const Frame& frame)
      : reduce_(reduce),
        frame_(frame),
        dims_(reduce.operand(0)->shape().dims()),
        reduced_(reduce.attrs<ReduceAttrs>().dimensions) {
    for (size_t d = 0; d < dims_.size(); ++d) {
      const bool is_reduced = IsReduced(d);
      (is_reduced ? elements_ : outputs_) *= dims_[d];
      (is_reduced ? reduced_dims_ : kept_dims_).push_back(dims_[d]);
      if (dims_[d] > 1) {
        in_one_piece_ = in_one_piece_ && (is_reduced || !minor_reduced_);
        minor_reduced_ = is_reduced;
      }
    }
    lanes_ = minor_reduced_ && in_one_piece_ ? Lanes() : 1;
    chunks_ = elements_ / lanes_;
  }

  // False when one thread per result is the best there is.
  bool IsWorthIt() const { return outputs_ > 0 && elements_ > kFewElements; }

  absl::Status Emit(KernelPlan& plan) {
    if (outputs_ < kFewOutputs && elements_ >= kManyElements) return EmitSplit(plan);
    return minor_reduced_ ? EmitRowKernel(plan) : EmitColumns(plan);
  }

 private:
  bool IsReduced(size_t d) const {
    return std::find(reduced_.begin(), reduced_.end(), static_cast<int64_t>(d)) != reduced_.end();
  }

  // Elements that a thread reads at once.
  int Lanes() const {
    int widest = 1;
    for (int i = 0; i < frame_.operand_buffers; ++i) {
      const BufferParam& buffer = frame_.buffers[static_cast<size_t>(i)];
      if (buffer.elements == outputs_ * elements_) widest = std::max(widest, ByteSize(buffer.type));
    }
    // Code is written once per lane: not too much of it.
    int weight = 0;
    for (const Instruction* i : frame_.body) weight += cpu::IsCostly(*i) ? 16 : 1;
    constexpr int kMostLanes = 8, kMostCode = 256;
    int lanes = std::clamp(16 / widest, 1, kMostLanes);
    while (lanes > 1 &&
           (elements_ % lanes != 0 || elements_ / lanes < kWarpSize || lanes * weight > kMostCode))
      lanes /= 2;
    return lanes;
  }

  // The combined inputs of elements [chunk * lanes_, (chunk + 1) * lanes_) of result `output`.
  absl::StatusOr<EmittedList> Chunk(FusedEmitter& emitter, const Reducer& reducer,
                                    llvm::Value* output, llvm::Value* chunk) const {
    if (lanes_ == 1) return Input(emitter, reducer, output, chunk);
    KernelBuilder& k = emitter.kernel();
    llvm::Value* const first = k.Scale(k.Add(k.Scale(output, chunks_), chunk), lanes_);
    std::vector<llvm::Value*> places;
    for (int lane = 0; lane < lanes_; ++lane) places.push_back(k.Offset(first, lane));
    emitter.SetVector(places, outputs_ * elements_);
    EmittedList combined;
    for (llvm::Value* place : places) {
      ASSIGN_OR_RETURN(EmittedList values,
                       emitter.EmitReduceInputs(&reduce_, ArrayIndex::Linear(dims_, place)));
      values = reducer.Widen(std::move(values));
      if (combined.empty()) {
        combined = values;
      } else {
        ASSIGN_OR_RETURN(combined, reducer.Combine(combined, values));
      }
    }
    emitter.SetVector({}, 0);
    return combined;
  }

  // The inputs for element `element` of result `output`.
  absl::StatusOr<EmittedList> Input(FusedEmitter& emitter, const Reducer& reducer,
                                    llvm::Value* output, llvm::Value* element) const {
    KernelBuilder& k = emitter.kernel();
    const auto kept = ArrayIndex::Linear(kept_dims_, output).positions(k);
    const auto inner = ArrayIndex::Linear(reduced_dims_, element).positions(k);
    ArrayIndex::Positions positions;
    size_t next_kept = 0, next_reduced = 0;
    for (size_t d = 0; d < dims_.size(); ++d)
      positions.push_back(IsReduced(d) ? inner[next_reduced++] : kept[next_kept++]);
    ASSIGN_OR_RETURN(EmittedList values,
                     emitter.EmitReduceInputs(&reduce_, ArrayIndex::At(dims_, positions)));
    return reducer.Widen(std::move(values));
  }

  absl::Status StoreResult(FusedEmitter& emitter, const Reducer& reducer, llvm::Value* output,
                           const EmittedList& values) const {
    ASSIGN_OR_RETURN(const EmittedList init, emitter.EmitReduceInit(&reduce_));
    ASSIGN_OR_RETURN(EmittedList results, reducer.Combine(reducer.Widen(init), values));
    results = reducer.Narrow(std::move(results));
    for (size_t i = 0; i < results.size(); ++i)
      emitter.kernel().Store(frame_.outputs[i].buffer, output, results[i]);
    return absl::OkStatus();
  }

  RowReduction Rows(FusedEmitter& emitter, const Reducer& reducer) const {
    RowReduction rows;
    rows.outputs = outputs_;
    rows.elements = chunks_;
    for (int i = 0; i < reducer.count(); ++i) rows.types.push_back(reducer.type(i));
    rows.input = [this, &emitter, &reducer](llvm::Value* output, llvm::Value* chunk) {
      return Chunk(emitter, reducer, output, chunk);
    };
    rows.combine = [&reducer](const EmittedList& a, const EmittedList& b) {
      return reducer.Combine(a, b);
    };
    rows.store = [this, &emitter, &reducer](llvm::Value* output, const EmittedList& values) {
      return StoreResult(emitter, reducer, output, values);
    };
    return rows;
  }

  absl::Status EmitRowKernel(KernelPlan& plan) {
    const int group = RowGroup(outputs_, chunks_);
    const auto body = [&](FusedEmitter& emitter, KernelBuilder& k) -> absl::Status {
      const Reducer reducer(emitter, &reduce_);
      return EmitRows(k, group, Rows(emitter, reducer));
    };
    ASSIGN_OR_RETURN(const int kernel, AddKernel(frame_, kRowBlock, 0, plan, body));
    AddLaunch(frame_, kernel, RowBlocks(group, outputs_), kRowBlock, {}, plan);
    return absl::OkStatus();
  }

  // ---- columns ----

  absl::Status EmitColumns(KernelPlan& plan) {
    const auto body = [&](FusedEmitter& emitter, KernelBuilder& k) -> absl::Status {
      const Reducer reducer(emitter, &reduce_);
      llvm::Value* const column = k.Rem(k.ThreadIndex(), kColumns);
      llvm::Value* const part = k.Div(k.ThreadIndex(), kColumns);
      llvm::Value* const output = k.Add(k.Scale(k.BlockIndex(), kColumns), column);
      llvm::Value* const inside = k.Less(output, k.Index(outputs_));
      std::vector<SharedArray> partial;
      for (int i = 0; i < reducer.count(); ++i)
        partial.push_back(k.Shared(reducer.type(i), kColumns * kParts, "partial"));
      RETURN_IF_ERROR(k.If(inside, [&]() -> absl::Status {
        // There are more elements than parts: every thread has one.
        ASSIGN_OR_RETURN(EmittedList values, Input(emitter, reducer, output, part));
        const auto next = [&](llvm::Value* i,
                              const EmittedList& before) -> absl::StatusOr<EmittedList> {
          ASSIGN_OR_RETURN(const EmittedList value, Input(emitter, reducer, output, i));
          return reducer.Combine(before, value);
        };
        ASSIGN_OR_RETURN(values, k.Loop(k.Offset(part, kParts), k.Index(elements_), k.Index(kParts),
                                        values, next));
        for (size_t i = 0; i < values.size(); ++i)
          k.StoreShared(partial[i], k.ThreadIndex(), values[i]);
        return absl::OkStatus();
      }));
      k.Barrier();
      llvm::Value* const first = k.b().CreateAnd(inside, k.Less(part, k.Index(1)));
      return k.If(first, [&]() -> absl::Status {
        EmittedList sums;
        for (int p = 0; p < kParts; ++p) {
          EmittedList values;
          for (const SharedArray& array : partial)
            values.push_back(k.LoadShared(array, k.Offset(column, p * kColumns)));
          if (p == 0) {
            sums = values;
          } else {
            ASSIGN_OR_RETURN(sums, reducer.Combine(sums, values));
          }
        }
        return StoreResult(emitter, reducer, output, sums);
      });
    };
    ASSIGN_OR_RETURN(const int kernel, AddKernel(frame_, kColumns * kParts, 0, plan, body));
    AddLaunch(frame_, kernel, CeilDiv(outputs_, kColumns), kColumns * kParts, {}, plan);
    return absl::OkStatus();
  }

  // ---- few results of many elements ----

  absl::Status EmitSplit(KernelPlan& plan) {
    constexpr int64_t kElementsPerSplit = 4096;
    const int64_t splits = std::min<int64_t>(CeilDiv(elements_, kElementsPerSplit), 512);
    Frame frame = frame_;
    std::vector<int> scratch;
    std::vector<ElementType> types = ScratchTypes();
    for (const ElementType type : types)
      scratch.push_back(frame.AddScratch(plan, type, outputs_ * splits));
    const auto first = [&](FusedEmitter& emitter, KernelBuilder& k) -> absl::Status {
      const Reducer reducer(emitter, &reduce_);
      return EmitPartials(emitter, k, reducer, splits, scratch);
    };
    ASSIGN_OR_RETURN(const int partials, AddKernel(frame, kRowBlock, 0, plan, first));
    AddLaunch(frame, partials, outputs_ * splits, kRowBlock, {}, plan);
    const auto second = [&](FusedEmitter& emitter, KernelBuilder& k) -> absl::Status {
      const Reducer reducer(emitter, &reduce_);
      RowReduction rows = Rows(emitter, reducer);
      rows.elements = splits;
      rows.input = [&](llvm::Value* output, llvm::Value* element) -> absl::StatusOr<EmittedList> {
        llvm::Value* const place = k.Add(k.Scale(output, splits), element);
        EmittedList values;
        for (const int buffer : scratch) values.push_back(k.Load(buffer, place));
        return values;
      };
      return EmitRows(k, kWarpSize, rows);
    };
    ASSIGN_OR_RETURN(const int total, AddKernel(frame, kRowBlock, 0, plan, second));
    AddLaunch(frame, total, RowBlocks(kWarpSize, outputs_), kRowBlock, {}, plan);
    return absl::OkStatus();
  }

  // Of the accumulators; as Reducer says, which needs a kernel to be asked.
  std::vector<ElementType> ScratchTypes() const {
    std::vector<ElementType> types;
    llvm::LLVMContext context;
    llvm::Module module("types", context);
    KernelBuilder kernel(module, "types", {}, 0, kWarpSize, 0);
    FusedEmitter emitter(kernel);
    const Reducer reducer(emitter, &reduce_);
    for (int i = 0; i < reducer.count(); ++i) types.push_back(reducer.type(i));
    kernel.Finish();
    return types;
  }

  // Block `split` of a result combines its share of the elements; the first ones take one more each
  // where it does not come out even.
  absl::Status EmitPartials(FusedEmitter& emitter, KernelBuilder& k, const Reducer& reducer,
                            int64_t splits, const std::vector<int>& scratch) const {
    llvm::Value* const output = k.Div(k.BlockIndex(), splits);
    llvm::Value* const split = k.Rem(k.BlockIndex(), splits);
    const int64_t share = chunks_ / splits;
    const int64_t longer = chunks_ % splits;
    llvm::Value* const is_longer = k.Less(split, k.Index(longer));
    llvm::Value* const start =
        k.Add(k.Scale(split, share), k.b().CreateSelect(is_longer, split, k.Index(longer)));
    RowReduction rows = Rows(emitter, reducer);
    rows.outputs = outputs_ * splits;
    rows.elements = share;
    rows.limit = [&](llvm::Value*) {
      return k.Add(k.Index(share), k.b().CreateZExt(is_longer, k.index_type()));
    };
    rows.input = [&](llvm::Value*, llvm::Value* chunk) {
      return Chunk(emitter, reducer, output, k.Add(start, chunk));
    };
    rows.store = [&](llvm::Value* place, const EmittedList& values) -> absl::Status {
      for (size_t i = 0; i < values.size(); ++i) k.Store(scratch[i], place, values[i]);
      return absl::OkStatus();
    };
    return EmitRows(k, kRowBlock, rows);
  }

  const Instruction& reduce_;
  const Frame& frame_;
  absl::Span<const int64_t> dims_;
  const DimVec& reduced_;
  absl::InlinedVector<int64_t, 6> kept_dims_, reduced_dims_;
  int64_t outputs_ = 1;
  int64_t elements_ = 1;
  bool minor_reduced_ = false;
  bool in_one_piece_ = true;  // no kept dimension behind a reduced one
  int lanes_ = 1;
  int64_t chunks_ = 1;  // of lanes_ elements, per output
};

}  // namespace

absl::StatusOr<bool> EmitReduceFamily(const Instruction& fusion, const Frame& frame,
                                      KernelPlan& plan) {
  const Instruction* const root = RootOf(fusion);
  if (root->opcode() != Opcode::kReduce) return false;
  ReduceEmission emission(*root, frame);
  if (!emission.IsWorthIt()) return false;
  plan.family = "reduce";
  RETURN_IF_ERROR(emission.Emit(plan));
  return true;
}

}  // namespace hlo::gpu
