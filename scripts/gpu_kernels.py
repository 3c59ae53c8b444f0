#!/usr/bin/env python3
"""Compares what the assembler makes of the kernels of testdata/gpu_kernels with the table bounds.txt beside them.

    scripts/gpu_kernels.py [--build=build/release] [--update]

A kernel may not use local memory (spills), may use a seventh more registers than the table says and two, must access global
memory in the same widths, and use tensor cores just where the table says so. Of instructions for each byte that its code loads or stores
it may have a fifth more, and of its blocks a multiprocessor must hold three quarters as many. Skips where there is no ptxas, whose code the
table is of.
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
# registers  tensor  loads  stores  instructions per byte  blocks per multiprocessor  module  kernel
# (loads and stores: accesses of global memory, count x bytes; instructions per byte: those of the code, by the bytes of these)
"""
COLUMNS = ("registers", "tensor", "loads", "stores", "per byte", "blocks", "module", "kernel")
THREADS = 2048  # that a multiprocessor of sm_90 holds


def kernels_of(tool, module):
    """Rows by the names of columns, in the order of kernels; an error text where the module cannot be compiled."""
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
            rows.append(dict(zip(names, words)))
    if not rows:
        return "no kernels in the table of --kernel-info"
    return sorted(rows, key=lambda row: row["kernel"])


def per_byte(row):
    """Instructions for each byte of global memory that one pass through the code accesses."""
    parts = (part.split("x") for text in (row["loads"], row["stores"]) for part in text.split("+") if "x" in part)
    return int(row["instructions"]) / max(1, sum(int(count) * int(size) for count, size in parts))


def blocks(row):
    """Blocks that a multiprocessor holds at a time: it is full to a percentage."""
    return round(int(row["occupancy"].rstrip("%")) / 100 * THREADS / int(row["threads"]))


def widths(text):
    """The widths in "8x16+1x4"."""
    return sorted({part.split("x")[1] for part in text.split("+") if "x" in part})


def problems_of(row, bound):
    registers, want = int(row["registers"]), int(bound["registers"])
    if int(row["local"]):
        yield f"{row['local']} accesses of local memory"
    if registers > want * 8 // 7 + 2:
        yield f"{registers} registers, the table has {want}"
    if (row["tensor"] == "0") != (bound["tensor"] == "0"):
        yield f"{row['tensor']} tensor instructions, the table has {bound['tensor']}"
    for what in ("loads", "stores"):
        if widths(row[what]) != widths(bound[what]):
            yield f"{what} {row[what]}, the table has {bound[what]}"
    if per_byte(row) > float(bound["per byte"]) * 1.2 + 0.05:
        yield f"{per_byte(row):.1f} instructions per byte, the table has {bound['per byte']}"
    if blocks(row) * 4 < int(bound["blocks"]) * 3:
        yield f"{blocks(row)} blocks on a multiprocessor, the table has {bound['blocks']}"


def read_table():
    table = {}
    for line in TABLE.read_text().splitlines():
        if line and not line.startswith("#"):
            bound = dict(zip(COLUMNS, line.split()))
            table[bound["module"], bound["kernel"]] = bound
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
            found[module.name, row["kernel"]] = row
    if args.update:
        lines = [f"{row['registers']:>3}  {row['tensor']:>3}  {row['loads']:16}  {row['stores']:16}  {per_byte(row):5.1f}  {blocks(row):3}  "
                 f"{module:16}  {kernel}" for (module, kernel), row in found.items()]
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
