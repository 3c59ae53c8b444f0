#include "passes/sharding/sharding_propagation.h"

#include <map>

#include "absl/algorithm/container.h"
#include "lib/ir/any_instruction.h"
#include "lib/ir/one_sharding.h"
#include "lib/ops/attrs.h"
#include "lib/ops/opcode_groups.h"
#include "lib/types/shape_util.h"
#include "passes/sharding/entry_boundary.h"
#include "passes/sharding/propagator.h"
#include "passes/util/mesh_forms.h"
#include "passes/util/own_computations.h"

namespace hlo {
namespace {

constexpr std::string_view kCsePreventionMark = "_sharding_propagation_cse_prevention";

bool IsCsePreventionMark(const Sharding& sharding) {
  if (sharding.is_tuple) return false;
  const auto* leaf = std::get_if<TiledSharding>(&sharding.leaves[0]);
  return leaf != nullptr && leaf->metadata.size() == 1 &&
         leaf->metadata[0].op_name == kCsePreventionMark;
}

// A broadcast of a scalar: the same in many unrelated places.
bool IsScalarBroadcast(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kBroadcast && instruction.operand(0)->shape().rank() == 0;
}

template <class Fn>
void ForEachInstruction(Module& module, Fn&& fn) {
  for (Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->instructions()) fn(*instruction);
  }
}

// Looks for the one mesh that all given shardings with tiles are written in.
class CommonMesh {
 public:
  void Look(const Sharding& sharding) {
    for (const Sharding::Leaf& leaf : sharding.leaves) {
      const auto* named = std::get_if<NamedSharding>(&leaf);
      if (named == nullptr) {
        is_common_ &= !IsTiled(std::get<TiledSharding>(leaf));
      } else if (!mesh_.has_value()) {
        mesh_ = named->mesh;
      } else {
        is_common_ &= named->mesh == *mesh_;
      }
    }
  }
  // Gives what was found the form of what was given.
  void Write(Sharding& sharding) const {
    if (!is_common_ || !mesh_.has_value()) return;
    for (Sharding::Leaf& leaf : sharding.leaves) {
      const auto* tiled = std::get_if<TiledSharding>(&leaf);
      if (tiled == nullptr) continue;
      if (std::optional<NamedSharding> named = MeshForm(*tiled, *mesh_)) leaf = *std::move(named);
    }
  }

 private:
  std::optional<Mesh> mesh_;
  bool is_common_ = true;
};

// What each instruction had, to tell what changed, and as it was written.
class ShardingsBefore {
 public:
  explicit ShardingsBefore(Module& module) : written_(module.id_limit()), given_(written_.size()) {
    ForEachInstruction(module, [&](const Instruction& instruction) {
      if (instruction.sharding() == nullptr) return;
      written_[instruction.id()] = *instruction.sharding();
      mesh_.Look(*instruction.sharding());
    });
  }
  // The same in the form in which they are compared.
  void Given(const Instruction& instruction) { given_[instruction.id()] = *instruction.sharding(); }
  const std::optional<Sharding>& written(const Instruction& instruction) const {
    return Of(instruction, written_);
  }
  const std::optional<Sharding>& given(const Instruction& instruction) const {
    return Of(instruction, given_);
  }
  // Gives those that are still what they were their text back; returns whether others changed.
  bool Settle(Module& module, PassContext& context) {
    bool changed = false;
    int64_t set_count = 0;
    ForEachInstruction(module, [&](Instruction& instruction) {
      const std::optional<Sharding>& before = written(instruction);
      const Sharding* now = instruction.sharding();
      if (now == nullptr) {
        changed |= before.has_value();
        return;
      }
      if (before.has_value() && *now == given_[instruction.id()]) {
        return instruction.set_sharding(*before);
      }
      mesh_.Write(*instruction.mutable_extras().sharding);
      if (!before.has_value() || *now != *before) {
        changed = true;
        ++set_count;
        if (context.wants_remarks()) context.Passed(instruction, "sharded as {}", now->ToString());
      }
    });
    context.Count("shardings set", set_count);
    WriteAlike(module);
    return changed;
  }

