// Reductions that end a kernel: those of the same dimensions of arrays of the same dimensions
// together, with what is elementwise after them, and with results of the size of what they reduce.
//
//   rows     the minor-most dimension is reduced: a warp or a block for each result, threads side
//            by side along the row, 16 bytes each where rows lie in one piece, then shuffles
//   columns  it is kept: 32 results side by side, 8 threads for each, then shared memory
//   split    few results of many elements: partial results first, then rows of those
//
// Every result is combined in one order, whatever runs first.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "backends/gpu/emit/core/reducer.h"
#include "backends/gpu/emit/families/loops.h"
#include "lib/analysis/cost.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::gpu {
namespace {

constexpr int kColumns = 32;
constexpr int kParts = 8;
constexpr int64_t kFewElements = 16;        // for one thread
constexpr int64_t kManyElements = 1 << 14;  // for one block
constexpr int64_t kFewOutputs = 64;

// Reductions of one shape, and the fusion's outputs that their kernel stores.
struct ReduceGroup {
  std::vector<const Instruction*> reduces;
  std::vector<KernelOutput> results;   // the reductions, or elementwise operations after them
  std::vector<KernelOutput> elements;  // of the dimensions of what is reduced
};

// The reductions of a group as one: lists of values are those of the first, of the second, ….
class JointReducer {
 public:
  JointReducer(GpuFusionEmitter& emitter, const ReduceGroup& group)
      : emitter_(emitter), group_(group) {
    for (const Instruction* reduce : group.reduces) {
      parts_.emplace_back(emitter, reduce, Reducer::Order::kAny);
      for (int i = 0; i < parts_.back().count(); ++i) types_.push_back(parts_.back().type(i));
    }
  }
  // Of the values that are carried.
  const std::vector<ElementType>& types() const { return types_; }

  // The inputs of all at `index` of their operands.
  absl::StatusOr<EmittedList> Inputs(const ArrayIndex& index) const {
    EmittedList all;
    for (size_t r = 0; r < parts_.size(); ++r) {
      ASSIGN_OR_RETURN(EmittedList values, emitter_.EmitReduceInputs(group_.reduces[r], index));
      llvm::Value* const position =
          parts_[r].has_positions() ? index.linear(emitter_.kernel()) : nullptr;
      Append(parts_[r].Widen(std::move(values), position), all);
    }
    return all;
  }
  absl::StatusOr<EmittedList> Combine(const EmittedList& a, const EmittedList& b) const {
    EmittedList all;
    size_t first = 0;
    for (const Reducer& part : parts_) {
      ASSIGN_OR_RETURN(const EmittedList one,
                       part.Combine(Part(part, a, first), Part(part, b, first)));
      Append(one, all);
      first += static_cast<size_t>(part.count());
    }
    return all;
  }
  // Makes the results of all at `index` known to the emitter.
  absl::Status Finish(const ArrayIndex& index, const EmittedList& values) const {
    size_t first = 0;
    for (size_t r = 0; r < parts_.size(); ++r) {
      const Reducer& part = parts_[r];
      ASSIGN_OR_RETURN(EmittedList init, emitter_.EmitReduceInit(group_.reduces[r]));
      ASSIGN_OR_RETURN(EmittedList results,
                       part.Combine(part.Widen(std::move(init), emitter_.kernel().Index(-1)),
                                    Part(part, values, first)));
      results = part.Narrow(std::move(results));
      for (size_t i = 0; i < results.size(); ++i)
        emitter_.SetElement(group_.reduces[r], index, results[i], static_cast<int>(i));
      first += static_cast<size_t>(part.count());
    }
    return absl::OkStatus();
  }

 private:
  static void Append(const EmittedList& from, EmittedList& to) {
    to.insert(to.end(), from.begin(), from.end());
  }
  static EmittedList Part(const Reducer& part, const EmittedList& all, size_t first) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    return EmittedList(begin, begin + part.count());
  }
  GpuFusionEmitter& emitter_;
  const ReduceGroup& group_;
  std::vector<Reducer> parts_;
  std::vector<ElementType> types_;
};

