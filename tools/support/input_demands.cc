#include "tools/support/input_demands.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "lib/analysis/region.h"
#include "lib/ir/async_chain.h"
#include "lib/ops/attrs.h"
#include "lib/ops/opcode_groups.h"
#include "lib/ops/opcode_set.h"
#include "lib/support/contains.h"
#include "passes/gpu/library_calls.h"

namespace hlo {
namespace {

using Path = std::vector<int64_t>;

enum class DemandKind : uint8_t {
  kIndex,
  kSorted,
  kDistinct,
  kSum,
  kStart,
  kPositive,
  kPositiveDefinite
};

// Operations whose results hold elements of their first operand, and no others.
constexpr OpcodeSet kMoves = {Opcode::kBitcast,
                              Opcode::kBroadcast,
                              Opcode::kConvert,
                              Opcode::kCopy,
                              Opcode::kReshape,
                              Opcode::kReverse,
                              Opcode::kSlice,
                              Opcode::kTranspose,
                              Opcode::kGather,
                              Opcode::kWhile,
                              Opcode::kDynamicSlice,
                              Opcode::kReducePrecision,
                              Opcode::kOptimizationBarrier};
// Operations whose results also hold elements of the first operand; of these others as well.
constexpr OpcodeSet kMixes = {Opcode::kPad, Opcode::kConcatenate, Opcode::kDynamicUpdateSlice,
                              Opcode::kMaximum, Opcode::kMinimum};
// Operations that leave matrices as they are.
constexpr OpcodeSet kKeepsMatrices = {Opcode::kConvert, Opcode::kCopy, Opcode::kWhile,
                                      Opcode::kOptimizationBarrier};

class DemandFinder {
 public:
  explicit DemandFinder(const Module& module) : module_(module) {}

  std::map<LeafKey, InputDemand> Run() {
    for (const Computation* computation : module_.computations()) {
      for (const Instruction* inst : computation->instructions()) {
        if (inst->opcode() == Opcode::kAsyncUpdate) updates_.push_back(inst);
        Visit(*inst);
      }
    }
    while (!work_.empty()) {
      const Item item = work_.back();
      work_.pop_back();
      Step(item);
    }
    return demands_;
  }

 private:
  // `value` is the limit of an index, the length of index vectors, a sum, or the opcode of what
  // starts. The first instruction that demands it stands for all.
  struct Demand {
    DemandKind kind;
    int64_t value = 0;
    const Instruction* by = nullptr;
    friend bool operator<(const Demand& a, const Demand& b) {
      return std::tie(a.kind, a.value) < std::tie(b.kind, b.value);
    }
  };
  // Of the value at `path` of `inst`.
  struct Item {
    const Instruction* inst;
    Path path;
    Demand demand;
  };

  void Push(const Instruction* inst, Path path, Demand demand) {
    if (seen_.insert({inst->id(), path, demand}).second)
      work_.push_back({inst, std::move(path), demand});
  }
  void PushLimit(const Instruction* inst, int64_t limit, const Instruction& by) {
    Push(inst, {}, {DemandKind::kIndex, limit, &by});
  }
  // What a gather or scatter promises of its indices.
  void PushPromises(const Instruction& by, const Instruction* indices, int64_t index_vector_dim,
                    bool is_sorted, bool is_distinct) {
    const Shape shape = indices->shape();
    const int rank = shape.rank();
    if (index_vector_dim < rank - 1) return;  // vectors that lie across
    const int64_t columns = index_vector_dim == rank ? 1 : shape.dim(rank - 1);
    if (is_sorted) Push(indices, {}, {DemandKind::kSorted, columns, &by});
    if (is_distinct) Push(indices, {}, {DemandKind::kDistinct, columns, &by});
  }

