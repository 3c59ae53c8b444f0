#!/usr/bin/env python3
"""What a pass is worth in `default<cpu>`: each candidate in and out, in turns; `scripts/bench pipelines`.

    scripts/bench_pipelines.py                       # all variants, models and one program of each kind
    scripts/bench_pipelines.py --variant=algsimp     # one
    scripts/bench_pipelines.py --variant=algsimp lstm kmeans

A variant is `default<cpu>` with a pass more or a pass less. Where it leaves a program as it was
nothing is timed. Elsewhere the pipeline as it is and the variant take turns, each compiles and runs;
a ratio is the time of the pipeline as it is by that of the variant: above 1 the variant is faster.
Ratios are of medians over the rounds; the last row of a variant has geometric means.

Exit codes: 0 measured, 1 a variant failed on a program, 2 wrong usage.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys
import tempfile

import bench_common
import bench_models
import bench_suite
from bench_common import BenchError, ROOT, run

PARTS = ("compile", "run")
FOLDERS = {"models": bench_models.LARGE,
           "bench": sorted(path.stem for path in bench_suite.FOLDER.glob("*.json"))}


def without(name):
    """The pipeline without a pass, wherever it stands."""
    return lambda steps: [step for step in steps if step.split("{")[0] != name]


def after(name, *new):
    """The pipeline with more passes after the last one of this name."""
    def change(steps):
        last = max(i for i, step in enumerate(steps) if step.split("{")[0] == name)
        return [*steps[:last + 1], *new, *steps[last + 1:]]
    return change


# Simplification stands where the module is clean and not yet changed for the code generator.
VARIANTS = {
    "algsimp": after("constant_folding", "fix(algsimp,dce)"),
    "no algsimp": without("algsimp"),
    "dot_decomposer": after("constant_folding", "dot_decomposer"),
    "dot-merger": after("constant_folding", "dot-merger"),
    "reshape-mover": after("constant_folding", "reshape-mover"),
    "simplify-while-loops": after("constant_folding", "simplify-while-loops"),
    "conditional-to-select": after("constant_folding", "conditional-to-select", "call-inliner"),
    "gather_simplifier": after("constant_folding", "gather_simplifier"),
    "scatter_simplifier": after("constant_folding", "scatter_simplifier"),
    "simplify-sorts": after("constant_folding", "simplify-sorts"),
    "bfloat16-propagation": after("constant_folding", "bfloat16-propagation"),
    "layouts": after("select-and-scatter-expander",
                     "layout-assignment{platform=cpu}", "layout_normalization"),
    "memory-scheduler": after("copy-insertion", "hlo-memory-scheduler"),
    "no constant_folding": without("constant_folding"),
    "no cse": without("cse"),
    "no loop-invariant motion": without("while-loop-invariant-code-motion"),
    "no transpose-folding": without("transpose-folding"),
    "no dot-simplifier": without("dot-simplifier"),
    "no convolution-operand-swap": without("convolution-operand-swap"),
    "no cpu-small-dots": without("cpu-small-dots"),
    "no reduction-widener": without("reduction-widener"),
}


def split_steps(text):
    """The steps of a pipeline's text, split at the commas outside parentheses and braces."""
    steps, depth = [""], 0
    for letter in text.strip():
        depth += (letter in "({<") - (letter in ")}>")
        if letter == "," and depth == 0:
            steps.append("")
        else:
            steps[-1] += letter
    return steps


def optimised(hlo_opt, path, pipeline):
    return run([hlo_opt, path, f"--passes={pipeline}", "--print-style=fingerprint"])


def turn(folder, name, pipeline, args):
    """Compile and run time in ms."""
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "bench.json"
        run([*bench_common.command(folder, name, args), "--no-run-passes", f"--passes={pipeline}",
             "--bench", "--bench-compiles=3", "--bench-min-runs=3",
             f"--bench-min-seconds={args.seconds}", f"--json={report}"], bench_suite.NO_CACHE)
        figures = json.loads(report.read_text(encoding="utf-8"))
    return {"compile": figures["compile_ms"], "run": figures["run_ms"]["median"]}


def measure(folder, name, pipelines, args):
    """Time as it is by time of the variant, for compiling and running."""
    turns = ([], [])
    for _ in range(args.rounds):
        for times, pipeline in zip(turns, pipelines):
            times.append(turn(folder, name, pipeline, args))
    medians = [{part: statistics.median(t[part] for t in times) for part in PARTS}
               for times in turns]
    return {part: medians[0][part] / medians[1][part] for part in PARTS}


def one_variant(label, steps, programs, args):
    """Prints the rows of a variant: (ratios by program, programs on which it failed)."""
    pipelines = [",".join(steps), ",".join(VARIANTS[label](steps))]
    ratios, failed = {}, []
    for folder, name in programs:
        path = folder / f"{name}.hlo"
        try:
            texts = [optimised(args.hlo_opt, path, pipeline) for pipeline in pipelines]
            if texts[0] == texts[1]:
                continue
            ratios[name] = measure(folder, name, pipelines, args)
            print(f"{label:28} {name:26} {ratios[name]['compile']:8.2f} {ratios[name]['run']:8.2f}",
                  flush=True)
        except BenchError as error:
            failed.append(name)
            print(f"{label:28} {name:26} {error}", flush=True)
    means = [f"{geometric_mean(r[part] for r in ratios.values()):8.2f}" if ratios else f"{'-':>8}"
             for part in PARTS]
    changed = f"{len(ratios)} of {len(programs)} changed"
    print(f"{label:28} {changed:26} {' '.join(means)}", flush=True)
    return ratios, failed


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    known = {name: ROOT / "testdata" / folder for folder, names in FOLDERS.items()
             for name in names}
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="default: the large models and all of testdata/bench")
    bench_common.add_flags(parser, 2)
    parser.add_argument("--variant", action="append", choices=list(VARIANTS), metavar="VARIANT",
                        help=f"one of: {', '.join(VARIANTS)}; may be given several times (all)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each (3)")
    parser.add_argument("--seconds", type=float, default=0.25, help="of runs in a turn (0.25)")
    args = bench_common.parse(parser, known, "program")
    args.hlo_opt = pathlib.Path(args.hlo_run).with_name("hlo-opt")
    return args, [(known[name], name) for name in args.names or known]


def main():
    args, programs = arguments()
    bench_common.start(args)
    text = run([args.hlo_opt, "--passes=default<cpu>", "--print-pipeline"])
    steps = split_steps(text)
    print(f"{'variant':28} {'program':26} {'compile':>8} {'run':>8}")
    results, failures = {}, 0
    for label in args.variant or VARIANTS:
        results[label], failed = one_variant(label, steps, programs, args)
        failures += len(failed)
    bench_common.write_report(args, "variants", results)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
