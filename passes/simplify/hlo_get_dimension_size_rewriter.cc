#include "passes/simplify/hlo_get_dimension_size_rewriter.h"

#include <algorithm>
#include <deque>
#include <numeric>

#include "lib/analysis/forwarding.h"
#include "lib/analysis/leaves.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// What has the dimensions of its operands, side by side if there are several.
constexpr OpcodeSet kKeepsDimensions = {
    Opcode::kCopy,      Opcode::kReverse,          Opcode::kSort,    Opcode::kDynamicUpdateSlice,
    Opcode::kAllReduce, Opcode::kSetDimensionSize, Opcode::kScatter, Opcode::kSelectAndScatter};
constexpr int kMaxSizeSteps = 1 << 14;  // of one question
constexpr int kMaxNesting = 32;

// One of the computations that were gone into from above.
struct CallFrame {
  const Instruction* caller;
  int call;
  const CallFrame* parent;
};

// A dimension of a leaf of a value, in a computation that `frame` calls (null: where the question
// was asked).
struct Dimension {
  Instruction* value;
  int64_t leaf;
  int64_t dim;
  const CallFrame* frame = nullptr;
};

bool HasDimension(const DimVec& dims, int64_t dim) { return absl::c_linear_search(dims, dim); }

// The dimension of an operand that is number `left` of those that are not in `a` or `b`.
int64_t FreeDimension(const Instruction& operand, const DimVec& a, const DimVec& b, int64_t left) {
  for (int64_t d = 0; d < operand.shape().rank(); ++d)
    if (!HasDimension(a, d) && !HasDimension(b, d) && left-- == 0) return d;
  return -1;
}

// Batch dimensions, free ones of the left, free ones of the right.
std::optional<Dimension> SameSizeInDot(const Dimension& at) {
  const Instruction& dot = *at.value;
  const auto& attrs = dot.attrs<DotAttrs>();
  const auto batches = static_cast<int64_t>(attrs.lhs_batch_dims.size());
  if (at.dim < batches)
    return Dimension{dot.operand(0), 0, attrs.lhs_batch_dims[static_cast<size_t>(at.dim)],
                     at.frame};
  const int64_t lhs_free = dot.operand(0)->shape().rank() - batches -
                           static_cast<int64_t>(attrs.lhs_contracting_dims.size());
  const int64_t number = at.dim - batches;
  const int side = number < lhs_free ? 0 : 1;
  const int64_t dim = side == 0 ? FreeDimension(*dot.operand(0), attrs.lhs_batch_dims,
                                                attrs.lhs_contracting_dims, number)
                                : FreeDimension(*dot.operand(1), attrs.rhs_batch_dims,
                                                attrs.rhs_contracting_dims, number - lhs_free);
  if (dim < 0) return std::nullopt;
  return Dimension{dot.operand(side), 0, dim, at.frame};
}

// Dimensions of slices that take all of one, and those of the indices.
std::optional<Dimension> SameSizeInGather(const Dimension& at) {
  const Instruction& gather = *at.value;
  const auto& attrs = gather.attrs<GatherAttrs>();
  const auto offset = absl::c_find(attrs.offset_dims, at.dim);
  if (offset != attrs.offset_dims.end()) {
    const Instruction& array = *gather.operand(0);
    const int64_t dim =
        FreeDimension(array, attrs.collapsed_slice_dims, attrs.operand_batching_dims,
                      offset - attrs.offset_dims.begin());
    if (dim < 0 ||
        attrs.slice_sizes[static_cast<size_t>(dim)] != array.shape().dim(static_cast<int>(dim)))
      return std::nullopt;
    return Dimension{gather.operand(0), 0, dim, at.frame};
  }
  const int64_t batch =
      at.dim - absl::c_count_if(attrs.offset_dims, [&](int64_t dim) { return dim < at.dim; });
  return Dimension{gather.operand(1), 0, batch + (batch >= attrs.index_vector_dim), at.frame};
}

