#!/usr/bin/env python3
"""Speed and memory of the parser, the printer and the verifier on four generated modules; `scripts/bench parse`.

With --oracle, XLA's parser and printer read and write the same texts in the same run, through a Python with
jaxlib. Both take turns, several rounds each: a machine that is slow for some seconds is so for both. All times are
processor time (medians), so that other work on the machine changes little. Targets
(--check exits with 1 when one is missed): parse 5 times XLA's speed, print 3 times, memory 6 times the text of
code and 1.3 times the data of constants, verifying 20,000 instructions in 30 ms.
"""

import argparse
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

import make_parse_modules
from bench_common import BenchError, oracle_python

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROUNDS = 3
KINDS = ["jax", "shardings", "constants", "computations"]

# What runs in the Python with jaxlib: reads file names, writes one JSON line each.
XLA = r"""
import json, statistics, sys, time
try:
    from jaxlib import _hlo
except ImportError:
    from jaxlib.xla_client import _xla as _hlo
options = _hlo.HloPrintOptions()
options.print_large_constants = True
for path in sys.argv[2:]:
    text = open(path, encoding="utf-8").read()
    parse, show, printed = [], [], 0
    for _ in range(int(sys.argv[1])):
        start = time.process_time()
        module = _hlo.hlo_module_from_text(text)
        parse.append(time.process_time() - start)
        start = time.process_time()
        printed = len(module.to_string(options))
        show.append(time.process_time() - start)
    print(json.dumps({"printed_bytes": printed, "parse_ms": statistics.median(parse) * 1e3,
                      "print_ms": statistics.median(show) * 1e3}), flush=True)
"""


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def run_json(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def middle(runs):
    """The median of each figure over several processes; None without any."""
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]} if runs else None


def speed(figures, bytes_key, time_key):
    return figures[bytes_key] / 1e3 / max(figures[time_key], 1e-3)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(KINDS), help=f"some of {', '.join(KINDS)}")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--oracle", action="store_true", help="beside XLA's parser and printer")
    parser.add_argument("--python", help="a Python with jaxlib, for --oracle")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--build", default="build/release")
    options = parser.parse_args()
    program = ROOT / options.build / "bin/hlo_parse_bench"
    try:
        python = options.python or (oracle_python() if options.oracle else None)
    except BenchError as error:
        sys.exit(str(error))
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for kind in options.only.split(","):
            files[kind] = pathlib.Path(folder) / f"{kind}.hlo"
            files[kind].write_text(make_parse_modules.module_text(kind), encoding="utf-8")
        print(f"{processor()}, {ROUNDS} rounds of {options.repeats} repeats, medians of processor time")
        print(f"{'module':14}{'MB':>7}{'parse MB/s':>12}{'XLA':>8}{'x':>7}{'print MB/s':>12}{'XLA':>8}{'x':>7}"
              f"{'memory':>9}{'of':>6}{'verify ms':>11}{'instructions':>14}")
        for kind, path in files.items():
            own_runs, xla_runs = [], []
            for _ in range(ROUNDS):
                own_runs += run_json([program, path, options.repeats])
                xla_runs += run_json([python, "-c", XLA, max(1, options.repeats // 2), path]) if python else []
            own, xla = middle(own_runs), middle(xla_runs)
            if xla:
                xla["bytes"] = own["bytes"]
            parse, show = speed(own, "bytes", "parse_ms"), speed(own, "printed_bytes", "print_ms")
            xla_parse = speed(xla, "bytes", "parse_ms") if xla else 0
            xla_show = speed(xla, "printed_bytes", "print_ms") if xla else 0
            base = "data" if kind == "constants" else "text"
            memory = own["peak_bytes"] / own["data_bytes" if kind == "constants" else "bytes"]
            each = own["verify_ms"] / own["instructions"] * 20_000

            def ratio(a, b):
                return f"{a / b:7.1f}" if b else f"{'-':>7}"

            print(f"{kind:14}{own['bytes'] / 1e6:7.1f}{parse:12.1f}{xla_parse or 0:8.1f}{ratio(parse, xla_parse)}{show:12.1f}"
                  f"{xla_show or 0:8.1f}{ratio(show, xla_show)}{memory:8.2f}x{base:>6}{own['verify_ms']:11.1f}{own['instructions']:14.0f}",
                  flush=True)
            limits = [(xla and parse < 5 * xla_parse, "parse"), (xla and show < 3 * xla_show, "print"),
                      (memory > (1.3 if kind == "constants" else 6), "memory"), (kind == "jax" and each > 30, "verify")]
            missed += [f"{kind}: {name}" for bad, name in limits if bad]
    if missed:
        print("missed: " + ", ".join(missed))
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
