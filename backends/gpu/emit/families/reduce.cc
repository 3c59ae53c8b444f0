// Reductions that end a kernel: those of the same dimensions of arrays of the same dimensions
// together, with what is elementwise after them, and with results of the size of what they reduce.
//
//   rows     the minor-most dimension is reduced: a warp or a block for each result, threads side
//            by side along the row, then shuffles
//   columns  it is kept: core/column_reduction.h
//
// Threads read 16 bytes at once where neighbours in memory allow it. Where results are too few to
// fill the machine, several blocks share the elements of each, and a second kernel combines what
// they have. Every result is combined in one order, whatever runs first.
#include <algorithm>

#include "backends/gpu/emit/core/column_reduction.h"
#include "backends/gpu/emit/families/loops.h"
#include "backends/gpu/emit/families/reduce_group.h"
#include "lib/analysis/cost.h"
#include "lib/support/contains.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr int64_t kManyElements = 1 << 14;  // for one block
constexpr int64_t kElementsPerSplit = 4096;
constexpr int kBlocksPerMultiprocessor = 4;
constexpr int kMostAhead = 4;
constexpr int kTotalsAhead = 8;

class ReduceEmission {
 public:
  ReduceEmission(const ReduceGroup& group, const GpuFrame& frame, const FamilyOptions& options)
      : group_(group),
        frame_(frame),
        dims_(group.reduces[0]->operand(0)->shape().dims()),
        blocks_wanted_(int64_t{kBlocksPerMultiprocessor} * options.multiprocessors) {
    const DimVec& reduced = group.reduces[0]->attrs<ReduceAttrs>().dimensions;
    kept_dims_ = KeptDims(dims_, reduced);
    for (size_t d = 0; d < dims_.size(); ++d) {
      const bool is_reduced = Contains(reduced, static_cast<int64_t>(d));
      (is_reduced ? elements_ : outputs_) *= dims_[d];
      if (dims_[d] == 1) continue;
      if (pieces_.empty() || pieces_.back().is_reduced != is_reduced)
        pieces_.push_back({1, is_reduced});
      pieces_.back().size *= dims_[d];
    }
    minor_reduced_ = pieces_.back().is_reduced;
    lanes_ = Lanes();
    pieces_.back().size /= lanes_;
    for (const Piece& piece : pieces_)
      (piece.is_reduced ? reduced_sizes_ : kept_sizes_).push_back(piece.size);
    chunks_ = minor_reduced_ ? elements_ / lanes_ : elements_;
  }

  absl::Status Emit(KernelPlan& plan) {
    if (!minor_reduced_) return EmitColumnKernels(plan);
    if (outputs_ < blocks_wanted_ && elements_ >= kManyElements) return EmitSplit(plan);
    return EmitRowKernel(plan);
  }

 private:
  // Neighbouring dimensions that are all reduced or all kept.
  struct Piece {
    int64_t size;  // of the minor-most: in vectors
    bool is_reduced;
  };

  // Elements that a thread reads at once.
  int Lanes() const {
    int widest = 1;
    for (const BufferParam& buffer : frame_.buffers) {
      if (buffer.elements == outputs_ * elements_) widest = std::max(widest, ByteSize(buffer.type));
    }
    constexpr int kMostLanes = 8, kMostCode = 256;
    int lanes = std::clamp(16 / widest, 1, kMostLanes);
    const auto suits = [&](int n) {
      return pieces_.back().size % n == 0 && n * Weight() <= kMostCode &&
             (!minor_reduced_ || elements_ / n >= kWarpSize);
    };
    while (lanes > 1 && !suits(lanes)) lanes /= 2;
    return lanes;
  }

  // Of the code of an element, which is written once for each that a thread has at a time.
  int Weight() const {
    int weight = 0;
    for (const Instruction* i : frame_.body) weight += IsCostly(*i) ? 16 : 1;
    return weight;
  }

