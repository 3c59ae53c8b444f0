#include "tools/support/index_limits.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

namespace hlo {
namespace {

using Path = std::vector<int64_t>;

class LimitFinder {
 public:
  explicit LimitFinder(const Module& module) : module_(module) {}

  std::map<LeafKey, int64_t> Run() {
    for (const Computation* computation : module_.computations()) {
      for (const Instruction* inst : computation->instructions()) Visit(*inst);
    }
    while (!work_.empty()) {
      const Item item = work_.back();
      work_.pop_back();
      Step(item);
    }
    return limits_;
  }

 private:
  // The value at `path` of `inst` may be at most `limit`.
  struct Item {
    const Instruction* inst;
    Path path;
    int64_t limit;
  };

  void Push(const Instruction* inst, Path path, int64_t limit) {
    if (seen_.insert({inst->id(), path, limit}).second)
      work_.push_back({inst, std::move(path), limit});
  }

  // The limits that `inst` itself sets on its operands.
  void Visit(const Instruction& inst) {
    const Opcode opcode = inst.opcode();
    if (opcode == Opcode::kGather) return VisitGather(inst);
    if (opcode == Opcode::kScatter) return VisitScatter(inst);
    if (opcode == Opcode::kDynamicSlice)
      return VisitStarts(inst, 1, inst.attrs<DynamicSliceAttrs>().dynamic_slice_sizes);
    if (opcode == Opcode::kDynamicUpdateSlice)
      return VisitStarts(inst, 2, inst.operand(1)->shape().dims());
    if (opcode == Opcode::kConditional && IsInteger(inst.operand(0)->shape().element_type()))
      Push(inst.operand(0), {}, inst.call_count() - 1);
  }

  void VisitGather(const Instruction& inst) {
    const auto& attrs = inst.attrs<GatherAttrs>();
    int64_t limit = INT64_MAX;
    for (const int64_t d : attrs.start_index_map) {
      const int64_t size = inst.operand(0)->shape().dim(static_cast<int>(d));
      const int64_t room = size - attrs.slice_sizes[static_cast<size_t>(d)];
      limit = std::min(limit, std::max<int64_t>(room, 0));
    }
    if (limit != INT64_MAX) Push(inst.operand(1), {}, limit);
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
      if (!is_vector && first + d < inst.operand_count()) Push(inst.operand(first + d), {}, limit);
    }
    if (is_vector && rank > 0) Push(inst.operand(first), {}, least);
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
    if (limit != INT64_MAX) Push(inst.operand(inputs), {}, limit);
  }

  // Hands the limit of an item on to where its value comes from.
  void Step(const Item& item) {
    const Instruction& inst = *item.inst;
    const auto operand = [&](int i) { Push(inst.operand(i), item.path, item.limit); };
    // Which operands the elements of a result come from; from others they are computed.
    constexpr OpcodeSet kOfFirst = {
        Opcode::kBitcast,      Opcode::kBroadcast,       Opcode::kConvert,
        Opcode::kCopy,         Opcode::kReshape,         Opcode::kReverse,
        Opcode::kSlice,        Opcode::kTranspose,       Opcode::kGather,
        Opcode::kDynamicSlice, Opcode::kReducePrecision, Opcode::kWhile,
        Opcode::kPad,          Opcode::kConcatenate,     Opcode::kDynamicUpdateSlice,
        Opcode::kMaximum,      Opcode::kMinimum,         Opcode::kOptimizationBarrier};
    constexpr OpcodeSet kOfSecond = {Opcode::kPad, Opcode::kDynamicUpdateSlice, Opcode::kSelect,
                                     Opcode::kClamp};
    constexpr OpcodeSet kOfAll = {Opcode::kConcatenate, Opcode::kMaximum, Opcode::kMinimum};
    const Opcode opcode = inst.opcode();
    if (kOfFirst.Has(opcode)) operand(0);
    if (kOfSecond.Has(opcode)) operand(1);
    if (opcode == Opcode::kSelect) operand(2);
    if (kOfAll.Has(opcode)) {
      for (int i = 1; i < inst.operand_count(); ++i) operand(i);
    }
    if (opcode == Opcode::kParameter) StepParameter(item);
    if (opcode == Opcode::kSort || opcode == Opcode::kTuple || opcode == Opcode::kGetTupleElement)
      StepTuple(item);
    if (opcode == Opcode::kCall || opcode == Opcode::kFusion || opcode == Opcode::kConditional) {
      for (const Computation* callee : inst.calls()) Push(callee->root(), item.path, item.limit);
    }
    if (opcode == Opcode::kWhile) Push(inst.while_body()->root(), item.path, item.limit);
  }

  // Operations that make tuples of arrays, or take them apart.
  void StepTuple(const Item& item) {
    const Instruction& inst = *item.inst;
    Path path = item.path;
    if (inst.opcode() == Opcode::kGetTupleElement) {
      path.insert(path.begin(), inst.tuple_index());
      return Push(inst.operand(0), std::move(path), item.limit);
    }
    if (path.empty()) {  // of a tuple as a whole nothing is known
      if (inst.opcode() == Opcode::kSort) Push(inst.operand(0), {}, item.limit);
      return;
    }
    const Instruction* element = inst.operand(static_cast<int>(path[0]));
    Push(element, Path(path.begin() + 1, path.end()), item.limit);
  }

  void StepParameter(const Item& item) {
    const Instruction& parameter = *item.inst;
    const Computation& computation = *parameter.parent();
    const int64_t number = parameter.parameter_number();
    if (computation.is_entry()) {
      const auto [at, is_new] = limits_.try_emplace({number, item.path}, item.limit);
      if (!is_new) at->second = std::min(at->second, item.limit);
    }
    for (const CallSite& site : computation.callers()) {
      const Instruction& caller = *site.caller;
      if (caller.opcode() == Opcode::kCall || caller.opcode() == Opcode::kFusion) {
        Push(caller.operand(static_cast<int>(number)), item.path, item.limit);
      } else if (caller.opcode() == Opcode::kWhile) {
        Push(caller.operand(0), item.path, item.limit);
        Push(caller.while_body()->root(), item.path, item.limit);
      } else if (caller.opcode() == Opcode::kConditional) {
        Push(caller.operand(site.call_index + 1), item.path, item.limit);
      }
    }
  }

  const Module& module_;
  std::vector<Item> work_;
  std::set<std::tuple<uint32_t, Path, int64_t>> seen_;
  std::map<LeafKey, int64_t> limits_;
};

}  // namespace

std::map<LeafKey, int64_t> IndexLimits(const Module& module) { return LimitFinder(module).Run(); }

}  // namespace hlo
