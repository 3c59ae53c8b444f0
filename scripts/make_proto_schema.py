#!/usr/bin/env python3
"""Writes lib/proto/schema.inc: the messages of XLA's serialized modules as jaxlib knows them.

The numbers and names of the fields are the format; they are read from the descriptors inside jaxlib's
library. Needs a Python with jaxlib and protobuf; the build and the tests do not.
"""

import argparse
import pathlib
import sys

ROOTS = ["HloSnapshot", "HloUnoptimizedSnapshot"]
FILES = [b"xla/service/hlo.proto", b"xla/xla_data.proto"]
SCALARS = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 8: "bool", 9: "string", 12: "bytes", 13: "uint32"}
MESSAGE, ENUM = 11, 14


def descriptors(library, descriptor_pb2, decode_varint):
    """The serialized file descriptors in a library: each starts with its own name and ends where no field follows."""
    data = library.read_bytes()
    found = {}
    for name in FILES:
        at = data.find(b"\n" + bytes([len(name)]) + name)
        while at >= 0:
            end = at
            try:
                while True:
                    tag, next_at = decode_varint(data, end)
                    if tag >> 3 not in range(1, 15) or tag & 7 not in (0, 2):
                        break
                    size, next_at = decode_varint(data, next_at)
                    end = next_at + (size if tag & 7 == 2 else 0)
            except IndexError:
                pass
            try:
                found[name] = descriptor_pb2.FileDescriptorProto.FromString(data[at:end])
            except descriptor_pb2.DecodeError:
                pass
            at = data.find(b"\n" + bytes([len(name)]) + name, at + 1)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default=pathlib.Path(__file__).parent.parent / "lib/proto/schema.inc", type=pathlib.Path)
    options = parser.parse_args()
    try:
        import jaxlib
        from google.protobuf import descriptor_pb2
        from google.protobuf.internal.decoder import _DecodeVarint
        from google.protobuf.message import DecodeError
    except ImportError as error:
        sys.exit(f"{error}; install jaxlib and protobuf from PyPI")
    descriptor_pb2.DecodeError = DecodeError
    files = {}
    for library in sorted(pathlib.Path(jaxlib.__file__).parent.glob("**/*.so*")):
        files.update(descriptors(library, descriptor_pb2, _DecodeVarint))
        if len(files) == len(FILES):
            break
    messages = {m.name: m for f in files.values() for m in f.message_type}
    enums = {e.name: e for f in files.values() for e in f.enum_type}
    used_messages, used_enums, pending = [], [], list(ROOTS)

    def needs(message):
        for nested in message.nested_type:
            needs(nested)
        for field in message.field:
            if field.type in (MESSAGE, ENUM):
                name = field.type_name.removeprefix(".xla.").split(".")[0]
                if name in messages:
                    pending.append(name)
                elif name in enums and name not in used_enums:
                    used_enums.append(name)

    while pending:
        name = pending.pop(0)
        if name not in used_messages:
            used_messages.append(name)
            needs(messages[name])

    lines = []

    def enum_text(enum, indent):
        values = " ".join(f"{v.name} = {v.number};" for v in enum.value)
        lines.append(f"{indent}enum {enum.name} {{ {values} }}")

    def type_text(field):
        return SCALARS[field.type] if field.type in SCALARS else field.type_name.removeprefix(".xla.")

    def message_text(message, indent):
        lines.append(f"{indent}message {message.name} {{")
        maps = {n.name: n for n in message.nested_type if n.options.map_entry}
        for nested in message.nested_type:
            if not nested.options.map_entry:
                message_text(nested, indent + "  ")
        for enum in message.enum_type:
            enum_text(enum, indent + "  ")
        for field in message.field:
            last = field.type_name.rsplit(".", 1)[-1]
            if last in maps:
                key, value = maps[last].field
                lines.append(f"{indent}  map<{type_text(key)}, {type_text(value)}> {field.name} = {field.number};")
            elif field.HasField("oneof_index"):
                group = message.oneof_decl[field.oneof_index].name
                lines.append(f"{indent}  oneof {group} {{ {type_text(field)} {field.name} = {field.number}; }}")
            else:
                label = "repeated " if field.label == 3 else ""
                lines.append(f"{indent}  {label}{type_text(field)} {field.name} = {field.number};")
        lines.append(indent + "}")

    for name in sorted(used_enums):
        enum_text(enums[name], "")
    for name in sorted(used_messages):
        message_text(messages[name], "")
    merged = []
    for line in lines:
        head = line.split("{")[0]
        if merged and "  oneof " in line and merged[-1].startswith(head):
            merged[-1] = merged[-1][:-1] + line.split("{")[1].rstrip("}").strip() + " }"
        else:
            merged.append(line)
    text = "// Written by scripts/make_proto_schema.py: the messages of serialized modules.\n"
    text += 'R"schema(syntax = "proto3";\npackage xla;\n' + "\n".join(merged) + '\n)schema"\n'
    options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
