#include "passes/simplify/recognize_reduce_window.h"

#include <algorithm>

#include "lib/analysis/region.h"

namespace hlo {
namespace {

constexpr size_t kMinSlices = 3;
constexpr size_t kMaxSlices = 1024;

// The leaves of the tree of `root`'s operation whose inner values nobody else reads.
std::vector<Instruction*> TreeLeaves(Instruction* root) {
  std::vector<Instruction*> leaves;
  std::vector<Instruction*> pending = {root};
  while (!pending.empty() && leaves.size() + pending.size() <= kMaxSlices) {
    Instruction* node = pending.back();
    pending.pop_back();
    const bool is_inner = node->opcode() == root->opcode() && !node->has_control_edges() &&
                          (node == root || node->use_count() == 1);
    if (!is_inner) {
      leaves.push_back(node);
      continue;
    }
    pending.push_back(node->operand(1));
    pending.push_back(node->operand(0));
  }
  return leaves;
}

// The slices, which differ along one dimension only, in the order of their starts; where.
struct SlidingSlices {
  std::vector<Instruction*> slices;
  size_t dimension = 0;
  int64_t step = 0;
};

std::optional<size_t> DifferentDimension(const std::vector<Instruction*>& slices) {
  const SliceRanges& first = slices[0]->attrs<SliceAttrs>().slice;
  std::optional<size_t> dimension;
  for (const Instruction* slice : slices) {
    const SliceRanges& ranges = slice->attrs<SliceAttrs>().slice;
    for (size_t d = 0; d < ranges.size(); ++d) {
      if (ranges[d].stride != first[d].stride) return std::nullopt;
      if (ranges[d].start == first[d].start) continue;
      if (dimension && *dimension != d) return std::nullopt;
      dimension = d;
    }
  }
  return dimension;
}

std::optional<SlidingSlices> FindSliding(std::vector<Instruction*> leaves) {
  if (leaves.size() < kMinSlices) return std::nullopt;
  for (const Instruction* leaf : leaves) {
    if (leaf->opcode() != Opcode::kSlice || leaf->operand(0) != leaves[0]->operand(0) ||
        !Compatible(leaf->shape(), leaves[0]->shape()) || leaf->shape().has_dynamic_dims() ||
        leaf->shape().IsZeroSized())
      return std::nullopt;
  }
  const std::optional<size_t> dimension = DifferentDimension(leaves);
  if (!dimension) return std::nullopt;
  const auto start = [&](const Instruction* slice) {
    return slice->attrs<SliceAttrs>().slice[*dimension].start;
  };
  std::sort(leaves.begin(), leaves.end(),
            [&](const Instruction* a, const Instruction* b) { return start(a) < start(b); });
  const int64_t step = start(leaves[1]) - start(leaves[0]);
  for (size_t i = 1; i < leaves.size(); ++i) {
    if (step <= 0 || start(leaves[i]) - start(leaves[i - 1]) != step) return std::nullopt;
  }
  return SlidingSlices{std::move(leaves), *dimension, step};
}

bool IsInnerOfTree(const Instruction& op) {
  return op.use_count() == 1 && !op.is_root() && op.uses()[0].user->opcode() == op.opcode() &&
         !op.has_control_edges();
}

// op(slice(x), op(slice(x), …))  =>  reduce-window(x)
Instruction* WindowOfSlices(Instruction* root, Rewriter& rewriter) {
  if (!root->shape().IsArray() || IsInnerOfTree(*root)) return nullptr;
  const std::optional<SlidingSlices> found = FindSliding(TreeLeaves(root));
  if (!found) return nullptr;
  const std::optional<Literal> identity = IdentityOf(root->opcode(), root->shape().element_type());
  if (!identity) return nullptr;
  Instruction* const x = found->slices[0]->operand(0);
  const SliceRanges& first = found->slices[0]->attrs<SliceAttrs>().slice;
  ReduceWindowAttrs attrs;
  for (size_t d = 0; d < first.size(); ++d) {
    WindowDim& window = attrs.window.dims.emplace_back();
    window.stride = first[d].stride;
    if (d == found->dimension) {
      window.size = static_cast<int64_t>(found->slices.size());
      window.window_dilation = found->step;
    }
    const int64_t positions = root->shape().dim(static_cast<int>(d));
    const int64_t read = (positions - 1) * window.stride + window.DilatedWindow();
    window.pad_low = -first[d].start;
    window.pad_high = first[d].start + read - x->shape().dim(static_cast<int>(d));
  }
  return rewriter.OpWithShape(
      Opcode::kReduceWindow, root->shape(), {x, rewriter.Constant(*identity)},
      AttrsPtr::Make(std::move(attrs)),
      {ScalarComputation(rewriter.module(), root->opcode(), root->shape().element_type())});
}

constexpr Rule kWindowSumRules[] = {
    {"window-of-sums", Opcode::kAdd, kReassociate, WindowOfSlices},
    {"window-of-products", Opcode::kMultiply, kReassociate, WindowOfSlices},
    {"window-of-maxima", Opcode::kMaximum, kExact, WindowOfSlices},
    {"window-of-minima", Opcode::kMinimum, kExact, WindowOfSlices},
    {"window-of-conjunctions", Opcode::kAnd, kExact, WindowOfSlices},
    {"window-of-disjunctions", Opcode::kOr, kExact, WindowOfSlices},
};

}  // namespace

RecognizeReduceWindow::RecognizeReduceWindow() : RewritePass(this, kWindowSumRules) {}

HLO_DEFINE_PASS(RecognizeReduceWindow)

}  // namespace hlo
