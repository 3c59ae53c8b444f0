#include "passes/control_flow/scan_loop_accumulator_input_unification.h"

#include <optional>

#include "lib/analysis/trip_count.h"
#include "passes/control_flow/widen_loop.h"
#include "passes/simplify/tuple_simplifier.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

// The first get-tuple-element of element `i` of `tuple`; null: nobody reads it.
Instruction* FirstRead(const Instruction& tuple, int64_t i) {
  Instruction* first = nullptr;
  for (const Use& use : tuple.uses()) {
    if (use.user->opcode() == Opcode::kGetTupleElement && use.user->tuple_index() == i &&
        (first == nullptr || use.user->id() < first->id()))
      first = use.user;
  }
  return first;
}

std::optional<int64_t> IndexAmongOperands(const Instruction& user, const Instruction& value) {
  for (int i = 0; i < user.operand_count(); ++i) {
    if (user.operand(i) == &value) return i;
  }
  return std::nullopt;
}

class ScanLoop {
 public:
  // For a loop that CanCarryMore; `counter` is its induction variable.
  ScanLoop(Instruction* loop, int64_t counter, int64_t trip_count)
      : loop_(loop), counter_(counter), trip_count_(trip_count) {
    reads_.resize(static_cast<size_t>(loop->shape().element_count_of_tuple()));
    in_condition_.resize(reads_.size(), false);
    for (Instruction* read : body().parameter(0)->users())
      reads_[static_cast<size_t>(read->tuple_index())].push_back(read);
    for (const Instruction* read : loop->while_condition()->parameter(0)->users())
      in_condition_[static_cast<size_t>(read->tuple_index())] = true;
  }

  // Pairs of an accumulator and the input that takes its place.
  std::vector<std::pair<int64_t, int64_t>> FindPairs() const {
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (int64_t i = 0; i < count(); ++i) {
      const std::optional<int> dim = AccumulatorDim(i);
      if (!dim || IsCarriedAround(i)) continue;
      const std::optional<int64_t> input = NextInputOf(i);
      if (input && Element(*input) == Element(i) && InputDim(*input) == dim)
        pairs.emplace_back(i, *input);
    }
    return pairs;
  }

 private:
  const Computation& body() const { return *loop_->while_body(); }
  int64_t count() const { return static_cast<int64_t>(reads_.size()); }
  Shape Element(int64_t i) const { return loop_->shape().element(static_cast<int>(i)); }
  const Instruction& Next(int64_t i) const { return *body().root()->operand(static_cast<int>(i)); }

  // The element that the loop around starts with accumulator `i` of its last iteration, if this is
  // all that becomes of it.
  std::optional<int64_t> NextInputOf(int64_t i) const {
    const Computation& around = *loop_->parent();
    const Instruction* const result = FirstRead(*loop_, i);
    if (result == nullptr || around.root()->opcode() != Opcode::kTuple) return std::nullopt;
    const std::optional<int64_t> carried = IndexAmongOperands(*around.root(), *result);
    if (!carried) return std::nullopt;
    const Instruction* const input = FirstRead(*around.parameter(0), *carried);
    if (input == nullptr || !input->has_one_user() || input->users()[0] != loop_->operand(0))
      return std::nullopt;
    return IndexAmongOperands(*loop_->operand(0), *input);
  }

  // The dimension along which an access to `whole` of the size of `part`, which starts at the
  // operands from `first` on, takes a whole row: row `i` in iteration `i`.
  std::optional<int> RowDim(const Instruction& access, Shape whole, Shape part, int first) const {
    if (whole.has_dynamic_dims() || access.operand_count() != first + whole.rank())
      return std::nullopt;
    std::optional<int> dim;
    for (int d = 0; d < whole.rank(); ++d) {
      const Instruction& start = *access.operand(first + d);
      if (start.IsConstant() && !IsZeroConstant(start)) return std::nullopt;
      if (!IsParameterElement(start, counter_)) continue;
      if (dim || whole.dim(d) != trip_count_ || part.dim(d) != 1) return std::nullopt;
      dim = d;
    }
    for (int d = 0; d < whole.rank(); ++d) {
      if (d != dim && part.dim(d) != whole.dim(d)) return std::nullopt;
    }
    return dim;
  }

  static bool IsZeroConstant(const Instruction& value) {
    return !value.literal().is_elided() && value.literal().IsAll(0);
  }

