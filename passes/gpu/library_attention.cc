// What attention of cuDNN means.
//
//   scores = scale·query·keyᵀ + bias         those that the mask leaves out count nothing
//   p = softmax(scores)                      its logarithms' sums, log Σ exp(scores), may be wanted
//   output = p·value
//
// All is computed in f32, or f64, of arrays [batch, heads, positions, features]; where dimensions
// of the operands are, the dimension numbers of the config say. Heads of keys and values may be
// fewer than those of queries: each serves as many queries in turn.
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_config.h"

namespace hlo {
namespace {

constexpr int kRank = 4;

struct Role {
  std::string_view name;
  const DimVec* batch;
  const DimVec* contracting;
  bool contracts_positions;  // or else features
};

class Attention {
 public:
  Attention(const Instruction& call, const AttentionConfig& config, Rewriter& b)
      : call_(call), config_(config), b_(b) {
    const bool is_double = call.operand(0)->shape().element_type() == ElementType::kF64;
    type_ = is_double ? ElementType::kF64 : ElementType::kF32;
  }

  Instruction* Wide(Instruction* x) {
    return x->shape().element_type() == type_ ? x : b_.Convert(x, type_);
  }

  // An operand as [batch, heads, positions, features].
  absl::StatusOr<Instruction*> Arranged(int operand, const Role& role) {
    Instruction* const x = call_.operand(operand);
    bool taken[kRank] = {};
    const auto take = [&](int64_t d) {
      const bool is_free = d >= 0 && d < kRank && !taken[d];
      if (is_free) taken[d] = true;
      return is_free;
    };
    const bool fits = x->shape().IsArray() && IsFloat(x->shape().element_type()) &&
                      x->shape().rank() == kRank && !x->shape().has_dynamic_dims() &&
                      role.batch->size() == 2 && role.contracting->size() == 1 &&
                      take((*role.batch)[0]) && take((*role.batch)[1]) &&
                      take((*role.contracting)[0]);
    if (!fits)
      return Error(call_.loc(),
                   "the {} of `{}`, `{}`, has no 2 batch dimensions {{{}}} and 1 contracted {{{}}}",
                   role.name, call_.name(), x->shape(), fmt::join(*role.batch, ","),
                   fmt::join(*role.contracting, ","));
    const int64_t free = std::find(std::begin(taken), std::end(taken), false) - std::begin(taken);
    const int64_t contracted = (*role.contracting)[0];
    const int64_t positions = role.contracts_positions ? contracted : free;
    const int64_t features = role.contracts_positions ? free : contracted;
    return b_.Transpose(Wide(x), {(*role.batch)[0], (*role.batch)[1], positions, features});
  }

  // Of keys or values, for each head of `queries`.
  absl::StatusOr<Instruction*> ForHeadsOf(Instruction* x, Instruction* queries,
                                          std::string_view name) {
    const int64_t heads = queries->shape().dim(1), own = x->shape().dim(1);
    if (x->shape().dim(0) != queries->shape().dim(0) || own == 0 || heads % own != 0)
      return Error(call_.loc(), "`{}` has {} of `{}` for queries of `{}`", call_.name(), name,
                   x->shape(), queries->shape());
    if (heads == own) return x;
    DimVec sizes(x->shape().dims().begin(), x->shape().dims().end());
    sizes.insert(sizes.begin() + 2, heads / own);
    Instruction* const copies = b_.Broadcast(x, sizes, {0, 1, 3, 4});
    return b_.Reshape(copies, {sizes[0], heads, sizes[3], sizes[4]});
  }

  // The gradient of what ForHeadsOf took for `heads` heads.
  Instruction* OverHeads(Instruction* x, int64_t heads) {
    if (!b_.status().ok() || x->shape().dim(1) == heads) return x;
    const auto dims = x->shape().dims();
    return Sum(b_.Reshape(x, {dims[0], heads, dims[1] / heads, dims[2], dims[3]}), {2});
  }

  // lhs·rhs, or lhs·rhsᵀ, or lhsᵀ·rhs, for each batch and head.
  Instruction* Product(Instruction* lhs, int64_t lhs_dim, Instruction* rhs, int64_t rhs_dim) {
    DotAttrs dims;
    dims.lhs_batch_dims = dims.rhs_batch_dims = {0, 1};
    dims.lhs_contracting_dims = {lhs_dim};
    dims.rhs_contracting_dims = {rhs_dim};
    return b_.Dot(lhs, rhs, std::move(dims));
  }

