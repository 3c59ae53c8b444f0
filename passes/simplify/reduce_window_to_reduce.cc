#include "passes/simplify/reduce_window_to_reduce.h"

namespace hlo {
namespace {

// The only dimension with a window, if it always covers all of it; else -1.
int CoveredDimension(const Instruction& reduce_window) {
  const Shape input = reduce_window.operand(0)->shape();
  const auto& dims = reduce_window.attrs<ReduceWindowAttrs>().window.dims;
  int covered = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    const WindowDim& dim = dims[i];
    if (dim.stride != 1 || dim.base_dilation != 1 || dim.window_dilation != 1 || dim.reversal)
      return -1;
    const int64_t extent = input.dim(static_cast<int>(i));
    if (dim.size == 1) continue;
    if (covered >= 0 || dim.size != 2 * extent - 1 || dim.pad_low != extent - 1 ||
        dim.pad_high != extent - 1)
      return -1;
    covered = static_cast<int>(i);
  }
  return covered;
}

// reduce-window over all of dimension d  =>  broadcast(reduce over d)
Instruction* WindowToReduce(Instruction* reduce_window, Rewriter& rewriter) {
  if (reduce_window->operand_count() != 2) return nullptr;
  Instruction* input = reduce_window->operand(0);
  if (!Compatible(input->shape(), reduce_window->shape()) || input->shape().has_dynamic_dims())
    return nullptr;
  const int covered = CoveredDimension(*reduce_window);
  if (covered < 0) return nullptr;
  Instruction* reduce =
      rewriter.Reduce(input, reduce_window->operand(1), {covered}, reduce_window->to_apply());
  DimVec kept;
  for (int i = 0; i < input->shape().rank(); ++i) {
    if (i != covered) kept.push_back(i);
  }
  return rewriter.Broadcast(reduce, reduce_window->shape().dims(), kept);
}

constexpr Rule kWindowRules[] = {
    {"window-to-reduce", Opcode::kReduceWindow, kReassociate, WindowToReduce}};

}  // namespace

ReduceWindowToReduce::ReduceWindowToReduce() : RewritePass(this, kWindowRules) {}

HLO_DEFINE_PASS(ReduceWindowToReduce)

}  // namespace hlo
