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
    absl::c_sort(uses, [](const Use& a, const Use& b) {
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
      ShapeIndex index = opcode == Opcode::kAsyncStart ? Inside(1, place_.index) : place_.index;
      if (IndexIsValid(site.caller->shape(), index)) Add(site.caller, std::move(index));
    }
  }

  void AddUse(Instruction& user) {
    constexpr OpcodeSet kSame = {Opcode::kAsyncUpdate, Opcode::kBitcast,
                                 Opcode::kOptimizationBarrier};
    const ShapeIndex& index = place_.index;
    const Opcode opcode = user.opcode();
    // More operands of an update are read by what has started.
    if (kSame.Has(opcode) && edge_.operand == 0 && IndexIsValid(user.shape(), index) &&
        SubShape(user.shape(), index).IsArray())
      return Add(&user, index);
    if (opcode == Opcode::kTuple) return Add(&user, Inside(edge_.operand, index));
    if (opcode == Opcode::kGetTupleElement) return AddElement(user, user.tuple_index());
    if (opcode == Opcode::kAsyncDone) return AddElement(user, 1);
    if (opcode == Opcode::kCustomCall) return AddCustomCall(user);
    if (opcode == Opcode::kDynamicUpdateSlice) return Add(&user, {}, edge_.operand == 0);
    if (CallKindOf(opcode) == CallKind::kControlFlow) return AddCall(user);
    AddOther(user);
  }

  // `user` takes one element of a tuple.
  void AddElement(Instruction& user, int64_t element) {
    if (place_.index.front() == element)
      Add(&user, ShapeIndex(place_.index.begin() + 1, place_.index.end()));
  }

  void AddCall(Instruction& user) {
    const ShapeIndex& index = place_.index;
    if (user.opcode() == Opcode::kWhile) {
      Add(user.while_body()->parameter(0), index);
      return Add(user.while_condition()->parameter(0), index);
    }
    const bool is_conditional = user.opcode() == Opcode::kConditional;
    if ((is_conditional && edge_.operand == 0) ||
        (user.opcode() == Opcode::kAsyncStart && !CanEnter(user)))
      return Add(&user, {}, /*same_buffer=*/false);
    if (is_conditional) return Add(user.call(edge_.operand - 1)->parameter(0), index);
    Add(user.call(0)->parameter(edge_.operand), index);
  }

  // The one operation of an asynchronous computation has to take the array as it is: there is no
  // place for a copy.
  bool CanEnter(const Instruction& start) const {
    constexpr OpcodeSet kTaking = {Opcode::kDynamicSlice, Opcode::kDynamicUpdateSlice};
    const Instruction& operation = *start.call(0)->root();
    const Shape result = start.shape().element(1);
    if (!Compatible(result, operation.shape())) return false;
    if (operation.opcode() == Opcode::kCall) return true;
    if (operation.opcode() == Opcode::kCustomCall) return !SplitsWords(operation);
    return kTaking.Has(operation.opcode()) && edge_.operand == 0 &&
           operation.operand(0) == start.call(0)->parameter(0);
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
    const auto found = absl::c_find(sources, here);
    if (found != sources.end() && user.shape().IsArray()) return Add(&user, {});
    if (user.opcode() == Opcode::kCopy) return Add(&user, place_.index, /*same_buffer=*/false);
    // The end of an operation in two halves takes its result from what the start hands on, and
    // leaves the rest.
    if (found == sources.end() && !sources.empty() && !place_.index.empty()) return;
    Add(&user, {}, /*same_buffer=*/false);
  }

  const HostPlace& place_;
  HostEdge edge_;
  std::vector<HostStep> steps_;
};

bool IsAnnotation(const Instruction& instruction, std::string_view target) {
  return IsCustomCall(instruction, target) && instruction.operand_count() == 1 &&
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

bool IsMoveToHost(const Instruction& instruction) {
  return IsAnnotation(instruction, "MoveToHost");
}

bool IsMoveToDevice(const Instruction& instruction) {
  return IsAnnotation(instruction, "MoveToDevice");
}

bool SplitsWords(const Instruction& instruction) {
  return IsCustomCall(instruction, "X64SplitLow") || IsCustomCall(instruction, "X64SplitHigh");
}

bool OnlyChangesForm(const Instruction& instruction) {
  if (!instruction.shape().IsArray()) return false;
  if (instruction.opcode() == Opcode::kReshape)
    return ReshapeIsBitcast(instruction.operand(0)->shape(), instruction.shape());
  return instruction.opcode() == Opcode::kBitcast || instruction.opcode() == Opcode::kCopy;
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
