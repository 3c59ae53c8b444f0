#include "passes/gpu/gpu_epilogue_fusion.h"

#include <algorithm>

#include "lib/analysis/cost.h"
#include "lib/ir/dense_map.h"
#include "passes/fusion/fuse.h"
#include "passes/fusion/fusion_target.h"
#include "passes/fusion/kernel_support.h"
#include "passes/gpu/library_products.h"

namespace hlo {
namespace {

// Users further from the product than this are not looked for.
constexpr size_t kWindow = 4096;
// An operand of as many times fewer elements than the result is computed inside.
constexpr int64_t kSmallPart = 2;

bool IsStaticProduct(const Instruction& instruction) {
  const auto is_static = [](const Instruction* value) {
    return value->shape().IsArray() && !value->shape().has_dynamic_dims();
  };
  return IsProduct(instruction.opcode()) && is_static(&instruction) &&
         absl::c_all_of(instruction.operands(), is_static) && !instruction.HasSideEffect() &&
         !instruction.has_control_edges();
}

bool IsLeftToLibrary(const Instruction& product) {
  const std::optional<LibraryProduct> found = AsLibraryProduct(product);
  return found.has_value() && IsForLibrary(*found);
}

class EpilogueFuser {
 public:
  EpilogueFuser(Computation& computation, const GpuEpilogueFusionOptions& options,
                PassContext& context)
      : computation_(computation),
        options_(options),
        context_(context),
        order_(computation.SequenceOrPostOrder()),
        state_(computation.module().id_limit()) {}

  bool Run() {
    bool changed = false;
    for (size_t i = 0; i < order_.size(); ++i) {
      if (order_[i]->is_dead() || !IsStaticProduct(*order_[i])) continue;
      if (options_.leave_to_library && IsLeftToLibrary(*order_[i])) continue;
      const std::vector<Instruction*> group = GroupOf(i);
      if (group.size() < 2 || !context_.MayRewrite()) continue;
      MakeFusion(group);
      changed = true;
    }
    return changed;
  }

 private:
  // Depends on product number `product` (of order_, from 1), and is of its group or not.
  struct State {
    size_t product = 0;
    bool is_member = false;
  };

  // The product and what joins it, operands first; the last one's value alone is used outside.
  std::vector<Instruction*> GroupOf(size_t first) {
    const size_t number = first + 1;
    std::vector<Instruction*> members = {order_[first]};
    state_[order_[first]] = {number, true};
    size_t best = 1;
    int64_t open = Uses(*order_[first]);  // of members by what was not looked at yet
    int64_t outside = 0;                  // by what is no member
    int64_t costly = 0;
    const size_t end = std::min(order_.size(), first + kWindow);
    for (size_t i = first + 1; i < end && open > 0; ++i) {
      Instruction* const next = order_[i];
      if (next->is_dead()) continue;
      int64_t own = 0;  // uses of members
      bool depends = false, only_members = true;
      for (const Instruction* operand : next->operands()) {
        const State state = state_.Get(operand);
        if (state.product != number) continue;
        depends = true;
        own += state.is_member ? 1 : 0;
        only_members = only_members && state.is_member;
      }
      if (!depends) continue;
      open -= own;
      const bool joins = only_members && next->is_used() && MayJoin(*next, *order_[first]) &&
                         static_cast<int64_t>(members.size()) < options_.max_instructions &&
                         costly + (IsCostly(*next) ? 1 : 0) <= options_.max_costly;
      state_[next] = {number, joins};
      if (!joins) {
        outside += own;
        continue;
      }
      costly += IsCostly(*next) ? 1 : 0;
      members.push_back(next);
      open += Uses(*next);
      // All uses of the others are inside.
      if (outside == 0 && open == Uses(*next)) best = members.size();
    }
    members.resize(best);
    return members;
  }

  // A root's value is used outside.
  static int64_t Uses(const Instruction& instruction) {
    return std::ssize(instruction.uses()) + (instruction.is_root() ? 1 : 0);
  }

  static bool MayJoin(const Instruction& next, const Instruction& product) {
    return IsFusible(next) && IsFusibleElementwise(next) &&
           next.shape().dims() == product.shape().dims() && !next.has_control_edges() &&
           !next.HasSideEffect();
  }

  // Computed inside: it costs less than the memory that it would take.
  static bool IsSmallWork(const Instruction& operand, const Instruction& product) {
    if (!IsFusible(operand) || operand.has_control_edges() || operand.HasSideEffect()) return false;
    if (operand.opcode() == Opcode::kBroadcast || operand.opcode() == Opcode::kIota ||
        operand.opcode() == Opcode::kConstant)
      return true;
    return (IsFusibleElementwise(operand) || operand.opcode() == Opcode::kReshape) &&
           !IsCostly(operand) &&
           operand.shape().element_count() <= product.shape().element_count() / kSmallPart;
  }

  void MakeFusion(const std::vector<Instruction*>& group) {
    context_.Count("products fused");
    context_.Count("instructions fused", std::ssize(group) - 1);
    const Instruction& product = *group.front();
    const std::string name =
        fmt::format("{}_{}_fusion", product.opcode_text(), group.back()->opcode_text());
    Fuse(group, {.kind = FusionKind::kOutput,
                 .name = name,
                 .is_copied = [&product](const Instruction& value, const Instruction& reader) {
                   return &reader != &product && IsSmallWork(value, product);
                 }});
  }

  Computation& computation_;
  const GpuEpilogueFusionOptions& options_;
  PassContext& context_;
  std::vector<Instruction*> order_;
  InstructionMap<State> state_;
};

}  // namespace

absl::StatusOr<bool> GpuEpilogueFusion::Run(Module& module, PassContext& context) {
  return ChangesAny(context.NonFusionComputations(module), [&](Computation& computation) {
    return EpilogueFuser(computation, options_, context).Run();
  });
}

HLO_DEFINE_PASS(GpuEpilogueFusion)

}  // namespace hlo
