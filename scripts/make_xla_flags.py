#!/usr/bin/env python3
"""Writes tools/support/xla_flags.inc: the names of XLA's own flags, found in jaxlib.

Run with a Python that has jaxlib. Flags are the texts of its library that look like one, without those below.
"""

import pathlib
import re

import jaxlib

OUT = pathlib.Path(__file__).resolve().parent.parent / "tools/support/xla_flags.inc"
# Texts that look like flags and are something else.
NO_FLAGS = re.compile(
    r"xla_(cpu|gpu|shape|loop|executable|element_type|compile_options|flags_reset|metadata_payload|dylib_index|fuel)$"
    r"|xla_(ffi|buffer)_.*callback$|xla_cpu_(emitter__|small_call|memory_region_name|small_while_loop_byte_th)$"
    r"|xla_llvm_dot_tilwindow_dimension$|xla_skip_custom_call_alias_shape$")


def main():
    names = set()
    for library in pathlib.Path(jaxlib.__file__).parent.glob("*.so"):
        names.update(m.group(1).decode() for m in re.finditer(rb"\0(xla_[a-z0-9_]+)(?=\0)", library.read_bytes()))
    names = sorted(name for name in names if not NO_FLAGS.match(name))
    lines = ["// Names of XLA's flags, sorted. Written by scripts/make_xla_flags.py."]
    OUT.write_text("\n".join(lines + [f'"{name}",' for name in names]) + "\n", encoding="utf-8")
    print(f"{len(names)} flags")


if __name__ == "__main__":
    main()
