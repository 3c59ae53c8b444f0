// Addresses, loops and the memory of what was emitted. The opcodes are in emit_elementwise.cc,
// emit_movement.cc, emit_reduce.cc.
#include "backends/cpu/families/fusion_emitter.h"

#include <algorithm>

#include "lib/support/check.h"
#include "lib/support/hash.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::cpu {

uint64_t FusionEmitter::HashOf(const Instruction* instruction, int result,
                               const Index& index) const {
  uint64_t h = HashMix(instruction->id(),
                       static_cast<uint64_t>(result) << 32 | static_cast<uint32_t>(mask_));
  for (const Affine& affine : index) {
    h = HashMix(h, static_cast<uint64_t>(affine.constant));
    for (const Term& term : affine.terms) {
      h = HashMix(
          h, static_cast<uint64_t>(term.variable) << 48 ^ static_cast<uint64_t>(term.coefficient));
      h = HashMix(h, variables_[term.variable].epoch);
    }
  }
  return h;
}

// ---- values ----

absl::StatusOr<Value> FusionEmitter::Emit(const Instruction* instruction, const Index& index) {
  return EmitResult(instruction, 0, index);
}

std::optional<Value> FusionEmitter::FindMemo(const Instruction* instruction, int result,
                                             const Index& index) const {
  const auto it = memo_.find(HashOf(instruction, result, index));
  if (it == memo_.end()) return std::nullopt;
  for (auto memo = it->second.rbegin(); memo != it->second.rend(); ++memo) {
    if (memo->instruction == instruction && memo->result == result && memo->mask == mask_ &&
        memo->index == index && b_.IsVisible(memo->value) &&
        (b_.lanes(memo->value) == 1 || b_.lanes(memo->value) == lanes_)) {
      return memo->value;
    }
  }
  return std::nullopt;
}

absl::StatusOr<Value> FusionEmitter::EmitResult(const Instruction* instruction, int result,
                                                const Index& index) {
  if (const std::optional<Value> known = FindMemo(instruction, result, index)) return *known;
  if (const std::optional<Value> kept = LoadKept(instruction, index)) return *kept;
  const Instruction* const outer = b_.SetOrigin(instruction);
  absl::StatusOr<Value> emitted = EmitUncached(instruction, result, index);
  b_.SetOrigin(outer);
  ASSIGN_OR_RETURN(const Value value, std::move(emitted));
  memo_[HashOf(instruction, result, index)].push_back({instruction, result, mask_, index, value});
  return value;
}

// ---- addresses ----

FusionEmitter::Range FusionEmitter::RangeOf(const Affine& affine) const {
  Range range = {affine.constant, affine.constant};
  for (const Term& term : affine.terms) {
    const Range& own = variables_[term.variable].range;
    range.lo += term.coefficient * (term.coefficient > 0 ? own.lo : own.hi);
    range.hi += term.coefficient * (term.coefficient > 0 ? own.hi : own.lo);
  }
  return range;
}

Affine FusionEmitter::Opaque(Value value, Range range) {
  if (const std::optional<int64_t> constant = b_.ConstantOf(value))
    return Affine::Constant(*constant);
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (variables_[i].nest < 0 && variables_[i].value == value)
      return Affine::Variable(static_cast<int32_t>(i));
  }
  Variable variable;
  variable.range = range;
  variable.value = value;
  variables_.push_back(variable);
  return Affine::Variable(static_cast<int32_t>(variables_.size()) - 1);
}

