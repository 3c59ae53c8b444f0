"""The `ops` table of check_cases.py: modules with inputs and outputs, evaluated by build/…/bin/hlo_op_cases.

One JSON object per line: id, section, hlo, inputs, outputs (type, shape, and `values` or `bits` in hex; "nan" is any NaN), and compare:
`exact`, `ulp:N` or `rel:X` (|got - want| <= X * the largest finite |want| of that output). Modules of several devices list inputs and
outputs device by device.
"""

import math
import re
import struct
import subprocess

INT_BITS = {"pred": 8, **{f"{s}{b}": b for s in "su" for b in (1, 2, 4, 8, 16, 32, 64)}}
# name: exponent bits, mantissa bits, bias, flavour
FLOATS = {
    "f64": (11, 52, 1023, "ieee"), "f32": (8, 23, 127, "ieee"), "f16": (5, 10, 15, "ieee"), "bf16": (8, 7, 127, "ieee"),
    "f8e5m2": (5, 2, 15, "ieee"), "f8e4m3": (4, 3, 7, "ieee"), "f8e3m4": (3, 4, 3, "ieee"),
    "f8e4m3fn": (4, 3, 7, "fn"), "f8e4m3b11fnuz": (4, 3, 11, "fnuz"), "f8e4m3fnuz": (4, 3, 8, "fnuz"),
    "f8e5m2fnuz": (5, 2, 16, "fnuz"), "f8e8m0fnu": (8, 0, 127, "exponent"), "f4e2m1fn": (2, 1, 1, "finite"),
    "f6e2m3fn": (2, 3, 1, "finite"), "f6e3m2fn": (3, 2, 3, "finite"),
}
COMPONENT = {"c64": "f32", "c128": "f64"}


def float_bytes(name):
    exponent, mantissa, _, flavour = FLOATS[name]
    return (exponent + mantissa + (flavour != "exponent") + 7) // 8


def decode(name, bits):
    """The value of a bit pattern as a Python float."""
    exponent_bits, mantissa_bits, bias, flavour = FLOATS[name]
    if name == "f64":
        return struct.unpack("<d", bits.to_bytes(8, "little"))[0]
    if flavour == "exponent":
        return math.nan if bits == 255 else 2.0 ** (bits - bias)
    magnitude = bits & ((1 << (exponent_bits + mantissa_bits)) - 1)
    sign = -1.0 if bits >> (exponent_bits + mantissa_bits) & 1 else 1.0
    exponent, mantissa = magnitude >> mantissa_bits, magnitude & ((1 << mantissa_bits) - 1)
    top = exponent == (1 << exponent_bits) - 1
    if flavour == "ieee" and top:
        return sign * math.inf if mantissa == 0 else math.nan
    if flavour == "fn" and magnitude == (1 << (exponent_bits + mantissa_bits)) - 1:
        return math.nan
    if flavour == "fnuz" and magnitude == 0 and sign < 0:
        return math.nan
    if exponent == 0:
        return sign * mantissa * 2.0 ** (1 - bias - mantissa_bits)
    return sign * (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)


def order(name, bits):
    """An integer that steps by one from each value to the next, the same for both zeros."""
    exponent_bits, mantissa_bits, _, flavour = FLOATS[name]
    if flavour == "exponent":
        return bits
    magnitude = bits & ((1 << (exponent_bits + mantissa_bits)) - 1)
    return -magnitude if bits != magnitude else magnitude


def leaf_hex(leaf):
    kind = leaf["type"]
    if kind in INT_BITS:
        width = max(8, INT_BITS[kind]) // 8
        return b"".join((int(v) % (1 << (8 * width))).to_bytes(width, "little") for v in leaf["values"]).hex()
    width = float_bytes(COMPONENT.get(kind, kind))
    return b"".join(int(b, 16).to_bytes(width, "little") for b in leaf["bits"]).hex()


