#!/usr/bin/env python3
"""Everything a change must pass, in order; stops at the first thing that fails and says what to do.

    scripts/check.py          # format, lint, generated documents, build, every test
    scripts/check.py --fast   # for before a commit: changed files' format, lint, documents, build, unit tests and the
                              # lit tests of changed folders

--build=DIR takes a build folder that is already configured.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = (".cc", ".h")


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def changed_files():
    """Files that differ from the last commit, new ones included."""
    return sorted(set(git("diff", "--name-only", "HEAD") + git("ls-files", "--others", "--exclude-standard")))


def lit_folders(changed):
    """The folders of testdata to run for these files."""
    folders = set()
    for name in changed:
        parts = pathlib.PurePosixPath(name).parts
        if parts[:1] == ("testdata",) and len(parts) > 2:
            folders.add("/".join(parts[:3]) if parts[1] == "passes" else "/".join(parts[:2]))
        elif parts[:1] == ("passes",) and len(parts) > 1:
            folders.add("testdata/passes")
        elif parts[:1] == ("tools",):
            folders.add("testdata/tools")
        elif parts[:1] == ("parser",):
            folders.add("testdata/parser")
        elif parts[:2] == ("lib", "ir"):
            folders.add("testdata/verifier")
    return sorted(folder for folder in folders if (ROOT / folder).is_dir())


class Checks:
    def __init__(self, build):
        self.build = build
        self.failed = None

    def step(self, name, command, hint):
        if self.failed:
            return
        start = time.time()
        done = subprocess.run([str(c) for c in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", check=False)
        print(f"{'ok  ' if done.returncode == 0 else 'FAIL'} {name} ({time.time() - start:.1f} s)", flush=True)
        if done.returncode != 0:
            self.failed = name
            print("\n".join("    " + line for line in done.stdout.splitlines()[-40:]))
            print(f"    to do: {hint}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--list", action="store_true", help="print the steps, do nothing")
    options = parser.parse_args()
    changed = changed_files()
    sources = [f for f in (changed if options.fast else git("ls-files", "*.cc", "*.h"))
               if f.endswith(SOURCES) and (ROOT / f).exists()]
    python = sys.executable
    steps = []
    if sources and shutil.which("clang-format"):
        steps.append(("format", ["clang-format", "--dry-run", "-Werror", *sources], "clang-format -i FILES"))
    steps.append(("lint", [python, "scripts/lint_repo.py"], "each line names a file and what is wrong with it"))
    steps.append(("messages", [python, "scripts/check_diagnostics.py"], "write a test that expects the message (parser/README.md)"))
    steps.append(("documents", [python, "scripts/update_docs.py", "--check"], "scripts/update_docs.py"))
    if (options.build / "build.ninja").exists():
        steps.append(("build", ["ninja", "-C", options.build], "see the first error above"))
    else:
        steps.append(("build", ["scripts/build", "--tests"], "see the first error above"))
    run_tests = [python, "scripts/run_tests.py", f"--build={options.build}"]
    if options.fast:
        steps.append(("unit tests", [*run_tests, "--only=unit"], "the name of the test stands above"))
        folders = lit_folders(changed)
        if folders:
            lit = [python, "/usr/lib/llvm-19/build/utils/lit/lit.py", "-q", "--param",
                   f"bin={options.build.resolve() / 'bin'}", *folders]
            steps.append((f"lit tests of {', '.join(folders)}", lit, "scripts/update_checks.py FILE shows the difference"))
    else:
        steps.append(("all tests", run_tests, "the names of the tests stand above"))
    if options.list:
        for name, command, _ in steps:
            print(f"{name}: {' '.join(str(c) for c in command[:6])}")
        return 0
    checks = Checks(options.build)
    for step in steps:
        checks.step(*step)
    print("all checks passed" if not checks.failed else f"stopped at: {checks.failed}")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
