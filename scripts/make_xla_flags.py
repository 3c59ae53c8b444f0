#!/usr/bin/env python3
"""Writes tools/support/xla_flags.inc: XLA's own flags with their types and defaults, found in jaxlib.

Needs a Python with jaxlib and protobuf; the build and the tests do not. Flags are the texts of jaxlib's library that
look like one, without those below, and the fields of DebugOptions; the defaults are those of an untouched
CompileOptions.
"""

import pathlib
import re
import struct

import make_proto_schema

OUT = pathlib.Path(__file__).resolve().parent.parent / "tools/support/xla_flags.inc"
# Texts that look like flags and are something else.
NO_FLAGS = re.compile(
    r"xla_(cpu|gpu|shape|loop|executable|element_type|compile_options|flags_reset|metadata_payload|dylib_index|fuel)$"
    r"|xla_(ffi|buffer)_.*callback$|xla_cpu_(emitter__|small_call|memory_region_name|small_while_loop_byte_th)$"
    r"|xla_llvm_dot_tilwindow_dimension$|xla_skip_custom_call_alias_shape$")
# What jaxlib sets itself; XLA's own value, as its dumps of non-default options show.
SET_BY_JAXLIB = {"xla_cpu_enable_fast_min_max": "true", "xla_detailed_logging": "true"}
TYPES = {1: "kFloat", 2: "kFloat", 3: "kInt", 5: "kInt", 8: "kBool", 9: "kText", 14: "kEnum"}


def fields_of(data, decode_varint):
    """Field number -> values (numbers, or bytes) of a serialized message."""
    fields, at = {}, 0
    while at < len(data):
        tag, at = decode_varint(data, at)
        if tag & 7 == 0:
            value, at = decode_varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(tag & 7)
            if size is None:
                size, at = decode_varint(data, at)
            value, at = data[at:at + size], at + size
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def texts_of(field, values, enums, decode_varint):
    """The values of a field as DebugOptions' text form writes them, without quotes."""
    if field.label == 3 and field.type != 9 and values and isinstance(values[0], bytes):  # packed
        packed, values = b"".join(values), []
        at = 0
        while at < len(packed):
            value, at = decode_varint(packed, at)
            values.append(value)
    for value in values:
        if field.type == 8:
            yield "true" if value else "false"
        elif field.type == 9:
            yield value.decode()
        elif field.type == 14:
            yield enums[field.type_name][value]
        elif field.type in (1, 2):
            yield repr(struct.unpack("<d" if field.type == 1 else "<f", value)[0])
        else:
            yield str(value - (1 << 64) if value >= 1 << 63 else value)


def main():
    import jaxlib
    from google.protobuf import descriptor_pb2
    from google.protobuf.internal.decoder import _DecodeVarint
    from google.protobuf.message import DecodeError
    from jaxlib import _jax

    descriptor_pb2.DecodeError = DecodeError
    make_proto_schema.FILES = [b"xla/xla.proto", b"xla/autotuning.proto", b"xla/backends/autotuner/backends.proto"]
    names, files = set(), {}
    for library in sorted(pathlib.Path(jaxlib.__file__).parent.glob("**/*.so*")):
        names.update(m.group(1).decode() for m in re.finditer(rb"\0(xla_[a-z0-9_]+)(?=\0)", library.read_bytes()))
        files.update(make_proto_schema.descriptors(library, descriptor_pb2, _DecodeVarint))
    options = next(m for m in files[b"xla/xla.proto"].message_type if m.name == "DebugOptions")
    enums = {}
    for file in files.values():
        for enum in file.enum_type:
            enums[f".{file.package}.{enum.name}"] = {v.number: v.name for v in enum.value}
        for message in file.message_type:
            for enum in message.enum_type:
                enums[f".{file.package}.{message.name}.{enum.name}"] = {v.number: v.name for v in enum.value}

    compile_options = fields_of(_jax.CompileOptions().SerializeAsString(), _DecodeVarint)
    build_options = fields_of(compile_options[3][0], _DecodeVarint)
    defaults = fields_of(build_options[3][0], _DecodeVarint)
    rows = {name: f'{{"{name}"}}' for name in names if not NO_FLAGS.match(name)}
    for place, field in enumerate(options.field):
        kind = TYPES.get(field.type)
        if kind is None or (kind == "kEnum" and field.type_name not in enums):
            rows[field.name] = f'{{"{field.name}"}}'  # a message or a map
            continue
        default = ",".join(sorted(texts_of(field, defaults.get(field.number, []), enums, _DecodeVarint)))
        if not default and field.label != 3:
            default = {"kBool": "false", "kInt": "0", "kFloat": "0", "kText": ""}.get(kind) \
                if kind != "kEnum" else enums[field.type_name][0]
        default = SET_BY_JAXLIB.get(field.name, default)
        values = "|".join(enums[field.type_name].values()) if kind == "kEnum" else ""
        repeated = "true" if field.label == 3 else "false"
        rows[field.name] = f'{{"{field.name}", {kind}, {repeated}, {place}, "{default}", "{values}"}}'
    lines = ["// XLA's flags by name. Written by scripts/make_xla_flags.py."]
    OUT.write_text("\n".join(lines + [rows[name] + "," for name in sorted(rows)]) + "\n", encoding="utf-8")
    print(f"{len(rows)} flags, {len(options.field)} of them in DebugOptions")


if __name__ == "__main__":
    main()
