// convolution. Dense ones are products of matrices (gemm.h) whose left one is never made:
//
//   rows: batch and output positions   columns: output features of a group
//   depth: window positions, then input features of a group   batch: feature groups
//
// Others (few features in a group, batch groups) have a thread for each result element. Positions
// in the padding count as zeros, or are skipped.
#include <algorithm>

#include "backends/gpu/emit/families/epilogue.h"
#include "backends/gpu/emit/families/gemm.h"
#include "lib/ops/convolution_kind.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

using Sizes = absl::InlinedVector<int64_t, 6>;

size_t AsSize(int64_t d) { return static_cast<size_t>(d); }

class ConvEmission {
 public:
  ConvEmission(const Instruction& conv, const GpuFrame& frame, const FamilyOptions& options)
      : conv_(conv),
        frame_(frame),
        options_(options),
        epilogue_(conv, frame),
        attrs_(conv.attrs<ConvolutionAttrs>()),
        dn_(attrs_.dim_labels),
        input_(*conv.operand(0)),
        filter_(*conv.operand(1)),
        inputs_(filter_.shape().dims()[AsSize(dn_.kernel_input_feature)]),
        outputs_(filter_.shape().dims()[AsSize(dn_.kernel_output_feature)]) {
    for (const WindowDim& dim : attrs_.window.dims) {
      window_sizes_.push_back(dim.size);
      window_ *= dim.size;
    }
    row_sizes_.push_back(conv.shape().dims()[AsSize(dn_.output_batch)]);
    for (const int64_t d : dn_.output_spatial) row_sizes_.push_back(conv.shape().dims()[AsSize(d)]);
  }

  absl::Status Emit(KernelPlan& plan) const {
    constexpr int64_t kFewFeatures = 8;
    const int64_t columns = outputs_ / attrs_.feature_group_count;
    if (attrs_.batch_group_count == 1 && columns >= kFewFeatures && window_ * inputs_ > 0)
      return EmitAsGemm(columns, plan);
    return EmitDirect(plan);
  }

 private:
  ProductSum SumFor(GpuFusionEmitter& emitter) const {
    return ProductSum(emitter, input_.shape().element_type(), filter_.shape().element_type(),
                      conv_.shape().element_type());
  }

  // Where a window position lies in the input and in the filter.
  struct Spot {
    ArrayIndex::Positions places, taps;
    llvm::Value* inside;  // of the input, not in the padding
  };
  // `out`: positions along output_spatial.
  Spot SpotOf(KernelBuilder& k, absl::Span<llvm::Value* const> out,
              const ArrayIndex::Positions& window) const {
    auto& b = k.b();
    Spot spot;
    spot.inside = b.getTrue();
    for (size_t d = 0; d < window.size(); ++d) {
      const WindowDim& w = attrs_.window.dims[d];
      const int64_t size = input_.shape().dims()[AsSize(dn_.input_spatial[d])];
      llvm::Value* place = k.Add(k.Scale(out[d], w.stride), k.Scale(window[d], w.window_dilation));
      place = k.Offset(place, -w.pad_low);
      const int64_t dilated = std::max<int64_t>((size - 1) * w.base_dilation + 1, 0);
      const bool padded = w.pad_low != 0 || w.pad_high != 0;
      if (padded) spot.inside = b.CreateAnd(spot.inside, b.CreateICmpULT(place, k.Index(dilated)));
      if (w.base_dilation > 1) {
        spot.inside =
            b.CreateAnd(spot.inside, b.CreateICmpEQ(k.Rem(place, w.base_dilation), k.Index(0)));
        place = k.Div(place, w.base_dilation);
      }
      spot.places.push_back(place);
      spot.taps.push_back(ReadsReversed(attrs_, w) ? k.Sub(k.Index(w.size - 1), window[d])
                                                   : window[d]);
    }
    return spot;
  }

