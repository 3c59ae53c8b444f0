#!/usr/bin/env python3
"""Writes testdata/run/devices/: programs for several devices, with the values that every device must give.

The values come from a reference of a few lines per collective, on lists of Python numbers; it shares nothing with the
programs. With `--oracle='PYTHON ORACLE.py'` (any command that takes `run FILE --input-dir DIR --output-dir DIR`) the
values of XLA:CPU are compared, too, where it runs the program. Standard library only.

    scripts/make_device_tests.py                      write the files
    scripts/make_device_tests.py --check              nothing is to change
    scripts/make_device_tests.py --oracle=COMMAND     compare the values with XLA's
"""
import argparse
import itertools
import math
import pathlib
import random
import shlex
import struct
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "testdata" / "run" / "devices"


# ---- arrays: (type, dims, flat list) ----
class Array:
    def __init__(self, kind, dims, data):
        self.kind, self.dims, self.data = kind, tuple(dims), list(data)
        assert len(self.data) == math.prod(self.dims)

    @property
    def shape(self):
        return f"{self.kind}[{','.join(map(str, self.dims))}]"

    def text(self):
        def go(dims, data):
            if not dims:
                return number(self.kind, data[0])
            step = len(data) // dims[0] if dims[0] else 0
            return "{" + ", ".join(go(dims[1:], data[i * step:(i + 1) * step]) for i in range(dims[0])) + "}"
        return f"{self.shape} {go(self.dims, self.data)}"

    def at(self, index):
        flat = 0
        for size, i in zip(self.dims, index):
            flat = flat * size + i
        return self.data[flat]


def number(kind, value):
    if kind == "pred":
        return "true" if value else "false"
    if isinstance(value, complex):
        return f"({value.real:g}, {value.imag:g})"
    return f"{value:g}" if isinstance(value, float) else str(value)


def build(kind, dims, element):
    return Array(kind, dims, [element(i) for i in itertools.product(*map(range, dims))])


def concat(parts, d):
    dims = list(parts[0].dims)
    dims[d] = sum(p.dims[d] for p in parts)
    def element(index):
        at = index[d]
        for p in parts:
            if at < p.dims[d]:
                return p.at(index[:d] + (at,) + index[d + 1:])
            at -= p.dims[d]
    return build(parts[0].kind, dims, element)


def block(a, d, i, n):
    dims = list(a.dims)
    dims[d] //= n
    return build(a.kind, dims, lambda x: a.at(x[:d] + (x[d] + i * dims[d],) + x[d + 1:]))


# ---- groups of devices ----
def groups_of(lists, mode, replicas, partitions):
    """Groups of device numbers (replica * partitions + partition), in the order in which they count."""
    ids = {"flat": replicas * partitions, "replica": replicas, "partition": partitions, "both": replicas}[mode]
    lists = lists or [list(range(ids))]
    if mode == "flat":
        return [list(g) for g in lists]
    if mode == "replica":
        return [[r * partitions + p for r in g] for g in lists for p in range(partitions)]
    if mode == "partition":
        return [[r * partitions + p for p in g] for g in lists for r in range(replicas)]
    return [[r * partitions + p for r in g for p in range(partitions)] for g in lists]


def mine(groups, device):
    return next((g for g in groups if device in g), None)


# ---- one program ----
class Program:
    def __init__(self, note, replicas, partitions, body, inputs, expected, regions=(), xla=True, tail=""):
        self.note, self.replicas, self.partitions, self.body = note, replicas, partitions, body
        self.inputs, self.expected, self.regions, self.xla, self.tail = inputs, expected, regions, xla, tail
        assert len(inputs) == len(expected) == replicas * partitions

    def hlo(self, name):
        counts = (f", replica_count={self.replicas}" if self.replicas > 1 else "") + \
                 (f", num_partitions={self.partitions}" if self.partitions > 1 else "")
        parameters = "".join(f"  x{i} = {a.shape} parameter({i})\n" for i, a in enumerate(self.inputs[0]))
        regions = "".join(r + "\n" for r in self.regions)
        body = "".join(f"  {line}\n" for line in self.body)
        return f"HloModule {name}{counts}\n\n{regions}ENTRY main {{\n{parameters}{body}}}\n"

    def text(self, name):
        lines = [f"// {self.note}"]
        for device, arrays in enumerate(self.inputs):
            lines += [f"// ARG: {device}: {a.text()}" for a in arrays]
        for device, value in enumerate(self.expected):
            lines.append(f"// EXPECT: {device}: {literal(value)}")
        return "\n".join(lines) + "\n" + self.hlo(name)


