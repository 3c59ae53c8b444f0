// See element.h: the only place that knows which template of lib/eval/scalar_ops.h an opcode and
// its element types lead to.
#include "backends/llvm/element.h"

#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

#include "backends/llvm/value.h"

namespace hlo {
namespace {

// ---- dispatch from an element type to a C++ type ----

template <class Fn>
Emitted WithIntType(ElementType type, Fn fn) {
  switch (BitWidth(type) <= 8 ? 8 : BitWidth(type)) {
    case 8: return IsSigned(type) ? fn(int8_t{}) : fn(uint8_t{});
    case 16: return IsSigned(type) ? fn(int16_t{}) : fn(uint16_t{});
    case 32: return IsSigned(type) ? fn(int32_t{}) : fn(uint32_t{});
    case 64: return IsSigned(type) ? fn(int64_t{}) : fn(uint64_t{});
  }
  HLO_UNREACHABLE();
}

// Calls fn(S{}) with the SmallFloat type of a narrow float.
template <class Fn>
std::invoke_result_t<Fn, BF16> WithNarrowType(ElementType type, Fn fn) {
  return WithNativeType(type, [&]<class S>() -> std::invoke_result_t<Fn, BF16> {
    if constexpr (requires { S::kFlavor; }) return fn(S{});
    HLO_UNREACHABLE();
  });
}

class ElementEmitter {
 public:
  ElementEmitter(llvm::IRBuilderBase& b, NarrowConversions has) : b_(b), has_(has) {}

  Emitted Apply(const ElementOp& element, absl::Span<const ElementType> types,
                absl::Span<const Emitted> x) {
    const Opcode op = element.opcode;
    const ElementType result = element.result;
    if (op == Opcode::kCopy) return x[0];
    if (op == Opcode::kSelect) return SelectBits(x[0], x[1], x[2]);
    if (op == Opcode::kConvert) return Convert(types[0], result, x[0]);
    if (op == Opcode::kBitcastConvert) {
      return types[0] == result ? x[0] : Reinterpret(x[0], result);  // the same type: also complex
    }
    if (op == Opcode::kCompare) return Compare(element.attrs, types[0], x[0], x[1]);
    if (op == Opcode::kIsFinite) return IsFinite(types[0], x[0]);
    if (op == Opcode::kClamp) return Clamp(result, x[0], x[1], x[2]);
    if (op == Opcode::kReducePrecision) return ReducePrecision(element.attrs, result, x[0]);
    if (op == Opcode::kComplex) return MakeComplex(types[0], x[0], x[1]);
    if (op == Opcode::kReal) return IsComplex(types[0]) ? Part(types[0], x[0], false) : x[0];
    if (op == Opcode::kImag) return Imag(types[0], result, x[0]);
    if (IsPred(types[0])) return Pred(op, x);
    if (IsInteger(types[0])) return Int(op, types[0], x);
    if (IsComplex(types[0])) return EmitComplex(b_, op, types[0], x);
    return Float(op, result, x);
  }

  // A float of at most 32 bits as f32.
  math::LlvmValue<float> Widen(ElementType type, const Emitted& x) {
    if (type == ElementType::kF32) return Get<float>(x);
    return WithNarrowType(type, [&](auto s) { return Decode<decltype(s)>(x); });
  }
  // f32 rounded to a float of at most 32 bits.
  template <class V>
  Emitted Narrow(ElementType type, V x) {
    if (type == ElementType::kF32) return Put(x);
    return WithNarrowType(type, [&](auto s) { return Encode<decltype(s)>(x); });
  }

 private:
  Emitted Pred(Opcode op, absl::Span<const Emitted> x) {
    const auto a = Get<bool>(x[0]);
    if (x.size() == 1) return op == Opcode::kNot ? Put(math::Not(a)) : x[0];
    return Put(scalar::PredBinary(op, a, Get<bool>(x[1])));
  }

  Emitted Int(Opcode op, ElementType type, absl::Span<const Emitted> x) {
    const int bits = BitWidth(type);
    return WithIntType(type, [&]<class T>(T) {
      const auto a = Get<T>(x[0]);
      if (x.size() == 1) return Put(scalar::IntUnary(op, a, bits));
      return Put(scalar::IntBinary(op, a, Get<T>(x[1]), bits));
    });
  }

