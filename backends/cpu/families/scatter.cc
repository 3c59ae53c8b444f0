// backends/cpu/families/scatter.cc
//
// scatter: for every update window, combine it into the result at a start read from the indices.
// The result begins as the operand: in its buffer when the two are shared, else copied first.
//
// Windows are taken in row-major order, so the result is deterministic. Tasks are pieces of the
// innermost window dimension: every task takes all updates, but writes only its own columns. Where
// starts move windows along themselves, columns of one meet other columns of the next: one task.
#include <algorithm>

#include "backends/cpu/families/kernel_frame.h"
#include "lib/support/contains.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::cpu {
namespace {

class ScatterEmission {
 public:
  ScatterEmission(const Instruction& fusion, const FamilyOptions& options, LoopPlan& plan)
      : fusion_(fusion),
        options_(options),
        plan_(plan),
        scatter_(*RootOf(fusion)),
        attrs_(scatter_.attrs<ScatterAttrs>()),
        count_((scatter_.operand_count() - 1) / 2),
        b_(&result_.kernel),
        emitter_(b_, plan, std::max(1, options.vector_bytes / 4)) {
    result_.family = "gather_scatter";
  }

  absl::StatusOr<KernelPlan> Run() {
    ASSIGN_OR_RETURN(frame_, MakeFrame(fusion_, b_, emitter_));
    const Shape update = scatter_.operand(count_ + 1)->shape();
    result_dims_ = scatter_.operand(0)->shape().dims();
    std::vector<int64_t> scatter_sizes, window_sizes;
    for (int d = 0; d < update.rank(); ++d) {
      const bool window = Contains(attrs_.update_window_dims, d);
      scatter_sizes.push_back(window ? 1 : update.dim(d));
      window_sizes.push_back(window ? update.dim(d) : 1);
    }
    if (scatter_.operand(0)->shape().element_count() == 0) {
      result_.task_count = 0;
      return std::move(result_);
    }
    const bool shared = UpdatesInPlace(fusion_, options_.shared);
    FusionEmitter::ActiveNest& scatters =
        emitter_.Open(static_cast<int>(scatter_.id()), scatter_sizes);
    FusionEmitter::ActiveNest& windows = emitter_.Open(-2, window_sizes);
    const int64_t columns = windows.groups.back().size;
    windows.levels = emitter_.LevelsFor(windows, LanesFor());
    // Pieces of the columns, if there is nothing to copy first.
    const int64_t lanes = windows.levels.front();
    const bool split =
        shared && windows.groups.size() == 1 && columns >= 2 * lanes && !StartsMoveColumns(update);
    const int64_t piece = split ? RoundUp(columns / 16, lanes) : columns;
    const int64_t step = std::max(piece, std::min(columns, lanes));
    result_.task_count = split ? CeilDiv(columns, step) : 1;
    if (!shared) RETURN_IF_ERROR(CopyOperands());
    if (update.element_count() == 0) return Finish();
    const Value lo = split ? b_.Scale(b_.begin(), step) : b_.Index(0);
    const Value hi =
        split ? b_.Min(b_.Scale(b_.end(), step), b_.Index(columns)) : b_.Index(columns);
    const auto each_window = [&](const Values& none) -> absl::StatusOr<Values> {
      RETURN_IF_ERROR(EmitWindow(scatters, windows, lo, hi));
      return none;
    };
    RETURN_IF_ERROR(emitter_.Loop(scatters, 0, {}, each_window).status());
    return Finish();
  }

 private:
  absl::StatusOr<KernelPlan> Finish() {
    const double updates =
        static_cast<double>(scatter_.operand(count_ + 1)->shape().element_count());
    result_.cost_ns_per_task = (updates * 0.7 + 100) / static_cast<double>(result_.task_count);
    return std::move(result_);
  }

