#include "passes/precision/narrow_places.h"

#include <algorithm>

#include "lib/analysis/forwarding.h"
#include "lib/analysis/leaves.h"
#include "lib/analysis/region.h"
#include "lib/ir/async_chain.h"
#include "lib/ir/custom_call.h"
#include "lib/ops/opcode_groups.h"
#include "lib/types/memory_space.h"

namespace hlo {
namespace {

// Leaf i of the result has the elements of operand i.
constexpr OpcodeSet kMovesEach = {Opcode::kAllGather, Opcode::kAllToAll, Opcode::kCollectivePermute,
                                  Opcode::kCollectiveBroadcast};

// Their operands are of certain types, or of one.
constexpr OpcodeSet kNeverNarrow = {Opcode::kReal,
                                    Opcode::kImag,
                                    Opcode::kComplex,
                                    Opcode::kFft,
                                    Opcode::kStochasticConvert,
                                    Opcode::kTriangularSolve,
                                    Opcode::kCholesky};

// The operand that the operation changes and gives; -1: none.
int InPlaceOperand(Opcode opcode) {
  if (opcode == Opcode::kDynamicUpdateSlice || opcode == Opcode::kScatter ||
      opcode == Opcode::kSetDimensionSize)
    return 0;
  return opcode == Opcode::kRaggedAllToAll ? 1 : -1;
}

// A step of an asynchronous operation that the next one reads directly.
bool IsPlainStep(const Instruction& step) {
  return (step.opcode() == Opcode::kAsyncStart || step.opcode() == Opcode::kAsyncUpdate) &&
         step.attrs<AsyncAttrs>().output_to_operand_aliasing.empty() && step.use_count() == 1 &&
         kAsyncOps.Has(step.uses()[0].user->opcode());
}

// A conversion after what is changed in place would make a copy of it.
bool EndsInPlace(const Instruction& root) {
  const std::vector<Instruction*> ends = root.operand_vector();
  return InPlaceOperand(root.opcode()) >= 0 ||
         (root.opcode() == Opcode::kTuple && absl::c_any_of(ends, [](const Instruction* end) {
            return InPlaceOperand(end->opcode()) >= 0;
          }));
}

bool LiesOnHost(Shape shape) { return MemorySpaceOf(shape) == kHostMemorySpace; }

bool IsAllocation(const Instruction& instruction) {
  return IsCustomCall(instruction, "AllocateBuffer");
}

// Says what its bits mean, so the type of its result is no matter of precision.
bool IsBound(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kBitcast)
    return instruction.shape().element_type() != instruction.operand(0)->shape().element_type();
  return opcode == Opcode::kBitcastConvert || instruction.HasOwnSideEffect() ||
         (opcode == Opcode::kCustomCall && !IsAllocation(instruction));
}

bool KeepsAllOperands(const Instruction& instruction) {
  for (int i = 0; i < instruction.operand_count(); ++i)
    if (!KeepsPrecision(instruction, i)) return false;
  return true;
}

// Each result is what one operand is, of the same type, so operands may be converted for it.
bool KeepsEach(const Instruction& instruction) {
  if (!KeepsAllOperands(instruction)) return false;
  if (instruction.call_count() > 0 && instruction.opcode() != Opcode::kSort) return false;
  return instruction.shape().IsArray() ||
         (kMovesEach.Has(instruction.opcode()) && instruction.shape().IsTuple() &&
          LeafCount(instruction.shape()) == instruction.operand_count());
}

// Its leaves are those of others.
bool HandsValuesOn(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (kBodyRunners.Has(opcode) || kAsyncOps.Has(opcode)) return true;
  if (HasTrait(opcode, kAsyncStart)) return false;  // has a result beside them
  return opcode != Opcode::kBitcast && !ForwardedLeaves(instruction, /*dense=*/false).empty();
}

}  // namespace