  Instruction* Scaled(Instruction* x) {
    return config_.fmha_scale == 1 ? x : b_.Multiply(x, b_.ConstantLike(x, config_.fmha_scale));
  }

  // The bias has 1 batch, or 1 head, where it is that of all.
  absl::StatusOr<Instruction*> WithBias(Instruction* scores, int operand) {
    Instruction* const bias = call_.operand(operand);
    DimVec sizes, kept;
    for (int d = 0; d < kRank && bias->shape().IsArray() && bias->shape().rank() == kRank; ++d) {
      const int64_t size = bias->shape().dim(d);
      if (size != scores->shape().dim(d) && (size != 1 || d >= 2)) break;
      if (size == scores->shape().dim(d)) {
        sizes.push_back(size);
        kept.push_back(d);
      } else {
        all_of_bias_.push_back(d);
      }
    }
    if (kept.size() + all_of_bias_.size() != kRank)
      return Error(call_.loc(), "the bias of `{}`, `{}`, is none of scores `{}`", call_.name(),
                   bias->shape(), scores->shape());
    Instruction* const all =
        b_.Broadcast(b_.Reshape(Wide(bias), sizes), scores->shape().dims(), kept);
    return b_.Add(scores, all);
  }

  // Of the gradient of the scores, that of the bias, whose dimensions of one element are sums.
  Instruction* BiasGrad(Instruction* scores_grad, int operand) {
    Instruction* const sum = all_of_bias_.empty() ? scores_grad : Sum(scores_grad, all_of_bias_);
    return b_.Reshape(sum, call_.operand(operand)->shape().dims());
  }

  bool has_padding() const {
    return config_.mask_type == AttentionMask::kPadding ||
           config_.mask_type == AttentionMask::kPaddingCausal;
  }

  // Which scores count, as predicates of their shape; null: all. Lengths of queries and of keys
  // are the operands `lengths` and `lengths` + 1.
  absl::StatusOr<Instruction*> Kept(const Shape scores, int lengths) {
    const Shape numbers = scores.WithElementType(ElementType::kS32);
    Instruction *const query = b_.Iota(numbers, 2), *const key = b_.Iota(numbers, 3);
    Instruction* kept = nullptr;
    const auto keep = [&](Instruction* also) { kept = kept ? b_.And(kept, also) : also; };
    if (config_.mask_type == AttentionMask::kCausal || config_.is_causal_mask ||
        config_.mask_type == AttentionMask::kPaddingCausal)
      keep(b_.Compare(key, query, ComparisonDirection::kLe));
    if (config_.sliding_window_length > 0)
      keep(b_.Compare(b_.Subtract(query, key),
                      b_.ConstantLike(query, config_.sliding_window_length),
                      ComparisonDirection::kLt));
    if (!has_padding()) return kept;
    for (const int side : {0, 1}) {
      Instruction* const length = call_.operand(lengths + side);
      const Shape shape = length->shape();
      if (!shape.IsArray() || shape.element_type() != ElementType::kS32 ||
          shape.element_count() != scores.dim(0))
        return Error(call_.loc(), "the lengths `{}` of `{}` are no s32 for each of {} batches",
                     shape, call_.name(), scores.dim(0));
      Instruction* const each =
          b_.Broadcast(b_.Reshape(length, {scores.dim(0)}), scores.dims(), {0});
      keep(b_.Compare(side == 0 ? query : key, each, ComparisonDirection::kLt));
    }
    return kept;
  }

  Instruction* Sum(Instruction* x, const DimVec& dims) { return Over(Opcode::kAdd, 0, x, dims); }
  Instruction* Most(Instruction* x, const DimVec& dims) {
    return Over(Opcode::kMaximum, -std::numeric_limits<double>::infinity(), x, dims);
  }
  // What each query has, for all keys.
  Instruction* Each(Instruction* x, Instruction* like) {
    return b_.Broadcast(x, like->shape().dims(), {0, 1, 2});
  }
  Instruction* ZeroUnless(Instruction* kept, Instruction* x) {
    return kept == nullptr ? x : b_.Select(kept, x, b_.ZeroLike(x));
  }

 private:
  Instruction* Over(Opcode opcode, double init, Instruction* x, const DimVec& dims) {
    return b_.Reduce(x, b_.ScalarConstant(type_, init), dims,
                     ScalarComputation(b_.module(), opcode, type_));
  }