  // What `inst` itself demands of its operands.
  void Visit(const Instruction& inst) {
    const Opcode opcode = inst.opcode();
    if (opcode == Opcode::kGather) return VisitGather(inst);
    if (opcode == Opcode::kScatter) return VisitScatter(inst);
    if (opcode == Opcode::kDynamicSlice)
      return VisitStarts(inst, 1, inst.attrs<DynamicSliceAttrs>().dynamic_slice_sizes);
    if (opcode == Opcode::kDynamicUpdateSlice)
      return VisitStarts(inst, 2, inst.operand(1)->shape().dims());
    if (opcode == Opcode::kConditional && IsInteger(inst.operand(0)->shape().element_type()))
      PushLimit(inst.operand(0), inst.call_count() - 1, inst);
    if (opcode == Opcode::kRaggedDot)
      Push(inst.operand(2), {}, {DemandKind::kSum, GroupedSize(inst), &inst});
    constexpr OpcodeSet kOfPositive = {Opcode::kLog, Opcode::kSqrt, Opcode::kRsqrt};
    if (kOfPositive.Has(opcode)) Push(inst.operand(0), {}, {DemandKind::kPositive, 0, &inst});
    if (opcode == Opcode::kCholesky || opcode == Opcode::kTriangularSolve)
      Push(inst.operand(0), {}, {DemandKind::kPositiveDefinite, 0, &inst});
    if (opcode == Opcode::kRaggedAllToAll) VisitRows(inst);
    if (kReduceOps.Has(opcode)) VisitReduction(inst);
  }

  // Rows that devices exchange begin in the first half of an array, and are no more than the other.
  void VisitRows(const Instruction& inst) {
    const Shape input = inst.operand(0)->shape(), output = inst.operand(1)->shape();
    if (input.rank() == 0 || output.rank() == 0) return;
    const int64_t from = input.dim(0) / 2, to = output.dim(0) / 2;
    const int64_t rows = std::min(input.dim(0) - from, output.dim(0) - to);
    PushLimit(inst.operand(2), from, inst);
    PushLimit(inst.operand(3), rows, inst);  // sent
    PushLimit(inst.operand(4), to, inst);
    PushLimit(inst.operand(5), rows, inst);  // received
  }

  void VisitReduction(const Instruction& inst) {
    const std::optional<Opcode> combiner = CombinerOpcode(*inst.to_apply());
    if (combiner && inst.operand_count() == 2)
      Push(inst.operand(1), {}, {DemandKind::kStart, static_cast<int64_t>(*combiner), &inst});
  }

  // The size of the dimension of a ragged-dot's lhs that the groups share.
  static int64_t GroupedSize(const Instruction& inst) {
    const DimVec& ragged = inst.attrs<RaggedDotAttrs>().lhs_ragged_dims;
    const Shape lhs = inst.operand(0)->shape();
    return ragged.empty() ? lhs.dim(0) : lhs.dim(static_cast<int>(ragged[0]));
  }

  void VisitGather(const Instruction& inst) {
    const auto& attrs = inst.attrs<GatherAttrs>();
    int64_t limit = INT64_MAX;
    for (const int64_t d : attrs.start_index_map) {
      const int64_t size = inst.operand(0)->shape().dim(static_cast<int>(d));
      const int64_t room = size - attrs.slice_sizes[static_cast<size_t>(d)];
      limit = std::min(limit, std::max<int64_t>(room, 0));
    }
    if (limit != INT64_MAX) PushLimit(inst.operand(1), limit, inst);
    PushPromises(inst, inst.operand(1), attrs.index_vector_dim, attrs.indices_are_sorted, false);
  }

  void VisitStarts(const Instruction& inst, int first, absl::Span<const int64_t> sizes) {
    const Shape operand = inst.operand(0)->shape();
    const int rank = operand.rank();
    const bool is_vector =
        inst.operand_count() == first + 1 && inst.operand(first)->shape().rank() == 1;
    int64_t least = INT64_MAX;
    for (int d = 0; d < rank; ++d) {
      const int64_t limit = std::max<int64_t>(operand.dim(d) - sizes[static_cast<size_t>(d)], 0);
      least = std::min(least, limit);
      if (!is_vector && first + d < inst.operand_count())
        PushLimit(inst.operand(first + d), limit, inst);
    }
    if (is_vector && rank > 0) PushLimit(inst.operand(first), least, inst);
  }

