#include "passes/expand/outlining_expander.h"

#include "absl/container/flat_hash_map.h"
#include "lib/ir/async_chain.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

// Solves in floats of which nothing would be left if each step was rounded to them.
bool RoundsAway(const Instruction& solve, Shape shape) {
  constexpr OpcodeSet kSolves = {Opcode::kCholesky, Opcode::kTriangularSolve};
  constexpr int kLeastBits = 16;
  return kSolves.Has(solve.opcode()) && shape.IsArray() && IsFloat(shape.element_type()) &&
         BitWidth(shape.element_type()) < kLeastBits;
}

}  // namespace

absl::StatusOr<bool> OutliningExpander::Run(Module& module, PassContext& context) {
  absl::flat_hash_map<std::string, Computation*> expansions;
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Root()})) {
    if (IsAsyncBody(*computation)) continue;  // it holds one instruction
    for (Instruction* instruction : computation->instruction_vector()) {
      if (instruction->opcode() != Root() || !Matches(*instruction)) continue;
      if (!context.MayRewrite()) return changed;
      const uint32_t first_new = module.id_limit();
      Rewriter rewriter(computation, context, instruction);
      const std::vector<Instruction*> arguments = Arguments(*instruction, rewriter);
      const std::string name = Name(*instruction);
      Computation*& expansion = expansions[name];
      if (expansion == nullptr) {
        expansion = module.AddComputation(name);
        module.MoveToFront(expansion, computation);
        expansion->set_execution_thread(computation->execution_thread());
        RETURN_IF_ERROR(Fill(*expansion, *instruction, arguments));
      }
      Instruction* call = rewriter.Call(arguments, expansion);
      RETURN_IF_ERROR(rewriter.status());
      if (context.rule_trace()) context.rule_trace()(context.pass(), *instruction, *call);
      context.Passed(*instruction, "`{}` takes its place", call->name());
      ReplaceKeepingExtras(instruction, call, first_new);
      context.Count("expanded");
      changed = true;
    }
  }
  return changed;
}

absl::Status OutliningExpander::Fill(Computation& expansion, const Instruction& instruction,
                                     const std::vector<Instruction*>& arguments) const {
  Builder builder(&expansion);
  std::vector<Instruction*> parameters;
  for (size_t i = 0; i < arguments.size(); ++i) {
    parameters.push_back(builder.Parameter(static_cast<int64_t>(i), arguments[i]->shape(),
                                           std::string(1, static_cast<char>('a' + i))));
    if (RoundsAway(instruction, arguments[i]->shape()))
      parameters.back() = builder.Convert(parameters.back(), ElementType::kF32);
  }
  builder.set_origin(&instruction);
  ASSIGN_OR_RETURN(Instruction * root, Build(instruction, parameters, builder));
  // Floats of another width may be declared than the operands have, or computed with.
  if (IsFloat(instruction.shape().element_type()) && IsFloat(root->shape().element_type()) &&
      root->shape().element_type() != instruction.shape().element_type())
    root = builder.Convert(root, instruction.shape().element_type());
  RETURN_IF_ERROR(builder.status());
  RET_CHECK(Compatible(root->shape(), instruction.shape()),
            "expansion of `{}` changes its shape `{}` to `{}`", instruction.name(),
            instruction.shape(), root->shape());
  expansion.set_root(root);
  return absl::OkStatus();
}

std::vector<Instruction*> OutliningExpander::Arguments(const Instruction& instruction,
                                                       Rewriter&) const {
  return instruction.operand_vector();
}

std::string NamePart(Shape shape) {
  std::string text(Text(shape.element_type()));
  for (const int64_t size : shape.dims()) text += fmt::format("_{}", size);
  return text;
}

}  // namespace hlo
