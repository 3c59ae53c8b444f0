"""How a model says what it is: its function, its arguments, and how their values are made.

An argument is a tree of `Input`s. The values follow from the seed and the place of the leaf by the
rule in testdata/models/README.md, which a C++ program and a Python one can follow bit for bit.
"""

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Input:
    """One array argument: its shape, its numpy type name, and how to fill it."""

    shape: tuple
    dtype: str
    kind: str  # uniform, randint, const, iota or values
    lo: float = 0
    hi: float = 0
    value: object = 0  # const: the value; values: all of them, in row-major order


@dataclasses.dataclass(frozen=True)
class Model:
    """A program: what it is, the function, its arguments, which of them it may overwrite, and how they
    are divided among devices."""

    about: str
    function: object
    arguments: tuple
    donate: tuple = ()
    exact: tuple = ()  # outputs that take part in no rounding: compared without tolerance
    divided: tuple = None  # shardings of the arguments; None: one device has them


def uniform(shape, lo, hi, dtype="float32"):
    return Input(tuple(shape), dtype, "uniform", lo=lo, hi=hi)


def symmetric(shape, bound, dtype="float32"):
    return uniform(shape, -bound, bound, dtype)


def randint(shape, lo, hi, dtype="int32"):
    """Integers of [lo, hi)."""
    return Input(tuple(shape), dtype, "randint", lo=lo, hi=hi)


def const(shape, value, dtype="float32"):
    return Input(tuple(shape), dtype, "const", value=value)


def iota(shape, dtype="int32"):
    """0, 1, 2, ... in row-major order."""
    return Input(tuple(shape), dtype, "iota")


def values(shape, numbers, dtype="float32"):
    return Input(tuple(shape), dtype, "values", value=tuple(numbers))


def fan_in(n):
    """The power of two nearest to the bound that keeps the variance of a sum of n products.

    Powers of two, because the generator's arithmetic is exact for bounds of few bits.
    """
    return 2.0 ** round(math.log2(math.sqrt(3.0 / n)))
