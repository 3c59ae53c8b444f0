// dot as [batch, rows, k] x [batch, k, columns], in tiles (gemm.h). Operands are read where their
// dimension numbers say, so no transpose is made first. Narrow results (few rows or columns) are
// rows of products instead, a warp or a block for each element.
//
// Each result element sums over ascending k (rows: in the fixed order of EmitRows).
#include <algorithm>

#include "backends/gpu/emit/gemm.h"
#include "backends/gpu/emit/reducer.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

using Sizes = absl::InlinedVector<int64_t, 6>;

class DotEmission {
 public:
  DotEmission(const Instruction& dot, const Frame& frame)
      : dot_(dot),
        frame_(frame),
        attrs_(dot.attrs<DotAttrs>()),
        lhs_(SideOf(0, attrs_.lhs_batch_dims, attrs_.lhs_contracting_dims)),
        rhs_(SideOf(1, attrs_.rhs_batch_dims, attrs_.rhs_contracting_dims)) {}

  absl::Status Emit(KernelPlan& plan) {
    plan.family = "dot";
    if (lhs_.batch * lhs_.free * rhs_.free == 0) return absl::OkStatus();
    constexpr int64_t kNarrow = 4;
    const bool narrow = std::min(lhs_.free, rhs_.free) <= kNarrow;
    if (lhs_.contracted == 0) return EmitZero(plan);
    return narrow && lhs_.contracted >= kWarpSize ? EmitAsRows(plan) : EmitTiled(plan);
  }

 private:
  struct Side {
    const Instruction* operand;
    DimVec batch_dims, free_dims, contracted_dims;
    Sizes batch_sizes, free_sizes, contracted_sizes;
    int64_t batch = 1, free = 1, contracted = 1;
  };

