#include "lib/eval/elementwise.h"

#include <cstring>

#include "lib/eval/kernel_templates.h"
#include "lib/math/convert.h"
#include "lib/support/diagnostic.h"
#include "lib/support/status.h"
#include "lib/types/element_access.h"

namespace hlo {
namespace {

constexpr int64_t kBlock = 256;

template <class T>
void LoadFloats(const uint8_t* from, int64_t count, uint8_t* to) {
  const T* x = reinterpret_cast<const T*>(from);
  float* z = reinterpret_cast<float*>(to);
  for (int64_t i = 0; i < count; ++i) z[i] = x[i].ToFloat();
}
template <class T>
void StoreFloats(const uint8_t* from, int64_t count, uint8_t* to) {
  const float* x = reinterpret_cast<const float*>(from);
  T* z = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) z[i] = T::FromFloat(x[i]);
}
template <class T>
void StoreDoubles(const uint8_t* from, int64_t count, uint8_t* to) {
  const double* x = reinterpret_cast<const double*>(from);
  T* z = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) z[i] = T::FromDouble(x[i]);
}
template <ElementType kType>
void LoadAsDoubles(const uint8_t* from, int64_t count, uint8_t* to) {
  ReadDoubles(kType, from, count, reinterpret_cast<double*>(to));
}

bool IsNarrowFloat(ElementType type) {
  return IsFloat(type) && type != ElementType::kF32 && type != ElementType::kF64;
}

// The bits of a byte under another sub-byte type: signed ones are extended.
void RebitKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int bits) {
  const uint8_t* x = in[0];
  const bool is_signed = bits < 0;
  const int width = is_signed ? -bits : bits;
  for (int64_t i = 0; i < count; ++i) {
    out[i] = is_signed ? static_cast<uint8_t>(math::WrapInt(static_cast<int8_t>(x[i]), width))
                       : math::WrapInt(x[i], width);
  }
}

template <int kBytes>
void CopyBytesKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  if (in[0] != out) std::memmove(out, in[0], static_cast<size_t>(count * kBytes));
}
ElementwiseKernel FindCopyKernel(int bytes) {
  if (bytes == 1) return CopyBytesKernel<1>;
  if (bytes == 2) return CopyBytesKernel<2>;
  if (bytes == 4) return CopyBytesKernel<4>;
  return bytes == 8 ? CopyBytesKernel<8> : CopyBytesKernel<16>;
}

// `bits` holds exponent bits times 256 plus mantissa bits.
template <class T>
void ReducePrecisionKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int bits) {
  const T* x = Input<T>(in, 0);
  T* z = Output<T>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = math::ReducePrecision(x[i], bits >> 8, bits & 255);
}
template <class T, class Int>
void ReduceNarrowPrecisionKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int bits) {
  const Int* x = Input<Int>(in, 0);
  Int* z = Output<Int>(out);
  const math::IeeeLayout from = {T::kExponentBits, T::kMantissaBits};
  for (int64_t i = 0; i < count; ++i)
    z[i] = math::ReducePrecisionBits(x[i], from, {bits >> 8, bits & 255});
}
// Formats with all the codes of IEEE are rounded in their own bits, the others as f32 (the second
// result false).
ElementwiseKernel FindNarrowReducePrecision(ElementType type) {
  if (type == ElementType::kF16) return ReduceNarrowPrecisionKernel<F16, int16_t>;
  if (type == ElementType::kBF16) return ReduceNarrowPrecisionKernel<BF16, int16_t>;
  if (type == ElementType::kF8E5M2) return ReduceNarrowPrecisionKernel<F8E5M2, int8_t>;
  if (type == ElementType::kF8E4M3) return ReduceNarrowPrecisionKernel<F8E4M3, int8_t>;
  if (type == ElementType::kF8E3M4) return ReduceNarrowPrecisionKernel<F8E3M4, int8_t>;
  return nullptr;
}

template <class Float, class Random, class Result>
void StochasticConvertKernel(const uint8_t* const* in, uint8_t* out, int64_t count, int) {
  const Float* x = Input<Float>(in, 0);
  const Random* random = Input<Random>(in, 1);
  Result* z = Output<Result>(out);
  for (int64_t i = 0; i < count; ++i) z[i] = math::StochasticConvert<Result>(x[i], random[i]);
}
template <class Float, class Random>
ElementwiseKernel FindStochasticConvert(ElementType to) {
  if (to == ElementType::kS8) return StochasticConvertKernel<Float, Random, int8_t>;
  if (to == ElementType::kS16) return StochasticConvertKernel<Float, Random, int16_t>;
  if (to == ElementType::kS32) return StochasticConvertKernel<Float, Random, int32_t>;
  if (to == ElementType::kS64) return StochasticConvertKernel<Float, Random, int64_t>;
  return nullptr;
}

}  // namespace