  ArrayIndex InputIndex(const Spot& spot, llvm::Value* batch, llvm::Value* feature) const {
    ArrayIndex::Positions at(input_.shape().dims().size(), nullptr);
    at[AsSize(dn_.input_batch)] = batch;
    at[AsSize(dn_.input_feature)] = feature;
    for (size_t d = 0; d < spot.places.size(); ++d)
      at[AsSize(dn_.input_spatial[d])] = spot.places[d];
    return ArrayIndex::At(input_.shape().dims(), at);
  }
  ArrayIndex FilterIndex(const ArrayIndex::Positions& taps, llvm::Value* input,
                         llvm::Value* output) const {
    ArrayIndex::Positions at(filter_.shape().dims().size(), nullptr);
    at[AsSize(dn_.kernel_input_feature)] = input;
    at[AsSize(dn_.kernel_output_feature)] = output;
    for (size_t d = 0; d < taps.size(); ++d) at[AsSize(dn_.kernel_spatial[d])] = taps[d];
    return ArrayIndex::At(filter_.shape().dims(), at);
  }

  // ---- as a product of matrices ----

  // The window position and the input feature of a depth.
  std::pair<ArrayIndex::Positions, llvm::Value*> TapOf(KernelBuilder& k, llvm::Value* depth) const {
    return {ArrayIndex::Linear(window_sizes_, k.Div(depth, inputs_)).positions(k),
            k.Rem(depth, inputs_)};
  }

  struct LeftElement {
    ArrayIndex index;
    llvm::Value* inside;
  };
  LeftElement LeftOf(KernelBuilder& k, llvm::Value* group, llvm::Value* row,
                     llvm::Value* depth) const {
    const auto [window, z] = TapOf(k, depth);
    const auto out = ArrayIndex::Linear(row_sizes_, row).positions(k);
    const Spot spot = SpotOf(k, absl::MakeSpan(out).subspan(1), window);
    llvm::Value* const feature = k.Add(k.Scale(group, inputs_), z);
    return {InputIndex(spot, out[0], feature), spot.inside};
  }
  ArrayIndex RightOf(KernelBuilder& k, llvm::Value* group, llvm::Value* column,
                     llvm::Value* depth) const {
    const auto [window, z] = TapOf(k, depth);
    ArrayIndex::Positions taps;
    for (size_t d = 0; d < window.size(); ++d) {
      const WindowDim& w = attrs_.window.dims[d];
      taps.push_back(ReadsReversed(attrs_, w) ? k.Sub(k.Index(w.size - 1), window[d]) : window[d]);
    }
    const int64_t columns = outputs_ / attrs_.feature_group_count;
    return FilterIndex(taps, z, k.Add(k.Scale(group, columns), column));
  }

  // Features side by side in memory are runs of a matrix, whole where `size` of them are.
  void FindRuns(const Instruction& operand, int64_t feature, int64_t size, GemmSide& side) const {
    constexpr int kLongest = 8;
    if (feature != operand.shape().rank() - 1) return;
    for (const auto& [value, buffer] : frame_.bindings) {
      if (value == &operand) side.buffer = buffer;
    }
    while (side.buffer >= 0 && side.run < kLongest && size % (2 * side.run) == 0) side.run *= 2;
  }

  GemmSide LeftSide(GpuFusionEmitter& emitter) const {
    GemmSide side;
    side.type = input_.shape().element_type();
    side.along_free = dn_.input_feature != input_.shape().rank() - 1;
    KernelBuilder& k = emitter.kernel();
    FindRuns(input_, dn_.input_feature, inputs_, side);
    side.element = [this, &emitter, &k](llvm::Value* group, llvm::Value* row,
                                        llvm::Value* depth) -> absl::StatusOr<Emitted> {
      const LeftElement left = LeftOf(k, group, row, depth);
      const auto load = [&]() -> absl::StatusOr<EmittedList> {
        ASSIGN_OR_RETURN(const Emitted value, emitter.Emit(&input_, left.index));
        return EmittedList{value};
      };
      const auto zero = [&]() -> absl::StatusOr<EmittedList> {
        constexpr uint8_t kZeros[16] = {};
        return EmittedList{k.Constant(input_.shape().element_type(), kZeros)};
      };
      ASSIGN_OR_RETURN(const EmittedList value, k.Guarded(left.inside, load, zero));
      return value[0];
    };
    side.place = [this, &k](llvm::Value* group, llvm::Value* row, llvm::Value* depth) {
      return LeftOf(k, group, row, depth).index.linear(k);
    };
    side.valid = [this, &k](llvm::Value* group, llvm::Value* row, llvm::Value* depth) {
      return LeftOf(k, group, row, depth).inside;
    };
    return side;
  }