  // Vectors that a thread reads before it waits for the first.
  int Ahead() const {
    constexpr int kMostCode = 512;
    int ahead = kMostAhead;
    while (ahead > 1 && ahead * lanes_ * Weight() > kMostCode) ahead /= 2;
    return ahead;
  }

  // The places of a vector of elements, those of vector `element` of result `output`; where what is
  // kept is minor-most, of element `element` of the vector of results `output`.
  std::vector<ArrayIndex> Places(KernelBuilder& k, llvm::Value* output,
                                 llvm::Value* element) const {
    const auto kept = ArrayIndex::Linear(kept_sizes_, output).positions(k);
    const auto reduced = ArrayIndex::Linear(reduced_sizes_, element).positions(k);
    absl::InlinedVector<int64_t, 6> sizes;
    ArrayIndex::Positions positions;
    size_t next_kept = 0, next_reduced = 0;
    for (const Piece& piece : pieces_) {
      sizes.push_back(piece.size);
      positions.push_back(piece.is_reduced ? reduced[next_reduced++] : kept[next_kept++]);
    }
    std::vector<ArrayIndex> places;
    llvm::Value* const first = k.Scale(ArrayIndex::At(sizes, positions).linear(k), lanes_);
    const bool knows_positions = pieces_.size() == dims_.size();
    llvm::Value* const minor = k.Scale(positions.back(), lanes_);
    for (int lane = 0; lane < lanes_; ++lane) {
      positions.back() = k.Offset(minor, lane);
      places.push_back(knows_positions ? ArrayIndex::At(dims_, positions)
                                       : ArrayIndex::Linear(dims_, k.Offset(first, lane)));
    }
    return places;
  }

  // Emits for each of `places`, neighbours in arrays of `elements` elements.
  static absl::Status ForVector(GpuFusionEmitter& emitter, const std::vector<ArrayIndex>& places,
                                int64_t elements,
                                const std::function<absl::Status(const ArrayIndex&)>& emit) {
    std::vector<llvm::Value*> lanes;
    for (const ArrayIndex& place : places) lanes.push_back(place.linear(emitter.kernel()));
    if (lanes.size() > 1) emitter.SetVector(lanes, elements);
    for (const ArrayIndex& place : places) RETURN_IF_ERROR(emit(place));
    if (lanes.size() > 1) emitter.SetVector({}, 0);
    return absl::OkStatus();
  }