def literal(value):
    if isinstance(value, Array):
        return value.text()
    shapes = ", ".join(v.shape for v in value)
    return f"({shapes}) ( {', '.join(v.text()[len(v.shape) + 1:] for v in value)} )"


FUNCTIONS = {
    "add": lambda a, b: a + b, "multiply": lambda a, b: a * b, "maximum": max, "minimum": min,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    # In the order of the group: each step doubles what came before.
    "twice_plus": lambda a, b: 2 * a + b,
}


def region(op, kind, name=None):
    s = f"{kind}[]"
    head = f"{name or op + '_' + kind} {{\n  a = {s} parameter(0)\n  b = {s} parameter(1)\n"
    if op == "twice_plus":
        return head + f"  d = {s} add(a, a)\n  ROOT r = {s} add(d, b)\n}}\n"
    return head + f"  ROOT r = {s} {op}(a, b)\n}}\n"


SIGNED = ("s4", "s8", "s16", "s32", "s64")
UNSIGNED = ("u4", "u8", "u16", "u32", "u64")
FLOATS = ("bf16", "f16", "f32", "f64", "f8e4m3fn", "f8e5m2")
COMPLEX = ("c64", "c128")
EVERY = ("pred",) + SIGNED + UNSIGNED + FLOATS + COMPLEX


def random_array(rng, kind, dims):
    def value(_):
        if kind == "pred":
            return rng.random() < 0.5
        n = rng.randrange(0, 2) if kind in ("s4", "u4") else rng.randrange(0, 4)
        if kind in COMPLEX:
            return complex(n, rng.randrange(0, 4))
        return float(n) if kind in FLOATS else n
    return build(kind, dims, value)


def inputs_for(rng, devices, shapes):
    return [[random_array(rng, kind, dims) for kind, dims in shapes] for _ in range(devices)]


def lists_text(lists):
    return "{" + ",".join("{" + ",".join(map(str, g)) + "}" for g in lists) + "}"


# (replicas, partitions, mode, lists for the reference, the attribute's text)
GROUPS = [
    (4, 1, "replica", [], "{}"),
    (4, 1, "replica", [[0, 2], [3, 1]], "{{0,2},{3,1}}"),
    (4, 1, "replica", [[0, 2], [1, 3]], "[2,2]<=[2,2]T(1,0)"),
    (1, 4, "partition", [[0, 1, 2, 3]], "{{0,1,2,3}}"),
    (1, 4, "partition", [[0, 1], [2, 3]], "[2,2]<=[4]"),
    (2, 2, "replica", [[1, 0]], "{{1,0}}"),
    (2, 3, "partition", [[0, 1, 2]], "[1,3]<=[3]"),
    (2, 2, "both", [[0], [1]], "{{0},{1}}"),
    (2, 2, "both", [[1, 0]], "{{1,0}}"),
    (2, 2, "both", [], "{}"),
    (2, 2, "flat", [[0, 3], [2, 1]], "{{0,3},{2,1}}"),
    (2, 4, "flat", [[0, 4], [1, 5], [2, 6], [3, 7]], "[4,2]<=[2,4]T(1,0)"),
    (2, 2, "flat", [[0, 1, 2, 3]], "[1,4]<=[4]"),
]
HAS_GLOBAL_IDS = ("all-reduce", "all-gather", "reduce-scatter")


def mode_attributes(opcode, mode):
    if opcode in HAS_GLOBAL_IDS:
        return {"replica": "", "both": ", channel_id=1", "flat": ", channel_id=1, use_global_device_ids=true"}.get(mode)
    return {"replica": "", "partition": ", channel_id=1"}.get(mode)


