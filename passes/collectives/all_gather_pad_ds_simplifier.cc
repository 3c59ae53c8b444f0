#include "passes/collectives/all_gather_pad_ds_simplifier.h"

#include "lib/match/pattern.h"
#include "passes/collectives/gathered_part.h"
#include "passes/collectives/own_part.h"

namespace hlo {
namespace {

// A piece of a padded gather that holds the whole of it on some devices, zeros on the others.
struct PieceWithAll {
  int64_t dimension = 0;
  int64_t start = 0;   // of the piece in the padded array, on devices that take it
  int64_t before = 0;  // zeros in it before what was gathered
  std::vector<std::vector<int64_t>> groups;
  std::vector<std::pair<size_t, int64_t>> takers;  // group and device
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

// The devices of a group that take what it gathered: one at most, from the same place everywhere.
bool FindTakers(const OwnPart& part, int64_t low, int64_t whole, PieceWithAll& piece) {
  size_t devices = 0;
  for (size_t g = 0; g < piece.groups.size(); ++g) {
    bool is_taken = false;
    for (const int64_t device : piece.groups[g]) {
      ++devices;
      const int64_t start = part.place_of_device[static_cast<size_t>(device)] * part.size;
      if (start >= low + whole || start + part.size <= low) continue;
      const bool is_first = piece.takers.empty();
      if (is_taken || start > low || start + part.size < low + whole ||
          (!is_first && start != piece.start))
        return false;
      is_taken = true;
      piece.start = start;
      piece.takers.emplace_back(g, device);
    }
  }
  return devices == part.place_of_device.size() && !piece.takers.empty();
}

std::optional<PieceWithAll> FindPiece(const Instruction& slice) {
  const Instruction& pad = *slice.operand(0);
  if (pad.opcode() != Opcode::kPad || pad.use_count() != 1 || pad.is_root()) return std::nullopt;
  const std::optional<OwnPart> part = FindOwnPart(slice);
  if (!part || !PadsOneEndWithZeros(pad, part->dimension)) return std::nullopt;
  const Instruction& gather = *pad.operand(0);
  if (!IsGatherOfParts(gather, part->dimension)) return std::nullopt;
  const int64_t low = pad.attrs<PadAttrs>().padding.dims[static_cast<size_t>(part->dimension)].low;
  const int64_t whole = gather.shape().dim(static_cast<int>(part->dimension));
  PieceWithAll piece;
  piece.dimension = part->dimension;
  piece.groups = DeviceGroups(gather);
  if (whole == 0 || !FindTakers(*part, low, whole, piece)) return std::nullopt;
  piece.before = low - piece.start;
  return piece;
}

// The part of the device at `place` of its group, on the devices that take it.
Instruction* PartFrom(size_t place, const PieceWithAll& piece, const Instruction& gather,
                      Rewriter& rewriter) {
  DevicePairs pairs;
  bool are_own = true;
  for (const auto& [group, taker] : piece.takers) {
    const int64_t owner = piece.groups[group][place];
    pairs.push_back({owner, taker});
    are_own = are_own && owner == taker;
  }
  return are_own ? gather.operand(0) : SendPart(gather, std::move(pairs), rewriter);
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
  Instruction* const start = slice->operand(dimension + 1);
  Instruction* const takes = b.Compare(
      start, b.ConstantLike(start, static_cast<double>(piece.start)), ComparisonDirection::kEq);
  Instruction* const takes_everywhere = b.Broadcast(takes, slice->shape().dims(), {});
  return b.Select(takes_everywhere, all, zeros(size));
}

HLO_DEFINE_PASS(AllGatherPadDsSimplifier)

}  // namespace hlo