FusionEmitter::Address FusionEmitter::ToAddress(const Affine& affine) {
  Address address;
  absl::InlinedVector<std::pair<Value, int64_t>, 4> scalars, vectors;
  absl::InlinedVector<std::pair<int, size_t>, 4> done;  // groups
  int64_t constant = affine.constant;
  for (const Term& term : affine.terms) {
    const Variable& variable = variables_[term.variable];
    if (variable.nest < 0) {
      (b_.lanes(variable.value) > 1 ? vectors : scalars)
          .push_back({variable.value, term.coefficient});
      continue;
    }
    const ActiveNest& nest = *nests_[variable.nest];
    for (size_t g = 0; g < nest.groups.size(); ++g) {
      const Group& group = nest.groups[g];
      if (variable.dim < group.first || variable.dim > group.last) continue;
      if (std::find(done.begin(), done.end(), std::pair(variable.nest, g)) != done.end()) continue;
      done.push_back({variable.nest, g});
      const int64_t last = affine.CoefficientOf(nest.variables[group.last]);
      int64_t inner = last;
      for (size_t d = group.last; d-- > group.first;) {
        const int64_t expected = inner * nest.dims[d + 1].size;
        inner = affine.CoefficientOf(nest.variables[d]);
        if (inner != expected) plan_.Separate(*nest.plan, d);
      }
      HLO_DCHECK(group.index != tile::kNoValue);
      if (last == 0) continue;
      scalars.push_back({group.index, last});
      constant += last * group.offset;
      if (group.lanes > 1) {
        address.step = last;
        address.lanes = group.lanes;
      }
    }
  }
  // What is known further out is summed first, so that the sum is made there.
  std::sort(scalars.begin(), scalars.end());
  address.base = b_.Index(0);
  for (const auto& [value, scale] : scalars)
    address.base = b_.Add(address.base, b_.Scale(value, scale));
  address.base = b_.Offset(address.base, constant);
  if (vectors.empty()) return address;
  const int lanes = b_.lanes(vectors[0].first);
  Value sum = b_.Splat(address.base, lanes);
  if (address.step != 0) sum = b_.Add(sum, b_.Scale(b_.Iota(lanes), address.step));
  for (const auto& [value, scale] : vectors) sum = b_.Add(sum, b_.Scale(value, scale));
  return {sum, 0, lanes, true};
}

Value FusionEmitter::ToValue(const Affine& affine) {
  const Address address = ToAddress(affine);
  if (address.lanes == 1 || address.per_lane) return address.base;
  return b_.Add(b_.Splat(address.base, address.lanes),
                b_.Scale(b_.Iota(address.lanes), address.step));
}

bool FusionEmitter::DependsOnLanes(const Affine& affine) const {
  for (const Term& term : affine.terms) {
    const Variable& variable = variables_[term.variable];
    if (variable.nest < 0) {
      if (b_.lanes(variable.value) > 1) return true;
      continue;
    }
    for (const Group& group : nests_[variable.nest]->groups) {
      if (variable.dim >= group.first && variable.dim <= group.last && group.lanes > 1) return true;
    }
  }
  return false;
}

int FusionEmitter::DepthOf(const Index& index) const {
  int depth = 0;
  for (const Affine& affine : index) {
    for (const Term& term : affine.terms) {
      const Variable& variable = variables_[term.variable];
      if (variable.nest < 0) {
        depth = std::max(depth, b_.DepthOf(variable.value));
        continue;
      }
      for (const Group& group : nests_[variable.nest]->groups) {
        if (variable.dim >= group.first && variable.dim <= group.last)
          depth = std::max(depth, b_.DepthOf(group.index));
      }
    }
  }
  return depth;
}

std::optional<std::pair<Nest*, size_t>> FusionEmitter::LoopDimOf(int32_t variable) const {
  const Variable& v = variables_[variable];
  if (v.nest < 0) return std::nullopt;
  return std::pair(nests_[v.nest]->plan, v.dim);
}

bool FusionEmitter::SplitForDivision(const Term& term, int64_t divisor) {
  const auto loop = LoopDimOf(term.variable);
  const int64_t step = std::abs(term.coefficient);
  if (!loop || divisor % step != 0) return false;
  const LoopDim& dim = nests_[variables_[term.variable].nest]->dims[loop->second];
  const int64_t inner = divisor / step;
  if (inner <= 1 || dim.size <= inner || dim.size % inner != 0 || !dim.BreaksAreWhole(inner))
    return false;
  plan_.Split(*loop->first, loop->second, inner);
  return true;
}

