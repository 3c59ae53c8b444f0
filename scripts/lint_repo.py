#!/usr/bin/env python3
"""Checks of the sources themselves: dependency direction, sizes, tables against files and tests, banned words.

Prints each finding as file:line: message and closes with `N passed, N failed`. `--stats` prints sizes per folder.
Standard library only.
"""

import pathlib
import re
import statistics
import subprocess
import sys

import changed_tests
import lint_source

ROOT = pathlib.Path(__file__).resolve().parent.parent

BELOW_BACKENDS = ["lib", "passes", "backends/backend.h", "backends/platforms.h", "backends/backends.def"]
BELOW_TARGETS = [*BELOW_BACKENDS, "backends/common", "backends/llvm", "backends/codegen"]
# Which boxes a folder may include, its own aside. The longest matching folder counts; tests (_test.cc) may include anything.
ALLOWED = {
    "lib/support": [],
    "lib/types": ["lib/support"],
    "lib/math": ["lib/support", "lib/types"],
    "lib/ops": ["lib/support", "lib/types"],
    "lib/ir": ["lib/support", "lib/types", "lib/ops"],
    "lib/match": ["lib/support", "lib/types", "lib/ops", "lib/ir"],
    "lib/analysis": ["lib/support", "lib/types", "lib/ops", "lib/ir", "lib/match", "lib/eval"],
    "lib/linalg": ["lib/support", "lib/types", "lib/ops", "lib/ir"],
    "lib/proto": ["lib/support", "lib/types", "lib/ops", "lib/ir"],
    "lib/eval": ["lib/support", "lib/types", "lib/ops", "lib/ir", "lib/math", "lib/linalg"],
    "parser": ["lib"],
    "passes": ["lib"],
    "backends": ["lib", "passes", "backends"],
    "backends/backend.h": ["lib"],
    "backends/platforms.h": ["lib", "backends/backends.def"],
    "backends/backends.def": [],
    "backends/common": [*BELOW_BACKENDS, "backends/common/stream.h"],
    "backends/common/stream.h": ["lib"],
    "backends/interpreter": [*BELOW_BACKENDS, "backends/common"],
    "backends/llvm": BELOW_BACKENDS,
    "backends/codegen": [*BELOW_BACKENDS, "backends/common", "backends/llvm"],
    "backends/cpu": [*BELOW_TARGETS, "backends/cpu"],
    "backends/cpu/library": ["lib"],
    "backends/cpu/tile": BELOW_TARGETS,
    "backends/cpu/families": [*BELOW_TARGETS, "backends/cpu/tile"],
    "backends/gpu": [*BELOW_TARGETS, "backends/gpu"],
    "backends/gpu/cuda": ["lib"],
    "backends/gpu/device": ["lib", "backends/common/stream.h", "backends/gpu/cuda"],
    "backends/gpu/library": [*BELOW_TARGETS, "backends/gpu/cuda", "backends/gpu/device"],
    "backends/gpu/sim": [*BELOW_TARGETS, "backends/gpu/device"],
    "backends/gpu/nvptx": [*BELOW_TARGETS, "backends/gpu/cuda", "backends/gpu/device"],
    "backends/gpu/emit": [*BELOW_TARGETS, "backends/gpu/device", "backends/gpu/emit"],
    "backends/gpu/emit/index": BELOW_TARGETS,
    "backends/gpu/emit/core": [*BELOW_TARGETS, "backends/gpu/device", "backends/gpu/emit/index"],
    "backends/gpu/emit/families": [*BELOW_TARGETS, "backends/gpu/device", "backends/gpu/emit/index", "backends/gpu/emit/core"],
    "tools": ["lib", "parser", "passes", "backends", "tools"],
}
# Headers of packages and the folders that may include them.
PACKAGES = {
    "llvm/": ["backends/llvm", "backends/cpu", "backends/gpu"],
    "dnnl": ["backends/cpu/library"],
    "hwy/": ["backends/cpu/library"],
    "cxxopts": ["tools"],
    "catch2/": None,  # tests only
}
MAX_LINES = {".cc": 800, ".h": 500, ".py": 600}
# Files that may be longer, each with its reason.
LONG_FILES = {
    "lib/ops/attrs.h": "one struct per kind of attributes; splitting would hide the list",
    "lib/math/coefficients.h": "tables written by scripts/fit_minimax.py",
}
BANNED = [
    (re.compile(r"\b(?:std::)?unordered_(?:map|set)<[^>]*\*"), "maps keyed by pointers have no stable order"),
    # Any absolute path that does not start in a folder every Debian machine has.
    (re.compile(r"(?<![\w./:)\]}>*-])/(?!(?:usr|proc|sys|dev|tmp|etc|bin|lib)/)[a-z]{3,}/[\w.]"), "a path of one machine"),
    (re.compile(r"\b(?:FIXME|XXX)\b"), "say what is missing as TODO(subject): reason"),
    (re.compile(r"\bTODO\b(?!\([a-z0-9 _-]+\): )"), "write TODO(subject): reason"),
]
# What is left, stays or is hidden may do so behind something; else the word has been taken for `after`, and for `before`.
BEHIND = re.compile(r"(?<!leave )(?<!left )(?<!stay )(?<!stays )(?<!hidden )\b[Bb]ehind\b|[A-Za-z]Behind|\bBehind[A-Z]")
SOURCE = {".cc", ".h", ".def", ".py"}


