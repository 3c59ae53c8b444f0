// Emission of reduce and reduce-window: loops with accumulators.
//
// A reduce whose result does not vary over the lanes of the loop around it (a row's sum) gets
// vector accumulators over its own innermost dimension, combined at the end in a fixed order. One
// whose result does vary (column sums) accumulates a vector of results.
#include <algorithm>

#include "backends/cpu/families/fusion_emitter.h"
#include "lib/support/status.h"
#include "passes/cpu/fusible.h"

namespace hlo::cpu {
namespace {

// Elements of a row that may be kept in scratch memory: it should stay in the L1 and L2 caches.
constexpr int64_t kMostKept = 1 << 14;

// The element every value of `type` keeps when combined with it by `op`; empty if there is none
// that we know.
std::optional<Literal> IdentityOf(Opcode op, ElementType type) {
  if (op == Opcode::kAdd) return Literal::Scalar(type, IsFloat(type) ? -0.0 : 0.0);
  if (op == Opcode::kMultiply) return Literal::One(type);
  if (op == Opcode::kMaximum && !IsComplex(type)) return Literal::MinValue(type);
  if (op == Opcode::kMinimum && !IsComplex(type)) return Literal::MaxValue(type);
  if (op == Opcode::kOr || op == Opcode::kXor) return Literal::Zero(type);
  if (op == Opcode::kAnd && IsPred(type)) return Literal::One(type);
  if (op == Opcode::kAnd && IsInteger(type)) return Literal::Scalar(type, int64_t{-1});
  return std::nullopt;
}

// The opcode when the computation is one operation on its two parameters.
std::optional<Opcode> SimpleRegion(const Computation& region) {
  const Instruction* const root = region.root();
  if (region.parameter_count() != 2 || root->operand_count() != 2) return std::nullopt;
  const Instruction* const a = root->operand(0);
  const Instruction* const b = root->operand(1);
  if (a == b || a->opcode() != Opcode::kParameter || b->opcode() != Opcode::kParameter)
    return std::nullopt;
  return root->opcode();
}

// Every result is one of the arguments (arg-max and the like): combining with the initial value
// again changes nothing.
bool IsChoice(const Computation& region) {
  for (const Instruction* i : region.instructions()) {
    constexpr Opcode kChoices[] = {Opcode::kParameter, Opcode::kCompare, Opcode::kSelect,
                                   Opcode::kAnd,       Opcode::kOr,      Opcode::kNot,
                                   Opcode::kMaximum,   Opcode::kMinimum, Opcode::kTuple};
    if (std::find(std::begin(kChoices), std::end(kChoices), i->opcode()) == std::end(kChoices))
      return false;
    const bool logical =
        i->opcode() == Opcode::kAnd || i->opcode() == Opcode::kOr || i->opcode() == Opcode::kNot;
    if (logical && !IsPred(i->shape().element_type())) return false;
  }
  return true;
}

// Whether combining the initial value of a reduce-window once more changes nothing.
bool StartsWithIdentity(const Instruction& window) {
  const Computation& region = *window.to_apply();
  if (IsChoice(region)) return true;
  const std::optional<Opcode> simple = SimpleRegion(region);
  if (!simple) return false;
  constexpr Opcode kIdempotent[] = {Opcode::kMaximum, Opcode::kMinimum, Opcode::kAnd, Opcode::kOr};
  if (std::find(std::begin(kIdempotent), std::end(kIdempotent), *simple) != std::end(kIdempotent))
    return true;
  const Instruction& init = *window.operand(1);
  if (!init.IsConstant() || init.literal().is_elided()) return false;
  const ElementType type = init.shape().element_type();
  if (*simple == Opcode::kAdd) return init.literal() == Literal::Zero(type);
  return *simple == Opcode::kMultiply && init.literal() == Literal::One(type);
}

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

absl::StatusOr<Values> FusionEmitter::FoldLanes(const Computation& region, Values values) {
  while (b_.lanes(values[0]) > 1) {
    const int half = b_.lanes(values[0]) / 2;
    std::vector<int16_t> low, high;
    for (int lane = 0; lane < half; ++lane) {
      low.push_back(static_cast<int16_t>(lane));
      high.push_back(static_cast<int16_t>(half + lane));
    }
    Values arguments;
    for (const Value v : values) arguments.push_back(b_.Shuffle(v, v, low));
    for (const Value v : values) arguments.push_back(b_.Shuffle(v, v, high));
    ASSIGN_OR_RETURN(values, EmitRegion(region, arguments));
  }
  return values;
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
absl::StatusOr<Values> FusionEmitter::CombineLevels(const Instruction* reduce,
                                                    const Values& carried,
                                                    const std::vector<int>& levels,
                                                    absl::Span<const Value> initial) {
  const Computation& region = *reduce->to_apply();
  const size_t count = initial.size();
  Values total(initial.begin(), initial.end());
  for (size_t level = 0; level < levels.size(); ++level) {
    const auto first = carried.begin() + static_cast<int64_t>(level * count);
    ASSIGN_OR_RETURN(const Values folded,
                     FoldLanes(region, Values(first, first + static_cast<int64_t>(count))));
    Values arguments = total;
    arguments.insert(arguments.end(), folded.begin(), folded.end());
    ASSIGN_OR_RETURN(total, EmitRegion(region, arguments));
  }
  return total;
}

absl::StatusOr<Value> FusionEmitter::EmitReduce(const Instruction* instruction, int result,
                                                const Index& index) {
  const Computation& region = *instruction->to_apply();
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
    initial.push_back(value);
  }

  ActiveNest& nest = Open(static_cast<int>(instruction->id()), sizes);
  const std::optional<Opcode> simple = SimpleRegion(region);
  std::vector<Value> identity;
  if (!varies && has_minor) {
    if (simple && count == 1) {
      const auto literal = IdentityOf(*simple, shape.element_type());
      if (literal) identity.push_back(EmitLiteral(*literal, 0));
    } else if (IsChoice(region)) {
      identity.assign(initial.begin(), initial.end());
    }
  }
  const bool vectors = !identity.empty();
  // Several accumulators hide the latency of the combination, but costly elements want the
  // registers.
  const int unroll = IsAnyCostly(*instruction->operand(0)) ? 1 : 4;
  if (vectors)
    nest.levels =
        LevelsFor(nest.groups.back().size, std::min(unroll * base_lanes_, nest.plan->lanes_limit));
  const std::vector<int> levels = LevelsOf(nest, nest.groups.size() - 1);
  Values carried;
  for (const int level : levels) {
    for (size_t i = 0; i < count; ++i) {
      carried.push_back(vectors ? b_.Splat(identity[i], level) : b_.Splat(initial[i], lanes_));
    }
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
    const Address place = rows.empty() ? Address() : ToAddress(Linear(element, sizes));
    size_t kept = 0;
    for (int d = 0; d < shape.rank(); ++d) {
      if (!is_reduced(d)) element[static_cast<size_t>(d)] = index[kept++];
    }
    size_t level = 0;
    while (vectors && level < levels.size() && levels[level] != lanes_) ++level;
    RET_CHECK(level < levels.size(), "`{}` runs in {} lanes, which it has no sums for",
              instruction->name(), lanes_);
    Values arguments(before.begin() + static_cast<int64_t>(level * count),
                     before.begin() + static_cast<int64_t>((level + 1) * count));
    for (size_t i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(const Value value, Emit(instruction->operand(static_cast<int>(i)), element));
      arguments.push_back(value);
    }
    for (KeptRow& row : rows) {
      ASSIGN_OR_RETURN(const Value value, Emit(row.instruction, element));
      b_.Store(row.buffer, place.base, b_.Splat(value, lanes_), place.step);
      row.index = element;
    }
    ASSIGN_OR_RETURN(const Values next, EmitRegion(region, arguments));
    Values after = before;
    for (size_t i = 0; i < count; ++i) after[level * count + i] = b_.Splat(next[i], lanes_);
    return after;
  };
  ASSIGN_OR_RETURN(Values done, Loop(nest, 0, carried, body));
  if (vectors) {
    ASSIGN_OR_RETURN(done, CombineLevels(instruction, done, levels, initial));
  }
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

absl::StatusOr<Value> FusionEmitter::EmitReduceWindow(const Instruction* instruction, int result,
                                                      const Index& index) {
  const Computation& region = *instruction->to_apply();
  const auto count = static_cast<size_t>(instruction->operand_count() / 2);
  const Shape shape = instruction->operand(0)->shape();
  const Window& window = instruction->attrs<ReduceWindowAttrs>().window;
  std::vector<int64_t> sizes;
  for (const WindowDim& dim : window.dims) sizes.push_back(dim.size);
  Values carried;
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const Value value,
                     Emit(instruction->operand(static_cast<int>(count + i)), {}));
    carried.push_back(b_.Splat(value, lanes_));
  }
  const Values initial = carried;
  const bool neutral = count == 1 && StartsWithIdentity(*instruction);
  ActiveNest& nest = Open(static_cast<int>(instruction->id()), sizes);
  const auto body = [&](const Values& before) -> absl::StatusOr<Values> {
    const Index at = IndexOf(nest, shape.rank());
    std::vector<Condition> conditions;
    Index element(at.size());
    for (size_t d = 0; d < at.size(); ++d) {
      const WindowDim& dim = window.dims[d];
      const int64_t size = shape.dim(static_cast<int>(d));
      element[d] = Affine::Constant(-dim.pad_low);
      element[d].Add(index[d], dim.stride);
      element[d].Add(at[d], dim.window_dilation);
      if (dim.base_dilation > 1) {
        conditions.push_back({element[d], 0, (size - 1) * dim.base_dilation + 1});
        auto [quotient, remainder] = DivRem(element[d], dim.base_dilation);
        conditions.push_back({remainder, 0, 1});
        element[d] = quotient;
      } else {
        conditions.push_back({element[d], 0, size});
      }
    }
    Values arguments = before;
    for (size_t i = 0; i < count; ++i) {
      const auto inside = [&] { return Emit(instruction->operand(static_cast<int>(i)), element); };
      const auto outside = [&]() -> absl::StatusOr<Value> { return initial[i]; };
      ASSIGN_OR_RETURN(const Value value, Guarded(conditions, inside, outside));
      arguments.push_back(value);
    }
    ASSIGN_OR_RETURN(Values next, EmitRegion(region, arguments));
    for (size_t i = 0; i < count; ++i) {
      // Positions in the padding are skipped; an identity may as well be combined.
      if (!neutral) {
        const auto taken = [&]() -> absl::StatusOr<Value> { return next[i]; };
        const auto skipped = [&]() -> absl::StatusOr<Value> { return before[i]; };
        ASSIGN_OR_RETURN(next[i], Guarded(conditions, taken, skipped));
      }
      next[i] = b_.Splat(next[i], lanes_);
    }
    return next;
  };
  ASSIGN_OR_RETURN(const Values done, Loop(nest, 0, carried, body));
  return done[static_cast<size_t>(result)];
}

}  // namespace hlo::cpu