  Emitted Float(Opcode op, ElementType type, absl::Span<const Emitted> x) {
    if (type == ElementType::kF64) {
      const auto a = Get<double>(x[0]);
      if (x.size() == 1) return Put(FloatUnary(op, a));
      return Put(scalar::FloatBinary(op, a, Get<double>(x[1])));
    }
    const bool chooses = op == Opcode::kMaximum || op == Opcode::kMinimum;
    if (chooses && type == ElementType::kF8E8M0FNU) return LimitOfScales(op, x[0], x[1]);
    const auto a = Widen(type, x[0]);
    if (x.size() == 1) return Narrow(type, FloatUnary(op, a));
    if (chooses) return Narrow(type, Limit(op, a, Widen(type, x[1])));
    return Narrow(type, scalar::FloatBinary(op, a, Widen(type, x[1])));
  }

  // What math::Max or math::Min gives (of NaN another one), by the one instruction that GPUs have
  // for it.
  math::LlvmValue<float> Limit(Opcode op, math::LlvmValue<float> x, math::LlvmValue<float> y) {
    if (!IsForGpu()) return scalar::FloatBinary(op, x, y);
    const llvm::Intrinsic::ID id =
        op == Opcode::kMaximum ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum;
    return {&b_, b_.CreateBinaryIntrinsic(id, x.v, y.v)};
  }

  bool IsForGpu() const {
    return llvm::Triple(b_.GetInsertBlock()->getModule()->getTargetTriple()).isNVPTX();
  }

  // Scales are ordered as their bits are, with NaN above all. As f32 the smallest is denormal, and
  // a processor that flushes those would choose a zero, which no scale can be.
  Emitted LimitOfScales(Opcode op, const Emitted& a, const Emitted& b) {
    llvm::Value* const above = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, a.value, b.value);
    if (op == Opcode::kMaximum) return {above, nullptr};
    llvm::Value* const below = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a.value, b.value);
    llvm::Value* const nan = llvm::ConstantInt::get(above->getType(), 255);
    return {b_.CreateSelect(b_.CreateICmpEQ(above, nan), nan, below), nullptr};
  }

  template <class T>
  math::LlvmValue<T> FloatUnary(Opcode op, math::LlvmValue<T> x) {
    const bool is_angle = op == Opcode::kSin || op == Opcode::kCos;
    if (is_angle && ForeseesBranchOf(x.v)) return SinOrCosOfOne(op, x);
    return scalar::FloatUnary(op, x);
  }

  // Lanes, and the threads of a GPU, wait for the one among them that takes the longest way.
  bool ForeseesBranchOf(llvm::Value* x) const { return !x->getType()->isVectorTy() && !IsForGpu(); }

  // One angle, as in a loop whose steps wait for each other. Below pi/4 the reduction to
  // quarter turns gives the angle itself: where the processor foresees the branch around it,
  // that time is saved.
  template <class T>
  math::LlvmValue<T> SinOrCosOfOne(Opcode op, math::LlvmValue<T> x) {
    constexpr double kSmall = 0.75;
    const auto magnitude = math::Abs(x);
    const auto is_small = math::LessEq(magnitude, math::Const(x, kSmall));
    llvm::Function* const function = b_.GetInsertBlock()->getParent();
    const auto block = [&](const char* name) {
      return llvm::BasicBlock::Create(b_.getContext(), name, function);
    };
    llvm::BasicBlock *const small = block("small"), *const any = block("any"),
                            *const join = block("join");
    b_.CreateCondBr(is_small.v, small, any);
    b_.SetInsertPoint(small);
    const auto square = math::Mul(magnitude, magnitude);
    llvm::Value* const of_small = op == Opcode::kCos
                                      ? math::CosPolynomial(square).v
                                      : math::XorSign(math::SinPolynomial(magnitude, square), x).v;
    b_.CreateBr(join);
    b_.SetInsertPoint(any);
    llvm::Value* const of_any = scalar::FloatUnary(op, x).v;
    llvm::BasicBlock* const any_end = b_.GetInsertBlock();
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
    llvm::PHINode* const result = b_.CreatePHI(x.v->getType(), 2);
    result->addIncoming(of_small, small);
    result->addIncoming(of_any, any_end);
    return {&b_, result};
  }

  Emitted IsFinite(ElementType type, const Emitted& x) {
    if (type == ElementType::kF64) return Put(math::IsFinite(Get<double>(x)));
    return Put(math::IsFinite(Widen(type, x)));
  }

