#!/usr/bin/env python3
"""Fits the polynomials of lib/math and writes lib/math/coefficients.h.

Needs sollya (Debian: apt-get install sollya); the build does not. Each row below is one polynomial: fpminimax looks for
the coefficients that are best *as floats of the given format*, not for rounded best reals. The error printed beside
each is the relative one of the polynomial alone, in units of 2^-24 (f32) or 2^-53 (f64).

    scripts/fit_minimax.py            rewrite lib/math/coefficients.h
    scripts/fit_minimax.py ExpTail    only show the fits whose name contains the word
"""
import math
import pathlib
import subprocess
import sys

F32, F64 = "float", "double"

# name, format, function, exact part, exponents of the fitted monomials, interval, comment.
FITS = [
    ("ExpTail", F32, "exp(x)", "1+x", range(2, 7), (-0.3475, 0.3475), "(exp(x) - 1 - x) / x^2"),
    ("ExpTail", F64, "exp(x)", "1+x", range(2, 12), (-0.3475, 0.3475), "(exp(x) - 1 - x) / x^2"),
    ("Expm1Tail", F32, "expm1(x)", "x", range(2, 8), (-0.3475, 0.3475), "(exp(x) - 1 - x) / x^2, relative to exp(x) - 1"),
    ("Expm1Tail", F64, "expm1(x)", "x", range(2, 14), (-0.3475, 0.3475), "(exp(x) - 1 - x) / x^2, relative to exp(x) - 1"),
    ("Log1pTail", F32, "log1p(x)", "x-x^2/2", range(3, 11), (-0.2930, 0.4143), "(log(1 + x) - x + x^2/2) / x^3"),
    ("AtanhTail", F64, "2*atanh(x)", "2*x", range(3, 19, 2), (0, 0.1717), "(2 atanh(x) - 2 x) / x^3 in x^2"),
    ("AtanhTail5", F64, "2*atanh(x)", "2*x+2*x^3/3", range(5, 21, 2), (0, 0.1717),
     "(2 atanh(x) - 2 x - 2/3 x^3) / x^5 in x^2"),
    ("SinTail", F32, "sin(x)", "x", range(3, 9, 2), (0, 0.80), "(sin(x) - x) / x^3 in x^2"),
    ("SinTail", F64, "sin(x)", "x", range(3, 17, 2), (0, 0.80), "(sin(x) - x) / x^3 in x^2"),
    ("CosTail", F32, "cos(x)", "1-x^2/2", range(4, 10, 2), (0, 0.80), "(cos(x) - 1 + x^2/2) / x^4 in x^2"),
    ("CosTail", F64, "cos(x)", "1-x^2/2", range(4, 18, 2), (0, 0.80), "(cos(x) - 1 + x^2/2) / x^4 in x^2"),
    ("AtanTail", F64, "atan(x)", "x", range(3, 27, 2), (0, 0.4143), "(atan(x) - x) / x^3 in x^2"),
    ("AsinTail", F64, "asin(x)", "x", range(3, 29, 2), (0, 0.5), "(asin(x) - x) / x^3 in x^2"),
    ("CbrtStart", F64, "(1+x)^(1/3)", "0", range(0, 5), (-0.2930, 0.4143), "cbrt(1 + x)"),
    ("TanhTail", F32, "tanh(x)", "x", range(3, 13, 2), (0, 0.55), "(tanh(x) - x) / x^3 in x^2"),
    ("TanhTail", F64, "tanh(x)", "x", range(3, 31, 2), (0, 0.55), "(tanh(x) - x) / x^3 in x^2"),
    ("ErfSmall", F32, "erf(x)", "x", range(1, 13, 2), (0, 0.93), "(erf(x) - x) / x in x^2"),
    ("ErfSmall", F64, "erf(x)", "x", range(1, 27, 2), (0, 1.0), "(erf(x) - x) / x in x^2"),
]

# name, format, function, weight, degree, interval, shift, comment: the error that counts is error * weight; the
# variable of the polynomial is x - shift.
WEIGHTED = [
    ("LogErfc", F32, "log(erfc(x))", "erfc(x)/erf(x)", 8, (0.92, 4.0), 0, "log(1 - erf(x))"),
    ("LogErfc", F64, "log(erfc(x))", "erfc(x)/erf(x)", 24, (1.0, 6.0), 2, "log(1 - erf(x)) in x - 2"),
]

UNIT = {F32: "2^24", F64: "2^53"}
KIND = {F32: "SG", F64: "D"}


def sollya(script):
    result = subprocess.run(["sollya", "--warnonstderr"], input=script, capture_output=True, text=True, check=True)
    lines = [line for line in result.stdout.splitlines() if not line.startswith(("Display", "The "))]
    if len(lines) < 2:
        raise SystemExit(f"sollya failed on\n{script}\n{result.stdout}{result.stderr}")
    return lines


def fit(row):
    name, fmt, function, exact, exponents, (low, high), comment = row
    exponents = list(exponents)
    # The function over its own value has a removable singularity at 0: stay off it.
    interval = f"[{low if low else 2**-10};{high}]"
    script = f"""
prec=300!; verbosity=0!;
p = fpminimax({function}, [|{','.join(map(str, exponents))}|], [|{KIND[fmt]}...|], {interval}, floating, relative, {exact});
q = p - ({exact});
display=hexadecimal!;
for i in [|{','.join(map(str, exponents))}|] do print(coeff(q, i));
display=decimal!;
print(dirtyinfnorm(p/({function})-1, {interval})*{UNIT[fmt]});
quit;
"""
    lines = sollya(script)
    return lines[:-1], float(lines[-1])


