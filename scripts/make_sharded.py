#!/usr/bin/env python3
"""Writes testdata/sharded: JAX programs over eight devices as HLO text, with XLA's values.

    python scripts/make_sharded.py             # all of them
    python scripts/make_sharded.py mlp_step    # some

Needs `pip install jax==0.10.2 jaxlib==0.10.2`; nothing else in this repository does. The programs are in
scripts/sharded/; each is written twice, with Shardy's shardings and with those before them (NAME_gspmd).
"""

import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import jax  # noqa: E402

from corpus import register  # noqa: E402
from models import reference  # noqa: E402

TOPICS = ("training", "movement", "manual")


def write(name, item, folder):
    """The files of one program, whose values are the same however its shardings are said."""
    arrays = None
    for shardy, ending in ((True, ""), (False, "_gspmd")):
        jax.config.update("jax_use_shardy_partitioner", shardy)
        text, values, arrays, _ = reference.evaluate(name + ending, item.model, item.platform, item.wide)
        path = os.path.join(folder, name + ending)
        reference.write_json(path + ".json", values)
        with open(path + ".hlo", "w", encoding="utf-8") as file:
            file.write(text)
    return arrays


if __name__ == "__main__":
    register.write_all(__doc__, "sharded", TOPICS, os.path.join(HERE, "..", "testdata", "sharded"), write)
