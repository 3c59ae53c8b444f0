// Collectives as functions of the operands of all devices of a group: each device computes its own
// result. A single device is a group of one: most of them are the identity then.
#include <algorithm>
#include <cstring>

#include "lib/eval/collective_groups.h"
#include "lib/eval/communicator.h"
#include "lib/eval/eval_internal.h"
#include "lib/eval/region_runner.h"
#include "lib/eval/strided.h"
#include "lib/ops/opcode_groups.h"

namespace hlo {
namespace {

using Operands = std::vector<std::vector<Literal>>;  // by member of a group
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

// f over the members, in group order. f may take wider numbers than they are (for lack of bf16,
// say): they become such numbers first, and the result what they were.
EvalResult Reduced(Evaluator& evaluator, const Computation& region,
                   const std::vector<const Literal*>& members) {
  const Shape type = region.root()->shape();
  if (region.parameter_count() != 2 || !type.IsArray() || type.rank() != 0 ||
      !Compatible(region.parameter(0)->shape(), type) ||
      !Compatible(region.parameter(1)->shape(), type)) {
    return Error(region.root()->loc(),
                 "`{}` reduces between devices, expected a function of two "
                 "scalars to one of their type",
                 region.name());
  }
  ASSIGN_OR_RETURN(RegionRunner runner, RegionRunner::Make(evaluator, region));
  ASSIGN_OR_RETURN(Literal sum, members[0]->Converted(type.element_type()));
  const int bytes = ByteSize(type.element_type());
  for (size_t m = 1; m < members.size(); ++m) {
    const Literal* member = members[m];
    Literal converted;
    if (member->element_type() != type.element_type()) {
      ASSIGN_OR_RETURN(converted, member->Converted(type.element_type()));
      member = &converted;
    }
    for (int64_t begin = 0; begin < sum.element_count(); begin += RegionProgram::kLanes) {
      uint8_t* own = sum.mutable_data() + begin * bytes;
      const uint8_t* parameters[] = {own, ElementPtr(*member, begin)};
      RETURN_IF_ERROR(runner.Run(parameters, {own},
                                 std::min(RegionProgram::kLanes, sum.element_count() - begin)));
    }
  }
  if (sum.element_type() == members[0]->element_type()) return sum;
  return sum.Converted(members[0]->element_type());
}

// Of one member: a literal per result. `in`: the operands of all members of its group, `self` its
// place among them.
using Results = absl::StatusOr<std::vector<Literal>>;

Results AllGather(const Instruction& inst, const Operands& in) {
  std::vector<Literal> out;
  for (size_t k = 0; k < in[0].size(); ++k) {
    std::vector<Literal> parts;
    for (const auto& member : in) parts.push_back(member[k]);
    out.push_back(Concatenated(parts, inst.attrs<AllGatherAttrs>().dimensions.value));
  }
  return out;
}

Results AllReduce(const Instruction& inst, const Operands& in, Evaluator& evaluator) {
  std::vector<Literal> out;
  for (size_t k = 0; k < in[0].size(); ++k) {
    std::vector<const Literal*> members;
    for (const auto& member : in) members.push_back(&member[k]);
    ASSIGN_OR_RETURN(out.emplace_back(), Reduced(evaluator, *inst.to_apply(), members));
  }
  return out;
}

Results ReduceScatter(const Instruction& inst, const Operands& in, size_t self,
                      Evaluator& evaluator) {
  const int64_t dimension = inst.attrs<ReduceScatterAttrs>().dimensions.value;
  Operands blocks(in.size());
  for (size_t m = 0; m < in.size(); ++m) {
    for (const Literal& operand : in[m])
      blocks[m].push_back(
          Block(operand, dimension, static_cast<int64_t>(self), static_cast<int64_t>(in.size())));
  }
  return AllReduce(inst, blocks, evaluator);
}

Results AllToAll(const Instruction& inst, const Operands& in, size_t self) {
  const auto& attrs = inst.attrs<AllToAllAttrs>();
  std::vector<Literal> received;
  for (const auto& from : in) {
    if (attrs.dimensions.has_value()) {
      received.push_back(Block(from[0], attrs.dimensions->value, static_cast<int64_t>(self),
                               static_cast<int64_t>(in.size())));
    } else if (from.size() != in.size()) {
      return Error(inst.loc(), "`all-to-all` of {} operands in a group of {} devices", from.size(),
                   in.size());
    } else {
      received.push_back(from[self]);
    }
  }
  if (attrs.dimensions.has_value()) received = {Concatenated(received, attrs.dimensions->value)};
  return received;
}

// One buffer of the in-place form with the start indices of its slices.
struct Slices {
  const Literal* buffer;
  std::vector<DimVec> starts;
};

DimVec StartOf(const Literal& indices) {
  DimVec start;
  for (const Literal& index : indices.elements()) start.push_back(ScalarIndex(index));
  return start;
}

// Buffers and indices as lib/ops/shape_collectives.cc pairs them: a tuple of integers for an array,
// a tuple of those for several slices of it, and a tuple of either for a tuple of arrays.
void AppendSlices(const Literal& buffer, const Literal& indices, std::vector<Slices>& out) {
  if (buffer.shape().IsTuple()) {
    for (size_t i = 0; i < buffer.elements().size(); ++i)
      AppendSlices(buffer.elements()[i], indices.elements()[i], out);
    return;
  }
  Slices slices{&buffer, {}};
  const auto& elements = indices.elements();
  if (!elements.empty() && elements[0].shape().IsTuple()) {
    for (const Literal& slice : elements) slices.starts.push_back(StartOf(slice));
  } else {
    slices.starts.push_back(StartOf(indices));
  }
  out.push_back(std::move(slices));
}

// The slice with this number, over all buffers; null beyond the last.
struct Slice {
  const Literal* buffer = nullptr;
  size_t number = 0;  // of the buffer
  DimVec start;
};
Slice SliceAt(const std::vector<Slices>& buffers, size_t number) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (number < buffers[i].starts.size()) return {buffers[i].buffer, i, buffers[i].starts[number]};
    number -= buffers[i].starts.size();
  }
  return {};
}