ElementType ComputeType(ElementType type) { return IsNarrowFloat(type) ? ElementType::kF32 : type; }

// clang-format off
Codec FindLoad(ElementType type, ElementType compute) {
  if (type == compute) return nullptr;
  switch (type) {
#define HLO_LOAD(Name) \
  case ElementType::k##Name:  \
    return compute == ElementType::kF64 ? LoadAsDoubles<ElementType::k##Name> : LoadFloats<Name>;
    HLO_LOAD(F4E2M1FN) HLO_LOAD(F6E2M3FN) HLO_LOAD(F6E3M2FN) HLO_LOAD(F8E3M4) HLO_LOAD(F8E4M3)
    HLO_LOAD(F8E4M3B11FNUZ)
    HLO_LOAD(F8E4M3FN) HLO_LOAD(F8E4M3FNUZ) HLO_LOAD(F8E5M2) HLO_LOAD(F8E5M2FNUZ)
    HLO_LOAD(F8E8M0FNU) HLO_LOAD(F16)
    HLO_LOAD(BF16)
#undef HLO_LOAD
#define HLO_LOAD(Name) \
  case ElementType::k##Name: return LoadAsDoubles<ElementType::k##Name>;
    HLO_LOAD(Pred) HLO_LOAD(S1) HLO_LOAD(S2) HLO_LOAD(S4) HLO_LOAD(S8) HLO_LOAD(S16) HLO_LOAD(S32)
    HLO_LOAD(S64)
    HLO_LOAD(U1) HLO_LOAD(U2) HLO_LOAD(U4) HLO_LOAD(U8) HLO_LOAD(U16) HLO_LOAD(U32) HLO_LOAD(U64)
    HLO_LOAD(F32)
#undef HLO_LOAD
    case ElementType::kF64:
    case ElementType::kC64:
    case ElementType::kC128:
    case ElementType::kTuple:
    case ElementType::kOpaque:
    case ElementType::kToken:
    case ElementType::kBuffer: break;
  }
  return nullptr;
}

Codec FindStore(ElementType compute, ElementType type) {
  if (type == compute) return nullptr;
  switch (type) {
#define HLO_STORE(Name) \
  case ElementType::k##Name: return compute == ElementType::kF64 ? StoreDoubles<Name> : StoreFloats<Name>;
    HLO_STORE(F4E2M1FN) HLO_STORE(F6E2M3FN) HLO_STORE(F6E3M2FN) HLO_STORE(F8E3M4) HLO_STORE(F8E4M3)
    HLO_STORE(F8E4M3B11FNUZ)
    HLO_STORE(F8E4M3FN) HLO_STORE(F8E4M3FNUZ) HLO_STORE(F8E5M2) HLO_STORE(F8E5M2FNUZ)
    HLO_STORE(F8E8M0FNU) HLO_STORE(F16)
    HLO_STORE(BF16)
#undef HLO_STORE
    case ElementType::kPred: case ElementType::kS1: case ElementType::kS2: case ElementType::kS4:
    case ElementType::kS8:
    case ElementType::kS16: case ElementType::kS32: case ElementType::kS64: case ElementType::kU1:
    case ElementType::kU2:
    case ElementType::kU4: case ElementType::kU8: case ElementType::kU16: case ElementType::kU32:
    case ElementType::kU64:
    case ElementType::kF32: case ElementType::kF64: case ElementType::kC64: case ElementType::kC128:
    case ElementType::kTuple: case ElementType::kOpaque: case ElementType::kToken:
    case ElementType::kBuffer: break;
  }
  return nullptr;
}
// clang-format on

bool ElementwiseOp::Takes(Opcode opcode) {
  return IsElementwise(opcode) || opcode == Opcode::kCopy || opcode == Opcode::kBitcastConvert ||
         opcode == Opcode::kStochasticConvert;
}

