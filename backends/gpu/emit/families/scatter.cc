// scatter: the result begins as the operand (in its buffer when both share one, else copied first);
// then every update window is combined into it.
//
// Results are the same at every run, whatever the operation: windows that may meet in an element
// are taken in row-major order. Where indices are unique, every update has a thread. Where windows
// meet only at equal window positions, they are sorted by where they go (stably), and the first of
// each place combines all of that place, with a thread for each window position; a few windows are
// gone through by a thread for each position instead. Sums and extremes of few results are looked
// for: the threads of a warp or a block go through all indices for each result, and combine what
// they find in one order. Otherwise one thread does everything.
#include <algorithm>

#include "backends/gpu/emit/core/reducer.h"
#include "backends/gpu/emit/families/loops.h"
#include "backends/gpu/emit/families/sort.h"
#include "lib/analysis/cost.h"
#include "lib/analysis/region.h"
#include "lib/support/contains.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::gpu {
namespace {

using Sizes = absl::InlinedVector<int64_t, 6>;

class ScatterEmission {
 public:
  ScatterEmission(const Instruction& scatter, const GpuFrame& frame, GpuFusionEmitter& emitter)
      : scatter_(scatter),
        attrs_(scatter.attrs<ScatterAttrs>()),
        frame_(frame),
        emitter_(emitter),
        k_(emitter.kernel()),
        count_((scatter.operand_count() - 1) / 2) {}

  // Combines the update at window position `window` (of all sizes) of scatter index `number`.
  absl::Status Combine(llvm::Value* number, llvm::Value* window, const Sizes& scatter_sizes,
                       const Sizes& window_sizes) {
    const auto batch = ArrayIndex::Linear(scatter_sizes, number).positions(k_);
    const auto inner = ArrayIndex::Linear(window_sizes, window).positions(k_);
    ArrayIndex::Positions target;
    ASSIGN_OR_RETURN(llvm::Value* const inside, Target(batch, inner, target));
    return k_.If(inside, [&]() -> absl::Status {
      const absl::Span<const int64_t> dims = scatter_.operand(0)->shape().dims();
      llvm::Value* const place = ArrayIndex::At(dims, target).linear(k_);
      ASSIGN_OR_RETURN(const EmittedList combined, Apply(LoadAt(place), batch, inner));
      StoreAt(place, combined);
      return absl::OkStatus();
    });
  }

  // Where windows of scatter index `number` go, as a number; -1 for those that do not fit.
  absl::StatusOr<llvm::Value*> KeyOf(llvm::Value* number, const Sizes& scatter_sizes,
                                     const Sizes& window_sizes) {
    const auto batch = ArrayIndex::Linear(scatter_sizes, number).positions(k_);
    const auto inner = ArrayIndex::Positions(window_sizes.size(), k_.Index(0));
    ArrayIndex::Positions target;
    ASSIGN_OR_RETURN(llvm::Value* const inside, Target(batch, inner, target));
    const absl::Span<const int64_t> dims = scatter_.operand(0)->shape().dims();
    return k_.b().CreateSelect(inside, ArrayIndex::At(dims, target).linear(k_), k_.Index(-1));
  }

  // Combines, at window position `window`, the sorted indices [first, end), which go to one place.
  absl::Status CombineRun(llvm::Value* first, llvm::Value* end, llvm::Value* window, int numbers,
                          const Sizes& scatter_sizes, const Sizes& window_sizes) {
    const auto inner = ArrayIndex::Linear(window_sizes, window).positions(k_);
    const auto batch_of = [&](llvm::Value* i) {
      llvm::Value* const number = k_.Load(numbers, i).value;
      return ArrayIndex::Linear(scatter_sizes, number).positions(k_);
    };
    ArrayIndex::Positions target;
    RETURN_IF_ERROR(Target(batch_of(first), inner, target).status());
    const absl::Span<const int64_t> dims = scatter_.operand(0)->shape().dims();
    llvm::Value* const place = ArrayIndex::At(dims, target).linear(k_);
    ASSIGN_OR_RETURN(const EmittedList done,
                     k_.Loop(first, end, k_.Index(1), LoadAt(place),
                             [&](llvm::Value* i, const EmittedList& before) {
                               return Apply(before, batch_of(i), inner);
                             }));
    StoreAt(place, done);
    return absl::OkStatus();
  }

