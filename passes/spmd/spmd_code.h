// Builds what every device computes: collectives among groups of partitions, and values that differ
// from device to device.
//
//   code.Table({0, 4, 8, 12})     s32[]: 4 on partition 1
//   code.AllGather(x, 0, groups)  with a channel of its own, in each replica
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "lib/ir/builder.h"
#include "passes/spmd/placement.h"

namespace hlo {

// What the computations of one module have in common while they are made.
class SpmdState {
 public:
  SpmdState(Module& module, int64_t partitions);
  Module& module() const { return module_; }
  int64_t partitions() const { return partitions_; }
  int64_t replicas() const { return module_.config().replica_count; }
  int64_t NewChannel() { return next_channel_++; }
  // Equal ones have one address, as long as this lives.
  const Placement* Keep(Placement placement) {
    return &*placements_.insert(std::move(placement)).first;
  }

 private:
  Module& module_;
  int64_t partitions_;
  int64_t next_channel_;
  std::set<Placement> placements_;
};

class SpmdCode final : public Builder {
 public:
  SpmdCode(Computation* computation, SpmdState& state) : Builder(computation), state_(state) {}
  SpmdState& state() const { return state_; }

  // ---- values by device ----
  // An integer scalar: on partition i, values[i].
  Instruction* Table(const std::vector<int64_t>& values);
  // Where the tile of the device begins along dimension `d` of an array of this shape.
  Instruction* TileStart(const Placement& placement, Shape whole, int64_t d);
  // `tile`, with `fill` (a scalar) where it reaches beyond the array along `d`.
  Instruction* Masked(Instruction* tile, const Placement& placement, Shape whole, int64_t d,
                      Instruction* fill);

  // ---- sizes ----
  // With zeros after the end, or without the end.
  Instruction* Resized(Instruction* x, int64_t d, int64_t size);
  Instruction* Zero(ElementType type);
  // The scalar, as often as `shape` has elements.
  Instruction* Filled(Shape shape, Instruction* scalar);

  // ---- values of which each element is on one device of a group ----
  // What the others have in its place: a scalar; and what brings them together. Some types have no
  // such value.
  static bool HasNothing(ElementType type) { return type != ElementType::kF8E8M0FNU; }
  Instruction* Nothing(ElementType type);
  Computation* Union(ElementType type);

  // ---- between partitions; groups of one change nothing ----
  Instruction* AllGather(Instruction* x, int64_t d, const GroupsOfDevices& groups);
  Instruction* AllReduce(Instruction* x, const GroupsOfDevices& groups, Computation* combiner);
  // Of the sum, member i of the group gets part i along dimension `d`.
  Instruction* ReduceScatter(Instruction* x, int64_t d, const GroupsOfDevices& groups,
                             Computation* combiner);
  // Of the parts along dimension `d`, the i-th goes to member i of the group.
  Instruction* AllToAll(Instruction* x, int64_t d, const GroupsOfDevices& groups);
  // What the first member of each group has.
  Instruction* FromFirst(Instruction* x, const GroupsOfDevices& groups);
  // Devices that are no target get zeros.
  Instruction* Permute(Instruction* x, const std::vector<std::pair<int64_t, int64_t>>& pairs);

 private:
  // The same groups in every replica, of ids that count all devices.
  ReplicaGroups GlobalGroups(const GroupsOfDevices& groups) const;

  SpmdState& state_;
  Instruction* partition_id_ = nullptr;
  std::map<std::vector<int64_t>, Instruction*> tables_;
};

}  // namespace hlo
