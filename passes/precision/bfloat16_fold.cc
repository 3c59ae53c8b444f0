#include "passes/precision/bfloat16_fold.h"

#include "lib/analysis/region.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

constexpr OpcodeSet kNotFolded = {
    Opcode::kTuple,       Opcode::kGetTupleElement, Opcode::kConstant,
    Opcode::kParameter,   Opcode::kFusion,          Opcode::kBitcast,
    Opcode::kConvert,     Opcode::kBitcastConvert,  Opcode::kCall,
    Opcode::kCustomCall,  Opcode::kWhile,           Opcode::kConditional,
    Opcode::kAsyncUpdate, Opcode::kAsyncStart,      Opcode::kOptimizationBarrier,
    Opcode::kAsyncDone,   Opcode::kScatter,         Opcode::kDynamicUpdateSlice};

class NarrowFolder {
 public:
  NarrowFolder(const FloatSupport& support, PassContext& context)
      : support_(support), context_(context) {}

  bool MayFold(const Instruction& instruction) const {
    return !instruction.is_dead() && !kNotFolded.Has(instruction.opcode()) &&
           !instruction.HasSideEffect() && (!instruction.is_root() || support_.Mixes(instruction));
  }

  bool Fold(Instruction* instruction) const {
    return instruction->shape().IsTuple() ? FoldSeveral(instruction) : FoldOne(instruction);
  }

 private:
  bool IsHigh(const Instruction& value) const {
    return value.shape().element_type() == support_.high();
  }
  bool IsWidened(const Instruction& value) const {
    return value.opcode() == Opcode::kConvert && IsHigh(value) &&
           value.operand(0)->shape().element_type() == support_.low();
  }
  bool OnlyNarrowed(const Instruction& value) const {
    return IsHigh(value) && value.has_uses() && !value.is_root() &&
           absl::c_all_of(value.uses(), [&](const Use& use) {
             return use.user->opcode() == Opcode::kConvert &&
                    use.user->shape().element_type() == support_.low();
           });
  }

  // The operands whose conversion can go; whether all wide ones are among them.
  std::pair<std::vector<int>, bool> WidenedOperands(const Instruction& instruction) const {
    std::pair<std::vector<int>, bool> result = {{}, true};
    for (int i = 0; i < instruction.operand_count(); ++i) {
      const Instruction& operand = *instruction.operand(i);
      if (IsWidened(operand) && support_.TakesNarrow(instruction)) {
        result.first.push_back(i);
      } else if (IsHigh(operand)) {
        result.second = false;
      }
    }
    return result;
  }

  static void TakeNarrow(Instruction* instruction, const std::vector<int>& widened) {
    for (const int i : widened) {
      Instruction* convert = instruction->operand(i);
      instruction->ReplaceOperand(i, convert->operand(0));
      if (!convert->has_uses() && !convert->is_root() && !convert->has_control_edges())
        convert->parent()->RemoveUnused(convert);
    }
  }

  // Gives `value` the narrow type; the conversions that read it are it.
  void GiveNarrow(Instruction* value) const {
    value->set_shape(value->shape().WithElementType(support_.low()));
    for (Instruction* convert : value->users())
      ReplaceKeepingExtras(convert, value, value->module().id_limit());
  }

  bool FoldOne(Instruction* instruction) const {
    const auto [widened, all] = WidenedOperands(*instruction);
    const bool output = OnlyNarrowed(*instruction) && support_.GivesNarrow(*instruction);
    if (widened.empty() && !output) return false;
    if (!support_.Mixes(*instruction) && (!all || (!output && IsHigh(*instruction)))) {
      context_.Missed(*instruction, "it would have operands or a result of both types");
      return false;
    }
    // What it applies has one type, unless it is said to mix types: then it stays.
    const bool has_region = instruction->call_count() > 0;
    const bool is_narrow = all && output && has_region && CombinerOpcode(*instruction->call(0));
    if (has_region && !is_narrow && !support_.Mixes(*instruction)) {
      context_.Missed(*instruction, "what it applies would see both types");
      return false;
    }
    if (!context_.MayRewrite()) return false;
    context_.Passed(*instruction, "reads and gives {} itself", Text(support_.low()));
    TakeNarrow(instruction, widened);
    if (output) GiveNarrow(instruction);
    if (is_narrow) Retype(instruction);
    return true;
  }

