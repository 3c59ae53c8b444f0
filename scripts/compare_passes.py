#!/usr/bin/env python3
"""Runs passes of XLA:CPU and ours on the same modules and compares what they make of them.

    scripts/compare_passes.py [--only=dce,cse] [--partitions=N] [--bin=build/release/bin] [-v] [FILE or FOLDER…]

XLA compiles each file (default: the programs of testdata) and dumps the module before and after every run of the passes below,
wherever they stand in its pipeline, with the options it uses there; ours gets the module before with the same options. Both results
are compared without names, layouts and the order of instructions, after `dce` (loop passes: after tidying up). Counts per pass:

  equal         the same graph
  smaller       ours has fewer instructions
  different     neither; a bug of ours, or explained in the header of the pass
  refused       ours failed or cannot read the text

Needs a Python with jaxlib (named in HLO_ORACLE_PYTHON). Exit code 1 when something differs or is refused. Standard library only.
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from bench_common import BenchError, oracle_python
from check_pass_cases import TIDY, find_bin

ROOT = pathlib.Path(__file__).resolve().parent.parent
# XLA's name -> (pipelines where it runs with these options, our pass); the first row that fits counts.
PASSES = [
    ("algsimp", "after_layout", "algsimp{is_layout_sensitive,executing_on_cpu,rewrite_no_op_bitcast_convert_to_bitcast}"),
    ("algsimp", "", "algsimp{executing_on_cpu,supports_non_canonical_dots=false}"),
    ("all-reduce-promotion", "", "all-reduce-promotion"),
    ("all_to_all_decomposer", "", "all_to_all_decomposer"),
    ("associative-scan-rewriter", "", "associative-scan-rewriter"),
    ("batch-dot-simplification", "", "batch-dot-simplification"),
    ("batched_gather_scatter_normalizer", "", "batched_gather_scatter_normalizer"),
    ("batchnorm_expander", "", "batchnorm_expander"),
    ("bitcast_dtypes_expander", "", "bitcast_dtypes_expander"),
    ("broadcast_canonicalizer", "", "broadcast_canonicalizer"),
    ("call-inliner", "", "call-inliner{single_call_site}"),
    ("change-op-data-type", "", "change-op-data-type"),
    ("cholesky_expander", "", "cholesky_expander"),
    ("comparison-expander", "", "comparison-expander"),
    ("conditional-canonicalizer", "", "conditional-canonicalizer"),
    ("conditional-to-select", "", "conditional-to-select"),
    ("constant_folding", "", "constant_folding"),
    ("control-dep-rewriter", "", "control-dep-rewriter"),
    ("convolution-canonicalization", "", "convolution-canonicalization"),
    ("convolution-group-converter", "", "convolution-group-converter"),
    ("copy-insertion", "", "copy-insertion"),
    ("cpu-all-reduce-combiner", "", "cpu-all-reduce-combiner"),
    ("cpu-parallel-task-assigner", "", f"cpu-parallel-task-assigner{{max_parallelism={os.cpu_count()}}}"),
    ("cse", "after_layout", "cse{layout_sensitive}"),
    ("cse", "", "cse"),
    ("cse_barrier_expander", "", "cse_barrier_expander"),
    ("dce", "", "dce"),
    ("dot-library-rewriter", "", "dot-library-rewriter"),
    ("dot_decomposer", "", "dot_decomposer"),
    ("dynamic-dimension-simplifier", "", "dynamic-dimension-simplifier"),
    ("dynamic-index-splitter", "", "dynamic-index-splitter"),
    ("dynamic_padder", "", "dynamic_padder"),
    ("eigh_expander", "", "eigh_expander"),
    ("flatten-call-graph", "", "flatten-call-graph"),
    ("float-normalization-bf16", "", "float-normalization-bf16"),
    ("float-normalization-f8e4m3fn", "", "float-normalization-f8e4m3fn"),
    ("float-normalization-f8e5m2", "", "float-normalization-f8e5m2"),
    ("float-normalization-s4", "", "float-normalization-s4"),
    ("float-normalization-u4", "", "float-normalization-u4"),
    ("fusion", "", "fusion"),
    ("fusion-wrapper", "", "fusion-wrapper"),
    ("gather_expander", "", "gather_expander"),
    ("gather_simplifier", "", "gather_simplifier"),
    ("gemv-rewriter", "", "gemv-rewriter{is_layout_sensitive=false}"),
    ("layout-assignment", "", "layout-assignment"),
    ("literal-canonicalizer", "", "literal-canonicalizer"),
    ("logistic-expander", "", "logistic-expander"),
    ("map-inline", "", "map-inline"),
    ("operand_upcaster", "", "operand_upcaster"),
    ("optimize_input_output_buffer_alias", "", "optimize_input_output_buffer_alias"),
    ("propagate-call-metadata", "", "propagate-call-metadata"),
    ("qr_expander", "", "qr_expander"),
    ("reduce-decomposer", "", "reduce-decomposer"),
    ("reduce-window-resizer", "", "reduce-window-resizer"),
    ("reduce-window-rewriter", "", "reduce-window-rewriter"),
    ("reshape-decomposer", "", "reshape-decomposer"),
    ("reshape-mover", "", "reshape-mover"),
    ("result_caster", "", "result_caster"),
    ("rng-bit-generator-expander", "", "rng-bit-generator-expander"),
    ("rng-expander", "", "rng-expander"),
    ("scan_expander", "", "scan_expander"),
    ("scatter_expander", "", "scatter_expander{simple}"),
    ("scatter_simplifier", "", "scatter_simplifier"),
    ("select_and_scatter_expander", "", "select_and_scatter_expander"),
    ("sharding-propagation", "", "sharding-propagation"),
    ("sharding-remover", "", "sharding-remover"),
    ("simplify-conditional", "", "simplify-conditional"),
    ("simplify-sorts", "", "simplify-sorts"),
    ("simplify-while-loops", "", "simplify-while-loops"),
    ("small-while-loop-hoisting", "", "small-while-loop-hoisting"),
    ("stochastic_convert_decomposer", "", "stochastic_convert_decomposer"),
    ("sub-byte-size-setter", "", "sub-byte-size-setter"),
    ("topk-decomposer", "", "topk-decomposer"),
    ("topk-rewriter", "", "topk-rewriter{types=f32}"),
    ("transpose-folding", "", "transpose-folding"),
    ("tree_reduction_rewriter", "", "tree_reduction_rewriter"),
    ("triangular_solve_expander", "", "triangular_solve_expander"),
    ("tuple-simplifier", "", "tuple-simplifier"),
    ("while-loop-constant-sinking", "", "while-loop-constant-sinking"),
    ("while-loop-invariant-code-motion", "", "while-loop-invariant-code-motion"),
    ("while-loop-trip-count-annotator", "", "while-loop-trip-count-annotator"),
    ("zero_sized_hlo_elimination", "", "zero_sized_hlo_elimination"),
]


def modules(arguments, folder):
    """Files with one module each; files of several sections are split into `folder`."""
    paths = [pathlib.Path(a) for a in arguments] or [ROOT / "testdata" / d for d in ("corpus", "passes", "models", "run")]
    files = []
    for path in paths:
        for file in sorted(path.rglob("*.hlo")) if path.is_dir() else [path]:
            if file.stat().st_size > 2_000_000:
                continue
            sections = re.split(r"^// -----$", file.read_text(encoding="utf-8"), flags=re.M)
            if len(sections) == 1:
                files.append((str(file), file))
                continue
            for number, section in enumerate(sections, 1):
                part = folder / f"{len(files)}.hlo"
                part.write_text(section, encoding="utf-8")
                files.append((f"{file}, section {number}", part))
    return files


def xla_runs(python, names, partitions, files, folder):
    """Yields (name of the module, pass, pipeline, text before, text after); restarts XLA after a module on which it aborts."""
    done = 0
    while done < len(files):
        target = folder / f"xla{done}"
        worker = subprocess.Popen([python, ROOT / "scripts/xla_passes.py", f"--to={target}", f"--passes={','.join(names)}",
                                   f"--partitions={partitions}", *[str(path) for _, path in files[done:]]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        started = -1
        for line in worker.stdout:
            row = json.loads(line)
            if row.get("starts"):
                started = row["index"]
                continue
            for name, pipeline, before, after in row.get("runs", []):
                yield files[done + row["index"]][0], name, pipeline, pathlib.Path(before).read_text(), pathlib.Path(after).read_text()
        code = worker.wait()
        if code == 0:
            return
        if started < 0:
            raise BenchError(f"XLA does not start (exit code {code})")
        done += started + 1


class Comparison:
    def __init__(self, tool, folder):
        self.tool, self.given, self.theirs, self.wanted = tool, folder / "before.hlo", folder / "after.hlo", folder / "wanted.hlo"

    def run(self, *arguments):
        return subprocess.run([self.tool, *arguments, "--no-reproducer", "--print-large-constants"], capture_output=True, text=True, check=False)

    def compare(self, name, text, before, after):
        """(verdict, what to show)"""
        self.given.write_text(before)
        self.theirs.write_text(after)
        tidy = TIDY.get(name, "dce")
        wanted = self.run(self.theirs, f"--passes={tidy}", "-o", self.wanted)
        if wanted.returncode != 0:
            return "refused", wanted.stderr
        done = self.run(self.given, f"--passes={text},{tidy}", f"--expect-equal={self.wanted}")
        if done.returncode == 0:
            return "equal", ""
        ours = self.run(self.given, f"--passes={text},{tidy}")
        if ours.returncode != 0:
            return "refused", ours.stderr
        count = [len(re.findall(r"^\s+(?:ROOT )?%", t, re.M)) for t in (ours.stdout, self.wanted.read_text())]
        shown = f"XLA:\n{self.wanted.read_text()}\nours:\n{ours.stdout}"
        return ("smaller" if count[0] < count[1] else "different"), shown


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--only", default="")
    parser.add_argument("--partitions", type=int, default=1, help="divide the modules by their shardings among so many devices")
    parser.add_argument("--bin", default="")
    parser.add_argument("-v", action="store_true", help="show modules that differ")
    options = parser.parse_args()
    tool = find_bin(options.bin) / "hlo-opt"
    known = subprocess.run([tool, "--list-passes"], capture_output=True, text=True, check=True).stdout.strip().split(",")
    only = [name for name in options.only.split(",") if name] or known
    rows = [row for row in PASSES if row[0] in only and row[0] in known]
    names = sorted({row[0] for row in rows})
    if not names:
        sys.exit("compare_passes.py: none of these passes is one that both have")
    counts = collections.defaultdict(collections.Counter)
    seen = set()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        comparison = Comparison(tool, folder)
        files = modules(options.files, folder)
        try:
            for module, name, pipeline, before, after in xla_runs(oracle_python(), names, options.partitions, files, folder):
                text = next((row[2] for row in rows if row[0] == name and row[1] in pipeline), None)
                if text is None:  # between two that were asked for
                    continue
                key = hashlib.sha256(f"{text}\n{before}\n{after}".encode()).digest()
                if key in seen:
                    continue
                seen.add(key)
                verdict, shown = comparison.compare(name, text, before, after)
                counts[name]["changed by XLA"] += before.split("\n", 1)[1] != after.split("\n", 1)[1]
                counts[name][verdict] += 1
                if verdict in ("different", "refused"):
                    print(f"{module}: {name} {verdict}" + (f"\nbefore:\n{before}\n{shown}" if options.v else ""), flush=True)
        except BenchError as error:
            sys.exit(str(error))
    columns = ["equal", "smaller", "different", "refused", "changed by XLA"]
    print(f"{'pass':<34}" + "".join(f"{c:>{len(c) + 3}}" for c in columns))
    for name in sorted(counts):
        print(f"{name:<34}" + "".join(f"{counts[name][c]:>{len(c) + 3}}" for c in columns))
    bad = sum(c["different"] + c["refused"] for c in counts.values())
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
