#include "passes/simplify/tuple_simplifier.h"

#include "lib/match/pattern.h"
#include "passes/util/loop_state.h"

namespace hlo {
namespace {

// `replacement` with the sharding of `old` where it has none; null if theirs differ.
Instruction* WithShardingOf(const Instruction& old, Instruction* replacement) {
  if (old.sharding() == nullptr) return replacement;
  if (replacement->sharding() == nullptr) replacement->set_sharding(*old.sharding());
  return *replacement->sharding() == *old.sharding() ? replacement : nullptr;
}

// Whether all elements of `tuple` but `element` are read elsewhere, or the tuple itself is.
bool NothingDies(const Instruction& tuple, const Instruction& element) {
  if (tuple.use_count() > 1) return true;
  return absl::c_all_of(tuple.operands(), [&](const Instruction* other) {
    return other == &element || other->use_count() > 1;
  });
}

// get-tuple-element(tuple(x0, x1, …), i)  =>  xi
// So through several levels, also where one in between has to stay because of its sharding.
Instruction* ForwardElement(Instruction* gte, Rewriter&) {
  std::vector<int64_t> path;  // from the element up
  Instruction* value = gte;
  for (; value->opcode() == Opcode::kGetTupleElement; value = value->operand(0))
    path.push_back(value->tuple_index());
  for (; !path.empty(); path.pop_back()) {
    if (value->opcode() != Opcode::kTuple) return nullptr;
    Instruction* element = value->operand(static_cast<int>(path.back()));
    if (!MayPassBy(*value, *element)) return nullptr;
    // A fusion must read all its parameters.
    if (gte->parent()->is_fusion() && !NothingDies(*value, *element)) return nullptr;
    value = element;
  }
  // An element may be declared with sizes that nobody sets.
  if (!Compatible(value->shape(), gte->shape())) return nullptr;
  return WithShardingOf(*gte, value);
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
  return WithShardingOf(*tuple, source);
}

constexpr Rule kRules[] = {
    {"gte-of-tuple", Opcode::kGetTupleElement, kExact, ForwardElement},
    {"tuple-of-gtes", Opcode::kTuple, kExact, CollapseRebuiltTuple},
};

}  // namespace

TupleSimplifier::TupleSimplifier(Options options) : RewritePass(this, kRules) {
  if (options.exclude_entry_computation) SkipEntryComputation();
}

HLO_DEFINE_PASS(TupleSimplifier)

}  // namespace hlo