  GemmSide RightSide(GpuFusionEmitter& emitter) const {
    GemmSide side;
    side.type = filter_.shape().element_type();
    side.along_free = dn_.kernel_input_feature != filter_.shape().rank() - 1;
    KernelBuilder& k = emitter.kernel();
    const int64_t columns = outputs_ / attrs_.feature_group_count;
    FindRuns(filter_, side.along_free ? dn_.kernel_output_feature : dn_.kernel_input_feature,
             side.along_free ? columns : inputs_, side);
    side.element = [this, &emitter, &k](llvm::Value* group, llvm::Value* column,
                                        llvm::Value* depth) {
      return emitter.Emit(&filter_, RightOf(k, group, column, depth));
    };
    side.place = [this, &k](llvm::Value* group, llvm::Value* column, llvm::Value* depth) {
      return RightOf(k, group, column, depth).linear(k);
    };
    return side;
  }

  absl::Status EmitAsGemm(int64_t columns, KernelPlan& plan) const {
    GemmRequest request;
    const ElementType type = conv_.shape().element_type();
    request.sizes.batch = attrs_.feature_group_count;
    request.sizes.rows = conv_.shape().element_count() / outputs_;
    request.sizes.columns = columns;
    request.sizes.depth = window_ * inputs_;
    request.mma = MmaKindFor(input_.shape().element_type(), filter_.shape().element_type(), type,
                             AlgorithmFor(DotAlgorithm::kUnset, attrs_.operand_precision, options_),
                             request.sizes);
    request.sum_type = ProductSum::TypeFor(type);
    request.multiprocessors = options_.multiprocessors;
    request.choice = options_.choice;
    request.factor_bits = BitWidth(input_.shape().element_type());
    request.small_tiles = IsComplex(type);
    request.large_tiles = BitWidth(type) <= 32;
    request.sum = [this](GpuFusionEmitter& emitter) { return SumFor(emitter); };
    request.make = [this, columns](GpuFusionEmitter& emitter, const ProductSum& sum) {
      Gemm gemm;
      gemm.lhs = LeftSide(emitter);
      gemm.rhs = RightSide(emitter);
      gemm.store = [this, columns, &emitter, &sum](llvm::Value* group, llvm::Value* row,
                                                   llvm::Value* column,
                                                   absl::Span<const Emitted> sums) -> absl::Status {
        KernelBuilder& k = emitter.kernel();
        EmittedList values;
        for (const Emitted& one : sums) values.push_back(sum.Finish(one));
        const auto out = ArrayIndex::Linear(row_sizes_, row).positions(k);
        ArrayIndex::Positions at(conv_.shape().dims().size(), nullptr);
        at[AsSize(dn_.output_batch)] = out[0];
        for (size_t d = 0; d < dn_.output_spatial.size(); ++d)
          at[AsSize(dn_.output_spatial[d])] = out[d + 1];
        at[AsSize(dn_.output_feature)] = k.Add(k.Scale(group, columns), column);
        const bool is_minor = dn_.output_feature == conv_.shape().rank() - 1;
        if (values.size() > 1 && is_minor) {
          return epilogue_.Store(emitter, ArrayIndex::At(conv_.shape().dims(), at).linear(k),
                                 values);
        }
        llvm::Value* const first = at[AsSize(dn_.output_feature)];
        for (size_t i = 0; i < values.size(); ++i) {
          at[AsSize(dn_.output_feature)] = k.Offset(first, static_cast<int64_t>(i));
          RETURN_IF_ERROR(epilogue_.Store(
              emitter, ArrayIndex::At(conv_.shape().dims(), at).linear(k), {values[i]}));
        }
        return absl::OkStatus();
      };
      return gemm;
    };
    return AddGemm(frame_, request, plan);
  }