  void VisitScatter(const Instruction& inst) {
    const auto& attrs = inst.attrs<ScatterAttrs>();
    const int inputs = inst.operand_count() / 2;  // inputs, indices, updates
    const Shape input = inst.operand(0)->shape();
    const Shape updates = inst.operand(inputs + 1)->shape();
    // The sizes of the window, in the order of the input's dimensions that are not inserted.
    size_t window = 0;
    int64_t limit = INT64_MAX;
    for (int d = 0; d < input.rank(); ++d) {
      const auto contains = [d](const DimVec& dims) {
        return std::find(dims.begin(), dims.end(), d) != dims.end();
      };
      int64_t size = 1;
      if (!contains(attrs.inserted_window_dims) && !contains(attrs.input_batching_dims) &&
          window < attrs.update_window_dims.size()) {
        size = updates.dim(static_cast<int>(attrs.update_window_dims[window++]));
      }
      if (contains(attrs.scatter_dims_to_operand_dims))
        limit = std::min(limit, std::max<int64_t>(input.dim(d) - size, 0));
    }
    if (limit != INT64_MAX) PushLimit(inst.operand(inputs), limit, inst);
    PushPromises(inst, inst.operand(inputs), attrs.index_vector_dim, attrs.indices_are_sorted,
                 attrs.unique_indices);
  }

  // Hands the demand of an item on to where its value comes from.
  void Step(const Item& item) {
    const Instruction& inst = *item.inst;
    const Opcode opcode = inst.opcode();
    const bool is_matrix = item.demand.kind == DemandKind::kPositiveDefinite;
    if ((is_matrix ? kKeepsMatrices : kMoves).Has(opcode) || PassesOperandOn(inst))
      Push(inst.operand(0), item.path, item.demand);
    if (is_matrix) StepMatrix(item);
    const bool may_mix =
        item.demand.kind == DemandKind::kIndex || item.demand.kind == DemandKind::kPositive;
    if (may_mix) StepMixed(item);
    if (opcode == Opcode::kParameter) StepParameter(item);
    if (opcode == Opcode::kSort || opcode == Opcode::kTuple || opcode == Opcode::kGetTupleElement)
      StepTuple(item);
    if (opcode == Opcode::kCall || opcode == Opcode::kFusion || opcode == Opcode::kConditional) {
      for (const Computation* callee : inst.calls()) Push(callee->root(), item.path, item.demand);
    }
    if (opcode == Opcode::kWhile) Push(inst.while_body()->root(), item.path, item.demand);
    if (opcode == Opcode::kCopyDone || opcode == Opcode::kAsyncDone)
      Push(inst.operand(0), Inside(opcode == Opcode::kAsyncDone, item.path), item.demand);
    if (!item.path.empty()) StepState(item);
  }

  static Path Inside(int64_t index, Path path) {
    path.insert(path.begin(), index);
    return path;
  }
  static Path Outside(const Path& path, int64_t levels) {
    return Path(path.begin() + levels, path.end());
  }

  // What an asynchronous operation carries: operands, the result, contexts.
  void StepState(const Item& item) {
    const Instruction& inst = *item.inst;
    const Opcode opcode = inst.opcode();
    const int64_t element = item.path[0];
    if (opcode == Opcode::kCopyStart && element < 2)
      Push(inst.operand(0), Outside(item.path, 1), item.demand);
    if (opcode == Opcode::kAsyncStart && element == 1)
      Push(inst.call(0)->root(), Outside(item.path, 1), item.demand);
    if (opcode == Opcode::kAsyncUpdate) {
      const bool is_bound = element == 0 && item.path.size() > 1 && item.path[1] >= Bound(inst);
      if (!is_bound) Push(inst.operand(0), item.path, item.demand);
    }
    if (element == 0 && item.path.size() > 1) {
      if (const Instruction* operand = OperandAt(inst, item.path[1]))
        Push(operand, Outside(item.path, 2), item.demand);
    }
  }

