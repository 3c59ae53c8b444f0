#include "passes/gpu/horizontal_loop_fusion.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/types/memory_order.h"
#include "passes/gpu/shared_kernels.h"
#include "passes/layout/sub_byte_size_setter.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// How loops are put side by side.
struct Form {
  FusionKind kind;
  int64_t most_elements;  // of one member's first output
  int64_t most_instructions;
  size_t most_outputs;               // of all members; fewer than this
  size_t most_outputs_if_no_fusion;  // when the first member is an instruction
};
constexpr Form kLoopForm = {FusionKind::kLoop, int64_t{8192} * 8192, 128, 32, 64};
constexpr Form kSlicedForm = {FusionKind::kInput, 128 * 2048, 30, 32, 32};

constexpr size_t kMostAddressBytes = 4000;  // of one kernel's parameters
constexpr size_t kAddressBytes = 8;

bool IsSliced(const Form& form) { return form.kind == FusionKind::kInput; }

Shape FirstOutput(const Instruction& loop) { return OutputsOf(loop)[0]->shape(); }
ElementType TypeOf(const Instruction& loop) { return FirstOutput(loop).element_type(); }
size_t OutputCount(const Instruction& loop) { return OutputsOf(loop).size(); }

bool HasRowMajorLayoutsOnly(const Instruction& loop) {
  if (!loop.IsFusion()) return LiesRowMajor(loop.shape());
  return absl::c_all_of(loop.fused_computation()->instruction_vector(),
                        [](const Instruction* i) { return LiesRowMajor(i->shape()); });
}

// A loop, and nothing that stands in the way of being one of several.
bool IsLoop(const Instruction& x, bool is_older) {
  if (x.has_control_edges() || x.sharding() != nullptr || x.HasSideEffect() ||
      IsVariadicReductionInLoop(x))
    return false;
  if (HasTrait(x.opcode(), kElementwise) && x.operand_count() > 0)
    return x.shape().IsArray() && !x.shape().has_dynamic_dims();
  if (!x.IsFusion() || x.attrs<FusionAttrs>().kind != FusionKind::kLoop ||
      !x.attrs<FusionAttrs>().output_to_operand_aliasing.empty())
    return false;
  const std::vector<const Instruction*> outputs = OutputsOf(x);
  return !outputs.empty() && absl::c_all_of(outputs, [&](const Instruction* output) {
    return output->shape().IsArray() && !output->shape().has_dynamic_dims() &&
           !(is_older && output->opcode() == Opcode::kDynamicUpdateSlice) &&
           output->shape().element_type() == outputs[0]->shape().element_type();
  });
}

bool ReadsParameterOf(const Instruction& loop, const std::vector<Instruction*>& others) {
  return absl::c_any_of(loop.operands(), [&](const Instruction* operand) {
    if (operand->opcode() != Opcode::kParameter) return false;
    return absl::c_any_of(others, [&](const Instruction* other) {
      return other != &loop && absl::c_linear_search(other->operands(), operand);
    });
  });
}

Decision IsWorthIt(const Instruction& loop, const Instruction& reader, const Form& form,
                   const std::vector<Instruction*>& all) {
  if (!IsReadOnlyBy(loop, reader)) return No("others than `{}` read it, too", reader.name());
  const int64_t elements = FirstOutput(loop).element_count();
  if (elements > form.most_elements) return No("{} elements are a kernel's work", elements);
  if (loop.IsFusion() && BodySize(loop) > form.most_instructions)
    return No("{} instructions are a kernel's work", BodySize(loop));
  if (!IsSliced(form)) return Yes();
  if (!HasRowMajorLayoutsOnly(loop)) return No("a layout in it is not row-major");
  if (ReadsParameterOf(loop, all)) return No("it reads a parameter that another one reads");
  return Yes();
}

// The bodies of several fusions in one computation.
class JointBody {
 public:
  JointBody(absl::Span<Instruction* const> fusions, std::string_view name)
      : body_(*fusions[0]->module().AddComputation(name)), builder_(&body_) {
    for (size_t i = 0; i < fusions.size(); ++i) Copy(*fusions[i], i);
  }

  Computation* Finish(const Form& form, size_t outputs_of_each) {
    builder_.set_origin(last_);
    if (IsSliced(form)) Slice(outputs_of_each);
    Instruction* const root = builder_.Tuple(outputs_);
    body_.set_root(root);
    return &body_;
  }
  const std::vector<Instruction*>& operands() const { return operands_; }

 private:
  Instruction* InputFor(Instruction* operand, size_t fusion, int64_t number) {
    Instruction*& parameter = inputs_[operand];
    if (parameter == nullptr) {
      parameter = body_.AddParameter(std::ssize(operands_), operand->shape(),
                                     fmt::format("param_{}_{}", fusion, number));
      operands_.push_back(operand);
    }
    return parameter;
  }

