#!/usr/bin/env python3
"""Writes testdata/corpus: many small JAX programs as HLO text, with XLA's values.

    python scripts/make_corpus.py            # all of them
    python scripts/make_corpus.py fourier    # some

Needs `pip install jax==0.10.2 jaxlib==0.10.2`; nothing else in this repository does. The programs
are in scripts/corpus/; the files have the form of testdata/models (see its README.md).
"""

import contextlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import jax  # noqa: E402

from corpus import register  # noqa: E402
from models import reference  # noqa: E402

TOPICS = ("elementwise", "integers", "reductions", "indexing", "control", "linalg", "convolution",
          "narrow", "randomness", "programs", "shapes")


# Also written as XLA:CPU optimises them: fusions, schedules, backend configurations.
OPTIMISED = ("batched_loop", "bfloat_math", "branch", "causal_attention", "convolution_gradients",
             "custom_gradient", "fourier", "lapack_calls", "momentum_step", "pooling_gradient",
             "quantised_matmul", "game_of_life", "gru", "scatter_updates", "sort_by_two_keys",
             "top_k", "variadic_reduce", "viterbi")


def write_optimised(path, lowered):
    module, = lowered.compile().runtime_executable().hlo_modules()
    with open(path, "w", encoding="utf-8") as file:
        file.write(reference.normal_text(module.to_string(reference.options())))


def write(name, item, folder):
    """The two files of one program; a program that does not run has no JSON."""
    path, arrays = os.path.join(folder, name), None
    with contextlib.ExitStack() as stack:
        if item.x64:
            stack.enter_context(jax.enable_x64(True))
        if item.runs:
            _, values, arrays, _ = reference.evaluate(
                name, item.model, item.platform, item.wide)
            reference.write_json(path + ".json", values)
        jax.clear_caches()
        lowered, text = reference.lower(item.model, item.platform)
        if name in OPTIMISED:
            os.makedirs(os.path.join(folder, "optimised"), exist_ok=True)
            write_optimised(os.path.join(folder, "optimised", name + ".hlo"), lowered)
    with open(path + ".hlo", "w", encoding="utf-8") as file:
        file.write(text)
    return arrays


if __name__ == "__main__":
    register.write_all(__doc__, "corpus", TOPICS, os.path.join(HERE, "..", "testdata", "corpus"), write)
