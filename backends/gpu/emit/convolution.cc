// convolution: a thread for each result element, a loop over window positions and input features.
// Positions in the padding are skipped.
#include <algorithm>

#include "backends/gpu/emit/contraction.h"
#include "backends/gpu/emit/frame.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

class ConvEmission {
 public:
  ConvEmission(const Instruction& conv, FusedEmitter& emitter)
      : conv_(conv),
        attrs_(conv.attrs<ConvolutionAttrs>()),
        dn_(attrs_.dim_labels),
        input_(*conv.operand(0)),
        filter_(*conv.operand(1)),
        emitter_(emitter),
        k_(emitter.kernel()),
        sum_(emitter, input_.shape().element_type(), filter_.shape().element_type(),
             conv.shape().element_type()) {}

  absl::StatusOr<Emitted> Emit(llvm::Value* linear) {
    at_ = ArrayIndex::Linear(conv_.shape().dims(), linear).positions(k_);
    const int64_t inputs = filter_.shape().dim(static_cast<int>(dn_.kernel_input_feature));
    absl::InlinedVector<int64_t, 6> sizes;
    int64_t count = 1;
    for (size_t d = 0; d < dn_.input_spatial.size(); ++d) {
      sizes.push_back(attrs_.window.dims[d].size);
      count *= sizes.back();
    }
    const auto position = [&](llvm::Value* number,
                              const EmittedList& before) -> absl::StatusOr<EmittedList> {
      const auto window = ArrayIndex::Linear(sizes, number).positions(k_);
      ArrayIndex::Positions places, taps;
      llvm::Value* const inside = Place(window, places, taps);
      const auto features = [&]() -> absl::StatusOr<EmittedList> {
        return k_.Loop(k_.Index(0), k_.Index(inputs), k_.Index(1), before,
                       [&](llvm::Value* z, const EmittedList& sums) -> absl::StatusOr<EmittedList> {
                         ASSIGN_OR_RETURN(const Emitted next, AddProduct(sums[0], places, taps, z));
                         return EmittedList{next};
                       });
      };
      return k_.Guarded(inside, features, [&]() -> absl::StatusOr<EmittedList> { return before; });
    };
    ASSIGN_OR_RETURN(const EmittedList done,
                     k_.Loop(k_.Index(0), k_.Index(count), k_.Index(1), {sum_.Zero()}, position));
    return sum_.Finish(done[0]);
  }

 private:
  // Where a window position lies in the input and in the filter; whether it is in the input.
  llvm::Value* Place(const ArrayIndex::Positions& window, ArrayIndex::Positions& places,
                     ArrayIndex::Positions& taps) {
    auto& b = k_.b();
    llvm::Value* inside = b.getTrue();
    for (size_t d = 0; d < window.size(); ++d) {
      const WindowDim& w = attrs_.window.dims[d];
      const int64_t size = input_.shape().dim(static_cast<int>(dn_.input_spatial[d]));
      llvm::Value* const out = at_[static_cast<size_t>(dn_.output_spatial[d])];
      llvm::Value* place = k_.Add(k_.Scale(out, w.stride), k_.Scale(window[d], w.window_dilation));
      place = k_.Offset(place, -w.pad_low);
      const int64_t dilated = std::max<int64_t>((size - 1) * w.base_dilation + 1, 0);
      inside = b.CreateAnd(inside, b.CreateICmpULT(place, k_.Index(dilated)));
      if (w.base_dilation > 1) {
        inside = b.CreateAnd(inside, b.CreateICmpEQ(k_.Rem(place, w.base_dilation), k_.Index(0)));
        place = k_.Div(place, w.base_dilation);
      }
      places.push_back(place);
      taps.push_back(w.reversal ? k_.Sub(k_.Index(w.size - 1), window[d]) : window[d]);
    }
    return inside;
  }

  absl::StatusOr<Emitted> AddProduct(const Emitted& sum, const ArrayIndex::Positions& places,
                                     const ArrayIndex::Positions& taps, llvm::Value* z) {
    const int64_t inputs = filter_.shape().dim(static_cast<int>(dn_.kernel_input_feature));
    const int64_t outputs = filter_.shape().dim(static_cast<int>(dn_.kernel_output_feature));
    llvm::Value* const feature = at_[static_cast<size_t>(dn_.output_feature)];
    llvm::Value* batch = at_[static_cast<size_t>(dn_.output_batch)];
    llvm::Value* input_feature = z;
    if (attrs_.feature_group_count > 1) {
      llvm::Value* const group = k_.Div(feature, outputs / attrs_.feature_group_count);
      input_feature = k_.Add(k_.Scale(group, inputs), z);
    }
    if (attrs_.batch_group_count > 1) {
      llvm::Value* const group = k_.Div(feature, outputs / attrs_.batch_group_count);
      const int64_t out_batch = conv_.shape().dim(static_cast<int>(dn_.output_batch));
      batch = k_.Add(k_.Scale(group, out_batch), batch);
    }
    ArrayIndex::Positions from(static_cast<size_t>(input_.shape().rank()), nullptr);
    ArrayIndex::Positions tap(static_cast<size_t>(filter_.shape().rank()), nullptr);
    from[static_cast<size_t>(dn_.input_batch)] = batch;
    from[static_cast<size_t>(dn_.input_feature)] = input_feature;
    tap[static_cast<size_t>(dn_.kernel_input_feature)] = z;
    tap[static_cast<size_t>(dn_.kernel_output_feature)] = feature;
    for (size_t d = 0; d < places.size(); ++d) {
      from[static_cast<size_t>(dn_.input_spatial[d])] = places[d];
      tap[static_cast<size_t>(dn_.kernel_spatial[d])] = taps[d];
    }
    ASSIGN_OR_RETURN(const Emitted x,
                     emitter_.Emit(&input_, ArrayIndex::At(input_.shape().dims(), from)));
    ASSIGN_OR_RETURN(const Emitted y,
                     emitter_.Emit(&filter_, ArrayIndex::At(filter_.shape().dims(), tap)));
    return sum_.Add(sum, sum_.WidenLhs(x), sum_.WidenRhs(y));
  }

  const Instruction& conv_;
  const ConvolutionAttrs& attrs_;
  const ConvDimNumbers& dn_;
  const Instruction& input_;
  const Instruction& filter_;
  FusedEmitter& emitter_;
  KernelBuilder& k_;
  ProductSum sum_;
  ArrayIndex::Positions at_;
};

}  // namespace

absl::Status EmitConvolution(const Instruction& conv, const Frame& frame, KernelPlan& plan) {
  plan.family = "convolution";
  const auto& attrs = conv.attrs<ConvolutionAttrs>();
  if (conv.operand_count() > 2 || attrs.convolution_kind == ConvolutionKind::kWgrad ||
      attrs.convolution_kind == ConvolutionKind::kDgrad) {
    return Unsupported(conv.loc(), "platform `gpu` cannot run this kind of `convolution` yet");
  }
  const int64_t count = conv.shape().element_count();
  if (count == 0) return absl::OkStatus();
  return AddSimpleKernel(
      frame, count, plan, [&](FusedEmitter& emitter, KernelBuilder& k) -> absl::Status {
        llvm::Value* const thread =
            k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
        return k.If(k.Less(thread, k.Index(count)), [&]() -> absl::Status {
          ASSIGN_OR_RETURN(const Emitted value, ConvEmission(conv, emitter).Emit(thread));
          k.Store(frame.outputs[0].buffer, thread, value);
          return absl::OkStatus();
        });
      });
}

}  // namespace hlo::gpu
