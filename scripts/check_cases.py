#!/usr/bin/env python3
"""Runs a golden table of HLO texts against the parser and the printer, or of modules against the evaluator; counts what holds.

    scripts/check_cases.py text FILE.jsonl [--tool=build/release/bin/hlo_text_cases] [-v] [--show=ID] [--update]
    scripts/check_cases.py text FILE.jsonl --fixed-point
    scripts/check_cases.py ops FILE.jsonl [--tool=build/release/bin/hlo_op_cases] [-v] [--update]
    scripts/check_cases.py passes FILE.jsonl [--only=dce,cse] …          (all of check_pass_cases.py)

A `text` FILE holds one JSON object per line: id, section, input, expect ("ok" or "error"), the prints `printed`, `short`, `canonical`,
`hlo_opt`, and `quirk` for cases that document XLA rather than ask for the same. Every print given must come out byte for byte.
`--fixed-point` asks instead whether what each style prints of an accepted case reads back and prints alike.
Prints the counts per section and the cases that fail. Exits with 1 when a case fails that is not listed in
testdata/{text,op}_cases_baseline.json, or when fewer pass than it says; `--update` writes that file anew.
The table of `ops` is described in op_cases.py. Standard library only.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

import check_pass_cases
import op_cases

ROOT = pathlib.Path(__file__).resolve().parent.parent
BASELINES = {"text": ROOT / "testdata" / "text_cases_baseline.json", "ops": ROOT / "testdata" / "op_cases_baseline.json"}
TOOL_FOLDERS = ("build/release/bin", "build/dev/bin", "build/bin")


def find_tool(name):
    for folder in TOOL_FOLDERS:
        path = ROOT / folder / name
        if path.exists():
            return path
    sys.exit(f"check_cases.py: no {name} found; build it or name it with --tool=PATH")


def encode(rows):
    """The cases as the tool reads them: fields of a stated number of bytes."""
    out = bytearray()
    for row in rows:
        fields = [row["id"], row["expect"], row["input"], row.get("printed", ""), row.get("short", ""),
                  row.get("canonical", ""), row.get("hlo_opt", "")]
        for field in fields:
            data = field.encode("utf-8", "surrogateescape")
            out += b"%d " % len(data) + data + b"\n"
    return bytes(out)


def run(tool, rows, arguments=()):
    result = subprocess.run([str(tool), *arguments], input=encode(rows), stdout=subprocess.PIPE)
    return result.returncode, result.stdout.decode("utf-8", "replace")


def main():
    if sys.argv[1:2] == ["passes"]:
        del sys.argv[1]
        return check_pass_cases.main()
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("kind", choices=["text", "ops"])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--tool", type=pathlib.Path)
    parser.add_argument("--show", help="write one case with what is wanted and what comes out")
    parser.add_argument("--fixed-point", action="store_true", help="print, read, print again")
    parser.add_argument("--update", action="store_true", help="write the baseline")
    parser.add_argument("-v", "--verbose", action="store_true", help="list the failing quirk cases, too")
    options = parser.parse_args()
    tool = options.tool or find_tool(f"hlo_{'op' if options.kind == 'ops' else options.kind}_cases")
    baseline_file = BASELINES[options.kind]
    rows = [json.loads(line) for line in options.file.read_text(encoding="utf-8").splitlines() if line.strip()]
    modes = ["--fixed-point"] if options.fixed_point else []
    if options.show:
        print(run(tool, [row for row in rows if row["id"] == options.show], [f"--show={options.show}", *modes])[1])
        return 0
    if options.fixed_point:
        rows = [row for row in rows if "drifts" not in row]  # the reason stands in the row
        verdicts = dict(line.split("\t", 1) for line in run(tool, rows, modes)[1].splitlines())
        failing = {row["id"]: verdicts.get(row["id"], "no verdict") for row in rows if verdicts.get(row["id"]) != "pass"}
        for case, verdict in failing.items():
            print(f"  FAIL {case}: {verdict}")
        print(f"{len(rows) - len(failing)} passed, {len(failing)} failed, 0 skipped")
        return 1 if failing else 0
    if options.kind == "ops":
        verdicts = op_cases.verdicts(tool, rows)
    else:
        code, output = run(tool, rows)
        if code != 0:
            print(f"check_cases.py: the tool ended with code {code} after this case:\n{output.splitlines()[-1:]}")
            return 1
        verdicts = dict(line.split("\t", 1) for line in output.splitlines())
    sections = collections.defaultdict(lambda: [0, 0])
    failing, quirks = {}, {}
    for row in rows:
        verdict = verdicts.get(row["id"], "no verdict")
        if row.get("quirk"):
            if verdict != "pass":
                quirks[row["id"]] = verdict
            continue
        count = sections[row["section"]]
        count[1] += 1
        if verdict == "pass":
            count[0] += 1
        else:
            failing[row["id"]] = verdict
    for section, (passed, total) in sorted(sections.items(), key=lambda item: [int(n) for n in item[0].split(".")]):
        print(f"  {section:5} {passed:4} of {total}")
    for case, verdict in failing.items():
        print(f"  FAIL {case}: {verdict}")
    if options.verbose:
        for case, verdict in quirks.items():
            print(f"  quirk {case}: {verdict}")
    passed = sum(count[0] for count in sections.values())
    total = sum(count[1] for count in sections.values())
    print(f"{passed} of {total} cases hold; {len(quirks)} quirk cases differ from XLA")
    if options.update:
        old = json.loads(baseline_file.read_text())["known_different"] if baseline_file.exists() else {}
        known = {case: old[case] if case in old and isinstance(old, dict) else "no reason given" for case in sorted(failing)}
        baseline_file.write_text(json.dumps({"passed": passed, "known_different": known}, indent=1) + "\n")
        return 0
    # A list of ids, or a map from id to the reason why we differ.
    known = set(json.loads(baseline_file.read_text())["known_different"]) if baseline_file.exists() else set()
    new = sorted(set(failing) - known)
    if new:
        print(f"failing, but not listed in {baseline_file.relative_to(ROOT)}: {', '.join(new)}")
    # Rows that the baseline lists as different, and quirks, are not checked: they count as skipped.
    print(f"{passed} passed, {len(new)} failed, {len(failing) - len(new) + len(quirks)} skipped")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
