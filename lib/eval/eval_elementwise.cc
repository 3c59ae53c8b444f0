// Elementwise opcodes, map, constants, iota and the reinterpretation of bits.
#include <complex>
#include <cstring>

#include "lib/eval/elementwise.h"
#include "lib/eval/eval_internal.h"
#include "lib/eval/region.h"
#include "lib/eval/strided.h"
#include "lib/math/complex.h"
#include "lib/math/native.h"

namespace hlo {

Shape EvalContext::ResultShape(absl::Span<const int64_t> dims) const {
  const Shape declared = instruction.shape();
  if (declared.IsArray() && declared.dims() == dims && !declared.has_dynamic_dims())
    return declared;
  return Shape::Array(declared.element_type(), dims);
}

int64_t ScalarIndex(const Literal& literal, int64_t linear) {
  const int64_t value = literal.GetInt(linear);
  return literal.element_type() == ElementType::kU64 && value < 0 ? INT64_MAX : value;
}

Literal ConvertLiteral(const Literal& literal, ElementType type) {
  if (literal.element_type() == type) return literal;
  Literal result(literal.shape().WithElementType(type));
  const uint8_t* in = literal.data();
  ElementwiseOp::Convert(literal.element_type(), type)
      .Run(&in, result.mutable_data(), literal.element_count());
  return result;
}

Literal Resized(const Literal& literal, absl::Span<const int64_t> dims) {
  if (literal.shape().dims() == dims) return literal;
  Literal result(Shape::Array(literal.element_type(), dims));
  StridedCopy copy;
  for (size_t d = 0; d < dims.size(); ++d)
    copy.dims.push_back(std::min(dims[d], literal.shape().dim(static_cast<int>(d))));
  copy.from_strides = RowMajorStrides(literal.shape().dims());
  copy.to_strides = RowMajorStrides(dims);
  RunStridedCopy(copy, ByteSize(literal.element_type()), literal.data(), result.mutable_data());
  return result;
}

namespace {

// The common dimensions of the operands, scalars aside; where run-time sizes differ, the smaller
// one.
DimVec CommonDims(const std::vector<Literal>& operands) {
  DimVec dims;
  for (const Literal& operand : operands) {
    const auto own = operand.shape().dims();
    if (own.empty()) continue;
    if (dims.empty()) dims.assign(own.begin(), own.end());
    for (size_t d = 0; d < std::min(dims.size(), own.size()); ++d)
      dims[d] = std::min(dims[d], own[d]);
  }
  return dims;
}

// As CommonDims of two operands whose dimensions may be dynamic: where one has a single element it
// is repeated for those of the other.
DimVec BinaryDims(const EvalContext& c) {
  DimVec dims = CommonDims(c.operands);
  const Shape lhs = c.instruction.operand(0)->shape(), rhs = c.instruction.operand(1)->shape();
  if (lhs.rank() != rhs.rank()) return dims;
  for (int d = 0; d < lhs.rank(); ++d) {
    if (dims[static_cast<size_t>(d)] == 1 && lhs.is_dynamic(d) && rhs.is_dynamic(d))
      dims[static_cast<size_t>(d)] =
          std::max(c.operand(0).shape().dim(d), c.operand(1).shape().dim(d));
  }
  return dims;
}

// `literal`, which has one element in a dimension or all of `dims`.
Literal Repeated(const Literal& literal, absl::Span<const int64_t> dims) {
  Literal result(Shape::Array(literal.element_type(), dims));
  StridedCopy copy;
  copy.dims.assign(dims.begin(), dims.end());
  copy.from_strides = RowMajorStrides(literal.shape().dims());
  copy.to_strides = RowMajorStrides(dims);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (literal.shape().dim(static_cast<int>(d)) == 1) copy.from_strides[d] = 0;
  }
  RunStridedCopy(copy, ByteSize(literal.element_type()), literal.data(), result.mutable_data());
  return result;
}

// Operands with the dimensions of the result: scalars and single elements are repeated, larger
// run-time sizes cut.
void Align(std::vector<Literal>& operands, absl::Span<const int64_t> dims) {
  for (Literal& operand : operands) {
    if (operand.shape().dims() == dims) continue;
    if (operand.shape().rank() == static_cast<int>(dims.size())) {
      DimVec cut = Dims(operand);
      for (size_t d = 0; d < cut.size(); ++d) cut[d] = std::min(cut[d], dims[d]);
      operand = Resized(operand, cut);
      if (absl::MakeConstSpan(cut) != dims) operand = Repeated(operand, dims);
      continue;
    }
    Literal repeated(Shape::Array(operand.element_type(), dims));
    FillElements(operand.data(), ByteSize(operand.element_type()), repeated.mutable_data(),
                 repeated.element_count());
    operand = std::move(repeated);
  }
}

// The order of `maximum` and `minimum`. No kernel: nobody clamps many complex numbers.
Literal ClampedComplex(const EvalContext& c, absl::Span<const int64_t> dims) {
  const auto at = [](const Literal& literal, int64_t i) {
    const std::complex<double> value = literal.GetComplex(i);
    return math::Complex<double>{value.real(), value.imag()};
  };
  Literal result(c.ResultShape(dims));
  for (int64_t i = 0; i < result.element_count(); ++i) {
    const auto value =
        math::Min(math::Max(at(c.operand(1), i), at(c.operand(0), i)), at(c.operand(2), i));
    result.SetComplex(i, {value.re, value.im});
  }
  return result;
}

}  // namespace

