#!/usr/bin/env python3
"""Writes testdata/tools/Inputs/xla-*.pb: modules of testdata/corpus as XLA serializes them.

Needs a Python with jaxlib; the tests read the files that are there.
"""

import pathlib

from jaxlib import _hlo

ROOT = pathlib.Path(__file__).resolve().parent.parent
SAMPLES = ["gru", "scatter_updates", "viterbi"]


def main():
    for name in SAMPLES:
        text = (ROOT / f"testdata/corpus/{name}.hlo").read_text(encoding="utf-8")
        message = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
        (ROOT / f"testdata/tools/Inputs/xla-{name}.pb").write_bytes(message)


if __name__ == "__main__":
    main()
