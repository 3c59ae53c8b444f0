#include "passes/collectives/all_gather_pad_ds_simplifier.h"

#include <map>

#include "lib/analysis/device_groups.h"
#include "lib/match/pattern.h"
#include "passes/collectives/gathered_part.h"
#include "passes/util/channels.h"

namespace hlo {
namespace {

// A piece of a padded gather that holds the whole of it on one device of each group, and zeros on
// the others.
struct PieceWithAll {
  int64_t dimension = 0;
  int64_t before = 0;  // zeros in it before what was gathered
  std::vector<std::vector<int64_t>> groups;
  size_t taker = 0;  // its place in each group
};

// Zeros at one end of `dimension` alone.
bool PadsOneEndWithZeros(const Instruction& pad, int64_t dimension) {
  if (!Match(pad.operand(1), m::Zero())) return false;
  const auto& padding = pad.attrs<PadAttrs>().padding.dims;
  for (size_t d = 0; d < padding.size(); ++d) {
    const PaddingDim& here = padding[d];
    if (here.interior != 0 || here.low < 0 || here.high < 0) return false;
    const bool one_end = (here.low == 0) != (here.high == 0);
    const bool none = here.low == 0 && here.high == 0;
    if (static_cast<int64_t>(d) == dimension ? !one_end : !none) return false;
  }
  return true;
}

// Which places of a group the pieces have that hold some of [low, low + whole); none where one
// starts where a device before it does, or before it. XLA asks for that order.
std::optional<std::vector<size_t>> PlacesWithSome(const std::vector<int64_t>& group,
                                                  const std::vector<int64_t>& starts, int64_t size,
                                                  int64_t low, int64_t whole) {
  std::map<int64_t, int64_t> device_by_start;
  std::vector<size_t> places;
  for (size_t i = 0; i < group.size(); ++i) {
    const int64_t start = starts[static_cast<size_t>(group[i])];
    if (!device_by_start.emplace(start, group[i]).second) return std::nullopt;
    if (start < low + whole && start + size > low) places.push_back(i);
  }
  int64_t last = -1;
  for (const auto& [start, device] : device_by_start) {
    if (device <= last) return std::nullopt;
    last = device;
  }
  return places;
}

// Finds who takes what its group has gathered: one device, at the same place and from the same
// start in each.
bool FindTaker(const std::vector<int64_t>& starts, int64_t size, int64_t low, int64_t whole,
               PieceWithAll& piece) {
  std::optional<std::pair<size_t, int64_t>> taker;  // with its start
  for (const std::vector<int64_t>& group : piece.groups) {
    const auto places = PlacesWithSome(group, starts, size, low, whole);
    if (!places || places->size() != 1 || group.size() != piece.groups[0].size()) return false;
    const int64_t start = starts[static_cast<size_t>(group[places->front()])];
    if (start > low || start + size < low + whole) return false;
    if (taker && *taker != std::pair(places->front(), start)) return false;
    taker = {places->front(), start};
  }
  if (!taker) return false;
  piece.taker = taker->first;
  piece.before = low - taker->second;
  return true;
}

std::optional<PieceWithAll> FindPiece(const Instruction& slice) {
  const Instruction& pad = *slice.operand(0);
  const std::optional<int64_t> dimension = CutDimension(slice);
  if (pad.opcode() != Opcode::kPad || !dimension || !PadsOneEndWithZeros(pad, *dimension) ||
      !IsGatherOfPartitions(*pad.operand(0), *dimension))
    return std::nullopt;
  const auto d = static_cast<size_t>(*dimension);
  const Instruction& gather = *pad.operand(0);
  const int64_t low = pad.attrs<PadAttrs>().padding.dims[d].low;
  const int64_t whole = gather.shape().dim(static_cast<int>(d));
  const int64_t size = slice.shape().dim(static_cast<int>(d));
  const auto starts = StartsFromTable(slice, *dimension);
  PieceWithAll piece;
  piece.dimension = *dimension;
  piece.groups = DeviceGroups(gather);
  if (!starts || whole == 0 || size < whole || !FindTaker(*starts, size, low, whole, piece))
    return std::nullopt;
  return piece;
}

// The part of the device at `place` of its group, on the devices that take it.
Instruction* PartFrom(size_t place, const PieceWithAll& piece, const Instruction& gather,
                      Rewriter& rewriter) {
  if (place == piece.taker) return gather.operand(0);
  DevicePairs pairs;
  for (const std::vector<int64_t>& group : piece.groups)
    pairs.push_back({group[place], group[piece.taker]});
  // XLA adds the groups at the front.
  absl::c_reverse(pairs);
  return SendPart(gather, std::move(pairs), NextChannelId(rewriter.module()), rewriter);
}

// Whether this device takes what its group has gathered.
Instruction* IsTaker(const PieceWithAll& piece, int64_t partitions, Rewriter& b) {
  Literal list(Shape::Array(ElementType::kS64, {partitions}));
  for (int64_t i = 0; i < partitions; ++i) list.SetInt(i, 0);
  for (const std::vector<int64_t>& group : piece.groups) list.SetInt(group[piece.taker], 1);
  Instruction* const table = b.Constant(std::move(list));
  Instruction* const partition =
      b.OpWithShape(Opcode::kPartitionId, Shape::Scalar(ElementType::kU32), {});
  Instruction* const mark = b.Reshape(b.DynamicSlice(table, {partition}, {1}), {});
  return b.Compare(mark, b.ConstantLike(mark, 1), ComparisonDirection::kEq);
}

}  // namespace

bool AllGatherPadDsSimplifier::Matches(const Instruction& slice) const {
  return FindPiece(slice).has_value();
}

absl::StatusOr<Instruction*> AllGatherPadDsSimplifier::Expand(Instruction* slice, Rewriter& b) {
  const PieceWithAll piece = *FindPiece(*slice);
  const Instruction& gather = *slice->operand(0)->operand(0);
  Instruction* const zero = slice->operand(0)->operand(1);
  const auto zeros = [&](int64_t count) {
    DimVec sizes(slice->shape().dims().begin(), slice->shape().dims().end());
    sizes[static_cast<size_t>(piece.dimension)] = count;
    return b.Broadcast(zero, sizes, {});
  };
  const int dimension = static_cast<int>(piece.dimension);
  const int64_t whole = gather.shape().dim(dimension);
  const int64_t size = slice->shape().dim(dimension);
  std::vector<Instruction*> parts;
  if (piece.before > 0) parts.push_back(zeros(piece.before));
  for (size_t place = 0; place < piece.groups[0].size(); ++place)
    parts.push_back(PartFrom(place, piece, gather, b));
  if (size > piece.before + whole) parts.push_back(zeros(size - piece.before - whole));
  Instruction* const all = b.Concatenate(parts, piece.dimension);
  Instruction* const takes = IsTaker(piece, slice->module().config().num_partitions, b);
  return b.OpWithShape(Opcode::kSelect, slice->shape(), {takes, all, zeros(size)});
}

HLO_DEFINE_PASS(AllGatherPadDsSimplifier)

}  // namespace hlo