  const Instruction& call_;
  const AttentionConfig& config_;
  Rewriter& b_;
  ElementType type_;
  DimVec all_of_bias_;  // dimensions along which the bias is the same
};

bool HasBias(const Instruction& call) {
  constexpr std::string_view kOnes[] = {kAttentionBias, kAttentionBiasDropout, kAttentionBiasGrad,
                                        kAttentionBiasDropoutGrad};
  return std::find(std::begin(kOnes), std::end(kOnes),
                   call.attrs<CustomCallAttrs>().custom_call_target) != std::end(kOnes);
}

// What has no meaning here, and the number of operands, `plain` with neither bias nor mask.
absl::Status CheckAttention(const Instruction& call, const AttentionConfig& config, int plain,
                            int results) {
  const auto unsupported = [&](std::string_view what) {
    return Unsupported(call.loc(), "`{}` {}, which is not known in plain HLO", call.name(), what);
  };
  if (config.dropout_rate != 0) return unsupported("drops scores by numbers of the library");
  if (config.mask_type == AttentionMask::kAlibi) return unsupported("has the mask ALIBI");
  if (config.max_seg_per_batch > 1) return unsupported("packs several sequences into a batch");
  if (config.is_paged_attention) return unsupported("finds keys and values by a table of pages");
  if (!call.calls().empty()) return unsupported("changes scores by a computation");
  const bool has_lengths = config.mask_type == AttentionMask::kPadding ||
                           config.mask_type == AttentionMask::kPaddingCausal;
  const int operands = plain + (HasBias(call) ? 1 : 0) + (has_lengths ? 2 : 0);
  if (call.operand_count() != operands)
    return Error(call.loc(), "`{}` takes {} operands with mask_type {}, found {}", call.name(),
                 operands, Text(config.mask_type), call.operand_count());
  const int found = call.shape().IsTuple() ? call.shape().element_count_of_tuple() : 1;
  if (found > results)
    return Error(call.loc(), "`{}` yields at most {} results, found `{}`", call.name(), results,
                 call.shape());
  return absl::OkStatus();
}

}  // namespace

// (query, key, value, [bias], [lengths of queries, of keys]) -> output, [statistics], workspace
absl::StatusOr<std::vector<Instruction*>> MeaningOfAttention(const Instruction& call, Rewriter& b) {
  ASSIGN_OR_RETURN(const LibraryConfig<AttentionConfig> library, ReadConfig<AttentionConfig>(call));
  const AttentionConfig& config = library.config;
  RETURN_IF_ERROR(CheckAttention(call, config, 3, 3));
  Attention attention(call, config, b);
  const JsonDotDims &one = config.bmm1, &two = config.bmm2;
  ASSIGN_OR_RETURN(Instruction* const query,
                   attention.Arranged(0, {"query", &one.lhs_batch_dimensions,
                                          &one.lhs_contracting_dimensions, false}));
  ASSIGN_OR_RETURN(Instruction * key,
                   attention.Arranged(1, {"key", &one.rhs_batch_dimensions,
                                          &one.rhs_contracting_dimensions, false}));
  ASSIGN_OR_RETURN(Instruction * value,
                   attention.Arranged(2, {"value", &two.rhs_batch_dimensions,
                                          &two.rhs_contracting_dimensions, true}));
  ASSIGN_OR_RETURN(key, attention.ForHeadsOf(key, query, "keys"));
  ASSIGN_OR_RETURN(value, attention.ForHeadsOf(value, query, "values"));
  Instruction* scores = attention.Scaled(attention.Product(query, 3, key, 3));
  RETURN_IF_ERROR(b.status());
  if (HasBias(call)) {
    ASSIGN_OR_RETURN(scores, attention.WithBias(scores, 3));
  }
  ASSIGN_OR_RETURN(Instruction* const kept, attention.Kept(scores->shape(), HasBias(call) ? 4 : 3));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (kept != nullptr) scores = b.Select(kept, scores, b.ConstantLike(scores, -kInfinity));
  // A query without any key yields zeros: its scores, all -inf, are compared with 0.
  Instruction* most = attention.Most(scores, {3});
  if (kept != nullptr)
    most = b.Select(b.Compare(most, b.ConstantLike(most, -kInfinity), ComparisonDirection::kEq),
                    b.ZeroLike(most), most);
  Instruction* const powers = b.Exp(b.Subtract(scores, attention.Each(most, scores)));
  Instruction* const sums = attention.Sum(powers, {3});
  Instruction* divisors = sums;
  if (kept != nullptr)
    divisors = b.Select(b.Compare(sums, b.ZeroLike(sums), ComparisonDirection::kEq),
                        b.ConstantLike(sums, 1), sums);
  Instruction* const p = b.Divide(powers, attention.Each(divisors, powers));
  std::vector<Instruction*> values = {attention.Product(p, 3, value, 2)};
  if (call.shape().IsTuple() && call.shape().element_count_of_tuple() == 3)
    values.push_back(b.Add(most, b.Log(sums)));
  return values;
}

// (query, key, value, statistics, gradient of the output, [bias], output, [lengths]) -> gradients
// of query, key, value, [bias], then a workspace. With p of the statistics:
//   dvalue = pᵀ·doutput        dscores = p·(doutput·valueᵀ - Σ doutput·output)
//   dquery = scale·dscores·key        dkey = scale·dscoresᵀ·query
absl::StatusOr<std::vector<Instruction*>> MeaningOfAttentionGrad(const Instruction& call,
                                                                 Rewriter& b) {
  ASSIGN_OR_RETURN(const LibraryConfig<AttentionConfig> library, ReadConfig<AttentionConfig>(call));
  const AttentionConfig& config = library.config;
  const bool has_bias = HasBias(call);
  RETURN_IF_ERROR(CheckAttention(call, config, 6, has_bias ? 5 : 4));
  Attention attention(call, config, b);
  const auto arranged = [&](int operand, std::string_view name, const JsonDotDims& dims,
                            bool contracts_positions) {
    return attention.Arranged(operand, {name, &dims.rhs_batch_dimensions,
                                        &dims.rhs_contracting_dimensions, contracts_positions});
  };
  ASSIGN_OR_RETURN(Instruction* const query, arranged(0, "query", config.key_grad, true));
  ASSIGN_OR_RETURN(Instruction* const own_key, arranged(1, "key", config.query_grad, true));
  ASSIGN_OR_RETURN(Instruction* const own_value, arranged(2, "value", config.scores_grad, false));
  ASSIGN_OR_RETURN(Instruction* const grad, arranged(4, "gradient", config.value_grad, true));
  const int last = has_bias ? 6 : 5;
  ASSIGN_OR_RETURN(Instruction* const output, arranged(last, "output", config.value_grad, true));
  ASSIGN_OR_RETURN(Instruction* const key, attention.ForHeadsOf(own_key, query, "keys"));
  ASSIGN_OR_RETURN(Instruction* const value, attention.ForHeadsOf(own_value, query, "values"));
  Instruction* scores = attention.Scaled(attention.Product(query, 3, key, 3));
  RETURN_IF_ERROR(b.status());
  if (has_bias) {
    ASSIGN_OR_RETURN(scores, attention.WithBias(scores, 5));
  }
  ASSIGN_OR_RETURN(Instruction* const kept, attention.Kept(scores->shape(), last + 1));
  Instruction* const statistics =
      b.Reshape(attention.Wide(call.operand(3)),
                {scores->shape().dim(0), scores->shape().dim(1), scores->shape().dim(2)});
  RETURN_IF_ERROR(b.status());
  Instruction* const p =
      attention.ZeroUnless(kept, b.Exp(b.Subtract(scores, attention.Each(statistics, scores))));
  Instruction* const along = attention.Sum(b.Multiply(grad, output), {3});
  Instruction* const p_grad = attention.Product(grad, 3, value, 3);
  RETURN_IF_ERROR(b.status());
  Instruction* const scores_grad =
      attention.ZeroUnless(kept, b.Multiply(p, b.Subtract(p_grad, attention.Each(along, p_grad))));
  const int64_t heads = own_key->shape().dim(1);
  std::vector<Instruction*> values = {
      attention.Scaled(attention.Product(scores_grad, 3, key, 2)),
      attention.OverHeads(attention.Scaled(attention.Product(scores_grad, 2, query, 2)), heads),
      attention.OverHeads(attention.Product(p, 2, grad, 2), own_value->shape().dim(1))};
  if (call.shape().element_count_of_tuple() == 5)
    values.push_back(attention.BiasGrad(scores_grad, 5));
  return values;
}

}  // namespace hlo
