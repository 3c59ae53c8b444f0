#!/usr/bin/env python3
"""Times the models of testdata/models with hlo-run, and XLA:CPU beside it; `scripts/bench models`.

    scripts/bench_models.py                  # all models
    scripts/bench_models.py --oracle lstm    # one, XLA beside it in the same run

Compile is all from the parsed module to a runnable executable, run the median with the arguments in
memory. A ratio above 1 in `compile x` means hlo compiles faster; below 1 in `run x` that it runs
faster. Every model is also checked against its reference values, unless --no-check. The Python of
XLA is $HLO_ORACLE_PYTHON, else ~/.cache/hlo-oracle/bin/python, else python3, whichever has JAX.

Exit codes: 0 measured, 1 a model failed or was wrong, 2 wrong usage.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

import bench_common
from bench_common import BenchError, ROOT, run

FOLDER = ROOT / "testdata" / "models"
LARGE = ("mlp_train_step", "gpt2_small", "resnet18", "lstm", "kmeans", "embedding",
         "attention_bf16")


def measure_hlo(name, args):
    """hlo-run's own figures; the values are compared in a run of their own."""
    base = bench_common.command(FOLDER, name, args)
    if not args.no_check:
        run([*base, f"--expected={FOLDER / name}.json"])
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "bench.json"
        run([*base, "--bench", f"--json={path}"])
        try:
            figures = json.loads(path.read_text(encoding="utf-8"))
            return figures | {"run_ms": dict(figures["run_ms"]),
                              "compile_ms": float(figures["compile_ms"])}
        except (OSError, ValueError, KeyError) as error:
            raise BenchError(f"what hlo-run wrote with --json is no report: {error!r}") from None


def measure_xla(python, name, args):
    return json.loads(run([python, ROOT / "scripts" / "xla_times.py", name,
                           f"--threads={args.threads}"]))


def row(name, ours, theirs):
    """One line of the table."""
    text = f"{name:20} {ours['compile_ms']:10.1f} {ours['run_ms']['median']:10.3f}"
    if theirs:
        compile_ratio = theirs["compile_ms"] / ours["compile_ms"]
        run_ratio = ours["run_ms"]["median"] / theirs["run_ms"]["median"]
        text += (f" {theirs['compile_ms']:10.1f} {theirs['run_ms']['median']:10.3f}"
                 f" {compile_ratio:10.2f} {run_ratio:7.2f}")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"default: {', '.join(LARGE)}; also the small variants")
    bench_common.add_flags(parser, len(os.sched_getaffinity(0)), "beside")
    args = bench_common.parse(parser, {p.stem for p in FOLDER.glob("*.json")}, "model")
    python = bench_common.start(args, bench_common.oracle_python)
    beside = f" {'XLA comp.':>10} {'XLA run':>10} {'compile x':>10} {'run x':>7}" if python else ""
    print(f"{'model':20} {'compile':>10} {'run':>10}{beside}")
    results, failed = {}, 0
    for name in args.names or LARGE:
        try:
            ours = measure_hlo(name, args)
            theirs = measure_xla(python, name, args) if python else None
            results[name] = {"hlo": ours, "xla": theirs}
            print(row(name, ours, theirs), flush=True)
        except BenchError as error:
            failed += 1
            print(f"{name:20} {error}", flush=True)
    bench_common.write_report(args, "models", results)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