// Batches and features, where none are put together.
std::optional<Dimension> SameSizeInConvolution(const Dimension& at) {
  const Instruction& convolution = *at.value;
  const auto& attrs = convolution.attrs<ConvolutionAttrs>();
  const ConvDimNumbers& labels = attrs.dim_labels;
  if (attrs.batch_group_count != 1) return std::nullopt;
  if (at.dim == labels.output_batch)
    return Dimension{convolution.operand(0), 0, labels.input_batch, at.frame};
  if (at.dim == labels.output_feature && attrs.feature_group_count == 1)
    return Dimension{convolution.operand(1), 0, labels.kernel_output_feature, at.frame};
  return std::nullopt;
}

// The dimension of its first operand that dimension `dim` of `value` is; -1: none.
int64_t SameDimension(const Instruction& value, int64_t dim) {
  const Opcode opcode = value.opcode();
  const Shape from = value.operand(0)->shape();
  if (opcode == Opcode::kTranspose)
    return value.attrs<TransposeAttrs>().dimensions[static_cast<size_t>(dim)];
  if (opcode == Opcode::kBroadcast) {
    const DimVec& kept = value.attrs<BroadcastAttrs>().dimensions;
    const auto found = absl::c_find(kept, dim);
    return found == kept.end() ? -1 : found - kept.begin();
  }
  if (opcode == Opcode::kReduce)
    return FreeDimension(*value.operand(0), value.attrs<ReduceAttrs>().dimensions, {}, dim);
  if (opcode == Opcode::kDynamicSlice)  // dynamic only where nothing is cut off
    return dim;
  if (opcode == Opcode::kReshape) {
    for (const auto& [in, out] : CommonFactors(from.dims(), value.shape().dims())) {
      if (out == dim && in < from.rank() &&
          from.dim(static_cast<int>(in)) == value.shape().dim(static_cast<int>(out)))
        return in;
    }
  }
  return -1;
}

// Where the size of `at` is that of an operand's dimension; none: it is not kept.
std::optional<Dimension> SameSizeElsewhere(const Dimension& at) {
  Instruction& value = *at.value;
  if (const auto sources = ForwardedLeaves(value, /*dense=*/false); !sources.empty()) {
    const LeafSource source = sources[static_cast<size_t>(at.leaf)];
    if (source.operand < 0 || value.opcode() == Opcode::kBitcast) return std::nullopt;
    return Dimension{value.operand(source.operand), source.leaf, at.dim, at.frame};
  }
  if (value.operand_count() == 0) return std::nullopt;
  if (kKeepsDimensions.Has(value.opcode()) && at.leaf < value.operand_count() &&
      value.operand(static_cast<int>(at.leaf))->shape().IsArray())
    return Dimension{value.operand(static_cast<int>(at.leaf)), 0, at.dim, at.frame};
  if (!value.operand(0)->shape().IsArray()) return std::nullopt;
  if (IsElementwise(value.opcode())) {
    for (Instruction* operand : value.operands()) {
      if (SameDimensions(operand->shape(), value.shape()) &&
          operand->shape().is_dynamic(static_cast<int>(at.dim)))
        return Dimension{operand, 0, at.dim, at.frame};
    }
    return std::nullopt;
  }
  if (value.opcode() == Opcode::kDot) return SameSizeInDot(at);
  if (value.opcode() == Opcode::kGather) return SameSizeInGather(at);
  if (value.opcode() == Opcode::kConvolution) return SameSizeInConvolution(at);
  const int64_t dim = SameDimension(value, at.dim);
  if (dim < 0) return std::nullopt;
  return Dimension{value.operand(0), 0, dim, at.frame};
}

Shape LeafShape(const Dimension& at) {
  if (at.value->shape().IsArray()) return at.value->shape();
  return LeafShapes(at.value->shape())[static_cast<size_t>(at.leaf)];
}