def what(mode, text):
    names = {"replica": "replicas of one partition", "partition": "partitions of one replica",
             "both": "replicas with all their partitions", "flat": "devices by their numbers"}
    return f"{names[mode]}, {text}"


# Every opcode with groups among every kind of them. `make(members, self)` -> value of one device.
def with_groups(opcode, shapes, result, make, extra, regions=(), rng=None, root=None, xla=lambda mode, groups: True):
    for replicas, partitions, mode, lists, text in GROUPS:
        attributes = mode_attributes(opcode, mode)
        if attributes is None:
            continue
        groups = groups_of(lists, mode, replicas, partitions)
        size = len(groups[0])
        inputs = inputs_for(rng, replicas * partitions, shapes(size))
        expected = []
        for device in range(replicas * partitions):
            group = mine(groups, device)
            expected.append(make([inputs[m] for m in group], group.index(device)))
        operands = ", ".join(f"x{i}" for i in range(len(inputs[0])))
        value = expected[0]
        shape = value.shape if isinstance(value, Array) else "(" + ", ".join(v.shape for v in value) + ")"
        line = f"ROOT r = {shape} {opcode}({operands}), replica_groups={text}{attributes}{extra}"
        yield Program(what(mode, text), replicas, partitions, [line], inputs, expected, regions, xla(mode, groups))


def reduced(members, op, k=0):
    f = FUNCTIONS[op]
    value = members[0][k]
    for m in members[1:]:
        value = Array(value.kind, value.dims, map(f, value.data, m[k].data))
    return value


def all_reduce(rng):
    yield from with_groups("all-reduce", lambda n: [("f32", (3,))], None, lambda m, s: reduced(m, "add"),
                           ", to_apply=add_f32", [region("add", "f32")], rng)
    for op, kind in [("multiply", "s32"), ("maximum", "bf16"), ("minimum", "f64"), ("and", "u8"), ("or", "pred"), ("xor", "u64")]:
        inputs = inputs_for(rng, 3, [(kind, (2, 2))])
        expected = [reduced(inputs, op)] * 3
        yield Program(f"{op} of {kind}", 3, 1, [f"ROOT r = {kind}[2,2] all-reduce(x0), replica_groups={{}}, to_apply={op}_{kind}"],
                      inputs, expected, [region(op, kind)])
    inputs = inputs_for(rng, 4, [("f32", (2,))])
    expected = [reduced([inputs[m] for m in g], "twice_plus") for g in ([2, 0], [1], [2, 0], [3])]
    yield Program("a computation that does not commute: in the order of the group; groups of different sizes", 4, 1,
                  ["ROOT r = f32[2] all-reduce(x0), replica_groups={{2,0},{1},{3}}, to_apply=twice_plus_f32"],
                  inputs, expected, [region("twice_plus", "f32")], xla=False)
    inputs = inputs_for(rng, 2, [("f32", (2,)), ("f32", (3, 1)), ("f32", ())])
    expected = [tuple(reduced(inputs, "add", k) for k in range(3))] * 2
    yield Program("several arrays at once", 1, 2,
                  ["ROOT r = (f32[2], f32[3,1], f32[]) all-reduce(x0, x1, x2), replica_groups={{0,1}}, channel_id=1, "
                   "use_global_device_ids=true, to_apply=add_f32"], inputs, expected, [region("add", "f32")])


def all_reduce_types(rng):
    for kind in EVERY:
        op = "or" if kind == "pred" else "add"
        inputs = inputs_for(rng, 3, [(kind, (5,))])
        yield Program(f"{kind}", 3, 1, [f"ROOT r = {kind}[5] all-reduce(x0), replica_groups={{{{0,1,2}}}}, to_apply={op}_{kind}"],
                      inputs, [reduced(inputs, op)] * 3, [region(op, kind)], xla=kind not in ("s4", "u4"))