std::pair<Affine, Affine> FusionEmitter::DivRem(const Affine& affine, int64_t divisor) {
  const Range whole_range = RangeOf(affine);
  if (whole_range.lo >= 0 && whole_range.hi < divisor) return {Affine::Constant(0), affine};
  Affine quotient, rest;
  rest.constant = affine.constant;
  // Terms that are multiples of the divisor leave the remainder alone.
  for (const Term& term : affine.terms) {
    const bool whole = term.coefficient % divisor == 0;
    (whole ? quotient : rest)
        .Add(
            Affine::Variable(term.variable, whole ? term.coefficient / divisor : term.coefficient));
  }
  const auto shift = [&](int64_t by) {
    quotient.constant += by;
    rest.constant -= by * divisor;
  };
  shift(FloorDiv(rest.constant, divisor));
  const Range range = RangeOf(rest);
  const int64_t first = FloorDiv(range.lo, divisor);
  const bool same = first == FloorDiv(range.hi, divisor);
  // What is divided is never negative: the machine's division rounds to zero, and is that of
  // unsigned numbers.
  if (same || first < 0) shift(first);
  if (same) return {quotient, rest};
  for (const Term& term : rest.terms) {
    if (SplitForDivision(term, divisor))
      return {quotient, Affine::Constant(0)};  // emitted again anyway
  }
  const Range left = RangeOf(rest);
  const Value value = ToValue(rest);
  quotient.Add(Opaque(b_.Div(value, divisor), {left.lo / divisor, left.hi / divisor}));
  return {quotient, Opaque(b_.Rem(value, divisor), {0, divisor - 1})};
}

Index FusionEmitter::MapReshape(absl::Span<const int64_t> from, absl::Span<const int64_t> to,
                                const Index& index) {
  if (from == to) return index;
  Index result(to.size());
  const auto factors = CommonFactors(from, to);
  for (size_t k = 0; k + 1 < factors.size(); ++k) {
    const auto [from_first, to_first] = factors[k];
    const auto [from_end, to_end] = factors[k + 1];
    Affine linear;
    int64_t stride = 1;
    for (int64_t d = from_end; d-- > from_first;) {
      if (from[d] != 1) linear.Add(index[d], stride);
      stride *= from[d];
    }
    int64_t left = stride;  // elements the dimensions still to come share
    for (int64_t d = to_end; d-- > to_first;) {
      if (to[d] == 1) continue;
      left /= to[d];
      if (left == 1) {
        result[d] = linear;
        linear = Affine();
        continue;
      }
      auto [quotient, remainder] = DivRem(linear, to[d]);
      result[d] = remainder;
      linear = quotient;
    }
  }
  return result;
}

Value FusionEmitter::Reversed(Value v) {
  std::vector<int16_t> order;
  for (int lane = b_.lanes(v); lane-- > 0;) order.push_back(static_cast<int16_t>(lane));
  return b_.Shuffle(v, v, order);
}

std::vector<Value> FusionEmitter::Transposed(std::vector<Value> rows) {
  // Swap the off-diagonal blocks of ever smaller squares.
  const int n = static_cast<int>(rows.size());
  for (int block = n / 2; block > 0; block /= 2) {
    std::vector<int16_t> upper, lower;
    for (int lane = 0; lane < n; ++lane) {
      const bool left = (lane & block) == 0;
      upper.push_back(static_cast<int16_t>(left ? lane : n + lane - block));
      lower.push_back(static_cast<int16_t>(left ? lane + block : n + lane));
    }
    for (int i = 0; i < n; ++i) {
      if ((i & block) != 0) continue;
      const Value a = rows[i], b = rows[i + block];
      rows[i] = b_.Shuffle(a, b, upper);
      rows[i + block] = b_.Shuffle(a, b, lower);
    }
  }
  return rows;
}

std::vector<Value> FusionEmitter::Interleaved(absl::Span<const Value> parts) {
  const int lanes = b_.lanes(parts[0]), count = static_cast<int>(parts.size());
  std::vector<Value> results;
  for (int v = 0; v < count; ++v) {
    Value result = parts[0];
    for (int p = 1; p < count; ++p) {
      std::vector<int16_t> from;
      for (int lane = 0; lane < lanes; ++lane) {
        const int element = v * lanes + lane;
        const int part = element % count, place = element / count;
        const int before = p == 1 ? place : lane;  // in what there is of the result so far
        from.push_back(static_cast<int16_t>(part == p ? lanes + place : before));
      }
      result = b_.Shuffle(result, parts[static_cast<size_t>(p)], from);
    }
    results.push_back(result);
  }
  return results;
}

