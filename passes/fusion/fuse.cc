#include "passes/fusion/fuse.h"

#include "absl/container/flat_hash_map.h"
#include "lib/ir/builder.h"
#include "lib/ir/outline.h"
#include "passes/util/layout_copy.h"

namespace hlo {
namespace {

constexpr std::string_view kParameter = "param_";

// What a fusion hands over that its body does not take (the verifier allows it) would become, or be
// counted as, a parameter that nobody reads.
void DropSurplusOperands(Instruction& fusion) {
  while (fusion.operand_count() > fusion.fused_computation()->parameter_count())
    fusion.RemoveOperand(fusion.operand_count() - 1);
}

// A fusion whose body something else calls, too, gets one to itself before that is changed.
void TakeBodyApart(Instruction& fusion) {
  Computation& body = *fusion.fused_computation();
  if (body.callers().size() > 1)
    fusion.SetCall(0, body.module().CloneComputation(body, ".clone", /*deep=*/false));
  DropSurplusOperands(fusion);
}

// The fused value of an outside one: its parameter, which is made if there is none. The result of
// the fusion itself is its root.
Instruction* InputFor(Instruction& fusion, Instruction* operand) {
  Computation& body = *fusion.fused_computation();
  if (operand == &fusion) return body.root();
  for (int i = 0; i < fusion.operand_count(); ++i) {
    if (fusion.operand(i) == operand) return body.parameter(i);
  }
  const int number = fusion.operand_count();
  fusion.AppendOperand(operand);
  return body.AddParameter(number, operand->shape(), fmt::format("{}{}", kParameter, number));
}

Instruction* CloneInto(const Instruction& x, Instruction& fusion) {
  std::vector<Instruction*> inputs;
  for (Instruction* operand : x.operands())
    inputs.push_back(CopyIfLayoutIsRead(InputFor(fusion, operand), *operand));
  return fusion.fused_computation()->AddClone(x, x.shape(), inputs);
}

// Puts a copy of what `x` computes into `fusion`; the values it yields.
std::vector<Instruction*> CopyOutputs(const Instruction& x, Instruction& fusion) {
  if (!x.IsFusion()) return {CloneInto(x, fusion)};
  absl::flat_hash_map<const Instruction*, Instruction*> copies;
  for (const Instruction* original : x.fused_computation()->PostOrder()) {
    if (original->opcode() == Opcode::kParameter) {
      Instruction* const input =
          InputFor(fusion, x.operand(static_cast<int>(original->parameter_number())));
      copies[original] = CopyIfLayoutIsRead(input, *original);
      continue;
    }
    if (original->is_root() && x.shape().IsTuple()) continue;
    std::vector<Instruction*> operands;
    for (const Instruction* operand : original->operands()) operands.push_back(copies[operand]);
    copies[original] = fusion.fused_computation()->AddClone(*original, original->shape(), operands);
  }
  std::vector<Instruction*> outputs;
  for (const Instruction* output : FusionOutputs(x)) outputs.push_back(copies[output]);
  return outputs;
}

// `outputs` as the fusion `x`, which yields them, says that they lie, where a bitcast may read
// that.
std::vector<Instruction*> LaidOutAs(const Instruction& x, std::vector<Instruction*> outputs) {
  const Shape shape = x.shape();
  if (!x.parent()->MayHold(Opcode::kBitcast)) return outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Shape own = shape.IsTuple() ? shape.element(static_cast<int>(i)) : shape;
    if (Compatible(own, outputs[i]->shape())) outputs[i] = CopyWithLayouts(outputs[i], own);
  }
  return outputs;
}

// `fusion` does not read `operand` any more, but its own `copy` of it.
void ReadOwn(Instruction& fusion, const Instruction* operand, Instruction* copy) {
  Computation& body = *fusion.fused_computation();
  for (int i = fusion.operand_count(); i-- > 0;) {
    if (fusion.operand(i) != operand) continue;
    Instruction* const parameter = body.parameter(i);
    Instruction* const own = CopyIfLayoutIsRead(copy, *parameter);
    parameter->ReplaceAllUsesWith(own);
    if (parameter->is_root()) body.set_root(own);
    body.RemoveParameterAndOperands(i);
  }
}

// Lets the readers of `x` read elements `first` and on of `fusion`, which may be `x` itself.
void ReadFrom(Instruction* x, bool was_tuple, Instruction* fusion, int64_t first,
              const std::vector<Use>& uses) {
  if (was_tuple) {
    for (const Use& use : uses) {
      const int64_t index = use.user->tuple_index() + first;
      use.user->ReplaceOperand(0, fusion);
      use.user->SetAttrs(GetTupleElementAttrs{index});
    }
    return;
  }
  Computation& computation = *fusion->parent();
  Builder builder(&computation, x);
  Instruction* const element = builder.GetTupleElement(fusion, first);
  for (const Use& use : uses) use.user->ReplaceOperand(use.operand_index, element);
  if (x->is_root()) computation.set_root(element);
}

}  // namespace

