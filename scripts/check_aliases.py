#!/usr/bin/env python3
"""Whether every pass keeps what a module says of the memory of its parameters and results.

    scripts/check_aliases.py --hlo-opt=build/release/bin/hlo-opt

Runs each pass that hlo-opt has, with its usual options, over modules with `input_output_alias` and `buffer_donor`, and compares both with
those of the module as it is printed without a pass; then as a serialized module, binary and as text. A pass that refuses a module passes
for it. Prints what is lost, and `N passed, N failed`. Standard library only.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "testdata"
MODULES = [DATA / "tools/Inputs/aliases.hlo", DATA / "tools/Inputs/increment.hlo", DATA / "tools/Inputs/mlp_step.hlo",
           DATA / "models/embedding_tiny.hlo", DATA / "models/mlp_small.hlo"]
# What they are for, and passes that fail on purpose.
MAY_CHANGE = {"optimize_input_output_buffer_alias", "alias_passthrough_params"}
ON_PURPOSE = {"test-only-misbehave"}
ATTRIBUTES = ("input_output_alias=", "buffer_donor=")


def attribute(header, name):
    """`{…}` after the name; "" when it is not there."""
    at = header.find(name)
    if at < 0:
        return ""
    depth = 0
    for i in range(at + len(name), len(header)):
        depth += {"{": 1, "}": -1}.get(header[i], 0)
        if depth == 0:
            return header[at + len(name):i + 1]
    return header[at + len(name):]


def said(text):
    header = next((line for line in text.splitlines() if line.startswith("HloModule")), "")
    return [attribute(header, name) for name in ATTRIBUTES]


class Check:
    def __init__(self, hlo_opt):
        self.hlo_opt = hlo_opt
        self.refusals = 0
        self.before = {module: said(self.run(module).stdout) for module in MODULES}
        for module, words in self.before.items():
            if not any(words):
                sys.exit(f"{self.hlo_opt} reads nothing of aliases in {module}")

    def run(self, *words):
        return subprocess.run([self.hlo_opt, *map(str, words)], capture_output=True, text=True, check=False)

    def one_pass(self, name):
        """What is wrong, a line for each module."""
        wrong = []
        for module in MODULES:
            before = self.before[module]
            after = self.run(module, f"--passes={name}", "--no-reproducer")
            if after.returncode < 0 or after.returncode >= 70:
                wrong.append(f"{name}: {module.name}: ended with {after.returncode}")
            elif after.returncode == 0 and said(after.stdout) != before:
                wrong.append(f"{name}: {module.name}: {before} became {said(after.stdout)}")
            self.refusals += after.returncode != 0
        return wrong

    def serialized(self, form):
        wrong = []
        with tempfile.TemporaryDirectory() as folder:
            for module in MODULES:
                message = pathlib.Path(folder) / f"m.{form}"
                before = self.before[module]
                written = self.run(module, f"--emit={form}", "-o", message)
                after = said(self.run(message).stdout)
                if written.returncode != 0 or after != before:
                    wrong.append(f"{form}: {module.name}: {before} became {after}")
        return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--hlo-opt", default=ROOT / "build" / "release" / "bin" / "hlo-opt", help="the tool (build/release/bin/hlo-opt)")
    parser.add_argument("passes", nargs="*", metavar="PASS", help="only these (all)")
    args = parser.parse_args()
    check = Check(args.hlo_opt)
    names = args.passes or check.run("--list-passes").stdout.strip().split(",")
    names = [name for name in names if name not in MAY_CHANGE | ON_PURPOSE]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(check.one_pass, names)) + list(pool.map(check.serialized, ["pb", "pbtxt"]))
    for line in sum(results, []):
        print(line)
    failed = sum(bool(wrong) for wrong in results)
    print(f"{check.refusals} of {len(names) * len(MODULES)} times a pass refused a module")
    print(f"{len(results) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
