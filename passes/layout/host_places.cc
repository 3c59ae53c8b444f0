#include "passes/layout/host_places.h"

#include <algorithm>

#include "lib/analysis/call_graph.h"
#include "lib/analysis/forwarding.h"
#include "lib/analysis/leaves.h"
#include "lib/ir/async_chain.h"

namespace hlo {
namespace {

ShapeIndex Inside(int64_t element, const ShapeIndex& index) {
  ShapeIndex inside = {element};
  inside.insert(inside.end(), index.begin(), index.end());
  return inside;
}

class Steps {
 public:
  explicit Steps(const HostPlace& place) : place_(place) {}

  std::vector<HostStep> Find() {
    std::vector<Use> uses(place_.instruction->uses().begin(), place_.instruction->uses().end());
    std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
      return std::pair(a.user->id(), a.operand_index) < std::pair(b.user->id(), b.operand_index);
    });
    if (place_.instruction->is_root()) Return();
    for (const Use& use : uses) {
      edge_ = {use.user, use.operand_index, place_.instruction->parent()};
      AddUse(*use.user);
    }
    return std::move(steps_);
  }

 private:
  void Add(Instruction* to, ShapeIndex index, bool same_buffer = true) {
    steps_.push_back({edge_, {to, std::move(index)}, same_buffer});
  }

  void Return() {
    Computation* const computation = place_.instruction->parent();
    edge_ = {nullptr, 0, computation};
    for (const CallSite& site : computation->callers()) {
      const Opcode opcode = site.caller->opcode();
      if (CallKindOf(opcode) != CallKind::kControlFlow) continue;
      if (opcode == Opcode::kWhile && site.caller->while_body() != computation) continue;
      Add(site.caller, opcode == Opcode::kAsyncStart ? Inside(1, place_.index) : place_.index);
    }
  }

  void AddUse(Instruction& user) {
    const ShapeIndex& index = place_.index;
    switch (user.opcode()) {
      case Opcode::kTuple: return Add(&user, Inside(edge_.operand, index));
      case Opcode::kGetTupleElement:
        if (index.front() == user.tuple_index())
          Add(&user, ShapeIndex(index.begin() + 1, index.end()));
        return;
      case Opcode::kCall:
      case Opcode::kAsyncStart: return Add(user.call(0)->parameter(edge_.operand), index);
      case Opcode::kWhile:
        Add(user.while_body()->parameter(0), index);
        return Add(user.while_condition()->parameter(0), index);
      case Opcode::kConditional:
        if (edge_.operand == 0) return Add(&user, index, /*same_buffer=*/false);
        return Add(user.call(edge_.operand - 1)->parameter(0), index);
      case Opcode::kAsyncUpdate: return Add(&user, index);
      case Opcode::kAsyncDone:
        if (index.front() == 1) Add(&user, ShapeIndex(index.begin() + 1, index.end()));
        return;
      case Opcode::kDynamicUpdateSlice: return Add(&user, {}, edge_.operand == 0);
      case Opcode::kBitcast:
      case Opcode::kOptimizationBarrier: return Add(&user, index);
      case Opcode::kCustomCall: return AddCustomCall(user);
      default: return AddOther(user);
    }
  }

  void AddCustomCall(Instruction& user) {
    if (IsMoveToHost(user) || IsMoveToDevice(user)) return Add(&user, {});
    for (const OutputOperandAlias& alias :
         user.attrs<CustomCallAttrs>().output_to_operand_aliasing) {
      const size_t depth = alias.operand_index.size();
      if (alias.operand != edge_.operand || place_.index.size() < depth ||
          !std::equal(alias.operand_index.begin(), alias.operand_index.end(), place_.index.begin()))
        continue;
      ShapeIndex output = alias.output;
      output.insert(output.end(), place_.index.begin() + static_cast<std::ptrdiff_t>(depth),
                    place_.index.end());
      Add(&user, std::move(output));
    }
  }

  void AddOther(Instruction& user) {
    const std::vector<LeafSource> sources = ForwardedLeaves(user, /*dense=*/false);
    const LeafSource here = {edge_.operand, LeafNumber(place_.instruction->shape(), place_.index)};
    bool forwarded = false;
    size_t leaf = 0;
    if (!sources.empty()) {
      ForEachLeaf(user.shape(), [&](Shape, const ShapeIndex& index) {
        if (sources[leaf++] != here) return;
        Add(&user, index);
        forwarded = true;
      });
    }
    // The end of an operation in two halves takes its result from what the start passes on, and
    // leaves the rest.
    const bool is_left = !sources.empty() && !place_.index.empty();
    if (!forwarded && !is_left) Add(&user, {}, /*same_buffer=*/false);
  }

  const HostPlace& place_;
  HostEdge edge_;
  std::vector<HostStep> steps_;
};

bool IsAnnotation(const Instruction& instruction, std::string_view target) {
  return HasCustomCallTarget(instruction, target) && instruction.operand_count() == 1 &&
         instruction.shape().IsArray() &&
         Compatible(instruction.operand(0)->shape(), instruction.shape()) &&
         !instruction.parent()->is_fusion() && !IsAsyncBody(*instruction.parent());
}

}  // namespace

void HostEdge::Redirect(Instruction* value) const {
  if (user != nullptr) {
    user->ReplaceOperand(operand, value);
  } else {
    computation->set_root(value);
  }
}

std::vector<HostStep> StepsAfter(const HostPlace& place) { return Steps(place).Find(); }

bool HasCustomCallTarget(const Instruction& instruction, std::string_view target) {
  return instruction.opcode() == Opcode::kCustomCall &&
         instruction.attrs<CustomCallAttrs>().custom_call_target == target;
}

bool IsMoveToHost(const Instruction& instruction) {
  return IsAnnotation(instruction, "MoveToHost");
}

bool IsMoveToDevice(const Instruction& instruction) {
  return IsAnnotation(instruction, "MoveToDevice");
}

bool OnlyChangesForm(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kReshape)
    return ReshapeIsBitcast(instruction.operand(0)->shape(), instruction.shape());
  return instruction.opcode() == Opcode::kBitcast || instruction.opcode() == Opcode::kCopy;
}

int64_t MemorySpaceOf(Shape array) {
  const Layout* const layout = array.layout_or_null();
  return layout == nullptr ? kDeviceMemorySpace : layout->memory_space;
}

Shape WithMemorySpace(Shape shape, const ShapeIndex& index, int64_t memory_space) {
  if (!index.empty()) {
    const int first = static_cast<int>(index.front());
    const ShapeIndex rest(index.begin() + 1, index.end());
    return shape.WithElement(first, WithMemorySpace(shape.element(first), rest, memory_space));
  }
  shape = shape.WithMissingLayoutsFilled();
  Layout layout = shape.layout();
  layout.memory_space = memory_space;
  return shape.WithLayout(layout);
}

Shape WithoutHostMemory(Shape shape) {
  std::vector<ShapeIndex> places;
  ForEachLeaf(shape, [&places](Shape leaf, const ShapeIndex& index) {
    if (leaf.IsArray() && MemorySpaceOf(leaf) == kHostMemorySpace) places.push_back(index);
  });
  for (const ShapeIndex& index : places) shape = WithMemorySpace(shape, index, kDeviceMemorySpace);
  return shape;
}

}  // namespace hlo