 private:
  // What is divided in one way is written in one way: as somebody wrote it for a result, else as it
  // is written for the caller.
  void WriteAlike(Module& module) const {
    const std::vector<Computation*> computations = module.computations();
    const auto for_each_caller = [](const auto& order, const auto& fn) {
      for (Computation* computation : order) {
        for (Instruction* instruction : computation->instructions()) {
          if (instruction->sharding() != nullptr) fn(*instruction, DividedLike(*instruction));
        }
      }
    };
    const auto write_as = [](Instruction& instruction, const Instruction& other) {
      if (instruction.sharding() == nullptr || other.sharding() == nullptr ||
          *instruction.sharding() == *other.sharding())
        return;
      Sharding mine = *instruction.sharding(), others = *other.sharding();
      ToClassicForms(mine, instruction.shape());
      ToClassicForms(others, other.shape());
      if (SameSharding(mine, others)) instruction.set_sharding(*other.sharding());
    };
    for_each_caller(computations, [&](Instruction& caller, const std::vector<Instruction*>& like) {
      if (written(caller).has_value()) return;
      const auto given = absl::c_find_if(like, [&](const Instruction* other) {
        return other->sharding() != nullptr && written(*other) == *other->sharding();
      });
      if (given != like.end()) write_as(caller, **given);
    });
    const std::vector<Computation*> outer_first(computations.rbegin(), computations.rend());
    for_each_caller(outer_first, [&](Instruction& caller, const std::vector<Instruction*>& like) {
      for (Instruction* other : like) write_as(*other, caller);
    });
  }

  using ById = std::vector<std::optional<Sharding>>;
  static const std::optional<Sharding>& Of(const Instruction& instruction, const ById& shardings) {
    static const std::optional<Sharding> kNone;
    return instruction.id() < shardings.size() ? shardings[instruction.id()] : kNone;
  }

