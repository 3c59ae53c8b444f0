#include "passes/gpu/windowed_f8.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "lib/match/pattern.h"
#include "lib/support/decision.h"
#include "passes/gpu/library_f8.h"
#include "passes/gpu/windowed_loops.h"
#include "passes/util/carry_more.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

using enum ElementType;

constexpr int kFactorCount = 2;  // of a product
constexpr int64_t kStateElements =
    5;  // of the state: both, the result, another buffer, the counter
constexpr OpcodeSet kScaledMoves = {Opcode::kBitcast, Opcode::kBroadcast, Opcode::kCopy,
                                    Opcode::kReshape, Opcode::kTranspose};
// Types of the operands that a library multiplies.
constexpr std::pair<ElementType, ElementType> kF8Factors[] = {
    {kF8E4M3FN, kF8E4M3FN}, {kF8E4M3FN, kF8E5M2}, {kF8E5M2, kF8E4M3FN}};
constexpr ElementType kScaledTypes[] = {kBF16, kF16, kF32};

struct ScaledOperand : ScaledF8 {
  std::vector<Instruction*> moves;  // the first that is done first
};

bool IsScaledMove(const Instruction& value) {
  return kScaledMoves.Has(value.opcode()) && !value.has_control_edges() &&
         value.shape().IsArray() &&
         value.shape().element_type() == value.operand(0)->shape().element_type();
}

std::optional<ScaledOperand> FindScaled(Instruction* value) {
  std::vector<Instruction*> moves;
  for (; IsScaledMove(*value); value = value->operand(0)) moves.push_back(value);
  const std::optional<ScaledF8> scaled = MatchScaledF8(value);
  if (!scaled) return std::nullopt;
  absl::c_reverse(moves);
  return ScaledOperand{*scaled, std::move(moves)};
}

using ScaledOperands = std::array<ScaledOperand, kFactorCount>;

Decision CanMultiply(const ScaledOperands& operands) {
  const std::pair types = {operands[0].f8->shape().element_type(),
                           operands[1].f8->shape().element_type()};
  if (std::find(std::begin(kF8Factors), std::end(kF8Factors), types) == std::end(kF8Factors))
    return No("no library multiplies {} by {}", Text(types.first), Text(types.second));
  return Yes();
}

// What of the body the change touches.
struct WindowedBody {
  // What sends the first operand on; empty where parts of the result go round.
  std::vector<Instruction*> sends;
  Instruction* next_product = nullptr;  // the one that reads what is sent first
};

// tuple(send(send(gte 0)), gte 1, update(update(…, dot(gte 0, gte 1)), dot(send(gte 0), gte 1)), …)
bool MatchesGathered(const Instruction& root, WindowedBody& body) {
  Instruction *second = root.operand(0), *first, *part;
  if (!IsPlainSend(*second) || second->has_control_edges()) return false;
  first = second->operand(0);
  if (!IsPlainSend(*first) || first->has_control_edges()) return false;
  part = first->operand(0);
  const Instruction* const outer = root.operand(2);
  if (outer->opcode() != Opcode::kDynamicUpdateSlice) return false;
  const Instruction* const inner = outer->operand(0);
  if (inner->opcode() != Opcode::kDynamicUpdateSlice) return false;
  Instruction *const at_hand = inner->operand(1), *const next = outer->operand(1);
  if (at_hand->opcode() != Opcode::kDot || next->opcode() != Opcode::kDot) return false;
  if (!IsParameterElement(*part, 0) || at_hand->operand(0) != part || next->operand(0) != first ||
      !IsParameterElement(*at_hand->operand(1), 1) || !IsParameterElement(*next->operand(1), 1))
    return false;
  body = {{first, second}, next};
  return true;
}

// tuple(gte 0, gte 1, add(dot(slice, gte 1), …), send(add(dot(slice, gte 1), …)), …)
bool MatchesScattered(const Instruction& root) {
  Instruction *one, *other;
  const auto sum = [](Instruction** right) {
    return m::AddAnyOrder(m::Dot(m::DynamicSlice(), m::Any(right)), m::Any());
  };
  return IsParameterElement(*root.operand(0), 0) && Match(root.operand(2), sum(&one)) &&
         Match(root.operand(3), m::CollectivePermute(sum(&other))) && IsParameterElement(*one, 1) &&
         IsParameterElement(*other, 1);
}

Decision MatchBody(const Instruction& loop, WindowedBody& body) {
  if (loop.has_control_edges()) return No("it has control edges");
  if (!CanCarryMore(loop)) return No("others call its computations or see its whole state");
  const auto elements = loop.shape().elements();
  const Instruction& root = *loop.while_body()->root();
  const bool fits =
      elements.size() == kStateElements &&
      absl::c_all_of(elements, [](const Shape& element) { return element.IsArray(); }) &&
      IsParameterElement(*root.operand(1), 1) &&
      (MatchesGathered(root, body) || MatchesScattered(root));
  return fits ? Yes() : No("its body has not two products of parts that go round");
}

