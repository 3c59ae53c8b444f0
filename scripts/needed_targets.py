#!/usr/bin/env python3
"""Prints what `scripts/test --filter=REGEX` has to build: the programs that the lit files with such a path run, and `unit_tests` where
a unit test has such a name. Standard library only.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = re.compile(r"\b(hlo[-_][a-z_]+|run_hlo_module|test_correctness)\b")
CMAKE = (ROOT / "CMakeLists.txt").read_text()
TOOLS = set(re.search(r"foreach\(tool IN ITEMS ([^)]*hlo-fuzz[^)]*)\)", CMAKE).group(1).split())
# Programs under another name.
SAME = dict(reversed(link.split(":")) for link in re.search(r"foreach\(link IN ITEMS ([^)]*)\)", CMAKE).group(1).split())

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