class ReduceEmission {
 public:
  ReduceEmission(const ReduceGroup& group, const GpuFrame& frame)
      : group_(group),
        frame_(frame),
        dims_(group.reduces[0]->operand(0)->shape().dims()),
        reduced_(group.reduces[0]->attrs<ReduceAttrs>().dimensions) {
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
  bool IsWorthIt() const {
    if (outputs_ == 0 || elements_ <= kFewElements) return false;
    return std::none_of(group_.reduces.begin(), group_.reduces.end(), [](const Instruction* i) {
      return IsChoice(*i->to_apply()) && !TiesAmongThreads(*i->to_apply());
    });
  }

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
    for (const BufferParam& buffer : frame_.buffers) {
      if (buffer.elements == outputs_ * elements_) widest = std::max(widest, ByteSize(buffer.type));
    }
    // Code is written once per lane: not too much of it.
    int weight = 0;
    for (const Instruction* i : frame_.body) weight += IsCostly(*i) ? 16 : 1;
    constexpr int kMostLanes = 8, kMostCode = 256;
    int lanes = std::clamp(16 / widest, 1, kMostLanes);
    while (lanes > 1 &&
           (elements_ % lanes != 0 || elements_ / lanes < kWarpSize || lanes * weight > kMostCode))
      lanes /= 2;
    return lanes;
  }

  // The combined inputs of elements [chunk * lanes_, (chunk + 1) * lanes_) of result `output`.
  absl::StatusOr<EmittedList> Chunk(GpuFusionEmitter& emitter, const JointReducer& reducer,
                                    llvm::Value* output, llvm::Value* chunk) const {
    if (lanes_ == 1) return Input(emitter, reducer, output, chunk);
    KernelBuilder& k = emitter.kernel();
    llvm::Value* const first = k.Scale(k.Add(k.Scale(output, chunks_), chunk), lanes_);
    std::vector<llvm::Value*> places;
    for (int lane = 0; lane < lanes_; ++lane) places.push_back(k.Offset(first, lane));
    emitter.SetVector(places, outputs_ * elements_);
    EmittedList combined;
    std::vector<EmittedList> elements(group_.elements.size());
    for (llvm::Value* place : places) {
      const ArrayIndex index = ArrayIndex::Linear(dims_, place);
      ASSIGN_OR_RETURN(const EmittedList values, reducer.Inputs(index));
      for (size_t o = 0; o < elements.size(); ++o) {
        ASSIGN_OR_RETURN(const Emitted one, ElementOf(emitter, group_.elements[o], index));
        elements[o].push_back(one);
      }
      if (combined.empty()) {
        combined = values;
      } else {
        ASSIGN_OR_RETURN(combined, reducer.Combine(combined, values));
      }
    }
    for (size_t o = 0; o < elements.size(); ++o)
      k.StoreVector(group_.elements[o].buffer, first, elements[o]);
    emitter.SetVector({}, 0);
    return combined;
  }

  static absl::StatusOr<Emitted> ElementOf(GpuFusionEmitter& emitter, const KernelOutput& output,
                                           const ArrayIndex& index) {
    return emitter.Emit(output.instruction, index, output.result);
  }

  // The inputs for element `element` of result `output`.
  absl::StatusOr<EmittedList> Input(GpuFusionEmitter& emitter, const JointReducer& reducer,
                                    llvm::Value* output, llvm::Value* element) const {
    KernelBuilder& k = emitter.kernel();
    const auto kept = ArrayIndex::Linear(kept_dims_, output).positions(k);
    const auto inner = ArrayIndex::Linear(reduced_dims_, element).positions(k);
    ArrayIndex::Positions positions;
    size_t next_kept = 0, next_reduced = 0;
    for (size_t d = 0; d < dims_.size(); ++d)
      positions.push_back(IsReduced(d) ? inner[next_reduced++] : kept[next_kept++]);
    const ArrayIndex index = ArrayIndex::At(dims_, positions);
    for (const KernelOutput& side : group_.elements) {
      ASSIGN_OR_RETURN(const Emitted one, ElementOf(emitter, side, index));
      k.Store(side.buffer, index.linear(k), one);
    }
    return reducer.Inputs(index);
  }

