#include "lib/analysis/indexed_array.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "lib/eval/evaluator.h"
#include "lib/ir/builder.h"
#include "lib/support/contains.h"

namespace hlo {
namespace {

using Ptr = IndexedArray::Ptr;
using Kind = IndexedArray::Kind;

constexpr int64_t kMaxElements = 1 << 20;  // of a constant that is computed

Ptr Unknown(const Instruction& instruction) {
  return std::make_shared<IndexedArray>(
      IndexedArray{Kind::kUnknown, instruction.shape(), &instruction, {}, {}, {}, 0, {}});
}
Ptr Constant(Literal literal) {
  const Shape shape = literal.shape();
  return std::make_shared<IndexedArray>(
      IndexedArray{Kind::kConstant, shape, nullptr, std::move(literal), {}, {}, 0, {}});
}
Ptr Indexed(Shape shape, Ptr source, Ptr indices, int64_t source_dim,
            std::vector<int64_t> output_dims) {
  return std::make_shared<IndexedArray>(IndexedArray{Kind::kScalarIndexed,
                                                     shape,
                                                     nullptr,
                                                     {},
                                                     std::move(source),
                                                     std::move(indices),
                                                     source_dim,
                                                     std::move(output_dims)});
}
// The same array of another source.
Ptr WithSource(const IndexedArray& array, Shape shape, Literal source) {
  return Indexed(shape, Constant(std::move(source)), array.indices, array.source_dim,
                 array.output_dims);
}

// What the operation of `like` makes of constants of other shapes.
std::optional<Literal> Computed(const Instruction& like, const std::vector<Literal>& operands) {
  Module module("constants");
  Computation* computation = module.AddEntry("main");
  Builder builder(computation);
  std::vector<Instruction*> parameters;
  for (const Literal& operand : operands) {
    if (operand.is_elided() || operand.element_count() > kMaxElements) return std::nullopt;
    const auto number = static_cast<int64_t>(parameters.size());
    parameters.push_back(builder.Parameter(number, operand.shape()));
  }
  Instruction* result = like.opcode() == Opcode::kConvert
                            ? builder.Convert(parameters[0], like.shape().element_type())
                            : builder.Op(like.opcode(), parameters, like.attrs_ptr());
  if (!builder.status().ok() || result->shape().element_count() > kMaxElements) return std::nullopt;
  computation->set_root(result);
  module.ResetEntryLayout();
  Evaluator evaluator;
  absl::StatusOr<Literal> value = evaluator.Run(module, operands);
  if (!value.ok()) return std::nullopt;
  return *std::move(value);
}

// The dimension of the source that dimension `d` of the array is.
int64_t SourceDimension(const IndexedArray& array, int64_t d) {
  int64_t others = 0;
  for (int64_t i = 0; i < d; ++i) others += Contains(array.output_dims, i) ? 0 : 1;
  return others < array.source_dim ? others : others + 1;
}

// ---- elementwise ----

Ptr OfUnary(const Instruction& unary, const IndexedArray& operand) {
  if (!operand.IsScalarIndexedConstant()) return Unknown(unary);
  std::optional<Literal> source = Computed(unary, {operand.source->literal});
  return source ? WithSource(operand, unary.shape(), *std::move(source)) : Unknown(unary);
}

// The broadcast constant `other` as it looks beside the source of `array`.
std::optional<Literal> BesideSource(const IndexedArray& array, const Instruction& other) {
  if (other.opcode() != Opcode::kBroadcast || !other.operand(0)->IsConstant() ||
      other.operand(0)->literal().is_elided())
    return std::nullopt;
  DimVec dimensions;
  for (const int64_t d : other.attrs<BroadcastAttrs>().dimensions) {
    if (Contains(array.output_dims, d)) return std::nullopt;
    dimensions.push_back(SourceDimension(array, d));
  }
  const Shape shape = Shape::Array(other.shape().element_type(), array.source->shape.dims());
  if (shape.element_count() > kMaxElements) return std::nullopt;
  return other.operand(0)->literal().Broadcast(shape, dimensions);
}

Ptr OfBinary(const Instruction& binary, const IndexedArray& lhs, const IndexedArray& rhs) {
  for (const bool left : {true, false}) {
    const IndexedArray& array = left ? lhs : rhs;
    if (!array.IsScalarIndexedConstant()) continue;
    std::optional<Literal> other = BesideSource(array, *binary.operand(left ? 1 : 0));
    if (!other) continue;
    const Literal& source = array.source->literal;
    std::optional<Literal> result = Computed(
        binary, left ? std::vector<Literal>{source, *other} : std::vector<Literal>{*other, source});
    if (result) return WithSource(array, binary.shape(), *std::move(result));
  }
  return Unknown(binary);
}

// ---- gather ----

// gather(gather(a, x), y) = gather(a, gather(x, y)), when y indexes a dimension that x does
Ptr FoldedGather(Shape shape, const IndexedArray& inner, Ptr indices, int64_t dim,
                 const std::vector<int64_t>& batch) {
  const auto position = std::find(inner.output_dims.begin(), inner.output_dims.end(), dim) -
                        inner.output_dims.begin();
  // Dimensions of the result that are no batch are those of the operand but for `dim`, in order.
  std::vector<int64_t> output_dims;
  std::vector<int64_t> of_batch;
  std::vector<int64_t> sizes;
  int64_t operand_dim = 0;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const bool is_batch = Contains(batch, d);
    if (!is_batch) {
      if (operand_dim == dim) ++operand_dim;
      if (!Contains(inner.output_dims, operand_dim++)) continue;
    } else {
      of_batch.push_back(static_cast<int64_t>(output_dims.size()));
    }
    output_dims.push_back(d);
    sizes.push_back(shape.dim(static_cast<int>(d)));
  }
  Ptr both = Indexed(Shape::Array(inner.indices->shape.element_type(), sizes), inner.indices,
                     std::move(indices), position, std::move(of_batch));
  return Indexed(shape, inner.source, std::move(both), inner.source_dim, std::move(output_dims));
}

Ptr OfGather(const Instruction& gather, const Ptr& operand, const Ptr& indices) {
  const auto& attrs = gather.attrs<GatherAttrs>();
  const Shape of = gather.operand(0)->shape();
  if (attrs.index_vector_dim != gather.operand(1)->shape().rank() ||
      attrs.start_index_map.size() != 1 || !attrs.operand_batching_dims.empty() ||
      attrs.collapsed_slice_dims != attrs.start_index_map)
    return Unknown(gather);
  const int64_t dim = attrs.start_index_map[0];
  for (int64_t d = 0; d < of.rank(); ++d) {
    if (d != dim && attrs.slice_sizes[static_cast<size_t>(d)] != of.dim(static_cast<int>(d)))
      return Unknown(gather);
  }
  std::vector<int64_t> batch;
  for (int64_t d = 0; d < gather.shape().rank(); ++d) {
    if (std::find(attrs.offset_dims.begin(), attrs.offset_dims.end(), d) == attrs.offset_dims.end())
      batch.push_back(d);
  }
  if (operand->kind == Kind::kScalarIndexed && Contains(operand->output_dims, dim))
    return FoldedGather(gather.shape(), *operand, indices, dim, batch);
  return Indexed(gather.shape(), operand, indices, dim, std::move(batch));
}

// ---- reshape ----

int64_t LargeDimensions(absl::Span<const int64_t> dims, int64_t begin, int64_t end) {
  return std::count_if(dims.begin() + begin, dims.begin() + end,
                       [](int64_t size) { return size != 1; });
}

// The reshaped array as one of a reshaped source; null when an indexed dimension is not kept.
Ptr ReshapedSource(const IndexedArray& array, Shape to) {
  std::vector<int64_t> output_dims;
  std::vector<int64_t> others;
  const auto groups = CommonFactors(array.shape.dims(), to.dims());
  for (size_t g = 0; g + 1 < groups.size(); ++g) {
    const auto [from, begin] = groups[g];
    const auto [from_end, end] = groups[g + 1];
    int64_t indexed = -1;
    for (int64_t d = from; d < from_end; ++d) {
      if (Contains(array.output_dims, d)) indexed = indexed < 0 ? d : -2;
    }
    const bool is_kept = LargeDimensions(array.shape.dims(), from, from_end) == 1 &&
                         LargeDimensions(to.dims(), begin, end) == 1;
    if (indexed == -2 ||
        (indexed >= 0 && (!is_kept || array.shape.dim(static_cast<int>(indexed)) == 1)))
      return nullptr;
    for (int64_t d = begin; d < end; ++d) {
      const int64_t size = to.dim(static_cast<int>(d));
      if (indexed >= 0 && size != 1) {
        output_dims.push_back(d);
      } else {
        others.push_back(size);
      }
    }
  }
  // The indexed dimension of the source stands where as many elements are before it as were.
  const Shape source = array.source->shape;
  const int64_t before = Product(source.dims().first(static_cast<size_t>(array.source_dim)));
  size_t place = 0;
  int64_t product = 1;
  while (product != before && place < others.size()) product *= others[place++];
  if (product != before) return nullptr;
  others.insert(others.begin() + static_cast<int64_t>(place),
                source.dim(static_cast<int>(array.source_dim)));
  Literal reshaped = array.source->literal.Reshaped(Shape::Array(source.element_type(), others));
  return Indexed(to, Constant(std::move(reshaped)), array.indices, static_cast<int64_t>(place),
                 std::move(output_dims));
}

Ptr OfReshape(const Instruction& reshape, const Ptr& operand) {
  const Shape shape = reshape.shape();
  if (SameDimensions(operand->shape, shape)) return operand;
  if (operand->IsConstant()) return Constant(operand->literal.Reshaped(shape));
  if (operand->IsScalarIndexedConstant() && !shape.IsZeroSized()) {
    if (Ptr result = ReshapedSource(*operand, shape)) return result;
  }
  if (operand->kind == Kind::kUnknown) return Unknown(reshape);
  return std::make_shared<IndexedArray>(
      IndexedArray{Kind::kReshaped, shape, nullptr, {}, operand, {}, 0, {}});
}

// ---- dot ----

// The place in the result of dimension `d` of operand `side`; -1: it is contracted or of the batch.
int64_t DotResultDimension(const Instruction& dot, int side, int64_t d) {
  const auto& attrs = dot.attrs<DotAttrs>();
  const auto kept_of = [&](int i, int64_t until) {
    const DimVec& batch = i == 0 ? attrs.lhs_batch_dims : attrs.rhs_batch_dims;
    const DimVec& contracted = i == 0 ? attrs.lhs_contracting_dims : attrs.rhs_contracting_dims;
    int64_t kept = 0;
    for (int64_t k = 0; k < until; ++k) {
      kept += std::find(batch.begin(), batch.end(), k) == batch.end() &&
                      std::find(contracted.begin(), contracted.end(), k) == contracted.end()
                  ? 1
                  : 0;
    }
    return kept;
  };
  if (kept_of(side, d + 1) == kept_of(side, d)) return -1;
  const auto batch = static_cast<int64_t>(attrs.lhs_batch_dims.size());
  const int64_t lhs = side == 0 ? 0 : kept_of(0, dot.operand(0)->shape().rank());
  return batch + lhs + kept_of(side, d);
}

Ptr OfDot(const Instruction& dot, const IndexedArray& lhs, const IndexedArray& rhs) {
  for (const int side : {0, 1}) {
    const IndexedArray& array = side == 0 ? lhs : rhs;
    const IndexedArray& other = side == 0 ? rhs : lhs;
    // One dimension is indexed, and stands in the source where it does in the array.
    if (!array.IsScalarIndexedConstant() || !other.IsConstant() ||
        array.output_dims != std::vector<int64_t>{array.source_dim})
      continue;
    const int64_t place = DotResultDimension(dot, side, array.source_dim);
    if (place < 0) continue;
    const Literal& source = array.source->literal;
    std::optional<Literal> product =
        Computed(dot, side == 0 ? std::vector<Literal>{source, other.literal}
                                : std::vector<Literal>{other.literal, source});
    if (product)
      return Indexed(dot.shape(), Constant(*std::move(product)), array.indices, place, {place});
  }
  return Unknown(dot);
}

}  // namespace

