// reduce, sort and others that work along some dimensions of all their operands.
#include "absl/algorithm/container.h"
#include "lib/analysis/region.h"
#include "passes/spmd/rules.h"
#include "passes/spmd/running_dims.h"

namespace hlo {
namespace {

// How partial results of a reduction are combined, and from what they start.
struct PartialReduction {
  bool is_possible = false;
  std::optional<Literal> start;  // instead of the initial value, which is combined at the end
};

PartialReduction PartialReductionOf(const Instruction& reduce) {
  PartialReduction partial;
  if (reduce.operand_count() != 2) return partial;
  const std::optional<Opcode> opcode = CombinerOpcode(*reduce.to_apply());
  if (!opcode.has_value() || !HasTrait(*opcode, kAssociative)) return partial;
  partial.is_possible = true;
  if (MayStartAgain(reduce)) return partial;
  partial.start = IdentityOf(*opcode, reduce.shape().element_type());
  partial.is_possible = partial.start.has_value();
  return partial;
}

absl::StatusOr<Parts> DivideReduce(Partitioner& partitioner, const Instruction& old) {
  const auto& reduced = old.attrs<ReduceAttrs>().dimensions;
  const PartialReduction partial = PartialReductionOf(old);
  const int inputs = old.operand_count() / 2;
  RunningOp op;
  int64_t out = 0;
  for (int64_t d = 0; d < old.operand(0)->shape().rank(); ++d) {
    const bool is_summed = absl::c_linear_search(reduced, d);
    const int64_t result = is_summed ? -1 : out++;
    if (is_summed && !partial.is_possible) continue;
    RunningDim dim{std::vector<int64_t>(static_cast<size_t>(old.operand_count()), -1), result, {}};
    for (int i = 0; i < inputs; ++i) dim.in[static_cast<size_t>(i)] = d;
    op.dims.push_back(std::move(dim));
  }
  op.combiner = old.to_apply();
  if (!partial.start.has_value()) {
    op.filler = [&](SpmdCode&, int) { return partitioner.OperandAs(old, 1, partitioner.Scalar()); };
    return DivideRuns(partitioner, old, std::move(op));
  }
  op.filler = [&](SpmdCode& code, int) { return code.Constant(*partial.start); };
  op.build = [&](Partitioner& p, std::vector<Instruction*> operands, Shape part, const Placement&) {
    return p.Clone(old, part, {operands[0], p.code().Constant(*partial.start)});
  };
  ASSIGN_OR_RETURN(Parts parts, DivideRuns(partitioner, old, std::move(op)));
  Instruction* init = partitioner.OperandAs(old, 1, partitioner.Scalar());
  SpmdCode& code = partitioner.code();
  parts.value = code.Op(*CombinerOpcode(*old.to_apply()),
                        {code.Filled(parts.value->shape(), init), parts.value});
  return parts;
}

// Every dimension of all operands and results runs, but for those that `works_along` says.
template <class F>
absl::StatusOr<Parts> DivideOthers(Partitioner& partitioner, const Instruction& old, int operands,
                                   F&& works_along) {
  RunningOp op;
  for (int64_t d = 0; d < old.operand(0)->shape().rank(); ++d) {
    if (works_along(d)) continue;
    RunningDim dim{std::vector<int64_t>(static_cast<size_t>(old.operand_count()), -1), d, {}};
    for (int i = 0; i < operands; ++i) dim.in[static_cast<size_t>(i)] = d;
    op.dims.push_back(std::move(dim));
  }
  return DivideRuns(partitioner, old, std::move(op));
}

absl::StatusOr<Parts> DivideSort(Partitioner& partitioner, const Instruction& old) {
  const int64_t sorted = old.attrs<SortAttrs>().dimensions.value;
  return DivideOthers(partitioner, old, old.operand_count(),
                      [&](int64_t d) { return d == sorted; });
}

absl::StatusOr<Parts> DivideTopK(Partitioner& partitioner, const Instruction& old) {
  const int64_t last = old.operand(0)->shape().rank() - 1;
  return DivideOthers(partitioner, old, 1, [&](int64_t d) { return d == last; });
}

absl::StatusOr<Parts> DivideFft(Partitioner& partitioner, const Instruction& old) {
  const auto first = old.operand(0)->shape().rank() -
                     static_cast<int64_t>(old.attrs<FftAttrs>().fft_length.size());
  return DivideOthers(partitioner, old, 1, [&](int64_t d) { return d >= first; });
}

// Batches of matrices.
absl::StatusOr<Parts> DivideMatrices(Partitioner& partitioner, const Instruction& old) {
  const int64_t batches = old.operand(0)->shape().rank() - 2;
  return DivideOthers(partitioner, old, old.operand_count(),
                      [&](int64_t d) { return d >= batches; });
}

bool IsTrivial(const WindowDim& dim) { return dim == WindowDim(); }

// Windows read over the borders of tiles; what is outside of the array counts as the initial value,
// where that may be combined more than once.
absl::StatusOr<Parts> DivideReduceWindow(Partitioner& partitioner, const Instruction& old) {
  const Window window = old.attrs<ReduceWindowAttrs>().window;
  const int inputs = old.operand_count() / 2;
  RunningOp op;
  for (int64_t d = 0; d < old.operand(0)->shape().rank() && !window.empty(); ++d) {
    const WindowDim& dim = window.dims[static_cast<size_t>(d)];
    const bool reads_outside = dim.pad_low > 0 || dim.pad_high > 0;
    if (dim.base_dilation != 1 || (reads_outside && !MayStartAgain(old))) continue;
    RunningDim running{std::vector<int64_t>(static_cast<size_t>(old.operand_count()), -1), d, {}};
    for (int i = 0; i < inputs; ++i) running.in[static_cast<size_t>(i)] = d;
    if (!IsTrivial(dim)) {
      running.reads = {.first = -dim.pad_low,
                       .stride = dim.stride,
                       .count = dim.DilatedWindow(),
                       .operands = inputs};
    }
    op.dims.push_back(std::move(running));
  }
  op.filler = [&](SpmdCode&, int i) {
    return partitioner.OperandAs(old, inputs + i, partitioner.Scalar());
  };
  op.build = [&](Partitioner& p, std::vector<Instruction*> operands, Shape part,
                 const Placement& result) {
    ReduceWindowAttrs attrs{window};
    for (int d = 0; d < result.rank() && !window.empty(); ++d) {
      if (result.tiles(d) == 1) continue;
      WindowDim& dim = attrs.window.dims[static_cast<size_t>(d)];
      dim.pad_low = dim.pad_high = 0;
    }
    Instruction* made = p.Clone(old, part, std::move(operands));
    made->SetAttrs(std::move(attrs));
    return made;
  };
  return DivideRuns(partitioner, old, std::move(op));
}

absl::StatusOr<Parts> DivideSelectAndScatter(Partitioner& partitioner, const Instruction& old) {
  const auto& window = old.attrs<SelectAndScatterAttrs>().window;
  return DivideOthers(partitioner, old, 2, [&](int64_t d) {
    return !window.empty() && !IsTrivial(window.dims[static_cast<size_t>(d)]);
  });
}

constexpr SpmdRow kReductionRows[] = {
    {Opcode::kReduce, DivideReduce},
    {Opcode::kSort, DivideSort},
    {Opcode::kTopK, DivideTopK},
    {Opcode::kFft, DivideFft},
    {Opcode::kCholesky, DivideMatrices},
    {Opcode::kTriangularSolve, DivideMatrices},
    {Opcode::kReduceWindow, DivideReduceWindow},
    {Opcode::kSelectAndScatter, DivideSelectAndScatter},
};

}  // namespace

std::span<const SpmdRow> SpmdReductionRows() { return kReductionRows; }

}  // namespace hlo
