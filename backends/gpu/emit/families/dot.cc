// dot and scaled-dot as [batch, rows, k] x [batch, k, columns], in tiles (gemm.h). Operands are
// read where their dimension numbers say, so no transpose is made first. A side of few rows or
// columns has kernels of its own, which read the other side once (gemm_narrow.cc).
//
// Each result element sums over k in a fixed order, most often the ascending one.
#include <algorithm>

#include "backends/gpu/emit/families/epilogue.h"
#include "backends/gpu/emit/families/gemm.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

using Sizes = absl::InlinedVector<int64_t, 6>;

class DotEmission {
 public:
  DotEmission(const Instruction& dot, const GpuFrame& frame, const FamilyOptions& options)
      : dot_(dot),
        frame_(frame),
        options_(options),
        epilogue_(dot, frame),
        attrs_(dot.attrs<DotAttrs>()),
        lhs_(SideOf(0, attrs_.lhs_batch_dims, attrs_.lhs_contracting_dims)),
        rhs_(SideOf(1, attrs_.rhs_batch_dims, attrs_.rhs_contracting_dims)) {}

  absl::Status Emit(KernelPlan& plan) {
    plan.family = "dot";
    if (lhs_.batch * lhs_.free * rhs_.free == 0) return absl::OkStatus();
    if (lhs_.contracted == 0) return EmitZero(plan);
    if (const GemmRequest request = Request(/*swapped=*/rhs_.free < lhs_.free); IsNarrow(request))
      return AddNarrowGemm(frame_, request, plan);
    return AddGemm(frame_, Request(/*swapped=*/false), plan);
  }

 private:
  struct Side {
    const Instruction* operand;
    const Instruction* scale = nullptr;  // of blocks of the operand (scaled-dot)
    ElementType type;                    // of its elements, scaled
    DimVec batch_dims, free_dims, contracted_dims;
    Sizes batch_sizes, free_sizes, contracted_sizes;
    int64_t batch = 1, free = 1, contracted = 1;
  };

  Side SideOf(int number, const DimVec& batch, const DimVec& contracted) const {
    Side side;
    side.operand = dot_.operand(number);
    const Shape shape = side.operand->shape();
    side.type = shape.element_type();
    // A scalar in the place of scales stands for none.
    if (dot_.opcode() == Opcode::kScaledDot && dot_.operand(number + 2)->shape().rank() > 0) {
      side.scale = dot_.operand(number + 2);
      side.type = ProductSum::TypeFor(dot_.shape().element_type());
    }
    const auto take = [&](int64_t d, DimVec& dims, Sizes& sizes, int64_t& product) {
      dims.push_back(d);
      sizes.push_back(shape.dim(static_cast<int>(d)));
      product *= sizes.back();
    };
    for (const int64_t d : batch) take(d, side.batch_dims, side.batch_sizes, side.batch);
    for (const int64_t d : contracted)
      take(d, side.contracted_dims, side.contracted_sizes, side.contracted);
    for (int64_t d = 0; d < shape.rank(); ++d) {
      const auto is_in = [d](const DimVec& list) {
        return std::find(list.begin(), list.end(), d) != list.end();
      };
      if (!is_in(batch) && !is_in(contracted)) take(d, side.free_dims, side.free_sizes, side.free);
    }
    return side;
  }

  // The place of element (batch, free, contracted) of a side.
  ArrayIndex::Positions PositionsOf(KernelBuilder& k, const Side& side, llvm::Value* batch,
                                    llvm::Value* free, llvm::Value* contracted) const {
    ArrayIndex::Positions at(static_cast<size_t>(side.operand->shape().rank()), nullptr);
    const auto place = [&](const DimVec& dims, const Sizes& sizes, llvm::Value* number) {
      const auto positions = ArrayIndex::Linear(sizes, number).positions(k);
      for (size_t i = 0; i < dims.size(); ++i) at[static_cast<size_t>(dims[i])] = positions[i];
    };
    place(side.batch_dims, side.batch_sizes, batch);
    place(side.free_dims, side.free_sizes, free);
    place(side.contracted_dims, side.contracted_sizes, contracted);
    return at;
  }
  absl::StatusOr<Emitted> Element(GpuFusionEmitter& emitter, const Side& side, llvm::Value* batch,
                                  llvm::Value* free, llvm::Value* contracted) const {
    KernelBuilder& k = emitter.kernel();
    ArrayIndex::Positions at = PositionsOf(k, side, batch, free, contracted);
    const Shape shape = side.operand->shape();
    ASSIGN_OR_RETURN(const Emitted value,
                     emitter.Emit(side.operand, ArrayIndex::At(shape.dims(), at)));
    if (side.scale == nullptr) return value;
    const Shape blocks = side.scale->shape();
    for (int d = 0; d < shape.rank(); ++d) {
      llvm::Value*& position = at[static_cast<size_t>(d)];
      position = k.Div(position, shape.dim(d) / blocks.dim(d));
    }
    ASSIGN_OR_RETURN(const Emitted scale,
                     emitter.Emit(side.scale, ArrayIndex::At(blocks.dims(), at)));
    return emitter.Element(Opcode::kMultiply, side.type, {side.type, side.type},
                           {emitter.Convert(value, shape.element_type(), side.type),
                            emitter.Convert(scale, blocks.element_type(), side.type)});
  }

