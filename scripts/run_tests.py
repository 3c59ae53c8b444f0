#!/usr/bin/env python3
"""Runs every test of a build and closes with one line `N passed, N failed, N skipped`.

Sections: unit (Catch2 programs), lit (testdata), execution (programs run on every platform and compared with stored
values), coverage (every opcode on every element type and platform), fuzz (a minute of hlo-fuzz), cases (golden tables, when a folder with them is given or stands beside the project), repo (README examples, checks of the sources themselves). Standard library only.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLOSING = re.compile(r"^(?:.*: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, name, passed, failed, skipped, seconds, output=""):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        mark = "ok  " if failed == 0 else "FAIL"
        skip = f", {skipped} skipped" if skipped else ""
        print(f"{mark} {name}: {passed} passed, {failed} failed{skip} ({seconds:.1f} s)", flush=True)
        if failed and output:
            print("\n".join("    " + line for line in output.splitlines()[-60:]), flush=True)


def run(command, timeout=1800, env=None):
    start = time.time()
    try:
        done = subprocess.run([str(c) for c in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=timeout, env=env, errors="replace", text=True)
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as error:
        code, output = 124, f"{error.stdout or ''}\nstopped after {timeout} s"
    except OSError as error:
        code, output = 127, str(error)
    return code, output, time.time() - start


def unit(build, totals):
    programs = sorted((build / "tests").glob("*_test"))
    if not programs:
        totals.add("unit tests (none were built)", 0, 1, 0, 0.0)
    for program in programs:
        with tempfile.NamedTemporaryFile(suffix=".xml") as report:
            code, output, seconds = run([program, "-r", "junit", "-o", report.name])
            passed = failed = 0
            try:
                for suite in ElementTree.parse(report.name).getroot().iter("testsuite"):
                    for case in suite.iter("testcase"):
                        bad = case.find("failure") is not None or case.find("error") is not None
                        failed += bad
                        passed += not bad
                        if bad:
                            output += f"\n{case.get('classname')}: {case.get('name')}"
            except ElementTree.ParseError:
                failed += 1
            if code != 0 and failed == 0:
                failed = 1
        if failed:
            output += run([program])[1]
        totals.add(program.name, passed, failed, 0, seconds, output)


def find_lit():
    for name in ("/usr/lib/llvm-19/build/utils/lit/lit.py", "/usr/lib/llvm-19/bin/llvm-lit", "/usr/bin/llvm-lit-19"):
        if os.path.exists(name):
            return [sys.executable, name]
    return None


def lit(build, totals):
    runner = find_lit()
    if runner is None:
        totals.add("lit (llvm-19-tools is not installed; run scripts/setup)", 0, 1, 0, 0.0)
        return
    env = dict(os.environ, HLO_BIN=str(build / "bin"))
    counts = {"tests": 0, "failures": 0, "skipped": 0}
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        code, output, seconds = run(runner + ["-v", "--no-progress-bar", "-j2", f"-Dbin={build / 'bin'}",
                                              f"--xunit-xml-output={report.name}", "testdata"], env=env)
        try:
            for suite in ElementTree.parse(report.name).getroot().iter("testsuite"):
                for key in counts:
                    counts[key] += int(suite.get(key, 0))
        except ElementTree.ParseError:
            counts["failures"] += 1
    failed = counts["failures"]
    if code != 0 and failed == 0:
        failed = 1
    passed = max(counts["tests"] - counts["failures"] - counts["skipped"], 0)
    failures = "\n".join(line for line in output.splitlines() if not line.startswith("PASS:"))
    totals.add("lit testdata", passed, failed, counts["skipped"], seconds, failures)


def closing(name, command, totals, timeout=1800):
    """A program that closes with `N passed, N failed[, N skipped]`; without that line its exit code is one result."""
    code, output, seconds = run(command, timeout)
    for line in reversed(output.splitlines()):
        match = CLOSING.match(line.strip())
        if match:
            passed, failed, skipped = (int(g or 0) for g in match.groups())
            if code != 0 and failed == 0:
                failed = 1
            totals.add(name, passed, failed, skipped, seconds, output)
            return
    totals.add(name, int(code == 0), int(code != 0), 0, seconds, output)


def execution(build, totals):
    tool = build / "bin" / "hlo-run"
    platforms = ["interpreter"]
    if re.search(r"^\s+cpu\s", run([tool, "--help"])[1], re.M):
        platforms.append("cpu")
    if "cpu" in platforms:
        simulated(tool, totals)
    for platform in platforms:
        for folder in ("testdata/ops", "testdata/run"):
            files = sorted(str(p.relative_to(ROOT)) for p in (ROOT / folder).glob("*.hlo"))
            if files:
                closing(f"{folder} on {platform}", [tool, "--check-file", f"--platforms={platform}", *files], totals)
        for folder in ("testdata/corpus", "testdata/models"):
            closing(f"{folder} on {platform}",
                    [tool, "--check-models", folder, f"--platforms={platform}", "--time-limit=60"], totals)
    if "cpu" in platforms:  # sizes of real use: the interpreter would take minutes
        closing("testdata/bench on cpu", [tool, "--check-models", "testdata/bench", "--platforms=cpu", "--time-limit=60"], totals)


def coverage(build, totals):
    closing("scripts/coverage.py", [sys.executable, "scripts/coverage.py", f"--build={build}", "--quiet"], totals)


def simulated(tool, totals):
    """The same programs on the simulated GPU, every access watched; what it cannot run yet counts as skipped."""
    flags = ["--platforms=gpu-sim", "--gpu-sim-sanitize", "--gpu-sim-seed=3"]
    for folder in ("testdata/ops", "testdata/run"):
        files = sorted(str(p.relative_to(ROOT)) for p in (ROOT / folder).glob("*.hlo"))
        if files:
            closing(f"{folder} on gpu-sim", [tool, "--check-file", *flags, *files], totals)
    closing("testdata/gpu_kernels by the assembler", ["scripts/gpu_kernels.py", f"--build={tool.parent.parent}"], totals)
    closing("testdata/corpus on gpu-sim", [tool, "--check-models", "testdata/corpus", *flags, "--time-limit=20"], totals)
    tiny = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "testdata/models").glob("*_tiny.json"))
    closing("testdata/models, small sizes, on gpu-sim",
            [tool, "--check-models", *tiny, "--platforms=gpu-sim", "--time-limit=60"], totals)


def cases(build, totals, folder):
    if not folder.is_dir():
        print(f"     golden tables: no folder {folder}", flush=True)
        return
    for mode, table in (("text", "text_cases.jsonl"), ("ops", "op_cases.jsonl"), ("passes", "pass_cases.jsonl")):
        if (folder / table).is_file():
            if mode == "passes":
                command = ["scripts/check_pass_cases.py", folder / table, f"--build={build}"]
            else:
                tool = build / "bin" / f"hlo_{'op' if mode == 'ops' else mode}_cases"
                command = ["scripts/check_cases.py", mode, folder / table, f"--tool={tool}"]
            closing(f"golden table {table}", [sys.executable, *command], totals)
            if mode == "text":
                closing(f"golden table {table}, printed again", [sys.executable, *command, "--fixed-point"], totals)


def fuzz(build, totals):
    # The same inputs on every machine: longer searches are a job of their own (tools/fuzz/README.md).
    closing("hlo-fuzz --mode=parser, at most a minute",
            [build / "bin/hlo-fuzz", "--mode=parser", "--seconds=60", "--runs=1000000", "--seed=1"], totals)
    closing("hlo-fuzz --mode=passes, at most 20 seconds",
            [build / "bin/hlo-fuzz", "--mode=passes", "--seconds=20", "--runs=60000", "--seed=1"], totals)
    closing("hlo-fuzz --mode=proto, at most 15 seconds",
            [build / "bin/hlo-fuzz", "--mode=proto", "--seconds=15", "--runs=40000", "--seed=1", "--max-length=30000",
             "--seeds=testdata/tools/Inputs", "--seeds=testdata/parser"], totals)
    # The same programs every time, and others every day.
    for what, seed in (("", 1), (" and the seed of the day", int(time.strftime("%Y%m%d", time.gmtime())))):
        closing(f"hlo-fuzz --mode=platforms, a minute{what}",
                [build / "bin/hlo-fuzz", "--mode=platforms", "--seconds=60", f"--seed={seed}", "--seeds=testdata/run"], totals)


def repo(build, totals):
    closing("scripts/readme_test.py", [sys.executable, "scripts/readme_test.py", f"--build={build}"], totals)
    for script in ("lint_repo.py", "check_diagnostics.py", "update_docs.py", "hlo_models_test.py"):
        path = ROOT / "scripts" / script
        if path.exists():
            closing(f"scripts/{script}", [sys.executable, path] + (["--check"] if script == "update_docs.py" else []), totals)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release", help="build folder (default build/release)")
    parser.add_argument("--only", default="", help="comma-separated sections")
    parser.add_argument("--cases", default="../shared/reference", help="folder of golden tables")
    options = parser.parse_args()
    sections = {"unit": unit, "lit": lit, "execution": execution, "coverage": coverage, "fuzz": fuzz, "repo": repo}
    wanted = [s for s in options.only.split(",") if s] or [*sections, "cases"]
    for name in wanted:
        if name not in sections and name != "cases":
            parser.error(f"unknown section {name}; there are {', '.join([*sections, 'cases'])}")
    build = (ROOT / options.build).resolve()
    totals = Totals()
    start = time.time()
    for name in wanted:
        print(f"== {name}", flush=True)
        if name == "cases":
            cases(build, totals, (ROOT / options.cases).resolve())
        else:
            sections[name](build, totals)
    print(f"== all, {time.time() - start:.0f} s")
    print(f"{totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped")
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
