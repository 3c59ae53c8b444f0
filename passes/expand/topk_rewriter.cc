#include "passes/expand/topk_rewriter.h"

#include <optional>

#include "lib/match/pattern.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// The parameter that `x` orders as floats are ordered, -1 if it is something else: the parameter
// itself, or its bits with those of negative values flipped.
int64_t OrderedParameter(const Instruction* x) {
  const auto parameter = [](const Instruction* value) -> int64_t {
    while (value->opcode() == Opcode::kConvert && IsFloat(value->shape().element_type()) &&
           IsFloat(value->operand(0)->shape().element_type()) &&
           BitWidth(value->shape().element_type()) >=
               BitWidth(value->operand(0)->shape().element_type()))
      value = value->operand(0);
    return value->opcode() == Opcode::kParameter ? value->parameter_number() : -1;
  };
  if (const int64_t number = parameter(x); number >= 0) return number;
  // select(bits < 0, flipped, bits)
  Instruction *bits, *flipped, *again, *compared;
  if (!Match(x, m::Select(m::Compare(m::Any(&compared), m::Zero()), m::Any(&flipped),
                          m::Any(&bits))) ||
      x->operand(0)->attrs<CompareAttrs>().direction != ComparisonDirection::kLt ||
      bits->opcode() != Opcode::kBitcastConvert || !IsSigned(bits->shape().element_type()))
    return -1;
  const auto same_bits = [&](const Instruction* value) {
    return value == bits ||
           (value->opcode() == Opcode::kBitcastConvert && value->operand(0) == bits->operand(0));
  };
  if (!same_bits(compared)) return -1;
  const auto is_max = [&](const Instruction* value) {
    if (value->opcode() == Opcode::kConvert) value = value->operand(0);
    if (!value->IsConstant() || value->literal().is_elided()) return false;
    const int width = BitWidth(bits->shape().element_type());
    return value->literal().GetInt() == (int64_t{1} << (width - 1)) - 1;
  };
  Instruction *a, *b;
  if (Match(flipped, m::Xor(m::Any(&a), m::Any(&b)))) {
    if (!(is_max(a) && same_bits(b)) && !(is_max(b) && same_bits(a))) return -1;
  } else if (!Match(flipped, m::BitcastConvert(m::Subtract(m::Any(&a), m::Any(&again)))) ||
             !is_max(a) || again->opcode() != Opcode::kBitcastConvert || !same_bits(again)) {
    return -1;
  }
  return parameter(bits->operand(0));
}

bool IsGreaterThan(const Instruction* root) {
  if (root->opcode() == Opcode::kSelect) {
    const Instruction* choice = root->operand(0);
    if (choice->opcode() == Opcode::kBroadcast) choice = choice->operand(0);
    return choice->IsConstant() &&
           (IsGreaterThan(root->operand(1)) || IsGreaterThan(root->operand(2)));
  }
  return root->opcode() == Opcode::kCompare &&
         root->attrs<CompareAttrs>().direction == ComparisonDirection::kGt &&
         OrderedParameter(root->operand(0)) == 0 && OrderedParameter(root->operand(1)) == 1;
}

// Whether `x` counts 0, 1, 2, … along dimension `dim` of its shape.
bool CountsAlong(const Instruction& x, int64_t dim) {
  if (x.shape().element_type() != ElementType::kS32) return false;
  if (x.opcode() == Opcode::kIota) return x.attrs<IotaAttrs>().iota_dimension == dim;
  if (x.opcode() == Opcode::kReshape) {  // the other dimensions are of size 1
    const Instruction& counted = *x.operand(0);
    return counted.opcode() == Opcode::kIota && counted.shape().rank() == 1 &&
           counted.shape().dim(0) == x.shape().dim(static_cast<int>(dim));
  }
  return x.opcode() == Opcode::kBroadcast && x.operand(0)->opcode() == Opcode::kIota &&
         x.operand(0)->shape().rank() == 1 && x.attrs<BroadcastAttrs>().dimensions == DimVec{dim};
}

// The k of a slice of the first k along `dim`.
std::optional<int64_t> FirstElements(const Instruction& slice, int64_t dim) {
  if (slice.opcode() != Opcode::kSlice ||
      slice.shape().element_type() != slice.operand(0)->shape().element_type())
    return std::nullopt;
  const SliceRanges& ranges = slice.attrs<SliceAttrs>().slice;
  std::optional<int64_t> k;
  for (int64_t i = 0; i < slice.shape().rank(); ++i) {
    const SliceRange& range = ranges[static_cast<size_t>(i)];
    if (range.start != 0 || range.stride != 1) return std::nullopt;
    if (i == dim) {
      k = range.limit;
    } else if (range.limit != slice.operand(0)->shape().dim(static_cast<int>(i))) {
      return std::nullopt;
    }
  }
  return k;
}

