"""Small modules for scripts/coverage.py: for each opcode and element type one or more, with arguments."""

TYPES = ["pred", "s2", "s4", "s8", "s16", "s32", "s64", "u2", "u4", "u8", "u16", "u32", "u64", "f4e2m1fn", "f8e3m4", "f8e4m3",
         "f8e4m3b11fnuz", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0fnu", "bf16", "f16", "f32", "f64", "c64",
         "c128"]

FLOATS = [t for t in TYPES if t[0] in "fb"]
COMPLEX = ["c64", "c128"]
INTEGERS = [t for t in TYPES if t[0] in "su"]
PART = {"c64": "f32", "c128": "f64"}
WHOLE = {"f32": "c64", "f64": "c128"}


class Argument:
    """Values that every type holds exactly, repeated as often as the dimensions ask."""

    def __init__(self, kind, dims=(), values=None):
        self.kind, self.dims = kind, tuple(dims)
        count = 1
        for size in self.dims:
            count *= size
        cycle = values or default_values(kind)
        self.values = [cycle[i % len(cycle)] for i in range(count)]

    def text(self):
        flat = iter([scalar_text(self.kind, value, bool(self.dims)) for value in self.values])

        def nested(dims):
            if not dims:
                return next(flat)
            return "{" + ", ".join(nested(dims[1:]) for _ in range(dims[0])) + "}"

        return f"{self.kind}[{','.join(map(str, self.dims))}] {nested(self.dims)}"


def default_values(kind):
    if kind == "pred":
        return [1, 0, 1, 1]
    if kind in COMPLEX:
        return [0.5 + 1j, 1 - 2j, 2 + 0.5j, 4 + 4j]
    if kind in FLOATS:
        return [0.5, 1, 4, 2]
    return [1, 0, -2, -1] if kind[0] == "s" else [1, 0, 3, 2]


def scalar_text(kind, value, in_array):
    if kind == "pred":
        return str(int(value)) if in_array else ("true" if value else "false")
    if kind in COMPLEX:
        value = complex(value)
        return f"({value.real:g}, {value.imag:g})"
    return f"{value:g}"


class Case:
    """`text`: instructions of the entry, or computations with `ENTRY` among them. `type` stands for the element type."""

    def __init__(self, text, *arguments, tolerance=None, oracle_text=None):
        self.text, self.arguments, self.tolerance = text, arguments, tolerance

    def module(self, name):
        text = self.text.strip()
        if "ENTRY" not in text:
            text = "ENTRY main {\n" + text + "\n}"
        return f"HloModule {name}\n\n{text}\n"


def region(kind, opcode="add", name="combine"):
    return f"{name} {{\n  p = {kind}[] parameter(0)\n  q = {kind}[] parameter(1)\n  ROOT s = {kind}[] {opcode}(p, q)\n}}\n"


def entry(body):
    return "ENTRY main {\n" + body.strip() + "\n}"


CASES = {}


def cases(*opcodes):
    """The function makes the cases of an opcode (given to it when there are several) and a type; none: the type has no meaning."""

    def add(function):
        for opcode in opcodes:
            assert opcode not in CASES, opcode
            CASES[opcode] = (lambda kind, o=opcode: function(o, kind)) if len(opcodes) > 1 else function
        return function

    return add


def loose(kind):
    """Sums may be rounded elsewhere."""
    if kind in ("f32", "c64"):
        return "1e-5 1e-5"
    if kind in ("f64", "c128"):
        return "1e-12 1e-12"
    if kind in ("bf16", "f16"):
        return "1e-2 1e-2"
    return "0.25 0.25" if kind in FLOATS else None


# ---- elementwise ----

@cases("abs", "acos", "acosh", "asin", "asinh", "atanh", "cbrt", "ceil", "cosh", "cosine", "count-leading-zeros", "erf", "exponential",
       "exponential-minus-one", "floor", "log", "log-plus-one", "logistic", "negate", "not", "popcnt", "round-nearest-afz",
       "round-nearest-even", "rsqrt", "sign", "sine", "sinh", "sqrt", "tan", "tanh")
def unary(opcode, kind):
    result = PART.get(kind, kind) if opcode == "abs" else kind
    return [Case(f"x = {kind}[{n}] parameter(0)\nROOT r = {result}[{n}] {opcode}(x)", Argument(kind, [n])) for n in (5, 0)]