  // An array that only passes through, and of which only the row of the iteration is read.
  std::optional<int> InputDim(int64_t i) const {
    const auto& reads = reads_[static_cast<size_t>(i)];
    if (in_condition_[static_cast<size_t>(i)] || !IsParameterElement(Next(i), i) ||
        reads.size() != 1 || reads[0]->use_count() != 2 || reads[0]->has_control_edges())
      return std::nullopt;
    for (const Use& use : reads[0]->uses()) {
      if (use.user->opcode() == Opcode::kDynamicSlice && use.operand_index == 0)
        return RowDim(*use.user, reads[0]->shape(), use.user->shape(), 1);
    }
    return std::nullopt;
  }

  // An array of which each iteration writes a whole row, and that nothing reads.
  std::optional<int> AccumulatorDim(int64_t i) const {
    const auto& reads = reads_[static_cast<size_t>(i)];
    const Instruction& update = Next(i);
    if (in_condition_[static_cast<size_t>(i)] || reads.size() != 1 || reads[0]->use_count() != 1 ||
        update.opcode() != Opcode::kDynamicUpdateSlice || update.operand(0) != reads[0] ||
        update.shape() != reads[0]->shape())
      return std::nullopt;
    return RowDim(update, update.shape(), update.operand(1)->shape(), 2);
  }

  // Made outside all loops: nothing is made anew in each iteration of the loop around.
  bool IsCarriedAround(int64_t i) const {
    const Instruction& first = *loop_->operand(0)->operand(static_cast<int>(i));
    return first.opcode() == Opcode::kGetTupleElement &&
           first.operand(0)->opcode() == Opcode::kParameter;
  }

  Instruction* loop_;
  int64_t counter_;
  int64_t trip_count_;
  std::vector<std::vector<Instruction*>> reads_;  // in the body, by element
  std::vector<bool> in_condition_;                // whether the condition reads the element
};

// Lets each accumulator begin as its input, and what reads the input read the accumulator.
absl::Status Unify(Instruction* loop, const std::vector<std::pair<int64_t, int64_t>>& pairs) {
  Computation* const around = loop->parent();
  const std::vector<Instruction*> old_init = loop->operand(0)->operand_vector();
  std::vector<Instruction*> init = old_init;
  std::vector<bool> keep(init.size(), true);
  std::vector<int64_t> accumulator_of(init.size(), -1);
  for (const auto& [accumulator, input] : pairs) {
    init[static_cast<size_t>(accumulator)] = old_init[static_cast<size_t>(input)];
    keep[static_cast<size_t>(input)] = false;
    accumulator_of[static_cast<size_t>(input)] = accumulator;
  }
  Builder b(around, loop->operand(0));
  Instruction* const old_tuple = loop->operand(0);
  loop->ReplaceOperand(0, b.Tuple(init));
  RETURN_IF_ERROR(b.status());
  if (!old_tuple->is_used()) around->RemoveUnused(old_tuple);
  return DropLoopElements(loop, keep,
                          [&](Builder& builder, int64_t i,
                              const std::function<Instruction*(int64_t)>& read) -> Instruction* {
                            if (builder.computation() == around)
                              return old_init[static_cast<size_t>(i)];
                            return read(accumulator_of[static_cast<size_t>(i)]);
                          });
}

bool IsBodyOfLoop(const Computation& computation) {
  return absl::c_any_of(computation.callers(), [&](const CallSite& site) {
    return site.caller->opcode() == Opcode::kWhile && site.caller->while_body() == &computation;
  });
}

}  // namespace

absl::StatusOr<bool> ScanLoopAccumulatorInputUnification::Run(Module& module,
                                                              PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kWhile})) {
    if (!IsBodyOfLoop(*computation)) continue;
    for (Instruction* loop : computation->PostOrder()) {
      if (loop->opcode() != Opcode::kWhile || loop->has_control_edges() ||
          loop->operand(0)->opcode() != Opcode::kTuple || !CanCarryMore(*loop))
        continue;
      const std::optional<int64_t> counter = InductionIndex(*loop);
      const std::optional<CountedLoop> counted =
          counter ? MatchCountedLoop(*loop, *counter) : std::nullopt;
      if (!counted || counted->init != 0 || counted->step != 1) continue;
      const auto pairs = ScanLoop(loop, *counter, counted->trip_count).FindPairs();
      if (pairs.empty() || !context.MayRewrite()) continue;
      context.Passed(*loop, "writes {} results over what it reads", pairs.size());
      context.Count("unified", static_cast<int64_t>(pairs.size()));
      RETURN_IF_ERROR(Unify(loop, pairs));
      changed = true;
    }
  }
  if (changed) RETURN_IF_ERROR(RunPart(TupleSimplifier(), module, context).status());
  return changed;
}

HLO_DEFINE_PASS(ScanLoopAccumulatorInputUnification)

}  // namespace hlo