NarrowPlaces::NarrowPlaces(const std::vector<Computation*>& computations,
                           const FloatSupport& support, const Module& module)
    : support_(support) {
  for (size_t i = computations.size(); i-- > 0;) {  // callers first
    if (BelongsToRegion(*computations[i])) regions_.insert(computations[i]);
  }
  for (Computation* computation : computations) {
    if (regions_.contains(computation)) continue;
    for (Instruction* instruction : computation->PostOrder()) {
      first_[instruction] = parent_.size();
      order_.push_back(instruction);
      if (HandsValuesOn(*instruction)) passing_on_.insert(instruction);
      ForEachLeaf(instruction->shape(), [&](Shape leaf, const ShapeIndex&) {
        parent_.push_back(parent_.size());
        wide_.push_back(!leaf.IsArray() || leaf.element_type() != support_.high() ||
                        LiesOnHost(leaf));
      });
    }
  }
  for (const Instruction* instruction : order_) JoinPlaces(*instruction);
  for (const Instruction* parameter : module.entry()->parameters()) SetWide(*parameter);
  SetWide(*module.entry()->root());
  FindCandidates();
  Solve();
  for (bool reverted = true; reverted;) {
    reverted = false;
    for (const Computation* computation : computations) {
      if (computation->is_fusion() && !regions_.contains(computation))
        reverted |= Revert(*computation);
    }
    if (reverted) Solve();
  }
}

bool NarrowPlaces::IsNarrow(const Instruction& instruction, int64_t leaf) {
  const auto it = first_.find(&instruction);
  return it != first_.end() && !wide_[Find(it->second + static_cast<size_t>(leaf))];
}

bool NarrowPlaces::NeedsConversionAfter(const Instruction& instruction) {
  return MayBeConverted(instruction) && IsNarrow(instruction, 0) && !CanGive(instruction);
}

bool NarrowPlaces::NeedsConversionOf(const Instruction& instruction, int i) {
  const Instruction& operand = *instruction.operand(i);
  if (PassesOn(instruction) || !operand.shape().IsArray() ||
      operand.shape().element_type() != support_.high() || IsNarrow(operand, 0))
    return false;
  const int64_t leaf = instruction.shape().IsTuple() ? i : 0;
  return instruction.opcode() != Opcode::kConvert && KeepsEach(instruction) &&
         !Mixes(instruction) && IsNarrow(instruction, leaf) && !NeedsConversionAfter(instruction);
}

// ---- places ----

// What something else than a piece of program calls, or what such a computation calls.
bool NarrowPlaces::BelongsToRegion(const Computation& computation) const {
  return absl::c_any_of(computation.callers(), [&](const CallSite& site) {
    return !kBodyRunners.Has(site.caller->opcode()) || regions_.contains(site.caller->parent());
  });
}

// One of its computations says what an operation does as well.
bool NarrowPlaces::CallsRegion(const Instruction& instruction) const {
  const std::vector<Computation*> calls = instruction.calls();
  return absl::c_any_of(calls,
                        [&](const Computation* callee) { return regions_.contains(callee); });
}

// The fusion, not what its computation ends with, says what is given: it is one of the operations
// that the back end has narrow forms of.
bool NarrowPlaces::HasOwnRoot(const Instruction& fusion) const {
  return support_.TakesNarrow(fusion) &&
         fusion.attrs<FusionAttrs>().output_to_operand_aliasing.empty() &&
         !EndsInPlace(*fusion.call(0)->root());
}

size_t NarrowPlaces::Find(size_t i) {
  while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
  return i;
}

void NarrowPlaces::Join(size_t a, size_t b) {
  a = Find(a);
  b = Find(b);
  parent_[std::max(a, b)] = std::min(a, b);
  wide_[std::min(a, b)] = wide_[a] || wide_[b];
}

// All leaves of `value` and as many of `other` from leaf `at` on.
void NarrowPlaces::JoinAll(const Instruction& value, const Instruction& other, int64_t at) {
  const int64_t count = LeafCount(value.shape());
  for (int64_t i = 0; i < count; ++i)
    Join(first_.at(&value) + static_cast<size_t>(i),
         first_.at(&other) + static_cast<size_t>(at + i));
}