// Starts are moved so that the slice fits, as those of dynamic-slice.
int64_t StartOffset(const Literal& buffer, const DimVec& start, const DimVec& sizes) {
  const DimVec strides = RowMajorStrides(buffer.shape().dims());
  int64_t offset = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t last = buffer.shape().dim(static_cast<int>(d)) - sizes[d];
    offset += strides[d] * std::clamp<int64_t>(start[d], 0, std::max<int64_t>(last, 0));
  }
  return offset;
}

// The n-th pair of a source sends its n-th slice, the n-th pair of a target fills its n-th place.
Results PermuteInPlace(const Instruction& inst, const Operands& in, size_t self) {
  const auto& attrs = inst.attrs<CollectivePermuteAttrs>();
  std::vector<Slices> own;
  AppendSlices(in[self][1], in[self][3], own);
  std::vector<Literal> buffers;
  for (const Slices& slices : own) buffers.push_back(*slices.buffer);
  std::vector<size_t> sent(in.size());
  size_t received = 0;
  for (const auto& [source, target] : attrs.source_target_pairs) {
    const auto from = static_cast<size_t>(source);
    if (from >= in.size()) continue;
    const size_t number = sent[from]++;
    if (static_cast<size_t>(target) != self) continue;
    std::vector<Slices> inputs;
    AppendSlices(in[from][0], in[from][2], inputs);
    const Slice read = SliceAt(inputs, number), write = SliceAt(own, received++);
    if (read.buffer == nullptr || write.buffer == nullptr || number >= attrs.slice_sizes.size())
      return Error(inst.loc(), "`{}` has no slice {} to send from device {} to {}", inst.name(),
                   number, source, target);
    const DimVec& sizes = attrs.slice_sizes[number];
    Literal& to = buffers[write.number];
    bool fits = static_cast<int>(sizes.size()) == read.buffer->shape().rank() &&
                static_cast<int>(sizes.size()) == to.shape().rank();
    for (size_t d = 0; fits && d < sizes.size(); ++d) {
      fits = sizes[d] <= read.buffer->shape().dim(static_cast<int>(d)) &&
             sizes[d] <= to.shape().dim(static_cast<int>(d));
    }
    if (!fits) {
      return Error(inst.loc(), "slice {} of `{}` does not fit into `{}` and `{}`", number,
                   inst.name(), read.buffer->shape(), to.shape());
    }
    const int bytes = ByteSize(to.element_type());
    RunStridedCopy(
        {sizes, RowMajorStrides(read.buffer->shape().dims()), RowMajorStrides(to.shape().dims())},
        bytes, ElementPtr(*read.buffer, StartOffset(*read.buffer, read.start, sizes)),
        to.mutable_data() + StartOffset(to, write.start, sizes) * bytes);
  }
  if (in[self][1].shape().IsTuple())
    return std::vector<Literal>{Literal::Tuple(std::move(buffers))};
  return buffers;
}

Results PermutedOnDevice(const Instruction& inst, const Operands& in, size_t self) {
  const auto& attrs = inst.attrs<CollectivePermuteAttrs>();
  if (!attrs.slice_sizes.empty()) return PermuteInPlace(inst, in, self);
  for (const auto& [source, target] : attrs.source_target_pairs) {
    const auto from = static_cast<size_t>(source);
    if (static_cast<size_t>(target) == self && from < in.size()) return in[from];
  }
  std::vector<Literal> zeros;
  for (const Literal& operand : in[self]) zeros.emplace_back(operand.shape());
  return zeros;
}

