#!/usr/bin/env python3
"""Reads the reference files of testdata/models, corpus, bench and sharded: lists, makes inputs, compares.

    scripts/hlo_models.py list
    scripts/hlo_models.py inputs mlp_small --output-dir in     # in/arg0.npy, arg1.npy, ...
    scripts/hlo_models.py compare mlp_small --output-dir out   # out/out0.npy, ... with the JSON

A model is named by its name or by the path of its JSON file. Standard library only, so it is slow
for the large models (hlo-run makes the same inputs itself): it exists to check the C++ generator
and the C++ comparison against a second implementation. The format and the generator are defined in
testdata/models/README.md.

Exit codes: 0 agreed, 1 mismatch or bad file, 2 wrong usage.
"""

import argparse
import array
import json
import math
import pathlib
import re
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = tuple(ROOT / "testdata" / name for name in ("models", "corpus", "bench", "sharded"))
MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15

# HLO type -> (.npy descriptor, struct code of one stored value).
STORED = {
    "pred": ("|b1", "?"),
    "s8": ("|i1", "b"), "s16": ("<i2", "h"), "s32": ("<i4", "i"), "s64": ("<i8", "q"),
    "u8": ("|u1", "B"), "u16": ("<u2", "H"), "u32": ("<u4", "I"), "u64": ("<u8", "Q"),
    "s2": ("|i1", "b"), "s4": ("|i1", "b"), "u2": ("|u1", "B"), "u4": ("|u1", "B"),
    "bf16": ("<V2", "H"), "f16": ("<f2", "e"), "f32": ("<f4", "f"), "f64": ("<f8", "d"),
    "f8e4m3fn": ("|V1", "B"), "f8e5m2": ("|V1", "B"),
    "c64": ("<c8", "f"), "c128": ("<c16", "d"),
}


class ModelError(Exception):
    """A message for the user."""


# --- shapes and values --------------------------------------------------------

def parse_shape(text):
    """'f32[2,3]' -> ('f32', (2, 3))."""
    found = re.fullmatch(r"(\w+)\[([\d,]*)\]", text)
    if not found:
        raise ModelError(f"expected a shape such as f32[2,3], found `{text}`")
    return found.group(1), tuple(int(d) for d in found.group(2).split(",") if d)


def is_complex(kind):
    return kind in ("c64", "c128")


def is_float(kind):
    return kind[0] in "fbc"


def number(value):
    """A value of the JSON file; what JSON cannot write is a string there."""
    return float(value) if isinstance(value, str) else value


def number_of(kind, value):
    """A value of the JSON file as one of the type: the decimals are those of an f32."""
    value = number(value)
    return to_f32(value) if is_float(kind) and kind not in ("f64", "c128") else value


