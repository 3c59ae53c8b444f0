#include "passes/control_flow/branch_groups.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/ir/compare.h"
#include "lib/ir/module.h"
#include "passes/control_flow/branch_returns.h"

namespace hlo {
namespace {

using Place = Boundary::Place;

// Chains of users that are followed to the conditional; longer ones count as leading nowhere.
constexpr int kLongestChain = 1000;

Instruction* FirstUser(const Instruction& producer) {
  Instruction* first = nullptr;
  for (const Use& use : producer.uses()) {
    if (first == nullptr || use.user->id() < first->id()) first = use.user;
  }
  return first;
}

bool IsMadeByTuple(const Computation& branch) { return branch.root()->opcode() == Opcode::kTuple; }

// The growth of the groups of one conditional.
class GroupFinder {
 public:
  GroupFinder(Instruction* conditional, const MotionLimits& limits, MotionModel& model)
      : conditional_(conditional), limits_(limits), model_(model) {
    for (Instruction* read : conditional->users()) {
      if (read->opcode() == Opcode::kGetTupleElement && read->has_uses())
        readers_of_element_.emplace(read->tuple_index(), FirstUser(*read));
    }
    for (const Computation* branch : conditional->calls()) {
      for (const Instruction* instruction : branch->instructions())
        has_outfeed_ = has_outfeed_ || instruction->opcode() == Opcode::kOutfeed;
    }
  }

  MotionPlan Find() {
    MotionPlan plan;
    std::vector<BoundaryGroup> out, in;
    absl::flat_hash_set<Boundary> seen;
    for (const Boundary& seed : Seeds()) {
      if (!seen.insert(seed).second) continue;
      BoundaryGroup group = Grow(seed);
      if (group.moved.empty()) continue;
      if (!Gains(group, plan.obstacle)) {
        for (const Boundary& boundary : group.border) met_.erase(boundary.first());
        continue;
      }
      const bool inside = seed.place == Place::kInside;
      (inside ? plan.gain_out : plan.gain_in) += group.gain;
      (inside ? out : in).push_back(std::move(group));
      if (inside == (plan.gain_out >= plan.gain_in))
        plan.direction = inside ? MotionPlan::Direction::kOut : MotionPlan::Direction::kIn;
    }
    if (plan.direction == MotionPlan::Direction::kIn && !model_.searching()) {
      DropReturningReaders(*conditional_, out.empty() ? 0 : plan.gain_out,
                           limits_.converts_move_out, in);
      plan.gain_in = 0;
      for (const BoundaryGroup& group : in) plan.gain_in += group.gain;
      if (in.empty() || (!out.empty() && plan.gain_out >= plan.gain_in))
        plan.direction = out.empty() ? MotionPlan::Direction::kStay : MotionPlan::Direction::kOut;
    }
    if (plan.direction == MotionPlan::Direction::kOut) plan.groups = std::move(out);
    if (plan.direction == MotionPlan::Direction::kIn) plan.groups = std::move(in);
    return plan;
  }

 private:
  // The result of a conditional that is its computation's keeps its shape.
  std::vector<Boundary> Seeds() const {
    std::vector<Boundary> seeds;
    const std::vector<Computation*> branches = conditional_->calls();
    if (!conditional_->is_root()) {
      if (conditional_->shape().IsTuple() &&
          absl::c_all_of(branches,
                         [](const Computation* branch) { return IsMadeByTuple(*branch); })) {
        Boundary roots;
        for (const Computation* branch : branches) roots.at.push_back(branch->root());
        seeds.push_back(std::move(roots));
      }
      // There is no element for what others than the one reader of an array need.
      if (conditional_->shape().IsTuple() || conditional_->has_one_user()) {
        for (Instruction* reader : conditional_->users())
          seeds.push_back({Place::kReader, {reader}});
      }
    }
    if (absl::c_all_of(branches, [](const Computation* branch) {
          return branch->parameter(0)->sharding() == nullptr;
        })) {
      for (int i = 1; i < conditional_->operand_count(); ++i)
        seeds.push_back({Place::kArgument, {conditional_->operand(i)}});
    }
    return seeds;
  }

