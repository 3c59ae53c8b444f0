// backends/cpu/families/loop.cc
//
// The family of kernels that compute every element of their outputs once, in loops over the largest
// output: elementwise chains, movements, column reductions, and rows (softmax, normalisation),
// whose reductions nest inside.
//
// Tasks are blocks of the outer loops, or pieces of the only one.
#include <algorithm>
#include <optional>

#include "backends/cpu/families/kernel_frame.h"
#include "lib/analysis/cost.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"
#include "passes/fusion/row_fusion.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kElementsPerTask = 2048;

class LoopEmission {
 public:
  LoopEmission(const Instruction& fusion, const FamilyOptions& options, LoopPlan& plan)
      : fusion_(fusion),
        options_(options),
        plan_(plan),
        base_lanes_(BaseLanes(fusion, options)),
        b_(&result_.kernel),
        emitter_(b_, plan, base_lanes_) {}

  absl::StatusOr<KernelPlan> Run() {
    ASSIGN_OR_RETURN(frame_, MakeFrame(fusion_, b_, emitter_));
    RETURN_IF_ERROR(ArrangeOutputs());
    if (main_dims_zero_) {
      result_.task_count = 0;
      return std::move(result_);
    }
    RETURN_IF_ERROR(EmitTasks());
    if (emitter_.has_outer_reduce() && !plan_.serial) plan_.serial = plan_.changed = true;
    result_.cost_ns_per_task =
        CostInNs(fusion_, options_) / static_cast<double>(std::max<int64_t>(1, result_.task_count));
    return std::move(result_);
  }

 private:
  // The largest output gives the loops. Others have as many elements, or are one per row of it
  // (fusion_target.h).
  absl::Status ArrangeOutputs() {
    const KernelOutput& first = frame_.outputs[0];
    if (first.instruction->opcode() == Opcode::kDynamicUpdateSlice &&
        UpdatesInPlace(fusion_, options_.shared)) {
      return ArrangeUpdate(*first.instruction);
    }
    const auto largest =
        std::max_element(frame_.outputs.begin(), frame_.outputs.end(),
                         [](const KernelOutput& a, const KernelOutput& b) {
                           return a.shape.element_count() < b.shape.element_count();
                         });
    const auto dims = largest->shape.dims();
    main_dims_.assign(dims.begin(), dims.end());
    main_dims_zero_ = largest->shape.element_count() == 0;
    for (const KernelOutput& output : frame_.outputs) {
      if (output.shape.element_count() == largest->shape.element_count()) {
        main_.push_back(&output);
        continue;
      }
      rows_.push_back(&output);
    }
    return absl::OkStatus();
  }

  // dynamic-update-slice in its operand's buffer: only the window is written.
  absl::Status ArrangeUpdate(const Instruction& slice) {
    update_ = frame_.outputs[0];
    update_.instruction = slice.operand(1);
    update_.shape = slice.operand(1)->shape();
    main_.push_back(&update_);
    main_dims_.assign(update_.shape.dims().begin(), update_.shape.dims().end());
    main_dims_zero_ = update_.shape.element_count() == 0;
    for (int d = 0; d < slice.shape().rank(); ++d) {
      const int64_t limit = slice.shape().dim(d) - update_.shape.dim(d);
      ASSIGN_OR_RETURN(Affine start, emitter_.ClampedStart(slice.operand(2 + d), {}, limit));
      window_start_.push_back(std::move(start));
    }
    whole_ = slice.shape();
    return absl::OkStatus();
  }

  bool Contains(bool (*is)(const Instruction&)) const {
    return std::any_of(frame_.body.begin(), frame_.body.end(),
                       [&](const Instruction* i) { return is(*i); });
  }

  static bool IsShortReduce(const Instruction& reduce) {
    constexpr int64_t kMostReduced = 16;
    return reduce.shape().IsArray() && reduce.operand(0)->shape().element_count() <=
                                           kMostReduced * reduce.shape().element_count();
  }

  // Whether each lane reduces a row of its own, of few elements.
  static bool ReducesFew(const Instruction& reduce) {
    return ReducesRows(reduce) && RowSize(reduce) <= kFewInRow;
  }

  // Whether something is reduced along the rows of the largest output, for all of a row: pieces of
  // it would each do that again.
  bool HasRowSums() const {
    const int64_t elements = Product(main_dims_);
    return std::any_of(frame_.body.begin(), frame_.body.end(), [&](const Instruction* i) {
      return i->opcode() == Opcode::kReduce && ReducesRows(*i) && RowSize(*i) > 1 &&
             i->operand(0)->shape().element_count() / RowSize(*i) < elements;
    });
  }