def devices_of(hlo):
    def number(word):
        found = re.search(word + r"=(\d+)", hlo.split("\n", 1)[0])
        return int(found.group(1)) if found else 1
    return number("replica_count") * number("num_partitions")


def encode(rows):
    out = bytearray()
    for row in rows:
        devices = devices_of(row["hlo"])
        fields = [row["id"], row["hlo"], str(devices), str(len(row["inputs"]) // devices)]
        fields += [leaf_hex(leaf) for leaf in row["inputs"]]
        for field in fields:
            data = field.encode()
            out += b"%d " % len(data) + data + b"\n"
    return bytes(out)


def compare_leaf(want, got, rule):
    """What is wrong with one output, or None. `got` is "TYPE DIMS HEX"."""
    kind, dims, digits = (got.split(" ") + ["", ""])[:3]
    if kind != want["type"] or [int(d) for d in dims.split(",") if d] != want["shape"]:
        return f"is {kind}[{dims}], not {want['type']}{want['shape']}"
    raw = bytes.fromhex(digits)
    if kind in INT_BITS:
        width = max(8, INT_BITS[kind]) // 8
        values = [int.from_bytes(raw[i:i + width], "little", signed=kind.startswith("s")) for i in range(0, len(raw), width)]
        expected = [int(v) for v in want["values"]]
        if rule.startswith("rel"):
            limit = float(rule[4:]) * max([abs(e) for e in expected] or [0])
            bad = [i for i, (a, e) in enumerate(zip(values, expected)) if abs(a - e) > limit]
        else:
            bad = [i for i, (a, e) in enumerate(zip(values, expected)) if a != e]
        return f"[{bad[0]}] is {values[bad[0]]}, not {expected[bad[0]]} ({len(bad)} differ)" if bad else None
    name = COMPONENT.get(kind, kind)
    width = float_bytes(name)
    actual = [int.from_bytes(raw[i:i + width], "little") for i in range(0, len(raw), width)]
    finite = [abs(decode(name, int(b, 16))) for b in want["bits"] if b != "nan"]
    largest = max([v for v in finite if math.isfinite(v)] or [0.0])
    bad = []
    for i, (a, b) in enumerate(zip(actual, want["bits"])):
        value = decode(name, a)
        if b == "nan":
            right = math.isnan(value)
        else:
            bits = int(b, 16)
            expected = decode(name, bits)
            if rule == "exact" or math.isnan(expected):
                right = a == bits
            elif math.isinf(expected) or math.isnan(value) or math.isinf(value):
                right = value == expected
            elif rule.startswith("ulp"):
                right = abs(order(name, a) - order(name, bits)) <= int(rule[4:])
                right = right and (expected != 0 or value != 0 or a == bits)
            else:
                right = abs(value - expected) <= float(rule[4:]) * largest
        if not right:
            bad.append(f"[{i}] is {a:x} ({value:.9g}), not {b}" + ("" if b == "nan" else f" ({decode(name, int(b, 16)):.9g})"))
    return f"{bad[0]} ({len(bad)} differ)" if bad else None


def verdicts(tool, rows):
    """By id: "pass", or what is wrong."""
    result = subprocess.run([str(tool)], input=encode(rows), stdout=subprocess.PIPE, check=False)
    lines = dict(line.split("\t", 1) for line in result.stdout.decode().splitlines())
    out = {}
    for row in rows:
        if row["id"] not in lines:
            out[row["id"]] = f"no verdict; the tool ended with code {result.returncode}"
            continue
        parts = lines[row["id"]].split("\t")
        if parts[0] == "error":
            out[row["id"]] = "error: " + parts[1]
            continue
        if len(parts) - 1 != len(row["outputs"]):
            out[row["id"]] = f"{len(parts) - 1} outputs, not {len(row['outputs'])}"
            continue
        wrong = [f"output {k} {w}" for k, w in enumerate(
            compare_leaf(want, got, row["compare"]) for want, got in zip(row["outputs"], parts[1:])) if w]
        out[row["id"]] = wrong[0] if wrong else "pass"
    return out
