"""The list of corpus programs: a decorator states a program's arguments and how to treat it."""

import argparse
import dataclasses
import importlib
import os

from models import reference, spec

PROGRAMS = {}


@dataclasses.dataclass(frozen=True)
class Program:
    """`platform` chooses whose lowering writes the HLO: on `cpu` JAX calls LAPACK where other
    platforms get an instruction. Without `runs` there are no values, only text. Without `wide` an
    f64 evaluation says nothing about the errors (it draws other random numbers, say)."""

    model: spec.Model
    platform: str = "cpu"
    runs: bool = True
    x64: bool = False
    wide: bool = True


def program(*arguments, exact=False, platform="cpu", runs=True, x64=False, wide=True,
            donate=(), divided=None):
    """Adds the function below under its own name; its docstring says what it is about."""
    def add(function):
        name = function.__name__
        if name in PROGRAMS:
            raise ValueError(f"two programs are named {name}")
        about = " ".join(function.__doc__.split()).rstrip(".")
        everything = tuple(range(64)) if exact else ()
        PROGRAMS[name] = Program(
            spec.Model(about, function, arguments, donate, everything, divided), platform, runs, x64, wide)
        return function
    return add


def write_all(about, package, topics, folder, write):
    """The program of a script that writes the programs of package.topic, or those it is asked for:
    write(name, program, folder) gives the arrays, if there are some."""
    parser = argparse.ArgumentParser(description=about.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all programs")
    parser.add_argument("--output-dir", default=folder)
    parser.add_argument("--save-inputs", metavar="DIR", help="also write the inputs as .npy files")
    args = parser.parse_args()
    reference.configure(package)
    for topic in topics:
        importlib.import_module(f"{package}.{topic}")
    unknown = [n for n in args.names if n not in PROGRAMS]
    if unknown:
        parser.error(f"unknown program {unknown[0]}; there are: {', '.join(PROGRAMS)}")
    os.makedirs(args.output_dir, exist_ok=True)
    for name in args.names or PROGRAMS:
        print(name, flush=True)
        arrays = write(name, PROGRAMS[name], args.output_dir)
        if args.save_inputs and arrays is not None:
            reference.save_inputs(os.path.join(args.save_inputs, name), arrays)
