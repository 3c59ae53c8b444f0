// Collectives as one function of the operands of all devices. A single device is a group of one:
// most of them are the identity then.
#include <cstring>

#include "lib/eval/communicator.h"
#include "lib/eval/eval_internal.h"
#include "lib/eval/region_runner.h"
#include "lib/eval/strided.h"

namespace hlo {
namespace {

using Operands = std::vector<std::vector<Literal>>;  // by device
using Group = std::vector<int>;                      // device numbers, in the order of the text

// Which ids replica_groups and source_target_pairs hold, and what a group of them is.
enum class GroupMode { kCrossReplica, kCrossPartition, kCrossReplicaAndPartition, kFlattened };

template <class A>
GroupMode ModeOf(const A& attrs) {
  if constexpr (requires { attrs.use_global_device_ids; }) {
    if (attrs.use_global_device_ids) return GroupMode::kFlattened;
    return attrs.channel_id.has_value() ? GroupMode::kCrossReplicaAndPartition
                                        : GroupMode::kCrossReplica;
  } else {
    return attrs.channel_id.has_value() ? GroupMode::kCrossPartition : GroupMode::kCrossReplica;
  }
}

std::vector<Group> GroupsOf(const ReplicaGroups& text, GroupMode mode, const DeviceMesh& mesh) {
  ReplicaGroups::Lists lists = text.Flatten();
  const bool by_partition = mode == GroupMode::kCrossPartition;
  const int64_t ids = mode == GroupMode::kFlattened ? mesh.devices()
                      : by_partition                ? mesh.partitions
                                                    : mesh.replicas;
  if (lists.empty()) {
    lists.emplace_back();
    for (int64_t i = 0; i < ids; ++i) lists[0].push_back(i);
  }
  std::vector<Group> groups;
  for (const auto& list : lists) {
    const auto add = [&](auto&& device_of) {
      Group group;
      for (int64_t id : list) {
        if (id >= 0 && id < ids) group.push_back(static_cast<int>(device_of(id)));
      }
      if (!group.empty()) groups.push_back(std::move(group));
    };
    switch (mode) {
      case GroupMode::kFlattened: add([](int64_t id) { return id; }); break;
      case GroupMode::kCrossReplica:
        for (int64_t p = 0; p < mesh.partitions; ++p)
          add([&](int64_t id) { return id * mesh.partitions + p; });
        break;
      case GroupMode::kCrossPartition:
        for (int64_t r = 0; r < mesh.replicas; ++r)
          add([&](int64_t id) { return r * mesh.partitions + id; });
        break;
      case GroupMode::kCrossReplicaAndPartition: {
        Group group;
        for (int64_t id : list) {
          for (int64_t p = 0; p < mesh.partitions && id >= 0 && id < ids; ++p)
            group.push_back(static_cast<int>(id * mesh.partitions + p));
        }
        if (!group.empty()) groups.push_back(std::move(group));
        break;
      }
    }
  }
  return groups;
}

size_t At(int i) { return static_cast<size_t>(i); }

Literal Concatenated(const std::vector<Literal>& parts, int64_t dimension) {
  DimVec dims = Dims(parts[0]);
  int64_t& size = dims[static_cast<size_t>(dimension)];
  size = 0;
  for (const Literal& part : parts) size += part.shape().dim(static_cast<int>(dimension));
  Literal result(Shape::Array(parts[0].element_type(), dims));
  const DimVec strides = RowMajorStrides(dims);
  const int bytes = ByteSize(result.element_type());
  int64_t at = 0;
  for (const Literal& part : parts) {
    if (part.element_count() > 0) {
      RunStridedCopy({Dims(part), RowMajorStrides(part.shape().dims()), strides}, bytes,
                     part.data(),
                     result.mutable_data() + at * strides[static_cast<size_t>(dimension)] * bytes);
    }
    at += part.shape().dim(static_cast<int>(dimension));
  }
  return result;
}

// Block i of `count` equal blocks along a dimension.
Literal Block(const Literal& literal, int64_t dimension, int64_t i, int64_t count) {
  DimVec dims = Dims(literal);
  const DimVec strides = RowMajorStrides(dims);
  const size_t d = static_cast<size_t>(dimension);
  dims[d] /= count;
  Literal result(Shape::Array(literal.element_type(), dims));
  if (result.element_count() > 0) {
    RunStridedCopy({dims, strides, RowMajorStrides(dims)}, ByteSize(literal.element_type()),
                   ElementPtr(literal, i * dims[d] * strides[d]), result.mutable_data());
  }
  return result;
}

// f over the members, in group order.
EvalResult Reduced(Evaluator& evaluator, const Computation& region,
                   const std::vector<const Literal*>& members) {
  ASSIGN_OR_RETURN(RegionRunner runner, RegionRunner::Make(evaluator, region));
  Literal sum = *members[0];
  const int bytes = ByteSize(sum.element_type());
  for (size_t m = 1; m < members.size(); ++m) {
    for (int64_t begin = 0; begin < sum.element_count(); begin += RegionProgram::kLanes) {
      uint8_t* own = sum.mutable_data() + begin * bytes;
      const uint8_t* parameters[] = {own, ElementPtr(*members[m], begin)};
      RETURN_IF_ERROR(runner.Run(parameters, {own},
                                 std::min(RegionProgram::kLanes, sum.element_count() - begin)));
    }
  }
  return sum;
}

// Results by device, one literal per operand of the instruction.
using Results = std::vector<std::vector<Literal>>;

absl::StatusOr<Results> AllGather(const Instruction& inst, const Operands& in,
                                  const DeviceMesh& mesh) {
  const auto& attrs = inst.attrs<AllGatherAttrs>();
  Results out(in.size());
  for (const Group& group : GroupsOf(attrs.replica_groups, ModeOf(attrs), mesh)) {
    for (size_t k = 0; k < in[0].size(); ++k) {
      std::vector<Literal> parts;
      for (int device : group) parts.push_back(in[At(device)][k]);
      const Literal all = Concatenated(parts, attrs.dimensions.value);
      for (int device : group) out[At(device)].push_back(all);
    }
  }
  return out;
}

absl::StatusOr<Results> AllReduce(const Instruction& inst, const Operands& in,
                                  const DeviceMesh& mesh, Evaluator& evaluator) {
  const bool scatters = inst.opcode() == Opcode::kReduceScatter;
  const auto& groups = scatters ? inst.attrs<ReduceScatterAttrs>().replica_groups
                                : inst.attrs<AllReduceAttrs>().replica_groups;
  const GroupMode mode =
      scatters ? ModeOf(inst.attrs<ReduceScatterAttrs>()) : ModeOf(inst.attrs<AllReduceAttrs>());
  Results out(in.size());
  for (const Group& group : GroupsOf(groups, mode, mesh)) {
    for (size_t k = 0; k < in[0].size(); ++k) {
      std::vector<const Literal*> members;
      for (int device : group) members.push_back(&in[At(device)][k]);
      ASSIGN_OR_RETURN(const Literal sum, Reduced(evaluator, *inst.to_apply(), members));
      for (size_t i = 0; i < group.size(); ++i) {
        const int64_t count = static_cast<int64_t>(group.size());
        out[At(group[i])].push_back(
            scatters ? Block(sum, inst.attrs<ReduceScatterAttrs>().dimensions.value,
                             static_cast<int64_t>(i), count)
                     : sum);
      }
    }
  }
  return out;
}

absl::StatusOr<Results> AllToAll(const Instruction& inst, const Operands& in,
                                 const DeviceMesh& mesh) {
  const auto& attrs = inst.attrs<AllToAllAttrs>();
  Results out(in.size());
  for (const Group& group : GroupsOf(attrs.replica_groups, ModeOf(attrs), mesh)) {
    const int64_t n = static_cast<int64_t>(group.size());
    for (size_t to = 0; to < group.size(); ++to) {
      std::vector<Literal> received;
      for (int from : group) {
        if (attrs.dimensions.has_value()) {
          received.push_back(
              Block(in[At(from)][0], attrs.dimensions->value, static_cast<int64_t>(to), n));
        } else {
          if (in[At(from)].size() != group.size()) {
            return Error(inst.loc(), "`all-to-all` of {} operands in a group of {} devices",
                         in[At(from)].size(), n);
          }
          received.push_back(in[At(from)][to]);
        }
      }
      if (attrs.dimensions.has_value())
        received = {Concatenated(received, attrs.dimensions->value)};
      out[At(group[to])] = std::move(received);
    }
  }
  return out;
}

absl::StatusOr<Results> EvalPermute(const Instruction& inst, const Operands& in,
                                    const DeviceMesh& mesh) {
  const auto& attrs = inst.attrs<CollectivePermuteAttrs>();
  if (!attrs.slice_sizes.empty()) {
    return Unsupported(inst.loc(), "`{}` into slices of a buffer has no reference semantics here",
                       inst.opcode_text());
  }
  Results out(in.size());
  for (size_t device = 0; device < in.size(); ++device) {
    for (const Literal& operand : in[device]) out[device].emplace_back(operand.shape());
  }
  const bool by_partition = attrs.channel_id.has_value();
  const int64_t others = by_partition ? mesh.replicas : mesh.partitions;
  const int64_t ids = by_partition ? mesh.partitions : mesh.replicas;
  for (const auto& [source, target] : attrs.source_target_pairs) {
    if (source >= ids || target >= ids) continue;
    for (int64_t other = 0; other < others; ++other) {
      const auto device = [&](int64_t id) {
        return static_cast<size_t>(by_partition ? other * mesh.partitions + id
                                                : id * mesh.partitions + other);
      };
      out[device(target)] = in[device(source)];
    }
  }
  return out;
}

absl::StatusOr<Results> Broadcast(const Instruction& inst, const Operands& in,
                                  const DeviceMesh& mesh) {
  const auto& attrs = inst.attrs<CollectiveBroadcastAttrs>();
  const size_t count = in[0].size() - (attrs.has_dynamic_root ? 1 : 0);
  Results out(in.size());
  for (size_t device = 0; device < in.size(); ++device) {
    for (size_t k = 0; k < count; ++k) out[device].emplace_back(in[device][k].shape());
  }
  for (const Group& group : GroupsOf(attrs.replica_groups, ModeOf(attrs), mesh)) {
    for (size_t k = 0; k < count; ++k) {
      size_t root = At(group[0]);
      if (attrs.has_dynamic_root) {
        const int64_t place = ScalarIndex(in[root][count], static_cast<int64_t>(k));
        if (place < 0 || place >= static_cast<int64_t>(group.size())) {
          return Error(inst.loc(),
                       "root {} of `collective-broadcast` is none of the {} devices of the group",
                       place, group.size());
        }
        root = At(group[static_cast<size_t>(place)]);
      }
      for (int device : group) out[At(device)][k] = in[root][k];
    }
  }
  return out;
}

absl::StatusOr<Results> RaggedAllToAll(const Instruction& inst, const Operands& in,
                                       const DeviceMesh& mesh) {
  const auto& attrs = inst.attrs<RaggedAllToAllAttrs>();
  Results out(in.size());
  for (size_t device = 0; device < in.size(); ++device) out[device] = {in[device][1]};
  for (const Group& group : GroupsOf(attrs.replica_groups, ModeOf(attrs), mesh)) {
    for (int from : group) {
      const auto& o = in[At(from)];
      const int64_t updates = o[2].element_count() / static_cast<int64_t>(group.size());
      for (size_t j = 0; j < group.size(); ++j) {
        Literal& target = out[At(group[j])][0];
        const int64_t rows = target.shape().dim(0), row = rows == 0 ? 0 : target.byte_size() / rows;
        for (int64_t q = 0; q < updates; ++q) {
          const int64_t at = static_cast<int64_t>(j) * updates + q;
          const int64_t begin = ScalarIndex(o[2], at), size = ScalarIndex(o[3], at),
                        to = ScalarIndex(o[4], at);
          if (begin < 0 || size < 0 || to < 0 || begin + size > o[0].shape().dim(0) ||
              to + size > rows) {
            return Error(inst.loc(),
                         "`ragged-all-to-all` sends rows {} to {} of {} to row {} of {}", begin,
                         begin + size, o[0].shape().dim(0), to, rows);
          }
          std::memcpy(target.mutable_data() + to * row, o[0].data() + begin * row,
                      static_cast<size_t>(size * row));
        }
      }
    }
  }
  return out;
}

absl::StatusOr<Results> RunCollective(const Instruction& inst, const Operands& in,
                                      const DeviceMesh& mesh, Evaluator& evaluator) {
  const Opcode opcode = inst.opcode();
  if (opcode == Opcode::kAllGather || opcode == Opcode::kAllGatherStart)
    return AllGather(inst, in, mesh);
  if (opcode == Opcode::kAllToAll) return AllToAll(inst, in, mesh);
  if (opcode == Opcode::kCollectivePermute || opcode == Opcode::kCollectivePermuteStart)
    return EvalPermute(inst, in, mesh);
  if (opcode == Opcode::kCollectiveBroadcast) return Broadcast(inst, in, mesh);
  if (opcode == Opcode::kRaggedAllToAll) return RaggedAllToAll(inst, in, mesh);
  return AllReduce(inst, in, mesh, evaluator);
}

// The results in the form of the instruction's shape: array or tuple; for the -start forms beside
// the operands.
Literal Packed(const Instruction& inst, const std::vector<Literal>& operands,
               std::vector<Literal> results) {
  const auto pack = [](std::vector<Literal> parts, Shape shape) {
    return shape.IsTuple() ? Literal::Tuple(std::move(parts)) : std::move(parts[0]);
  };
  const Shape shape = inst.shape();
  if (inst.opcode() != Opcode::kAllGatherStart &&
      inst.opcode() != Opcode::kCollectivePermuteStart) {
    return pack(std::move(results), shape);
  }
  std::vector<Literal> all = {pack(operands, shape.element(0)),
                              pack(std::move(results), shape.element(1))};
  for (int i = 2; i < shape.element_count_of_tuple(); ++i) all.emplace_back(shape.element(i));
  return Literal::Tuple(std::move(all));
}

}  // namespace

EvalResult EvalCollective(EvalContext& c) {
  const EvalOptions& options = c.evaluator.options();
  Communicator* const communicator = options.communicator;
  const DeviceMesh mesh = communicator == nullptr ? DeviceMesh() : communicator->mesh();
  const auto compute = [&](const Operands& in) -> absl::StatusOr<std::vector<Literal>> {
    ASSIGN_OR_RETURN(Results results, RunCollective(c.instruction, in, mesh, c.evaluator));
    std::vector<Literal> values;
    for (size_t device = 0; device < in.size(); ++device) {
      if (results[device].empty()) {
        return Error(c.loc(), "device {} takes part in `{}` but is in none of its groups", device,
                     c.instruction.name());
      }
      values.push_back(Packed(c.instruction, in[device], std::move(results[device])));
      if (!CompatibleIgnoringDynamic(values.back().shape(), c.instruction.shape())) {
        return Error(c.loc(), "`{}` is declared `{}`, but among {} devices it yields `{}`",
                     c.instruction.name(), c.instruction.shape(), in.size(), values.back().shape());
      }
    }
    return values;
  };
  if (communicator == nullptr) {
    ASSIGN_OR_RETURN(std::vector<Literal> values, compute({c.operands}));
    return std::move(values[0]);
  }
  return communicator->Meet(options.replica_id * mesh.partitions + options.partition_id,
                            c.instruction, std::move(c.operands), compute);
}

}  // namespace hlo