  void Copy(const Instruction& fusion, size_t number) {
    absl::flat_hash_map<const Instruction*, Instruction*> copies;
    const Computation& from = *fusion.fused_computation();
    for (int i = 0; i < fusion.operand_count(); ++i)
      copies[from.parameter(i)] = InputFor(fusion.operand(i), number, i);
    for (const Instruction* original : from.PostOrder()) {
      if (original->opcode() == Opcode::kParameter) continue;
      if (original->opcode() == Opcode::kTuple && original->is_root()) continue;
      std::vector<Instruction*> operands;
      for (const Instruction* operand : original->operands()) operands.push_back(copies[operand]);
      last_ = copies[original] = body_.AddClone(*original, original->shape(), operands);
    }
    for (const Instruction* output : OutputsOf(fusion)) outputs_.push_back(copies[output]);
  }

  // Every output becomes its part of one array over the same output of all.
  void Slice(size_t of_each) {
    std::vector<Instruction*> joint;
    for (size_t first = 0; first < of_each; ++first) {
      std::vector<Instruction*> parts;
      for (size_t i = first; i < outputs_.size(); i += of_each) {
        Instruction* const output = outputs_[i];
        parts.push_back(output->shape().rank() == 1
                            ? output
                            : builder_.Reshape(output, {output->shape().element_count()}));
      }
      joint.push_back(builder_.Concatenate(parts, 0));
    }
    for (size_t first = 0; first < of_each; ++first) {
      int64_t start = 0;
      for (size_t i = first; i < outputs_.size(); i += of_each) {
        const int64_t limit = start + outputs_[i]->shape().element_count();
        outputs_[i] = builder_.Slice(joint[first], {start}, {limit});
        start = limit;
      }
    }
  }

  Computation& body_;
  Builder builder_;
  std::vector<Instruction*> operands_;  // of the fusion
  std::vector<Instruction*> outputs_;   // fusion by fusion
  Instruction* last_ = nullptr;
  absl::flat_hash_map<const Instruction*, Instruction*> inputs_;
};

class LoopFuser {
 public:
  LoopFuser(Computation& computation, const HorizontalLoopFusionOptions& options, bool is_older,
            PassContext& context)
      : computation_(computation), options_(options), is_older_(is_older), context_(context) {}

  bool Run() {
    std::vector<Instruction*> readers = computation_.PostOrder();
    if (is_older_) absl::c_reverse(readers);
    bool changed = false;
    while (!readers.empty()) {
      Instruction* const reader = readers.back();
      readers.pop_back();
      if (reader->is_dead()) continue;
      if (!is_older_) changed |= FuseOperandsOf(*reader, kLoopForm, readers);
      changed |= FuseOperandsOf(*reader, kSlicedForm, readers);
    }
    return changed;
  }

 private:
  bool FuseOperandsOf(const Instruction& reader, const Form& form,
                      std::vector<Instruction*>& readers) {
    const std::vector<Instruction*> candidates = CandidatesFor(reader, form);
    bool changed = false;
    for (size_t begin = 0; begin < candidates.size();) {
      const size_t end = EndOfSpan(candidates, begin, form);
      std::vector<Instruction*> members(candidates.begin() + static_cast<ptrdiff_t>(begin),
                                        candidates.begin() + static_cast<ptrdiff_t>(end));
      begin = end;
      if (members.size() < 2 || !context_.MayRewrite()) continue;
      for (Instruction*& member : members) {
        context_.Passed(*member, "one of {} loops for `{}`", members.size(), reader.name());
        if (!member->IsFusion()) member = WrapInFusion(member, FusionKind::kLoop);
      }
      context_.Count(IsSliced(form) ? "loops put side by side" : "loops made one",
                     std::ssize(members));
      Instruction* const joint = Fuse(members, form);
      if (!is_older_) readers.push_back(joint);
      changed = true;
    }
    return changed;
  }

  // In an order that puts together what can be one kernel.
  std::vector<Instruction*> CandidatesFor(const Instruction& reader, const Form& form) {
    std::vector<Instruction*> all, candidates;
    absl::flat_hash_set<const Instruction*> seen;
    for (Instruction* operand : reader.operands()) {
      Instruction* const producer = ProducerOf(operand);
      if (IsLoop(*producer, is_older_) && seen.insert(producer).second) all.push_back(producer);
    }
    if (all.size() < 2) return {};
    for (Instruction* loop : all) {
      if (context_.Allowed(*loop, IsWorthIt(*loop, reader, form, all))) candidates.push_back(loop);
    }
    const auto key = [](const Instruction& x) {
      return std::tuple(TypeOf(x), OutputCount(x), BodySize(x), FirstOutput(x).element_count());
    };
    absl::c_stable_sort(
        candidates, [&](const Instruction* a, const Instruction* b) { return key(*a) < key(*b); });
    return candidates;
  }

