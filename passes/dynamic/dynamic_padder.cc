#include "passes/dynamic/dynamic_padder.h"

#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_split.h"
#include "lib/analysis/leaves.h"
#include "lib/ir/any_instruction.h"
#include "passes/control_flow/call_inliner.h"
#include "passes/control_flow/flatten_call_graph.h"
#include "passes/dynamic/dynamic_rewrites.h"
#include "passes/dynamic/padding_values.h"
#include "passes/dynamic/remove_dynamic_shapes.h"
#include "passes/dynamic/size_inference.h"
#include "passes/fusion/defuser.h"
#include "passes/simplify/dce.h"

namespace hlo {
namespace {

bool IsAboutDynamicShapes(const Instruction& instruction) {
  return instruction.shape().has_dynamic_dims() ||
         instruction.opcode() == Opcode::kSetDimensionSize ||
         instruction.opcode() == Opcode::kGetDimensionSize || IsCustomCall(instruction, "SetBound");
}

bool IsInDynamicFusion(const Instruction& instruction) {
  return instruction.parent()->is_fusion() && IsAboutDynamicShapes(instruction);
}

absl::Status CheckBounds(const Module& module) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!instruction->shape().has_dynamic_dims()) continue;
      for (const Shape leaf : LeafShapes(instruction->shape())) {
        if (leaf.IsArray() && absl::c_linear_search(leaf.dims(), Shape::kUnbounded))
          return Unsupported(instruction->loc(), "`{}` has a dimension without a bound",
                             instruction->name());
      }
    }
  }
  return absl::OkStatus();
}

ShapeCheckMode ShapeCheckModeOf(std::string_view text) {
  if (text == "ignore") return ShapeCheckMode::kIgnore;
  return text == "runtime" ? ShapeCheckMode::kRuntime : ShapeCheckMode::kCompileTime;
}

std::string_view NameForSupport(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kCustomCall
             ? std::string_view(instruction.attrs<CustomCallAttrs>().custom_call_target)
             : instruction.opcode_text();
}

SupportOf SupportByName(const std::string& optional, const std::string& required) {
  const auto split = [](const std::string& names) {
    return std::set<std::string, std::less<>>(absl::StrSplit(names, ';', absl::SkipEmpty()));
  };
  return [optional = split(optional), required = split(required)](const Instruction& instruction) {
    const std::string_view name = NameForSupport(instruction);
    if (required.contains(name)) return DynamismSupport::kRequired;
    return optional.contains(name) ? DynamismSupport::kOptional : DynamismSupport::kNone;
  };
}

// Masks the operands that `instruction` would read beyond their ends.
absl::Status MaskOperands(Instruction* instruction, const DynamicSizes& sizes) {
  Builder builder = BuilderFor(*instruction);
  for (int i = 0; i < instruction->operand_count(); ++i) {
    const Instruction* original = instruction->operand(i);
    if (!original->shape().IsArray()) continue;
    for (const DynamicSize& known : sizes.Of(original)) {
      if (IgnoresAfterEnd(*instruction, i, known.dim)) continue;
      ASSIGN_OR_RETURN(Instruction* const filler, PaddingValue(builder, *instruction, i));
      if (filler == nullptr) continue;
      instruction->ReplaceOperand(
          i, MaskedArray(builder, instruction->operand(i), known.dim, known.size, filler));
    }
  }
  return builder.status();
}

absl::Status PadComputation(Computation& computation, const SupportOf& support, DynamicSizes& sizes,
                            PassContext& context) {
  for (Instruction* instruction : computation.PostOrder()) {
    if (instruction->is_dead() || support(*instruction) != DynamismSupport::kNone) continue;
    const uint32_t first_new = computation.module().id_limit();
    if (const DynamicRewrite rewrite = DynamicRewriteFor(*instruction)) {
      RETURN_IF_ERROR(rewrite(instruction, sizes));
    } else {
      RETURN_IF_ERROR(MaskOperands(instruction, sizes));
    }
    if (computation.module().id_limit() != first_new) context.Count("padded instructions");
  }
  return absl::OkStatus();
}

// The result's dimensions may be dynamic no more, or dynamic for the first time.
void UpdateEntryLayout(Module& module) {
  EntryLayout& layout = module.config().entry_layout;
  const Shape root = module.entry()->root()->shape();
  if (layout == EntryLayout() || Compatible(layout.result, root)) return;
  layout.result = root;
}

}  // namespace

absl::StatusOr<bool> DynamicPadder::Run(Module& module, PassContext& context) {
  if (!AnyInstruction(module, IsAboutDynamicShapes) || !context.MayRewrite()) return false;
  RETURN_IF_ERROR(CheckBounds(module));
  ASSIGN_OR_RETURN(bool changed, RunPart(FlattenCallGraph(), module, context));
  ASSIGN_OR_RETURN(const bool inlined, RunPart(CallInliner(), module, context));
  ASSIGN_OR_RETURN(const bool cleaned, RunPart(Dce(), module, context));
  changed |= inlined || cleaned;
  if (AnyInstruction(module, IsInDynamicFusion)) {
    ASSIGN_OR_RETURN(const bool dissolved, RunPart(Defuser(), module, context));
    changed |= dissolved;
  }

  const SupportOf support = SupportByName(options_.supports_dynamism, options_.requires_dynamism);
  const uint32_t first_new = module.id_limit();
  DynamicSizes sizes;
  std::vector<Computation*> seen;
  RETURN_IF_ERROR(InferDynamicSizes(module, {ShapeCheckModeOf(options_.shape_check_mode), support},
                                    sizes, seen));
  for (Computation* computation : seen)
    RETURN_IF_ERROR(PadComputation(*computation, support, sizes, context));
  ASSIGN_OR_RETURN(const bool removed, RemoveDynamicShapes(module, seen, support,
                                                           options_.slice_dynamic_output, sizes));
  changed |= removed || sizes.changed_shapes() || module.id_limit() != first_new;
  if (!changed) return false;
  UpdateEntryLayout(module);
  context.Count("padded modules");
  RETURN_IF_ERROR(RunPart(Dce(), module, context).status());
  return true;
}

HLO_DEFINE_PASS(DynamicPadder)

}  // namespace hlo
