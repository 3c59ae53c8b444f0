#!/usr/bin/env python3
"""Which opcode runs on which element type and platform.

    scripts/coverage.py --build=build/release                    the table, checked
    scripts/coverage.py --build=build/release --only=add,fft     some rows
    scripts/coverage.py --build=build/release --passes           which rule of which pass has a test (pass_coverage.py)
    PYTHON scripts/coverage.py --oracle=DIR/oracle.py            asks XLA anew; writes testdata/coverage/xla.txt

Runs small modules (coverage_cases.py, coverage_control.py; with zero-sized arrays among them) on every platform, compares with the interpreter, and prints
for each opcode and type how many cases pass on interpreter, cpu and gpu-sim; `.` where there is none. Fails when

- a cell that XLA runs (testdata/coverage/xla.txt) is empty on the interpreter or on the CPU,
- a cell that the interpreter runs is empty on gpu-sim and no line of testdata/coverage/reasons.txt says why,
- a case gives another value than on the interpreter, or fails in a cell where others pass,
- a reason stands for no empty cell.

Closes with `N passed, N failed`: cells that are as they should be, and others.
"""

import argparse
import collections
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import coverage_cases  # noqa: E402
import coverage_control  # noqa: E402, F401: adds its cases
import pass_coverage  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "testdata" / "coverage"
PLATFORMS = ["interpreter", "cpu", "gpu-sim"]
RESULT = re.compile(r"^(PASS|RAN|FAIL|SKIP): \[([\w-]+)\] (.*)$")


def opcodes():
    text = (ROOT / "lib" / "ops" / "ops.def").read_text()
    return re.findall(r'^HLO_OP\(\w+,\s*"([a-z0-9-]+)"', text, re.M)


def make_cases(opcode):
    """(type, case) in order."""
    return [(kind, case) for kind in coverage_cases.TYPES for case in coverage_cases.CASES[opcode](kind)]


def part_text(opcode, case):
    lines = [f"// ARG: {argument.text()}" for argument in case.arguments]
    if case.tolerance:
        lines.append(f"// TOLERANCE: {case.tolerance}")
    return "\n".join(line for line in lines if line) + "\n" + case.module(opcode.replace("-", "_"))


def run_cases(tool, wanted, folder):
    """{(opcode, platform): [(word, message) for each case]}"""
    files = []
    for opcode in wanted:
        parts = [part_text(opcode, case) for _, case in make_cases(opcode)]
        if parts:
            path = folder / f"{opcode}.hlo"
            path.write_text("\n// -----\n".join(parts))
            files.append(str(path))
    command = [tool, "--check-file", "-v", "--threads=1", f"--platforms={','.join(PLATFORMS)}", "--time-limit=300", *files]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors="replace")
    results = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        match = RESULT.match(line)
        name = match and re.search(r"([a-z0-9-]+)\.hlo", match.group(3))
        if name:
            results[name.group(1), match.group(2)].append((match.group(1), match.group(3)))
    return results


class Cell:
    def __init__(self):
        self.passed, self.problems, self.refused = 0, [], []


def fill(wanted, results):
    """{(opcode, type, platform): Cell}"""
    cells = collections.defaultdict(Cell)
    for opcode in wanted:
        listed = make_cases(opcode)
        for platform in PLATFORMS:
            answers = results.get((opcode, platform), [])
            for i, (kind, _) in enumerate(listed):
                word, message = answers[i] if i < len(answers) else ("FAIL", "no answer: the process ended before")
                cell = cells[opcode, kind, platform]
                if word in ("PASS", "RAN"):  # the interpreter has nothing to be compared with
                    cell.passed += 1
                elif "differ" in message or "no answer" in message or "signal" in message or "internal" in message:
                    cell.problems.append(message)
                else:
                    cell.refused.append(message)
    return cells


def read_table(path):
    """`opcode: type type …`; a comment starts with #."""
    table = {}
    for line in path.read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            opcode, kinds = line.split(":")
            table[opcode] = set(kinds.split())
    return table


