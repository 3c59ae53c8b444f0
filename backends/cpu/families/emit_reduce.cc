// Emission of reduce: loops with accumulators.
//
// A reduce whose result does not vary over the lanes of the loop around it (a row's sum) gets
// vector accumulators over its own innermost dimension, combined at the end in a fixed order. One
// whose result does vary (column sums) accumulates a vector of results.
#include <algorithm>

#include "backends/cpu/families/fold.h"
#include "lib/analysis/cost.h"
#include "lib/support/hash.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::cpu {
namespace {

// Elements of a row that may be kept in scratch memory: it should stay in the L1 and L2 caches.
constexpr int64_t kMostKept = 1 << 14;
// Elements of a sum that one lane may add up before it counts as long: in f32, each addition is off
// by a part of what is there so far.
constexpr int64_t kMostAdded = 1 << 13;
// That are added up in one go, and in each block of more.
constexpr int64_t kMostInRow = 1 << 11, kMostInBlock = 1 << 8;
// So many lanes to one column are too many.
constexpr int kFewColumns = 4, kFewCostlyColumns = 2;
// Elements that are combined without a loop, each with code of its own.
constexpr int64_t kMostWrittenOut = 8;

}  // namespace

// ---- rows kept in scratch memory ----

std::vector<const Instruction*> FusionEmitter::RowsToKeep(const Instruction* reduce) const {
  const absl::Span<const int64_t> dims = reduce->operand(0)->shape().dims();
  std::vector<const Instruction*> found, stack = {reduce->operand(0)};
  for (size_t seen = 0; seen < stack.size() && seen < 32; ++seen) {
    const Instruction* const i = stack[seen];
    if (buffers_.contains(i) || !IsFusibleElementwise(*i) || i->shape().dims() != dims) continue;
    if (IsCostly(*i) && i->use_count() > 1) {
      found.push_back(i);
      continue;
    }
    for (const Instruction* operand : i->operands()) stack.push_back(operand);
  }
  return found;
}

// Whether computing an element of `root` takes something costly.
bool FusionEmitter::IsAnyCostly(const Instruction& root) const {
  std::vector<const Instruction*> stack = {&root};
  for (size_t seen = 0; seen < stack.size() && seen < 64; ++seen) {
    const Instruction* const i = stack[seen];
    if (buffers_.contains(i) || i->opcode() == Opcode::kReduce) continue;
    if (IsCostly(*i)) return true;
    for (const Instruction* operand : i->operands()) stack.push_back(operand);
  }
  return false;
}

uint64_t FusionEmitter::EpochsOf(const Index& index, const std::vector<int64_t>& row_sizes) const {
  uint64_t epochs = 0;
  for (size_t d = 0; d < index.size(); ++d) {
    if (row_sizes[d] > 1) continue;
    for (const Term& term : index[d].terms)
      epochs = HashMix(epochs, variables_[term.variable].epoch);
  }
  return epochs;
}

std::optional<Value> FusionEmitter::LoadKept(const Instruction* instruction, const Index& index) {
  for (const KeptRow& row : kept_rows_) {
    if (row.instruction != instruction || !b_.IsVisible(row.made)) continue;
    if (row.epochs != EpochsOf(index, row.sizes)) continue;
    bool same = true;
    Index inside = index;
    for (size_t d = 0; d < index.size(); ++d) {
      if (row.sizes[d] > 1) continue;
      same = same && index[d] == row.index[d];
      inside[d] = Affine();
    }
    if (same) return LoadElement(row.buffer, Linear(inside, row.sizes));
  }
  return std::nullopt;
}

// The accumulators of all levels and the initial value as one.
absl::StatusOr<Values> FusionEmitter::CombineLevels(const Fold& fold, const Values& carried,
                                                    size_t levels, Values initial) {
  Values total = std::move(initial);
  for (size_t level = 0; level < levels; ++level) {
    const auto first = carried.begin() + static_cast<int64_t>(level * fold.count());
    ASSIGN_OR_RETURN(Values lanes,
                     fold.Lanes(Values(first, first + static_cast<int64_t>(fold.count()))));
    ASSIGN_OR_RETURN(total, fold.Combine(std::move(total), std::move(lanes)));
  }
  return total;
}

// One reduction while it is emitted.
struct FusionEmitter::Reduction {
  const Instruction& reduce;
  const Index& index;  // of the result
  Fold fold;
  size_t count;                // of arrays
  std::vector<int64_t> sizes;  // of the reduced dimensions, 1 for the others
  bool varies = false;         // the result does, over the lanes of the loops around it
  bool has_lanes = false;      // they would be shared out among lanes
  bool vectors = false;        // the elements are shared out among lanes, each with sums of its own
  // Several accumulators hide the latency of the combination, but costly elements want the
  // registers.
  int unroll = 4;
  std::vector<int> levels;  // lanes of each loop over the minor-most dimension
  std::vector<KeptRow> rows;