@cases("add", "and", "atan2", "divide", "maximum", "minimum", "mulhi", "multiply", "or", "power", "remainder", "shift-left",
       "shift-right-arithmetic", "shift-right-logical", "subtract", "xor")
def binary(opcode, kind):
    other = list(reversed(default_values(kind)))
    return [Case(f"x = {kind}[{n}] parameter(0)\ny = {kind}[{n}] parameter(1)\nROOT r = {kind}[{n}] {opcode}(x, y)",
                 Argument(kind, [n]), Argument(kind, [n], other)) for n in (5, 0)]


@cases("is-finite")
def is_finite(kind):
    return [Case(f"x = {kind}[4] parameter(0)\nROOT r = pred[4] is-finite(x)", Argument(kind, [4]))] if kind in FLOATS else []


@cases("real", "imag")
def part(opcode, kind):
    return [Case(f"x = {kind}[4] parameter(0)\nROOT r = {PART.get(kind, kind)}[4] {opcode}(x)", Argument(kind, [4]))]


@cases("complex")
def make_complex(kind):
    if kind not in WHOLE:
        return []
    return [Case(f"x = {kind}[4] parameter(0)\ny = {kind}[4] parameter(1)\nROOT r = {WHOLE[kind]}[4] complex(x, y)",
                 Argument(kind, [4]), Argument(kind, [4]))]


@cases("compare")
def compare(kind):
    directions = ["EQ", "NE"] if kind in COMPLEX else ["EQ", "LT", "GE"]
    return [Case(f"x = {kind}[4] parameter(0)\ny = {kind}[4] parameter(1)\nROOT r = pred[4] compare(x, y), direction={d}",
                 Argument(kind, [4]), Argument(kind, [4], list(reversed(default_values(kind))))) for d in directions]


@cases("clamp")
def clamp(kind):
    return [Case(f"a = {kind}[] parameter(0)\nx = {kind}[4] parameter(1)\nb = {kind}[] parameter(2)\nROOT r = {kind}[4] clamp(a, x, b)",
                 Argument(kind), Argument(kind, [4]), Argument(kind, [], default_values(kind)[2:]))]


@cases("select")
def select(kind):
    return [Case(f"c = pred[4] parameter(0)\nx = {kind}[4] parameter(1)\ny = {kind}[4] parameter(2)\nROOT r = {kind}[4] select(c, x, y)",
                 Argument("pred", [4]), Argument(kind, [4]), Argument(kind, [4]))]


@cases("convert")
def convert(kind):
    targets = ["pred", "s32", "u8", "f32", "bf16", "c64"] if kind not in COMPLEX else ["c64", "c128"]
    return [Case(f"x = {kind}[4] parameter(0)\nROOT r = {to}[4] convert(x)", Argument(kind, [4])) for to in targets] + [
        Case(f"x = s32[4] parameter(0)\nROOT r = {kind}[4] convert(x)", Argument("s32", [4], [1, 0, 1, 1]))]


@cases("reduce-precision")
def reduce_precision(kind):
    return [Case(f"x = {kind}[4] parameter(0)\nROOT r = {kind}[4] reduce-precision(x), exponent_bits=4, mantissa_bits=2",
                 Argument(kind, [4]))]


@cases("bitcast-convert")
def bitcast_convert(kind):
    same = {"s2": "u2", "s4": "u4", "s8": "u8", "s16": "u16", "s32": "u32", "s64": "u64", "bf16": "u16", "f16": "s16",
            "f32": "u32", "f64": "s64", "f4e2m1fn": "u4", "c64": "c64", "c128": "c128", "pred": "pred"}
    to = same.get(kind, ("s" + kind[1:]) if kind[0] == "u" else "u8")
    return [Case(f"x = {kind}[4] parameter(0)\nROOT r = {to}[4] bitcast-convert(x)", Argument(kind, [4]))]


@cases("stochastic-convert")
def stochastic_convert(kind):
    words = {"f64": "u64", "f32": "u32", "bf16": "u16", "f16": "u16"}
    if kind not in words:
        return []
    word = words[kind]
    return [Case(f"x = {kind}[4] parameter(0)\ny = {word}[4] parameter(1)\nROOT r = s8[4] stochastic-convert(x, y)",
                 Argument(kind, [4]), Argument(word, [4]))]


