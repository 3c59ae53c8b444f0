#include "lib/linalg/call.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "lib/linalg/lapack_library.h"
#include "lib/linalg/signature.h"
#include "lib/ops/attrs.h"
#include "lib/support/status.h"

namespace hlo::linalg {
namespace {

// LAPACK counts the elements of its scratch memory, some times n * n, in 32 bits.
constexpr int64_t kLargest = 16000;

Routine ForType(const RoutinesByType& routines, ElementType type) {
  const std::pair<ElementType, Routine> known[] = {
      {ElementType::kF32, routines.f32}, {ElementType::kF64, routines.f64},
      {ElementType::kC64, routines.c64}, {ElementType::kC128, routines.c128},
      {ElementType::kS32, routines.s32}, {ElementType::kS64, routines.s64}};
  for (const auto& [of, routine] : known) {
    if (of == type) return routine;
  }
  return nullptr;
}

const void* LapackOf(const Signature& signature) {
  std::string name(signature.target->routine);
  if (name.empty()) return nullptr;
  for (const char letter : signature.target->types) {
    if (TypeOfLetter(letter) == signature.type) name[0] = letter;
  }
  return FindLapackRoutine(name);
}

std::vector<int64_t> BytesOfOne(const std::vector<Shape>& shapes, int64_t batch) {
  std::vector<int64_t> bytes;
  for (const Shape& shape : shapes) bytes.push_back(batch == 0 ? 0 : shape.byte_size() / batch);
  return bytes;
}

}  // namespace

bool IsLinalgTarget(std::string_view target) { return !FindTarget(target).empty(); }

LinalgCall::LinalgCall(Signature signature)
    : batch_(signature.batch),
      sizes_(signature.sizes),
      attributes_(std::move(signature.attributes)),
      operand_bytes_(BytesOfOne(signature.operands, signature.batch)),
      result_bytes_(BytesOfOne(signature.results, signature.batch)) {
  const Target& target = *signature.target;
  empty_ =
      sizes_['n'] == 0 || (sizes_['m'] == 0 && target.operands.find('m') != std::string_view::npos);
  routine_ = ForType(target.own, signature.type);
  const int64_t weight = IsComplex(signature.type) ? 2 : 1;
  const bool small = std::max(sizes_['m'], sizes_['n']) * weight <= target.own_up_to;
  is_best_ = target.routine.empty() || (routine_ != nullptr && small);
  if (is_best_) return;
  lapack_ = LapackOf(signature);
  is_best_ = lapack_ != nullptr;
  if (is_best_) routine_ = ForType(target.lapack, signature.type);
}

absl::StatusOr<LinalgCall> LinalgCall::Make(const Instruction& instruction) {
  ASSIGN_OR_RETURN(Signature signature, MatchSignature(instruction));
  const Target& target = *signature.target;
  const int64_t largest = std::max(signature.sizes['m'], signature.sizes['n']);
  if (target.own.f32 == nullptr && largest > kLargest)
    return Unsupported(instruction.loc(),
                       "custom call `{}` takes matrices of up to {} rows and columns, not {}",
                       instruction.attrs<CustomCallAttrs>().custom_call_target, kLargest, largest);
  LinalgCall call(std::move(signature));
  if (call.routine_ != nullptr) return call;
  return Unsupported(instruction.loc(), "this machine cannot compute custom call `{}`, {}",
                     instruction.attrs<CustomCallAttrs>().custom_call_target, LapackAdvice());
}

namespace {

// A row of the table with everything but attributes and sizes; no target for other element types.
Signature SignatureOf(const Instruction& instruction, std::string_view target) {
  Signature signature;
  signature.type = instruction.shape().element_type();
  const Target& row = FindTarget(target).front();
  const bool known = std::any_of(row.types.begin(), row.types.end(), [&](char letter) {
    return TypeOfLetter(letter) == signature.type;
  });
  if (known) signature.target = &row;
  signature.operands = instruction.operand_shapes();
  signature.results.push_back(instruction.shape());
  const Shape shape = instruction.shape();
  for (int d = 0; d + 2 < shape.rank(); ++d) signature.batch *= shape.dim(d);
  signature.sizes['m'] = shape.dim(shape.rank() - 2);
  signature.sizes['n'] = shape.dim(shape.rank() - 1);
  return signature;
}

}  // namespace

std::optional<LinalgCall> LinalgCall::ForCholesky(const Instruction& cholesky) {
  Signature signature = SignatureOf(cholesky, "lapack_spotrf_ffi");
  if (signature.target == nullptr) return std::nullopt;
  signature.attributes.Set("uplo", cholesky.attrs<CholeskyAttrs>().lower ? 'L' : 'U');
  const absl::Span<const int64_t> dims = cholesky.shape().dims();
  signature.results.push_back(Shape::Array(ElementType::kS32, dims.first(dims.size() - 2)));
  LinalgCall call(std::move(signature));
  return call.is_best_ ? std::optional(std::move(call)) : std::nullopt;
}

std::optional<LinalgCall> LinalgCall::ForTriangularSolve(const Instruction& solve) {
  Signature signature = SignatureOf(solve, "lapack_strsm_ffi");
  if (signature.target == nullptr) return std::nullopt;
  const TriangularSolveAttrs& attrs = solve.attrs<TriangularSolveAttrs>();
  signature.attributes.Set("side", attrs.left_side ? 'L' : 'R');
  signature.attributes.Set("uplo", attrs.lower ? 'L' : 'U');
  signature.attributes.Set("diag", attrs.unit_diagonal ? 'U' : 'N');
  signature.attributes.Set("trans_x", attrs.transpose_a == TransposeKind::kTranspose ? 'T'
                                      : attrs.transpose_a == TransposeKind::kAdjoint ? 'C'
                                                                                     : 'N');
  signature.sizes['t'] = signature.sizes[attrs.left_side ? 'm' : 'n'];
  LinalgCall call(std::move(signature));
  return call.is_best_ ? std::optional(std::move(call)) : std::nullopt;
}

int64_t LinalgCall::cost() const {
  const int64_t m = std::max(sizes_['m'], sizes_['n']), n = std::max<int64_t>(sizes_['n'], 1);
  return std::max<int64_t>(1, m * n * std::min(m, n));
}

void LinalgCall::Run(absl::Span<const void* const> operands, absl::Span<void* const> results,
                     int64_t first, int64_t last) const {
  const auto at = [](const auto* base, int64_t offset) {
    return static_cast<const std::byte*>(static_cast<const void*>(base)) + offset;
  };
  for (size_t i = 0; i < results.size(); ++i) {
    if (result_bytes_[i] > 0 && last > first) {
      std::memset(const_cast<std::byte*>(at(results[i], first * result_bytes_[i])), 0,
                  static_cast<size_t>((last - first) * result_bytes_[i]));
    }
  }
  if (empty_) return;
  Workspace work;
  Job job{sizes_, attributes_, lapack_, work};
  for (int64_t b = first; b < last; ++b) {
    for (size_t i = 0; i < operands.size(); ++i)
      job.operands[i] = at(operands[i], b * operand_bytes_[i]);
    for (size_t i = 0; i < results.size(); ++i)
      job.results[i] = const_cast<std::byte*>(at(results[i], b * result_bytes_[i]));
    routine_(job);
    work.Reset();
  }
}

}  // namespace hlo::linalg