void ElementwiseOp::SetLoads(ElementType compute) {
  plain_ = store_ == nullptr;
  for (int i = 0; i < arity_; ++i) {
    loads_[i] = FindLoad(operands_[i], compute);
    plain_ = plain_ && loads_[i] == nullptr;
  }
}

ElementwiseOp ElementwiseOp::Convert(ElementType from, ElementType to) {
  ElementwiseOp op;
  op.arity_ = 1;
  op.operands_[0] = from;
  op.result_ = to;
  op.bits_ = BitWidth(to);
  if (from == to) {
    op.kernel_ = FindCopyKernel(ByteSize(to));
    return op;
  }
  const bool is_half = to == ElementType::kF16 || to == ElementType::kBF16;
  if (IsNarrowFloat(to) && (IsInteger(from) || (from == ElementType::kF64 && !is_half))) {
    // Through f64, with what an integer beyond 2^53 loses kept in the last bit: one rounding in
    // effect.
    op.store_ = FindStore(ElementType::kF64, to);
    op.kernel_ = FindCopyKernel(8);
    op.SetLoads(ElementType::kF64);
    return op;
  }
  const ElementType compute = ComputeType(to);
  op.store_ = FindStore(compute, to);
  op.kernel_ = FindConvertKernel(ComputeType(from), compute);
  op.SetLoads(ComputeType(from));
  return op;
}

absl::StatusOr<ElementwiseOp> ElementwiseOp::Make(Opcode opcode,
                                                  absl::Span<const ElementType> operands,
                                                  ElementType result) {
  if (opcode == Opcode::kConvert) return Convert(operands[0], result);
  ElementwiseOp op;
  op.arity_ = static_cast<int>(operands.size());
  RET_CHECK(op.arity_ >= 1 && op.arity_ <= kMaxArity, "`{}` with {} operands is not elementwise",
            Text(opcode), operands.size());
  std::copy(operands.begin(), operands.end(), op.operands_);
  op.result_ = result;
  op.bits_ = BitWidth(operands[0]);
  if (opcode == Opcode::kSelect) {
    op.kernel_ = FindSelectKernel(ByteSize(result));
    return op;
  }
  if (opcode == Opcode::kCopy) {
    if (operands[0] != result) return Convert(operands[0], result);
    op.kernel_ = FindCopyKernel(ByteSize(result));
    return op;
  }
  // Mixed precision computes in the wider of the types; is-finite and comparisons give pred.
  ElementType compute = ComputeType(operands[opcode == Opcode::kClamp ? 1 : 0]);
  for (ElementType type : operands) {
    if (type == ElementType::kF64) compute = type;
  }
  op.kernel_ = FindKernel(opcode, op.arity_, compute);
  if (op.kernel_ == nullptr) {
    return Unsupported(SourceLoc(), "`{}` is not defined on `{}`", Text(opcode), Text(operands[0]));
  }
  if (IsFloat(result) && IsFloat(compute)) op.store_ = FindStore(compute, result);
  if (IsFloat(result) && IsFloat(compute) && result == ElementType::kF32 &&
      compute == ElementType::kF64) {
    return Unsupported(SourceLoc(), "`{}` of f64 operands cannot give `f32`", Text(opcode));
  }
  op.SetLoads(compute);
  return op;
}

absl::StatusOr<ElementwiseOp> ElementwiseOp::Compare(ComparisonDirection direction,
                                                     ComparisonType order, ElementType type) {
  const ElementType compute = ComputeType(type);
  ElementwiseOp op;
  op.arity_ = 2;
  op.operands_[0] = op.operands_[1] = type;
  op.result_ = ElementType::kPred;
  op.kernel_ = FindCompareKernel(direction, order, compute);
  if (op.kernel_ == nullptr) {
    return Unsupported(SourceLoc(), "complex numbers have no order: `compare` with direction {}",
                       Text(direction));
  }
  op.SetLoads(compute);
  return op;
}

ElementwiseOp ElementwiseOp::ReducePrecision(ElementType type, int64_t exponent_bits,
                                             int64_t mantissa_bits) {
  ElementwiseOp op;
  op.arity_ = 1;
  op.operands_[0] = op.result_ = type;
  op.bits_ = static_cast<int>(std::min<int64_t>(exponent_bits, 255) * 256 +
                              std::min<int64_t>(mantissa_bits, 255));
  op.kernel_ = FindNarrowReducePrecision(type);
  if (op.kernel_ != nullptr) return op;
  const ElementType compute = ComputeType(type);
  op.kernel_ =
      compute == ElementType::kF64 ? ReducePrecisionKernel<double> : ReducePrecisionKernel<float>;
  op.store_ = FindStore(compute, type);
  op.SetLoads(compute);
  return op;
}

