#!/usr/bin/env python3
"""Prints what `scripts/test --filter=REGEX` has to build: the programs that the lit files with such a path run, and `unit_tests` where
a unit test has such a name. Standard library only.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = re.compile(r"\b(hlo[-_][a-z_]+|run_hlo_module|test_correctness)\b")
# Programs under another name, and what one runs: as CMakeLists.txt links them.
SAME = {"hlo-translate": "hlo-opt", "hlo_bisect": "hlo-reduce", "hlo_runner_main": "hlo-run", "run_hlo_module": "hlo-run",
        "test_correctness": "hlo-run"}
TOOLS = {"hlo-opt", "hlo-run", "hlo-info", "hlo-diff", "hlo-reduce", "hlo-fuzz", "hlo_parse_bench", "hlo_text_cases", "hlo_op_cases"}


def programs_of(path):
    text = path.read_text(errors="replace")
    lines = [line for line in text.splitlines() if "RUN:" in line]
    found = {SAME.get(name, name) for line in lines for name in PROGRAMS.findall(line)} & TOOLS
    if any("--emit" in line or "--stage" in line for line in lines):
        found.add("hlo-run")
    # Scripts run what they like.
    return {"tools"} if not found or any(word in text for word in ("%bin", "scripts/", "HLO_BIN")) else found


def needed(pattern):
    wanted = re.compile(pattern)
    targets = set()
    for path in (ROOT / "testdata").rglob("*"):
        if path.suffix in (".hlo", ".test", ".ll") and wanted.search(str(path.relative_to(ROOT))) and "RUN:" in path.read_text(errors="replace"):
            targets |= programs_of(path)
    for path in ROOT.rglob("*_test.cc"):
        if "build" in path.relative_to(ROOT).parts:
            continue
        if any(wanted.search(name) for name in re.findall(r'TEST_CASE\(\s*"((?:[^"\\]|\\.)*)"', path.read_text())):
            targets.add("unit_tests")
    return sorted(targets - TOOLS if "tools" in targets else targets)


if __name__ == "__main__":
    print(" ".join(needed(sys.argv[1])))
