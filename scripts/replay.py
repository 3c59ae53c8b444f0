#!/usr/bin/env python3
"""What passes make of the corpus, compared between two builds: the proof of a refactoring.

    scripts/replay.py OLD NEW                        # folders of builds, or hlo-opt programs
    scripts/replay.py OLD NEW --passes=dce --passes='fix(cse,dce)' testdata/models/*.hlo
    scripts/replay.py OLD NEW --diff                 # show the first difference of each

Without --passes each pass of both programs runs alone, with its defaults; without files, the modules of testdata/corpus
and testdata/models. Output, messages and exit codes must be the same bytes. Exits with 1 when something differs.
"""

import argparse
import concurrent.futures
import difflib
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def program(path):
    path = pathlib.Path(path)
    for candidate in (path, path / "bin/hlo-opt", path / "hlo-opt"):
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate.resolve()
    sys.exit(f"{path}: neither a build folder nor an hlo-opt")


def passes_of(tool):
    done = subprocess.run([tool, "--list-passes"], capture_output=True, text=True, check=True)
    return [name for name in done.stdout.strip().split(",") if not name.startswith("test-only-mis")]


def run(tool, pipeline, path):
    done = subprocess.run([tool, path, f"--passes={pipeline}", "--no-reproducer", "--print-large-constants"],
                          capture_output=True, text=True, errors="replace", timeout=600, check=False)
    return done.stdout, done.stderr.replace(str(tool), "hlo-opt"), done.returncode


def difference(old, new):
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), "old", "new", lineterm="", n=2))
    return "\n".join(lines[:30])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--passes", action="append", metavar="PIPELINE")
    parser.add_argument("--diff", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_intermixed_args()
    old, new = program(options.old), program(options.new)
    files = options.files or sorted(str(f) for folder in ("corpus", "models")
                                    for f in (ROOT / "testdata" / folder).glob("**/*.hlo"))
    if not files:
        sys.exit("no modules to run")
    pipelines = options.passes or sorted(set(passes_of(old)) & set(passes_of(new)))
    work = [(pipeline, path) for pipeline in pipelines for path in files]

    def compare(item):
        pipeline, path = item
        before, after = run(old, pipeline, path), run(new, pipeline, path)
        if before == after:
            return None
        kind = "output" if before[0] != after[0] else "messages" if before[1] != after[1] else "exit code"
        text = f"{pipeline}  {path}: {kind} differs"
        if options.diff:
            index = 0 if kind == "output" else 1
            text += "\n" + difference(before[index], after[index])
        return text

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = [text for text in pool.map(compare, work) if text]
    for text in found:
        print(text)
    print(f"{len(work)} runs of {len(pipelines)} pipelines on {len(files)} modules, {len(found)} differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
