#!/usr/bin/env python3
"""Times hlo-run on one program of each kind, XLA:CPU in turns with it; `scripts/bench suite`.

    scripts/bench_suite.py --oracle              # all programs of testdata/bench
    scripts/bench_suite.py --oracle sorts top_k  # some
    scripts/bench_suite.py                       # without XLA: times, and whether values are right

In every round the two take turns on the same threads, each compiles and runs. A ratio is XLA's time
by ours: above 1 hlo is faster. Other programs may disturb a turn, so there are two of them: of the
medians over the rounds, and of the least times. A program is too slow when both are below --limit,
in the first rounds and again in twice as many later ones.

Exit codes: 0 none is too slow, 1 one is, or failed, or was wrong, 2 wrong usage.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import bench_common
from bench_common import BenchError, ROOT, run

FOLDER = ROOT / "testdata" / "bench"
PARTS = ("compile", "run")
NO_CACHE = {"DNNL_PRIMITIVE_CACHE_CAPACITY": "0"}  # oneDNN: else only the first compilation is one


class Xla:
    """A process that keeps XLA ready and times one turn when asked."""

    def __init__(self, threads):
        command = [bench_common.oracle_python(), ROOT / "scripts" / "xla_times.py", "--turns",
                   f"--threads={threads}", "--compile-repeat=2"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self.process.stdout.readline()
        if not answer:
            said = self.process.stderr.read().strip().splitlines() or ["no output"]
            raise BenchError(f"XLA ended: {said[-1]}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Times:
    """What the rounds measured of one compiler: medians and least times, compile and run."""

    def __init__(self):
        self.rounds = []

    def add(self, turn):
        self.rounds.append(turn)

    def median(self, part):
        return statistics.median(turn[f"{part}_ms"]["median"] for turn in self.rounds)

    def least(self, part):
        return min(turn[f"{part}_ms"]["min"] for turn in self.rounds)

    def figures(self):
        return {part: {"median": self.median(part), "min": self.least(part)} for part in PARTS}


def our_turn(name, args):
    base = bench_common.command(FOLDER, name, args)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "bench.json"
        run([*base, "--bench", "--bench-compiles=3", "--bench-min-runs=3",
             f"--bench-min-seconds={args.seconds}", f"--json={path}"], NO_CACHE)
        turn = json.loads(path.read_text(encoding="utf-8"))
    compiled = turn["compile_ms"]
    return {"compile_ms": {"median": compiled, "min": compiled}, "run_ms": turn["run_ms"]}


def check(name, args):
    run([*bench_common.command(FOLDER, name, args), f"--expected={FOLDER / name}.json"])


def measure(name, xla, rounds, args):
    ours, theirs = Times(), Times()
    if xla:
        xla.ask(f"load {FOLDER / name}.json")
    for _ in range(rounds):
        ours.add(our_turn(name, args))
        if xla:
            theirs.add(xla.ask(f"turn {args.seconds}"))
    return ours, theirs


def ratios(ours, theirs, part):
    return theirs.median(part) / ours.median(part), theirs.least(part) / ours.least(part)


def slow_parts(ours, theirs, limit):
    """What takes longer than XLA, whether one asks the medians or the least times."""
    return [part for part in PARTS if max(ratios(ours, theirs, part)) < limit]


def row(name, ours, theirs):
    text = f"{name:24}"
    for part in PARTS:
        text += f" {ours.median(part):9.3f}"
        if theirs.rounds:
            median, least = ratios(ours, theirs, part)
            text += f" {theirs.median(part):9.3f} {median:6.2f} {least:6.2f}"
    return text


def heading(oracle):
    text = f"{'program':24}"
    for part in PARTS:
        text += f" {part:>9}"
        if oracle:
            text += f" {'XLA':>9} {'ratio':>6} {'least':>6}"
    return text


def one(name, xla, args):
    """Measures one program and prints its row: (its figures, what is slow)."""
    if not args.no_check:
        check(name, args)
    ours, theirs = measure(name, xla, args.rounds, args)
    slow = slow_parts(ours, theirs, args.limit) if xla else []
    if slow:
        again = measure(name, xla, 2 * args.rounds, args)
        slow = [part for part in slow if part in slow_parts(*again, args.limit)]
        ours, theirs = again
    note = f"  slow: {', '.join(slow)}" if slow else ""
    print(row(name, ours, theirs) + note, flush=True)
    figures = {"hlo": ours.figures(), "xla": theirs.figures() if xla else None, "slow": slow}
    return figures, slow


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    known = sorted(p.stem for p in FOLDER.glob("*.json"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all of testdata/bench")
    bench_common.add_flags(parser, min(2, len(os.sched_getaffinity(0))), "in turns")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each (3)")
    parser.add_argument("--seconds", type=float, default=0.25, help="of runs in a turn (0.25)")
    parser.add_argument("--limit", type=float, default=0.95, help="least ratio (0.95)")
    args = bench_common.parse(parser, known, "program")
    args.names = args.names or known
    return args


def main():
    args = arguments()
    xla = bench_common.start(args, lambda: Xla(args.threads))
    print(heading(args.oracle))
    results, failed, slow_names = {}, [], []
    for name in args.names:
        try:
            results[name], slow = one(name, xla, args)
            slow_names += [name] if slow else []
        except BenchError as error:
            failed.append(name)
            print(f"{name:24} {error}", flush=True)
            if xla and xla.process.poll() is not None:
                xla = Xla(args.threads)
    if xla:
        xla.close()
        print(f"{len(results) - len(slow_names)} of {len(args.names)} programs at or above "
              f"{args.limit}, {len(slow_names)} below, {len(failed)} failed")
    bench_common.write_report(args, "programs", results)
    return 1 if failed or slow_names else 0


if __name__ == "__main__":
    sys.exit(main())
