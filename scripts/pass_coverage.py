"""Which rule of which pass has a test: `scripts/coverage.py --passes`.

What a pass can do is what it counts (`hlo-opt --stats`): the rules of its tables and the names it gives to `Count`, read from the sources
of the pass. What is tested is what the commands in the tests of testdata/passes/ count. Prints pass, rules, tested rules, and fails for a
pass without tests and for a rule that no test makes the pass use. testdata/coverage/pass_reasons.txt excuses some, one line each: pass,
rule, why.
"""

import collections
import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
REASONS = ROOT / "testdata" / "coverage" / "pass_reasons.txt"
ROW = re.compile(r'^HLO_PASS\("([^"]+)",\s*(\w+),\s*k(\w+),', re.M)
RULE = re.compile(r'\{\s*"([a-z0-9-]+)",\s*Opcode::k\w+,\s*k\w+,')
COUNT = re.compile(r'\bCount\(\s*"([^"]+)"')
RUN = re.compile(r"//\s*RUN:\s*(.*)")


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def sources(name, group, class_name):
    """The files of a pass: its own, and those that only help it."""
    folder = ROOT / "passes" / snake(group)
    if name == "algsimp":
        return [folder / "algebraic_simplifier.cc", *sorted(folder.glob("rules_*.cc"))]
    files = [folder / f"{snake(class_name)}.cc"]
    for header in re.findall(r'#include "(passes/\w+/\w+)\.h"', files[0].read_text()):
        other = ROOT / f"{header}.cc"
        if other.exists() and "HLO_DEFINE_PASS" not in other.read_text() and other.parent.name != "util":
            files.append(other)
    return files


def rules_of_passes():
    """{pass: names of what it counts}"""
    result = {}
    for name, class_name, group in ROW.findall((ROOT / "passes" / "passes.def").read_text()):
        names = set()
        header = ROOT / "passes" / snake(group) / f"{snake(class_name)}.h"
        if '"passes/expander.h"' in header.read_text():
            names.add("expanded")
        for file in sources(name, group, class_name):
            text = file.read_text()
            names.update(RULE.findall(text), COUNT.findall(text))
        result[name] = names
    return result


def commands(file):
    """The commands of a test that transform its modules."""
    for line in RUN.findall(file.read_text(errors="replace")):
        command = line.split("|")[0].replace("2>&1", "").strip()
        if command.startswith("hlo-opt ") and "> %t" not in command and "--check-equivalence" not in command:
            yield command


def counted(tool, file, folder):
    """{pass: {rule: how often}} of the commands of a test."""
    result = collections.defaultdict(collections.Counter)
    for command in commands(file):
        words = [tool, "--stats=json", "--disable-output"]
        for word in shlex.split(command)[1:]:
            words.append(word.replace("%s", str(file)).replace("%S", str(file.parent)).replace("%t", f"{folder}/{file.stem}"))
        done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
        for line in (done.stderr + done.stdout).splitlines():
            if line.startswith('{"') and line.endswith("}}"):
                for name, counts in json.loads(line).items():
                    result[name].update(counts)
    return result


def reasons():
    """{(pass, rule): why}"""
    found = {}
    for line in REASONS.read_text().splitlines() if REASONS.exists() else []:
        if line and not line.startswith("#"):
            name, rule, why = line.split(None, 2)
            found[(name, rule)] = why
    return found


def check(tool, quiet):
    """Prints the table; returns the lines of what is missing, and the number of rules that have a test."""
    rules = rules_of_passes()
    files = sorted((ROOT / "testdata" / "passes").rglob("*.hlo"))
    tests = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        for result in pool.map(lambda file: counted(tool, file, folder), files):
            for name, counts in result.items():
                for rule in counts:
                    tests[name][rule] += 1
    excused, used, missing, passed = reasons(), set(), [], 0
    for name, names in sorted(rules.items()):
        if not any((ROOT / "testdata" / "passes" / name).glob("*")) and (name, "-") not in excused:
            missing.append(f"{name}: no tests in testdata/passes/{name}/")
        used.add((name, "-"))
        untested = sorted(rule for rule in names if tests[name][rule] == 0)
        for rule in untested:
            key = (name, rule.replace(" ", "-"))
            used.add(key)
            if key not in excused:
                missing.append(f"{name}: no test in which it counts `{rule}`")
        passed += len(names) - len(untested)
        if not quiet:
            print(f"{name:44} {len(names):4} rules {len(names) - len(untested):4} tested")
    missing += [f"{REASONS.relative_to(ROOT)}: `{name} {rule}` excuses nothing" for name, rule in excused if (name, rule) not in used]
    return missing, passed