// A load that strides along the lanes, but is contiguous along another loop of the same nest.
std::optional<Value> FusionEmitter::LoadTransposed(int buffer, const Affine& affine,
                                                   const Address& address) {
  // The tile reads whole rows, also where a condition, such as a pad's, keeps this
  // load from a part.
  const int64_t last = b_.kernel().buffers[static_cast<size_t>(buffer)].elements - 1;
  const Range range = RangeOf(affine);
  if (range.lo < 0 || range.hi > last) return std::nullopt;
  ActiveNest* nest = nullptr;
  size_t contiguous = 0;
  for (const Term& term : affine.terms) {
    const Variable& variable = variables_[term.variable];
    if (variable.nest < 0) continue;
    ActiveNest& candidate = *nests_[variable.nest];
    for (size_t g = 0; g + 1 < candidate.groups.size(); ++g) {
      if (candidate.groups[g].last == variable.dim && term.coefficient == 1) {
        nest = &candidate;
        contiguous = g;
      }
    }
  }
  if (nest == nullptr || nest->written_out || nest->groups.back().lanes != address.lanes)
    return std::nullopt;
  if (nest->tile_group < 0) {
    const Group& group = nest->groups[contiguous];
    if (group.size >= 4 && nest->groups.back().size >= 4) plan_.Tile(*nest->plan, group.last);
    return std::nullopt;
  }
  Group& group = nest->groups[static_cast<size_t>(nest->tile_group)];
  if (static_cast<size_t>(nest->tile_group) != contiguous || group.tile != address.lanes)
    return std::nullopt;
  const int64_t offset = group.offset;
  group.offset = 0;
  const Value base = ToAddress(affine).base;
  group.offset = offset;
  for (const TransposedTile& tile : tiles_) {
    if (tile.buffer == buffer && tile.base == base && tile.step == address.step &&
        b_.IsVisible(tile.columns[0])) {
      return tile.columns[static_cast<size_t>(offset)];
    }
  }
  std::vector<Value> rows;
  for (int64_t k = 0; k < address.lanes; ++k) {
    rows.push_back(b_.Load(buffer, b_.Offset(base, k * address.step), address.lanes));
  }
  tiles_.push_back({buffer, base, address.step, Transposed(std::move(rows))});
  return tiles_.back().columns[static_cast<size_t>(offset)];
}

// What all lanes share may be wanted by none of them: then it is read in vain, and from inside the
// buffer.
FusionEmitter::Address FusionEmitter::InBounds(int buffer, const Affine& affine, Address address) {
  const int64_t last = b_.kernel().buffers[static_cast<size_t>(buffer)].elements - 1;
  const Range range = RangeOf(affine);
  const bool is_shared = in_vain_ || (mask_ != tile::kNoValue && address.lanes == 1);
  if (!is_shared || (range.lo >= 0 && range.hi <= last)) return address;
  // The other lanes of a vector are as far away as ever.
  const int64_t reach = address.per_lane ? 0 : (address.lanes - 1) * address.step;
  Value lowest = b_.Index(std::max<int64_t>(0, -reach));
  Value highest = b_.Index(last - std::max<int64_t>(0, reach));
  if (address.per_lane) {
    lowest = b_.Splat(lowest, address.lanes);
    highest = b_.Splat(highest, address.lanes);
  }
  address.base = b_.Max(lowest, b_.Min(address.base, highest));
  return address;
}

Value FusionEmitter::LoadElement(int buffer, const Affine& affine) {
  const Address address = InBounds(buffer, affine, ToAddress(affine));
  if (address.lanes == 1) return b_.Load(buffer, address.base);
  if (mask_ != tile::kNoValue) {
    const Value zero = b_.Constant(b_.kernel().buffers[buffer].type, {0, 0});
    return b_.LoadMasked(buffer, address.base, address.lanes, address.step, mask_, zero);
  }
  if (!address.per_lane && address.step != 1) {
    if (const std::optional<Value> value = LoadTransposed(buffer, affine, address)) return *value;
  }
  if (!address.per_lane && address.step == -1) {
    return Reversed(b_.Load(buffer, b_.Offset(address.base, 1 - address.lanes), address.lanes));
  }
  return b_.Load(buffer, address.base, address.lanes, address.step);
}

