#!/usr/bin/env python3
"""Writes a large HLO module in the style of a JAX dump, to time parsing and printing.

    scripts/make_big_module.py --output=big.hlo               # 4 MB
    scripts/make_big_module.py --bytes=1000000 > big.hlo

The module is a training program of as many layers as are needed: attention, a gated MLP, a
convolution, random bits, a scan, a branch, a sort, a table look-up and its update. It has nested
computations, constants, eleven element types, metadata and stack frame tables, is valid (every
shape follows from the operands'), and is XLA's default-style print of itself. The same arguments
give the same bytes. Standard library only.
"""

import argparse
import re
import sys

# --- a module under construction ----------------------------------------------


class Node:
    """One instruction: `attributes` is the text after the operands."""

    def __init__(self, name, shape, opcode, operands=(), attributes="", calls=(), op_name="",
                 frame=None, argument=None):
        self.name, self.shape, self.opcode, self.operands = name, shape, opcode, operands
        self.attributes, self.calls, self.op_name = attributes, calls, op_name
        self.frame, self.argument = frame, argument


class Computation:
    def __init__(self, name, parameters, root):
        self.name, self.parameters, self.root = name, parameters, root


class Frames:
    """The stack frame tables, numbered by first use, callers first."""

    def __init__(self):
        self.files, self.functions, self.locations, self.frames = {}, {}, {}, {}

    @staticmethod
    def number(table, key):
        return table.setdefault(key, len(table) + 1)

    def add(self, chain):
        """The number of the innermost frame of a chain of (file, function, line, columns)."""
        parent = 0
        for file, function, line, first, last in chain:
            location = self.number(self.locations, (
                self.number(self.files, file), self.number(self.functions, function),
                line, first, last))
            parent = self.number(self.frames, (location, parent))
        return parent

    def text(self):
        def table(title, rows):
            return [title, *(f"{i} {row}" for i, row in enumerate(rows, 1)), ""]

        return "\n".join([
            *table("FileNames", (f'"{f}"' for f in self.files)),
            *table("FunctionNames", (f'"{f}"' for f in self.functions)),
            *table("FileLocations", (
                f"{{file_name_id={f} function_name_id={n} line={line} end_line={line} "
                f"column={first} end_column={last}}}"
                for f, n, line, first, last in self.locations)),
            *table("StackFrames", (f"{{file_location_id={loc} parent_frame_id={parent + 1}}}"
                                   for loc, parent in self.frames)), ""])


def post_order(root):
    """Operands before users, each operand as early as its first user asks for it."""
    order, seen, stack = [], set(), [(root, iter(root.operands))]
    seen.add(id(root))
    while stack:
        node, rest = stack[-1]
        for operand in rest:
            if id(operand) not in seen:
                seen.add(id(operand))
                stack.append((operand, iter(operand.operands)))
                break
        else:
            order.append(node)
            stack.pop()
    return order


def bare(shape):
    """A shape without its layouts."""
    return re.sub(r"\{[\d,]*\}", "", shape)


def emit(computation, frames, out, done):
    """Appends the called computations, then this one."""
    if id(computation) in done:
        return
    done.add(id(computation))
    order = post_order(computation.root)
    for node in order:
        for called in node.calls:
            emit(called, frames, out, done)
    head = ", ".join(f"{p.name}: {bare(p.shape)}" for p in computation.parameters)
    entry = "ENTRY " if computation.name.startswith("main") else ""
    lines = [f"{entry}%{computation.name} ({head}) -> {bare(computation.root.shape)} {{"]
    for node in order:
        operands = ", ".join(f"%{o.name}" for o in node.operands)
        text = f"{node.shape} {node.opcode}({node.argument or operands}){node.attributes}"
        if node.op_name:
            where = f" stack_frame_id={frames.add(node.frame)}" if node.frame else ""
            text += f', metadata={{op_name="{node.op_name}"{where}}}'
        lines.append(f"  {'ROOT ' if node is computation.root else ''}%{node.name} = {text}")
    out.append("\n".join(lines) + "\n}\n")


