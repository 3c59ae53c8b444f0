#!/usr/bin/env python3
"""Runs a golden table of passes against hlo-opt, and counts what holds.

    scripts/check_pass_cases.py FILE.jsonl [--only=dce,cse] [--bin=build/release/bin] [-v] [--baseline=FILE]

FILE holds one JSON object per line: pass, rule, options, input, changed, output (missing when unchanged), and `newer_source` for rows
whose output is that of an older release. A row holds when the pass makes of `input` a module that is equal to `output`
(names, layouts, and order aside), both after `dce`; rows of large expansions, when both modules compute the same on the interpreter. Rows of passes that hlo-opt does not have are counted apart, rows of rules that the
baseline lists as missing (testdata/pass_cases_baseline.json) are skipped.
Closes with `N passed, N failed, N skipped`. Standard library only.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What is run on both sides before they are compared, where it is not `dce`: loop passes of the table leave tuples that are taken apart
# again and the same constant several times.
TIDY = {
    "simplify-while-loops": "fix(tuple-simplifier,cse,dce)",
    "simplify-conditional": "fix(tuple-simplifier,dce)",
    "while-loop-invariant-code-motion": "fix(tuple-simplifier,cse,dce)",
    # Loops that run once, in other words: what they compute is compared.
    "gather_expander": "fix(simplify-while-loops,tuple-simplifier,algsimp,constant_folding,cse,dce)",
    "scatter_expander": "fix(simplify-while-loops,tuple-simplifier,algsimp,constant_folding,cse,dce)",
}
# Large expansions, whose graph is one of many: what they compute is compared, up to this relative difference.
VALUES = {"bitcast_dtypes_expander": 0, "cholesky_expander": 1e-4, "reduce-window-rewriter": 1e-4, "rng-bit-generator-expander": 0, "rng-expander": 0,
          "select_and_scatter_expander": 0, "triangular_solve_expander": 1e-4}
EXECUTION_SEED = 42
# Passes that make layouts: both sides must have the same.
LAYOUTS_COUNT = {"layout-assignment"}
# Rows in which ours follows newer sources than the table's release.
NEWER = "newer_source"
# Rows (pass, part of the input) in which we differ on purpose.
EXCUSES = {
    ("convolution-group-converter", "batch_group_count=4"): "no convert to the type that the sum has",
    ("algsimp", "s32[] constant(-1)\n  %c = s32[4] broadcast(%constant), dimensions={}\n  ROOT %r = s32[4] power(%x, %c)"): "of integers, 0 ^ -1 is 0 and 1 / 0 is -1",
    ("algsimp", "maximum(%a, %l)"): "the lower bound of the clamp may be above the upper one",
    ("algsimp", "maximum(%l, %a)"): "the lower bound of the clamp may be above the upper one",
    ("algsimp", "window={size=5x1}, dim_labels=b01f_01io->b01f, feature_group_count=3"): "the sum starts with 0, not with a converted s32 0",
    ("constant_folding", "count-leading-zeros(%constant)"): "a negative s32 has no leading zeros; the table says -32",
    ("algsimp", "constant = f32[] constant(1)\n  ROOT %r_1 = f32[3] reduce("): "the start value 1 of a sum is not dropped",
    ("algsimp", "dynamic-slice(%a, %j)"): "both starts are clamped as the two slices do",
    ("algsimp", "dynamic-update-slice(%a, %c, %j)"): "both starts are clamped as the two updates do",
}


def find_bin(given):
    for folder in [given] if given else ["build/release/bin", "build/dev/bin", "build/release-without-llvm/bin"]:
        path = (ROOT / folder).resolve()
        if (path / "hlo-opt").exists():
            return path
    sys.exit("check_pass_cases.py: no hlo-opt found; build it or name its folder with --bin=")


# Options of the table as ours, where they are spelled otherwise.
OPTIONS = {
    "algsimp": {"cpu": "executing_on_cpu,supports_non_canonical_dots=false,rewrite_no_op_bitcast_convert_to_bitcast", "layout_sensitive": "is_layout_sensitive", "fast_math": "enable_fast_math"},
    "all-reduce-promotion": {"bf16->f32": "types=bf16:f32"},
    "batchnorm_expander": {"training": "", "inference": "", "grad": ""},
    "convolution-group-converter": {"groups=feature": "skip_types=f16;f32", "groups=batch": "convert_batch_groups_only"},
    "copy-insertion": {"defaults": ""},
    "cpu-all-reduce-combiner": {"bytes=max": "", "count=256": ""},
    "cpu_multi_output_fusion": {"after fusion-wrapper": ""},
    "layout-assignment": {"cpu": ""},
    "fusion": {"cpu": "", "may_duplicate=true": ""},
    "dynamic_padder": {"shape_check=ignore": ""},
    "float-normalization-bf16": {"bf16->f32": ""},
    "rng-bit-generator-expander": {"default=philox": "default_algorithm=philox"},
    "sharding-propagation": {"to_output=false": "", "to_parameters=false": ""},
    "topk-rewriter": {"profitable=f32": "types=f32"},
    "transpose-folding": {"dot only": ""},
    "tree_reduction_rewriter": {"window=32": "reduce_window_size=32"},
    "while-loop-constant-sinking": {"defaults": ""},
    "while-loop-invariant-code-motion": {"defaults": ""},
}
# Rows with such an option ask what a library takes, which ours does not have.
LIBRARY = "filter=not YNN reduce"


def pipeline_of(row):
    names = OPTIONS.get(row["pass"], {})
    options = ",".join(filter(None, (names.get(option, option) for option in row["options"].split(","))))
    return row["pass"] + ("{" + options + "}" if options else "")


def schedules(text):
    """The names of each computation in order; the computations sorted."""
    found, current = [], None
    for line in text.splitlines():
        if line.endswith("{"):
            current = []
            found.append(current)
        elif (name := re.match(r"\s+(?:ROOT )?%(\S+) = ", line)) and current is not None:
            current.append(name[1])
    return sorted(found)


def literal(shape, sizes, index=()):
    """Made-up values of an array: far from singular, where matrices are."""
    if len(index) < len(sizes):
        return "{" + ",".join(literal(shape, sizes, (*index, i)) for i in range(sizes[len(index)])) + "}"
    number = sum((3 + k) * i for k, i in enumerate(index)) % 7
    if not shape.startswith(("f", "bf", "c")):
        return str(number + 1)
    return str(number / 8 + (4 if len(index) > 1 and index[-1] == index[-2] else 0))


def check_values(tool, row, folder):
    """As check, by what both modules compute."""
    given, wanted, ours = folder / "input.hlo", folder / "output.hlo", folder / "ours.hlo"
    given.write_text(row["input"])
    wanted.write_text(row["output"])
    done = subprocess.run([tool, given, f"--passes={pipeline_of(row)}", "--no-reproducer", "--check-analyses", "-o", ours],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr
    # XLA draws the key of an rng when it compiles; ours is a constant and the seed of the run.
    key = re.compile(r"(u64\[\] constant\()(\d+)(?=\))")
    if row["pass"] == "rng-expander":
        entry = row["output"].index("ENTRY")
        drawn = int(key.search(row["output"], entry)[2]) ^ EXECUTION_SEED
        text = ours.read_text()
        entry = text.index("ENTRY")
        ours.write_text(text[:entry] + key.sub(rf"\g<1>{drawn}", text[entry:]))
    arguments = []
    for element, sizes in re.findall(r"= (\w+)\[([\d,]*)\]\S* parameter\(", row["input"][row["input"].index("ENTRY"):]):
        shape = f"{element}[{sizes}]"
        arguments.append(f"{shape} {literal(element, [int(size) for size in sizes.split(',') if size])}")
    run = [tool.parent / "hlo-run", "--platform=interpreter", f"--execution-seed={EXECUTION_SEED}"]
    done = subprocess.run([*run, wanted, *arguments, f"--output-dir={folder}/wanted"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"the expected output does not run:\n{done.stderr}"
    done = subprocess.run([*run, ours, *arguments, f"--expected={folder}/wanted", f"--rel={VALUES[row['pass']]}", f"--abs={VALUES[row['pass']]}"],
                          capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"{row['input']}\n{done.stdout}{done.stderr}"


def check(tool, row, folder):
    """None when the row holds, else what is wrong."""
    if row["pass"] in VALUES:
        return check_values(tool, row, folder)
    given, wanted, cleaned = folder / "input.hlo", folder / "output.hlo", folder / "wanted.hlo"
    given.write_text(row["input"])
    wanted.write_text(row.get("output", row["input"]))
    after = TIDY.get(row["pass"], "dce")
    common = ["--no-reproducer", "--print-large-constants", "--check-analyses"]
    done = subprocess.run([tool, wanted, f"--passes={after}", "-o", cleaned, *common], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"the expected output does not load:\n{done.stderr}"
    layouts = ["--expect-equal-layouts"] if row["pass"] in LAYOUTS_COUNT else []
    done = subprocess.run([tool, given, f"--passes={pipeline_of(row)},{after}", f"--expect-equal={cleaned}", *layouts, *common],
                          capture_output=True, text=True, check=False)
    if done.returncode == 0 and "is_scheduled=true" in row.get("output", ""):
        ours = subprocess.run([tool, given, f"--passes={pipeline_of(row)}", *common], capture_output=True, text=True, check=False).stdout
        return None if schedules(ours) == schedules(row["output"]) else f"expected:\n{row['output']}\nours:\n{ours}"
    if done.returncode == 0:
        return None
    if done.returncode != 3:
        return done.stderr
    result = subprocess.run([tool, given, f"--passes={pipeline_of(row)},{after}", *common], capture_output=True, text=True,
                            check=False)
    return f"input:\n{row['input']}\nexpected:\n{cleaned.read_text()}\nours:\n{result.stdout}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--bin", default="")
    parser.add_argument("--build", default="")
    parser.add_argument("--baseline", type=pathlib.Path, default=ROOT / "testdata/pass_cases_baseline.json",
                        help="pass -> rules that are not there yet; `none` runs every row")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    tool = find_bin(options.bin or (options.build + "/bin" if options.build else "")) / "hlo-opt"
    known = subprocess.run([tool, "--list-passes"], capture_output=True, text=True, check=True).stdout.strip().split(",")
    only = [name for name in options.only.split(",") if name]
    missing = json.loads(options.baseline.read_text()) if options.baseline.exists() else {}
    counts = collections.defaultdict(collections.Counter)
    others = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, line in enumerate(options.file.read_text().splitlines(), 1):
            row = json.loads(line)
            name = row["pass"]
            if only and name not in only:
                continue
            if name not in known:
                others += 1
                continue
            if row["rule"] + (" with layouts" if row["layouts"] else "") in missing.get(name, []):
                counts[name]["skipped"] += 1
                continue
            problem = check(tool, row, pathlib.Path(folder))
            excused = LIBRARY in row["options"] or any(name == key[0] and key[1] in row["input"] for key in EXCUSES)
            if problem is not None and (NEWER in row or excused):
                counts[name]["skipped"] += 1
                continue
            counts[name]["passed" if problem is None else "failed"] += 1
            if problem is not None:
                print(f"row {number}, {name}, rule {row['rule']}: differs" + (f"\n{problem}" if options.v else ""))
    total = collections.Counter()
    for name in sorted(counts):
        total.update(counts[name])
        if counts[name]["passed"] or counts[name]["failed"]:
            print(f"{name:<28} {counts[name]['passed']:4} of {counts[name]['passed'] + counts[name]['failed']}")
    if others:
        print(f"{others} rows are of passes that hlo-opt does not have")
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