// Whether the loop hands the dimension on from one round to the next.
bool LoopKeeps(const Instruction& loop, int64_t leaf, int64_t dim) {
  const Computation& body = *loop.while_body();
  Dimension at = {body.root(), leaf, dim};
  for (int steps = 0; at.value != body.parameter(0); ++steps) {
    const bool is_set = at.value->opcode() == Opcode::kSetDimensionSize &&
                        at.value->attrs<DimensionAttrs>().dimensions.value == at.dim;
    if (is_set || steps > kMaxSizeSteps || !LeafShape(at).is_dynamic(static_cast<int>(at.dim)))
      return false;
    const std::optional<Dimension> next = SameSizeElsewhere(at);
    if (!next) return false;
    at = *next;
  }
  return at.leaf == leaf && at.dim == dim;
}

// Whether a reshape leaves the dimension, which is dynamic before it, too, as it is.
bool IsSameInReshape(const Dimension& at) {
  const int64_t dim = SameDimension(*at.value, at.dim);
  return dim >= 0 && at.value->operand(0)->shape().is_dynamic(static_cast<int>(dim));
}

// Dimensions [in_begin, in_end) of the operand of a reshape, which hold the elements of dimensions
// [out_begin, out_end) of its result.
struct DividedDims {
  int64_t in_begin, in_end;
  int64_t out_begin, out_end;
};

// The dimensions among which the elements of dimension `dim` of a reshape are divided anew, when
// it is the only one of them whose size is not known: all, or those that hold the same elements.
std::optional<DividedDims> DimsToDivide(const Instruction& reshape, int64_t dim) {
  const Shape from = reshape.operand(0)->shape(), to = reshape.shape();
  const auto is_only_one = [&](const DividedDims& dims) {
    for (int64_t d = dims.out_begin; d < dims.out_end; ++d)
      if (d != dim && to.is_dynamic(static_cast<int>(d))) return false;
    return true;
  };
  const DividedDims all = {0, from.rank(), 0, to.rank()};
  if (is_only_one(all)) return all;
  if (to.dim(static_cast<int>(dim)) == 1) return std::nullopt;  // of no group in particular
  const auto starts = CommonFactors(from.dims(), to.dims());
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    const auto [in, out] = starts[i];
    const auto [next_in, next_out] = starts[i + 1];
    const DividedDims group = {in, next_in, out, next_out};
    if (dim >= out && dim < next_out)
      return is_only_one(group) ? std::optional(group) : std::nullopt;
  }
  return std::nullopt;
}

// What is known of a size.
struct Size {
  bool known = false;
  std::optional<int64_t> number;
  Instruction* instruction = nullptr;  // where there is one already, or is to be
};

int64_t FoldedSize(Opcode opcode, int64_t a, int64_t b) {
  if (opcode == Opcode::kAdd) return a + b;
  if (opcode == Opcode::kMultiply) return a * b;
  if (opcode == Opcode::kDivide) return a / b;
  return opcode == Opcode::kMaximum ? std::max(a, b) : std::min(a, b);
}

// Follows one size. Without a builder it only tells whether that is possible.
class SizeFinder {
 public:
  explicit SizeFinder(Builder* builder, int depth = 0) : builder_(builder), depth_(depth) {}

  // The size as an instruction; null when it is not given anywhere.
  Instruction* Instructed(const Size& size) const {
    if (!size.known || size.instruction != nullptr || builder_ == nullptr) return size.instruction;
    return builder_->ScalarConstant(ElementType::kS32, static_cast<double>(*size.number));
  }

  Size Of(Dimension at) {
    if (depth_ >= kMaxNesting) return {};
    ++depth_;
    const Size size = Follow(at);
    --depth_;
    return size;
  }

 private:
  static Size Number(int64_t number) { return {true, number, nullptr}; }

