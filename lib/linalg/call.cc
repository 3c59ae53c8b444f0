#include "lib/linalg/call.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "lib/linalg/lapack_library.h"
#include "lib/linalg/signature.h"
#include "lib/ops/attrs.h"
#include "lib/support/status.h"

namespace hlo::linalg {
namespace {

Routine ForType(const RoutinesByType& routines, ElementType type) {
  switch (type) {
    case ElementType::kF32: return routines.f32;
    case ElementType::kF64: return routines.f64;
    case ElementType::kC64: return routines.c64;
    case ElementType::kC128: return routines.c128;
    case ElementType::kS32: return routines.s32;
    case ElementType::kS64: return routines.s64;
    default: return nullptr;
  }
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

absl::StatusOr<LinalgCall> LinalgCall::Make(const Instruction& instruction) {
  ASSIGN_OR_RETURN(Signature signature, MatchSignature(instruction));
  const Target& target = *signature.target;
  LinalgCall call;
  call.batch_ = signature.batch;
  call.sizes_ = signature.sizes;
  call.attributes_ = std::move(signature.attributes);
  call.operand_bytes_ = BytesOfOne(signature.operands, signature.batch);
  call.result_bytes_ = BytesOfOne(signature.results, signature.batch);
  call.empty_ = call.sizes_['n'] == 0 || (target.results[0] == 'T' && call.sizes_['m'] == 0 &&
                                          target.operands.find('m') != std::string_view::npos);
  const int64_t largest = std::max(call.sizes_['m'], call.sizes_['n']);
  call.routine_ = ForType(target.own, signature.type);
  const bool small = call.routine_ != nullptr && largest <= target.own_up_to;
  if (target.routine.empty() || small) return call;
  call.lapack_ = LapackOf(signature);
  if (call.lapack_ != nullptr) call.routine_ = ForType(target.lapack, signature.type);
  if (call.routine_ != nullptr) return call;
  return Unsupported(instruction.loc(), "this machine cannot compute custom call `{}`, {}",
                     instruction.attrs<CustomCallAttrs>().custom_call_target, LapackAdvice());
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