def movement_types(rng):
    for kind in EVERY:
        inputs = inputs_for(rng, 2, [(kind, (2, 3))])
        both = [inputs[0][0], inputs[1][0]]
        expected = [(concat(both, 1), concat([block(x, 0, d, 2) for x in both], 0), both[1 - d]) for d in range(2)]
        yield Program(f"{kind}", 1, 2,
                      [f"g = {kind}[2,6] all-gather(x0), replica_groups={{{{0,1}}}}, dimensions={{1}}, channel_id=1, use_global_device_ids=true",
                       f"t = {kind}[2,3] all-to-all(x0), replica_groups={{{{0,1}}}}, dimensions={{0}}, channel_id=2",
                       f"p = {kind}[2,3] collective-permute(x0), source_target_pairs={{{{0,1}},{{1,0}}}}, channel_id=3",
                       f"ROOT r = ({kind}[2,6], {kind}[2,3], {kind}[2,3]) tuple(g, t, p)"], inputs, expected,
                      xla=kind not in ("s4", "u4"))


def all_gather(rng):
    yield from with_groups("all-gather", lambda n: [("f32", (2, 2))], None, lambda m, s: concat([x[0] for x in m], 1),
                           ", dimensions={1}", (), rng)
    inputs = inputs_for(rng, 3, [("s32", (1, 2)), ("s32", (2,))])
    both = tuple(concat([i[k] for i in inputs], 0) for k in range(2))
    yield Program("several arrays at once", 3, 1,
                  ["ROOT r = (s32[3,2], s32[6]) all-gather(x0, x1), replica_groups={}, dimensions={0}"], inputs, [both] * 3)


def reduce_scatter(rng):
    yield from with_groups("reduce-scatter", lambda n: [("f32", (2, n))], None,
                           lambda m, s: block(reduced(m, "add"), 1, s, len(m)),
                           ", dimensions={1}, to_apply=add_f32", [region("add", "f32")], rng)
    inputs = inputs_for(rng, 2, [("s32", (4,)), ("s32", (2, 2))])
    expected = [tuple(block(reduced(inputs, "maximum", k), 0, d, 2) for k in range(2)) for d in range(2)]
    yield Program("several arrays at once", 2, 1,
                  ["ROOT r = (s32[2], s32[1,2]) reduce-scatter(x0, x1), replica_groups={{0,1}}, dimensions={0}, to_apply=maximum_s32"],
                  inputs, expected, [region("maximum", "s32")])


def all_to_all(rng):
    yield from with_groups("all-to-all", lambda n: [("f32", (2, n))], None,
                           lambda m, s: concat([block(x[0], 1, s, len(m)) for x in m], 1), ", dimensions={1}", (), rng)
    yield from with_groups("all-to-all", lambda n: [("s32", (2,))] * n, None,
                           lambda m, s: tuple(x[s] for x in m), "", (), rng)


def collective_broadcast(rng):
    yield from with_groups("collective-broadcast", lambda n: [("f32", (2,))], None, lambda m, s: m[0][0], "", (), rng)
    inputs = inputs_for(rng, 4, [("f32", (2,))])
    zero = Array("f32", (2,), [0.0] * 2)
    yield Program("devices that are in no group get zeros", 4, 1,
                  ["ROOT r = f32[2] collective-broadcast(x0), replica_groups={{2,1}}"], inputs,
                  [zero, inputs[2][0], inputs[2][0], zero], xla=False)


