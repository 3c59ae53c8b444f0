#include "passes/cpu/cpu_parallel_task_assigner.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "absl/container/flat_hash_set.h"
#include "lib/analysis/cost.h"
#include "lib/ir/outline.h"
#include "lib/ops/opcode_set.h"
#include "passes/layout/convolution_canonicalization.h"

namespace hlo {
namespace {

constexpr double kBytesPerThread = 256 << 10;
constexpr double kUnitsPerThread = 100000;

bool IsFusedLoop(const Instruction& x) {
  return x.IsFusion() && x.attrs<FusionAttrs>().kind == FusionKind::kLoop;
}

// A loop fusion that writes a slice into one of its inputs.
bool UpdatesAnInput(const Instruction& x) {
  if (x.opcode() == Opcode::kDynamicUpdateSlice) return true;
  if (!IsFusedLoop(x)) return false;
  const Instruction* root = x.fused_computation()->root();
  if (root->opcode() != Opcode::kDynamicUpdateSlice) return false;
  const Instruction* target = root->operand(0);
  while (target->opcode() == Opcode::kGetTupleElement) target = target->operand(0);
  return target->opcode() == Opcode::kParameter;
}

bool IsDividedAmongThreads(const Instruction& x) {
  static const OpcodeSet table = {Opcode::kBroadcast, Opcode::kConcatenate,  Opcode::kDynamicSlice,
                                  Opcode::kGather,    Opcode::kIota,         Opcode::kPad,
                                  Opcode::kReduce,    Opcode::kReduceWindow, Opcode::kReshape,
                                  Opcode::kReverse,   Opcode::kSlice,        Opcode::kTranspose};
  if (UpdatesAnInput(x) || x.IsConstant()) return false;
  if (IsFusedLoop(x)) return true;
  if (!x.shape().IsArray()) return false;
  if (x.opcode() == Opcode::kConvolution) return !IsLibraryConvolution(x);
  return table.Has(x.opcode()) || (HasTrait(x.opcode(), kElementwise) && x.operand_count() > 0);
}

int64_t PartsFor(const Instruction& x, int64_t threads) {
  const Cost cost = CostOf(x);
  const double bytes = std::max(1.0, cost.bytes);
  if (cost.flops <= bytes) {
    const auto most = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(threads))));
    return std::min({threads, most, static_cast<int64_t>(bytes / kBytesPerThread)});
  }
  const double units = cost.flops + 2 * cost.transcendentals + 10 * cost.bytes;
  return std::min(threads, static_cast<int64_t>(units / kUnitsPerThread));
}

// The array that is divided: of several outputs the first.
Shape DividedShape(const Instruction& x) {
  Shape shape = x.shape();
  while (shape.IsTuple() && shape.element_count_of_tuple() > 0) shape = shape.element(0);
  return shape;
}

class Assigner {
 public:
  Assigner(PassContext& context, int64_t threads, bool outline)
      : context_(context), threads_(threads), outline_(outline) {}

  bool Visit(const Computation& computation) {
    if (!seen_.insert(&computation).second) return false;
    bool changed = false;
    for (Instruction* x : computation.instruction_vector()) {
      if (x->opcode() == Opcode::kWhile) {
        changed |= Visit(*x->while_body());
      } else if (x->opcode() == Opcode::kConditional || x->opcode() == Opcode::kCall) {
        for (const Computation* callee : x->calls()) changed |= Visit(*callee);
      } else {
        changed |= Assign(*x);
      }
    }
    return changed;
  }

 private:
  bool Assign(Instruction& x) {
    if (!x.backend_config().empty() || !IsDividedAmongThreads(x)) return false;
    const Shape shape = DividedShape(x);
    if (!shape.IsArray()) return false;
    const std::vector<int64_t> counts = PartitionOuterDimensions(shape, PartsFor(x, threads_));
    int64_t parts = 1;
    for (const int64_t count : counts) parts *= count;
    if (parts <= 1 || !context_.MayRewrite()) return false;
    std::string config = R"({"outer_dimension_partitions":[)";
    for (size_t i = 0; i < counts.size(); ++i)
      config += fmt::format(R"({}"{}")", i == 0 ? "" : ",", counts[i]);
    x.mutable_extras().backend_config = config + "]}";
    context_.Passed(x, "{} parts", parts);
    context_.Count("divided");
    if (outline_ && x.is_used()) PutIntoComputation(x);
    return true;
  }

  // A call takes the place of `x`.
  static void PutIntoComputation(Instruction& x) {
    const std::string name = fmt::format("parallel_{}", x.name());
    Computation* parent = x.parent();
    const Instruction* call = OutlineInOrder({&x}, {.computation = name});
    parent->module().MoveToFront(call->to_apply(), parent);
  }

  PassContext& context_;
  int64_t threads_;
  bool outline_;
  absl::flat_hash_set<const Computation*> seen_;
};

}  // namespace

std::vector<int64_t> PartitionOuterDimensions(Shape shape, int64_t parts) {
  std::vector<int64_t> sizes;  // the outermost dimensions, as many as there need be
  int64_t product = 1;
  const DimVec order = shape.has_layout() ? shape.layout().minor_to_major
                                          : Layout::RowMajor(shape.rank()).minor_to_major;
  for (size_t i = order.size(); i-- > 0 && product < parts;) {
    sizes.push_back(shape.dim(static_cast<int>(order[i])));
    product *= sizes.back();
  }
  if (sizes.empty()) return {};
  parts = std::min(parts, product);
  const double root = std::pow(static_cast<double>(parts), 1.0 / static_cast<double>(sizes.size()));
  // 8^(1/3) may be a little less than 2.
  const auto each = std::max<int64_t>(1, static_cast<int64_t>(std::floor(root + 1e-9)));
  std::vector<int64_t> counts;
  product = 1;
  for (const int64_t size : sizes) {
    counts.push_back(std::min(size, each));
    product *= counts.back();
  }
  for (size_t i = 0; i < sizes.size() && product > 0 && product < parts; ++i) {
    const int64_t others = product / counts[i];
    const int64_t more = std::min(sizes[i], parts / others) - counts[i];
    if (more <= 0) continue;
    counts[i] += more;
    product = others * counts[i];
  }
  return counts;
}

absl::StatusOr<bool> CpuParallelTaskAssigner::Run(Module& module, PassContext& context) {
  int64_t threads = options_.max_parallelism;
  if (threads <= 0) threads = std::max(1u, std::thread::hardware_concurrency());
  return Assigner(context, threads, options_.outline).Visit(*module.entry());
}

HLO_DEFINE_PASS(CpuParallelTaskAssigner)

}  // namespace hlo
