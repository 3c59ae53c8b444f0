#!/usr/bin/env python3
"""Speed of the passes on generated modules of 20,000, 200,000 and 1,000,000 instructions; `scripts/bench passes`.

For each pass: milliseconds on the smallest module (best of several runs, the pass alone), and instructions per second on each: near-linear
passes keep their speed. With --oracle, what the first run of XLA:CPU's pass of that name takes on the smallest module, in the same run, and how many times as long that is. Targets
(--check exits with 1 when one is missed): 60 ms, no longer than XLA's, and a quarter of the speed (or 2 million instructions per second)
at the largest size. Standard library only.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from bench_common import BenchError, oracle_python

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZES = [20_000, 200_000, 1_000_000]
BYTES_PER_INSTRUCTION = 127
PASSES = ["algsimp", "dce", "hlo-module-dce", "cse", "tuple-simplifier", "constant_folding", "call-inliner", "map-inline", "flatten-call-graph",
          "zero_sized_hlo_elimination", "defuser", "despecializer", "control-dep-remover", "logistic-expander", "hlo-verifier",
          "hlo-trivial-scheduler", "hlo-descheduler", "hlo-trivial-scheduler,root-instruction-sinker", "subcomputation-unification",
          "simplify-sorts", "batch-dot-simplification", "while-loop-trip-count-annotator", "simplify-while-loops",
          "sanitize-constant-names", "hlo-memory-scheduler", "test-only-foo2bar", "test-only-bar2hello"]
LIMIT_MS = 60
FAST = 2  # million instructions per second: a walk over the module at the speed of memory


def module_of(instructions, folder):
    path = folder / f"module_{instructions}.hlo"
    subprocess.run([sys.executable, ROOT / "scripts/make_big_module.py", f"--bytes={instructions * BYTES_PER_INSTRUCTION}",
                    f"--output={path}"], check=True)
    text = path.read_text(encoding="utf-8")
    return path, len(re.findall(r"^\s+(?:ROOT )?%", text, re.M)), len(re.findall(r"^(?:ENTRY )?%", text, re.M))


def milliseconds(tool, path, passes):
    """Pass name -> time of that pass on the module, from one process per pass."""
    result = {}
    for text in passes:
        done = subprocess.run([tool, path, f"--passes={text}", "--verify-each=false", "--time-passes", "-o", "/dev/null"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{text}: {done.stderr}")
        name = re.split(r"[,{]", text)[-1] if "{" not in text else text.split("{")[0]
        for line in done.stderr.splitlines():
            fields = line.split()
            if len(fields) == 5 and fields[4] == name:
                result[text] = float(fields[0])
    return result


def xla_milliseconds(path, names, folder):
    done = subprocess.run([oracle_python(), ROOT / "scripts/xla_passes.py", f"--to={folder / 'xla'}", "--time", path],
                          capture_output=True, text=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    if not rows or not rows[-1].get("ok"):
        return {}
    # The first run sees most of the module; later ones see what is left.
    return {name: times[0] / 1e3 for name, times in rows[-1]["times"].items() if name in names}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--only", default=",".join(PASSES), help="passes, separated by commas")
    parser.add_argument("--sizes", default=",".join(str(size) for size in SIZES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--oracle", action="store_true", help="beside XLA's passes")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    options = parser.parse_args()
    tool = ROOT / options.build / "bin/hlo-opt"
    wanted = options.only.split(",")
    passes = [text for text in PASSES if re.split(r"[,{]", text)[-1] in wanted or text in wanted]
    passes += [name for name in wanted if name not in PASSES and not any(name in text for text in PASSES)]
    sizes = [int(size) for size in options.sizes.split(",")]
    missed = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        times, counts = {}, {}
        for size in sizes:
            path, counts[size], computations = module_of(size, folder)
            print(f"{counts[size]} instructions in {computations} computations", flush=True)
            runs = [milliseconds(tool, path, passes) for _ in range(options.repeats if size == sizes[0] else 1)]
            times[size] = {text: min(run[text] for run in runs) for text in passes}
        theirs = {}
        if options.oracle:
            try:
                theirs = xla_milliseconds(folder / f"module_{sizes[0]}.hlo", passes, folder)
            except BenchError as error:
                sys.exit(str(error))
    print(f"{'pass':<34} {'ms':>9} {'XLA ms':>9} {'ratio':>7}  " + " ".join(f"{f'M/s at {size}':>16}" for size in sizes))
    for text in passes:
        name = text.split(",")[-1]
        speeds = [counts[size] / max(times[size][text], 1e-3) / 1e3 for size in sizes]
        ours = max(times[sizes[0]][text], 1e-3)
        xla = f"{theirs[name]:9.2f} {theirs[name] / ours:6.1f}x" if name in theirs else " " * 17
        print(f"{name:<34} {times[sizes[0]][text]:9.2f} {xla}  " + " ".join(f"{speed:16.2f}" for speed in speeds))
        if name in theirs and ours > theirs[name]:
            missed.append(f"{name}: {ours:.2f} ms, XLA's takes {theirs[name]:.2f} ms")
        if times[sizes[0]][text] > LIMIT_MS:
            missed.append(f"{name}: {times[sizes[0]][text]:.1f} ms instead of {LIMIT_MS}")
        if speeds[-1] < min(speeds[0] / 4, FAST):
            missed.append(f"{name}: {speeds[0] / speeds[-1]:.1f} times slower per instruction on the largest module")
    for line in missed:
        print(f"missed: {line}")
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
