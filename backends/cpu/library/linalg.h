// backends/cpu/library/linalg.h
//
// Cholesky factors and triangular systems of batches of dense row-major matrices, as HLO defines
// them. Floats narrower than f32 are computed in f32.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "backends/cpu/library/host.h"
#include "lib/support/thread_pool.h"
#include "lib/types/element_type.h"

namespace hlo::cpu {

// a = L L^H (lower) or U^H U: reads one triangle, writes it, and zeros to the other. A matrix with
// a negative or NaN pivot becomes all NaN.
struct CholeskySpec {
  ElementType type = ElementType::kF32;
  int64_t batch = 1;
  int64_t n = 0;
  bool lower = true;
  int threads = 1;
};

enum class Transposition { kNone, kTranspose, kAdjoint };

// Solves op(a) x = b (left) or x op(a) = b for x, where `a` is triangular. b and x are [rows,
// columns].
struct TriangularSolveSpec {
  ElementType type = ElementType::kF32;
  int64_t batch = 1;
  int64_t rows = 0, columns = 0;
  bool left = true;
  bool lower = true;  // the triangle of `a` that is read, before op
  bool unit_diagonal = false;
  Transposition transposition = Transposition::kNone;
  int threads = 1;
};

// Kernels with one or two inputs.
class LinalgKernel {
 public:
  virtual ~LinalgKernel() = default;
  virtual int64_t scratch_bytes() const = 0;
  // `b` is null for Cholesky. The output may be one of the inputs.
  virtual void Run(const void* a, const void* b, void* output, void* scratch,
                   ThreadPool& pool) const = 0;
};

absl::StatusOr<std::unique_ptr<LinalgKernel>> MakeCholesky(const CholeskySpec& spec,
                                                           const Host& host);
absl::StatusOr<std::unique_ptr<LinalgKernel>> MakeTriangularSolve(const TriangularSolveSpec& spec,
                                                                  const Host& host);

}  // namespace hlo::cpu
