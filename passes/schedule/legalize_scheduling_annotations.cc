#include "passes/schedule/legalize_scheduling_annotations.h"

#include <map>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/ir/async_chain.h"
#include "passes/util/scheduling_annotation.h"

namespace hlo {
namespace {

constexpr OpcodeSet kAsynchronous = {Opcode::kAllGatherStart,
                                     Opcode::kAllGatherDone,
                                     Opcode::kAllReduceStart,
                                     Opcode::kAllReduceDone,
                                     Opcode::kCollectivePermuteStart,
                                     Opcode::kCollectivePermuteDone,
                                     Opcode::kAsyncStart,
                                     Opcode::kAsyncDone,
                                     Opcode::kSend,
                                     Opcode::kSendDone,
                                     Opcode::kRecv,
                                     Opcode::kRecvDone};
constexpr OpcodeSet kDonesOfGroups = {Opcode::kAllGatherDone, Opcode::kAllReduceDone,
                                      Opcode::kCollectivePermuteDone, Opcode::kAsyncDone};
// Collectives that may become asynchronous.
constexpr OpcodeSet kCollectives = {Opcode::kAllGather, Opcode::kAllReduce, Opcode::kReduceScatter,
                                    Opcode::kRaggedAllToAll, Opcode::kCollectivePermute};

using InstructionSet = absl::flat_hash_set<const Instruction*>;
using Members = std::vector<Instruction*>;
// Members of groups in post-order.
using Groups = std::map<SchedulingAnnotation, Members>;

struct Annotated {
  Computation* computation;
  Groups groups;
};

absl::StatusOr<Groups> GroupsOf(const Computation& computation) {
  Groups groups;
  for (Instruction* instruction : computation.PostOrder()) {
    ASSIGN_OR_RETURN(const std::optional<SchedulingAnnotation> annotation,
                     SchedulingAnnotationOf(*instruction));
    if (annotation) groups[*annotation].push_back(instruction);
  }
  return groups;
}

// What runs after `instruction`, or before it.
std::vector<Instruction*> Neighbours(const Instruction& instruction, bool after) {
  std::vector<Instruction*> all = after ? instruction.users() : instruction.operand_vector();
  const auto edges = after ? instruction.control_successors() : instruction.control_predecessors();
  all.insert(all.end(), edges.begin(), edges.end());
  return all;
}

// All that runs after some member, or before one, each with the one by which it was found.
absl::flat_hash_map<const Instruction*, const Instruction*> Reached(const Members& members,
                                                                    bool after) {
  absl::flat_hash_map<const Instruction*, const Instruction*> from;
  std::vector<const Instruction*> stack(members.begin(), members.end());
  while (!stack.empty()) {
    const Instruction* top = stack.back();
    stack.pop_back();
    for (const Instruction* next : Neighbours(*top, after)) {
      if (from.emplace(next, top).second) stack.push_back(next);
    }
  }
  return from;
}

// What lies between two members, in post-order.
std::vector<Instruction*> Between(const Computation& computation, const Members& members) {
  if (members.size() < 2) return {};
  const auto after = Reached(members, /*after=*/true);
  const auto before = Reached(members, /*after=*/false);
  const InstructionSet inside(members.begin(), members.end());
  std::vector<Instruction*> between;
  for (Instruction* instruction : computation.PostOrder()) {
    if (after.contains(instruction) && before.contains(instruction) &&
        !inside.contains(instruction))
      between.push_back(instruction);
  }
  return between;
}

// ---- what runs in the background ----

// Copies aside, nothing happens in the background.
bool OnlyCopies(const Instruction& half) {
  const Instruction* const start =
      half.opcode() == Opcode::kAsyncStart ? &half : AsyncStartOf(half);
  if (start == nullptr) return false;
  const Computation* body = start->call(0);
  // A call stands for what it calls.
  if (body->root()->call_count() > 0) body = body->root()->call(0);
  for (const Instruction* inside : body->instructions()) {
    const Opcode opcode = inside->opcode();
    const bool is_half = opcode == Opcode::kAsyncStart || opcode == Opcode::kAsyncDone;
    if (is_half ? !OnlyCopies(*inside) : opcode != Opcode::kCopy && opcode != Opcode::kParameter)
      return false;
  }
  return true;
}

bool IsAsynchronous(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kAsyncStart || opcode == Opcode::kAsyncDone)
    return !OnlyCopies(instruction);
  return kAsynchronous.Has(opcode);
}

bool MayBeAsynchronous(const Instruction& instruction) {
  return kCollectives.Has(instruction.opcode()) || IsAsynchronous(instruction);
}

// ---- checks ----

absl::Status CheckNoCycles(const Groups& groups) {
  std::map<SchedulingAnnotation, absl::flat_hash_map<const Instruction*, const Instruction*>> after;
  for (const auto& [group, members] : groups) after[group] = Reached(members, /*after=*/true);
  const auto first_after = [&](const SchedulingAnnotation& a, const Members& b) {
    for (const Instruction* member : b) {
      if (after.at(a).contains(member)) return member;
    }
    return static_cast<const Instruction*>(nullptr);
  };
  for (auto a = groups.begin(); a != groups.end(); ++a) {
    for (auto b = std::next(a); b != groups.end(); ++b) {
      const Instruction* of_b = first_after(a->first, b->second);
      const Instruction* of_a = of_b != nullptr ? first_after(b->first, a->second) : nullptr;
      if (of_a == nullptr) continue;
      return Error(of_a->loc(),
                   "scheduling groups {} and {} need each other: `{}` runs after a member of group "
                   "{}, `{}` after one of group {}",
                   a->first.ToString(), b->first.ToString(), of_a->name(), b->first.ToString(),
                   of_b->name(), a->first.ToString());
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDones(const Groups& groups) {
  for (const auto& [group, members] : groups) {
    const InstructionSet inside(members.begin(), members.end());
    for (const Instruction* done : members) {
      if (!kDonesOfGroups.Has(done->opcode()) || inside.contains(done->operand(0))) continue;
      return Error(done->loc(), "`{}` is of scheduling group {}, its start `{}` is not",
                   done->name(), group.ToString(), done->operand(0)->name());
    }
  }
  return absl::OkStatus();
}

absl::Status IsOfAnother(const Instruction& between, const SchedulingAnnotation& group,
                         const SchedulingAnnotation& other) {
  return Error(between.loc(),
               "`{}` lies between members of scheduling group {}, but is of group {}",
               between.name(), group.ToString(), other.ToString());
}

// Where `value` comes out of the tuple `user` again, or of a barrier after that; `user` otherwise.
Instruction* AfterTuple(const Instruction* value, Instruction* user) {
  if (user->opcode() != Opcode::kTuple || user->uses().empty()) return user;
  const std::vector<Instruction*> readers = user->users();
  const Instruction* source = user;
  if (readers.size() == 1) {
    source = readers[0];
    if (source->opcode() != Opcode::kOptimizationBarrier) return user;
  }
  int index = 0;  // of the last operand and one, if it comes first by a control edge only
  while (index < user->operand_count() && user->operand(index) != value) ++index;
  for (Instruction* element : source->users()) {
    if (element->opcode() == Opcode::kGetTupleElement && element->tuple_index() == index)
      return element;
  }
  return user;
}

// ---- changes ----

class Legalizer {
 public:
  Legalizer(const LegalizeSchedulingAnnotationsOptions& options, PassContext& context)
      : options_(options), context_(context) {}

  absl::StatusOr<bool> Run(const Module& module) {
    for (Computation* computation : context_.NonFusionComputations(module))
      annotated_.push_back({computation, {}});
    if (options_.check_gap_only) {
      RETURN_IF_ERROR(FindGroups());
      RETURN_IF_ERROR(CheckGaps());
      return changed_;
    }
    if (options_.run_verification) RETURN_IF_ERROR(Verify());
    if (options_.remove_loop_iteration_annotation_only) {
      RETURN_IF_ERROR(DropIterations());
      return changed_;
    }
    Filter();
    RETURN_IF_ERROR(FindGroups());
    if (options_.keep_sync_annotation) RETURN_IF_ERROR(LiftOutOfFusions(module));
    if (options_.check_start_done_annotation_consistency) {
      for (const Annotated& here : annotated_) RETURN_IF_ERROR(CheckDones(here.groups));
    }
    DropTrivial();
    for (Annotated& here : annotated_) RETURN_IF_ERROR(FillSimpleGaps(here));
    if (!options_.propagate_annotation) {
      RETURN_IF_ERROR(CheckGaps());
      return changed_;
    }
    for (const Annotated& here : annotated_) {
      for (const auto& [group, members] : here.groups) {
        RETURN_IF_ERROR(Join(Between(*here.computation, members), group,
                             /*only_look=*/options_.check_non_mitigatable_gap_only));
      }
    }
    return changed_;
  }

 private:
  absl::Status FindGroups() {
    for (Annotated& here : annotated_) {
      ASSIGN_OR_RETURN(here.groups, GroupsOf(*here.computation));
    }
    return absl::OkStatus();
  }

  absl::Status Verify() const {
    for (const Annotated& here : annotated_) {
      ASSIGN_OR_RETURN(Groups groups, GroupsOf(*here.computation));
      for (auto& [group, members] : groups)
        std::erase_if(members, [this](const Instruction* member) { return !IsVerified(*member); });
      RETURN_IF_ERROR(CheckNoCycles(groups));
    }
    return absl::OkStatus();
  }
  bool IsVerified(const Instruction& member) const {
    if (options_.keep_sync_annotation) return true;
    if (member.opcode() == Opcode::kAsyncStart && !options_.keep_start_annotation) return false;
    return MayBeAsynchronous(member);
  }

  absl::Status DropIterations() {
    RETURN_IF_ERROR(FindGroups());
    for (const Annotated& here : annotated_) {
      for (const auto& [group, members] : here.groups) {
        if (!group.iteration) continue;
        for (Instruction* member : members) {
          if (!context_.MayRewrite()) return absl::OkStatus();
          context_.Passed(*member, "no iteration");
          if (group.group) {
            SetSchedulingAnnotation(member, {group.group, std::nullopt});
          } else {
            RemoveSchedulingAnnotation(member);
          }
          context_.Count("iterations");
          changed_ = true;
        }
      }
    }
    return absl::OkStatus();
  }

  // ---- who leaves ----

  void Leave(Instruction* member) {
    if (!context_.MayRewrite()) return;
    context_.Passed(*member, "leaves its scheduling group");
    RemoveSchedulingAnnotation(member);
    context_.Count("removed");
    changed_ = true;
  }

  void Filter() {
    for (const Annotated& here : annotated_) {
      for (Instruction* instruction : here.computation->instructions()) {
        if (HasSchedulingAnnotation(*instruction) && !MayStay(*instruction)) Leave(instruction);
      }
    }
  }
  bool MayStay(const Instruction& instruction) const {
    if (IsInNoSchedulingGroup(instruction)) return false;
    if (options_.keep_sync_annotation) return true;
    if (instruction.opcode() == Opcode::kAsyncStart && !options_.keep_start_annotation)
      return false;
    return IsAsynchronous(instruction);
  }

  void DropTrivial() {
    // Of whatever iteration, by computation.
    std::map<int64_t, std::vector<Members>> by_number;
    for (const Annotated& here : annotated_) {
      std::map<int64_t, Members> own;
      for (const auto& [group, members] : here.groups) {
        if (!group.group) continue;
        Members& all = own[*group.group];
        all.insert(all.end(), members.begin(), members.end());
      }
      for (auto& [number, members] : own) by_number[number].push_back(std::move(members));
    }
    for (auto& [number, parts] : by_number) {
      Members rest;
      for (const Members& members : parts) {
        if (members.size() == 1 && !options_.keep_trivial_sync_annotation) {
          Leave(members[0]);
        } else {
          rest.insert(rest.end(), members.begin(), members.end());
        }
      }
      if (absl::c_any_of(rest, [](const Instruction* x) { return MayBeAsynchronous(*x); }))
        continue;
      for (Instruction* member : rest) Leave(member);
    }
    for (Annotated& here : annotated_) {
      for (auto& [group, members] : here.groups)
        std::erase_if(members, [](const Instruction* x) { return !HasSchedulingAnnotation(*x); });
    }
  }

  // ---- who joins ----

  // Those of fusions in fusions first.
  absl::Status LiftOutOfFusions(const Module& module) {
    for (const Computation* computation : module.computations()) {
      Instruction* const fusion = computation->fusion_caller();
      if (fusion == nullptr || HasSchedulingAnnotation(*fusion)) continue;
      ASSIGN_OR_RETURN(const Groups groups, GroupsOf(*computation));
      if (groups.empty()) continue;
      if (groups.size() > 1)
        return Error(fusion->loc(), "`{}` fuses members of the scheduling groups {} and {}",
                     fusion->name(), groups.begin()->first.ToString(),
                     std::next(groups.begin())->first.ToString());
      if (!context_.MayRewrite()) return absl::OkStatus();
      context_.Passed(*fusion, "joins the scheduling group of what it fuses");
      SetSchedulingAnnotation(fusion, groups.begin()->first);
      context_.Count("fusions");
      changed_ = true;
    }
    return absl::OkStatus();
  }

  // `between` joins the group, or what of it is of another one is an error.
  absl::Status Join(const Members& between, const SchedulingAnnotation& group, bool only_look) {
    for (Instruction* instruction : between) {
      ASSIGN_OR_RETURN(const std::optional<SchedulingAnnotation> other,
                       SchedulingAnnotationOf(*instruction));
      // A fusion may have joined already.
      if (other == group) continue;
      if (other) return IsOfAnother(*instruction, group, *other);
      if (only_look) continue;
      if (!context_.MayRewrite()) return absl::OkStatus();
      context_.Passed(*instruction, "joins scheduling group {}", group.ToString());
      SetSchedulingAnnotation(instruction, group);
      context_.Count("joined");
      changed_ = true;
    }
    return absl::OkStatus();
  }

  absl::Status FillSimpleGaps(Annotated& here) {
    const Groups before = here.groups;
    for (const auto& [group, members] : before) {
      for (const Instruction* member : members) {
        ASSIGN_OR_RETURN(const Members gap, SimpleGap(*member, group));
        RETURN_IF_ERROR(Join(gap, group, /*only_look=*/false));
        Members& now = here.groups[group];
        absl::c_copy_if(gap, std::back_inserter(now),
                        [](const Instruction* x) { return HasSchedulingAnnotation(*x); });
      }
    }
    return absl::OkStatus();
  }

  // What lies alone on the way from `member` to the next of the group, of whatever iteration.
  static absl::StatusOr<Members> SimpleGap(const Instruction& member,
                                           const SchedulingAnnotation& group) {
    if (!member.has_one_user() || HasSchedulingAnnotation(*member.users().front()))
      return Members();
    Members gap;
    for (Instruction* at = member.users().front();; at = at->users().front()) {
      ASSIGN_OR_RETURN(const std::optional<SchedulingAnnotation> other,
                       SchedulingAnnotationOf(*at));
      if (other && other->group == group.group) return gap;
      gap.push_back(at);
      if (at->operand_count() != 1 || !at->has_one_user()) return Members();
    }
  }

  // ---- what lies between ----

  // The last on a way from members of the group back into it; null when there is none.
  absl::StatusOr<const Instruction*> Gap(const Members& members,
                                         const SchedulingAnnotation& group) const {
    const auto is_inside = [&](const Instruction& x) -> absl::StatusOr<bool> {
      ASSIGN_OR_RETURN(const std::optional<SchedulingAnnotation> other, SchedulingAnnotationOf(x));
      return other == group;
    };
    std::vector<const Instruction*> stack;
    InstructionSet seen;
    for (const Instruction* member : members) {
      for (const Instruction* next : Neighbours(*member, /*after=*/true)) {
        ASSIGN_OR_RETURN(const bool stays, is_inside(*next));
        if (!stays && seen.insert(next).second) stack.push_back(next);
      }
    }
    while (!stack.empty()) {
      const Instruction* const top = stack.back();
      stack.pop_back();
      for (Instruction* next : Neighbours(*top, /*after=*/true)) {
        if (options_.skip_opt_barriers) {
          if (next->opcode() == Opcode::kOptimizationBarrier) continue;
          next = AfterTuple(top, next);
        }
        ASSIGN_OR_RETURN(const bool returns, is_inside(*next));
        if (returns) return top;
        if (seen.insert(next).second) stack.push_back(next);
      }
    }
    return nullptr;
  }

  absl::Status CheckGaps() {
    std::vector<SchedulingAnnotation> unsupported;
    for (const Annotated& here : annotated_) {
      for (const auto& [group, members] : here.groups) {
        ASSIGN_OR_RETURN(const Instruction* const between, Gap(members, group));
        if (between == nullptr) continue;
        if (!options_.deannotate_unsupported_groups)
          return Error(between->loc(),
                       "`{}` lies between members of scheduling group {}; "
                       "legalize-scheduling-annotations{{propagate_annotation}} lets it join, "
                       "{{deannotate_unsupported_groups}} gives the group up",
                       between->name(), group.ToString());
        unsupported.push_back(group);
      }
    }
    for (Annotated& here : annotated_) {
      for (const SchedulingAnnotation& group : unsupported) {
        const auto found = here.groups.find(group);
        if (found == here.groups.end()) continue;
        for (Instruction* member : found->second) Leave(member);
        here.groups.erase(found);
      }
    }
    return absl::OkStatus();
  }

  const LegalizeSchedulingAnnotationsOptions& options_;
  PassContext& context_;
  std::vector<Annotated> annotated_;
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> LegalizeSchedulingAnnotations::Run(Module& module, PassContext& context) {
  return Legalizer(options_, context).Run(module);
}

HLO_DEFINE_PASS(LegalizeSchedulingAnnotations)

}  // namespace hlo