// Reads of elements of states, each made once.
class StateReads {
 public:
  Instruction* Of(Builder& builder, Instruction* state, int64_t i) {
    Instruction*& read = made_[{state, i}];
    if (read == nullptr) read = builder.GetTupleElement(state, i);
    return read;
  }

 private:
  absl::flat_hash_map<std::pair<const Instruction*, int64_t>, Instruction*>
      made_;  // looked up only
};

absl::Status ScaleInside(Instruction* loop, const ScaledOperands& operands,
                         const WindowedBody& body) {
  Computation& outside = *loop->parent();
  Builder outer(&outside, loop);
  StateChange change;
  for (const ScaledOperand& operand : operands) {
    Instruction* f8 = operand.f8;
    for (const Instruction* move : operand.moves) {
      const Shape shape = move->shape().WithElementType(f8->shape().element_type());
      f8 = outside.AddClone(*move, shape, {f8});
    }
    change.init.push_back(f8);
  }
  for (int64_t i = kFactorCount; i < kStateElements; ++i)
    change.init.push_back(ReadElement(outer, loop->operand(0), i));
  for (const ScaledOperand& operand : operands) change.init.push_back(operand.scale);
  RETURN_IF_ERROR(outer.status());
  change.old_leaf = {-1, -1, 2, 3, 4, -1, -1};
  const auto scale_of = [](int64_t i) { return kStateElements + i; };

  StateReads reads;
  change.view = [&](Builder& builder, Instruction* state, int64_t i) {
    Instruction* const element = reads.Of(builder, state, i);
    if (i >= kFactorCount) return element;
    return ScaleF8(builder, element, operands[static_cast<size_t>(i)],
                   reads.Of(builder, state, scale_of(i)));
  };
  Instruction* sent_first = nullptr;
  change.next = [&](Builder& builder, Instruction* state,
                    const std::function<Instruction*(int64_t)>& old_next, int64_t k) {
    if (k >= kFactorCount && k < kStateElements) return old_next(k);
    Instruction* element = reads.Of(builder, state, k);
    if (k != 0) return element;
    for (const Instruction* send : body.sends) {
      element = builder.computation()->AddClone(*send, element->shape(), {element});
      if (sent_first == nullptr) sent_first = element;
    }
    return element;
  };
  RETURN_IF_ERROR(ChangeLoopState(loop, change));
  if (sent_first == nullptr) return absl::OkStatus();

  // What is sent is f8 now: it is scaled where it is multiplied.
  Computation* const inside = loop->while_body();
  Builder inner(inside, body.next_product);
  body.next_product->ReplaceOperand(0, ScaleF8(inner, sent_first, operands[0],
                                               reads.Of(inner, inside->parameter(0), scale_of(0))));
  for (size_t i = body.sends.size(); i-- > 0;) {
    if (!body.sends[i]->is_dead() && !body.sends[i]->is_used()) inside->Remove(body.sends[i]);
  }
  return inner.status();
}

}  // namespace

std::optional<ScaledF8> MatchScaledF8(Instruction* value) {
  ScaledF8 found;
  const auto converted = m::Convert(m::Any(&found.f8).Where(
      [](const Instruction& source) { return IsLibraryF8(source.shape().element_type()); }));
  const auto scale = m::Broadcast(m::Any(&found.scale).WithRank(0));
  if (!Match(value, m::Either(m::Divide(&found.scaling, converted, scale),
                              m::MultiplyAnyOrder(&found.scaling, converted, scale))))
    return std::nullopt;
  const ElementType type = value->shape().element_type();
  if (std::find(std::begin(kScaledTypes), std::end(kScaledTypes), type) == std::end(kScaledTypes))
    return std::nullopt;
  return found;
}

Instruction* ScaleF8(Builder& builder, Instruction* f8, const ScaledF8& like, Instruction* scale) {
  Instruction* const wide = builder.Convert(f8, like.scaling->shape().element_type());
  return builder.Op(like.scaling->opcode(),
                    {wide, builder.Broadcast(scale, wide->shape().dims(), {})});
}

absl::StatusOr<bool> ScaleF8InLoop(Instruction* loop, PassContext& context) {
  Instruction* const state = loop->operand(0);
  if (state->opcode() != Opcode::kTuple || state->operand_count() < kFactorCount ||
      !state->has_one_user() || state->use_count() != 1 || state->is_root())
    return false;
  ScaledOperands operands;
  for (int i = 0; i < kFactorCount; ++i) {
    std::optional<ScaledOperand> operand = FindScaled(state->operand(i));
    if (!operand) return false;
    operands[static_cast<size_t>(i)] = *std::move(operand);
  }
  WindowedBody body;
  Decision decision = CanMultiply(operands);
  if (decision) decision = MatchBody(*loop, body);
  if (!context.Allowed(*loop, decision)) return false;
  if (!context.MayRewrite()) return false;
  context.Passed(*loop, "its operands are scaled inside");
  context.Count("scaled-in-loop");
  RETURN_IF_ERROR(ScaleInside(loop, operands, body));
  return true;
}

}  // namespace hlo
