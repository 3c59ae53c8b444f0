#include "passes/fusion/fusion_target.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/computation.h"
#include "lib/support/status.h"
#include "lib/types/shape_util.h"
#include "passes/fusion/index_evaluation.h"
#include "passes/fusion/kernel_support.h"
#include "passes/fusion/recomputation.h"
#include "passes/fusion/row_fusion.h"

namespace hlo {
namespace {

// Fusion passes stop at kMostIndices; a given fusion may be what somebody has measured.
constexpr int64_t kMostIndicesGiven = 128;

constexpr FusionTarget kTargets[] = {
    {.name = "cpu", .keeps_rows = true, .one_loop = true, .rolls = true, .max_outputs = 8},
    {.name = "gpu",
     .row_kernels = true,
     .repeats_simple = true,
     .products = true,
     .max_outputs = 8},
};

// ---- what is read and written ----

Decision HasArraysOnly(const Instruction& fusion) {
  Decision decision = Yes();
  const auto check = [&](const Instruction& value) {
    ForEachLeaf(value.shape(), [&](Shape leaf, const ShapeIndex& index) {
      if (!leaf.IsArray() || leaf.has_dynamic_dims()) {
        decision = No("`{}` is no static array", value.name());
      } else if (index.size() > 1) {
        decision = No("`{}` is a tuple of tuples", value.name());
      }
    });
  };
  for (const Instruction* operand : fusion.operands()) check(*operand);
  check(fusion);
  return decision;
}

// The loops of the largest output compute the others on their way. Of several as large any may be
// it: passes remove outputs that nobody reads.
Decision HasCommonLoops(const Instruction& fusion) {
  std::vector<Shape> outputs;
  int64_t most = 0;
  ForEachLeaf(fusion.shape(), [&](Shape leaf, const ShapeIndex&) {
    outputs.push_back(leaf);
    most = std::max(most, leaf.element_count());
  });
  for (const Shape large : outputs) {
    if (large.element_count() != most) continue;
    for (const Shape leaf : outputs) {
      const auto own = leaf.dims(), all = large.dims();
      const bool is_row =
          own.size() <= all.size() && std::equal(own.begin(), own.end(), all.begin());
      if (leaf.element_count() != most && !is_row)
        return No("its outputs {} and {} have no common loops", leaf, large);
    }
  }
  return Yes();
}

// ---- what is computed ----

Decision HoldsKernels(const Instruction& fusion) {
  const Instruction* const root = fusion.fused_computation()->root();
  for (const Instruction* i : fusion.fused_computation()->instructions()) {
    if (i->opcode() == Opcode::kParameter || i->opcode() == Opcode::kTuple ||
        i->opcode() == Opcode::kGetTupleElement)
      continue;
    if (i->IsFusion()) return No("`{}` is a fusion inside a fusion", i->name());
    if (KernelPlaceOf(i->opcode()) == KernelPlace::kRoot && i != root)
      return No("{} `{}` is not the root", i->opcode_text(), i->name());
    if (Decision inner = IsKernelOp(*i); !inner) return inner;
    // In its own kernel it passes over its operand once, here once for each element.
    if (CumulativeWindowOf(*i))
      return No("reduce-window `{}` is a cumulative operation", i->name());
  }
  return Yes();
}

// All between the product and the root is elementwise, for each result before it is stored.
Decision HasElementwiseAfter(const Instruction& product, const Instruction& fusion) {
  const Computation& body = *fusion.fused_computation();
  if (!body.root()->shape().IsArray() || body.root()->shape().dims() != product.shape().dims())
    return No("its result has not the product's dimensions");
  absl::flat_hash_map<const Instruction*, bool> depends;  // on the product; looked up only
  depends[&product] = true;
  for (const Instruction* i : body.PostOrder()) {
    if (i == &product || i->opcode() == Opcode::kParameter) continue;
    bool after = false;
    for (const Instruction* operand : i->operands()) after = after || depends[operand];
    depends[i] = after;
    if (after && (!IsFusibleElementwise(*i) || i->shape().dims() != product.shape().dims()))
      return No("`{}` after the product is not elementwise", i->name());
    if (Decision kernel = IsKernelOp(*i); !kernel) return kernel;
  }
  return depends[body.root()] ? Yes() : No("its result does not depend on the product");
}

}  // namespace

const FusionTarget* FindFusionTarget(std::string_view name) {
  const auto* const row = std::find_if(std::begin(kTargets), std::end(kTargets),
                                       [&](const FusionTarget& t) { return t.name == name; });
  return row == std::end(kTargets) ? nullptr : row;
}

absl::StatusOr<const FusionTarget*> GetFusionTarget(std::string_view name) {
  if (const FusionTarget* target = FindFusionTarget(name)) return target;
  std::string names;
  for (const FusionTarget& target : kTargets)
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ", target.name);
  return Error("there are no kernels for `{}`; only for {}", name, names);
}

absl::Status CheckFusionTarget(const std::string& name) {
  return name.empty() ? absl::OkStatus() : GetFusionTarget(name).status();
}

bool IsProduct(Opcode opcode) {
  return opcode == Opcode::kDot || opcode == Opcode::kScaledDot || opcode == Opcode::kConvolution;
}

const Instruction* ProductOf(const Instruction& fusion) {
  if (!fusion.IsFusion()) return IsProduct(fusion.opcode()) ? &fusion : nullptr;
  const Instruction* product = nullptr;
  for (const Instruction* i : fusion.fused_computation()->instructions()) {
    if (!IsProduct(i->opcode())) continue;
    if (product != nullptr) return nullptr;
    product = i;
  }
  return product;
}

Decision Takes(const FusionTarget& target, const Instruction& fusion) {
  if (Decision arrays = HasArraysOnly(fusion); !arrays) return arrays;
  if (const Instruction* product = ProductOf(fusion); product != nullptr && target.products)
    return HasElementwiseAfter(*product, fusion);
  if (Decision kernels = HoldsKernels(fusion); !kernels) return kernels;
  if (const int64_t indices = IndexEvaluation(fusion).MostIndices(); indices > kMostIndicesGiven)
    return No("its kernel would compute an element for {} indices", indices);
  if (Decision loops = target.one_loop ? HasCommonLoops(fusion) : Yes(); !loops) return loops;
  const auto [reduce, times] = MostRecomputed(fusion, target.keeps_rows);
  if (times > 1 && target.row_kernels && RowFusionOf(fusion)) return Yes();
  return times <= 1 ? Yes()
                    : No("{} `{}` would be computed {} times", reduce->opcode_text(),
                         reduce->name(), times);
}

}  // namespace hlo
