// lib/eval/kernel.h
//
// Loops over runs of elements, one per elementwise opcode and compute type: what the interpreter
// spends its time in.
//
// A kernel works on the compute representation of an element type: the value as it lies in memory,
// except that floats narrower than f32 are widened to float. Sub-byte integers are computed in
// their byte; `bits` is the width of their type.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/ops/enums.h"
#include "lib/ops/ops.h"
#include "lib/types/element_type.h"

namespace hlo {

// out[i] = op(in[0][i], in[1][i], …) for i < count. `out` may be one of the inputs.
using ElementwiseKernel = void (*)(const uint8_t* const* in, uint8_t* out, int64_t count, int bits);

// The kernel of an opcode with `arity` operands of one compute type (kF32 stands for all narrow
// floats), null when the opcode is not defined on the type. Results have the type of the operands,
// but pred for is-finite, the component for abs, real and imag of complex, and the complex type for
// `complex`.
ElementwiseKernel FindKernel(Opcode opcode, int arity, ElementType compute_type);
ElementwiseKernel FindCompareKernel(ComparisonDirection direction, ComparisonType order,
                                    ElementType compute_type);
// select(pred, on_true, on_false) on elements of `bytes` bytes.
ElementwiseKernel FindSelectKernel(int bytes);
// Compute type to compute type; `bits` is the width of the result. Float to integer saturates,
// integer to integer wraps.
ElementwiseKernel FindConvertKernel(ElementType from, ElementType to);

// The families, each in a file of its own; null where the family does not have the opcode.
ElementwiseKernel FindF32Kernel(Opcode opcode, int arity);
ElementwiseKernel FindF64Kernel(Opcode opcode, int arity);
ElementwiseKernel FindSignedKernel(Opcode opcode, int arity, int bytes);
ElementwiseKernel FindUnsignedKernel(Opcode opcode, int arity, int bytes);
ElementwiseKernel FindPredKernel(Opcode opcode, int arity);
ElementwiseKernel FindC64Kernel(Opcode opcode, int arity);
ElementwiseKernel FindC128Kernel(Opcode opcode, int arity);

}  // namespace hlo
