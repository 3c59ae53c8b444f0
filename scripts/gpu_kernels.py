#!/usr/bin/env python3
"""Compares what the assembler makes of the kernels of testdata/gpu_kernels with the table bounds.txt beside them.

    scripts/gpu_kernels.py [--build=build/release] [--update]

A kernel may not use local memory (spills), may use a seventh more registers than the table says and two, must access global
memory in the same widths, and use tensor cores just where the table says so. Skips where there is no ptxas, whose code the table is of.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "testdata/gpu_kernels"
TABLE = FOLDER / "bounds.txt"
HEAD = """# What the assembler makes of each kernel for sm_90; made by scripts/gpu_kernels.py --update.
# registers  tensor  loads  stores  module  kernel      (loads and stores: accesses of global memory, count x bytes)
"""


def kernels_of(tool, module):
    """Rows (registers, local, tensor, loads, stores, kernel); an error text where the module cannot be compiled."""
    # Every product by a kernel of our own, and each kernel on its own.
    done = subprocess.run([tool, str(module), "--platform=gpu", "--kernel-info", "--target=sm_90", "--no-gpu-library",
                           "--no-gpu-merge-steps"], capture_output=True, text=True, check=False,
                          env={**os.environ, "HLO_GPU_ASSEMBLER": "ptxas"})
    if done.returncode != 0:
        return done.stderr.strip()
    rows = []
    names = []  # of the columns: more may be added
    for line in done.stdout.splitlines():
        words = line.split()
        if words[:1] == ["registers"]:
            names = words
        elif names and len(words) == len(names) and words[0].isdigit():
            row = dict(zip(names, words))
            rows.append((int(row["registers"]), int(row["local"]), int(row["tensor"]), row["loads"], row["stores"], row["kernel"]))
    if not rows:
        return "no kernels in the table of --kernel-info"
    return sorted(rows, key=lambda row: int(re.match(r"k(\d+)", row[5]).group(1)))


def widths(text):
    """The widths in "8x16+1x4"."""
    return sorted({part.split("x")[1] for part in text.split("+") if "x" in part})


def problems_of(row, bound):
    registers, local, tensor, loads, stores, _kernel = row
    want_registers, want_tensor, want_loads, want_stores = bound
    if local:
        yield f"{local} accesses of local memory"
    if registers > want_registers * 8 // 7 + 2:
        yield f"{registers} registers, the table has {want_registers}"
    if bool(tensor) != bool(want_tensor):
        yield f"{tensor} tensor instructions, the table has {want_tensor}"
    for what, got, want in (("loads", loads, want_loads), ("stores", stores, want_stores)):
        if widths(got) != widths(want):
            yield f"{what} {got}, the table has {want}"


def read_table():
    table = {}
    for line in TABLE.read_text().splitlines():
        if line and not line.startswith("#"):
            registers, tensor, loads, stores, module, kernel = line.split()
            table[module, kernel] = (int(registers), int(tensor), loads, stores)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    found, passed, failed = {}, 0, 0
    for module in sorted(FOLDER.glob("*.hlo")):
        rows = kernels_of(args.build / "bin/hlo-run", module)
        if isinstance(rows, str):
            if "ptxas not found" in rows:
                print("no ptxas here\n0 passed, 0 failed, 1 skipped")
                return 0
            print(f"{module.name}: {rows}")
            failed += 1
            continue
        for row in rows:
            found[module.name, row[5]] = row
    if args.update:
        lines = [f"{row[0]:3}  {row[2]:3}  {row[3]:16}  {row[4]:16}  {module:16}  {kernel}" for (module, kernel), row in found.items()]
        TABLE.write_text(HEAD + "\n".join(lines) + "\n")
        print(f"{len(lines)} kernels written")
        return int(failed > 0)
    table = read_table()
    for key, row in found.items():
        problems = list(problems_of(row, table[key])) if key in table else ["not in the table"]
        for problem in problems:
            print(f"{key[0]} {key[1]}: {problem}")
        passed, failed = passed + (not problems), failed + bool(problems)
    for key in table.keys() - found.keys():
        print(f"{key[0]} {key[1]}: in the table, but not compiled any more")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