  // Little enough code to have it several times.
  bool IsShort() const {
    constexpr size_t kMostInstructions = 12;
    return frame_.body.size() <= kMostInstructions && !Contains([](const Instruction& i) {
             if (i.opcode() == Opcode::kReduce) return !IsShortReduce(i);
             return IsCostly(i) || i.opcode() == Opcode::kReduceWindow ||
                    i.opcode() == Opcode::kGather;
           });
  }

  // What is computed again has the same operands as before.
  bool WritesNothingItReads() const { return options_.shared.empty() && !whole_; }

  // Lanes that keep the processor busy without running out of registers.
  int WantedLanes(int64_t size) const {
    const bool expensive = Contains([](const Instruction& i) { return IsCostly(i); });
    const bool reduces = Contains(
        [](const Instruction& i) { return i.opcode() == Opcode::kReduce && !ReducesFew(i); });
    const bool windows =
        Contains([](const Instruction& i) { return i.opcode() == Opcode::kReduceWindow; });
    // Gathers are code for each lane, and busy enough.
    const bool gathers =
        Contains([](const Instruction& i) { return i.opcode() == Opcode::kGather; });
    int unroll = expensive || gathers || frame_.body.size() > 12 ? 1 : 2;
    if (reduces) unroll = expensive ? 1 : 8;
    if (windows) unroll = 4;
    // Two cores want two pieces.
    while (reduces && unroll > 1 && size < 2 * unroll * base_lanes_) unroll /= 2;
    return unroll * base_lanes_;
  }

  absl::Status EmitTasks() {
    FusionEmitter::ActiveNest& nest = emitter_.Open(-1, main_dims_);
    SeparateRows(nest);
    ArrangePieces(nest);
    ArrangeWrittenOut(nest);
    const size_t last = nest.groups.size() - 1;
    const int64_t last_size = nest.groups[last].size;
    nest.levels = emitter_.LevelsFor(nest, nest.written_out ? base_lanes_ : WantedLanes(last_size));
    if (IsShort()) nest.most_written_out = 4;
    // Tiles are squares; their loop is the one around the lanes'.
    const bool tiled = !nest.written_out && ArrangeTile(nest);
    nest.repeats = !tiled && WritesNothingItReads();
    if (!IsShort()) FusionEmitter::LetOverlap(nest);
    const size_t cut = tiled ? last - 1 : last;  // the group that may be cut into pieces
    nest.on_enter = [&](size_t g) { return EmitRows(nest, g); };
    if (nest.written_out) nest.groups[0].index = b_.Index(0);
    // Groups [first, outer) are flattened into tasks; the next one may be cut into chunks.
    const size_t first = nest.written_out ? 1 : 0;
    size_t outer = first;
    int64_t tasks = 1;
    while (outer < std::min(cut, RowGroups(nest)) && tasks < 64) tasks *= nest.groups[outer++].size;
    int64_t chunk = nest.groups[outer].size;
    if (outer == cut && tasks < 32 && (tasks == 1 || !HasRowSums()))
      chunk = ChunkOf(nest, cut, tasks);
    const int64_t chunks = CeilDiv(nest.groups[outer].size, chunk);
    result_.task_count = plan_.serial ? 1 : tasks * chunks;
    // One task: everything is known, and nothing need be computed from the bounds.
    const bool whole = plan_.serial || tasks * chunks == 1;
    const Value begin = whole ? b_.Index(0) : b_.begin();
    const Value end = whole ? b_.Index(tasks * chunks) : b_.end();
    const auto body = [&](const Values& carried) { return EmitBody(nest, carried); };
    if (outer == first) {
      RETURN_IF_ERROR(EmitRows(nest, 0));
      const Value lo = b_.Scale(begin, chunk);
      const Value hi = b_.Min(b_.Scale(end, chunk), b_.Index(nest.groups[first].size));
      return emitter_.LoopBetween(nest, first, lo, hi, {}, body).status();
    }
    const Value task = b_.BeginLoop(begin, end, 1)[0];
    Value rest = b_.Div(task, chunks);
    for (size_t g = outer; g-- > first;) {
      const int64_t size = nest.groups[g].size;
      nest.groups[g].index = g == first ? rest : b_.Rem(rest, size);
      nest.groups[g].depth = b_.depth();
      if (g > first) rest = b_.Div(rest, size);
    }
    for (size_t g = first; g < outer; ++g) RETURN_IF_ERROR(EmitRows(nest, g));
    if (chunks == 1) {
      RETURN_IF_ERROR(emitter_.Loop(nest, outer, {}, body).status());
    } else {
      RETURN_IF_ERROR(EmitRows(nest, outer));
      const Value lo = b_.Scale(b_.Rem(task, chunks), chunk);
      const Value hi = b_.Min(b_.Offset(lo, chunk), b_.Index(nest.groups[outer].size));
      RETURN_IF_ERROR(emitter_.LoopBetween(nest, outer, lo, hi, {}, body).status());
    }
    b_.EndLoop();
    return absl::OkStatus();
  }

