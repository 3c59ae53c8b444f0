#!/usr/bin/env python3
"""Times collectives among the devices of one process, on hlo-run and, with --oracle, on XLA:CPU beside it.

Every program is one collective of float32 over all devices. The table has the median of a run; its bytes are those that
each device brings. Both start in turn, several times, so that what else the machine does falls on both.

    scripts/bench_collectives.py --oracle
    scripts/bench_collectives.py --devices=8 --sizes=1K,64M
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile

from bench_common import BenchError, ROOT, oracle_python, run

SUM = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n\n"
# Name: result elements for n elements on d devices, and the instruction.
COLLECTIVES = {
    "all-reduce": (lambda n, d: n, "all-reduce(x), replica_groups={{}}, to_apply=add"),
    "reduce-scatter": (lambda n, d: n // d, "reduce-scatter(x), replica_groups={{}}, dimensions={{0}}, to_apply=add"),
    "all-gather": (lambda n, d: n * d, "all-gather(x), replica_groups={{}}, dimensions={{0}}"),
    "all-to-all": (lambda n, d: n, "all-to-all(x), replica_groups={{{all}}}, dimensions={{0}}"),
    "collective-permute": (lambda n, d: n, "collective-permute(x), source_target_pairs={{{ring}}}"),
}

# Runs in a Python with JAX: HLO file, devices, seconds -> the times of its runs as JSON.
XLA = """
import json, sys, time
import jax, numpy
path, devices, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
jax.config.update("jax_num_cpu_devices", devices)
jax.config.update("jax_platforms", "cpu")
from jax._src.lib import _jax
from jaxlib import _hlo, xla_client
module = _hlo.hlo_module_from_text(open(path).read())
code = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
cpus = jax.devices()
options = xla_client.CompileOptions()
options.num_replicas = options.executable_build_options.num_replicas = devices
options.device_assignment = _jax.DeviceAssignment.create(numpy.arange(devices, dtype=numpy.int32).reshape(devices, 1))
executable = cpus[0].client.compile_and_load(code, _jax.DeviceList(tuple(cpus)), options)
n = int(sys.argv[4])
mesh = jax.sharding.Mesh(numpy.array(cpus), "d")
whole = jax.device_put(numpy.ones(n * devices, numpy.float32), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d")))
def once():
    outputs = executable.execute_sharded([whole]).disassemble_into_single_device_arrays()
    for output in outputs:
        for piece in output:
            piece.block_until_ready()
times = []
once()
end = time.perf_counter() + seconds
while time.perf_counter() < end or len(times) < 5:
    start = time.perf_counter()
    once()
    times.append(1000 * (time.perf_counter() - start))
print(json.dumps(times))
"""


def program(name, elements, devices):
    size, text = COLLECTIVES[name]
    everyone = "{" + ",".join(map(str, range(devices))) + "}"
    ring = ",".join("{%d,%d}" % (i, (i + 1) % devices) for i in range(devices))
    return (f"HloModule {name.replace('-', '_')}, replica_count={devices}\n\n{SUM if 'add' in text else ''}ENTRY main {{\n"
            f"  x = f32[{elements}] parameter(0)\n"
            f"  ROOT r = f32[{size(elements, devices)}] {text.format(all=everyone, ring=ring)}\n}}\n")


def time_ours(args, path):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        run([str(args.hlo_run), "--platform=cpu", path, "--seed=1", "--shared-inputs", "--bench", "--print=none", "--warmup=0.05",
             "--input-dist=ones", f"--bench-min-seconds={args.seconds}", "--bench-min-runs=5", f"--json={report.name}"])
        return json.load(open(report.name, encoding="utf-8"))["run_ms"]["median"]


def time_xla(python, path, elements, args):
    done = subprocess.run([python, "-c", XLA, path, str(args.devices), str(args.seconds), str(elements)], capture_output=True,
                          text=True, check=False)
    if done.returncode:
        raise BenchError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"XLA ended with {done.returncode}")
    return statistics.median(json.loads(done.stdout))


def bytes_of(word):
    return int(word.rstrip("KM")) * {"K": 1 << 10, "M": 1 << 20}.get(word[-1], 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracle", action="store_true", help="time XLA:CPU beside it")
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--sizes", default="1K,1M,16M", help="bytes of each device")
    parser.add_argument("--only", default=",".join(COLLECTIVES), help="names of collectives")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is started")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each start")
    parser.add_argument("--hlo-run", default=ROOT / "build" / "release" / "bin" / "hlo-run")
    args = parser.parse_args()
    try:
        python = oracle_python() if args.oracle else None
        print(f"| collective, {args.devices} devices | bytes | hlo, ms | GB/s |" + (" XLA, ms | XLA / hlo |" if python else ""))
        print("| --- | --: | --: | --: |" + (" --: | --: |" if python else ""))
        for name in args.only.split(","):
            for size in args.sizes.split(","):
                elements = bytes_of(size) // 4
                with tempfile.NamedTemporaryFile("w", suffix=".hlo") as file:
                    file.write(program(name, elements, args.devices))
                    file.flush()
                    ours, xla = [], []
                    for _ in range(args.rounds):
                        ours.append(time_ours(args, file.name))
                        if python:
                            xla.append(time_xla(python, file.name, elements, args))
                best = min(ours)
                line = f"| {name} | {size} | {best:.4g} | {4 * elements * args.devices / best / 1e6:.2f} |"
                if python:
                    line += f" {min(xla):.4g} | {min(xla) / best:.2f} |"
                print(line, flush=True)
    except BenchError as error:
        sys.exit(f"bench_collectives.py: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