  absl::Status StoreResult(GpuFusionEmitter& emitter, const JointReducer& reducer,
                           llvm::Value* output, const EmittedList& values) const {
    const ArrayIndex index = ArrayIndex::Element(kept_dims_, output);
    RETURN_IF_ERROR(reducer.Finish(index, values));
    for (const KernelOutput& result : group_.results) {
      ASSIGN_OR_RETURN(const Emitted one, ElementOf(emitter, result, index));
      emitter.kernel().Store(result.buffer, output, one);
    }
    return absl::OkStatus();
  }

  RowReduction Rows(GpuFusionEmitter& emitter, const JointReducer& reducer) const {
    RowReduction rows;
    rows.outputs = outputs_;
    rows.elements = chunks_;
    rows.types = reducer.types();
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
    const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {
      const JointReducer reducer(emitter, group_);
      return EmitRows(k, group, Rows(emitter, reducer));
    };
    ASSIGN_OR_RETURN(const int kernel, AddKernel(frame_, kRowBlock, 0, plan, body));
    AddLaunch(frame_, kernel, RowBlocks(group, outputs_), kRowBlock, {}, plan);
    return absl::OkStatus();
  }

  // ---- columns ----

  absl::Status EmitColumns(KernelPlan& plan) {
    const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {
      const JointReducer reducer(emitter, group_);
      llvm::Value* const column = k.Rem(k.ThreadIndex(), kColumns);
      llvm::Value* const part = k.Div(k.ThreadIndex(), kColumns);
      llvm::Value* const output = k.Add(k.Scale(k.BlockIndex(), kColumns), column);
      llvm::Value* const inside = k.Less(output, k.Index(outputs_));
      std::vector<SharedArray> partial;
      for (const ElementType type : reducer.types())
        partial.push_back(k.Shared(type, kColumns * kParts, "partial"));
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
    GpuFrame frame = frame_;
    std::vector<int> scratch;
    for (const ElementType type : ScratchTypes())
      scratch.push_back(frame.AddScratch(plan, type, outputs_ * splits));
    const auto first = [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {
      const JointReducer reducer(emitter, group_);
      return EmitPartials(emitter, k, reducer, splits, scratch);
    };
    ASSIGN_OR_RETURN(const int partials, AddKernel(frame, kRowBlock, 0, plan, first));
    AddLaunch(frame, partials, outputs_ * splits, kRowBlock, {}, plan);
    const auto second = [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {
      const JointReducer reducer(emitter, group_);
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
    llvm::LLVMContext context;
    llvm::Module module("types", context);
    KernelBuilder kernel(module, "types", {}, 0, kWarpSize, 0);
    GpuFusionEmitter emitter(kernel);
    const JointReducer reducer(emitter, group_);
    kernel.Finish();
    return reducer.types();
  }

  // Block `split` of a result combines its share of the elements; the first ones take one more each
  // where it does not come out even.
  absl::Status EmitPartials(GpuFusionEmitter& emitter, KernelBuilder& k,
                            const JointReducer& reducer, int64_t splits,
                            const std::vector<int>& scratch) const {
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

  const ReduceGroup& group_;
  const GpuFrame& frame_;
  absl::Span<const int64_t> dims_;
  const DimVec& reduced_;
  absl::InlinedVector<int64_t, 6> kept_dims_, reduced_dims_;
  int64_t outputs_ = 1;
  int64_t elements_ = 1;
  bool minor_reduced_ = false;
  bool in_one_piece_ = true;  // no kept dimension after a reduced one
  int lanes_ = 1;
  int64_t chunks_ = 1;  // of lanes_ elements, per output
};

// Which outputs of a fusion the kernels of its reductions store.
class ReduceGrouping {
 public:
  explicit ReduceGrouping(const GpuFrame& frame) : frame_(frame) {}

  // Groups that store something; `taken` says for each output whether one does.
  std::vector<ReduceGroup> Run(std::vector<bool>& taken) {
    std::vector<ReduceGroup> groups;
    for (const Instruction* i : frame_.body) {
      if (i->opcode() != Opcode::kReduce) continue;
      const auto same = std::find_if(groups.begin(), groups.end(), [i](const ReduceGroup& group) {
        const Instruction& other = *group.reduces[0];
        return other.operand(0)->shape().dims() == i->operand(0)->shape().dims() &&
               other.attrs<ReduceAttrs>().dimensions == i->attrs<ReduceAttrs>().dimensions;
      });
      (same == groups.end() ? groups.emplace_back() : *same).reduces.push_back(i);
    }
    for (ReduceGroup& group : groups) {
      if (IsWorthIt(group)) TakeOutputs(group, taken);
    }
    std::erase_if(groups, [](const ReduceGroup& group) { return group.results.empty(); });
    return groups;
  }

 private:
  // One thread per result is the best there is otherwise.
  bool IsWorthIt(const ReduceGroup& group) const {
    return ReduceEmission(group, frame_).IsWorthIt();
  }

  void TakeOutputs(ReduceGroup& group, std::vector<bool>& taken) {
    std::vector<const Instruction*> used;
    for (size_t o = 0; o < frame_.outputs.size(); ++o) {
      const KernelOutput& output = frame_.outputs[o];
      if (taken[o] || !Follows(*output.instruction, group, used)) continue;
      group.results.push_back(output);
      taken[o] = true;
    }
    std::erase_if(group.reduces, [&](const Instruction* reduce) {
      return std::find(used.begin(), used.end(), reduce) == used.end();
    });
    if (group.reduces.empty()) return;
    const absl::Span<const int64_t> dims = group.reduces[0]->operand(0)->shape().dims();
    for (size_t o = 0; o < frame_.outputs.size(); ++o) {
      const KernelOutput& output = frame_.outputs[o];
      if (taken[o] || output.shape.dims() != dims || Reduces(*output.instruction)) continue;
      group.elements.push_back(output);
      taken[o] = true;
    }
  }

  // Whether the value is elementwise in results of the group, and of at least one, which are
  // added to `used`.
  bool Follows(const Instruction& value, const ReduceGroup& group,
               std::vector<const Instruction*>& used) {
    std::vector<const Instruction*> found;
    std::vector<const Instruction*> stack = {&value};
    for (size_t steps = 0; !stack.empty(); ++steps) {
      constexpr size_t kMost = 256;
      if (steps > kMost) return false;
      const Instruction* i = stack.back();
      stack.pop_back();
      if (i->opcode() == Opcode::kGetTupleElement) i = i->operand(0);
      if (std::find(group.reduces.begin(), group.reduces.end(), i) != group.reduces.end()) {
        found.push_back(i);
        continue;
      }
      if (!Reduces(*i)) continue;
      if (!IsFusibleElementwise(*i) ||
          i->shape().dims() != KeptDims(group.reduces[0]->operand(0)->shape().dims(),
                                        group.reduces[0]->attrs<ReduceAttrs>().dimensions))
        return false;
      for (const Instruction* operand : i->operands()) stack.push_back(operand);
    }
    used.insert(used.end(), found.begin(), found.end());
    return !found.empty();
  }

  // Whether the value depends on a reduction.
  bool Reduces(const Instruction& value) {
    if (const auto it = reduces_.find(&value); it != reduces_.end()) return it->second;
    bool any = value.opcode() == Opcode::kReduce;
    if (std::find(frame_.body.begin(), frame_.body.end(), &value) != frame_.body.end()) {
      for (const Instruction* operand : value.operands()) any = any || Reduces(*operand);
    }
    return reduces_[&value] = any;
  }

  const GpuFrame& frame_;
  absl::flat_hash_map<const Instruction*, bool> reduces_;  // looked up only
};

}  // namespace

absl::Status EmitReductions(const GpuFrame& frame, std::vector<bool>& emitted, KernelPlan& plan) {
  for (const ReduceGroup& group : ReduceGrouping(frame).Run(emitted)) {
    plan.family = "reduce";
    RETURN_IF_ERROR(ReduceEmission(group, frame).Emit(plan));
  }
  return absl::OkStatus();
}

}  // namespace hlo::gpu