@cases("map")
def map_(kind):
    return [Case(region(kind) + entry(f"x = {kind}[4] parameter(0)\ny = {kind}[4] parameter(1)\n"
                                      f"ROOT r = {kind}[4] map(x, y), dimensions={{0}}, to_apply=combine"),
                 Argument(kind, [4]), Argument(kind, [4]))]


# ---- making and moving ----

@cases("constant")
def constant(kind):
    value = Argument(kind, [3]).text().split(" ", 1)[1]
    return [Case(f"ROOT r = {kind}[3] constant({value})"), Case(f"ROOT r = {kind}[2,0] constant({{ {{}}, {{}} }})"),
            Case(f"ROOT r = ({kind}[3], s32[]) constant(({value}, 7))")]


@cases("iota")
def iota(kind):
    return [Case(f"ROOT r = {kind}[2,2] iota(), iota_dimension=1")]


@cases("parameter")
def parameter(kind):
    return [Case(f"ROOT x = {kind}[{n}] parameter(0)", Argument(kind, [n])) for n in (3, 0)]


@cases("broadcast")
def broadcast(kind):
    return [Case(f"x = {kind}[3] parameter(0)\nROOT r = {kind}[2,3] broadcast(x), dimensions={{1}}", Argument(kind, [3])),
            Case(f"x = {kind}[0] parameter(0)\nROOT r = {kind}[2,0] broadcast(x), dimensions={{1}}", Argument(kind, [0]))]


def moved(opcode, kind, result, attributes, operand="2,3"):
    dims = [int(d) for d in operand.split(",")]
    return Case(f"x = {kind}[{operand}] parameter(0)\nROOT r = {kind}[{result}] {opcode}(x){attributes}", Argument(kind, dims))


@cases("reshape")
def reshape(kind):
    return [moved("reshape", kind, "3,2", ""), moved("reshape", kind, "0,7", "", "2,0")]


@cases("bitcast")
def bitcast(kind):
    return [moved("bitcast", kind, "6", ""), moved("bitcast", kind, "0", "", "2,0")]


@cases("transpose")
def transpose(kind):
    return [moved("transpose", kind, "3,2", ", dimensions={1,0}"), moved("transpose", kind, "0,2", ", dimensions={1,0}", "2,0")]


@cases("reverse")
def reverse(kind):
    return [moved("reverse", kind, "2,3", ", dimensions={1}"), moved("reverse", kind, "2,0", ", dimensions={0}", "2,0")]


@cases("slice")
def slice_(kind):
    return [moved("slice", kind, "1,2", ", slice={[1:2], [0:3:2]}"), moved("slice", kind, "2,0", ", slice={[0:2], [3:3]}")]


@cases("copy")
def copy(kind):
    return [moved("copy", kind, "2,3", "")]


@cases("pad")
def pad(kind):
    return [Case(f"x = {kind}[{n}] parameter(0)\nz = {kind}[] parameter(1)\nROOT r = {kind}[{n + 3 + max(n - 1, 0)}] pad(x, z), padding=1_2_1",
                 Argument(kind, [n]), Argument(kind)) for n in (3, 0)]


@cases("concatenate")
def concatenate(kind):
    return [Case(f"x = {kind}[2] parameter(0)\ny = {kind}[{n}] parameter(1)\nROOT r = {kind}[{2 + n}] concatenate(x, y), dimensions={{0}}",
                 Argument(kind, [2]), Argument(kind, [n])) for n in (3, 0)]


@cases("dynamic-slice")
def dynamic_slice(kind):
    return [Case(f"x = {kind}[4] parameter(0)\ni = s32[] parameter(1)\nROOT r = {kind}[2] dynamic-slice(x, i), dynamic_slice_sizes={{2}}",
                 Argument(kind, [4]), Argument("s32", [], [1])),
            Case(f"x = {kind}[4] parameter(0)\ni = s32[1] parameter(1)\nROOT r = {kind}[0] dynamic-slice(x, i), dynamic_slice_sizes={{0}}",
                 Argument(kind, [4]), Argument("s32", [1], [1]))]


@cases("dynamic-update-slice")
def dynamic_update_slice(kind):
    return [Case(f"x = {kind}[4] parameter(0)\ny = {kind}[{n}] parameter(1)\ni = s32[] parameter(2)\n"
                 f"ROOT r = {kind}[4] dynamic-update-slice(x, y, i)",
                 Argument(kind, [4]), Argument(kind, [n]), Argument("s32", [], [1])) for n in (2, 0)]