// ---- loops ----

FusionEmitter::ActiveNest& FusionEmitter::Open(int owner, absl::Span<const int64_t> sizes) {
  nests_.push_back(std::make_unique<ActiveNest>());
  ActiveNest& nest = *nests_.back();
  nest.number = static_cast<int>(nests_.size()) - 1;
  nest.plan = &plan_.NestFor(owner, sizes);
  nest.dims = nest.plan->dims;
  for (size_t d = 0; d < nest.dims.size(); ++d) {
    const LoopDim& dim = nest.dims[d];
    Variable variable;
    variable.range = {0, dim.size - 1};
    variable.nest = nest.number;
    variable.dim = d;
    nest.variables.push_back(static_cast<int32_t>(variables_.size()));
    variables_.push_back(variable);
    const bool starts = d == 0 || !nest.dims[d - 1].joined_to_next;
    if (starts) nest.groups.push_back({d, d, 1});
    nest.groups.back().last = d;
    nest.groups.back().size *= dim.size;
  }
  return nest;
}

Index FusionEmitter::IndexOf(const ActiveNest& nest, int rank) const {
  Index index(rank);
  for (size_t d = 0; d < nest.dims.size(); ++d) {
    const LoopDim& dim = nest.dims[d];
    if (dim.size > 1) index[dim.array_dim].Add(Affine::Variable(nest.variables[d], dim.stride));
  }
  return index;
}

std::vector<int> FusionEmitter::LevelsFor(const ActiveNest& nest, int lanes) const {
  std::vector<int> levels;
  const int64_t size = nest.groups.back().size;
  lanes = std::min(lanes, nest.plan->lanes_limit);
  int first = lanes;
  while (first > 1 && size % first != 0 && first > base_lanes_) first /= 2;
  if (size % first != 0) first = lanes;
  while (first > size) first /= 2;
  if (first > 1) levels.push_back(first);
  int64_t left = size % std::max(first, 1);
  if (first > base_lanes_ && left >= base_lanes_) {
    levels.push_back(base_lanes_);
    left %= base_lanes_;
  }
  if (left > 0 || first <= 1) levels.push_back(1);
  return levels;
}

void FusionEmitter::LetOverlap(ActiveNest& nest) {
  const Group& last = nest.groups.back();
  nest.overlaps = nest.repeats && nest.levels.size() > 1 && nest.dims[last.first].breaks.empty();
  if (nest.overlaps) nest.levels.resize(1);
}

std::vector<int> FusionEmitter::LevelsOf(const ActiveNest& nest, size_t g) const {
  std::vector<int> levels = {1};
  if (g + 1 == nest.groups.size()) levels = nest.levels;
  if (static_cast<int>(g) == nest.tile_group) levels = {nest.levels[0], 1};
  // Segments between breaks need not be whole numbers of vectors, whatever the whole range is.
  if (!nest.dims[nest.groups[g].first].breaks.empty() && levels.back() > 1) levels.push_back(1);
  return levels;
}

absl::StatusOr<Values> FusionEmitter::Loop(ActiveNest& nest, size_t g, Values carried,
                                           const Body& body) {
  if (nest.on_enter) RETURN_IF_ERROR(nest.on_enter(g));
  if (g == nest.groups.size()) {
    if (nest.tile_group < 0) return body(carried);
    Group& tiled = nest.groups[static_cast<size_t>(nest.tile_group)];
    const auto variable = static_cast<size_t>(nest.variables[tiled.first]);
    const Range whole = variables_[variable].range;
    for (int64_t i = 0; i < tiled.tile; ++i) {
      tiled.offset = i;
      if (nest.written_out) variables_[variable].range = {i, i};
      for (size_t d = tiled.first; d <= tiled.last; ++d)
        variables_[nest.variables[d]].epoch = ++last_epoch_;
      ASSIGN_OR_RETURN(carried, body(carried));
    }
    tiled.offset = 0;
    variables_[variable].range = whole;
    return carried;
  }
  return LoopBetween(nest, g, b_.Index(0), b_.Index(nest.groups[g].size), std::move(carried), body);
}