def fit_weighted(row):
    name, fmt, function, weight, degree, (low, high), shift, comment = row
    f = function.replace("(x)", f"(x+{shift})") if shift else function
    w = weight.replace("(x)", f"(x+{shift})") if shift else weight
    interval = f"[{low - shift};{high - shift}]"
    script = f"""
prec=300!; verbosity=0!;
w = {w};
p = remez(({f})*w, {degree}, {interval}, w);
q = roundcoefficients(p, [|{KIND[fmt]}...|]);
display=hexadecimal!;
for i from 0 to {degree} do print(coeff(q, i));
display=decimal!;
print(dirtyinfnorm((q-({f}))*w, {interval})*{UNIT[fmt]});
quit;
"""
    lines = sollya(script)
    return lines[:-1], float(lines[-1])


def literal(text, fmt):
    if "p" not in text:
        text += "p0"
    return text + ("f" if fmt == F32 else "")


# 2/pi times 2^(first + step * group), mod 2^modulus, as a sum of doubles: what is left of 2/pi for an argument of
# that size, the whole turns being gone.
PI_TABLES = [("F32", 16, 16, 7, 25, 2), ("F64", 28, 32, 32, 54, 4)]


def two_over_pi_bits(count):
    """floor(2^count * 2/pi), by Machin's formula on integers."""
    scale = 1 << (count + 64)

    def arctan_inverse(n):
        total, term, k = 0, scale // n, 0
        while term:
            total += term // (2 * k + 1) * (-1) ** k
            term //= n * n
            k += 1
        return total

    pi = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))
    return ((2 * scale << count) // pi)


def as_doubles(numerator, shift, count):
    """numerator / 2^shift as `count` doubles, each rounding what the ones before leave."""
    parts = []
    rest = numerator
    for _ in range(count):
        value = 0.0
        if rest:
            drop = max(abs(rest).bit_length() - 53, 0)
            sign = 1 if rest > 0 else -1
            kept = (abs(rest) + ((1 << drop) >> 1)) >> drop
            value = math.ldexp(sign * kept, drop - shift)
            rest -= sign * (kept << drop)
        parts.append(value)
    return parts


def write_pi_tables(root):
    precision = 1400
    bits = two_over_pi_bits(precision)
    out = ["// lib/math/pi_bits.h\n//\n// 2/pi for arguments of any size: row g holds 2/pi * 2^(first + step g)\n// mod"
           " 2^modulus as a sum of doubles.\n// Written by scripts/fit_minimax.py; change that, not this.\n"
           "#pragma once\n\nnamespace hlo::math {\n"]
    for name, first, step, groups, modulus, count in PI_TABLES:
        out.append(f"inline constexpr int kPiBits{name}First = {first};\ninline constexpr int kPiBits{name}Groups = {groups};")
        out.append(f"// step {step}, modulus 2^{modulus}, {count} doubles a row.\ninline constexpr double kPiBits{name}[] = {{")
        for g in range(groups):
            shift = precision - (first + step * g)
            row = as_doubles(bits % (1 << (shift + modulus)), shift, count)
            out.append("    " + " ".join(x.hex() + "," for x in row))
        out.append("};\n")
    out.append("}  // namespace hlo::math\n")
    (root / "lib/math/pi_bits.h").write_text("\n".join(out))


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [(r, fit) for r in FITS if word in r[0]] + [(r, fit_weighted) for r in WEIGHTED if word in r[0]]
    out = []
    names = []
    arrays = {}
    for row, fitter in chosen:
        coefficients, error = fitter(row)
        name, fmt, comment = row[0], row[1], row[-1]
        unit = "2^-24" if fmt == F32 else "2^-53"
        text = ",\n".join("    " + literal(c, fmt) for c in coefficients)
        arrays[name, fmt] = (
            f"// {comment}, on [{row[5][0]}, {row[5][1]}]; error {error:.3g} * {unit}.\n"
            f"template <>\ninline constexpr std::array<{fmt}, {len(coefficients)}> k{name}<{fmt}> = {{\n{text}}};\n")
        if name not in names:
            names.append(name)
        print(f"{name:12} {fmt:6} {len(coefficients):2} coefficients, error {error:.3g} * {unit}", file=sys.stderr)
    if word:
        for text in arrays.values():
            print(text)
        return
    out.append("// lib/math/coefficients.h\n//\n// Minimax polynomials, lowest coefficient first.\n// Written by "
               "scripts/fit_minimax.py; change that, not this.\n// clang-format off\n#pragma once\n\n#include <array>\n#include <cstddef>\n\n"
               "namespace hlo::math {\n")
    for name in names:
        out.append(f"template <class T>\ninline constexpr std::nullptr_t k{name} = nullptr;")
        for fmt in (F32, F64):
            if (name, fmt) in arrays:
                out.append(arrays[name, fmt])
    out.append("}  // namespace hlo::math\n")
    write_pi_tables(root)
    (root / "lib/math/coefficients.h").write_text("\n".join(out))


if __name__ == "__main__":
    main()