  Reduction(FusionEmitter& emitter, const Instruction& instruction, const Index& at)
      : reduce(instruction),
        index(at),
        fold(emitter, instruction),
        count(static_cast<size_t>(instruction.operand_count() / 2)),
        sizes(static_cast<size_t>(shape().rank()), 1) {
    for (const int64_t d : reduce.attrs<ReduceAttrs>().dimensions)
      sizes[static_cast<size_t>(d)] = shape().dim(static_cast<int>(d));
    for (const Affine& affine : index) varies = varies || emitter.DependsOnLanes(affine);
  }

  Shape shape() const { return reduce.operand(0)->shape(); }
  bool IsReduced(int d) const {
    const DimVec& reduced = reduce.attrs<ReduceAttrs>().dimensions;
    return std::find(reduced.begin(), reduced.end(), d) != reduced.end();
  }
  // The minor-most dimension larger than 1, -1 of a scalar.
  int Minor() const {
    int minor = shape().rank() - 1;
    while (minor > 0 && shape().dim(minor) == 1) --minor;
    return minor;
  }
  // Whether what is reduced are rows of few elements, for which several are read at once.
  bool HasFewInRows() const { return varies && reduce.attrs<ReduceAttrs>().dimensions.size() == 1; }
  // Whether lanes belong to the reduced elements: to those of rows, and to those of columns that
  // are so few that most lanes would have nothing to do, or do something costly once per column.
  bool HasLanes(int base_lanes, bool is_costly) const {
    int last = Minor();
    if (last < 0) return false;
    if (IsReduced(last)) return shape().dim(last) > (HasFewInRows() ? kFewInRow : 1);
    int64_t columns = 1;
    for (; last >= 0 && !IsReduced(last); --last) columns *= shape().dim(last);
    return last >= 0 && CombinerOpcode(*reduce.to_apply()).has_value() &&
           shape().dim(last) >= 2 * base_lanes &&
           columns < base_lanes / (is_costly ? kFewCostlyColumns : kFewColumns);
  }
  int64_t LanesToOneSum() const { return vectors ? levels[0] : 1; }
  // Where `fold.count()` carried values of a level begin.
  ptrdiff_t First(size_t level) const { return static_cast<ptrdiff_t>(level * fold.count()); }
};

// Rows: the lanes belong to the reduced dimension, not to the results; unless the results vary only
// with outer dimensions of a loop over several, which then is two loops.
void FusionEmitter::KeepLanesForRows(const Index& index) {
  for (const auto& nest : nests_) {
    const Group& group = nest->groups.back();
    if (group.lanes == 1) continue;
    const auto is_used = [&](size_t d) {
      return std::any_of(index.begin(), index.end(),
                         [&](const Affine& a) { return a.CoefficientOf(nest->variables[d]) != 0; });
    };
    if (is_used(group.last)) plan_.LimitLanes(*nest->plan, 1);
    for (size_t d = group.first; d < group.last; ++d) {
      if (is_used(d) != is_used(d + 1)) plan_.Separate(*nest->plan, d);
    }
  }
}

// Combines the elements of one iteration with what the lanes have carried so far.
absl::StatusOr<Values> FusionEmitter::ReduceStep(Reduction& r, const ActiveNest& nest,
                                                 const Values& before) {
  const int rank = r.shape().rank();
  Index element = IndexOf(nest, rank);
  const bool wants_place = !r.rows.empty() || r.fold.has_positions();
  const Address place = wants_place ? ToAddress(Linear(element, r.sizes)) : Address();
  size_t kept = 0;
  for (int d = 0; d < rank; ++d) {
    if (!r.IsReduced(d)) element[static_cast<size_t>(d)] = r.index[kept++];
  }
  size_t level = 0;
  while (r.vectors && level < r.levels.size() && r.levels[level] != lanes_) ++level;
  RET_CHECK(level < r.levels.size(), "`{}` runs in {} lanes, which it has no sums for",
            r.reduce.name(), lanes_);
  Values values;
  for (size_t i = 0; i < r.count; ++i) {
    ASSIGN_OR_RETURN(const Value value, Emit(r.reduce.operand(static_cast<int>(i)), element));
    values.push_back(r.fold.Carried(value));
  }
  if (r.fold.has_positions()) values.push_back(r.fold.Position(place));
  for (KeptRow& row : r.rows) {
    ASSIGN_OR_RETURN(const Value value, Emit(row.instruction, element));
    b_.Store(row.buffer, place.base, b_.Splat(value, lanes_), place.step);
    row.index = element;
  }
  const auto mine = before.begin() + r.First(level);
  ASSIGN_OR_RETURN(
      const Values next,
      r.fold.CombineInOrder(Values(mine, mine + static_cast<ptrdiff_t>(r.fold.count())), values));
  Values after = before;
  for (size_t i = 0; i < r.fold.count(); ++i)
    after[level * r.fold.count() + i] = b_.Splat(next[i], lanes_);
  return after;
}

