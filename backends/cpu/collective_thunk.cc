// Collectives among devices of this process, on their memory: each device does a share of the work
// of its group. What one member's memory holds is read by all of them and copied nowhere else; a
// sum is made block by block, which stays in the cache between its terms, in the order of the
// group.
//
//   all-reduce      member i reduces the i-th part of all operands, and writes it to all results
//   reduce-scatter  member i reduces its block
//   all others      each member copies what is meant for it
//
// Devices that are elsewhere, and rare forms (dynamic roots, in place, ragged), are the
// evaluator's.
#include <algorithm>
#include <cstring>
#include <functional>

#include "backends/cpu/library_thunks.h"
#include "lib/eval/collective_groups.h"
#include "lib/eval/region.h"
#include "lib/ir/module.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "lib/types/shape_util.h"

namespace hlo::cpu {
namespace {

using Places = Communicator::Places;
using Members = std::vector<Places>;

// An array as `outer` rows of `along` steps of `bytes`: along is the dimension that is cut.
struct Rows {
  int64_t outer = 1, along = 1, bytes = 1;
};
Rows RowsOf(Shape shape, int dimension) {
  Rows rows{1, shape.dim(dimension), ByteSize(shape.element_type())};
  for (int d = 0; d < shape.rank(); ++d) {
    if (d < dimension) rows.outer *= shape.dim(d);
    if (d > dimension) rows.bytes *= shape.dim(d);
  }
  return rows;
}

// What is reduced: the region, and bytes of an element.
struct Reducer {
  const RegionProgram* region;
  int64_t element_bytes;
};

// Elements that are reduced at a time: a few blocks of the region.
constexpr int64_t kBlock = RegionProgram::kLanes;
constexpr int64_t kLargestElement = 16;

// f over operands[m] + offset of all members; `take` gets each block of the result.
template <class Take>
void ReduceRange(const Reducer& reducer, const Members& members, size_t k, int64_t offset,
                 int64_t elements, const Take& take) {
  alignas(64) std::byte block[kBlock * kLargestElement];
  auto* const sum = reinterpret_cast<uint8_t*>(block);
  for (int64_t begin = 0; begin < elements; begin += kBlock) {
    const int64_t lanes = std::min(kBlock, elements - begin);
    const int64_t at = offset + begin * reducer.element_bytes;
    const auto source = [&](size_t m) {
      return reinterpret_cast<const uint8_t*>(members[m].operands[k] + at);
    };
    const uint8_t* parameters[] = {source(0), nullptr};
    for (size_t m = 1; m < members.size(); ++m) {
      parameters[1] = source(m);
      reducer.region->Run(parameters, &sum, lanes);
      parameters[0] = sum;
    }
    const uint8_t* const result = members.size() > 1 ? sum : source(0);
    take(at, reinterpret_cast<const std::byte*>(result), lanes * reducer.element_bytes);
  }
}

void Copy(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

// The work of one kind of collective on the k-th array. `reducer` where it reduces.
struct Exchange {
  const Instruction& instruction;
  const std::vector<Shape>& operands;
  Reducer reducer;
};
using ShareOfWork = void (*)(const Exchange&, const Members&, size_t self, size_t k);

void AllReduceShare(const Exchange& e, const Members& members, size_t self, size_t k) {
  const int64_t count = e.operands[k].element_count();
  const int64_t blocks = CeilDiv(count, kBlock);
  const auto size = std::ssize(members), place = static_cast<int64_t>(self);
  const int64_t begin = std::min(count, blocks * place / size * kBlock);
  const int64_t end = std::min(count, blocks * (place + 1) / size * kBlock);
  ReduceRange(e.reducer, members, k, begin * e.reducer.element_bytes, end - begin,
              [&](int64_t at, const std::byte* from, int64_t bytes) {
                for (const Places& member : members) Copy(member.results[k] + at, from, bytes);
              });
}

void ReduceScatterShare(const Exchange& e, const Members& members, size_t self, size_t k) {
  const Rows rows = RowsOf(
      e.operands[k], static_cast<int>(e.instruction.attrs<ReduceScatterAttrs>().dimensions.value));
  const int64_t share = rows.along / std::ssize(members) * rows.bytes;
  for (int64_t row = 0; row < rows.outer; ++row) {
    const int64_t source = row * rows.along * rows.bytes + static_cast<int64_t>(self) * share;
    std::byte* const to = members[self].results[k] + row * share;
    ReduceRange(e.reducer, members, k, source, share / e.reducer.element_bytes,
                [&](int64_t at, const std::byte* from, int64_t bytes) {
                  Copy(to + (at - source), from, bytes);
                });
  }
}

void AllGatherShare(const Exchange& e, const Members& members, size_t self, size_t k) {
  const Rows rows = RowsOf(
      e.operands[k], static_cast<int>(e.instruction.attrs<AllGatherAttrs>().dimensions.value));
  const int64_t share = rows.along * rows.bytes;
  std::byte* to = members[self].results[k];
  for (int64_t row = 0; row < rows.outer; ++row) {
    for (const Places& member : members) {
      Copy(to, member.operands[k] + row * share, share);
      to += share;
    }
  }
}

void AllToAllShare(const Exchange& e, const Members& members, size_t self, size_t k) {
  const auto& dimensions = e.instruction.attrs<AllToAllAttrs>().dimensions;
  if (!dimensions.has_value()) {  // the k-th result is what the k-th member has for this one
    return Copy(members[self].results[k], members[k].operands[self], e.operands[k].byte_size());
  }
  const Rows rows = RowsOf(e.operands[k], static_cast<int>(dimensions->value));
  const int64_t share = rows.along / std::ssize(members) * rows.bytes;
  std::byte* to = members[self].results[k];
  for (int64_t row = 0; row < rows.outer; ++row) {
    for (const Places& member : members) {
      Copy(to,
           member.operands[k] + row * rows.along * rows.bytes + static_cast<int64_t>(self) * share,
           share);
      to += share;
    }
  }
}

void PermuteShare(const Exchange& e, const Members& members, size_t self, size_t k) {
  std::byte* const to = members[self].results[k];
  const int64_t bytes = e.operands[k].byte_size();
  for (const auto& [source, target] :
       e.instruction.attrs<CollectivePermuteAttrs>().source_target_pairs) {
    if (static_cast<size_t>(target) == self && static_cast<size_t>(source) < members.size())
      return Copy(to, members[static_cast<size_t>(source)].operands[k], bytes);
  }
  if (bytes > 0) std::memset(to, 0, static_cast<size_t>(bytes));
}

void BroadcastShare(const Exchange& e, const Members& members, size_t self, size_t k) {
  Copy(members[self].results[k], members[0].operands[k], e.operands[k].byte_size());
}

struct CollectiveKind {
  Opcode opcode;
  ShareOfWork share;
  bool reduces;
};
constexpr CollectiveKind kKinds[] = {
    {Opcode::kAllReduce, AllReduceShare, true},
    {Opcode::kReduceScatter, ReduceScatterShare, true},
    {Opcode::kAllGather, AllGatherShare, false},
    {Opcode::kAllToAll, AllToAllShare, false},
    {Opcode::kCollectivePermute, PermuteShare, false},
    {Opcode::kCollectiveBroadcast, BroadcastShare, false},
};

class CollectiveThunk final : public CpuThunk {
 public:
  CollectiveThunk(const Instruction& instruction, const ThunkBuffers& buffers,
                  const CollectiveKind& kind, std::unique_ptr<Thunk> elsewhere)
      : CpuThunk(instruction.name()),
        instruction_(instruction),
        kind_(kind),
        results_(buffers.results),
        elsewhere_(std::move(elsewhere)) {
    for (int i = 0; i < instruction.operand_count(); ++i) {
      operands_.push_back(buffers.operands[static_cast<size_t>(i)][0]);
      shapes_.push_back(instruction.operand(i)->shape());
    }
  }
  std::string_view kind() const override { return "collective"; }
  BufferUses uses() const override { return {operands_, results_}; }

  absl::Status Run(CpuState& state) const override {
    ASSIGN_OR_RETURN(const bool is_done, RunInMemory(state));
    if (is_done) return absl::OkStatus();
    HostStream stream;
    return elsewhere_->Execute(state, stream).status();
  }

 private:
  // False: it is the evaluator's.
  absl::StatusOr<bool> RunInMemory(CpuState& state) const {
    if (state.communicator == nullptr) return false;
    const DeviceMesh mesh = state.communicator->mesh();
    const int64_t device = state.replica_id * mesh.partitions + state.partition_id;
    const std::vector<int64_t> group = GroupOf(instruction_, device, mesh);
    if (group.empty() || !FitsGroup(std::ssize(group))) return false;
    Exchange exchange{instruction_, shapes_, {}};
    if (kind_.reduces) {
      ASSIGN_OR_RETURN(exchange.reducer.region, state.evaluator.Region(*instruction_.to_apply()));
      if (exchange.reducer.region == nullptr) return false;
      exchange.reducer.element_bytes = ByteSize(shapes_[0].element_type());
    }
    Places own;
    for (const BufferSlice& slice : operands_)
      own.operands.push_back(static_cast<const std::byte*>(state.Address(slice)));
    for (const BufferSlice& slice : results_)
      own.results.push_back(static_cast<std::byte*>(state.Address(slice)));
    return state.communicator->MeetInMemory(device, instruction_, group, std::move(own),
                                            [&](const Members& members, size_t self) {
                                              for (size_t k = 0; k < shapes_.size(); ++k)
                                                kind_.share(exchange, members, self, k);
                                            });
  }

  // Whether the result is what so many members yield; the evaluator says what is wrong otherwise.
  bool FitsGroup(int64_t members) const {
    if (kind_.opcode == Opcode::kAllToAll &&
        !instruction_.attrs<AllToAllAttrs>().dimensions.has_value())
      return std::ssize(shapes_) == members;
    int64_t times = 1, divided_by = 1;
    int64_t cut = 1;  // what is cut into shares
    if (kind_.opcode == Opcode::kAllGather) times = members;
    if (kind_.opcode == Opcode::kReduceScatter) divided_by = members;
    const std::vector<Shape> results = ResultShapes();
    for (size_t k = 0; k < shapes_.size(); ++k) {
      if (kind_.opcode == Opcode::kReduceScatter)
        cut = shapes_[k].dim(
            static_cast<int>(instruction_.attrs<ReduceScatterAttrs>().dimensions.value));
      if (kind_.opcode == Opcode::kAllToAll)
        cut =
            shapes_[k].dim(static_cast<int>(instruction_.attrs<AllToAllAttrs>().dimensions->value));
      if ((kind_.opcode == Opcode::kReduceScatter || kind_.opcode == Opcode::kAllToAll) &&
          cut % members != 0)
        return false;
      if (results[k].byte_size() * divided_by != shapes_[k].byte_size() * times) return false;
    }
    return true;
  }

  std::vector<Shape> ResultShapes() const {
    if (instruction_.shape().IsArray()) return {instruction_.shape()};
    return {instruction_.shape().elements().begin(), instruction_.shape().elements().end()};
  }

  const Instruction& instruction_;
  const CollectiveKind& kind_;
  std::vector<BufferSlice> operands_, results_;
  std::vector<Shape> shapes_;  // of the operands
  std::unique_ptr<Thunk> elsewhere_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> MakeCollectiveThunk(const Instruction& instruction,
                                                           const ThunkBuffers& buffers,
                                                           const LibraryOptions&) {
  for (const Instruction* operand : instruction.operands()) {
    if (!operand->shape().IsArray() ||
        operand->shape().element_type() != instruction.operand(0)->shape().element_type())
      return nullptr;
  }
  if ((instruction.opcode() == Opcode::kCollectivePermute &&
       !instruction.attrs<CollectivePermuteAttrs>().slice_sizes.empty()) ||
      (instruction.opcode() == Opcode::kCollectiveBroadcast &&
       instruction.attrs<CollectiveBroadcastAttrs>().has_dynamic_root))
    return nullptr;
  const auto* const kind =
      std::find_if(std::begin(kKinds), std::end(kKinds),
                   [&](const CollectiveKind& row) { return row.opcode == instruction.opcode(); });
  RET_CHECK(kind != std::end(kKinds), "`{}` is no collective", instruction.name());
  // A region that sums in another type works on converted values: the evaluator's.
  if (kind->reduces && instruction.to_apply()->parameter(0)->shape().element_type() !=
                           instruction.operand(0)->shape().element_type())
    return nullptr;
  ASSIGN_OR_RETURN(std::unique_ptr<Thunk> elsewhere, MakeEvalThunk(instruction, buffers));
  return std::make_unique<CollectiveThunk>(instruction, buffers, *kind, std::move(elsewhere));
}

}  // namespace hlo::cpu
