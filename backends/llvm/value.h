// backends/llvm/value.h
//
// The primitives of lib/math (its README lists them) on LLVM values: LlvmValue<T> is a scalar or a
// vector of T in the code being emitted, T being float, double, an integer of 8 to 64 bits, or bool
// for a mask (i1). What lib/math and lib/eval/scalar_ops.h define as templates so becomes code,
// with the same roundings: no fast-math flag is ever set, and a fused multiply-add appears only
// where Fma is written.
//
// The primitives live in hlo::math and are declared before scalar_ops.h is read, because its
// qualified calls see only what was declared before. So include this header first. It includes LLVM
// headers: for .cc files and internal headers only.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include <span>
#include <string_view>

#include "lib/math/native.h"

namespace hlo::math {

// A value of element type T in the code that `b` emits. Copied freely; T fixes signedness.
template <class T>
struct LlvmValue {
  llvm::IRBuilderBase* b;
  llvm::Value* v;
};

template <class T>
struct ValueTraits<LlvmValue<T>> {
  using Scalar = T;
  template <class U>
  using Rebind = LlvmValue<U>;
};

template <class T>
concept LlvmFloat = NativeFloat<T>;
template <class T>
concept LlvmInt = NativeInt<T>;

}  // namespace hlo::math

namespace hlo::llvm_value {

// The LLVM type for elements T.
template <class T>
llvm::Type* ScalarType(llvm::LLVMContext& context) {
  if constexpr (std::is_same_v<T, bool>)
    return llvm::Type::getInt1Ty(context);
  else if constexpr (std::is_same_v<T, float>)
    return llvm::Type::getFloatTy(context);
  else if constexpr (std::is_same_v<T, double>)
    return llvm::Type::getDoubleTy(context);
  else
    return llvm::Type::getIntNTy(context, 8 * sizeof(T));
}
// `scalar` with as many lanes as `like`.
llvm::Type* Shaped(llvm::Type* scalar, llvm::Type* like);
template <class T>
llvm::Type* TypeLike(llvm::Value* like) {
  return Shaped(ScalarType<T>(like->getContext()), like->getType());
}

llvm::Value* Intrinsic(llvm::IRBuilderBase& b, llvm::Intrinsic::ID id,
                       llvm::ArrayRef<llvm::Value*> operands);
// Whether any lane of a mask is set (i1).
llvm::Value* AnyLane(llvm::IRBuilderBase& b, llvm::Value* mask);
// The elements `table[index]`, the table being a constant of the module.
llvm::Value* LookUp(llvm::IRBuilderBase& b, llvm::Type* element, const void* table, size_t bytes,
                    llvm::Value* index);
// Upper half of the product of two vectors of integers.
llvm::Value* MultiplyHigh(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y, bool is_signed);

llvm::Value* Divide(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y);
// x - trunc(x / y) * y, exactly. For processors, which would call a function for each lane, of f32
// by way of f64.
llvm::Value* Remainder(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y);

// Whether rare functions of values of this type are called (rare_code.h): code for one element is
// short, and would rather have all registers.
bool CallsRareCode(llvm::IRBuilderBase& b, llvm::Type* type);
llvm::Value* CallRareCode(llvm::IRBuilderBase& b, std::string_view name, llvm::Value* x);

// A branch around rare code: Open, emit, Close(rare value, common value).
class RareBranch final {
 public:
  RareBranch(llvm::IRBuilderBase& b, llvm::Value* mask);
  llvm::Value* Close(llvm::Value* mask, llvm::Value* rare, llvm::Value* common);

 private:
  llvm::IRBuilderBase& b_;
  llvm::BasicBlock* from_;
  llvm::BasicBlock* join_;
};

}  // namespace hlo::llvm_value