def array(kind, *dims):
    layout = ",".join(str(i) for i in reversed(range(len(dims))))
    return f"{kind}[{','.join(map(str, dims))}]" + (f"{{{layout}}}" if dims else "")


def tuple_shape(shapes):
    parts = [(f"/*index={i}*/" if i and i % 5 == 0 else "") + s for i, s in enumerate(shapes)]
    return "(" + ", ".join(parts) + ")"


class Builder:
    """Makes nodes with the names JAX would give, numbered as XLA does."""

    def __init__(self):
        self.counts, self.regions, self.scope, self.chain = {}, 0, "", ()

    def name(self, stem):
        self.counts[stem] = self.counts.get(stem, 0) + 1
        return f"{stem}.{self.counts[stem]}"

    def op(self, stem, kind, dims, opcode, *operands, attributes="", calls=(), shape=None,
           argument=None, plain=False):
        shape = shape or array(kind, *dims)
        op_name = "" if plain else f"{self.scope}/{stem}"
        return Node(self.name(stem), shape, opcode, operands, attributes, calls, op_name,
                    None if plain else self.chain, argument)

    def constant(self, kind, text):
        return self.op("constant", kind, (), "constant", argument=text, plain=True)

    def splat(self, kind, dims, text):
        return self.op("broadcast", kind, dims, "broadcast", self.constant(kind, text),
                       attributes=", dimensions={}", plain=True)

    def parameter(self, stem, number, kind, *dims):
        return Node(self.name(stem), array(kind, *dims), "parameter", argument=str(number))

    def computation(self, stem, parameters, root):
        self.regions += 1
        return Computation(f"{stem}.{self.regions}", parameters, root)

    def reducer(self, opcode, kind):
        a, b = (self.parameter(f"reduce_{opcode}", i, kind) for i in range(2))
        root = self.op(f"reduce_{opcode}", kind, (), opcode, a, b)
        return self.computation("region", [a, b], root)

    def broadcast(self, x, kind, dims, kept, stem="broadcast_in_dim"):
        return self.op(stem, kind, dims, "broadcast", x,
                       attributes=f", dimensions={{{','.join(map(str, kept))}}}")

    def reduce(self, x, kind, dims, axis, opcode, start):
        kept = [d for i, d in enumerate(dims) if i != axis]
        region = self.reducer(opcode, kind)
        return self.op(f"reduce_{opcode}", kind, kept, "reduce", x, self.constant(kind, start),
                       attributes=f", dimensions={{{axis}}}, to_apply=%{region.name}",
                       calls=(region,))

    def dot(self, a, b, kind, dims, contract_a, contract_b, batch=""):
        text = f", lhs_batch_dims={{{batch}}}" if batch else ""
        text += f", lhs_contracting_dims={{{contract_a}}}"
        text += f", rhs_batch_dims={{{batch}}}" if batch else ""
        text += f", rhs_contracting_dims={{{contract_b}}}"
        return self.op("dot_general", kind, dims, "dot", a, b, attributes=text)


# --- the program --------------------------------------------------------------

LENGTH, HEADS = 32, 4


