// The calls of NVIDIA's libraries that XLA makes, in one table: what a call takes and yields, what
// it may write over, and what it means in plain HLO.
//
//   c = (f32[4,8], s8[4194304]) custom-call(a, b), custom_call_target="__cublas$lt$matmul", …
//       means   (dot(a, b), any bytes)
//
// A call without an entry is none of these libraries'.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/eval/library_targets.h"
#include "passes/rewrite.h"

namespace hlo {

struct GemmConfig;

// A row of lib/eval/library_targets.def.
struct LibraryCall {
  std::string_view target;
  int least_operands;
  int most_operands;
  int values;       // results that mean something; after them comes what the library works in
  int constants;    // last operands that must be constants, which no library reads
  int overwritten;  // the operand that value 0 may be written over; -1: none
  // The values in plain HLO. What does not fit is an error of `rewriter` or located.
  absl::StatusOr<std::vector<Instruction*>> (*meaning)(const Instruction& call, Rewriter& rewriter);
};

std::span<const LibraryCall> AllLibraryCalls();
// Of an instruction; null for what is no custom call, or of another target.
const LibraryCall* FindLibraryCall(const Instruction& instruction);
// Why a call cannot be written as HLO, as what follows its name in a message; null for all others.
const char* WhyNoMeaning(const Instruction& instruction);
// The error of a call without a meaning, which says why; its code is kUnimplemented.
absl::Status RefuseCall(const Instruction& call);

// As many operands as the table says, and nothing overwritten that is not.
absl::Status CheckLibraryCall(const LibraryCall& entry, const Instruction& call);

// The shape of a value of a call, which alone needs no tuple.
Shape ValueShape(const Instruction& call, int value = 0);

// An operation of the shape `declared`, or where its dimensions are others of the one it has: then
// PlainHloOf says so.
Instruction* DeclaredOp(Opcode opcode, Shape declared, absl::Span<Instruction* const> operands,
                        AttrsPtr attrs, Rewriter& b);

// What takes the place of a call, of its shape.
absl::StatusOr<Instruction*> PlainHloOf(const LibraryCall& entry, const Instruction& call,
                                        Rewriter& rewriter);

// ReplaceKeepingExtras of an instruction that a call stands for; operands that nobody reads any
// more are removed.
void ReplaceWithOperands(Instruction* old, Instruction* with, uint32_t first_new);

// A copy of the module whose library calls are plain HLO, for those who run it; null where
// there are none outside of fusions.
absl::StatusOr<std::unique_ptr<Module>> WithoutLibraryCalls(const Module& module);

// Meanings of more than a few lines (library_attention.cc, library_convolutions.cc,
// library_gemms.cc, library_norms.cc).
absl::StatusOr<std::vector<Instruction*>> MeaningOfAttention(const Instruction& call, Rewriter& b);
absl::StatusOr<std::vector<Instruction*>> MeaningOfAttentionGrad(const Instruction& call,
                                                                 Rewriter& b);
// Whether a product has the operands that its config asks for.
absl::Status CheckGemmOperands(const Instruction& call, const GemmConfig& gemm);
absl::StatusOr<std::vector<Instruction*>> MeaningOfGemm(const Instruction& call, Rewriter& b);
absl::StatusOr<std::vector<Instruction*>> MeaningOfNorm(const Instruction& call, Rewriter& b);
absl::StatusOr<std::vector<Instruction*>> MeaningOfForward(const Instruction& call, Rewriter& b);
absl::StatusOr<std::vector<Instruction*>> MeaningOfForwardGraph(const Instruction& call,
                                                                Rewriter& b);
absl::StatusOr<std::vector<Instruction*>> MeaningOfBackwardInput(const Instruction& call,
                                                                 Rewriter& b);
absl::StatusOr<std::vector<Instruction*>> MeaningOfBackwardFilter(const Instruction& call,
                                                                  Rewriter& b);

// Whether elements of the input lie apart, as in the gradient of a strided convolution.
inline bool IsBaseDilated(const WindowDim& dim) { return dim.base_dilation != 1; }

}  // namespace hlo
