#include "passes/control_flow/motion_model.h"

#include <optional>

#include "lib/ops/opcode_groups.h"
#include "lib/ops/opcode_set.h"
#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"

namespace hlo {
namespace {

constexpr int64_t kMostFlips = 0x7fff;  // each number has 16 bits, one of them a sign

// What moves besides elementwise operations.
constexpr OpcodeSet kMayMove = {Opcode::kAllReduce,
                                Opcode::kReduceScatter,
                                Opcode::kReduce,
                                Opcode::kConstant,
                                Opcode::kReshape,
                                Opcode::kBroadcast,
                                Opcode::kSlice,
                                Opcode::kPad,
                                Opcode::kDynamicSlice,
                                Opcode::kGather,
                                Opcode::kDynamicUpdateSlice,
                                Opcode::kBitcastConvert};

// A conversion stays with what it can be fused with, a product above all: it moves only when it
// converts one of these.
constexpr OpcodeSet kConvertLeaves = {Opcode::kAllReduce, Opcode::kReshape,
                                      Opcode::kGetTupleElement};

bool WorthMoving(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  const auto reads = [&](const OpcodeSet& opcodes) {
    return instruction.operand_count() > 0 && opcodes.Has(instruction.operand(0)->opcode());
  };
  if (opcode == Opcode::kConvert) return reads(kConvertLeaves);
  if (opcode == Opcode::kGetTupleElement || opcode == Opcode::kTuple)
    return !reads({Opcode::kParameter});
  return kMayMove.Has(opcode) || HasTrait(opcode, kElementwise);
}

std::optional<int64_t> IntegerOf(std::string_view text) { return ReadNumber<int64_t>(Trim(text)); }

}  // namespace

MotionModel::Tie MotionModel::TieOf(Opcode producer, Opcode user) {
  if (user == Opcode::kGetTupleElement) return Tie::kNone;
  // A conversion of a product does not move, so the border between them costs nothing.
  if (user == Opcode::kConvert && kMatrixProducts.Has(producer)) return Tie::kNone;
  if (producer == Opcode::kParameter || producer == Opcode::kConstant ||
      producer == Opcode::kGetTupleElement)
    return Tie::kNone;
  return producer == Opcode::kConditional ? Tie::kFull : Tie::kShared;
}

absl::StatusOr<MotionModel::Flips> MotionModel::FlipsFromNumbers(
    absl::Span<const int64_t> numbers) {
  for (const int64_t number : numbers) {
    if (number < 0 || number > kMostFlips)
      return Error("`search_config` has {}, expected a number from 0 to {}", number, kMostFlips);
  }
  return Flips{numbers[0], numbers[1], numbers[2]};
}

absl::StatusOr<MotionModel> MotionModel::FromText(std::string_view search_config) {
  MotionModel model;
  if (const std::optional<int64_t> number = IntegerOf(search_config)) {
    model.searching_ = *number != 0;
    if (*number <= 0) return model;
    ASSIGN_OR_RETURN(const Flips flips,
                     FlipsFromNumbers({*number & 0xffff, *number >> 16 & 0xffff, *number >> 32}));
    model.by_conditional_[0].push_back(flips);
    return model;
  }
  if (Trim(search_config).empty()) return model;
  model.searching_ = true;
  for (const std::string_view part : Split(search_config, ';')) {
    std::vector<int64_t> numbers;
    for (const std::string_view word : Split(part, part.find(':') != part.npos ? ':' : ',')) {
      const std::optional<int64_t> number = IntegerOf(word);
      if (!number)
        return Error("`search_config` has `{}`, expected a number or `i:start:flips:stride`", part);
      numbers.push_back(*number);
    }
    if (numbers.size() != 4)
      return Error("`search_config` has `{}`, expected `i:start:flips:stride`", part);
    ASSIGN_OR_RETURN(const Flips flips, FlipsFromNumbers(absl::MakeSpan(numbers).subspan(1)));
    model.by_conditional_[numbers[0]].push_back(flips);
  }
  return model;
}

void MotionModel::StartConditional() {
  const auto found = by_conditional_.find(conditional_++);
  if (found != by_conditional_.end()) flips_ = found->second;
  all_may_move_ = !flips_.empty() && !flips_[0].is_none();
  held_.clear();
}

void MotionModel::StartGroup() {
  turn_ = 0;
  turned_over_.clear();
}

// Counts one question and says whether its answer is to be turned over.
bool MotionModel::TurnOver(Opcode opcode) {
  Flips& now = flips_[0];
  if (now.is_none() || turned_over_.contains(opcode)) return false;
  if (now.until_first > 0) {
    --now.until_first;
    return false;
  }
  if (now.left > 0) {
    --now.left;
  } else if (turn_ + 1 < flips_.size()) {
    now = flips_[++turn_];
  } else {
    return false;
  }
  now.until_first += now.stride;
  turned_over_.insert(opcode);
  return true;
}

bool MotionModel::MayMove(const Instruction& instruction) {
  if (!all_may_move_) return WorthMoving(instruction);
  const Opcode opcode = instruction.opcode();
  if (TurnOver(opcode) && !held_.erase(opcode)) held_.insert(opcode);
  return !held_.contains(opcode);
}

}  // namespace hlo