absl::StatusOr<Values> FusionEmitter::LoopBetween(ActiveNest& nest, size_t g, Value lo, Value hi,
                                                  Values carried, const Body& body) {
  const Group& group = nest.groups[g];
  const LoopDim& dim = nest.dims[group.first];
  if (group.first != group.last || dim.breaks.empty())
    return LoopSegment(nest, g, lo, hi, std::move(carried), body);
  Range& range = variables_[nest.variables[group.first]].range;
  const Range whole = range;
  std::vector<int64_t> ends = dim.breaks;
  ends.push_back(dim.size);
  int64_t start = 0;
  for (const int64_t end : ends) {
    variables_[nest.variables[group.first]].range = {start, end - 1};
    ASSIGN_OR_RETURN(carried, LoopSegment(nest, g, b_.Max(lo, b_.Index(start)),
                                          b_.Min(hi, b_.Index(end)), std::move(carried), body));
    start = end;
  }
  variables_[nest.variables[group.first]].range = whole;
  return carried;
}

// The last group from `first` to `end`. What is left over after whole vectors is one more, which
// begins earlier where it is not whole.
absl::StatusOr<Values> FusionEmitter::LoopToTheEnd(ActiveNest& nest, int64_t first, int64_t end,
                                                   Values carried, const Body& body) {
  const size_t g = nest.groups.size() - 1;
  const int64_t size = end - first;
  int lanes = nest.levels.front();
  while (lanes > size) lanes /= 2;
  const int64_t left = size % lanes;
  ASSIGN_OR_RETURN(carried, LoopLevel(nest, g, b_.Index(first), b_.Index(end - left), lanes,
                                      std::move(carried), body));
  if (left == 0) return carried;
  while (lanes / 2 >= left) lanes /= 2;
  return LoopLevel(nest, g, b_.Index(end - lanes), b_.Index(end), lanes, std::move(carried), body);
}

absl::StatusOr<Values> FusionEmitter::LoopSegment(ActiveNest& nest, size_t g, Value lo, Value hi,
                                                  Values carried, const Body& body) {
  if (nest.repeats && !nest.overlaps && g + 1 == nest.groups.size()) {
    const std::optional<int64_t> first = b_.ConstantOf(lo), end = b_.ConstantOf(hi);
    if (first && end && *first < *end)
      return LoopToTheEnd(nest, *first, *end, std::move(carried), body);
  }
  const std::vector<int> levels = LevelsOf(nest, g);
  for (const int lanes : levels) {
    // The part of [lo, hi) that is a whole number of steps.
    Value end = hi;
    const bool nothing_left = levels.size() == 1 && nest.dims[nest.groups[g].first].breaks.empty();
    if (lanes > 1 && !nothing_left) {
      const Value length = b_.Max(b_.Sub(hi, lo), b_.Index(0));
      end = b_.Sub(b_.Add(lo, length), b_.Rem(length, lanes));
    }
    ASSIGN_OR_RETURN(carried, LoopLevel(nest, g, lo, end, lanes, std::move(carried), body));
    lo = end;
  }
  return carried;
}

absl::StatusOr<Values> FusionEmitter::LoopLevel(ActiveNest& nest, size_t g, Value lo, Value hi,
                                                int lanes, Values carried, const Body& body) {
  const std::optional<int64_t> first = b_.ConstantOf(lo), end = b_.ConstantOf(hi);
  if (first && end && *first >= *end) return carried;
  Group& group = nest.groups[g];
  const bool tiled = static_cast<int>(g) == nest.tile_group;
  const int64_t most = lanes == 1 && !tiled ? nest.most_written_out : 1;
  if (first && end && *end - *first <= most * lanes) {
    for (int64_t at = *first; at < *end; at += lanes) {
      group.index = b_.Index(at);
      group.depth = -1;
      ASSIGN_OR_RETURN(carried, Iteration(nest, g, lanes, std::move(carried), body));
    }
    return carried;
  }
  const Values arguments = b_.BeginLoop(lo, hi, lanes, carried);
  group.index = arguments[0];
  if (nest.overlaps && g + 1 == nest.groups.size())
    group.index = b_.Min(group.index, b_.Index(group.size - lanes));
  group.depth = b_.depth();
  carried.assign(arguments.begin() + 1, arguments.end());
  ASSIGN_OR_RETURN(const Values next, Iteration(nest, g, lanes, std::move(carried), body));
  return b_.EndLoop(next);
}

