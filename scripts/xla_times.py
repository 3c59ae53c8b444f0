#!/usr/bin/env python3
"""Times XLA:CPU on one model of testdata/models, from the same HLO text; writes JSON to stdout.

    python scripts/xla_times.py --threads=2 lstm
    python scripts/xla_times.py --threads=2 --turns    # for bench_suite.py

With --turns it reads the lines `load MODEL` and `turn SECONDS` and answers each with one line of
JSON, so that another program can be timed in between.

Needs `pip install jax==0.10.2 jaxlib==0.10.2`. The text goes to XLA as StableHLO, the only form its
Python interface takes; importing that again is part of XLA's compilation, so its time is measured
by itself and taken off. Runs have their arguments in device memory; donated ones are copied anew
before each run, off the clock. XLA runs in the calling thread, as hlo-run does.
"""

import argparse
import gc
import json
import os
import statistics
import sys
import time


def set_threads(count):
    """Before JAX is imported: XLA sizes its pools by this variable and by the affinity."""
    allowed = sorted(os.sched_getaffinity(0))
    if count:
        os.environ["PJRT_NPROC"] = str(count)
        os.sched_setaffinity(0, allowed[:count])


def timed(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return (time.perf_counter() - start) * 1e3, result


def summary(times):
    ordered = sorted(times)
    return {"min": ordered[0], "median": statistics.median(ordered),
            "p90": ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))],
            "mean": statistics.fmean(ordered)}


class Compiler:
    """The stages from one text to an executable."""

    def __init__(self, text):
        import jax
        from jaxlib import _hlo, _jax
        self.text = text
        self.device = jax.devices("cpu")[0]
        module = _hlo.hlo_module_from_text(text)
        self.code = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
        jax.jit(lambda x: -x)(1.0).block_until_ready()  # what XLA sets up only once

    def parse(self):
        from jaxlib import _hlo
        return _hlo.hlo_module_from_text(self.text)

    def import_again(self):
        from jaxlib import _jax
        return _jax.mlir.mlir_module_to_xla_computation(self.code, use_tuple_args=False,
                                                        return_tuple=False)

    def compile(self):
        from jaxlib import _jax, xla_client
        return self.device.client.compile_and_load(
            self.code, _jax.DeviceList((self.device,)), xla_client.CompileOptions())


def compile_times(text, repeat):
    """(parse, reimport, compile in milliseconds, the executable)."""
    def median(function):
        return statistics.median(timed(function)[0] for _ in range(repeat))

    compiler = Compiler(text)
    return (median(compiler.parse), median(compiler.import_again), median(compiler.compile),
            compiler.compile())


def run_times(executable, arrays, iterations, seconds):
    """Milliseconds of each run: at least so many, for at least so long."""
    import jax
    buffers = [jax.device_put(a, may_alias=False).block_until_ready() for a in arrays]

    def run():
        outputs = executable.execute_sharded(buffers).disassemble_into_single_device_arrays()
        for pieces in outputs:
            for piece in pieces:
                piece.block_until_ready()
        return outputs

    def renew():
        for i, buffer in enumerate(buffers):
            if buffer.is_deleted():
                buffers[i] = jax.device_put(arrays[i], may_alias=False).block_until_ready()

    times = []
    for _ in range(3):
        renew()
        run()
    gc.disable()
    while len(times) < iterations or sum(times) < seconds * 1e3:
        renew()
        spent, outputs = timed(run)
        times.append(spent)
        del outputs  # freed off the clock
    gc.enable()
    return times


def load(name):
    """(the model, its text, its input arrays)."""
    import hlo_models
    from models import reference
    model, folder = hlo_models.load(name)
    text = (folder / model["hlo"]).read_text(encoding="utf-8")
    return model, text, [reference.generate(reference.input_of_json(row), row["index"],
                                            model["seed"]) for row in model["inputs"]]


def take_turns(compile_repeat):
    """Answers the lines of standard input until it ends."""
    compiler = arrays = None
    for line in sys.stdin:
        command, value = line.split()
        answer = {}
        if command == "load":
            _, text, arrays = load(value)
            compiler = Compiler(text)
        else:
            again = min(timed(compiler.import_again)[0] for _ in range(10))
            compiled = [timed(compiler.compile)[0] - again for _ in range(compile_repeat)]
            times = run_times(compiler.compile(), arrays, 3, float(value))
            answer = {"compile_ms": summary(compiled), "run_ms": summary(times)}
        print(json.dumps(answer), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model", nargs="?", help="a name, or the path of a JSON file")
    parser.add_argument("--turns", action="store_true", help="obey standard input")
    parser.add_argument("--threads", type=int, default=0, help="default: as many as CPUs")
    parser.add_argument("--compile-repeat", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=10, help="at least so many runs")
    parser.add_argument("--seconds", type=float, default=1.0, help="for at least so long")
    args = parser.parse_args()
    if args.turns == bool(args.model):
        parser.error("name a model or give --turns")
    set_threads(args.threads)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import jax
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_cpu_enable_async_dispatch", False)

    if args.turns:
        return take_turns(args.compile_repeat)
    model, text, arrays = load(args.model)
    parse, again, whole, executable = compile_times(text, args.compile_repeat)
    times = run_times(executable, arrays, args.iterations, args.seconds)
    json.dump({"model": model["name"], "parse_ms": parse, "compile_ms": whole - again,
               "reimport_ms": again, "run_ms": summary(times), "iterations": len(times),
               "threads": len(os.sched_getaffinity(0)), "jax": jax.__version__},
              sys.stdout)
    print()


if __name__ == "__main__":
    main()
