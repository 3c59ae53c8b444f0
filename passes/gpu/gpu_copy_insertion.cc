#include "passes/gpu/gpu_copy_insertion.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/analysis/values.h"
#include "passes/gpu/library_calls.h"

namespace hlo {
namespace {

// How many operands a library reads; 0 of what no library computes.
int OperandsOfLibrary(const Instruction& x) {
  const Opcode opcode = x.opcode();
  if (opcode == Opcode::kFft || opcode == Opcode::kCholesky || opcode == Opcode::kTriangularSolve)
    return x.operand_count();
  const LibraryCall* const entry = FindLibraryCall(x);
  return entry == nullptr ? 0 : x.operand_count() - entry->constants;
}

// Whether some leaf may be a constant.
bool MayBeConstant(const Values& values, const Instruction& x) {
  std::vector<ValueId> stack(values.Of(x).begin(), values.Of(x).end());
  absl::flat_hash_set<ValueId> seen;
  while (!stack.empty()) {
    const ValueId id = stack.back();
    stack.pop_back();
    if (!seen.insert(id).second) continue;
    if (values[id].kind == Value::Kind::kDefined && values[id].def->IsConstant()) return true;
    stack.insert(stack.end(), values[id].inputs.begin(), values[id].inputs.end());
  }
  return false;
}

bool CopyConstantsOfLibraries(Module& module, PassContext& context) {
  const Values& values = context.analyses().Get<Values>(module);
  Builder builder(module.entry());
  absl::flat_hash_map<const Instruction*, Instruction*> copies;
  bool changed = false;
  for (Instruction* call : module.entry()->PostOrder()) {
    const int operands = OperandsOfLibrary(*call);
    for (int i = 0; i < operands; ++i) {
      Instruction* const operand = call->operand(i);
      if (!operand->shape().IsArray() || !MayBeConstant(values, *operand)) continue;
      if (!context.MayRewrite()) return changed;
      Instruction*& copy = copies[operand];
      if (copy == nullptr) {
        context.Passed(*operand, "copied for `{}`", call->name());
        context.Count("constants copied for libraries");
        builder.set_origin(operand);
        copy = builder.Copy(operand);
      }
      call->ReplaceOperand(i, copy);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> GpuCopyInsertion::Run(Module& module, PassContext& context) {
  ASSIGN_OR_RETURN(bool changed, RunPart(CopyInsertion(options_), module, context));
  changed |= CopyConstantsOfLibraries(module, context);
  return changed;
}

HLO_DEFINE_PASS(GpuCopyInsertion)

}  // namespace hlo