// The loop over the reduced elements in blocks, whose sums are added up: each lane's sum is as
// close as those of its blocks, and costs no more.
absl::StatusOr<Values> FusionEmitter::ReduceInBlocks(Reduction& r, ActiveNest& nest, Values carried,
                                                     const Body& body) {
  const int64_t size = nest.groups[0].size;
  const int64_t lanes = r.LanesToOneSum();
  const Values starts = r.vectors ? carried : Values{b_.Splat(r.fold.Nothing(), lanes_)};
  int64_t step = std::max<int64_t>(1, kMostInBlock * lanes / (Product(r.sizes) / size));
  if (nest.groups.size() == 1) step = RoundUp(step, lanes);
  const Values arguments = b_.BeginLoop(b_.Index(0), b_.Index(size), step, carried);
  const Value end = b_.Min(b_.Offset(arguments[0], step), b_.Index(size));
  ASSIGN_OR_RETURN(const Values block, LoopBetween(nest, 0, arguments[0], end, starts, body));
  Values sums;
  for (size_t level = 0; level < block.size(); ++level) {
    ASSIGN_OR_RETURN(const Values sum,
                     r.fold.Combine({arguments[level + 1]}, Values{block[level]}));
    sums.push_back(sum[0]);
  }
  return b_.EndLoop(sums);
}

// The loop over the reduced elements: the results of all arrays.
absl::StatusOr<Values> FusionEmitter::ReduceLoop(Reduction& r, Values initial) {
  ActiveNest& nest = Open(static_cast<int>(r.reduce.id()), r.sizes);
  std::optional<Values> starts;
  if (!r.varies && r.has_lanes) starts = r.fold.StartsOfLanes(initial, Product(r.sizes));
  r.vectors = starts.has_value();
  if (r.vectors) nest.levels = LevelsFor(nest, r.unroll * base_lanes_);
  if (Product(r.sizes) <= kMostWrittenOut && r.unroll > 1) nest.most_written_out = kMostWrittenOut;
  r.levels = LevelsOf(nest, nest.groups.size() - 1);
  Values carried;
  for (const int level : r.levels) {
    for (const Value value : r.vectors ? *starts : initial)
      carried.push_back(b_.Splat(value, r.vectors ? level : lanes_));
  }
  if (r.vectors && Product(r.sizes) <= kMostKept) {
    for (const Instruction* i : RowsToKeep(&r.reduce)) {
      const int buffer = b_.AddBuffer(tile::BufferKind::kScratch, i->shape().element_type(),
                                      Product(r.sizes), true);
      r.rows.push_back({i, {}, r.sizes, buffer, tile::kNoValue});
    }
  }
  const auto body = [&](const Values& before) { return ReduceStep(r, nest, before); };
  const bool in_blocks =
      Product(r.sizes) / r.LanesToOneSum() > kMostInRow && r.rows.empty() && r.fold.AddsF32();
  ASSIGN_OR_RETURN(Values done, in_blocks ? ReduceInBlocks(r, nest, carried, body)
                                          : Loop(nest, 0, carried, body));
  if (r.vectors) {
    if (r.fold.has_positions()) initial.push_back(starts->back());
    ASSIGN_OR_RETURN(done, CombineLevels(r.fold, done, r.levels.size(), std::move(initial)));
  }
  return r.fold.Results(std::move(done));
}

absl::StatusOr<Value> FusionEmitter::EmitReduce(const Instruction* instruction, int result,
                                                const Index& index) {
  Reduction r(*this, *instruction, index);
  const bool is_costly = IsAnyCostly(*instruction->operand(0));
  r.has_lanes = r.HasLanes(base_lanes_, is_costly);
  if (r.varies && r.has_lanes) KeepLanesForRows(index);

  const int depth = DepthOf(index);
  const tile::TileBuilder::At at(b_, r.varies ? b_.depth() : depth);
  if (b_.depth() == 0) has_outer_reduce_ = true;
  const int outer_lanes = lanes_;
  const Value outer_mask = mask_;
  const bool outer_in_vain = in_vain_;
  if (!r.varies) {
    lanes_ = 1;
    in_vain_ = in_vain_ || mask_ != tile::kNoValue;
    mask_ = tile::kNoValue;
  }
  if (is_costly) r.unroll = 1;
  if (!r.varies && Product(r.sizes) / (r.unroll * base_lanes_) > kMostAdded) r.fold.CarryLong();
  Values initial;
  for (size_t i = 0; i < r.count; ++i) {
    ASSIGN_OR_RETURN(const Value value,
                     Emit(instruction->operand(static_cast<int>(r.count + i)), {}));
    initial.push_back(r.fold.Carried(value));
  }
  ASSIGN_OR_RETURN(const Values done, ReduceLoop(r, std::move(initial)));
  for (KeptRow& row : r.rows) {
    row.made = done[0];
    row.epochs = EpochsOf(row.index, row.sizes);
    kept_rows_.push_back(row);
  }
  lanes_ = outer_lanes;
  mask_ = outer_mask;
  in_vain_ = outer_in_vain;
  for (size_t i = 0; i < r.count; ++i) {
    if (static_cast<int>(i) == result) continue;
    memo_[HashOf(instruction, static_cast<int>(i), index)].push_back(
        {instruction, static_cast<int>(i), mask_, index, done[i]});
  }
  return done[static_cast<size_t>(result)];
}

}  // namespace hlo::cpu
