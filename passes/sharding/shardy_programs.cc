#include "passes/sharding/shardy_programs.h"

#include "lib/ops/opcode_groups.h"
#include "lib/support/status.h"
#include "passes/util/growth_limit.h"

namespace hlo {
namespace {

class ProgramFinder {
 public:
  ProgramFinder(Module& module, const ShardyMeshes& meshes) : module_(module), meshes_(meshes) {}

  absl::Status Run() {
    Add(module_.entry(), ManualRegion());
    for (size_t i = 0; i < programs_.size(); ++i) RETURN_IF_ERROR(Visit(i));
    return absl::OkStatus();
  }
  std::vector<ShardyProgram>& programs() { return programs_; }
  bool changed() const { return changed_; }

 private:
  void Add(Computation* computation, const ManualRegion& region) {
    program_of_[computation->serial()] = programs_.size();
    programs_.push_back({computation, region, {}});
  }

  absl::Status Visit(size_t program) {
    const ManualRegion region = programs_[program].region;
    for (Instruction* caller : programs_[program].computation->PostOrder()) {
      if (!kProgramCallers.Has(caller->opcode())) continue;
      if (IsManualCall(*caller)) {
        ASSIGN_OR_RETURN(ManualCall call, ReadManualCall(*caller, region, meshes_));
        RETURN_IF_ERROR(Claim(*caller, 0, call.region, /*is_manual=*/true));
        programs_[program].calls.push_back(std::move(call));
        continue;
      }
      for (int i = 0; i < caller->call_count(); ++i)
        RETURN_IF_ERROR(Claim(*caller, i, region, /*is_manual=*/false));
    }
    return absl::OkStatus();
  }

  // Makes call `i` of the caller one of a computation in `region`.
  absl::Status Claim(Instruction& caller, int i, const ManualRegion& region, bool is_manual) {
    Computation* callee = caller.call(i);
    const auto found = program_of_.find(callee->serial());
    if (found != program_of_.end()) {
      if (!is_manual && programs_[found->second].region == region) return absl::OkStatus();
      RETURN_IF_ERROR(growth_.Add(callee->instruction_count(), caller));
      callee = module_.CloneComputation(*callee, ".manual", /*deep=*/false);
      module_.MoveToFront(callee, caller.parent());
      caller.SetCall(i, callee);
      changed_ = true;
    }
    Add(callee, region);
    return absl::OkStatus();
  }

  Module& module_;
  const ShardyMeshes& meshes_;
  std::vector<ShardyProgram> programs_;
  absl::flat_hash_map<uint32_t, size_t> program_of_;  // by serial
  GrowthLimit growth_;
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<std::vector<ShardyProgram>> FindShardyPrograms(Module& module,
                                                              const ShardyMeshes& meshes,
                                                              bool& changed) {
  ProgramFinder finder(module, meshes);
  RETURN_IF_ERROR(finder.Run());
  changed |= finder.changed();
  return std::move(finder.programs());
}

}  // namespace hlo
