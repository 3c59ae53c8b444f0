#include "passes/cpu/cpu_small_dots.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "lib/ir/async_chain.h"
#include "lib/ir/builder.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/contains.h"
#include "lib/types/dim_lists.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

constexpr int64_t kMostMultiplications = 8192;
// Per entry of a batch; above, a product's own blocking and packing pay.
constexpr int64_t kMostInBatch = 1024;
constexpr int64_t kFewestInBatch = 16;
// Second operands that are small however many rows the first one has, by measurement.
struct MatrixSize {
  int64_t summed, columns;
};
constexpr MatrixSize kSmallMatrices[] = {{32, 1}, {16, 4}, {8, 16}};

// Computations that some loop runs.
absl::flat_hash_set<const Computation*> LoopComputations(const Module& module) {
  absl::flat_hash_set<const Computation*> found;
  const auto visit = [&](auto&& self, const Computation& computation, bool in_loop) -> void {
    if (in_loop && !found.insert(&computation).second) return;
    for (const Instruction* i : computation.instructions()) {
      if (!kProgramCallers.Has(i->opcode())) continue;
      for (const Computation* callee : i->calls())
        self(self, *callee, in_loop || i->opcode() == Opcode::kWhile);
    }
  };
  visit(visit, *module.entry(), false);
  return found;
}

// Of one kind of number: what becomes of a float beside an integer is more than a conversion.
bool IsOfOneKind(const Instruction& dot) {
  const auto kind = [](const Instruction& value) {
    const ElementType type = value.shape().element_type();
    return IsComplex(type) ? 2 : IsFloat(type) ? 1 : 0;
  };
  return kind(*dot.operand(0)) == kind(dot) && kind(*dot.operand(1)) == kind(dot);
}

bool CanBeSum(const Instruction& dot) {
  const DotAttrs& attrs = dot.attrs<DotAttrs>();
  return !dot.operand(0)->shape().has_dynamic_dims() &&
         !dot.operand(1)->shape().has_dynamic_dims() && !dot.shape().has_dynamic_dims() &&
         !IsPred(dot.shape().element_type()) && !attrs.lhs_contracting_dims.empty() &&
         attrs.algorithm == DotAlgorithm::kUnset && IsOfOneKind(dot);
}

int64_t SizeOf(Shape shape, const DimVec& dims) {
  int64_t size = 1;
  for (const int64_t d : dims) size *= shape.dim(static_cast<int>(d));
  return size;
}

// Whether neighbours in memory are summed, or lie along the rows of the second operand: what
// vectors can read.
bool IsContiguous(const Instruction& dot) {
  const DotAttrs& attrs = dot.attrs<DotAttrs>();
  const int64_t x_last = dot.operand(0)->shape().rank() - 1;
  const int64_t y_last = dot.operand(1)->shape().rank() - 1;
  if (!Contains(attrs.rhs_contracting_dims, y_last) && !Contains(attrs.rhs_batch_dims, y_last))
    return true;
  return attrs.lhs_contracting_dims.back() == x_last && attrs.rhs_contracting_dims.back() == y_last;
}

// Whether the second operand is so small that the library's kernels, which keep parts of it in
// registers, have little to keep: a point times a matrix, a weighted sum of a few channels.
bool IsSmallMatrix(const Instruction& dot) {
  const DotAttrs& attrs = dot.attrs<DotAttrs>();
  const Shape rhs = dot.operand(1)->shape();
  const int64_t summed = SizeOf(rhs, attrs.rhs_contracting_dims);
  const int64_t columns =
      SizeOf(rhs, FreeDims(rhs.rank(), attrs.rhs_batch_dims, attrs.rhs_contracting_dims));
  return std::any_of(
      std::begin(kSmallMatrices), std::end(kSmallMatrices),
      [&](const MatrixSize& most) { return summed <= most.summed && columns <= most.columns; });
}

bool IsSmall(const Instruction& dot, bool in_loop) {
  if (!CanBeSum(dot)) return false;
  const DotAttrs& attrs = dot.attrs<DotAttrs>();
  const Shape lhs = dot.operand(0)->shape();
  const int64_t multiplications =
      dot.shape().element_count() * SizeOf(lhs, attrs.lhs_contracting_dims);
  if (multiplications == 0) return false;
  if (in_loop && multiplications <= kMostMultiplications) return true;
  const int64_t batches = SizeOf(lhs, attrs.lhs_batch_dims);
  const bool is_batch = batches >= kFewestInBatch && multiplications / batches <= kMostInBatch;
  return (is_batch || IsSmallMatrix(dot)) && IsContiguous(dot);
}

