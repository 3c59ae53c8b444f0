"""Which unit programs and which folders of lit tests a change asks for (scripts/check).

The unit programs follow from the boxes of CMakeLists.txt; what lit tests say about a folder is the table LIT below, which
scripts/lint_repo.py holds against the folders there are. Standard library only.
"""

import ast
import functools
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Folders of sources. What lies outside of them has no unit programs.
TOP = ("lib", "parser", "passes", "backends", "tools")
CODE = (".cc", ".h", ".def", ".inc")
# Folders of sources and the lit tests that see what is done there; the longest folder that fits counts.
LIT = {
    "lib/support": ["parser", "tools"],
    "lib/types": ["parser", "verifier"],
    "lib/math": ["regress"],
    "lib/ops": ["parser", "passes", "verifier"],
    "lib/ir": ["parser", "passes", "verifier"],
    "lib/match": ["passes"],
    "lib/linalg": ["passes", "regress"],
    "lib/eval": ["passes", "regress"],
    "lib/analysis": ["analysis", "codegen", "passes"],
    "lib/proto": ["tools"],
    "parser": ["parser", "verifier"],
    "passes": ["passes"],
    "passes/buffers": ["analysis", "codegen", "passes"],
    "passes/fusion": ["codegen", "passes"],
    "backends": ["codegen", "tools"],
    "backends/common": ["codegen", "regress"],
    "backends/interpreter": ["regress", "tools"],
    "backends/llvm": ["codegen", "regress"],
    "backends/codegen": ["codegen", "regress"],
    "backends/cpu": ["codegen", "regress"],
    "backends/gpu": ["codegen", "gpu", "gpu_sim", "regress"],
    "tools": ["tools"],
    "tools/diff": ["diff", "tools"],
    "tools/fuzz": ["regress"],
    "tools/info": ["info", "tools"],
    "tools/opt": ["analysis", "tools"],
    "tools/reduce": ["reduce", "tools"],
    "tools/run": ["codegen", "tools"],
    "tools/hlo-diff.cc": ["diff", "tools"],
    "tools/hlo-fuzz.cc": ["regress"],
    "tools/hlo-info.cc": ["info", "tools"],
    "tools/hlo-reduce.cc": ["reduce", "tools"],
    "scripts": ["scripts"],
}
RUN_LINE = re.compile(r"\bRUN:")


def prefixes(name):
    """The path and the folders it is in, the longest first."""
    parts = pathlib.PurePosixPath(name).parts
    return ["/".join(parts[:n]) for n in range(len(parts), 0, -1)]


@functools.cache
def boxes():
    """Folder -> (name, whether folders below belong to it) of each hlo_box() of CMakeLists.txt."""
    text = re.sub(r"#.*", "", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
    found = re.findall(r"\bhlo_box\(\s*(\w+)\s+([\w/]+)([^)]*)\)", text)
    return {folder: (name, "SUBDIRS" in rest.split()) for name, folder, rest in found}


def box_folder(name):
    """The folder of the box that compiles this source; None where no box does."""
    for folder in prefixes(name)[1:]:
        if folder in boxes():
            has_it = boxes()[folder][1] or str(pathlib.PurePosixPath(name).parent) == folder
            return folder if has_it else None
    return None


@functools.cache
def tested_boxes():
    """Folders of the boxes that have a test program: those with a *_test.cc."""
    tests = (str(path.relative_to(ROOT)) for top in TOP for path in (ROOT / top).rglob("*_test.cc"))
    return {box_folder(test) for test in tests} - {None}


def unit_programs(changed):
    """The unit test programs of the folders that these files are in. Not all folders have one."""
    folders = {box_folder(name) for name in changed if name.endswith(CODE)}
    return sorted(f"{boxes()[folder][0]}_test" for folder in folders & tested_boxes())


@functools.cache
def lit_names():
    """(suffixes of lit tests, names of files and folders that are left out), from lit's configuration."""
    text = (ROOT / "testdata/lit.cfg.py").read_text(encoding="utf-8")
    return tuple(ast.literal_eval(re.search(rf"^config\.{word} = (\[.*\])$", text, re.M)[1]) for word in ("suffixes", "excludes"))


@functools.cache
def has_lit_tests(folder):
    """Whether lit finds tests there: it fails where it finds none, and programs of hlo-run have no RUN lines."""
    suffixes, excluded = lit_names()
    if set(pathlib.PurePosixPath(folder).parts) & set(excluded):
        return False
    for place, folders, names in os.walk(ROOT / folder):
        folders[:] = sorted(set(folders) - set(excluded))
        for name in sorted(set(names) - set(excluded)):
            path = pathlib.Path(place, name)
            if path.suffix in suffixes and RUN_LINE.search(path.read_text(encoding="utf-8", errors="replace")):
                return True
    return False


def lit_folders(changed):
    """The folders of testdata to run for these files."""
    folders = set()
    for name in changed:
        parts = pathlib.PurePosixPath(name).parts
        if parts[0] == "testdata":
            if len(parts) > 2:
                folders.add("/".join(parts[:3 if parts[1] == "passes" and len(parts) > 3 else 2]))
        elif pathlib.PurePosixPath(name).suffix in CODE or parts[0] == "scripts":
            known = next((prefix for prefix in prefixes(name) if prefix in LIT), None)
            folders.update(f"testdata/{folder}" for folder in LIT.get(known, ()))
    # A test runs once: a pass's folder is part of testdata/passes.
    whole = {folder for folder in folders if not any(parent in folders for parent in prefixes(folder)[1:])}
    return sorted(folder for folder in whole if has_lit_tests(folder))


def findings(files):
    """What of the above does not fit these files, all of the project's: (file, message)."""
    tested = {folder for folders in LIT.values() for folder in folders}
    for folder in sorted(tested):
        if not has_lit_tests(f"testdata/{folder}"):
            yield "scripts/changed_tests.py", f"testdata/{folder} has no lit tests"
    for place in LIT:
        if not (ROOT / place).exists():
            yield "scripts/changed_tests.py", f"{place} does not exist"
    for folder in boxes():
        if not (ROOT / folder).is_dir():
            yield "CMakeLists.txt", f"the folder of a box, {folder}, does not exist"
    folders = {}
    for name in files:
        if name.startswith(tuple(top + "/" for top in TOP)) and name.endswith(CODE):
            folders.setdefault(str(pathlib.PurePosixPath(name).parent), name)
    for folder, name in sorted(folders.items()):
        if not any(prefix in LIT for prefix in prefixes(folder)):
            yield name, f"LIT in scripts/changed_tests.py says nothing of `{folder}`"
        if folder != "tools" and box_folder(name) is None:  # each source of tools is a program
            yield name, f"`{folder}` is in no box of CMakeLists.txt"
    for name in files:
        parts = pathlib.PurePosixPath(name).parts
        if parts[0] == "testdata" and len(parts) == 3 and parts[1] not in tested and has_lit_tests("/".join(parts[:2])):
            yield name, f"no folder of LIT in scripts/changed_tests.py asks for testdata/{parts[1]}"
            tested.add(parts[1])
