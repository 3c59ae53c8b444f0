#include "passes/simplify/tuple_simplifier.h"

#include "lib/match/pattern.h"

namespace hlo {
namespace {

// Whether `replacement` says all that `old` says about sharding.
bool KeepsSharding(const Instruction& old, const Instruction& replacement) {
  if (old.sharding() == nullptr) return true;
  return replacement.sharding() != nullptr && *replacement.sharding() == *old.sharding();
}

// get-tuple-element(tuple(x0, x1, …), i)  =>  xi
Instruction* ForwardElement(Instruction* gte, Rewriter&) {
  Instruction* tuple;
  if (!Match(gte, m::GetTupleElement(m::Tuple(&tuple)))) return nullptr;
  Instruction* element = tuple->operand(static_cast<int>(gte->tuple_index()));
  return KeepsSharding(*gte, *element) ? element : nullptr;
}

// tuple(gte(t, 0), …, gte(t, n-1))  =>  t, when t has exactly n elements
Instruction* CollapseRebuiltTuple(Instruction* tuple, Rewriter&) {
  Instruction* source = nullptr;
  for (int i = 0; i < tuple->operand_count(); ++i) {
    Instruction* producer;
    if (!Match(tuple->operand(i), m::GetTupleElement(m::Any(&producer)).WithIndex(i)))
      return nullptr;
    if (source != nullptr && source != producer) return nullptr;
    source = producer;
  }
  // A shorter rebuild drops elements; the shapes then differ and it must stay.
  if (source == nullptr || !Compatible(source->shape(), tuple->shape())) return nullptr;
  return KeepsSharding(*tuple, *source) ? source : nullptr;
}

constexpr Rule kRules[] = {
    {"gte-of-tuple", Opcode::kGetTupleElement, kExact, ForwardElement},
    {"tuple-of-gtes", Opcode::kTuple, kExact, CollapseRebuiltTuple},
};

}  // namespace

TupleSimplifier::TupleSimplifier(Options options) : RewritePass(kRules) {
  if (options.exclude_entry_computation) SkipEntryComputation();
}

HLO_DEFINE_PASS(TupleSimplifier)

}  // namespace hlo