  BoundaryGroup Grow(const Boundary& seed) {
    model_.StartGroup();
    memory_ = 0;
    in_border_.clear();
    BoundaryGroup group;
    std::vector<Boundary> queue = {seed};
    absl::flat_hash_set<Boundary> seen;
    for (size_t next = 0; next < queue.size(); ++next) {
      const Boundary boundary = queue[next];
      if (!seen.insert(boundary).second) continue;
      if (Joins(boundary, group)) {
        memory_ -= MemoryOf(*boundary.first());
        Spread(boundary, queue);
        group.moved.push_back(boundary);
      } else if (IsSharedBroadcast(boundary, group)) {
        const Instruction& broadcast = *boundary.first();
        memory_ -= MemoryOf(broadcast) - MemoryOf(*broadcast.operand(0));
        group.moved.push_back(boundary);
      } else {
        met_[boundary.first()] = 1;
        AddToBorder(boundary, group);
      }
    }
    return group;
  }

  // Appends what may join after `boundary`.
  void Spread(const Boundary& boundary, std::vector<Boundary>& queue) {
    const size_t old_size = queue.size();
    if (boundary.place == Place::kReader) {
      for (Instruction* user : boundary.first()->users()) queue.push_back({Place::kReader, {user}});
    } else {
      for (int i = 0; i < boundary.first()->operand_count(); ++i)
        queue.push_back(boundary.Operands(i));
    }
    for (size_t i = old_size; i < queue.size(); ++i) memory_ += MemoryOf(*queue[i].first());
  }

  bool Joins(const Boundary& boundary, BoundaryGroup& group) {
    if (boundary.place == Place::kInside && !AllTheSame(boundary)) return false;
    return DependentsHaveJoined(boundary, group) && MayCross(boundary) &&
           model_.MayMove(*boundary.first());
  }

  // Equal operations on operands of equal shapes; of all-reduces on channels, the channels may
  // differ.
  bool AllTheSame(const Boundary& boundary) const {
    const Instruction& first = *boundary.first();
    return std::all_of(boundary.at.begin() + 1, boundary.at.end(), [&](Instruction* other) {
      if (other == &first) return true;
      if (other->opcode() != first.opcode() || other->operand_count() != first.operand_count())
        return false;
      for (int i = 0; i < first.operand_count(); ++i) {
        if (!SameShape(first.operand(i)->shape(), other->operand(i)->shape())) return false;
      }
      return SameApartFromChannel(first, other);
    });
  }

  bool SameShape(Shape a, Shape b) const {
    return limits_.layout_sensitive ? a == b : Compatible(a, b);
  }

  bool SameApartFromChannel(const Instruction& first, Instruction* other) const {
    CompareOptions options;
    options.layout_sensitive = limits_.layout_sensitive;
    if (first.opcode() != Opcode::kAllReduce || !first.attrs<AllReduceAttrs>().channel_id ||
        !other->attrs<AllReduceAttrs>().channel_id)
      return SameNode(first, *other, options);
    const AttrsPtr own = other->attrs_ptr();
    AllReduceAttrs attrs = other->attrs<AllReduceAttrs>();
    attrs.channel_id = first.attrs<AllReduceAttrs>().channel_id;
    other->SetAttrs(std::move(attrs));
    const bool same = SameNode(first, *other, options);
    other->SetAttrsPtr(own);
    return same;
  }

  // Of several dependents the last one that leads here finds that all have joined; before, the
  // boundary belongs to the border. Dependents in other groups count as well.
  bool DependentsHaveJoined(const Boundary& boundary, BoundaryGroup& group) {
    Instruction* first = boundary.first();
    const int64_t dependents =
        boundary.place == Place::kReader ? OperandCount(*first) : UserCount(*first);
    if (dependents <= 1) {
      // The index of the conditional stays outside.
      return boundary.place != Place::kArgument || first != conditional_->operand(0);
    }
    const auto [met, is_new] = met_.try_emplace(first, 1);
    if (is_new) {
      AddToBorder(boundary, group);
      return false;
    }
    const bool was_there = in_border_.contains(boundary);
    if ((!was_there && boundary.at.size() != 1) || ++met->second != dependents) return false;
    met_.erase(met);
    if (was_there) group.border.erase(absl::c_find(group.border, boundary));
    return true;
  }

