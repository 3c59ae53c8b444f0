#!/usr/bin/env python3
"""Writes the large HLO modules on which scripts/bench_parse.py times the parser and the printer.

    scripts/make_parse_modules.py jax --output=jax.hlo              # 4 MB
    scripts/make_parse_modules.py constants --bytes=500000000 --output=large.hlo

jax           a JAX dump: nested computations, metadata, stack frame tables (scripts/make_big_module.py)
shardings     a partitioned program: every instruction has a sharding, one in five is a collective
constants     large constants of several element types, little else
computations  10^5 (by default) computations of three instructions, each called once

All are valid and the same arguments give the same bytes. Standard library only.
"""

import argparse
import random
import struct
import subprocess
import sys
import pathlib

DEVICES = 64


def lines_until(size, make):
    """Lines of make(0), make(1), … until they hold `size` bytes."""
    lines, total, number = [], 0, 0
    while total < size:
        line = make(number)
        lines.append(line)
        total += len(line) + 1
        number += 1
    return lines


def shardings(size):
    """A chain of values of one shape, every one with a sharding."""
    groups = ["replica_groups={" + ",".join("{" + ",".join(str(g * 8 + i) for i in range(8)) + "}" for g in range(8)) + "}",
              "replica_groups=[8,8]<=[64]", "replica_groups=[8,8]<=[8,8]T(1,0)",
              "replica_groups={" + ",".join("{" + ",".join(str(i * 8 + g) for i in range(8)) + "}" for g in range(8)) + "}"]
    forms = ["{devices=[8,8]<=[64]}", "{devices=[8,1,8]<=[64] last_tile_dim_replicate}", "{replicated}",
             "{devices=[1,8,8]<=[8,8]T(1,0) last_tile_dim_replicate}", "{devices=[64,1]<=[64]}", "{manual}",
             "{devices=[8,2,4]<=[8,2,4]T(2,1,0) last_tile_dims={manual}}", "{maximal device=3}",
             "{devices=[4,4,2,2]<=[2,2,4,4]T(3,2,1,0) last_tile_dims={manual, replicated}}",
             "{devices=[8,8]" + ",".join(str((i * 37) % 64) for i in range(DEVICES)) + "}"]
    shape = "f32[1024,4096]{1,0}"

    def line(n):
        a, b = f"%v.{max(n - 1, 0)}", f"%v.{max(n - 7, 0)}"
        tail = (f', sharding={forms[(n * 7 + n // 11) % len(forms)]}, metadata={{op_name="jit(step)/jit(main)/layer_{n // 40}/op_{n % 40}" '
                f'source_file="model.py" source_line={n % 900}}}')
        if n == 0:
            return f"  %v.0 = {shape} parameter(0){tail}"
        if n % 5 == 4:
            return (f"  %v.{n} = {shape} all-reduce({a}), channel_id={n}, {groups[(n // 5) % len(groups)]}, use_global_device_ids=true, "
                    f"to_apply=%add{tail}")
        return f"  %v.{n} = {shape} {('add', 'multiply', 'subtract', 'maximum')[n % 4]}({a}, {b}){tail}"

    lines = lines_until(size, line)
    last = len(lines) - 1
    lines[last] = "  ROOT" + lines[last][1:]
    return (f"HloModule pjit_step, entry_computation_layout={{({shape})->{shape}}}, num_partitions={DEVICES}\n\n"
            "%add (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %y = f32[] parameter(1)\n"
            "  ROOT %sum = f32[] add(%x, %y)\n}\n\n"
            f"ENTRY %main (v.0: f32[1024,4096]) -> f32[1024,4096] {{\n" + "\n".join(lines) + "\n}\n")


def short_float(value):
    """The shortest decimal that a 32-bit float is read back from."""
    packed = struct.pack("f", value)
    for digits in range(6, 10):
        text = f"{value:.{digits}g}"
        if struct.pack("f", float(text)) == packed:
            return text
    return text