  void Retype(Instruction* instruction) const {
    instruction->SetCall(
        0, ScalarComputation(instruction->module(), *CombinerOpcode(*instruction->call(0)),
                             support_.low()));
  }

  // An all-reduce of several arrays that mixes types: each operand and each result by itself.
  bool FoldEach(Instruction* reduce) const {
    const std::vector<int> widened = WidenedOperands(*reduce).first;
    std::vector<std::vector<Instruction*>> elements(static_cast<size_t>(reduce->operand_count()));
    bool are_elements = !reduce->is_root();
    for (Instruction* user : reduce->users()) {
      are_elements = are_elements && user->opcode() == Opcode::kGetTupleElement;
      if (are_elements) elements[static_cast<size_t>(user->tuple_index())].push_back(user);
    }
    std::vector<int> outputs;
    for (int i = 0; are_elements && i < reduce->operand_count(); ++i) {
      const std::vector<Instruction*>& reads = elements[static_cast<size_t>(i)];
      const bool is_narrowed = std::all_of(reads.begin(), reads.end(),
                                           [&](const Instruction* x) { return OnlyNarrowed(*x); });
      if (!reads.empty() && is_narrowed) outputs.push_back(i);
    }
    if ((widened.empty() && outputs.empty()) || !context_.MayRewrite()) return false;
    context_.Passed(*reduce, "reads {} and gives {} arrays as {}", widened.size(), outputs.size(),
                    Text(support_.low()));
    TakeNarrow(reduce, widened);
    for (const int i : outputs) {
      reduce->set_shape(reduce->shape().WithElement(
          i, reduce->shape().element(i).WithElementType(support_.low())));
      for (Instruction* element : elements[static_cast<size_t>(i)]) GiveNarrow(element);
    }
    return true;
  }

  // An all-reduce of several arrays, all of which are narrow before and after it.
  bool FoldSeveral(Instruction* reduce) const {
    if (reduce->opcode() == Opcode::kAllReduce && support_.Mixes(*reduce)) return FoldEach(reduce);
    if (reduce->opcode() != Opcode::kAllReduce || !support_.TakesNarrow(*reduce) ||
        reduce->is_root() || !CombinerOpcode(*reduce->to_apply()))
      return false;
    const auto [widened, all] = WidenedOperands(*reduce);
    const std::vector<Instruction*> elements = reduce->users();
    const bool outputs =
        !elements.empty() && absl::c_all_of(elements, [&](const Instruction* element) {
          return element->opcode() == Opcode::kGetTupleElement && OnlyNarrowed(*element);
        });
    if (!all || !outputs || widened.size() != static_cast<size_t>(reduce->operand_count())) {
      context_.Missed(*reduce, "not all of its arrays are narrow before and after it");
      return false;
    }
    if (!context_.MayRewrite()) return false;
    context_.Passed(*reduce, "reads and gives {} itself", Text(support_.low()));
    TakeNarrow(reduce, widened);
    for (int i = 0; i < reduce->operand_count(); ++i)
      reduce->set_shape(reduce->shape().WithElement(
          i, reduce->shape().element(i).WithElementType(support_.low())));
    for (Instruction* element : elements) GiveNarrow(element);
    Retype(reduce);
    return true;
  }

  const FloatSupport& support_;
  PassContext& context_;
};

}  // namespace

absl::StatusOr<bool> Bfloat16Fold::Run(Module& module, PassContext& context) {
  const FloatSupport support(options_);
  const NarrowFolder folder(support, context);
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kConvert})) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (!folder.MayFold(*instruction) || !folder.Fold(instruction)) continue;
      context.Count("folded");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(Bfloat16Fold)

}  // namespace hlo
