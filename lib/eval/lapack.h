// lib/eval/lapack.h
//
// The LAPACK and BLAS routines that JAX calls on the CPU as custom calls: potrf, trsm, getrf, geqrf,
// orgqr and ungqr, with batch dimensions, computed in f64 (c128) and rounded once.
#pragma once

#include <string_view>

#include "lib/eval/eval_internal.h"

namespace hlo {

// Whether EvalLapack computes `target` ("lapack_spotrf_ffi", "blas_ctrsm", …).
bool IsLapackTarget(std::string_view target);

// Results as JAX expects them, `info` included; the attributes (uplo, side, trans_x, diag) are read
// from the call's backend_config.
EvalResult EvalLapack(EvalContext& c);

}  // namespace hlo