void NarrowPlaces::JoinPlaces(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (kAsyncOps.Has(opcode)) return JoinAsync(instruction);
  if (kBodyRunners.Has(opcode) && CallsRegion(instruction)) return SetCallWide(instruction);
  if (opcode == Opcode::kWhile) {
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
    if (opcode == Opcode::kCall || !HasOwnRoot(instruction)) JoinAll(instruction, *callee.root());
    if (opcode == Opcode::kFusion) JoinAliases(instruction);
  } else if (opcode != Opcode::kBitcast) {
    const std::vector<LeafSource> sources = ForwardedLeaves(instruction, /*dense=*/false);
    for (size_t leaf = 0; leaf < sources.size(); ++leaf) {
      if (sources[leaf].operand < 0) continue;
      Join(first_.at(&instruction) + leaf, first_.at(instruction.operand(sources[leaf].operand)) +
                                               static_cast<size_t>(sources[leaf].leaf));
    }
  }
}

// Results that are operands.
void NarrowPlaces::JoinAliases(const Instruction& fusion) {
  for (const OutputOperandAlias& alias : fusion.attrs<FusionAttrs>().output_to_operand_aliasing) {
    const Instruction& operand = *fusion.operand(static_cast<int>(alias.operand));
    Join(first_.at(&fusion) + static_cast<size_t>(LeafNumber(fusion.shape(), alias.output)),
         first_.at(&operand) +
             static_cast<size_t>(LeafNumber(operand.shape(), alias.operand_index)));
  }
}

// What goes in and out.
void NarrowPlaces::SetCallWide(const Instruction& instruction) {
  SetWide(instruction);
  for (const Instruction* operand : instruction.operands()) SetWide(*operand);
  for (const Computation* callee : instruction.calls()) {
    if (regions_.contains(callee)) continue;
    for (const Instruction* parameter : callee->parameters()) SetWide(*parameter);
    SetWide(*callee->root());
  }
}

// Leaves of the state (operands, result, contexts). Operands that come late are not followed, nor
// states that anything but the next step hands on.
void NarrowPlaces::JoinAsync(const Instruction& instruction) {
  const bool is_start = instruction.opcode() == Opcode::kAsyncStart;
  const Instruction* const start = is_start ? &instruction : AsyncStartOf(instruction);
  const bool is_whole = start != nullptr && start->call_count() == 1 && !CallsRegion(*start) &&
                        start->shape().element_count_of_tuple() > 1 && IsPlainStep(*start) &&
                        start->operand_count() == start->call(0)->parameter_count() &&
                        Compatible(start->shape().element(1), start->call(0)->root()->shape());
  if (!is_whole || (!is_start && !IsPlainStep(*instruction.operand(0))) ||
      (!is_start && instruction.operand_count() != 1))
    return SetCallWide(instruction);
  if (is_start) {
    int64_t leaf = 0;
    for (int i = 0; i < start->operand_count(); ++i) {
      const Instruction& operand = *start->operand(i);
      JoinAll(operand, *start, leaf);
      JoinAll(operand, *start->call(0)->parameter(i));
      leaf += LeafCount(operand.shape());
    }
    JoinAll(*start->call(0)->root(), *start, leaf);
  } else if (instruction.opcode() == Opcode::kAsyncUpdate) {
    JoinAll(instruction, *instruction.operand(0));
  } else {
    JoinAll(instruction, *instruction.operand(0), FirstLeaf(instruction.operand(0)->shape(), 1));
  }
}

bool NarrowPlaces::SetWide(const Instruction& instruction) {
  bool changed = false;
  for (int64_t i = 0, count = LeafCount(instruction.shape()); i < count; ++i)
    changed |= SetWide(instruction, i);
  return changed;
}

bool NarrowPlaces::SetWide(const Instruction& instruction, int64_t leaf) {
  const size_t place = Find(first_.at(&instruction) + static_cast<size_t>(leaf));
  const bool changed = !wide_[place];
  wide_[place] = true;
  return changed;
}

// ---- what operations can ----

// Operations that could work on bf16 without conversions in front of them that cost more.
void NarrowPlaces::FindCandidates() {
  for (const Instruction* instruction : order_)
    if (IsCandidate(*instruction)) candidates_.insert(instruction);
}

