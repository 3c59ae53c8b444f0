"""What the benchmarks of programs share: running hlo-run and XLA, flags, the report. Standard library only."""

import datetime
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


class BenchError(Exception):
    """A message for the user."""


def run(command, environment=None):
    """The standard output of a command, or an error with the last line of what it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env=os.environ | (environment or {}))
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()
        line = " ".join(map(str, command))
        raise BenchError(f"`{line}` ended with {done.returncode}: {said[-1]}")
    return done.stdout


def oracle_python():
    """A Python that has JAX."""
    candidates = [os.environ.get("HLO_ORACLE_PYTHON"),
                  os.path.expanduser("~/.cache/hlo-oracle/bin/python"), "python3"]
    for python in filter(None, candidates):
        try:
            run([python, "-c", "import jax"])
            return python
        except (BenchError, OSError):
            continue
    raise BenchError("--oracle needs a Python with JAX (pip install jax==0.10.2 jaxlib==0.10.2); "
                     "name it in HLO_ORACLE_PYTHON")


def cpu_name():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "unknown CPU"


def add_flags(parser, threads, xla=None):
    """The flags that all of them have; those about XLA and values where XLA has a part in it."""
    if xla:
        parser.add_argument("--oracle", action="store_true", help=f"time XLA:CPU {xla}")
        parser.add_argument("--no-check", action="store_true", help="do not compare the values")
    parser.add_argument("--threads", type=int, default=threads)
    parser.add_argument("--platform", default="cpu", help="of hlo-run (cpu)")
    parser.add_argument("--hlo-run", default=ROOT / "build" / "release" / "bin" / "hlo-run",
                        help="the tool to time (build/release/bin/hlo-run)")
    parser.add_argument("--json", metavar="FILE", help="also write all figures")


def parse(parser, known, what):
    """The arguments, whose names are known ones."""
    args = parser.parse_args()
    for name in args.names:
        if name not in known:
            parser.error(f"unknown {what} {name}; there are: {', '.join(sorted(known))}")
    return args


def start(args, make_oracle=None):
    """What make_oracle makes if XLA is asked for; ends the program when something is missing."""
    try:
        if not os.access(args.hlo_run, os.X_OK):
            raise BenchError(f"{args.hlo_run}: no such program; build it with scripts/build")
        oracle = make_oracle() if make_oracle and args.oracle else None
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(1)
    print(f"{datetime.date.today()}, {cpu_name()}, {args.threads} threads, times in ms")
    return oracle


def command(folder, name, args):
    """hlo-run on a program of this folder, with its inputs."""
    return [args.hlo_run, folder / f"{name}.hlo", f"--inputs-from={folder / name}.json",
            f"--threads={args.threads}", f"--platform={args.platform}"]


def write_report(args, key, results):
    if args.json:
        report = {"date": str(datetime.date.today()), "cpu": cpu_name(), "threads": args.threads,
                  "load": os.getloadavg()[0], key: results}
        pathlib.Path(args.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