  ById written_, given_;
  CommonMesh mesh_;
};

// Where shardings come from: each gets that of its instruction, or all are forgotten.
void SetShardingMetadata(Module& module, bool propagate) {
  ForEachInstruction(module, [&](Instruction& instruction) {
    if (instruction.sharding() == nullptr) return;
    for (Sharding::Leaf& leaf : instruction.mutable_extras().sharding->leaves) {
      std::vector<OpMetadata>& metadata = std::get<TiledSharding>(leaf).metadata;
      if (!propagate) {
        metadata.clear();
      } else if (metadata.empty() && instruction.metadata() != OpMetadata()) {
        metadata.push_back(instruction.metadata());
      }
    }
  });
}

bool IsChannel(const Instruction& instruction) {
  if (kSendRecvStarts.Has(instruction.opcode()))
    return !instruction.attrs<ChannelAttrs>().is_host_transfer;
  if (instruction.opcode() == Opcode::kAllReduce)
    return instruction.attrs<AllReduceAttrs>().channel_id.has_value();
  return instruction.opcode() == Opcode::kReduceScatter &&
         instruction.attrs<ReduceScatterAttrs>().channel_id.has_value();
}

std::optional<int64_t> OnlyDevice(const Instruction& instruction) {
  if (instruction.sharding() == nullptr) return std::nullopt;
  std::optional<int64_t> device;
  for (size_t i = 0; i < instruction.sharding()->leaves.size(); ++i) {
    const TiledSharding& leaf = LeafAt(*instruction.sharding(), i);
    if (leaf.kind != TiledSharding::Kind::kMaximal) return std::nullopt;
    if (device.has_value() && *device != leaf.maximal_device) return std::nullopt;
    device = leaf.maximal_device;
  }
  return device;
}

// A loop whose body talks to other devices through a channel runs on the device of the channel,
// whole: its root says so.
absl::Status PlaceLoop(Instruction& loop) {
  const Instruction* channel = nullptr;
  Computation& body = *loop.while_body();
  for (const Instruction* instruction : body.instructions()) {
    if (channel == nullptr && IsChannel(*instruction) && OnlyDevice(*instruction).has_value())
      channel = instruction;
  }
  if (channel == nullptr) return absl::OkStatus();
  const int64_t device = *OnlyDevice(*channel);
  const auto check = [&](const Instruction& instruction) -> absl::Status {
    const std::optional<int64_t> other = OnlyDevice(instruction);
    if (!other.has_value() || *other == device) return absl::OkStatus();
    return Error(instruction.loc(), "`{}` is on device {}, but `{}` of the same loop on device {}",
                 instruction.name(), *other, channel->name(), device);
  };
  for (const Instruction* instruction : body.instructions()) RETURN_IF_ERROR(check(*instruction));
  RETURN_IF_ERROR(check(loop));
  if (!OnlyDevice(*body.root()).has_value()) {
    TiledSharding there;
    there.kind = TiledSharding::Kind::kMaximal;
    there.maximal_device = device;
    body.root()->set_sharding(Uniform(body.root()->shape(), there));
  }
  return absl::OkStatus();
}

bool IsSet(const std::vector<bool>& by_id, const Instruction& instruction) {
  return instruction.id() < by_id.size() && by_id[instruction.id()];
}

// Which values say only which manual region they are in. Takes the notes of it away.
std::vector<bool> TakeOpenMarks(Module& module) {
  std::vector<bool> is_open(module.id_limit());
  ForEachInstruction(module, [&](Instruction& instruction) {
    if (instruction.sharding() != nullptr)
      is_open[instruction.id()] = TakeOpenMark(*instruction.mutable_extras().sharding);
  });
  return is_open;
}

// The same the other way.
void PutOpenMarks(Module& module, const std::vector<bool>& is_open) {
  ForEachInstruction(module, [&](Instruction& instruction) {
    if (instruction.sharding() != nullptr && IsSet(is_open, instruction))
      MarkOpen(*instruction.mutable_extras().sharding);
  });
}

// Where a conditional is the result of a branch, what is in it may say something else than what is
// around it: the outermost says it for all.
void ObeyCallers(Module& module, const ShardedCallers& callers, std::vector<Instruction*>& tied) {
  const std::vector<Computation*> computations = module.computations();
  const std::vector<Computation*> outer_first(computations.rbegin(), computations.rend());
  for (const Computation* computation : outer_first) {
    for (Instruction* caller : computation->instructions()) {
      if (!kProgramCallers.Has(caller->opcode()) || caller->sharding() == nullptr) continue;
      for (Instruction* other : RelatedInstructions(*caller, callers)) {
        if (other->sharding() == nullptr) {
          tied.push_back(other);
        } else if (SameSharding(*other->sharding(), *caller->sharding())) {
          continue;
        }
        other->set_sharding(*caller->sharding());
      }
    }
  }
}

// Of instructions that hand a value to each other, the first sharding is that of all, one that is
// not open if there is one. `tied`: those that had none, or one that was open.
ShardedCallers TieComputations(Module& module, const std::vector<bool>& is_open,
                               std::vector<Instruction*>& tied) {
  ShardedCallers callers(module);
  ForEachInstruction(module, [&](Instruction& caller) {
    if (!kProgramCallers.Has(caller.opcode())) return;
    const std::vector<Instruction*> related = RelatedInstructions(caller, callers);
    auto sharded = absl::c_find_if(related, [&](const Instruction* i) {
      return i->sharding() != nullptr && !IsSet(is_open, *i);
    });
    if (sharded == related.end())
      sharded =
          absl::c_find_if(related, [](const Instruction* i) { return i->sharding() != nullptr; });
    if (sharded != related.end()) {
      const Sharding sharding = *(*sharded)->sharding();
      for (Instruction* other : related) {
        if (other->sharding() == nullptr || IsSet(is_open, *other)) tied.push_back(other);
        other->set_sharding(sharding);
      }
    }
    for (const Computation* callee : caller.calls()) callers.Add(*callee, &caller);
  });
  ObeyCallers(module, callers, tied);
  return callers;
}

// The result of a loop that is that of the entry is copied: the loop may then be sharded.
bool CopyLoopAtRoot(Module& module, bool to_output) {
  Computation& entry = *module.entry();
  Instruction* root = entry.root();
  const bool is_known = root->sharding() == nullptr || !AllUnknown(*root->sharding());
  if (to_output || !is_known || root->opcode() != Opcode::kWhile) return false;
  Instruction* operands[] = {root};
  Instruction* copy = entry.Add(Opcode::kCopy, root->shape(), operands);
  copy->set_loc(root->loc());
  if (root->sharding() != nullptr) copy->set_sharding(*root->sharding());
  entry.set_root(copy);
  return true;
}

// What the boundary of the entry has made of its root holds of what the root runs, too.
void PassOnToBodies(Instruction& root, const ShardedCallers& callers) {
  if (!kProgramCallers.Has(root.opcode()) || root.sharding() == nullptr) return;
  for (Instruction* other : RelatedInstructions(root, callers)) {
    if (other != &root) other->set_sharding(*root.sharding());
  }
}

void FixGivenShardings(Module& module, const EntryBoundary& boundary,
                       const std::vector<bool>& is_open, Propagator& propagator) {
  const Instruction* root = module.entry()->root();
  ForEachInstruction(module, [&](Instruction& instruction) {
    const Sharding* sharding = instruction.sharding();
    const bool is_known =
        sharding != nullptr && !AllUnknown(*sharding) && !IsSet(is_open, instruction);
    const bool is_parameter = instruction.opcode() == Opcode::kParameter;
    const bool is_entry_parameter = is_parameter && instruction.parent() == module.entry();
    if (&instruction == root) {
      if (!boundary.any_output() && (sharding == nullptr || is_known)) propagator.Fix(instruction);
    }
    if (is_known &&
        (is_entry_parameter ? !boundary.any_parameter() : !is_parameter && &instruction != root))
      propagator.Fix(instruction);
    for (size_t i = 0; sharding != nullptr && i < sharding->leaves.size(); ++i) {
      TiledSharding& leaf = LeafAt(*instruction.mutable_extras().sharding, i);
      if (leaf.kind == TiledSharding::Kind::kUnknown) leaf.kind = TiledSharding::Kind::kReplicated;
    }
  });
}

// What a loop, conditional or call has, its bodies have: where one of them is fixed, all are.
void FixRelated(Module& module, const ShardedCallers& callers, Propagator& propagator) {
  ForEachInstruction(module, [&](Instruction& caller) {
    if (!kProgramCallers.Has(caller.opcode())) return;
    const std::vector<Instruction*> related = RelatedInstructions(caller, callers);
    if (absl::c_none_of(related, [&](const Instruction* i) { return propagator.IsFixed(*i); }))
      return;
    for (const Instruction* other : related) propagator.Fix(*other);
  });
}

// What other instructions have to have the same sharding as, or who calls the program.
bool HandsOver(const Instruction& instruction) {
  return instruction.is_root() || instruction.opcode() == Opcode::kParameter ||
         kProgramCallers.Has(instruction.opcode());
}

// All members of a shard_as group get one sharding: that of all together if they agree, else that
// of the first.
void AlignGroups(const ShardingAnnotations& annotations, const Propagator& propagator) {
  for (const auto& [id, group] : annotations.as_groups()) {
    TiledSharding otherwise;
    std::vector<TiledSharding> shardings;
    for (const Instruction* member : group) {
      const TiledSharding* sharding = LeafSharding(*member);
      if (sharding == nullptr) continue;
      shardings.push_back(*sharding);
      if (!IsCustomCall(*member, kBarrierFrom) && IsReplicated(otherwise)) otherwise = *sharding;
    }
    const bool can_merge = absl::c_none_of(shardings, [](const auto& s) { return IsManual(s); });
    const TiledSharding common =
        shardings.empty() || !can_merge ? otherwise : CommonSharding(shardings, otherwise);
    for (Instruction* member : group) {
      const bool is_given = propagator.IsFixed(*member) && HandsOver(*member) &&
                            LeafSharding(*member) != nullptr && IsTiled(*LeafSharding(*member)) &&
                            annotations.OpenDims(*member) == nullptr;
      if (!IsCustomCall(*member, kBarrierTo) && !is_given)
        member->set_sharding(Sharding::Of(common));
    }
  }
}

// A barrier in a shard_as group passes what the group has on to its operand.
void RelayThroughBarriers(Module& module, const ShardingAnnotations& annotations) {
  ForEachInstruction(module, [&](Instruction& barrier) {
    if (!IsCustomCall(barrier, kBarrierFrom) || !annotations.IsInAsGroup(barrier) ||
        LeafSharding(barrier) == nullptr)
      return;
    TiledSharding sharding = *LeafSharding(barrier);
    Instruction& operand = *barrier.operand(0);
    if (const TiledSharding* given = LeafSharding(operand);
        given != nullptr && !IsManual(*given) && !IsManual(sharding))
      MergeIfCompatible(*given, DataTiles(sharding), sharding);
    operand.set_sharding(Sharding::Of(std::move(sharding)));
  });
}

bool RemoveBarriers(Module& module) {
  std::vector<Instruction*> barriers;
  ForEachInstruction(module, [&](Instruction& instruction) {
    if (IsCustomCall(instruction, kBarrierFrom) || IsCustomCall(instruction, kBarrierTo))
      barriers.push_back(&instruction);
  });
  for (Instruction* barrier : barriers) barrier->parent()->Replace(barrier, barrier->operand(0));
  return !barriers.empty();
}

void KeepCsePreventionOnly(Module& module, const ShardingsBefore& before) {
  ForEachInstruction(module, [&](Instruction& instruction) {
    if (instruction.sharding() == nullptr) return;
    const std::optional<Sharding>& given = before.given(instruction);
    // The caller of a computation says of its own value what its root would say.
    const bool answers = instruction.is_root() && !instruction.parent()->is_entry();
    if (IsScalarBroadcast(instruction) && !given.has_value() && !answers) {
      Sharding marked = *instruction.sharding();
      OpMetadata mark;
      mark.op_name = kCsePreventionMark;
      LeafAt(marked, 0).metadata = {mark};
      instruction.set_sharding(std::move(marked));
    } else if (given.has_value()) {
      instruction.set_sharding(*given);
    } else {
      instruction.clear_sharding();
    }
  });
}

std::vector<bool> Allowed(bool all, const std::vector<bool>& by_module) {
  return all ? std::vector<bool>{true} : by_module;
}

}  // namespace

