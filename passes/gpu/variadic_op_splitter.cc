#include "passes/gpu/variadic_op_splitter.h"

#include <algorithm>

namespace hlo {
namespace {

constexpr size_t kMostTogether = 128;

}  // namespace

bool VariadicOpSplitter::Matches(const Instruction& instruction) const {
  return static_cast<size_t>(instruction.operand_count()) > kMostTogether;
}

absl::StatusOr<Instruction*> VariadicOpSplitter::Expand(Instruction* concatenate,
                                                        Rewriter& rewriter) {
  const auto dim = static_cast<int>(concatenate->attrs<ConcatenateAttrs>().dimensions.value);
  const auto joined = [&](absl::Span<Instruction* const> parts) {
    int64_t size = 0;
    for (const Instruction* part : parts) size += part->shape().dim(dim);
    return rewriter.OpWithShape(Opcode::kConcatenate, concatenate->shape().WithDim(dim, size),
                                parts, concatenate->attrs_ptr());
  };
  std::vector<Instruction*> parts = concatenate->operand_vector();
  while (parts.size() > 1) {
    std::vector<Instruction*> next;
    for (size_t at = 0; at < parts.size(); at += kMostTogether) {
      const size_t count = std::min(kMostTogether, parts.size() - at);
      if (at > 0 && count < kMostTogether) {
        next.insert(next.end(), parts.begin() + static_cast<std::ptrdiff_t>(at), parts.end());
      } else {
        next.push_back(joined(absl::MakeConstSpan(parts).subspan(at, count)));
      }
    }
    parts = std::move(next);
  }
  return parts[0];
}

HLO_DEFINE_PASS(VariadicOpSplitter)

}  // namespace hlo
