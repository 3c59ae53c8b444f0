// What may cross the border of a conditional, and how strongly a producer and its user belong
// together.
//
// By default both are tables over opcodes, those of XLA. A search configuration changes what may
// move, for tools that search for better decisions: everything may, the gain of a motion is not
// weighed, and single answers are turned over,
//
//   start + (flips << 16) + (stride << 32)   one number, for the first conditional
//   i:start:flips:stride;i:…                 for the conditionals of these numbers, in post order
//                                            (commas do, too; several for one conditional take turns)
//
// from question `start` on, every `stride` + 1 questions, `flips` times at most. (With a negative
// number the table of what may move stays as it is.)
#pragma once

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "lib/ir/instruction.h"

namespace hlo {

class MotionModel {
 public:
  static absl::StatusOr<MotionModel> FromText(std::string_view search_config);

  // Motions are not weighed.
  bool searching() const { return searching_; }
  // Call these before the questions about a conditional and about a group of its instructions.
  void StartConditional();
  void StartGroup();
  bool MayMove(const Instruction& instruction);

  // How strong the tie between a producer and its user is, at most kTieStrength: the more `users`
  // the one and the more `operands` the other has, the weaker. Both are functions, called only
  // where they count.
  static constexpr int64_t kTieStrength = 10;
  template <class Users, class Operands>
  static int64_t TieStrength(const Instruction& producer, const Instruction& user,
                             const Users& users, const Operands& operands) {
    switch (TieOf(producer.opcode(), user.opcode())) {
      case Tie::kNone: return 0;
      case Tie::kFull: return kTieStrength;
      case Tie::kShared: break;
    }
    return kTieStrength / std::max<int64_t>(users(), 1) / std::max<int64_t>(operands(), 1);
  }

 private:
  enum class Tie : uint8_t { kNone, kFull, kShared };
  static Tie TieOf(Opcode producer, Opcode user);

  struct Flips {
    int64_t until_first = 0;
    int64_t left = 0;
    int64_t stride = 0;
    bool is_none() const { return until_first == 0 && left == 0 && stride == 0; }
  };
  static absl::StatusOr<Flips> FlipsFromNumbers(absl::Span<const int64_t> numbers);
  bool TurnOver(Opcode opcode);

  bool searching_ = false;
  std::map<int64_t, std::vector<Flips>> by_conditional_;
  int64_t conditional_ = 0;           // the number of the next one
  std::vector<Flips> flips_;          // what is left of those of this conditional or one before it
  size_t turn_ = 0;                   // which of them came last, in this group
  bool all_may_move_ = false;         // but for those turned over
  absl::flat_hash_set<Opcode> held_;  // those
  absl::flat_hash_set<Opcode> turned_over_;  // in this group
};

}  // namespace hlo
