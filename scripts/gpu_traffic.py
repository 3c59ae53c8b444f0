#!/usr/bin/env python3
"""What the GPU platform moves through memory for each program of testdata/bench, beside what it must: inputs and outputs.

    scripts/gpu_traffic.py             writes testdata/gpu_kernels/traffic.txt
    scripts/gpu_traffic.py --check     compares with it: more bytes or launches than there are an error

Nothing runs and no GPU is needed: the compiler says which parts of buffers each kernel reads and writes (`hlo-run --emit=buffers,thunks`).
A loop counts as one iteration of it, a gather as all that it reads from. `--build=DIR` or `--tool=HLO-RUN` says which compiler, `--table=FILE`
which table, `--filter=REGEX` which programs.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "testdata/gpu_kernels/traffic.txt"
HEAD = """# Bytes that kernels read and write, bytes of inputs and outputs, the ratio of both, and launches; a loop is one iteration.
# Made by scripts/gpu_traffic.py.
#       moved   in and out   ratio  launches  program
"""
# One launch of what stands below it, further in.
MERGED = ("steps", "loop-steps")
# Lines that launch nothing themselves.
CONTROL = ("for", "while", "condition:", "body:", "conditional", "branch", "call", "graph")


def size_of_parts(words):
    """The bytes in words such as `r:a0[0:64]`."""
    parts = (re.fullmatch(r"[rw]:a\d+\[(\d+):(\d+)\]", word) for word in words)
    return sum(int(part[2]) - int(part[1]) for part in parts if part)


def traffic_of(tool, module):
    """(moved, needed, launches) of a program; an error text where it cannot be compiled."""
    # The same on every machine: no library, one target.
    done = subprocess.run([tool, str(module), "--platform=gpu-sim", "--target=sm_90", "--no-gpu-library", "--emit=buffers,thunks"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip()
    buffers, _, thunks = done.stdout.partition("// ---- thunks\n")
    needed = sum(int(size) for size in re.findall(r"^a\d+: (?:argument|result) (\d+) bytes", buffers, re.MULTILINE))
    lines = [(len(line) - len(line.lstrip()), line.split()) for line in thunks.splitlines() if line.strip()]
    moved, launches = 0, 0
    merged_at = None  # the indentation of the launch that is open
    for indent, words in lines:
        if merged_at is not None and indent <= merged_at:
            merged_at = None
        kind = words[0]
        if kind in CONTROL:
            continue
        if merged_at is None:
            launches += 1
            if kind in MERGED:
                merged_at = indent
        # What a merged launch says of buffers is what its parts say.
        if kind not in MERGED:
            moved += size_of_parts(words)
    return moved, needed, launches


def line_of(name, row):
    moved, needed, launches = row
    return f"{moved:13}  {needed:11}  {moved / max(needed, 1):6.2f}  {launches:8}  {name}"


def read_table(path):
    table = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            moved, needed, _ratio, launches, name = line.split()
            table[name] = (int(moved), int(needed), int(launches))
    return table


def compare(found, table):
    """Prints what is worse than the table; how many programs passed and failed."""
    passed, failed, better = 0, 0, 0
    for name, row in found.items():
        want = table.get(name)
        problems = ["not in the table"] if want is None else [
            f"{what} {got}, the table has {bound}"
            for what, got, bound in zip(("moved", "in and out", "launches"), row, want)
            if got > bound or (what == "in and out" and got != bound)]
        for problem in problems:
            print(f"{name}: {problem}")
        passed, failed, better = passed + (not problems), failed + bool(problems), better + (not problems and row != want)
    for name in sorted(table.keys() - found.keys()):
        print(f"{name}: in the table, but not compiled any more")
        failed += 1
    if better:
        print(f"{better} programs are better than the table: run scripts/gpu_traffic.py")
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--tool", type=pathlib.Path)
    parser.add_argument("--table", type=pathlib.Path, default=TABLE)
    parser.add_argument("--filter", default="")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    tool = args.tool or args.build / "bin/hlo-run"
    found, refused = {}, 0
    for module in sorted((ROOT / "testdata/bench").glob("*.hlo")):
        if not re.search(args.filter, module.name):
            continue
        row = traffic_of(tool, module)
        if isinstance(row, str):
            print(f"{module.name}: {row}")
            refused += 1
        else:
            found[module.name] = row
    if args.check:
        table = {name: row for name, row in read_table(args.table).items() if re.search(args.filter, name)}
        passed, failed = compare(found, table)
        print(f"{passed} passed, {failed} failed")
        return int(failed > 0)
    args.table.write_text(HEAD + "".join(line_of(name, row) + "\n" for name, row in found.items()))
    print(f"{len(found)} programs written, {refused} failed")
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main())
