"""The cases of scripts/coverage.py that are about control flow, tokens, dynamic dimensions and devices."""

from coverage_cases import Argument, Case, cases, entry, region


# ---- values that travel ----

@cases("tuple", "get-tuple-element")
def tuples(opcode, kind):
    return [Case(f"x = {kind}[3] parameter(0)\ny = s32[] parameter(1)\nt = ({kind}[3], s32[]) tuple(x, y)\n"
                 f"a = {kind}[3] get-tuple-element(t), index=0\nROOT r = ({kind}[3], {kind}[3]) tuple(a, x)", Argument(kind, [3]),
                 Argument("s32"))]


@cases("opt-barrier")
def opt_barrier(kind):
    return [Case(f"x = {kind}[3] parameter(0)\nROOT r = {kind}[3] opt-barrier(x)", Argument(kind, [3]))]


@cases("domain")
def domain(kind):
    return [Case(f"x = {kind}[3] parameter(0)\nROOT r = {kind}[3] domain(x), domain={{kind=\"sharding\", entry={{replicated}}, exit={{replicated}}}}",
                 Argument(kind, [3]))]


@cases("add-dependency", "after-all")
def tokens(opcode, kind):
    return [Case(f"x = {kind}[3] parameter(0)\nt = token[] after-all()\nROOT r = {kind}[3] add-dependency(x, t)", Argument(kind, [3]))]


@cases("copy-start", "copy-done")
def copies(opcode, kind):
    return [Case(f"x = {kind}[3] parameter(0)\ns = ({kind}[3], {kind}[3], u32[]) copy-start(x)\nROOT r = {kind}[3] copy-done(s)",
                 Argument(kind, [3]))]


@cases("call")
def call(kind):
    return [Case(f"f {{\n  p = {kind}[3] parameter(0)\n  ROOT q = {kind}[3] reverse(p), dimensions={{0}}\n}}\n" +
                 entry(f"x = {kind}[3] parameter(0)\nROOT r = {kind}[3] call(x), to_apply=f"), Argument(kind, [3]))]


@cases("fusion")
def fusion(kind):
    return [Case(f"f {{\n  p = {kind}[3] parameter(0)\n  ROOT q = {kind}[3] reverse(p), dimensions={{0}}\n}}\n" +
                 entry(f"x = {kind}[3] parameter(0)\nROOT r = {kind}[3] fusion(x), kind=kLoop, calls=f"), Argument(kind, [3]))]


@cases("while")
def while_(kind):
    return [Case(f"more {{\n  p = (s32[], {kind}[3]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  n = s32[] constant(3)\n"
                 "  ROOT c = pred[] compare(i, n), direction=LT\n}\n"
                 f"body {{\n  p = (s32[], {kind}[3]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  x = {kind}[3] get-tuple-element(p), index=1\n"
                 f"  o = s32[] constant(1)\n  j = s32[] add(i, o)\n  y = {kind}[3] reverse(x), dimensions={{0}}\n  ROOT t = (s32[], {kind}[3]) tuple(j, y)\n}}\n" +
                 entry(f"x = {kind}[3] parameter(0)\nz = s32[] constant(0)\nt = (s32[], {kind}[3]) tuple(z, x)\n"
                       f"w = (s32[], {kind}[3]) while(t), condition=more, body=body\nROOT r = {kind}[3] get-tuple-element(w), index=1"),
                 Argument(kind, [3]))]


@cases("conditional")
def conditional(kind):
    return [Case(f"yes {{\n  p = {kind}[3] parameter(0)\n  ROOT q = {kind}[3] reverse(p), dimensions={{0}}\n}}\n"
                 f"no {{\n  ROOT p = {kind}[3] parameter(0)\n}}\n" +
                 entry(f"c = pred[] parameter(0)\nx = {kind}[3] parameter(1)\n"
                       f"ROOT r = {kind}[3] conditional(c, x, x), true_computation=yes, false_computation=no"),
                 Argument("pred"), Argument(kind, [3]))]


@cases("async-start", "async-done")
def async_pair(opcode, kind):
    return [Case(f"f {{\n  p = {kind}[3] parameter(0)\n  ROOT q = {kind}[3] reverse(p), dimensions={{0}}\n}}\n" +
                 entry(f"x = {kind}[3] parameter(0)\ns = (({kind}[3]), {kind}[3], s32[]) async-start(x), calls=f\n"
                       f"ROOT r = {kind}[3] async-done(s)"), Argument(kind, [3]))]


@cases("async-update")
def async_update(kind):
    return [Case(f"f {{\n  p = {kind}[3] parameter(0)\n  q = {kind}[3] parameter(1)\n  ROOT s = {kind}[6] concatenate(p, q), dimensions={{0}}\n}}\n" +
                 entry(f"x = {kind}[3] parameter(0)\ny = {kind}[3] parameter(1)\ns = (({kind}[3]), (), s32[]) async-start(x), calls=f\n"
                       f"u = (({kind}[3], {kind}[3]), {kind}[6], s32[]) async-update(s, y)\nROOT r = {kind}[6] async-done(u)"),
                 Argument(kind, [3]), Argument(kind, [3]))]