@cases("gather")
def gather(kind):
    return [Case(f"x = {kind}[4,2] parameter(0)\ni = s32[{n}] parameter(1)\nROOT r = {kind}[{n},2] gather(x, i), offset_dims={{1}}, "
                 "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,2}",
                 Argument(kind, [4, 2]), Argument("s32", [n], [3, 0, 9])) for n in (3, 0)]


@cases("scatter")
def scatter(kind):
    return [Case(region(kind) + entry(
        f"x = {kind}[4,2] parameter(0)\ni = s32[{n}] parameter(1)\nu = {kind}[{n},2] parameter(2)\n"
        f"ROOT r = {kind}[4,2] scatter(x, i, u), update_window_dims={{1}}, inserted_window_dims={{0}}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=combine"),
        Argument(kind, [4, 2]), Argument("s32", [n], [3, 0, 9]), Argument(kind, [n, 2]), tolerance=loose(kind)) for n in (3, 0)]


# ---- reductions, windows, orders ----

@cases("reduce")
def reduce(kind):
    return [Case(region(kind) + entry(f"x = {kind}[{dims}] parameter(0)\nz = {kind}[] parameter(1)\n"
                                      f"ROOT r = {kind}[{result}] reduce(x, z), dimensions={{{over}}}, to_apply=combine"),
                 Argument(kind, [int(d) for d in dims.split(",")]), Argument(kind), tolerance=loose(kind))
            for dims, over, result in (("3,4", 1, "3"), ("3,4", 0, "4"), ("3,0", 1, "3"), ("0,4", 1, "0"))]


@cases("reduce-window")
def reduce_window(kind):
    return [Case(region(kind) + entry(f"x = {kind}[{n}] parameter(0)\nz = {kind}[] parameter(1)\n"
                                      f"ROOT r = {kind}[{m}] reduce-window(x, z), window={{size=2 stride={s} pad=1_0}}, to_apply=combine"),
                 Argument(kind, [n]), Argument(kind), tolerance=loose(kind)) for n, s, m in ((5, 1, 5), (6, 2, 3), (0, 1, 0))]


@cases("select-and-scatter")
def select_and_scatter(kind):
    if kind in COMPLEX:
        return []  # which have no order in regions
    pick = f"pick {{\n  a = {kind}[] parameter(0)\n  b = {kind}[] parameter(1)\n  ROOT c = pred[] compare(a, b), direction=GE\n}}\n"
    return [Case(pick + region(kind) + entry(
        f"x = {kind}[4] parameter(0)\ny = {kind}[2] parameter(1)\nz = {kind}[] parameter(2)\n"
        f"ROOT r = {kind}[4] select-and-scatter(x, y, z), window={{size=2 stride=2}}, select=pick, scatter=combine"),
        Argument(kind, [4]), Argument(kind, [2]), Argument(kind), tolerance=loose(kind))]


@cases("scan")
def scan(kind):
    body = (f"step {{\n  c = {kind}[] parameter(1)\n  x = {kind}[] parameter(0)\n  s = {kind}[] add(c, x)\n"
            f"  ROOT t = ({kind}[], {kind}[]) tuple(s, s)\n}}\n")
    return [Case(body + entry(f"x = {kind}[4] parameter(0)\nz = {kind}[] parameter(1)\n"
                              f"ROOT r = ({kind}[4], {kind}[]) scan(x, z), dimensions={{0}}, num_carries=1, to_apply=step"),
                 Argument(kind, [4]), Argument(kind), tolerance=loose(kind))]


@cases("sort")
def sort(kind):
    less = f"less {{\n  a = {kind}[] parameter(0)\n  b = {kind}[] parameter(1)\n  ROOT c = pred[] compare(a, b), direction=LT\n}}\n"
    pairs = (f"less {{\n  a = {kind}[] parameter(0)\n  b = {kind}[] parameter(1)\n  k = s32[] parameter(2)\n  l = s32[] parameter(3)\n"
             "  ROOT c = pred[] compare(k, l), direction=GT\n}\n")
    made = [Case(pairs + entry(f"x = {kind}[{n}] parameter(0)\nk = s32[{n}] parameter(1)\n"
                               f"ROOT r = ({kind}[{n}], s32[{n}]) sort(x, k), dimensions={{0}}, to_apply=less"),
                 Argument(kind, [n]), Argument("s32", [n], [3, 1, 4, 1, 5])) for n in (5, 0)]
    if kind not in COMPLEX:
        made.append(Case(less + entry(f"x = {kind}[5] parameter(0)\nROOT r = {kind}[5] sort(x), dimensions={{0}}, to_apply=less"),
                         Argument(kind, [5])))
    return made


