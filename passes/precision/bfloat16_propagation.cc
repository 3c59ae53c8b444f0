#include "passes/precision/bfloat16_propagation.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/analysis/forwarding.h"
#include "lib/analysis/leaves.h"
#include "lib/analysis/region.h"
#include "passes/rewrite.h"
#include "passes/simplify/dce.h"
#include "passes/simplify/tuple_simplifier.h"

namespace hlo {
namespace {

// What calls pieces of program, or a fusion, whose values are seen through.
constexpr OpcodeSet kSeenThrough = {Opcode::kWhile, Opcode::kConditional, Opcode::kCall,
                                    Opcode::kFusion};

// Places of values that must be of one type, and which of them can be narrow.
class NarrowPlaces {
 public:
  NarrowPlaces(const std::vector<Computation*>& computations, const FloatSupport& support,
               const Module& module)
      : support_(support) {
    for (size_t i = computations.size(); i-- > 0;) {  // callers first
      if (BelongsToRegion(*computations[i])) regions_.insert(computations[i]);
    }
    for (Computation* computation : computations) {
      if (regions_.contains(computation)) continue;
      for (Instruction* instruction : computation->PostOrder()) {
        first_[instruction] = parent_.size();
        order_.push_back(instruction);
        ForEachLeaf(instruction->shape(), [&](Shape leaf, const ShapeIndex&) {
          parent_.push_back(parent_.size());
          wide_.push_back(!leaf.IsArray() || leaf.element_type() != support_.high());
        });
      }
    }
    for (const Instruction* instruction : order_) JoinPlaces(*instruction);
    for (const Instruction* parameter : module.entry()->parameters()) SetWide(*parameter);
    SetWide(*module.entry()->root());
    Solve();
  }

  const std::vector<Instruction*>& order() const { return order_; }
  // Whether leaf `leaf` of the result is f32 and to be bf16.
  bool IsNarrow(const Instruction& instruction, int64_t leaf) {
    const auto it = first_.find(&instruction);
    return it != first_.end() && !wide_[Find(it->second + static_cast<size_t>(leaf))];
  }

 private:
  // What something else than a piece of program calls, or what such a computation calls.
  bool BelongsToRegion(const Computation& computation) const {
    return std::any_of(computation.callers().begin(), computation.callers().end(),
                       [&](const CallSite& site) {
                         return !kSeenThrough.Has(site.caller->opcode()) ||
                                regions_.contains(site.caller->parent());
                       });
  }

  // One of its computations says what an operation does as well.
  bool CallsRegion(const Instruction& instruction) const {
    const std::vector<Computation*> calls = instruction.calls();
    return std::any_of(calls.begin(), calls.end(),
                       [&](const Computation* callee) { return regions_.contains(callee); });
  }

  size_t Find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Join(size_t a, size_t b) {
    a = Find(a);
    b = Find(b);
    parent_[std::max(a, b)] = std::min(a, b);
    wide_[std::min(a, b)] = wide_[a] || wide_[b];
  }
  // All leaves of two values of one form, or of a part of `tuple` from leaf `at` on.
  void JoinAll(const Instruction& value, const Instruction& other, int64_t at = 0) {
    const int64_t count = LeafCount(value.shape());
    for (int64_t i = 0; i < count; ++i)
      Join(first_.at(&value) + static_cast<size_t>(i),
           first_.at(&other) + static_cast<size_t>(at + i));
  }

