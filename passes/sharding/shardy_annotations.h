// What Shardy says of single values: attributes of parameters, and custom calls that annotate.
// shardy_xla.h tells what becomes of them.
#pragma once

#include "absl/container/flat_hash_set.h"
#include "passes/pass.h"
#include "passes/sharding/manual_region.h"
#include "passes/sharding/shardy_text.h"

namespace hlo {

class ShardyAnnotations {
 public:
  ShardyAnnotations(const ShardyMeshes& meshes, PassContext& context)
      : meshes_(meshes), context_(context) {}

  // Replaces the instruction, or gives it the sharding, and drops its attributes.
  absl::Status Take(Instruction& instruction, const ManualRegion& region);
  // In a computation that is a part of an operation, where there is nothing to divide.
  void Drop(Computation& computation);
  // One sharding for each array of the instruction.
  absl::Status SetLeaves(Instruction& instruction, std::string_view key,
                         const ShardyShardings& given, const ManualRegion& region);
  void RemarkPriorities(const Instruction& instruction, const ShardyShardings& shardings);

  // The instruction has the sharding that it is to have.
  void Keep(const Instruction* instruction) { kept_.insert(instruction); }
  bool IsKept(const Instruction* instruction) const { return kept_.contains(instruction); }
  bool changed() const { return changed_; }

 private:
  struct Row;
  absl::Status TakeParameter(Instruction& parameter, const ManualRegion& region);
  absl::Status TakeCall(Instruction& call, const ManualRegion& region);
  absl::Status TakeSharding(Instruction& call, const ManualRegion& region);
  absl::Status TakeResult(Instruction& call, const ManualRegion& region);
  absl::Status TakeGroup(Instruction& call, const ManualRegion& region);
  absl::Status TakeBarrier(Instruction& call, const ManualRegion& region);
  absl::Status TakeStray(Instruction& marker, const ManualRegion& region);
  absl::StatusOr<NamedSharding> OneSharding(const Instruction& call);
  absl::Status Annotate(Instruction& call, NamedSharding given, const ManualRegion& region);
  void DropAttributes(Instruction& instruction);
  void Put(Instruction& call, Instruction* value);
  void Remove(Instruction& call);

  const ShardyMeshes& meshes_;
  PassContext& context_;
  absl::flat_hash_set<const Instruction*> kept_;
  bool changed_ = false;
};

}  // namespace hlo
