#include "passes/layout/host_offloader.h"

#include "absl/container/flat_hash_map.h"
#include "lib/analysis/alias.h"
#include "lib/analysis/call_graph.h"
#include "lib/analysis/schedule.h"
#include "lib/ir/any_instruction.h"
#include "lib/ir/builder.h"
#include "passes/layout/host_buffers.h"
#include "passes/layout/host_walk.h"
#include "passes/simplify/cse.h"
#include "passes/util/layout_copy.h"

namespace hlo {
namespace {

// The MoveToHost calls in the order in which the program comes to them.
std::vector<Instruction*> MovesToHost(Computation& entry) {
  struct Level {
    std::vector<Instruction*> sequence;
    size_t next = 0;
  };
  std::vector<Instruction*> moves;
  absl::flat_hash_set<const Computation*> seen = {&entry};
  std::vector<Level> levels;
  levels.push_back({entry.PostOrder()});
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.next == level.sequence.size()) {
      levels.pop_back();
      continue;
    }
    Instruction* const instruction = level.sequence[level.next++];
    if (IsMoveToHost(*instruction)) moves.push_back(instruction);
    if (CallKindOf(instruction->opcode()) != CallKind::kControlFlow) continue;
    // The last one pushed is walked first.
    for (int i = instruction->call_count() - 1; i >= 0; --i) {
      if (seen.insert(instruction->call(i)).second)
        levels.push_back({instruction->call(i)->PostOrder()});
    }
  }
  return moves;
}

class Offload {
 public:
  Offload(Module& module, PassContext& context)
      : module_(module), context_(context), walk_(module, context), buffers_(walk_) {}

  absl::StatusOr<bool> Run() {
    ForgetHostMemory();
    RETURN_IF_ERROR(KeepResultsOfHostComputations());
    RETURN_IF_ERROR(FollowParameters());
    for (Instruction* move : MovesToHost(*module_.entry())) {
      if (walk_.Has({move, {}})) continue;  // it comes from the host
      if (!context_.MayRewrite()) break;
      RETURN_IF_ERROR(MoveToHost(move));
    }
    RETURN_IF_ERROR(PlaceUpdates());
    ASSIGN_OR_RETURN(const bool changed, walk_.Finish());
    changed_ |= changed;
    RemoveMovesToDevice();
    CopyUpdatesFromParameters();
    return changed_ || ChangedShapes();
  }

 private:
  void ForgetHostMemory() {
    for (Instruction* instruction : AllInstructions(module_)) {
      const Shape shape = instruction->shape();
      const Shape on_device = WithoutHostMemory(shape);
      if (shape == on_device) continue;
      forgotten_.emplace(instruction, shape);
      instruction->set_shape(on_device);
    }
  }

  bool ChangedShapes() const {
    for (const HostPlace& place : walk_.places()) {
      if (!forgotten_.contains(place.instruction)) return true;
    }
    return absl::c_any_of(
        forgotten_, [](const auto& before) { return before.first->shape() != before.second; });
  }

  absl::Status FollowParameters() {
    const std::vector<Shape>& parameters = module_.config().entry_layout.parameters;
    for (Instruction* parameter : module_.entry()->parameters()) {
      const auto number = static_cast<size_t>(parameter->parameter_number());
      if (number >= parameters.size()) continue;
      ForEachLeaf(parameters[number], [&](Shape leaf, const ShapeIndex& index) {
        if (leaf.IsArray() && MemorySpaceOf(leaf) == kHostMemorySpace)
          walk_.Mark({parameter, index});
      });
    }
    return walk_.Run();
  }

  // Copies to the host what `move` moves there, unless an update writes it there.
  absl::Status MoveToHost(Instruction* move) {
    context_.Passed(*move, "moves `{}` to the host", move->operand(0)->name());
    context_.Count("moved to the host");
    std::vector<Instruction*> pending = {move};  // grows
    for (size_t i = 0; i < pending.size(); ++i) {
      Instruction* const value = pending[i];
      std::vector<HostEdge> edges;
      if (value == module_.entry()->root()) edges.push_back({nullptr, 0, value->parent()});
      for (const HostStep& step : StepsAfter({value, {}})) {
        Instruction* const user = step.edge.user;
        if (user != nullptr && user->opcode() == Opcode::kDynamicUpdateSlice) {
          if (step.edge.operand > 1) continue;
          updates_.Add(user);
          walk_.Mark({user, {}});
        } else if (user != nullptr && OnlyChangesForm(*user)) {
          pending.push_back(user);
        } else {
          edges.push_back(step.edge);
        }
      }
      if (edges.empty()) continue;
      Instruction* const copy =
          CopyWithLayouts(value, WithMemorySpace(value->shape(), {}, kHostMemorySpace));
      copy->set_loc(move->loc());
      for (const HostEdge& edge : edges) edge.Redirect(copy);
      buffers_.AddSource(copy);
      walk_.Mark({copy, {}});
    }
    walk_.Remove(*move);
    return walk_.Run();
  }

  absl::Status PlaceUpdates() {
    for (Instruction* update : updates_.items()) {
      RETURN_IF_ERROR(buffers_.Find(update));
      RETURN_IF_ERROR(walk_.Run());
    }
    return absl::OkStatus();
  }

