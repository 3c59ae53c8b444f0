#include "passes/gpu/f8_conv_graphs.h"

#include "lib/analysis/reachability.h"
#include "lib/ir/custom_call.h"
#include "lib/match/pattern.h"
#include "passes/gpu/conv_calls.h"
#include "passes/gpu/conv_graph.h"
#include "passes/gpu/f8_products.h"
#include "passes/gpu/f8_results.h"
#include "passes/gpu/library_calls.h"
#include "passes/gpu/library_f8.h"
#include "passes/util/origins.h"

namespace hlo {
namespace {

using Step = ConvGraphStep;

// An input of a convolution: f8 as it is or converted, and then perhaps scaled.
struct F8Input {
  Instruction* f8 = nullptr;
  Instruction* scaled = nullptr;  // the multiplication or division; null: there is none
  Instruction* scale = nullptr;
};

// Of f8 that cuDNN convolves.
bool IsF8Array(const Instruction& x) { return IsLibraryF8(x.shape().element_type()); }

std::optional<F8Input> F8InputOf(Instruction* x) {
  F8Input input;
  if (IsF8Array(*x)) return F8Input{x};
  const auto converted = m::Convert(m::Any(&input.f8).Where(IsF8Array));
  if (Match(x, converted)) return F8Input{input.f8};
  const auto scale = m::Broadcast(m::Any(&input.scale).WithRank(0));
  if (!Match(x, m::MultiplyAnyOrder(converted, scale)) && !Match(x, m::Divide(converted, scale)))
    return std::nullopt;
  input.scaled = x;
  return input;
}

auto Zeros() { return m::Broadcast(m::ConstantScalar(0.0)); }

// What is taken in, one value after the other.
class ConvGraphBuilder {
 public:
  ConvGraphBuilder(const ConvCallValue& conv, const F8Input& input, const F8Input& filter)
      : call_(*conv.call),
        paths_(*call_.parent(), 0),
        after_(paths_.DependentsOf(&call_)),
        last_(conv.value),
        operands_{input.f8, filter.f8} {
    Append(Step::kConv, conv.value, nullptr);
    AppendScale(input, input.scaled, conv.type());
    AppendScale(filter, &call_, conv.type());
    Follow(conv.value);
  }

  // In place of what was taken in.
  absl::Status Replace(const ConvCallValue& conv, PassContext& context) {
    CustomCallAttrs attrs = call_.attrs<CustomCallAttrs>();
    attrs.custom_call_target = std::string(kConvForwardGraph);
    LibraryConfig<ConvConfig> config = conv.config;
    config.config.serialized_graph = ToText(graph_);
    std::vector<Shape> results = {last_->shape()};
    for (const Instruction* most : maxima_) results.push_back(most->shape());
    results.push_back(call_.shape().elements().back());
    const uint32_t first_new = call_.module().id_limit();
    Instruction* const made =
        call_.parent()->Add(Opcode::kCustomCall, Shape::Tuple(results), operands_,
                            AttrsPtr::Make(std::move(attrs)), {}, "cudnn-conv-graph");
    made->CopyExtrasFrom(call_);
    SetOrigin(made, nullptr);  // another value than the call's
    made->clear_sharding();
    made->mutable_extras().backend_config = ToJson(config);
    Rewriter b(call_.parent(), context);
    const auto replace = [&](Instruction* old, int64_t result) {
      b.set_origin(old);
      ReplaceWithOperands(old, b.GetTupleElement(made, result), first_new);
    };
    for (size_t i = 0; i < maxima_.size(); ++i) replace(maxima_[i], static_cast<int64_t>(i) + 1);
    replace(last_, 0);
    return b.status();
  }

 private:
  // After the last operation that is no amax. It has the number of `like`, which has no other.
  void AppendNew(Step step, const Instruction* like, ElementType type,
                 Instruction* operand = nullptr) {
    ConvGraphOp op{static_cast<int64_t>(like->id()), type, step, {}};
    if (step != Step::kConv) op.reads.push_back(number_);
    if (step != Step::kAmax) number_ = op.number;
    graph_.push_back(std::move(op));
    if (operand != nullptr) operands_.push_back(operand);
  }
  void Append(Step step, const Instruction* at, Instruction* operand) {
    AppendNew(step, at, at->shape().element_type(), operand);
  }

  ConvGraphOp& Current() {
    return *absl::c_find_if(graph_, [this](const ConvGraphOp& op) { return op.number == number_; });
  }

  // Of an input, taken after the convolution; it has the number of `like`, which is in no graph.
  void AppendScale(const F8Input& input, const Instruction* like, ElementType type) {
    if (input.scaled == nullptr) return;
    const bool is_divided = input.scaled->opcode() == Opcode::kDivide;
    AppendNew(is_divided ? Step::kInvScale : Step::kScale, like, type, input.scale);
  }

  // Whether the call can read `operand`, which must not need what it yields.
  bool IsFree(const Instruction* operand) const {
    return operand != &call_ && !after_.Has(operand);
  }

