// backends/cpu/families/cumulative.cc
//
// A reduce-window whose window reaches from one end of a dimension to the element (cumulative sums,
// products, maxima): a running combination along the dimension, linear in its size. Lanes are
// neighbours in other dimensions; tasks are pieces of those. Sums of floats and products of narrow
// ones are carried in f64.
#include <algorithm>

#include "backends/cpu/families/fold.h"
#include "backends/cpu/families/kernel_frame.h"
#include "lib/eval/accumulation.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::cpu {
namespace {

class CumulativeEmission {
 public:
  CumulativeEmission(const Instruction& instruction, CumulativeWindow window,
                     const FamilyOptions& options, LoopPlan& plan)
      : instruction_(instruction),
        window_(window),
        options_(options),
        dims_(instruction.operand(0)->shape().dims()),
        count_(static_cast<size_t>(instruction.operand_count() / 2)),
        b_(&result_.kernel),
        emitter_(b_, plan, std::max(1, options.vector_bytes / 4)) {
    result_.family = "cumulative";
  }

  absl::StatusOr<KernelPlan> Run() {
    ASSIGN_OR_RETURN(frame_, MakeFrame(instruction_, b_, emitter_));
    const int64_t elements = instruction_.operand(0)->shape().element_count();
    if (elements == 0) {
      result_.task_count = 0;
      return std::move(result_);
    }
    std::vector<int64_t> sizes(dims_.begin(), dims_.end());
    sizes[window_.dimension] = 1;
    FusionEmitter::ActiveNest& nest = emitter_.Open(-1, sizes);
    const bool is_minor = window_.dimension + 1 == sizes.size();
    const int lanes = is_minor ? 1 : std::max(1, options_.vector_bytes / 4);
    nest.levels = emitter_.LevelsFor(nest, lanes);
    const int64_t size = nest.groups[0].size;
    const int64_t step = nest.groups.size() == 1 ? nest.levels.front() : 1;
    const int64_t chunk = RoundUp(CeilDiv(size, 256), step);
    result_.task_count = CeilDiv(size, chunk);
    result_.cost_ns_per_task = (1.5 * static_cast<double>(elements) / nest.levels.front() + 50) /
                               static_cast<double>(result_.task_count);
    const Value lo = b_.Scale(b_.begin(), chunk);
    const Value hi = b_.Min(b_.Scale(b_.end(), chunk), b_.Index(size));
    const auto body = [&](const Values& none) -> absl::StatusOr<Values> {
      RETURN_IF_ERROR(EmitLine(emitter_.IndexOf(nest, static_cast<int>(dims_.size()))));
      return none;
    };
    RETURN_IF_ERROR(emitter_.LoopBetween(nest, 0, lo, hi, {}, body).status());
    return std::move(result_);
  }

 private:
  ElementType ResultType(size_t k) const { return frame_.outputs[k].shape.element_type(); }

  // In which type the first value is carried; `wide`, where it is not stored so.
  ElementType CarriedFirst() const {
    const std::optional<Opcode> simple = CombinerOpcode(*instruction_.to_apply());
    return CarriedType(count_ == 1 ? simple : std::nullopt, ResultType(0), math::Carrier::kCpu,
                       Running::kYes);
  }

  // Along the dimension at `position` (0 in that dimension).
  absl::Status EmitLine(const Index& position) {
    const ElementType carrier = CarriedFirst();
    const bool wide = carrier != ResultType(0);
    Values carried;
    for (size_t k = 0; k < count_; ++k) {
      ASSIGN_OR_RETURN(Value value,
                       emitter_.Emit(instruction_.operand(static_cast<int>(count_ + k)), {}));
      if (wide) value = b_.Convert(value, carrier);
      carried.push_back(b_.Splat(value, emitter_.lanes()));
    }
    std::vector<int64_t> sizes(dims_.size(), 1);
    const int64_t size = dims_[window_.dimension];
    sizes[window_.dimension] = size;
    FusionEmitter::ActiveNest& line = emitter_.Open(static_cast<int>(instruction_.id()), sizes);
    const auto body = [&](const Values& before) -> absl::StatusOr<Values> {
      const Affine along =
          emitter_.IndexOf(line, static_cast<int>(dims_.size()))[window_.dimension];
      Index element = position;
      if (window_.from_end) {
        element[window_.dimension].Add(Affine::Constant(size - 1));
        element[window_.dimension].Add(along, -1);
      } else {
        element[window_.dimension].Add(along);
      }
      ASSIGN_OR_RETURN(const Values next, Combine(before, element, wide));
      const FusionEmitter::Address address = emitter_.ToAddress(Linear(element, dims_));
      for (size_t k = 0; k < count_; ++k) {
        const Value stored = wide ? b_.Convert(next[k], ResultType(k)) : next[k];
        b_.Store(frame_.outputs[k].buffer, address.base, stored, address.step);
      }
      return next;
    };
    return emitter_.Loop(line, 0, carried, body).status();
  }

  // The elements before `element`, combined with it; earlier elements of the array stand first.
  absl::StatusOr<Values> Combine(const Values& before, const Index& element, bool wide) {
    Values values;
    for (size_t k = 0; k < count_; ++k) {
      ASSIGN_OR_RETURN(const Value value,
                       emitter_.Emit(instruction_.operand(static_cast<int>(k)), element));
      values.push_back(b_.Splat(value, emitter_.lanes()));
    }
    if (wide) {
      const ElementType carrier = b_.type(before[0]).element;
      const Opcode opcode = instruction_.to_apply()->root()->opcode();
      return Values{b_.Element(opcode, carrier, {before[0], b_.Convert(values[0], carrier)})};
    }
    Values arguments = window_.from_end ? values : before;
    const Values& second = window_.from_end ? before : values;
    arguments.insert(arguments.end(), second.begin(), second.end());
    ASSIGN_OR_RETURN(Values next, emitter_.EmitRegion(*instruction_.to_apply(), arguments));
    for (Value& v : next) v = b_.Splat(v, emitter_.lanes());
    return next;
  }

  const Instruction& instruction_;
  CumulativeWindow window_;
  const FamilyOptions& options_;
  absl::Span<const int64_t> dims_;
  size_t count_;  // operands
  KernelPlan result_;
  tile::TileBuilder b_;
  FusionEmitter emitter_;
  KernelFrame frame_;
};

}  // namespace

BufferPairs CumulativePairs(const Instruction& instruction) {
  BufferPairs pairs;
  for (int k = 0; k < instruction.operand_count() / 2; ++k) {
    const Shape shape = instruction.shape();
    const Shape result = shape.IsTuple() ? shape.element(k) : shape;
    if (ByteSize(instruction.operand(k)->shape().element_type()) == ByteSize(result.element_type()))
      pairs.push_back({k, k});
  }
  return pairs;
}

absl::StatusOr<KernelPlan> EmitCumulativeFamily(const Instruction& instruction,
                                                const FamilyOptions& options) {
  const std::optional<CumulativeWindow> window = CumulativeWindowOf(instruction);
  RET_CHECK(window.has_value(), "`{}` is not cumulative", instruction.name());
  return EmitUntilSettled(instruction, [&](LoopPlan& plan) {
    return CumulativeEmission(instruction, *window, options, plan).Run();
  });
}

}  // namespace hlo::cpu
