#include "passes/collectives/group_position.h"

#include <algorithm>

#include "lib/support/check.h"

namespace hlo {
namespace {

Instruction* U32Number(Builder& builder, int64_t value) {
  return builder.ScalarConstant(ElementType::kU32, static_cast<double>(value));
}

// a * factor + b
Instruction* Scaled(Builder& builder, Instruction* a, int64_t factor, Instruction* b) {
  return builder.Add(builder.Multiply(a, U32Number(builder, factor)), b);
}

bool CountsFromZero(const std::vector<int64_t>& ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// The place of `id` among the ids of its group in the text.
Instruction* PlaceInList(const ReplicaGroups::Lists& lists, Instruction* id, Builder& builder) {
  if (lists.empty() || (lists.size() == 1 && CountsFromZero(lists[0]))) return id;
  int64_t count = 0;
  for (const auto& list : lists) {
    for (const int64_t member : list) count = std::max(count, member + 1);
  }
  Literal table(Shape::Array(ElementType::kU32, {count}));
  for (const auto& list : lists) {
    for (size_t i = 0; i < list.size(); ++i) table.SetInt(list[i], static_cast<int64_t>(i));
  }
  return builder.Reshape(builder.DynamicSlice(builder.Constant(std::move(table)), {id}, {1}), {});
}

}  // namespace

Instruction* GroupId(GroupMode mode, Builder& builder) {
  const Shape number = Shape::Scalar(ElementType::kU32);
  const auto id = [&](Opcode opcode) { return builder.OpWithShape(opcode, number, {}); };
  switch (mode) {
    case GroupMode::kCrossReplica:
    case GroupMode::kCrossReplicaAndPartition: return id(Opcode::kReplicaId);
    case GroupMode::kCrossPartition: return id(Opcode::kPartitionId);
    case GroupMode::kFlattened:
      return Scaled(builder, id(Opcode::kReplicaId),
                    builder.computation()->module().config().num_partitions,
                    id(Opcode::kPartitionId));
  }
  return nullptr;
}

Instruction* PositionInGroup(const Instruction& collective, Builder& builder) {
  const std::optional<GroupMode> mode = GroupModeOf(collective);
  HLO_CHECK(mode.has_value());
  const ReplicaGroups::Lists lists = ReplicaGroupsOf(collective).Flatten();
  // A single member needs no id.
  Instruction* place = !lists.empty() && lists[0].size() == 1
                           ? U32Number(builder, 0)
                           : PlaceInList(lists, GroupId(*mode, builder), builder);
  if (*mode != GroupMode::kCrossReplicaAndPartition) return place;
  return Scaled(builder, place, collective.module().config().num_partitions,
                GroupId(GroupMode::kCrossPartition, builder));
}

}  // namespace hlo
