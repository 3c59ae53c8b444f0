#include "passes/expand/reduce_window_rewriter.h"

#include "lib/analysis/region.h"
#include "lib/types/cumulative_window.h"
#include "passes/expand/tree_scan.h"

namespace hlo {
namespace {

// A cumulative window; exclusive: it also has one value more, that of nothing, at its start.
struct FoundScan {
  CumulativeWindow window;
  bool is_exclusive;
};

std::optional<FoundScan> ScanOf(const Instruction& reduce_window) {
  Window window = reduce_window.attrs<ReduceWindowAttrs>().window;
  const absl::Span<const int64_t> dims = reduce_window.operand(0)->shape().dims();
  bool is_exclusive = false;
  for (size_t d = 0; d < window.dims.size(); ++d) {
    WindowDim& dim = window.dims[d];
    if (dim.size != dims[d] || dim.size < 2) continue;
    if ((dim.pad_low == dim.size) == (dim.pad_high == dim.size)) continue;
    --(dim.pad_low == dim.size ? dim.pad_low : dim.pad_high);
    is_exclusive = true;
  }
  const std::optional<CumulativeWindow> found = CumulativeWindowOf(window, dims);
  if (!found) return std::nullopt;
  return FoundScan{*found, is_exclusive};
}

// The commutative operation that makes result `k` of two values number `k` out of `count`.
std::optional<Opcode> OperationOfResult(const Computation& combiner, int k, int count) {
  if (!combiner.root()->shape().IsTuple()) return CombinerOpcode(combiner);
  if (combiner.root()->opcode() != Opcode::kTuple) return std::nullopt;
  const Instruction& value = *combiner.root()->operand(k);
  if (value.operand_count() != 2 || !IsCommutative(value.opcode())) return std::nullopt;
  const Instruction& a = *combiner.parameter(k);
  const Instruction& b = *combiner.parameter(count + k);
  const bool reads_both = (value.operand(0) == &a && value.operand(1) == &b) ||
                          (value.operand(0) == &b && value.operand(1) == &a);
  if (!reads_both) return std::nullopt;
  return value.opcode();
}

// Whether values may be combined in any order, and with the initial ones any number of times.
bool IsFreeToRegroup(const Instruction& reduce_window) {
  const Computation& combiner = *reduce_window.to_apply();
  const int count = reduce_window.operand_count() / 2;
  for (int k = 0; k < count; ++k) {
    const std::optional<Opcode> opcode = OperationOfResult(combiner, k, count);
    if (!opcode || !IsIdentityOf(*opcode, *reduce_window.operand(count + k))) return false;
  }
  return true;
}

}  // namespace

bool ReduceWindowRewriter::Matches(const Instruction& instruction) const {
  return IsOfOneKind(instruction) &&
         (instruction.operand(0)->shape().rank() == 1 || IsLongScan(instruction));
}

bool ReduceWindowRewriter::IsLongScan(const Instruction& instruction) const {
  if (options_.base_length < 2) return false;
  const std::optional<FoundScan> scan = ScanOf(instruction);
  if (!scan) return false;
  const Shape operand = instruction.operand(0)->shape();
  if (operand.dim(static_cast<int>(scan->window.dimension)) <= options_.base_length) return false;
  const Instruction& root = *instruction.to_apply()->root();
  if (root.shape().IsTuple() && root.opcode() != Opcode::kTuple) return false;
  return options_.assume_associative || IsFreeToRegroup(instruction);
}

absl::StatusOr<Instruction*> ReduceWindowRewriter::Expand(Instruction* reduce_window,
                                                          Rewriter& rewriter) {
  const int count = reduce_window->operand_count() / 2;
  Arrays xs, inits;
  for (int k = 0; k < count; ++k) {
    xs.push_back(reduce_window->operand(k));
    inits.push_back(reduce_window->operand(count + k));
  }
  Arrays results;
  if (!IsLongScan(*reduce_window)) {
    results = ReduceWindowOver(xs, inits, reduce_window->attrs<ReduceWindowAttrs>().window,
                               reduce_window->to_apply(), rewriter);
  } else {
    const FoundScan found = *ScanOf(*reduce_window);
    const TreeScan scan = {inits, reduce_window->to_apply(), found.window.from_end,
                           options_.base_length};
    const int at = static_cast<int>(found.window.dimension);
    results = ScanInParts(xs, at, scan, rewriter);
    const int low = scan.from_end ? 0 : 1;
    for (size_t k = 0; k < results.size() && found.is_exclusive; ++k)
      results[k] = PadAlong(at, results[k], inits[k], low, 1 - low, rewriter);
  }
  return reduce_window->shape().IsTuple() ? rewriter.Tuple(results) : results[0];
}

HLO_DEFINE_PASS(ReduceWindowRewriter)

}  // namespace hlo