  // What the update of scatter index `number` adds to the result at `place`: `none` where it goes
  // elsewhere.
  absl::StatusOr<EmittedList> UpdateFor(llvm::Value* place, llvm::Value* number,
                                        const Emitted& none, const Sizes& scatter_sizes) {
    const absl::Span<const int64_t> dims = scatter_.operand(0)->shape().dims();
    const auto at = ArrayIndex::Linear(dims, place).positions(k_);
    // Windows do not move along their own dimensions.
    ArrayIndex::Positions inner, target;
    const Shape update = scatter_.operand(2)->shape();
    llvm::Value* in_window = k_.b().getTrue();
    for (size_t d = 0; d < dims.size(); ++d) {
      const auto dim = static_cast<int64_t>(d);
      if (Contains(attrs_.inserted_window_dims, dim) || Contains(attrs_.input_batching_dims, dim))
        continue;
      const int64_t size = update.dim(static_cast<int>(attrs_.update_window_dims[inner.size()]));
      if (size < dims[d]) in_window = k_.b().CreateAnd(in_window, k_.Less(at[d], k_.Index(size)));
      inner.push_back(at[d]);
    }
    const auto batch = ArrayIndex::Linear(scatter_sizes, number).positions(k_);
    ASSIGN_OR_RETURN(llvm::Value* const inside, Target(batch, inner, target));
    llvm::Value* const is_here =
        k_.b().CreateICmpEQ(ArrayIndex::At(dims, target).linear(k_), place);
    const auto load = [&]() -> absl::StatusOr<EmittedList> {
      const Instruction* const updates = scatter_.operand(2);
      ASSIGN_OR_RETURN(const Emitted value,
                       emitter_.Emit(updates, ArrayIndex::At(updates->shape().dims(),
                                                             UpdatePositions(batch, inner))));
      return EmittedList{value};
    };
    // The place of an index that does not fit may be no number at all.
    llvm::Value* const found =
        k_.b().CreateAnd(in_window, k_.b().CreateLogicalAnd(inside, is_here));
    return k_.Guarded(found, load,
                      [&]() -> absl::StatusOr<EmittedList> { return EmittedList{none}; });
  }
  // Combines what all threads found for `place` with what is there.
  absl::Status StoreFound(llvm::Value* place, const EmittedList& found) {
    EmittedList arguments = LoadAt(place);
    arguments.push_back(found[0]);
    ASSIGN_OR_RETURN(const EmittedList done, emitter_.EmitRegion(*scatter_.to_apply(), arguments));
    StoreAt(place, done);
    return absl::OkStatus();
  }

 private:
  EmittedList LoadAt(llvm::Value* place) {
    EmittedList values;
    for (int i = 0; i < count_; ++i)
      values.push_back(k_.Load(frame_.outputs[static_cast<size_t>(i)].buffer, place));
    return values;
  }
  void StoreAt(llvm::Value* place, const EmittedList& values) {
    for (size_t i = 0; i < values.size(); ++i) k_.Store(frame_.outputs[i].buffer, place, values[i]);
  }
  ArrayIndex::Positions UpdatePositions(const ArrayIndex::Positions& batch,
                                        const ArrayIndex::Positions& inner) const {
    ArrayIndex::Positions at;
    size_t next_batch = 0, next_window = 0;
    for (int64_t d = 0; d < scatter_.operand(count_ + 1)->shape().rank(); ++d)
      at.push_back(Contains(attrs_.update_window_dims, d) ? inner[next_window++]
                                                          : batch[next_batch++]);
    return at;
  }

  // `before` combined with the updates of one index at one window position.
  absl::StatusOr<EmittedList> Apply(const EmittedList& before, const ArrayIndex::Positions& batch,
                                    const ArrayIndex::Positions& inner) {
    const ArrayIndex::Positions update_at = UpdatePositions(batch, inner);
    EmittedList arguments = before;
    for (int i = 0; i < count_; ++i) {
      const Instruction* const updates = scatter_.operand(count_ + 1 + i);
      ASSIGN_OR_RETURN(const Emitted value,
                       emitter_.Emit(updates, ArrayIndex::At(updates->shape().dims(), update_at)));
      arguments.push_back(value);
    }
    return emitter_.EmitRegion(*scatter_.to_apply(), arguments);
  }