  size_t EndOfSpan(const std::vector<Instruction*>& candidates, size_t begin,
                   const Form& form) const {
    const Instruction& first = *candidates[begin];
    const size_t most = first.IsFusion() ? form.most_outputs : form.most_outputs_if_no_fusion;
    size_t outputs = OutputCount(first);
    size_t addresses = outputs + static_cast<size_t>(first.operand_count());
    size_t end = begin + 1;
    for (; end < candidates.size() && BelongsTo(first, *candidates[end], form); ++end) {
      const Instruction& next = *candidates[end];
      outputs += OutputCount(next);
      addresses += OutputCount(next) + static_cast<size_t>(next.operand_count());
      if (outputs >= most || addresses * kAddressBytes >= kMostAddressBytes) break;
    }
    return end;
  }

  bool BelongsTo(const Instruction& first, const Instruction& next, const Form& form) const {
    if (TypeOf(first) != TypeOf(next) || OutputCount(first) != OutputCount(next)) return false;
    if (is_older_ && BodySize(first) != BodySize(next)) return false;
    return IsSliced(form) || FirstOutput(first) == FirstOutput(next);  // with their layouts
  }

  Instruction* Fuse(absl::Span<Instruction* const> fusions, const Form& form) {
    const size_t of_each = OutputCount(*fusions[0]);
    JointBody joint(fusions, options_.prefix + "horizontally_fused_computation");
    Computation* const body = joint.Finish(form, of_each);
    body->set_execution_thread(computation_.execution_thread());
    Instruction* const fusion = computation_.Add(
        Opcode::kFusion, body->root()->shape(), joint.operands(),
        AttrsPtr::Make(FusionAttrs{form.kind, {}}), {body}, options_.prefix + "fusion");
    fusion->set_metadata(body->root()->metadata());
    fusion->set_loc(fusions[0]->loc());
    KeepWhatAllSay(fusions, fusion);
    int64_t next = 0;
    for (Instruction* old : fusions) ReplaceByElements(old, fusion, next, form);
    return fusion;
  }

  // What is said of one of them alone is said of its elements.
  static void KeepWhatAllSay(absl::Span<Instruction* const> fusions, Instruction* fusion) {
    const Extras* const first = fusions[0]->extras();
    if (first == nullptr) return;
    const auto all_have = [&](const auto& field) {
      return absl::c_all_of(fusions, [&](const Instruction* other) {
        return other->extras() != nullptr && other->extras()->*field == first->*field;
      });
    };
    if (all_have(&Extras::frontend_attributes))
      fusion->mutable_extras().frontend_attributes = first->frontend_attributes;
    if (all_have(&Extras::backend_config))
      fusion->mutable_extras().backend_config = first->backend_config;
  }

  void ReplaceByElements(Instruction* old, Instruction* fusion, int64_t& next, const Form& form) {
    const uint32_t first_new = computation_.module().id_limit();
    Builder builder(&computation_, old);
    std::vector<Instruction*> values;
    for (const Instruction* output : OutputsOf(*old)) {
      Instruction* const element = builder.GetTupleElement(fusion, next++);
      const bool is_as_it_was = !IsSliced(form) || (output->shape().rank() == 1 && !is_older_);
      values.push_back(is_as_it_was ? element : builder.Bitcast(element, output->shape()));
    }
    Instruction* const value = old->shape().IsTuple() ? builder.Tuple(values) : values[0];
    Computation* const body = old->fused_computation();
    ReplaceKeepingExtras(old, value, first_new);
    if (body->callers().empty()) body->module().RemoveComputation(body);
  }

  Computation& computation_;
  const HorizontalLoopFusionOptions& options_;
  const bool is_older_;
  PassContext& context_;
};

}  // namespace

absl::StatusOr<bool> HorizontalLoopFusion::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.ControlFlowComputations(module)) {
    if (options_.only_entry_computation && !computation->is_entry()) continue;
    changed |= LoopFuser(*computation, options_, is_older_, context).Run();
  }
  if (changed) RETURN_IF_ERROR(RunPart(SubByteSizeSetter(), module, context).status());
  return changed;
}

// As HLO_DEFINE_PASS, with an older form of the pass under its older name.
MadePass MakeHorizontalLoopFusion(const OptionTexts& options, std::string_view name) {
  ASSIGN_OR_RETURN(std::unique_ptr<Pass> pass,
                   internal::MakeWithOptions<HorizontalLoopFusion>(options, name));
  if (name == "gpu_horizontal_fusion") static_cast<HorizontalLoopFusion&>(*pass).set_older();
  return pass;
}
HLO_DEFINE_PASS_FACTS(HorizontalLoopFusion)

}  // namespace hlo
