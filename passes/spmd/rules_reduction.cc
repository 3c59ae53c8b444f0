// reduce, sort and others that work along some dimensions of all their operands.
#include "absl/algorithm/container.h"
#include "lib/analysis/region.h"
#include "passes/spmd/rules.h"
#include "passes/spmd/running_dims.h"
#include "passes/util/topk_order.h"

namespace hlo {
namespace {

// How partial results of a reduction are combined, and from what they start.
struct PartialReduction {
  bool is_possible = false;
  std::optional<Literal> start;  // instead of the initial value, which is combined at the end
};

PartialReduction PartialReductionOf(const Instruction& reduce) {
  PartialReduction partial;
  const bool may_start_again = MayStartAgain(reduce);
  if (reduce.operand_count() != 2) {
    partial.is_possible = may_start_again;
    return partial;
  }
  const std::optional<Opcode> opcode = CombinerOpcode(*reduce.to_apply());
  if (!opcode.has_value() || !HasTrait(*opcode, kAssociative)) return partial;
  partial.is_possible = true;
  if (may_start_again) return partial;
  partial.start = IdentityOf(*opcode, reduce.shape().element_type());
  partial.is_possible = partial.start.has_value();
  return partial;
}

// Several results, which no all-reduce combines: those of all devices are brought together, in the
// order of their tiles, and reduced once more. Elements keep their order: a region may choose by
// it.
Instruction* ReduceAgain(Partitioner& partitioner, const Instruction& old, Instruction* partial,
                         const GroupsOfDevices& groups) {
  SpmdCode& code = partitioner.code();
  const int results = old.operand_count() / 2;
  std::vector<Instruction*> operands;
  for (int i = 0; i < results; ++i) {
    Instruction* part = code.GetTupleElement(partial, i);
    DimVec dims(part->shape().dims().begin(), part->shape().dims().end());
    dims.insert(dims.begin(), 1);
    operands.push_back(code.AllGather(code.Reshape(part, dims), 0, groups));
  }
  for (int i = results; i < old.operand_count(); ++i)
    operands.push_back(partitioner.OperandAs(old, i, partitioner.Scalar()));
  Instruction* reduce = partitioner.Clone(old, partial->shape(), std::move(operands));
  reduce->SetAttrs(ReduceAttrs{DimVec{0}});
  return reduce;
}

absl::StatusOr<Parts> DivideReduce(Partitioner& partitioner, const Instruction& old) {
  const auto& reduced = old.attrs<ReduceAttrs>().dimensions;
  const PartialReduction partial = PartialReductionOf(old);
  const int inputs = old.operand_count() / 2;
  RunningOp op;
  int64_t out = 0;
  bool is_outer = true;  // whole results come one after the other
  for (int64_t d = 0; d < old.operand(0)->shape().rank(); ++d) {
    const int64_t size = old.operand(0)->shape().dim(static_cast<int>(d));
    const bool is_summed = absl::c_linear_search(reduced, d);
    const int64_t result = is_summed ? -1 : out++;
    const bool may_run = !is_summed || (partial.is_possible && (inputs == 1 || is_outer));
    if (is_summed && size > 1) is_outer = false;
    if (!may_run) continue;
    RunningDim dim = RunsAlong(old, 0, d, result);
    for (int i = 1; i < inputs; ++i) dim.in[static_cast<size_t>(i)] = d;
    // Of equal elements a region may choose the last one: nothing is put after them.
    if (is_summed && inputs > 1) dim.groups = size;
    op.dims.push_back(std::move(dim));
  }
  op.combiner = old.to_apply();
  if (inputs > 1) {
    op.combine = [&](Partitioner& p, Instruction* value, const GroupsOfDevices& groups) {
      return ReduceAgain(p, old, value, groups);
    };
  }
  if (!partial.start.has_value()) {
    op.filler = [&](SpmdCode&, int i) {
      return partitioner.OperandAs(old, inputs + i, partitioner.Scalar());
    };
    return DivideRuns(partitioner, old, std::move(op));
  }
  op.filler = [&](SpmdCode& code, int) { return code.Constant(*partial.start); };
  op.build = [&](Partitioner& p, std::vector<Instruction*> operands, Shape part,
                 const DividedRun&) {
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
  return DivideRuns(partitioner, old,
                    RunsWhere(old, operands, [&](int64_t d) { return !works_along(d); }));
}

absl::StatusOr<Parts> DivideSort(Partitioner& partitioner, const Instruction& old) {
  const int64_t sorted = old.attrs<SortAttrs>().dimensions.value;
  return DivideOthers(partitioner, old, old.operand_count(),
                      [&](int64_t d) { return d == sorted; });
}

absl::StatusOr<Parts> DivideFft(Partitioner& partitioner, const Instruction& old) {
  const auto first = old.operand(0)->shape().rank() -
                     static_cast<int64_t>(old.attrs<FftAttrs>().fft_length.size());
  return DivideOthers(partitioner, old, 1, [&](int64_t d) { return d >= first; });
}

// Batches of matrices.
absl::StatusOr<Parts> DivideCholesky(Partitioner& partitioner, const Instruction& old) {
  const int64_t batches = old.operand(0)->shape().rank() - 2;
  return DivideOthers(partitioner, old, 1, [&](int64_t d) { return d >= batches; });
}

// Batches of systems, and the right sides of each.
absl::StatusOr<Parts> DivideTriangularSolve(Partitioner& partitioner, const Instruction& old) {
  const int64_t batches = old.shape().rank() - 2;
  RunningOp op = RunsWhere(old, 2, [&](int64_t d) { return d < batches; });
  const int64_t sides = batches + (old.attrs<TriangularSolveAttrs>().left_side ? 1 : 0);
  op.dims.push_back(RunsAlong(old, 1, sides, sides));
  return DivideRuns(partitioner, old, std::move(op));
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
    if (reads_outside && !MayStartAgain(old)) continue;
    RunningDim running = RunsAlong(old, 0, d, d);
    for (int i = 1; i < inputs; ++i) running.in[static_cast<size_t>(i)] = d;
    if (!IsTrivial(dim)) {
      running.reads = {.first = -dim.pad_low,
                       .stride = dim.stride,
                       .count = dim.DilatedWindow(),
                       .operands = inputs,
                       .dilation = dim.base_dilation};
    }
    op.dims.push_back(std::move(running));
  }
  op.filler = [&](SpmdCode&, int i) {
    return partitioner.OperandAs(old, inputs + i, partitioner.Scalar());
  };
  op.build = [&, op_dims = op.dims](Partitioner& p, std::vector<Instruction*> operands, Shape part,
                                    const DividedRun& run) {
    ReduceWindowAttrs attrs{window};
    for (const RunningDim& running : op_dims) {
      const auto d = static_cast<int>(running.out);
      if (run.result().tiles(d) == 1 || !running.reads.has_value()) continue;
      const Shape shape = part.IsTuple() ? part.element(0) : part;
      const ReadEdges edges = EdgesOf(*running.reads, shape.dim(d));
      WindowDim& dim = attrs.window.dims[static_cast<size_t>(d)];
      dim.pad_low = edges.low;
      dim.pad_high = edges.high;
    }
    Instruction* made = p.Clone(old, part, std::move(operands));
    made->SetAttrs(std::move(attrs));
    return made;
  };
  return DivideRuns(partitioner, old, std::move(op));
}

// Each window has elements of its own, and the next one those after the stride: windows and
// elements are cut together.
bool IsInBlocks(const WindowDim& dim, int64_t elements, int64_t windows) {
  const WindowDim plain{.size = dim.size, .stride = dim.stride};
  return dim == plain && dim.size <= dim.stride && elements == windows * dim.stride;
}

absl::StatusOr<Parts> DivideSelectAndScatter(Partitioner& partitioner, const Instruction& old) {
  const auto& window = old.attrs<SelectAndScatterAttrs>().window;
  RunningOp op;
  for (int d = 0; d < old.shape().rank(); ++d) {
    const WindowDim dim = window.empty() ? WindowDim() : window.dims[static_cast<size_t>(d)];
    const int64_t windows = old.operand(1)->shape().dim(d);
    if (!IsTrivial(dim) && !IsInBlocks(dim, old.shape().dim(d), windows)) continue;
    op.dims.push_back(RunsAlong(old, 0, d, d));
    op.dims.back().in[1] = d;
    if (!IsTrivial(dim)) op.dims.back().groups = windows;
  }
  return DivideRuns(partitioner, old, std::move(op));
}

constexpr SpmdRow kReductionRows[] = {
    {Opcode::kReduce, DivideReduce},
    {Opcode::kSort, DivideSort},
    {Opcode::kTopK, DivideTopK},
    {Opcode::kFft, DivideFft},
    {Opcode::kCholesky, DivideCholesky},
    {Opcode::kTriangularSolve, DivideTriangularSolve},
    {Opcode::kReduceWindow, DivideReduceWindow},
    {Opcode::kSelectAndScatter, DivideSelectAndScatter},
};

}  // namespace

// The largest of all devices, of those of each of them with their places in the whole.
Instruction* LargestOfAll(Partitioner& partitioner, const Instruction& old, Instruction* partial,
                          const GroupsOfDevices& groups) {
  SpmdCode& code = partitioner.code();
  const int64_t last = old.operand(0)->shape().rank() - 1;
  std::vector<Instruction*> gathered;
  for (int i = 0; i < 2; ++i)
    gathered.push_back(code.AllGather(code.GetTupleElement(partial, i), last, groups));
  std::vector<Shape> shapes = {gathered[0]->shape(), gathered[1]->shape()};
  Instruction* sorted =
      code.OpWithShape(Opcode::kSort, Shape::Tuple(shapes), gathered,
                       AttrsPtr::Make(SortAttrs{BracedDim{last}, true}), {TopkOrder(old)});
  std::vector<Instruction*> first;
  for (int i = 0; i < 2; ++i) {
    Instruction* element = code.GetTupleElement(sorted, i);
    first.push_back(code.Resized(element, last, old.shape().element(0).dims().back()));
  }
  return code.Tuple(first);
}

absl::StatusOr<Parts> DivideTopK(Partitioner& partitioner, const Instruction& old) {
  if (!IsTopk(old)) return RunWhole(partitioner, old);
  const Shape whole = old.operand(0)->shape();
  const int64_t last = whole.rank() - 1, size = whole.dims().back();
  const int64_t k = old.shape().element(0).dims().back();
  RunningOp op = RunsWhere(old, 1, [&](int64_t d) { return d != last; });
  if (k > 0) {
    op.dims.push_back(RunsAlong(old, 0, last, -1));
    op.dims.back().groups = size;
    op.dims.back().least = k;
  }
  op.combine = [&](Partitioner& p, Instruction* partial, const GroupsOfDevices& groups) {
    return LargestOfAll(p, old, partial, groups);
  };
  op.build = [&](Partitioner& p, std::vector<Instruction*> operands, Shape part,
                 const DividedRun& run) {
    Instruction* topk = p.Clone(old, part, std::move(operands));
    if (run.summed.empty()) return topk;
    SpmdCode& code = p.code();
    Instruction* places = code.GetTupleElement(topk, 1);
    Instruction* start =
        code.Convert(code.TileStart(*run.operands[0], whole, last), places->shape().element_type());
    places = code.Add(places, code.Filled(places->shape(), start));
    return code.Tuple({code.GetTupleElement(topk, 0), places});
  };
  return DivideRuns(partitioner, old, std::move(op));
}

std::span<const SpmdRow> SpmdReductionRows() { return kReductionRows; }

}  // namespace hlo