  // The place in the result; whether the whole window lies inside.
  absl::StatusOr<llvm::Value*> Target(const ArrayIndex::Positions& batch,
                                      const ArrayIndex::Positions& inner,
                                      ArrayIndex::Positions& target) {
    const Instruction* const indices = scatter_.operand(count_);
    const absl::Span<const int64_t> dims = scatter_.operand(0)->shape().dims();
    const Shape update = scatter_.operand(count_ + 1)->shape();
    target.assign(dims.size(), k_.Index(0));
    Sizes window(dims.size(), 1);
    size_t next = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      const auto dim = static_cast<int64_t>(d);
      if (Contains(attrs_.inserted_window_dims, dim) || Contains(attrs_.input_batching_dims, dim))
        continue;
      window[d] = update.dim(static_cast<int>(attrs_.update_window_dims[next]));
      target[d] = inner[next++];
    }
    for (size_t i = 0; i < attrs_.input_batching_dims.size(); ++i) {
      const int64_t d = attrs_.scatter_indices_batching_dims[i];
      target[static_cast<size_t>(attrs_.input_batching_dims[i])] =
          batch[static_cast<size_t>(d < attrs_.index_vector_dim ? d : d - 1)];
    }
    llvm::Value* inside = k_.b().getTrue();
    for (size_t n = 0; n < attrs_.scatter_dims_to_operand_dims.size(); ++n) {
      ArrayIndex::Positions at;
      size_t b = 0;
      for (int64_t d = 0; d < indices->shape().rank(); ++d)
        at.push_back(d == attrs_.index_vector_dim ? k_.Index(static_cast<int64_t>(n)) : batch[b++]);
      const auto d = static_cast<size_t>(attrs_.scatter_dims_to_operand_dims[n]);
      ASSIGN_OR_RETURN(const GpuFusionEmitter::CheckedIndex start,
                       emitter_.IndexElement(indices, ArrayIndex::At(indices->shape().dims(), at),
                                             dims[d] - window[d]));
      inside = k_.b().CreateAnd(inside, start.fits);
      target[d] = k_.Add(target[d], start.value);
    }
    return inside;
  }

  const Instruction& scatter_;
  const ScatterAttrs& attrs_;
  const GpuFrame& frame_;
  GpuFusionEmitter& emitter_;
  KernelBuilder& k_;
  int count_;
};

// Whether two windows can meet in an element only at the same window position: no dimension that
// the indices move is also spanned by the window.
bool WindowPositionsAreApart(const ScatterAttrs& attrs) {
  return std::all_of(attrs.scatter_dims_to_operand_dims.begin(),
                     attrs.scatter_dims_to_operand_dims.end(),
                     [&](int64_t d) { return Contains(attrs.inserted_window_dims, d); });
}

// The first position in (first, count] of the sorted keys that holds another key.
absl::StatusOr<llvm::Value*> EndOfRun(KernelBuilder& k, int keys, llvm::Value* first,
                                      llvm::Value* key, int64_t count) {
  auto& b = k.b();
  int64_t steps = 1;
  while ((int64_t{1} << steps) <= count) ++steps;
  const auto halve = [&](llvm::Value*, const EmittedList& range) -> absl::StatusOr<EmittedList> {
    llvm::Value* const lo = range[0].value;
    llvm::Value* const hi = range[1].value;
    const auto look = [&]() -> absl::StatusOr<EmittedList> {
      llvm::Value* const mid = b.CreateLShr(k.Add(lo, hi), 1);
      llvm::Value* const same = b.CreateICmpEQ(k.Load(keys, mid).value, key);
      return EmittedList{{b.CreateSelect(same, k.Offset(mid, 1), lo), nullptr},
                         {b.CreateSelect(same, hi, mid), nullptr}};
    };
    return k.Guarded(k.Less(lo, hi), look, [&]() -> absl::StatusOr<EmittedList> { return range; });
  };
  ASSIGN_OR_RETURN(const EmittedList done,
                   k.Loop(k.Index(0), k.Index(steps), k.Index(1),
                          {{k.Offset(first, 1), nullptr}, {k.Index(count), nullptr}}, halve));
  return done[0].value;
}

