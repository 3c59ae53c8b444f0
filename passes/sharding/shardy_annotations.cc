#include "passes/sharding/shardy_annotations.h"

#include "absl/algorithm/container.h"
#include "lib/analysis/leaves.h"
#include "lib/support/status.h"
#include "passes/sharding/manual_call.h"
#include "passes/sharding/sharding_annotations.h"
#include "passes/util/frontend_attribute.h"

namespace hlo {
namespace {

constexpr std::string_view kRuleKey = "xla.sdy.sharding_rule";
constexpr std::string_view kGroupKey = "xla.sdy.sharding_group_id";
constexpr std::string_view kDirectionKey = "xla.sdy.allowed_direction";
constexpr std::string_view kInstructionKeys[] = {kShardingKey, kRuleKey,
                                                 "xla.sdy.has_unreduced_axes"};

// No axes, and no dimension that is to have none.
bool SaysNothing(const NamedSharding& sharding) {
  return !sharding.mesh.maximal_device.has_value() && sharding.unreduced.empty() &&
         absl::c_all_of(sharding.dims,
                        [](const auto& dim) { return dim.open && dim.axes.empty(); });
}

absl::Status CheckHasOneArray(const Instruction& call) {
  if (call.operand_count() == 1 && call.operand(0)->shape().IsArray()) return absl::OkStatus();
  return Error(call.loc(), "`{}` is about one array, but has {} operands", call.name(),
               call.operand_count());
}

absl::StatusOr<int64_t> NumberOf(const Instruction& call, std::string_view key) {
  absl::StatusOr<int64_t> number = ParseShardyNumber(FrontendAttribute(call, key));
  if (!number.ok()) return BlameAttribute(call, key, number.status());
  return number;
}

}  // namespace

struct ShardyAnnotations::Row {
  std::string_view target;
  absl::Status (ShardyAnnotations::*take)(Instruction&, const ManualRegion&);
};

absl::Status ShardyAnnotations::Take(Instruction& instruction, const ManualRegion& region) {
  if (instruction.opcode() == Opcode::kParameter) {
    RETURN_IF_ERROR(TakeParameter(instruction, region));
  } else if (instruction.opcode() == Opcode::kCustomCall) {
    RETURN_IF_ERROR(TakeCall(instruction, region));
  }
  if (!instruction.is_dead()) DropAttributes(instruction);
  return absl::OkStatus();
}

void ShardyAnnotations::Drop(Computation& computation) {
  for (Instruction* instruction : computation.PostOrder()) {
    if (IsCustomCall(*instruction, kShardingCall) && instruction->operand_count() == 1 &&
        !FrontendAttribute(*instruction, kShardingKey).empty()) {
      Put(*instruction, instruction->operand(0));
    } else {
      DropAttributes(*instruction);
    }
  }
}

absl::Status ShardyAnnotations::SetLeaves(Instruction& instruction, std::string_view key,
                                          const ShardyShardings& given,
                                          const ManualRegion& region) {
  const std::vector<Shape> shapes = LeafShapes(instruction.shape());
  if (shapes.size() != given.values.size()) {
    return Error(instruction.loc(), "`{}` has {} shardings in `{}`, but its shape is `{}`",
                 instruction.name(), given.values.size(), key, instruction.shape().WithoutLayout());
  }
  std::vector<Sharding::Leaf> leaves;
  for (size_t i = 0; i < shapes.size(); ++i) {
    absl::StatusOr<Sharding> leaf = ShardingIn(region, given.values[i], shapes[i]);
    if (!leaf.ok()) return BlameAttribute(instruction, key, leaf.status());
    leaves.push_back(std::move(leaf->leaves[0]));
  }
  if (!instruction.shape().IsTuple()) {
    instruction.set_sharding(Sharding::Of(std::move(leaves[0])));
  } else if (!leaves.empty()) {
    instruction.set_sharding(Sharding::Tuple(std::move(leaves)));
  }
  changed_ = true;
  return absl::OkStatus();
}

void ShardyAnnotations::RemarkPriorities(const Instruction& instruction,
                                         const ShardyShardings& shardings) {
  if (shardings.has_priorities)
    context_.Missed(instruction, "priorities of dimensions have no counterpart");
}

absl::Status ShardyAnnotations::TakeParameter(Instruction& parameter, const ManualRegion& region) {
  if (FrontendAttribute(parameter, kShardingKey).empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ShardyShardings given, ShardingsOf(parameter, kShardingKey, meshes_));
  RemarkPriorities(parameter, given);
  const bool is_open =
      absl::c_all_of(given.values, [](const auto& s) { return !s.dims.empty() && SaysNothing(s); });
  if (is_open && region.is_outside()) {
    parameter.clear_sharding();
    return absl::OkStatus();
  }
  Keep(&parameter);
  return SetLeaves(parameter, kShardingKey, given, region);
}

absl::Status ShardyAnnotations::TakeCall(Instruction& call, const ManualRegion& region) {
  static constexpr Row kRows[] = {
      {kShardingCall, &ShardyAnnotations::TakeSharding},
      {"xla.sdy.FuncResultSharding", &ShardyAnnotations::TakeResult},
      {"xla.sdy.ShardingGroup", &ShardyAnnotations::TakeGroup},
      {"xla.sdy.PropagationBarrier", &ShardyAnnotations::TakeBarrier},
      {kToLocal, &ShardyAnnotations::TakeStray},
      {kToGlobal, &ShardyAnnotations::TakeStray},
  };
  const std::string_view target = call.attrs<CustomCallAttrs>().custom_call_target;
  for (const Row& row : kRows) {
    if (row.target == target) return (this->*row.take)(call, region);
  }
  if (!target.starts_with(kShardyPrefix)) return absl::OkStatus();
  return Unsupported(call.loc(), "`{}` calls `{}`, which is unknown", call.name(), target);
}

absl::StatusOr<NamedSharding> ShardyAnnotations::OneSharding(const Instruction& call) {
  RETURN_IF_ERROR(CheckHasOneArray(call));
  ASSIGN_OR_RETURN(ShardyShardings given, ShardingsOf(call, kShardingKey, meshes_));
  RemarkPriorities(call, given);
  if (given.values.size() == 1) return std::move(given.values[0]);
  return Error(call.loc(), "`{}` has {} shardings for one array", call.name(), given.values.size());
}

// The attribute says more than the sharding does.
absl::Status ShardyAnnotations::TakeSharding(Instruction& call, const ManualRegion& region) {
  if (FrontendAttribute(call, kShardingKey).empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(NamedSharding given, OneSharding(call));
  return Annotate(call, std::move(given), region);
}

absl::Status ShardyAnnotations::TakeResult(Instruction& call, const ManualRegion& region) {
  ASSIGN_OR_RETURN(NamedSharding given, OneSharding(call));
  // What was the result of a function in the program is a value among others here.
  if (!call.parent()->is_entry()) {
    for (NamedSharding::Dim& dim : given.dims) dim.open = true;
  }
  return Annotate(call, std::move(given), region);
}

// Makes `call` one of `Sharding`; its operand takes its place if that would say nothing.
absl::Status ShardyAnnotations::Annotate(Instruction& call, NamedSharding given,
                                         const ManualRegion& region) {
  const DimVec open = OpenDimsOf(given);
  const bool says_nothing = SaysNothing(given);
  absl::StatusOr<Sharding> sharding = ShardingIn(region, std::move(given), call.shape());
  if (!sharding.ok()) return BlameAttribute(call, kShardingKey, sharding.status());
  const bool is_divided = region.is_outside() || region.is_divided();
  if (says_nothing || !is_divided) {
    Put(call, call.operand(0));
    return absl::OkStatus();
  }
  CustomCallAttrs attrs;
  attrs.custom_call_target = std::string(kShardingCall);
  call.SetAttrs(std::move(attrs));
  call.set_sharding(*std::move(sharding));
  call.mutable_extras().backend_config = UnspecifiedDimsText(open);
  Keep(&call);
  changed_ = true;
  return absl::OkStatus();
}

absl::Status ShardyAnnotations::TakeGroup(Instruction& call, const ManualRegion& region) {
  RETURN_IF_ERROR(CheckHasOneArray(call));
  ASSIGN_OR_RETURN(const int64_t id, NumberOf(call, kGroupKey));
  if (call.is_used()) return Error(call.loc(), "`{}` has no result to use", call.name());
  if (region.is_outside()) {
    TiledSharding group;
    group.kind = TiledSharding::Kind::kUnknown;
    group.group_kind = ShardGroupKind::kAs;
    group.group_id = id;
    Instruction* member = call.operand(0);
    Instruction* marker =
        AddMarker(kShardingCall, member->shape(), member, Sharding::Of(group), call);
    CustomCallAttrs attrs = marker->attrs<CustomCallAttrs>();
    attrs.custom_call_has_side_effect = true;  // nobody reads it
    marker->SetAttrs(std::move(attrs));
  }
  Remove(call);
  return absl::OkStatus();
}

absl::Status ShardyAnnotations::TakeBarrier(Instruction& call, const ManualRegion& region) {
  // Bits of the directions in which shardings may pass.
  constexpr int64_t kForward = 1, kBackward = 2;
  RETURN_IF_ERROR(CheckHasOneArray(call));
  ASSIGN_OR_RETURN(const int64_t direction, NumberOf(call, kDirectionKey));
  if (direction < 0 || direction > (kForward | kBackward))
    return Error(call.loc(), "`{}` of `{}`: there is no direction {}", kDirectionKey, call.name(),
                 direction);
  Instruction* value = call.operand(0);
  const auto add = [&](std::string_view target) {
    value = AddMarker(target, value->shape(), value, std::nullopt, call);
  };
  if (region.is_outside()) {
    if ((direction & kForward) == 0) add(kBarrierFrom);
    if ((direction & kBackward) == 0) add(kBarrierTo);
  }
  Put(call, value);
  return absl::OkStatus();
}

// Markers that belong to no call: their computation had no elements to work on.
absl::Status ShardyAnnotations::TakeStray(Instruction& marker, const ManualRegion&) {
  if (marker.is_used()) {
    return Error(marker.loc(), "`{}` belongs to no call of a manual computation", marker.name());
  }
  Remove(marker);
  return absl::OkStatus();
}

void ShardyAnnotations::DropAttributes(Instruction& instruction) {
  if (!FrontendAttribute(instruction, kRuleKey).empty())
    context_.Missed(instruction, "its sharding rule has no counterpart");
  changed_ |= hlo::DropAttributes(instruction, kInstructionKeys);
}

void ShardyAnnotations::Put(Instruction& call, Instruction* value) {
  call.parent()->Replace(&call, value);
  changed_ = true;
}

void ShardyAnnotations::Remove(Instruction& call) {
  call.DropControlEdges();
  call.parent()->Remove(&call);
  changed_ = true;
}

}  // namespace hlo
