#!/usr/bin/env python3
"""Measures the GPU platform: scripts/gpu_measure.py STAGE OUT.json [--tool=hlo-run] [--platform=gpu] [--scale=1]

Stages: bandwidth (bytes moved per second, and as a part of the rate of `copy`, which the driver does), gemm (operations per second),
launch (microseconds per kernel and per loop step), models (milliseconds for each program of testdata/models), suite (the same for
testdata/bench), jax (all but the suite as the same HLO text by XLA on its own device, where JAX is installed: compile and run time),
jax-suite. A run is timed twice: alone, with a wait after it (run_ms), and as one of 20 that are enqueued before one wait
(throughput_ms). Every case that fails is a row with its error; the others still run. Needs Python's standard library alone, and for jax
its packages; --scale=0.01 makes small cases, for the simulator.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
DATA = next((f / "testdata" for f in (HERE, HERE.parent) if (f / "testdata/models").is_dir()), HERE)
SECONDS = 0.1  # that a case is run for, at least
ENQUEUED = 20  # runs before a wait
ADD = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"


def entry(body, computations=""):
    return f"HloModule m\n{computations}ENTRY main {{\n{body}\n}}\n"


def bandwidth(scale):
    """Rows: name, HLO, bytes that must move."""
    n = max(1024, int((64 << 20) * scale)) // 1024 * 1024
    rows, columns = n // 1024, 1024
    matrix, flat = f"f32[{rows},{columns}]", f"f32[{n}]"
    yield ("copy", entry(f"x = {flat} parameter(0)\nROOT r = {flat} copy(x)"), 8 * n)
    yield ("negate", entry(f"x = {flat} parameter(0)\nROOT r = {flat} negate(x)"), 8 * n)
    yield ("add", entry(f"x = {flat} parameter(0)\ny = {flat} parameter(1)\nROOT r = {flat} add(x, y)"), 12 * n)
    yield ("tanh bf16", entry(f"x = bf16[{n}] parameter(0)\nROOT r = bf16[{n}] tanh(x)"), 4 * n)
    yield ("row sums", entry(f"x = {matrix} parameter(0)\nz = f32[] constant(0)\n"
                             f"ROOT r = f32[{rows}] reduce(x, z), dimensions={{1}}, to_apply=add", ADD), 4 * n)
    yield ("column sums", entry(f"x = {matrix} parameter(0)\nz = f32[] constant(0)\n"
                                f"ROOT r = f32[{columns}] reduce(x, z), dimensions={{0}}, to_apply=add", ADD), 4 * n)
    yield ("sum", entry(f"x = {flat} parameter(0)\nz = f32[] constant(0)\n"
                        "ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=add", ADD), 4 * n)
    yield ("transpose", entry(f"x = {matrix} parameter(0)\nROOT r = f32[{columns},{rows}] transpose(x), dimensions={{1,0}}"),
           8 * n)
    yield ("cumulative sum", entry(f"x = {matrix} parameter(0)\nz = f32[] constant(0)\nROOT r = {matrix} reduce-window(x, z), "
                                   f"window={{size=1x{columns} pad=0_0x{columns - 1}_0}}, to_apply=add", ADD), 8 * n)


def gemm(scale):
    """Rows: name, HLO, floating-point operations."""
    def row(name, kind, m, n, k, attributes=""):
        m, n, k = (max(64, int(size * scale ** (1 / 3)) // 64 * 64) for size in (m, n, k))
        text = entry(f"x = {kind}[{m},{k}] parameter(0)\ny = {kind}[{k},{n}] parameter(1)\n"
                     f"ROOT r = {kind}[{m},{n}] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}{attributes}")
        return f"{name} {m}x{n}x{k}", text, 2 * m * n * k
    for size in (1024, 4096, 8192):
        yield row("bf16", "bf16", size, size, size)
    yield row("f16", "f16", 4096, 4096, 4096)
    yield row("tf32", "f32", 4096, 4096, 4096, ", algorithm=dot_tf32_tf32_f32")
    yield row("f32", "f32", 2048, 2048, 2048)
    yield row("bf16 few rows", "bf16", 64, 4096, 4096)


def launch(_scale):
    """Rows: name, HLO, kernels or loop steps in it."""
    links = 100
    body = "".join(f"v{i + 1} = f32[8,8] dot(v{i}, v{i}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
                   for i in range(links))
    yield ("chain of dots", entry("v0 = f32[8,8] parameter(0)\n" + body + f"ROOT r = f32[8,8] negate(v{links})"), links + 1)
    loop = ("condition { p = (s32[], f32[64]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
            " n = s32[] constant(100)\n ROOT c = pred[] compare(i, n), direction=LT }\n"
            "body { p = (s32[], f32[64]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
            " x = f32[64] get-tuple-element(p), index=1\n one = s32[] constant(1)\n j = s32[] add(i, one)\n"
            " y = f32[64] sine(x)\n ROOT t = (s32[], f32[64]) tuple(j, y) }\n")
    yield ("loop", entry("x = f32[64] parameter(0)\nz = s32[] constant(0)\ns = (s32[], f32[64]) tuple(z, x)\n"
                         "w = (s32[], f32[64]) while(s), condition=condition, body=body\n"
                         "ROOT r = f32[64] get-tuple-element(w), index=1", loop), 100)


def programs(folder):
    """Rows: name, HLO, runs in a run. Inputs are those of the .json file beside."""
    for path in sorted((DATA / folder).glob("*.hlo")):
        if not path.stem.endswith("_tiny"):
            yield path.stem, path.read_text(), 1


def models(_scale):
    return programs(FOLDERS["models"])


def suite(_scale):
    return programs(FOLDERS["suite"])


STAGES = {"bandwidth": (bandwidth, "bytes"), "gemm": (gemm, "operations"), "launch": (launch, "steps"), "models": (models, "runs"),
          "suite": (suite, "runs")}
FOLDERS = {"models": "models", "suite": "bench"}
# Loops that do not end on the numbers that XLA is given here.
NOT_BY_JAX = {"newton_until"}
BY_JAX = {"jax": [name for name in STAGES if name != "suite"], "jax-suite": ["suite"]}


def bench(args, name, text):
    """Times by hlo-run, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "m.hlo").write_text(text)
        command = [args.tool, str(path / "m.hlo"), f"--platform={args.platform}", "--bench", f"--bench-min-seconds={SECONDS}",
                   "--print=none", f"--json={path / 'times.json'}", *args.flags.split()]
        if args.stage in FOLDERS:
            command.append(f"--inputs-from={DATA / FOLDERS[args.stage] / name}.json")
        done = subprocess.run(command, capture_output=True, text=True, timeout=args.case_seconds, check=False)
        if done.returncode != 0:
            raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
        times = json.loads((path / "times.json").read_text())
        return {"run_ms": times["run_ms"]["median"], "throughput_ms": times.get("run_throughput_ms"), "compile_ms": times["compile_ms"]}