  void RemoveMovesToDevice() {
    for (Computation* computation : module_.computations()) {
      if (!computation->MayHold(Opcode::kCustomCall) ||
          DirectContext(*computation) == CallContext::kEmbedded)
        continue;
      for (Instruction* call : computation->PostOrder()) {
        if (!IsMoveToDevice(*call) || !context_.MayRewrite()) continue;
        context_.Passed(*call, "lies with the device already");
        context_.Count("already with the device");
        ReplaceByOperand(call);
        changed_ = true;
      }
    }
  }

  // Control edges around a parameter of a loop would otherwise tie the update to other users of it.
  void CopyUpdatesFromParameters() {
    std::vector<Instruction*> updates;
    for (Computation* computation : module_.computations()) {
      if (computation->is_entry() || computation->is_fusion() ||
          !computation->MayHold(Opcode::kDynamicUpdateSlice))
        continue;
      for (Instruction* update : computation->PostOrder()) {
        if (update->opcode() == Opcode::kDynamicUpdateSlice &&
            MemorySpaceOf(update->shape()) == kHostMemorySpace)
          updates.push_back(update);
      }
    }
    if (updates.empty()) return;
    UpdateSchedules(module_);
    const Values values(module_);
    const AliasSets sets(values);
    std::erase_if(updates, [&](const Instruction* update) {
      return !values.Has(*update->operand(1)) ||
             !SharesMemoryWithParameter(*update->operand(1), values, sets);
    });
    for (Instruction* update : updates) {
      Builder builder(update->parent(), update->operand(1));
      update->ReplaceOperand(1, builder.Copy(update->operand(1)));
      context_.Count("copied before an update");
      changed_ = true;
    }
  }

  static bool SharesMemoryWithParameter(const Instruction& value, const Values& values,
                                        const AliasSets& sets) {
    const ValueId set = sets.SetOf(values.Of(value)[0]);
    for (const Instruction* parameter : value.parent()->parameters()) {
      for (const ValueId leaf : values.Of(*parameter)) {
        if (sets.SetOf(leaf) == set) return true;
      }
    }
    return false;
  }

  absl::Status KeepResultsOfHostComputations() {
    for (Computation* computation :
         context_.NonFusionComputations(module_, {Opcode::kAsyncStart})) {
      for (Instruction* start : computation->PostOrder()) {
        if (start->opcode() != Opcode::kAsyncStart ||
            start->call(0)->execution_thread() != kHostThread || !start->has_one_user())
          continue;
        Instruction* const done = start->users().front();
        if (done->opcode() != Opcode::kAsyncDone ||
            !Compatible(start->shape().element(1), done->shape()))
          continue;
        std::vector<ShapeIndex> leaves;
        ForEachLeaf(done->shape(), [&leaves](Shape leaf, const ShapeIndex& index) {
          if (leaf.IsArray()) leaves.push_back(index);
        });
        for (const ShapeIndex& leaf : leaves) {
          if (!IsReturnedInHostMemory({done, leaf})) continue;
          context_.Count("results left with the host");
          walk_.Mark({start->call(0)->root(), leaf});
          RETURN_IF_ERROR(walk_.Run());
        }
      }
    }
    return absl::OkStatus();
  }

  // Whether the program returns it in the memory of the host, and nothing else becomes of it.
  bool IsReturnedInHostMemory(const HostPlace& result) const {
    constexpr OpcodeSet kPassing = {Opcode::kGetTupleElement, Opcode::kBitcast,
                                    Opcode::kTuple,           Opcode::kCall,
                                    Opcode::kWhile,           Opcode::kConditional,
                                    Opcode::kParameter,       Opcode::kOptimizationBarrier};
    const Shape layout = module_.config().entry_layout.result;
    absl::flat_hash_set<std::pair<const Instruction*, ShapeIndex>> seen;
    std::vector<HostPlace> pending = {result};
    bool is_returned = false;
    while (!pending.empty()) {
      const HostPlace place = pending.back();
      pending.pop_back();
      if (place.instruction == module_.entry()->root()) {
        if (!IndexIsValid(layout, place.index) ||
            MemorySpaceOf(SubShape(layout, place.index)) != kHostMemorySpace)
          return false;
        is_returned = true;
      }
      for (const HostStep& step : StepsAfter(place)) {
        Instruction* const to = step.to.instruction;
        const bool starts =
            step.edge.user != nullptr && step.edge.user->opcode() == Opcode::kAsyncStart;
        if (!step.same_buffer || starts || (!kPassing.Has(to->opcode()) && !IsMoveToHost(*to)))
          return false;
        if (seen.emplace(to, step.to.index).second) pending.push_back(step.to);
      }
    }
    return is_returned;
  }

  Module& module_;
  PassContext& context_;
  HostWalk walk_;
  HostBuffers buffers_;
  InstructionList updates_;                                   // by what MoveToHost moves
  absl::flat_hash_map<const Instruction*, Shape> forgotten_;  // with host memory as it was
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> HostOffloader::Run(Module& module, PassContext& context) {
  if (!context.MayRewrite()) return false;
  ASSIGN_OR_RETURN(bool changed, Offload(module, context).Run());
  ASSIGN_OR_RETURN(const bool merged, RunPart(Cse({.layout_sensitive = true}), module, context));
  return changed || merged;
}

HLO_DEFINE_PASS(HostOffloader)

}  // namespace hlo
