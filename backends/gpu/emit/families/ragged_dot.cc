// ragged-dot: a thread for each result element. Groups are intervals of the ragged dimension of the
// left side, one after the other, of the sizes in operand 2:
//
//   of rows         rows of group g meet matrix g of the right side; rows of no group give zeros
//   contracted      result g sums over the positions of group g
//   of batches      batches of no group give zeros
#include <algorithm>

#include "backends/gpu/emit/core/contraction.h"
#include "backends/gpu/emit/core/frame.h"
#include "lib/support/contains.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

using Sizes = absl::InlinedVector<int64_t, 6>;

// Some dimensions of an operand, as one number.
struct RaggedDims {
  DimVec dims;
  Sizes sizes;
  int64_t product = 1;
  RaggedDims(const DimVec& chosen, Shape shape) : dims(chosen) {
    for (const int64_t d : chosen) {
      sizes.push_back(shape.dim(static_cast<int>(d)));
      product *= sizes.back();
    }
  }
  void Place(KernelBuilder& k, llvm::Value* number, ArrayIndex::Positions& at) const {
    const auto positions = ArrayIndex::Linear(sizes, number).positions(k);
    for (size_t i = 0; i < dims.size(); ++i) at[static_cast<size_t>(dims[i])] = positions[i];
  }
};

DimVec OtherDims(Shape shape, std::initializer_list<const DimVec*> taken) {
  DimVec free;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (std::none_of(taken.begin(), taken.end(),
                     [d](const DimVec* dims) { return Contains(*dims, d); }))
      free.push_back(d);
  }
  return free;
}

class RaggedEmission {
 public:
  RaggedEmission(const Instruction& dot, const GpuFrame& frame, GpuFusionEmitter& emitter)
      : dot_(dot),
        frame_(frame),
        emitter_(emitter),
        k_(emitter.kernel()),
        attrs_(dot.attrs<RaggedDotAttrs>()),
        lhs_(dot.operand(0)->shape()),
        rhs_(dot.operand(1)->shape()),
        sizes_(dot.operand(2)->shape()),
        ragged_(attrs_.lhs_ragged_dims[0]),
        groups_(sizes_.dim(sizes_.rank() - 1)),
        of_batches_(Contains(attrs_.lhs_batch_dims, ragged_)),
        contracted_(Contains(attrs_.lhs_contracting_dims, ragged_)),
        batch_(attrs_.lhs_batch_dims, lhs_),
        rows_(OtherDims(lhs_, {&attrs_.lhs_batch_dims, &attrs_.lhs_contracting_dims}), lhs_),
        depth_(attrs_.lhs_contracting_dims, lhs_),
        rhs_batch_(attrs_.rhs_batch_dims, rhs_),
        rhs_depth_(attrs_.rhs_contracting_dims, rhs_),
        columns_(OtherDims(rhs_, {&attrs_.rhs_batch_dims, &attrs_.rhs_contracting_dims,
                                  &attrs_.rhs_group_dims}),
                 rhs_),
        sum_(emitter, lhs_.element_type(), rhs_.element_type(), dot.shape().element_type()) {}

  absl::Status Emit() {
    llvm::Value* const thread =
        k_.Add(k_.Scale(k_.BlockIndex(), k_.block_threads()), k_.ThreadIndex());
    return k_.If(k_.Less(thread, k_.Index(dot_.shape().element_count())), [&]() -> absl::Status {
      llvm::Value* const column = k_.Rem(thread, columns_.product);
      llvm::Value* rest = k_.Div(thread, columns_.product);
      llvm::Value* const row = k_.Rem(rest, rows_.product);
      rest = k_.Div(rest, rows_.product);
      llvm::Value* const batch = k_.Rem(rest, batch_.product);
      left_.resize(static_cast<size_t>(lhs_.rank()), nullptr);
      right_.resize(static_cast<size_t>(rhs_.rank()), nullptr);
      batch_.Place(k_, batch, left_);
      rows_.Place(k_, row, left_);
      rhs_batch_.Place(k_, batch, right_);
      columns_.Place(k_, column, right_);
      ASSIGN_OR_RETURN(const Emitted sum, Sum(k_.Div(rest, batch_.product)));
      k_.Store(frame_.outputs[0].buffer, thread, sum_.Finish(sum));
      return absl::OkStatus();
    });
  }

 private:
  // `group`: of the result, where each has its own.
  absl::StatusOr<Emitted> Sum(llvm::Value* group) {
    if (contracted_) {
      return Products([&](llvm::Value*) -> absl::StatusOr<llvm::Value*> {
        ASSIGN_OR_RETURN(const EmittedList interval, Interval(group));
        llvm::Value* const at = left_[static_cast<size_t>(ragged_)];
        return k_.b().CreateAnd(k_.Less(at, interval[1].value),
                                k_.b().CreateNot(k_.Less(at, interval[0].value)));
      });
    }
    llvm::Value* const at = left_[static_cast<size_t>(ragged_)];
    // The group that holds `at`; groups_ where none does.
    const auto look = [&](llvm::Value* g, const EmittedList& now) -> absl::StatusOr<EmittedList> {
      ASSIGN_OR_RETURN(llvm::Value* const size, SizeOf(g));
      llvm::Value* const end = k_.Add(now[0].value, size);
      llvm::Value* const is_here =
          k_.b().CreateAnd(k_.b().CreateNot(k_.Less(at, now[0].value)), k_.Less(at, end));
      return EmittedList{{end, nullptr}, {k_.b().CreateSelect(is_here, g, now[1].value), nullptr}};
    };
    ASSIGN_OR_RETURN(const EmittedList found,
                     k_.Loop(k_.Index(0), k_.Index(groups_), k_.Index(1),
                             {{k_.Index(0), nullptr}, {k_.Index(groups_), nullptr}}, look));
    llvm::Value* const own = found[1].value;
    llvm::Value* const is_any = k_.Less(own, k_.Index(groups_));
    if (!of_batches_)
      right_[static_cast<size_t>(attrs_.rhs_group_dims[0])] =
          k_.b().CreateSelect(is_any, own, k_.Index(0));
    return Products([&](llvm::Value*) -> absl::StatusOr<llvm::Value*> { return is_any; });
  }

