"""From a `spec.Model` to its files: HLO text as JAX dumps it, and the reference values of XLA.

Needs JAX and numpy. The format, and the rule that makes the inputs, are in
testdata/models/README.md; the rule is written here a second time, vectorised.
"""

import contextlib
import fractions
import json
import math
import os
import random

import jax
import jaxlib
import ml_dtypes
import numpy as np
from jax._src import source_info_util
from jaxlib import _hlo

import hlo_models
from models import spec

SEED = 1
GAMMA = np.uint64(0x9E3779B97F4A7C15)
ROUNDOFF = {"bf16": 2.0**-9, "f16": 2.0**-12, "f32": 2.0**-24, "c64": 2.0**-24,
            "f64": 2.0**-53, "c128": 2.0**-53}
WHOLE_FLOATS, WHOLE_INTEGERS, SAMPLES = 1024, 8192, 128

TYPES = {"bool": "pred", "bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64",
         "complex64": "c64", "complex128": "c128", "int4": "s4", "uint4": "u4", "int2": "s2",
         "uint2": "u2", "int8": "s8", "int16": "s16", "int32": "s32", "int64": "s64",
         "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
         "float8_e4m3fn": "f8e4m3fn", "float8_e5m2": "f8e5m2", "float8_e4m3": "f8e4m3",
         "float8_e5m2fnuz": "f8e5m2fnuz", "float8_e4m3fnuz": "f8e4m3fnuz"}


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, None) or getattr(np, name, None) or name)


def shape_text(shape, dtype):
    return f"{TYPES[str(dtype)]}[{','.join(map(str, shape))}]"


def is_integer(dtype):
    return dtype.kind in "iub" or str(dtype) in ("int2", "uint2", "int4", "uint4")


# --- inputs -------------------------------------------------------------------

def mix(z):
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


def check_bounds(item):
    """The sum lo + (hi - lo) * k / 2^24 must be exact, so that no compiler can change it."""
    step = fractions.Fraction(1, 1 << 20)
    for bound in (item.lo, item.hi):
        if fractions.Fraction(bound) % step or abs(bound) > 64:
            raise ValueError(f"bound {bound} is no multiple of 2^-20 in [-64, 64]")


def generate(item, index, seed):
    """The values of input `index`, as a numpy array."""
    dtype = dtype_of(item.dtype)
    if item.kind == "values":
        return np.asarray(item.value, dtype).reshape(item.shape)
    if item.kind == "const":
        return np.full(item.shape, item.value, dtype)
    parts = 2 if dtype.kind == "c" else 1
    count = math.prod(item.shape) * parts
    if item.kind == "iota":
        return np.arange(count).astype(dtype).reshape(item.shape)
    with np.errstate(over="ignore"):
        key = mix(np.uint64(seed) + GAMMA * np.uint64(index + 1))
        out = np.empty(count, np.float32 if item.kind == "uniform" else np.int64)
        for start in range(0, count, 1 << 20):
            stop = min(count, start + (1 << 20))
            draws = mix(key + GAMMA * np.arange(start + 1, stop + 1, dtype=np.uint64))
            if item.kind == "uniform":
                check_bounds(item)
                unit = (draws >> np.uint64(40)).astype(np.float64) * 2.0**-24
                out[start:stop] = item.lo + (item.hi - item.lo) * unit
            else:
                span = np.uint64(item.hi - item.lo)
                out[start:stop] = (draws >> np.uint64(32)) * span >> np.uint64(32)
                out[start:stop] += item.lo
    if parts == 2:
        out = out.view(np.complex64)
    return out.astype(dtype).reshape(item.shape)


def leaves(model):
    """(names, inputs) of the array arguments in order."""
    pairs, _ = jax.tree_util.tree_flatten_with_path(model.arguments)
    return [jax.tree_util.keystr(path) for path, _ in pairs], [item for _, item in pairs]


def input_json(index, name, item):
    row = {"index": index, "name": name, "shape": shape_text(item.shape, dtype_of(item.dtype)),
           "kind": item.kind}
    if item.kind in ("uniform", "randint"):
        row |= {"lo": item.lo, "hi": item.hi}
    elif item.kind == "const":
        row["value"] = scalars_json(np.asarray([item.value], dtype_of(item.dtype)))[0]
    elif item.kind == "values":
        row["values"] = scalars_json(np.asarray(item.value, dtype_of(item.dtype)).ravel())
    return row


def input_of_json(row):
    """The input that `input_json` wrote."""
    kind, dims = hlo_models.parse_shape(row["shape"])
    dtype = next(name for name, hlo in TYPES.items() if hlo == kind)
    value = row.get("values", row.get("value", 0))
    value = [float(v) for v in value] if isinstance(value, list) else float(value)
    return spec.Input(dims, dtype, row["kind"], row.get("lo", 0), row.get("hi", 0), value)


