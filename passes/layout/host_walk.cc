#include "passes/layout/host_walk.h"

#include <limits>

#include "lib/analysis/forwarding.h"
#include "lib/ir/builder.h"
#include "lib/ir/entry_info.h"
#include "passes/util/layout_copy.h"

namespace hlo {
namespace {

// The layout says more than an order of dimensions and a memory: somebody chose it.
bool IsCustomized(const Layout& layout) {
  return !layout.tiles.empty() || layout.index_type.has_value() ||
         layout.pointer_type.has_value() || layout.element_size_in_bits != 0;
}

// The result takes the memory of a parameter, which is the device's.
bool MustBeParameter(const Module& module, const ShapeIndex& output) {
  const InputOutputAlias* const alias = AliasOfOutput(module, output);
  if (alias == nullptr || !alias->must_alias) return false;
  const Shape parameter =
      module.config().entry_layout.parameters[static_cast<size_t>(alias->parameter)];
  return MemorySpaceOf(SubShape(parameter, alias->parameter_index)) != kHostMemorySpace;
}

bool MayStandBetweenSliceAndDevice(const Instruction& instruction) {
  constexpr OpcodeSet kStructure = {Opcode::kTuple, Opcode::kOptimizationBarrier,
                                    Opcode::kGetTupleElement, Opcode::kParameter, Opcode::kWhile};
  const auto true_rank = [](Shape shape) {
    return absl::c_count_if(shape.dims(), [](int64_t size) { return size != 1; });
  };
  if (instruction.opcode() == Opcode::kReduce && instruction.shape().IsArray())
    return true_rank(instruction.operand(0)->shape()) == true_rank(instruction.shape());
  return OnlyChangesForm(instruction) || kStructure.Has(instruction.opcode());
}

bool HasUnitStrides(const Instruction& slice) {
  const SliceAttrs& attrs = slice.attrs<SliceAttrs>();
  return absl::c_all_of(attrs.slice, [](const SliceRange& range) { return range.stride == 1; });
}

// Hands on its operand as a part of its result, for its other half.
bool IsStarted(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kAsyncStart ||
         instruction.opcode() == Opcode::kAsyncUpdate ||
         (instruction.shape().IsTuple() && !ForwardedLeaves(instruction, /*dense=*/false).empty());
}

bool IsConditionOfLoop(const Computation& computation) {
  return absl::c_any_of(computation.callers(), [&](const CallSite& site) {
    return site.caller->opcode() == Opcode::kWhile &&
           site.caller->while_condition() == &computation;
  });
}

}  // namespace

bool LeadsToDevice(Instruction& slice) {
  absl::flat_hash_set<std::pair<const Instruction*, ShapeIndex>> seen;
  std::vector<HostPlace> pending = {{&slice, {}}};
  while (!pending.empty()) {
    const HostPlace place = pending.back();
    pending.pop_back();
    for (const HostStep& step : StepsAfter(place)) {
      if (IsMoveToDevice(*step.to.instruction)) continue;
      if (!MayStandBetweenSliceAndDevice(*step.to.instruction)) return false;
      if (seen.emplace(step.to.instruction, step.to.index).second) pending.push_back(step.to);
    }
  }
  return true;
}

Instruction* InMemoryOf(Instruction* value, Shape shape) {
  if (value->opcode() != Opcode::kTuple || value->shape() == shape)
    return CopyWithLayouts(value, shape);
  std::vector<Instruction*> elements;
  for (int i = 0; i < value->operand_count(); ++i)
    elements.push_back(InMemoryOf(value->operand(i), shape.element(i)));
  return value->parent()->AddClone(*value, shape, elements);
}

void HostWalk::Mark(const HostPlace& place) {
  if (IndexIsValid(place.instruction->shape(), place.index) && place.shape().IsArray() &&
      known_.insert(KeyOf(place)).second)
    places_.push_back(place);
}

void HostWalk::ComputeOnHost(Instruction& instruction) {
  std::string& type = instruction.mutable_extras().frontend_attributes["_xla_compute_type"];
  if (!type.empty()) return;  // somebody has decided, for the host perhaps
  context_.Passed(instruction, "is computed on the host, where its operand lies");
  context_.Count("computed on the host");
  type = "host";
  changed_ = true;
}

absl::Status HostWalk::Run() {
  while (visited_ < places_.size()) RETURN_IF_ERROR(Visit(HostPlace(places_[visited_++])));
  return absl::OkStatus();
}

absl::Status HostWalk::Visit(const HostPlace& place) {
  Instruction& instruction = *place.instruction;
  MarkTogether(place);
  if (instruction.is_root() && instruction.parent()->is_entry())
    RETURN_IF_ERROR(ReachResult(place));
  if (instruction.is_root() && IsConditionOfLoop(*instruction.parent()))
    to_device_.push_back({nullptr, 0, instruction.parent()});
  for (const Use& use : instruction.uses()) {
    if (SplitsWords(*use.user))
      to_device_.push_back({use.user, use.operand_index, instruction.parent()});
  }
  for (const HostStep& step : StepsAfter(place)) RETURN_IF_ERROR(Take(step));
  return absl::OkStatus();
}

// What control flow makes one place with this one.
void HostWalk::MarkTogether(const HostPlace& place) {
  const auto mark_loop = [&](Instruction& loop) {
    Mark({&loop, place.index});
    Mark({loop.while_body()->parameter(0), place.index});
    Mark({loop.while_condition()->parameter(0), place.index});
  };
  Instruction& instruction = *place.instruction;
  if (instruction.opcode() == Opcode::kWhile) mark_loop(instruction);
  if (instruction.opcode() == Opcode::kAsyncDone) {
    ShapeIndex in_start = {1};
    in_start.insert(in_start.end(), place.index.begin(), place.index.end());
    Mark({instruction.operand(0), in_start});
  }
  if (instruction.opcode() != Opcode::kParameter) return;
  for (const CallSite& site : instruction.parent()->callers()) {
    if (site.caller->opcode() == Opcode::kWhile) mark_loop(*site.caller);
    if (site.caller->opcode() != Opcode::kAsyncStart) continue;
    ShapeIndex in_start = {0, instruction.parameter_number()};
    in_start.insert(in_start.end(), place.index.begin(), place.index.end());
    Mark({site.caller, in_start});
  }
}

absl::Status HostWalk::ReachResult(const HostPlace& place) {
  Shape& result = module_.config().entry_layout.result;
  if (!IndexIsValid(result, place.index)) return absl::OkStatus();
  const Shape array = SubShape(result, place.index);
  if (!array.IsArray() || MemorySpaceOf(array) == kHostMemorySpace) return absl::OkStatus();
  if ((array.has_layout() && IsCustomized(array.layout())) ||
      MustBeParameter(module_, place.index)) {
    return Error(place.instruction->loc(),
                 "an array that was moved to the host is returned, but the layout of result {} of "
                 "the entry computation, `{:l}`, is not in the memory of the host",
                 ToString(place.index), array);
  }
  result = WithMemorySpace(result, place.index, kHostMemorySpace);
  changed_ = true;
  return absl::OkStatus();
}

absl::Status HostWalk::Take(const HostStep& step) {
  Instruction& to = *step.to.instruction;
  if (!step.same_buffer) return TakeAsOther(step);
  if (step.edge.user == &to && IsMoveToDevice(to)) {
    ends_.Add(&to);
    return absl::OkStatus();
  }
  if (step.edge.user == &to && IsMoveToHost(to)) passed_.Add(&to);
  if (step.to.shape().IsArray()) {
    Mark(step.to);
  } else {
    to_device_.push_back(step.edge);  // a buffer of the device's
  }
  return absl::OkStatus();
}

absl::Status HostWalk::TakeAsOther(const HostStep& step) {
  Instruction& to = *step.to.instruction;
  const Opcode opcode = to.opcode();
  const bool is_slice = opcode == Opcode::kDynamicSlice || opcode == Opcode::kSlice;
  const bool is_data = step.edge.operand == 0;
  if (opcode == Opcode::kDynamicUpdateSlice && step.edge.operand == 1) {
    updates_from_host_.Add(&to);
    return absl::OkStatus();
  }
  // Where to slice, and which branch to take, is the device's to know, and it runs fusions and what
  // is asynchronous.
  if (opcode == Opcode::kConditional || opcode == Opcode::kFusion || IsStarted(to) ||
      opcode == Opcode::kDynamicUpdateSlice || (is_slice && !is_data)) {
    to_device_.push_back(step.edge);
    return absl::OkStatus();
  }
  if (is_slice && LeadsToDevice(to) && (opcode == Opcode::kDynamicSlice || HasUnitStrides(to))) {
    if (opcode == Opcode::kSlice) slices_.Add(&to);
    return absl::OkStatus();
  }
  const bool changes_layout = opcode == Opcode::kCopy && to.shape() != to.operand(0)->shape();
  if (!changes_layout) ComputeOnHost(to);
  if (opcode == Opcode::kCopy) {
    Mark(step.to);
  } else {
    ForEachLeaf(to.shape(), [&](Shape, const ShapeIndex& index) { Mark({&to, index}); });
  }
  return absl::OkStatus();
}

// Where one computation returns an array from the host, the others that do so in its place, to the
// same loop, call or conditional, do, too.
absl::Status HostWalk::ReturnFromHost() {
  for (size_t i = 0; i < places_.size(); ++i) {
    const HostPlace place = places_[i];  // the list grows
    const Opcode opcode = place.instruction->opcode();
    if (opcode == Opcode::kWhile) {
      PutRoot(place.instruction->while_body(), place.index);
    } else if (opcode == Opcode::kCall || opcode == Opcode::kConditional) {
      for (Computation* callee : place.instruction->calls()) PutRoot(callee, place.index);
    }
    RETURN_IF_ERROR(Run());
  }
  return absl::OkStatus();
}

void HostWalk::PutRoot(Computation* computation, const ShapeIndex& index) {
  Instruction* const root = computation->root();
  if (Has({root, index})) return;
  // The operand of a tuple is copied where the tuple is looked at.
  if (root->opcode() == Opcode::kTuple && !index.empty()) return Mark({root, index});
  Instruction* const returned =
      CopyWithLayouts(root, WithMemorySpace(root->shape(), index, kHostMemorySpace));
  computation->set_root(returned);
  changed_ = true;
  // What takes the root apart has places, too.
  for (const Use& use : root->uses()) {
    if (use.user->opcode() != Opcode::kGetTupleElement) continue;
    ForEachLeaf(use.user->shape(), [&](Shape, const ShapeIndex& inner) {
      ShapeIndex whole = {use.user->tuple_index()};
      whole.insert(whole.end(), inner.begin(), inner.end());
      if (Has({root, whole})) Mark({use.user, inner});
    });
  }
  Mark({returned, index});
}

absl::StatusOr<bool> HostWalk::Finish() {
  RETURN_IF_ERROR(ReturnFromHost());
  for (Instruction* update : updates_from_host_.items()) {
    if (Has({update, {}})) {
      ComputeOnHost(*update);
    } else {
      to_device_.push_back({update, 1, update->parent()});
    }
  }
  for (const HostPlace& place : places_) {
    Instruction* const instruction = place.instruction;
    instruction->set_shape(WithMemorySpace(instruction->shape(), place.index, kHostMemorySpace));
  }
  for (const HostEdge& edge : to_device_) {
    Instruction* const value = edge.value();
    edge.Redirect(CopyWithLayouts(value, WithoutHostMemory(value->shape())));
    changed_ = true;
  }
  ReplaceAnnotations();
  for (Instruction* slice : slices_.items()) ReplaceSlice(slice);
  absl::flat_hash_set<const Instruction*> repaired;
  for (const HostPlace& place : places_) {
    Instruction* const instruction = place.instruction;
    if (instruction->is_dead() || !repaired.insert(instruction).second) continue;
    Repair(*instruction);
    if (instruction->opcode() != Opcode::kParameter) continue;
    for (const CallSite& site : instruction->parent()->callers()) {
      if (repaired.insert(site.caller).second) Repair(*site.caller);
    }
  }
  return changed_;
}

void HostWalk::ReplaceAnnotations() {
  for (Instruction* call : ends_.items()) {
    Instruction* const data = call->operand(0);
    context_.Passed(*call, "is copied to the device");
    context_.Count("copies to the device");
    Instruction* const copy = CopyWithLayouts(data, WithoutHostMemory(data->shape()));
    call->parent()->Replace(call, CopyWithLayouts(copy, call->shape()));
    changed_ = true;
  }
  for (Instruction* call : passed_.items()) {
    ReplaceByOperand(call);
    changed_ = true;
  }
}

// slice(x), slice={[2:4], [0:8]}  =>  dynamic-slice(x, 2, 0), dynamic_slice_sizes={2,8}
// Transfers from the host are made of dynamic slices.
void HostWalk::ReplaceSlice(Instruction* slice) {
  const SliceRanges& ranges = slice->attrs<SliceAttrs>().slice;
  const bool fit = absl::c_all_of(ranges, [](const SliceRange& range) {
    return range.start <= std::numeric_limits<int32_t>::max();
  });
  Builder b(slice->parent());
  std::vector<Instruction*> starts;
  for (const SliceRange& range : ranges) {
    starts.push_back(b.ScalarConstant(fit ? ElementType::kS32 : ElementType::kS64,
                                      static_cast<double>(range.start)));
  }
  Instruction* const dynamic = b.DynamicSlice(slice->operand(0), starts, slice->shape().dims());
  dynamic->set_shape(slice->shape());
  context_.Passed(*slice, "is a transfer from the host");
  context_.Count("slices from the host");
  slice->parent()->Replace(slice, dynamic);
  changed_ = true;
}

void HostWalk::Require(const HostEdge& edge, Shape shape) {
  Instruction* const value = edge.value();
  if (value->shape() == shape || !Compatible(value->shape(), shape)) return;
  // Only the memory is ours to choose.
  if (WithoutHostMemory(value->shape()) != WithoutHostMemory(shape)) return;
  edge.Redirect(InMemoryOf(value, shape));
  context_.Count("copies between places of control flow");
  changed_ = true;
  if (!value->is_used() && value->opcode() == Opcode::kTuple) value->parent()->RemoveUnused(value);
}

void ReplaceByOperand(Instruction* annotation) {
  Instruction* const value = CopyWithLayouts(annotation->operand(0), annotation->shape());
  annotation->parent()->Replace(annotation, value);
}

// Gives the operands the memory that `instruction` expects.
void HostWalk::Repair(Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  const auto operand = [&](int i, Shape shape) {
    Require({&instruction, i, instruction.parent()}, shape);
  };
  if (opcode == Opcode::kTuple) {
    for (int i = 0; i < instruction.operand_count(); ++i)
      operand(i, instruction.shape().element(i));
  } else if (opcode == Opcode::kOptimizationBarrier || opcode == Opcode::kDynamicUpdateSlice ||
             opcode == Opcode::kWhile) {
    operand(0, instruction.shape());
  } else if (opcode == Opcode::kCall || opcode == Opcode::kAsyncStart) {
    const Computation& callee = *instruction.call(0);
    for (int i = 0; i < callee.parameter_count(); ++i) operand(i, callee.parameter(i)->shape());
  } else if (opcode == Opcode::kConditional) {
    for (int i = 0; i < instruction.call_count(); ++i)
      operand(i + 1, instruction.call(i)->parameter(0)->shape());
  }
}

}  // namespace hlo