  void AddToBorder(const Boundary& boundary, BoundaryGroup& group) {
    in_border_.insert(boundary);
    group.border.push_back(boundary);
  }

  // What ties no instruction of `boundary` to its place.
  bool MayCross(const Boundary& boundary) const {
    const Instruction& first = *boundary.first();
    const Opcode opcode = first.opcode();
    // A bitcast reads layouts, which may differ here and there; a fusion owns its computation.
    if (opcode == Opcode::kParameter || opcode == Opcode::kFusion || opcode == Opcode::kBitcast ||
        HasTrait(opcode, kControlFlow) || HasTrait(opcode, kAsyncStart) ||
        HasTrait(opcode, kAsyncDone) || (!first.shape().IsArray() && !first.shape().IsTuple()))
      return false;
    if (absl::c_any_of(boundary.at, [](const Instruction* at) { return at->has_control_edges(); }))
      return false;
    if (boundary.place == Place::kInside) return MayLeaveBranches(boundary);
    if (HasTrait(opcode, kCollective) || first.HasSideEffect()) return false;
    // A result of a computation that is read as a whole.
    if (opcode == Opcode::kTuple && first.is_root()) return false;
    if (boundary.place == Place::kReader) return opcode != Opcode::kBroadcast;
    if (opcode == Opcode::kGetTupleElement || first.is_root() || !first.has_one_user())
      return false;
    // What the tree of tuples is that an argument may be.
    const Instruction* user = first.uses()[0].user;
    return opcode != Opcode::kTuple || (first.sharding() == nullptr &&
                                        (user == conditional_ || user->opcode() == Opcode::kTuple));
  }

  bool MayLeaveBranches(const Boundary& boundary) const {
    const Instruction& first = *boundary.first();
    // What it broadcasts is small and should not stay behind.
    if (first.opcode() == Opcode::kBroadcast) return AllTheSame(boundary.Operands(0));
    if (!first.HasSideEffect()) return true;
    // Where other instructions of a branch need it, it would run twice.
    return (first.opcode() == Opcode::kAllReduce || first.opcode() == Opcode::kReduceScatter) &&
           absl::c_all_of(boundary.at, [](const Instruction* at) { return at->has_one_user(); });
  }

  // A broadcast that others need, too, may be made again in the branches for the boundary that
  // joined last.
  static bool IsSharedBroadcast(const Boundary& boundary, const BoundaryGroup& group) {
    const Instruction& broadcast = *boundary.first();
    if (boundary.place != Place::kArgument || broadcast.opcode() != Opcode::kBroadcast ||
        broadcast.has_control_edges() || group.moved.size() < 2)
      return false;
    const Instruction* last = group.moved.back().first();
    return last->opcode() != Opcode::kTuple &&
           absl::c_any_of(broadcast.uses(), [&](const Use& use) { return use.user == last; });
  }

  // In units of 512 bytes; only what is reduced or made by reductions counts, and everything where
  // outfeeds keep data.
  int64_t MemoryOf(const Instruction& instruction) const {
    const int64_t size = instruction.shape().byte_size() >> 9;
    if (size == 0 || has_outfeed_ || instruction.opcode() == Opcode::kReduce) return size;
    const bool is_reduced = absl::c_any_of(
        instruction.uses(), [](const Use& use) { return use.user->opcode() == Opcode::kReduce; });
    return is_reduced ? size : 0;
  }

  // ---- gains ----

  // Sets the gain and says whether there is one.
  bool Gains(BoundaryGroup& group, std::string& obstacle) {
    group.gain = GainOf(group);
    if (group.gain < 0) return false;
    const auto count = static_cast<int64_t>(group.moved.size());
    if (memory_ <= 0 || memory_ / count <= limits_.memory_allowance) return true;
    obstacle = fmt::format("moving `{}` would take {} bytes more of memory for each instruction",
                           group.moved.back().first()->name(), (memory_ / count) << 9);
    return false;
  }