  // How many operands the chain had bound before.
  static int64_t Bound(const Instruction& step) {
    if (step.opcode() == Opcode::kAsyncStart) return 0;
    return step.operand(0)->shape().element(0).element_count_of_tuple();
  }

  // What a start or update binds to parameter `number`, or null.
  static const Instruction* OperandAt(const Instruction& step, int64_t number) {
    const bool is_start = step.opcode() == Opcode::kAsyncStart;
    if (!is_start && step.opcode() != Opcode::kAsyncUpdate) return nullptr;
    const int64_t operand = number - Bound(step) + (is_start ? 0 : 1);
    const bool is_own = operand >= (is_start ? 0 : 1) && operand < step.operand_count();
    return is_own ? step.operand(static_cast<int>(operand)) : nullptr;
  }

  // The parameter of what `start` runs: from the start or from an update. Of the starts that a loop
  // may bring to an update one is known; others that run alike may come, too.
  void StepStarted(const Item& item, const Instruction& start) {
    const int64_t number = item.inst->parameter_number();
    if (const Instruction* operand = OperandAt(start, number))
      return Push(operand, item.path, item.demand);
    const Computation& started = *start.call(0);
    for (const Instruction* update : updates_) {
      const Instruction* const operand = OperandAt(*update, number);
      const Instruction* const other = AsyncStartOf(*update);
      if (operand == nullptr || other == nullptr) continue;
      const Computation& run = *other->call(0);
      const bool may_come = run.parameter_count() == started.parameter_count() &&
                            run.root()->shape() == started.root()->shape() &&
                            operand->shape() == item.inst->shape();
      if (other == &start || may_come) Push(operand, item.path, item.demand);
    }
  }

  // Sums, elementwise products (Schur) and transposes of positive definite matrices are such.
  void StepMatrix(const Item& item) {
    const Instruction& inst = *item.inst;
    const Opcode opcode = inst.opcode();
    constexpr OpcodeSet kOfFirst = {Opcode::kAdd, Opcode::kMultiply, Opcode::kDivide,
                                    Opcode::kTranspose};
    if (kOfFirst.Has(opcode)) Push(inst.operand(0), item.path, item.demand);
    if (opcode == Opcode::kAdd || opcode == Opcode::kMultiply)
      Push(inst.operand(1), item.path, item.demand);
  }

  // Operations whose elements come from one or another operand.
  void StepMixed(const Item& item) {
    const Instruction& inst = *item.inst;
    const Opcode opcode = inst.opcode();
    const auto operand = [&](int i) { Push(inst.operand(i), item.path, item.demand); };
    constexpr OpcodeSet kOfSecond = {Opcode::kPad, Opcode::kDynamicUpdateSlice, Opcode::kSelect,
                                     Opcode::kClamp};
    constexpr OpcodeSet kOfAll = {Opcode::kConcatenate, Opcode::kMaximum, Opcode::kMinimum};
    // Sums, products and quotients of positive numbers are positive.
    constexpr OpcodeSet kArithmetic = {Opcode::kAdd, Opcode::kMultiply, Opcode::kDivide};
    if (kArithmetic.Has(opcode) && item.demand.kind == DemandKind::kPositive) {
      operand(0);
      operand(1);
    }
    if (kMixes.Has(opcode)) operand(0);
    if (kOfSecond.Has(opcode)) operand(1);
    if (opcode == Opcode::kSelect) operand(2);
    if (kOfAll.Has(opcode)) {
      for (int i = 1; i < inst.operand_count(); ++i) operand(i);
    }
  }

