#include "passes/gpu/copy_fusion.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "lib/ir/builder.h"
#include "passes/fusion/fuse.h"
#include "passes/gpu/shared_kernels.h"
#include "passes/util/own_body.h"

namespace hlo {
namespace {

bool IsLoopStep(const Instruction& x) {
  if (x.opcode() == Opcode::kBitcast || x.opcode() == Opcode::kTuple) return true;
  return x.opcode() != Opcode::kCopy && HasTrait(x.opcode(), kElementwise);
}

// Whatever is computed from parameters is computed element by element.
bool LoopsOverElements(const Computation& body) {
  std::vector<const Instruction*> stack(body.parameters().begin(), body.parameters().end());
  absl::flat_hash_set<const Instruction*> seen;
  while (!stack.empty()) {
    const Instruction* const value = stack.back();
    stack.pop_back();
    for (const Instruction* user : value->users()) {
      if (!IsLoopStep(*user)) return false;
      if (seen.insert(user).second) stack.push_back(user);
    }
  }
  return true;
}

// One operation with several results has no place for one more.
bool IsTupleOfOutputs(const Instruction& fusion) {
  return !fusion.shape().IsTuple() ||
         fusion.fused_computation()->root()->opcode() == Opcode::kTuple;
}

bool MayGrow(const Instruction& fusion) {
  return fusion.IsFusion() && fusion.attrs<FusionAttrs>().kind != FusionKind::kCustom &&
         fusion.sharding() == nullptr && fusion.fused_computation()->callers().size() == 1 &&
         IsTupleOfOutputs(fusion) && IsReadByElements(fusion) && !UpdatesInPlace(fusion) &&
         LoopsOverElements(*fusion.fused_computation());
}

// What a user of a fusion leads to: the copy itself, the element or bitcast before it.
Instruction* PastOnlyUse(Instruction* user, Opcode opcode) {
  const bool passes_on = user->opcode() == opcode && user->use_count() == 1 && !user->is_root() &&
                         !user->has_control_edges();
  return passes_on ? user->uses()[0].user : user;
}

// A copy of an output of `fusion` that `user` is, or leads to; null if it is none to be fused.
Instruction* FusibleCopy(Instruction* user, const Instruction& fusion) {
  const bool is_element = user->opcode() == Opcode::kGetTupleElement;
  const int64_t index = is_element ? user->tuple_index() : 0;
  if (OutputsOf(fusion)[static_cast<size_t>(index)]->opcode() == Opcode::kReduce) return nullptr;
  Instruction* const copy =
      PastOnlyUse(PastOnlyUse(user, Opcode::kGetTupleElement), Opcode::kBitcast);
  const bool fits = copy->opcode() == Opcode::kCopy && copy->shape().IsArray() &&
                    copy->shape() == copy->operand(0)->shape() && !copy->has_control_edges();
  return fits ? copy : nullptr;
}

// Clones `copy`, and the bitcast before it, into `fusion`; the new output.
Instruction* CloneWithBitcast(const Instruction& copy, Instruction& fusion) {
  std::vector<const Instruction*> chain;  // last first
  const Instruction* value = &copy;
  for (; value != &fusion && value->opcode() != Opcode::kGetTupleElement; value = value->operand(0))
    chain.push_back(value);
  const int64_t index = value == &fusion ? 0 : value->tuple_index();
  Instruction* output = FusionOutputs(fusion)[static_cast<size_t>(index)];
  for (auto it = chain.rbegin(); it != chain.rend(); ++it)
    output = fusion.fused_computation()->AddClone(**it, (*it)->shape(), {output});
  return output;
}

// `fusion` yields `outputs`; what it did before comes first.
void SetOutputs(Instruction* fusion, const std::vector<Instruction*>& outputs) {
  Computation& body = *fusion->fused_computation();
  Instruction* const old_root = body.root();
  const bool was_tuple = fusion->shape().IsTuple();
  const std::vector<Use> uses(fusion->uses().begin(), fusion->uses().end());
  body.set_root(Builder(&body).Tuple(outputs));
  if (was_tuple) body.RemoveUnused(old_root);
  fusion->set_shape(body.root()->shape());
  if (was_tuple) return;
  Builder builder(fusion);
  Instruction* const first = builder.GetTupleElement(fusion, 0);
  for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, first);
  if (fusion->is_root()) fusion->parent()->set_root(first);
  // What was said of one output does not say which of several it is.
  if (fusion->extras() != nullptr) fusion->mutable_extras().origin.reset();
}

// ---- arrays of one number ----

// Copies of less are not worth a kernel of their own.
constexpr int64_t kLargeFill = 1024 * 1024;

// Fills a large array with one number, and nothing else.
bool IsLargeFill(const Instruction& fusion) {
  if (fusion.attrs<FusionAttrs>().kind != FusionKind::kLoop || fusion.operand_count() != 0 ||
      !fusion.shape().IsArray() || fusion.has_control_edges())
    return false;
  const Computation& body = *fusion.fused_computation();
  const Instruction& root = *body.root();
  return body.instruction_count() == 2 && root.opcode() == Opcode::kBroadcast &&
         root.operand(0)->IsConstant() && root.operand(0)->shape().IsScalar() &&
         !root.has_control_edges() && !root.operand(0)->has_control_edges() &&
         fusion.shape().byte_size() >= kLargeFill;
}

// What needs the buffers that `open` pass on: tuples, their elements and bitcasts only hand them
// on, but for the root.
absl::flat_hash_set<const Instruction*> ReadersPast(std::vector<const Instruction*> open) {
  absl::flat_hash_set<const Instruction*> seen, readers;
  while (!open.empty()) {
    const Instruction* const x = open.back();
    open.pop_back();
    if (!seen.insert(x).second) continue;
    const bool hands_on = x->opcode() == Opcode::kTuple ||
                          x->opcode() == Opcode::kGetTupleElement ||
                          x->opcode() == Opcode::kBitcast;
    if (hands_on && !x->is_root()) {
      for (const Instruction* user : x->users()) open.push_back(user);
    } else {
      readers.insert(x);
    }
  }
  return readers;
}

// Whether the copies of a fill live apart from it: then filling once more lets it be made later.
bool AreBetterFilledAgain(const Instruction& fusion, const std::vector<Instruction*>& copies,
                          const std::vector<const Instruction*>& others) {
  if (others.empty() || !IsLargeFill(fusion)) return false;
  std::vector<const Instruction*> of_copies;
  for (const Instruction* copy : copies) {
    if (copy->operand(0) != &fusion || copy->sharding() != nullptr) return false;
    for (const Instruction* user : copy->users()) of_copies.push_back(user);
  }
  const auto readers = ReadersPast(others), of_copied = ReadersPast(std::move(of_copies));
  return absl::c_none_of(of_copied, [&](const Instruction* x) { return readers.contains(x); });
}

void FillAgain(const Instruction& fusion, Instruction* copy) {
  Computation& computation = *fusion.parent();
  Instruction* const fill = computation.AddClone(fusion, fusion.shape(), {});
  TakeOwnBody(fill);
  fusion.module().Rename(fill, fmt::format("{}.rematerialized", fusion.name()));
  computation.Replace(copy, fill);
}

// ---- all others ----

struct Copies {
  std::vector<Instruction*> copies;        // to be written by the fusion
  std::vector<const Instruction*> others;  // that read it
};
Copies CopiesOf(const Instruction& fusion, PassContext& context) {
  Copies found;
  for (Instruction* user : fusion.users()) {
    Instruction* const copy = FusibleCopy(user, fusion);
    const Decision fits = copy == nullptr ? Yes() : FitInOneKernel(fusion, *copy);
    if (!fits) context.Missed(*copy, fits.reason());
    if (copy != nullptr && fits && context.MayRewrite()) {
      found.copies.push_back(copy);
    } else {
      found.others.push_back(user);
    }
  }
  return found;
}

bool FuseCopies(Instruction* fusion, PassContext& context) {
  if (!MayGrow(*fusion)) return false;
  const auto [copies, others] = CopiesOf(*fusion, context);
  if (copies.empty()) return false;
  if (AreBetterFilledAgain(*fusion, copies, others)) {
    for (Instruction* copy : copies) {
      context.Passed(*copy, "filled again, as `{}` is", fusion->name());
      context.Count("filled again");
      FillAgain(*fusion, copy);
    }
    return true;
  }
  for (const Instruction* copy : copies)
    context.Passed(*copy, "`{}` writes it, too", fusion->name());
  std::vector<Instruction*> outputs = FusionOutputs(*fusion);
  const auto first = std::ssize(outputs);
  for (const Instruction* copy : copies) outputs.push_back(CloneWithBitcast(*copy, *fusion));
  SetOutputs(fusion, outputs);
  for (size_t i = 0; i < copies.size(); ++i) {
    Computation& computation = *fusion->parent();
    Builder builder(&computation, copies[i]);
    Instruction* const copied = copies[i]->operand(0);
    computation.Replace(copies[i],
                        builder.GetTupleElement(fusion, first + static_cast<int64_t>(i)));
    if (!copied->is_used()) computation.RemoveUnused(copied);
    context.Count("copies");
  }
  return true;
}

}  // namespace

absl::StatusOr<bool> CopyFusion::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Instruction* instruction : module.entry()->PostOrder())
    changed |= FuseCopies(instruction, context);
  return changed;
}

HLO_DEFINE_PASS(CopyFusion)

}  // namespace hlo