  Emitted Compare(const ElementAttrs& attrs, ElementType type, const Emitted& x, const Emitted& y) {
    if (IsPred(type)) {
      return Put(scalar::ComparePred(attrs.direction, Get<bool>(x), Get<bool>(y)));
    }
    if (IsInteger(type)) {
      return WithIntType(type, [&]<class T>(T) {
        return Put(scalar::Compare(attrs.direction, Get<T>(x), Get<T>(y)));
      });
    }
    if (type == ElementType::kF64) {
      return Put(
          scalar::CompareFloat(attrs.direction, attrs.comparison, Get<double>(x), Get<double>(y)));
    }
    if (IsComplex(type)) return CompareComplex(attrs.direction, type, x, y);
    const bool is_half = type == ElementType::kF16 || type == ElementType::kBF16;
    if (is_half && attrs.comparison == ComparisonType::kTotalOrder)
      return Put(scalar::Compare(attrs.direction, TotalOrderOfHalf(x), TotalOrderOfHalf(y)));
    return Put(
        scalar::CompareFloat(attrs.direction, attrs.comparison, Widen(type, x), Widen(type, y)));
  }

  // By its code: a processor that widens a signaling NaN gives another one.
  math::LlvmValue<int16_t> TotalOrderOfHalf(const Emitted& x) {
    llvm::Value* const sign = b_.CreateAShr(x.value, 15);
    return {&b_, b_.CreateXor(x.value, b_.CreateLShr(sign, 1))};
  }

  Emitted Clamp(ElementType type, const Emitted& low, const Emitted& x, const Emitted& high) {
    if (IsPred(type)) {
      return Put(scalar::ClampPred(Get<bool>(low), Get<bool>(x), Get<bool>(high)));
    }
    if (IsInteger(type)) {
      return WithIntType(type, [&]<class T>(T) {
        return Put(scalar::ClampInt(Get<T>(low), Get<T>(x), Get<T>(high)));
      });
    }
    if (type == ElementType::kF64) {
      return Put(math::Clamp(Get<double>(low), Get<double>(x), Get<double>(high)));
    }
    if (type == ElementType::kF8E8M0FNU)
      return LimitOfScales(Opcode::kMinimum, LimitOfScales(Opcode::kMaximum, low, x), high);
    const auto at_least = Limit(Opcode::kMaximum, Widen(type, x), Widen(type, low));
    return Narrow(type, Limit(Opcode::kMinimum, Widen(type, high), at_least));
  }

  Emitted ReducePrecision(const ElementAttrs& attrs, ElementType type, const Emitted& x) {
    if (type == ElementType::kF64) {
      return Put(math::ReducePrecision(Get<double>(x), attrs.exponent_bits, attrs.mantissa_bits));
    }
    if (type == ElementType::kF32)
      return Put(math::ReducePrecision(Get<float>(x), attrs.exponent_bits, attrs.mantissa_bits));
    // Formats with all the codes of IEEE are rounded in their own bits, the others as f32.
    return WithNarrowType(type, [&]<class S>(S) -> Emitted {
      if constexpr (S::kFlavor == FloatFlavor::kIeee) {
        using Int = std::conditional_t<S::kBits == 16, int16_t, int8_t>;
        const math::IeeeLayout own = {S::kExponentBits, S::kMantissaBits};
        return Put(math::ReducePrecisionBits(Get<Int>(x), own,
                                             {attrs.exponent_bits, attrs.mantissa_bits}));
      } else {
        return Encode<S>(
            math::ReducePrecision(Decode<S>(x), attrs.exponent_bits, attrs.mantissa_bits));
      }
    });
  }

  // ---- conversions ----

  Emitted Convert(ElementType from, ElementType to, const Emitted& x) {
    if (from == to) return x;
    if (IsComplex(from)) return FromComplex(from, to, x);
    if (IsComplex(to)) return ToComplex(from, to, x);
    if (IsPred(from)) return FromMask(to, Get<bool>(x));
    if (IsInteger(from)) {
      return WithIntType(from, [&]<class T>(T) { return FromInt(to, Get<T>(x)); });
    }
    if (from == ElementType::kF64) return FromDouble(to, Get<double>(x));
    return FromFloat(to, Widen(from, x));
  }