namespace hlo::math {

#define HLO_UNARY(Name, Concept, expression) \
  template <Concept T>                       \
  LlvmValue<T> Name(LlvmValue<T> x) {        \
    return {x.b, expression};                \
  }
#define HLO_BINARY(Name, Concept, expression)         \
  template <Concept T>                                \
  LlvmValue<T> Name(LlvmValue<T> x, LlvmValue<T> y) { \
    return {x.b, expression};                         \
  }

// ---- constants ----

template <LlvmFloat T>
LlvmValue<T> Const(LlvmValue<T> like, double value) {
  return {like.b, llvm::ConstantFP::get(like.v->getType(), llvm::APFloat(static_cast<T>(value)))};
}
template <LlvmFloat T>
IntOf<LlvmValue<T>> IntConst(LlvmValue<T> like, int64_t value) {
  using I = ScalarOf<IntOf<LlvmValue<T>>>;
  return {like.b,
          llvm::ConstantInt::getSigned(llvm_value::TypeLike<I>(like.v), static_cast<I>(value))};
}
template <LlvmInt T>
LlvmValue<T> IntConst(LlvmValue<T> like, int64_t value) {
  return {like.b, llvm::ConstantInt::get(
                      like.v->getType(),
                      llvm::APInt(8 * sizeof(T), static_cast<uint64_t>(value) &
                                                     (~uint64_t{0} >> (64 - 8 * sizeof(T)))))};
}

// ---- float arithmetic ----

HLO_BINARY(Add, LlvmFloat, x.b->CreateFAdd(x.v, y.v))
HLO_BINARY(Sub, LlvmFloat, x.b->CreateFSub(x.v, y.v))
HLO_BINARY(Mul, LlvmFloat, x.b->CreateFMul(x.v, y.v))
HLO_BINARY(Div, LlvmFloat, llvm_value::Divide(*x.b, x.v, y.v))
HLO_BINARY(Rem, LlvmFloat, llvm_value::Remainder(*x.b, x.v, y.v))
HLO_UNARY(Sqrt, LlvmFloat, llvm_value::Intrinsic(*x.b, llvm::Intrinsic::sqrt, {x.v}))
HLO_UNARY(Floor, LlvmFloat, llvm_value::Intrinsic(*x.b, llvm::Intrinsic::floor, {x.v}))
HLO_UNARY(Ceil, LlvmFloat, llvm_value::Intrinsic(*x.b, llvm::Intrinsic::ceil, {x.v}))
HLO_UNARY(Trunc, LlvmFloat, llvm_value::Intrinsic(*x.b, llvm::Intrinsic::trunc, {x.v}))
HLO_UNARY(RoundEven, LlvmFloat, llvm_value::Intrinsic(*x.b, llvm::Intrinsic::roundeven, {x.v}))

template <LlvmFloat T>
LlvmValue<T> Fma(LlvmValue<T> x, LlvmValue<T> y, LlvmValue<T> z) {
  return {x.b, llvm_value::Intrinsic(*x.b, llvm::Intrinsic::fma, {x.v, y.v, z.v})};
}

// ---- bits of floats ----

template <LlvmFloat T>
IntOf<LlvmValue<T>> Bits(LlvmValue<T> x) {
  return {x.b, x.b->CreateBitCast(x.v, llvm_value::TypeLike<ScalarOf<IntOf<LlvmValue<T>>>>(x.v))};
}
inline LlvmValue<float> FromBits(LlvmValue<int32_t> x) {
  return {x.b, x.b->CreateBitCast(x.v, llvm_value::TypeLike<float>(x.v))};
}
inline LlvmValue<double> FromBits(LlvmValue<int64_t> x) {
  return {x.b, x.b->CreateBitCast(x.v, llvm_value::TypeLike<double>(x.v))};
}
HLO_UNARY(Neg, LlvmFloat, x.b->CreateFNeg(x.v))
HLO_UNARY(Abs, LlvmFloat, llvm_value::Intrinsic(*x.b, llvm::Intrinsic::fabs, {x.v}))
HLO_BINARY(CopySign, LlvmFloat, llvm_value::Intrinsic(*x.b, llvm::Intrinsic::copysign, {x.v, y.v}))

// ---- integer arithmetic ----

HLO_BINARY(Add, LlvmInt, x.b->CreateAdd(x.v, y.v))
HLO_BINARY(Sub, LlvmInt, x.b->CreateSub(x.v, y.v))
HLO_BINARY(Mul, LlvmInt, x.b->CreateMul(x.v, y.v))
HLO_BINARY(Div, LlvmInt,
           std::is_signed_v<T> ? x.b->CreateSDiv(x.v, y.v) : x.b->CreateUDiv(x.v, y.v))
HLO_BINARY(Rem, LlvmInt,
           std::is_signed_v<T> ? x.b->CreateSRem(x.v, y.v) : x.b->CreateURem(x.v, y.v))
HLO_BINARY(MulHigh, LlvmInt, llvm_value::MultiplyHigh(*x.b, x.v, y.v, std::is_signed_v<T>))
HLO_BINARY(And, LlvmInt, x.b->CreateAnd(x.v, y.v))
HLO_BINARY(Or, LlvmInt, x.b->CreateOr(x.v, y.v))
HLO_BINARY(Xor, LlvmInt, x.b->CreateXor(x.v, y.v))
HLO_UNARY(Neg, LlvmInt, x.b->CreateNeg(x.v))
HLO_UNARY(Not, LlvmInt, x.b->CreateNot(x.v))
HLO_UNARY(Clz, LlvmInt,
          x.b->CreateIntrinsic(llvm::Intrinsic::ctlz, {x.v->getType()}, {x.v, x.b->getFalse()}))
HLO_UNARY(Popcount, LlvmInt, llvm_value::Intrinsic(*x.b, llvm::Intrinsic::ctpop, {x.v}))
HLO_BINARY(Shl, LlvmInt, x.b->CreateShl(x.v, y.v))
HLO_BINARY(Lshr, LlvmInt, x.b->CreateLShr(x.v, y.v))
HLO_BINARY(Ashr, LlvmInt, x.b->CreateAShr(x.v, y.v))
template <LlvmInt T>
LlvmValue<T> Shl(LlvmValue<T> x, int count) {
  return Shl(x, IntConst(x, count));
}
template <LlvmInt T>
LlvmValue<T> Lshr(LlvmValue<T> x, int count) {
  return Lshr(x, IntConst(x, count));
}
template <LlvmInt T>
LlvmValue<T> Ashr(LlvmValue<T> x, int count) {
  return Ashr(x, IntConst(x, count));
}

// ---- comparisons ----

template <NativeNumber T>
LlvmValue<bool> Equal(LlvmValue<T> x, LlvmValue<T> y) {
  if constexpr (LlvmFloat<T>)
    return {x.b, x.b->CreateFCmpOEQ(x.v, y.v)};
  else
    return {x.b, x.b->CreateICmpEQ(x.v, y.v)};
}
template <NativeNumber T>
LlvmValue<bool> NotEqual(LlvmValue<T> x, LlvmValue<T> y) {
  if constexpr (LlvmFloat<T>)
    return {x.b, x.b->CreateFCmpUNE(x.v, y.v)};
  else
    return {x.b, x.b->CreateICmpNE(x.v, y.v)};
}
template <NativeNumber T>
LlvmValue<bool> Less(LlvmValue<T> x, LlvmValue<T> y) {
  if constexpr (LlvmFloat<T>)
    return {x.b, x.b->CreateFCmpOLT(x.v, y.v)};
  else
    return {x.b, std::is_signed_v<T> ? x.b->CreateICmpSLT(x.v, y.v) : x.b->CreateICmpULT(x.v, y.v)};
}
template <NativeNumber T>
LlvmValue<bool> LessEq(LlvmValue<T> x, LlvmValue<T> y) {
  if constexpr (LlvmFloat<T>)
    return {x.b, x.b->CreateFCmpOLE(x.v, y.v)};
  else
    return {x.b, std::is_signed_v<T> ? x.b->CreateICmpSLE(x.v, y.v) : x.b->CreateICmpULE(x.v, y.v)};
}

// ---- masks and selection ----

HLO_BINARY(And, NativeMask, x.b->CreateAnd(x.v, y.v))
HLO_BINARY(Or, NativeMask, x.b->CreateOr(x.v, y.v))
HLO_BINARY(Xor, NativeMask, x.b->CreateXor(x.v, y.v))
HLO_UNARY(Not, NativeMask, x.b->CreateNot(x.v))
#undef HLO_UNARY
#undef HLO_BINARY

template <class T>
LlvmValue<T> Select(LlvmValue<bool> mask, LlvmValue<T> if_true, LlvmValue<T> if_false) {
  return {mask.b, mask.b->CreateSelect(mask.v, if_true.v, if_false.v)};
}
template <class T, class Rare>
LlvmValue<T> SelectRare(LlvmValue<bool> mask, Rare rare, LlvmValue<T> x, LlvmValue<T> common) {
  llvm_value::RareBranch branch(*mask.b, mask.v);
  llvm::Value* const value = llvm_value::CallsRareCode(*x.b, x.v->getType())
                                 ? llvm_value::CallRareCode(*x.b, Rare::kName, x.v)
                                 : rare(x).v;
  return {mask.b, branch.Close(mask.v, value, common.v)};
}

// ---- conversions and tables ----

template <class To, class From>
requires NativeNumber<To> &&
    (NativeNumber<From> || NativeMask<From>)LlvmValue<To> Cast(LlvmValue<From> x) {
  llvm::Type* const type = llvm_value::TypeLike<To>(x.v);
  llvm::IRBuilderBase& b = *x.b;
  if constexpr (std::is_same_v<From, bool>) {
    return {x.b, LlvmFloat<To> ? b.CreateUIToFP(x.v, type) : b.CreateZExt(x.v, type)};
  } else if constexpr (LlvmFloat<From> && LlvmFloat<To>) {
    return {x.b, b.CreateFPCast(x.v, type)};
  } else if constexpr (LlvmFloat<From>) {
    return {x.b, std::is_signed_v<To> ? b.CreateFPToSI(x.v, type) : b.CreateFPToUI(x.v, type)};
  } else if constexpr (LlvmFloat<To>) {
    return {x.b, std::is_signed_v<From> ? b.CreateSIToFP(x.v, type) : b.CreateUIToFP(x.v, type)};
  } else {
    return {x.b, b.CreateIntCast(x.v, type, std::is_signed_v<From>)};
  }
}

template <LlvmFloat T>
LlvmValue<T> Lookup(LlvmValue<T> like, std::span<const T> table, IntOf<LlvmValue<T>> index) {
  llvm::Type* const element = llvm_value::ScalarType<T>(like.v->getContext());
  return {like.b, llvm_value::LookUp(*like.b, element, table.data(), table.size_bytes(), index.v)};
}

}  // namespace hlo::math

#include "lib/eval/scalar_ops.h"  // IWYU pragma: export
#include "lib/math/convert.h"     // IWYU pragma: export