bool NarrowPlaces::IsCandidate(const Instruction& instruction) const {
  if (PassesOn(instruction) || support_.Mixes(instruction)) return true;
  for (int i = 0; i < instruction.operand_count(); ++i)
    if (!KeepsPrecision(instruction, i) || !candidates_.contains(instruction.operand(i)))
      return false;
  return true;
}

// Whether the operation has no narrow form at all.
bool NarrowPlaces::StaysWide(const Instruction& instruction) const {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kParameter) return false;
  if (instruction.IsConstant()) return !instruction.shape().IsArray();
  if (kNeverNarrow.Has(opcode)) return true;
  if (IsBound(instruction) || HasTrait(opcode, kAsyncStart) || HasTrait(opcode, kAsyncDone))
    return true;
  if ((opcode == Opcode::kDynamicSlice || opcode == Opcode::kCopy) &&
      LiesOnHost(instruction.operand(0)->shape()))
    return true;
  if (instruction.call_count() > 0 && opcode != Opcode::kSort &&
      !CombinerOpcode(*instruction.call(0)))
    return true;
  if (!instruction.shape().IsArray() && !KeepsEach(instruction)) return true;
  return !support_.GivesNarrow(instruction);
}

// Whether it can make bf16 of what it reads.
// A bitcast has as many bytes as its operand.
bool NarrowPlaces::Mixes(const Instruction& instruction) const {
  return support_.Mixes(instruction) && instruction.opcode() != Opcode::kBitcast;
}

bool NarrowPlaces::CanGive(const Instruction& instruction) {
  if (StaysWide(instruction)) return false;
  if (instruction.opcode() == Opcode::kParameter || instruction.IsConstant()) return true;
  const int in_place = InPlaceOperand(instruction.opcode());
  if (in_place >= 0 && instruction.operand(in_place)->shape().element_type() == support_.high() &&
      !IsNarrow(*instruction.operand(in_place), 0))
    return false;
  if (Mixes(instruction) || !ReadsWide(instruction)) return true;
  return KeepsEach(instruction) && candidates_.contains(&instruction);
}

// A result of called computations may be converted at their end; asynchronous ones hold one
// operation, and one that works in place is to stay the last one.
bool NarrowPlaces::MayBeConverted(const Instruction& instruction) const {
  const Computation& computation = *instruction.parent();
  return instruction.is_root() && !computation.is_entry() && instruction.shape().IsArray() &&
         !IsAsyncBody(computation) && InPlaceOperand(instruction.opcode()) < 0 &&
         instruction.opcode() != Opcode::kParameter && !PassesOn(instruction);
}

bool NarrowPlaces::ReadsWide(const Instruction& instruction) {
  return absl::c_any_of(instruction.operands(), [&](const Instruction* operand) {
    return operand->shape().IsArray() && operand->shape().element_type() == support_.high() &&
           !IsNarrow(*operand, 0);
  });
}

// Whether operand `i` may be narrow.
bool NarrowPlaces::Accepts(const Instruction& user, int i) {
  if (IsBound(user) || user.opcode() == Opcode::kCustomCall || !support_.TakesNarrow(user) ||
      kNeverNarrow.Has(user.opcode()))
    return false;
  if (!user.operand(i)->shape().IsArray()) return false;
  if (!user.shape().IsArray()) return KeepsEach(user) && IsNarrow(user, i) && CanGive(user);
  const bool gives_narrow =
      user.shape().element_type() == support_.low() || (IsNarrow(user, 0) && CanGive(user));
  if (user.opcode() == Opcode::kConvert) return gives_narrow;
  const bool gives_high = user.shape().element_type() == support_.high() && !gives_narrow;
  if (user.call_count() > 0 && !gives_narrow) return false;  // its region has one type
  if (support_.RoundsOperands(user) && i != InPlaceOperand(user.opcode()))
    return !gives_high || support_.Mixes(user);
  return gives_narrow && KeepsPrecision(user, i);
}

// ---- what speaks against it ----