def collective_permute(rng):
    for replicas, partitions, channel, pairs in [
            (4, 1, "", [(0, 1), (1, 2), (2, 3), (3, 0)]), (4, 1, "", [(0, 3), (2, 2)]),
            (1, 3, ", channel_id=1", [(0, 2), (2, 1)]), (2, 2, "", [(0, 1), (1, 0)]),
            (2, 3, ", channel_id=1", [(0, 1), (1, 2), (2, 0)]), (2, 1, "", [])]:
        devices = replicas * partitions
        inputs = inputs_for(rng, devices, [("f32", (2,))])
        expected = [Array("f32", (2,), [0.0, 0.0])] * devices
        for device in range(devices):
            r, p = divmod(device, partitions)
            for source, target in pairs:
                if target == (p if channel else r):
                    expected[device] = inputs[r * partitions + source if channel else source * partitions + p][0]
        yield Program(f"{'partitions' if channel else 'replicas'} {lists_text(pairs)}", replicas, partitions,
                      [f"ROOT r = f32[2] collective-permute(x0), source_target_pairs={lists_text(pairs)}{channel}"],
                      inputs, expected)
    inputs = inputs_for(rng, 2, [("f32", (2,)), ("s32", (3,))])
    yield Program("several arrays at once", 2, 1,
                  ["ROOT r = (f32[2], s32[3]) collective-permute(x0, x1), source_target_pairs={{0,1},{1,0}}"],
                  inputs, [tuple(inputs[1]), tuple(inputs[0])], xla=False)
    # In place: row `from` of the input of the left neighbour goes to row `to` of the own output.
    inputs = inputs_for(rng, 3, [("f32", (4, 2)), ("f32", (4, 2))])
    expected = []
    for device in range(3):
        source = inputs[(device - 1) % 3][0]
        expected.append(build("f32", (4, 2), lambda i, d=device, s=source: s.at((i[0] - 1, i[1])) if 2 <= i[0] <= 3 else inputs[d][1].at(i)))
    yield Program("in place: rows 1 and 2 of the left neighbour's input become rows 2 and 3 of the output", 3, 1,
                  ["one = s32[] constant(1)", "two = s32[] constant(2)", "zero = s32[] constant(0)",
                   "from = (s32[], s32[]) tuple(one, zero)", "to = (s32[], s32[]) tuple(two, zero)",
                   "ROOT r = f32[4,2] collective-permute(x0, x1, from, to), source_target_pairs={{0,1},{1,2},{2,0}}, "
                   "slice_sizes={{2,2}}"], inputs, expected, xla=False)


def ragged_all_to_all(rng):
    for replicas, partitions, attributes, width in [(2, 1, "", 1), (1, 3, ", channel_id=1", 1), (2, 1, "", 2)]:
        n = replicas * partitions
        rows = 4 * n * width
        sizes = [[[rng.randrange(0, 3) for _ in range(width)] for _ in range(n)] for _ in range(n)]  # [from][to][q]
        data = [build("f32", (rows, 2), lambda i, d=d: float(100 * d + 2 * i[0] + i[1])) for d in range(n)]
        base = [build("f32", (rows, 2), lambda i, d=d: -1.0 - d) for d in range(n)]
        inputs, writes = [], [[] for _ in range(n)]
        at = [0] * n  # next free row of each receiver
        starts = [[[0] * width for _ in range(n)] for _ in range(n)]
        places = [[[0] * width for _ in range(n)] for _ in range(n)]
        for source in range(n):
            row = 0
            for target in range(n):
                for q in range(width):
                    starts[source][target][q] = row
                    places[source][target][q] = at[target]
                    writes[target].append((source, row, at[target], sizes[source][target][q]))
                    row += sizes[source][target][q] + (q % 2)
                    at[target] += sizes[source][target][q]
        flat = lambda table: [v for row in table for v in row]
        for d in range(n):
            vector = lambda values: Array("s32", (n * width,), values)
            inputs.append([data[d], base[d], vector(flat(starts[d])), vector(flat(sizes[d])), vector(flat(places[d])),
                           vector(flat(sizes[s][d] for s in range(n)))])
        expected = []
        for d in range(n):
            values = list(base[d].data)
            for source, row, to, size in writes[d]:
                values[2 * to:2 * (to + size)] = data[source].data[2 * row:2 * (row + size)]
            expected.append(Array("f32", (rows, 2), values))
        group = "{" + ",".join(map(str, range(n))) + "}"
        yield Program(f"{width} piece{'s' if width > 1 else ''} for each device", replicas, partitions,
                      [f"ROOT r = f32[{rows},2] ragged-all-to-all(x0, x1, x2, x3, x4, x5), replica_groups={{{group}}}{attributes}"],
                      inputs, expected)