  // The sum over the depth; elements of the left side that do not count are zeros.
  absl::StatusOr<Emitted> Products(
      const std::function<absl::StatusOr<llvm::Value*>(llvm::Value* depth)>& counts) {
    const auto step = [&](llvm::Value* depth,
                          const EmittedList& before) -> absl::StatusOr<EmittedList> {
      depth_.Place(k_, depth, left_);
      rhs_depth_.Place(k_, depth, right_);
      ASSIGN_OR_RETURN(llvm::Value* const count, counts(depth));
      ASSIGN_OR_RETURN(const Emitted x,
                       emitter_.Emit(dot_.operand(0), ArrayIndex::At(lhs_.dims(), left_)));
      ASSIGN_OR_RETURN(const Emitted y,
                       emitter_.Emit(dot_.operand(1), ArrayIndex::At(rhs_.dims(), right_)));
      const Emitted factor = k_.Select(count, sum_.WidenLhs(x), sum_.Zero());
      return EmittedList{sum_.Add(before[0], factor, sum_.WidenRhs(y))};
    };
    ASSIGN_OR_RETURN(const EmittedList done, k_.Loop(k_.Index(0), k_.Index(depth_.product),
                                                     k_.Index(1), {sum_.Zero()}, step));
    return done[0];
  }

  // Where group `group` begins and ends.
  absl::StatusOr<EmittedList> Interval(llvm::Value* group) {
    const auto add = [&](llvm::Value* g, const EmittedList& now) -> absl::StatusOr<EmittedList> {
      ASSIGN_OR_RETURN(llvm::Value* const size, SizeOf(g));
      return EmittedList{{k_.Add(now[0].value, size), nullptr}};
    };
    ASSIGN_OR_RETURN(const EmittedList begin,
                     k_.Loop(k_.Index(0), group, k_.Index(1), {{k_.Index(0), nullptr}}, add));
    ASSIGN_OR_RETURN(llvm::Value* const size, SizeOf(group));
    return EmittedList{begin[0], {k_.Add(begin[0].value, size), nullptr}};
  }

  // Of group `group`, in the row of sizes that the positions choose.
  absl::StatusOr<llvm::Value*> SizeOf(llvm::Value* group) {
    llvm::Value* row = k_.Index(0);
    if (sizes_.rank() > 1) {
      for (const int64_t d : Prefix()) {
        row = k_.Add(k_.Scale(row, lhs_.dim(static_cast<int>(d))), left_[static_cast<size_t>(d)]);
      }
    }
    llvm::Value* const place = k_.Add(k_.Scale(row, groups_), group);
    ASSIGN_OR_RETURN(const Emitted size,
                     emitter_.Emit(dot_.operand(2), ArrayIndex::Linear(sizes_.dims(), place)));
    const ElementType index =
        k_.index_type()->isIntegerTy(32) ? ElementType::kS32 : ElementType::kS64;
    return emitter_.Convert(size, sizes_.element_type(), index).value;
  }

  // Dimensions of the left side in front of the ragged one.
  DimVec Prefix() const {
    DimVec prefix;
    const auto add = [&](const DimVec& dims) {
      for (const int64_t d : dims) {
        if (d == ragged_) return;
        prefix.push_back(d);
      }
    };
    add(attrs_.lhs_batch_dims);
    if (contracted_) add(attrs_.lhs_contracting_dims);
    if (!contracted_ && !of_batches_) add(rows_.dims);
    return prefix;
  }

  const Instruction& dot_;
  const GpuFrame& frame_;
  GpuFusionEmitter& emitter_;
  KernelBuilder& k_;
  const RaggedDotAttrs& attrs_;
  Shape lhs_, rhs_, sizes_;
  int64_t ragged_, groups_;
  bool of_batches_, contracted_;
  RaggedDims batch_, rows_, depth_, rhs_batch_, rhs_depth_, columns_;
  ProductSum sum_;
  ArrayIndex::Positions left_, right_;
};

}  // namespace

Decision TakesRaggedDot(const Instruction& dot) { return HasStaticOperands(dot); }

absl::Status EmitRaggedDot(const FamilyRequest& request) {
  const Instruction& dot = request.root;
  const GpuFrame& frame = request.frame;
  KernelPlan& plan = request.plan;
  plan.family = "ragged-dot";
  const int64_t count = dot.shape().element_count();
  if (count == 0) return absl::OkStatus();
  return AddSimpleKernel(frame, count, plan, [&](GpuFusionEmitter& emitter, KernelBuilder&) {
    return RaggedEmission(dot, frame, emitter).Emit();
  });
}

}  // namespace hlo::gpu