// The type in which the products are made and added.
ElementType SumType(const Instruction& dot) {
  const ElementType type = dot.shape().element_type();
  return IsFloat(type) && BitWidth(type) < 32 ? ElementType::kF32 : type;
}

// One operand in the dimensions of the products.
struct Side {
  Instruction* value;
  DimVec order;   // its dimensions, in the order in which the products have them
  DimVec places;  // the dimensions of the products that they are
};

Instruction* Spread(Rewriter& rewriter, const Side& side, ElementType type, const DimVec& sizes) {
  Instruction* value = side.value;
  if (value->shape().element_type() != type) value = rewriter.Convert(value, type);
  if (!absl::c_is_sorted(side.order)) value = rewriter.Transpose(value, side.order);
  return rewriter.Broadcast(value, sizes, side.places);
}

Instruction* AsSum(const Instruction& dot, Rewriter& rewriter) {
  const DotAttrs& attrs = dot.attrs<DotAttrs>();
  Side x{dot.operand(0), {}, {}}, y{dot.operand(1), {}, {}};
  const DimVec x_free =
      FreeDims(x.value->shape().rank(), attrs.lhs_batch_dims, attrs.lhs_contracting_dims);
  const DimVec y_free =
      FreeDims(y.value->shape().rank(), attrs.rhs_batch_dims, attrs.rhs_contracting_dims);
  DimVec sizes, summed;
  const auto add = [&](const DimVec* in_x, const DimVec* in_y) {
    const size_t count = in_x != nullptr ? in_x->size() : in_y->size();
    for (size_t i = 0; i < count; ++i) {
      const auto place = static_cast<int64_t>(sizes.size());
      const Side& from = in_x != nullptr ? x : y;
      sizes.push_back(
          from.value->shape().dim(static_cast<int>(in_x != nullptr ? (*in_x)[i] : (*in_y)[i])));
      if (in_x != nullptr) x.order.push_back((*in_x)[i]), x.places.push_back(place);
      if (in_y != nullptr) y.order.push_back((*in_y)[i]), y.places.push_back(place);
      if (in_x == &attrs.lhs_contracting_dims) summed.push_back(place);
    }
  };
  // The lanes of a vector are the last dimension: y's own where its rows lie so, or where it is
  // small.
  const bool rows_of_y =
      !y_free.empty() && (y_free.back() == y.value->shape().rank() - 1 || IsSmallMatrix(dot));
  add(&attrs.lhs_batch_dims, &attrs.rhs_batch_dims);
  add(&x_free, nullptr);
  if (!rows_of_y) add(nullptr, &y_free);
  add(&attrs.lhs_contracting_dims, &attrs.rhs_contracting_dims);
  if (rows_of_y) add(nullptr, &y_free);
  const ElementType type = SumType(dot);
  Instruction* products =
      rewriter.Multiply(Spread(rewriter, x, type, sizes), Spread(rewriter, y, type, sizes));
  Instruction* sum = rewriter.Reduce(products, rewriter.Constant(Literal::Zero(type)), summed,
                                     ScalarComputation(rewriter.module(), Opcode::kAdd, type));
  const ElementType result = dot.shape().element_type();
  return type == result ? sum : rewriter.Convert(sum, result);
}

}  // namespace

absl::StatusOr<bool> CpuSmallDots::Run(Module& module, PassContext& context) {
  const absl::flat_hash_set<const Computation*> loops = LoopComputations(module);
  bool changed = false;
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kDot})) {
    if (IsAsyncBody(*computation)) continue;  // holds one operation
    const bool in_loop = loops.contains(computation);
    for (Instruction* dot : computation->PostOrder()) {
      if (dot->opcode() != Opcode::kDot || !IsSmall(*dot, in_loop)) continue;
      if (!context.MayRewrite()) return changed;
      const uint32_t first_new = module.id_limit();
      Rewriter rewriter(computation, context, dot);
      Instruction* const sum = AsSum(*dot, rewriter);
      RETURN_IF_ERROR(rewriter.status());
      context.Passed(*dot, "`{}` takes its place", sum->name());
      context.Count("products written as sums");
      ReplaceKeepingExtras(dot, sum, first_new);
      changed = true;
    }
  }
  return changed;
}

HLO_DEFINE_PASS(CpuSmallDots)

}  // namespace hlo