class Lint:
    def __init__(self):
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                                check=True).stdout.split("\n")
        self.files = [f for f in sorted(listed) if f and (ROOT / f).is_file()]
        self.findings = []
        self.checks = 0

    def check(self, ok, place, message):
        self.checks += 1
        if not ok:
            self.findings.append(f"{place}: {message}")

    def text(self, name):
        return (ROOT / name).read_text(errors="replace")


def box_of(path):
    best = ""
    for folder in ALLOWED:
        if (path + "/").startswith(folder + "/") and len(folder) > len(best):
            best = folder
    return best


def check_boxes(lint):
    """Each folder of sources is in a box; a new one of `lib` or `backends` has a row of its own."""
    folders = {}
    for name in lint.files:
        path = pathlib.Path(name)
        if path.suffix in {".cc", ".h", ".def"} and path.parts[0] in {box.split("/")[0] for box in ALLOWED}:
            folders.setdefault(str(path.parent), name)
    for folder, name in folders.items():
        box = box_of(folder)
        lint.check(box != "" and (box != "backends" or folder == box), name, f"ALLOWED in scripts/lint_repo.py has no row for `{folder}`")


def check_includes(lint):
    pattern = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]')
    for name in lint.files:
        if pathlib.Path(name).suffix not in {".cc", ".h", ".def"}:
            continue
        box = box_of(name)
        is_test = name.startswith("testdata/") or name.endswith("_test.cc") or "test_util" in name or name.endswith("test_main.cc")
        for number, line in enumerate(lint.text(name).split("\n"), 1):
            match = pattern.match(line)
            if not match:
                continue
            target = match.group(2)
            place = f"{name}:{number}"
            for prefix, folders in PACKAGES.items():
                if target.startswith(prefix):
                    ok = is_test if folders is None else any(name.startswith(f + "/") for f in folders)
                    lint.check(ok or (is_test and folders is not None), place, f"`{target}` may not be included here")
            target_box = box_of(target)
            if box and target_box and not is_test:
                ok = target_box == box or any((target_box + "/").startswith(a + "/") for a in ALLOWED[box])
                lint.check(ok, place, f"`{box}` may not depend on `{target_box}`")


def check_sizes(lint):
    for name in lint.files:
        limit = MAX_LINES.get(pathlib.Path(name).suffix)
        if limit is None or name in LONG_FILES:
            continue
        lines = lint.text(name).count("\n")
        lint.check(lines <= limit, name, f"{lines} lines; at most {limit}")
    for name in LONG_FILES:
        lint.check(name in lint.files, "scripts/lint_repo.py", f"{name} is excused but does not exist")


def check_columns(lint):
    """Code is at most 100 columns wide; aligned tables (comments, clang-format off) and raw strings may be wider."""
    for name in lint.files:
        if pathlib.Path(name).suffix not in (".cc", ".h") or name.endswith("_test.cc"):
            continue
        formatted = True
        wide = []
        for number, line in enumerate(lint.text(name).split("\n"), 1):
            if "clang-format o" in line:
                formatted = "clang-format on" in line
            if formatted and len(line) > 100 and not line.lstrip().startswith("//") and 'R"' not in line:
                wide.append(number)
        lint.check(not wide, f"{name}:{wide[0] if wide else 1}", "over 100 columns; run clang-format")