@cases("topk")
def topk(kind):
    return [Case(f"x = {kind}[2,4] parameter(0)\nROOT r = ({kind}[2,2], s32[2,2]) topk(x), k=2, largest=true", Argument(kind, [2, 4]))]


# ---- products, linear algebra ----

@cases("dot")
def dot(kind):
    return [Case(f"x = {kind}[2,{k}] parameter(0)\ny = {kind}[{k},2] parameter(1)\n"
                 f"ROOT r = {kind}[2,2] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
                 Argument(kind, [2, k]), Argument(kind, [k, 2]), tolerance=loose(kind))
            for k in ((3,) if kind == "f8e8m0fnu" else (3, 0))] + [  # which has no zero
        Case(f"x = {kind}[2,2,3] parameter(0)\ny = {kind}[2,3,2] parameter(1)\nROOT r = {kind}[2,2,2] dot(x, y), lhs_batch_dims={{0}}, "
             "rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
             Argument(kind, [2, 2, 3]), Argument(kind, [2, 3, 2]), tolerance=loose(kind))]


@cases("ragged-dot")
def ragged_dot(kind):
    return [Case(f"x = {kind}[3,2] parameter(0)\ny = {kind}[2,2,2] parameter(1)\ng = s32[2] parameter(2)\n"
                 f"ROOT r = {kind}[3,2] ragged-dot(x, y, g), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}, lhs_ragged_dims={{0}}, "
                 "rhs_group_dims={0}", Argument(kind, [3, 2]), Argument(kind, [2, 2, 2]), Argument("s32", [2], [1, 2]),
                 tolerance=loose(kind))]


@cases("scaled-dot")
def scaled_dot(kind):
    if kind not in FLOATS:
        return []
    scale = "f8e8m0fnu"
    return [Case(f"x = {kind}[2,4] parameter(0)\ny = {kind}[4,2] parameter(1)\na = {scale}[2,2] parameter(2)\nb = {scale}[2,2] parameter(3)\n"
                 "ROOT r = f32[2,2] scaled-dot(x, y, a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
                 Argument(kind, [2, 4]), Argument(kind, [4, 2]), Argument(scale, [2, 2]), Argument(scale, [2, 2]), tolerance=loose(kind))]


@cases("convolution")
def convolution(kind):
    plain = Case(f"x = {kind}[1,4,2] parameter(0)\nk = {kind}[2,2,3] parameter(1)\n"
                 f"ROOT r = {kind}[1,3,3] convolution(x, k), window={{size=2}}, dim_labels=b0f_0io->b0f",
                 Argument(kind, [1, 4, 2]), Argument(kind, [2, 2, 3]), tolerance=loose(kind))
    empty = Case(f"x = {kind}[1,4,0] parameter(0)\nk = {kind}[2,0,3] parameter(1)\n"
                 f"ROOT r = {kind}[1,3,3] convolution(x, k), window={{size=2}}, dim_labels=b0f_0io->b0f",
                 Argument(kind, [1, 4, 0]), Argument(kind, [2, 0, 3]), tolerance=loose(kind))
    return [plain, empty]


@cases("fft")
def fft(kind):
    if kind in COMPLEX:
        return [Case(f"x = {kind}[{n}] parameter(0)\nROOT r = {kind}[{n}] fft(x), fft_type={t}, fft_length={{{n}}}", Argument(kind, [n]),
                     tolerance=loose(kind)) for n, t in ((4, "FFT"), (3, "IFFT"), (0, "FFT"))] + [
            Case(f"x = {kind}[1,1] parameter(0)\nROOT r = {kind}[1,1] fft(x), fft_type=FFT, fft_length={{0}}", Argument(kind, [1, 1])),
            Case(f"x = {kind}[3] parameter(0)\nROOT r = {PART[kind]}[4] fft(x), fft_type=IRFFT, fft_length={{4}}", Argument(kind, [3]),
                 tolerance=loose(kind))]
    if kind in WHOLE:
        return [Case(f"x = {kind}[4] parameter(0)\nROOT r = {WHOLE[kind]}[3] fft(x), fft_type=RFFT, fft_length={{4}}", Argument(kind, [4]),
                     tolerance=loose(kind))]
    return []


