"""snapshot.py OUT MODULE.pb ARGUMENT.pb...: an HloSnapshot of an HloProto and LiteralProtos, put together from their bytes."""
import sys


def field(number, data):
    size, out = len(data), bytearray([number << 3 | 2])
    while size >= 0x80:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes(out) + bytes([size]) + data


out, *parts = sys.argv[1:]
with open(out, "wb") as file:
    for i, part in enumerate(parts):
        file.write(field(1 if i == 0 else 2, open(part, "rb").read()))