class Reason:
    """`platform | opcodes | types | why`; opcodes and types are lists of patterns."""

    def __init__(self, line):
        self.platform, opcodes_text, kinds, self.why = (field.strip() for field in line.split("|", 3))
        self.opcodes, self.kinds = opcodes_text.split(), kinds.split()
        self.used = False

    def covers(self, opcode, kind, platform):
        return (fnmatch.fnmatch(platform, self.platform) and any(fnmatch.fnmatch(opcode, p) for p in self.opcodes)
                and any(fnmatch.fnmatch(kind, p) for p in self.kinds))


def read_reasons():
    lines = (FOLDER / "reasons.txt").read_text().splitlines()
    return [Reason(line) for line in lines if line.strip() and not line.startswith("#")]


def judge(wanted, cells, runs_on_xla, reasons):
    """Messages about what should not be, and the number of cells that are fine."""
    wrong, fine = [], 0
    for opcode in wanted:
        for kind in coverage_cases.TYPES:
            for platform in PLATFORMS:
                cell = cells.get((opcode, kind, platform))
                if cell is None:
                    continue
                where = f"{opcode} {kind} on {platform}"
                reason = next((r for r in reasons if r.covers(opcode, kind, platform)), None)
                if reason and (not cell.passed or cell.refused):
                    reason.used = True
                if cell.problems:
                    wrong.append(f"{where}: {cell.problems[0]}")
                elif cell.passed and cell.refused and reason is None and passes_more(cells, opcode, kind, platform, runs_on_xla):
                    wrong.append(f"{where}: some cases are refused: {cell.refused[0]}")
                elif cell.passed or reason is not None:
                    fine += 1
                elif platform == "gpu-sim" and cells[opcode, kind, "interpreter"].passed:
                    wrong.append(f"{where}: empty without a reason: {first(cell)}")
                elif platform != "gpu-sim" and kind in runs_on_xla.get(opcode, ()):
                    wrong.append(f"{where}: empty, and XLA runs it: {first(cell)}")
                elif platform == "cpu" and cells[opcode, kind, "interpreter"].passed:
                    wrong.append(f"{where}: empty, and the interpreter runs it: {first(cell)}")
                else:
                    fine += 1
    return wrong, fine


def passes_more(cells, opcode, kind, platform, runs_on_xla):
    """Whether another platform runs more of the cases."""
    cell = cells[opcode, kind, platform]
    if platform == "interpreter":
        return kind in runs_on_xla.get(opcode, ())
    return cells[opcode, kind, "interpreter"].passed > cell.passed


def first(cell):
    return (cell.refused + cell.problems + ["-"])[0][:200]


def print_table(wanted, cells):
    kinds = coverage_cases.TYPES
    short = [kind.replace("fnuz", "z").replace("fn", "") for kind in kinds]
    print(f"{'interpreter cpu gpu-sim':<26}" + "".join(f"{s:>10}" for s in short))
    for opcode in wanted:
        row = f"{opcode:<26}"
        for kind in kinds:
            counts = [cells[opcode, kind, p].passed if (opcode, kind, p) in cells else None for p in PLATFORMS]
            row += f"{'' if counts[0] is None else ' '.join(str(c or '.') for c in counts):>10}"
        print(row.rstrip())


# ---- XLA ----

def numpy_array(argument):
    import ml_dtypes
    import numpy
    kind = argument.kind
    names = {"pred": numpy.bool_, "bf16": ml_dtypes.bfloat16, "f16": numpy.float16, "f32": numpy.float32, "f64": numpy.float64,
             "c64": numpy.complex64, "c128": numpy.complex128}
    if kind in names:
        array = numpy.array(argument.values, dtype=names[kind])
    elif kind[0] in "su":
        array = numpy.array(argument.values, dtype=numpy.dtype(("u" if kind[0] == "u" else "") + f"int{max(8, int(kind[1:]))}"))
    else:
        array = numpy.array(argument.values).astype(getattr(ml_dtypes, re.sub(r"^f(\d)", r"float\1_", kind)))
    array = array.reshape(argument.dims)
    if kind == "bf16":
        return array.view(numpy.uint16)
    return array.view(numpy.uint8) if kind[0] == "f" and array.dtype.itemsize == 1 else array