  Side SideOf(int number, const DimVec& batch, const DimVec& contracted) const {
    Side side;
    side.operand = dot_.operand(number);
    const Shape shape = side.operand->shape();
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
  ArrayIndex IndexOf(KernelBuilder& k, const Side& side, llvm::Value* batch, llvm::Value* free,
                     llvm::Value* contracted) const {
    ArrayIndex::Positions at(static_cast<size_t>(side.operand->shape().rank()), nullptr);
    const auto place = [&](const DimVec& dims, const Sizes& sizes, llvm::Value* number) {
      const auto positions = ArrayIndex::Linear(sizes, number).positions(k);
      for (size_t i = 0; i < dims.size(); ++i) at[static_cast<size_t>(dims[i])] = positions[i];
    };
    place(side.batch_dims, side.batch_sizes, batch);
    place(side.free_dims, side.free_sizes, free);
    place(side.contracted_dims, side.contracted_sizes, contracted);
    return ArrayIndex::At(side.operand->shape().dims(), at);
  }
  absl::StatusOr<Emitted> Element(FusedEmitter& emitter, const Side& side, llvm::Value* batch,
                                  llvm::Value* free, llvm::Value* contracted) const {
    return emitter.Emit(side.operand, IndexOf(emitter.kernel(), side, batch, free, contracted));
  }

  ProductSum SumFor(FusedEmitter& emitter) const {
    return ProductSum(emitter, lhs_.operand->shape().element_type(),
                      rhs_.operand->shape().element_type(), dot_.shape().element_type());
  }
  int output_buffer() const { return frame_.outputs[0].buffer; }

  absl::Status EmitZero(KernelPlan& plan) {
    const int64_t count = dot_.shape().element_count();
    return AddSimpleKernel(frame_, count, plan, [&](FusedEmitter& emitter, KernelBuilder& k) {
      const ProductSum sum = SumFor(emitter);
      llvm::Value* const thread =
          k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
      return k.If(k.Less(thread, k.Index(count)), [&] {
        k.Store(output_buffer(), thread, sum.Finish(sum.Zero()));
        return absl::OkStatus();
      });
    });
  }

  absl::Status EmitAsRows(KernelPlan& plan) {
    const int64_t outputs = dot_.shape().element_count();
    const int group = RowGroup(outputs, lhs_.contracted);
    const auto body = [&](FusedEmitter& emitter, KernelBuilder& k) -> absl::Status {
      const ProductSum sum = SumFor(emitter);
      RowReduction rows;
      rows.outputs = outputs;
      rows.elements = lhs_.contracted;
      rows.types = {sum.type()};
      rows.input = [&](llvm::Value* output, llvm::Value* i) -> absl::StatusOr<EmittedList> {
        llvm::Value* const column = k.Rem(output, rhs_.free);
        llvm::Value* const rest = k.Div(output, rhs_.free);
        llvm::Value* const batch = k.Div(rest, lhs_.free);
        ASSIGN_OR_RETURN(const Emitted a, Element(emitter, lhs_, batch, k.Rem(rest, lhs_.free), i));
        ASSIGN_OR_RETURN(const Emitted b, Element(emitter, rhs_, batch, column, i));
        return EmittedList{sum.Add(sum.Zero(), sum.WidenLhs(a), sum.WidenRhs(b))};
      };
      rows.combine = [&](const EmittedList& a,
                         const EmittedList& b) -> absl::StatusOr<EmittedList> {
        const ElementType types[] = {sum.type(), sum.type()};
        const Emitted terms[] = {a[0], b[0]};
        const Opcode add = IsPred(sum.type()) ? Opcode::kOr : Opcode::kAdd;
        return EmittedList{emitter.Element(add, sum.type(), types, terms)};
      };
      rows.store = [&](llvm::Value* output, const EmittedList& values) -> absl::Status {
        k.Store(output_buffer(), output, sum.Finish(values[0]));
        return absl::OkStatus();
      };
      return EmitRows(k, group, rows);
    };
    ASSIGN_OR_RETURN(const int kernel, AddKernel(frame_, kRowBlock, 0, plan, body));
    AddLaunch(frame_, kernel, RowBlocks(group, outputs), kRowBlock, {}, plan);
    return absl::OkStatus();
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
    if (result.buffer < 0) return;
    while (result.run < kLongest && shape.dim(static_cast<int>(minor)) % (2 * result.run) == 0)
      result.run *= 2;
  }

  GemmSide SideFor(FusedEmitter& emitter, const Side& side) const {
    GemmSide result;
    result.type = side.operand->shape().element_type();
    FindRuns(side, result);
    result.element = [this, &emitter, &side](llvm::Value* batch, llvm::Value* free,
                                             llvm::Value* depth) {
      return Element(emitter, side, batch, free, depth);
    };
    result.place = [this, &emitter, &side](llvm::Value* batch, llvm::Value* free,
                                           llvm::Value* depth) {
      return IndexOf(emitter.kernel(), side, batch, free, depth).linear(emitter.kernel());
    };
    return result;
  }

  absl::Status EmitTiled(KernelPlan& plan) {
    GemmRequest request;
    request.sizes = {lhs_.batch, lhs_.free, rhs_.free, lhs_.contracted};
    request.mma =
        MmaKindFor(lhs_.operand->shape().element_type(), rhs_.operand->shape().element_type(),
                   dot_.shape().element_type(), attrs_.algorithm, request.sizes);
    request.factor_bits = BitWidth(lhs_.operand->shape().element_type());
    request.small_tiles = IsComplex(dot_.shape().element_type());
    request.large_tiles = BitWidth(dot_.shape().element_type()) <= 32;
    request.sum = [this](FusedEmitter& emitter) { return SumFor(emitter); };
    request.make = [this](FusedEmitter& emitter, const ProductSum& sum) {
      Gemm gemm;
      gemm.lhs = SideFor(emitter, lhs_);
      gemm.rhs = SideFor(emitter, rhs_);
      gemm.store = [this, &k = emitter.kernel(), &sum](
                       llvm::Value* batch, llvm::Value* row, llvm::Value* column,
                       absl::Span<const Emitted> sums) -> absl::Status {
        llvm::Value* const place =
            k.Add(k.Scale(k.Add(k.Scale(batch, lhs_.free), row), rhs_.free), column);
        EmittedList values;
        for (const Emitted& one : sums) values.push_back(sum.Finish(one));
        if (values.size() == 1) {
          k.Store(output_buffer(), place, values[0]);
        } else {
          k.StoreVector(output_buffer(), place, values);
        }
        return absl::OkStatus();
      };
      return gemm;
    };
    return AddGemm(frame_, request, plan);
  }

  const Instruction& dot_;
  const Frame& frame_;
  const DotAttrs& attrs_;
  Side lhs_, rhs_;
};

}  // namespace

absl::Status EmitDot(const Instruction& dot, const Frame& frame, KernelPlan& plan) {
  return DotEmission(dot, frame).Emit(plan);
}

}  // namespace hlo::gpu