  template <class M>
  Emitted FromMask(ElementType to, M mask) {
    if (IsInteger(to)) {
      // The only value but 0 is -1 for the one-bit signed integer.
      return WithIntType(
          to, [&]<class T>(T) { return Put(math::WrapInt(math::Cast<T>(mask), BitWidth(to))); });
    }
    if (to == ElementType::kF64) return Put(math::Cast<double>(mask));
    return Narrow(to, math::Cast<float>(mask));
  }

  template <class V>
  Emitted FromInt(ElementType to, V x) {
    if (IsPred(to)) return Put(math::IntToPred(x));
    if (IsInteger(to)) {
      return WithIntType(to, [&]<class T>(T) { return Put(math::IntToInt<T>(x, BitWidth(to))); });
    }
    if (to == ElementType::kF64) return Put(math::Cast<double>(x));
    if (to == ElementType::kF32) return Put(math::Cast<float>(x));
    return Narrow(to, math::IntToOddFloat(x));
  }

  template <class V>
  Emitted FromFloat(ElementType to, V x) {
    if (IsPred(to)) return Put(math::FloatToPred(x));
    if (IsInteger(to)) {
      return WithIntType(to, [&]<class T>(T) { return Put(math::FloatToInt<T>(x, BitWidth(to))); });
    }
    if (to == ElementType::kF64) return Put(math::Cast<double>(x));
    return Narrow(to, x);
  }

  template <class V>
  Emitted FromDouble(ElementType to, V x) {
    if (IsPred(to)) return Put(math::FloatToPred(x));
    if (IsInteger(to)) {
      return WithIntType(to, [&]<class T>(T) { return Put(math::FloatToInt<T>(x, BitWidth(to))); });
    }
    if (to == ElementType::kF32 || BitWidth(to) == 16) return Narrow(to, math::Cast<float>(x));
    return Narrow(to, math::DoubleToOddFloat(x));
  }

  // ---- complex ----

  Emitted MakeComplex(ElementType part, const Emitted& re, const Emitted& im) {
    if (part == ElementType::kF64) return PutComplex(Get<double>(re), Get<double>(im));
    return PutComplex(Get<float>(re), Get<float>(im));
  }
  Emitted Part(ElementType type, const Emitted& x, bool imaginary) {
    if (type == ElementType::kC128) {
      return Put(imaginary ? GetImag<double>(x) : GetReal<double>(x));
    }
    return Put(imaginary ? GetImag<float>(x) : GetReal<float>(x));
  }
  Emitted Imag(ElementType type, ElementType result, const Emitted& x) {
    if (IsComplex(type)) return Part(type, x, true);
    if (type == ElementType::kF64) return Put(math::Const(Get<double>(x), 0));
    const auto wide = Widen(type, x);
    return Narrow(result, math::Const(wide, 0));
  }
  Emitted ToComplex(ElementType from, ElementType to, const Emitted& x) {
    const ElementType part = ComponentType(to);
    if (part == ElementType::kF64) {
      const auto re = Get<double>(Convert(from, part, x));
      return PutComplex(re, math::Const(re, 0));
    }
    const auto re = Get<float>(Convert(from, part, x));
    return PutComplex(re, math::Const(re, 0));
  }
  Emitted FromComplex(ElementType from, ElementType to, const Emitted& x) {
    const Emitted re = Part(from, x, false);
    const ElementType part = ComponentType(from);
    if (IsPred(to)) {
      const Emitted a = Convert(part, to, re);
      const Emitted b = Convert(part, to, Part(from, x, true));
      return Put(math::Or(Get<bool>(a), Get<bool>(b)));
    }
    if (!IsComplex(to)) return Convert(part, to, re);
    const Emitted im = Part(from, x, true);
    return MakeComplex(ComponentType(to), Convert(part, ComponentType(to), re),
                       Convert(part, ComponentType(to), im));
  }

  Emitted CompareComplex(ComparisonDirection direction, ElementType type, const Emitted& x,
                         const Emitted& y) {
    const auto compare = [&]<class T>(T) {
      using Number = math::Complex<math::LlvmValue<T>>;
      return Put(scalar::CompareComplex(direction, Number{GetReal<T>(x), GetImag<T>(x)},
                                        Number{GetReal<T>(y), GetImag<T>(y)}));
    };
    return type == ElementType::kC128 ? compare(double{}) : compare(float{});
  }

  // ---- values ----