  Size Follow(Dimension at) {
    while (++steps_ < kMaxSizeSteps) {
      const Shape shape = LeafShape(at);
      const int dim = static_cast<int>(at.dim);
      if (!shape.is_dynamic(dim)) return Number(shape.dim(dim));
      const Instruction& value = *at.value;
      const Opcode opcode = value.opcode();
      if (opcode == Opcode::kSetDimensionSize &&
          value.attrs<DimensionAttrs>().dimensions.value == at.dim)
        return OfScalar({value.operand(1), 0, 0, at.frame});
      if (opcode == Opcode::kDynamicReshape)
        return OfScalar({value.operand(dim + 1), 0, 0, at.frame});
      if (opcode == Opcode::kParameter && at.frame == nullptr) return AtCaller(at);
      if (opcode == Opcode::kConditional) return OfConditional(at);
      if (opcode == Opcode::kConcatenate &&
          value.attrs<ConcatenateAttrs>().dimensions.value == at.dim)
        return OfConcatenate(at);
      if (opcode == Opcode::kPad) return OfPad(at);
      if (opcode == Opcode::kSlice) return OfSlice(at);
      if (opcode == Opcode::kReduceWindow) return OfWindow(at);
      if (opcode == Opcode::kReshape && !IsSameInReshape(at)) return OfReshape(at);
      const std::optional<Dimension> next = Next(at);
      if (!next) return {};
      at = *next;
    }
    return {};
  }

  // Where the size is the same.
  std::optional<Dimension> Next(const Dimension& at) {
    Instruction& value = *at.value;
    const Opcode opcode = value.opcode();
    if (opcode == Opcode::kParameter) {
      const CallFrame& frame = *at.frame;
      const int operand = frame.caller->opcode() == Opcode::kConditional
                              ? frame.call + 1
                              : static_cast<int>(value.parameter_number());
      return Dimension{frame.caller->operand(operand), at.leaf, at.dim, frame.parent};
    }
    if (opcode == Opcode::kCall) {
      frames_.push_back({&value, 0, at.frame});
      return Dimension{value.call(0)->root(), at.leaf, at.dim, &frames_.back()};
    }
    if (opcode == Opcode::kWhile) {
      if (!LoopKeeps(value, at.leaf, at.dim)) return std::nullopt;
      return Dimension{value.operand(0), at.leaf, at.dim, at.frame};
    }
    if (opcode == Opcode::kConcatenate) {
      for (Instruction* operand : value.operands()) {
        if (operand->shape().is_dynamic(static_cast<int>(at.dim)))
          return Dimension{operand, 0, at.dim, at.frame};
      }
      return std::nullopt;
    }
    return SameSizeElsewhere(at);
  }

  // A leaf that is a size, as an instruction where the question was asked.
  Size OfScalar(Dimension at) {
    for (; ++steps_ < kMaxSizeSteps;) {
      const Instruction& value = *at.value;
      if (value.IsConstant() && value.shape().IsScalar() && !value.literal().is_elided())
        return {true, value.literal().GetInt(), at.frame == nullptr ? at.value : nullptr};
      if (at.frame == nullptr) return {true, std::nullopt, Leaf(at.value, at.leaf)};
      const bool passes_on =
          value.opcode() == Opcode::kParameter || !ForwardedLeaves(value, /*dense=*/false).empty();
      const std::optional<Dimension> next = passes_on ? Next(at) : std::nullopt;
      if (!next) return {};
      at = *next;
    }
    return {};
  }

  Instruction* Leaf(Instruction* value, int64_t leaf) const {
    while (value->shape().IsTuple() && builder_ != nullptr) {
      int element = 0;
      while (FirstLeaf(value->shape(), element) + LeafCount(value->shape().element(element)) <=
             leaf)
        ++element;
      leaf -= FirstLeaf(value->shape(), element);
      value = builder_->GetTupleElement(value, element);
    }
    return value;
  }

  // Of what a computation gets, if it has one caller and the size is a number.
  Size AtCaller(const Dimension& at) const {
    const absl::Span<const CallSite> callers = at.value->parent()->callers();
    if (callers.size() != 1) return {};
    const Instruction& caller = *callers[0].caller;
    int operand = static_cast<int>(at.value->parameter_number());
    if (caller.opcode() == Opcode::kConditional) {
      operand = callers[0].call_index + 1;
    } else if (caller.opcode() == Opcode::kWhile) {
      if (!LoopKeeps(caller, at.leaf, at.dim)) return {};
    } else if (caller.opcode() != Opcode::kCall) {
      return {};
    }
    const Size size = SizeFinder(nullptr, depth_).Of({caller.operand(operand), at.leaf, at.dim});
    if (!size.number) return {};
    return Number(*size.number);
  }

