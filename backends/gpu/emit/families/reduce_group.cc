#include "backends/gpu/emit/families/reduce_group.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::gpu {
namespace {

constexpr int64_t kFewElements = 16;  // for one thread

// False when one thread per result is the best there is.
bool IsWorthIt(const ReduceGroup& group) {
  const Shape operand = group.reduces[0]->operand(0)->shape();
  int64_t elements = 1;
  for (const int64_t d : group.reduces[0]->attrs<ReduceAttrs>().dimensions)
    elements *= operand.dim(static_cast<int>(d));
  if (operand.element_count() == 0 || elements <= kFewElements) return false;
  return std::none_of(group.reduces.begin(), group.reduces.end(), [](const Instruction* i) {
    return IsChoice(*i->to_apply()) && !TiesAmongThreads(*i->to_apply());
  });
}

// Which outputs of a fusion the kernels of its reductions store.
class ReduceGrouping {
 public:
  explicit ReduceGrouping(const GpuFrame& frame) : frame_(frame) {}

  // Groups that store something; `taken` says for each output whether one does.
  std::vector<ReduceGroup> Run(std::vector<bool>& taken) {
    std::vector<ReduceGroup> groups;
    for (const Instruction* i : frame_.body) {
      if (i->opcode() != Opcode::kReduce) continue;
      const auto same = std::find_if(groups.begin(), groups.end(), [i](const ReduceGroup& group) {
        const Instruction& other = *group.reduces[0];
        return other.operand(0)->shape().dims() == i->operand(0)->shape().dims() &&
               other.attrs<ReduceAttrs>().dimensions == i->attrs<ReduceAttrs>().dimensions;
      });
      (same == groups.end() ? groups.emplace_back() : *same).reduces.push_back(i);
    }
    for (ReduceGroup& group : groups) {
      if (IsWorthIt(group)) TakeOutputs(group, taken);
    }
    for (ReduceGroup& group : groups) LeaveWhatOthersReduce(group, taken);
    std::erase_if(groups, [](const ReduceGroup& group) { return group.results.empty(); });
    return groups;
  }

 private:
  void TakeOutputs(ReduceGroup& group, std::vector<bool>& taken) {
    std::vector<const Instruction*> used;
    for (size_t o = 0; o < frame_.outputs.size(); ++o) {
      const KernelOutput& output = frame_.outputs[o];
      if (taken[o] || !Follows(*output.instruction, group, used)) continue;
      group.results.push_back(output);
      taken[o] = true;
    }
    std::erase_if(group.reduces, [&](const Instruction* reduce) {
      return std::find(used.begin(), used.end(), reduce) == used.end();
    });
    if (group.reduces.empty()) return;
    const absl::Span<const int64_t> dims = group.reduces[0]->operand(0)->shape().dims();
    for (size_t o = 0; o < frame_.outputs.size(); ++o) {
      const KernelOutput& output = frame_.outputs[o];
      if (taken[o] || output.shape.dims() != dims || Reduces(*output.instruction)) continue;
      group.elements.push_back(output);
      taken[o] = true;
    }
  }

  static bool IsReshape(const Instruction& i) {
    return i.opcode() == Opcode::kReshape ||
           (i.opcode() == Opcode::kBitcast &&
            i.shape().element_type() == i.operand(0)->shape().element_type());
  }

  static int64_t ResultCount(const ReduceGroup& group) {
    const Shape reduce = group.reduces[0]->shape();
    return (reduce.IsTuple() ? reduce.element(0) : reduce).element_count();
  }

  // A reduction is computed in one order: where an output that is left needs one of the group, a
  // thread for each result computes both.
  void LeaveWhatOthersReduce(ReduceGroup& group, std::vector<bool>& taken) {
    const auto is_needed = [&](const Instruction* reduce) {
      for (size_t o = 0; o < frame_.outputs.size(); ++o) {
        if (!taken[o] && Needs(*frame_.outputs[o].instruction, *reduce)) return true;
      }
      return false;
    };
    if (!std::any_of(group.reduces.begin(), group.reduces.end(), is_needed)) return;
    for (const std::vector<KernelOutput>* outputs : {&group.results, &group.elements}) {
      for (const KernelOutput& output : *outputs) taken[NumberOf(output)] = false;
    }
    group.results.clear();
  }

  size_t NumberOf(const KernelOutput& output) const {
    size_t o = 0;
    while (frame_.outputs[o].instruction != output.instruction ||
           frame_.outputs[o].result != output.result || frame_.outputs[o].buffer != output.buffer)
      ++o;
    return o;
  }

  // Whether the value is, or depends on, `reduce`.
  bool Needs(const Instruction& value, const Instruction& reduce) const {
    absl::flat_hash_set<const Instruction*> seen;
    std::vector<const Instruction*> stack = {&value};
    while (!stack.empty()) {
      const Instruction* const i = stack.back();
      stack.pop_back();
      if (i == &reduce) return true;
      if (!seen.insert(i).second || i->opcode() == Opcode::kParameter) continue;
      for (const Instruction* operand : i->operands()) stack.push_back(operand);
    }
    return false;
  }