EvalResult EvalElementwise(EvalContext& c) {
  if (c.opcode() == Opcode::kClamp && IsComplex(c.instruction.shape().element_type())) {
    const DimVec dims = Dims(c.operand(1));
    Align(c.operands, dims);
    return ClampedComplex(c, dims);
  }
  if (c.opcode() == Opcode::kCopy &&
      c.instruction.shape().element_type() == c.instruction.operand(0)->shape().element_type()) {
    return EvalIdentity(c);
  }
  ASSIGN_OR_RETURN(const ElementwiseOp op, ElementwiseOp::Make(c.instruction));
  // select with a scalar predicate picks an operand.
  if (c.opcode() == Opcode::kSelect && c.operand(0).shape().IsScalar() &&
      !c.operand(1).shape().IsScalar()) {
    return c.Take(c.operand(0).GetInt() != 0 ? 1 : 2);
  }
  const bool is_dynamic_binary = c.operand_count() == 2 &&
                                 c.instruction.operand(0)->shape().has_dynamic_dims() &&
                                 c.instruction.operand(1)->shape().has_dynamic_dims();
  const DimVec dims = is_dynamic_binary ? BinaryDims(c) : CommonDims(c.operands);
  Align(c.operands, dims);
  Literal result(c.ResultShape(dims));
  const uint8_t* in[ElementwiseOp::kMaxArity];
  for (int i = 0; i < op.arity(); ++i) in[i] = c.operand(i).data();
  op.Run(in, result.mutable_data(), result.element_count());
  return result;
}

EvalResult EvalMap(EvalContext& c) {
  const Computation& region = *c.instruction.to_apply();
  const DimVec dims = CommonDims(c.operands);
  Align(c.operands, dims);
  Literal result(c.ResultShape(dims));
  const int64_t count = result.element_count();
  ASSIGN_OR_RETURN(const RegionProgram* program, c.evaluator.Region(region));
  if (program == nullptr) {
    for (int64_t i = 0; i < count; ++i) {
      std::vector<Literal> arguments;
      for (const Literal& operand : c.operands) arguments.push_back(operand.ElementAt(i));
      ASSIGN_OR_RETURN(const Literal value, c.evaluator.Evaluate(region, std::move(arguments)));
      const int bytes = ByteSize(result.element_type());
      std::memcpy(result.mutable_data() + i * bytes, value.data(), static_cast<size_t>(bytes));
    }
    return result;
  }
  std::vector<const uint8_t*> in(c.operands.size());
  for (int64_t begin = 0; begin < count; begin += RegionProgram::kLanes) {
    for (size_t i = 0; i < in.size(); ++i) in[i] = ElementPtr(c.operands[i], begin);
    uint8_t* out = result.mutable_data() + begin * ByteSize(result.element_type());
    program->Run(in.data(), &out, std::min(RegionProgram::kLanes, count - begin));
  }
  return result;
}

// Some part of it.
static bool IsElided(const Literal& literal) {
  if (!literal.shape().IsTuple() || literal.is_elided()) return literal.is_elided();
  for (int i = 0; i < literal.shape().element_count_of_tuple(); ++i) {
    if (IsElided(literal.element(i))) return true;
  }
  return false;
}

EvalResult EvalConstant(EvalContext& c) {
  const Literal& literal = c.instruction.literal();
  if (IsElided(literal)) {
    return Error(c.loc(), "constant `{}` has no values in this text ({{...}})",
                 c.instruction.name());
  }
  return literal;
}

EvalResult EvalIota(EvalContext& c) {
  const Shape shape = c.instruction.shape();
  const int64_t dimension = c.attrs<IotaAttrs>().iota_dimension;
  if (shape.rank() == 0)
    return Error(c.loc(), "`iota` of a scalar has no dimension to count along");
  const int64_t size = shape.dim(static_cast<int>(dimension));
  Literal numbers(Shape::Array(ElementType::kS64, {size}));
  const auto values = numbers.mutable_values<int64_t>();
  for (int64_t i = 0; i < size; ++i) values[static_cast<size_t>(i)] = i;
  const Literal row = ConvertLiteral(numbers, shape.element_type());
  Literal result(shape.WithoutDynamic());
  StridedCopy copy;
  copy.dims.assign(shape.dims().begin(), shape.dims().end());
  copy.to_strides = RowMajorStrides(shape.dims());
  copy.from_strides.assign(copy.dims.size(), 0);
  copy.from_strides[static_cast<size_t>(dimension)] = 1;
  RunStridedCopy(copy, ByteSize(shape.element_type()), row.data(), result.mutable_data());
  return result;
}