def for_xla(text):
    """The text of a module whose runs leave their arguments alone, and with attributes that StableHLO can say."""
    text = text.replace(", algorithm=dot_tf32_tf32_f32", "")
    start = text.find("input_output_alias={")
    if start < 0 or start > text.index("\n"):
        return text
    depth, end = 0, text.index("{", start)
    while True:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
        if depth == 0:
            return text[:start].rstrip(", ") + text[end:]


def xla_times(text):
    """The same by XLA, through the modules of jaxlib that jax itself uses."""
    import jax  # pylint: disable=import-outside-toplevel
    import numpy  # pylint: disable=import-outside-toplevel
    from jaxlib import _hlo, _jax, xla_client  # pylint: disable=import-outside-toplevel
    proto = _hlo.hlo_module_from_text(for_xla(text)).as_serialized_hlo_module_proto()
    device = jax.devices()[0]
    options = xla_client.CompileOptions()
    options.device_assignment = _jax.DeviceAssignment.create(numpy.array([[device.id]], dtype=numpy.int32))
    start = time.perf_counter()
    program = device.client.compile_and_load(_jax.mlir.hlo_to_stablehlo(proto), _jax.DeviceList((device,)), options)
    compile_ms = 1000 * (time.perf_counter() - start)
    random = numpy.random.default_rng(0)

    def argument(shape):
        kind, dims = shape.numpy_dtype(), shape.dimensions()
        if kind == bool or numpy.issubdtype(kind, numpy.integer):
            return jax.device_put(numpy.zeros(dims, kind), device)
        return jax.device_put(random.standard_normal(dims).astype(kind), device)

    with jax.enable_x64(True):
        arguments = [argument(shape) for shape in _hlo.XlaComputation(proto).program_shape().parameter_shapes()]

    def enqueue():
        return program.execute_sharded(arguments).disassemble_into_single_device_arrays()

    def wait(results):
        for row in results:
            for array in row:
                array.block_until_ready()

    def median(runs_at_once):
        wait(enqueue())
        times = []
        while len(times) < 5 or sum(times) < SECONDS:
            start = time.perf_counter()
            for _ in range(runs_at_once):
                results = enqueue()
            wait(results)
            times.append((time.perf_counter() - start) / runs_at_once)
        return 1000 * sorted(times)[len(times) // 2]

    return {"run_ms": median(1), "throughput_ms": median(ENQUEUED), "compile_ms": compile_ms}


def rates(row, unit, work, milliseconds):
    """What a time means for work of this unit."""
    if unit == "bytes":
        row["gb_per_s"] = work / milliseconds / 1e6
    elif unit == "operations":
        row["tflops"] = work / milliseconds / 1e9
    elif unit == "steps":
        row["us_per_step"] = 1000 * milliseconds / work


def measure(args):
    by_jax = args.stage in BY_JAX
    result = {"stage": args.stage, "flags": args.flags, "cases": []}
    if by_jax:
        try:
            import jax  # pylint: disable=import-outside-toplevel
            result["jax"], result["device"] = jax.__version__, str(jax.devices()[0])
        except Exception as problem:  # pylint: disable=broad-exception-caught
            return {**result, "skipped": f"no JAX here: {problem}"}
    for stage, (cases, unit) in STAGES.items():
        if stage not in BY_JAX.get(args.stage, [args.stage]):
            continue
        for name, text, work in cases(args.scale):
            if name <= args.after or (by_jax and name in NOT_BY_JAX):
                continue
            row = {"case": name, unit: work}
            try:
                row.update(xla_times(text) if by_jax else bench(args, name, text))
                rates(row, unit, work, row["run_ms"])
            except Exception as problem:  # pylint: disable=broad-exception-caught
                row["error"] = str(problem)
            result["cases"].append(row)
            args.out.write_text(json.dumps(result, indent=1) + "\n")  # a time limit loses only what comes later
    if args.stage == "bandwidth" and "gb_per_s" in result["cases"][0]:
        for row in result["cases"]:
            if "gb_per_s" in row:
                row["part_of_copy"] = row["gb_per_s"] / result["cases"][0]["gb_per_s"]
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=[*STAGES, *BY_JAX])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--tool", default="./hlo-run")
    parser.add_argument("--platform", default="gpu")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--after", default="", help="leave out the cases up to this name (of stages that are in order of names)")
    parser.add_argument("--flags", default="", help="more flags for hlo-run")
    parser.add_argument("--case-seconds", type=float, default=30)
    args = parser.parse_args()
    result = measure(args)
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    failed = sum("error" in row for row in result["cases"])
    for row in result["cases"]:
        print(json.dumps(row))
    if "skipped" in result:
        print(result["skipped"])
    print(f"{len(result['cases']) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