  ProductSum SumFor(GpuFusionEmitter& emitter) const {
    return ProductSum(emitter, lhs_.type, rhs_.type, dot_.shape().element_type());
  }
  absl::Status EmitZero(KernelPlan& plan) {
    const int64_t count = dot_.shape().element_count();
    return AddSimpleKernel(frame_, count, plan, [&](GpuFusionEmitter& emitter, KernelBuilder& k) {
      const ProductSum sum = SumFor(emitter);
      llvm::Value* const thread =
          k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
      return k.If(k.Less(thread, k.Index(count)),
                  [&] { return epilogue_.Store(emitter, thread, {sum.Finish(sum.Zero())}); });
    });
  }

  // ---- tiles ----

  // Runs that are whole along the minor-most dimension, in this order of elements.
  void FindRuns(const Side& side, GemmSide& result) const {
    const Shape shape = side.operand->shape();
    const int64_t minor = shape.rank() - 1;
    const auto ends_with = [minor](const DimVec& dims) {
      return !dims.empty() && dims.back() == minor;
    };
    result.along_free = ends_with(side.free_dims);
    if (!result.along_free && !ends_with(side.contracted_dims)) return;
    for (const auto& [value, buffer] : frame_.bindings) {
      if (value == side.operand) result.buffer = buffer;
    }
    constexpr int kLongest = 8;
    if (result.buffer < 0 || side.scale != nullptr) return;
    while (result.run < kLongest && shape.dim(static_cast<int>(minor)) % (2 * result.run) == 0)
      result.run *= 2;
  }

  GemmSide SideFor(GpuFusionEmitter& emitter, const Side& side) const {
    GemmSide result;
    result.type = side.type;
    FindRuns(side, result);
    result.element = [this, &emitter, &side](llvm::Value* batch, llvm::Value* free,
                                             llvm::Value* depth) {
      return Element(emitter, side, batch, free, depth);
    };
    result.place = [this, &emitter, &side](llvm::Value* batch, llvm::Value* free,
                                           llvm::Value* depth) {
      KernelBuilder& k = emitter.kernel();
      return ArrayIndex::At(side.operand->shape().dims(), PositionsOf(k, side, batch, free, depth))
          .linear(k);
    };
    return result;
  }

  // `swapped`: (x y)^T = y^T x^T, so that the right side's columns are rows.
  GemmRequest Request(bool swapped) const {
    const Side& left = swapped ? rhs_ : lhs_;
    const Side& right = swapped ? lhs_ : rhs_;
    const ElementType type = dot_.shape().element_type();
    GemmRequest request;
    request.sizes = {left.batch, left.free, right.free, left.contracted};
    request.mma = MmaKindFor(lhs_.type, rhs_.type, type,
                             AlgorithmFor(attrs_.algorithm, attrs_.operand_precision, options_),
                             request.sizes);
    request.factor_bits = BitWidth(right.type);
    request.sum_type = ProductSum::TypeFor(type);
    GemmSide runs;
    FindRuns(right, runs);
    request.rhs = {runs.along_free, runs.run};
    request.small_tiles = IsComplex(type);
    request.large_tiles = BitWidth(type) <= 32;
    request.multiprocessors = options_.multiprocessors;
    request.choice = options_.choice;
    request.sum = [this, &left, &right](GpuFusionEmitter& emitter) {
      return ProductSum(emitter, left.type, right.type, dot_.shape().element_type());
    };
    request.make = [this, &left, &right, swapped](GpuFusionEmitter& emitter,
                                                  const ProductSum& sum) {
      Gemm gemm;
      gemm.lhs = SideFor(emitter, left);
      gemm.rhs = SideFor(emitter, right);
      gemm.store = [this, swapped, &emitter, &sum](llvm::Value* batch, llvm::Value* row,
                                                   llvm::Value* column,
                                                   absl::Span<const Emitted> sums) -> absl::Status {
        KernelBuilder& k = emitter.kernel();
        if (swapped) std::swap(row, column);
        llvm::Value* const place =
            k.Add(k.Scale(k.Add(k.Scale(batch, lhs_.free), row), rhs_.free), column);
        EmittedList values;
        for (const Emitted& one : sums) values.push_back(sum.Finish(one));
        return epilogue_.Store(emitter, place, values);
      };
      return gemm;
    };
    return request;
  }

  const Instruction& dot_;
  const GpuFrame& frame_;
  const FamilyOptions& options_;
  Epilogue epilogue_;
  const DotAttrs& attrs_;
  Side lhs_, rhs_;
};

// Whether a scaled-dot is of floats, in whole blocks.
Decision TakesScaledDot(const Instruction& dot) {
  if (!IsFloat(dot.shape().element_type())) return No("the result is of {}", dot.shape());
  for (int i = 0; i < 2; ++i) {
    const Shape operand = dot.operand(i)->shape(), scale = dot.operand(i + 2)->shape();
    if (operand.has_dynamic_dims() || scale.has_dynamic_dims())
      return No("an operand has dynamic dimensions");
    for (int d = 0; d < scale.rank(); ++d) {
      if (scale.dim(d) == 0 || operand.dim(d) % scale.dim(d) != 0)
        return No("{} has no whole blocks of {}", operand, scale);
    }
  }
  return Yes();
}

}  // namespace

Decision TakesDot(const Instruction& dot) {
  if (dot.opcode() == Opcode::kScaledDot) return TakesScaledDot(dot);
  if (const Decision decision = HasStaticOperands(dot); !decision) return decision;
  return dot.operand_count() == 2 ? SumsInOneKind(dot) : No("a dot has sparse operands");
}

absl::Status EmitDot(const FamilyRequest& request) {
  return DotEmission(request.root, request.frame, request.options).Emit(request.plan);
}

}  // namespace hlo::gpu