# --- values in JSON -----------------------------------------------------------

def scalar_json(value):
    """The shortest decimal that reads back as the same value, by way of f64 too."""
    if value.dtype.kind in "b":
        return int(value)
    if is_integer(value.dtype):
        return int(value)
    if value.dtype == np.float64:
        wide = float(value)
    else:
        wide = float(str(np.float32(value)))
        assert np.float32(wide) == np.float32(value) or value != value
    return wide if math.isfinite(wide) else str(wide)


def flat_scalars(array):
    """Row-major scalars; a complex element is two, real and imaginary."""
    array = np.ascontiguousarray(array).ravel()
    if array.dtype.kind == "c":
        array = array.view(np.float32 if array.dtype == np.complex64 else np.float64)
    return array


def scalars_json(array):
    return [scalar_json(v) for v in flat_scalars(array)]


def statistics(scalars):
    values = scalars.astype(np.float64)
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return {"nonfinite": int(values.size), "min": 0, "max": 0, "mean": 0, "rms": 0}
    return {"nonfinite": int(values.size - finite.size), "min": float(finite.min()),
            "max": float(finite.max()), "mean": float(finite.mean()),
            "rms": float(np.sqrt(np.mean(np.square(finite))))}


def sample_places(scalars, seed):
    """The extremes, the ends, and one place in each of equal stretches."""
    count, rng = scalars.size, random.Random(seed)
    values = scalars.astype(np.float64)
    places = {0, count - 1, int(np.argmin(values)), int(np.argmax(values))}
    for i in range(SAMPLES - 4):
        lo, hi = i * count // (SAMPLES - 4), (i + 1) * count // (SAMPLES - 4)
        places.add(rng.randrange(lo, max(lo + 1, hi)))
    return sorted(places)


# --- tolerances ---------------------------------------------------------------

def round_up(value):
    """To two digits, upwards."""
    if value == 0:
        return 0
    scale = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / scale) * scale:.2g}")


def tolerance(got, wide):
    """From XLA's own distance to an f64 evaluation of the same function.

    Another order of summation, a fused multiply-add or another exp moves a result about as far as
    XLA's choices moved it from the exact one. The factor leaves room for orders with larger errors,
    such as a sum from left to right; in 16-bit types the roundings of the type dominate, and two
    implementations are at most twice as far apart as each is from the exact result.
    """
    scalars = flat_scalars(got).astype(np.float64)
    finite = scalars[np.isfinite(scalars)]
    scale = float(np.sqrt(np.mean(np.square(finite)))) if finite.size else 0.0
    kind = TYPES[str(got.dtype)]
    epsilon = ROUNDOFF.get(kind, 0.0)  # f8 values are only moved and converted, without error
    if wide is None or kind in ("f64", "c128"):
        return {"abs": round_up(64 * epsilon * scale), "rel": 64 * epsilon,
                "why": "64 units of roundoff, of the value and of the root mean square"}
    both = np.abs(scalars - flat_scalars(wide).astype(np.float64))
    error = float(both[np.isfinite(both)].max(initial=0))
    factor = 2 if kind in ("bf16", "f16") else 16
    return {"abs": round_up(max(factor * error, epsilon * scale)), "rel": factor * epsilon,
            "why": f"{factor} x the distance of XLA's values from an f64 evaluation, {error:.2g}"}


def widened(arrays):
    """The same arguments in 64 bits."""
    to = {"f": np.float64, "c": np.complex128}
    return [a.astype(to[a.dtype.kind]) if a.dtype.kind in to else
            a.astype(np.float64) if TYPES[str(a.dtype)][0] in "bf" else a for a in arrays]


# --- JAX ----------------------------------------------------------------------

def configure(folder):
    """CPU, f32, and source files named from `folder` on, whatever machine writes them."""
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_hlo_source_file_canonicalization_regex",
                      f"^.*/(?={folder}/)|^.*/site-packages/")
    # The programs are what a user wrote; the files that drive them are not.
    here = os.path.dirname(os.path.abspath(__file__))
    for name in ("reference.py", "spec.py", "../make_models.py", "../make_corpus.py",
                 "../make_sharded.py", "../corpus/register.py"):
        source_info_util.register_exclusion(os.path.normpath(os.path.join(here, name)))


def lower(model, platform="cpu"):
    """(JAX's lowering for the CPU, the HLO text for a platform, with large constants)."""
    shapes = jax.tree.map(lambda i: jax.ShapeDtypeStruct(i.shape, dtype_of(i.dtype)),
                          model.arguments)
    places = {"in_shardings": model.divided} if model.divided is not None else {}
    jitted = jax.jit(model.function, keep_unused=True, donate_argnums=model.donate, **places)
    lowered = jitted.lower(*shapes)
    there = lowered if platform == "cpu" else jitted.trace(*shapes).lower(
        lowering_platforms=(platform,))
    return lowered, normal_text(there.compiler_ir("hlo").get_hlo_module().to_string(options()))