  // Stores values of `outputs` at `places`, made by `ForVector`.
  static void StoreLanes(KernelBuilder& k, const std::vector<KernelOutput>& outputs,
                         const ArrayIndex& first, const std::vector<EmittedList>& values) {
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (values[o].size() > 1) {
        k.StoreVector(outputs[o].buffer, first.linear(k), values[o]);
      } else {
        k.Store(outputs[o].buffer, first.linear(k), values[o][0]);
      }
    }
  }

  static absl::Status AppendElements(GpuFusionEmitter& emitter,
                                     const std::vector<KernelOutput>& outputs,
                                     const ArrayIndex& index, std::vector<EmittedList>& values) {
    for (size_t o = 0; o < outputs.size(); ++o) {
      const ArrayIndex own = index.Reshaped(outputs[o].shape.dims(), emitter.kernel());
      ASSIGN_OR_RETURN(const Emitted one,
                       emitter.Emit(outputs[o].instruction, own, outputs[o].result));
      values[o].push_back(one);
    }
    return absl::OkStatus();
  }

  // The inputs of the reductions at all of a vector, one after the other. What else has these
  // places is stored.
  absl::StatusOr<EmittedList> Inputs(GpuFusionEmitter& emitter, const JointReducer& reducer,
                                     llvm::Value* output, llvm::Value* element) const {
    const std::vector<ArrayIndex> places = Places(emitter.kernel(), output, element);
    EmittedList all;
    std::vector<EmittedList> stored(group_.elements.size());
    RETURN_IF_ERROR(ForVector(emitter, places, outputs_ * elements_,
                              [&](const ArrayIndex& index) -> absl::Status {
                                ASSIGN_OR_RETURN(const EmittedList values, reducer.Inputs(index));
                                all.insert(all.end(), values.begin(), values.end());
                                return AppendElements(emitter, group_.elements, index, stored);
                              }));
    StoreLanes(emitter.kernel(), group_.elements, places[0], stored);
    return all;
  }

  // The same, combined.
  absl::StatusOr<EmittedList> Chunk(GpuFusionEmitter& emitter, const JointReducer& reducer,
                                    llvm::Value* output, llvm::Value* chunk) const {
    ASSIGN_OR_RETURN(const EmittedList all, Inputs(emitter, reducer, output, chunk));
    const auto count = static_cast<std::ptrdiff_t>(reducer.types().size());
    EmittedList combined(all.begin(), all.begin() + count);
    for (auto lane = all.begin() + count; lane != all.end(); lane += count) {
      ASSIGN_OR_RETURN(combined, reducer.Combine(combined, EmittedList(lane, lane + count)));
    }
    return combined;
  }

  // Stores the results from vector `output` on, of as many lanes as there are lists of values.
  absl::Status StoreResults(GpuFusionEmitter& emitter, const JointReducer& reducer,
                            llvm::Value* output, const EmittedList& values) const {
    KernelBuilder& k = emitter.kernel();
    const auto count = static_cast<std::ptrdiff_t>(reducer.types().size());
    const auto lanes = static_cast<int>(std::ssize(values) / count);
    std::vector<ArrayIndex> places;
    for (int lane = 0; lane < lanes; ++lane)
      places.push_back(ArrayIndex::Element(kept_dims_, k.Offset(k.Scale(output, lanes), lane)));
    std::vector<EmittedList> stored(group_.results.size());
    auto next = values.begin();
    RETURN_IF_ERROR(
        ForVector(emitter, places, outputs_, [&](const ArrayIndex& index) -> absl::Status {
          RETURN_IF_ERROR(reducer.Finish(index, EmittedList(next, next + count)));
          next += count;
          return AppendElements(emitter, group_.results, index, stored);
        }));
    StoreLanes(k, group_.results, places[0], stored);
    return absl::OkStatus();
  }

  // ---- rows ----

  RowReduction Rows(GpuFusionEmitter& emitter, const JointReducer& reducer) const {
    RowReduction rows;
    rows.outputs = outputs_;
    rows.elements = chunks_;
    rows.types = reducer.types();
    rows.ahead = Ahead();
    rows.input = [this, &emitter, &reducer](llvm::Value* output, llvm::Value* chunk) {
      return Chunk(emitter, reducer, output, chunk);
    };
    rows.combine = [&reducer](const EmittedList& a, const EmittedList& b) {
      return reducer.Combine(a, b);
    };
    rows.store = [this, &emitter, &reducer](llvm::Value* output, const EmittedList& values) {
      return StoreResults(emitter, reducer, output, values);
    };
    return rows;
  }

  // A kernel that combines rows with `group` threads for each; `change` says in what it differs.
  absl::Status AddRowKernel(const GpuFrame& frame, int group, KernelPlan& plan,
                            const std::function<void(KernelBuilder&, GpuFusionEmitter&,
                                                     const JointReducer&, RowReduction&)>& change) {
    int64_t outputs = 0;
    const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {
      const JointReducer reducer(emitter, group_.reduces);
      RowReduction rows = Rows(emitter, reducer);
      change(k, emitter, reducer, rows);
      outputs = rows.outputs;
      return EmitRows(k, group, rows);
    };
    ASSIGN_OR_RETURN(const int kernel, AddKernel(frame, kRowBlock, 0, plan, body));
    AddLaunch(frame, kernel, RowBlocks(group, outputs), kRowBlock, {}, plan);
    return absl::OkStatus();
  }

  absl::Status EmitRowKernel(KernelPlan& plan) {
    return AddRowKernel(
        frame_, RowGroup(outputs_, chunks_), plan,
        [](KernelBuilder&, GpuFusionEmitter&, const JointReducer&, RowReduction&) {});
  }

  // Few rows of many elements: partial results of `splits` blocks each, then rows of those.
  absl::Status EmitSplit(KernelPlan& plan) {
    const int64_t splits =
        std::min(CeilDiv(elements_, kElementsPerSplit), CeilDiv(2 * blocks_wanted_, outputs_));
    GpuFrame frame = frame_;
    const std::vector<int> scratch = AddScratch(frame, splits, plan);
    RETURN_IF_ERROR(AddRowKernel(
        frame, kRowBlock, plan,
        [&](KernelBuilder& k, GpuFusionEmitter& emitter, const JointReducer& reducer,
            RowReduction& rows) { ShareOut(k, emitter, reducer, splits, scratch, rows); }));
    const auto totals = [&](KernelBuilder& k, GpuFusionEmitter&, const JointReducer&,
                            RowReduction& rows) {
      rows.elements = splits;
      rows.ahead = kTotalsAhead;
      rows.input = [&k, &scratch, splits](llvm::Value* output, llvm::Value* element) {
        return LoadPartials(k, scratch, k.Add(k.Scale(output, splits), element));
      };
    };
    return AddRowKernel(frame, RowGroup(outputs_, splits), plan, totals);
  }

  // Block `split` of a result combines its share of the elements; the first ones take one more each
  // where it does not come out even.
  void ShareOut(KernelBuilder& k, GpuFusionEmitter& emitter, const JointReducer& reducer,
                int64_t splits, const std::vector<int>& scratch, RowReduction& rows) const {
    llvm::Value* const output = k.Div(k.BlockIndex(), splits);
    llvm::Value* const split = k.Rem(k.BlockIndex(), splits);
    const int64_t share = chunks_ / splits;
    const int64_t longer = chunks_ % splits;
    llvm::Value* const is_longer = k.Less(split, k.Index(longer));
    llvm::Value* const start =
        k.Add(k.Scale(split, share), k.b().CreateSelect(is_longer, split, k.Index(longer)));
    rows.outputs = outputs_ * splits;
    rows.elements = share;
    rows.limit = [&k, share, is_longer](llvm::Value*) {
      return k.Add(k.Index(share), k.b().CreateZExt(is_longer, k.index_type()));
    };
    rows.input = [this, &k, &emitter, &reducer, output, start](llvm::Value*, llvm::Value* chunk) {
      return Chunk(emitter, reducer, output, k.Add(start, chunk));
    };
    rows.store = [&k, &scratch](llvm::Value* place, const EmittedList& values) -> absl::Status {
      for (size_t i = 0; i < values.size(); ++i) k.Store(scratch[i], place, values[i]);
      return absl::OkStatus();
    };
  }

  // ---- columns ----

  absl::Status EmitColumnKernels(KernelPlan& plan) {
    ColumnSizes sizes;
    sizes.columns = pieces_.back().size;
    sizes.lanes = lanes_;
    sizes.pieces = outputs_ / (sizes.columns * lanes_);
    sizes.elements = elements_;
    const ColumnGrid grid = ColumnGridFor(sizes, blocks_wanted_);
    if (grid.splits == 1) return AddColumnKernel(frame_, grid, sizes, nullptr, nullptr, plan);
    GpuFrame frame = frame_;
    const std::vector<int> scratch = AddScratch(frame, grid.splits, plan);
    RETURN_IF_ERROR(AddColumnKernel(frame, grid, sizes, nullptr, &scratch, plan));
    const ColumnSizes totals = {.columns = outputs_, .elements = grid.splits};
    return AddColumnKernel(frame, ColumnGridOfTotals(totals), totals, &scratch, nullptr, plan);
  }

  // Reads partial results where `from` has them, and stores such where `to` wants them: by split,
  // then by result.
  absl::Status AddColumnKernel(const GpuFrame& frame, const ColumnGrid& grid,
                               const ColumnSizes& sizes, const std::vector<int>* from,
                               const std::vector<int>* to, KernelPlan& plan) {
    const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {
      const JointReducer reducer(emitter, group_.reduces);
      ColumnReduction columns;
      columns.sizes = sizes;
      columns.types = reducer.types();
      columns.ahead = from == nullptr ? Ahead() : kTotalsAhead;
      columns.input = [&](llvm::Value* column, llvm::Value* element) {
        return from == nullptr ? Inputs(emitter, reducer, column, element)
                               : LoadPartials(k, *from, k.Add(k.Scale(element, outputs_), column));
      };
      columns.combine = [&](const EmittedList& a, const EmittedList& b) {
        return reducer.Combine(a, b);
      };
      columns.store = [&](llvm::Value* column, llvm::Value* split, const EmittedList& values) {
        if (to == nullptr) return StoreResults(emitter, reducer, column, values);
        StorePartials(k, *to, k.Add(k.Scale(split, outputs_), k.Scale(column, lanes_)), values);
        return absl::OkStatus();
      };
      return EmitColumns(k, grid, columns);
    };
    ASSIGN_OR_RETURN(const int kernel, AddKernel(frame, ColumnBlockThreads(grid), 0, plan, body));
    AddColumnLaunch(frame, kernel, grid, sizes, plan);
    return absl::OkStatus();
  }

  // ---- partial results ----

  // Buffers for `splits` values of each result.
  std::vector<int> AddScratch(GpuFrame& frame, int64_t splits, KernelPlan& plan) const {
    // Of the accumulators; as Reducer says, which needs a kernel to be asked.
    llvm::LLVMContext context;
    llvm::Module module("types", context);
    KernelBuilder kernel(module, "types", {}, 0, kWarpSize, 0);
    GpuFusionEmitter emitter(kernel);
    const JointReducer reducer(emitter, group_.reduces);
    kernel.Finish();
    std::vector<int> scratch;
    for (const ElementType type : reducer.types())
      scratch.push_back(frame.AddScratch(plan, type, outputs_ * splits));
    return scratch;
  }

  static absl::StatusOr<EmittedList> LoadPartials(KernelBuilder& k, const std::vector<int>& scratch,
                                                  llvm::Value* place) {
    EmittedList values;
    for (const int buffer : scratch) values.push_back(k.Load(buffer, place));
    return values;
  }

  // Of the lanes from `place` on.
  static void StorePartials(KernelBuilder& k, const std::vector<int>& scratch, llvm::Value* place,
                            const EmittedList& values) {
    for (size_t s = 0; s < scratch.size(); ++s) {
      EmittedList lanes;
      for (size_t i = s; i < values.size(); i += scratch.size()) lanes.push_back(values[i]);
      if (lanes.size() > 1) {
        k.StoreVector(scratch[s], place, lanes);
      } else {
        k.Store(scratch[s], place, lanes[0]);
      }
    }
  }

  const ReduceGroup& group_;
  const GpuFrame& frame_;
  absl::Span<const int64_t> dims_;
  int64_t blocks_wanted_;
  absl::InlinedVector<int64_t, 6> kept_dims_;
  std::vector<Piece> pieces_;
  absl::InlinedVector<int64_t, 6> kept_sizes_, reduced_sizes_;  // of pieces
  int64_t outputs_ = 1;
  int64_t elements_ = 1;  // for each output
  bool minor_reduced_ = false;
  int lanes_ = 1;
  int64_t chunks_ = 1;  // for each output: vectors of elements, or elements of a vector of outputs
};

}  // namespace

absl::Status EmitReductions(const FamilyRequest& request, std::vector<bool>& emitted) {
  for (const ReduceGroup& group : GroupReductions(request.frame, emitted)) {
    request.plan.family = "reduce";
    RETURN_IF_ERROR(ReduceEmission(group, request.frame, request.options).Emit(request.plan));
  }
  return absl::OkStatus();
}

}  // namespace hlo::gpu