  // ---- a thread for each element ----

  absl::Status EmitDirect(KernelPlan& plan) const {
    const int64_t count = conv_.shape().element_count();
    return AddSimpleKernel(frame_, count, plan,
                           [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {
                             llvm::Value* const thread =
                                 k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
                             return k.If(k.Less(thread, k.Index(count)), [&]() -> absl::Status {
                               ASSIGN_OR_RETURN(const Emitted value, ElementAt(emitter, thread));
                               return epilogue_.Store(emitter, thread, {value});
                             });
                           });
  }

  absl::StatusOr<Emitted> ElementAt(GpuFusionEmitter& emitter, llvm::Value* linear) const {
    KernelBuilder& k = emitter.kernel();
    const ProductSum sum = SumFor(emitter);
    const auto at = ArrayIndex::Linear(conv_.shape().dims(), linear).positions(k);
    ArrayIndex::Positions out;
    for (const int64_t d : dn_.output_spatial) out.push_back(at[AsSize(d)]);
    llvm::Value* const feature = at[AsSize(dn_.output_feature)];
    llvm::Value* batch = at[AsSize(dn_.output_batch)];
    if (attrs_.batch_group_count > 1) {
      llvm::Value* const group = k.Div(feature, outputs_ / attrs_.batch_group_count);
      batch = k.Add(k.Scale(group, row_sizes_[0]), batch);
    }
    const auto position = [&](llvm::Value* number,
                              const EmittedList& before) -> absl::StatusOr<EmittedList> {
      const auto window = ArrayIndex::Linear(window_sizes_, number).positions(k);
      const Spot spot = SpotOf(k, out, window);
      const auto step = [&](llvm::Value* z,
                            const EmittedList& sums) -> absl::StatusOr<EmittedList> {
        llvm::Value* input_feature = z;
        if (attrs_.feature_group_count > 1) {
          llvm::Value* const group = k.Div(feature, outputs_ / attrs_.feature_group_count);
          input_feature = k.Add(k.Scale(group, inputs_), z);
        }
        ASSIGN_OR_RETURN(const Emitted x,
                         emitter.Emit(&input_, InputIndex(spot, batch, input_feature)));
        ASSIGN_OR_RETURN(const Emitted y,
                         emitter.Emit(&filter_, FilterIndex(spot.taps, z, feature)));
        return EmittedList{sum.Add(sums[0], sum.WidenLhs(x), sum.WidenRhs(y))};
      };
      const auto features = [&]() {
        return k.Loop(k.Index(0), k.Index(inputs_), k.Index(1), before, step);
      };
      return k.Guarded(spot.inside, features,
                       [&]() -> absl::StatusOr<EmittedList> { return before; });
    };
    ASSIGN_OR_RETURN(const EmittedList done,
                     k.Loop(k.Index(0), k.Index(window_), k.Index(1), {sum.Zero()}, position));
    return sum.Finish(done[0]);
  }

  const Instruction& conv_;
  const GpuFrame& frame_;
  const FamilyOptions& options_;
  Epilogue epilogue_;
  const ConvolutionAttrs& attrs_;
  const ConvDimNumbers& dn_;
  const Instruction& input_;
  const Instruction& filter_;
  int64_t inputs_, outputs_;  // features: of a group, of all groups
  Sizes window_sizes_, row_sizes_;
  int64_t window_ = 1;
};

}  // namespace

Decision TakesConvolution(const Instruction& convolution) {
  if (convolution.operand_count() != 2) return No("an operand is sparse");
  if (convolution.shape().has_dynamic_dims()) return No("the result has dynamic dimensions");
  return SumsInOneKind(convolution);
}

absl::Status EmitConvolution(const FamilyRequest& request) {
  const Instruction& conv = request.root;
  const GpuFrame& frame = request.frame;
  KernelPlan& plan = request.plan;
  plan.family = "convolution";
  if (conv.shape().element_count() == 0) return absl::OkStatus();
  return ConvEmission(conv, frame, request.options).Emit(plan);
}

}  // namespace hlo::gpu
