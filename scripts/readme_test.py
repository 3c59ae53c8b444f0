#!/usr/bin/env python3
"""Runs the examples of README.md and compares what they print; closes with `N passed, N failed, N skipped`.

    scripts/readme_test.py --build=build/release

An example is a line `$ command` with the lines that it prints below it; `…` stands for any lines, in a line for any
part of it, and numbers that depend on the machine (a decimal point in them, on lines of `run` and `memory`) may differ.
Standard library only.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
INDENT = " " * 7
MEASURED = re.compile(r"^(?:run|memory) +")
NUMBER = re.compile(r"\d[\d.]*")


def examples(text):
    """(command, expected lines) of each `$` line."""
    found = []
    for line in text.splitlines():
        if line.startswith(INDENT + "$ "):
            found.append((line[len(INDENT) + 2:], []))
        elif found and found[-1] is not None and line.startswith(INDENT):
            found[-1][1].append(line[len(INDENT):])
        elif found and found[-1] is not None:
            found.append(None)  # the block has ended
    return [example for example in found if example]


def pattern(lines):
    """A regular expression for what a command prints."""
    parts = []
    for line in lines:
        if line == "…":
            parts.append(r"(?:.*\n)*?")
        elif "…" in line:
            parts.append(".*".join(map(re.escape, line.rstrip().split("…"))) + r"\n")
        elif MEASURED.match(line):
            parts.append(r"\s+".join(re.escape(word) if not NUMBER.search(word) else r"\S+" for word in line.split()) + r"\n")
        else:
            parts.append(re.escape(line.rstrip()) + r"\n")
    return re.compile("".join(parts))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release")
    build = (ROOT / parser.parse_args().build).resolve()
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    program = re.search(r"`softmax\.hlo`:\n\n```\n(.*?)```", text, re.S).group(1)
    has_cpu = "cpu" in subprocess.run([build / "bin/hlo-run", "--list-platforms"], capture_output=True, text=True, check=False).stdout.split()
    found = examples(text)
    passed = failed = skipped = 0
    if len(found) < 5:
        print(f"README.md has {len(found)} examples; at least 5 are wanted")
        failed += 1
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "softmax.hlo").write_text(program, encoding="utf-8")
        (work / "bad.hlo").write_text(program.replace("exponential", "exponentail"), encoding="utf-8")
        (work / "testdata").symlink_to(ROOT / "testdata")
        env = dict(os.environ, PATH=f"{build / 'bin'}:{os.environ['PATH']}")
        for command, lines in found:
            if not has_cpu and command.startswith("hlo-run"):
                command += " --platform=interpreter"
                if "--emit" in command:
                    skipped += 1
                    continue
            done = subprocess.run(command, shell=True, cwd=work, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, check=False)
            printed = "".join(line.rstrip() + "\n" for line in done.stdout.rstrip("\n").splitlines())
            if pattern(lines).fullmatch(printed):
                passed += 1
            else:
                failed += 1
                wanted = "\n".join(lines)
                print(f"README.md: `{command}` prints\n{printed}instead of\n{wanted}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