  void JoinPlaces(const Instruction& instruction) {
    const Opcode opcode = instruction.opcode();
    if (kSeenThrough.Has(opcode) && CallsRegion(instruction)) {
      SetWide(instruction);
      for (const Instruction* operand : instruction.operands()) SetWide(*operand);
      return;
    }
    if (opcode == Opcode::kWhile) {
      JoinAll(instruction, *instruction.operand(0));
      JoinAll(instruction, *instruction.while_condition()->parameter(0));
      JoinAll(instruction, *instruction.while_body()->parameter(0));
      JoinAll(instruction, *instruction.while_body()->root());
    } else if (opcode == Opcode::kConditional) {
      for (int i = 0; i < instruction.call_count(); ++i) {
        JoinAll(*instruction.operand(i + 1), *instruction.call(i)->parameter(0));
        JoinAll(instruction, *instruction.call(i)->root());
      }
    } else if (opcode == Opcode::kCall || opcode == Opcode::kFusion) {
      // A fusion may have more operands than its computation takes.
      const Computation& callee = *instruction.call(0);
      const int taken = std::min(instruction.operand_count(), callee.parameter_count());
      for (int i = 0; i < taken; ++i) JoinAll(*instruction.operand(i), *callee.parameter(i));
      JoinAll(instruction, *instruction.call(0)->root());
    } else if (opcode != Opcode::kBitcast) {
      const std::vector<LeafSource> sources = ForwardedLeaves(instruction, /*dense=*/false);
      for (size_t leaf = 0; leaf < sources.size(); ++leaf) {
        if (sources[leaf].operand < 0) continue;
        Join(first_.at(&instruction) + leaf, first_.at(instruction.operand(sources[leaf].operand)) +
                                                 static_cast<size_t>(sources[leaf].leaf));
      }
    }
  }

  void SetWide(const Instruction& instruction) {
    for (int64_t i = 0; i < LeafCount(instruction.shape()); ++i) SetWide(instruction, i);
  }
  bool SetWide(const Instruction& instruction, int64_t leaf) {
    const size_t place = Find(first_.at(&instruction) + static_cast<size_t>(leaf));
    const bool changed = !wide_[place];
    wide_[place] = true;
    return changed;
  }

  // Passes values on: its leaves are those of others.
  static bool PassesOn(const Instruction& instruction) {
    if (HasTrait(instruction.opcode(), kAsyncStart)) return false;  // has a result beside them
    return kSeenThrough.Has(instruction.opcode()) ||
           (instruction.opcode() != Opcode::kBitcast &&
            !ForwardedLeaves(instruction, /*dense=*/false).empty());
  }

  // Whether it can make bf16 at all.
  bool MayGive(const Instruction& instruction) const {
    const Opcode opcode = instruction.opcode();
    if (opcode == Opcode::kParameter || instruction.IsConstant()) return true;
    if (instruction.HasOwnSideEffect() || opcode == Opcode::kCustomCall ||
        HasTrait(opcode, kAsyncStart) || HasTrait(opcode, kAsyncDone))
      return false;
    if (instruction.call_count() > 0 && !CombinerOpcode(*instruction.call(0))) return false;
    return instruction.shape().IsArray() && support_.GivesNarrow(instruction);
  }

  // All are taken to be narrow until something speaks against it.
  void Solve() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = order_.size(); i-- > 0;) changed |= Check(*order_[i]);
      for (const Instruction* instruction : order_) changed |= Check(*instruction);
    }
  }

  bool Check(const Instruction& instruction) {
    if (PassesOn(instruction)) return CheckUnread(instruction);
    bool changed = false;
    const int64_t leaves = LeafCount(instruction.shape());
    if (!MayGive(instruction) ||
        (instruction.opcode() != Opcode::kParameter && !instruction.IsConstant() &&
         !support_.Mixes(instruction) && ReadsWide(instruction))) {
      for (int64_t i = 0; i < leaves; ++i) changed |= SetWide(instruction, i);
    }
    for (int i = 0; i < instruction.operand_count(); ++i) {
      if (Accepts(instruction, i)) continue;
      for (int64_t leaf = 0; leaf < LeafCount(instruction.operand(i)->shape()); ++leaf)
        changed |= SetWide(*instruction.operand(i), leaf);
    }
    return changed | CheckUnread(instruction);
  }

  // What nobody reads need not change.
  bool CheckUnread(const Instruction& instruction) {
    if (instruction.has_uses() || instruction.is_root() ||
        instruction.opcode() == Opcode::kParameter)
      return false;
    bool changed = false;
    for (int64_t i = 0; i < LeafCount(instruction.shape()); ++i) changed |= SetWide(instruction, i);
    return changed;
  }

  bool ReadsWide(const Instruction& instruction) {
    return std::any_of(instruction.operands().begin(), instruction.operands().end(),
                       [&](const Instruction* operand) {
                         return operand->shape().IsArray() &&
                                operand->shape().element_type() == support_.high() &&
                                !IsNarrow(*operand, 0);
                       });
  }

  // Whether operand `i` may be narrow.
  bool Accepts(const Instruction& user, int i) {
    if (!support_.TakesNarrow(user) || user.opcode() == Opcode::kCustomCall) return false;
    if (!user.operand(i)->shape().IsArray() || !user.shape().IsArray()) return false;
    const bool gives_narrow = user.shape().element_type() == support_.low() || IsNarrow(user, 0);
    if (user.opcode() == Opcode::kConvert) return gives_narrow;
    const bool gives_high = user.shape().element_type() == support_.high() && !gives_narrow;
    if (user.call_count() > 0 && !gives_narrow) return false;  // its region has one type
    if (support_.RoundsOperands(user)) return !gives_high || support_.Mixes(user);
    return gives_narrow && KeepsPrecision(user, i);
  }

  const FloatSupport& support_;
  absl::flat_hash_set<const Computation*> regions_;
  std::vector<Instruction*> order_;
  absl::flat_hash_map<const Instruction*, size_t> first_;  // looked up only
  std::vector<size_t> parent_;
  std::vector<bool> wide_;  // of representatives
};