class Layer:
    """Builds one layer; every method takes and returns f32[LENGTH,width]."""

    def __init__(self, builder, number, width):
        self.b, self.number, self.width = builder, number, width
        self.dims = (LENGTH, width)

    def at(self, function, line):
        """From here on, instructions belong to this function of the user's program."""
        self.b.scope = f"jit(train_step)/layer_{self.number}/{function}"
        self.b.chain = (("train.py", "train_step", 41, 11, 58),
                        ("train.py", "loss", 20 + self.number % 7, 8, 40),
                        (f"nn/{function}.py", function, line + self.number % 13, 4, 30 + line % 9))

    def both(self, stem, opcode, a, b):
        return self.b.op(stem, "f32", self.dims, opcode, a, b)

    def norm(self, x, scale, bias):
        b, n = self.b, str(self.width)
        self.at("layer_norm", 12)
        mean = b.op("div", "f32", (LENGTH,), "divide", b.reduce(x, "f32", self.dims, 1, "add", "0"),
                    b.splat("f32", (LENGTH,), n))
        centred = self.both("sub", "subtract", x, b.broadcast(mean, "f32", self.dims, (0,)))
        self.at("layer_norm", 14)
        squares = self.both("mul", "multiply", centred, centred)
        variance = b.op("div", "f32", (LENGTH,), "divide",
                        b.reduce(squares, "f32", self.dims, 1, "add", "0"),
                        b.splat("f32", (LENGTH,), n))
        safe = b.op("add", "f32", (LENGTH,), "add", variance, b.splat("f32", (LENGTH,), "1e-05"))
        root = b.op("rsqrt", "f32", (LENGTH,), "rsqrt", safe)
        scaled = self.both("mul", "multiply", centred, b.broadcast(root, "f32", self.dims, (0,)))
        scaled = self.both("mul", "multiply", scaled, b.broadcast(scale, "f32", self.dims, (1,)))
        return self.both("add", "add", scaled, b.broadcast(bias, "f32", self.dims, (1,)))

    def attention(self, x, w):
        b, size = self.b, self.width // HEADS
        split = (LENGTH, HEADS, size)
        heads = []
        for i in range(3):
            self.at("attention", 30 + i)
            y = b.dot(x, w, "f32", self.dims, 1, 0)
            y = b.op("convert_element_type", "bf16", self.dims, "convert", y)
            y = b.op("reshape", "bf16", split, "reshape", y)
            heads.append(b.op("transpose", "bf16", (HEADS, LENGTH, size), "transpose", y,
                              attributes=", dimensions={1,0,2}"))
        q, k, v = heads
        square = (HEADS, LENGTH, LENGTH)
        scores = b.op("convert_element_type", "f32", square, "convert",
                      b.dot(q, k, "bf16", square, 2, 2, batch="0"))
        self.at("softmax", 7)
        rows = b.op("iota", "s32", square, "iota", attributes=", iota_dimension=1")
        columns = b.op("iota", "s32", square, "iota", attributes=", iota_dimension=2")
        causal = b.op("ge", "pred", square, "compare", rows, columns, attributes=", direction=GE")
        scores = b.op("select_n", "f32", square, "select", causal, scores,
                      b.splat("f32", square, "-3.40282347e+38"))
        top = b.reduce(scores, "f32", square, 2, "maximum", "-inf")
        shifted = b.op("sub", "f32", square, "subtract", scores,
                       b.broadcast(top, "f32", square, (0, 1)))
        powers = b.op("exp", "f32", square, "exponential", shifted)
        total = b.reduce(powers, "f32", square, 2, "add", "0")
        weights = b.op("div", "f32", square, "divide", powers,
                       b.broadcast(total, "f32", square, (0, 1)))
        self.at("attention", 36)
        weights = b.op("convert_element_type", "bf16", square, "convert", weights)
        mixed = b.dot(weights, v, "bf16", (HEADS, LENGTH, size), 2, 1, batch="0")
        mixed = b.op("transpose", "bf16", split, "transpose", mixed,
                     attributes=", dimensions={1,0,2}", shape=array("bf16", *split))
        mixed = b.op("reshape", "bf16", self.dims, "reshape", mixed)
        return self.both("add", "add", x, b.op("convert_element_type", "f32", self.dims, "convert",
                                               mixed))

    def gated(self, x, w):
        b = self.b
        self.at("mlp", 9)
        y = b.dot(x, w, "f32", self.dims, 1, 0)
        cube = self.both("mul", "multiply", self.both("mul", "multiply", y, y), y)
        cube = self.both("mul", "multiply", cube, b.splat("f32", self.dims, "0.044715"))
        inner = self.both("mul", "multiply", self.both("add", "add", y, cube),
                          b.splat("f32", self.dims, "0.797884583"))
        gate = b.op("tanh", "f32", self.dims, "tanh", inner)
        gate = self.both("add", "add", gate, b.splat("f32", self.dims, "1"))
        return self.both("add", "add", x, self.both("mul", "multiply", y, gate))

    def convolution(self, x):
        b = self.b
        self.at("conv", 17)
        image = b.op("reshape", "f32", (1, LENGTH, self.width, 1), "reshape", x)

        def tap(i, j):
            value = ((self.number * 7 + i) % 16 / 16, -((self.number + i) % 8) / 8 - 0.5, 0.125)[j]
            return f"{{ /*i1={j}*/ {{{value:.9g}}} }}"

        rows = (", ".join(tap(i, j) for j in range(3)) for i in range(3))
        taps = ", ".join(f"{{ /*i0={i}*/ {row} }}" for i, row in enumerate(rows))
        kernel = b.op("constant", "f32", (3, 3, 1, 1), "constant", argument=f"{{ {taps} }}",
                      plain=True)
        y = b.op("conv_general_dilated", "f32", (1, LENGTH, self.width, 1), "convolution", image,
                 kernel, attributes=", window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f")
        y = b.op("reshape", "f32", self.dims, "reshape", y)
        low = b.op("slice", "f32", (LENGTH, self.width // 2), "slice", y,
                   attributes=f", slice={{[0:{LENGTH}], [0:{self.width // 2}]}}")
        high = b.op("slice", "f32", (LENGTH, self.width // 2), "slice", y,
                    attributes=f", slice={{[0:{LENGTH}], [{self.width // 2}:{self.width}]}}")
        both = b.op("concatenate", "f32", self.dims, "concatenate", high, low,
                    attributes=", dimensions={1}")
        padded = b.op("pad", "f32", (LENGTH, self.width + 2), "pad", both,
                      b.constant("f32", "0"), attributes=", padding=0_0x1_1")
        return b.op("slice", "f32", self.dims, "slice", padded,
                    attributes=f", slice={{[0:{LENGTH}], [1:{self.width + 1}]}}")

    def dropout(self, x, seed):
        """Some rounds of an integer mixing function, as JAX's threefry unrolls."""
        b = self.b
        self.at("dropout", 5)
        bits = b.op("iota", "u32", self.dims, "iota", attributes=", iota_dimension=1")
        key = b.broadcast(seed, "u32", self.dims, ())
        for turn in (13, 15, 26, 6):
            mixed = b.op("add", "u32", self.dims, "add", bits, key)
            left = b.op("shift_left", "u32", self.dims, "shift-left", mixed,
                        b.splat("u32", self.dims, str(turn)))
            right = b.op("shift_right_logical", "u32", self.dims, "shift-right-logical", mixed,
                         b.splat("u32", self.dims, str(32 - turn)))
            bits = b.op("xor", "u32", self.dims, "xor", mixed,
                        b.op("or", "u32", self.dims, "or", left, right))
        kept = b.op("lt", "pred", self.dims, "compare", bits,
                    b.splat("u32", self.dims, "3865470566"), attributes=", direction=LT")
        self.at("dropout", 8)
        return b.op("select_n", "f32", self.dims, "select", kept, x,
                    b.splat("f32", self.dims, "0"))

    def scan(self, x):
        """A while loop that adds up rows in f16 and keeps a counter in s32."""
        b = self.b
        self.at("scan", 22)
        shapes = ["s32[]", array("f32", *self.dims), array("f16", self.width)]
        state = tuple_shape(shapes)

        def elements(p):
            return [b.op("get-tuple-element", "", (), "get-tuple-element", p, shape=s,
                         attributes=f", index={i}", plain=True) for i, s in enumerate(shapes)]

        p = Node(b.name("arg_tuple"), state, "parameter", argument="0")
        i, table, total = elements(p)
        row = b.op("dynamic_slice", "f32", (1, self.width), "dynamic-slice", table, i,
                   b.constant("s32", "0"),
                   attributes=f", dynamic_slice_sizes={{1,{self.width}}}")
        half = b.op("convert_element_type", "f16", (self.width,), "convert",
                    b.op("squeeze", "f32", (self.width,), "reshape", row))
        total = b.op("add", "f16", (self.width,), "add", total, half)
        wide = b.op("convert_element_type", "f32", (1, self.width), "convert",
                    b.op("broadcast_in_dim", "f16", (1, self.width), "reshape", total))
        table = b.op("dynamic_update_slice", "f32", self.dims, "dynamic-update-slice", table, wide,
                     i, b.constant("s32", "0"))
        following = b.op("add", "s32", (), "add", i, b.constant("s32", "1"))
        root = b.op("tuple", "", (), "tuple", following, table, total, shape=state, plain=True)
        body = b.computation("while_body", [p], root)
        p = Node(b.name("arg_tuple"), state, "parameter", argument="0")
        more = b.op("lt", "pred", (), "compare", elements(p)[0], b.constant("s32", str(LENGTH)),
                    attributes=", direction=LT")
        condition = b.computation("while_cond", [p], more)
        start = b.op("tuple", "", (), "tuple", b.constant("s32", "0"), x,
                     b.splat("f16", (self.width,), "0"), shape=state, plain=True)
        loop = b.op("while", "", (), "while", start, shape=state, calls=(body, condition),
                    attributes=f", condition=%{condition.name}, body=%{body.name}")
        return elements(loop)[1]

    def branch(self, x, flag):
        b = self.b
        self.at("cond", 3)
        computations = []
        for opcode, stem in (("negate", "neg"), ("cosine", "cos")):
            p = b.parameter("Arg_0", 0, "f32", *self.dims)
            y = b.op(stem, "f32", self.dims, opcode, p)
            computations.append(b.computation(f"branch_{stem}", [p], y))
        names = ", ".join(f"%{c.name}" for c in computations)
        index = b.op("convert_element_type", "s32", (), "convert", flag)
        return b.op("cond", "f32", self.dims, "conditional", index, x, x, calls=computations,
                    attributes=f", branch_computations={{{names}}}")

    def sort(self, x):
        b = self.b
        self.at("top", 31)
        p = [b.parameter("sort", i, kind) for i, kind in enumerate(("f32", "f32", "s32", "s32"))]
        # A root that reads all four, so that none is dead.
        less = b.op("lt", "pred", (), "compare", p[0], p[1], attributes=", direction=LT, "
                    "type=TOTALORDER")
        first = b.op("lt", "pred", (), "compare", p[2], p[3], attributes=", direction=LT")
        same = b.op("eq", "pred", (), "compare", p[0], p[1], attributes=", direction=EQ")
        root = b.op("or", "pred", (), "or", less, b.op("and", "pred", (), "and", same, first))
        comparator = b.computation("region", p, root)
        order = b.op("iota", "s32", self.dims, "iota", attributes=", iota_dimension=1")
        pair = b.op("sort", "", (), "sort", x, order, calls=(comparator,),
                    shape=tuple_shape([array("f32", *self.dims), array("s32", *self.dims)]),
                    attributes=f", dimensions={{1}}, is_stable=true, to_apply=%{comparator.name}")
        return [b.op("get-tuple-element", "", (), "get-tuple-element", pair, plain=True,
                     shape=array(kind, *self.dims), attributes=f", index={i}")
                for i, kind in enumerate(("f32", "s32"))]

    def table(self, x, order):
        """Reads rows chosen by the order, and adds them back elsewhere."""
        b = self.b
        self.at("embed", 11)
        places = b.op("slice", "s32", (LENGTH, 1), "slice", order,
                      attributes=f", slice={{[0:{LENGTH}], [0:1]}}")
        limited = b.op("rem", "s32", (LENGTH, 1), "remainder", places,
                       b.splat("s32", (LENGTH, 1), str(LENGTH)))
        rows = b.op("gather", "f32", self.dims, "gather", x, limited,
                    attributes=", offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
                               f"index_vector_dim=1, slice_sizes={{1,{self.width}}}")
        adder = b.reducer("add", "f32")
        return b.op("scatter_add", "f32", self.dims, "scatter", x, limited, rows, calls=(adder,),
                    attributes=", update_window_dims={1}, inserted_window_dims={0}, "
                               "scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
                               f"to_apply=%{adder.name}")

    def quantize(self, x):
        """To s8 and back, by way of u8, with a complex detour."""
        b = self.b
        self.at("quantize", 44)
        y = self.both("mul", "multiply", x, b.splat("f32", self.dims, "127"))
        y = b.op("clamp", "f32", self.dims, "clamp", b.constant("f32", "-128"), y,
                 b.constant("f32", "127"))
        small = b.op("convert_element_type", "s8", self.dims, "convert",
                     b.op("round", "f32", self.dims, "round-nearest-even", y))
        table = ", ".join(str((self.number * 31 + i * 17) % 256) for i in range(self.width))
        offsets = b.op("constant", "u8", (self.width,), "constant", argument=f"{{{table}}}",
                       plain=True)
        shifted = b.op("add", "u8", self.dims, "add",
                       b.op("convert_element_type", "u8", self.dims, "convert", small),
                       b.broadcast(offsets, "u8", self.dims, (1,)))
        back = b.op("convert_element_type", "f32", self.dims, "convert", shifted)
        wave = b.op("complex", "c64", self.dims, "complex", back, x)
        wave = b.op("mul", "c64", self.dims, "multiply", wave,
                    b.splat("c64", self.dims, "(0.5, -0.25)"))
        return b.op("real", "f32", self.dims, "real", wave)

    def build(self, x, w, scale, bias, seed, flag):
        x = self.attention(self.norm(x, scale, bias), w)
        x = self.gated(self.norm(x, scale, bias), w)
        x = self.dropout(self.both("add", "add", x, self.convolution(x)), seed)
        x = self.branch(self.scan(x), flag)
        values, order = self.sort(x)
        x = self.table(values, order)
        return self.quantize(x)


def module_text(layers):
    b, width = Builder(), 64
    x = b.parameter("x", 0, "f32", LENGTH, width)
    w = b.parameter("params_w", 1, "f32", width, width)
    scale, bias = (b.parameter(f"params_{n}", i, "f32", width)
                   for i, n in ((2, "scale"), (3, "bias")))
    seed, flag = b.parameter("seed", 4, "u32"), b.parameter("flag", 5, "pred")
    parameters = [x, w, scale, bias, seed, flag]
    for p in parameters:
        p.op_name = p.name.rsplit(".", 1)[0].replace("params_", "params[\\'") + (
            "\\']" if p.name.startswith("params_") else "")
    y = x
    for number in range(layers):
        y = Layer(b, number, width).build(y, w, scale, bias, seed, flag)
    entry = b.computation("main", parameters, y)
    frames, out = Frames(), []
    emit(entry, frames, out, set())
    layout = tuple_shape([p.shape for p in parameters])
    head = f"HloModule jit_train_step, entry_computation_layout={{{layout}->{y.shape}}}\n\n"
    return head + frames.text() + "\n" + "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bytes", type=int, default=4_000_000, help="at least this long (4000000)")
    parser.add_argument("--output", default="-", help="the file to write (standard output)")
    args = parser.parse_args()
    text, layers = module_text(1), 1
    while len(text) < args.bytes:
        layers += max(1, layers * (args.bytes - len(text)) // len(text))
        text = module_text(layers)
    if args.output == "-":
        sys.stdout.write(text)
    else:
        with open(args.output, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