  // Where single elements are put beside each other (pairs of indices, channels), each of these
  // places is a loop around that over the elements of one, for which there are lanes.
  void ArrangePieces(FusionEmitter::ActiveNest& nest) const {
    constexpr int64_t kMostPieces = 4;
    if (nest.groups.size() < 2 || !rows_.empty()) return;
    const FusionEmitter::Group& pieces = nest.groups.back();
    if (pieces.size > kMostPieces || nest.dims[pieces.first].breaks.empty() ||
        nest.groups[nest.groups.size() - 2].size < base_lanes_)
      return;
    std::swap(nest.groups[nest.groups.size() - 2], nest.groups.back());
  }

  // Where what belongs to a row of two or three elements (an index, a norm) keeps these apart from
  // the loop over the rows, a lane is a row: its elements are emitted one after the other, so that
  // what they share is computed once, and interleaved where they are stored.
  void ArrangeWrittenOut(FusionEmitter::ActiveNest& nest) const {
    constexpr int64_t kMostElements = 4;
    constexpr int64_t kMostInstructions = 96;
    if (nest.groups.size() < 2 || !rows_.empty() || whole_ || nest.plan->tile_dim >= 0 ||
        nest.plan->lanes_limit < base_lanes_)
      return;
    const FusionEmitter::Group& row = nest.groups.back();
    const LoopDim& dim = nest.dims[row.first];
    const bool is_row = row.first == row.last && row.size == main_dims_.back() &&
                        dim.array_dim + 1 == std::ssize(main_dims_) && dim.breaks.empty();
    if (!is_row || row.size < 2 || row.size > kMostElements ||
        nest.groups[nest.groups.size() - 2].size < base_lanes_ ||
        row.size * std::ssize(frame_.body) > kMostInstructions)
      return;
    // Four lanes are a vector, too.
    if (row.size == kMostElements && !Contains([](const Instruction& i) {
          return IsCostly(i) || i.opcode() == Opcode::kGather;
        }))
      return;
    for (const KernelOutput* output : main_) {
      const ElementType type = output->shape.element_type();
      if (output->shape.dims() != absl::MakeConstSpan(main_dims_) || IsComplex(type) ||
          ByteSize(type) < 4)
        return;
    }
    std::rotate(nest.groups.begin(), nest.groups.end() - 1, nest.groups.end());
    nest.written_out = true;
    nest.tile_group = 0;
    nest.groups[0].tile = static_cast<int>(nest.groups[0].size);
  }

  // Where loads are contiguous along another loop than the lanes': that loop runs in tiles around
  // the lanes'.
  bool ArrangeTile(FusionEmitter::ActiveNest& nest) {
    if (nest.plan->tile_dim < 0 || !rows_.empty() || nest.plan->lanes_limit < 2) return false;
    const int lanes = std::min(base_lanes_, 16);
    if (nest.groups.back().size < lanes) return false;
    for (size_t g = 0; g + 1 < nest.groups.size(); ++g) {
      const LoopDim& dim = nest.dims[nest.groups[g].last];
      if (dim.array_dim != nest.plan->tile_dim || dim.stride != nest.plan->tile_stride) continue;
      if (nest.groups[g].size < lanes) return false;
      const auto first = nest.groups.begin() + static_cast<int64_t>(g);
      std::rotate(first, first + 1, nest.groups.end() - 1);
      nest.tile_group = static_cast<int>(nest.groups.size()) - 2;
      nest.levels = emitter_.LevelsFor(nest, lanes);
      return true;
    }
    return false;
  }

  // A piece of group `cut` for one task.
  int64_t ChunkOf(const FusionEmitter::ActiveNest& nest, size_t cut, int64_t tasks) const {
    const int64_t size = nest.groups[cut].size;
    const int64_t lanes = nest.levels.front();
    const bool reduces = Contains([](const Instruction& i) { return kReduceOps.Has(i.opcode()); });
    int64_t chunk = reduces || (nest.tile_group >= 0 && !nest.written_out)
                        ? lanes
                        : std::max(kElementsPerTask, size * tasks / 256);
    chunk = std::max(chunk, CeilDiv(size * tasks, 1024));  // not more than a thousand tasks
    chunk = RoundUp(chunk, lanes);
    return std::min(chunk, size);
  }

  // ---- outputs with one element per row ----