// Sorts the windows by where they go, then combines those of each place.
absl::Status EmitSorted(const Instruction& scatter, int64_t scatters, int64_t windows,
                        const Sizes& scatter_sizes, const Sizes& window_sizes, GpuFrame& frame,
                        KernelPlan& plan) {
  // The type of the indices that kernels of this frame compute with.
  const ElementType type = KernelBuilder::IndicesFitIn32(frame.buffers, frame.largest)
                               ? ElementType::kS32
                               : ElementType::kS64;
  std::vector<int> fresh, between, sorted;
  for (std::vector<int>* pair : {&fresh, &between, &sorted}) {
    for (int i = 0; i < 2; ++i) pair->push_back(frame.AddScratch(plan, type, scatters));
  }
  const auto thread_of = [](KernelBuilder& k) {
    return k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
  };
  RETURN_IF_ERROR(AddSimpleKernel(
      frame, scatters, plan, [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {
        ScatterEmission emission(scatter, frame, emitter);
        llvm::Value* const thread = thread_of(k);
        return k.If(k.Less(thread, k.Index(scatters)), [&]() -> absl::Status {
          ASSIGN_OR_RETURN(llvm::Value* const key,
                           emission.KeyOf(thread, scatter_sizes, window_sizes));
          k.Store(fresh[0], thread, {key, nullptr});
          k.Store(fresh[1], thread, {thread, nullptr});
          return absl::OkStatus();
        });
      }));
  MergeSort merge;
  merge.length = merge.count = scatters;
  merge.types = {type, type};
  merge.before = [](GpuFusionEmitter& emitter, const EmittedList& a,
                    const EmittedList& b) -> absl::StatusOr<llvm::Value*> {
    return emitter.kernel().b().CreateICmpSLT(a[0].value, b[0].value);
  };
  RETURN_IF_ERROR(AddMergeSort(merge, frame, fresh, sorted, between, plan));
  return AddSimpleKernel(
      frame, scatters * windows, plan, [&](GpuFusionEmitter& emitter, KernelBuilder& k) {
        ScatterEmission emission(scatter, frame, emitter);
        auto& b = k.b();
        llvm::Value* const thread = thread_of(k);
        llvm::Value* const first = k.Div(thread, windows);
        return k.If(k.Less(thread, k.Index(scatters * windows)), [&]() -> absl::Status {
          llvm::Value* const key = k.Load(sorted[0], first).value;
          llvm::Value* const at_start = b.CreateICmpEQ(first, k.Index(0));
          llvm::Value* const before = b.CreateSelect(at_start, first, k.Offset(first, -1));
          llvm::Value* const begins =
              b.CreateOr(at_start, b.CreateICmpNE(k.Load(sorted[0], before).value, key));
          llvm::Value* const is_first = b.CreateAnd(begins, b.CreateICmpSGE(key, k.Index(0)));
          return k.If(is_first, [&]() -> absl::Status {
            ASSIGN_OR_RETURN(llvm::Value* const end, EndOfRun(k, sorted[0], first, key, scatters));
            return emission.CombineRun(first, end, k.Rem(thread, windows), sorted[1], scatter_sizes,
                                       window_sizes);
          });
        });
      });
}

// ---- few results ----

// What leaves every number as it is when the scatter combines them, if the order does not count
// then; for sums and extremes of numbers that are not rounded to less than f32 on the way.
std::optional<Literal> NeutralElement(const Instruction& scatter) {
  const ElementType type = scatter.operand(0)->shape().element_type();
  if (scatter.operand_count() != 3 || IsComplex(type) || IsPred(type) || BitWidth(type) < 32)
    return std::nullopt;
  const std::optional<Opcode> combiner = CombinerOpcode(*scatter.to_apply());
  if (combiner != Opcode::kMaximum && combiner != Opcode::kMinimum && combiner != Opcode::kAdd)
    return std::nullopt;
  return IdentityOf(*combiner, type);
}

// Whether all indices may be read for each result: there are few of both, and reading one costs
// little.
bool MayLookForUpdates(const Instruction& scatter, int64_t scatters, const GpuFrame& frame) {
  constexpr int64_t kMostLooks = int64_t{1} << 26;
  constexpr int kMostWeight = 24;  // as in LanesFor
  const int64_t results = frame.outputs[0].shape.element_count();
  if (results > kMostLooks / scatters || !NeutralElement(scatter)) return false;
  int weight = 0;
  for (const Instruction* i : frame.body) weight += IsCostly(*i) ? 16 : 1;
  return weight <= kMostWeight;
}

absl::Status EmitLookedFor(const Instruction& scatter, int64_t scatters, const Sizes& scatter_sizes,
                           const GpuFrame& frame, KernelPlan& plan) {
  RowReduction rows;
  rows.outputs = frame.outputs[0].shape.element_count();
  rows.elements = scatters;
  rows.types = {scatter.operand(0)->shape().element_type()};
  const int group = RowGroup(rows.outputs, rows.elements);
  const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k) {
    ScatterEmission emission(scatter, frame, emitter);
    const Literal neutral = *NeutralElement(scatter);
    const Emitted none = k.Constant(rows.types[0], static_cast<const uint8_t*>(neutral.data()));
    rows.input = [&](llvm::Value* place, llvm::Value* number) {
      return emission.UpdateFor(place, number, none, scatter_sizes);
    };
    rows.combine = [&](const EmittedList& a, const EmittedList& b) {
      return emitter.EmitRegion(*scatter.to_apply(), {a[0], b[0]});
    };
    rows.store = [&](llvm::Value* place, const EmittedList& found) {
      return emission.StoreFound(place, found);
    };
    return EmitRows(k, group, rows);
  };
  ASSIGN_OR_RETURN(const int kernel, AddKernel(frame, kRowBlock, 0, plan, body));
  AddLaunch(frame, kernel, RowBlocks(group, rows.outputs), kRowBlock, {}, plan);
  return absl::OkStatus();
}

}  // namespace