  template <class T>
  math::LlvmValue<T> Get(const Emitted& x) {
    return {&b_, x.value};
  }
  template <class T>
  math::LlvmValue<T> GetReal(const Emitted& x) {
    return {&b_, x.value};
  }
  template <class T>
  math::LlvmValue<T> GetImag(const Emitted& x) {
    return {&b_, x.imaginary};
  }
  template <class T>
  static Emitted Put(math::LlvmValue<T> x) {
    return {x.v, nullptr};
  }
  template <class T>
  static Emitted PutComplex(math::LlvmValue<T> re, math::LlvmValue<T> im) {
    return {re.v, im.v};
  }

  // The f32 of a narrow float's code, and back.
  template <class S>
  math::LlvmValue<float> Decode(const Emitted& x) {
    if (std::is_same_v<S, F16> && has_.f16) {
      llvm::Value* const half =
          b_.CreateBitCast(x.value, llvm_value::Shaped(b_.getHalfTy(), x.value->getType()));
      return {&b_, b_.CreateFPExt(half, llvm_value::TypeLike<float>(x.value))};
    }
    llvm::Type* const wide = llvm_value::TypeLike<int32_t>(x.value);
    return math::DecodeFloat<S>(math::LlvmValue<int32_t>{&b_, b_.CreateZExt(x.value, wide)});
  }
  template <class S>
  Emitted Encode(math::LlvmValue<float> x) {
    const bool is_half = std::is_same_v<S, F16> && has_.f16;
    if (is_half || (std::is_same_v<S, BF16> && has_.bf16)) {
      llvm::Type* const narrow = is_half ? b_.getHalfTy() : b_.getBFloatTy();
      llvm::Value* const rounded =
          b_.CreateFPTrunc(x.v, llvm_value::Shaped(narrow, x.v->getType()));
      return {b_.CreateBitCast(rounded, llvm_value::TypeLike<uint16_t>(x.v)), nullptr};
    }
    const math::LlvmValue<int32_t> code = math::EncodeFloat<S>(x);
    llvm::Type* const narrow =
        llvm_value::Shaped(b_.getIntNTy(S::kBits <= 8 ? 8 : 16), x.v->getType());
    return {b_.CreateTrunc(code.v, narrow), nullptr};
  }

  Emitted SelectBits(const Emitted& pred, const Emitted& on_true, const Emitted& on_false) {
    Emitted result = {b_.CreateSelect(pred.value, on_true.value, on_false.value), nullptr};
    if (on_true.imaginary != nullptr) {
      result.imaginary = b_.CreateSelect(pred.value, on_true.imaginary, on_false.imaginary);
    }
    return result;
  }

  // The bits of x as a type of the same width.
  Emitted Reinterpret(const Emitted& x, ElementType result) {
    return {b_.CreateBitCast(x.value, llvm_value::Shaped(RegisterType(b_.getContext(), result),
                                                         x.value->getType())),
            nullptr};
  }

  llvm::IRBuilderBase& b_;
  NarrowConversions has_;
};

}  // namespace

llvm::Type* RegisterType(llvm::LLVMContext& context, ElementType type) {
  if (IsPred(type)) return llvm::Type::getInt1Ty(context);
  const ElementType part = ComponentType(type);
  if (part == ElementType::kF32) return llvm::Type::getFloatTy(context);
  if (part == ElementType::kF64) return llvm::Type::getDoubleTy(context);
  return llvm::Type::getIntNTy(context, 8 * ByteSize(type));
}

llvm::Type* MemoryType(llvm::LLVMContext& context, ElementType type) {
  return IsPred(type) ? llvm::Type::getInt8Ty(context) : RegisterType(context, type);
}

Emitted AddPhi(llvm::IRBuilderBase& b, const Emitted& like) {
  const auto part = [&b](const llvm::Value* of) -> llvm::Value* {
    return of == nullptr ? nullptr : b.CreatePHI(of->getType(), 2);
  };
  return {part(like.value), part(like.imaginary)};
}

void AddIncoming(const Emitted& phi, const Emitted& value, llvm::BasicBlock* from) {
  llvm::cast<llvm::PHINode>(phi.value)->addIncoming(value.value, from);
  if (phi.imaginary != nullptr)
    llvm::cast<llvm::PHINode>(phi.imaginary)->addIncoming(value.imaginary, from);
}

Emitted EmitElement(llvm::IRBuilderBase& b, NarrowConversions has, const ElementOp& op,
                    absl::Span<const ElementType> types, absl::Span<const Emitted> operands) {
  return ElementEmitter(b, has).Apply(op, types, operands);
}

}  // namespace hlo
