#!/usr/bin/env python3
"""Writes testdata/bench: a JAX program of each kind as HLO text, with XLA's values.

    python scripts/make_suite.py            # all of them
    python scripts/make_suite.py ode_loop   # some

Needs `pip install jax==0.10.2 jaxlib==0.10.2`; nothing else in this repository does. The programs
are in scripts/suite/; the files have the form of testdata/models (see its README.md).
`scripts/bench suite` times them.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from corpus import register  # noqa: E402
from models import reference  # noqa: E402

TOPICS = ("loops", "linear", "reductions", "elements")


def write(name, item, folder):
    """The text, without the source places that make up most of it, and the values."""
    text, values, arrays, _ = reference.evaluate(name, item.model, item.platform, item.wide)
    path = os.path.join(folder, name)
    reference.write_json(path + ".json", values)
    with open(path + ".hlo", "w", encoding="utf-8") as file:
        file.write(reference.normal_text(text, metadata=False))
    return arrays


if __name__ == "__main__":
    register.write_all(__doc__, "suite", TOPICS, os.path.join(HERE, "..", "testdata", "bench"), write)