  Size Combine(Opcode opcode, const Size& a, const Size& b) const {
    if (!a.known || !b.known) return {};
    if (a.number && b.number) return Number(FoldedSize(opcode, *a.number, *b.number));
    const bool is_sum = opcode == Opcode::kAdd;
    if (is_sum && b.number == 0) return a;
    if (is_sum && a.number == 0) return b;
    if (b.number == 1 && (opcode == Opcode::kMultiply || opcode == Opcode::kDivide)) return a;
    if (a.number == 1 && opcode == Opcode::kMultiply) return b;
    if (builder_ == nullptr) return {true, std::nullopt, nullptr};
    return {true, std::nullopt,
            builder_->OpWithShape(opcode, Shape::Scalar(ElementType::kS32),
                                  {Instructed(a), Instructed(b)})};
  }

  Size OfConcatenate(const Dimension& at) {
    Size total = Number(0);
    for (Instruction* operand : at.value->operands()) {
      total = Combine(Opcode::kAdd, total, Of({operand, 0, at.dim, at.frame}));
      if (!total.known) break;
    }
    return total;
  }

  // low + size + high, and `interior` between any two elements.
  Size OfPad(const Dimension& at) {
    const PaddingDim& padding = at.value->attrs<PadAttrs>().padding[static_cast<int>(at.dim)];
    Size size = Of({at.value->operand(0), 0, at.dim, at.frame});
    if (padding.interior != 0) {
      Size gaps = Combine(Opcode::kAdd, size, Number(-1));
      gaps = Combine(Opcode::kMaximum, gaps, Number(0));
      size =
          Combine(Opcode::kAdd, size, Combine(Opcode::kMultiply, gaps, Number(padding.interior)));
    }
    return Combine(Opcode::kAdd, size, Number(padding.low + padding.high));
  }

  // The elements that are there and not cut off.
  Size OfSlice(const Dimension& at) {
    const SliceRange& range = at.value->attrs<SliceAttrs>().slice[static_cast<size_t>(at.dim)];
    Size size = Of({at.value->operand(0), 0, at.dim, at.frame});
    if (range.limit < at.value->operand(0)->shape().dim(static_cast<int>(at.dim)))
      size = Combine(Opcode::kMinimum, size, Number(range.limit));
    if (range.start != 0) {
      size = Combine(Opcode::kAdd, size, Number(-range.start));
      size = Combine(Opcode::kMaximum, size, Number(0));
    }
    if (range.stride == 1) return size;
    size = Combine(Opcode::kAdd, size, Number(range.stride - 1));
    return Combine(Opcode::kDivide, size, Number(range.stride));
  }

  // All elements, divided by those that the other dimensions make.
  Size OfReshape(const Dimension& at) {
    const std::optional<DividedDims> dims = DimsToDivide(*at.value, at.dim);
    if (!dims) return {};
    Size elements = Number(1);
    int64_t fixed = 1, others = 1;
    for (int64_t d = dims->in_begin; d < dims->in_end; ++d) {
      const Size size = Of({at.value->operand(0), 0, d, at.frame});
      if (!size.known) return {};
      if (size.number) {
        fixed *= *size.number;
      } else {
        elements = Combine(Opcode::kMultiply, elements, size);
      }
    }
    for (int64_t d = dims->out_begin; d < dims->out_end; ++d)
      others *= d == at.dim ? 1 : at.value->shape().dim(static_cast<int>(d));
    if (others == 0) return {};
    const int64_t common = std::gcd(fixed, others);
    elements = Combine(Opcode::kMultiply, elements, Number(fixed / common));
    return Combine(Opcode::kDivide, elements, Number(others / common));
  }

  // How often the window fits.
  Size OfWindow(const Dimension& at) {
    const WindowDim& window =
        at.value->attrs<ReduceWindowAttrs>().window.dims[static_cast<size_t>(at.dim)];
    if (window.base_dilation != 1 || at.value->operand_count() != 2) return {};
    Size size = Of({at.value->operand(0), 0, at.dim, at.frame});
    if (window == WindowDim{}) return size;
    const int64_t more = window.pad_low + window.pad_high + window.stride - window.DilatedWindow();
    size = Combine(Opcode::kMaximum, Combine(Opcode::kAdd, size, Number(more)), Number(0));
    return Combine(Opcode::kDivide, size, Number(window.stride));
  }