Shape NarrowedShape(Shape shape, const Instruction& instruction, int64_t& leaf,
                    NarrowPlaces& places, ElementType low) {
  if (shape.IsTuple()) {
    for (int i = 0; i < shape.element_count_of_tuple(); ++i) {
      const Shape element = NarrowedShape(shape.element(i), instruction, leaf, places, low);
      if (!(element == shape.element(i))) shape = shape.WithElement(i, element);
    }
    return shape;
  }
  return places.IsNarrow(instruction, leaf++) ? shape.WithElementType(low) : shape;
}

// Gives `instruction` the narrow shape and what belongs to it.
absl::Status Narrow(Instruction* instruction, Shape shape, ElementType low) {
  instruction->set_shape(shape);
  if (instruction->IsConstant()) {
    if (instruction->literal().is_elided()) {
      instruction->SetAttrs(ConstantAttrs{Literal::Elided(shape)});
    } else {
      ASSIGN_OR_RETURN(Literal literal, instruction->literal().Converted(low));
      instruction->SetAttrs(ConstantAttrs{literal.WithShapeLayout(shape)});
    }
  } else if (instruction->call_count() > 0 && !kSeenThrough.Has(instruction->opcode())) {
    instruction->SetCall(
        0, ScalarComputation(instruction->module(), *CombinerOpcode(*instruction->call(0)), low));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> Bfloat16Propagation::Run(Module& module, PassContext& context) {
  ASSIGN_OR_RETURN(const FloatSupport support, FloatSupport::Parse(options_));
  if (!context.MayRewrite()) return false;
  NarrowPlaces places(context.Computations(module), support, module);
  bool changed = false;
  for (Instruction* instruction : places.order()) {
    int64_t leaf = 0;
    const Shape shape =
        NarrowedShape(instruction->shape(), *instruction, leaf, places, support.low());
    if (shape == instruction->shape()) continue;
    context.Passed(*instruction, "is only read rounded to {}", Text(support.low()));
    RETURN_IF_ERROR(Narrow(instruction, shape, support.low()));
    context.Count("narrowed");
    changed = true;
  }
  if (!changed) return false;
  for (Instruction* convert : places.order()) {
    if (convert->is_dead() || convert->opcode() != Opcode::kConvert ||
        convert->shape().element_type() != convert->operand(0)->shape().element_type())
      continue;
    ReplaceKeepingExtras(convert, convert->operand(0), module.id_limit());
  }
  RETURN_IF_ERROR(RunPart(TupleSimplifier(), module, context).status());
  RETURN_IF_ERROR(RunPart(Dce(), module, context).status());
  return true;
}

HLO_DEFINE_PASS(Bfloat16Propagation)

}  // namespace hlo
