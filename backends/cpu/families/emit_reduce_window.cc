// Emission of reduce-window: a loop over the window for each element.
#include "backends/cpu/families/fold.h"
#include "lib/support/status.h"

namespace hlo::cpu {
namespace {

// Whether combining the initial value of a reduce-window once more changes nothing.
bool StartsWithIdentity(const Instruction& window) {
  // The smallest number is denormal in f32, in which it is compared, and flushed; there is no zero.
  if (window.operand(1)->shape().element_type() == ElementType::kF8E8M0FNU) return false;
  const Computation& region = *window.to_apply();
  const std::optional<Opcode> simple = CombinerOpcode(region);
  if (!simple) {
    // The initial value stands before the elements: it loses against equals, but the last one wins.
    const std::optional<TieOrder> ties = TieOrderOf(region);
    return ties && *ties != TieOrder::kLast;
  }
  return IsIdempotent(*simple) || IsIdentityOf(*simple, *window.operand(1));
}

}  // namespace

absl::StatusOr<Value> FusionEmitter::EmitReduceWindow(const Instruction* instruction, int result,
                                                      const Index& index) {
  const Fold fold(*this, *instruction);
  const auto count = static_cast<size_t>(instruction->operand_count() / 2);
  const Shape shape = instruction->operand(0)->shape();
  const Window& window = instruction->attrs<ReduceWindowAttrs>().window;
  std::vector<int64_t> sizes;
  for (const WindowDim& dim : window.dims) sizes.push_back(dim.size);
  Values carried;
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const Value value,
                     Emit(instruction->operand(static_cast<int>(count + i)), {}));
    carried.push_back(b_.Splat(fold.Carried(value), lanes_));
  }
  const Values initial = carried;
  const bool neutral = count == 1 && StartsWithIdentity(*instruction);
  ActiveNest& nest = Open(static_cast<int>(instruction->id()), sizes);
  const auto body = [&](const Values& before) -> absl::StatusOr<Values> {
    const Index at = IndexOf(nest, shape.rank());
    std::vector<Condition> conditions;
    Index element(at.size());
    for (size_t d = 0; d < at.size(); ++d) {
      const WindowDim& dim = window.dims[d];
      const int64_t size = shape.dim(static_cast<int>(d));
      element[d] = Affine::Constant(-dim.pad_low);
      element[d].Add(index[d], dim.stride);
      element[d].Add(at[d], dim.window_dilation);
      if (dim.base_dilation > 1) {
        conditions.push_back({element[d], 0, (size - 1) * dim.base_dilation + 1});
        auto [quotient, remainder] = DivRem(element[d], dim.base_dilation);
        conditions.push_back({remainder, 0, 1});
        element[d] = quotient;
      } else {
        conditions.push_back({element[d], 0, size});
      }
    }
    Values values;
    for (size_t i = 0; i < count; ++i) {
      const auto inside = [&]() -> absl::StatusOr<Value> {
        ASSIGN_OR_RETURN(const Value value,
                         Emit(instruction->operand(static_cast<int>(i)), element));
        return fold.Carried(value);
      };
      const auto outside = [&]() -> absl::StatusOr<Value> { return initial[i]; };
      ASSIGN_OR_RETURN(const Value value, Guarded(conditions, inside, outside));
      values.push_back(value);
    }
    ASSIGN_OR_RETURN(Values next, fold.CombineInOrder(before, values));
    for (size_t i = 0; i < count; ++i) {
      // Positions in the padding are skipped; an identity may as well be combined.
      if (!neutral) {
        const auto taken = [&]() -> absl::StatusOr<Value> { return next[i]; };
        const auto skipped = [&]() -> absl::StatusOr<Value> { return before[i]; };
        ASSIGN_OR_RETURN(next[i], Guarded(conditions, taken, skipped));
      }
      next[i] = b_.Splat(next[i], lanes_);
    }
    return next;
  };
  ASSIGN_OR_RETURN(const Values done, Loop(nest, 0, carried, body));
  return fold.Results(done)[static_cast<size_t>(result)];
}

}  // namespace hlo::cpu
