#include "passes/layout/memory_space_propagation.h"

#include <algorithm>
#include <set>

#include "lib/analysis/forwarding.h"
#include "lib/analysis/leaves.h"

namespace hlo {
namespace {

struct LeafPlace {
  Instruction* instruction;
  int64_t leaf;
};

// A leaf of a nested shape, and the shape with it changed.
Shape ShapeOfLeaf(Shape shape, int64_t leaf) {
  Shape found;
  int64_t i = 0;
  ForEachLeaf(shape, [&](Shape each, const ShapeIndex&) {
    if (i++ == leaf) found = each;
  });
  return found;
}

Shape WithLeaf(Shape shape, int64_t& leaf, Shape changed) {
  if (!shape.IsTuple()) return leaf-- == 0 ? changed : shape;
  for (int i = 0; i < shape.element_count_of_tuple(); ++i) {
    const Shape element = WithLeaf(shape.element(i), leaf, changed);
    if (!(element == shape.element(i))) shape = shape.WithElement(i, element);
  }
  return shape;
}

// What one leaf at the border of a fusion says, carried to the places of the same value inside.
class Propagation {
 public:
  explicit Propagation(const Layout& like) : like_(like) {}

  bool Run(LeafPlace start) {
    Push(start);
    bool changed = false;
    while (!pending_.empty()) {
      const LeafPlace place = pending_.back();
      pending_.pop_back();
      changed |= Set(place);
      PushSources(place);
      PushUsers(place);
    }
    return changed;
  }

 private:
  void Push(LeafPlace place) {
    if (seen_.emplace(place.instruction->id(), place.leaf).second) pending_.push_back(place);
  }

  bool Set(LeafPlace place) const {
    const Shape old = ShapeOfLeaf(place.instruction->shape(), place.leaf);
    if (old.layout_or_null() == nullptr) return false;
    Layout layout = old.layout();
    layout.memory_space = like_.memory_space;
    layout.split_configs = like_.split_configs;
    if (layout == old.layout()) return false;
    int64_t leaf = place.leaf;
    place.instruction->set_shape(
        WithLeaf(place.instruction->shape(), leaf, old.WithLayout(layout)));
    return true;
  }

  // The place that a leaf is passed on from, if any.
  static LeafSource SourceOf(const Instruction& instruction, int64_t leaf) {
    if (instruction.opcode() == Opcode::kBitcast) return {};
    if (instruction.opcode() == Opcode::kDynamicUpdateSlice) return {0, 0};
    const std::vector<LeafSource> sources = ForwardedLeaves(instruction, /*dense=*/false);
    return sources.empty() ? LeafSource{} : sources[static_cast<size_t>(leaf)];
  }

  void PushSources(LeafPlace place) {
    Instruction& instruction = *place.instruction;
    if (instruction.IsFusion()) {
      Push({instruction.fused_computation()->root(), place.leaf});
    } else if (instruction.opcode() == Opcode::kParameter) {
      // Of a fusion in a fusion; the outermost one is where all started.
      Instruction* const caller = instruction.parent()->fusion_caller();
      if (caller != nullptr && caller->parent()->is_fusion())
        Push({caller->operand(static_cast<int>(instruction.parameter_number())), place.leaf});
    } else if (const LeafSource source = SourceOf(instruction, place.leaf); source.operand >= 0) {
      Push({instruction.operand(source.operand), source.leaf});
    }
  }

  void PushUsers(LeafPlace place) {
    for (const Use& use : place.instruction->uses()) {
      if (use.user->IsFusion()) {
        Computation* const body = use.user->fused_computation();
        if (use.operand_index < body->parameter_count())
          Push({body->parameter(use.operand_index), place.leaf});
        continue;
      }
      if (use.user->opcode() == Opcode::kDynamicUpdateSlice) continue;  // another value
      const int64_t leaves = LeafCount(use.user->shape());
      for (int64_t leaf = 0; leaf < leaves; ++leaf) {
        if (SourceOf(*use.user, leaf) == LeafSource{use.operand_index, place.leaf})
          Push({use.user, leaf});
      }
    }
    Computation* const body = place.instruction->parent();
    if (place.instruction->is_root() && body->is_fusion() &&
        body->fusion_caller()->parent()->is_fusion())
      Push({body->fusion_caller(), place.leaf});
  }

  const Layout& like_;
  std::set<std::pair<uint32_t, int64_t>> seen_;
  std::vector<LeafPlace> pending_;
};

// Carries what each leaf of `outside` says to the same leaf of `inside`.
bool Propagate(const Instruction& outside, Instruction* inside) {
  bool changed = false;
  int64_t leaf = 0;
  ForEachLeaf(outside.shape(), [&](Shape shape, const ShapeIndex&) {
    if (const Layout* layout = shape.layout_or_null())
      changed |= Propagation(*layout).Run({inside, leaf});
    ++leaf;
  });
  return changed;
}

}  // namespace

absl::StatusOr<bool> MemorySpacePropagation::Run(Module& module, PassContext& context) {
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kFusion})) {
    for (Instruction* fusion : computation->PostOrder()) {
      if (!fusion->IsFusion() || !context.MayRewrite()) continue;
      Computation& body = *fusion->fused_computation();
      bool told = false;
      // A fusion may have operands that its body does not take.
      for (int i = 0; i < std::min(fusion->operand_count(), body.parameter_count()); ++i)
        told |= Propagate(*fusion->operand(i), body.parameter(i));
      told |= Propagate(*fusion, body.root());
      if (!told) continue;
      context.Passed(*fusion, "its body knows where its values lie");
      context.Count("fusions");
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(MemorySpacePropagation)

}  // namespace hlo