absl::StatusOr<bool> ShardingPropagation::Run(Module& module, PassContext& context) {
  bool is_sharded = false;
  ForEachInstruction(module, [&](const Instruction& i) { is_sharded |= i.sharding() != nullptr; });
  if (!is_sharded || !context.MayRewrite()) return false;
  ASSIGN_OR_RETURN(const bool copied,
                   GiveOwnComputations(module, {Opcode::kWhile, Opcode::kConditional}));
  const std::vector<bool> is_open = TakeOpenMarks(module);
  ShardingsBefore before(module);
  ForEachInstruction(module, [&](Instruction& instruction) {
    if (instruction.sharding() == nullptr) return;
    if (!options_.cse_prevention_only && IsCsePreventionMark(*instruction.sharding()))
      return instruction.clear_sharding();
    ToClassicForms(*instruction.mutable_extras().sharding, instruction.shape());
    before.Given(instruction);
  });
  SetShardingMetadata(module, options_.propagate_metadata);

  const ModuleConfig& config = module.config();
  ShardingAnnotations annotations;
  ASSIGN_OR_RETURN(bool changed, annotations.Take(module, !options_.cse_prevention_only));
  EntryBoundary boundary(module,
                         Allowed(options_.allow_spmd_sharding_propagation_to_output,
                                 config.allow_spmd_sharding_propagation_to_output),
                         Allowed(options_.allow_spmd_sharding_propagation_to_parameters,
                                 config.allow_spmd_sharding_propagation_to_parameters));
  for (Instruction* instruction : AllInstructions(module)) {
    if (instruction->opcode() == Opcode::kWhile) RETURN_IF_ERROR(PlaceLoop(*instruction));
  }
  std::vector<Instruction*> tied;
  const ShardedCallers callers = TieComputations(module, is_open, tied);
  changed |= CopyLoopAtRoot(module, boundary.any_output());

  Propagator propagator(module, {options_.is_spmd, boundary.any_output(), boundary.any_parameter()},
                        callers, annotations);
  for (const Instruction* instruction : tied) propagator.Tie(*instruction);
  FixGivenShardings(module, boundary, is_open, propagator);
  FixRelated(module, callers, propagator);
  for (int level = 0; level <= kBoldestLevel; ++level) propagator.RunToFixPoint(level);
  AlignGroups(annotations, propagator);
  RelayThroughBarriers(module, annotations);
  propagator.RunToFixPoint(kBoldestLevel);
  RelayThroughBarriers(module, annotations);
  changed |= RemoveBarriers(module);
  if (options_.cse_prevention_only) KeepCsePreventionOnly(module, before);
  if (boundary.Restore()) PassOnToBodies(*module.entry()->root(), callers);
  context.Count("from operands", propagator.forward_count());
  context.Count("from users", propagator.backward_count());
  changed |= before.Settle(module, context) || copied;
  if (options_.cse_prevention_only) {
    PutOpenMarks(module, is_open);
  } else {
    changed |= absl::c_linear_search(is_open, true);
  }
  return changed;
}

HLO_DEFINE_PASS(ShardingPropagation)

}  // namespace hlo
