// Which instructions at the border of a conditional could move across it together, and what that
// gains.
//
// A boundary is one step of the computation there: an instruction outside, or the instructions that
// stand for it in the branches, one of each. From a seed - the roots of the branches, a reader of
// the result, an argument - a group grows: roots and arguments take in their operands, readers
// their users. A boundary joins if
//   - its instructions are the same but for their operands,
//   - all that depends on it has joined, and
//   - it may move (MotionModel, and what ties it to its place).
// The boundaries that were met and did not join are the border of the group.
//
// The gain counts ties between producers and users: those that the motion brings together less
// those that it takes apart, 10 for a producer that only its user reads, the less the more users
// the producer and operands the user have. An argument gains when not all branches read it.
//
// Each group of readers is weighed alone. Together in the branches they share producers, and what
// gained on the way in may gain on the way out again; such readers stay where they are.
#pragma once

#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "passes/control_flow/motion_model.h"

namespace hlo {

struct Boundary {
  enum class Place : uint8_t { kInside, kReader, kArgument };

  Place place = Place::kInside;
  absl::InlinedVector<Instruction*, 2> at;  // one; inside: one of each branch

  Instruction* first() const { return at[0]; }
  // The operands at `i` of its instructions.
  Boundary Operands(int i) const;
  friend bool operator==(const Boundary& a, const Boundary& b) { return a.at == b.at; }
  template <class H>
  friend H AbslHashValue(H state, const Boundary& boundary) {
    return H::combine(std::move(state), boundary.at);
  }
};

struct BoundaryGroup {
  std::vector<Boundary> moved;   // breadth first from the seed
  std::vector<Boundary> border;  // in the order met; one that has other users, too, is there twice
  int64_t gain = 0;
};

struct MotionLimits {
  bool layout_sensitive = false;
  int64_t memory_allowance = 0;    // per boundary, in units of 512 bytes
  bool converts_move_out = false;  // whoever asks moves conversions out where nothing else moves
};

struct MotionPlan {
  enum class Direction : uint8_t { kStay, kOut, kIn };

  Direction direction = Direction::kStay;
  std::vector<BoundaryGroup> groups;  // to move in that direction, in this order
  int64_t gain_out = 0;
  int64_t gain_in = 0;
  std::string obstacle;  // what stood in the way of a group that gains something
};

// What reads `result`, a tuple, otherwise than element by element; null if nothing does.
const Instruction* WholeReader(const Instruction& result);

// What to move for `conditional`, of whose result nobody is a WholeReader.
MotionPlan PlanMotion(Instruction* conditional, const MotionLimits& limits, MotionModel& model);

}  // namespace hlo
