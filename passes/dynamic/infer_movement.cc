// Sizes of what computes or moves elements one by one, and the table of all rules.
#include <algorithm>

#include "lib/analysis/leaves.h"
#include "passes/dynamic/size_inference.h"

namespace hlo {

// Every dimension is that of an operand.
static absl::Status InferSame(SizeInference& in, Instruction* instruction) {
  for (const OperandSize& known : in.OperandSizes(*instruction))
    in.Set(instruction, known.leaf, known.dim, known.size);
  return absl::OkStatus();
}

// The result of each operand is an element of a tuple, if there are several.
static absl::Status InferSideBySide(SizeInference& in, Instruction* instruction) {
  const bool is_tuple = instruction->shape().IsTuple();
  for (const OperandSize& known : in.OperandSizes(*instruction))
    in.Set(instruction, is_tuple ? known.operand : 0, known.dim, known.size);
  return absl::OkStatus();
}

// The size of a dimension of two operands: where one of them has 1 element it is repeated, else
// only what both have counts.
static Instruction* CommonSize(Builder& b, Instruction* known, Instruction* size) {
  Instruction* one = SizeConstant(b, 1);
  const auto is_repeated = [&](Instruction* x, Instruction* other) {
    Instruction* is_less = b.Compare(x, other, ComparisonDirection::kLt);
    return b.And(b.Compare(x, one, ComparisonDirection::kEq), is_less);
  };
  Instruction* size_repeats = is_repeated(size, known);
  Instruction* repeats = b.Or(size_repeats, is_repeated(known, size));
  Instruction* larger = b.Maximum(size, known);
  return b.Select(repeats, larger, b.Minimum(size, known));
}

static absl::Status InferElementwise(SizeInference& in, Instruction* instruction) {
  Builder builder = BuilderFor(*instruction);
  for (const OperandSize& operand : in.OperandSizes(*instruction)) {
    Instruction* known = in.Size(instruction, 0, operand.dim);
    Instruction* size = operand.size;
    if (known != nullptr && known != size) {
      RETURN_IF_ERROR(in.CheckEqual(known, size, *instruction));
      size = CommonSize(builder, known, size);
    }
    in.Set(instruction, 0, operand.dim, size);
  }
  return builder.status();
}

absl::Status InferTuple(SizeInference& in, Instruction* tuple) {
  for (const OperandSize& known : in.OperandSizes(*tuple))
    in.Set(tuple, FirstLeaf(tuple->shape(), known.operand) + known.leaf, known.dim, known.size);
  return absl::OkStatus();
}

absl::Status InferTupleElement(SizeInference& in, Instruction* element) {
  const int64_t first = FirstLeaf(element->operand(0)->shape(), element->tuple_index());
  const int64_t count = LeafCount(element->shape());
  for (const OperandSize& known : in.OperandSizes(*element)) {
    if (known.leaf >= first && known.leaf < first + count)
      in.Set(element, known.leaf - first, known.dim, known.size);
  }
  return absl::OkStatus();
}

static absl::Status InferBroadcast(SizeInference& in, Instruction* broadcast) {
  const DimVec& dimensions = broadcast->attrs<BroadcastAttrs>().dimensions;
  for (const OperandSize& known : in.OperandSizes(*broadcast))
    in.Set(broadcast, 0, dimensions[static_cast<size_t>(known.dim)], known.size);
  return absl::OkStatus();
}

static absl::Status InferTranspose(SizeInference& in, Instruction* transpose) {
  const DimVec to = InversePermutation(transpose->attrs<TransposeAttrs>().dimensions);
  for (const OperandSize& known : in.OperandSizes(*transpose))
    in.Set(transpose, 0, to[static_cast<size_t>(known.dim)], known.size);
  return absl::OkStatus();
}

static absl::Status InferConcatenate(SizeInference& in, Instruction* concatenate) {
  const int64_t along = concatenate->attrs<ConcatenateAttrs>().dimensions.value;
  int64_t fixed = 0;
  std::vector<Instruction*> sizes;
  for (const Instruction* operand : concatenate->operands()) {
    if (Instruction* size = in.Size(operand, 0, along)) {
      sizes.push_back(size);
    } else {
      fixed += operand->shape().dim(static_cast<int>(along));
    }
  }
  Builder builder = BuilderFor(*concatenate);
  if (!sizes.empty()) {
    Instruction* total = SizeConstant(builder, fixed);
    for (Instruction* size : sizes) total = builder.Add(total, size);
    in.Set(concatenate, 0, along, total);
  }
  for (const OperandSize& known : in.OperandSizes(*concatenate)) {
    if (known.dim != along) in.Set(concatenate, 0, known.dim, known.size);
  }
  return builder.status();
}

// low + size + high, and `interior` between any two elements.
static absl::Status InferPad(SizeInference& in, Instruction* pad) {
  Builder b = BuilderFor(*pad);
  for (const OperandSize& known : in.OperandSizes(*pad)) {
    const PaddingDim& padding = pad->attrs<PadAttrs>().padding[static_cast<int>(known.dim)];
    Instruction* size = known.size;
    if (padding.interior != 0) {
      Instruction* gaps = b.Subtract(size, SizeConstant(b, 1));
      gaps = b.Maximum(gaps, SizeConstant(b, 0));
      size = b.Add(b.Multiply(gaps, SizeConstant(b, padding.interior)), size);
    }
    in.Set(pad, 0, known.dim, b.Add(size, SizeConstant(b, padding.low + padding.high)));
  }
  return b.status();
}

// The elements that are there and not cut off. A slice of one element has it, or what stands there.
static absl::Status InferSlice(SizeInference& in, Instruction* slice) {
  Builder b = BuilderFor(*slice);
  for (const OperandSize& known : in.OperandSizes(*slice)) {
    const int dim = static_cast<int>(known.dim);
    const SliceRange& range = slice->attrs<SliceAttrs>().slice[static_cast<size_t>(dim)];
    if (slice->shape().dim(dim) == 1 && !slice->shape().is_dynamic(dim)) continue;
    Instruction* size = known.size;
    if (range.limit < slice->operand(0)->shape().dim(dim))
      size = b.Minimum(size, SizeConstant(b, range.limit));
    if (range.start != 0) {
      size = b.Subtract(size, SizeConstant(b, range.start));
      size = b.Maximum(size, SizeConstant(b, 0));
    }
    if (range.stride != 1) {
      size = b.Add(size, SizeConstant(b, range.stride - 1));
      size = b.Divide(size, SizeConstant(b, range.stride));
    }
    in.Set(slice, 0, dim, size);
  }
  return b.status();
}

// A dimension that is declared static and gets its bound for a size.
static bool SetsWhole(const Instruction& set, int64_t dim) {
  const Instruction& size = *set.operand(1);
  const int d = static_cast<int>(dim);
  return !set.shape().is_dynamic(d) && size.IsConstant() && !size.literal().is_elided() &&
         size.literal().GetInt() == set.shape().dim(d);
}

// The result keeps its dynamic shape for those who look at shapes only, until the padder is done.
static absl::Status InferSetDimensionSize(SizeInference& in, Instruction* set) {
  const int64_t dim = set->attrs<DimensionAttrs>().dimensions.value;
  if (!SetsWhole(*set, dim)) in.Note(set, 0, dim, set->operand(1));
  for (const DynamicSize& known : in.SizesOf(set->operand(0))) {
    if (known.dim != dim) in.Note(set, 0, known.dim, known.size);
  }
  return absl::OkStatus();
}

static absl::Status InferDynamicReshape(SizeInference& in, Instruction* reshape) {
  for (int dim = 0; dim < reshape->shape().rank(); ++dim) {
    if (!reshape->shape().is_dynamic(dim)) continue;
    if (!reshape->operand(dim + 1)->shape().IsScalar())
      return Error(reshape->loc(), "`{}` is a size and has to be a scalar",
                   reshape->operand(dim + 1)->name());
    in.Set(reshape, 0, dim, reshape->operand(dim + 1));
  }
  return absl::OkStatus();
}

namespace {

struct OpcodeRule {
  Opcode opcode;
  SizeRule infer;
};
constexpr OpcodeRule kSizeRules[] = {
    {Opcode::kAllReduce, InferSideBySide},
    {Opcode::kBroadcast, InferBroadcast},
    {Opcode::kCall, InferCall},
    {Opcode::kClamp, InferSame},
    {Opcode::kConcatenate, InferConcatenate},
    {Opcode::kConditional, InferConditional},
    {Opcode::kConvolution, InferConvolution},
    {Opcode::kDomain, InferSame},
    {Opcode::kDot, InferDot},
    {Opcode::kDynamicReshape, InferDynamicReshape},
    {Opcode::kDynamicSlice, InferDynamicSlice},
    {Opcode::kDynamicUpdateSlice, InferDynamicUpdateSlice},
    {Opcode::kGather, InferGather},
    {Opcode::kGetTupleElement, InferTupleElement},
    {Opcode::kMap, InferElementwise},
    {Opcode::kOptimizationBarrier, InferSame},
    {Opcode::kPad, InferPad},
    {Opcode::kReduce, InferReduce},
    {Opcode::kReduceWindow, InferReduceWindow},
    {Opcode::kReshape, InferReshape},
    {Opcode::kReverse, InferSame},
    {Opcode::kScatter, InferScatter},
    {Opcode::kSelectAndScatter, InferSelectAndScatter},
    {Opcode::kSetDimensionSize, InferSetDimensionSize},
    {Opcode::kSlice, InferSlice},
    {Opcode::kSort, InferSideBySide},
    {Opcode::kTranspose, InferTranspose},
    {Opcode::kTuple, InferTuple},
    {Opcode::kWhile, InferWhile},
};

}  // namespace

SizeRule SizeRuleFor(const Instruction& instruction) {
  for (const OpcodeRule& rule : kSizeRules) {
    if (rule.opcode == instruction.opcode()) return rule.infer;
  }
  if (!IsElementwise(instruction.opcode())) return nullptr;
  return instruction.operand_count() == 1 ? InferSame : InferElementwise;
}

}  // namespace hlo