def to_f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def bf16_bits(value):
    """The bits of an f32 rounded to bf16, ties to even."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    if value != value:
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def bf16_value(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def f8_value(kind, bits):
    """e4m3fn has no infinity and one NaN; e5m2 is the upper half of an f16."""
    if kind == "f8e5m2":
        return struct.unpack("<e", bytes((0, bits)))[0]
    exponent, mantissa = bits >> 3 & 15, bits & 7
    if bits & 127 == 127:
        return math.nan
    size = mantissa * 2.0**-9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)
    return -size if bits & 128 else size


# --- the generator ------------------------------------------------------------

def mix(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def generate(item, seed):
    """The scalars of one input: as many as elements, twice as many for complex types."""
    kind, dims = parse_shape(item["shape"])
    count = math.prod(dims) * (2 if is_complex(kind) else 1)
    how = item["kind"]
    if how == "const":
        return [number(item["value"])] * count
    if how == "values":
        if len(item["values"]) != count:
            raise ModelError(f"input {item['index']} has {len(item['values'])} values, "
                             f"`{item['shape']}` needs {count}")
        return [number(v) for v in item["values"]]
    if how == "iota":
        return list(range(count))
    key = mix(seed + GAMMA * (item["index"] + 1) & MASK)
    draws = (mix(key + GAMMA * (i + 1) & MASK) for i in range(count))
    lo, hi = item["lo"], item["hi"]
    if how == "randint":
        return [lo + ((d >> 32) * (hi - lo) >> 32) for d in draws]
    if how == "uniform":
        return [lo + (hi - lo) * ((d >> 40) * 2.0**-24) for d in draws]
    raise ModelError(f"input {item['index']} has unknown kind `{how}`")


# --- .npy files ---------------------------------------------------------------

def write_npy(path, shape, scalars):
    kind, dims = parse_shape(shape)
    if kind not in STORED or kind.startswith("f8"):
        raise ModelError(f"cannot write `{kind}`; hlo-run makes these inputs itself")
    descr, code = STORED[kind]
    if kind == "bf16":
        scalars = [bf16_bits(to_f32(v)) for v in scalars]
    elif kind == "f16":
        scalars = [to_f32(v) for v in scalars]
    elif kind == "pred":
        scalars = [bool(v) for v in scalars]
    header = repr({"descr": descr, "fortran_order": False, "shape": dims}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    data = struct.pack(f"<{len(scalars)}{code}", *scalars)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


def read_npy(path, shape):
    """The scalars of a C-order .npy file that must hold `shape`."""
    kind, dims = parse_shape(shape)
    data = path.read_bytes()
    if data[:6] != b"\x93NUMPY" or len(data) < 12:
        raise ModelError(f"{path}: not a .npy file")
    wide = data[6] > 1
    size, = struct.unpack_from("<I" if wide else "<H", data, 8)
    start = (12 if wide else 10) + size
    header = data[12 if wide else 10:start].decode("latin-1")
    descr = re.search(r"'descr':\s*'([^']*)'", header).group(1)
    found = tuple(int(d) for d in re.findall(r"\d+", header.split("'shape':")[1].split(")")[0]))
    if found != dims:
        raise ModelError(f"{path}: has shape {list(found)}, expected {list(dims)}")
    want, code = STORED.get(kind, (None, None))
    if descr != want:
        raise ModelError(f"{path}: holds `{descr}`, `{kind}` is stored as `{want}`")
    if "'fortran_order': True" in header:
        raise ModelError(f"{path}: is in Fortran order, expected C order")
    count = math.prod(dims) * (2 if is_complex(kind) else 1)
    if len(data) - start < count * struct.calcsize("<" + code):
        raise ModelError(f"{path}: is cut short")
    if kind == "f32" and sys.byteorder == "little":
        scalars = array.array("f")
        scalars.frombytes(data[start:start + 4 * count])
        return scalars
    scalars = struct.unpack_from(f"<{count}{code}", data, start)
    if kind.startswith("f8"):
        return [f8_value(kind, v) for v in scalars]
    return [bf16_value(v) for v in scalars] if kind == "bf16" else scalars


# --- comparing ----------------------------------------------------------------

class Tolerance:
    """|got - want| <= abs + rel * |want|; NaN agrees with NaN, an infinity with itself."""

    def __init__(self, output):
        given = output.get("tolerance", {"abs": 0, "rel": 0})
        self.abs, self.rel = given["abs"], given["rel"]

    def agrees(self, got, want, scale=None):
        if got == want or (got != got and want != want):
            return True
        if not (math.isfinite(got) and math.isfinite(want)):
            return False
        return abs(got - want) <= self.abs + self.rel * abs(want if scale is None else scale)


def statistics(scalars):
    finite = [v for v in scalars if math.isfinite(v)]
    count = max(1, len(finite))
    return {"nonfinite": len(scalars) - len(finite), "min": min(finite, default=0),
            "max": max(finite, default=0), "mean": math.fsum(finite) / count,
            "rms": math.sqrt(math.fsum(v * v for v in finite) / count)}


def compare_output(output, scalars):
    """The sentences about what disagrees in one output."""
    tolerance = Tolerance(output)
    kind, name = parse_shape(output["shape"])[0], f"out{output['index']} {output['shape']}"
    pairs = enumerate(output["values"]) if "values" in output else output["samples"]
    rounded = ((i, number_of(kind, v)) for i, v in pairs)
    wrong = [(i, scalars[i], w) for i, w in rounded if not tolerance.agrees(scalars[i], w)]
    lines = []
    if wrong:
        i, got, want = wrong[0]
        part = (" real", " imaginary")[i % 2] if is_complex(kind) else ""
        i = i // 2 if is_complex(kind) else i
        lines.append(f"{name}: {len(wrong)} checked elements differ, first at linear index "
                     f"{i}{part}: got {got!r}, expected {want!r}")
    want = output.get("statistics")
    if want:
        got = statistics(scalars)
        scale = max(abs(want["min"]), abs(want["max"]))
        for key in ("nonfinite", "min", "max", "mean", "rms"):
            if not tolerance.agrees(got[key], want[key], scale):
                lines.append(f"{name}: {key} is {got[key]!r}, expected {want[key]!r}")
    return lines


# --- the command line ---------------------------------------------------------

def load(name):
    """(model, its folder) for a name or a path."""
    path = pathlib.Path(name)
    if path.suffix != ".json":
        path = next((f / f"{name}.json" for f in FOLDERS if (f / f"{name}.json").exists()), path)
    try:
        return json.loads(path.read_text(encoding="utf-8")), path.parent
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise ModelError(f"{path}: not JSON: {error}") from None


def list_models(_):
    for folder in FOLDERS:
        for path in sorted(folder.glob("*.json")):
            model = json.loads(path.read_text(encoding="utf-8"))
            print(f"{model['name']:24} {len(model['inputs']):4} inputs {len(model['outputs']):3} "
                  f"outputs  {model['about']}")
    return 0


def make_inputs(args):
    model, _ = load(args.model)
    folder = pathlib.Path(args.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    for item in model["inputs"]:
        write_npy(folder / f"arg{item['index']}.npy", item["shape"],
                  generate(item, model["seed"]))
    return 0


def compare(args):
    model, _ = load(args.model)
    folder, lines = pathlib.Path(args.output_dir), []
    for output in model["outputs"]:
        path = folder / f"out{output['index']}.npy"
        if not path.exists():
            raise ModelError(f"{path}: no such file")
        lines += compare_output(output, read_npy(path, output["shape"]))
    for line in lines:
        print(f"MISMATCH {line}")
    if not lines:
        print(f"{model['name']}: {len(model['outputs'])} outputs agree")
    return 1 if lines else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="list the models").set_defaults(run=list_models)
    for name, run, text in (("inputs", make_inputs, "write arg0.npy, arg1.npy, ..."),
                            ("compare", compare, "compare out0.npy, ... with the reference")):
        command = commands.add_parser(name, help=text)
        command.add_argument("model", help="a name, or the path of a JSON file")
        command.add_argument("--output-dir", required=True, help="the folder of the .npy files")
        command.set_defaults(run=run)
    args = parser.parse_args()
    try:
        return args.run(args)
    except (ModelError, OSError) as error:
        print(f"hlo_models: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