def constants(size):
    """Constants of f32 (half of the text), s32, bf16, pred and f64, one million elements or fewer each."""
    rng = random.Random(7)
    pool = [short_float(struct.unpack("f", struct.pack("f", rng.gauss(0, 1)))[0]) for _ in range(4096)]
    wide = [repr(rng.gauss(0, 1)) for _ in range(1024)]
    kinds = [("f32", lambda: rng.choices(pool, k=64)), ("s32", lambda: [str(rng.getrandbits(20)) for _ in range(64)]),
             ("f32", lambda: rng.choices(pool, k=64)), ("bf16", lambda: [str(rng.randrange(256) / 4) for _ in range(64)]),
             ("f32", lambda: rng.choices(pool, k=64)), ("pred", lambda: [str(rng.getrandbits(1)) for _ in range(64)]),
             ("f32", lambda: rng.choices(pool, k=64)), ("f64", lambda: rng.choices(wide, k=64))]
    each = min(size // len(kinds), 1_000_000 * 8)
    pieces, results, total = [], [], 0
    while total < size:
        kind, row = kinds[len(results) % len(kinds)]
        rows = ["{ " + ", ".join(row()) + " }"]
        count = max(1, each // (len(rows[0]) + 3))
        rows += ["{ " + ", ".join(row()) + " }" for _ in range(min(count, 4096) - 1)]
        rows = (rows * (count // len(rows) + 1))[:count]
        shape = f"{kind}[{count},64]{{1,0}}"
        name = f"%c.{len(results)}"
        piece = f"  {name} = {shape} constant({{ " + ", ".join(rows) + " })\n"
        pieces.append(piece)
        results.append((name, shape))
        total += len(piece)
    shape = "(" + ", ".join(s for _, s in results) + ")"
    bare = "(" + ", ".join(s[:s.index("{")] for _, s in results) + ")"
    return (f"HloModule weights, entry_computation_layout={{()->{shape}}}\n\nENTRY %main () -> {bare} {{\n" + "".join(pieces) +
            f"  ROOT %all = {shape} tuple({', '.join(n for n, _ in results)})\n}}\n")


def computations(size):
    """As many computations of three instructions as asked for (`size` bytes at about 240 each)."""
    count = max(1, size // 240)
    bodies = []
    for n in range(count):
        op = ("add", "maximum", "multiply", "minimum")[n % 4]
        bodies.append(f"%region_{n}.{n} (a.{n}: f32[], b.{n}: f32[]) -> f32[] {{\n  %a.{n} = f32[] parameter(0)\n"
                      f"  %b.{n} = f32[] parameter(1)\n  ROOT %{op}.{n} = f32[] {op}(%a.{n}, %b.{n})\n}}\n")
    calls = "\n".join(f"  %call.{n} = f32[] call(%{'p' if n == 0 else f'call.{n - 1}'}, %p), to_apply=%region_{n}.{n}"
                      for n in range(count))
    at = calls.rindex("\n") + 1 if "\n" in calls else 0
    calls = calls[:at] + "  ROOT" + calls[at + 1:]
    return ("HloModule many, entry_computation_layout={(f32[])->f32[]}\n\n" + "\n".join(bodies) +
            "\nENTRY %main (p: f32[]) -> f32[] {\n  %p = f32[] parameter(0)\n" + calls + "\n}\n")


def jax(size):
    script = pathlib.Path(__file__).resolve().parent / "make_big_module.py"
    return subprocess.run([sys.executable, script, f"--bytes={size}"], check=True, capture_output=True, text=True).stdout


KINDS = {"jax": (jax, 4_000_000), "shardings": (shardings, 4_000_000), "constants": (constants, 32_000_000),
         "computations": (computations, 24_000_000)}


def module_text(kind, size=None):
    make, usual = KINDS[kind]
    return make(size or usual)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--bytes", type=int, help="about this long (4 MB, constants 32 MB, computations 24 MB)")
    parser.add_argument("--output", default="-", help="the file to write (standard output)")
    args = parser.parse_args()
    text = module_text(args.kind, args.bytes)
    if args.output == "-":
        sys.stdout.write(text)
    else:
        pathlib.Path(args.output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