  // An operation that goes on from `value`: the one whose result it yields; null: it is none.
  Instruction* GoOn(Instruction* value, Instruction* user, bool may_append) {
    Instruction* other = nullptr;
    const auto value_pattern = m::Same(&value);
    const auto append = [&](Step step, Instruction* operand = nullptr) {
      if (may_append) Append(step, user, operand);
      return user;
    };
    if (user->has_control_edges() || !SameDimensions(user->shape(), value->shape())) return nullptr;
    if (Match(user, m::AddAnyOrder(value_pattern, m::Any(&other)))) {
      const bool fits = other != value && other->shape() == value->shape() && IsFree(other);
      return fits ? append(Step::kAdd, other) : nullptr;
    }
    const auto scalar = m::Broadcast(m::Any(&other).WithRank(0));
    if (Match(user, m::MultiplyAnyOrder(value_pattern, scalar)))
      return IsFree(other) ? append(Step::kScale, other) : nullptr;
    if (Match(user, m::Divide(value_pattern, scalar)))
      return IsFree(other) ? append(Step::kInvScale, other) : nullptr;
    if (Match(user, m::MaximumAnyOrder(value_pattern, Zeros()))) return append(Step::kRelu);
    if (!Match(user, m::Clamp(m::Broadcast(m::ConstantScalar()), value_pattern,
                              m::Broadcast(m::ConstantScalar(&other)))))
      return nullptr;
    if (Match(user->operand(0), Zeros()) && Match(other, m::ConstantScalar(6.0)) &&
        user->operand(0)->use_count() == 1 && user->operand(2)->use_count() == 1) {
      if (!may_append) return user;
      AppendNew(Step::kRelu, user->operand(0), user->shape().element_type());
      return append(Step::kMin, other);
    }
    Instruction* const convert =
        user->use_count() == 1 && !user->is_root() ? user->uses()[0].user : user;
    if (convert->opcode() != Opcode::kConvert || convert->has_control_edges() ||
        !IsClampedTo(*user, convert->shape().element_type()))
      return nullptr;
    if (may_append) Current().type = convert->shape().element_type();
    return convert;
  }

  // select(value > 0, value, y), of a comparison and a `y` that are all that reads `value` besides;
  // elu or leaky relu.
  Instruction* Activation(Instruction* value) {
    const std::vector<Instruction*> users = value->users();
    if (users.size() != 3) return nullptr;
    for (Instruction* select : users) {
      Instruction *compare, *other, *slope;
      if (!Match(select, m::Select(m::Any(&compare).OneUser(), m::Same(&value),
                                   m::Any(&other).OneUser())) ||
          !Match(compare, m::Compare(m::Same(&value), Zeros())) ||
          compare->attrs<CompareAttrs>().direction != ComparisonDirection::kGt ||
          select->has_control_edges())
        continue;
      if (Match(other, m::Expm1(m::Same(&value)))) {
        Append(Step::kElu, select, nullptr);
        return select;
      }
      if (!Match(other,
                 m::MultiplyAnyOrder(m::Same(&value), m::Broadcast(m::ConstantScalar(&slope)))))
        continue;
      // max(x, slope * min(x, 0)), where the slope is below 1
      const double factor = slope->literal().GetDouble();
      if (!(factor >= 0 && factor <= 1)) continue;
      const int64_t from = number_;
      AppendNew(Step::kMin, compare, value->shape().element_type(),
                compare->operand(1)->operand(0));
      Append(Step::kScale, other, slope);
      Append(Step::kMax, select, nullptr);
      graph_.back().reads = {from, static_cast<int64_t>(other->id())};
      return select;
    }
    return nullptr;
  }

  // What goes on from `value`, if that is one operation, with at most one amax beside it.
  void Follow(Instruction* value) {
    last_ = value;
    if (value->is_root()) return;
    if (Instruction* const end = Activation(value)) return Follow(end);
    const bool is_relu = Current().step == Step::kRelu;
    Instruction *next = nullptr, *most = nullptr;
    for (Instruction* user : value->users()) {
      Instruction* const largest =
          LargestOf(user, is_relu ? GemmEpilogue::kRelu : GemmEpilogue::kDefault);
      if (largest != nullptr && most == nullptr) {
        most = largest;
      } else if (next == nullptr && GoOn(value, user, /*may_append=*/false) != nullptr) {
        next = user;
      } else {
        return;
      }
    }
    if (most != nullptr) {
      Append(Step::kAmax, most, nullptr);
      maxima_.push_back(most);
    }
    if (next != nullptr) Follow(GoOn(value, next, /*may_append=*/true));
  }

  Instruction& call_;
  const Reachability paths_;
  const Reachability::Dependents after_;
  ConvGraph graph_;
  int64_t number_ = 0;  // of the last operation that is no amax
  Instruction* last_;
  std::vector<Instruction*> operands_;
  std::vector<Instruction*> maxima_;
};

}  // namespace

absl::StatusOr<bool> MakeF8ConvGraphs(Computation& computation, PassContext& context) {
  bool changed = false;
  for (Instruction* value : computation.PostOrder()) {
    if (value->is_dead()) continue;
    ASSIGN_OR_RETURN(const std::optional<ConvCallValue> conv, ConvCallValueAt(value));
    if (!conv || !IsCustomCall(*conv->call, kConvForward) || conv->call->operand_count() != 2)
      continue;
    const auto input = F8InputOf(conv->call->operand(0)),
               filter = F8InputOf(conv->call->operand(1));
    if (!input || !filter || !IsConvGraphType(conv->type())) continue;
    if (!context.MayRewrite()) break;
    context.Passed(*value, "becomes a convolution of f8 with what follows it");
    context.Count("a convolution of f8");
    RETURN_IF_ERROR(ConvGraphBuilder(*conv, *input, *filter).Replace(*conv, context));
    changed = true;
  }
  return changed;
}

}  // namespace hlo