@cases("custom-call")
def custom_call(kind):
    return [Case(f"x = {kind}[3] parameter(0)\nROOT r = {kind}[3] custom-call(x), custom_call_target=\"Sharding\", sharding={{replicated}}",
                 Argument(kind, [3]))]


# ---- dynamic dimensions ----

@cases("set-dimension-size", "get-dimension-size")
def dimension_size(opcode, kind):
    return [Case(f"x = {kind}[4] parameter(0)\nn = s32[] parameter(1)\nd = {kind}[<=4] set-dimension-size(x, n), dimensions={{0}}\n"
                 f"m = s32[] get-dimension-size(d), dimensions={{0}}\nROOT r = ({kind}[<=4], s32[]) tuple(d, m)", Argument(kind, [4]),
                 Argument("s32", [], [2]))]


@cases("dynamic-reshape")
def dynamic_reshape(kind):
    return [Case(f"x = {kind}[2,3] parameter(0)\nn = s32[] parameter(1)\nROOT r = {kind}[<=6] dynamic-reshape(x, n)", Argument(kind, [2, 3]),
                 Argument("s32", [], [4]))]


# ---- devices ----

@cases("replica-id", "partition-id")
def ids(opcode, kind):
    return [Case(f"ROOT r = u32[] {opcode}()")] if kind == "u32" else []


@cases("all-reduce")
def all_reduce(kind):
    return [Case(region(kind) + entry(f"x = {kind}[4] parameter(0)\nROOT r = {kind}[4] all-reduce(x), replica_groups={{}}, to_apply=combine"),
                 Argument(kind, [4]))]


@cases("reduce-scatter")
def reduce_scatter(kind):
    return [Case(region(kind) + entry(f"x = {kind}[4] parameter(0)\nROOT r = {kind}[4] reduce-scatter(x), replica_groups={{}}, dimensions={{0}}, to_apply=combine"),
                 Argument(kind, [4]))]


@cases("all-gather")
def all_gather(kind):
    return [Case(f"x = {kind}[4] parameter(0)\nROOT r = {kind}[4] all-gather(x), replica_groups={{}}, dimensions={{0}}", Argument(kind, [4]))]


@cases("all-to-all")
def all_to_all(kind):
    return [Case(f"x = {kind}[4] parameter(0)\nROOT r = {kind}[4] all-to-all(x), replica_groups={{}}, dimensions={{0}}", Argument(kind, [4]))]


@cases("collective-permute")
def collective_permute(kind):
    return [Case(f"x = {kind}[4] parameter(0)\nROOT r = {kind}[4] collective-permute(x), source_target_pairs={{{{0,0}}}}", Argument(kind, [4]))]


@cases("collective-broadcast")
def collective_broadcast(kind):
    return [Case(f"x = {kind}[4] parameter(0)\nROOT r = {kind}[4] collective-broadcast(x), replica_groups={{{{0}}}}", Argument(kind, [4]))]


@cases("ragged-all-to-all")
def ragged_all_to_all(kind):
    sizes = "".join(f"p{i} = s32[1] parameter({i})\n" for i in range(2, 6))
    return [Case(f"x = {kind}[4] parameter(0)\ny = {kind}[4] parameter(1)\n{sizes}"
                 f"ROOT r = {kind}[4] ragged-all-to-all(x, y, p2, p3, p4, p5), replica_groups={{{{0}}}}",
                 Argument(kind, [4]), Argument(kind, [4]), Argument("s32", [1], [0]), Argument("s32", [1], [4]), Argument("s32", [1], [0]),
                 Argument("s32", [1], [4]))]


@cases("all-reduce-start", "all-reduce-done")
def all_reduce_start(opcode, kind):
    return [Case(region(kind) + entry(f"x = {kind}[4] parameter(0)\ns = {kind}[4] all-reduce-start(x), replica_groups={{}}, to_apply=combine\n"
                                      f"ROOT r = {kind}[4] all-reduce-done(s)"), Argument(kind, [4]))]


@cases("all-gather-start", "all-gather-done")
def all_gather_start(opcode, kind):
    return [Case(f"x = {kind}[4] parameter(0)\ns = ({kind}[4], {kind}[4]) all-gather-start(x), replica_groups={{}}, dimensions={{0}}\n"
                 f"ROOT r = {kind}[4] all-gather-done(s)", Argument(kind, [4]))]


@cases("collective-permute-start", "collective-permute-done")
def collective_permute_start(opcode, kind):
    return [Case(f"x = {kind}[4] parameter(0)\ns = ({kind}[4], {kind}[4]) collective-permute-start(x), source_target_pairs={{{{0,0}}}}\n"
                 f"ROOT r = {kind}[4] collective-permute-done(s)", Argument(kind, [4]))]


@cases("infeed", "outfeed", "send", "send-done", "recv", "recv-done")
def host(opcode, kind):
    """Needs a program on the other side: no cell anywhere."""
    return []