  // Whether windows may lie at several places of a dimension in which they have several elements.
  bool StartsMoveColumns(Shape update) const {
    size_t window = 0;
    for (int d = 0; d < std::ssize(result_dims_); ++d) {
      if (Contains(attrs_.inserted_window_dims, d) || Contains(attrs_.input_batching_dims, d))
        continue;
      const int64_t size = update.dim(static_cast<int>(attrs_.update_window_dims[window++]));
      const bool is_moved = Contains(attrs_.scatter_dims_to_operand_dims, d);
      if (is_moved && size > 1 && size < result_dims_[static_cast<size_t>(d)]) return true;
    }
    return false;
  }

  // The innermost window dimension is a run of the operand's memory.
  int LanesFor() const {
    const int rank = scatter_.operand(0)->shape().rank();
    const bool minor_is_window = rank > 0 && !Contains(attrs_.inserted_window_dims, rank - 1) &&
                                 !Contains(attrs_.input_batching_dims, rank - 1);
    if (!minor_is_window || attrs_.update_window_dims.empty()) return 1;
    const int last = scatter_.operand(count_ + 1)->shape().rank() - 1;
    if (attrs_.update_window_dims.back() != last) return 1;
    return 2 * std::max(1, options_.vector_bytes / 4);
  }

  absl::Status CopyOperands() {
    for (int k = 0; k < count_; ++k) {
      const int64_t sizes[] = {scatter_.operand(k)->shape().element_count()};
      FusionEmitter::ActiveNest& nest = emitter_.Open(-3 - k, sizes);
      nest.levels = emitter_.LevelsFor(nest, std::max(1, options_.vector_bytes / 4));
      const auto body = [&](const Values& none) -> absl::StatusOr<Values> {
        const Index linear = emitter_.IndexOf(nest, 1);
        const Index index = emitter_.MapReshape(sizes, result_dims_, linear);
        ASSIGN_OR_RETURN(const Value value, emitter_.Emit(scatter_.operand(k), index));
        const FusionEmitter::Address address = emitter_.ToAddress(linear[0]);
        b_.Store(Output(k), address.base, b_.Splat(value, emitter_.lanes()), address.step);
        return none;
      };
      RETURN_IF_ERROR(emitter_.Loop(nest, 0, {}, body).status());
    }
    return absl::OkStatus();
  }

  int Output(int k) const { return frame_.operand_buffers + k; }

  // The update window at the current scatter index: read its start, skip it unless all of it is
  // inside, combine.
  absl::Status EmitWindow(FusionEmitter::ActiveNest& scatters, FusionEmitter::ActiveNest& windows,
                          Value lo, Value hi) {
    const Shape update = scatter_.operand(count_ + 1)->shape();
    const Index position = emitter_.IndexOf(scatters, update.rank());
    Index batch;
    for (int d = 0; d < update.rank(); ++d) {
      if (!Contains(attrs_.update_window_dims, d))
        batch.push_back(position[static_cast<size_t>(d)]);
    }
    Index start(result_dims_.size());
    ASSIGN_OR_RETURN(const Value inside, EmitStart(batch, start));
    b_.BeginIf(inside);
    const auto body = [&](const Values& none) -> absl::StatusOr<Values> {
      RETURN_IF_ERROR(EmitElement(position, start, windows));
      return none;
    };
    const absl::Status status = windows.groups.size() == 1
                                    ? emitter_.LoopBetween(windows, 0, lo, hi, {}, body).status()
                                    : emitter_.Loop(windows, 0, {}, body).status();
    b_.Else();
    b_.EndIf();
    return status;
  }