std::string IndexedArray::ToString() const {
  if (kind == Kind::kUnknown) return fmt::format("%{}", instruction->name());
  if (kind == Kind::kConstant) return fmt::format("(constant {})", shape);
  if (kind == Kind::kReshaped) return fmt::format("(reshape {} to {})", source->ToString(), shape);
  return fmt::format("(scalar-indexed{} {} {} {}->[{}])", source->IsConstant() ? "-const" : "",
                     source->ToString(), indices->ToString(), source_dim,
                     fmt::join(output_dims, ","));
}

IndexedArray::Ptr IndexedArrays::Of(const Instruction& instruction) {
  // Operands first, without recursion: chains may be long.
  std::vector<const Instruction*> pending = {&instruction};
  while (!pending.empty()) {
    const Instruction* top = pending.back();
    if (known_.contains(top)) {
      pending.pop_back();
      continue;
    }
    const size_t before = pending.size();
    for (const Instruction* operand : top->operands()) {
      if (!known_.contains(operand)) pending.push_back(operand);
    }
    if (pending.size() > before) continue;
    known_[top] = Make(*top);
    pending.pop_back();
  }
  return known_.at(&instruction);
}

IndexedArray::Ptr IndexedArrays::Make(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (!instruction.shape().IsArray() || instruction.shape().has_dynamic_dims())
    return Unknown(instruction);
  if (instruction.IsConstant())
    return instruction.literal().is_elided() ? Unknown(instruction)
                                             : Constant(instruction.literal());
  const auto operand = [&](int i) -> const Ptr& { return known_.at(instruction.operand(i)); };
  if (opcode == Opcode::kGather) return OfGather(instruction, operand(0), operand(1));
  if (opcode == Opcode::kReshape) return OfReshape(instruction, operand(0));
  if (opcode == Opcode::kDot && instruction.operand_count() == 2)
    return OfDot(instruction, *operand(0), *operand(1));
  if (!IsElementwise(opcode) || instruction.call_count() > 0) return Unknown(instruction);
  if (instruction.operand_count() == 1) return OfUnary(instruction, *operand(0));
  if (instruction.operand_count() == 2) return OfBinary(instruction, *operand(0), *operand(1));
  return Unknown(instruction);
}

std::string IndexedArrays::ToString(const Module& module) {
  std::string text;
  IndexedArrays arrays;
  for (const Computation* computation : module.NonFusionComputations()) {
    for (const Instruction* instruction : computation->PostOrder()) {
      const IndexedArray::Ptr array = arrays.Of(*instruction);
      if (array->kind != Kind::kUnknown && !array->IsConstant())
        text += fmt::format("%{}   ->   {}\n", instruction->name(), array->ToString());
    }
  }
  return text;
}

}  // namespace hlo
