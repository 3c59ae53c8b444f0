#include "passes/cpu/cpu_libraries.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "lib/analysis/region.h"
#include "lib/ir/computation.h"
#include "lib/ops/opcode_groups.h"
#include "lib/ops/opcode_set.h"
#include "lib/types/memory_order.h"

namespace hlo {
namespace {

using enum ElementType;

// ---- types and layouts ----

class TypeSet {
 public:
  constexpr TypeSet(std::initializer_list<ElementType> types) {
    for (const ElementType type : types) bits_ |= uint64_t{1} << static_cast<unsigned>(type);
  }
  constexpr bool Has(ElementType type) const {
    return ((bits_ >> static_cast<unsigned>(type)) & 1) != 0;
  }

 private:
  uint64_t bits_ = 0;
};

constexpr TypeSet kYnnTypes = {kS4, kU4, kS8, kU8, kS32, kF16, kBF16, kF32, kF64};
constexpr TypeSet kYnnFunctionTypes = {kS8, kU8, kBF16, kF32, kF64};
constexpr TypeSet kYnnIotaTypes = {kS32, kF32};
constexpr TypeSet kYnnExtremaTypes = {kS8, kU8, kF16, kBF16, kF32, kF64};

struct ProductTypes {
  ElementType lhs, rhs, result;
  friend bool operator==(const ProductTypes&, const ProductTypes&) = default;
};
constexpr ProductTypes kYnnDotTypes[] = {{kF64, kF64, kF64},
                                         {kF32, kF32, kF32},
                                         {kBF16, kBF16, kF32},
                                         {kS8, kS8, kS32},
                                         {kU8, kS8, kS32}};
constexpr ProductTypes kYnnConvolutionTypes[] = {
    {kF64, kF64, kF64}, {kF32, kF32, kF32}, {kS8, kS8, kS32}};

struct SumTypes {
  ElementType from, to;
  friend bool operator==(const SumTypes&, const SumTypes&) = default;
};
constexpr SumTypes kYnnSumTypes[] = {{kF64, kF64},  {kF32, kF32}, {kF16, kF32},
                                     {kBF16, kF32}, {kS8, kS32},  {kU8, kS32}};

constexpr int kYnnMaxRank = 8;
constexpr int kOneDnnMaxRank = 12;
constexpr int64_t kFewElements = 4096;    // calling the library costs more than they do
constexpr int64_t kSmallProduct = 8;      // the same of a product, in each dimension
constexpr int64_t kFewChannels = 16;      // and of a convolution
constexpr int kCombinerInstructions = 3;  // two parameters and what combines them

Decision HasYnnType(Shape shape) {
  if (!shape.IsArray() || !kYnnTypes.Has(shape.element_type()))
    return No("the library has no type `{}`", shape);
  return Yes();
}

Decision IsRowMajorArray(Shape shape) {
  if (!shape.IsArray()) return No("`{}` is no array", shape);
  if (shape.rank() > kYnnMaxRank) return No("`{}` has more than {} dimensions", shape, kYnnMaxRank);
  if (!LiesRowMajor(shape)) return No("`{:l}` is not row-major", shape);
  return Yes();
}

Decision AreRowMajor(const Instruction& x) {
  for (const Instruction* operand : x.operands()) {
    if (const Decision can = IsRowMajorArray(operand->shape()); !can) return can;
  }
  return IsRowMajorArray(x.shape());
}

// ---- matrix products ----

// A product of matrices, or of as many pairs of them as the leading dimensions say.
struct CanonicalProduct {
  int64_t m = 1, k = 1, n = 1;
  bool lhs_sums_columns = true;  // the sum runs along the rows of the left matrix
  bool column_major = false;     // one of the matrices is
};

// Batch dimensions come first, in order, in the shape and in memory.
bool LeadsWithBatch(Shape shape, const DimVec& batch) {
  const Layout* const layout = shape.layout_or_null();
  for (size_t i = 0; i < batch.size(); ++i) {
    if (batch[i] != static_cast<int64_t>(i)) return false;
    if (layout == nullptr) continue;
    const auto major = layout->minor_to_major.end() - static_cast<std::ptrdiff_t>(batch.size());
    if (std::find(major, layout->minor_to_major.end(), batch[i]) == layout->minor_to_major.end())
      return false;
  }
  return true;
}

bool IsColumnMajor(Shape shape, int64_t batches) {
  const Layout* const layout = shape.layout_or_null();
  return layout != nullptr && shape.rank() > batches + 1 && layout->minor_to_major[0] == batches;
}

std::optional<CanonicalProduct> CanonicalProductOf(const Instruction& dot) {
  const auto& attrs = dot.attrs<DotAttrs>();
  const Shape lhs = dot.operand(0)->shape(), rhs = dot.operand(1)->shape();
  const auto batches = static_cast<int64_t>(attrs.lhs_batch_dims.size());
  if (attrs.lhs_contracting_dims.size() != 1 || attrs.rhs_contracting_dims.size() != 1 ||
      lhs.rank() > batches + 2 || rhs.rank() > batches + 2 || dot.shape().rank() > batches + 2 ||
      !LeadsWithBatch(lhs, attrs.lhs_batch_dims) || !LeadsWithBatch(rhs, attrs.rhs_batch_dims) ||
      !LeadsWithBatch(dot.shape(), attrs.lhs_batch_dims))
    return std::nullopt;
  // Of the two dimensions after `batches`, the one that is not summed.
  const auto kept = [&](Shape shape, int64_t summed) {
    return shape.rank() <= batches + 1 ? int64_t{1}
                                       : shape.dim(static_cast<int>(2 * batches + 1 - summed));
  };
  const int64_t lhs_summed = attrs.lhs_contracting_dims[0];
  const int64_t rhs_summed = attrs.rhs_contracting_dims[0];
  return CanonicalProduct{
      .m = kept(lhs, lhs_summed),
      .k = lhs.dim(static_cast<int>(lhs_summed)),
      .n = kept(rhs, rhs_summed),
      .lhs_sums_columns = lhs.rank() <= batches + 1 || lhs_summed == batches + 1,
      .column_major = IsColumnMajor(lhs, batches) || IsColumnMajor(rhs, batches)};
}

ProductTypes TypesOf(const Instruction& product) {
  return {product.operand(0)->shape().element_type(), product.operand(1)->shape().element_type(),
          product.shape().element_type()};
}

Decision HasTypesOf(const Instruction& product, absl::Span<const ProductTypes> allowed) {
  const ProductTypes types = TypesOf(product);
  if (absl::c_linear_search(allowed, types)) return Yes();
  return No("the library does not multiply `{}` by `{}` into `{}`", Text(types.lhs),
            Text(types.rhs), Text(types.result));
}

Decision YnnDot(const Instruction& dot) {
  if (const Decision can = HasTypesOf(dot, kYnnDotTypes); !can) return can;
  if (const Decision can = AreRowMajor(dot); !can) return can;
  const std::optional<CanonicalProduct> product = CanonicalProductOf(dot);
  if (!product) return No("it is no product of matrices");
  if (product->m == 1 || product->n == 1) return No("it multiplies a vector");
  if (std::max({product->m, product->k, product->n}) < kSmallProduct)
    return No("no dimension has {} elements", kSmallProduct);
  if (!product->lhs_sums_columns) return No("it sums along columns of the left matrix");
  return Yes();
}

// Images with channels last, one filter after the other.
Decision YnnConvolution(const Instruction& convolution) {
  const auto& attrs = convolution.attrs<ConvolutionAttrs>();
  const Shape input = convolution.operand(0)->shape(), kernel = convolution.operand(1)->shape();
  const Shape output = convolution.shape();
  if (attrs.batch_group_count != 1) return No("it has groups of batches");
  if (attrs.window.dims.size() != 2) return No("its window has not two dimensions");
  if (const Decision can = AreRowMajor(convolution); !can) return can;
  if (const Decision can = HasTypesOf(convolution, kYnnConvolutionTypes); !can) return can;
  const ConvDimNumbers images{.input_batch = 0,
                              .input_feature = 3,
                              .input_spatial = {1, 2},
                              .kernel_input_feature = 2,
                              .kernel_output_feature = 3,
                              .kernel_spatial = {0, 1},
                              .output_batch = 0,
                              .output_feature = 3,
                              .output_spatial = {1, 2}};
  if (attrs.dim_labels != images) return No("its dimensions are not b01f_01io->b01f");
  if (std::max(input.dim(3), output.dim(3)) <= kFewChannels)
    return No("it has no more than {} channels", kFewChannels);
  for (int i = 0; i < 2; ++i) {
    const WindowDim& dim = attrs.window.dims[static_cast<size_t>(i)];
    if (output.dim(i + 1) > input.dim(i + 1) || kernel.dim(i) > input.dim(i + 1))
      return No("its result or its kernel is larger than its input");
    if (dim.base_dilation != 1 || dim.reversal) return No("its window is dilated or reversed");
  }
  return Yes();
}

// ---- reductions ----

// Windows that lie side by side.
Decision YnnWindow(const Instruction& reduce) {
  int reduced = 0;
  for (const WindowDim& dim : reduce.attrs<ReduceWindowAttrs>().window.dims) {
    if (dim.size == 1 && dim.stride == 1) continue;
    if (dim.size > 1 && dim.stride != dim.size) return No("its windows overlap or leave gaps");
    if (dim.base_dilation != 1 || dim.window_dilation != 1 || dim.reversal)
      return No("its window is dilated or reversed");
    ++reduced;
  }
  if (reduced == 0) return No("it reduces no dimension");
  if (reduce.shape().rank() + reduced > kYnnMaxRank)
    return No("windows and places have more than {} dimensions", kYnnMaxRank);
  return Yes();
}

Decision YnnReduce(const Instruction& reduce) {
  if (reduce.operand_count() != 2) return No("it reduces several arrays");
  const Shape input = reduce.operand(0)->shape(), output = reduce.shape();
  if (const Decision can = HasYnnType(output); !can) return can;
  if (const Decision can = AreRowMajor(reduce); !can) return can;
  if (reduce.opcode() == Opcode::kReduceWindow) {
    if (const Decision can = YnnWindow(reduce); !can) return can;
  } else if (reduce.attrs<ReduceAttrs>().dimensions.empty()) {
    return No("it reduces no dimension");
  }
  const Computation& combiner = *reduce.to_apply();
  const std::optional<Opcode> operation = combiner.instruction_count() == kCombinerInstructions
                                              ? CombinerOpcode(combiner)
                                              : std::nullopt;
  const SumTypes types{input.element_type(), output.element_type()};
  if (reduce.operand(1)->shape().element_type() != types.to)
    return No("its initial value has another type than its result");
  bool can = false;
  if (operation == Opcode::kAdd)
    can = std::find(std::begin(kYnnSumTypes), std::end(kYnnSumTypes), types) !=
          std::end(kYnnSumTypes);
  if (operation == Opcode::kMaximum || operation == Opcode::kMinimum)
    can = types.from == types.to && kYnnExtremaTypes.Has(types.to);
  if (can) return Yes();
  return No("the library does not reduce `{}` to `{}` so", Text(types.from), Text(types.to));
}

// ---- what moves elements, and what needs none ----

Decision YnnConstant(const Instruction& constant) { return HasYnnType(constant.shape()); }

Decision YnnIota(const Instruction& iota) {
  if (!kYnnIotaTypes.Has(iota.shape().element_type()))
    return No("the library has no iota of `{}`", Text(iota.shape().element_type()));
  return IsRowMajorArray(iota.shape());
}

Decision YnnMove(const Instruction& move) {
  if (const Decision can = HasYnnType(move.shape()); !can) return can;
  if (move.operand(0)->shape().element_type() != move.shape().element_type())
    return No("it changes the type");
  return AreRowMajor(move);
}

Decision YnnBroadcast(const Instruction& broadcast) {
  const DimVec& dims = broadcast.attrs<BroadcastAttrs>().dimensions;
  if (!absl::c_is_sorted(dims)) return No("it transposes");
  return YnnMove(broadcast);
}

Decision YnnPad(const Instruction& pad) {
  const PaddingConfig& padding = pad.attrs<PadAttrs>().padding;
  for (int i = 0; i < padding.rank(); ++i) {
    if (padding[i].interior != 0) return No("it pads between elements");
    // The library would broadcast a dimension of size 1.
    if (pad.operand(0)->shape().dim(i) == 1 && (padding[i].low != 0 || padding[i].high != 0))
      return No("it pads a dimension of size 1");
  }
  return YnnMove(pad);
}

Decision YnnFunction(const Instruction& function) {
  const auto has_type = [](const Instruction* x) {
    return kYnnFunctionTypes.Has(x->shape().element_type());
  };
  const auto operands = function.operands();
  if (has_type(&function) && absl::c_all_of(operands, has_type)) return Yes();
  return No("the library has no `{}` of these types", function.opcode_text());
}

struct YnnRule {
  OpcodeSet opcodes;
  Decision (*takes)(const Instruction& instruction);
  bool even_few = false;  // also where no array has kFewElements
};

constexpr OpcodeSet kYnnFunctions = {
    Opcode::kAbs,      Opcode::kCeil,     Opcode::kConvert,  Opcode::kErf,
    Opcode::kExp,      Opcode::kExpm1,    Opcode::kFloor,    Opcode::kLog,
    Opcode::kLog1p,    Opcode::kLogistic, Opcode::kNegate,   Opcode::kRoundNearestEven,
    Opcode::kRsqrt,    Opcode::kSign,     Opcode::kSqrt,     Opcode::kTanh,
    Opcode::kAdd,      Opcode::kDivide,   Opcode::kMaximum,  Opcode::kMinimum,
    Opcode::kMultiply, Opcode::kPower,    Opcode::kSubtract,
};

constexpr YnnRule kYnnRules[] = {
    {{Opcode::kConstant}, YnnConstant, true},
    {{Opcode::kIota}, YnnIota, true},
    {{Opcode::kBitcast, Opcode::kReshape, Opcode::kTranspose}, YnnMove, true},
    {{Opcode::kBroadcast}, YnnBroadcast, true},
    {{Opcode::kPad}, YnnPad, true},
    {{Opcode::kDot}, YnnDot, true},
    {{Opcode::kConvolution}, YnnConvolution, true},
    {kReduceOps, YnnReduce},
    {kYnnFunctions, YnnFunction},
};

bool HasManyElements(const Instruction& x) {
  const auto many = [](Shape shape) {
    return shape.IsArray() && shape.element_count() >= kFewElements;
  };
  if (many(x.shape())) return true;
  const auto operands = x.operands();
  return absl::c_any_of(operands,
                        [&](const Instruction* operand) { return many(operand->shape()); });
}

Decision YnnTakes(const Instruction& x, const CpuFeatures&) {
  if (x.shape().has_dynamic_dims()) return No("its shape is dynamic");
  for (const YnnRule& rule : kYnnRules) {
    if (!rule.opcodes.Has(x.opcode())) continue;
    if (!rule.even_few && !HasManyElements(x))
      return No("it has fewer than {} elements", kFewElements);
    return rule.takes(x);
  }
  return No("the library has no `{}`", x.opcode_text());
}

bool YnnBegins(const Instruction& x, LibraryFusionTypes types) { return types.MayBegin(x); }

// ---- oneDNN ----

constexpr OpcodeSet kOneDnnFunctions = {Opcode::kAdd, Opcode::kMultiply, Opcode::kExp};

bool HasOneDnnType(const Instruction& x, const CpuFeatures& features) {
  const ElementType type = x.shape().element_type();
  return type == kF32 || (type == kBF16 && features.avx512_bf16) ||
         (type == kF16 && features.avx512_fp16);
}

Decision OneDnnTakes(const Instruction& x, const CpuFeatures& features) {
  const bool is_dot = x.opcode() == Opcode::kDot;
  if (!is_dot && !kOneDnnFunctions.Has(x.opcode()))
    return No("the library has no `{}`", x.opcode_text());
  if (x.shape().has_dynamic_dims()) return No("its shape is dynamic");
  const auto has_type = [&](const Instruction* operand) {
    return HasOneDnnType(*operand, features);
  };
  const auto operands = x.operands();
  if (!has_type(&x) || !absl::c_all_of(operands, has_type))
    return No("the library has no `{}` of these types", x.opcode_text());
  if (!is_dot) return Yes();
  const ProductTypes types = TypesOf(x);
  if (types.lhs != types.rhs || types.lhs != types.result) return No("its types are mixed");
  for (const Instruction* operand : x.operands()) {
    if (operand->shape().rank() > kOneDnnMaxRank)
      return No("it has more than {} dimensions", kOneDnnMaxRank);
    if (operand->shape().IsZeroSized()) return No("it multiplies no elements");
  }
  if (x.shape().IsZeroSized()) return No("its result has no elements");
  const std::optional<CanonicalProduct> product = CanonicalProductOf(x);
  if (!product) return No("it is no product of matrices");
  return product->column_major ? No("a matrix is not row-major") : Yes();
}

// Whatever its own fusion types are.
bool OneDnnBegins(const Instruction& x, LibraryFusionTypes) { return x.opcode() == Opcode::kDot; }

}  // namespace

const CpuLibrary kOneDnn = {"onednn_fusion", "__onednn_fusion", OneDnnTakes, OneDnnBegins};
const CpuLibrary kYnnPack = {"ynn_fusion", "__ynn_fusion", YnnTakes, YnnBegins};

}  // namespace hlo