def run_on_oracle(oracle, listed):
    """Whether each (opcode, case) runs."""
    import numpy
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        lines = []
        for i, (opcode, case) in enumerate(listed):
            (folder / f"{i}.hlo").write_text(case.module(opcode.replace("-", "_")))
            (folder / str(i)).mkdir()
            for number, argument in enumerate(case.arguments):
                numpy.save(folder / str(i) / f"arg{number}.npy", numpy_array(argument))
            lines.append(f"{folder}/{i}.hlo {folder}/{i} -")
        (folder / "list.txt").write_text("\n".join(lines) + "\n")
        done = subprocess.run([sys.executable, oracle, "batch", str(folder / "list.txt"), "--timeout", "60"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
        answers = {}
        for line in done.stdout.splitlines():
            answer = json.loads(line)
            answers[answer["index"]] = answer["status"] == "ok"
    return [answers.get(i, False) for i in range(len(listed))]


def ask_oracle(oracle, opcode):
    """The types for which XLA runs a case: the first one is asked for all types, the others where it did not run."""
    first, others = {}, []
    for kind, case in make_cases(opcode):
        if case.arguments and not any(argument.values for argument in case.arguments):
            continue  # arrays without elements say nothing of the type
        if kind in first:
            others.append((kind, case))
        else:
            first[kind] = case
    runs = {kind for kind, ok in zip(first, run_on_oracle(oracle, [(opcode, case) for case in first.values()])) if ok}
    others = [(kind, case) for kind, case in others if kind not in runs]
    answers = run_on_oracle(oracle, [(opcode, case) for _, case in others]) if others else []
    runs.update(kind for (kind, _), ok in zip(others, answers) if ok)
    return [kind for kind in coverage_cases.TYPES if kind in runs]


def write_table(path, table):
    lines = ["# Opcodes and the element types for which XLA's CPU runs a case of scripts/coverage_cases.py; written by",
             "# scripts/coverage.py --oracle. The modules go to XLA as StableHLO: what has no form there, or needs several devices, is empty."]
    lines += [f"{opcode}: {' '.join(k for k in coverage_cases.TYPES if k in kinds)}" for opcode, kinds in sorted(table.items())]
    path.write_text("\n".join(lines) + "\n")


def closing(wrong, fine):
    for message in wrong:
        print(message)
    print(f"{fine} passed, {len(wrong)} failed")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="build folder (default build/release)")
    parser.add_argument("--only", default="", help="comma-separated opcodes")
    parser.add_argument("--oracle", default="", help="ask this program which cells XLA runs, and store them")
    parser.add_argument("-q", "--quiet", action="store_true", help="no table")
    parser.add_argument("--passes", action="store_true", help="of the passes instead: rules, and rules with tests")
    options = parser.parse_args()
    if options.passes:
        wrong, fine = pass_coverage.check(str((ROOT / options.build / "bin" / "hlo-opt").resolve()), options.quiet)
        return closing(wrong, fine)
    every = opcodes()
    missing = sorted(set(every) ^ set(coverage_cases.CASES))
    if missing:
        print(f"scripts/coverage_cases.py, coverage_control.py and lib/ops/ops.def differ: {' '.join(missing)}")
        return 1
    wanted = [o for o in every if not options.only or o in options.only.split(",")]
    if options.oracle:
        known = read_table(FOLDER / "xla.txt") if (FOLDER / "xla.txt").exists() else {}
        for opcode in options.only.split(",") if options.only else wanted:
            if make_cases(opcode):
                known[opcode] = ask_oracle(options.oracle, opcode)
                write_table(FOLDER / "xla.txt", known)  # it takes long: kept as it comes
        return 0
    with tempfile.TemporaryDirectory() as name:
        results = run_cases(str((ROOT / options.build / "bin" / "hlo-run").resolve()), wanted, pathlib.Path(name))
    cells = fill(wanted, results)
    if not options.quiet:
        print_table(wanted, cells)
    reasons = read_reasons()
    wrong, fine = judge(wanted, cells, read_table(FOLDER / "xla.txt"), reasons)
    if not options.only:
        wrong += [f"reasons.txt: no empty cell for `{r.platform} | {' '.join(r.opcodes)} | {' '.join(r.kinds)}`" for r in reasons if not r.used]
    return closing(wrong, fine)


if __name__ == "__main__":
    sys.exit(main())
