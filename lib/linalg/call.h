// lib/linalg/call.h
//
// A custom call of linear algebra, checked and ready to run:
//
//   ASSIGN_OR_RETURN(LinalgCall call, LinalgCall::Make(instruction));
//   call.Run(operands, results, 0, call.batch());
//
// Arrays are dense and row-major, whatever layouts the call asks for. Every matrix of a batch is
// computed by itself, in one thread, so ranges of a batch may run at the same time.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/ir/instruction.h"
#include "lib/linalg/job.h"

namespace hlo::linalg {

// Whether some routine here computes calls to `target` ("lapack_spotrf_ffi", "Qr", …).
bool IsLinalgTarget(std::string_view target);

struct Signature;

class LinalgCall final {
 public:
  // An error at the call where operands, results or attributes are not the target's, or where
  // there is no LAPACK to compute it.
  static absl::StatusOr<LinalgCall> Make(const Instruction& call);

  // What computes the opcodes cholesky and triangular-solve the fastest, with the operands and
  // results of potrf and trsm; nothing for types that LAPACK lacks, and for large matrices where
  // there is no LAPACK.
  static std::optional<LinalgCall> ForCholesky(const Instruction& cholesky);
  static std::optional<LinalgCall> ForTriangularSolve(const Instruction& solve);

  int64_t batch() const { return batch_; }
  // A rough count of operations for one matrix.
  int64_t cost() const;

  // Computes the matrices [first, last). Addresses are those of the whole arrays; the results must
  // not share memory with the operands.
  void Run(absl::Span<const void* const> operands, absl::Span<void* const> results, int64_t first,
           int64_t last) const;

 private:
  explicit LinalgCall(Signature signature);

  int64_t batch_ = 1;
  Sizes sizes_;
  Attributes attributes_;
  const void* lapack_ = nullptr;
  Routine routine_ = nullptr;
  bool empty_ = false;    // every matrix is
  bool is_best_ = false;  // nothing that this machine lacks would be faster
  std::vector<int64_t> operand_bytes_, result_bytes_;  // of one matrix
};

}  // namespace hlo::linalg
