#include "passes/fusion/rolls.h"

#include "lib/ops/attrs.h"

namespace hlo {
namespace {

constexpr int kMostPieces = 4;

// Adds `operand`, which is `roll.array` or a slice of it, as the next piece.
bool AddPiece(const Instruction& operand, Roll& roll) {
  const bool is_slice = &operand != roll.array;
  if (is_slice && operand.opcode() != Opcode::kSlice) return false;
  const bool is_first = roll.pieces.empty();
  for (int d = 0; d < operand.shape().rank(); ++d) {
    int64_t start = 0;
    if (is_slice) {
      const auto& range = operand.attrs<SliceAttrs>().slice[static_cast<size_t>(d)];
      if (range.stride != 1) return false;
      start = range.start;
    }
    if (d == roll.dim) {
      const int64_t place = is_first ? 0 : roll.pieces.back().end;
      roll.pieces.push_back({place, place + operand.shape().dim(d), start - place});
    } else if (is_first) {
      roll.starts[static_cast<size_t>(d)] = start;
    } else if (roll.starts[static_cast<size_t>(d)] != start) {
      return false;
    }
  }
  return true;
}

// If all operands are pieces of `array`.
Roll WithPiecesOf(const Instruction* array, const Instruction& concatenate) {
  Roll roll;
  roll.array = array;
  roll.dim = concatenate.attrs<ConcatenateAttrs>().dimensions.value;
  roll.starts.resize(static_cast<size_t>(concatenate.shape().rank()));
  for (const Instruction* operand : concatenate.operands()) {
    const bool is_piece =
        operand == array || (operand->opcode() == Opcode::kSlice && operand->operand(0) == array);
    if (!is_piece || operand->shape().element_count() == 0 || !AddPiece(*operand, roll)) return {};
  }
  return roll;
}

}  // namespace

Roll RollOf(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kConcatenate || instruction.operand_count() < 2 ||
      instruction.operand_count() > kMostPieces)
    return {};
  const Instruction* const first = instruction.operand(0);
  if (first->opcode() == Opcode::kSlice) {
    Roll roll = WithPiecesOf(first->operand(0), instruction);
    if (roll.array != nullptr) return roll;
  }
  return WithPiecesOf(first, instruction);
}

namespace {

// Elements of one element of the dimension of the roll.
int64_t ElementsInside(const Roll& roll, Shape shape) {
  int64_t inside = 1;
  for (int d = static_cast<int>(roll.dim) + 1; d < shape.rank(); ++d) inside *= shape.dim(d);
  return inside;
}

}  // namespace

std::vector<int64_t> InnermostBorders(const Roll& roll, Shape shape) {
  std::vector<int64_t> borders;
  if (ElementsInside(roll, shape) > 1) return borders;
  for (size_t i = 0; i + 1 < roll.pieces.size(); ++i) borders.push_back(roll.pieces[i].end);
  return borders;
}

bool FitsLoops(const Roll& roll, Shape shape) {
  constexpr int64_t kLeastElements = 16;  // of a vector
  const int64_t inside = ElementsInside(roll, shape);
  return inside > 1 ? inside >= kLeastElements
                    : shape.dim(static_cast<int>(roll.dim)) >= 2 * kLeastElements;
}

}  // namespace hlo