struct TopkMatch {
  int64_t k = 0;
  int64_t dim = 0;
  std::vector<std::pair<Instruction*, int>> slices;  // of the values (0), of the indices (1)
};

std::optional<TopkMatch> MatchTopk(const Instruction& sort) {
  const Shape shape = sort.operand(0)->shape();
  TopkMatch match;
  match.dim = sort.attrs<SortAttrs>().dimensions.value;
  const Shape sorted = sort.shape().IsTuple() ? sort.shape().element(0) : sort.shape();
  if (shape.has_dynamic_dims() || shape.rank() == 0 || !Compatible(sorted, shape) ||
      (match.dim != 0 && match.dim != shape.rank() - 1) || sort.is_root() ||
      sort.has_control_edges())
    return std::nullopt;
  if (sort.operand_count() > 2 ||
      (sort.operand_count() == 2 && !CountsAlong(*sort.operand(1), match.dim)) ||
      !IsGreaterThan(sort.to_apply()->root()))
    return std::nullopt;
  const auto add = [&](Instruction* slice, int which) {
    const std::optional<int64_t> k = FirstElements(*slice, match.dim);
    if (!k || (!match.slices.empty() && *k != match.k)) return false;
    match.k = *k;
    match.slices.push_back({slice, which});
    return true;
  };
  for (Instruction* user : sort.users()) {
    if (!sort.shape().IsTuple()) {
      if (!add(user, 0)) return std::nullopt;
      continue;
    }
    if (user->opcode() != Opcode::kGetTupleElement || user->is_root() || !user->has_one_user())
      return std::nullopt;
    for (Instruction* slice : user->users()) {
      if (!add(slice, static_cast<int>(user->tuple_index()))) return std::nullopt;
    }
  }
  if (match.slices.empty()) return std::nullopt;
  return match;
}

absl::Status RewriteTopk(Instruction* sort, const TopkMatch& match) {
  Computation& computation = *sort->parent();
  const uint32_t first_new = computation.module().id_limit();
  Builder builder(&computation, sort);
  Instruction* x = sort->operand(0);
  const Shape shape = x->shape();
  const int rank = shape.rank();
  const int64_t size = shape.dim(static_cast<int>(match.dim));
  const bool first = match.dim == 0 && rank > 1;
  const int64_t rows = size == 0 ? 0 : shape.element_count() / size;
  if (first) {
    if (rank > 2) x = builder.Reshape(x, {size, rows});
    x = builder.Transpose(x, {1, 0});
  } else if (rank > 2) {
    x = builder.Reshape(x, {rows, size});
  }
  DimVec dims(x->shape().dims().begin(), x->shape().dims().end());
  dims.back() = match.k;
  const Shape values = Shape::Array(shape.element_type(), dims);
  CustomCallAttrs attrs;
  attrs.custom_call_target = "TopK";
  Instruction* call = builder.OpWithShape(
      Opcode::kCustomCall, Shape::Tuple({values, values.WithElementType(ElementType::kS32)}), {x},
      AttrsPtr::Make(std::move(attrs)), {sort->to_apply()});
  call->mutable_extras().backend_config =
      fmt::format("{{is_stable = {}}}", sort->attrs<SortAttrs>().is_stable);
  DimVec wanted(shape.dims().begin(), shape.dims().end());
  wanted[static_cast<size_t>(match.dim)] = match.k;
  Instruction* results[2] = {nullptr, nullptr};
  for (const auto& [slice, which] : match.slices) {
    Instruction*& result = results[which];
    if (result == nullptr) {
      result = builder.GetTupleElement(call, which);
      if (first) result = builder.Transpose(result, {1, 0});
      if (rank > 2) result = builder.Reshape(result, wanted);
    }
    RETURN_IF_ERROR(builder.status());
    for (Instruction* made = result; made->id() >= first_new; made = made->operand(0))
      PassOnFrontendAttributes(*sort, made);
    ReplaceKeepingExtras(slice, result, first_new);
  }
  return builder.status();
}

}  // namespace

absl::StatusOr<bool> TopkRewriter::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kSort})) {
    for (Instruction* sort : computation->PostOrder()) {
      if (sort->opcode() != Opcode::kSort) continue;
      const Shape shape = sort->operand(0)->shape();
      if (!options_.types.Has(shape.element_type())) continue;
      const std::optional<TopkMatch> match = MatchTopk(*sort);
      if (!match || shape.dim(static_cast<int>(match->dim)) < options_.min_size) continue;
      if (!context.MayRewrite()) return changed;
      context.Passed(*sort, "only the first elements are read: a top-k");
      RETURN_IF_ERROR(RewriteTopk(sort, *match));
      context.Count("rewritten");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(TopkRewriter)

}  // namespace hlo