  // The size that the branch which runs gives.
  Size OfConditional(const Dimension& at) {
    Instruction& conditional = *at.value;
    std::vector<Size> sizes;
    for (int i = 0; i < conditional.call_count(); ++i) {
      frames_.push_back({&conditional, i, at.frame});
      sizes.push_back(Of({conditional.call(i)->root(), at.leaf, at.dim, &frames_.back()}));
      if (!sizes.back().known) return {};
    }
    const bool is_one = absl::c_all_of(sizes, [&](const Size& size) {
      return size.number == sizes[0].number &&
             (size.number ||
              (size.instruction != nullptr && size.instruction == sizes[0].instruction));
    });
    if (is_one) return sizes[0];
    const Size index = OfScalar({conditional.operand(0), 0, 0, at.frame});
    if (!index.known || index.number || builder_ == nullptr)
      return {index.known && !index.number, std::nullopt, nullptr};
    const bool by_truth = index.instruction->shape().element_type() == ElementType::kPred;
    Instruction* size = Instructed(sizes.back());
    for (size_t i = sizes.size() - 1; i-- > 0;) {  // the last one also runs for any other index
      Instruction* const runs =
          by_truth ? index.instruction
                   : builder_->Compare(
                         index.instruction,
                         builder_->ScalarConstant(ElementType::kS32, static_cast<double>(i)),
                         ComparisonDirection::kEq);
      size = builder_->Select(runs, Instructed(sizes[i]), size);
    }
    return {true, std::nullopt, size};
  }

  Builder* builder_;
  int depth_;
  int steps_ = 0;
  std::deque<CallFrame> frames_;
};

// The size as an instruction; null when it is not given anywhere.
Instruction* GivenSize(const Dimension& at, Builder& builder) {
  if (!SizeFinder(nullptr).Of(at).known) return nullptr;
  SizeFinder finder(&builder);
  return finder.Instructed(finder.Of(at));
}

}  // namespace

absl::StatusOr<bool> HloGetDimensionSizeRewriter::Run(Module& module, PassContext& context) {
  constexpr OpcodeSet kRoots = {Opcode::kGetDimensionSize, Opcode::kSetDimensionSize};
  bool changed = false;
  const auto replace = [&](Instruction* old, Instruction* by, uint32_t first_new,
                           std::string_view what) {
    context.Passed(*old, "`{}` takes its place", by->name());
    ReplaceKeepingExtras(old, by, first_new);
    context.Count(what);
    changed = true;
  };
  // All sizes are read before anything that sets one goes.
  for (Computation* computation : context.NonFusionComputations(module, kRoots)) {
    for (Instruction* get : computation->PostOrder()) {
      if (get->opcode() != Opcode::kGetDimensionSize || !context.MayRewrite()) continue;
      const uint32_t first_new = module.id_limit();
      Rewriter rewriter(computation, context, get);
      Instruction* size =
          GivenSize({get->operand(0), 0, get->attrs<DimensionAttrs>().dimensions.value}, rewriter);
      RETURN_IF_ERROR(rewriter.status());
      if (size != nullptr && Compatible(size->shape(), get->shape())) {
        replace(get, size, first_new, "read");
      } else {
        context.Missed(*get, "the size is not given anywhere");
      }
    }
  }
  for (Computation* computation : context.NonFusionComputations(module, kRoots)) {
    for (Instruction* set : computation->PostOrder()) {
      if (set->opcode() != Opcode::kSetDimensionSize || set->shape().has_dynamic_dims() ||
          !Compatible(set->shape(), set->operand(0)->shape()) || !context.MayRewrite())
        continue;
      replace(set, set->operand(0), module.id_limit(), "set");
    }
  }
  return changed;
}

HLO_DEFINE_PASS(HloGetDimensionSizeRewriter)

}  // namespace hlo