Results Broadcast(const Instruction& inst, const Operands& in) {
  const bool has_dynamic_root = inst.attrs<CollectiveBroadcastAttrs>().has_dynamic_root;
  const size_t count = in[0].size() - (has_dynamic_root ? 1 : 0);
  std::vector<Literal> out;
  for (size_t k = 0; k < count; ++k) {
    int64_t root = 0;
    if (has_dynamic_root) {
      root = ScalarIndex(in[0][count], static_cast<int64_t>(k));
      if (root < 0 || root >= std::ssize(in)) {
        return Error(inst.loc(),
                     "root {} of `collective-broadcast` is none of the {} devices of the group",
                     root, in.size());
      }
    }
    out.push_back(in[static_cast<size_t>(root)][k]);
  }
  return out;
}

Results RaggedAllToAll(const Instruction& inst, const Operands& in, size_t self) {
  Literal target = in[self][1];
  const int64_t rows = target.shape().dim(0), row = rows == 0 ? 0 : target.byte_size() / rows;
  for (const auto& o : in) {
    const int64_t updates = o[2].element_count() / std::ssize(in);
    for (int64_t q = 0; q < updates; ++q) {
      const int64_t at = static_cast<int64_t>(self) * updates + q;
      const int64_t begin = ScalarIndex(o[2], at), size = ScalarIndex(o[3], at),
                    to = ScalarIndex(o[4], at);
      if (begin < 0 || size < 0 || to < 0 || begin + size > o[0].shape().dim(0) ||
          to + size > rows) {
        return Error(inst.loc(), "`ragged-all-to-all` sends rows {} to {} of {} to row {} of {}",
                     begin, begin + size, o[0].shape().dim(0), to, rows);
      }
      std::memcpy(target.mutable_data() + to * row, o[0].data() + begin * row,
                  static_cast<size_t>(size * row));
    }
  }
  return std::vector<Literal>{std::move(target)};
}

Results RunCollective(const Instruction& inst, const Operands& in, size_t self,
                      Evaluator& evaluator) {
  const Opcode opcode = inst.opcode();
  if (kAllGathers.Has(opcode)) return AllGather(inst, in);
  if (opcode == Opcode::kAllToAll) return AllToAll(inst, in, self);
  if (kPermutes.Has(opcode)) return PermutedOnDevice(inst, in, self);
  if (opcode == Opcode::kCollectiveBroadcast) return Broadcast(inst, in);
  if (opcode == Opcode::kRaggedAllToAll) return RaggedAllToAll(inst, in, self);
  if (opcode == Opcode::kReduceScatter) return ReduceScatter(inst, in, self, evaluator);
  return AllReduce(inst, in, evaluator);
}

// The results in the form of the instruction's shape: array or tuple; for the -start forms beside
// the operands.
Literal Packed(const Instruction& inst, const std::vector<Literal>& operands,
               std::vector<Literal> results) {
  const auto pack = [](std::vector<Literal> parts, Shape shape) {
    const bool packs = shape.IsTuple() && (parts.empty() || !parts[0].shape().IsTuple());
    return packs ? Literal::Tuple(std::move(parts)) : std::move(parts[0]);
  };
  const Shape shape = inst.shape();
  if (!kOperandsKeepingStarts.Has(inst.opcode())) {
    return pack(std::move(results), shape);
  }
  const bool is_in_place = inst.opcode() == Opcode::kCollectivePermuteStart &&
                           !inst.attrs<CollectivePermuteAttrs>().slice_sizes.empty();
  std::vector<Literal> all = {is_in_place ? operands[0] : pack(operands, shape.element(0)),
                              pack(std::move(results), shape.element(1))};
  for (int i = 2; i < shape.element_count_of_tuple(); ++i) all.emplace_back(shape.element(i));
  return Literal::Tuple(std::move(all));
}

}  // namespace

EvalResult EvalCollective(EvalContext& c) {
  const EvalOptions& options = c.evaluator.options();
  Communicator* const communicator = options.communicator;
  const DeviceMesh mesh = communicator == nullptr ? DeviceMesh() : communicator->mesh();
  const int64_t device = options.replica_id * mesh.partitions + options.partition_id;
  const std::vector<int64_t> group =
      GroupOf(c.instruction, communicator == nullptr ? 0 : device, mesh);
  const auto compute = [&](const Operands& in, size_t self) -> EvalResult {
    ASSIGN_OR_RETURN(std::vector<Literal> results,
                     RunCollective(c.instruction, in, self, c.evaluator));
    Literal value = Packed(c.instruction, in[self], std::move(results));
    if (CompatibleIgnoringDynamic(value.shape(), c.instruction.shape())) return value;
    return Error(c.loc(), "`{}` is declared `{}`, but among {} devices it yields `{}`",
                 c.instruction.name(), c.instruction.shape(), mesh.devices(), value.shape());
  };
  if (group.empty()) {
    // Nobody sends anything to those that a broadcast leaves out.
    if (c.opcode() == Opcode::kCollectiveBroadcast) return Literal(c.instruction.shape());
    return Error(c.loc(), "device {} takes part in `{}` but is in none of its groups", device,
                 c.instruction.name());
  }
  if (communicator == nullptr) return compute({c.operands}, 0);
  return communicator->Meet(device, c.instruction, group, std::move(c.operands), compute);
}

}  // namespace hlo
