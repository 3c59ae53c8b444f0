#include "passes/sharding/shardy_xla.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "absl/algorithm/container.h"
#include "lib/support/status.h"
#include "passes/sharding/instruction_sharding.h"
#include "passes/sharding/sharding_annotations.h"
#include "passes/sharding/shardy_annotations.h"
#include "passes/sharding/shardy_meshes.h"
#include "passes/sharding/shardy_programs.h"

namespace hlo {
namespace {

constexpr std::string_view kTupleArgumentsKey = "xla.sdy.tuple_args_shardings";
constexpr std::string_view kTupleResultsKey = "xla.sdy.tuple_results_shardings";
constexpr std::string_view kModuleKeys[] = {kShardyMeshesKey, kTupleArgumentsKey, kTupleResultsKey,
                                            "xla.sdy.use_tuple_args"};
// Keeps bodies apart from what calls them until they have been found.
constexpr std::string_view kMarksOfBodies[] = {"inlineable"};

bool HasShardyKey(const FrontendAttributes& attributes) {
  return absl::c_any_of(attributes,
                        [](const auto& entry) { return entry.first.starts_with(kShardyPrefix); });
}

bool MentionsShardy(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kCustomCall &&
      instruction.attrs<CustomCallAttrs>().custom_call_target.starts_with(kShardyPrefix))
    return true;
  return instruction.extras() != nullptr && HasShardyKey(instruction.extras()->frontend_attributes);
}

bool MentionsShardy(const Module& module) {
  if (HasShardyKey(module.config().frontend_attributes)) return true;
  return absl::c_any_of(module.computations(), [](const Computation* computation) {
    for (const Instruction* instruction : computation->instructions()) {
      if (MentionsShardy(*instruction)) return true;
    }
    return false;
  });
}

class ShardyImporter {
 public:
  ShardyImporter(Module& module, PassContext& context)
      : module_(module), context_(context), annotations_(meshes_, context) {}

  absl::StatusOr<bool> Run() {
    ASSIGN_OR_RETURN(meshes_, ShardyMeshesOf(module_));
    ASSIGN_OR_RETURN(const std::vector<ShardyProgram> programs,
                     FindShardyPrograms(module_, meshes_, changed_));
    std::vector<bool> is_program(module_.serial_limit());
    for (const ShardyProgram& program : programs) {
      RETURN_IF_ERROR(Convert(program));
      is_program[program.computation->serial()] = true;
    }
    for (Computation* computation : module_.computations()) {
      if (!is_program[computation->serial()]) annotations_.Drop(*computation);
    }
    Computation& entry = *module_.entry();
    if (entry.parameter_count() > 0)
      RETURN_IF_ERROR(TakeTuple(kTupleArgumentsKey, *entry.parameter(0)));
    RETURN_IF_ERROR(TakeTuple(kTupleResultsKey, *entry.root()));
    changed_ |= DropAttributes(module_.config().frontend_attributes, kModuleKeys);
    return changed_ || annotations_.changed();
  }

 private:
  // Shardings of all arrays in the only parameter of the entry, or in its result.
  absl::Status TakeTuple(std::string_view key, Instruction& instruction) {
    const std::string_view text = ShardyTextOf(module_, key);
    if (text.empty()) return absl::OkStatus();
    const absl::StatusOr<ShardyShardings> given =
        ParseShardyShardings(text, meshes_, module_.config().num_partitions);
    if (!given.ok()) return BlameShardyText(module_, key, given.status());
    return annotations_.SetLeaves(instruction, key, *given, ManualRegion());
  }

  absl::Status Convert(const ShardyProgram& program) {
    for (const ManualCall& call : program.calls) RETURN_IF_ERROR(ConvertManualCall(call));
    for (Instruction* instruction : program.computation->PostOrder()) {
      if (!instruction->is_dead()) RETURN_IF_ERROR(annotations_.Take(*instruction, program.region));
    }
    if (!program.region.is_outside()) GiveRootOfItsOwn(*program.computation);
    for (Instruction* instruction : program.computation->instructions())
      MarkWhole(*instruction, program.region);
    return absl::OkStatus();
  }

  // A root has the sharding of the caller, which may be another one than the program says.
  void GiveRootOfItsOwn(Computation& computation) {
    Instruction* root = computation.root();
    if (computation.is_entry() || !annotations_.IsKept(root)) return;
    if (root->opcode() == Opcode::kParameter) return;
    Instruction* operands[] = {root};
    Instruction* copy = computation.Add(Opcode::kCopy, root->shape(), operands);
    copy->set_loc(root->loc());
    computation.set_root(copy);
    changed_ = true;
  }

  // Every value in the region is one of its; along other axes it is divided as it turns out.
  void MarkWhole(Instruction& instruction, const ManualRegion& region) {
    if (region.is_outside() || annotations_.IsKept(&instruction)) return;
    annotations_.Keep(&instruction);
    Sharding whole = WholeIn(region, instruction.shape());
    if (region.is_divided()) MarkOpen(whole);
    if (instruction.sharding() != nullptr && *instruction.sharding() == whole) return;
    instruction.set_sharding(std::move(whole));
    changed_ = true;
  }

  absl::Status ConvertManualCall(const ManualCall& manual) {
    if (manual.to_local == nullptr && manual.to_global == nullptr) return absl::OkStatus();
    Instruction& call = *manual.call;
    context_.Passed(call, "manual along {}", fmt::join(manual.region.axes, ", "));
    context_.Count("manual computations");
    annotations_.RemarkPriorities(call, manual.in);
    annotations_.RemarkPriorities(call, manual.out);
    ASSIGN_OR_RETURN(const std::vector<Instruction*> placed, ReplaceMarkers(manual));
    for (const Instruction* instruction : placed) annotations_.Keep(instruction);
    changed_ = true;
    std::vector<Instruction*> results = call.users();
    std::erase_if(results, [](const Instruction* user) {
      return user->opcode() != Opcode::kGetTupleElement;
    });
    results.push_back(&call);
    for (Instruction* result : results) {
      DropAttributes(*result, kMarksOfBodies);
      MarkWhole(*result, manual.region);
    }
    // What the computation is given may be divided along other axes, too.
    for (int i = 0; i < call.operand_count(); ++i) {
      Instruction* parameter = call.to_apply()->parameter(i);
      if (manual.region.is_outside() || !annotations_.IsKept(call.operand(i))) continue;
      Sharding given = *call.operand(i)->sharding();
      if (manual.region.is_divided()) MarkOpen(given);
      parameter->set_sharding(std::move(given));
      annotations_.Keep(parameter);
    }
    return absl::OkStatus();
  }

  Module& module_;
  PassContext& context_;
  ShardyMeshes meshes_;
  ShardyAnnotations annotations_;
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> ShardyXla::Run(Module& module, PassContext& context) {
  if (!MentionsShardy(module) || !context.MayRewrite()) return false;
  return ShardyImporter(module, context).Run();
}

HLO_DEFINE_PASS(ShardyXla)

}  // namespace hlo
