#!/usr/bin/env python3
"""Writes testdata/ops/<opcode>.hlo: for each opcode a module with arguments and the result they must give.

    PYTHON scripts/make_op_tests.py [--oracle=DIR/oracle.py] [OPCODE...]

PYTHON has numpy; the oracle is a program that runs HLO on XLA (`batch LIST`, a line of the list is MODULE INPUTS OUTPUTS). Where XLA cannot run an
opcode, the table below states the result, and no oracle is needed. `hlo-run --check-file FILE` runs a file and compares:

    // ARG: f32[2] {1, 2}              one line for each parameter
    // EXPECT: f32[2] {2, 4}           the result; a tuple is written (f32[], s32[2]) (1, {2, 3})
    // TOLERANCE: 0 1e-6               absolute and relative; without this line the bits must be equal, NaNs aside
    // EXPECT-ERROR: text              the run must fail with a message that contains the text
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "testdata" / "ops"

NUMPY = {"pred": np.bool_, "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64, "u8": np.uint8,
         "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f32": np.float32, "f64": np.float64, "c64": np.complex64}
INF, NAN = float("inf"), float("nan")


def a(kind, values):
    """An argument: element type and nested lists."""
    return kind, np.array(values, dtype=NUMPY[kind])


def scalar_text(kind, value):
    if kind == "pred":
        return "true" if value else "false"
    if kind.startswith("c"):
        return f"({scalar_text('f32', value.real)}, {scalar_text('f32', value.imag)})"
    if kind.startswith("f"):
        if np.isnan(value):
            return "nan"
        if np.isinf(value):
            return "inf" if value > 0 else "-inf"
        text = repr(NUMPY[kind](value).item()) if kind == "f64" else str(np.float32(value))
        return text[:-2] if text.endswith(".0") else text
    return str(int(value))


def array_text(kind, values):
    if values.ndim == 0:
        return scalar_text(kind, values[()])
    if values.ndim == 1 and kind == "pred":
        return "{" + ", ".join("1" if v else "0" for v in values) + "}"
    return "{" + ", ".join(array_text(kind, v) for v in values) + "}"


def literal_text(leaf):
    kind, values = leaf
    # In HLO text `-0` is the integer 0; negative zero is `-0.0`.
    text = re.sub(r"(?<![\w.])-0(?![\w.])", "-0.0", array_text(kind, values))
    return f"{kind}[{','.join(map(str, values.shape))}] {text}"


# ---- the table ----

CASES = {}


def case(opcode, about, text, *arguments, tolerance=None, expect=None, error=None, header=""):
    """`text`: instructions of the entry computation, or whole computations when it holds ENTRY. `expect`: the result, where XLA
    cannot give it."""
    assert opcode not in CASES, opcode
    lines = [line.strip() for line in text.strip().split("\n")]
    if "ENTRY" not in text:
        lines = ["ENTRY main {"] + ["  " + line for line in lines] + ["}"]
    else:
        lines = ["  " + l if l and not l.endswith("{") and l != "}" else l for l in lines]
    name = opcode.replace("-", "_")
    CASES[opcode] = dict(about=about, hlo=f"HloModule {name}{header}\n\n" + "\n".join(lines) + "\n", arguments=arguments,
                         tolerance=tolerance, expect=expect, error=error)


def unary(opcode, about, values, tolerance=None, kind="f32", result=None, **more):
    n = len(values)
    case(opcode, about, f"x = {kind}[{n}] parameter(0)\nROOT r = {result or kind}[{n}] {opcode}(x)", a(kind, values),
         tolerance=tolerance, **more)


def binary(opcode, about, x, y, tolerance=None, kind="f32", **more):
    n = len(x)
    case(opcode, about, f"x = {kind}[{n}] parameter(0)\ny = {kind}[{n}] parameter(1)\nROOT r = {kind}[{n}] {opcode}(x, y)",
         a(kind, x), a(kind, y), tolerance=tolerance, **more)


REAL = [-2.5, -1, -0.0, 0.0, 0.3, 1, 7.25, INF, -INF, NAN]
UNIT = [-1, -0.75, -0.0, 0.0, 0.25, 0.5, 1, 1.5, NAN]
SHIFTED = [-7, 7, -7, 7, -2147483648, 5, 1, 2147483647]
BY = [2, -2, -2, 2, -1, 0, 31, 1]
ADD = "add_f32 {\np = f32[] parameter(0)\nq = f32[] parameter(1)\nROOT s = f32[] add(p, q)\n}\n\n"
MAX = ADD.replace("add", "max").replace("max(p", "maximum(p")
ULP2, ULP20 = (0, 3e-7), (1e-37, 3e-6)

unary("abs", "The sign bit goes, also of -0 and of infinities.", REAL)
unary("negate", "The sign bit flips, also of zeros.", REAL)
unary("sign", "Zeros keep their sign, NaN stays.", REAL)
unary("floor", "Toward -inf; -0 stays.", [-2.5, -0.3, -0.0, 0.3, 2.5, 1e20, INF, NAN])
unary("ceil", "Toward +inf; -0.3 gives -0.", [-2.5, -0.3, -0.0, 0.3, 2.5, 1e20, INF, NAN])
unary("round-nearest-afz", "Ties go away from zero; 0.49999997 must not be pushed up.",
      [-2.5, -0.5, -0.3, 0.49999997, 0.5, 1.5, 2.5, 8388609, INF])
unary("round-nearest-even", "Ties go to the even neighbour.", [-2.5, -0.5, -0.3, 0.49999997, 0.5, 1.5, 2.5, 8388609, INF])
unary("is-finite", "Neither infinite nor NaN.", REAL, result="pred")
unary("sqrt", "Correctly rounded; -0 stays, below zero NaN.", [-1, -0.0, 0.0, 2, 3, 1e-20, 1e30, INF])
unary("rsqrt", "Zeros give infinities of their sign.", [-1, -0.0, 0.0, 2, 4, 1e-20, 1e30, INF], ULP2)
unary("cbrt", "Odd: negative operands are fine.", [-27, -8, -0.0, 0.0, 0.001, 2, 1e30, INF], ULP20)
unary("exponential", "Overflow gives inf, underflow 0.", [-INF, -10, -1, -0.0, 1, 2.5, 80, 100, INF], ULP20)
unary("exponential-minus-one", "Accurate near zero, where e^x - 1 would cancel.", [-INF, -10, -1e-6, -0.0, 0.0, 1e-6, 1, 20, INF], ULP20)
unary("log", "Zero gives -inf, negative numbers NaN.", [-1, 0, 1e-30, 0.5, 1, 2, 1e30, INF], (1e-7, 3e-6))
unary("log-plus-one", "Accurate near zero; -1 gives -inf.", [-2, -1, -1e-6, -0.0, 0.0, 1e-6, 1, 1e10, INF], ULP20)
unary("logistic", "Between 0 and 1, also for large negative operands.", [-INF, -100, -1, 0, 1, 30, INF, NAN], (1e-37, 3e-6))
unary("sine", "Range reduction is exact for large arguments; infinities give NaN.", [-0.0, 0.5, 1, 3.1415927, 100, 1e10, 1e30, INF], (3e-7, 3e-6))
unary("cosine", "Range reduction is exact for large arguments; infinities give NaN.", [-0.0, 0.5, 1, 3.1415927, 100, 1e10, 1e30, INF], (3e-7, 3e-6))
unary("tan", "Infinities give NaN.", [-0.0, 0.5, 1, 3, 100, -7.5, INF], (3e-7, 3e-6))
unary("tanh", "Odd, and never beyond 1.", [-INF, -20, -0.5, -0.0, 1e-10, 0.5, 3, INF], ULP20)
unary("erf", "Odd, and never beyond 1.", [-INF, -3, -0.5, -0.0, 1e-10, 0.5, 3, INF], ULP20)
HYPERBOLIC = {
    "acos": (UNIT, np.arccos), "asin": (UNIT, np.arcsin), "atanh": (UNIT, np.arctanh),
    "acosh": ([0.5, 1, 1.5, 10, 1e30, INF, NAN], np.arccosh), "asinh": ([-1e30, -2, -0.0, 0.0, 0.5, 3, 1e30, INF], np.arcsinh),
    "sinh": ([-89, -1, -0.0, 0.0, 0.5, 10, 89, INF], np.sinh), "cosh": ([-89, -1, -0.0, 0.0, 0.5, 10, 89, INF], np.cosh)}
for opcode, (values, function) in HYPERBOLIC.items():
    with np.errstate(all="ignore"):
        # XLA:CPU has no code for it; numpy in f64, rounded to f32.
        wanted = function(np.array(values, np.float32).astype(np.float64)).astype(np.float32)
    unary(opcode, f"{opcode} of an array; outside the domain NaN.", values, (1e-6, 1e-6), expect=literal_text(("f32", wanted)))
unary("not", "Bitwise on integers.", [0, -1, 5, -2147483648], kind="s32")
unary("popcnt", "Set bits of the pattern.", [0, -1, 5, -2147483648], kind="s32")
unary("count-leading-zeros", "Zero has as many as there are bits.", [0, 1, 255, 2147483648], kind="u32")
unary("real", "The real part.", [1 + 2j, -3.5 - 0j], kind="c64", result="f32")
unary("imag", "The imaginary part.", [1 + 2j, -3.5 + 4j], kind="c64", result="f32")
unary("copy", "The same value, NaN payloads included.", REAL)
unary("convert", "Floats truncate and saturate; NaN gives 0.", [-2.9, 2.9, 3e9, -3e9, INF, -INF, NAN], result="s32")
binary("add", "Infinities of both signs give NaN.", [1, 2.5, INF, INF, -0.0], [2, -2.5, 1, -INF, -0.0])
binary("subtract", "Integers wrap.", [1, -2147483648, 7], [2, 1, -7], kind="s32")
binary("multiply", "Integers wrap.", [3, 65536, -2147483648], [-4, 65536, -1], kind="s32")
binary("divide", "Toward zero; by zero all ones; the smallest by -1 is the smallest.", SHIFTED, BY, kind="s32")
binary("remainder", "With the sign of the dividend; by zero the dividend.", SHIFTED, BY, kind="s32")
binary("power", "As C's pow: one to anything is one, negative bases need integer exponents.",
       [2, -2, -2, 1, NAN, 0, -0.0, 0.5], [10, 3, 0.5, NAN, 0, -1, -3, -INF], ULP20)
binary("maximum", "NaN from either side stays.", [1, NAN, 2, -INF], [3, 1, NAN, -5])
binary("minimum", "NaN from either side stays.", [1, NAN, 2, -INF], [3, 1, NAN, -5])
binary("atan2", "All four quadrants, and the signs of zeros.", [1, 1, -1, -1, 0.0, -0.0, 0.0, INF], [1, -1, 1, -1, -0.0, -1, 5, -INF], ULP20)
binary("and", "Bitwise.", [12, -1], [10, 7], kind="s32")
binary("or", "Bitwise.", [12, -8], [10, 7], kind="s32")
binary("xor", "Bitwise.", [12, -1], [10, 7], kind="s32")
binary("shift-left", "A count outside [0, 32) gives 0.", [1, -1, 5, 5], [31, 4, 32, -1], kind="s32")
binary("shift-right-logical", "Zeros from above; a count outside [0, 32) gives 0.", [-8, -1, 5, 5], [1, 31, 32, -1], kind="s32")
binary("shift-right-arithmetic", "Copies of the sign; a count outside [0, 32) leaves nothing but them.", [-8, 8, -5, 5], [1, 2, 100, -1], kind="s32")
binary("mulhi", "The upper half of the product.", [2147483647, -2147483648, 65536], [2, -2147483648, -65536], kind="s32",
       expect="s32[3] {0, 1073741824, -1}")
case("compare", "NaN is unequal to everything, itself included.",
     "x = f32[5] parameter(0)\ny = f32[5] parameter(1)\nROOT r = pred[5] compare(x, y), direction=LE",
     a("f32", [1, 2, NAN, 1, -0.0]), a("f32", [1, 1, NAN, NAN, 0.0]))
case("complex", "From real and imaginary part.", "x = f32[2] parameter(0)\ny = f32[2] parameter(1)\nROOT r = c64[2] complex(x, y)",
     a("f32", [1, -0.0]), a("f32", [2, INF]))
case("clamp", "The order is low, value, high; the bounds may be scalars.",
     "low = s32[] parameter(0)\nx = s32[5] parameter(1)\nhigh = s32[] parameter(2)\nROOT r = s32[5] clamp(low, x, high)",
     a("s32", -1), a("s32", [-5, -1, 0, 3, 4]), a("s32", 3))
case("select", "Element by element.",
     "p = pred[4] parameter(0)\nx = s32[4] parameter(1)\ny = s32[4] parameter(2)\nROOT r = s32[4] select(p, x, y)",
     a("pred", [1, 0, 1, 0]), a("s32", [1, 2, 3, 4]), a("s32", [-1, -2, -3, -4]))
case("reduce-precision", "To 5 exponent and 10 mantissa bits: ties to even, overflow to inf, underflow to zero.",
     "x = f32[6] parameter(0)\nROOT r = f32[6] reduce-precision(x), exponent_bits=5, mantissa_bits=10",
     a("f32", [1.0004883, 1.0014648, 70000, 1e-8, -0.1, NAN]))
case("stochastic-convert", "Rounds up where the random number is below the fraction.",
     "x = f32[4] parameter(0)\nu = u32[4] parameter(1)\nROOT r = s32[4] stochastic-convert(x, u)",
     a("f32", [1.5, 1.5, -1.5, 3e9]), a("u32", [2147483647, 2147483648, 0, 0]), expect="s32[4] {2, 1, -2, 2147483647}")
case("bitcast-convert", "A wider element splits into a new minor dimension, lowest byte first.",
     "x = u32[2] parameter(0)\nROOT r = u8[2,4] bitcast-convert(x)", a("u32", [0x04030201, 0xFF000080]))
case("bitcast", "The same bytes in another shape.", "x = s32[2,3]{1,0} parameter(0)\nROOT r = s32[3,2]{1,0} bitcast(x)",
     a("s32", [[1, 2, 3], [4, 5, 6]]), expect="s32[3,2] {{1, 2}, {3, 4}, {5, 6}}")
case("broadcast", "Along new dimensions.", "x = s32[3] parameter(0)\nROOT r = s32[2,3] broadcast(x), dimensions={1}", a("s32", [1, 2, 3]))
case("reshape", "Row-major order stays.", "x = s32[2,3] parameter(0)\nROOT r = s32[3,2] reshape(x)", a("s32", [[1, 2, 3], [4, 5, 6]]))
case("transpose", "dimensions name the sources.", "x = s32[2,3] parameter(0)\nROOT r = s32[3,2] transpose(x), dimensions={1,0}", a("s32", [[1, 2, 3], [4, 5, 6]]))
case("reverse", "Along the listed dimensions.", "x = s32[2,3] parameter(0)\nROOT r = s32[2,3] reverse(x), dimensions={1}", a("s32", [[1, 2, 3], [4, 5, 6]]))
case("slice", "With a stride.", "x = s32[6] parameter(0)\nROOT r = s32[3] slice(x), slice={[1:6:2]}", a("s32", [0, 1, 2, 3, 4, 5]))
case("pad", "Interior first, then the edges, of which negative ones crop.",
     "x = s32[4] parameter(0)\nv = s32[] parameter(1)\nROOT r = s32[7] pad(x, v), padding=-1_1_1", a("s32", [1, 2, 3, 4]), a("s32", 9))
case("concatenate", "One after the other.", "x = s32[2,1] parameter(0)\ny = s32[2,2] parameter(1)\nROOT r = s32[2,3] concatenate(x, y), dimensions={1}",
     a("s32", [[1], [4]]), a("s32", [[2, 3], [5, 6]]))
case("iota", "Counts along one dimension.", "ROOT r = s32[2,3] iota(), iota_dimension=1")
case("constant", "The values of the text.", "ROOT r = f32[2,2] constant({{1, -0}, {inf, 2.5}})")
case("parameter", "The argument of its number.", "x = s32[] parameter(0)\nROOT y = s32[] parameter(1)", a("s32", 1), a("s32", 2))
case("dynamic-slice", "The start is clamped so that the window fits.",
     "x = s32[5] parameter(0)\ni = s32[] parameter(1)\nROOT r = s32[3] dynamic-slice(x, i), dynamic_slice_sizes={3}", a("s32", [0, 1, 2, 3, 4]), a("s32", 9))
case("dynamic-update-slice", "The start is clamped so that the window fits.",
     "x = s32[5] parameter(0)\nu = s32[2] parameter(1)\ni = s32[] parameter(2)\nROOT r = s32[5] dynamic-update-slice(x, u, i)",
     a("s32", [0, 1, 2, 3, 4]), a("s32", [10, 20]), a("s32", -3))
case("gather", "Starts are clamped.",
     "x = s32[3,2] parameter(0)\ni = s32[3] parameter(1)\nROOT r = s32[3,2] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,2}",
     a("s32", [[1, 2], [3, 4], [5, 6]]), a("s32", [2, -1, 7]))
case("scatter", "Windows that do not fit are dropped whole; repeated places add up.",
     ADD + "ENTRY main {\nx = f32[5] parameter(0)\ni = s32[4] parameter(1)\nu = f32[4] parameter(2)\nROOT r = f32[5] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32\n}",
     a("f32", [0, 0, 0, 0, 0]), a("s32", [-1, 1, 1, 5]), a("f32", [1, 2, 3, 4]))
case("map", "A scalar computation on each element.",
     "twice {\np = f32[] parameter(0)\nROOT s = f32[] add(p, p)\n}\n\nENTRY main {\nx = f32[3] parameter(0)\nROOT r = f32[3] map(x), dimensions={0}, to_apply=twice\n}", a("f32", [1, -2, 0.5]))
case("reduce", "Over the second dimension.", ADD + "ENTRY main {\nx = f32[2,3] parameter(0)\nz = f32[] constant(10)\nROOT r = f32[2] reduce(x, z), dimensions={1}, to_apply=add_f32\n}",
     a("f32", [[1, 2, 3], [4, 5, 6]]))
case("reduce-window", "Windows over the edge take what is there.",
     MAX + "ENTRY main {\nx = f32[5] parameter(0)\nz = f32[] constant(-99)\nROOT r = f32[3] reduce-window(x, z), window={size=3 stride=2 pad=1_1}, to_apply=max_f32\n}", a("f32", [1, 5, 2, 9, 3]))
case("select-and-scatter", "With GE the first of equal maxima takes the source.",
     ADD + "ge {\np = f32[] parameter(0)\nq = f32[] parameter(1)\nROOT s = pred[] compare(p, q), direction=GE\n}\n\nENTRY main {\nx = f32[4] parameter(0)\nu = f32[2] parameter(1)\nz = f32[] constant(0)\nROOT r = f32[4] select-and-scatter(x, u, z), window={size=2 stride=2}, select=ge, scatter=add_f32\n}",
     a("f32", [3, 3, 1, 3]), a("f32", [10, 20]))
case("scan", "Running sums and the last one.",
     "step {\ne = f32[] parameter(0)\nc = f32[] parameter(1)\ns = f32[] add(e, c)\nROOT t = (f32[], f32[]) tuple(s, s)\n}\n\nENTRY main {\nx = f32[4] parameter(0)\nz = f32[] constant(100)\nROOT r = (f32[4], f32[]) scan(x, z), dimensions={0}, num_carries=1, is_associative=false, to_apply=step\n}",
     a("f32", [1, 2, 3, 4]), expect="(f32[4], f32[]) ({101, 103, 106, 110}, 110)")
case("sort", "Stable: equal keys keep the order of their values.",
     "less {\np = s32[] parameter(0)\nq = s32[] parameter(1)\nu = s32[] parameter(2)\nv = s32[] parameter(3)\nROOT s = pred[] compare(p, q), direction=LT\n}\n\nENTRY main {\nk = s32[5] parameter(0)\nv = s32[5] parameter(1)\nROOT r = (s32[5], s32[5]) sort(k, v), dimensions={0}, is_stable=true, to_apply=less\n}",
     a("s32", [3, 1, 3, -2, 1]), a("s32", [0, 1, 2, 3, 4]))
case("topk", "Ties go to the smaller index.", "x = f32[5] parameter(0)\nROOT r = (f32[3], s32[3]) topk(x), k=3, largest=true",
     a("f32", [1, 7, -3, 7, 2]))
case("dot", "Rows by columns.", "x = f32[2,3] parameter(0)\ny = f32[3,2] parameter(1)\nROOT r = f32[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     a("f32", [[1, 2, 3], [4, 5, 6]]), a("f32", [[1, 0], [0, 1], [2, -1]]))
case("ragged-dot", "Rows of group i meet the i-th matrix; rows of no group are zero.",
     "x = f32[4,2] parameter(0)\ny = f32[2,2,1] parameter(1)\ng = s32[2] parameter(2)\nROOT r = f32[4,1] ragged-dot(x, y, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}",
     a("f32", [[1, 2], [3, 4], [5, 6], [7, 8]]), a("f32", [[[1], [1]], [[10], [100]]]), a("s32", [1, 2]), expect="f32[4,1] {{3}, {430}, {650}, {0}}")
case("scaled-dot", "Blocks of two share a scale.",
     "x = f32[1,4] parameter(0)\ny = f32[1,4] parameter(1)\ns = f32[1,2] parameter(2)\nt = f32[1,2] parameter(3)\nROOT r = f32[1,1] scaled-dot(x, y, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
     a("f32", [[1, 2, 3, 4]]), a("f32", [[1, 1, 1, 1]]), a("f32", [[1, 10]]), a("f32", [[1, 2]]), expect="f32[1,1] {{143}}")
case("convolution", "Cross-correlation, positions in the padding left out.",
     "x = f32[1,5,1] parameter(0)\nk = f32[3,1,1] parameter(1)\nROOT r = f32[1,5,1] convolution(x, k), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f",
     a("f32", [[[1], [2], [3], [4], [5]]]), a("f32", [[[1]], [[10]], [[100]]]))
case("fft", "Forward, not normalised.", "x = c64[4] parameter(0)\nROOT r = c64[4] fft(x), fft_type=FFT, fft_length={4}", a("c64", [1, 2, 3, 4j]), tolerance=(1e-5, 1e-5))
case("cholesky", "The lower factor; the upper triangle is not read.", "x = f32[2,2] parameter(0)\nROOT r = f32[2,2] cholesky(x), lower=true",
     a("f32", [[4, NAN], [2, 5]]), tolerance=(1e-5, 1e-5))
case("triangular-solve", "a x = b with the lower triangle of a.",
     "x = f32[2,2] parameter(0)\ny = f32[2,1] parameter(1)\nROOT r = f32[2,1] triangular-solve(x, y), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE",
     a("f32", [[2, NAN], [1, 4]]), a("f32", [[6], [11]]), tolerance=(1e-5, 1e-5))
NORM = "x = f32[2,2] parameter(0)\nscale = f32[2] parameter(1)\n"
X, SCALE, OFFSET = a("f32", [[1, 10], [3, 30]]), a("f32", [2, 1]), a("f32", [0.5, 0])
case("batch-norm-training", "Mean and variance of each feature.",
     NORM + "offset = f32[2] parameter(2)\nROOT r = (f32[2,2], f32[2], f32[2]) batch-norm-training(x, scale, offset), epsilon=0.001, feature_index=1", X, SCALE, OFFSET, tolerance=(1e-4, 1e-4))
case("batch-norm-inference", "With given statistics.",
     NORM + "offset = f32[2] parameter(2)\nmean = f32[2] parameter(3)\nvar = f32[2] parameter(4)\nROOT r = f32[2,2] batch-norm-inference(x, scale, offset, mean, var), epsilon=0.001, feature_index=1",
     X, SCALE, OFFSET, a("f32", [2, 20]), a("f32", [1, 100]), tolerance=(1e-4, 1e-4))
case("batch-norm-grad", "Gradients by operand, scale and offset.",
     NORM + "mean = f32[2] parameter(2)\nvar = f32[2] parameter(3)\ndy = f32[2,2] parameter(4)\nROOT r = (f32[2,2], f32[2], f32[2]) batch-norm-grad(x, scale, mean, var, dy), epsilon=0.001, feature_index=1",
     X, SCALE, a("f32", [2, 20]), a("f32", [1, 100]), a("f32", [[1, 2], [3, -1]]), tolerance=(1e-4, 1e-3))
case("rng", "A range of one integer leaves no choice.",
     "low = s32[] parameter(0)\nhigh = s32[] parameter(1)\nROOT r = s32[3] rng(low, high), distribution=rng_uniform", a("s32", 7), a("s32", 8), expect="s32[3] {7, 7, 7}")
case("rng-bit-generator", "Threefry: pairs of words lie side by side.",
     "s = u64[2] parameter(0)\nROOT r = (u64[2], u32[5]) rng-bit-generator(s), algorithm=rng_three_fry", a("u64", [42, 7]))
case("rng-get-and-update-state", "The counter before it is advanced.", "ROOT r = u64[2] rng-get-and-update-state(), delta=4", expect="u64[2] {117515157, 0}")
case("tuple", "Elements of any shape.", "x = s32[2] parameter(0)\ny = f32[] parameter(1)\nROOT r = (s32[2], f32[]) tuple(x, y)", a("s32", [1, 2]), a("f32", 0.5))
case("get-tuple-element", "One element.", "x = s32[2] parameter(0)\ny = f32[] parameter(1)\nt = (s32[2], f32[]) tuple(x, y)\nROOT r = f32[] get-tuple-element(t), index=1",
     a("s32", [1, 2]), a("f32", 0.5))
case("call", "The called computation's result.", ADD + "ENTRY main {\nx = f32[] parameter(0)\nROOT r = f32[] call(x, x), to_apply=add_f32\n}", a("f32", 1.5))
case("fusion", "The fused computation's result.",
     "fused {\np = f32[3] parameter(0)\nq = f32[3] multiply(p, p)\nROOT s = f32[3] add(q, p)\n}\n\nENTRY main {\nx = f32[3] parameter(0)\nROOT r = f32[3] fusion(x), kind=kLoop, calls=fused\n}",
     a("f32", [1, -2, 3]), expect="f32[3] {2, 2, 12}")
case("while", "Counts to ten and sums on the way.",
     "below_ten {\ns = (s32[], s32[]) parameter(0)\ni = s32[] get-tuple-element(s), index=0\nten = s32[] constant(10)\nROOT c = pred[] compare(i, ten), direction=LT\n}\n\nstep {\ns = (s32[], s32[]) parameter(0)\ni = s32[] get-tuple-element(s), index=0\nsum = s32[] get-tuple-element(s), index=1\none = s32[] constant(1)\nnext = s32[] add(i, one)\ntotal = s32[] add(sum, i)\nROOT t = (s32[], s32[]) tuple(next, total)\n}\n\nENTRY main {\nx = s32[] parameter(0)\nzero = s32[] constant(0)\ninit = (s32[], s32[]) tuple(x, zero)\nROOT r = (s32[], s32[]) while(init), condition=below_ten, body=step\n}",
     a("s32", 7))
case("conditional", "An index outside selects the last branch.",
     "same {\nROOT p = f32[] parameter(0)\n}\n\nflipped {\np = f32[] parameter(0)\nROOT n = f32[] negate(p)\n}\n\nENTRY main {\ni = s32[] parameter(0)\nx = f32[] parameter(1)\nROOT r = f32[] conditional(i, x, x), branch_computations={same, flipped}\n}",
     a("s32", -4), a("f32", 2))
case("opt-barrier", "The operand.", "x = s32[2] parameter(0)\nROOT r = s32[2] opt-barrier(x)", a("s32", [1, 2]))
case("domain", "The operand.", 'x = s32[2] parameter(0)\nROOT r = s32[2] domain(x), domain={kind="sharding", entry={maximal device=0}, exit={maximal device=0}}',
     a("s32", [1, 2]), expect="s32[2] {1, 2}")
case("after-all", "A token orders, and holds nothing.", "x = s32[] parameter(0)\nt = token[] after-all()\nROOT r = s32[] add-dependency(x, t)", a("s32", 3), expect="s32[] 3")
case("add-dependency", "The first operand.", "x = s32[2] parameter(0)\nt = token[] after-all()\nROOT r = s32[2] add-dependency(x, t)", a("s32", [1, 2]), expect="s32[2] {1, 2}")
ASYNC = "wrapped {\np = f32[2] parameter(0)\nROOT n = f32[2] negate(p)\n}\n\nENTRY main {\nx = f32[2] parameter(0)\ns = ((f32[2]), f32[2], s32[]) async-start(x), calls=wrapped\n"
case("async-start", "Begins the wrapped computation.", ASYNC + "ROOT r = f32[2] async-done(s), calls=wrapped\n}", a("f32", [1, 2]), expect="f32[2] {-1, -2}")
case("async-done", "Gives its result.", ASYNC + "d = f32[2] async-done(s), calls=wrapped\nROOT r = f32[2] add(d, x)\n}", a("f32", [1, 2]), expect="f32[2] {0, 0}")
case("async-update", "A step in between.", ASYNC + "u = ((f32[2]), f32[2], s32[]) async-update(s), calls=wrapped\nROOT r = f32[2] async-done(u), calls=wrapped\n}",
     a("f32", [1, 2]), expect="f32[2] {-1, -2}")
COPY = "x = f32[2] parameter(0)\ns = (f32[2], f32[2], u32[]) copy-start(x)\n"
case("copy-start", "Begins a copy.", COPY + "ROOT r = f32[2] copy-done(s)", a("f32", [1, 2]), expect="f32[2] {1, 2}")
case("copy-done", "Gives the copy.", COPY + "d = f32[2] copy-done(s)\nROOT r = f32[2] add(d, x)", a("f32", [1, 2]), expect="f32[2] {2, 4}")
case("get-dimension-size", "The size, of a dynamic dimension at run time.",
     "x = f32[4] parameter(0)\nn = s32[] parameter(1)\nd = f32[<=4] set-dimension-size(x, n), dimensions={0}\nROOT r = s32[] get-dimension-size(d), dimensions={0}",
     a("f32", [1, 2, 3, 4]), a("s32", 3))
case("set-dimension-size", "Elements beyond the size do not take part.",
     ADD + "ENTRY main {\nx = f32[4] parameter(0)\nn = s32[] parameter(1)\nd = f32[<=4] set-dimension-size(x, n), dimensions={0}\nz = f32[] constant(0)\nROOT r = f32[] reduce(d, z), dimensions={0}, to_apply=add_f32\n}",
     a("f32", [1, 2, 3, 4]), a("s32", 3))
case("dynamic-reshape", "The dense contents in another dynamic shape.",
     "x = f32[2,3] parameter(0)\nn = s32[] parameter(1)\nm = s32[] parameter(2)\nd = f32[<=2,3] set-dimension-size(x, n), dimensions={0}\ny = f32[<=6] dynamic-reshape(d, m)\nROOT r = s32[] get-dimension-size(y), dimensions={0}",
     a("f32", [[1, 2, 3], [4, 5, 6]]), a("s32", 1), a("s32", 3))
case("partition-id", "The only partition.", "ROOT r = u32[] partition-id()")
case("replica-id", "The only replica.", "ROOT r = u32[] replica-id()")
ONE = "of the only device is its own value."
case("all-reduce", "The sum over the values " + ONE, ADD + "ENTRY main {\nx = f32[2] parameter(0)\nROOT r = f32[2] all-reduce(x), replica_groups={}, to_apply=add_f32\n}", a("f32", [1, 2]))
case("all-reduce-start", "Begins an all-reduce.", ADD + "ENTRY main {\nx = f32[2] parameter(0)\ns = f32[2] all-reduce-start(x), replica_groups={}, to_apply=add_f32\nROOT r = f32[2] all-reduce-done(s)\n}",
     a("f32", [1, 2]), expect="f32[2] {1, 2}")
case("all-reduce-done", "Gives the sum.", ADD + "ENTRY main {\nx = f32[2] parameter(0)\ns = f32[2] all-reduce-start(x), replica_groups={}, to_apply=add_f32\nd = f32[2] all-reduce-done(s)\nROOT r = f32[2] negate(d)\n}",
     a("f32", [1, 2]), expect="f32[2] {-1, -2}")
case("all-gather", "The concatenation over the values " + ONE, "x = f32[2] parameter(0)\nROOT r = f32[2] all-gather(x), replica_groups={}, dimensions={0}", a("f32", [1, 2]))
GATHER = "x = f32[2] parameter(0)\ns = (f32[2], f32[2]) all-gather-start(x), replica_groups={}, dimensions={0}\n"
case("all-gather-start", "Begins an all-gather.", GATHER + "ROOT r = f32[2] all-gather-done(s)", a("f32", [1, 2]), expect="f32[2] {1, 2}")
case("all-gather-done", "Gives the concatenation.", GATHER + "d = f32[2] all-gather-done(s)\nROOT r = f32[2] negate(d)", a("f32", [1, 2]), expect="f32[2] {-1, -2}")
case("reduce-scatter", "A group of one keeps everything.", ADD + "ENTRY main {\nx = f32[2] parameter(0)\nROOT r = f32[2] reduce-scatter(x), replica_groups={}, dimensions={0}, to_apply=add_f32\n}", a("f32", [1, 2]))
case("all-to-all", "A group of one sends to itself.", "x = f32[2] parameter(0)\nROOT r = f32[2] all-to-all(x), replica_groups={{0}}, dimensions={0}", a("f32", [1, 2]))
case("ragged-all-to-all", "Rows written over the output operand.",
     "x = f32[4] parameter(0)\ny = f32[4] parameter(1)\ni = s32[1] parameter(2)\nn = s32[1] parameter(3)\no = s32[1] parameter(4)\nm = s32[1] parameter(5)\nROOT r = f32[4] ragged-all-to-all(x, y, i, n, o, m), replica_groups={{0}}",
     a("f32", [1, 2, 3, 4]), a("f32", [-1, -2, -3, -4]), a("s32", [1]), a("s32", [2]), a("s32", [0]), a("s32", [2]), expect="f32[4] {2, 3, -3, -4}")
case("collective-broadcast", "The first device's value.", "x = f32[2] parameter(0)\nROOT r = f32[2] collective-broadcast(x), replica_groups={{0}}", a("f32", [1, 2]), expect="f32[2] {1, 2}")
case("collective-permute", "A device that is no target gets zeros.",
     "x = f32[2] parameter(0)\nkept = f32[2] collective-permute(x), source_target_pairs={{0,0}}\nlost = f32[2] collective-permute(x), source_target_pairs={}\nROOT r = (f32[2], f32[2]) tuple(kept, lost)",
     a("f32", [1, 2]), expect="(f32[2], f32[2]) ({1, 2}, {0, 0})")
PERMUTE = "x = f32[2] parameter(0)\ns = (f32[2], f32[2], u32[], u32[]) collective-permute-start(x), source_target_pairs={{0,0}}\n"
case("collective-permute-start", "Begins a permute.", PERMUTE + "ROOT r = f32[2] collective-permute-done(s)", a("f32", [1, 2]), expect="f32[2] {1, 2}")
case("collective-permute-done", "Gives what was sent.", PERMUTE + "d = f32[2] collective-permute-done(s)\nROOT r = f32[2] negate(d)", a("f32", [1, 2]), expect="f32[2] {-1, -2}")
case("custom-call", "A target that nobody implements is named.", 'x = f32[2] parameter(0)\nROOT r = f32[2] custom-call(x), custom_call_target="nobody_knows"',
     a("f32", [1, 2]), error="custom call `nobody_knows`")
TOKEN = "x = f32[2] parameter(0)\nt = token[] after-all()\n"
case("infeed", "There is no host to feed data.", "t = token[] after-all()\ni = (f32[2], token[]) infeed(t)\nROOT r = f32[2] get-tuple-element(i), index=0", error="`infeed`")
case("outfeed", "There is no host to take data.", TOKEN + "o = token[] outfeed(x, t), outfeed_shape=f32[2]{0}\nROOT r = f32[2] add-dependency(x, o)", a("f32", [1, 2]), error="`outfeed`")
SEND = TOKEN + "s = (f32[2], u32[], token[]) send(x, t), channel_id=1, is_host_transfer=true\nd = token[] send-done(s), channel_id=1, is_host_transfer=true\nROOT r = f32[2] add-dependency(x, d)"
case("send", "There is nobody to send to.", SEND, a("f32", [1, 2]), error="`send`")
case("send-done", "There is nobody to send to.", SEND, a("f32", [1, 2]), error="`send`")
RECV = "t = token[] after-all()\ns = (f32[2], u32[], token[]) recv(t), channel_id=1, is_host_transfer=true\nd = (f32[2], token[]) recv-done(s), channel_id=1, is_host_transfer=true\nROOT r = f32[2] get-tuple-element(d), index=0"
case("recv", "There is nobody to receive from.", RECV, error="`recv`")
case("recv-done", "There is nobody to receive from.", RECV, error="`recv`")


# ---- writing ----

def run_oracle(oracle, specs):
    """By opcode: the result of XLA as literal text, where it can run the module."""
    results = {}
    with tempfile.TemporaryDirectory() as top:
        lines = []
        for opcode, spec in specs.items():
            folder = pathlib.Path(top) / opcode
            (folder / "in").mkdir(parents=True)
            (folder / "m.hlo").write_text(spec["hlo"])
            for i, (_, values) in enumerate(spec["arguments"]):
                np.save(folder / "in" / f"arg{i}.npy", values)
            lines.append(f"{folder / 'm.hlo'} {folder / 'in'} {folder / 'out'}\n")
        (pathlib.Path(top) / "list").write_text("".join(lines))
        done = subprocess.run([sys.executable, oracle, "batch", f"{top}/list"], stdout=subprocess.PIPE, text=True, check=False)
        for opcode, line in zip(specs, done.stdout.splitlines()):
            files = sorted((pathlib.Path(top) / opcode / "out").glob("out*.npy"), key=lambda f: int(f.stem[3:]))
            if not files:
                print(f"{opcode}: the oracle failed: {line[:300]}", file=sys.stderr)
                continue
            leaves = []
            for file in files:
                values = np.load(file)
                leaves.append((next(k for k, t in NUMPY.items() if values.dtype == t), values))
            texts = [literal_text(leaf).split(" ", 1) for leaf in leaves]
            root = [l for l in specs[opcode]["hlo"].split("\n") if l.strip().startswith("ROOT")][-1]
            shapes, values = (", ".join(t[k] for t in texts) for k in (0, 1))
            results[opcode] = f"({shapes}) ({values})" if "= (" in root else f"{shapes} {values}"
    return results


def write(opcode, spec, expected):
    lines = [f"// {spec['about']}"]
    for leaf in spec["arguments"]:
        lines.append(f"// ARG: {literal_text(leaf)}")
    if spec["error"]:
        lines.append(f"// EXPECT-ERROR: {spec['error']}")
    elif expected is None:
        return False
    else:
        lines.append(f"// EXPECT: {expected}")
        if spec["tolerance"]:
            lines.append("// TOLERANCE: {:g} {:g}".format(*spec["tolerance"]))
    (FOLDER / f"{opcode}.hlo").write_text("\n".join(lines) + "\n" + spec["hlo"])
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--oracle", help="for results that the table does not state")
    parser.add_argument("opcodes", nargs="*")
    options = parser.parse_args()
    table = re.findall(r'^HLO_OP\(\w+, +"([^"]+)"', (ROOT / "lib/ops/ops.def").read_text(), re.M)
    missing = sorted(set(table) - set(CASES)) + [f"no opcode {o}" for o in sorted(set(CASES) - set(table))]
    if missing:
        print("not in the table of this script:", ", ".join(missing), file=sys.stderr)
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = {opcode: CASES[opcode] for opcode in options.opcodes or CASES}
    unstated = {opcode: spec for opcode, spec in wanted.items() if not spec["expect"] and not spec["error"]}
    if unstated and not options.oracle:
        parser.error(f"--oracle is needed for {', '.join(unstated)}")
    from_xla = run_oracle(options.oracle, unstated) if unstated else {}
    written = [write(opcode, spec, spec["expect"] or from_xla.get(opcode)) for opcode, spec in wanted.items()]
    print(f"{sum(written)} of {len(written)} files written")
    return 0 if all(written) and not missing else 1


if __name__ == "__main__":
    sys.exit(main())