  // Whether the value is elementwise in results of the group, however they are cut into
  // dimensions, and of at least one, which are added to `used`.
  bool Follows(const Instruction& value, const ReduceGroup& group,
               std::vector<const Instruction*>& used) {
    std::vector<const Instruction*> found;
    std::vector<const Instruction*> stack = {&value};
    for (size_t steps = 0; !stack.empty(); ++steps) {
      constexpr size_t kMost = 256;
      if (steps > kMost) return false;
      const Instruction* i = stack.back();
      stack.pop_back();
      if (i->opcode() == Opcode::kGetTupleElement) i = i->operand(0);
      if (std::find(group.reduces.begin(), group.reduces.end(), i) != group.reduces.end()) {
        found.push_back(i);
        continue;
      }
      if (!Reduces(*i)) continue;
      if (!(IsFusibleElementwise(*i) || IsReshape(*i)) ||
          i->shape().element_count() != ResultCount(group))
        return false;
      for (const Instruction* operand : i->operands()) stack.push_back(operand);
    }
    used.insert(used.end(), found.begin(), found.end());
    return !found.empty();
  }

  // Whether the value depends on a reduction.
  bool Reduces(const Instruction& value) {
    if (const auto it = reduces_.find(&value); it != reduces_.end()) return it->second;
    bool any = value.opcode() == Opcode::kReduce;
    if (std::find(frame_.body.begin(), frame_.body.end(), &value) != frame_.body.end()) {
      for (const Instruction* operand : value.operands()) any = any || Reduces(*operand);
    }
    return reduces_[&value] = any;
  }

  const GpuFrame& frame_;
  absl::flat_hash_map<const Instruction*, bool> reduces_;  // looked up only
};

}  // namespace

std::vector<ReduceGroup> GroupReductions(const GpuFrame& frame, std::vector<bool>& taken) {
  return ReduceGrouping(frame).Run(taken);
}

// ---- several reductions as one ----

namespace {

void Append(const EmittedList& from, EmittedList& to) {
  to.insert(to.end(), from.begin(), from.end());
}

EmittedList Part(const Reducer& part, const EmittedList& all, size_t first) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return EmittedList(begin, begin + part.count());
}

}  // namespace

JointReducer::JointReducer(GpuFusionEmitter& emitter, std::vector<const Instruction*> reduces)
    : emitter_(emitter), reduces_(std::move(reduces)) {
  for (const Instruction* reduce : reduces_) {
    parts_.emplace_back(emitter, reduce, Reducer::Order::kAny);
    for (int i = 0; i < parts_.back().count(); ++i) types_.push_back(parts_.back().type(i));
  }
}

absl::StatusOr<EmittedList> JointReducer::Inputs(const ArrayIndex& index) const {
  EmittedList all;
  KernelBuilder& k = emitter_.kernel();
  for (size_t r = 0; r < parts_.size(); ++r) {
    const absl::Span<const int64_t> dims = reduces_[r]->operand(0)->shape().dims();
    ASSIGN_OR_RETURN(EmittedList values,
                     emitter_.EmitReduceInputs(reduces_[r], index.Reshaped(dims, k)));
    llvm::Value* const position = parts_[r].has_positions() ? index.linear(k) : nullptr;
    Append(parts_[r].Widen(std::move(values), position), all);
  }
  return all;
}

absl::StatusOr<EmittedList> JointReducer::Combine(const EmittedList& a,
                                                  const EmittedList& b) const {
  EmittedList all;
  size_t first = 0;
  for (const Reducer& part : parts_) {
    ASSIGN_OR_RETURN(const EmittedList one,
                     part.Combine(Part(part, a, first), Part(part, b, first)));
    Append(one, all);
    first += static_cast<size_t>(part.count());
  }
  return all;
}

absl::Status JointReducer::Finish(const ArrayIndex& index, const EmittedList& values) const {
  size_t first = 0;
  for (size_t r = 0; r < parts_.size(); ++r) {
    const Reducer& part = parts_[r];
    ASSIGN_OR_RETURN(EmittedList init, emitter_.EmitReduceInit(reduces_[r]));
    ASSIGN_OR_RETURN(EmittedList results,
                     part.Combine(part.Widen(std::move(init), emitter_.kernel().Index(-1)),
                                  Part(part, values, first)));
    results = part.Narrow(std::move(results));
    for (size_t i = 0; i < results.size(); ++i)
      emitter_.SetElement(reduces_[r], index, results[i], static_cast<int>(i));
    first += static_cast<size_t>(part.count());
  }
  return absl::OkStatus();
}

}  // namespace hlo::gpu