  // Operations that make tuples of arrays, or take them apart.
  void StepTuple(const Item& item) {
    const Instruction& inst = *item.inst;
    Path path = item.path;
    if (inst.opcode() == Opcode::kGetTupleElement) {
      path.insert(path.begin(), inst.tuple_index());
      return Push(inst.operand(0), std::move(path), item.demand);
    }
    if (path.empty()) {  // of a tuple as a whole nothing is known
      if (inst.opcode() == Opcode::kSort) Push(inst.operand(0), {}, item.demand);
      return;
    }
    const Instruction* element = inst.operand(static_cast<int>(path[0]));
    Push(element, Path(path.begin() + 1, path.end()), item.demand);
  }

  static void Note(InputDemand& of_leaf, const Demand& demand) {
    std::string what;
    switch (demand.kind) {
      case DemandKind::kIndex:
        of_leaf.index_limit = std::min(of_leaf.index_limit.value_or(INT64_MAX), demand.value);
        what = fmt::format("from 0 to {}: an index", demand.value);
        break;
      case DemandKind::kSorted:
        of_leaf.sorted_columns = demand.value;
        what = "in ascending order: sorted indices";
        break;
      case DemandKind::kDistinct:
        of_leaf.distinct_columns = demand.value;
        what = "all different: unique indices";
        break;
      case DemandKind::kSum:
        of_leaf.sum = demand.value;
        what = fmt::format("together {}: sizes of groups", demand.value);
        break;
      case DemandKind::kStart:
        of_leaf.starts = static_cast<Opcode>(demand.value);
        what = fmt::format("what {} leaves alone: the start", Text(*of_leaf.starts));
        break;
      case DemandKind::kPositive:
        of_leaf.is_positive = true;
        what = "positive: an operand";
        break;
      case DemandKind::kPositiveDefinite:
        of_leaf.is_positive_definite = true;
        what = "positive definite matrices: an operand";
        break;
    }
    what += fmt::format(" of {} `{}`", Text(demand.by->opcode()), demand.by->name());
    if (!Contains(of_leaf.reasons, what)) of_leaf.reasons.push_back(std::move(what));
  }

  void StepParameter(const Item& item) {
    const Instruction& parameter = *item.inst;
    const Computation& computation = *parameter.parent();
    const int64_t number = parameter.parameter_number();
    if (computation.is_entry()) {
      Note(demands_[{number, item.path}], item.demand);
    }
    for (const CallSite& site : computation.callers()) {
      const Instruction& caller = *site.caller;
      if (caller.opcode() == Opcode::kCall || caller.opcode() == Opcode::kFusion) {
        Push(caller.operand(static_cast<int>(number)), item.path, item.demand);
      } else if (caller.opcode() == Opcode::kWhile) {
        Push(caller.operand(0), item.path, item.demand);
        Push(caller.while_body()->root(), item.path, item.demand);
      } else if (caller.opcode() == Opcode::kConditional) {
        Push(caller.operand(site.call_index + 1), item.path, item.demand);
      } else if (caller.opcode() == Opcode::kAsyncStart) {
        StepStarted(item, caller);
      }
    }
  }

  const Module& module_;
  std::vector<const Instruction*> updates_;  // of asynchronous chains
  std::vector<Item> work_;
  std::set<std::tuple<uint32_t, Path, Demand>> seen_;
  std::map<LeafKey, InputDemand> demands_;
};

}  // namespace

std::map<LeafKey, InputDemand> InputDemands(const Module& module) {
  // A call that means nothing demands nothing: whoever runs it says why.
  const absl::StatusOr<std::unique_ptr<Module>> plain = WithoutLibraryCalls(module);
  const bool has_plain = plain.ok() && *plain != nullptr;
  return DemandFinder(has_plain ? **plain : module).Run();
}

}  // namespace hlo
