#include "passes/collectives/async_collective_creator.h"

#include "lib/ir/async_chain.h"
#include "lib/ir/builder.h"
#include "lib/ops/async_pairs.h"
#include "lib/types/shape_util.h"
#include "passes/rewrite.h"
#include "passes/util/split_async.h"

namespace hlo {
namespace {

struct AsyncForm {
  Opcode opcode;
  bool AsyncCollectiveCreatorOptions::*wanted;
};
constexpr AsyncForm kAsyncForms[] = {
    {Opcode::kAllReduce, &AsyncCollectiveCreatorOptions::convert_all_reduce},
    {Opcode::kAllGather, &AsyncCollectiveCreatorOptions::convert_all_gather},
    {Opcode::kCollectivePermute, &AsyncCollectiveCreatorOptions::convert_collective_permute},
    {Opcode::kCollectiveBroadcast, &AsyncCollectiveCreatorOptions::convert_collective_broadcast},
    {Opcode::kAllToAll, &AsyncCollectiveCreatorOptions::convert_all_to_all},
    {Opcode::kReduceScatter, &AsyncCollectiveCreatorOptions::convert_reduce_scatter},
    {Opcode::kRaggedAllToAll, &AsyncCollectiveCreatorOptions::convert_ragged_all_to_all},
    {Opcode::kFusion, &AsyncCollectiveCreatorOptions::convert_collective_fusion},
};

const AsyncForm* FormOf(Opcode opcode) {
  for (const AsyncForm& form : kAsyncForms) {
    if (form.opcode == opcode) return &form;
  }
  return nullptr;
}

Shape OperandsShape(const Instruction& instruction) {
  return Shape::Tuple(instruction.operand_shapes());
}

// What the start gives: a reduction its result, the others what they read and what they make.
Shape StartShape(const Instruction& collective, Opcode start) {
  if (start == Opcode::kAllReduceStart) return collective.shape();
  const Shape operands = OperandsShape(collective);
  const bool is_in_place = start == Opcode::kCollectivePermuteStart &&
                           !collective.attrs<CollectivePermuteAttrs>().slice_sizes.empty();
  const bool is_one =
      is_in_place || (collective.operand_count() == 1 && start != Opcode::kAsyncStart);
  return Shape::Tuple({{is_one ? operands.element(0) : operands, collective.shape()}});
}

// What a wrapped start writes over what it reads: a reduction all of it, a permute in place what
// follows in its operands.
OutputOperandAliases OverwrittenBy(const Instruction& collective) {
  const bool is_permute = collective.opcode() == Opcode::kCollectivePermute;
  if (is_permute ? collective.attrs<CollectivePermuteAttrs>().slice_sizes.empty()
                 : collective.opcode() != Opcode::kAllReduce)
    return {};
  if (!collective.shape().IsTuple()) return {{{1}, is_permute ? 1 : 0, {}}};
  OutputOperandAliases aliases;
  for (int64_t i = 0; i < collective.shape().element_count_of_tuple(); ++i)
    aliases.push_back({{1, i}, i, {}});
  return aliases;
}

// `generic`: as those without forms of their own, which are wrapped.
absl::Status Split(Instruction* collective, bool generic) {
  const uint32_t first_new = collective->module().id_limit();
  Builder b(collective);
  const AsyncPair* const pair = generic ? nullptr : AsyncPairOf(collective->opcode());
  const bool is_wrapped = pair == nullptr;
  const Opcode start_opcode = is_wrapped ? Opcode::kAsyncStart : pair->start;
  const Opcode done_opcode = is_wrapped ? Opcode::kAsyncDone : pair->done;
  AsyncAttrs wrapped;
  wrapped.output_to_operand_aliasing = OverwrittenBy(*collective);
  const AttrsPtr attrs = is_wrapped ? AttrsPtr::Make(std::move(wrapped)) : collective->attrs_ptr();
  const std::vector<Computation*> calls =
      is_wrapped ? std::vector<Computation*>{AsyncComputationOf(*collective)} : collective->calls();
  Instruction* const start = b.OpWithShape(start_opcode, StartShape(*collective, start_opcode),
                                           collective->operand_vector(), attrs, calls);
  Instruction* const done = is_wrapped ? b.OpWithShape(done_opcode, collective->shape(), {start},
                                                       AttrsPtr::Make(AsyncAttrs{}))
                                       : b.OpWithShape(done_opcode, collective->shape(), {start});
  RETURN_IF_ERROR(b.status());
  for (Instruction* const half : {start, done}) PassOnBackendConfig(*collective, half);
  ReplaceByPair(collective, start, done, first_new);
  return absl::OkStatus();
}

}  // namespace

bool AsyncCollectiveCreator::IsWanted(const Instruction& instruction) const {
  const AsyncForm* const form = FormOf(instruction.opcode());
  if (form == nullptr || !(options_.*form->wanted)) return false;
  const int64_t bytes = ArrayBytes(instruction.shape());
  if (form->opcode == Opcode::kAllReduce)
    return bytes >= options_.all_reduce_min_threshold_in_bytes;
  if (form->opcode == Opcode::kAllGather)
    return bytes >= options_.all_gather_min_threshold_in_bytes;
  return form->opcode != Opcode::kReduceScatter ||
         bytes >= options_.reduce_scatter_min_threshold_in_bytes;
}

absl::StatusOr<bool> AsyncCollectiveCreator::Run(Module& module, PassContext& context) {
  OpcodeSet opcodes;
  for (const AsyncForm& form : kAsyncForms) opcodes.Insert(form.opcode);
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, opcodes)) {
    if (IsAsyncBody(*computation)) continue;  // it is one already
    for (Instruction* instruction : computation->PostOrder()) {
      if (!IsWanted(*instruction)) continue;
      if (!context.MayRewrite()) return changed;
      context.Passed(*instruction, "runs beside other work");
      RETURN_IF_ERROR(Split(instruction, options_.use_generic_async_start_done));
      context.Count("started");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(AsyncCollectiveCreator)

}  // namespace hlo
