// Emission of reduce: loops with accumulators.
//
// A reduce whose result does not vary over the lanes of the loop around it (a row's sum) gets
// vector accumulators over its own innermost dimension, combined at the end in a fixed order. One
// whose result does vary (column sums) accumulates a vector of results.
#include <algorithm>

#include "backends/cpu/families/fold.h"
#include "lib/support/status.h"
#include "passes/cpu/fusible.h"

namespace hlo::cpu {
namespace {

// Elements of a row that may be kept in scratch memory: it should stay in the L1 and L2 caches.
constexpr int64_t kMostKept = 1 << 14;
// Elements that are combined without a loop, each with code of its own.
constexpr int64_t kMostWrittenOut = 8;

}  // namespace

void FusionEmitter::NoteRecomputation(const Index& index, int depth) {
  int64_t factor = 1;
  for (const auto& nest : nests_) {
    for (const Group& group : nest->groups) {
      if (group.depth < 0 || group.depth > depth) continue;
      bool used = false;
      for (size_t d = group.first; d <= group.last; ++d) {
        for (const Affine& affine : index)
          used = used || affine.CoefficientOf(nest->variables[d]) != 0;
      }
      if (!used) factor *= group.size;
    }
  }
  recomputation_ = std::max(recomputation_, factor);
}

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

std::optional<Value> FusionEmitter::LoadKept(const Instruction* instruction, const Index& index) {
  for (const KeptRow& row : kept_rows_) {
    if (row.instruction != instruction || !b_.IsVisible(row.made)) continue;
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

absl::StatusOr<Value> FusionEmitter::EmitReduce(const Instruction* instruction, int result,
                                                const Index& index) {
  Fold fold(*this, *instruction);
  const auto count = static_cast<size_t>(instruction->operand_count() / 2);
  const Shape shape = instruction->operand(0)->shape();
  const DimVec& reduced = instruction->attrs<ReduceAttrs>().dimensions;
  const auto is_reduced = [&](int d) {
    return std::find(reduced.begin(), reduced.end(), d) != reduced.end();
  };
  std::vector<int64_t> sizes(static_cast<size_t>(shape.rank()), 1);  // kept dimensions do not loop
  int minor = shape.rank() - 1;
  while (minor > 0 && shape.dim(minor) == 1) --minor;
  for (int d = 0; d < shape.rank(); ++d) {
    if (is_reduced(d)) sizes[static_cast<size_t>(d)] = shape.dim(d);
  }
  bool varies = false;
  for (const Affine& affine : index) varies = varies || DependsOnLanes(affine);
  const bool has_minor = minor >= 0 && is_reduced(minor);
  if (varies && has_minor && shape.dim(minor) > 1) {
    // Rows: the lanes belong to the reduced dimension, not to the results; unless the results vary
    // only with outer dimensions of a loop over several, which then is two loops.
    for (const auto& nest : nests_) {
      const Group& group = nest->groups.back();
      if (group.lanes == 1) continue;
      const auto is_used = [&](size_t d) {
        return std::any_of(index.begin(), index.end(), [&](const Affine& a) {
          return a.CoefficientOf(nest->variables[d]) != 0;
        });
      };
      if (is_used(group.last)) plan_.LimitLanes(*nest->plan, 1);
      for (size_t d = group.first; d < group.last; ++d) {
        if (is_used(d) != is_used(d + 1)) plan_.Separate(*nest->plan, d);
      }
    }
  }

  const int depth = DepthOf(index);
  NoteRecomputation(index, depth);
  const tile::Builder::At at(b_, varies ? b_.depth() : depth);
  if (b_.depth() == 0) has_outer_reduce_ = true;
  const int outer_lanes = lanes_;
  const Value outer_mask = mask_;
  if (!varies) {
    lanes_ = 1;
    mask_ = tile::kNoValue;
  }
  Values initial;
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const Value value,
                     Emit(instruction->operand(static_cast<int>(count + i)), {}));
    initial.push_back(fold.Carried(value));
  }

  ActiveNest& nest = Open(static_cast<int>(instruction->id()), sizes);
  std::optional<Values> starts;
  if (!varies && has_minor) starts = fold.StartsOfLanes(initial, Product(sizes));
  const bool vectors = starts.has_value();
  // Several accumulators hide the latency of the combination, but costly elements want the
  // registers.
  const int unroll = IsAnyCostly(*instruction->operand(0)) ? 1 : 4;
  if (vectors) nest.levels = LevelsFor(nest, unroll * base_lanes_);
  if (Product(sizes) <= kMostWrittenOut && unroll > 1) nest.most_written_out = kMostWrittenOut;
  const std::vector<int> levels = LevelsOf(nest, nest.groups.size() - 1);
  Values carried;
  for (const int level : levels) {
    for (const Value value : vectors ? *starts : initial)
      carried.push_back(b_.Splat(value, vectors ? level : lanes_));
  }
  std::vector<KeptRow> rows;
  if (vectors && sizes.size() == static_cast<size_t>(shape.rank()) && Product(sizes) <= kMostKept) {
    for (const Instruction* i : RowsToKeep(instruction)) {
      const int buffer =
          b_.AddBuffer(tile::BufferKind::kScratch, i->shape().element_type(), Product(sizes), true);
      rows.push_back({i, {}, sizes, buffer, tile::kNoValue});
    }
  }
  const auto body = [&](const Values& before) -> absl::StatusOr<Values> {
    Index element = IndexOf(nest, shape.rank());
    const bool wants_place = !rows.empty() || fold.has_positions();
    const Address place = wants_place ? ToAddress(Linear(element, sizes)) : Address();
    size_t kept = 0;
    for (int d = 0; d < shape.rank(); ++d) {
      if (!is_reduced(d)) element[static_cast<size_t>(d)] = index[kept++];
    }
    size_t level = 0;
    while (vectors && level < levels.size() && levels[level] != lanes_) ++level;
    RET_CHECK(level < levels.size(), "`{}` runs in {} lanes, which it has no sums for",
              instruction->name(), lanes_);
    const auto mine = before.begin() + static_cast<int64_t>(level * fold.count());
    Values values;
    for (size_t i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(const Value value, Emit(instruction->operand(static_cast<int>(i)), element));
      values.push_back(fold.Carried(value));
    }
    if (fold.has_positions()) values.push_back(fold.Position(place));
    for (KeptRow& row : rows) {
      ASSIGN_OR_RETURN(const Value value, Emit(row.instruction, element));
      b_.Store(row.buffer, place.base, b_.Splat(value, lanes_), place.step);
      row.index = element;
    }
    ASSIGN_OR_RETURN(
        const Values next,
        fold.CombineInOrder(Values(mine, mine + static_cast<int64_t>(fold.count())), values));
    Values after = before;
    for (size_t i = 0; i < fold.count(); ++i)
      after[level * fold.count() + i] = b_.Splat(next[i], lanes_);
    return after;
  };
  ASSIGN_OR_RETURN(Values done, Loop(nest, 0, carried, body));
  if (vectors) {
    if (fold.has_positions()) initial.push_back(starts->back());
    ASSIGN_OR_RETURN(done, CombineLevels(fold, done, levels.size(), std::move(initial)));
  }
  done = fold.Results(std::move(done));
  for (KeptRow& row : rows) {
    row.made = done[0];
    kept_rows_.push_back(row);
  }
  lanes_ = outer_lanes;
  mask_ = outer_mask;
  for (size_t i = 0; i < count; ++i) {
    if (static_cast<int>(i) == result) continue;
    memo_[HashOf(instruction, static_cast<int>(i), index)].push_back(
        {instruction, static_cast<int>(i), mask_, index, done[i]});
  }
  return done[static_cast<size_t>(result)];
}

}  // namespace hlo::cpu
