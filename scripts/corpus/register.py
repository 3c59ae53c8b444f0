"""The list of corpus programs: a decorator states a program's arguments and how to treat it."""

import dataclasses

from models import spec

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
            donate=()):
    """Adds the function below under its own name; its docstring says what it is about."""
    def add(function):
        name = function.__name__
        if name in PROGRAMS:
            raise ValueError(f"two programs are named {name}")
        about = " ".join(function.__doc__.split()).rstrip(".")
        everything = tuple(range(64)) if exact else ()
        PROGRAMS[name] = Program(spec.Model(about, function, arguments, donate, everything),
                                 platform, runs, x64, wide)
        return function
    return add