def check_sources(lint):
    """Functions that nobody sees whole, and switches that do not notice a new value of an enumeration."""
    sources = [name for name in lint.files if pathlib.Path(name).suffix in (".cc", ".h")]
    blanked = {name: lint_source.blanked(lint.text(name)) for name in sources}
    enums = set().union(*map(lint_source.enumerations, blanked.values()))
    values = set().union(*map(lint_source.enumerators, blanked.values()))
    for name, code in blanked.items():
        if name.endswith("_test.cc"):
            continue
        text = lint.text(name)
        for first, last in lint_source.functions(code):
            lint.check(last - first < lint_source.MAX_FUNCTION_LINES, f"{name}:{first}",
                       f"a function of {last - first + 1} lines; at most {lint_source.MAX_FUNCTION_LINES}")
        for line in lint_source.defaults(code, enums, values):
            lint.check(False, f"{name}:{line}", "`default:` over an enumeration of ours; name every value, or take a set, a table or `if`")
        for line in lint_source.wide_comments(text):
            lint.check(False, f"{name}:{line}", f"a comment over {lint_source.MAX_COMMENT_COLUMNS} columns")
        lint.checks += 1


def check_local_names(lint):
    """Sources of a folder may be compiled as one (those of tools/ never are): what each has for itself must have a name of its
    own. What two need belongs into a header."""
    places = {}
    for name in lint.files:
        path = pathlib.Path(name)
        if path.suffix != ".cc" or name.endswith("_test.cc") or str(path.parent) == "tools":
            continue
        for local, line in lint_source.local_names(lint_source.blanked(lint.text(name))):
            first = places.setdefault((path.parent, local), name)
            lint.check(first == name, f"{name}:{line}", f"`{local}` is also in {first}; name it otherwise, or share it")


def check_hidden_functions(lint):
    """Where the sources of a folder are compiled as one, a function that one has for itself hides that of a header from those
    that come after it."""
    code = {name: lint_source.blanked(lint.text(name)) for name in lint.files
            if name.endswith((".cc", ".h")) and not name.endswith("_test.cc")}
    includes = {name: set(re.findall(r'^#include "([^"]+)"', lint.text(name), re.M)) for name in code}
    headers = {}
    for name in code:
        for function in lint_source.public_functions(code[name]) if name.endswith(".h") else ():
            headers.setdefault(function, set()).add(name)

    def reached(name):
        seen, rest = set(), [name]
        while rest:
            new = includes.get(rest.pop(), set()) - seen
            seen |= new
            rest += new
        return seen

    local = {name: {text.split("(")[0]: line for text, line in lint_source.local_names(code[name]) if "(" in text}
             for name in code if name.endswith(".cc") and pathlib.Path(name).parent != pathlib.Path("tools")}
    for name, functions in local.items():
        beside = [other for other in local if other != name and pathlib.Path(other).parent == pathlib.Path(name).parent]
        for function, line in functions.items():
            if function not in headers:
                continue
            hidden = next((other for other in beside if function not in local[other] and lint_source.calls(code[other], function)
                           and headers[function] & reached(other)), None)
            lint.check(hidden is None, f"{name}:{line}", f"`{function}` hides that of a header from {hidden}; name it otherwise")



def check_words(lint):
    for name in lint.files:
        if pathlib.Path(name).suffix not in SOURCE or name == "scripts/lint_repo.py":
            continue
        for number, line in enumerate(lint.text(name).split("\n"), 1):
            for pattern, why in BANNED:
                if pattern.search(line):
                    lint.check(False, f"{name}:{number}", why)
            if name.startswith(("parser/", "passes/", "tools/")) and BEHIND.search(line):
                lint.check(False, f"{name}:{number}", "say `after` or `before` instead of `behind`")
        lint.checks += 1


def check_heads(lint):
    for name in lint.files:
        if pathlib.Path(name).suffix == ".h":
            text = lint.text(name)
            lint.check(text.startswith("//"), f"{name}:1", "a header starts by saying what it is for")
            lint.check("#pragma once" in text, f"{name}:1", "no #pragma once")


def check_passes(lint):
    rows = re.findall(r'^HLO_PASS\("([^"]+)",\s*(\w+),', lint.text("passes/passes.def"), re.M)
    for name, class_name in rows:
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_name).lower()
        sources = [f for f in lint.files if re.fullmatch(rf"passes/\w+/{snake}\.cc", f)]
        lint.check(len(sources) == 1, "passes/passes.def", f"pass `{name}` has no passes/<group>/{snake}.cc")
        tests = [f for f in lint.files if f.startswith(f"testdata/passes/{name}/")]
        lint.check(bool(tests), "passes/passes.def", f"pass `{name}` has no test in testdata/passes/{name}/")
    classes = {class_name for _, class_name in rows}
    for name in lint.files:
        if re.fullmatch(r"passes/\w+/\w+\.(cc|h)", name):
            text = lint.text(name)
            lint.check("Ensures: …" not in text, name, "still the text of scripts/new_pass.py")
            for defined in re.findall(r"^HLO_DEFINE_PASS\((\w+)\)", text, re.M):
                lint.check(defined in classes, name, f"`{defined}` has no row in passes/passes.def")


