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
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "testdata" / "models"
LARGE = ("mlp_train_step", "gpt2_small", "resnet18", "lstm", "kmeans", "embedding",
         "attention_bf16")


class BenchError(Exception):
    """A message for the user."""


def run(command, environment=None):
    """The standard output of a command, or an error with the last line of what it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env=os.environ | (environment or {}))
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()
        line = " ".join(map(str, command))
        raise BenchError(f"`{line}` ended with {done.returncode}: {said[-1]}")
    return done.stdout


def measure_hlo(tool, name, args):
    """hlo-run's own figures; the values are compared in a run of their own."""
    reference = FOLDER / f"{name}.json"
    base = [tool, FOLDER / f"{name}.hlo", f"--inputs-from={reference}", f"--threads={args.threads}",
            f"--platform={args.platform}"]
    if not args.no_check:
        run([*base, f"--expected={reference}"])
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "bench.json"
        run([*base, "--bench", f"--json={path}"])
        try:
            figures = json.loads(path.read_text(encoding="utf-8"))
            return figures | {"run_ms": dict(figures["run_ms"]),
                              "compile_ms": float(figures["compile_ms"])}
        except (OSError, ValueError, KeyError) as error:
            raise BenchError(f"what hlo-run wrote with --json is no report: {error!r}") from None


def oracle_python():
    """A Python that has JAX."""
    candidates = [os.environ.get("HLO_ORACLE_PYTHON"),
                  os.path.expanduser("~/.cache/hlo-oracle/bin/python"), "python3"]
    for python in filter(None, candidates):
        try:
            run([python, "-c", "import jax"])
            return python
        except (BenchError, OSError):
            continue
    raise BenchError("--oracle needs a Python with JAX (pip install jax==0.10.2 jaxlib==0.10.2); "
                     "name it in HLO_ORACLE_PYTHON")


def measure_xla(python, name, args):
    return json.loads(run([python, ROOT / "scripts" / "xla_times.py", name,
                           f"--threads={args.threads}"]))


def cpu_name():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "unknown CPU"


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
    parser.add_argument("--oracle", action="store_true", help="time XLA:CPU beside")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--platform", default="cpu", help="of hlo-run (cpu)")
    parser.add_argument("--hlo-run", default=ROOT / "build" / "release" / "bin" / "hlo-run",
                        help="the tool to time (build/release/bin/hlo-run)")
    parser.add_argument("--no-check", action="store_true", help="do not compare the values")
    parser.add_argument("--json", metavar="FILE", help="also write all figures")
    args = parser.parse_args()
    known = {p.stem for p in FOLDER.glob("*.json")}
    for name in args.names:
        if name not in known:
            parser.error(f"unknown model {name}; there are: {', '.join(sorted(known))}")
    try:
        if not os.access(args.hlo_run, os.X_OK):
            raise BenchError(f"{args.hlo_run}: no such program; build it with scripts/build")
        python = oracle_python() if args.oracle else None
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1

    print(f"{datetime.date.today()}, {cpu_name()}, {args.threads} threads, times in ms")
    beside = f" {'XLA comp.':>10} {'XLA run':>10} {'compile x':>10} {'run x':>7}" if python else ""
    print(f"{'model':20} {'compile':>10} {'run':>10}{beside}")
    results, failed = {}, 0
    for name in args.names or LARGE:
        try:
            ours = measure_hlo(args.hlo_run, name, args)
            theirs = measure_xla(python, name, args) if python else None
            results[name] = {"hlo": ours, "xla": theirs}
            print(row(name, ours, theirs), flush=True)
        except BenchError as error:
            failed += 1
            print(f"{name:20} {error}", flush=True)
    if args.json:
        report = {"date": str(datetime.date.today()), "cpu": cpu_name(), "threads": args.threads,
                  "load": os.getloadavg()[0], "models": results}
        pathlib.Path(args.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