Decision TakesScatter(const Instruction& scatter) { return IsKernelOp(scatter); }

absl::Status EmitScatter(const FamilyRequest& request) {
  GpuFrame& frame = request.frame;
  KernelPlan& plan = request.plan;
  const Instruction& scatter = *RootOf(request.instruction);
  const auto& attrs = scatter.attrs<ScatterAttrs>();
  const int count = (scatter.operand_count() - 1) / 2;
  const Shape update = scatter.operand(count + 1)->shape();
  if (!UpdatesInPlace(request.instruction, request.options.shared)) {
    // The outputs begin as copies of the operands, wherever those are computed.
    for (int i = 0; i < count; ++i) {
      const KernelOutput& output = frame.outputs[static_cast<size_t>(i)];
      const KernelOutput copy = {scatter.operand(i), 0, output.buffer, output.shape};
      RETURN_IF_ERROR(EmitLoop(frame, {&copy, 1}, plan));
    }
  }
  plan.family = "scatter";
  if (update.element_count() == 0 || frame.outputs[0].shape.element_count() == 0)
    return absl::OkStatus();
  Sizes scatter_sizes, window_sizes;
  int64_t scatters = 1, windows = 1;
  for (int d = 0; d < update.rank(); ++d) {
    const bool is_window = Contains(attrs.update_window_dims, d);
    (is_window ? window_sizes : scatter_sizes).push_back(update.dim(d));
    (is_window ? windows : scatters) *= update.dim(d);
  }
  const bool unique = attrs.unique_indices || scatters == 1;
  const bool apart = WindowPositionsAreApart(attrs);
  // unique indices: windows that differ in their index may still overlap when they have an extent.
  const bool all_parallel = scatters == 1 || (unique && apart);
  constexpr int64_t kFewScatters = 64;
  if (!all_parallel && apart && scatters > kFewScatters) {
    if (MayLookForUpdates(scatter, scatters, frame))
      return EmitLookedFor(scatter, scatters, scatter_sizes, frame, plan);
    return EmitSorted(scatter, scatters, windows, scatter_sizes, window_sizes, frame, plan);
  }
  const int64_t threads = all_parallel ? scatters * windows : apart ? windows : 1;
  return AddSimpleKernel(
      frame, threads, plan, [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {
        ScatterEmission emission(scatter, frame, emitter);
        llvm::Value* const thread =
            k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
        return k.If(k.Less(thread, k.Index(threads)), [&]() -> absl::Status {
          if (all_parallel) {
            return emission.Combine(k.Div(thread, windows), k.Rem(thread, windows), scatter_sizes,
                                    window_sizes);
          }
          const auto each = [&](llvm::Value* i,
                                const EmittedList& none) -> absl::StatusOr<EmittedList> {
            llvm::Value* const number = apart ? i : k.Div(i, windows);
            llvm::Value* const window = apart ? thread : k.Rem(i, windows);
            RETURN_IF_ERROR(emission.Combine(number, window, scatter_sizes, window_sizes));
            return none;
          };
          const int64_t trips = apart ? scatters : scatters * windows;
          return k.Loop(k.Index(0), k.Index(trips), k.Index(1), {}, each).status();
        });
      });
}

}  // namespace hlo::gpu