std::vector<Instruction*> FusionOutputs(const Instruction& fusion) {
  Instruction* const root = fusion.fused_computation()->root();
  return root->opcode() == Opcode::kTuple ? root->operand_vector() : std::vector{root};
}

Instruction* Fuse(absl::Span<Instruction* const> members, const FuseOptions& options) {
  for (Instruction* const member : members) {
    if (member->IsFusion()) DropSurplusOperands(*member);
  }
  Instruction* const fusion =
      OutlineInOrder(members, {.computation = "fused_computation",
                               .parameter = kParameter,
                               .opcode = Opcode::kFusion,
                               .attrs = AttrsPtr::Make(FusionAttrs{options.kind, {}}),
                               .name = options.name,
                               .is_copied = options.is_copied});
  Computation* const body = fusion->fused_computation();
  std::vector<Instruction*> inner;
  for (Instruction* i : body->instructions()) {
    if (i->IsFusion()) inner.push_back(i);
  }
  for (Instruction* i : inner) {
    Computation* const unfused = i->fused_computation();
    Unfuse(i);
    if (unfused->callers().empty()) unfused->module().RemoveComputation(unfused);
  }
  // The fusion has its sharding now.
  if (fusion->sharding() != nullptr) body->root()->clear_sharding();
  return fusion;
}

Instruction* Absorb(Instruction* producer, Instruction* fusion) {
  TakeBodyApart(*fusion);
  Instruction* const copy = CopyOutputs(*producer, *fusion)[0];
  copy->clear_sharding();  // the fusion has that of its result
  ReadOwn(*fusion, producer, copy);
  return copy;
}

void TakeOver(Instruction* fusion, Instruction* reader) {
  Computation& computation = *fusion->parent();
  TakeBodyApart(*fusion);
  Instruction* const result = CopyOutputs(*reader, *fusion)[0];
  fusion->fused_computation()->set_root(result);
  fusion->set_shape(reader->shape());
  fusion->set_extras({});
  if (reader->IsFusion() && reader->extras() != nullptr) {
    fusion->mutable_extras() = *reader->extras();
    fusion->set_loc(reader->loc());
  } else {
    fusion->CopyExtrasFrom(*reader);
  }
  result->clear_sharding();
  if (reader->IsFusion()) computation.module().MoveName(*reader, fusion);
  reader->ReplaceAllUsesWith(fusion);
  if (reader->is_root()) computation.set_root(fusion);
  Computation* const body = reader->IsFusion() ? reader->fused_computation() : nullptr;
  computation.Remove(reader);
  if (body != nullptr && body->callers().empty()) body->module().RemoveComputation(body);
}

void MergeOutputs(Instruction* fusion, Instruction* x) {
  TakeBodyApart(*fusion);
  Computation& body = *fusion->fused_computation();
  const bool fusion_was_tuple = fusion->shape().IsTuple(), x_was_tuple = x->shape().IsTuple();
  const std::vector<Use> fusion_uses(fusion->uses().begin(), fusion->uses().end());
  const std::vector<Instruction*> added = LaidOutAs(*x, CopyOutputs(*x, *fusion));
  if (!x_was_tuple) ReadOwn(*fusion, x, added[0]);
  const std::vector<Use> x_uses(x->uses().begin(), x->uses().end());
  std::vector<Instruction*> outputs = LaidOutAs(*fusion, FusionOutputs(*fusion));
  const auto first = std::ssize(outputs);
  outputs.insert(outputs.end(), added.begin(), added.end());
  Instruction* const old_root = body.root();
  body.set_root(Builder(&body).Tuple(outputs));
  if (fusion_was_tuple) body.RemoveUnused(old_root);
  fusion->set_shape(body.root()->shape());
  // What was said of one output does not say which of several it is.
  if (fusion->extras() != nullptr) fusion->mutable_extras().origin.reset();
  ReadFrom(fusion, fusion_was_tuple, fusion, 0, fusion_uses);
  ReadFrom(x, x_was_tuple, fusion, first, x_uses);
  x->parent()->Remove(x);
}

Instruction* Unfuse(Instruction* fusion, InlinedInstructions* inlined) {
  return InlineBody(fusion, {.propagate_metadata = false,
                             .pass_on_fusion_requests = false,
                             .everything_waits = false,
                             .inlined = inlined});
}

}  // namespace hlo
