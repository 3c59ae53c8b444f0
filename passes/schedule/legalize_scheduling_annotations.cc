#include "passes/schedule/legalize_scheduling_annotations.h"

#include <map>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
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

using InstructionSet = absl::flat_hash_set<const Instruction*>;
// Members of groups in post-order.
using Groups = std::map<SchedulingAnnotation, std::vector<Instruction*>>;

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
absl::flat_hash_map<const Instruction*, const Instruction*> Reached(
    const std::vector<Instruction*>& members, bool after) {
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
std::vector<Instruction*> Between(const Computation& computation,
                                  const std::vector<Instruction*>& members) {
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

absl::Status CheckNoCycles(const Groups& groups) {
  std::map<SchedulingAnnotation, absl::flat_hash_map<const Instruction*, const Instruction*>> after;
  for (const auto& [group, members] : groups) after[group] = Reached(members, /*after=*/true);
  const auto first_after = [&](const SchedulingAnnotation& a, const std::vector<Instruction*>& b) {
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

class Legalizer {
 public:
  Legalizer(const LegalizeSchedulingAnnotationsOptions& options, PassContext& context)
      : options_(options), context_(context) {}

  absl::StatusOr<bool> Run(const Computation& computation) {
    if (options_.run_verification) {
      ASSIGN_OR_RETURN(const Groups groups, GroupsOf(computation));
      RETURN_IF_ERROR(CheckNoCycles(groups));
    }
    if (options_.remove_loop_iteration_annotation_only) {
      RETURN_IF_ERROR(DropIterations(computation));
      return changed_;
    }
    Filter(computation);
    if (options_.keep_sync_annotation) RETURN_IF_ERROR(LiftOutOfFusions(computation));
    ASSIGN_OR_RETURN(const Groups groups, GroupsOf(computation));
    if (options_.check_start_done_annotation_consistency) RETURN_IF_ERROR(CheckDones(groups));
    for (const auto& [group, members] : groups) {
      if (members.size() == 1) {
        DropTrivial(members.front());
      } else {
        RETURN_IF_ERROR(Close(computation, group, members));
      }
    }
    return changed_;
  }

 private:
  absl::Status DropIterations(const Computation& computation) {
    ASSIGN_OR_RETURN(const Groups groups, GroupsOf(computation));
    for (const auto& [group, members] : groups) {
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
    return absl::OkStatus();
  }

  void Filter(const Computation& computation) {
    for (Instruction* instruction : computation.instructions()) {
      if (!HasSchedulingAnnotation(*instruction)) continue;
      const bool keep = !IsInNoSchedulingGroup(*instruction) &&
                        (options_.keep_sync_annotation || kAsynchronous.Has(instruction->opcode()));
      if (keep || !context_.MayRewrite()) continue;
      context_.Passed(*instruction, "leaves its scheduling group");
      RemoveSchedulingAnnotation(instruction);
      context_.Count("removed");
      changed_ = true;
    }
  }

  absl::Status LiftOutOfFusions(const Computation& computation) {
    for (Instruction* fusion : computation.instructions()) {
      if (!fusion->IsFusion() || HasSchedulingAnnotation(*fusion)) continue;
      ASSIGN_OR_RETURN(const Groups groups, GroupsOf(*fusion->fused_computation()));
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

  static absl::Status CheckDones(const Groups& groups) {
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

  void DropTrivial(Instruction* member) {
    if (options_.keep_trivial_sync_annotation || kAsynchronous.Has(member->opcode()) ||
        !context_.MayRewrite())
      return;
    context_.Passed(*member, "is alone in its scheduling group");
    RemoveSchedulingAnnotation(member);
    context_.Count("removed");
    changed_ = true;
  }

  absl::Status Close(const Computation& computation, const SchedulingAnnotation& group,
                     const std::vector<Instruction*>& members) {
    for (Instruction* between : Between(computation, members)) {
      if (!options_.propagate_annotation)
        return Error(between->loc(),
                     "`{}` lies between members of scheduling group {}; "
                     "legalize-scheduling-annotations{{propagate_annotation}} lets it join",
                     between->name(), group.ToString());
      ASSIGN_OR_RETURN(const std::optional<SchedulingAnnotation> other,
                       SchedulingAnnotationOf(*between));
      if (other)
        return Error(between->loc(),
                     "`{}` lies between members of scheduling group {}, but is of group {}",
                     between->name(), group.ToString(), other->ToString());
      if (!context_.MayRewrite()) return absl::OkStatus();
      context_.Passed(*between, "joins scheduling group {}", group.ToString());
      SetSchedulingAnnotation(between, group);
      context_.Count("joined");
      changed_ = true;
    }
    return absl::OkStatus();
  }

  const LegalizeSchedulingAnnotationsOptions& options_;
  PassContext& context_;
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> LegalizeSchedulingAnnotations::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module)) {
    ASSIGN_OR_RETURN(const bool here, Legalizer(options_, context).Run(*computation));
    changed |= here;
  }
  return changed;
}

HLO_DEFINE_PASS(LegalizeSchedulingAnnotations)

}  // namespace hlo
