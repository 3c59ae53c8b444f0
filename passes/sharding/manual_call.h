// Calls of manual computations as Shardy writes them, and as sharding-propagation and
// spmd-partitioner read them.
//
//   l = f32[4,6] custom-call(x), custom_call_target="xla.sdy.GlobalToLocalShape", in_shardings=…
//   c = f32[4,6] call(l), to_apply=xla.sdy.manual_computation_body
//   y = f32[8,6] custom-call(c), custom_call_target="xla.sdy.LocalToGlobalShape", out_shardings=…
//      =>
//   s = f32[8,6] custom-call(x), custom_call_target="Sharding"
//   l = f32[4,6] custom-call(s), custom_call_target="SPMDFullToShardShape"
//   c = f32[4,6] call(l)
//   t = f32[4,6] custom-call(c), custom_call_target="Sharding"       (if it may be divided further)
//   y = f32[8,6] custom-call(t), custom_call_target="SPMDShardToFullShape"
//
// The markers take and give tuples of several values: each gets calls of its own.
#pragma once

#include <span>

#include "lib/ir/module.h"
#include "passes/sharding/manual_region.h"
#include "passes/sharding/shardy_text.h"

namespace hlo {

inline constexpr std::string_view kShardyPrefix = "xla.sdy.";
inline constexpr std::string_view kShardingKey = "xla.sdy.sharding";
inline constexpr std::string_view kToLocal = "xla.sdy.GlobalToLocalShape";
inline constexpr std::string_view kToGlobal = "xla.sdy.LocalToGlobalShape";

struct ManualCall {
  Instruction* call = nullptr;
  Instruction* to_local = nullptr;   // null: the computation has no parameters
  Instruction* to_global = nullptr;  // null: it has no results
  ShardyShardings in, out;           // of their operands and results
  ManualRegion region, outer;
};

bool IsManualCall(const Instruction& instruction);
// Reads what stands around the call, which is in `outer`.
absl::StatusOr<ManualCall> ReadManualCall(Instruction& call, const ManualRegion& outer,
                                          const ShardyMeshes& meshes);
// Replaces the markers. Returns what now has the sharding that it must keep.
absl::StatusOr<std::vector<Instruction*>> ReplaceMarkers(const ManualCall& manual);

// An error of the attribute `key`, with the place of the instruction; or none.
absl::Status BlameAttribute(const Instruction& instruction, std::string_view key,
                            const absl::Status& status);
// The shardings of the attribute `key`; a located error if they are malformed.
absl::StatusOr<ShardyShardings> ShardingsOf(const Instruction& instruction, std::string_view key,
                                            const ShardyMeshes& meshes);
// Takes the attributes of these names away; whether there were any.
bool DropAttributes(FrontendAttributes& attributes, std::span<const std::string_view> names);
bool DropAttributes(Instruction& instruction, std::span<const std::string_view> names);
// A custom call of one operand with the name and metadata of `like`.
Instruction* AddMarker(std::string_view target, Shape shape, Instruction* operand,
                       std::optional<Sharding> sharding, const Instruction& like);

}  // namespace hlo