  // Fills in the start of the window; gives whether the window fits.
  absl::StatusOr<Value> EmitStart(const Index& batch, Index& start) {
    const Instruction* const indices = scatter_.operand(count_);
    for (size_t i = 0; i < attrs_.input_batching_dims.size(); ++i) {
      const int64_t d = attrs_.scatter_indices_batching_dims[i];
      start[static_cast<size_t>(attrs_.input_batching_dims[i])] =
          batch[static_cast<size_t>(d < attrs_.index_vector_dim ? d : d - 1)];
    }
    Value inside = b_.Pred(true);
    for (size_t k = 0; k < attrs_.scatter_dims_to_operand_dims.size(); ++k) {
      Index at;
      size_t next = 0;
      for (int64_t d = 0; d < indices->shape().rank(); ++d) {
        at.push_back(d == attrs_.index_vector_dim ? Affine::Constant(static_cast<int64_t>(k))
                                                  : batch[next++]);
      }
      ASSIGN_OR_RETURN(Value value, emitter_.Emit(indices, at));
      value = b_.Convert(value, ElementType::kS64);
      const auto d = static_cast<size_t>(attrs_.scatter_dims_to_operand_dims[k]);
      const int64_t limit = result_dims_[d] - WindowSize(static_cast<int64_t>(d));
      inside =
          And(inside, b_.And(b_.LessEq(b_.Index(0), value), b_.LessEq(value, b_.Index(limit))));
      start[d].Add(emitter_.Opaque(value, {0, std::max<int64_t>(limit, 0)}));
    }
    return inside;
  }

  Value And(Value a, Value b) { return b_.ConstantOf(a) ? b : b_.And(a, b); }

  int64_t WindowSize(int64_t operand_dim) const {
    if (Contains(attrs_.inserted_window_dims, operand_dim) ||
        Contains(attrs_.input_batching_dims, operand_dim))
      return 1;
    size_t position = 0;
    for (int64_t d = 0; d < operand_dim; ++d) {
      if (!Contains(attrs_.inserted_window_dims, d) && !Contains(attrs_.input_batching_dims, d))
        ++position;
    }
    return scatter_.operand(count_ + 1)
        ->shape()
        .dim(static_cast<int>(attrs_.update_window_dims[position]));
  }

  absl::Status EmitElement(const Index& position, const Index& start,
                           FusionEmitter::ActiveNest& windows) {
    const Index inner = emitter_.IndexOf(windows, static_cast<int>(position.size()));
    Index update_index = position;
    for (size_t d = 0; d < inner.size(); ++d) update_index[d].Add(inner[d]);
    Index target = start;
    size_t next = 0;
    for (size_t d = 0; d < target.size(); ++d) {
      const auto dim = static_cast<int64_t>(d);
      if (Contains(attrs_.inserted_window_dims, dim) || Contains(attrs_.input_batching_dims, dim))
        continue;
      target[d].Add(inner[static_cast<size_t>(attrs_.update_window_dims[next++])]);
    }
    const FusionEmitter::Address address = emitter_.ToAddress(Linear(target, result_dims_));
    Values arguments, updates;
    for (int k = 0; k < count_; ++k) {
      ASSIGN_OR_RETURN(const Value value,
                       emitter_.Emit(scatter_.operand(count_ + 1 + k), update_index));
      updates.push_back(value);
    }
    for (int k = 0; k < count_; ++k)
      arguments.push_back(b_.Load(Output(k), address.base, emitter_.lanes(), address.step));
    arguments.insert(arguments.end(), updates.begin(), updates.end());
    ASSIGN_OR_RETURN(const Values combined, emitter_.EmitRegion(*scatter_.to_apply(), arguments));
    for (int k = 0; k < count_; ++k) {
      b_.Store(Output(k), address.base,
               b_.Splat(combined[static_cast<size_t>(k)], emitter_.lanes()), address.step);
    }
    return absl::OkStatus();
  }

  const Instruction& fusion_;
  const FamilyOptions& options_;
  LoopPlan& plan_;
  const Instruction& scatter_;
  const ScatterAttrs& attrs_;
  int count_;  // operands that are updated
  KernelPlan result_;
  tile::TileBuilder b_;
  FusionEmitter emitter_;
  KernelFrame frame_;
  absl::Span<const int64_t> result_dims_;
};

}  // namespace

absl::StatusOr<KernelPlan> EmitScatterFamily(const Instruction& fusion,
                                             const FamilyOptions& options) {
  return EmitUntilSettled(
      fusion, [&](LoopPlan& plan) { return ScatterEmission(fusion, options, plan).Run(); });
}

}  // namespace hlo::cpu