void NarrowPlaces::Solve() {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = order_.size(); i-- > 0;) changed |= Check(*order_[i]);
    for (const Instruction* instruction : order_) changed |= Check(*instruction);
  }
}

bool NarrowPlaces::Check(const Instruction& instruction) {
  if (PassesOn(instruction)) return CheckPassedOn(instruction) | CheckUnread(instruction);
  bool changed = false;
  if (!MayBeConverted(instruction) && !CanGive(instruction)) changed |= SetWide(instruction);
  for (int i = 0; i < instruction.operand_count(); ++i)
    if (!Accepts(instruction, i)) changed |= SetWide(*instruction.operand(i));
  return changed | CheckUnread(instruction);
}

// What nobody reads need not change.
bool NarrowPlaces::CheckUnread(const Instruction& instruction) {
  if (instruction.has_uses() || instruction.is_root() || instruction.opcode() == Opcode::kParameter)
    return false;
  return SetWide(instruction);
}

bool NarrowPlaces::CheckPassedOn(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kFusion) return CheckFusion(instruction);
  if (instruction.opcode() != Opcode::kWhile || CallsRegion(instruction)) return false;
  // What it starts with is copied if it is wide.
  bool changed = false;
  for (int64_t i = 0, count = LeafCount(instruction.shape()); i < count; ++i)
    if (!IsNarrow(instruction, i)) changed |= SetWide(*instruction.operand(0), i);
  return changed;
}

bool NarrowPlaces::CheckFusion(const Instruction& fusion) {
  if (CallsRegion(fusion) || !HasOwnRoot(fusion)) return false;
  const Computation& fused = *fusion.call(0);
  bool changed = false;
  if (fusion.attrs<FusionAttrs>().kind == FusionKind::kCustom && IsBound(*fused.root()))
    changed |= SetWide(fusion);
  if (!support_.Mixes(fusion)) {
    bool is_wide = ReadsWide(fusion);
    int64_t leaf = 0;
    ForEachLeaf(fusion.shape(), [&](Shape shape, const ShapeIndex&) {
      is_wide |= shape.element_type() == support_.high() && !IsNarrow(fusion, leaf);
      ++leaf;
    });
    if (is_wide) {
      changed |= SetWide(fusion);
      for (const Instruction* operand : fusion.operands()) changed |= SetWide(*operand);
    }
  }
  for (int64_t i = 0, count = LeafCount(fusion.shape()); i < count; ++i)
    if (!IsNarrow(fusion, i)) changed |= SetWide(*fused.root(), i);
  return changed;
}

bool NarrowPlaces::AnyNarrow(const Instruction& instruction) {
  for (int64_t i = 0, count = LeafCount(instruction.shape()); i < count; ++i)
    if (IsNarrow(instruction, i)) return true;
  return false;
}

// Inside a fusion, bf16 that neither comes from outside nor goes there saves nothing.
bool NarrowPlaces::Revert(const Computation& fused) {
  absl::flat_hash_set<size_t> given;
  for (int64_t i = 0, count = LeafCount(fused.root()->shape()); i < count; ++i)
    given.insert(Find(first_.at(fused.root()) + static_cast<size_t>(i)));
  const auto is_given = [&](const Instruction& instruction) {
    for (int64_t i = 0, count = LeafCount(instruction.shape()); i < count; ++i)
      if (given.contains(Find(first_.at(&instruction) + static_cast<size_t>(i)))) return true;
    return false;
  };
  const auto any_narrow = [&](const std::vector<Instruction*>& values) {
    return absl::c_any_of(values, [&](const Instruction* value) { return AnyNarrow(*value); });
  };
  bool changed = false;
  for (const Instruction* instruction : fused.PostOrder()) {
    if (instruction->opcode() == Opcode::kParameter || !AnyNarrow(*instruction) ||
        is_given(*instruction))
      continue;
    const bool has_reason = instruction->operand_count() > 0
                                ? any_narrow(instruction->operand_vector())
                                : any_narrow(instruction->users());
    if (!has_reason) changed |= SetWide(*instruction);
  }
  return changed;
}

}  // namespace hlo