namespace {

// The elements in the order in which they lie in memory under the layout of `shape`, or back into
// logical order.
std::vector<uint8_t> ToPhysical(const Literal& literal, Shape shape) {
  std::vector<uint8_t> bytes(static_cast<size_t>(literal.byte_size()));
  StridedCopy copy;
  copy.dims = Dims(literal);
  copy.from_strides = RowMajorStrides(literal.shape().dims());
  copy.to_strides = LayoutStrides(shape);
  RunStridedCopy(copy, ByteSize(literal.element_type()), literal.data(), bytes.data());
  return bytes;
}
Literal FromPhysical(const std::vector<uint8_t>& bytes, Shape shape) {
  Literal result(shape);
  StridedCopy copy;
  copy.dims = Dims(result);
  copy.from_strides = LayoutStrides(shape);
  copy.to_strides = RowMajorStrides(shape.dims());
  RunStridedCopy(copy, ByteSize(shape.element_type()), bytes.data(), result.mutable_data());
  return result;
}

// Several small elements from one big one, or the other way; `ratio` small ones make a big one, the
// first of them its lowest bits. Sub-byte elements lie one to a byte.
void SplitBits(const uint8_t* from, int from_bits, uint8_t* to, int to_bits, bool to_signed,
               int64_t count) {
  const int ratio = from_bits / to_bits;
  const int from_bytes = (from_bits + 7) / 8, to_bytes = (to_bits + 7) / 8;
  for (int64_t i = 0; i < count; ++i) {
    for (int k = 0; k < ratio; ++k) {
      uint8_t* out = to + (i * ratio + k) * to_bytes;
      if (to_bits >= 8) {
        std::memcpy(out, from + i * from_bytes + k * to_bytes, static_cast<size_t>(to_bytes));
        continue;
      }
      const int bit = k * to_bits;
      const unsigned low = (from[i * from_bytes + bit / 8] >> (bit % 8)) & ((1u << to_bits) - 1);
      const bool negative = to_signed && (low >> (to_bits - 1)) != 0;
      *out = static_cast<uint8_t>(negative ? low | (0xffu << to_bits) : low);
    }
  }
}
void JoinBits(const uint8_t* from, int from_bits, uint8_t* to, int to_bits, bool to_signed,
              int64_t count) {
  const int ratio = to_bits / from_bits;
  const int from_bytes = (from_bits + 7) / 8, to_bytes = (to_bits + 7) / 8;
  for (int64_t i = 0; i < count; ++i) {
    uint8_t* out = to + i * to_bytes;
    std::memset(out, 0, static_cast<size_t>(to_bytes));
    for (int k = 0; k < ratio; ++k) {
      const uint8_t* in = from + (i * ratio + k) * from_bytes;
      if (from_bits >= 8) {
        std::memcpy(out + k * from_bytes, in, static_cast<size_t>(from_bytes));
        continue;
      }
      const int bit = k * from_bits;
      out[bit / 8] =
          static_cast<uint8_t>(out[bit / 8] | ((*in & ((1u << from_bits) - 1)) << (bit % 8)));
    }
    if (to_bits < 8 && to_signed && (*out >> (to_bits - 1)) != 0)
      *out = static_cast<uint8_t>(*out | (0xffu << to_bits));
  }
}

// pred counts as 8 bits here.
int StorageBits(ElementType type) { return IsPred(type) ? 8 : BitWidth(type); }

}  // namespace

EvalResult EvalBitcast(EvalContext& c) {
  const Shape from = c.instruction.operand(0)->shape().WithMissingLayoutsFilled();
  const Shape to = c.instruction.shape().WithMissingLayoutsFilled();
  if (!from.IsArray() || !to.IsArray()) return EvalIdentity(c);
  if (from.byte_size() != to.byte_size()) {
    return Error(c.loc(), "bitcast from `{}` to `{}` changes the number of bytes", from, to);
  }
  if (c.operand(0).shape().dims() != from.dims())
    return Unsupported(c.loc(), "bitcast of a dynamic shape");
  return FromPhysical(ToPhysical(c.operand(0), from), to);
}

EvalResult EvalBitcastConvert(EvalContext& c) {
  const Literal& operand = c.operand(0);
  const ElementType from = operand.element_type(), to = c.instruction.shape().element_type();
  const int from_bits = StorageBits(from), to_bits = StorageBits(to);
  DimVec dims = Dims(operand);
  if (from_bits > to_bits) dims.push_back(from_bits / to_bits);
  if (from_bits < to_bits) dims.pop_back();
  Literal result(c.ResultShape(dims));
  uint8_t* out = result.mutable_data();
  if (from_bits > to_bits) {
    SplitBits(operand.data(), from_bits, out, to_bits, IsSigned(to), operand.element_count());
  } else if (from_bits < to_bits) {
    JoinBits(operand.data(), from_bits, out, to_bits, IsSigned(to), result.element_count());
  } else {
    ASSIGN_OR_RETURN(const ElementwiseOp op, ElementwiseOp::Make(c.instruction));
    const uint8_t* in = operand.data();
    op.Run(&in, out, result.element_count());
  }
  return result;
}

}  // namespace hlo