ElementwiseOp ElementwiseOp::BitcastConvert(ElementType from, ElementType to) {
  ElementwiseOp op;
  op.arity_ = 1;
  op.operands_[0] = from;
  op.result_ = to;
  op.bits_ = IsSigned(to) ? -BitWidth(to) : BitWidth(to);
  op.kernel_ = IsSubByte(to) ? RebitKernel
               : IsPred(to)  ? FindConvertKernel(ElementType::kU8, to)
                             : FindCopyKernel(ByteSize(to));
  return op;
}

absl::StatusOr<ElementwiseOp> ElementwiseOp::Make(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  const ElementType result = instruction.shape().element_type();
  absl::InlinedVector<ElementType, kMaxArity> types;
  for (const Instruction* operand : instruction.operands())
    types.push_back(operand->shape().element_type());
  ElementwiseOp op;
  op.arity_ = static_cast<int>(types.size());
  if (op.arity_ > kMaxArity)
    return Internal("`{}` has {} operands", instruction.name(), types.size());
  std::copy(types.begin(), types.end(), op.operands_);
  op.result_ = result;
  if (opcode == Opcode::kCompare) {
    const CompareAttrs& attrs = instruction.attrs<CompareAttrs>();
    absl::StatusOr<ElementwiseOp> compare =
        Compare(attrs.direction, attrs.type.value_or(ComparisonType::kFloat), types[0]);
    if (compare.ok()) return compare;
    return AddLocation(compare.status(), instruction.loc());
  }
  if (opcode == Opcode::kReducePrecision) {
    const ReducePrecisionAttrs& attrs = instruction.attrs<ReducePrecisionAttrs>();
    return ReducePrecision(types[0], attrs.exponent_bits, attrs.mantissa_bits);
  }
  if (opcode == Opcode::kBitcastConvert) return BitcastConvert(types[0], result);
  if (opcode == Opcode::kStochasticConvert) {
    const ElementType compute = ComputeType(types[0]);
    const int bytes = ByteSize(types[1]);
    op.kernel_ = compute == ElementType::kF64 ? FindStochasticConvert<double, uint64_t>(result)
                 : bytes == 4                 ? FindStochasticConvert<float, uint32_t>(result)
                 : bytes == 2                 ? FindStochasticConvert<float, uint16_t>(result)
                                              : FindStochasticConvert<float, uint8_t>(result);
    if (op.kernel_ == nullptr || !IsUnsigned(types[1]) || !IsFloat(types[0])) {
      return Unsupported(instruction.loc(),
                         "`stochastic-convert` from `{}` with `{}` to `{}` is not defined",
                         Text(types[0]), Text(types[1]), Text(result));
    }
    op.loads_[0] = FindLoad(types[0], compute);
    op.plain_ = op.loads_[0] == nullptr;
    return op;
  }
  absl::StatusOr<ElementwiseOp> made = Make(opcode, types, result);
  if (!made.ok() && made.status().code() == absl::StatusCode::kUnimplemented) {
    return Unsupported(instruction.loc(), "`{}` is not defined on `{}`", Text(opcode),
                       Text(types[0]));
  }
  return made;
}

void ElementwiseOp::Run(const uint8_t* const* in, uint8_t* out, int64_t count) const {
  if (plain_) return kernel_(in, out, count, bits_);
  RunBlocks(in, out, count);
}

void ElementwiseOp::RunBlocks(const uint8_t* const* in, uint8_t* out, int64_t count) const {
  alignas(16) uint8_t loaded[kMaxArity][kBlock * 8];
  alignas(16) uint8_t result[kBlock * 8];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    const uint8_t* inputs[kMaxArity];
    for (int i = 0; i < arity_; ++i) {
      inputs[i] = in[i] + begin * ByteSize(operands_[i]);
      if (loads_[i] == nullptr) continue;
      loads_[i](inputs[i], n, loaded[i]);
      inputs[i] = loaded[i];
    }
    uint8_t* to = out + begin * ByteSize(result_);
    if (store_ == nullptr) {
      kernel_(inputs, to, n, bits_);
    } else {
      kernel_(inputs, result, n, bits_);
      store_(result, n, to);
    }
  }
}

}  // namespace hlo