def check_pass_groups(lint):
    """What a group of passes takes of another one is a pass, or belongs to passes/util or the toolkit passes/fusion."""
    classes = re.findall(r'^HLO_PASS\("[^"]+",\s*(\w+),', lint.text("passes/passes.def"), re.M)
    passes = {re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() for name in classes}
    for name in lint.files:
        if not (place := re.match(r"passes/(\w+)/\w+\.(?:cc|h)$", name)) or name.endswith("_test.cc"):
            continue
        for group, stem in re.findall(r'^#include "passes/(\w+)/(\w+)\.h"', lint.text(name), re.M):
            ok = group in (place.group(1), "util") or (place.group(1) != "util" and (group == "fusion" or stem in passes))
            lint.check(ok, name, f"`passes/{group}/{stem}.h` is no pass; what several groups use belongs in passes/util")


def check_ops(lint):
    rows = re.findall(r'^HLO_OP\(\w+,\s*"([^"]+)"', lint.text("lib/ops/ops.def"), re.M)
    for name in lint.files:
        if name.startswith(("lib/ops/", "lib/eval/")):
            lint.check("started by scripts/new_op.py" not in lint.text(name), name, "still the text of scripts/new_op.py")
    for text in rows:
        lint.check(f"testdata/ops/{text}.hlo" in lint.files, "lib/ops/ops.def", f"`{text}` has no testdata/ops/{text}.hlo")


def check_families(lint):
    """Each row of the GPU's kernel families has its source, and each family a test that sees it among the thunks."""
    table = "backends/gpu/emit/families.def"
    if table not in lint.files:
        return
    sources = {name: lint.text(name) for name in lint.files if name.startswith("backends/gpu/emit/") and name.endswith(".cc")}
    tests = {name: lint.text(name) for name in lint.files if name.startswith("testdata/codegen/")}
    for name, text in {**sources, **tests}.items():
        lint.check("started by scripts/new_family.py" not in text, name, "still the text of scripts/new_family.py")
    for emit in sorted(set(re.findall(r"^HLO_GPU_FAMILY\(\w+,\s*(\w+),", lint.text(table), re.M))):
        found = [name for name, text in sources.items() if "/families/" in name and f"absl::Status {emit}(" in text]
        lint.check(len(found) == 1, table, f"no file of families/ defines `{emit}`")
    for name, text in sources.items():
        for word in re.findall(r'plan\.family = "([^"]+)"', text):
            seen = any(re.search(rf"^// GPU(?:-NEXT)?: +{re.escape(word)}\b", test, re.M) for test in tests.values())
            lint.check(seen, name, f"no test of testdata/codegen/ sees a thunk `{word}` of the GPU")


def check_changed_tests(lint):
    """scripts/check knows the tests of each folder."""
    if "CMakeLists.txt" not in lint.files:
        return
    for place, message in changed_tests.findings(lint.files):
        lint.check(False, place, message)
    lint.checks += 1


def stats(lint):
    sizes = {}
    for name in lint.files:
        if pathlib.Path(name).suffix in {".cc", ".h"}:
            sizes.setdefault(name.rsplit("/", 1)[0], []).append(lint.text(name).count("\n"))
    print(f"{'folder':32} {'files':>5} {'lines':>7} {'median':>7} {'p90':>5} {'max':>5}")
    for folder, lines in sorted(sizes.items()):
        lines.sort()
        print(f"{folder:32} {len(lines):5} {sum(lines):7} {statistics.median(lines):7.0f} {lines[int(len(lines) * 0.9) - (len(lines) > 9)]:5} {lines[-1]:5}")


def main():
    lint = Lint()
    if "--stats" in sys.argv[1:]:
        stats(lint)
        return 0
    for check in (check_boxes, check_includes, check_sizes, check_columns, check_sources, check_local_names, check_hidden_functions, check_words, check_heads, check_passes, check_pass_groups, check_ops, check_families,
                  check_changed_tests):
        check(lint)
    for finding in lint.findings:
        print(finding)
    print(f"{lint.checks - len(lint.findings)} passed, {len(lint.findings)} failed")
    return 1 if lint.findings else 0


if __name__ == "__main__":
    sys.exit(main())