  int64_t GainOf(const BoundaryGroup& group) {
    const Place place = group.moved[0].place;
    const bool only_tuples = absl::c_all_of(group.moved, [](const Boundary& boundary) {
      return boundary.first()->opcode() == Opcode::kTuple;
    });
    const bool only_read =
        group.moved.size() == 1 && group.moved[0].first()->opcode() == Opcode::kGetTupleElement;
    if (place == Place::kReader ? only_read : only_tuples) return -1;
    if (model_.searching()) return 1;
    int64_t apart = 0, together = 0, folded = 0;
    for (const Boundary& boundary : group.moved) {
      const Instruction& moved = *boundary.first();
      if (&moved == conditional_->call(0)->root()) continue;
      apart += TiesToProducers(moved);
      together += place == Place::kArgument ? TiesInBranches(moved) : TiesToUser(moved);
      if (place == Place::kReader) folded += FoldedCopies(moved);
    }
    if (apart == 0 && together == 0 && folded == 0) return -1;
    if (place == Place::kInside) return together - apart;
    if (place == Place::kReader) return apart - together - 1 + folded;
    return together > 0 ? 1 : 0;
  }

  int64_t TieStrength(const Instruction& producer, const Instruction& user) {
    return MotionModel::TieStrength(
        producer, user, [&] { return UserCount(producer); }, [&] { return OperandCount(user); });
  }

  // Between `moved` and what it reads that does not move.
  int64_t TiesToProducers(const Instruction& moved) {
    int64_t ties = 0;
    for (const Instruction* producer : moved.operands()) {
      if (producer != conditional_ && !met_.contains(producer)) continue;
      if (moved.opcode() != Opcode::kGetTupleElement) {
        ties += TieStrength(*producer, moved);
        continue;
      }
      const Instruction* user = FirstUser(moved);
      if (user == nullptr) continue;
      if (producer->opcode() == Opcode::kConditional && IsMadeByTuple(*producer->call(0)))
        producer = producer->call(0)->root()->operand(static_cast<int>(moved.tuple_index()));
      ties += TieStrength(*producer, *user);
    }
    return ties;
  }

  // Between `moved` and its only user, across the border or outside the group.
  int64_t TiesToUser(const Instruction& moved) {
    if (moved.opcode() == Opcode::kConstant || !moved.has_one_user()) return 0;
    const Instruction* user = moved.uses()[0].user;
    if (user == conditional_->call(0)->root()) {
      const auto reader = readers_of_element_.find(FirstIndexOf(moved, *user));
      return reader == readers_of_element_.end() ? 0 : TieStrength(moved, *reader->second);
    }
    return met_.contains(user) ? TieStrength(moved, *user) : 0;
  }

  static int64_t FirstIndexOf(const Instruction& operand, const Instruction& user) {
    int64_t first = user.operand_count();
    for (const Use& use : operand.uses()) {
      if (use.user == &user) first = std::min<int64_t>(first, use.operand_index);
    }
    return first;
  }

  // What makes an argument should be in the branches if not all of them read it.
  int64_t TiesInBranches(const Instruction& moved) {
    const Instruction* value = &moved;
    int64_t index = 0;  // in the outermost tuple
    for (int i = 0; i <= kLongestChain; ++i) {
      if (value->opcode() == Opcode::kConstant) return 0;
      const Instruction* user = FirstUser(*value);
      if (user == nullptr) return 0;
      if (user->opcode() == Opcode::kConditional)
        return BranchesReading(*value, index) < conditional_->call_count()
                   ? MotionModel::kTieStrength
                   : 0;
      if (user->opcode() == Opcode::kTuple) index = FirstIndexOf(*value, *user);
      value = user;
    }
    return 0;
  }