def asynchronous(rng):
    add = region("add", "f32")
    inputs = inputs_for(rng, 2, [("f32", (2,))])
    one, two = inputs[0][0], inputs[1][0]
    total = reduced(inputs, "add")
    def program(note, lines, expected, regions=(), xla=True, replicas=2):
        return Program(note, replicas, 2 // replicas, lines, inputs, expected, regions, xla)
    double = build("f32", (2,), lambda i: 2 * total.at(i))
    yield program("all-reduce-start", ["s = f32[2] all-reduce-start(x0), replica_groups={{0,1}}, to_apply=add_f32",
                                       "d = f32[2] all-reduce-done(s)", "ROOT r = f32[2] add(d, d)"], [double] * 2, [add], False)
    yield program("all-gather-start", ["s = (f32[2], f32[4]) all-gather-start(x0), replica_groups={{1,0}}, dimensions={0}",
                                       "ROOT d = f32[4] all-gather-done(s)"], [concat([two, one], 0)] * 2, (), False)
    yield program("collective-permute-start",
                  ["s = (f32[2], f32[2], u32[], u32[]) collective-permute-start(x0), source_target_pairs={{0,1},{1,0}}",
                   "ROOT d = f32[2] collective-permute-done(s)"], [two, one], (), False)
    yield program("an asynchronous all-to-all with updates",
                  ["s = ((f32[2]), f32[2], u32[]) all-to-all-start(x0), replica_groups={{0,1}}, dimensions={0}",
                   "u = ((f32[2]), f32[2], u32[]) all-to-all-update(s)",
                   "ROOT d = f32[2] all-to-all-done(u)"],
                  [concat([block(x, 0, d, 2) for x in (one, two)], 0) for d in range(2)], (), False)
    yield program("an asynchronous reduce-scatter of partitions",
                  ["s = ((f32[2]), f32[1]) reduce-scatter-start(x0), replica_groups={{0,1}}, dimensions={0}, channel_id=3, "
                   "use_global_device_ids=true, to_apply=add_f32",
                   "ROOT d = f32[1] reduce-scatter-done(s)"], [block(total, 0, d, 2) for d in range(2)], [add], False, 1)
    yield program("an asynchronous collective-broadcast, and two reductions that overlap it",
                  ["s = ((f32[2]), f32[2]) collective-broadcast-start(x0), replica_groups={{1,0}}",
                   "t = f32[2] all-reduce-start(x0), replica_groups={{0,1}}, to_apply=add_f32",
                   "q = f32[2] all-reduce(x0), replica_groups={{0,1}}, to_apply=add_f32",
                   "d = f32[2] collective-broadcast-done(s)", "e = f32[2] all-reduce-done(t)",
                   "ROOT r = (f32[2], f32[2], f32[2]) tuple(d, e, q)"], [(two, total, total)] * 2, [add], False)


def control_flow(rng):
    """Collectives inside loops and branches, as often as the program says."""
    inputs = inputs_for(rng, 2, [("f32", (2,))])
    total = reduced(inputs, "add")
    loop = ["body {", "  p = (s32[], f32[2]) parameter(0)", "  i = s32[] get-tuple-element(p), index=0",
            "  v = f32[2] get-tuple-element(p), index=1", "  c = s32[] constant(1)", "  n = s32[] add(i, c)",
            "  w = f32[2] all-reduce(v), replica_groups={{0,1}}, to_apply=add_f32", "  ROOT t = (s32[], f32[2]) tuple(n, w)", "}", "",
            "condition {", "  p = (s32[], f32[2]) parameter(0)", "  i = s32[] get-tuple-element(p), index=0",
            "  c = s32[] constant(3)", "  ROOT l = pred[] compare(i, c), direction=LT", "}", ""]
    thrice = build("f32", (2,), lambda i: 4 * total.at(i))
    yield Program("three sums in a loop", 2, 1,
                  ["z = s32[] constant(0)", "t = (s32[], f32[2]) tuple(z, x0)",
                   "l = (s32[], f32[2]) while(t), condition=condition, body=body", "ROOT r = f32[2] get-tuple-element(l), index=1"],
                  inputs, [thrice] * 2, [region("add", "f32"), "\n".join(loop)])
    ids = [Array("u32", (2,), divmod(d, 2)) for d in range(4)]
    inputs = inputs_for(rng, 4, [("s32", ())])
    yield Program("the numbers of each device", 2, 2,
                  ["a = u32[] replica-id()", "b = u32[] partition-id()", "c = u32[1] reshape(a)", "d = u32[1] reshape(b)",
                   "ROOT r = u32[2] concatenate(c, d), dimensions={0}"], inputs, ids)


def transfers(rng):
    pairs = 'frontend_attributes={_xla_send_recv_source_target_pairs="%s"}'
    def lines(text, kind="f32[2]", channel=1, token="t", value="x0", tag=""):
        p = pairs % text
        return [f"rv{tag} = ({kind}, u32[], token[]) recv({token}), channel_id={channel}, {p}",
                f"sd{tag} = ({kind}, u32[], token[]) send({value}, {token}), channel_id={channel}, control-predecessors={{rv{tag}}}, {p}",
                f"rd{tag} = ({kind}, token[]) recv-done(rv{tag}), channel_id={channel}, control-predecessors={{sd{tag}}}, {p}",
                f"ds{tag} = token[] send-done(sd{tag}), channel_id={channel}, control-predecessors={{rd{tag}}}, {p}",
                f"got{tag} = {kind} get-tuple-element(rd{tag}), index=0"]
    for n, ring in [(2, [(0, 1)]), (4, [(0, 1), (1, 2), (2, 3)]), (3, [(0, 1), (1, 2), (2, 0)])]:
        inputs = inputs_for(rng, n, [("f32", (2,))])
        expected = [Array("f32", (2,), [0.0, 0.0])] * n
        for s, t in ring:
            expected[t] = inputs[s][0]
        body = ["t = token[] after-all()"] + lines(lists_text(ring)) + ["ROOT r = f32[2] copy(got)"]
        yield Program(f"partitions send along {lists_text(ring)}; who receives from nobody has zeros", 1, n, body, inputs, expected, (), False)
    inputs = inputs_for(rng, 2, [("s32", (3,)), ("s32", (3,))])
    body = (["t = token[] after-all()"] + lines("{{0,1}}", "s32[3]", 1, "t", "x0", "1") +
            lines("{{1,0}}", "s32[3]", 2, "ds1", "x1", "2") +
            ["ROOT r = (s32[3], s32[3]) tuple(got1, got2)"])
    zero = Array("s32", (3,), [0] * 3)
    yield Program("two channels, one after the other by their tokens", 1, 2, body, inputs,
                  [(zero, inputs[1][1]), (inputs[0][0], zero)], (), False)
    inputs = inputs_for(rng, 4, [("f32", (2,))])
    body = ["t = token[] after-all()"] + lines("{{0,1}}") + ["ROOT r = f32[2] copy(got)"]
    nothing = Array("f32", (2,), [0.0] * 2)
    yield Program("each replica has transfers of its own", 2, 2, body, inputs,
                  [nothing, inputs[0][0], nothing, inputs[2][0]], (), False)


FILES = {
    "all-reduce": (all_reduce, "Reductions among every kind of group, with every kind of computation."),
    "all-reduce-types": (all_reduce_types, "Sums of every element type."),
    "movement-types": (movement_types, "Gathers, exchanges and permutes of every element type."),
    "all-gather": (all_gather, "Gathers among every kind of group."),
    "reduce-scatter": (reduce_scatter, "Reductions of which every device keeps a share."),
    "all-to-all": (all_to_all, "Exchanges of shares of an array, and of whole arrays."),
    "collective-broadcast": (collective_broadcast, "The first device of each group gives its value to the others."),
    "collective-permute": (collective_permute, "Values that go from device to device; nothing sent is zeros."),
    "ragged-all-to-all": (ragged_all_to_all, "Rows of any number from each device to each."),
    "asynchronous": (asynchronous, "Collectives that are started and finished apart."),
    "control-flow": (control_flow, "Collectives in loops, and ids of devices."),
    "transfers": (transfers, "Sends and receives between devices."),
}


def programs_of(name):
    make, head = FILES[name]
    return head, list(make(random.Random(name)))


def file_text(name):
    head, programs = programs_of(name)
    intro = (f"// {head}\n// Made by scripts/make_device_tests.py; the values are those of its reference"
             f"{', some compared with XLA (--oracle)' if any(p.xla for p in programs) else ''}.\n")
    parts = [p.text(f"{name.replace('-', '_')}_{i}") for i, p in enumerate(programs)]
    return intro + "\n// -----\n".join(parts)


# ---- XLA ----
NPY = {"pred": "|b1", "s8": "|i1", "s16": "<i2", "s32": "<i4", "s64": "<i8", "u8": "|u1", "u16": "<u2", "u32": "<u4",
       "u64": "<u8", "f16": "<f2", "f32": "<f4", "f64": "<f8", "c64": "<c8", "c128": "<c16"}
PACK = {"pred": "?", "s8": "b", "s16": "h", "s32": "i", "s64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q", "f16": "e",
        "f32": "f", "f64": "d"}


def write_npy(path, a):
    header = f"{{'descr': '{NPY[a.kind]}', 'fortran_order': False, 'shape': ({''.join(f'{d}, ' for d in a.dims)})}}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    if a.kind in COMPLEX:
        code = "f" if a.kind == "c64" else "d"
        data = b"".join(struct.pack(f"<2{code}", v.real, v.imag) for v in a.data)
    else:
        data = struct.pack(f"<{len(a.data)}{PACK[a.kind]}", *a.data)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def read_npy(path, a):
    raw = path.read_bytes()
    data = raw[10 + struct.unpack("<H", raw[8:10])[0]:]
    if a.kind in COMPLEX:
        code = "f" if a.kind == "c64" else "d"
        flat = struct.unpack(f"<{2 * len(a.data)}{code}", data)
        return [complex(x, y) for x, y in zip(flat[::2], flat[1::2])]
    return list(struct.unpack(f"<{len(a.data)}{PACK[a.kind]}", data))


def compare_with_xla(command, name, number_of, program):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "m.hlo").write_text(program.hlo("m"))
        for device, arrays in enumerate(program.inputs):
            (folder / "in" / f"dev{device}").mkdir(parents=True)
            for i, a in enumerate(arrays):
                write_npy(folder / "in" / f"dev{device}" / f"arg{i}.npy", a)
        run = subprocess.run(command + ["run", str(folder / "m.hlo"), "--input-dir", str(folder / "in"), "--output-dir",
                                        str(folder / "out")], capture_output=True, text=True)
        if run.returncode:
            return f"refused: {(run.stderr.strip() or run.stdout.strip())[:150]}"
        for device, value in enumerate(program.expected):
            for i, a in enumerate([value] if isinstance(value, Array) else value):
                got = read_npy(folder / "out" / f"dev{device}" / f"out{i}.npy", a)
                if got != a.data:
                    return f"DIFFERS on device {device}, output {i}: {got}, expected {a.data}"
    return "agrees"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail where a file is not what would be written")
    parser.add_argument("--oracle", help="command that runs XLA")
    parser.add_argument("--only", default="", help="only the file of this name")
    args = parser.parse_args()
    wrong = 0
    for name in FILES:
        if args.only not in ("", name):
            continue
        if args.oracle:
            for i, program in enumerate(programs_of(name)[1]):
                kinds = {a.kind for a in program.inputs[0]}
                if not program.xla or not kinds <= NPY.keys():
                    continue
                said = compare_with_xla(shlex.split(args.oracle), name, i, program)
                print(f"{name} {i} ({program.note}): {said}", flush=True)
                wrong += said.startswith("DIFFERS")
            continue
        path, text = FOLDER / f"{name}.hlo", file_text(name)
        if not args.check:
            FOLDER.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path} is not what scripts/make_device_tests.py writes")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