  // Loops of the main dimensions must not run over the end of a row output's dimensions.
  void SeparateRows(FusionEmitter::ActiveNest& nest) {
    for (const KernelOutput* row : rows_) {
      const int rank = row->shape.rank();
      for (size_t d = 0; d + 1 < nest.dims.size(); ++d) {
        if (nest.dims[d].array_dim < rank && nest.dims[d + 1].array_dim >= rank)
          plan_.Separate(*nest.plan, d);
      }
    }
  }

  size_t GroupsOf(const FusionEmitter::ActiveNest& nest, const KernelOutput& row) const {
    size_t g = 0;
    while (g < nest.groups.size() && nest.dims[nest.groups[g].last].array_dim < row.shape.rank() &&
           row.shape.element_count() > 1) {
      ++g;
    }
    return g;
  }

  // Groups all row outputs run in.
  size_t RowGroups(const FusionEmitter::ActiveNest& nest) const {
    size_t groups = nest.groups.size();
    for (const KernelOutput* row : rows_) groups = std::min(groups, GroupsOf(nest, *row));
    return groups;
  }

  absl::Status EmitRows(const FusionEmitter::ActiveNest& nest, size_t g) {
    for (const KernelOutput* row : rows_) {
      if (GroupsOf(nest, *row) != g || plan_.changed) continue;
      if (g == 0 && !plan_.serial) plan_.serial = plan_.changed = true;
      Index index = emitter_.IndexOf(nest, static_cast<int>(main_dims_.size()));
      index.resize(static_cast<size_t>(row->shape.rank()));
      ASSIGN_OR_RETURN(const Value value,
                       emitter_.EmitResult(row->instruction, row->result, index));
      b_.Store(row->buffer, emitter_.ToAddress(Linear(index, row->shape.dims())).base, value);
    }
    return absl::OkStatus();
  }

  // ---- main outputs ----

  absl::StatusOr<Values> EmitBody(FusionEmitter::ActiveNest& nest, const Values& carried) {
    const Index index = emitter_.IndexOf(nest, static_cast<int>(main_dims_.size()));
    Affine linear = Linear(index, main_dims_);
    if (whole_) {
      Index shifted = index;
      for (size_t d = 0; d < shifted.size(); ++d) shifted[d].Add(window_start_[d]);
      linear = Linear(shifted, whole_->dims());
    }
    Values values;
    for (const KernelOutput* output : main_) {
      const Index own = emitter_.MapReshape(main_dims_, output->shape.dims(), index);
      ASSIGN_OR_RETURN(const Value value,
                       emitter_.EmitResult(output->instruction, output->result, own));
      values.push_back(b_.Splat(value, emitter_.lanes()));
    }
    const FusionEmitter::Address address = emitter_.ToAddress(linear);
    if (nest.written_out) {
      row_.push_back(std::move(values));
      if (std::ssize(row_) == nest.groups[0].size) StoreRow(address.base);
      return carried;
    }
    for (size_t i = 0; i < main_.size(); ++i)
      b_.Store(main_[i]->buffer, address.base, values[i], address.step);
    return carried;
  }

  // The elements of a row, or of a row in each lane, where they are written out.
  void StoreRow(Value last) {
    const auto count = static_cast<int64_t>(row_.size());
    const int lanes = emitter_.lanes();
    const Value first = b_.Offset(last, 1 - count);
    for (size_t i = 0; i < main_.size(); ++i) {
      std::vector<Value> elements;
      for (const Values& values : row_) elements.push_back(values[i]);
      if (lanes > 1) elements = emitter_.Interleaved(elements);
      for (int64_t k = 0; k < count; ++k)
        b_.Store(main_[i]->buffer, b_.Offset(first, k * lanes), elements[static_cast<size_t>(k)]);
    }
    row_.clear();
  }

  const Instruction& fusion_;
  const FamilyOptions& options_;
  LoopPlan& plan_;
  int base_lanes_;
  KernelPlan result_;
  tile::TileBuilder b_;
  FusionEmitter emitter_;
  KernelFrame frame_;
  std::vector<int64_t> main_dims_;
  bool main_dims_zero_ = false;
  std::vector<const KernelOutput*> main_, rows_;
  std::vector<Values> row_;     // the elements of one that is written out
  KernelOutput update_;         // in-place dynamic-update-slice: the window,
  std::optional<Shape> whole_;  // the array it lies in,
  Index window_start_;          // and where
};

}  // namespace

absl::StatusOr<KernelPlan> EmitLoopFamily(const Instruction& fusion, const FamilyOptions& options) {
  return EmitUntilSettled(
      fusion, [&](LoopPlan& plan) { return LoopEmission(fusion, options, plan).Run(); });
}

}  // namespace hlo::cpu