// One iteration, or one of the tile's, of the loop whose index is set.
absl::StatusOr<Values> FusionEmitter::Iteration(ActiveNest& nest, size_t g, int lanes,
                                                Values carried, const Body& body) {
  Group& group = nest.groups[g];
  // What was computed for other iterations of the same variables must not be found again.
  for (size_t d = group.first; d <= group.last; ++d)
    variables_[nest.variables[d]].epoch = ++last_epoch_;
  const int outer_lanes = lanes_;
  const bool tiled = static_cast<int>(g) == nest.tile_group;
  group.lanes = tiled ? 1 : lanes;
  group.tile = tiled ? lanes : 1;
  if (lanes > 1 && !tiled) lanes_ = lanes;
  absl::StatusOr<Values> next = Loop(nest, g + 1, std::move(carried), body);
  lanes_ = outer_lanes;
  group.lanes = group.tile = 1;
  group.index = tile::kNoValue;
  group.depth = -1;
  return next;
}

// ---- conditions ----

absl::StatusOr<Value> FusionEmitter::Masked(Value mask, const Emission& emission) {
  const Value outer = mask_;
  mask_ = outer == tile::kNoValue ? mask : b_.And(outer, mask);
  absl::StatusOr<Value> value = emission();
  mask_ = outer;
  return value;
}

absl::StatusOr<Value> FusionEmitter::Guarded(const std::vector<Condition>& conditions,
                                             const Emission& on_true, const Emission& on_false,
                                             Outside outside) {
  Value uniform = tile::kNoValue, per_lane = tile::kNoValue;
  const auto conjoin = [&](Value& all, Value pred) {
    all = all == tile::kNoValue ? pred : b_.And(all, pred);
  };
  for (const Condition& condition : conditions) {
    const Range range = RangeOf(condition.value);
    // Of an empty operand there is not even an element 0 that lanes could read in vain.
    const bool never = range.lo >= condition.hi || range.hi < condition.lo;
    if (never || condition.lo >= condition.hi) return on_false();
    if (range.lo >= condition.lo && range.hi < condition.hi) continue;
    const bool varies = DependsOnLanes(condition.value);
    if (varies && condition.value.terms.size() == 1 && condition.value.terms[0].coefficient == 1) {
      // Cut the loop where the answer changes; too many pieces are not worth their code.
      const auto loop = LoopDimOf(condition.value.terms[0].variable);
      if (loop && nests_[variables_[condition.value.terms[0].variable].nest]
                          ->dims[loop->second]
                          .breaks.size() < 6) {
        plan_.Break(*loop->first, loop->second, condition.lo - condition.value.constant);
        plan_.Break(*loop->first, loop->second, condition.hi - condition.value.constant);
        if (plan_.changed) return on_false();
      }
    }
    const Value value = ToValue(condition.value);
    Value& all = varies ? per_lane : uniform;
    if (range.lo < condition.lo) conjoin(all, b_.LessEq(b_.Index(condition.lo), value));
    if (range.hi >= condition.hi) conjoin(all, b_.Less(value, b_.Index(condition.hi)));
  }
  const auto masked = [&]() -> absl::StatusOr<Value> {
    if (per_lane == tile::kNoValue) return on_true();
    ASSIGN_OR_RETURN(const Value on, Masked(per_lane, on_true));
    if (outside == Outside::kAnywhere) {
      ASSIGN_OR_RETURN(const Value off, on_false());
      return b_.Select(per_lane, on, off);
    }
    const Value others = b_.Element(Opcode::kNot, ElementType::kPred, {per_lane});
    ASSIGN_OR_RETURN(const Value off, Masked(others, on_false));
    return b_.Select(per_lane, on, off);
  };
  if (uniform == tile::kNoValue) return masked();
  b_.BeginIf(uniform);
  ASSIGN_OR_RETURN(const Value on, masked());
  b_.Else({b_.Splat(on, lanes_)});
  ASSIGN_OR_RETURN(const Value off, on_false());
  return b_.EndIf({b_.Splat(off, lanes_)})[0];
}

}  // namespace hlo::cpu
