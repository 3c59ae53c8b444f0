#!/usr/bin/env python3
"""What memory XLA:CPU plans for the models, beside what hlo-run does.

    scripts/xla_memory.py                     the table below, from testdata/xla_memory.json and hlo-run
    scripts/xla_memory.py --write             asks XLA again and writes the file; needs JAX
    scripts/xla_memory.py --hlo-run=PATH MODEL...

Temporaries are what a run needs beside arguments, results and constants. XLA's figure is that of its buffer assignment; what its library
for products takes while it runs is not in it, and neither is what hlo-run's keeps packed. Exit code 1 where hlo-run takes more than the
file's `limits` allow: so many times XLA's (1.1 where nothing is said), with the reason beside it. Without --write standard library only.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "testdata" / "models"
TABLE = ROOT / "testdata" / "xla_memory.json"
LIMIT = 1.1


def ask_xla(path):
    from xla_times import Compiler
    stats = Compiler(path.read_text(encoding="utf-8")).compile().get_compiled_memory_stats()
    return {"argument_bytes": stats.argument_size_in_bytes, "output_bytes": stats.output_size_in_bytes,
            "alias_bytes": stats.alias_size_in_bytes, "temp_bytes": stats.temp_size_in_bytes}


def write(names):
    import jaxlib
    table = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {"limits": {}}
    modules = {name: ask_xla(MODELS / f"{name}.hlo") for name in names}
    table = {"schema": 1, "xla": f"jaxlib {jaxlib.__version__}", "limits": table["limits"], "modules": modules}
    TABLE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


def ask_hlo(hlo_run, name):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [hlo_run, MODELS / f"{name}.hlo", f"--memory-report={report.name}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr.strip())
        return json.load(open(report.name, encoding="utf-8"))  # noqa: SIM115: hlo-run has put another file there


def compare(names, hlo_run):
    """The number of models above their limit."""
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    print(f"{'temporaries':24} {'hlo':>12} {'XLA':>12} {'x':>6} {'limit':>6}   ({table['xla']})")
    above = 0
    for name in names:
        ours = ask_hlo(hlo_run, name)["bytes"]["temporaries"]
        theirs = table["modules"][name]["temp_bytes"]
        limit = table["limits"].get(name, {"times": LIMIT, "why": ""})
        ratio = ours / max(theirs, 1)
        is_above = ratio > limit["times"]
        above += is_above
        print(f"{name:24} {ours:12} {theirs:12} {ratio:6.2f} {limit['times']:6.2f}   {'ABOVE ' if is_above else ''}{limit['why']}".rstrip())
    return above


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help="of testdata/models (all)")
    parser.add_argument("--write", action="store_true", help="ask XLA:CPU and write testdata/xla_memory.json")
    parser.add_argument("--hlo-run", default=ROOT / "build" / "release" / "bin" / "hlo-run", help="the tool (build/release/bin/hlo-run)")
    args = parser.parse_args()
    known = sorted(path.stem for path in MODELS.glob("*.hlo"))
    for name in args.models:
        if name not in known:
            parser.error(f"there is no model `{name}`; there are {', '.join(known)}")
    if args.write:
        write(known)
    sys.exit(1 if compare(args.models or known, args.hlo_run) else 0)


if __name__ == "__main__":
    main()