@cases("cholesky")
def cholesky(kind):
    return [Case(f"x = {kind}[2,2] parameter(0)\nROOT r = {kind}[2,2] cholesky(x), lower=true", Argument(kind, [2, 2], [4, 1, 1, 4]),
                 tolerance=loose(kind)),
            Case(f"x = {kind}[0,0] parameter(0)\nROOT r = {kind}[0,0] cholesky(x), lower=true", Argument(kind, [0, 0]))]


@cases("triangular-solve")
def triangular_solve(kind):
    flags = "left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE"
    return [Case(f"x = {kind}[2,2] parameter(0)\ny = {kind}[2,3] parameter(1)\nROOT r = {kind}[2,3] triangular-solve(x, y), {flags}",
                 Argument(kind, [2, 2], [4, 0.5, 1, 2]), Argument(kind, [2, 3]), tolerance=loose(kind)),
            Case(f"x = {kind}[2,2] parameter(0)\ny = {kind}[2,0] parameter(1)\nROOT r = {kind}[2,0] triangular-solve(x, y), {flags}",
                 Argument(kind, [2, 2], [4, 0.5, 1, 2]), Argument(kind, [2, 0]))]


@cases("batch-norm-inference")
def batch_norm_inference(kind):
    return [Case(f"x = {kind}[4,2] parameter(0)\n" + "".join(f"p{i} = {kind}[2] parameter({i})\n" for i in range(1, 5)) +
                 f"ROOT r = {kind}[4,2] batch-norm-inference(x, p1, p2, p3, p4), epsilon=0.5, feature_index=1",
                 Argument(kind, [4, 2]), *[Argument(kind, [2])] * 4, tolerance=loose(kind))]


@cases("batch-norm-training")
def batch_norm_training(kind):
    return [Case(f"x = {kind}[4,2] parameter(0)\ns = {kind}[2] parameter(1)\no = {kind}[2] parameter(2)\n"
                 f"ROOT r = ({kind}[4,2], {kind}[2], {kind}[2]) batch-norm-training(x, s, o), epsilon=0.5, feature_index=1",
                 Argument(kind, [4, 2]), Argument(kind, [2]), Argument(kind, [2]), tolerance=loose(kind))]


@cases("batch-norm-grad")
def batch_norm_grad(kind):
    return [Case(f"x = {kind}[4,2] parameter(0)\n" + "".join(f"p{i} = {kind}[2] parameter({i})\n" for i in range(1, 4)) +
                 f"g = {kind}[4,2] parameter(4)\nROOT r = ({kind}[4,2], {kind}[2], {kind}[2]) batch-norm-grad(x, p1, p2, p3, g), epsilon=0.5, "
                 "feature_index=1", Argument(kind, [4, 2]), *[Argument(kind, [2])] * 3, Argument(kind, [4, 2]), tolerance=loose(kind))]


# ---- random numbers ----

@cases("rng")
def rng(kind):
    low, high = (0, 1) if kind == "pred" else (1, 1) if kind in COMPLEX else (0.5, 4) if kind in FLOATS else (0, 1)
    return [Case(f"a = {kind}[] parameter(0)\nb = {kind}[] parameter(1)\nr = {kind}[3] rng(a, b), distribution=rng_uniform\n"
                 f"c = {kind}[3] broadcast(b), dimensions={{}}\nROOT same = pred[3] compare(c, c), direction=EQ",
                 Argument(kind, [], [low]), Argument(kind, [], [high])),
            Case(f"a = {kind}[] parameter(0)\nb = {kind}[] parameter(1)\nr = {kind}[3] rng(a, b), distribution=rng_uniform\n"
                 f"ROOT d = {kind}[3] clamp(b, r, b)", Argument(kind, [], [low]), Argument(kind, [], [high]))]


@cases("rng-bit-generator")
def rng_bit_generator(kind):
    return [Case(f"s = u64[2] parameter(0)\nROOT r = (u64[2], {kind}[4]) rng-bit-generator(s), algorithm={a}", Argument("u64", [2], [3, 5]))
            for a in ("rng_philox", "rng_three_fry")]


@cases("rng-get-and-update-state")
def rng_state(kind):
    if kind != "u64":
        return []
    return [Case("s = u64[2] rng-get-and-update-state(), delta=4\nROOT r = pred[2] compare(s, s), direction=EQ")]