def options(metadata=True):
    """XLA's default style, with every constant written out."""
    chosen = _hlo.HloPrintOptions()
    chosen.print_large_constants = True
    chosen.print_metadata = metadata
    return chosen


def normal_text(text, metadata=True):
    """The text that XLA prints for itself: its parser renumbers stack frames by first use."""
    chosen = options(metadata)
    for _ in range(8):
        before, text = text, _hlo.hlo_module_from_text(text).to_string(chosen).rstrip() + "\n"
        if text == before:
            return text
    raise ValueError("XLA's print of the module does not settle")


def evaluate_wide(model, arrays):
    """The outputs of the function on 64-bit arguments, or None if it cannot take them."""
    tree = jax.tree.structure(model.arguments)
    with contextlib.ExitStack() as stack:
        stack.enter_context(jax.enable_x64(True))
        try:
            result = jax.jit(model.function)(*jax.tree.unflatten(tree, widened(arrays)))
            return [np.asarray(x) for x in jax.tree.leaves(result)]
        except (TypeError, ValueError):
            return None


def output_json(index, got, wide, exact):
    row = {"index": index, "shape": shape_text(got.shape, got.dtype)}
    whole = WHOLE_INTEGERS if is_integer(got.dtype) else WHOLE_FLOATS
    if not is_integer(got.dtype) and not exact:
        row["tolerance"] = tolerance(got, wide)
    scalars = flat_scalars(got)
    if scalars.size <= whole:
        row["values"] = scalars_json(got)
    else:
        row["samples"] = [[i, scalar_json(scalars[i])] for i in sample_places(scalars, index)]
        row["statistics"] = statistics(scalars)
    return row


def evaluate(name, model, platform="cpu", compare_wide=True):
    """(HLO text, the reference as a dictionary, the input arrays, XLA's outputs)."""
    jax.clear_caches()  # else the metadata depends on what was traced before
    lowered, text = lower(model, platform)
    names, items = leaves(model)
    arrays = [generate(item, i, SEED) for i, item in enumerate(items)]
    wide = evaluate_wide(model, arrays) if compare_wide else None
    tree = jax.tree.structure(model.arguments)
    result = lowered.compile()(*jax.tree.unflatten(tree, [jax.numpy.asarray(a) for a in arrays]))
    outputs = [np.asarray(x) for x in jax.tree.leaves(result)]
    wide = wide or [None] * len(outputs)
    rows = []
    for i, (got, exact) in enumerate(zip(outputs, wide)):
        if (i in model.exact or is_integer(got.dtype)) and exact is not None:
            if not np.array_equal(got.astype(exact.dtype), exact, got.dtype.kind in "fc"):
                print(f"note: {name}: output {i} depends on rounding: f64 gives another")
        rows.append(output_json(i, got, exact, i in model.exact))
    reference = {
        "schema": 1, "name": name, "hlo": f"{name}.hlo", "about": model.about, "seed": SEED,
        "xla": {"jax": jax.__version__, "jaxlib": jaxlib.__version__, "platform": "cpu",
                "how": "jax.jit(f).lower(...).compile() on the inputs below"},
        "inputs": [input_json(i, n, item) for i, (n, item) in enumerate(zip(names, items))],
        "outputs": rows}
    return text, reference, arrays, outputs


def write_json(path, reference):
    """One line per input and per output."""
    lines = []
    for key, value in reference.items():
        if isinstance(value, list):
            rows = ",\n".join("  " + json.dumps(row, separators=(",", ":")) for row in value)
            lines.append(f"{json.dumps(key)}: [\n{rows}\n]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def save_inputs(folder, arrays):
    """arg0.npy, arg1.npy, ... in the form `hlo-run --input-dir` takes."""
    os.makedirs(folder, exist_ok=True)
    for i, array in enumerate(arrays):
        kind = TYPES[str(array.dtype)]
        with open(os.path.join(folder, f"arg{i}.npy"), "wb") as file:
            if kind in ("s2", "s4", "u2", "u4"):
                array = array.astype(np.int8 if kind[0] == "s" else np.uint8)
            descr = ("<V2" if kind == "bf16" else
                     "|V1" if kind.startswith(("f8", "f4")) else array.dtype.str)
            np.lib.format.write_array_header_1_0(
                file, {"descr": descr, "fortran_order": False, "shape": array.shape})
            file.write(np.ascontiguousarray(array).tobytes())
