#!/usr/bin/env python3
"""Runs every test of a build and closes with one line `N passed, N failed, N skipped`.

Sections: unit (Catch2 programs), lit (testdata), execution (programs run on every platform and compared with stored
values), coverage (every opcode on every element type and platform), fuzz (each mode of hlo-fuzz for at most a minute), cases (golden tables, when a folder with them is given or stands beside the project), repo (README examples, checks of the sources themselves). Standard library only.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Sources that clang-format changes however often it is run: lists of macros, of which it moves one each time.
UNSTABLE = ("lib/ops/attrs.h",)
FILTERED = ("unit", "lit")  # sections that --filter works in
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


def run_shard(program, names):
    """Runs these tests of a Catch2 program: (passed, failed, output). A test that did not answer has failed."""
    with tempfile.NamedTemporaryFile(suffix=".xml") as report, tempfile.NamedTemporaryFile("w", suffix=".txt") as wanted:
        wanted.write("".join(re.sub(r"([\\,\[\]\"*~])", r"\\\1", name) + "\n" for name in names))
        wanted.flush()
        command = [program, "-f", wanted.name, "-r", "xml", "-o", report.name]
        code, output, _ = run(command)
        good, seen = 0, set()
        try:
            for case in ElementTree.parse(report.name).getroot().iter("TestCase"):
                seen.add(case.get("name"))
                if case.find("OverallResult").get("success") == "true":
                    good += 1
                else:
                    output += f"\n{case.get('filename')}: {case.get('name')}"
        except (ElementTree.ParseError, AttributeError):  # it died: the report ends in the middle
            pass
        failed = max(len(names) - good, int(code != 0))
        if failed:
            output += run(command[:3])[1] + "".join(f"\nno answer: {name}" for name in names if name not in seen)
    return good, failed, output


def unit(build, totals, wanted="", only=()):
    """All programs, or only these; with a pattern, the tests with such a name."""
    programs = [p for p in sorted((build / "tests").glob("*_test")) if not only or p.name in only]
    if not programs:
        totals.add("unit tests (none were built)", 0, 1, 0, 0.0)
    jobs = os.cpu_count() or 1
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for program in programs:
            start = time.time()
            names = [name for name in run([program, "--list-test-names-only"])[1].splitlines() if re.search(wanted, name)]
            if wanted and not names:
                continue
            shards = [names[i::jobs] for i in range(jobs) if names[i::jobs]]
            results = list(pool.map(lambda shard, program=program: run_shard(program, shard), shards)) or [(0, 1, "no tests")]
            passed, failed = (sum(result[i] for result in results) for i in (0, 1))
            output = "\n".join(result[2] for result in results if result[1])
            totals.add(program.name, passed, failed, 0, time.time() - start, output)


def find_lit():
    for name in ("/usr/lib/llvm-19/build/utils/lit/lit.py", "/usr/lib/llvm-19/bin/llvm-lit", "/usr/bin/llvm-lit-19"):
        if os.path.exists(name):
            return [sys.executable, name]
    return None


def lit(build, totals, wanted=""):
    """All files; with a pattern, those with such a path."""
    runner = find_lit()
    if runner is None:
        totals.add("lit (llvm-19-tools is not installed; run scripts/setup)", 0, 1, 0, 0.0)
        return
    env = dict(os.environ, HLO_BIN=str(build / "bin"))
    counts = {"tests": 0, "failures": 0, "skipped": 0}
    chosen = [f"--filter={wanted}", "--allow-empty-runs"] if wanted else []
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        code, output, seconds = run(runner + ["-v", "--no-progress-bar", "-j2", f"-Dbin={build / 'bin'}",
                                              f"--xunit-xml-output={report.name}", *chosen, "testdata"], env=env)
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


# Folders of programs that say what they give.
PROGRAMS = ("testdata/ops", "testdata/run", "testdata/run/devices")


def execution(build, totals):
    tool = build / "bin" / "hlo-run"
    platforms = ["interpreter"]
    listed = run([tool, "--list-platforms"])[1]
    if "cpu" in listed.split():
        platforms.append("cpu")
    # What a build must have and does not list would be left out in silence.
    if "HLO_ENABLE_LLVM:BOOL=ON" in (build / "CMakeCache.txt").read_text(encoding="utf-8"):
        has_all = all(name in listed.split() for name in ("cpu", "gpu-sim"))
        totals.add("platforms of a build with LLVM", int(has_all), int(not has_all), 0, 0.0, listed)
    if "cpu" in platforms:
        simulated(tool, totals)
        after_passes(tool, totals)
    for platform in platforms:
        for folder in PROGRAMS:
            files = sorted(str(p.relative_to(ROOT)) for p in (ROOT / folder).glob("*.hlo"))
            if files:
                closing(f"{folder} on {platform}", [tool, "--check-file", f"--platforms={platform}", *files], totals)
        for folder in ("testdata/corpus", "testdata/models"):
            closing(f"{folder} on {platform}",
                    [tool, "--check-models", folder, f"--platforms={platform}", "--time-limit=60"], totals)
        divided(tool, platform, totals)
    if "cpu" in platforms:  # sizes of real use: the interpreter would take minutes
        closing("testdata/bench on cpu", [tool, "--check-models", "testdata/bench", "--platforms=cpu", "--time-limit=60"], totals)
        closing("scripts/stress_training.py", [sys.executable, "scripts/stress_training.py", f"--hlo-run={tool}", "--kills=5"], totals)


def divided(tool, platform, totals):
    """Programs over eight devices, divided as their shardings say."""
    closing(f"testdata/sharded on {platform}",
            [tool, "--check-models", "testdata/sharded", "--spmd", f"--platforms={platform}", "--time-limit=60"], totals)


# Pipelines that give a program another form, with the programs whose values they change: of what stands after the end of a dynamic
# array no value is defined; `rng` draws other numbers when it is written out; for GPUs what only rounds and comes back is left out,
# padding is written out, and there is no convolution of s32.
PIPELINES = {
    "frontend": ("dynamic-dims", "random-streams"),
    "default<gpu,library>": ("dynamic-dims", "random-streams", "eight_bit_floats", "narrowing", "operands-by-table",
                             "infinite-convolutions"),
}


def after_passes(tool, totals):
    """What pipelines make of programs gives the same values."""
    for pipeline, other in PIPELINES.items():
        def under(folder, ending, names="*"):
            return [str(p.relative_to(ROOT)) for p in sorted((ROOT / folder).glob(f"{names}.{ending}")) if p.stem not in other]
        flags = [f"--passes={pipeline}", "--platforms=interpreter,cpu,gpu-sim", "--time-limit=60"]
        programs = [file for folder in PROGRAMS for file in under(folder, "hlo")]
        closing(f"{', '.join(PROGRAMS)} after {pipeline}", [tool, "--check-file", *programs, *flags], totals)
        closing(f"testdata/corpus after {pipeline}", [tool, "--check-models", *under("testdata/corpus", "json"), *flags], totals)
        closing(f"testdata/models, small sizes, after {pipeline}",
                [tool, "--check-models", *under("testdata/models", "json", "*_tiny"), *flags], totals)


def coverage(build, totals):
    closing("scripts/coverage.py", [sys.executable, "scripts/coverage.py", f"--build={build}", "--quiet"], totals)
    closing("scripts/coverage.py --passes", [sys.executable, "scripts/coverage.py", f"--build={build}", "--passes", "--quiet"], totals)


def simulated(tool, totals):
    """The same programs on the simulated GPU, every access watched; what it cannot run yet counts as skipped."""
    flags = ["--platforms=gpu-sim", "--gpu-sim-sanitize", "--gpu-sim-seed=3"]
    for folder in PROGRAMS:
        files = sorted(str(p.relative_to(ROOT)) for p in (ROOT / folder).glob("*.hlo"))
        if files:
            closing(f"{folder} on gpu-sim", [tool, "--check-file", *flags, *files], totals)
    closing("testdata/gpu_kernels by the assembler", ["scripts/gpu_kernels.py", f"--build={tool.parent.parent}"], totals)
    closing("threads that meet in kernels", ["scripts/ptx_divergence.py", f"--build={tool.parent.parent}"], totals)
    closing("testdata/corpus on gpu-sim", [tool, "--check-models", "testdata/corpus", *flags, "--time-limit=20"], totals)
    divided(tool, "gpu-sim", totals)
    tiny = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "testdata/models").glob("*_tiny.json"))
    closing("testdata/models, small sizes, on gpu-sim",
            [tool, "--check-models", *tiny, "--platforms=gpu-sim", "--time-limit=60"], totals)


TABLES = {"text": "text_cases.jsonl", "ops": "op_cases.jsonl", "passes": "pass_cases.jsonl"}


def cases(build, totals, folder, modes=tuple(TABLES)):
    for mode, table in ((mode, TABLES[mode]) for mode in modes):
        if not (folder / table).is_file():
            totals.add(f"golden table {table}, which is not in {folder}", 0, 0, 1, 0)
        else:
            if mode == "passes":
                command = ["scripts/check_pass_cases.py", folder / table, f"--build={build}"]
            else:
                tool = build / "bin" / f"hlo_{'op' if mode == 'ops' else mode}_cases"
                command = ["scripts/check_cases.py", mode, folder / table, f"--tool={tool}"]
            closing(f"golden table {table}", [sys.executable, *command], totals)
            if mode == "text":
                closing(f"golden table {table}, printed again", [sys.executable, *command, "--fixed-point"], totals)


def sanitized(build, totals, folder):
    """What was built with sanitizers: unit tests, lit tests, the golden tables of text and operations."""
    print("== unit, sanitized", flush=True)
    unit(build, totals)
    print("== lit, sanitized", flush=True)
    lit(build, totals)
    print("== cases, sanitized", flush=True)
    cases(build, totals, folder, ("text", "ops"))


def fuzz(build, totals):
    # From one seed, that is from the same inputs on every machine; how many of them there is time for differs. Longer searches are a
    # job of their own (tools/fuzz/README.md).
    closing("hlo-fuzz --mode=parser, at most a minute",
            [build / "bin/hlo-fuzz", "--mode=parser", "--seconds=60", "--runs=1000000", "--seed=1"], totals)
    closing("hlo-fuzz --mode=passes, at most 20 seconds",
            [build / "bin/hlo-fuzz", "--mode=passes", "--seconds=20", "--runs=60000", "--seed=1"], totals)
    closing("hlo-fuzz --mode=spmd, at most 20 seconds",
            [build / "bin/hlo-fuzz", "--mode=spmd", "--seconds=20", "--runs=20000", "--seed=1", "--seeds=testdata/passes/spmd-partitioner"], totals)
    closing("hlo-fuzz --mode=proto, at most 15 seconds",
            [build / "bin/hlo-fuzz", "--mode=proto", "--seconds=15", "--runs=40000", "--seed=1", "--max-length=30000",
             "--seeds=testdata/tools/Inputs", "--seeds=testdata/parser"], totals)
    closing("hlo-fuzz --mode=async, at most 20 seconds",
            [build / "bin/hlo-fuzz", "--mode=async", "--seconds=20", "--runs=20000", "--seed=1", "--seeds=testdata/run/background.hlo"], totals)
    closing("hlo-fuzz --mode=devices, at most 20 seconds",
            [build / "bin/hlo-fuzz", "--mode=devices", "--seconds=20", "--runs=20000", "--seed=1", "--seeds=testdata/run/devices"], totals)
    # Twice: the same programs every time, and others every day.
    for what, seed in (("", 1), (" and the seed of the day", int(time.strftime("%Y%m%d", time.gmtime())))):
        closing(f"hlo-fuzz --mode=platforms, a minute{what}",
                [build / "bin/hlo-fuzz", "--mode=platforms", "--seconds=60", f"--seed={seed}", "--seeds=testdata/run"], totals)


def formatting(totals):
    """Every source is as clang-format writes it; one test, skipped where the tool is not installed."""
    if shutil.which("clang-format") is None:
        return totals.add("clang-format, which is not installed", 0, 0, 1, 0)
    _, listed, _ = run(["git", "ls-files", "*.cc", "*.h"])
    files = [name for name in listed.split() if name not in UNSTABLE]
    code, output, seconds = run(["clang-format", "--dry-run", "-Werror", *files])
    totals.add("clang-format", int(code == 0), int(code != 0), 0, seconds, "\n".join(re.findall(r"^.* error: .*$", output, re.M)))


def repo(build, totals):
    formatting(totals)
    closing("scripts/product_check.py", [sys.executable, "scripts/product_check.py", f"--build={build}"], totals)
    closing("scripts/readme_test.py", [sys.executable, "scripts/readme_test.py", f"--build={build}"], totals)
    for script in ("lint_repo.py", "check_diagnostics.py", "update_docs.py", "lint_source_test.py", "changed_tests_test.py",
                   "hlo_models_test.py"):
        path = ROOT / "scripts" / script
        if path.exists():
            closing(f"scripts/{script}", [sys.executable, path] + (["--check"] if script == "update_docs.py" else []), totals)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release", help="build folder (default build/release)")
    parser.add_argument("--sanitized", default="", help="build folder with sanitizers: what it has is run, too")
    parser.add_argument("--only", default="", help="comma-separated sections")
    parser.add_argument("--filter", default="", metavar="REGEX", help="only unit tests with such a name and lit files with such a path")
    parser.add_argument("--programs", default="", help="comma-separated: only these programs of section unit")
    parser.add_argument("--cases", default="../shared/reference", help="folder of golden tables")
    options = parser.parse_args()
    sections = {"unit": unit, "lit": lit, "execution": execution, "coverage": coverage, "fuzz": fuzz, "repo": repo}
    wanted = [s for s in options.only.split(",") if s] or (["unit", "lit"] if options.filter else [*sections, "cases"])
    for name in wanted:
        if name not in sections and name != "cases":
            parser.error(f"unknown section {name}; there are {', '.join([*sections, 'cases'])}")
    build = (ROOT / options.build).resolve()
    totals = Totals()
    start = time.time()
    for name in wanted:
        print(f"== {name}", flush=True)
        if options.programs and name == "unit":
            unit(build, totals, options.filter, options.programs.split(","))
        elif name == "cases":
            cases(build, totals, (ROOT / options.cases).resolve())
        elif options.filter:
            if name not in FILTERED:
                parser.error(f"--filter chooses among {' and '.join(FILTERED)}, not in {name}")
            sections[name](build, totals, options.filter)
        else:
            sections[name](build, totals)
    if options.sanitized:
        sanitized((ROOT / options.sanitized).resolve(), totals, (ROOT / options.cases).resolve())
    print(f"== all, {time.time() - start:.0f} s")
    print(f"{totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped")
    if options.filter and not totals.passed + totals.failed + totals.skipped:
        print(f"no test has a name like {options.filter}")
        return 1
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