  int BranchesReading(const Instruction& argument, int64_t index) {
    int count = 0;
    for (int i = 0; i < conditional_->call_count(); ++i) {
      if (conditional_->operand(i + 1) != &argument) continue;
      const Instruction& parameter = *conditional_->call(i)->parameter(0);
      const bool reads = parameter.shape().IsTuple()
                             ? ElementsReadIn(static_cast<size_t>(i), parameter).contains(index)
                             : parameter.has_uses();
      if (parameter.is_root() || reads) ++count;
    }
    return count;
  }

  const absl::flat_hash_set<int64_t>& ElementsReadIn(size_t branch, const Instruction& parameter) {
    if (elements_read_.empty())
      elements_read_.resize(static_cast<size_t>(conditional_->call_count()));
    absl::flat_hash_set<int64_t>& elements = elements_read_[branch];
    if (elements.empty()) {
      for (const Use& use : parameter.uses()) {
        if (use.user->opcode() == Opcode::kGetTupleElement)
          elements.insert(use.user->tuple_index());
      }
    }
    return elements;
  }

  // A copy of an element that is a copy in a branch is one copy there.
  int64_t FoldedCopies(const Instruction& copy) const {
    if (copy.opcode() != Opcode::kCopy) return 0;
    const Instruction& read = *copy.operand(0);
    if (read.opcode() != Opcode::kGetTupleElement || read.operand(0) != conditional_) return 0;
    int64_t folded = 0;
    for (const Computation* branch : conditional_->calls()) {
      if (!IsMadeByTuple(*branch)) continue;
      const Instruction& element = *branch->root()->operand(static_cast<int>(read.tuple_index()));
      if (element.opcode() == Opcode::kCopy && element.operand(0)->shape() == copy.shape())
        folded += MotionModel::kTieStrength;
    }
    return folded;
  }

  // ---- counts, remembered: many edges lead to the same instruction ----

  static int64_t CountDistinct(std::vector<const Instruction*> instructions) {
    absl::c_sort(instructions);
    return std::unique(instructions.begin(), instructions.end()) - instructions.begin();
  }

  // Operands that are no constants.
  int64_t OperandCount(const Instruction& user) {
    const auto [known, is_new] = operand_counts_.try_emplace(&user, 0);
    if (is_new) {
      std::vector<const Instruction*> operands;
      for (const Instruction* operand : user.operands()) {
        if (!operand->IsConstant()) operands.push_back(operand);
      }
      known->second = CountDistinct(std::move(operands));
    }
    return known->second;
  }

  int64_t UserCount(const Instruction& producer) const {
    if (!producer.has_uses()) return 0;
    if (producer.has_one_user()) return 1;
    const auto [known, is_new] = user_counts_.try_emplace(&producer, 0);
    if (is_new) known->second = static_cast<int64_t>(producer.users().size());
    return known->second;
  }
  Instruction* conditional_;
  const MotionLimits& limits_;
  MotionModel& model_;
  absl::flat_hash_map<int64_t, const Instruction*> readers_of_element_;
  bool has_outfeed_ = false;
  std::vector<absl::flat_hash_set<int64_t>> elements_read_;  // of each branch's parameter
  // What was met and stays, with the number of its dependents that have joined.
  absl::flat_hash_map<const Instruction*, int64_t> met_;
  absl::flat_hash_map<const Instruction*, int64_t> operand_counts_;
  mutable absl::flat_hash_map<const Instruction*, int64_t> user_counts_;
  // Of the group that grows.
  absl::flat_hash_set<Boundary> in_border_;
  int64_t memory_ = 0;
};

}  // namespace

Boundary Boundary::Operands(int i) const {
  Boundary result;
  result.place = place;
  for (const Instruction* instruction : at) result.at.push_back(instruction->operand(i));
  return result;
}

const Instruction* WholeReader(const Instruction& result) {
  if (!result.shape().IsTuple()) return nullptr;
  for (const Use& use : result.uses()) {
    if (use.user->opcode() != Opcode::kGetTupleElement) return use.user;
  }
  return nullptr;
}

MotionPlan PlanMotion(Instruction* conditional, const MotionLimits& limits, MotionModel& model) {
  model.StartConditional();
  return GroupFinder(conditional, limits, model).Find();
}

}  // namespace hlo
